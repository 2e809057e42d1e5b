/** Opening files of folders that somebody else may have filled: a link leads nowhere else, and a pipe keeps nobody waiting. */
import { constants } from 'node:fs';
import { open, realpath, stat, type FileHandle } from 'node:fs/promises';
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
