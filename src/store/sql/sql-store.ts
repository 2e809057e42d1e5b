/** The store over an SQL database. What differs between databases and locations is handed in. */
import { storeOf, type StoreDriver } from '../front.ts';
import { checkTableQuestion } from '../../records/run-question.ts';
import { segmentName } from '../../records/shapes/manifest.ts';
import type { Clock } from '../../base/clock.ts';
import { SessionStoreError } from '../../base/errors.ts';
import type { BlobSweeps, DeletedRunSource } from '../blob-sweep.ts';
import { checkSpace, compareText, selectLapsed, selectLeases, storeClosed } from '../run-rules.ts';
import type { SpaceQuotas } from '../quotas.ts';
import { runDeleted } from '../deletion.ts';
import { appendSegments } from './sql-append.ts';
import type { SegmentFiles } from './object-files.ts';
import { SqlBlobStore, type BlobFiles } from './sql-blob-store.ts';
import { storeBlob } from './sql-blobs.ts';
import type { SqlDatabase } from './sql-database.ts';
import { listBatches } from './sql-batches.ts';
import { hiddenSpace, sqlDeletion } from './sql-deletion.ts';
import { sqlNotes, sqlSnapshot } from './sql-notes.ts';
import { listRuns } from './sql-find-runs.ts';
import * as runs from './sql-runs.ts';
import type { ChangeScope } from './sql-streams.ts';
import { hasUnindexed, INDEXED_AT_ONCE, indexRuns } from './sql-facts.ts';
import * as segmentsOf from './sql-segments.ts';
import { askRuns } from './sql-tables.ts';
import { ensureIdentity, readIdentity } from './store-identity.ts';
import type {
  MergedSegment,
  SegmentRead,
  SegmentReference,
  Store,
  StoreLocation,
  StoreNotes,
  BlobRanges,
  LocalStore,
  ServedStore,
} from '../store.ts';

/** Segments are read so many at a time: as much as may be in memory in two forms. */
const READ_AT_ONCE = 8;

/** What an SQL store is made of. The store closes the database, unless that is shared. */
export type SqlStoreParts = {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly database: SqlDatabase;
  /** True: others use the database too, and the code that opened it closes it. Default false. */
  readonly isShared?: boolean;
  /**
   * The part of the database this store sees: runs, projects, leases and blobs of one space are not there in another.
   * Default '', the space of a store that has its database for itself. See `checkSpace`.
   */
  readonly space?: string;
  readonly blobFiles: BlobFiles;
  /** Where large merged segments are stored. Default: in the database. */
  readonly segmentFiles?: SegmentFiles | undefined;
  readonly clock: Pick<Clock, 'now'>;
  /** The quotas that apply in the space now; nothing is limited where there are none. */
  readonly quotas?: (() => Promise<SpaceQuotas | undefined>) | undefined;
  /** Makes room for a run outside the database, before the run is added. */
  readonly prepareRun?: (runId: string) => Promise<void>;
  /** Removes what a run has outside the database, after the run is purged. */
  readonly removeRun?: (runId: string) => Promise<void>;
};

/** A database that many spaces share, and a store over each of them. */
export interface StoreSpaces {
  /** The URI that opens it, without anything secret. */
  readonly uri: string;
  readonly database: SqlDatabase;
  /** Where large merged segments are stored outside the database, if they are. */
  readonly segmentFiles?: SegmentFiles | undefined;
  /**
   * The store of a space, which need not exist: it is there with the first thing stored in it. Closing such a store
   * releases nothing; any number may be open on one space.
   * @param options `quotas` refuses what would pass them, in this store object
   * @throws {QuarkError} `invalid_input` when this is no name of a space
   */
  store(space: string, options?: Pick<SqlStoreParts, 'quotas'>): Store;
  /** Waits for running work, then closes the database under all stores. */
  close(): Promise<void>;
}

/**
 * A store over these parts.
 *
 * @throws {QuarkError} `invalid_input` when the space is no name of a space
 */
export function createSqlStore(parts: SqlStoreParts): Store {
  return storeOf(new SqlStore({ ...parts, space: checkSpace(parts.space ?? '') }));
}

class SqlStore implements StoreDriver {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly isWritable: boolean;
  readonly notes: StoreNotes;
  readonly appendSegmentsNow?: LocalStore['appendSegmentsNow'];
  readonly updateRunNow?: LocalStore['updateRunNow'];
  readonly putBlobNow?: LocalStore['putBlobNow'];
  readonly deleteRun: Store['deleteRun'];
  readonly archiveRun: Store['archiveRun'];
  readonly restoreRun: Store['restoreRun'];
  readonly findDeletedRun: Store['findDeletedRun'];
  readonly listDeletedRuns: Store['listDeletedRuns'];
  readonly purgeDeletedRuns: Store['purgeDeletedRuns'];
  readonly #parts: SqlStoreParts;
  readonly #space: string;
  readonly #database: SqlDatabase;
  readonly #blobs: SqlBlobStore;
  #isClosed = false;

  constructor(parts: SqlStoreParts) {
    this.uri = parts.uri;
    this.location = parts.location;
    this.isWritable = parts.database.isReadOnly !== true;
    this.#parts = parts;
    this.#space = parts.space ?? '';
    this.notes = sqlNotes(parts.database, this.#space, parts.clock, parts.quotas);
    const { database } = parts;
    this.#database = database;
    this.#blobs = new SqlBlobStore({ ...parts, space: this.#space });
    const deletion = sqlDeletion({
      database,
      space: this.#space,
      where: parts.uri,
      clock: parts.clock,
      lane: (runId) => this.#lane(runId),
      removeRun: parts.removeRun,
    });
    this.deleteRun = deletion.deleteRun;
    this.archiveRun = deletion.archiveRun;
    this.restoreRun = deletion.restoreRun;
    this.findDeletedRun = deletion.findDeletedRun;
    this.listDeletedRuns = deletion.listDeletedRuns;
    this.purgeDeletedRuns = deletion.purgeDeletedRuns;
    if (database.transactionNow !== undefined) {
      const runNow = database.transactionNow.bind(database);
      this.appendSegmentsNow = (segments, live) =>
        runNow(() => appendSegments(this.#scope(), segments, [], live));
      this.updateRunNow = (run) => runNow((attempt) => runs.updateRun(this.#scope(), run, attempt));
      this.putBlobNow = (sha256, bytes) =>
        runNow(() => storeBlob({ space: this.#space }, sha256, bytes, parts.clock.now()));
    }
  }

  readonly ensureProject: Store['ensureProject'] = async (project) =>
    this.#database.transaction(() => runs.ensureProject(this.#space, project));

  readonly listProjects: Store['listProjects'] = async () => {
    const projects = await this.#database.read(() => runs.listProjects(this.#space));
    return [...projects].sort((a, b) => compareText(a.name, b.name));
  };

  readonly removeProject: NonNullable<Store['removeProject']> = async (projectId) =>
    this.#database.transaction(() => runs.removeProject(this.#space, projectId));

  readonly createRun: Store['createRun'] = async (run) => {
    const { prepareRun } = this.#parts;
    if (prepareRun !== undefined) {
      // No folder comes back.
      if ((await this.findDeletedRun(run.id)) !== undefined) throw runDeleted(run.id);
      await prepareRun(run.id);
    }
    return this.#withinQuotas((scope) =>
      this.#database.transaction(
        (attempt) => runs.createRun(scope, run, attempt),
        this.#lane(run.id),
      ),
    );
  };

  readonly findRun: Store['findRun'] = async (runId) =>
    this.#database.read(() => runs.findRun(this.#space, runId));

  readonly listRuns: Store['listRuns'] = async (filter = {}) => {
    if (filter.where !== undefined && this.isWritable) await this.#indexRuns();
    const nowMs = this.#parts.clock.now();
    return this.#database.read(() => listRuns(this.#space, filter, nowMs));
  };

  readonly askRuns: NonNullable<Store['askRuns']> = async (question) => {
    checkTableQuestion(question);
    if (this.isWritable) await this.#indexRuns();
    const nowMs = this.#parts.clock.now();
    return this.#database.read(() => askRuns(this.#space, question, nowMs));
  };

  /** Brings the facts of runs up to date, some at a time: others write in between. */
  async #indexRuns(): Promise<void> {
    if (!(await this.#database.read(() => hasUnindexed(this.#space)))) return;
    const next = (): Promise<number> =>
      this.#database.transaction(() => indexRuns(this.#space), this.#lane('facts'));
    while ((await next()) === INDEXED_AT_ONCE);
  }

  readonly updateRun: Store['updateRun'] = async (run) =>
    this.#database.transaction(
      (attempt) => runs.updateRun(this.#scope(), run, attempt),
      this.#lane(run.id),
    );

  readonly renewLease: Store['renewLease'] = async (runId, holder, ttlMs) => {
    const nowMs = this.#parts.clock.now();
    const lease = { runId, holder, expiresAtMs: nowMs + ttlMs };
    await this.#database.transaction(
      () => runs.renewLease(this.#space, { ...lease, ttlMs }, nowMs),
      this.#lane(runId, holder),
    );
    return lease;
  };

  readonly releaseLease: Store['releaseLease'] = async (runId, holder) => {
    await this.#database.transaction(
      () => runs.releaseLease(this.#space, runId, holder),
      this.#lane(runId, holder),
    );
  };

  readonly listLeases: Store['listLeases'] = async (runIds) => {
    const nowMs = this.#parts.clock.now();
    const found = await this.#database.read(() => runs.listLeases(this.#space, nowMs, runIds));
    return selectLeases(found, nowMs, runIds);
  };

  readonly lapsedLeases: ServedStore['lapsedLeases'] = async (runId) => {
    const found = await this.#database.read(() => runs.listRunLeases(this.#space, runId));
    return selectLapsed(found, this.#parts.clock.now(), runId);
  };

  readonly appendSegments: Store['appendSegments'] = async (segments, seen, live) =>
    this.#withinQuotas((scope) =>
      this.#database.transaction(
        () => appendSegments(scope, segments, seen, live),
        this.#lane(segments[0]?.manifest.runId ?? ''),
      ),
    );

  readonly listSegments: Store['listSegments'] = async (filter) =>
    this.#database.read(() => segmentsOf.listSegments(this.#space, filter));

  readonly readSegments: Store['readSegments'] = async (segments) => {
    const found: SegmentRead[] = [];
    for (let at = 0; at < segments.length; at += READ_AT_ONCE)
      found.push(...(await this.#read(segments.slice(at, at + READ_AT_ONCE))));
    return found;
  };

  readonly segmentSizes: ServedStore['segmentSizes'] = async (segments) =>
    this.#database.read(() => segmentsOf.segmentSizes(this.#space, segments));

  readonly replaceSegments: Store['replaceSegments'] = async (runId, table, remove, add) => {
    // Before the transaction, which holds the stream: an upload takes as long as it takes.
    const placed = await this.#placeOutside(add);
    return this.#withinQuotas((scope) =>
      this.#database.transaction(
        (attempt) =>
          segmentsOf.replaceSegments(scope, { runId, table, remove, add: placed }, attempt),
        this.#lane(runId),
      ),
    );
  };

  readonly replaceTable: Store['replaceTable'] = async (runId, table, add, seenCount) => {
    return this.#withinQuotas((scope) =>
      this.#database.transaction(() =>
        segmentsOf.replaceTable(scope, { runId, table, seenCount }, add),
      ),
    );
  };

  readonly listStreams: ServedStore['listStreams'] = async (runId) =>
    (await this.#database.read(() => sqlSnapshot(this.#space, runId))).streams;

  readonly listRunChanges: ServedStore['listRunChanges'] = async (after) =>
    this.#database.read(() => runs.listRunChanges(this.#space, after));

  readonly listBatches: ServedStore['listBatches'] = async (runIds) =>
    this.#database.read(() => listBatches(this.#space, runIds));

  readonly identity: ServedStore['identity'] = async () => {
    const found = await this.#database.read(readIdentity);
    if (found !== undefined || this.#database.isReadOnly === true) return found;
    return this.#database.transaction(() => ensureIdentity(this.#parts.clock.now()));
  };

  readonly isDurable: ServedStore['isDurable'] = async () =>
    (await this.#database.safety()).isDurable;

  readonly putBlob: Store['putBlob'] = (sha256, bytes) => this.#blobs.putBlob(sha256, bytes);
  readonly getBlob: Store['getBlob'] = (sha256) => this.#blobs.getBlob(sha256);

  readonly blobSize: BlobRanges['blobSize'] = (sha256) => this.#blobs.blobSize(sha256);

  readonly getBlobRange: BlobRanges['getBlobRange'] = (sha256, start, end) =>
    this.#blobs.getBlobRange(sha256, start, end);

  /** A store over the space that streams of deleted runs move to. */
  get deletedRuns(): DeletedRunSource {
    const hidden = new SqlStore({
      ...this.#parts,
      space: hiddenSpace(this.#space),
      isShared: true,
    });
    return {
      listStreams: async () => (await hidden.notes.survey()).streams,
      listSegments: hidden.listSegments,
      readSegments: hidden.readSegments,
    };
  }

  readonly listBlobs: BlobSweeps['listBlobs'] = (page) => this.#blobs.listBlobs(page);

  readonly dropBlobs: BlobSweeps['dropBlobs'] = (drop) => this.#blobs.dropBlobs(drop);

  readonly looseBlobs: NonNullable<BlobSweeps['looseBlobs']> = (writtenBeforeMs) =>
    this.#blobs.looseBlobs(writtenBeforeMs);

  readonly reclaimSpace: Store['reclaimSpace'] = async () => {
    await this.purgeDeletedRuns();
    await this.#database.reclaimSpace();
    await this.#parts.blobFiles.removeAbandoned(Date.now());
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#parts.isShared !== true) await this.#parts.database.close();
  }

  /** Writes large merged segments to the object store, if there is one. */
  async #placeOutside(
    add: readonly MergedSegment[],
  ): Promise<readonly segmentsOf.LocatedSegment[]> {
    const { segmentFiles } = this.#parts;
    if (segmentFiles === undefined) return add;
    const outside = add.filter((segment) => segment.bytes.byteLength >= segmentFiles.minBytes);
    if (outside.length === 0) return add;
    const keys = await segmentFiles.put(outside.map((segment) => segment.bytes));
    const keyOf = new Map(outside.map((segment, i) => [segment, keys[i]]));
    return add.map((segment) => {
      const objectKey = keyOf.get(segment);
      return objectKey === undefined ? segment : { ...segment, objectKey };
    });
  }

  async #read(segments: readonly SegmentReference[]): Promise<readonly SegmentRead[]> {
    const stored = await this.#readStored(segments);
    return Promise.all(
      stored.map(async (found, i): Promise<SegmentRead> => {
        if (found.kind !== 'object') return found;
        const segment = segments[i];
        return segment === undefined ? { kind: 'gone' } : this.#readObject(segment, found);
      }),
    );
  }

  async #readStored(
    segments: readonly SegmentReference[],
  ): Promise<readonly segmentsOf.LocatedBytes[]> {
    try {
      return await this.#database.read(() => segmentsOf.readSegments(this.#space, segments));
    } catch (error) {
      if (!(error instanceof SessionStoreError && error.reason === 'corrupt')) throw error;
      if (segments.length === 1) return [{ kind: 'damaged', reason: error.message }];
    }
    // One of them is damaged: each by itself.
    const found: segmentsOf.LocatedBytes[] = [];
    for (const segment of segments) found.push(...(await this.#readStored([segment])));
    return found;
  }

  /** An object that is not there any more was that of a segment that is gone, or else is lost. */
  async #readObject(
    segment: SegmentReference,
    stored: segmentsOf.ObjectBytes,
  ): Promise<SegmentRead> {
    const { segmentFiles } = this.#parts;
    if (segmentFiles === undefined) throw noSegmentFiles(segment);
    const bytes = await segmentFiles.get(stored.objectKey);
    if (bytes !== undefined) {
      if (bytes.byteLength === stored.sizeBytes) return { kind: 'bytes', bytes };
      const reason = `its object has ${bytes.byteLength} bytes instead of ${stored.sizeBytes}`;
      return { kind: 'damaged', reason };
    }
    const [now] = await this.#readStored([segment]);
    if (now === undefined) return { kind: 'gone' };
    if (now.kind !== 'object') return now;
    return now.objectKey === stored.objectKey
      ? { kind: 'damaged', reason: `its object is missing from ${segmentFiles.name}` }
      : this.#readObject(segment, now);
  }

  checkOpen(): void {
    if (this.#isClosed) throw storeClosed(this.uri);
  }

  #scope(): ChangeScope {
    return { space: this.#space, where: this.uri, nowMs: this.#parts.clock.now() };
  }

  /** Without quotas at once: changes of a run begin in the order of the calls. */
  async #withinQuotas<T>(change: (scope: ChangeScope) => Promise<T>): Promise<T> {
    const { quotas } = this.#parts;
    if (quotas === undefined) return change(this.#scope());
    const found = await quotas();
    return change({ ...this.#scope(), quotas: found });
  }

  /** Changes of a run begin in the order of the calls; its leases are a matter of their own. */
  #lane(runId: string, holder = ''): string {
    return `${this.#space} ${runId} ${holder}`;
  }
}

function noSegmentFiles(segment: SegmentReference): SessionStoreError {
  return new SessionStoreError(
    'missing',
    `Segment ${segmentName(segment)} is stored in an object store, and none is configured here. Set the QUARK_S3_... variables, or the options that they stand for, to those of the service that wrote it.`,
    { details: { segment: segmentName(segment) } },
  );
}
