/**
 * Large blobs as files beside the database: `blobs/ab/abcdef...`, named by their SHA-256, with the number
 * of the generation after the first. A file appears under its name only once it is whole and on the disk.
 */
import { createHash, randomBytes } from 'node:crypto';
import { lstat, open, readdir, realpath, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isStoreError, SessionStoreError } from '../../../base/errors.ts';
import type { BlobFiles, ListedBlob } from '../sql-blob-store.ts';
import { BLOB_KEY, hashOfKey } from '../sql-blobs.ts';
import { makeFolder, syncFolder } from './folders.ts';
import { openInside, openRealFolder } from '../../../base/node/open-inside.ts';
import { sqliteFailure } from './sqlite-errors.ts';

/** The folder of files that are being written. */
const INCOMING = 'incoming';
/** A file that was left half-written by a process that ended is removed after this time. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000;
/** Bytes that are hashed at a time. */
const HASHED_BYTES = 1 << 20;

/**
 * Blob files under `<storeRoot>/blobs`. The folder is made with the first one. `blobs` itself may be a link that its owner made, to a
 * larger disk; a link below it is nothing that a store makes: nothing is written, read or removed through it.
 *
 * @param folder another name for the folder: backups have files of other content in the same form
 */
export function createBlobFiles(storeRoot: string, folder: string = 'blobs'): BlobFiles {
  return new BlobFolder(join(storeRoot, folder));
}

class BlobFolder implements BlobFiles {
  readonly name: string;

  constructor(root: string) {
    this.name = root;
  }

  async put(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const { name: root } = this;
    const path = pathIn(root, key);
    try {
      await makeFolder(dirname(path), true);
      await makeFolder(join(root, INCOMING));
      await inFolder(root, INCOMING, (incoming) =>
        inFolder(root, folderOf(key), async (folder) => {
          const random = randomBytes(6).toString('hex');
          const draft = join(incoming, `${key}.${process.pid}.${random}`);
          try {
            await writeDurably(draft, bytes);
            // A link that lies under the name is replaced, not followed.
            await rename(draft, join(folder, key));
          } catch (error) {
            await rm(draft, { force: true }).catch(() => undefined);
            throw error;
          }
          await syncFolder(folder);
        }),
      );
    } catch (error) {
      throw sqliteFailure(error, path);
    }
  }

  async get(key: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return readBlob(this.name, key, async (file) => {
      const bytes = await file.readFile();
      return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice();
    });
  }

  async getRange(
    key: string,
    start: number,
    end: number,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return readBlob(this.name, key, async (file) => {
      const bytes = new Uint8Array(end - start);
      let filled = 0;
      while (filled < bytes.byteLength) {
        const left = bytes.byteLength - filled;
        const { bytesRead } = await file.read(bytes, filled, left, start + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return bytes.slice(0, filled);
    });
  }

  async has(key: string, sizeBytes: number): Promise<boolean> {
    // Not by its size alone: a disk that lost power or went bad leaves files of the right size with other bytes.
    const found = await readBlob(this.name, key, async (file) =>
      (await file.stat()).size === sizeBytes ? hashOf(file) : '',
    );
    return found === hashOfKey(key);
  }

  async delete(key: string): Promise<void> {
    const path = pathIn(this.name, key);
    try {
      await inFolder(this.name, folderOf(key), (folder) => rm(join(folder, key), { force: true }));
    } catch (error) {
      if (!isMissing(error)) throw sqliteFailure(error, path);
    }
  }

  async *list(): AsyncGenerator<ListedBlob> {
    for (const name of await namesIn(this.name)) {
      if (!/^[0-9a-f]{2}$/.test(name)) continue;
      const found = await inFolder(this.name, name, listFolder).catch((error: unknown) => {
        // A link, or gone since: nothing in it is of this store.
        if (isMissing(error) || isStoreError(error, 'unwritable')) return [];
        throw sqliteFailure(error, join(this.name, name));
      });
      yield* found.filter(({ key }) => folderOf(key) === name);
    }
  }

  async removeAbandoned(nowMs: number): Promise<void> {
    const looking = inFolder(this.name, INCOMING, async (incoming) => {
      for (const name of await readdir(incoming)) {
        const path = join(incoming, name);
        const found = await lstat(path).catch(() => undefined);
        if (found !== undefined && nowMs - found.mtimeMs > ABANDONED_AFTER_MS)
          await rm(path, { force: true });
      }
    });
    // A folder that is missing, a link, or not ours to change has nothing to be cleared away.
    await looking.catch(() => undefined);
  }
}

/** The bytes of blobs in one folder; other files are not ours. */
async function listFolder(folder: string): Promise<readonly ListedBlob[]> {
  const listed: ListedBlob[] = [];
  for (const key of await readdir(folder)) {
    if (!BLOB_KEY.test(key)) continue;
    const found = await lstat(join(folder, key)).catch(() => undefined);
    if (found?.isFile() === true)
      listed.push({ key, sizeBytes: found.size, modifiedAtMs: found.mtimeMs });
  }
  return listed;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw sqliteFailure(error, folder);
  }
}

function folderOf(key: string): string {
  return key.slice(0, 2);
}

function pathIn(root: string, key: string): string {
  return join(root, folderOf(key), key);
}

/** Works in a folder of the store by a path that stays in it. @throws {SessionStoreError} `unwritable` when the folder is a link */
async function inFolder<T>(
  root: string,
  name: string,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const folder = await openRealFolder(join(await realpath(root), name));
  if (folder === undefined) throw leadsOut(join(root, name));
  try {
    return await work(folder.path);
  } finally {
    await folder.close();
  }
}

/** Undefined when there is no such blob. @throws {SessionStoreError} `unwritable` when a link leads out of the store */
async function readBlob<T>(
  root: string,
  key: string,
  read: (file: FileHandle) => Promise<T>,
): Promise<T | undefined> {
  const path = pathIn(root, key);
  try {
    const file = await openInside([await realpath(root)], path);
    if (file === undefined) throw leadsOut(path);
    try {
      return await read(file);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw sqliteFailure(error, path);
  }
}

async function hashOf(file: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  const bytes = new Uint8Array(HASHED_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(bytes, 0, bytes.byteLength);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(bytes.subarray(0, bytesRead));
  }
}

function leadsOut(path: string): SessionStoreError {
  return new SessionStoreError(
    'unwritable',
    `${path} is a link, or no file or folder of its own: the store reads and writes nothing through it. Put the folder itself there.`,
    { details: { path, rule: 'a file or folder inside the store' } },
  );
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

function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}
