/**
 * Large blobs as files beside the database: `blobs/ab/abcdef...`, named by their SHA-256. A file appears under its
 * name only once it is whole and on the disk.
 */
import { randomBytes } from 'node:crypto';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlobFiles } from '../store/sql-store.ts';
import { makeFolder } from './folders.ts';
import { sqliteFailure } from './sqlite-errors.ts';

/** A file that was left half-written by a process that ended is removed after this time. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000;

/** Blob files under `<storeRoot>/blobs`. The folder is made with the first one. */
export function createBlobFiles(storeRoot: string): BlobFiles {
  const root = join(storeRoot, 'blobs');
  const incoming = join(root, 'incoming');
  const pathOf = (sha256: string): string => join(root, sha256.slice(0, 2), sha256);

  return {
    name: root,
    async put(sha256, bytes) {
      const path = pathOf(sha256);
      const draft = join(incoming, `${sha256}.${process.pid}.${randomBytes(6).toString('hex')}`);
      try {
        await makeFolder(dirname(path));
        await makeFolder(incoming);
        await writeDurably(draft, bytes);
        await rename(draft, path);
        await syncFolder(dirname(path));
      } catch (error) {
        await rm(draft, { force: true }).catch(() => undefined);
        throw sqliteFailure(error, path);
      }
    },
    async get(sha256) {
      try {
        const bytes = await readFile(pathOf(sha256));
        return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice();
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw sqliteFailure(error, pathOf(sha256));
      }
    },
    async getRange(sha256, start, end) {
      try {
        const file = await open(pathOf(sha256), 'r');
        try {
          const bytes = new Uint8Array(end - start);
          let filled = 0;
          while (filled < bytes.byteLength) {
            const left = bytes.byteLength - filled;
            const { bytesRead } = await file.read(bytes, filled, left, start + filled);
            if (bytesRead === 0) break;
            filled += bytesRead;
          }
          return bytes.slice(0, filled);
        } finally {
          await file.close();
        }
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw sqliteFailure(error, pathOf(sha256));
      }
    },
    async has(sha256, sizeBytes) {
      try {
        return (await stat(pathOf(sha256))).size === sizeBytes;
      } catch (error) {
        if (isMissing(error)) return false;
        throw sqliteFailure(error, pathOf(sha256));
      }
    },
    async removeAbandoned(nowMs) {
      for (const name of await readdir(incoming).catch(() => [])) {
        const path = join(incoming, name);
        const found = await stat(path).catch(() => undefined);
        if (found !== undefined && nowMs - found.mtimeMs > ABANDONED_AFTER_MS)
          await rm(path, { force: true });
      }
    },
  };
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a new name in a folder durable. Windows neither needs nor allows it. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}
