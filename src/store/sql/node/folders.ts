/** Making folders, with an answer in every case. */
import { lstat, mkdir, open, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { sqliteFailure } from './sqlite-errors.ts';

/**
 * Makes a folder and what is missing above it. Node's own recursive form never returns where the system answers
 * "no such file" for a folder that may not be made, as in /proc.
 *
 * @param isDurable every folder that was made survives a power cut: each costs a wait for the disk. Default: false.
 * @throws {SessionStoreError} `unwritable`, `full`, `failed`
 */
export async function makeFolder(path: string, isDurable: boolean = false): Promise<void> {
  try {
    await makeWithParents(path, isDurable);
  } catch (error) {
    throw sqliteFailure(error, path);
  }
}

/** Makes a new name in a folder durable. Windows neither needs nor allows it. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Removes a folder with all that is in it, unless the folder above is a symbolic link: what that leads to is not the store's.
 * Links inside are removed and not followed.
 *
 * @throws {SessionStoreError} `unwritable`, `failed`
 */
export async function removeFolder(path: string): Promise<void> {
  try {
    if (!(await lstat(dirname(path))).isDirectory()) return;
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw sqliteFailure(error, path);
  }
}

/** `isRetry`: the parent is known to have been there, so its absence is no longer the reason. */
async function makeWithParents(path: string, isDurable: boolean, isRetry = false): Promise<void> {
  try {
    await mkdir(path);
    if (isDurable) await syncFolder(dirname(path));
  } catch (error) {
    if (await isFolder(path)) return;
    const parent = dirname(path);
    if (codeOf(error) !== 'ENOENT' || parent === path || isRetry) throw error;
    // Another process may have made the parent between the two looks.
    if (!(await isFolder(parent))) await makeWithParents(parent, isDurable);
    await makeWithParents(path, isDurable, true);
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
