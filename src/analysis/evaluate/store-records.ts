/** Results of the analysis on their way to the store. */
import { createId } from '../../base/ids.ts';
import { recordsOfBatch } from '../../read/records.ts';
import type { RecordOf } from '../../schema/record.ts';
import type { TableColumns, TableDefinition } from '../../schema/table.ts';
import { batchOfRows } from '../../segment/batch-ops.ts';
import { createSegment } from '../../segment/manifest.ts';
import type { Store } from '../../store/store.ts';

type Destination = {
  readonly store: Store;
  readonly runId: string;
  readonly replaces: boolean;
  readonly nowMs: number;
};

/** Writes records of a table, instead of those that are there or behind them; returns them with their sequence. */
export async function storeRecords<C extends TableColumns>(
  table: TableDefinition<C>,
  records: readonly RecordOf<C>[],
  { nowMs, replaces, runId, store }: Destination,
): Promise<readonly RecordOf<C>[]> {
  const batch = batchOfRows(table, records);
  const identity = { runId, table: table.table, writerId: createId('wrt', nowMs), batchNumber: 0 };
  const segments = records.length === 0 ? [] : [createSegment(table, identity, batch)];
  if (!replaces && segments.length === 0) return [];
  const [manifest] = replaces
    ? await store.replaceTable(runId, table.table, segments)
    : await store.appendSegments(segments);
  if (manifest === undefined) return [];
  return recordsOfBatch(table, runId, batch, (row) => manifest.firstSequence + row);
}
