/**
 * The store as a session sees it. It opens a store that could not be opened at first, creates the run before the first row is
 * written, and creates the run again when it was removed. Writers call it like any store.
 */
import { isQuarkError, QuarkError } from '../../base/errors.ts';
import type { RowSpill } from '../../store/row-spill.ts';
import type { NewSegment, SegmentManifest, Store, StoreLocation } from '../../store/store.ts';
import type { AnswerLimit } from './answer-limit.ts';
import type { Fence } from './fence.ts';

/** A store that could not be opened when the session began. */
export type LateStore = {
  /** Placeholder for the store until it is open. */
  readonly uri: string;
  open(): Promise<Store>;
};

/** What a {@link LateRunStore} needs of its session. */
export type RunStoreOwner = {
  readonly runId: string;
  readonly fence: Fence;
  /** How long each call may take; none in strict mode. */
  readonly answers: AnswerLimit | undefined;
  /** Makes the run in the store, unless it is there. */
  createRun(store: Store): Promise<void>;
  /** Whether a removed run is created again. */
  readonly isMadeAgain: boolean;
  onOpened(store: Store): void;
  /** Called after the run was created again, with the number of rows that this session had stored in it, by table. */
  onCleared(rows: ReadonlyMap<string, number>): void;
};

/** Optional members of a store. */
const OPTIONAL = new Set<PropertyKey>([
  'notes',
  'sync',
  'readCurves',
  'readSparklines',
  'appendSegmentsNow',
  'updateRunNow',
  'putBlobNow',
  'spill',
  'lapsedLeases',
  'segmentSizes',
  'listStreams',
  'listRunChanges',
  'listBatches',
  'identity',
  'isDurable',
] satisfies (keyof Store)[]);

/** See the top of this file. */
export class LateRunStore {
  /** Forwards calls to the store once it is open; reads do not wait for the run. */
  readonly store: Store;
  readonly #owner: RunStoreOwner;
  readonly #late: LateStore | undefined;
  #opened: Store | undefined;
  /** The same, within the limit of each call. */
  #limited: Store | undefined;
  #opening: Promise<Store> | undefined;
  #isStored: boolean;
  #making: Promise<void> | undefined;
  #rows = new Map<string, number>();
  #spill: RowSpill | undefined;

  /** @param isStored whether the run is in the store */
  constructor(store: Store | LateStore, isStored: boolean, owner: RunStoreOwner) {
    this.#owner = owner;
    this.#isStored = isStored;
    if ('appendSegments' in store) this.#setOpened(store);
    else this.#late = store;
    this.store = this.#proxy(store.uri);
  }

  /** The store itself, once it is open. */
  get opened(): Store | undefined {
    return this.#opened;
  }

  /** The same, within the limit of each call. */
  get limited(): Store | undefined {
    return this.#limited;
  }

  /** Whether the run exists in the store, as far as the session knows. */
  get isStored(): boolean {
    return this.#isStored;
  }

  /** Opens the store and creates the run, unless that is done. */
  async ready(): Promise<Store> {
    const store = await this.#open();
    if (!this.#isStored) await this.#make(store);
    return store;
  }

  #setOpened(store: Store): Store {
    this.#opened = store;
    this.#limited = this.#owner.answers?.limit(store) ?? store;
    return this.#limited;
  }

  async #open(): Promise<Store> {
    if (this.#limited !== undefined) return this.#limited;
    this.#opening ??= this.#openLate().finally(() => {
      this.#opening = undefined;
    });
    return this.#owner.answers?.within('open', this.#opening) ?? this.#opening;
  }

  async #openLate(): Promise<Store> {
    if (this.#late === undefined) throw new QuarkError('store_failed', 'There is no store.');
    const store = await this.#late.open();
    const limited = this.#setOpened(store);
    this.#owner.onOpened(limited);
    return limited;
  }

  #make(store: Store): Promise<void> {
    this.#making ??= this.#owner
      .createRun(store)
      .then(() => {
        this.#isStored = true;
      })
      .finally(() => {
        this.#making = undefined;
      });
    return this.#making;
  }

  /** Does work that needs the run; repeats it once when the run was removed. */
  async #withRun<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = await this.ready();
    try {
      return await work(store);
    } catch (error) {
      if (!this.#isOwnRunGone(error)) throw error;
      await this.#makeAgain(store);
      return work(store);
    }
  }

  #isOwnRunGone(error: unknown): boolean {
    return (
      this.#owner.isMadeAgain &&
      isQuarkError(error, 'run_not_found') &&
      error.details['runId'] === this.#owner.runId
    );
  }

  async #makeAgain(store: Store): Promise<void> {
    // Several writers may detect the removal at the same time.
    const isFirst = this.#isStored;
    this.#isStored = false;
    await this.#make(store);
    if (!isFirst) return;
    const rows = this.#rows;
    this.#rows = new Map();
    this.#owner.onCleared(rows);
  }

  #count(segments: readonly NewSegment[]): void {
    for (const { manifest } of segments)
      if (manifest.runId === this.#owner.runId)
        this.#rows.set(manifest.table, (this.#rows.get(manifest.table) ?? 0) + manifest.rowCount);
  }

  #proxy(uri: string): Store {
    const location: StoreLocation = { storageDir: uri, storeRoot: uri, dbPath: uri };
    const own: Partial<Store> = {
      appendSegments: async (segments, seen) => {
        const manifests = await this.#withRun((store) =>
          this.#owner.fence.append(segments, (some, live) =>
            store.appendSegments(some, seen, live),
          ),
        );
        this.#count(segments);
        return manifests;
      },
      replaceTable: (runId, table, add, seenCount) =>
        this.#withRun((store) => store.replaceTable(runId, table, add, seenCount)),
      findRun: async (runId) => {
        if (runId !== this.#owner.runId) return (await this.#open()).findRun(runId);
        const store = await this.ready();
        const found = await store.findRun(runId);
        if (found !== undefined || !this.#owner.isMadeAgain) return found;
        await this.#makeAgain(store);
        return store.findRun(runId);
      },
      close: async () => {
        if (this.#opening !== undefined) await this.#open().catch(() => undefined);
        await this.#limited?.close();
      },
    };
    return new Proxy({} as Store, {
      has: (_target, member) => this.#opened !== undefined && member in this.#opened,
      get: (_target, member): unknown => {
        const opened = this.#opened;
        if (opened !== undefined && member === 'appendSegmentsNow') return this.#appendNow(opened);
        if (opened !== undefined && member === 'updateRunNow')
          return this.#appendNow(opened) && opened.updateRunNow?.bind(opened);
        if (Object.hasOwn(own, member)) return Reflect.get(own, member);
        if (opened !== undefined) {
          const store = this.#limited ?? opened;
          if (member === 'spill') return this.#spillOf(opened);
          const value: unknown = Reflect.get(store, member, store);
          return typeof value === 'function' ? value.bind(store) : value;
        }
        if (member === 'uri') return uri;
        if (member === 'location') return location;
        if (member === 'isWritable') return true;
        // A proxy that has `then` would be awaited.
        if (OPTIONAL.has(member) || member === 'then' || typeof member === 'symbol')
          return undefined;
        return async (...args: unknown[]) => {
          const store = await this.#open();
          return Reflect.apply(
            Reflect.get(store, member) as (...all: unknown[]) => unknown,
            store,
            args,
          );
        };
      },
    });
  }

  #spillOf({ spill }: Store): RowSpill | undefined {
    if (spill !== undefined) this.#spill ??= this.#owner.fence.spill(spill);
    return this.#spill;
  }

  #appendNow(store: Store): Store['appendSegmentsNow'] {
    // Without its run nothing can be written at once.
    if (store.appendSegmentsNow === undefined || !this.#isStored) return undefined;
    return (segments): readonly SegmentManifest[] => {
      const manifests = this.#owner.fence.appendNow(
        segments,
        (some, live) => store.appendSegmentsNow?.(some, live) ?? [],
      );
      this.#count(segments);
      return manifests;
    };
  }
}
