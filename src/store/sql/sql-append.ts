/** Appending segments in SQL: all streams are locked and asked first, then everything new is written together. */
import { segmentName } from '../../records/shapes/manifest.ts';
import { SessionStoreError } from '../../base/errors.ts';
import { coalesceRanges, rangesContain } from '../batch-ranges.ts';
import { dueAfterAppend, queueStream } from './merge-queue.ts';
import { addUsage, NO_USAGE, type UsedAmounts } from '../quotas.ts';
import { checkLive, findMerged, numberSegment, underGeneration } from '../segment-rules.ts';
import { lastly, numberCell, sql, together, type SqlCall, type SqlWork } from './sql-database.ts';
import {
  insertBytes,
  insertManifests,
  MANIFEST_COLUMNS,
  manifestOf,
  SEGMENT_KEY,
} from './sql-manifests.ts';
import {
  generationCall,
  lockStreams,
  type ChangeScope,
  type LockedStream,
  type StreamRequest,
} from './sql-streams.ts';
import { checkQuotas, countSegments } from './sql-usage.ts';
import type {
  BatchRange,
  NewSegment,
  RunGeneration,
  TableEpoch,
  SegmentManifest,
  SegmentReference,
} from '../store.ts';

/** A line of the table of segments. */
type SegmentRow = { readonly key: number; readonly manifest: SegmentManifest };

/** Appends new segments, gives the rest as they are stored. The last thing a transaction does. */
export function* appendSegments(
  scope: ChangeScope,
  segments: readonly NewSegment[],
  seen: readonly TableEpoch[] = [],
  live: readonly RunGeneration[] = [],
): SqlWork<readonly SegmentManifest[]> {
  const requests = requestsOf(segments, seen);
  const locked = yield* lockStreams(scope, [...requests.values()]);
  const generations = yield* readGenerations(scope, segments);
  const currentOf = (runId: string): number => generations.get(runId) ?? 1;
  checkLive(live, currentOf);
  const streams = new Map<string, LockedStream & { nextSequence: number }>();
  for (const [i, name] of [...requests.keys()].entries()) {
    const stream = locked[i];
    if (stream !== undefined) streams.set(name, { ...stream });
  }
  const placed = new Map<string, SegmentManifest>();
  const lines: (readonly [number, SegmentManifest])[] = [];
  const bytesOf: SqlCall[] = [];
  const due = new Map<number, number>();
  const grown = new Set<{ readonly key: number; readonly nextSequence: number }>();
  const answer: SegmentManifest[] = [];
  for (const { manifest, bytes } of segments) {
    const name = segmentName(manifest);
    const stream = streams.get(`${manifest.runId}/${manifest.table}`);
    if (stream === undefined) throw new Error('Every stream asked for was locked.');
    let stored = placed.get(name);
    if (stored === undefined && rangesContain(stream.taken, manifest))
      stored = yield* findStored(stream.key, manifest);
    if (stored === undefined) {
      stored = numberSegment(
        underGeneration(manifest, currentOf(manifest.runId)),
        stream.nextSequence,
      );
      stream.nextSequence = stored.lastSequence + 1;
      grown.add(stream);
      lines.push([stream.key, stored]);
      bytesOf.push(insertBytes(stream.key, stored, bytes));
      const dueAtMs = dueAfterAppend(stored, scope.nowMs);
      if (dueAtMs !== undefined)
        due.set(stream.key, Math.min(dueAtMs, due.get(stream.key) ?? dueAtMs));
    }
    placed.set(name, stored);
    answer.push(stored);
  }
  if (lines.length > 0) {
    const usage = usageOf(lines);
    yield* checkQuotas(scope.space, scope.quotas, [...usage.values()]);
    const counters = [...grown].map(({ key, nextSequence }) =>
      sql('UPDATE streams SET next_sequence = ? WHERE stream_key = ?', nextSequence, key),
    );
    const queue = [...due]
      .sort(([a], [b]) => a - b)
      .map(([key, dueAtMs]) => queueStream(key, dueAtMs));
    const counts = [...usage.values()].map(({ runId, streamKey, bytes, segments: count }) =>
      countSegments({ space: scope.space, runId, streamKey }, bytes, count),
    );
    yield* lastly([...insertManifests(lines), ...bytesOf, ...counters, ...counts, ...queue]);
  }
  return answer;
}

type RunUsage = UsedAmounts & { readonly runId: string; readonly streamKey: number };

/** What is added to each run, runs in the order of their ids, each with one of its streams. */
function usageOf(
  lines: readonly (readonly [streamKey: number, SegmentManifest])[],
): ReadonlyMap<string, RunUsage> {
  const sums = new Map<string, RunUsage>();
  for (const [streamKey, { runId, sizeBytes }] of lines) {
    const before = sums.get(runId) ?? NO_USAGE;
    const after = addUsage(before, { bytes: sizeBytes, segments: 1, runs: 0 });
    sums.set(runId, { streamKey, ...before, ...after, runId });
  }
  return new Map([...sums].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The generations of the runs of these segments, behind the locks of their tables; those of runs that have one. */
function* readGenerations(
  { space }: ChangeScope,
  segments: readonly NewSegment[],
): SqlWork<ReadonlyMap<string, number>> {
  const runIds = [...new Set(segments.map(({ manifest }) => manifest.runId))];
  const answers = yield* together(runIds.map((runId) => generationCall(space, runId)));
  const found = new Map<string, number>();
  for (const [i, runId] of runIds.entries()) {
    const row = answers[i]?.[0];
    if (row !== undefined && row[0] !== null) found.set(runId, numberCell(row, 0));
  }
  return found;
}

/** A segment as it is live, if it is. */
function* findSegment(
  streamKey: number,
  segment: SegmentReference,
): SqlWork<SegmentRow | undefined> {
  const [row] = yield segmentCall(streamKey, segment);
  if (row === undefined) return undefined;
  return {
    key: numberCell(row, SEGMENT_KEY),
    manifest: manifestOf(row, segment.runId, segment.table),
  };
}

/** The statement that finds a segment. */
function segmentCall(streamKey: number, segment: SegmentReference): SqlCall {
  return sql(
    `SELECT ${MANIFEST_COLUMNS} FROM segments WHERE stream_key = ? AND writer_id = ? AND batch_number = ?`,
    streamKey,
    segment.writerId,
    segment.batchNumber,
  );
}

/** The manifest of a known segment: its own, or that of the one it was merged into. */
function* findStored(streamKey: number, segment: SegmentReference): SqlWork<SegmentManifest> {
  const own = yield* findSegment(streamKey, segment);
  if (own !== undefined) return own.manifest;
  const rows = yield sql(
    `SELECT ${MANIFEST_COLUMNS} FROM segments WHERE stream_key = ? AND sources IS NOT NULL`,
    streamKey,
  );
  const holder = findMerged(
    rows.map((row) => manifestOf(row, segment.runId, segment.table)),
    segment,
  );
  if (holder !== undefined) return holder;
  throw new SessionStoreError(
    'corrupt',
    `Segment ${segmentName(segment)} is recorded as merged, but no segment holds it. Nothing was changed. Copy the database aside before you go on.`,
    { details: { segment: segmentName(segment) } },
  );
}

/** The streams of these segments by name, and the ranges of batches in each. */
function requestsOf(
  segments: readonly NewSegment[],
  seen: readonly TableEpoch[],
): Map<string, StreamRequest> {
  const requests = new Map<string, { runId: string; table: string; batches: BatchRange[] }>();
  for (const { manifest } of segments) {
    const { runId, table, writerId, batchNumber } = manifest;
    const name = `${runId}/${table}`;
    const request = requests.get(name) ?? { runId, table, batches: [] };
    request.batches.push({ writerId, batchStart: batchNumber, batchLast: batchNumber });
    requests.set(name, request);
  }
  const counts = new Map(seen.map((one) => [`${one.runId}/${one.table}`, one.replaceCount]));
  return new Map(
    [...requests].map(([name, request]) => [
      name,
      { ...request, batches: coalesceRanges(request.batches), seenCount: counts.get(name) },
    ]),
  );
}
