/**
 * The contract between Quark and the location of its bytes. A store moves bytes and run state; it never parses a
 * segment or a run document. Every backend passes `test/contract/store-contract.ts`.
 *
 * What every store promises:
 * - A call that resolved is durable: it survives the end of the process or tab at any later moment.
 * - A call that rejected with a {@link SessionStoreError} changed nothing, unless its documentation says otherwise.
 * - Appending a segment again, whole or after it was merged away, changes nothing and returns what is stored.
 * - Several stores, processes and tabs may work on the same location at the same time.
 * - Arguments are checked first; a wrong one throws `invalid_input`, naming field and rule, before anything is written.
 * - Bytes given to a store stay as they are until the promise settles; after that, and for all bytes that a store
 *   returns, they belong to the caller.
 */

import { invalidInput } from '../base/errors.ts';
import { checkId, checkRunId, checkStorable, checkTable } from '../base/names.ts';
import type { NewSilence, SilencedAlerts } from '../records/shapes/silence.ts';
import type { LapsedLease, Lease } from '../records/shapes/lease.ts';
import type {
  SegmentFilter,
  SegmentManifest,
  SegmentReference,
} from '../records/shapes/manifest.ts';
import type { StoredProject } from '../records/shapes/project.ts';
import type { RunFilter, RunGeneration, StoredRun } from '../records/shapes/run.ts';
import type { TableAnswer, TableQuestion } from '../records/run-question.ts';
import type { StoreIdentity } from '../records/shapes/store-identity.ts';
import type { StreamState } from '../records/shapes/stream.ts';
import type { TableBatches } from '../records/shapes/table-batches.ts';
import { runGenerationShape } from '../records/shapes/run.ts';
import { checkShape } from '../schema/shape.ts';
import { checkRange } from './blob-rules.ts';
import { checkBlobDrop, checkBlobPage, type BlobSweeps } from './blob-sweep.ts';
import { checkBlob, checkBlobNow, checkSha256 } from './blob-rules.ts';
import {
  checkDeletion,
  checkProjectDeletion,
  checkPurge,
  type DeletedProject,
  type DeleteProjectOptions,
  type ProjectRemoval,
  type RunDeletion,
} from './deletion.ts';
import type { CurveQuery, RunCurves, RunSparkline, SparklineQuery } from './curves.ts';
import type { DocumentCalls } from './documents.ts';
import type { RowSpill } from './row-spill.ts';
import type { IndexFeed } from './run-feed.ts';
import {
  checkLeaseClaim,
  checkNote,
  checkNoteName,
  checkProject,
  checkRevisedRun,
  checkRun,
  checkRunFilter,
} from './run-rules.ts';
import {
  checkNewSegments,
  checkReference,
  checkReplacement,
  checkSegmentFilter,
  checkTableSegments,
} from './segment-rules.ts';
import type { NearQuota } from './quotas.ts';
import type { StoreSync } from './sync-control.ts';

export type { DeletedRun } from '../records/shapes/deleted-run.ts';
export type { LapsedLease, Lease, StoredLease } from '../records/shapes/lease.ts';
export type {
  BatchRange,
  SegmentEncoding,
  SegmentFilter,
  SegmentIdentity,
  SegmentManifest,
  SegmentReference,
} from '../records/shapes/manifest.ts';
export type { StoredProject } from '../records/shapes/project.ts';
export type { RunFilter, RunGeneration, StoredRun } from '../records/shapes/run.ts';
export type { StoreIdentity } from '../records/shapes/store-identity.ts';
export type { StreamState } from '../records/shapes/stream.ts';
export type { TableBatches } from '../records/shapes/table-batches.ts';
export type {
  DeletedProject,
  DeleteProjectOptions,
  DeleteRunOptions,
  RunDeletion,
} from './deletion.ts';

/** A segment on its way into a store: the store assigns the sequence numbers and stores the rest as it is. */
export type NewSegment = {
  readonly manifest: Omit<SegmentManifest, 'firstSequence' | 'lastSequence'>;
  readonly bytes: Uint8Array<ArrayBuffer>;
};

/** A merged segment: sequence numbers are those of its rows. */
export type MergedSegment = {
  readonly manifest: SegmentManifest;
  readonly bytes: Uint8Array<ArrayBuffer>;
};

/** What `readSegments` found. A store reports damage that it sees itself (a short blob, a failed read) as `damaged`. */
export type SegmentRead =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array<ArrayBuffer> }
  /** The segment is gone, or other bytes than the checksum asks for have its identity: it was merged or replaced. List again. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'damaged'; readonly reason: string };

/** Where a store stores its data, in the names of abiotic-quark. */
export type StoreLocation = {
  /** `<dir>` for a file store; the store's URI elsewhere. */
  readonly storageDir: string;
  /** `<dir>/.quark` */
  readonly storeRoot: string;
  /** `<dir>/.quark/quark.db` */
  readonly dbPath: string;
};

/** Outcome of a compare-and-set. */
export type UpdateResult =
  | { readonly kind: 'updated'; readonly run: StoredRun }
  /** Somebody else changed the run first; `run` is what is there now. */
  | { readonly kind: 'conflict'; readonly run: StoredRun };

/**
 * How often a table was emptied: the fencing token of its changes. A change that names it is refused when the table was emptied
 * since then, so that a request that was delayed on its way brings nothing back.
 */
export type TableEpoch = Pick<StreamState, 'runId' | 'table' | 'replaceCount'>;

/** A run that was made, changed or deleted, and its position in the order of all changes of the store. */
export type RunChange = Pick<StoredRun, 'id' | 'projectName' | 'status' | 'revision'> & {
  /**
   * Grows from change to change. Changes that are made at the same moment may have the same number, and one may become
   * visible after another one with a greater number.
   */
  readonly order: number;
  /** True: the run was deleted by this change. Its revision is the last that it had. */
  readonly isDeleted?: true;
};

/** What has become of runs lately. */
export type RunChanges = {
  /** The last to change comes first. */
  readonly runs: readonly RunChange[];
  /** The greatest order of a change in the store, whether its run is among these or not; 0 before the first. */
  readonly lastOrder: number;
};

/** What has changed in a store, without opening anything: an outbox compares it with what it has sent. */
export type StoreSurvey = {
  readonly runs: readonly Pick<StoredRun, 'id' | 'status' | 'revision'>[];
  readonly streams: readonly StreamState[];
};

/** What a store has of some runs, so that a client finds what is missing. */
export type StoredBatches = {
  /** Those that are there. */
  readonly runs: readonly Pick<StoredRun, 'id' | 'revision'>[];
  readonly tables: readonly TableBatches[];
  /** Those that are there and not open to who asks: a share has ended, or their owner has moved them. Absent where there are none. */
  readonly hidden?: readonly string[];
};

/** A small text that a program keeps beside the data. */
export type StoreNote = { readonly name: string; readonly text: string };

/**
 * What a store at hand has and one behind a network need not: small notes beside the data, an overview of what has
 * changed, and a way to let go of a copy. An outbox is built on it. Promises are those of the store.
 */
export interface StoreNotes {
  /** The text of a note. Names have 1 to 512 letters, digits and `._:/%@+-`. */
  read(name: string): Promise<string | undefined>;
  /**
   * Stores a note; null removes it. With `expected`, only if that is the text it has now (null: only if there is no such
   * note); otherwise nothing changes and the answer is false.
   */
  write(name: string, text: string | null, expected?: string | null): Promise<boolean>;
  /** Notes whose names begin with `prefix`, ordered by name. */
  list(prefix: string): Promise<readonly StoreNote[]>;
  /** All runs and the tables they have; of one run, if one is named. The order is not defined. */
  survey(runId?: string): Promise<StoreSurvey>;
  /**
   * Removes a run with its segments and leases; blobs and its project stay. With `expected`, what a snapshot said of the
   * run, only if nothing was written to it since; otherwise nothing changes and the answer is false.
   */
  forgetRun(runId: string, expected?: StoreSurvey): Promise<boolean>;
}

/** What rows are read from: a store, or some of its segments. Where it says how long tables are, the last rows are read by themselves. */
export type SegmentSource = Pick<Store, 'listSegments' | 'readSegments'> &
  Partial<Pick<Store, 'listStreams' | 'notes'>>;

/** First facet: projects, runs and the claims of live sessions on them. */
export interface RunStore extends RunDeletion {
  /**
   * The project of this name, made with `id` if there is none. Two callers at once get the same project.
   * @throws {SessionStoreError} `rejected` when another project has the id
   */
  ensureProject(project: StoredProject): Promise<StoredProject>;
  /** All projects, ordered by name, without those all of whose runs are deleted and can be restored. */
  listProjects(): Promise<readonly StoredProject[]>;

  /**
   * Adds a run with revision 1, and its project again where that was removed meanwhile. The id is also a folder name: letters, digits, ".", "_" and "-", at most 128 of them.
   * @throws {SessionStoreError} `rejected` when the id is taken, `deleted` when the run of this id was deleted
   */
  createRun(run: Omit<StoredRun, 'revision'>): Promise<StoredRun>;
  findRun(runId: string): Promise<StoredRun | undefined>;
  listRuns(filter?: RunFilter): Promise<readonly StoredRun[]>;
  /**
   * Replaces the run if its revision is `run.revision`, and counts the revision up. Its generation never decreases: a change
   * without one, or with an earlier one, leaves it. A change that counts the generation up waits for the appends of the earlier
   * one that are under way, and appends that come after it see it.
   * Whether it is archived stays as it is: `archiveRun` and `restoreRun` change that.
   * @throws {RunNotFoundError}
   * @throws {SessionStoreError} `deleted`
   */
  updateRun(run: StoredRun): Promise<UpdateResult>;

  /**
   * Takes or extends the claim of `holder` to `nowMs + ttlMs`, by the store's clock. A claim is independent of the run's
   * state; the run need not be there yet.
   * @throws {SessionStoreError} `deleted`
   */
  renewLease(runId: string, holder: string, ttlMs: number): Promise<Lease>;
  releaseLease(runId: string, holder: string): Promise<void>;
  /**
   * Leases that have not lapsed, by the store's clock; of these runs, or of all. A lease has lapsed at `expiresAtMs`; and when that is
   * more than twice its time to live ahead, because the clock has been turned back since it was claimed.
   * Ordered by run, then holder.
   */
  listLeases(runIds?: readonly string[]): Promise<readonly Lease[]>;
}

/** Second facet: segments, the immutable batches of rows of a table. */
export interface SegmentStore {
  /**
   * Appends segments in the given order, all or none, and gives each the next sequence numbers of its run and table
   * (sequence numbers of a table start at 0 and have no gaps at the time of appending). A segment whose identity is
   * known already (live, or merged into another) is not written again: its manifest as stored, or that of the segment it
   * was merged into, is returned.
   *
   * Stores with `listStreams` compare `seen` first.
   *
   * Live sessions name the generation of their runs in `live`: nothing is appended once a run has a later one. Without it, a segment
   * whose `generation` is earlier than that of its run is stored as superseded.
   * @throws {RunNotFoundError} when a segment's run is not there
   * @throws {SessionStoreError} `fenced`, with the detail `generation`, when a run has a later generation than `live` says
   * @throws {SessionStoreError} `busy`, with the detail `replaceCount`, when a table is not as it was seen
   * @throws {SessionStoreError} `deleted` when a segment's run was deleted
   * @throws {SessionStoreError} `full`, `busy`, `closed`, `corrupt`, `too_large`, `failed`
   */
  appendSegments(
    segments: readonly NewSegment[],
    seen?: readonly TableEpoch[],
    live?: readonly RunGeneration[],
  ): Promise<readonly SegmentManifest[]>;
  /** Live segments, without superseded ones unless the filter asks for them, in order of their first sequence number, then of last sequence, writer and batch. */
  listSegments(filter: SegmentFilter): Promise<readonly SegmentManifest[]>;
  /** The bytes of each segment, in the order asked for. The caller owns the bytes. */
  readSegments(segments: readonly SegmentReference[]): Promise<readonly SegmentRead[]>;
  /**
   * Puts `add` in the place of `remove` in one transaction, if every one of `remove` is still live (with its checksum,
   * if one is given) and in this table; otherwise changes nothing and returns false.
   *
   * Identities of `remove` stay known: the `sources` of `add` must list, between them, exactly the batches of `remove`
   * (its own sources for a segment that was merged before; its identity otherwise). An added segment may keep the
   * identity of a removed one.
   * @throws {QuarkError} `invalid_input` when the sources leave out a batch of `remove` or name another one, and when one of `remove`
   *   is superseded
   * @throws {SessionStoreError} `rejected` when a segment that stays has the identity of an added one
   */
  replaceSegments(
    runId: string,
    table: string,
    remove: readonly SegmentReference[],
    add: readonly MergedSegment[],
  ): Promise<boolean>;
  /**
   * Empties the table of the run and appends `add`, in one transaction: for outputs that are computed anew. Sequence
   * numbers go on from where they were. What was there is forgotten: its identities may be appended again.
   *
   * Stores with `listStreams` do so only if the table was emptied `seenCount` times before, where that is given.
   * @throws {RunNotFoundError}
   * @throws {SessionStoreError} `busy`, with the detail `replaceCount`, when it was emptied more or less often
   */
  replaceTable(
    runId: string,
    table: string,
    add: readonly NewSegment[],
    seenCount?: number,
  ): Promise<readonly SegmentManifest[]>;
}

/** Third facet: blobs, bytes under their hash. The fourth facet are {@link StoreNotes}. */
export interface BlobStore {
  /**
   * Stores bytes under their SHA-256 (64 lowercase hex digits). Putting the same bytes again changes nothing.
   * @throws {QuarkError} `invalid_input` when the bytes have another hash
   */
  putBlob(sha256: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** The bytes of a blob, if it is there. @throws {SessionStoreError} `corrupt` when they no longer have their hash */
  getBlob(sha256: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
}

/** What a service asks of its store. The file, PostgreSQL and memory stores have it. */
export interface ServedStore {
  /**
   * The tables that something was ever written to, of a run; none of a run that is not there. Their order is not defined.
   * Only stores that a service can be made of have it.
   */
  listStreams(runId: string): Promise<readonly StreamState[]>;
  /**
   * The runs whose last change has an `order` greater than `after`; unless given, the {@link LATEST_CHANGES} changed last.
   * Only stores that a service can be made of have it.
   */
  listRunChanges(after?: number): Promise<RunChanges>;
  /**
   * Leases of a run that have lapsed by the store's clock, as they were claimed last: a caller that doubts that clock watches whether they
   * are renewed. They are removed a day after their end.
   */
  lapsedLeases(runId: string): Promise<readonly LapsedLease[]>;
  /**
   * What {@link readSegments} would bring, in bytes, without reading it; 0 for what is gone. Stores of services have it, which ask before
   * they let a reader have so much memory.
   */
  segmentSizes(segments: readonly SegmentReference[]): Promise<readonly number[]>;
  /**
   * What the store has of these runs, table by table, without reading a row: a client compares it with what was acknowledged. Tables
   * that nothing was ever written to, and runs that are not there, are left out. The order is not defined.
   */
  listBatches(runIds: readonly string[]): Promise<StoredBatches>;
  /**
   * Which database this is, and since when it may have lost what it had acknowledged. Of a service: as its last answer said, which
   * costs no request; undefined for a service that does not say.
   */
  identity(): Promise<StoreIdentity | undefined>;
  /**
   * Whether a call that resolved survives the loss of power, too. Of a service: as its last answer said; false where it does not
   * say.
   */
  isDurable(): Promise<boolean>;
}

/** Questions about many runs at once, answered where the runs are. */
export interface RunQuestions {
  /**
   * Answers a question about many runs: a page of rows in an order, the values there are, how often each is there, or means by group.
   * Optional: without it, a reader asks for all runs and answers itself, as it does where the answer is undefined: a service is older
   * than such questions, or an index is behind.
   *
   * @throws {QuarkError} `invalid_input` naming the field
   */
  askRuns(question: TableQuestion): Promise<TableAnswer | undefined>;
}

/** Reads of parts of blobs. The file, PostgreSQL and memory stores have them. */
export interface BlobRanges {
  /**
   * The size of a blob in bytes, without reading the blob; undefined when there is no such blob. Optional: the file, PostgreSQL
   * and memory stores have it, together with `getBlobRange`.
   *
   * @example
   * ```js
   * import { createMemoryStore, TrainingSession } from 'quark-sdk';
   * import { ArtifactStore } from 'quark-sdk/probes';
   *
   * const store = createMemoryStore();
   * const { sha256 } = await TrainingSession.run({ project: 'digits', storage: store }, (session) =>
   *   new ArtifactStore(session).store('checkpoint', 'last', new Uint8Array(5000)),
   * );
   * const size = (await store.blobSize?.(sha256)) ?? 0;
   * const tail = await store.getBlobRange?.(sha256, Math.max(0, size - 1024), size);
   * console.log(size, tail?.length); // 5000 1024
   * ```
   *
   * @throws {QuarkError} `invalid_input`
   */
  blobSize(sha256: string): Promise<number | undefined>;
  /**
   * The bytes of a blob from `start` (inclusive) to `end` (exclusive), both in bytes; undefined when there is no such blob. A
   * range beyond the end of the blob is cut there. Only these bytes are read, so they are not compared with the hash: `getBlob`
   * does that.
   *
   * @throws {QuarkError} `invalid_input`
   * @throws {SessionStoreError} `corrupt` when the bytes are missing or fewer than there should be
   */
  getBlobRange(
    sha256: string,
    start: number,
    end: number,
  ): Promise<Uint8Array<ArrayBuffer> | undefined>;
}

/** What only a store on this machine can have: the memory, IndexedDB and file stores, and an outbox over one of them. */
export interface LocalStore {
  /** Small notes beside the data. PostgreSQL has them, too. */
  readonly notes: StoreNotes;
  /**
   * The same, before returning: for the last moment of a process. Only stores that can have it. It overtakes calls of
   * `appendSegments` that have not settled: give it their segments again, nothing is written twice.
   */
  appendSegmentsNow(
    segments: readonly NewSegment[],
    live?: readonly RunGeneration[],
  ): readonly SegmentManifest[];
  /**
   * `updateRun`, before returning: for the last moment of a process. Optional, beside `appendSegmentsNow`.
   *
   * @throws {RunNotFoundError}
   */
  updateRunNow(run: StoredRun): UpdateResult;
  /**
   * `putBlob` of at most {@link MAX_BLOB_BYTES_NOW}, before returning. Only stores with `appendSegmentsNow` have it.
   * @throws {SessionStoreError} `too_large`
   */
  putBlobNow(sha256: string, bytes: Uint8Array<ArrayBuffer>): void;
  /** Saves rows that are not appended yet. Only the IndexedDB store has it, because tabs and workers end without notice. */
  readonly spill: RowSpill;
  /** What an index of its runs follows, in a store that answers no questions about many runs itself. */
  readonly runFeed: IndexFeed;
}

/** Rows of a table of a run that were deleted. */
export type DeletedRows = {
  readonly runId: string;
  readonly table: string;
  readonly rows: number;
};

/** What only a store that talks to a service can have, or one that a service hands out. */
export interface ConnectedStore {
  /** Only the outbox, which sends its data to a service, has it. */
  readonly sync: StoreSync;
  /**
   * Curves of a run, downsampled on the other side: a small answer instead of all its samples. Only stores that are read over a
   * network have it.
   * @throws {RunNotFoundError}
   */
  readCurves(query: CurveQuery): Promise<RunCurves>;
  /**
   * Small curves of many runs, made at the other side, in one answer; undefined of a service that is older than them. What a reader cannot
   * have is left out: see `readSparklines` of the package.
   */
  readSparklines(query: SparklineQuery): Promise<readonly RunSparkline[] | undefined>;
  /** Deletes all rows of a table of an ended run, at the service: see `deleteTable` of the package. */
  deleteTable(runId: string, table: string): Promise<DeletedRows>;
  /** Deletes the artifacts of an ended run with this id or key, at the service: see `deleteArtifact` of the package. */
  deleteArtifact(runId: string, idOrKey: string): Promise<DeletedRows>;
  /** Deletes a project with all of its runs, at the service: see `deleteProject` of the package. */
  deleteProject(name: string, options?: DeleteProjectOptions): Promise<DeletedProject>;
  /** Says something of alerts of a run, at the service, whose audit log names it. Resolves to when it was said, in UTC epoch milliseconds. */
  silenceAlerts(runId: string, silence: NewSilence): Promise<number>;
  /** Takes back what was said of the same rule, layer and metric; resolves to when. */
  unsilenceAlerts(runId: string, alerts: SilencedAlerts): Promise<number>;
  /** Quotas of which four fifths and more are used, as the service said with its last answer. Asks nothing. */
  nearQuotas(): Promise<readonly NearQuota[]>;
}

/**
 * Stores runs, segments and blobs. See the top of this file for what every store promises. Members of the first three facets are in
 * every store; of the other groups a store has what it can, each member by itself.
 */
export interface Store
  extends
    RunStore,
    SegmentStore,
    BlobStore,
    Partial<ServedStore>,
    Partial<RunQuestions>,
    Partial<BlobRanges>,
    Partial<BlobSweeps>,
    Partial<ProjectRemoval>,
    Partial<LocalStore>,
    Partial<DocumentCalls>,
    Partial<ConnectedStore> {
  /** The URI that opens this store. */
  readonly uri: string;
  readonly location: StoreLocation;
  /** False for a store that only reads; its writes throw `store_failed` with reason `read_only`. */
  readonly isWritable: boolean;

  /** Gives space of removed segments back to the system, where that is a step of its own. */
  reclaimSpace(): Promise<void>;
  /** Releases the store. Later calls throw `store_failed` with reason `closed`. Closing twice is fine. */
  close(): Promise<void>;
}

type MethodName<T> = Extract<
  {
    [K in keyof T]-?: NonNullable<T[K]> extends (...args: never[]) => unknown ? K : never;
  }[keyof T],
  string
>;

type ArgumentsOf<M> = M extends (...args: infer A) => unknown ? A : never;

/** What is done before a method of `T` is carried out. */
export type CallRules<T> = {
  readonly [K in Exclude<MethodName<T>, 'close'>]: {
    /** Whether the call changes what is stored. */
    readonly writes: boolean;
    /** Whether it deletes, archives or restores runs. A service asks for another scope then. Default: false. */
    readonly removes?: boolean;
    /** Throws, or rejects, when an argument is wrong. */
    readonly check: (...args: ArgumentsOf<NonNullable<T[K]>>) => unknown;
  };
};

const nothing = (): undefined => undefined;
const reads = <C>(check: C) => ({ writes: false, check }) as const;
const writes = <C>(check: C) => ({ writes: true, check }) as const;
const removes = <C>(check: C) => ({ writes: true, removes: true, check }) as const;

/**
 * What the front of every store (`front.ts`) checks of a call, once. A new method is one entry here, its signature above, and an
 * implementation in each backend that can have it.
 */
export const STORE_CALLS: CallRules<Store> = {
  ensureProject: writes(checkProject),
  listProjects: reads(nothing),
  createRun: writes(checkRun),
  findRun: reads(checkRunId),
  listRuns: reads((filter = {}) => checkRunFilter(filter)),
  updateRun: writes(checkRevisedRun),
  updateRunNow: writes(checkRevisedRun),
  deleteRun: removes(checkDeletion),
  archiveRun: removes(checkRunId),
  restoreRun: removes(checkRunId),
  findDeletedRun: reads(checkRunId),
  listDeletedRuns: reads(nothing),
  purgeDeletedRuns: removes(checkPurge),
  renewLease: writes(checkLeaseClaim),
  releaseLease: writes((runId, holder) => {
    checkRunId(runId);
    checkId('holder', holder);
  }),
  listLeases: reads((runIds = []) => runIds.forEach(checkRunId)),
  lapsedLeases: reads(checkRunId),
  appendSegments: writes((segments, _seen, live = []) => {
    checkNewSegments(segments);
    for (const one of live) checkShape(runGenerationShape, one);
  }),
  appendSegmentsNow: writes((segments, live = []) => {
    checkNewSegments(segments);
    for (const one of live) checkShape(runGenerationShape, one);
  }),
  listSegments: reads(checkSegmentFilter),
  readSegments: reads((segments) => segments.forEach(checkReference)),
  segmentSizes: reads((segments) => segments.forEach(checkReference)),
  replaceSegments: writes(checkReplacement),
  replaceTable: writes(checkTableSegments),
  listStreams: reads(checkRunId),
  listRunChanges: reads(nothing),
  // Checked where it is answered: a page that records asks nothing of the kind.
  askRuns: reads(nothing),
  listBatches: reads((runIds) => runIds.forEach(checkRunId)),
  identity: reads(nothing),
  isDurable: reads(nothing),
  readCurves: reads(nothing),
  readSparklines: reads(nothing),
  nearQuotas: reads(nothing),
  putBlob: writes(checkBlob),
  putBlobNow: writes(checkBlobNow),
  getBlob: reads(checkSha256),
  blobSize: reads(checkSha256),
  getBlobRange: reads((sha256, start, end) => {
    checkSha256(sha256);
    checkRange(start, end);
  }),
  deleteTable: removes((runId, table) => {
    checkRunId(runId);
    checkTable(table);
  }),
  deleteArtifact: removes((runId, idOrKey) => {
    checkRunId(runId);
    if (typeof idOrKey !== 'string' || idOrKey === '')
      throw invalidInput('artifact', idOrKey, 'the id or the key of an artifact');
  }),
  silenceAlerts: writes(checkRunId),
  unsilenceAlerts: writes(checkRunId),
  putDocument: writes((project) => checkStorable('project', project)),
  findDocument: reads((project) => checkStorable('project', project)),
  listDocuments: reads((project) => checkStorable('project', project)),
  deleteDocument: writes((project) => checkStorable('project', project)),
  deleteProject: removes(checkProjectDeletion),
  removeProject: removes((projectId) => checkId('projectId', projectId)),
  listBlobs: reads(checkBlobPage),
  dropBlobs: writes(checkBlobDrop),
  looseBlobs: reads(nothing),
  // What gives no space back need not refuse to.
  reclaimSpace: reads(nothing),
};

/** The same for the notes of a store. */
export const NOTE_CALLS: CallRules<StoreNotes> = {
  read: reads(checkNoteName),
  write: writes(checkNote),
  list: reads(nothing),
  survey: reads((runId) => (runId === undefined ? undefined : checkRunId(runId))),
  forgetRun: writes(checkRunId),
};
