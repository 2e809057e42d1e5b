/** Records of any table, for tables that are small enough for objects. */
import { checkFlag } from '../base/assert.ts';
import { freezeJson, type JsonValue } from '../base/json.ts';
import type { RecordOf, RowOf } from '../schema/record.ts';
import type { TableColumns, TableDefinition } from '../schema/table.ts';
import { concatBatches, valueAt } from '../segment/batch-ops.ts';
import { decodeBatches } from '../segment/decode.ts';
import type { DamageReport } from '../segment/open-segment.ts';
import type { RowBatch } from '../codecs/arrow/vectors.ts';
import type { SegmentManifest } from '../store/store.ts';
import { checkFilter, type FilterNames } from './filters.ts';
import { runIdOf, scanRows, type RunSource } from './scan.ts';

/** Records and what is missing among them. */
export type RecordsRead<T> = {
  readonly records: readonly T[];
  readonly damage: readonly DamageReport[];
};

/** How the records of a table are filtered; see {@link FilterNames}. */
export type RecordFilters<R> = FilterNames & {
  /** A test that only whole records can pass. */
  readonly where?: ((record: R) => boolean) | undefined;
  /** Allows the filter `latestOnly`: of the records with the same text only the most recent one. */
  readonly latestBy?: (record: R) => string;
};

/**
 * The records in the order they were persisted; of a limit, the most recent.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 */
export async function readRecords<C extends TableColumns>(
  source: RunSource,
  table: TableDefinition<C>,
  filter: object = {},
  { latestBy, where, ...names }: RecordFilters<RecordOf<C>> = {},
): Promise<RecordsRead<RecordOf<C>>> {
  const others = latestBy === undefined ? names.others : { ...names.others, latestOnly: checkFlag };
  const { conditions, position } = checkFilter(table, filter, { ...names, others });
  // What is left out afterwards does not count for a limit.
  const isWhole = where === undefined && latestBy === undefined;
  const scanned = isWhole ? position : { ...position, limit: Number.POSITIVE_INFINITY };
  const { damage, parts } = await scanRows(
    source,
    table,
    { conditions, position: scanned },
    ({ batch, sequences }) =>
      recordsOfBatch(table, runIdOf(source), batch, (row) => sequences[row] ?? 0),
  );
  let records = parts.flat().toSorted((a, b) => sequenceOf(a) - sequenceOf(b));
  if (where !== undefined) records = records.filter(where);
  if (latestBy !== undefined && 'latestOnly' in filter && filter.latestOnly === true)
    records = latestOf(records, latestBy);
  return { records: records.slice(Math.max(0, records.length - position.limit)), damage };
}

/** The rows of a batch as records. Values were checked when they were written. */
export function recordsOfBatch<C extends TableColumns>(
  table: TableDefinition<C>,
  runId: string,
  batch: RowBatch,
  sequenceAt: (row: number) => number,
): RecordOf<C>[] {
  return Array.from({ length: batch.rowCount }, (_, row) => {
    const values: Record<string, unknown> = { runId, sequence: sequenceAt(row) };
    for (const name of table.segmentColumns) {
      const column = table.columns[name];
      if (column === undefined) continue;
      const value = valueAt(column, batch.columns.get(table.storedNames.get(name) ?? name), row);
      values[name] = column.kind === 'json' ? freezeJson(value as JsonValue) : value;
    }
    return table.wrap(values as RowOf<C>);
  });
}

/** The records of a segment that was just written. */
export function recordsOfSegment<C extends TableColumns>(
  table: TableDefinition<C>,
  { bytes, manifest }: { readonly manifest: SegmentManifest; readonly bytes: Uint8Array },
): RecordOf<C>[] {
  const batch = concatBatches(decodeBatches(table, bytes, manifest.schemaVersion));
  return recordsOfBatch(table, manifest.runId, batch, (row) => manifest.firstSequence + row);
}

function latestOf<T>(records: readonly T[], keyOf: (record: T) => string): T[] {
  const last = new Map<string, T>();
  for (const record of records) {
    const key = keyOf(record);
    // Anew at the end: the order is that of the records that remain.
    last.delete(key);
    last.set(key, record);
  }
  return [...last.values()];
}

function sequenceOf(record: object): number {
  return 'sequence' in record && typeof record.sequence === 'number' ? record.sequence : 0;
}
