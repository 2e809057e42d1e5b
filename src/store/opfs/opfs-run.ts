/** The segments of a run, as the frames of its shard say. */
import { segmentName } from '../../records/shapes/manifest.ts';
import { coalesceRanges, checkMergeSources, rangesContain } from '../batch-ranges.ts';
import { segmentTaken, tableChanged } from '../run-rules.ts';
import {
  compareManifests,
  copyManifest,
  findMerged,
  matchesSegmentFilter,
  numberSegment,
  underGeneration,
} from '../segment-rules.ts';
import type {
  BatchRange,
  MergedSegment,
  NewSegment,
  SegmentFilter,
  SegmentManifest,
  SegmentReference,
  StreamState,
} from '../store.ts';
import type { Part } from './opfs-parts.ts';
import type { LostChanges, ShardState } from './opfs-shard.ts';

/** A segment, and where its bytes lie. */
export type PlacedSegment = { readonly manifest: SegmentManifest; readonly part: Part };

type TableState = {
  readonly next: number;
  readonly replaceCount: number;
  /** Batches that live on inside merged segments. */
  readonly merged: readonly BatchRange[];
};

/** A change of the segments of a run. The parts of its frame are the bytes of `add`. */
export type RunBody = {
  /** Tables whose segments are forgotten, before anything else. */
  readonly empty?: readonly string[];
  /** Segments that go: of these tables, by name. */
  readonly gone?: readonly (readonly [table: string, names: readonly string[]])[];
  readonly add?: readonly SegmentManifest[];
  /** Tables as they are then. */
  readonly tables?: readonly (readonly [table: string, state: TableState])[];
  /** Changes that were missing when all was written anew. */
  readonly lost?: number;
  /** The run was deleted, restored, forgotten, or got another generation: writers ask what has become of it. */
  readonly fence?: true;
};

/** What is to be written. */
export type RunFrame = {
  readonly body: RunBody;
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
};

const NEW_TABLE: TableState = { next: 0, replaceCount: 0, merged: [] };
/** No name that a session gives a writer. */
const LOST_WRITER = 'lost-changes';
/** What a manifest takes, about. */
const MANIFEST_BYTES = 512;
/** As many bytes of segments go into a frame when all are written anew. */
const MAX_PART_BYTES = 4 * 1024 * 1024;

/** See the top of this file. */
export class RunState implements ShardState {
  readonly #tables = new Map<string, TableState>();
  readonly #live = new Map<string, Map<string, PlacedSegment>>();
  /** Counts what makes writers ask again. */
  fences = 0;
  /** Bytes of the segments that are there, and of those that are gone since all was written anew, with their manifests. */
  liveBytes = 0;
  deadBytes = 0;
  #lost: LostChanges = { changes: 0, files: 0 };
  #lostBefore = 0;

  reset(): void {
    this.#tables.clear();
    this.#live.clear();
    this.liveBytes = 0;
    this.deadBytes = 0;
    this.#lost = { changes: 0, files: 0 };
    this.#lostBefore = 0;
    this.fences++;
  }

  apply(body: unknown, parts: readonly Part[]): void {
    // The frame's check has said that these are the bytes that this code wrote.
    const { add = [], empty = [], fence, gone = [], lost = 0, tables = [] } = body as RunBody;
    this.#lostBefore += lost;
    for (const table of empty)
      for (const name of this.#live.get(table)?.keys() ?? []) this.#remove(table, name);
    for (const [table, names] of gone) for (const name of names) this.#remove(table, name);
    add.forEach((manifest, i) => {
      const part = parts[i];
      if (part === undefined) return;
      this.#liveIn(manifest.table).set(segmentName(manifest), { manifest, part });
      this.liveBytes += part.size + MANIFEST_BYTES;
    });
    for (const [table, state] of tables) this.#tables.set(table, state);
    if (fence === true) this.fences++;
  }

  *bodies(): Iterable<{ readonly body: RunBody; readonly parts: readonly Part[] }> {
    const lost = this.#lostBefore + this.#lost.changes;
    yield { body: { tables: [...this.#tables], ...(lost > 0 ? { lost } : {}) }, parts: [] };
    let group: PlacedSegment[] = [];
    let size = 0;
    const bodyOf = (segments: readonly PlacedSegment[]) => ({
      body: { add: segments.map(({ manifest }) => manifest) },
      parts: segments.map(({ part }) => part),
    });
    for (const live of this.#live.values())
      for (const segment of live.values()) {
        group.push(segment);
        size += segment.part.size;
        if (size < MAX_PART_BYTES) continue;
        yield bodyOf(group);
        group = [];
        size = 0;
      }
    if (group.length > 0) yield bodyOf(group);
  }

  tellLost(lost: LostChanges): void {
    this.#lost = lost;
  }

  /** What is lost, as a reason of damage; undefined where nothing is known to be. */
  get lossReason(): string | undefined {
    const changes = this.#lost.changes + this.#lostBefore;
    const { files } = this.#lost;
    if (changes === 0 && files === 0) return undefined;
    return `${changes} changes of the run are missing between those that are there, and ${files} of its files`;
  }

  streams(runId: string): readonly StreamState[] {
    return [...this.#tables].flatMap(([table, { next, replaceCount }]) =>
      next > 0 || replaceCount > 0 ? [{ runId, table, nextSequence: next, replaceCount }] : [],
    );
  }

  list(filter: SegmentFilter): readonly SegmentManifest[] {
    const found = [...(this.#live.get(filter.table)?.values() ?? [])]
      .filter(({ manifest }) => matchesSegmentFilter(manifest, filter))
      .map(({ manifest }) => manifest)
      .sort(compareManifests);
    // Which tables lost something, nobody knows: those that there are, or, where none is left, the one that is asked for.
    const mayLack = this.#tables.size === 0 || this.#tables.has(filter.table);
    const isFromStart = (filter.sequenceMin ?? 0) === 0;
    return this.lossReason !== undefined && mayLack && isFromStart
      ? [lostSegment(filter), ...found]
      : found;
  }

  /** The segment of a reference, unless it has other bytes now. */
  find(segment: SegmentReference): PlacedSegment | undefined {
    const found = this.#live.get(segment.table)?.get(segmentName(segment));
    const isOther = segment.checksum !== undefined && found?.manifest.checksum !== segment.checksum;
    return isOther ? undefined : found;
  }

  /** What appending writes, and the manifests as stored. */
  append(
    segments: readonly NewSegment[],
    generation: number,
  ): { readonly change: RunFrame | undefined; readonly placed: readonly SegmentManifest[] } {
    const tables = new Map<string, TableState>();
    const added = new Map<string, SegmentManifest>();
    const parts: Uint8Array<ArrayBuffer>[] = [];
    const placed = segments.map(({ bytes, manifest }): SegmentManifest => {
      const name = segmentName(manifest);
      const known = added.get(name) ?? this.#known(manifest);
      if (known !== undefined) return known;
      const { table } = manifest;
      const state = tables.get(table) ?? this.#tables.get(table) ?? NEW_TABLE;
      const numbered = numberSegment(underGeneration(manifest, generation), state.next);
      tables.set(table, { ...state, next: numbered.lastSequence + 1 });
      added.set(name, numbered);
      parts.push(bytes);
      return numbered;
    });
    const body: RunBody = { add: [...added.values()], tables: [...tables] };
    return { placed, change: added.size === 0 ? undefined : { body, parts } };
  }

  /** What a merge writes; undefined where a segment that it removes is not there. */
  replace(
    table: string,
    remove: readonly SegmentReference[],
    add: readonly MergedSegment[],
  ): RunFrame | undefined {
    const removed = remove.flatMap((segment) => this.find(segment)?.manifest ?? []);
    if (removed.length !== remove.length) return undefined;
    const batches = checkMergeSources(removed, add);
    const leaving = new Set(removed.map(segmentName));
    for (const { manifest } of add) {
      const name = segmentName(manifest);
      if (!leaving.has(name) && this.#known(manifest) !== undefined) throw segmentTaken(name);
    }
    const state = this.#tables.get(table) ?? NEW_TABLE;
    const merged = coalesceRanges([...state.merged, ...batches]);
    return {
      body: {
        gone: [[table, [...leaving]]],
        add: add.map(({ manifest }) => copyManifest(manifest)),
        tables: [[table, { ...state, merged }]],
      },
      parts: add.map(({ bytes }) => bytes),
    };
  }

  /** What computing a table anew writes. @throws {SessionStoreError} `busy` */
  empty(
    runId: string,
    table: string,
    add: readonly NewSegment[],
    generation: number,
    seenCount: number | undefined,
  ): { readonly change: RunFrame; readonly placed: readonly SegmentManifest[] } {
    const state = this.#tables.get(table) ?? NEW_TABLE;
    if (seenCount !== undefined && seenCount !== state.replaceCount)
      throw tableChanged(runId, table, state.replaceCount);
    const placed = new Map<string, SegmentManifest>();
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let { next } = state;
    for (const { bytes, manifest } of add) {
      if (placed.has(segmentName(manifest))) continue;
      const numbered = numberSegment(underGeneration(manifest, generation), next);
      next = numbered.lastSequence + 1;
      placed.set(segmentName(manifest), numbered);
      parts.push(bytes);
    }
    const after = { next, replaceCount: state.replaceCount + 1, merged: [] };
    const body: RunBody = { empty: [table], add: [...placed.values()], tables: [[table, after]] };
    return {
      change: { body, parts },
      placed: add.flatMap(({ manifest }) => placed.get(segmentName(manifest)) ?? []),
    };
  }

  #known(segment: SegmentReference): SegmentManifest | undefined {
    const live = this.#live.get(segment.table);
    const own = live?.get(segmentName(segment));
    if (own !== undefined) return own.manifest;
    if (!rangesContain(this.#tables.get(segment.table)?.merged ?? [], segment)) return undefined;
    return findMerged(
      Array.from(live?.values() ?? [], ({ manifest }) => manifest),
      segment,
    );
  }

  #remove(table: string, name: string): void {
    const live = this.#live.get(table);
    const size = live?.get(name)?.part.size;
    if (size === undefined || live?.delete(name) !== true) return;
    this.liveBytes -= size + MANIFEST_BYTES;
    this.deadBytes += size + MANIFEST_BYTES;
  }

  #liveIn(table: string): Map<string, PlacedSegment> {
    const found = this.#live.get(table) ?? new Map<string, PlacedSegment>();
    this.#live.set(table, found);
    return found;
  }
}

/** Whether a segment stands for what is lost. */
export function isLostSegment({ batchNumber, writerId }: SegmentReference): boolean {
  return writerId === LOST_WRITER && batchNumber === 0;
}

/** Stands for what is lost, in listings: it reads as damaged, and so all readers count and report it. */
function lostSegment({ runId, table }: SegmentFilter): SegmentManifest {
  return {
    runId,
    table,
    writerId: LOST_WRITER,
    batchNumber: 0,
    rowCount: 0,
    stepMin: null,
    stepMax: null,
    epochMin: null,
    epochMax: null,
    timeMinMs: null,
    timeMaxMs: null,
    keys: null,
    schemaVersion: 1,
    encoding: 'packed',
    sizeBytes: 0,
    checksum: 0,
    sources: [],
    firstSequence: 0,
    lastSequence: 0,
  };
}
