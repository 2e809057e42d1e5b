/**
 * The spill of the IndexedDB store: rows that are not appended yet, in a second database. A save is one transaction that reads
 * nothing and is committed in the same call. Once its messages have left the process, the browser completes it, even when the tab
 * or worker ends. (Measured by `npm run test:engines`; a file of the origin-private file system costs the same in Chromium, and
 * WebKitGTK has none.)
 *
 * A thread that saves holds a Web Lock, which the browser releases when the tab or worker ends. Recovery needs that lock, so that
 * no batch is taken while it grows. Of two threads that recover at the same time, the second finds nothing. Batches that were
 * appended before the end are recognised by their identity. A frozen tab holds its lock.
 */
import { openDB, unwrap, type IDBPDatabase } from 'idb';
import { atMost } from '../../base/at-most.ts';
import { createId } from '../../base/ids.ts';
import { ifAllowed } from '../../base/if-allowed.ts';
import { segmentName } from '../../records/shapes/manifest.ts';
import { keysUnder } from './idb-layout.ts';
import type {
  OpenSessions,
  ReportKey,
  RowsKey,
  SavedSession,
  SessionKey,
  SpillLayout,
  SpillLocks,
  SpillParts,
} from './idb-spill-layout.ts';
import {
  hasNotedLeft,
  leftOwners,
  listSpilled,
  lostOwners,
  noteLeft,
  onSpilled,
  spillNotingLost,
  recoverSpilled,
  takeLeft,
  takeLost,
  type LeftSession,
  type LostBatch,
} from '../storage-spill.ts';
import type { LossReport, RowSpill } from '../row-spill.ts';
import {
  appendIfNew,
  endLeft,
  lossReport,
  joinVersions,
  storedBatches,
  warnOfLost,
  type SavedRows,
} from '../spill-recovery.ts';
import type { NewSegment, Store, StoredRun } from '../store.ts';

/** A page that was told of its end may run tasks for this long, but no timer; after it, it has come back from the cache. */
const ENDING_MS = 1_000;
/** Pages usually get `pagehide` before they end: their rows need not be saved in every task. */
const PAGE_PAUSE_MS = 20;
/** Where rows cannot be saved, workers append them after this time, in milliseconds. */
const WORKER_FLUSH_MS = 20;
/** Longest delay of a save, in milliseconds: the pause, and a task that blocks the thread. */
const GAP_MS = 50;
/** The same where only appends store rows, by the default of writers. */
const FLUSH_GAP_MS = 1000;
/** Longest wait for the lock of a page that has left, in milliseconds. */
const LEAVING_MS = 1_000;
/** Longest wait for a lock, or for a database that another tab blocks, in milliseconds. */
const MAX_WAIT_MS = 2_000;

/** See the top of this file. */
export class IdbSpill implements RowSpill {
  readonly #parts: SpillParts;
  readonly #owner = createId('own', Date.now());
  readonly #sessions = new Map<string, OpenSessions>();
  readonly #closing = new AbortController();
  readonly #watched = new Set<string>();
  /** Batches of which a version was saved, by name: the last one, and whether the browser has said that it has it. */
  readonly #saved = new Map<string, { readonly rowCount: number; isConfirmed: boolean }>();
  #channel: BroadcastChannel | undefined;
  #database: IDBPDatabase<SpillLayout> | undefined;
  #opening: Promise<void> | undefined;
  #locking: Promise<void> | undefined;
  #unlock: () => void = () => undefined;
  #unfollow: () => void = () => undefined;
  #hasLock = false;
  #hasLeft = false;
  #leftAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: SpillParts) {
    this.#parts = parts;
  }

  get isReady(): boolean {
    return this.#hasBegun && this.#parts.savesRows !== false;
  }

  get #hasBegun(): boolean {
    return this.#hasLock && this.#database !== undefined;
  }

  get pauseMs(): number {
    // Timers of hidden pages are late by a second and more; after `pagehide` a task may come still, and no timer.
    const getsNotice = this.#parts.isPage && this.#leftAtMs === Number.NEGATIVE_INFINITY;
    return getsNotice && this.#parts.isHidden?.() !== true ? PAGE_PAUSE_MS : 0;
  }

  get isEnding(): boolean {
    return performance.now() - this.#leftAtMs < ENDING_MS;
  }

  get flushWithinMs(): number | null {
    return this.#parts.isPage || this.#hasBegun ? null : WORKER_FLUSH_MS;
  }

  async begin(runId: string, holder?: string): Promise<void> {
    const open = this.#sessions.get(runId) ?? { count: 0, holders: new Set() };
    open.count++;
    if (holder !== undefined) open.holders.add(holder);
    this.#sessions.set(runId, open);
    this.#locking ??= this.#lock();
    const begun = Promise.all([this.#open(), this.#locking]).then(() => this.#saveSessions(false));
    await atMost(MAX_WAIT_MS, begun);
  }

  async end(runId: string): Promise<void> {
    const open = this.#sessions.get(runId);
    if (open !== undefined && open.count > 1) {
      open.count--;
      return;
    }
    this.#sessions.delete(runId);
    await atMost(MAX_WAIT_MS, this.#removeSession(runId));
  }

  save(segments: readonly NewSegment[]): void {
    if (!this.isReady || segments.length === 0) return;
    if (this.#hasLeft) {
      // The page has come back from the cache of the browser.
      this.#hasLeft = false;
      this.#saveSessions(false);
    }
    this.#put(segments);
  }

  forget(segments: readonly NewSegment[]): void {
    const known = segments.filter((segment) => this.#saved.delete(segmentName(segment.manifest)));
    if (known.length === 0) return;
    this.#write((rows) => {
      for (const segment of known) rows.delete(this.#keyOf(segment));
    });
  }

  leave(segments: readonly NewSegment[]): void {
    const { name, storage } = this.#parts;
    const open = segments.filter((segment) => {
      const saved = this.#saved.get(segmentName(segment.manifest));
      return saved?.isConfirmed !== true || saved.rowCount !== segment.manifest.rowCount;
    });
    if (this.isReady) this.#put(open);
    if (storage !== undefined) spillNotingLost(storage, name, this.#owner, open);
  }

  left(end?: StoredRun): void {
    const { name, storage } = this.#parts;
    if (this.#sessions.size === 0) return;
    const ending = end === undefined ? undefined : this.#sessions.get(end.id);
    if (ending !== undefined) ending.end = end;
    this.#hasLeft = true;
    this.#leftAtMs = performance.now();
    this.#saveSessions(true);
    if (storage === undefined) return;
    // A page in the back/forward cache comes back: only the end of a run says that this one does not.
    const sessions = [...this.#sessions].flatMap(([runId, open]): LeftSession[] =>
      open.end === undefined ? [] : [{ runId, holders: [...open.holders], end: open.end }],
    );
    noteLeft(storage, name, this.#owner, sessions);
  }

  async listReports(): Promise<readonly LossReport[]> {
    // A shared worker that ends may leave a transaction behind in WebKit, and everybody waiting.
    const found = await atMost(MAX_WAIT_MS, this.#read('report'));
    return (found ?? []) as LossReport[];
  }

  async removeReport({ owner, runId }: LossReport): Promise<void> {
    await atMost(MAX_WAIT_MS, this.#remove(['report', owner, runId]));
  }

  /** Recovers rows of ended tabs and workers now, and of those that are still open when they end. Never rejects. */
  async follow(store: Store): Promise<void> {
    await atMost(MAX_WAIT_MS, this.#open());
    const { locks, name } = this.#parts;
    const takeOver = (owner: string): Promise<void> =>
      this.#takeOver(owner, store).catch(() => undefined);
    if (locks === undefined) {
      await this.#recoverSpilled(store);
      await this.#endLeft(store).catch(() => undefined);
      this.#unfollow = onSpilled(name, () => void this.#recoverSpilled(store));
      await this.#reportLost(store, '', [], undefined).catch(() => undefined);
      return;
    }
    if (typeof BroadcastChannel !== 'undefined') {
      this.#channel = ifAllowed(() => new BroadcastChannel(`quark-spill ${name}`));
      this.#channel?.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
        if (typeof data === 'string') void this.#watch(data, locks, takeOver);
      });
    }
    const owners = (await atMost(MAX_WAIT_MS, this.#owners())) ?? [];
    const taking = owners.map((owner) =>
      locks.request(lockName(name, owner), { ifAvailable: true }, async (lock) => {
        if (lock !== null) {
          await takeOver(owner);
          return;
        }
        const ended = this.#watch(owner, locks, takeOver);
        const { storage } = this.#parts;
        // A page that is loaded again meets what is left of itself: its rows come before what is recorded next.
        if (storage !== undefined && hasNotedLeft(storage, name, owner))
          await atMost(LEAVING_MS, ended);
      }),
    );
    await atMost(2 * MAX_WAIT_MS, Promise.all(taking));
    // Segments in localStorage come after the rows that the same page saved in IndexedDB. The page may still be open.
    if (this.#watched.size === 0) await this.#recoverSpilled(store);
  }

  /** What sessions that are still open have saved stays until this thread ends. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#unfollow();
    this.#channel?.close();
    const runIds = [...this.#sessions.keys()];
    this.#sessions.clear();
    await atMost(MAX_WAIT_MS, Promise.all(runIds.map((runId) => this.#removeSession(runId))));
    this.#database?.close();
    this.#database = undefined;
    this.#hasLock = false;
    this.#unlock();
  }

  #open(): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.resolve();
    this.#opening ??= this.#openDatabase().catch(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #openDatabase(): Promise<void> {
    const onLost = (): void => {
      this.#database?.close();
      this.#database = undefined;
      this.#opening = undefined;
    };
    const database = await openDB<SpillLayout>(
      `quark-sdk: rows not stored yet of ${this.#parts.name}`,
      1,
      {
        upgrade: (made) => {
          made.createObjectStore('saved');
        },
        blocking: onLost,
        terminated: onLost,
      },
    );
    if (this.#closing.signal.aborted) database.close();
    else this.#database = database;
  }

  async #lock(): Promise<void> {
    const { locks, name } = this.#parts;
    if (locks === undefined) return;
    await new Promise<void>((resolve) => {
      const held = new Promise<void>((unlock) => {
        this.#unlock = unlock;
      });
      locks
        .request(lockName(name, this.#owner), () => {
          this.#hasLock = !this.#closing.signal.aborted;
          resolve();
          return this.#hasLock ? held : undefined;
        })
        .catch(() => resolve());
    });
    this.#channel?.postMessage(this.#owner);
  }

  #saveSessions(hasLeft: boolean): void {
    if (!this.#hasBegun) return;
    const gapMs = this.isReady ? GAP_MS : FLUSH_GAP_MS;
    this.#write((rows) => {
      for (const [runId, { end, holders }] of this.#sessions) {
        const session: SavedSession = { hasLeft, gapMs, holders: [...holders], end };
        rows.put(session, ['session', this.#owner, runId]);
      }
    });
  }

  async #read(kind: 'report' | 'rows' | 'session', owner?: string) {
    const range = keysUnder(owner === undefined ? [kind] : [kind, owner]);
    return (await this.#database?.getAll('saved', range)) ?? [];
  }

  async #remove(key: SessionKey | ReportKey): Promise<void> {
    await this.#database?.delete('saved', key);
  }

  #removeSession(runId: string): Promise<void> {
    return this.#remove(['session', this.#owner, runId]);
  }

  #put(segments: readonly NewSegment[]): void {
    if (segments.length === 0) return;
    const savedAtMs = Date.now();
    const versions = segments.map(({ manifest }) => ({
      rowCount: manifest.rowCount,
      isConfirmed: false,
    }));
    this.#write(
      (rows) => {
        segments.forEach((segment, i) => {
          const { bytes, manifest } = segment;
          const version = versions[i];
          if (version !== undefined) this.#saved.set(segmentName(segment.manifest), version);
          rows.put({ bytes, manifest, savedAtMs } satisfies SavedRows, this.#keyOf(segment));
        });
      },
      () => {
        for (const version of versions) version.isConfirmed = true;
      },
    );
  }

  /** One transaction, sent completely before this returns. A failure is not retried: the rows are still in memory. */
  #write(work: (rows: IDBObjectStore) => void, done?: () => void): void {
    const database = this.#database;
    if (database === undefined) {
      void this.#open();
      return;
    }
    try {
      const transaction = unwrap(database).transaction('saved', 'readwrite', {
        durability: 'relaxed',
      });
      if (done !== undefined) transaction.addEventListener('complete', done);
      work(transaction.objectStore('saved'));
      transaction.commit();
    } catch {
      // The browser has ended the connection.
      this.#database = undefined;
      this.#opening = undefined;
      void this.#open();
    }
  }

  #keyOf({ manifest }: NewSegment): RowsKey {
    const { batchNumber, runId, table, writerId } = manifest;
    return ['rows', this.#owner, runId, table, writerId, batchNumber];
  }

  async #owners(): Promise<readonly string[]> {
    const keys = [
      ...((await this.#database?.getAllKeys('saved', keysUnder(['session']))) ?? []),
      ...((await this.#database?.getAllKeys('saved', keysUnder(['rows']))) ?? []),
    ];
    const { name, storage } = this.#parts;
    const noted = storage === undefined ? [] : lostOwners(storage, name);
    return [...new Set([...keys.map(([, owner]) => owner), ...noted])].filter(
      (owner) => owner !== this.#owner,
    );
  }

  /** Rows that cannot be recovered stay saved. */
  async #recoverSpilled(store: Store): Promise<void> {
    const { name, storage } = this.#parts;
    if (storage !== undefined) await recoverSpilled(storage, name, store).catch(() => undefined);
  }

  /** Ends what pages have left, where no lock says who is open: only those that have noted their end. */
  async #endLeft(store: Store): Promise<void> {
    const { name, storage } = this.#parts;
    if (storage === undefined) return;
    for (const owner of leftOwners(storage, name))
      await endLeft(store, takeLeft(storage, name, owner) ?? []);
  }

  /** Waits for the end of another tab or worker. */
  async #watch(
    owner: string,
    locks: SpillLocks,
    takeOver: (owner: string) => Promise<void>,
  ): Promise<void> {
    if (owner === this.#owner || this.#watched.has(owner)) return;
    this.#watched.add(owner);
    const { signal } = this.#closing;
    await locks
      .request(lockName(this.#parts.name, owner), { signal }, () => takeOver(owner))
      .catch(() => undefined)
      .finally(() => this.#watched.delete(owner));
  }

  /** Appends what an ended owner has saved, and writes down what the next session has to record about it. */
  async #takeOver(owner: string, store: Store): Promise<void> {
    const database = this.#database;
    if (database === undefined) return;
    const [sessionKeys, sessions, saved] = await Promise.all([
      database.getAllKeys('saved', keysUnder(['session', owner])),
      this.#read('session', owner),
      this.#read('rows', owner),
    ]);
    const { name, storage } = this.#parts;
    const aside = storage === undefined ? [] : listSpilled(storage, name);
    const rows = joinVersions(saved as SavedRows[], aside);
    const taken: SavedRows[] = [];
    const isStored = storedBatches(store);
    const lost = new Map<string, number>();
    for (const segment of rows)
      if (await appendIfNew(store, segment, isStored, lost)) taken.push(segment);
    warnOfLost(lost);
    if (storage !== undefined) await recoverSpilled(storage, name, store);
    const noted = storage === undefined ? undefined : takeLeft(storage, name, owner);
    const left = new Map(noted?.map((session) => [session.runId, session]));
    for (const [i, [, , runId]] of sessionKeys.entries()) {
      const { end, holders = [] } = sessions[i] as SavedSession;
      left.set(runId, { runId, holders, end: end ?? left.get(runId)?.end });
    }
    await endLeft(store, [...left.values()]);
    const gone = new Map(
      sessionKeys.map(([, , runId], i) => {
        const session = sessions[i] as SavedSession;
        return [runId, noted !== undefined || session.hasLeft ? 0 : session.gapMs];
      }),
    );
    await this.#reportLost(store, owner, taken, gone, rows);
    const transaction = database.transaction('saved', 'readwrite');
    await Promise.all([
      transaction.store.delete(keysUnder(['session', owner])),
      transaction.store.delete(keysUnder(['rows', owner])),
      transaction.done,
    ]);
  }

  /** `gone`: the runs of sessions that have ended, and how many milliseconds of rows may be missing. */
  async #reportLost(
    store: Store,
    owner: string,
    taken: readonly SavedRows[],
    gone: ReadonlyMap<string, number> | undefined,
    saved: readonly SavedRows[] = [],
  ): Promise<void> {
    const { name, storage } = this.#parts;
    const missing: LostBatch[] = [];
    const isStored = storedBatches(store);
    for (const lost of storage === undefined ? [] : takeLost(storage, name, owner))
      if (!(await isStored(lost))) missing.push(lost);
    const runIds = new Set([...(gone?.keys() ?? []), ...missing.map(({ runId }) => runId)]);
    for (const runId of runIds) {
      const gapMs = gone?.get(runId) ?? 0;
      const lost = missing.filter((one) => one.runId === runId);
      if (gapMs === 0 && lost.length === 0) continue;
      const report = lossReport({ owner, runId, gapMs }, { lost, taken, saved });
      await this.#database?.put('saved', report, ['report', report.owner, runId]);
    }
  }
}

function lockName(name: string, owner: string): string {
  return `quark-spill ${owner} ${name}`;
}
