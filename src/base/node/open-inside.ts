/** Opens files in folders of unknown origin: links cannot lead elsewhere, and pipes cannot block. */
import { constants } from 'node:fs';
import { lstat, open, realpath, stat, type FileHandle } from 'node:fs/promises';
import { sep } from 'node:path';

/** Whether the real path lies in one of these, which are real paths of folders, or of files themselves. */
export function isInside(roots: readonly string[], path: string): boolean {
  return roots.some(
    (root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep),
  );
}

/**
 * Opens a regular file that lies in one of the folders, links followed; undefined when it is something else or somewhere else. What is
 * looked at is what was opened: nobody can put a link in its place in between.
 *
 * @throws what the system says, such as `ENOENT`
 */
export async function openInside(
  roots: readonly string[],
  path: string,
): Promise<FileHandle | undefined> {
  // To open a pipe waits for its other end, unless it is asked not to; Windows has no such flag.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if ((await file.stat()).isFile() && (await isOpenedInside(roots, path, file))) return file;
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return undefined;
}

async function isOpenedInside(
  roots: readonly string[],
  path: string,
  file: FileHandle,
): Promise<boolean> {
  const opened =
    process.platform === 'linux'
      ? await realpath(`/proc/self/fd/${file.fd}`).catch(() => undefined)
      : undefined;
  if (opened !== undefined) return isInside(roots, opened);
  const real = await realpath(path);
  const [found, handle] = await Promise.all([
    stat(real, { bigint: true }),
    file.stat({ bigint: true }),
  ]);
  return isInside(roots, real) && found.dev === handle.dev && found.ino === handle.ino;
}

/**
 * Opens a folder that is at this path itself: no part of the path is a link. On Linux what is opened by the path that comes back lies in
 * this very folder, whatever somebody puts in its position meanwhile; elsewhere it is the path that was given.
 *
 * @param path a real path
 * @returns undefined when a link leads somewhere else
 * @throws what the system says, such as `ENOENT`
 */
export async function openRealFolder(
  path: string,
): Promise<{ readonly path: string; readonly close: () => Promise<void> } | undefined> {
  if (process.platform !== 'linux')
    return (await realpath(path)) === path ? { path, close: async () => undefined } : undefined;
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  if ((await lstat(path)).isSymbolicLink()) return undefined;
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const opened = `/proc/self/fd/${handle.fd}`;
  const real = await realpath(opened).catch(() => undefined);
  if (real === path) return { path: opened, close: () => handle.close() };
  await handle.close();
  // Without /proc the path is taken as it was.
  return real === undefined ? { path, close: async () => undefined } : undefined;
}
