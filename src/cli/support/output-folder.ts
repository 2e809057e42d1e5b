/**
 * Writes the files of an export. Paths may come from recorded data, so each is checked against the destination folder: no part
 * leads up, no link in the folder leads out of it, and the file that is opened is the one that was checked.
 */
import { constants } from 'node:fs';
import { lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { randomBytes } from 'node:crypto';
import { makeWithParents } from '../../base/node/make-folder.ts';
import { isQuarkError, QuarkError } from '../../index.ts';
import { unwritable } from './command.ts';

/** A file on its way to the disk: its path below the folder with "/" between its parts, and its content. */
export type OutFile = {
  readonly path: string;
  readonly pieces: AsyncIterable<Uint8Array | string>;
  /** Whether an existing file is overwritten without --force, because runs share it. */
  readonly isShared?: boolean;
};

/** Windows has no O_NOFOLLOW; a new file there cannot be a link either. */
const NEW_FILE =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/** The destination folder. Links on the path to it are the user's choice; links inside it may be someone else's. */
export class OutputFolder {
  readonly #named: string;
  readonly #root: string;
  readonly #isForced: boolean;
  /** Files of this export, by device and number: two names may be one file. */
  readonly #written = new Set<string>();

  private constructor(named: string, root: string, isForced: boolean) {
    this.#named = named;
    this.#root = root;
    this.#isForced = isForced;
  }

  /** Makes the folder where there is none. @throws {QuarkError} `invalid_input` when it cannot be made */
  static async open(path: string, isForced: boolean): Promise<OutputFolder> {
    try {
      await makeWithParents(path);
      return new OutputFolder(path, await realpath(path), isForced);
    } catch (cause) {
      throw unwritable(path, cause);
    }
  }

  /**
   * Writes one file, under a temporary name first, so that the final name is always a complete file.
   *
   * @param onBytes told of what was written
   * @returns its path and its size
   * @throws {QuarkError} `invalid_input` when the path leads out of the folder, or the file is there and may not be written over
   */
  async write(
    { path, pieces, isShared = false }: OutFile,
    onBytes: (bytes: number) => Promise<void>,
  ): Promise<{ readonly path: string; readonly bytes: number }> {
    const parts = checkParts(path);
    const shown = join(this.#named, ...parts);
    const folder = await openFolder(await this.#enter(parts.slice(0, -1), shown), shown);
    const target = join(folder.path, parts.at(-1) ?? '');
    const partial = `${target}.${randomBytes(6).toString('hex')}.part`;
    try {
      await this.#refuseExisting(target, shown, isShared);
      const bytes = await this.#writePartial(partial, pieces, onBytes);
      await rename(partial, target);
      return { path: shown, bytes };
    } catch (error) {
      await rm(partial, { force: true });
      throw isQuarkError(error) ? error : unwritable(shown, error);
    } finally {
      await folder.close();
    }
  }

  /** The real path of a folder below the root, made where it is missing. */
  async #enter(parts: readonly string[], shown: string): Promise<string> {
    let folder = this.#root;
    for (const part of parts) {
      const next = join(folder, part);
      try {
        await mkdir(next).catch((error: unknown) => {
          if (!isCode(error, 'EEXIST')) throw error;
        });
        folder = await realpath(next);
      } catch (cause) {
        throw unwritable(next, cause);
      }
      if (!isInside(this.#root, folder)) throw leadsOut(shown, `${next} is a link to ${folder}`);
    }
    return folder;
  }

  async #refuseExisting(target: string, shown: string, isShared: boolean): Promise<void> {
    const found = await lstat(target, { bigint: true }).catch(() => undefined);
    if (found === undefined) return;
    if (this.#written.has(idOf(found)))
      throw new QuarkError(
        'invalid_input',
        `${shown} is another file of this export already: this file system takes both names for one.`,
        { details: { field: 'out', value: shown } },
      );
    // A link is replaced, not followed.
    if (!found.isDirectory() && (this.#isForced || isShared)) return;
    throw new QuarkError(
      'invalid_input',
      found.isDirectory()
        ? `${shown} is a folder, where a file is to be. Name another folder.`
        : `${shown} is there already. Give --force to write over it, or name another folder.`,
      { details: { field: 'out', value: shown } },
    );
  }

  async #writePartial(
    partial: string,
    pieces: OutFile['pieces'],
    onBytes: (bytes: number) => Promise<void>,
  ): Promise<number> {
    const file = await open(partial, NEW_FILE, 0o666);
    let bytes = 0;
    try {
      for await (const piece of pieces) {
        const content = typeof piece === 'string' ? Buffer.from(piece) : piece;
        for (let at = 0; at < content.byteLength;)
          at += (await file.write(content, at, content.byteLength - at)).bytesWritten;
        bytes += content.byteLength;
        await onBytes(content.byteLength);
      }
      this.#written.add(idOf(await file.stat({ bigint: true })));
    } finally {
      await file.close();
    }
    return bytes;
  }
}

/**
 * A folder by the path that was looked at. On Linux what is opened by the result lies in this very folder, whatever somebody puts in its
 * place meanwhile; elsewhere the path is taken as it was.
 */
async function openFolder(
  path: string,
  shown: string,
): Promise<{ readonly path: string; readonly close: () => Promise<void> }> {
  if (process.platform !== 'linux') return { path, close: async () => undefined };
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((cause: unknown) => {
    throw unwritable(shown, cause);
  });
  const opened = `/proc/self/fd/${handle.fd}`;
  const real = await realpath(opened).catch(() => undefined);
  if (real === path) return { path: opened, close: () => handle.close() };
  await handle.close();
  if (real !== undefined) throw leadsOut(shown, 'its folder was changed meanwhile');
  // There is no /proc here.
  return { path, close: async () => undefined };
}

/** @throws {QuarkError} `invalid_input` for a path that is none below a folder, here or on Windows */
function checkParts(path: string): string[] {
  const parts = path.split('/');
  const isWrong = (part: string): boolean =>
    part === '' ||
    part === '.' ||
    part === '..' ||
    part.includes('\\') ||
    part.includes('\0') ||
    (process.platform === 'win32' && /[:*?"<>|]|[. ]$/.test(part));
  if (parts.some(isWrong))
    throw leadsOut(path, 'each part of a path is the name of one file or folder');
  return parts;
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

function idOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}

function isCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}

function leadsOut(path: string, why: string): QuarkError {
  return new QuarkError(
    'invalid_input',
    `${path} would be written outside of what --out names: ${why}. Nothing was written there.`,
    { details: { field: 'out', value: path, rule: 'a path inside the destination' } },
  );
}
