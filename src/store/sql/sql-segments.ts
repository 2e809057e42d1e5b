/** Segments of one space in SQL: listing, reading, replacing. Manifests and bytes are tables of their own, tied by a key. */
import { manifestShape, segmentName } from '../../records/shapes/manifest.ts';
import { withoutFields } from '../../schema/shape.ts';
import {
  batchName,
  checkMergeSources,
  coalesceRanges,
  rangesContain,
  type ExchangedSegment,
} from '../batch-ranges.ts';
import { sqlShape } from './sql-shapes.ts';
import { segmentTaken } from '../run-rules.ts';
import { adoptObjects, releaseObjects, releaseStream } from './object-files.ts';
import { compareManifests, containsKey } from '../segment-rules.ts';
import { appendSegments } from './sql-append.ts';
import {
  bytesCell,
  lastly,
  numberCell,
  sql,
  textCell,
  together,
  type SqlAttempt,
  type SqlCall,
  type SqlRow,
  type SqlValue,
  type SqlWork,
} from './sql-database.ts';
import { insertBytes, insertManifests, MANIFEST_COLUMNS, manifestOf } from './sql-manifests.ts';
import {
  findStream,
  lockStreams,
  STREAM_KEY,
  type ChangeScope,
  type LockedStream,
  type StreamName,
  type StreamRequest,
} from './sql-streams.ts';
import { refuseDeleted } from './sql-tombstones.ts';
import { checkQuotas, countSegments, uncountStream } from './sql-usage.ts';
import type {
  BatchRange,
  MergedSegment,
  NewSegment,
  SegmentFilter,
  SegmentManifest,
  SegmentRead,
  SegmentReference,
} from '../store.ts';

/** No step or epoch is beyond it; every database takes it for a whole number. */
const FAR = 2 ** 62;

/** Live segments of a filter. */
export function* listSegments(
  space: string,
  filter: SegmentFilter,
): SqlWork<readonly SegmentManifest[]> {
  const conditions = [`stream_key = ${STREAM_KEY}`];
  const params: SqlValue[] = [space, filter.runId, filter.table];
  // The columns are whole numbers, which every filter can be rounded to.
  const add = (condition: string, value: number | undefined): void => {
    if (value === undefined) return;
    conditions.push(condition);
    params.push(Math.min(Math.max(value, -FAR), FAR));
  };
  add('last_sequence >= ?', roundUp(filter.sequenceMin));
  add('step_max >= ?', roundUp(filter.stepMin));
  add('step_min <= ?', roundDown(filter.stepMax));
  add('epoch_max >= ?', roundUp(filter.epochMin));
  add('epoch_min <= ?', roundDown(filter.epochMax));
  if (filter.superseded !== true) conditions.push('superseded IS NULL');
  if (filter.empty !== true) conditions.push('row_count > 0');
  const rows = yield sql(
    `SELECT ${MANIFEST_COLUMNS} FROM segments WHERE ${conditions.join(' AND ')}`,
    ...params,
  );
  return rows
    .map((row) => manifestOf(row, filter.runId, filter.table))
    .filter((manifest) => containsKey(manifest.keys, filter.keys))
    .sort(compareManifests);
}

/** What the database says of the bytes of a segment: the answer, or where they are. */
export type LocatedBytes = SegmentRead | ObjectBytes;

/** The bytes are in an object. */
export type ObjectBytes = {
  readonly kind: 'object';
  readonly objectKey: string;
  readonly sizeBytes: number;
};

/** A merged segment, and the object that its bytes are in where they are not stored in the database. */
export type LocatedSegment = MergedSegment & { readonly objectKey?: string };

/** The bytes of segments, in the order asked for. */
export function* readSegments(
  space: string,
  segments: readonly SegmentReference[],
): SqlWork<readonly LocatedBytes[]> {
  const answers = yield* together(segments.map((segment) => bytesCall(space, segment)));
  return segments.map((segment, i) => readOf(segment, answers[i]?.[0]));
}

/** How many bytes {@link readSegments} would find, without reading them. */
export function* segmentSizes(
  space: string,
  segments: readonly SegmentReference[],
): SqlWork<readonly number[]> {
  const answers = yield* together(
    segments.map((segment) =>
      sql(
        `SELECT segments.size_bytes, segments.checksum FROM streams
         JOIN segments ON segments.stream_key = streams.stream_key
         WHERE streams.space = ? AND streams.run_id = ? AND streams.table_name = ? AND segments.writer_id = ?
           AND segments.batch_number = ?`,
        space,
        segment.runId,
        segment.table,
        segment.writerId,
        segment.batchNumber,
      ),
    ),
  );
  return segments.map(({ checksum }, i) => {
    const row = answers[i]?.[0];
    if (row === undefined) return 0;
    return checksum !== undefined && numberCell(row, 1) !== checksum ? 0 : numberCell(row, 0);
  });
}

function bytesCall(space: string, segment: SegmentReference): SqlCall {
  return sql(
    `SELECT segments.checksum, segments.size_bytes, segment_bytes.bytes, text(segment_objects.object_key) FROM streams
     JOIN segments ON segments.stream_key = streams.stream_key
     LEFT JOIN segment_bytes ON segment_bytes.segment_key = segments.segment_key
     LEFT JOIN segment_objects ON segment_objects.segment_key = segments.segment_key
     WHERE streams.space = ? AND streams.run_id = ? AND streams.table_name = ? AND segments.writer_id = ?
       AND segments.batch_number = ?`,
    space,
    segment.runId,
    segment.table,
    segment.writerId,
    segment.batchNumber,
  );
}

function readOf(segment: SegmentReference, row: SqlRow | undefined): LocatedBytes {
  if (row === undefined) return { kind: 'gone' };
  if (segment.checksum !== undefined && numberCell(row, 0) !== segment.checksum)
    return { kind: 'gone' };
  if (row[3] !== null)
    return { kind: 'object', objectKey: textCell(row, 3), sizeBytes: numberCell(row, 1) };
  if (row[2] === null)
    return { kind: 'damaged', reason: 'its bytes are missing from the database' };
  const bytes = bytesCell(row, 2);
  if (bytes.byteLength === numberCell(row, 1)) return { kind: 'bytes', bytes };
  return {
    kind: 'damaged',
    reason: `it has ${bytes.byteLength} bytes instead of ${numberCell(row, 1)}`,
  };
}

/** What a merge takes away and what it puts there. */
export type Replacement = StreamName & {
  readonly remove: readonly SegmentReference[];
  readonly add: readonly LocatedSegment[];
};

/** Puts merged segments in the place of others; false when one of those is not there any more. */
export function* replaceSegments(
  scope: ChangeScope,
  { runId, table, remove, add }: Replacement,
  attempt: SqlAttempt,
): SqlWork<boolean> {
  if ((yield* findStream(scope.space, { runId, table })) === undefined) {
    yield* refuseDeleted(scope.space, runId);
    if (remove.length > 0) return false;
    checkMergeSources([], add);
    return true;
  }
  const stream = yield* lockStream(scope, { runId, table, batches: add.map(ownRange) });
  const removed = yield* findSegments(stream.key, remove);
  if (removed.length < remove.length) {
    return attempt.mayBeDone && (yield* wasReplaced(stream.key, add));
  }
  const known = checkMergeSources(removed, add);
  const removedNames = new Set(removed.map(batchName));
  for (const { manifest } of add) {
    const isTaken = rangesContain(stream.taken, manifest);
    if (isTaken && !removedNames.has(batchName(manifest)))
      throw segmentTaken(segmentName(manifest));
  }
  yield* releaseObjects(
    removed.map((stored) => stored.key),
    scope.nowMs,
  );
  yield* together([
    ...rangesOf(remove).flatMap((range) => deleteCalls(stream.key, range)),
    ...insertManifests(add.map(({ manifest }) => [stream.key, manifest])),
    ...add.flatMap(({ manifest, bytes, objectKey }) =>
      objectKey === undefined ? [insertBytes(stream.key, manifest, bytes)] : [],
    ),
  ]);
  yield* adoptObjects(
    stream.key,
    add.flatMap(({ manifest, objectKey }) =>
      objectKey === undefined ? [] : [[manifest, objectKey] as const],
    ),
  );
  const bytes = sizeOf(add.map(({ manifest }) => manifest)) - sizeOf(removed);
  const added = { bytes, segments: add.length - removed.length, runs: 0 };
  yield* checkQuotas(scope.space, scope.quotas, [{ runId, ...added }]);
  const counted = { space: scope.space, runId, streamKey: stream.key };
  yield countSegments(counted, added.bytes, added.segments);
  yield* rememberBatches(stream.key, known);
  return true;
}

/** Forgets all of a table and appends. */
export function* replaceTable(
  scope: ChangeScope,
  stream: StreamName & Pick<StreamRequest, 'seenCount'>,
  add: readonly NewSegment[],
): SqlWork<readonly SegmentManifest[]> {
  const { key } = yield* lockStream(scope, { ...stream, batches: [] });
  yield* releaseStream(key, scope.nowMs);
  yield* together([
    uncountStream(scope.space, stream.runId, key),
    sql(
      'DELETE FROM segment_bytes WHERE segment_key IN (SELECT segment_key FROM segments WHERE stream_key = ?)',
      key,
    ),
    sql('DELETE FROM segments WHERE stream_key = ?', key),
    sql('DELETE FROM merged_batches WHERE stream_key = ?', key),
    sql(
      `INSERT INTO stream_replacements (stream_key, replace_count) VALUES (?, 1)
       ON CONFLICT (stream_key) DO UPDATE SET replace_count = stream_replacements.replace_count + 1`,
      key,
    ),
  ]);
  return yield* appendSegments(scope, add);
}

function sizeOf(segments: readonly Pick<SegmentManifest, 'sizeBytes'>[]): number {
  return segments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

function* lockStream(scope: ChangeScope, request: StreamRequest): SqlWork<LockedStream> {
  const [stream] = yield* lockStreams(scope, [request]);
  if (stream === undefined) throw new Error('The stream asked for was locked.');
  return stream;
}

/** What an exchange asks of a segment: a merge takes away hundreds, and most of the rest is text to be parsed. */
const exchanged = sqlShape(
  withoutFields(
    manifestShape,
    'runId',
    'table',
    'rowCount',
    'firstSequence',
    'lastSequence',
    'stepMin',
    'stepMax',
    'epochMin',
    'epochMax',
    'timeMinMs',
    'timeMaxMs',
    'keys',
    'schemaVersion',
    'encoding',
    'generation',
    'droppedRows',
    'downsampledTo',
    'downsampledAtMs',
  ),
);

type StoredName = ExchangedSegment &
  Pick<SegmentManifest, 'checksum' | 'sizeBytes'> & { readonly key: number };

/** Those of the segments that are live, with the checksum if one is given. */
function* findSegments(
  streamKey: number,
  segments: readonly SegmentReference[],
): SqlWork<readonly StoredName[]> {
  const answers = yield* together(
    rangesOf(segments).map((range) =>
      sql(
        `SELECT ${exchanged.selected}, segment_key FROM segments WHERE ${IN_RANGE}`,
        ...cellsOf(streamKey, range),
      ),
    ),
  );
  const live = new Map(
    answers.flat().map((row) => {
      const segment = exchanged.read(row, {});
      const key = numberCell(row, exchanged.columns.length);
      return [batchName(segment), { ...segment, key }];
    }),
  );
  return segments.flatMap((segment) => {
    const found = live.get(batchName(segment));
    const isAsked = segment.checksum === undefined || segment.checksum === found?.checksum;
    return found !== undefined && isAsked ? [found] : [];
  });
}

/** The batches of segments of one stream: a merge takes hundreds of neighbours, which are asked for together. */
function rangesOf(segments: readonly SegmentReference[]): readonly BatchRange[] {
  return coalesceRanges(
    segments.map(({ batchNumber, writerId }) => ({
      writerId,
      batchStart: batchNumber,
      batchLast: batchNumber,
    })),
  );
}

const IN_RANGE = 'stream_key = ? AND writer_id = ? AND batch_number >= ? AND batch_number <= ?';

function cellsOf(streamKey: number, range: BatchRange): readonly SqlValue[] {
  return [streamKey, range.writerId, range.batchStart, range.batchLast];
}

/** Removes the segments of a range, their bytes first. */
function deleteCalls(streamKey: number, range: BatchRange): readonly SqlCall[] {
  const cells = cellsOf(streamKey, range);
  return [
    sql(
      `DELETE FROM segment_bytes WHERE segment_key IN (SELECT segment_key FROM segments WHERE ${IN_RANGE})`,
      ...cells,
    ),
    sql(`DELETE FROM segments WHERE ${IN_RANGE}`, ...cells),
  ];
}

/** Whether a replacement whose end is not known was done: its segments are there, and hold what they should. */
function* wasReplaced(streamKey: number, add: readonly MergedSegment[]): SqlWork<boolean> {
  const manifests = add.map((segment) => segment.manifest);
  const found = yield* findSegments(streamKey, manifests);
  const stored = new Set(found.map(fingerprint));
  return add.length > 0 && manifests.every((manifest) => stored.has(fingerprint(manifest)));
}

function fingerprint(segment: ExchangedSegment & Pick<SegmentManifest, 'checksum'>): string {
  return JSON.stringify([batchName(segment), segment.checksum, coalesceRanges(segment.sources)]);
}

function* rememberBatches(streamKey: number, batches: readonly BatchRange[]): SqlWork<void> {
  const writers = [...new Set(batches.map((range) => range.writerId))];
  const answers = yield* together(
    writers.map((writerId) =>
      sql(
        'SELECT batch_start, batch_last FROM merged_batches WHERE stream_key = ? AND writer_id = ?',
        streamKey,
        writerId,
      ),
    ),
  );
  const calls: SqlCall[] = [];
  for (const [i, writerId] of writers.entries()) {
    const known = (answers[i] ?? []).map((row) => ({
      writerId,
      batchStart: numberCell(row, 0),
      batchLast: numberCell(row, 1),
    }));
    const added = batches.filter((range) => range.writerId === writerId);
    calls.push(
      sql('DELETE FROM merged_batches WHERE stream_key = ? AND writer_id = ?', streamKey, writerId),
      ...coalesceRanges([...known, ...added]).map((range) =>
        sql(
          'INSERT INTO merged_batches (stream_key, writer_id, batch_start, batch_last) VALUES (?, ?, ?, ?)',
          streamKey,
          writerId,
          range.batchStart,
          range.batchLast,
        ),
      ),
    );
  }
  yield* lastly(calls);
}

function ownRange({ manifest }: MergedSegment): BatchRange {
  const { writerId, batchNumber } = manifest;
  return { writerId, batchStart: batchNumber, batchLast: batchNumber };
}

function roundUp(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.ceil(value);
}

function roundDown(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.floor(value);
}
