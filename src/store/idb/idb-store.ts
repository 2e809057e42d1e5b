/** The store in IndexedDB: the default of browsers, also inside workers. */
import { storeOf, type StoreDriver } from '../front.ts';
import { checkNotAborted } from '../../base/assert.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { RunNotFoundError } from '../../base/errors.ts';
import { ifAllowed } from '../../base/if-allowed.ts';
import { isChromium, isNode } from '../../base/runtime.ts';
import { checkStoredBlob } from '../blob-rules.ts';
import type { BlobSweeps, DeletedRunSource } from '../blob-sweep.ts';
import { BLOB_DROP_STORES, BLOB_LIST_STORES, dropBlobs, blobsIn } from './idb-blob-sweep.ts';
import { checkNotDeleted, idbDeletion } from './idb-deletion.ts';
import { holdProject, listIdbProjects, removeIdbProject, countInIdb } from './idb-projects.ts';
import { IdbConnection } from './idb-connection.ts';
import type { IdbTransaction } from './idb-layout.ts';
import { beginNewLog } from './idb-log.ts';
import type { IndexFeed } from '../run-feed.ts';
import { idbRunFeed, noteRunChange } from './idb-run-feed.ts';
import { idbNotes } from './idb-notes.ts';
import { IdbSpill } from './idb-spill.ts';
import { pageStorage } from '../storage-spill.ts';
import * as segmentsIn from './idb-segments.ts';
import type { OpenStorageOptions } from '../registry.ts';
import {
  compareText,
  copyRun,
  liveRuns,
  projectIdTaken,
  runIdTaken,
  agedLease,
  selectLapsed,
  revisedRun,
  selectLeases,
  selectRuns,
} from '../run-rules.ts';
import type {
  ServedStore,
  RunFilter,
  Store,
  StoredRun,
  StoreLocation,
  StoreNotes,
  UpdateResult,
} from '../store.ts';

const DEFAULT_NAME = 'quark';

/**
 * Opens `idb:NAME`, or the database of a plain name; `quark` when there is none. A write that resolved survives the end
 * of the tab and of the browser, however they end. The browser may still remove all data of a site when space gets short; a page that
 * wants to be spared asks for `navigator.storage.persist()` itself.
 *
 * @throws {QuarkError} `unsupported` where there is no IndexedDB
 * @throws {SessionStoreError} `unwritable`, `version`, `blocked`, `corrupt`, `missing`, `failed`
 */
export async function openIdbStorage(
  uri: string,
  options: OpenStorageOptions = {},
): Promise<Store> {
  checkNotAborted(options.signal);
  const name = uri.replace(/^idb:/i, '') || DEFAULT_NAME;
  const connection = new IdbConnection(name, `idb:${name}`);
  await connection.open(options.create ?? true);
  await beginNewLog();
  const driver = new IdbStore(`idb:${name}`, connection, options.clock ?? systemClock);
  const store = storeOf(driver);
  await driver.followTabs(name, store);
  return store;
}

class IdbStore implements StoreDriver {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly isWritable = true;
  readonly notes: StoreNotes;
  readonly deletedRuns: DeletedRunSource;
  readonly deleteRun: Store['deleteRun'];
  readonly archiveRun: Store['archiveRun'];
  readonly restoreRun: Store['restoreRun'];
  readonly findDeletedRun: Store['findDeletedRun'];
  readonly listDeletedRuns: Store['listDeletedRuns'];
  readonly purgeDeletedRuns: Store['purgeDeletedRuns'];
  readonly #connection: IdbConnection;
  readonly runFeed: IndexFeed;
  readonly #clock: Pick<Clock, 'now'>;
  spill?: IdbSpill;

  constructor(uri: string, connection: IdbConnection, clock: Pick<Clock, 'now'>) {
    this.uri = uri;
    this.location = { storageDir: uri, storeRoot: uri, dbPath: uri };
    this.#connection = connection;
    this.runFeed = idbRunFeed(connection, clock);
    this.#clock = clock;
    this.notes = idbNotes(connection);
    const deletion = idbDeletion(connection, clock, uri);
    this.deletedRuns = segmentsIn.deletedRuns(connection);
    this.deleteRun = deletion.deleteRun;
    this.archiveRun = deletion.archiveRun;
    this.restoreRun = deletion.restoreRun;
    this.findDeletedRun = deletion.findDeletedRun;
    this.listDeletedRuns = deletion.listDeletedRuns;
    this.purgeDeletedRuns = deletion.purgeDeletedRuns;
  }

  /** Takes in what tabs and workers that have ended could not append, now and later. */
  async followTabs(name: string, store: Store): Promise<void> {
    const spill = await followTabs(name, store);
    if (spill !== undefined) this.spill = spill;
  }

  readonly ensureProject: Store['ensureProject'] = async (project) =>
    this.#connection.writeToDisk(['projects'], async (tx) => {
      const projects = tx.objectStore('projects');
      const known = await projects.index('byName').get(project.name);
      if (known !== undefined) return known;
      if ((await projects.getKey(project.id)) !== undefined) throw projectIdTaken(project.id);
      const stored = { id: project.id, name: project.name, createdAtMs: project.createdAtMs };
      await projects.put(stored);
      return stored;
    });

  readonly listProjects: Store['listProjects'] = async () => {
    const found = await this.#connection.read(['projects', 'runs', 'deletedRuns'], listIdbProjects);
    return found.sort((a, b) => compareText(a.name, b.name));
  };

  readonly removeProject: NonNullable<Store['removeProject']> = async (projectId) =>
    this.#connection.writeToDisk(['projects', 'runs', 'deletedRuns', 'notes'], (tx) =>
      removeIdbProject(tx, projectId),
    );

  readonly createRun: Store['createRun'] = async (run) =>
    this.#connection.writeToDisk(['projects', 'runs', 'deletedRuns', 'notes'], async (tx) => {
      const runs = tx.objectStore('runs');
      await checkNotDeleted(tx, [run.id]);
      if ((await runs.getKey(run.id)) !== undefined) throw runIdTaken(run.id);
      const stored = copyRun(await countInIdb(tx, run), 1);
      await holdProject(tx, run);
      await Promise.all([runs.put(stored), noteRunChange(tx, undefined, stored)]);
      return stored;
    });

  readonly findRun: Store['findRun'] = async (runId) =>
    this.#connection.read(['runs'], (tx) => tx.objectStore('runs').get(runId));

  readonly listRuns: Store['listRuns'] = async (filter = {}) =>
    this.#connection.read(['runs', 'leases'], async (tx) => {
      const leases = filter.where === undefined ? [] : await tx.objectStore('leases').getAll();
      const live = liveRuns(leases, this.#clock.now());
      if (filter.limit === undefined)
        return selectRuns(await tx.objectStore('runs').getAll(), filter, live);
      return newestRuns(tx, filter, live);
    });

  readonly updateRun: Store['updateRun'] = async (run) =>
    this.#connection.writeToDisk(
      ['runs', 'deletedRuns', 'notes'],
      async (tx): Promise<UpdateResult> => {
        const runs = tx.objectStore('runs');
        await checkNotDeleted(tx, [run.id]);
        const stored = await runs.get(run.id);
        if (stored === undefined) throw new RunNotFoundError(run.id, this.uri);
        if (stored.revision !== run.revision) return { kind: 'conflict', run: stored };
        const next = await countInIdb(tx, revisedRun(run, stored));
        await Promise.all([runs.put(next), noteRunChange(tx, stored, next)]);
        return { kind: 'updated', run: next };
      },
    );

  readonly renewLease: Store['renewLease'] = async (runId, holder, ttlMs) =>
    this.#connection.write(['leases', 'deletedRuns'], async (tx) => {
      const leases = tx.objectStore('leases');
      await checkNotDeleted(tx, [runId]);
      const nowMs = this.#clock.now();
      const all = await leases.getAll();
      const lease = { runId, holder, expiresAtMs: nowMs + ttlMs };
      await Promise.all(
        all.flatMap((old): Promise<unknown>[] => {
          const aged = agedLease(old, nowMs);
          if (aged === old) return [];
          return [aged === undefined ? leases.delete([old.runId, old.holder]) : leases.put(aged)];
        }),
      );
      await leases.put({ ...lease, ttlMs });
      return lease;
    });

  readonly releaseLease: Store['releaseLease'] = async (runId, holder) => {
    await this.#connection.write(['leases'], (tx) =>
      tx.objectStore('leases').delete([runId, holder]),
    );
  };

  readonly listLeases: Store['listLeases'] = async (runIds) => {
    const all = await this.#connection.read(['leases'], (tx) => tx.objectStore('leases').getAll());
    return selectLeases(all, this.#clock.now(), runIds);
  };

  readonly lapsedLeases: ServedStore['lapsedLeases'] = async (runId) => {
    const all = await this.#connection.read(['leases'], (tx) => tx.objectStore('leases').getAll());
    return selectLapsed(all, this.#clock.now(), runId);
  };

  readonly appendSegments: Store['appendSegments'] = async (segments, _seen, live) =>
    this.#connection.write(segmentsIn.SEGMENT_STORES, (tx) =>
      segmentsIn.appendSegments(tx, segments, this.uri, live),
    );

  readonly listSegments: Store['listSegments'] = async (filter) =>
    this.#connection.read(['deletedRuns', 'manifests'], (tx) =>
      segmentsIn.listSegments(tx, filter),
    );

  readonly readSegments: Store['readSegments'] = async (segments) => {
    if (segments.length === 0) return [];
    return this.#connection.read(segmentsIn.READ_STORES, (tx) =>
      segmentsIn.readSegmentBytes(tx, segments),
    );
  };

  readonly replaceSegments: Store['replaceSegments'] = async (runId, table, remove, add) =>
    this.#connection.writeToDisk(segmentsIn.SEGMENT_STORES, (tx) =>
      segmentsIn.replaceSegments(tx, runId, table, remove, add),
    );

  readonly replaceTable: Store['replaceTable'] = async (runId, table, add) =>
    this.#connection.writeToDisk(segmentsIn.REPLACE_STORES, (tx) =>
      segmentsIn.replaceTable(tx, runId, table, add, this.uri),
    );

  readonly putBlob: Store['putBlob'] = async (sha256, bytes) => {
    const copy = new Uint8Array(bytes);
    await this.#connection.writeToDisk(['blobs', 'blobPuts'], (tx) =>
      Promise.all([
        tx.objectStore('blobs').put(copy, sha256),
        tx.objectStore('blobPuts').put(this.#clock.now(), sha256),
      ]),
    );
  };

  readonly getBlob: Store['getBlob'] = async (sha256) => {
    const bytes = await this.#connection.read(['blobs'], (tx) =>
      tx.objectStore('blobs').get(sha256),
    );
    if (bytes !== undefined) await checkStoredBlob(sha256, bytes, this.uri);
    return bytes;
  };

  readonly listBlobs: BlobSweeps['listBlobs'] = async (page) =>
    this.#connection.read(BLOB_LIST_STORES, (tx) => blobsIn(tx, page));

  readonly dropBlobs: BlobSweeps['dropBlobs'] = async (drop) =>
    this.#connection.writeToDisk(BLOB_DROP_STORES, (tx) => dropBlobs(tx, drop, this.#clock.now()));

  readonly reclaimSpace: Store['reclaimSpace'] = async () => {
    // The rest IndexedDB does by itself.
    await this.purgeDeletedRuns();
  };

  checkOpen(): void {
    this.#connection.checkOpen();
  }

  async close(): Promise<void> {
    await this.spill?.close();
    await this.#connection.close();
  }
}

/**
 * Takes in what tabs and workers that have ended could not append to a store, now and later.
 *
 * @param name begins the names of what is saved for the store
 */
export async function followTabs(name: string, store: Store): Promise<IdbSpill | undefined> {
  if (isNode()) return undefined;
  const isPage = typeof document !== 'undefined';
  const spill = new IdbSpill({
    name,
    locks: ifAllowed(() => globalThis.navigator?.locks),
    storage: pageStorage(),
    isPage,
    isHidden: () => isPage && document.visibilityState === 'hidden',
    // A shared worker of WebKit that ends in the middle of a transaction leaves it open, and all others wait for it.
    savesRows: !('SharedWorkerGlobalScope' in globalThis && isWebKit()),
  });
  await spill.follow(store);
  return spill;
}

/** Whether the browser is built on WebKit. A wrong answer costs a shared worker that ends the rows of a second. */
function isWebKit(): boolean {
  return /AppleWebKit\//.test(navigator.userAgent) && !isChromium();
}

/** The first runs of a filter without loading all: the index gives them in order. */
async function newestRuns(
  tx: IdbTransaction<'readonly'>,
  filter: RunFilter,
  live: ReadonlySet<string>,
): Promise<readonly StoredRun[]> {
  const { limit = 0, offset = 0, ...conditions } = filter;
  const count = limit + offset;
  const found: StoredRun[] = [];
  let cursor =
    count === 0 ? null : await tx.objectStore('runs').index('byStart').openCursor(null, 'prev');
  while (cursor !== null && found.length < count) {
    found.push(...selectRuns([cursor.value], conditions, live));
    if (found.length < count) cursor = await cursor.continue();
  }
  return found.slice(offset);
}
