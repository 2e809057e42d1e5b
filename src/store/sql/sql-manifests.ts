/** Manifests as lines of the table of segments. */
import { SessionStoreError } from '../../base/errors.ts';
import {
  isTextList,
  jsonCell,
  numberCell,
  optionalNumberCell,
  sql,
  textCell,
  type SqlCall,
  type SqlRow,
  type SqlValue,
} from './sql-database.ts';
import type { BatchRange, SegmentEncoding, SegmentManifest } from '../store.ts';

/** The columns that {@link manifestOf} reads, and the key of the line after them. */
export const MANIFEST_COLUMNS = `text(writer_id), batch_number, row_count, first_sequence, last_sequence, step_min, step_max,
  epoch_min, epoch_max, time_min_ms, time_max_ms, text(keys), schema_version, encoding, size_bytes, checksum,
  text(sources), segment_key`;
/** Where the key of the line is. */
export const SEGMENT_KEY = 17;

const WRITTEN_COLUMNS = `stream_key, writer_id, batch_number, row_count, first_sequence, last_sequence, step_min, step_max,
  epoch_min, epoch_max, time_min_ms, time_max_ms, keys, schema_version, encoding, size_bytes, checksum, sources`;
const LINE = `(${new Array(18).fill('?').join(', ')})`;
/** Few different statements, so that each is prepared once; and no more parameters than any database takes. */
const LINES_AT_ONCE = [64, 16, 4, 1] as const;
/** An encoding is kept as its place in this list. */
const ENCODINGS: readonly SegmentEncoding[] = ['arrow', 'packed'];

/** Statements that add lines; a line whose identity is there already makes one of them fail. */
export function insertManifests(
  lines: readonly (readonly [streamKey: number, manifest: SegmentManifest])[],
): SqlCall[] {
  const calls: SqlCall[] = [];
  let at = 0;
  for (const count of LINES_AT_ONCE) {
    for (; at + count <= lines.length; at += count) {
      const values = lines
        .slice(at, at + count)
        .flatMap(([streamKey, manifest]) => valuesOf(streamKey, manifest));
      const places = count === 1 ? LINE : new Array(count).fill(LINE).join(', ');
      calls.push(sql(`INSERT INTO segments (${WRITTEN_COLUMNS}) VALUES ${places}`, ...values));
    }
  }
  return calls;
}

/** A statement that adds the bytes of a line that was added before it in the same transaction. */
export function insertBytes(
  streamKey: number,
  segment: Pick<SegmentManifest, 'writerId' | 'batchNumber'>,
  bytes: Uint8Array,
): SqlCall {
  return sql(
    `INSERT INTO segment_bytes (segment_key, bytes) SELECT segment_key, ? FROM segments
     WHERE stream_key = ? AND writer_id = ? AND batch_number = ?`,
    bytes,
    streamKey,
    segment.writerId,
    segment.batchNumber,
  );
}

function valuesOf(streamKey: number, manifest: SegmentManifest): SqlValue[] {
  return [
    streamKey,
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
  ];
}

/** The manifest in a row of {@link MANIFEST_COLUMNS}. */
export function manifestOf(row: SqlRow, runId: string, table: string): SegmentManifest {
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
