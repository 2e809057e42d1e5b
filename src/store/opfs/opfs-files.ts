/** The part of the origin-private file system, and of Web Locks, that the store uses. Tests have one in memory. */
import { SessionStoreError, isQuarkError, messageOf } from '../../base/errors.ts';

/** A file that is open for one thread alone. */
export interface SyncFile {
  read(into: Uint8Array<ArrayBuffer>, options: { readonly at: number }): number;
  write(bytes: Uint8Array<ArrayBuffer>, options: { readonly at: number }): number;
  truncate(size: number): void;
  getSize(): number;
  flush(): void;
  close(): void;
}

/** What a file was when it was asked for. */
export type FileSnapshot = Pick<Blob, 'size' | 'slice'>;

export interface FileEntry {
  readonly kind: 'file';
  getFile(): Promise<FileSnapshot>;
  createSyncAccessHandle(): Promise<SyncFile>;
}

export interface FolderEntry {
  readonly kind: 'directory';
  getFileHandle(name: string, options?: { readonly create?: boolean }): Promise<FileEntry>;
  getDirectoryHandle(name: string, options?: { readonly create?: boolean }): Promise<FolderEntry>;
  removeEntry(name: string, options?: { readonly recursive?: boolean }): Promise<void>;
  entries(): AsyncIterable<readonly [string, FileEntry | FolderEntry]>;
}

export type LockMode = 'shared' | 'exclusive';

export interface FileLocks {
  request<T>(
    name: string,
    options: { readonly mode: LockMode },
    work: () => Promise<T>,
  ): Promise<T>;
  /** Whether any thread of the site has the lock of this name. */
  isTaken(name: string): Promise<boolean>;
}

/** Whether the browser threw an error of this name. */
export function isNamed(error: unknown, name: string): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === name;
}

/** A folder in a folder; undefined where it is not there and is not to be made. */
export async function folderIn(
  folder: FolderEntry,
  name: string,
  create: boolean,
): Promise<FolderEntry | undefined> {
  try {
    return await folder.getDirectoryHandle(name, { create });
  } catch (error) {
    if (!create && isNamed(error, 'NotFoundError')) return undefined;
    throw error;
  }
}

/** What browsers say of a file that somebody has open. */
const OPEN = ['NoModificationAllowedError', 'InvalidModificationError', 'InvalidStateError'];

/** Removes a file or a folder; false where somebody has it open. What is not there is removed. */
export async function removed(folder: FolderEntry, name: string): Promise<boolean> {
  try {
    await folder.removeEntry(name, { recursive: true });
    return true;
  } catch (error) {
    if (isNamed(error, 'NotFoundError')) return true;
    if (OPEN.some((open) => isNamed(error, open))) return false;
    throw error;
  }
}

/** A file to write to; undefined while somebody else has it open. */
export async function openedAlone(entry: FileEntry): Promise<SyncFile | undefined> {
  try {
    return await entry.createSyncAccessHandle();
  } catch (error) {
    if (isNamed(error, 'NoModificationAllowedError') || isNamed(error, 'InvalidStateError'))
      return undefined;
    throw error;
  }
}

/**
 * A name as the name of a file. Capital letters are written with a sign, because some systems do not tell them from small ones.
 */
export function opfsFileName(name: string): string {
  const plain = encodeURIComponent(name).replaceAll(/[A-Z]|\./g, (char) =>
    char === '.' ? '%2e' : `+${char.toLowerCase()}`,
  );
  return plain === '' ? '+' : plain;
}

/** What the file system threw, as an error of a store. */
export function storeFailure(error: unknown, uri: string): unknown {
  if (isQuarkError(error)) return error;
  const failed = (reason: 'full' | 'unwritable' | 'busy' | 'failed', message: string): unknown =>
    new SessionStoreError(reason, message, { details: { uri }, cause: error });
  if (isNamed(error, 'QuotaExceededError'))
    return failed(
      'full',
      `The browser's quota for this site is used up: nothing was written to ${uri}. Remove runs or other data of the site; what a writer holds is written with its next flush.`,
    );
  if (isNamed(error, 'SecurityError') || isNamed(error, 'NotAllowedError'))
    return failed(
      'unwritable',
      `The browser gives this page no file system, so ${uri} cannot be opened (${messageOf(error)}). Leave private mode, allow the site to store data, or use "idb:" or "memory:".`,
    );
  if (isNamed(error, 'NoModificationAllowedError'))
    return failed(
      'busy',
      `Another tab has a file of ${uri} open (${messageOf(error)}). Try again.`,
    );
  return failed(
    'failed',
    `${uri} could not do what was asked; nothing was written (${messageOf(error)}).`,
  );
}
