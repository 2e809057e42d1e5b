/**
 * Names of files in Chromium, before a kill can cost them.
 *
 * Chromium keeps the names of the files of a site in a LevelDB, and goes on writing into the same log after it was started anew. If it
 * was killed in the middle of a write, half a record stays in that log, and the next reader of the log passes over the rest of its block of
 * 32 KiB (google/leveldb, issue 1287): files made since then are gone, and files removed since then are back without bytes. So before
 * a worker makes or removes its first name, it makes and removes one so often that a block ends, unless another thread of the browser
 * has done so and has not ended. This takes some 50 ms. Each site has a log of its own: no other site writes into it.
 */
import { isChromium } from '../../base/runtime.ts';
import { isNamed, type FileEntry, type FileLocks, type FolderEntry } from './opfs-files.ts';

/** Making and removing this name writes some 900 bytes to the log. */
const NAME = `made-and-removed-to-end-a-block-${'-'.repeat(200)}`;
/** In all 44 KB in Chromium 153. */
const TIMES = 50;
const LOCK = 'quark-opfs names';
const DONE = 'quark-opfs names are safe';

/** Ends the block that the log of names is at, once for each start of the browser, before the first name is made or removed. */
export function safeNames(root: FolderEntry, locks: FileLocks): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= isChromium() ? endBlock(root, locks) : Promise.resolve();
    done.catch(() => {
      done = undefined;
    });
    return done;
  };
}

/** A folder that makes and removes names once `settle` has seen to it that they stay. */
export function settledFolder(folder: FolderEntry, settle: () => Promise<void>): FolderEntry {
  return {
    kind: 'directory',
    getFileHandle: (name, options) =>
      found((create) => folder.getFileHandle(name, { create }), options, settle),
    getDirectoryHandle: async (name, options) =>
      settledFolder(
        await found((create) => folder.getDirectoryHandle(name, { create }), options, settle),
        settle,
      ),
    async removeEntry(name, options) {
      await settle();
      await folder.removeEntry(name, options);
    },
    entries: () => settledEntries(folder, settle),
  };
}

async function* settledEntries(
  folder: FolderEntry,
  settle: () => Promise<void>,
): AsyncGenerator<readonly [string, FileEntry | FolderEntry]> {
  for await (const [name, entry] of folder.entries())
    yield [name, entry.kind === 'file' ? entry : settledFolder(entry, settle)];
}

async function found<T>(
  get: (create: boolean) => Promise<T>,
  options: { readonly create?: boolean } | undefined,
  settle: () => Promise<void>,
): Promise<T> {
  try {
    return await get(false);
  } catch (error) {
    if (options?.create !== true || !isNamed(error, 'NotFoundError')) throw error;
    await settle();
    return get(true);
  }
}

/** The lock that says that it is done ends with the threads that have it, and so at the latest with the browser. */
async function endBlock(root: FolderEntry, locks: FileLocks): Promise<void> {
  await locks.request(LOCK, { mode: 'exclusive' }, async () => {
    if (!(await locks.isTaken(DONE)))
      for (let i = 0; i < TIMES; i++) {
        await root.getFileHandle(NAME, { create: true });
        await root.removeEntry(NAME);
      }
    await new Promise<void>((resolve, reject) => {
      const forEver = (): Promise<never> => {
        resolve();
        return new Promise(() => undefined);
      };
      locks.request(DONE, { mode: 'shared' }, forEver).catch(reject);
    });
  });
}
