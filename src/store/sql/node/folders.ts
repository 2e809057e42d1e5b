/** Making and removing folders of a store. */
import { lstat, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeWithParents } from '../../../base/node/make-folder.ts';
import { sqliteFailure } from './sqlite-errors.ts';

/**
 * Makes a folder and what is missing above it.
 *
 * @param isDurable every folder that was made survives a power cut: each costs a wait for the disk. Default: false.
 * @throws {SessionStoreError} `unwritable`, `full`, `failed`
 */
export async function makeFolder(path: string, isDurable: boolean = false): Promise<void> {
  try {
    await makeWithParents(path, isDurable ? (made) => syncFolder(dirname(made)) : undefined);
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

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
