/** Segments of one space in SQL: manifests and bytes in tables of their own, tied by a short key. */
import { RunNotFoundError, SessionStoreError } from '../base/errors.ts';
import { checkMergeSources, coalesceRanges } from './batch-ranges.ts';
import { segmentTaken } from './run-rules.ts';
import { compareManifests, findHolder, holdsKey, placeSegment } from './segment-rules.ts';
import {
  bytesCell,
  isTextList,
  jsonCell,
  numberCell,
  optionalNumberCell,
  sql,
  sqlOne,
  textCell,
  type SqlRow,
  type SqlValue,
  type SqlWork,
} from './sql-database.ts';
import {
  segmentName,
  type BatchRange,
  type MergedSegment,
  type NewSegment,
  type SegmentEncoding,
  type SegmentFilter,
  type SegmentManifest,
  type SegmentRead,
  type SegmentReference,
} from './store.ts';

const MANIFEST_COLUMNS = `text(writer_id), batch_number, row_count, first_sequence, last_sequence, step_min, step_max,
  epoch_min, epoch_max, time_min_ms, time_max_ms, text(keys), schema_version, encoding, size_bytes, checksum,
  text(sources), segment_key`;
const SEGMENT_KEY = 17;
/** An encoding is kept as its place in this list. */
const ENCODINGS: readonly SegmentEncoding[] = ['arrow', 'packed'];

type StreamKey = { readonly key: number; nextSequence: number };
type KeptSegment = { readonly key: number; readonly manifest: SegmentManifest };

/** Appends new segments, gives the rest as they are kept. */
export function* appendSegments(
  space: string,
  segments: readonly NewSegment[],
  where: string,
): SqlWork<readonly SegmentManifest[]> {
  const streams = new Map<string, StreamKey>();
  const placed: SegmentManifest[] = [];
  for (const segment of segments) {
    const { runId, table } = segment.manifest;
    const name = `${runId}/${table}`;
    let stream = streams.get(name);
    if (stream === undefined) {
      stream = yield* lockStream(space, runId, table, where);
      streams.set(name, stream);
    }
    placed.push(yield* appendSegment(stream, segment));
  }
  for (const stream of streams.values()) {
    yield sql(
      'UPDATE streams SET next_sequence = ? WHERE stream_key = ?',
      stream.nextSequence,
      stream.key,
    );
  }
  return placed;
}

/** Live segments of a filter. */
export function* listSegments(
  space: string,
  filter: SegmentFilter,
): SqlWork<readonly SegmentManifest[]> {
  const stream = yield* findStream(space, filter.runId, filter.table);
  if (stream === undefined) return [];
  const conditions = ['stream_key = ?'];
  const params: SqlValue[] = [stream.key];
  const add = (condition: string, value: number | undefined): void => {
    if (value === undefined) return;
    conditions.push(condition);
    params.push(value);
  };
  add('last_sequence >= ?', filter.sequenceMin);
  add('step_max >= ?', filter.stepMin);
  add('step_min <= ?', filter.stepMax);
  add('epoch_max >= ?', filter.epochMin);
  add('epoch_min <= ?', filter.epochMax);
  const rows = yield sql(
    `SELECT ${MANIFEST_COLUMNS} FROM segments WHERE ${conditions.join(' AND ')}`,
    ...params,
  );
  return rows
    .map((row) => manifestOf(row, filter.runId, filter.table))
    .filter((manifest) => holdsKey(manifest.keys, filter.keys))
    .sort(compareManifests);
}

/** The bytes of one segment. */
export function* readSegment(space: string, segment: SegmentReference): SqlWork<SegmentRead> {
  const [row] = yield sql(
    `SELECT segments.checksum, segments.size_bytes, segment_bytes.bytes FROM streams
     JOIN segments ON segments.stream_key = streams.stream_key
     LEFT JOIN segment_bytes ON segment_bytes.segment_key = segments.segment_key
     WHERE streams.space = ? AND streams.run_id = ? AND streams.table_name = ? AND segments.writer_id = ?
       AND segments.batch_number = ?`,
    space,
    segment.runId,
    segment.table,
    segment.writerId,
    segment.batchNumber,
  );
  if (row === undefined) return { kind: 'gone' };
  if (segment.checksum !== undefined && numberCell(row, 0) !== segment.checksum)
    return { kind: 'gone' };
  if (row[2] === null)
    return { kind: 'damaged', reason: 'its bytes are missing from the database' };
  const bytes = bytesCell(row, 2);
  if (bytes.byteLength === numberCell(row, 1)) return { kind: 'bytes', bytes };
  return {
    kind: 'damaged',
    reason: `it has ${bytes.byteLength} bytes instead of ${numberCell(row, 1)}`,
  };
}

/** Puts merged segments in the place of others; false when one of those is not there any more. */
export function* replaceSegments(
  space: string,
  runId: string,
  table: string,
  remove: readonly SegmentReference[],
  add: readonly MergedSegment[],
  where: string,
): SqlWork<boolean> {
  if ((yield* findStream(space, runId, table)) === undefined) {
    if (remove.length > 0) return false;
    checkMergeSources([], add);
    return true;
  }
  const stream = yield* lockStream(space, runId, table, where);
  const removed: KeptSegment[] = [];
  for (const segment of remove) {
    const kept = yield* findSegment(stream, segment);
    if (
      kept === undefined ||
      (segment.checksum !== undefined && kept.manifest.checksum !== segment.checksum)
    )
      return false;
    removed.push(kept);
  }
  const known = checkMergeSources(
    removed.map((kept) => kept.manifest),
    add,
  );
  for (const kept of removed) yield* deleteSegment(kept.key);
  for (const { manifest, bytes } of add) {
    const name = segmentName(manifest);
    const wasRemoved = removed.some((kept) => segmentName(kept.manifest) === name);
    if (!wasRemoved && (yield* isMerged(stream, manifest))) throw segmentTaken(name);
    const key = yield* insertManifest(stream, manifest);
    if (key === undefined) throw segmentTaken(name);
    yield sql('INSERT INTO segment_bytes (segment_key, bytes) VALUES (?, ?)', key, bytes);
  }
  yield* rememberBatches(stream, known);
  return true;
}

/** Forgets all of a table and appends. */
export function* replaceTable(
  space: string,
  runId: string,
  table: string,
  add: readonly NewSegment[],
  where: string,
): SqlWork<readonly SegmentManifest[]> {
  const stream = yield* lockStream(space, runId, table, where);
  yield sql(
    'DELETE FROM segment_bytes WHERE segment_key IN (SELECT segment_key FROM segments WHERE stream_key = ?)',
    stream.key,
  );
  yield sql('DELETE FROM segments WHERE stream_key = ?', stream.key);
  yield sql('DELETE FROM merged_batches WHERE stream_key = ?', stream.key);
  return yield* appendSegments(space, add, where);
}

function* appendSegment(
  stream: StreamKey,
  { manifest, bytes }: NewSegment,
): SqlWork<SegmentManifest> {
  if (yield* isMerged(stream, manifest)) return yield* findMerged(stream, manifest);
  const placed = placeSegment(manifest, stream.nextSequence);
  const key = yield* insertManifest(stream, placed);
  if (key === undefined) return yield* findMerged(stream, manifest);
  yield sql('INSERT INTO segment_bytes (segment_key, bytes) VALUES (?, ?)', key, bytes);
  stream.nextSequence = placed.lastSequence + 1;
  return placed;
}

function* lockStream(
  space: string,
  runId: string,
  table: string,
  where: string,
): SqlWork<StreamKey> {
  for (;;) {
    const stream = yield* findStream(space, runId, table, ' FOR UPDATE');
    if (stream !== undefined) return stream;
    const [run] = yield sqlOne('SELECT 1 FROM runs WHERE space = ? AND id = ?', space, runId);
    if (run === undefined) throw new RunNotFoundError(runId, where);
    yield sql(
      'INSERT INTO streams (space, run_id, table_name, next_sequence) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING',
      space,
      runId,
      table,
    );
  }
}

function* findStream(
  space: string,
  runId: string,
  table: string,
  lock = '',
): SqlWork<StreamKey | undefined> {
  const [row] = yield sqlOne(
    `SELECT stream_key, next_sequence FROM streams WHERE space = ? AND run_id = ? AND table_name = ?${lock}`,
    space,
    runId,
    table,
  );
  return row === undefined
    ? undefined
    : { key: numberCell(row, 0), nextSequence: numberCell(row, 1) };
}

function* findSegment(
  stream: StreamKey,
  segment: SegmentReference,
): SqlWork<KeptSegment | undefined> {
  const [row] = yield sql(
    `SELECT ${MANIFEST_COLUMNS} FROM segments WHERE stream_key = ? AND writer_id = ? AND batch_number = ?`,
    stream.key,
    segment.writerId,
    segment.batchNumber,
  );
  if (row === undefined) return undefined;
  return {
    key: numberCell(row, SEGMENT_KEY),
    manifest: manifestOf(row, segment.runId, segment.table),
  };
}

function* isMerged(stream: StreamKey, segment: SegmentReference): SqlWork<boolean> {
  const [row] = yield sqlOne(
    `SELECT batch_last FROM merged_batches WHERE stream_key = ? AND writer_id = ? AND batch_start <= ?
     ORDER BY batch_start DESC LIMIT 1`,
    stream.key,
    segment.writerId,
    segment.batchNumber,
  );
  return row !== undefined && numberCell(row, 0) >= segment.batchNumber;
}

/** The manifest of a known segment: its own, or that of the one it was merged into. */
function* findMerged(stream: StreamKey, segment: SegmentReference): SqlWork<SegmentManifest> {
  const own = yield* findSegment(stream, segment);
  if (own !== undefined) return own.manifest;
  const rows = yield sql(
    `SELECT ${MANIFEST_COLUMNS} FROM segments WHERE stream_key = ? AND sources IS NOT NULL`,
    stream.key,
  );
  const holder = findHolder(
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

function* insertManifest(
  stream: StreamKey,
  manifest: SegmentManifest,
): SqlWork<number | undefined> {
  const [row] = yield sqlOne(
    `INSERT INTO segments (stream_key, writer_id, batch_number, row_count, first_sequence, last_sequence, step_min,
       step_max, epoch_min, epoch_max, time_min_ms, time_max_ms, keys, schema_version, encoding, size_bytes, checksum,
       sources)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING segment_key`,
    stream.key,
    manifest.writerId,
    manifest.batchNumber,
    manifest.rowCount,
    manifest.firstSequence,
    manifest.lastSequence,
    manifest.stepMin,
    manifest.stepMax,
    manifest.epochMin,
    manifest.epochMax,
    manifest.timeMinMs,
    manifest.timeMaxMs,
    manifest.keys === null ? null : JSON.stringify(manifest.keys),
    manifest.schemaVersion,
    ENCODINGS.indexOf(manifest.encoding),
    manifest.sizeBytes,
    manifest.checksum,
    manifest.sources.length === 0 ? null : JSON.stringify(manifest.sources.map(packRange)),
  );
  return row === undefined ? undefined : numberCell(row, 0);
}

function* deleteSegment(key: number): SqlWork<void> {
  yield sql('DELETE FROM segment_bytes WHERE segment_key = ?', key);
  yield sql('DELETE FROM segments WHERE segment_key = ?', key);
}

function* rememberBatches(stream: StreamKey, batches: readonly BatchRange[]): SqlWork<void> {
  for (const writerId of new Set(batches.map((range) => range.writerId))) {
    const rows = yield sql(
      'SELECT batch_start, batch_last FROM merged_batches WHERE stream_key = ? AND writer_id = ?',
      stream.key,
      writerId,
    );
    const known = rows.map((row) => ({
      writerId,
      batchStart: numberCell(row, 0),
      batchLast: numberCell(row, 1),
    }));
    yield sql(
      'DELETE FROM merged_batches WHERE stream_key = ? AND writer_id = ?',
      stream.key,
      writerId,
    );
    const added = batches.filter((range) => range.writerId === writerId);
    for (const range of coalesceRanges([...known, ...added])) {
      yield sql(
        'INSERT INTO merged_batches (stream_key, writer_id, batch_start, batch_last) VALUES (?, ?, ?, ?)',
        stream.key,
        writerId,
        range.batchStart,
        range.batchLast,
      );
    }
  }
}

function manifestOf(row: SqlRow, runId: string, table: string): SegmentManifest {
  return {
    runId,
    table,
    writerId: textCell(row, 0),
    batchNumber: numberCell(row, 1),
    rowCount: numberCell(row, 2),
    firstSequence: numberCell(row, 3),
    lastSequence: numberCell(row, 4),
    stepMin: optionalNumberCell(row, 5),
    stepMax: optionalNumberCell(row, 6),
    epochMin: optionalNumberCell(row, 7),
    epochMax: optionalNumberCell(row, 8),
    timeMinMs: optionalNumberCell(row, 9),
    timeMaxMs: optionalNumberCell(row, 10),
    keys: row[11] === null ? null : jsonCell(row, 11, isTextList),
    schemaVersion: numberCell(row, 12),
    encoding: encodingCell(row, 13),
    sizeBytes: numberCell(row, 14),
    checksum: numberCell(row, 15),
    sources: row[16] === null ? [] : jsonCell(row, 16, isPackedRanges).map(unpackRange),
  };
}

function encodingCell(row: SqlRow, column: number): SegmentEncoding {
  const encoding = ENCODINGS[numberCell(row, column)];
  if (encoding !== undefined) return encoding;
  throw new SessionStoreError(
    'corrupt',
    'The database is damaged: a segment has an unknown encoding. Nothing was changed.',
  );
}

type PackedRange = readonly [writerId: string, batchStart: number, batchLast: number];

function packRange(range: BatchRange): PackedRange {
  return [range.writerId, range.batchStart, range.batchLast];
}

function unpackRange([writerId, batchStart, batchLast]: PackedRange): BatchRange {
  return { writerId, batchStart, batchLast };
}

function isPackedRanges(value: unknown): value is readonly PackedRange[] {
  return (
    Array.isArray(value) &&
    value.every(
      (item) =>
        Array.isArray(item) &&
        typeof item[0] === 'string' &&
        Number.isSafeInteger(item[1]) &&
        Number.isSafeInteger(item[2]),
    )
  );
}
