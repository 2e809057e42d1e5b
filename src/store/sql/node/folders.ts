/** Making folders, with an answer in every case. */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { sqliteFailure } from './sqlite-errors.ts';

/**
 * Makes a folder and what is missing above it. Node's own recursive form never returns where the system answers
 * "no such file" for a folder that may not be made, as in /proc.
 *
 * @throws {SessionStoreError} `unwritable`, `full`, `failed`
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await makeWithParents(path);
  } catch (error) {
    throw sqliteFailure(error, path);
  }
}

/** `isRetry`: the parent is known to have been there, so its absence is no longer the reason. */
async function makeWithParents(path: string, isRetry = false): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (await isFolder(path)) return;
    const parent = dirname(path);
    if (codeOf(error) !== 'ENOENT' || parent === path || isRetry) throw error;
    // Another process may have made the parent between the two looks.
    if (!(await isFolder(parent))) await makeWithParents(parent);
    await makeWithParents(path, true);
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
