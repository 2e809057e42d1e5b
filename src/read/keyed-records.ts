/** Records of any table, picked by position and by the values of key columns. */
import type { RecordOf } from '../schema/record.ts';
import type { TableColumns, TableDefinition } from '../schema/table.ts';
import { gatherRows } from '../segment/batch-ops.ts';
import type { OpenedSegment } from '../segment/open-segment.ts';
import type { Store } from '../store/store.ts';
import { segmentFilter, type Position } from './filters.ts';
import type { RecordsRead } from './metric-records.ts';
import { recordsOfBatch } from './records.ts';
import { matchRows, scanTable } from './scan.ts';

/** Wanted value of key columns, by the names of code; undefined: any. */
export type KeyConditions = { readonly [column: string]: string | undefined };

/** The records in the order they were persisted; of a limit, the most recent. */
export async function readKeyedRecords<C extends TableColumns>(
  store: Store,
  table: TableDefinition<C>,
  runId: string,
  conditions: KeyConditions,
  position: Position,
): Promise<RecordsRead<RecordOf<C>>> {
  const key = table.keyColumn === undefined ? undefined : conditions[table.keyColumn];
  const scan = await scanTable(
    store,
    table,
    segmentFilter(runId, table.table, position, key === undefined ? undefined : [key]),
    (segment) => pick(table, runId, segment, conditions, position),
  );
  const records = scan.parts.flat().toSorted((a, b) => sequenceOf(a) - sequenceOf(b));
  return {
    records: records.slice(Math.max(0, records.length - position.limit)),
    damage: scan.damage,
  };
}

function pick<C extends TableColumns>(
  table: TableDefinition<C>,
  runId: string,
  segment: OpenedSegment,
  conditions: KeyConditions,
  position: Position,
): readonly RecordOf<C>[] {
  const { batch, sequences } = segment;
  const rows = matchConditions(table, segment, conditions, position);
  if (rows === null) return recordsOfBatch(table, runId, batch, (row) => sequences[row] ?? 0);
  return recordsOfBatch(
    table,
    runId,
    gatherRows(batch, rows),
    (row) => sequences[rows[row] ?? 0] ?? 0,
  );
}

/** Rows of a segment that meet conditions and position; null when all do. */
export function matchConditions(
  table: TableDefinition,
  segment: OpenedSegment,
  conditions: KeyConditions,
  position: Position,
): Int32Array | null {
  const tests = Object.entries(conditions).flatMap(([name, wanted]) => {
    if (wanted === undefined) return [];
    const vector = segment.batch.columns.get(table.storedNames.get(name) ?? name);
    if (vector?.kind !== 'key') return [() => false];
    const at = vector.dictionary.indexOf(wanted);
    return [(row: number) => at >= 0 && vector.indices[row] === at];
  });
  return matchRows(
    segment,
    position,
    tests.length === 0 ? undefined : (row) => tests.every((test) => test(row)),
  );
}

function sequenceOf(record: object): number {
  return 'sequence' in record && typeof record.sequence === 'number' ? record.sequence : 0;
}
