/**
 * A store as a few maps, to hold real stores against: it keeps one line for each batch ever appended and looks
 * everything up by walking through them. It shares no code with the stores.
 */
import type {
  DeletedRun,
  Lease,
  MergedSegment,
  NewSegment,
  RunFilter,
  SegmentFilter,
  SegmentManifest,
  SegmentReference,
  StoredRun,
} from '../../src/store/store.ts';

type Live = { readonly manifest: SegmentManifest; readonly bytes: Uint8Array };
type Stream = {
  next: number;
  live: Live[];
  /** Batch name to the live segment that holds it. */
  holders: Map<string, Live>;
};

/** A run that was deleted: what it had until it is purged. */
export type DeletedOfModel = {
  readonly tombstone: DeletedRun;
  readonly run: StoredRun;
  readonly streams: readonly (readonly [string, Stream])[];
};

export type State = {
  readonly runs: Map<string, StoredRun>;
  readonly streams: Map<string, Stream>;
  readonly leases: Map<string, Lease>;
  readonly deleted: Map<string, DeletedOfModel>;
};

export function emptyState(): State {
  return { runs: new Map(), streams: new Map(), leases: new Map(), deleted: new Map() };
}

/** A copy that changes by itself. */
export function copyState(state: State): State {
  const streams = new Map<string, Stream>();
  for (const [name, { next, live, holders }] of state.streams) {
    streams.set(name, { next, live: [...live], holders: new Map(holders) });
  }
  return {
    runs: new Map(state.runs),
    streams,
    leases: new Map(state.leases),
    deleted: new Map(state.deleted),
  };
}

/** What appending answers: manifests, or undefined when a run is missing. */
export function append(
  state: State,
  segments: readonly NewSegment[],
): SegmentManifest[] | undefined {
  if (segments.some(({ manifest }) => !state.runs.has(manifest.runId))) return undefined;
  return segments.map(({ manifest, bytes }) => {
    const stream = streamOf(state, manifest.runId, manifest.table);
    const name = `${manifest.writerId}#${manifest.batchNumber}`;
    const known =
      stream.live.find((live) => nameOf(live.manifest) === name) ?? stream.holders.get(name);
    if (known !== undefined) return known.manifest;
    const placed = {
      manifest: {
        ...manifest,
        firstSequence: stream.next,
        lastSequence: stream.next + manifest.rowCount - 1,
      },
      bytes,
    };
    stream.next += manifest.rowCount;
    stream.live.push(placed);
    stream.holders.set(name, placed);
    return placed.manifest;
  });
}

export function list(state: State, filter: SegmentFilter): SegmentManifest[] {
  const overlaps = (
    min: number | null,
    max: number | null,
    from?: number,
    to?: number,
  ): boolean => {
    if (from === undefined && to === undefined) return true;
    if (min === null || max === null) return false;
    return max >= (from ?? -Infinity) && min <= (to ?? Infinity);
  };
  return streamOf(state, filter.runId, filter.table)
    .live.map((live) => live.manifest)
    .filter((m) => m.lastSequence >= (filter.sequenceMin ?? 0))
    .filter((m) => overlaps(m.stepMin, m.stepMax, filter.stepMin, filter.stepMax))
    .filter((m) => overlaps(m.epochMin, m.epochMax, filter.epochMin, filter.epochMax))
    .filter(
      (m) =>
        filter.keys === undefined ||
        m.keys === null ||
        m.keys.some((key) => filter.keys?.includes(key)),
    )
    .sort(
      (a, b) =>
        a.firstSequence - b.firstSequence ||
        a.lastSequence - b.lastSequence ||
        (a.writerId === b.writerId
          ? a.batchNumber - b.batchNumber
          : a.writerId < b.writerId
            ? -1
            : 1),
    );
}

export function read(state: State, segment: SegmentReference): Uint8Array | undefined {
  return find(state, segment)?.bytes;
}

export function replace(
  state: State,
  runId: string,
  table: string,
  remove: readonly SegmentReference[],
  add: MergedSegment,
): boolean {
  const stream = streamOf(state, runId, table);
  const leaving = new Set(remove.map((segment) => find(state, segment)));
  if (leaving.has(undefined)) return false;
  const merged = { manifest: add.manifest, bytes: add.bytes };
  for (const [name, holder] of stream.holders)
    if (leaving.has(holder)) stream.holders.set(name, merged);
  stream.live = [...stream.live.filter((live) => !leaving.has(live)), merged];
  return true;
}

export function replaceTable(
  state: State,
  runId: string,
  table: string,
  add: readonly NewSegment[],
): SegmentManifest[] | undefined {
  if (!state.runs.has(runId)) return undefined;
  const stream = streamOf(state, runId, table);
  stream.live = [];
  stream.holders = new Map();
  return append(state, add);
}

export function listRuns(state: State, filter: RunFilter): StoredRun[] {
  const start = filter.offset ?? 0;
  return [...state.runs.values()]
    .filter((run) => filter.projectName === undefined || run.projectName === filter.projectName)
    .filter((run) => filter.statuses === undefined || filter.statuses.includes(run.status))
    .filter(
      ({ archivedAtMs }) =>
        filter.archived === undefined || filter.archived === (archivedAtMs !== undefined),
    )
    .filter((run) => (filter.tags ?? []).every((tag) => run.tags.includes(tag)))
    .sort((a, b) => b.startedAtMs - a.startedAtMs || (a.id < b.id ? 1 : -1))
    .slice(start, start + (filter.limit ?? Infinity));
}

export function listLeases(state: State, nowMs: number): Lease[] {
  return [...state.leases.values()]
    .filter((lease) => nowMs < lease.expiresAtMs)
    .sort((a, b) => (`${a.runId} ${a.holder}` < `${b.runId} ${b.holder}` ? -1 : 1));
}

export function streamOf(state: State, runId: string, table: string): Stream {
  const name = `${runId} ${table}`;
  const known = state.streams.get(name);
  if (known !== undefined) return known;
  const stream: Stream = { next: 0, live: [], holders: new Map() };
  state.streams.set(name, stream);
  return stream;
}

function find(state: State, segment: SegmentReference): Live | undefined {
  return streamOf(state, segment.runId, segment.table).live.find(
    ({ manifest }) =>
      nameOf(manifest) === nameOf(segment) &&
      (segment.checksum === undefined || segment.checksum === manifest.checksum),
  );
}

function nameOf(segment: { readonly writerId: string; readonly batchNumber: number }): string {
  return `${segment.writerId}#${segment.batchNumber}`;
}
