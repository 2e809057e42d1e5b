/** A program of the tests as one file, for processes that are killed. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bundle } from './bundle.mjs';

/** Bundles `entry`, a path from the root, into a folder of its own. Inside the repository, where the process finds the drivers. */
export async function bundledProgram(entry: string): Promise<string> {
  const build = join(import.meta.dirname, '../../build');
  await mkdir(build, { recursive: true });
  return bundle(entry, { folder: await mkdtemp(join(build, 'kill-')) });
}

/** Removes a bundled program with its folder. */
export function removeProgram(program: string): Promise<void> {
  return rm(dirname(program), { recursive: true, force: true });
}
