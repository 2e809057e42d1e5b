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
import { bytesCell, numberCell, sql, type SqlDatabase, type SqlWork } from './sql-database.ts';
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

/** Blobs up to this size are kept in the database, larger ones as files. */
export const MAX_DATABASE_BLOB_BYTES: number = 256 * 1024;

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

/** What an SQL store is made of. The store closes the database. */
export type SqlStoreParts = {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly database: SqlDatabase;
  readonly blobFiles: BlobFiles;
  readonly clock: Pick<Clock, 'now'>;
  /** Makes room for a run outside the database, before the run is added. */
  readonly prepareRun?: (runId: string) => Promise<void>;
};

/** A store over these parts. */
export function createSqlStore(parts: SqlStoreParts): Store {
  return new SqlStore(parts);
}

class SqlStore implements Store {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly isWritable = true;
  readonly appendSegmentsNow?: (segments: readonly NewSegment[]) => readonly SegmentManifest[];
  readonly #parts: SqlStoreParts;
  #isClosed = false;

  constructor(parts: SqlStoreParts) {
    this.uri = parts.uri;
    this.location = parts.location;
    this.#parts = parts;
    const { database } = parts;
    if (database.transactionNow !== undefined) {
      const runNow = database.transactionNow.bind(database);
      this.appendSegmentsNow = (segments) => {
        this.#open();
        checkNewSegments(segments);
        return runNow(() => segmentsOf.appendSegments(segments, this.uri));
      };
    }
  }

  async ensureProject(project: StoredProject): Promise<StoredProject> {
    const database = this.#open();
    checkProject(project);
    return database.transaction(() => runs.ensureProject(project));
  }

  async listProjects(): Promise<readonly StoredProject[]> {
    const projects = await this.#open().read(() => runs.listProjects());
    return [...projects].sort((a, b) => compareText(a.name, b.name));
  }

  async createRun(run: Omit<StoredRun, 'revision'>): Promise<StoredRun> {
    const database = this.#open();
    checkRun(run);
    await this.#parts.prepareRun?.(run.id);
    return database.transaction(() => runs.createRun(run));
  }

  async findRun(runId: string): Promise<StoredRun | undefined> {
    const database = this.#open();
    checkRunId(runId);
    return database.read(() => runs.findRun(runId));
  }

  async listRuns(filter: RunFilter = {}): Promise<readonly StoredRun[]> {
    const database = this.#open();
    checkRunFilter(filter);
    return database.read(() => runs.listRuns(filter));
  }

  async updateRun(run: StoredRun): Promise<UpdateResult> {
    const database = this.#open();
    checkRevisedRun(run);
    return database.transaction(() => runs.updateRun(run, this.uri));
  }

  async renewLease(runId: string, holder: string, ttlMs: number): Promise<Lease> {
    const database = this.#open();
    checkLeaseClaim(runId, holder, ttlMs);
    const nowMs = this.#parts.clock.now();
    const lease = { runId, holder, expiresAtMs: nowMs + ttlMs };
    await database.transaction(() => runs.renewLease(lease, nowMs));
    return lease;
  }

  async releaseLease(runId: string, holder: string): Promise<void> {
    const database = this.#open();
    checkRunId(runId);
    checkId('holder', holder);
    await database.transaction(() => runs.releaseLease(runId, holder));
  }

  async listLeases(runIds?: readonly string[]): Promise<readonly Lease[]> {
    const nowMs = this.#parts.clock.now();
    const live = selectLeases(await this.#open().read(() => runs.listLeases(nowMs)), nowMs);
    return runIds === undefined ? live : live.filter((lease) => runIds.includes(lease.runId));
  }

  async appendSegments(segments: readonly NewSegment[]): Promise<readonly SegmentManifest[]> {
    const database = this.#open();
    checkNewSegments(segments);
    return database.transaction(() => segmentsOf.appendSegments(segments, this.uri));
  }

  async listSegments(filter: SegmentFilter): Promise<readonly SegmentManifest[]> {
    const database = this.#open();
    checkSegmentFilter(filter);
    return database.read(() => segmentsOf.listSegments(filter));
  }

  async readSegments(segments: readonly SegmentReference[]): Promise<readonly SegmentRead[]> {
    const database = this.#open();
    for (const segment of segments) checkReference(segment);
    const found: SegmentRead[] = [];
    for (const segment of segments) found.push(await this.#read(database, segment));
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
    return database.transaction(() =>
      segmentsOf.replaceSegments(runId, table, remove, add, this.uri),
    );
  }

  async replaceTable(
    runId: string,
    table: string,
    add: readonly NewSegment[],
  ): Promise<readonly SegmentManifest[]> {
    const database = this.#open();
    checkTableSegments(runId, table, add);
    return database.transaction(() => segmentsOf.replaceTable(runId, table, add, this.uri));
  }

  async putBlob(sha256: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const database = this.#open();
    await checkBlob(sha256, bytes);
    const isFile = bytes.byteLength > MAX_DATABASE_BLOB_BYTES;
    const { blobFiles } = this.#parts;
    if (isFile && !(await blobFiles.has(sha256, bytes.byteLength)))
      await blobFiles.put(sha256, bytes);
    await database.transaction(() => keepBlob(sha256, bytes, isFile));
  }

  async getBlob(sha256: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const database = this.#open();
    checkSha256(sha256);
    const found = await database.read(() => findBlob(sha256));
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
    await this.#parts.database.close();
  }

  async #read(database: SqlDatabase, segment: SegmentReference): Promise<SegmentRead> {
    try {
      return await database.read(() => segmentsOf.readSegment(segment));
    } catch (error) {
      if (error instanceof SessionStoreError && error.reason === 'corrupt')
        return { kind: 'damaged', reason: error.message };
      throw error;
    }
  }

  #open(): SqlDatabase {
    if (this.#isClosed) throw storeClosed(this.uri);
    return this.#parts.database;
  }
}

function* keepBlob(sha256: string, bytes: Uint8Array, isFile: boolean): SqlWork<void> {
  yield sql(
    `INSERT INTO blobs (sha256, size_bytes, bytes) VALUES (?, ?, ?)
     ON CONFLICT (sha256) DO UPDATE SET bytes = excluded.bytes, size_bytes = excluded.size_bytes`,
    sha256,
    bytes.byteLength,
    isFile ? null : bytes,
  );
}

function* findBlob(sha256: string): SqlWork<Uint8Array<ArrayBuffer> | 'file' | undefined> {
  const [row] = yield sql('SELECT bytes, size_bytes FROM blobs WHERE sha256 = ?', sha256);
  if (row === undefined) return undefined;
  if (row[0] === null && numberCell(row, 1) > MAX_DATABASE_BLOB_BYTES) return 'file';
  return bytesCell(row, 0);
}
