/**
 * A shard: a folder with one append-only file for each writer, and what follows from all of them, in memory.
 *
 * Changes of a shard have one order. A change is made under a Web Lock that lasts for the change: what other writers have appended is
 * read, the change is checked against it, and one frame goes to the writer's own file. Between changes nobody has a lock. A file
 * whose writer has ended is taken on by the next one, which cuts what the end of the writer left of a frame.
 *
 * `base` frames have all there was at one moment. They go to a new file. Once their `end` is there, all changes up to their order count
 * for nothing, and files without later ones are removed: by the writer of the base, and by those that have them open.
 */
import { xxh32 } from '../../base/xxh32.ts';
import {
  encodeFrame,
  findFrames,
  type FoundFrame,
  type NewFrame,
  type ReadBytes,
} from './opfs-frames.ts';
import {
  isNamed,
  openedAlone,
  removed,
  type FileEntry,
  type FileLocks,
  type FolderEntry,
  type LockMode,
  type SyncFile,
} from './opfs-files.ts';
import { filesIn, readGroups, newName, framePartsOf, readerOf, type Part } from './opfs-parts.ts';
import { Turns } from './opfs-turns.ts';

/** A file that nothing is written to is closed after this time, in milliseconds, so that others can remove it. */
const IDLE_MS = 1000;
/** Files that are read again because somebody wrote to them meanwhile are read so often. */
const MAX_READS = 5;

/** What browsers say of a file that was written or removed while it was read. */
const MOVED = ['NotFoundError', 'NotReadableError', 'InvalidStateError'];

/** What follows from the frames of a shard. */
export interface ShardState {
  /** Nothing is there. @param order of the last change that what is applied next stands for */
  reset(order: number): void;
  apply(body: unknown, parts: readonly Part[], order: number): void;
  /** All there is, as bodies that `apply` takes after a `reset`. */
  bodies(): Iterable<{ readonly body: unknown; readonly parts: readonly Part[] }>;
  /** What is known to be missing of all that was applied since the last reset. */
  tellLost?(lost: LostChanges): void;
}

/** Changes that are in no file, though later ones are, and files that were made and are not there. */
export type LostChanges = { readonly changes: number; readonly files: number };

/** How a shard is reached. */
export type ShardAccess = {
  /** The folder; undefined where it is not there and is not to be made. */
  readonly folder: (create: boolean) => Promise<FolderEntry | undefined>;
  readonly locks: FileLocks;
  readonly lockName: string;
  /** The lock stays for so many milliseconds after a change, for one that follows. */
  readonly lingerMs: number;
  /** Asks the writers in other threads to close their files in this shard. */
  readonly askToClose: () => void;
  /** Where somebody remembers the names of the files. */
  readonly names?: {
    readonly list: () => Promise<readonly string[]>;
    readonly note: (made: readonly string[], leaving: readonly string[]) => Promise<void>;
  };
};

type KnownFile = {
  readonly entry: FileEntry;
  /** Where the last whole frame ends. */
  end: number;
  /** How long the file was then. */
  size: number;
  lastOrder: number;
};

/** See the top of this file. */
export class Shard<S extends ShardState> {
  readonly state: S;
  readonly #access: ShardAccess;
  readonly #files = new Map<string, KnownFile>();
  readonly #turns: Turns;
  #folder: FolderEntry | undefined;
  #own: { readonly name: string; readonly sync: SyncFile } | undefined;
  #lastOwn: string | undefined;
  #order = 0;
  #baseBytes = 0;
  #isDirty = false;
  /** Whether all is to be read: at first, and after a failure. */
  #isStale = true;
  #hasUseless = false;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(state: S, access: ShardAccess) {
    this.state = state;
    this.#access = access;
    const { lingerMs, lockName, locks } = access;
    this.#turns = new Turns({
      locks,
      lockName,
      lingerMs,
      catchUp: (mode) => this.#catchUp(mode),
      isStale: () => this.#isStale,
      flush: () => this.#flush(),
      rest: () => this.#rest(),
    });
  }

  /** The order of the last change. */
  get order(): number {
    return this.#order;
  }

  /** Bytes of all there was when it was written anew the last time; 0 before that. */
  get baseBytes(): number {
    return this.#baseBytes;
  }

  /** Whether nothing is under way, and no file is open. */
  get isIdle(): boolean {
    return this.#turns.isIdle && this.#own === undefined;
  }

  /** Bytes of all files. */
  get fileBytes(): number {
    return [...this.#files.values()].reduce((sum, { end }) => sum + end, 0);
  }

  /** Asks what there is now. */
  read<T>(work: () => Promise<T> | T): Promise<T> {
    return this.#turns.take('shared', work, false);
  }

  /** Changes what there is; `isDurable`: resolves once it survives a loss of power. Changes that wait together are made under one lock. */
  change<T>(work: () => Promise<T> | T, isDurable: boolean): Promise<T> {
    return this.#turns.take('exclusive', work, isDurable);
  }

  /** Appends a change; returns where it begins in the file. Inside {@link change} alone. */
  async append(
    body: unknown,
    parts: readonly Uint8Array<ArrayBuffer>[] = [],
  ): Promise<{ readonly at: number }> {
    const own = await this.#openOwn();
    const file = this.#files.get(own.name);
    if (file === undefined) throw new Error('A file of its own is known.');
    const order = this.#order + 1;
    const frame = encodeFrame({ order, kind: 'tx', body }, parts);
    const at = file.end;
    file.end = this.#writeFrame(own.sync, frame, at);
    file.size = file.end;
    file.lastOrder = order;
    this.#order = order;
    this.#isDirty = true;
    const found = framePartsOf(own.name, { parts: frame.parts, partsAt: at + frame.partsAt });
    this.state.apply(body, found, order);
    return { at };
  }

  /** Takes the last change back, which nobody has seen yet. Inside the {@link change} that made it alone. */
  takeBack(frame: { readonly at: number }): void {
    this.#own?.sync.truncate(frame.at);
    const file = this.#files.get(this.#own?.name ?? '');
    if (file !== undefined) file.end = file.size = frame.at;
    this.#isStale = true;
  }

  /** The bytes of parts; undefined for one that is damaged. Inside {@link read} and {@link change}. */
  async readParts(
    parts: readonly Part[],
  ): Promise<readonly (Uint8Array<ArrayBuffer> | undefined)[]> {
    const found = new Map<Part, Uint8Array<ArrayBuffer> | undefined>();
    for (const group of readGroups(parts)) {
      const [first] = group;
      if (first === undefined) continue;
      const read = await this.#reader(first.file);
      const bytes = await read(first.at, Math.max(...group.map(({ at, size }) => at + size)));
      for (const part of group) {
        const own = bytes.slice(part.at - first.at, part.at - first.at + part.size);
        const isWhole = own.byteLength === part.size && xxh32(own) === part.hash;
        found.set(part, isWhole ? own : undefined);
      }
    }
    return parts.map((part) => found.get(part));
  }

  /** Writes all there is into a file of its own, and removes the others. Inside {@link change} alone. */
  async rewrite(): Promise<void> {
    const folder = await this.#made();
    const order = this.#order;
    const name = newName();
    const entry = await folder.getFileHandle(name, { create: true });
    const sync = await entry.createSyncAccessHandle();
    const bodies: { body: unknown; parts: readonly Part[] }[] = [];
    let end = 0;
    try {
      const write = (
        kind: 'base' | 'part' | 'end',
        body: unknown,
        parts: Uint8Array<ArrayBuffer>[],
        hashes: number[],
      ): readonly Part[] => {
        const frame = encodeFrame({ order, kind, body }, parts, hashes);
        const found = framePartsOf(name, { parts: frame.parts, partsAt: end + frame.partsAt });
        end = this.#writeFrame(sync, frame, end);
        return found;
      };
      write('base', null, [], []);
      for (const { body, parts } of this.state.bodies()) {
        const bytes = await this.readParts(parts);
        // A part that is damaged stays so: its size and its hash are those of what was written.
        const whole = parts.map((part, i) => bytes[i] ?? new Uint8Array(part.size));
        const hashes = parts.map(({ hash }) => hash);
        bodies.push({ body, parts: write('part', body, whole, hashes) });
      }
      write('end', null, [], []);
      sync.flush();
      await this.#access.names?.note([name], [...this.#files.keys()]);
    } catch (error) {
      sync.close();
      await removed(folder, name);
      throw error;
    }
    this.#closeOwn();
    const others = [...this.#files.keys()];
    this.#own = { name, sync };
    this.#baseBytes = end;
    this.#isDirty = false;
    this.#files.set(name, { entry, end, size: end, lastOrder: order });
    this.state.reset(order);
    for (const { body, parts } of bodies) this.state.apply(body, parts, order);
    await this.#removeFiles(folder, others);
  }

  /** Forgets what is known, and closes the file. */
  forget(): void {
    this.#closeOwn();
    this.#files.clear();
    this.#folder = undefined;
    this.#order = 0;
    this.#baseBytes = 0;
    this.state.reset(0);
  }

  /** Closes the file for others, who want to remove it, and removes it where nothing in it counts any more. */
  async release(): Promise<void> {
    // Who waits for the lock has nothing under way: the one who asks may have the lock.
    if (this.#turns.isInside) await this.#turns.settled();
    if (!this.#turns.isInside) this.#closeOwn();
    if (this.#files.size > 0 && !this.#isClosed) await this.change(() => undefined, false);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turns.close();
    this.#closeOwn();
  }

  /** Sees to it that all survives a loss of power; returns what went wrong. */
  #flush(): unknown {
    if (!this.#isDirty) return undefined;
    try {
      this.#own?.sync.flush();
      this.#isDirty = false;
      return undefined;
    } catch (error) {
      this.#isStale = true;
      return error ?? new Error('The file was not flushed.');
    }
  }

  /** Reads what others have appended since the last time. */
  async #catchUp(mode: LockMode): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#readNew(mode);
        return;
      } catch (error) {
        const isMoved = MOVED.some((name) => isNamed(error, name));
        if (!isMoved || attempt === MAX_READS) throw error;
        this.#folder = undefined;
        this.#isStale = true;
      }
    }
  }

  async #readNew(mode: LockMode): Promise<void> {
    const folder = (this.#folder ??= await this.#access.folder(false));
    if (folder === undefined) {
      if (this.#files.size > 0 || this.#isStale) {
        this.forget();
        await this.#tellLost(new Set(), 0);
      }
      this.#isStale = false;
      return;
    }
    const entries = await filesIn(folder);
    const isKept = [...this.#files.keys()].every((name) => entries.has(name));
    const mayRemove = this.#hasUseless && mode === 'exclusive';
    if (this.#isStale || !isKept || mayRemove) return this.#readAll(folder, entries, mode);
    const scans = [...entries].map(async ([name, entry]) => {
      if (name === this.#own?.name) return [];
      const file = await entry.getFile();
      const known = this.#files.get(name);
      if (known !== undefined && known.size === file.size && known.end === file.size) return [];
      if (known !== undefined && known.end > file.size) return undefined;
      const { frames, end } = await findFrames(readerOf(file), known?.end ?? 0, file.size);
      const lastOrder = frames.at(-1)?.order ?? known?.lastOrder ?? 0;
      this.#files.set(name, { entry, end, size: file.size, lastOrder });
      return frames.map((frame) => ({ name, frame }));
    });
    const found = await Promise.all(scans);
    const frames = found.flatMap((one) => one ?? []);
    if (found.includes(undefined) || frames.some(({ frame }) => frame.kind !== 'tx'))
      return this.#readAll(folder, entries, mode);
    this.#applyAll(frames);
  }

  /** Reads everything: the last base, and what came after it. */
  async #readAll(
    folder: FolderEntry,
    entries: ReadonlyMap<string, FileEntry>,
    mode: LockMode,
  ): Promise<void> {
    this.#isStale = true;
    this.#files.clear();
    const own = this.#own;
    if (own !== undefined && !entries.has(own.name)) this.#closeOwn();
    const found = await Promise.all(
      [...entries].map(async ([name, entry]) => {
        const isOwn = name === this.#own?.name;
        const file = isOwn ? undefined : await entry.getFile();
        const size = file?.size ?? this.#own?.sync.getSize() ?? 0;
        const read = file === undefined ? this.#ownReader() : readerOf(file);
        const { end, frames } = await findFrames(read, 0, size);
        const lastOrder = frames.at(-1)?.order ?? 0;
        this.#files.set(name, { entry, end, size, lastOrder });
        return { name, frames };
      }),
    );
    const bases = found.filter(({ frames }) => frames.some(({ kind }) => kind === 'end'));
    const baseOrder = ({ frames }: (typeof bases)[number]): number =>
      frames.find(({ kind }) => kind === 'end')?.order ?? 0;
    const base = bases.sort((a, b) => baseOrder(b) - baseOrder(a))[0];
    const order = base === undefined ? -1 : baseOrder(base);
    this.#order = Math.max(order, 0);
    this.#baseBytes = base?.frames.find(({ kind }) => kind === 'end')?.end ?? 0;
    this.state.reset(this.#order);
    for (const frame of base?.frames ?? [])
      if (frame.kind === 'part')
        this.state.apply(frame.body, framePartsOf(base?.name ?? '', frame), order);
    const later = found.flatMap(({ frames, name }) =>
      frames
        .filter((frame) => frame.kind === 'tx' && frame.order > order)
        .map((frame) => ({ name, frame })),
    );
    this.#applyAll(later);
    const orders = new Set(later.map((one) => one.frame.order));
    await this.#tellLost(new Set(entries.keys()), this.#order - Math.max(order, 0) - orders.size);
    this.#isStale = false;
    const isNeeded = ({ frames, name }: (typeof found)[number]): boolean =>
      name === base?.name || frames.some((one) => one.kind === 'tx' && one.order > order);
    const useless = found.filter((one) => !isNeeded(one)).map(({ name }) => name);
    this.#hasUseless = mode === 'shared' && useless.length > 0;
    if (mode === 'shared') return;
    if (this.#own !== undefined && useless.includes(this.#own.name)) this.#closeOwn();
    if (useless.length > 0) await this.#access.names?.note([], useless);
    await this.#removeFiles(folder, useless);
  }

  async #tellLost(there: ReadonlySet<string>, changes: number): Promise<void> {
    const names = (await this.#access.names?.list()) ?? [];
    const files = names.filter((name) => !there.has(name)).length;
    this.state.tellLost?.({ changes, files });
  }

  #applyAll(frames: { readonly name: string; readonly frame: FoundFrame }[]): void {
    frames.sort((a, b) => a.frame.order - b.frame.order);
    for (const { frame, name } of frames) {
      this.state.apply(frame.body, framePartsOf(name, frame), frame.order);
      this.#order = Math.max(this.#order, frame.order);
    }
  }

  async #removeFiles(folder: FolderEntry, names: readonly string[]): Promise<void> {
    let isOpenElsewhere = false;
    for (const name of names) {
      if (await removed(folder, name)) this.#files.delete(name);
      else isOpenElsewhere = true;
    }
    if (isOpenElsewhere) this.#access.askToClose();
  }

  async #made(): Promise<FolderEntry> {
    this.#folder ??= await this.#access.folder(true);
    if (this.#folder === undefined) throw new Error('A folder that is made is there.');
    return this.#folder;
  }

  async #openOwn(): Promise<{ readonly name: string; readonly sync: SyncFile }> {
    if (this.#own !== undefined) return this.#own;
    const folder = await this.#made();
    const names = [...this.#files.keys()].filter((name) => name !== this.#lastOwn);
    if (this.#lastOwn !== undefined && this.#files.has(this.#lastOwn)) names.unshift(this.#lastOwn);
    for (const name of names) {
      const file = this.#files.get(name);
      const sync = file === undefined ? undefined : await openedAlone(file.entry);
      if (file === undefined || sync === undefined) continue;
      // What a writer left of a frame when it was killed.
      if (sync.getSize() !== file.end) sync.truncate(file.end);
      file.size = file.end;
      return (this.#own = { name, sync });
    }
    const name = newName();
    const entry = await folder.getFileHandle(name, { create: true });
    const sync = await entry.createSyncAccessHandle();
    this.#files.set(name, { entry, end: 0, size: 0, lastOrder: 0 });
    this.#own = { name, sync };
    await this.#access.names?.note([name], []);
    return this.#own;
  }

  #closeOwn(): void {
    if (this.#own === undefined) return;
    this.#lastOwn = this.#own.name;
    this.#flush();
    this.#own.sync.close();
    this.#own = undefined;
  }

  #rest(): void {
    clearTimeout(this.#idle);
    if (this.#own === undefined || this.#isClosed) return;
    this.#idle = setTimeout(() => {
      if (!this.#turns.isInside) this.#closeOwn();
    }, IDLE_MS);
  }

  /** Writes a frame, or nothing of it; returns where it ends. */
  #writeFrame(sync: SyncFile, { buffers }: NewFrame, at: number): number {
    let end = at;
    try {
      for (const buffer of buffers) {
        const written = sync.write(buffer, { at: end });
        if (written !== buffer.byteLength)
          throw new DOMException(`${written} of ${buffer.byteLength} bytes`, 'QuotaExceededError');
        end += written;
      }
      return end;
    } catch (error) {
      this.#isStale = true;
      try {
        sync.truncate(at);
      } catch {
        // What is left of the frame is cut by the next writer.
      }
      throw error;
    }
  }

  async #reader(name: string): Promise<ReadBytes> {
    if (name === this.#own?.name) return this.#ownReader();
    const entry = this.#files.get(name)?.entry;
    if (entry === undefined) return async () => new Uint8Array(0);
    return readerOf(await entry.getFile());
  }

  #ownReader(): ReadBytes {
    const sync = this.#own?.sync;
    return async (from, to) => {
      const bytes = new Uint8Array(Math.max(0, to - from));
      return bytes.subarray(0, sync?.read(bytes, { at: from }) ?? 0);
    };
  }
}
