/** Making folders, with an answer in every case. */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and what is missing above it. Node's own recursive form never returns where the system answers
 * "no such file" for a folder that may not be made, as in /proc.
 *
 * @param onMade called with each folder that was made
 */
export async function makeWithParents(
  path: string,
  onMade: (path: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  await make(path, onMade, false);
}

/** `isRetry`: the parent is known to have been there, so its absence is no longer the reason. */
async function make(
  path: string,
  onMade: (path: string) => Promise<void>,
  isRetry: boolean,
): Promise<void> {
  try {
    await mkdir(path);
    await onMade(path);
  } catch (error) {
    if (await isFolder(path)) return;
    const parent = dirname(path);
    if (codeOf(error) !== 'ENOENT' || parent === path || isRetry) throw error;
    // Another process may have made the parent between the two checks.
    if (!(await isFolder(parent))) await make(parent, onMade, false);
    await make(path, onMade, true);
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
