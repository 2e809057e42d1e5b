/** The store on the origin-private file system of a browser. Its work is done in a dedicated worker: see opfs-engine.ts. */
import { checkNotAborted } from '../../base/assert.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { invalidInput, QuarkError } from '../../base/errors.ts';
import { isNode } from '../../base/runtime.ts';
import type { DeletedRunSource } from '../blob-sweep.ts';
import { storeOf, type StoreDriver } from '../front.ts';
import type { OpenStorageOptions } from '../registry.ts';
import type { RowSpill } from '../row-spill.ts';
import { storeClosed } from '../run-rules.ts';
import type { IndexFeed } from '../run-feed.ts';
import type { Store, StoreLocation, StoreNotes } from '../store.ts';
import type { EngineCall } from './opfs-messages.ts';
import { takeWorker, type WorkerLease } from './opfs-worker.ts';

const DEFAULT_NAME = 'quark';
const QUERIES = new Set(['', 'synchronous=normal', 'synchronous=full']);

/** Saves rows that are not appended yet, for the store of a name. */
export type FollowTabs = (
  name: string,
  store: Store,
) => Promise<(RowSpill & { close(): Promise<void> }) | undefined>;

/**
 * Opens `opfs:NAME`; `quark` when there is no name. What resolved survives the end of the tab and of the browser, however they end, and
 * a loss of power as well; of appends that is so with `opfs:NAME?synchronous=full`, and otherwise after a second.
 *
 * @param followTabs takes in what tabs and workers that have ended could not append, now and later
 * @throws {QuarkError} `unsupported` where something is missing, which the detail `lacking` names
 * @throws {SessionStoreError} `missing`, `unwritable`, `failed`
 */
export async function openOpfsStorage(
  uri: string,
  options: OpenStorageOptions = {},
  followTabs?: FollowTabs,
): Promise<Store> {
  checkNotAborted(options.signal);
  const { isFull, name } = readAddress(uri);
  const address = `opfs:${name}`;
  if (isNode())
    throw new QuarkError(
      'unsupported',
      `Node has no origin-private file system, so ${address} cannot be opened. Use "file:DIR".`,
      { details: { uri: address, lacking: 'file system of its own' } },
    );
  const lease = await takeWorker(address);
  try {
    const { engine, worker } = lease;
    const create = options.create ?? true;
    await worker.call({ engine, open: { uri: address, name, create, isFull } });
  } catch (error) {
    lease.giveBack();
    throw error;
  }
  const driver = new OpfsStore(address, lease, options.clock ?? systemClock);
  const store = storeOf(driver);
  try {
    const spill = await followTabs?.(address, store);
    if (spill !== undefined) driver.spill = spill;
    return store;
  } catch (error) {
    await store.close().catch(() => undefined);
    throw error;
  }
}

/** Reads `opfs:NAME?synchronous=full`. @throws {QuarkError} `invalid_input` */
export function readAddress(uri: string): { readonly name: string; readonly isFull: boolean } {
  const [name = '', query = ''] = uri.replace(/^opfs:/i, '').split('?');
  if (!QUERIES.has(query))
    throw invalidInput('storage', uri, 'opfs:NAME, with "?synchronous=full" or without');
  return { name: name || DEFAULT_NAME, isFull: query === 'synchronous=full' };
}

class OpfsStore implements StoreDriver {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly isWritable = true;
  readonly #lease: WorkerLease;
  readonly #clock: Pick<Clock, 'now'>;
  spill?: NonNullable<Awaited<ReturnType<FollowTabs>>>;
  #closing: Promise<void> | undefined;

  constructor(uri: string, lease: WorkerLease, clock: Pick<Clock, 'now'>) {
    this.uri = uri;
    this.location = { storageDir: uri, storeRoot: uri, dbPath: uri };
    this.#lease = lease;
    this.#clock = clock;
  }

  readonly ensureProject = this.#ask<Store['ensureProject']>('ensureProject');
  readonly listProjects = this.#ask<Store['listProjects']>('listProjects');
  readonly removeProject = this.#ask<NonNullable<Store['removeProject']>>('removeProject');
  readonly createRun = this.#ask<Store['createRun']>('createRun');
  readonly findRun = this.#ask<Store['findRun']>('findRun');
  readonly listRuns = this.#ask<Store['listRuns']>('listRuns');
  readonly updateRun = this.#ask<Store['updateRun']>('updateRun');
  readonly deleteRun = this.#ask<Store['deleteRun']>('deleteRun');
  readonly archiveRun = this.#ask<Store['archiveRun']>('archiveRun');
  readonly restoreRun = this.#ask<Store['restoreRun']>('restoreRun');
  readonly findDeletedRun = this.#ask<Store['findDeletedRun']>('findDeletedRun');
  readonly listDeletedRuns = this.#ask<Store['listDeletedRuns']>('listDeletedRuns');
  readonly purgeDeletedRuns = this.#ask<Store['purgeDeletedRuns']>('purgeDeletedRuns');
  readonly renewLease = this.#ask<Store['renewLease']>('renewLease');
  readonly releaseLease = this.#ask<Store['releaseLease']>('releaseLease');
  readonly listLeases = this.#ask<Store['listLeases']>('listLeases');
  readonly lapsedLeases = this.#ask<NonNullable<Store['lapsedLeases']>>('lapsedLeases');
  readonly appendSegments = this.#ask<Store['appendSegments']>('appendSegments');
  readonly listSegments = this.#ask<Store['listSegments']>('listSegments');
  readonly readSegments = this.#ask<Store['readSegments']>('readSegments');
  readonly replaceSegments = this.#ask<Store['replaceSegments']>('replaceSegments');
  readonly replaceTable = this.#ask<Store['replaceTable']>('replaceTable');
  readonly putBlob = this.#ask<Store['putBlob']>('putBlob');
  readonly getBlob = this.#ask<Store['getBlob']>('getBlob');
  readonly listBlobs = this.#ask<NonNullable<Store['listBlobs']>>('listBlobs');
  readonly dropBlobs = this.#ask<NonNullable<Store['dropBlobs']>>('dropBlobs');
  readonly reclaimSpace = this.#ask<Store['reclaimSpace']>('reclaimSpace');

  readonly notes: StoreNotes = {
    read: this.#ask<StoreNotes['read']>('readNote'),
    write: this.#ask<StoreNotes['write']>('writeNote'),
    list: this.#ask<StoreNotes['list']>('listNotes'),
    survey: this.#ask<StoreNotes['survey']>('snapshot'),
    forgetRun: this.#ask<StoreNotes['forgetRun']>('forgetRun'),
  };

  readonly deletedRuns: DeletedRunSource = {
    listStreams: this.#ask<DeletedRunSource['listStreams']>('deletedStreams'),
    listSegments: this.#ask<DeletedRunSource['listSegments']>('deletedSegments'),
    readSegments: this.#ask<DeletedRunSource['readSegments']>('readDeletedSegments'),
  };

  readonly runFeed: IndexFeed = {
    since: this.#ask<IndexFeed['since']>('changesSince'),
    page: this.#ask<IndexFeed['page']>('runPage'),
    newest: this.#ask<IndexFeed['newest']>('newestRuns'),
    // The engine counts them itself.
    countedArchived: () => Promise.resolve(),
  };

  checkOpen(): void {
    if (this.#closing !== undefined) throw storeClosed(this.uri);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      await this.spill?.close();
    } finally {
      try {
        await this.#ask<() => Promise<void>>('close')();
      } finally {
        this.#lease.giveBack();
      }
    }
  }

  /** A method that the engine has. */
  #ask<M extends (...args: never[]) => Promise<unknown>>(
    call: EngineCall,
  ): (...args: Parameters<M>) => ReturnType<M> {
    return (...args) =>
      // Both sides are built together: the answer is that of the method.
      this.#lease.worker.call({
        engine: this.#lease.engine,
        call,
        args,
        nowMs: this.#clock.now(),
      }) as ReturnType<M>;
  }
}
