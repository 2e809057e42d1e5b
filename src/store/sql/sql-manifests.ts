/** Manifests as lines of the table of segments. */
import { manifestShape } from '../../records/shapes/manifest.ts';
import { placeholders, sql, type SqlCall, type SqlRow } from './sql-database.ts';
import { sqlShape } from './sql-shapes.ts';
import type { SegmentManifest } from '../store.ts';

/** Run and table of a segment are those of its stream. */
const line = sqlShape(manifestShape, 'runId', 'table');

/** The columns that {@link manifestOf} reads, and the key of the line after them. */
export const MANIFEST_COLUMNS: string = `${line.selected}, segment_key`;
/** Where the key of the line is. */
export const SEGMENT_KEY: number = line.columns.length;

const WRITTEN_COLUMNS = ['stream_key', ...line.columns];
const LINE = `(${placeholders(WRITTEN_COLUMNS)})`;
/** Few different statements, so that each is prepared once; and no more parameters than any database takes. */
const LINES_AT_ONCE = [64, 16, 4, 1] as const;

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
        .flatMap(([streamKey, manifest]) => [streamKey, ...line.cells(manifest)]);
      const places = count === 1 ? LINE : new Array(count).fill(LINE).join(', ');
      calls.push(
        sql(`INSERT INTO segments (${WRITTEN_COLUMNS.join(', ')}) VALUES ${places}`, ...values),
      );
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

/** The manifest in a row of {@link MANIFEST_COLUMNS}. */
export function manifestOf(row: SqlRow, runId: string, table: string): SegmentManifest {
  return line.read(row, { runId, table });
}
