/** A file system in memory, with the rules of the origin-private one: a file is open for one thread alone, and what is open stays. */
import type {
  FileEntry,
  FileLocks,
  FileSnapshot,
  FolderEntry,
  SyncFile,
} from '../../../../src/store/opfs/opfs-files.ts';

const named = (name: string): Error => Object.assign(new Error(name), { name });

export class MemoryFile implements FileEntry {
  readonly kind = 'file';
  bytes = new Uint8Array(0);
  /** Bytes that there is room for; writing more writes a part, as a full disk does. */
  room = Number.POSITIVE_INFINITY;
  isOpen = false;

  async getFile(): Promise<FileSnapshot> {
    return new Blob([this.bytes]);
  }

  async createSyncAccessHandle(): Promise<SyncFile> {
    if (this.isOpen) throw named('NoModificationAllowedError');
    this.isOpen = true;
    return {
      read: (into, { at }) => {
        const found = this.bytes.subarray(at, at + into.byteLength);
        into.set(found);
        return found.byteLength;
      },
      write: (given, { at }) => {
        const fits = given.subarray(0, Math.max(0, Math.min(given.byteLength, this.room - at)));
        const next = new Uint8Array(Math.max(this.bytes.byteLength, at + fits.byteLength));
        next.set(this.bytes);
        next.set(fits, at);
        this.bytes = next;
        return fits.byteLength;
      },
      truncate: (size) => {
        const next = new Uint8Array(size);
        next.set(this.bytes.subarray(0, size));
        this.bytes = next;
      },
      getSize: () => this.bytes.byteLength,
      flush: () => undefined,
      close: () => {
        this.isOpen = false;
      },
    };
  }
}

export class MemoryFolder implements FolderEntry {
  readonly kind = 'directory';
  readonly files = new Map<string, MemoryFile | MemoryFolder>();

  async getFileHandle(name: string, { create = false } = {}): Promise<MemoryFile> {
    let file = this.files.get(name);
    if (file === undefined && create) this.files.set(name, (file = new MemoryFile()));
    if (file instanceof MemoryFile) return file;
    throw named('NotFoundError');
  }

  async getDirectoryHandle(name: string, { create = false } = {}): Promise<MemoryFolder> {
    let folder = this.files.get(name);
    if (folder === undefined && create) this.files.set(name, (folder = new MemoryFolder()));
    if (folder instanceof MemoryFolder) return folder;
    throw named('NotFoundError');
  }

  async removeEntry(name: string): Promise<void> {
    const entry = this.files.get(name);
    if (entry === undefined) throw named('NotFoundError');
    if (isOpen(entry)) throw named('NoModificationAllowedError');
    this.files.delete(name);
  }

  async *entries(): AsyncGenerator<readonly [string, MemoryFile | MemoryFolder]> {
    yield* this.files;
  }
}

function isOpen(entry: MemoryFile | MemoryFolder): boolean {
  return entry instanceof MemoryFile ? entry.isOpen : [...entry.files.values()].some(isOpen);
}

/** Web Locks of one thread: shared ones wait for each other, too. */
export function memoryLocks(): FileLocks {
  const last = new Map<string, Promise<unknown>>();
  return {
    isTaken: async (name) => last.has(name),
    request: (name, _options, work) => {
      const mine = (last.get(name) ?? Promise.resolve()).then(work);
      last.set(
        name,
        mine.catch(() => undefined),
      );
      return mine;
    },
  };
}
