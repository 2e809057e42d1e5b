/** The store that stores everything in memory: for tests, for trying things out, and the simplest form of the contract. */
import { storeOf, type StoreDriver } from '../front.ts';
import { segmentName } from '../../records/shapes/manifest.ts';
import { generationOf } from '../../records/shapes/run.ts';
import { LATEST_CHANGES } from '../limits.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { RunNotFoundError } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { runDeleted } from '../deletion.ts';
import { batchesOf, checkMergeSources, coalesceRanges, rangesContain } from '../batch-ranges.ts';
import {
  hasNewArtifacts,
  type BlobSweeps,
  type DeletedRunSource,
  type StoredBlob,
} from '../blob-sweep.ts';
import {
  compareText,
  copyRun,
  liveRuns,
  projectIdTaken,
  projectOfRun,
  runIdTaken,
  segmentTaken,
  agedLease,
  selectLapsed,
  revisedRun,
  selectLeases,
  selectRuns,
  storeClosed,
  tableChanged,
} from '../run-rules.ts';
import type { OpenStorageOptions } from '../registry.ts';
import {
  checkLive,
  compareManifests,
  copyManifest,
  findMerged,
  matchesSegmentFilter,
  numberSegment,
  underGeneration,
} from '../segment-rules.ts';
import {
  isProjectDeleted,
  memoryDeletedRuns,
  memoryDeletion,
  removeMemoryProject,
} from './memory-deletion.ts';
import {
  createMemoryData,
  firstEndingAt,
  memoryNotes,
  noteChange,
  segmentsByEnd,
  snapshotOf,
  type MemorySegment,
  type MemoryData,
  type MemoryTombstone,
  type MemoryStream,
  countInMemory,
} from './memory-data.ts';
import type {
  NewSegment,
  RunChange,
  TableBatches,
  TableEpoch,
  SegmentManifest,
  SegmentRead,
  SegmentReference,
  Store,
  StoreLocation,
  StoreNotes,
  BlobRanges,
  LocalStore,
  ServedStore,
} from '../store.ts';

const shared = new Map<string, MemoryData>();

/**
 * A new store in memory, for tests and for what need not last: its content is gone with the process or page.
 *
 * @param options `clock`: decides when leases lapse; default: that of the machine
 * @example
 * ```js
 * import { createMemoryStore, listRuns, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * console.log((await listRuns(store)).length); // 1
 * await store.close();
 * ```
 */
export function createMemoryStore(options: { readonly clock?: Pick<Clock, 'now'> } = {}): Store {
  return storeOf(new MemoryStore('memory:', createMemoryData(), options.clock ?? systemClock));
}

/** Opens `memory:` (a new store each time) or `memory:NAME` (the same store for the same name within the process). */
export async function openMemoryStorage(
  uri: string,
  options: OpenStorageOptions = {},
): Promise<Store> {
  const name = uri.slice(uri.indexOf(':') + 1);
  const clock = options.clock ?? systemClock;
  if (name === '') return storeOf(new MemoryStore('memory:', createMemoryData(), clock));
  let data = shared.get(name);
  if (data === undefined) {
    data = createMemoryData();
    shared.set(name, data);
  }
  return storeOf(new MemoryStore(`memory:${name}`, data, clock));
}

class MemoryStore implements StoreDriver {
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
  readonly #data: MemoryData;
  readonly #clock: Pick<Clock, 'now'>;
  #isClosed = false;

  constructor(uri: string, data: MemoryData, clock: Pick<Clock, 'now'>) {
    this.uri = uri;
    this.location = { storageDir: uri, storeRoot: uri, dbPath: uri };
    this.#data = data;
    this.#clock = clock;
    this.notes = memoryNotes(data);
    const deletion = memoryDeletion(data, clock, uri);
    this.deletedRuns = memoryDeletedRuns(data);
    this.deleteRun = deletion.deleteRun;
    this.archiveRun = deletion.archiveRun;
    this.restoreRun = deletion.restoreRun;
    this.findDeletedRun = deletion.findDeletedRun;
    this.listDeletedRuns = deletion.listDeletedRuns;
    this.purgeDeletedRuns = deletion.purgeDeletedRuns;
  }

  readonly ensureProject: Store['ensureProject'] = async (project) => {
    const { projects } = this.#data;
    for (const known of projects.values()) if (known.name === project.name) return known;
    if (projects.has(project.id)) throw projectIdTaken(project.id);
    const stored = { id: project.id, name: project.name, createdAtMs: project.createdAtMs };
    projects.set(stored.id, stored);
    return stored;
  };

  readonly listProjects: Store['listProjects'] = async () =>
    [...this.#data.projects.values()]
      .filter(({ name }) => !isProjectDeleted(this.#data, name))
      .sort((a, b) => compareText(a.name, b.name));

  readonly removeProject: NonNullable<Store['removeProject']> = async (projectId) =>
    removeMemoryProject(this.#data, projectId);

  readonly createRun: Store['createRun'] = async (run) => {
    const { deleted, projects, runs } = this.#data;
    this.#checkNotDeleted(run.id);
    if (runs.has(run.id)) throw runIdTaken(run.id);
    const tombstones = [...deleted.values()].map(({ tombstone }) => tombstone);
    const again = projectOfRun(run, [...projects.values()], tombstones);
    if (again !== undefined) projects.set(again.id, again);
    const counted = countInMemory(this.#data, run);
    runs.set(run.id, copyRun(counted, 1));
    noteChange(this.#data, run.id);
    return copyRun(counted, 1);
  };

  readonly findRun: Store['findRun'] = async (runId) => {
    const run = this.#data.runs.get(runId);
    return run === undefined ? undefined : copyRun(run, run.revision);
  };

  readonly listRuns: Store['listRuns'] = async (filter = {}) => {
    const { leases, runs } = this.#data;
    const live = liveRuns(leases.values(), this.#clock.now());
    return selectRuns(runs.values(), filter, live).map((run) => copyRun(run, run.revision));
  };

  readonly askRuns: NonNullable<Store['askRuns']> = async (question) => {
    // Loaded here: a page that records asks nothing of the kind.
    const { answerFromMemory } = await import('../find/ask-runs.ts');
    const { leases, runs } = this.#data;
    return answerFromMemory(runs.values(), liveRuns(leases.values(), this.#clock.now()), question);
  };

  readonly updateRun: Store['updateRun'] = async (run) => this.updateRunNow(run);

  readonly updateRunNow: LocalStore['updateRunNow'] = (run) => {
    const { runs } = this.#data;
    this.#checkNotDeleted(run.id);
    const stored = runs.get(run.id);
    if (stored === undefined) throw new RunNotFoundError(run.id, this.uri);
    if (stored.revision !== run.revision)
      return { kind: 'conflict', run: copyRun(stored, stored.revision) };
    const next = countInMemory(this.#data, revisedRun(run, stored));
    runs.set(run.id, next);
    noteChange(this.#data, run.id);
    return { kind: 'updated', run: copyRun(next, next.revision) };
  };

  readonly renewLease: Store['renewLease'] = async (runId, holder, ttlMs) => {
    this.#checkNotDeleted(runId);
    const { leases } = this.#data;
    const nowMs = this.#clock.now();
    for (const [key, lease] of leases) {
      const aged = agedLease(lease, nowMs);
      if (aged === undefined) leases.delete(key);
      else leases.set(key, aged);
    }
    const lease = { runId, holder, expiresAtMs: nowMs + ttlMs };
    leases.set(`${runId}/${holder}`, { ...lease, ttlMs });
    return lease;
  };

  readonly releaseLease: Store['releaseLease'] = async (runId, holder) => {
    const { leases } = this.#data;
    leases.delete(`${runId}/${holder}`);
  };

  readonly listLeases: Store['listLeases'] = async (runIds) => {
    return selectLeases(this.#data.leases.values(), this.#clock.now(), runIds);
  };

  readonly lapsedLeases: ServedStore['lapsedLeases'] = async (runId) =>
    selectLapsed(this.#data.leases.values(), this.#clock.now(), runId);

  readonly appendSegments: Store['appendSegments'] = async (segments, seen = [], live = []) => {
    this.#checkSeen(seen);
    return this.appendSegmentsNow(segments, live);
  };

  readonly appendSegmentsNow: LocalStore['appendSegmentsNow'] = (segments, live = []) => {
    for (const { manifest } of segments) this.#requireRun(manifest.runId);
    checkLive(live, (runId) => this.#generation(runId));
    return segments.map((segment) => this.#append(segment));
  };

  readonly listSegments: Store['listSegments'] = async (filter) => {
    const found: SegmentManifest[] = [];
    const segments = segmentsByEnd(this.#stream(filter.runId, filter.table));
    const { sequenceMin } = filter;
    for (let i = sequenceMin === undefined ? 0 : firstEndingAt(segments, sequenceMin); ; i++) {
      const manifest = segments[i]?.manifest;
      if (manifest === undefined) break;
      if (matchesSegmentFilter(manifest, filter)) found.push(copyManifest(manifest));
    }
    return found.sort(compareManifests);
  };

  readonly readSegments: Store['readSegments'] = async (segments) =>
    segments.map((segment): SegmentRead => {
      const stored = this.#find(segment);
      return stored === undefined
        ? { kind: 'gone' }
        : { kind: 'bytes', bytes: stored.bytes.slice() };
    });

  readonly replaceSegments: Store['replaceSegments'] = async (runId, table, remove, add) => {
    this.#checkNotDeleted(runId);
    const removed = remove
      .map((segment) => this.#find(segment)?.manifest)
      .filter((found) => found !== undefined);
    if (removed.length !== remove.length) return false;
    const known = checkMergeSources(removed, add);
    const stream = this.#stream(runId, table);
    const leaving = new Set(removed.map(segmentName));
    for (const { manifest } of add) {
      const name = segmentName(manifest);
      if (!leaving.has(name) && this.#keptManifest(stream, manifest) !== undefined)
        throw segmentTaken(name);
    }
    stream.byEnd = undefined;
    for (const name of leaving) stream.live.delete(name);
    for (const { manifest, bytes } of add) {
      stream.live.set(segmentName(manifest), {
        manifest: copyManifest(manifest),
        bytes: bytes.slice(),
      });
    }
    stream.merged = coalesceRanges([...stream.merged, ...known]);
    return true;
  };

  readonly replaceTable: Store['replaceTable'] = async (runId, table, add, seenCount) => {
    this.#requireRun(runId);
    if (seenCount !== undefined) this.#checkSeen([{ runId, table, replaceCount: seenCount }]);
    const stream = this.#stream(runId, table);
    stream.live.clear();
    stream.byEnd = undefined;
    stream.merged = [];
    stream.replaceCount++;
    return add.map((segment) => this.#append(segment));
  };

  readonly listStreams: ServedStore['listStreams'] = async (runId) =>
    snapshotOf(this.#data, runId).streams;

  readonly listRunChanges: ServedStore['listRunChanges'] = async (after) => {
    const { changeCount, changes, deleted, runs } = this.#data;
    const found = [...changes]
      .flatMap(([runId, order]): RunChange[] => {
        if (after !== undefined && order <= after) return [];
        const run = runs.get(runId);
        if (run === undefined) return deletedChange(deleted.get(runId), order);
        const { id, projectName, revision, status } = run;
        return [{ id, projectName, status, revision, order }];
      })
      .sort((a, b) => b.order - a.order)
      .slice(0, after === undefined ? LATEST_CHANGES : undefined);
    return { runs: found, lastOrder: changeCount };
  };

  readonly listBatches: ServedStore['listBatches'] = async (runIds) => {
    const found = [...new Set(runIds)].map((runId) => snapshotOf(this.#data, runId));
    return {
      runs: found.flatMap(({ runs }) => runs.map(({ id, revision }) => ({ id, revision }))),
      tables: found.flatMap(({ streams }) =>
        streams.map(({ replaceCount, runId, table }): TableBatches => {
          const live = [...this.#stream(runId, table).live.values()].map((one) => one.manifest);
          const rowCount = live.reduce((sum, one) => sum + one.rowCount, 0);
          const batches = coalesceRanges(live.flatMap(batchesOf));
          return { runId, table, rowCount, replaceCount, batches };
        }),
      ),
    };
  };

  readonly identity: ServedStore['identity'] = async () =>
    (this.#data.identity ??= { id: createId('db', this.#clock.now()), epoch: 1 });

  /** Nothing in it survives the process. */
  readonly isDurable: ServedStore['isDurable'] = async () => false;

  readonly putBlob: Store['putBlob'] = async (sha256, bytes) => this.putBlobNow(sha256, bytes);

  readonly putBlobNow: LocalStore['putBlobNow'] = (sha256, bytes) => {
    const { blobs } = this.#data;
    const copy = bytes.slice();
    blobs.set(sha256, { bytes: copy, putAtMs: this.#clock.now() });
  };

  readonly getBlob: Store['getBlob'] = async (sha256) =>
    this.#data.blobs.get(sha256)?.bytes.slice();

  readonly blobSize: BlobRanges['blobSize'] = async (sha256) =>
    this.#data.blobs.get(sha256)?.bytes.byteLength;

  readonly getBlobRange: BlobRanges['getBlobRange'] = async (sha256, start, end) =>
    this.#data.blobs.get(sha256)?.bytes.slice(start, end);

  readonly listBlobs: BlobSweeps['listBlobs'] = async ({ after = '', limit, putBeforeMs }) =>
    [...this.#data.blobs]
      .flatMap(([sha256, { bytes, putAtMs }]): StoredBlob[] =>
        sha256 > after && putAtMs <= putBeforeMs
          ? [{ sha256, sizeBytes: bytes.byteLength, putAtMs }]
          : [],
      )
      .sort((a, b) => compareText(a.sha256, b.sha256))
      .slice(0, limit);

  readonly dropBlobs: BlobSweeps['dropBlobs'] = async ({ hashes, putBeforeMs, seen }) => {
    if (hasNewArtifacts(snapshotOf(this.#data, undefined).streams, seen)) return undefined;
    const { blobs } = this.#data;
    const gone = hashes.filter(
      (hash) => (blobs.get(hash)?.putAtMs ?? Number.POSITIVE_INFINITY) <= putBeforeMs,
    );
    for (const hash of gone) blobs.delete(hash);
    return gone.length;
  };

  readonly reclaimSpace: Store['reclaimSpace'] = async () => {
    await this.purgeDeletedRuns();
  };

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  #checkSeen(seen: readonly TableEpoch[]): void {
    for (const { runId, table, replaceCount } of seen) {
      const now = this.#stream(runId, table).replaceCount;
      if (now !== replaceCount) throw tableChanged(runId, table, now);
    }
  }

  #append({ manifest, bytes }: NewSegment): SegmentManifest {
    const stream = this.#stream(manifest.runId, manifest.table);
    const known = this.#keptManifest(stream, manifest);
    if (known !== undefined) return copyManifest(known);
    const current = this.#generation(manifest.runId);
    const placed = numberSegment(underGeneration(manifest, current), stream.nextSequence);
    stream.nextSequence = placed.lastSequence + 1;
    const stored = { manifest: placed, bytes: bytes.slice() };
    stream.live.set(segmentName(manifest), stored);
    // No row so far has a higher number.
    stream.byEnd?.push(stored);
    return copyManifest(placed);
  }

  #keptManifest(stream: MemoryStream, segment: SegmentReference): SegmentManifest | undefined {
    const live = stream.live.get(segmentName(segment));
    if (live !== undefined) return live.manifest;
    if (!rangesContain(stream.merged, segment)) return undefined;
    return findMerged(
      [...stream.live.values()].map((stored) => stored.manifest),
      segment,
    );
  }

  #find(segment: SegmentReference): MemorySegment | undefined {
    const stored = this.#stream(segment.runId, segment.table).live.get(segmentName(segment));
    const isOther =
      segment.checksum !== undefined && stored?.manifest.checksum !== segment.checksum;
    return isOther ? undefined : stored;
  }

  #stream(runId: string, table: string): MemoryStream {
    const key = `${runId}/${table}`;
    let stream = this.#data.streams.get(key);
    if (stream === undefined) {
      stream = { nextSequence: 0, live: new Map(), byEnd: undefined, merged: [], replaceCount: 0 };
      this.#data.streams.set(key, stream);
    }
    return stream;
  }

  #generation(runId: string): number {
    return generationOf(this.#data.runs.get(runId) ?? {});
  }

  #checkNotDeleted(runId: string): void {
    if (this.#data.deleted.has(runId)) throw runDeleted(runId);
  }

  #requireRun(runId: string): void {
    this.#checkNotDeleted(runId);
    if (!this.#data.runs.has(runId)) throw new RunNotFoundError(runId, this.uri);
  }

  checkOpen(): void {
    if (this.#isClosed) throw storeClosed(this.uri);
  }
}

function deletedChange(deleted: MemoryTombstone | undefined, order: number): RunChange[] {
  if (deleted === undefined) return [];
  const { revision, tombstone } = deleted;
  const { id, projectName } = tombstone;
  return [{ id, projectName, status: 'deleted', revision, order, isDeleted: true }];
}
