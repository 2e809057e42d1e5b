/** The store that keeps everything in memory: for tests, for trying things out, and the simplest form of the contract. */
import { storeOf, type StoreDriver } from '../front.ts';
import { segmentName } from '../../records/shapes/manifest.ts';
import { LATEST_CHANGES } from '../limits.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { RunNotFoundError } from '../../base/errors.ts';
import { checkMergeSources, coalesceRanges, rangesHold } from '../batch-ranges.ts';
import {
  compareText,
  copyRun,
  projectIdTaken,
  runIdTaken,
  segmentTaken,
  isLapsed,
  selectLeases,
  selectRuns,
  storeClosed,
  tableChanged,
} from '../run-rules.ts';
import type { OpenStorageOptions } from '../registry.ts';
import {
  compareManifests,
  copyManifest,
  findHolder,
  matchesSegmentFilter,
  placeSegment,
} from '../segment-rules.ts';
import {
  createPlace,
  firstEndingAt,
  memoryNotes,
  segmentsByEnd,
  surveyOf,
  type Kept,
  type Place,
  type Stream,
} from './memory-data.ts';
import {
  type NewSegment,
  type RunChange,
  type SeenTable,
  type SegmentManifest,
  type SegmentRead,
  type SegmentReference,
  type Store,
  type StoreLocation,
  type StoreNotes,
  type BlobRanges,
  type LocalStore,
  type ServedStore,
} from '../store.ts';

const shared = new Map<string, Place>();

/** A new store in memory. Its clock decides when leases lapse. */
export function createMemoryStore(options: { readonly clock?: Pick<Clock, 'now'> } = {}): Store {
  return storeOf(new MemoryStore('memory:', createPlace(), options.clock ?? systemClock));
}

/** Opens `memory:` (a new store each time) or `memory:NAME` (the same store for the same name within the process). */
export async function openMemoryStorage(
  uri: string,
  options: OpenStorageOptions = {},
): Promise<Store> {
  const name = uri.slice(uri.indexOf(':') + 1);
  const clock = options.clock ?? systemClock;
  if (name === '') return storeOf(new MemoryStore('memory:', createPlace(), clock));
  let place = shared.get(name);
  if (place === undefined) {
    place = createPlace();
    shared.set(name, place);
  }
  return storeOf(new MemoryStore(`memory:${name}`, place, clock));
}

class MemoryStore implements StoreDriver {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly isWritable = true;
  readonly notes: StoreNotes;
  readonly #place: Place;
  readonly #clock: Pick<Clock, 'now'>;
  #isClosed = false;

  constructor(uri: string, place: Place, clock: Pick<Clock, 'now'>) {
    this.uri = uri;
    this.location = { storageDir: uri, storeRoot: uri, dbPath: uri };
    this.#place = place;
    this.#clock = clock;
    this.notes = memoryNotes(place);
  }

  readonly ensureProject: Store['ensureProject'] = async (project) => {
    const { projects } = this.#place;
    for (const known of projects.values()) if (known.name === project.name) return known;
    if (projects.has(project.id)) throw projectIdTaken(project.id);
    const kept = { id: project.id, name: project.name, createdAtMs: project.createdAtMs };
    projects.set(kept.id, kept);
    return kept;
  };

  readonly listProjects: Store['listProjects'] = async () =>
    [...this.#place.projects.values()].sort((a, b) => compareText(a.name, b.name));

  readonly createRun: Store['createRun'] = async (run) => {
    const { runs } = this.#place;
    if (runs.has(run.id)) throw runIdTaken(run.id);
    runs.set(run.id, copyRun(run, 1));
    this.#noteChange(run.id);
    return copyRun(run, 1);
  };

  readonly findRun: Store['findRun'] = async (runId) => {
    const run = this.#place.runs.get(runId);
    return run === undefined ? undefined : copyRun(run, run.revision);
  };

  readonly listRuns: Store['listRuns'] = async (filter = {}) => {
    const { runs } = this.#place;
    return selectRuns(runs.values(), filter).map((run) => copyRun(run, run.revision));
  };

  readonly updateRun: Store['updateRun'] = async (run) => {
    const { runs } = this.#place;
    const kept = runs.get(run.id);
    if (kept === undefined) throw new RunNotFoundError(run.id, this.uri);
    if (kept.revision !== run.revision)
      return { kind: 'conflict', run: copyRun(kept, kept.revision) };
    const next = copyRun(run, run.revision + 1);
    runs.set(run.id, next);
    this.#noteChange(run.id);
    return { kind: 'updated', run: copyRun(next, next.revision) };
  };

  readonly renewLease: Store['renewLease'] = async (runId, holder, ttlMs) => {
    const { leases } = this.#place;
    const nowMs = this.#clock.now();
    for (const [key, lease] of leases) if (isLapsed(lease, nowMs)) leases.delete(key);
    const lease = { runId, holder, expiresAtMs: nowMs + ttlMs };
    leases.set(`${runId}/${holder}`, { ...lease, ttlMs });
    return lease;
  };

  readonly releaseLease: Store['releaseLease'] = async (runId, holder) => {
    const { leases } = this.#place;
    leases.delete(`${runId}/${holder}`);
  };

  readonly listLeases: Store['listLeases'] = async (runIds) => {
    const live = selectLeases(this.#place.leases.values(), this.#clock.now());
    return runIds === undefined ? live : live.filter((lease) => runIds.includes(lease.runId));
  };

  readonly appendSegments: Store['appendSegments'] = async (segments, seen = []) => {
    this.#checkSeen(seen);
    return this.appendSegmentsNow(segments);
  };

  readonly appendSegmentsNow: LocalStore['appendSegmentsNow'] = (segments) => {
    for (const { manifest } of segments) this.#requireRun(manifest.runId);
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
      const kept = this.#find(segment);
      return kept === undefined ? { kind: 'gone' } : { kind: 'bytes', bytes: kept.bytes.slice() };
    });

  readonly replaceSegments: Store['replaceSegments'] = async (runId, table, remove, add) => {
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
    surveyOf(this.#place, runId).streams;

  readonly listRunChanges: ServedStore['listRunChanges'] = async (after) => {
    const { changeCount, changes, runs } = this.#place;
    const found = [...changes]
      .flatMap(([runId, order]): RunChange[] => {
        const run = runs.get(runId);
        if (run === undefined || (after !== undefined && order <= after)) return [];
        const { id, projectName, revision, status } = run;
        return [{ id, projectName, status, revision, order }];
      })
      .sort((a, b) => b.order - a.order)
      .slice(0, after === undefined ? LATEST_CHANGES : undefined);
    return { runs: found, lastOrder: changeCount };
  };

  readonly putBlob: Store['putBlob'] = async (sha256, bytes) => {
    const { blobs } = this.#place;
    const copy = bytes.slice();
    blobs.set(sha256, copy);
  };

  readonly getBlob: Store['getBlob'] = async (sha256) => this.#place.blobs.get(sha256)?.slice();

  readonly blobSize: BlobRanges['blobSize'] = async (sha256) =>
    this.#place.blobs.get(sha256)?.byteLength;

  readonly getBlobRange: BlobRanges['getBlobRange'] = async (sha256, start, end) =>
    this.#place.blobs.get(sha256)?.slice(start, end);

  readonly reclaimSpace: Store['reclaimSpace'] = async () => undefined;

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  #noteChange(runId: string): void {
    this.#place.changeCount += 1;
    this.#place.changes.set(runId, this.#place.changeCount);
  }

  #checkSeen(seen: readonly SeenTable[]): void {
    for (const { runId, table, replaceCount } of seen) {
      const now = this.#stream(runId, table).replaceCount;
      if (now !== replaceCount) throw tableChanged(runId, table, now);
    }
  }

  #append({ manifest, bytes }: NewSegment): SegmentManifest {
    const stream = this.#stream(manifest.runId, manifest.table);
    const known = this.#keptManifest(stream, manifest);
    if (known !== undefined) return copyManifest(known);
    const placed = placeSegment(manifest, stream.nextSequence);
    stream.nextSequence = placed.lastSequence + 1;
    const kept = { manifest: placed, bytes: bytes.slice() };
    stream.live.set(segmentName(manifest), kept);
    // No row so far has a higher number.
    stream.byEnd?.push(kept);
    return copyManifest(placed);
  }

  #keptManifest(stream: Stream, segment: SegmentReference): SegmentManifest | undefined {
    const live = stream.live.get(segmentName(segment));
    if (live !== undefined) return live.manifest;
    if (!rangesHold(stream.merged, segment)) return undefined;
    return findHolder(
      [...stream.live.values()].map((kept) => kept.manifest),
      segment,
    );
  }

  #find(segment: SegmentReference): Kept | undefined {
    const kept = this.#stream(segment.runId, segment.table).live.get(segmentName(segment));
    const isOther = segment.checksum !== undefined && kept?.manifest.checksum !== segment.checksum;
    return isOther ? undefined : kept;
  }

  #stream(runId: string, table: string): Stream {
    const key = `${runId}/${table}`;
    let stream = this.#place.streams.get(key);
    if (stream === undefined) {
      stream = { nextSequence: 0, live: new Map(), byEnd: undefined, merged: [], replaceCount: 0 };
      this.#place.streams.set(key, stream);
    }
    return stream;
  }

  #requireRun(runId: string): void {
    if (!this.#place.runs.has(runId)) throw new RunNotFoundError(runId, this.uri);
  }

  checkOpen(): void {
    if (this.#isClosed) throw storeClosed(this.uri);
  }
}
