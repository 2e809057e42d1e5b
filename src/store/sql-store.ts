/** The store over an SQL database. What differs between databases and places is handed in. */
import type { Clock } from '../base/clock.ts';
import { SessionStoreError } from '../base/errors.ts';
import { checkBlob, checkKeptBlob, checkSha256 } from './blob-rules.ts';
import {
  checkLeaseClaim,
  checkProject,
  checkRevisedRun,
  checkRun,
  checkRunFilter,
  checkRunId,
  checkSpace,
  compareText,
  selectLeases,
  storeClosed,
} from './run-rules.ts';
import {
  checkId,
  checkNewSegments,
  checkReference,
  checkReplacement,
  checkSegmentFilter,
  checkTableSegments,
} from './segment-rules.ts';
import { appendSegments } from './sql-append.ts';
import { findBlob, keepBlob, MAX_DATABASE_BLOB_BYTES } from './sql-blobs.ts';
import type { SqlDatabase } from './sql-database.ts';
import * as runs from './sql-runs.ts';
import * as segmentsOf from './sql-segments.ts';
import type {
  Lease,
  MergedSegment,
  NewSegment,
  RunFilter,
  SegmentFilter,
  SegmentManifest,
  SegmentRead,
  SegmentReference,
  Store,
  StoredProject,
  StoredRun,
  StoreLocation,
  UpdateResult,
} from './store.ts';

/** Segments are read so many at a time: as much as may be in memory in two forms. */
const READ_AT_ONCE = 8;

/** Where large blobs are kept. A blob that was put is whole and durable. */
export interface BlobFiles {
  /** Names the place in messages. */
  readonly name: string;
  put(sha256: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  get(sha256: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  has(sha256: string, sizeBytes: number): Promise<boolean>;
  /** Removes what interrupted calls of `put` have left. */
  removeAbandoned(nowMs: number): Promise<void>;
}

/** What an SQL store is made of. The store closes the database, unless that is shared. */
export type SqlStoreParts = {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly database: SqlDatabase;
  /** True: others use the database too, and whoever opened it closes it. Default false. */
  readonly isShared?: boolean;
  /**
   * The part of the database this store sees: runs, projects, leases and blobs of one space are not there in another.
   * Default '', the space of a store that has its database for itself. See `checkSpace`.
   */
  readonly space?: string;
  readonly blobFiles: BlobFiles;
  readonly clock: Pick<Clock, 'now'>;
  /** Makes room for a run outside the database, before the run is added. */
  readonly prepareRun?: (runId: string) => Promise<void>;
};

/** A database that many spaces share, and a store over each of them. */
export interface StoreSpaces {
  /** The URI that opens it, without anything secret. */
  readonly uri: string;
  readonly database: SqlDatabase;
  /**
   * The store of a space, which need not exist: it is there with the first thing kept in it. Closing such a store
   * releases nothing; any number may be open on one space.
   * @throws {QuarkError} `invalid_input` when this is no name of a space
   */
  store(space: string): Store;
  /** Waits for running work, then closes the database under all stores. */
  close(): Promise<void>;
}

/**
 * A store over these parts.
 *
 * @throws {QuarkError} `invalid_input` when the space is no name of a space
 */
export function createSqlStore(parts: SqlStoreParts): Store {
  return new SqlStore(parts);
}

class SqlStore implements Store {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly isWritable = true;
  readonly appendSegmentsNow?: (segments: readonly NewSegment[]) => readonly SegmentManifest[];
  readonly #parts: SqlStoreParts;
  readonly #space: string;
  #isClosed = false;

  constructor(parts: SqlStoreParts) {
    this.uri = parts.uri;
    this.location = parts.location;
    this.#parts = parts;
    this.#space = checkSpace(parts.space ?? '');
    const { database } = parts;
    if (database.transactionNow !== undefined) {
      const runNow = database.transactionNow.bind(database);
      this.appendSegmentsNow = (segments) => {
        this.#open();
        checkNewSegments(segments);
        return runNow(() => appendSegments(this.#space, segments, this.uri));
      };
    }
  }

  async ensureProject(project: StoredProject): Promise<StoredProject> {
    const database = this.#open();
    checkProject(project);
    return database.transaction(() => runs.ensureProject(this.#space, project));
  }

  async listProjects(): Promise<readonly StoredProject[]> {
    const projects = await this.#open().read(() => runs.listProjects(this.#space));
    return [...projects].sort((a, b) => compareText(a.name, b.name));
  }

  async createRun(run: Omit<StoredRun, 'revision'>): Promise<StoredRun> {
    const database = this.#open();
    checkRun(run);
    await this.#parts.prepareRun?.(run.id);
    return database.transaction(
      (attempt) => runs.createRun(this.#space, run, attempt),
      this.#lane(run.id),
    );
  }

  async findRun(runId: string): Promise<StoredRun | undefined> {
    const database = this.#open();
    checkRunId(runId);
    return database.read(() => runs.findRun(this.#space, runId));
  }

  async listRuns(filter: RunFilter = {}): Promise<readonly StoredRun[]> {
    const database = this.#open();
    checkRunFilter(filter);
    return database.read(() => runs.listRuns(this.#space, filter));
  }

  async updateRun(run: StoredRun): Promise<UpdateResult> {
    const database = this.#open();
    checkRevisedRun(run);
    return database.transaction(
      (attempt) => runs.updateRun(this.#space, run, this.uri, attempt),
      this.#lane(run.id),
    );
  }

  async renewLease(runId: string, holder: string, ttlMs: number): Promise<Lease> {
    const database = this.#open();
    checkLeaseClaim(runId, holder, ttlMs);
    const nowMs = this.#parts.clock.now();
    const lease = { runId, holder, expiresAtMs: nowMs + ttlMs };
    await database.transaction(
      () => runs.renewLease(this.#space, lease, nowMs),
      this.#lane(runId, holder),
    );
    return lease;
  }

  async releaseLease(runId: string, holder: string): Promise<void> {
    const database = this.#open();
    checkRunId(runId);
    checkId('holder', holder);
    await database.transaction(
      () => runs.releaseLease(this.#space, runId, holder),
      this.#lane(runId, holder),
    );
  }

  async listLeases(runIds?: readonly string[]): Promise<readonly Lease[]> {
    const database = this.#open();
    for (const runId of runIds ?? []) checkRunId(runId);
    const nowMs = this.#parts.clock.now();
    const found = await database.read(() => runs.listLeases(this.#space, nowMs, runIds));
    const live = selectLeases(found, nowMs);
    return runIds === undefined ? live : live.filter((lease) => runIds.includes(lease.runId));
  }

  async appendSegments(segments: readonly NewSegment[]): Promise<readonly SegmentManifest[]> {
    const database = this.#open();
    checkNewSegments(segments);
    return database.transaction(
      () => appendSegments(this.#space, segments, this.uri),
      this.#lane(segments[0]?.manifest.runId ?? ''),
    );
  }

  async listSegments(filter: SegmentFilter): Promise<readonly SegmentManifest[]> {
    const database = this.#open();
    checkSegmentFilter(filter);
    return database.read(() => segmentsOf.listSegments(this.#space, filter));
  }

  async readSegments(segments: readonly SegmentReference[]): Promise<readonly SegmentRead[]> {
    const database = this.#open();
    for (const segment of segments) checkReference(segment);
    const found: SegmentRead[] = [];
    for (let at = 0; at < segments.length; at += READ_AT_ONCE)
      found.push(...(await this.#read(database, segments.slice(at, at + READ_AT_ONCE))));
    return found;
  }

  async replaceSegments(
    runId: string,
    table: string,
    remove: readonly SegmentReference[],
    add: readonly MergedSegment[],
  ): Promise<boolean> {
    const database = this.#open();
    checkReplacement(runId, table, remove, add);
    return database.transaction(
      (attempt) =>
        segmentsOf.replaceSegments(this.#space, runId, table, remove, add, this.uri, attempt),
      this.#lane(runId),
    );
  }

  async replaceTable(
    runId: string,
    table: string,
    add: readonly NewSegment[],
  ): Promise<readonly SegmentManifest[]> {
    const database = this.#open();
    checkTableSegments(runId, table, add);
    return database.transaction(() =>
      segmentsOf.replaceTable(this.#space, runId, table, add, this.uri),
    );
  }

  async putBlob(sha256: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const database = this.#open();
    await checkBlob(sha256, bytes);
    const isFile = bytes.byteLength > MAX_DATABASE_BLOB_BYTES;
    const { blobFiles } = this.#parts;
    if (isFile && !(await blobFiles.has(sha256, bytes.byteLength)))
      await blobFiles.put(sha256, bytes);
    await database.transaction(() => keepBlob(this.#space, sha256, bytes, isFile));
  }

  async getBlob(sha256: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const database = this.#open();
    checkSha256(sha256);
    const found = await database.read(() => findBlob(this.#space, sha256));
    if (found === undefined) return undefined;
    const { blobFiles } = this.#parts;
    const bytes = found === 'file' ? await blobFiles.get(sha256) : found;
    if (bytes === undefined) {
      throw new SessionStoreError(
        'corrupt',
        `The file of blob ${sha256} is missing from ${blobFiles.name}. Put the blob again to repair it.`,
        {
          details: { sha256, where: blobFiles.name },
        },
      );
    }
    await checkKeptBlob(sha256, bytes, found === 'file' ? blobFiles.name : database.name);
    return bytes;
  }

  async reclaimSpace(): Promise<void> {
    const database = this.#open();
    await database.reclaimSpace();
    await this.#parts.blobFiles.removeAbandoned(Date.now());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#parts.isShared !== true) await this.#parts.database.close();
  }

  async #read(
    database: SqlDatabase,
    segments: readonly SegmentReference[],
  ): Promise<readonly SegmentRead[]> {
    try {
      return await database.read(() => segmentsOf.readSegments(this.#space, segments));
    } catch (error) {
      if (!(error instanceof SessionStoreError && error.reason === 'corrupt')) throw error;
      if (segments.length === 1) return [{ kind: 'damaged', reason: error.message }];
    }
    // One of them is damaged: each by itself.
    const found: SegmentRead[] = [];
    for (const segment of segments) found.push(...(await this.#read(database, [segment])));
    return found;
  }

  /** Changes of a run begin in the order of the calls; its leases are a matter of their own. */
  #lane(runId: string, holder = ''): string {
    return `${this.#space} ${runId} ${holder}`;
  }

  #open(): SqlDatabase {
    if (this.#isClosed) throw storeClosed(this.uri);
    return this.#parts.database;
  }
}
