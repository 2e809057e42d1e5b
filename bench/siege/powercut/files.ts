/** The files of a folder store as bytes, and back. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Files of a store, by their paths below `.quark`. The log's index (`-shm`) lives in memory and survives no power cut. */
export type Files = ReadonlyMap<string, Buffer>;

export const DATABASE = 'quark.db';
export const LOG = 'quark.db-wal';
const INDEX = 'quark.db-shm';

/**
 * Copies the files of a store that another process has open and does not write at the moment. A process of its own copies: one
 * that closes a file of the database would lose the locks that it has on it.
 */
export async function snapshotOf(storage: string, scratch: string): Promise<Files> {
  const copy = await mkdtemp(join(scratch, 'snapshot-'));
  try {
    execFileSync('cp', ['-R', join(storage, '.quark'), copy]);
    return await filesIn(join(copy, '.quark'));
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** All files below a folder. */
async function filesIn(root: string): Promise<Files> {
  const found = new Map<string, Buffer>();
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(root.length + 1).replaceAll('\\', '/');
    if (entry.isFile() && name !== INDEX) found.set(name, await readFile(path));
  }
  return found;
}

/** Writes the files as a store in a new folder, and returns the folder. */
export async function storeOf(files: Files, scratch: string): Promise<string> {
  const storage = await mkdtemp(join(scratch, 'state-'));
  for (const [name, bytes] of files) {
    const path = join(storage, '.quark', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
  }
  return storage;
}
