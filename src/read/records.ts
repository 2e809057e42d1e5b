/** Records of any table, for tables that are small enough for objects. */
import { freezeJson, type JsonValue } from '../base/json.ts';
import type { RecordOf, RowOf } from '../schema/record.ts';
import type { TableColumns, TableDefinition } from '../schema/table.ts';
import { valueAt } from '../segment/batch-ops.ts';
import type { RowBatch } from '../codecs/arrow/vectors.ts';

/** The rows of a batch as records. Values were checked when they were written. */
export function recordsOfBatch<C extends TableColumns>(
  table: TableDefinition<C>,
  runId: string,
  batch: RowBatch,
  sequenceOf: (row: number) => number,
): RecordOf<C>[] {
  return Array.from({ length: batch.rowCount }, (_, row) => {
    const values: Record<string, unknown> = { runId, sequence: sequenceOf(row) };
    for (const name of table.segmentColumns) {
      const column = table.columns[name];
      if (column === undefined) continue;
      const value = valueAt(column, batch.columns.get(table.storedNames.get(name) ?? name), row);
      values[name] = column.kind === 'json' ? freezeJson(value as JsonValue) : value;
    }
    return table.wrap(values as RowOf<C>);
  });
}
