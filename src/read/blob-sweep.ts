/**
 * Blobs by mark and sweep. The marks are the hashes that records of artifacts name; the store removes what is not marked.
 *
 * Why nothing is removed that a record names, or will name:
 * - A blob that was put within `keepMs` stays, and every put of the same bytes begins that time again. A session appends the record
 *   of an artifact right after its blobs. An outbox puts again what it put more than an hour ago.
 * - While a run is live, blobs that were put since its start stay: its session may have records that no store has accepted yet.
 * - Live runs are listed before the marks are read, and the store removes nothing when an artifact table has other rows than it had
 *   before they were read.
 * - A segment that cannot be read may name anything: then nothing is removed.
 */
import { checkNotAborted } from '../base/assert.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { QuarkError, SessionStoreError } from '../base/errors.ts';
import { asGiven, count, flag, optional, orDefault, readOptions } from '../base/options.ts';
import { artifactTable } from '../records/artifact.ts';
import { addBlobNames } from '../segment/blob-names.ts';
import { describeDamage, openSegment } from '../segment/open-segment.ts';
import { artifactStreams, type BlobSweeps } from '../store/blob-sweep.ts';
import type { Store, StoreNotes, StreamState } from '../store/store.ts';
import { checkStore } from '../store/whole-store.ts';

/** How long a blob that no record names is stored, in milliseconds: 7 days. */
export const DEFAULT_KEEP_UNNAMED_MS: number = 7 * 24 * 60 * 60 * 1000;

/** Options of {@link sweepBlobs}. */
export type SweepBlobsOptions = {
  /** How long a blob that no record names is stored after it was last put, in milliseconds. Default {@link DEFAULT_KEEP_UNNAMED_MS}. */
  readonly keepMs?: number | undefined;
  /** True: only reports what would be removed. Default false. */
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The clock of the store. Default: that of the machine. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
};

/** What a sweep has found, and removed unless it was a dry run. */
export type BlobSweepReport = {
  /** Blobs that no record names, and that were put long enough ago. */
  readonly blobs: number;
  /** Bytes of these blobs. Those that another space of the same database has, too, remain stored. */
  readonly bytes: number;
  /** Hashes that records name. */
  readonly named: number;
  /** Files of blobs that no row of the database knew, and that were written long enough ago. */
  readonly looseFiles: number;
  readonly looseBytes: number;
  /** Whether they were removed. */
  readonly isDone: boolean;
};

/** Blobs that are listed at a time. */
const PAGE = 1000;
/** Attempts while artifacts are recorded. */
const MAX_ATTEMPTS = 8;
const NONE = { files: 0, bytes: 0 };

type SweptStore = Pick<Store, 'findRun' | 'listLeases' | 'listSegments' | 'readSegments'> &
  BlobSweeps & { readonly notes: StoreNotes };

/**
 * Removes the blobs of a store that no record of an artifact names, in runs of any status, deleted ones that can be restored
 * included. It may run while others record into the store.
 *
 * @throws {QuarkError} `invalid_input` naming the option; `unsupported` for a store behind a network or an outbox; `aborted`
 * @throws {SessionStoreError} `corrupt` when records of artifacts cannot be read; `busy` when artifacts are recorded all the time;
 *   nothing was removed then
 * @example
 * ```js
 * import { createMemoryStore, sweepBlobs } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const { blobs, bytes, isDone } = await sweepBlobs(store, { dryRun: true });
 * console.log(`${blobs} blobs of ${bytes} bytes would be removed`, isDone); // 0 blobs of 0 bytes would be removed false
 * ```
 */
export async function sweepBlobs(
  store: Store,
  options: SweepBlobsOptions = {},
): Promise<BlobSweepReport> {
  checkStore(store);
  const { clock, dryRun, keepMs, signal } = readOptions('options', options, {
    keepMs: orDefault(count(), DEFAULT_KEEP_UNNAMED_MS),
    dryRun: flag(false),
    signal: optional(asGiven),
    clock: orDefault(asGiven, systemClock),
  });
  const swept = sweptStore(store);
  const marks = new BlobMarks(swept, signal);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const putBeforeMs = (await oldestLiveStart(swept, clock.now())) - keepMs;
    const seen = artifactStreams((await swept.notes.survey()).streams);
    const named = new Set(await marks.read(seen));
    // After the others: a run that is deleted meanwhile is among these, and one that is restored has a table that was not seen.
    const deleted = artifactStreams(await swept.deletedRuns.listStreams());
    for (const hash of await new BlobMarks(swept.deletedRuns, signal).read(deleted))
      named.add(hash);
    for (const hash of await marks.readAgain()) named.add(hash);
    const { bytes, hashes } = await unnamedBlobs(swept, named, putBeforeMs, signal);
    const { bytes: looseBytes, files: looseFiles } =
      (await swept.looseBlobs?.(putBeforeMs)) ?? NONE;
    const report = { blobs: hashes.length, bytes, named: named.size, looseFiles, looseBytes };
    if (dryRun) return { ...report, isDone: false };
    const dropped = await swept.dropBlobs({ hashes, putBeforeMs, seen });
    if (dropped !== undefined) return { ...report, blobs: dropped, isDone: true };
  }
  throw new SessionStoreError(
    'busy',
    'Artifacts were recorded again and again while blobs were compared with them. No blob was removed. Try again later.',
  );
}

function sweptStore(store: Store): SweptStore {
  const { deletedRuns, dropBlobs, listBlobs, looseBlobs, notes } = store;
  if (
    deletedRuns === undefined ||
    dropBlobs === undefined ||
    listBlobs === undefined ||
    notes === undefined
  )
    throw new QuarkError(
      'unsupported',
      `Blobs of ${store.uri} cannot be swept from here. A service sweeps its own; open the folder or the database itself for a local store.`,
      { details: { uri: store.uri } },
    );
  return {
    notes,
    deletedRuns,
    dropBlobs,
    listBlobs,
    ...(looseBlobs === undefined ? {} : { looseBlobs }),
    findRun: (runId) => store.findRun(runId),
    listLeases: () => store.listLeases(),
    listSegments: (filter) => store.listSegments(filter),
    readSegments: (segments) => store.readSegments(segments),
  };
}

/** When the first of the live runs began; now, if there is none. */
async function oldestLiveStart(store: SweptStore, nowMs: number): Promise<number> {
  let oldestMs = nowMs;
  for (const runId of new Set((await store.listLeases()).map((lease) => lease.runId))) {
    const run = await store.findRun(runId);
    if (run !== undefined) oldestMs = Math.min(oldestMs, run.startedAtMs);
  }
  return oldestMs;
}

async function unnamedBlobs(
  store: SweptStore,
  named: ReadonlySet<string>,
  putBeforeMs: number,
  signal: AbortSignal | undefined,
): Promise<{ readonly hashes: readonly string[]; readonly bytes: number }> {
  const hashes: string[] = [];
  let bytes = 0;
  for (let after: string | undefined; ;) {
    checkNotAborted(signal);
    const page = await store.listBlobs({ putBeforeMs, after, limit: PAGE });
    for (const { sha256, sizeBytes } of page) {
      if (named.has(sha256)) continue;
      hashes.push(sha256);
      bytes += sizeBytes;
    }
    if (page.length < PAGE) return { hashes, bytes };
    after = page.at(-1)?.sha256;
  }
}

type Mark = { readonly stream: StreamState; readonly hashes: ReadonlySet<string> };

/** The hashes that the records of a store name, by run; a run without new rows is read once. */
export class BlobMarks {
  readonly #store: Pick<Store, 'listSegments' | 'readSegments'>;
  readonly #signal: AbortSignal | undefined;
  readonly #marks = new Map<string, Mark>();
  /** Runs that had no segments when they were read: they may have been deleted at that moment. */
  #empty = new Set<string>();

  constructor(store: Pick<Store, 'listSegments' | 'readSegments'>, signal?: AbortSignal) {
    this.#store = store;
    this.#signal = signal;
  }

  /** @throws {SessionStoreError} `corrupt` when a segment cannot be read */
  async read(streams: readonly StreamState[]): Promise<ReadonlySet<string>> {
    const all = new Set<string>();
    for (const stream of streams) {
      checkNotAborted(this.#signal);
      const known = this.#marks.get(stream.runId);
      const isSame =
        known?.stream.nextSequence === stream.nextSequence &&
        known.stream.replaceCount === stream.replaceCount;
      const hashes = isSame ? known.hashes : await this.#readRun(stream.runId);
      // A run that has been deleted has no segments here; it may be restored.
      if (!this.#empty.has(stream.runId)) this.#marks.set(stream.runId, { stream, hashes });
      for (const hash of hashes) all.add(hash);
    }
    return all;
  }

  /** Reads runs again that had no segments: one that was deleted and restored meanwhile has them now. */
  async readAgain(): Promise<ReadonlySet<string>> {
    const all = new Set<string>();
    const empty = this.#empty;
    this.#empty = new Set();
    for (const runId of empty) for (const hash of await this.#readRun(runId)) all.add(hash);
    return all;
  }

  async #readRun(runId: string): Promise<ReadonlySet<string>> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const hashes = await this.#tryToRead(runId);
      if (hashes !== undefined) return hashes;
    }
    throw new SessionStoreError(
      'busy',
      `The artifacts of run ${runId} were merged again and again while they were read. No blob was removed. Try again.`,
      { details: { runId } },
    );
  }

  /** Undefined when a merge came between listing and reading. */
  async #tryToRead(runId: string): Promise<ReadonlySet<string> | undefined> {
    const hashes = new Set<string>();
    const filter = { runId, table: artifactTable.table, superseded: true };
    const manifests = await this.#store.listSegments(filter);
    if (manifests.length === 0) this.#empty.add(runId);
    for (const manifest of manifests) {
      const [read] = await this.#store.readSegments([manifest]);
      const opened = await openSegment(artifactTable, manifest, read ?? { kind: 'gone' });
      if (opened.kind === 'gone') return undefined;
      if (opened.kind === 'damaged')
        throw new SessionStoreError(
          'corrupt',
          `It is unknown which blobs run ${runId} names. ${describeDamage(opened.report)} No blob was removed. Repair or delete the run first.`,
          { details: { runId, reason: opened.report.reason } },
        );
      addBlobNames(opened.segment.batch, hashes);
    }
    return hashes;
  }
}
