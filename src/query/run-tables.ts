/** The records of a store as the tables of a query: which there are, and their rows in batches. */
import { listRuns, type RunSummary } from '../read/runs.ts';
import { tableBatches } from '../read/table-batches.ts';
import { runRecord } from '../records/run.ts';
import { TABLES } from '../records/tables.ts';
import { bool, text } from '../schema/column.ts';
import { storedName, type RecordDefinition } from '../schema/record.ts';
import type { DamageReport } from '../segment/open-segment.ts';
import { RowColumns } from '../segment/row-columns.ts';
import type { RowBatch } from '../codecs/arrow/vectors.ts';
import type { Store } from '../store/store.ts';
import type { TableSpec } from './query-messages.ts';

/** Columns that `runs` has beside those of the record. */
const RUN_EXTRAS = {
  effectiveStatus: text('The status, or `interrupted` where the run has no live lease.'),
  isLive: bool('Whether a session writes the run.'),
};

const runTable = {
  columns: { ...runRecord.columns, ...RUN_EXTRAS },
  storedNames: new Map([
    ...runRecord.storedNames,
    ...Object.keys(RUN_EXTRAS).map((name) => [name, storedName(name)] as const),
  ]),
  segmentColumns: [...Object.keys(runRecord.columns), ...Object.keys(RUN_EXTRAS)],
};
/** Functions that take the name of a table, or a whole query, as text. */
const NAMES_BY_TEXT = /\bquery(_table)?\s*\(/i;

/** Every table that a query may name. */
export function tableSpecs(): readonly TableSpec[] {
  return [
    { name: 'runs', columns: columnsOf(runTable) },
    ...[...TABLES].map(([name, table]) => ({ name, columns: columnsOf(table) })),
  ];
}

function columnsOf({
  columns,
  storedNames,
}: Pick<RecordDefinition, 'columns' | 'storedNames'>): TableSpec['columns'] {
  return Object.entries(columns).map(([field, { kind }]) => ({
    name: storedNames.get(field) ?? field,
    kind,
  }));
}

/** Rows of a table; `runId` is null where they are of several runs. */
export type TableRows = {
  readonly table: string;
  readonly runId: string | null;
  readonly batch: RowBatch;
};

/**
 * The rows of the tables whose names occur in `sql`. A batch is valid until the next.
 *
 * @yields batches, table by table of each run
 * @throws {QuarkError} `aborted`
 */
export async function* rowsFor(
  sql: string,
  store: Store,
  runIds: readonly string[] | undefined,
  signal: AbortSignal,
  onDamage: (report: DamageReport) => void,
): AsyncGenerator<TableRows, void, undefined> {
  const wanted = runIds === undefined ? undefined : new Set(runIds);
  const isNamed = (name: string): boolean =>
    NAMES_BY_TEXT.test(sql) || new RegExp(`\\b${name}\\b`, 'i').test(sql);
  if (isNamed('runs')) {
    const runs = (await listRuns(store, { archived: 'any' })).filter(
      ({ run }) => wanted?.has(run.id) ?? true,
    );
    yield { table: 'runs', runId: null, batch: runRows(runs) };
  }
  const tables = [...TABLES].filter(([name]) => isNamed(name));
  if (tables.length === 0) return;
  for (const { id: runId } of await store.listRuns()) {
    if (wanted?.has(runId) === false) continue;
    for (const [name, table] of tables)
      for await (const batch of tableBatches(store, table, runId, { signal, onDamage }))
        yield { table: name, runId, batch };
  }
}

/** Runs as rows. */
function runRows(runs: readonly RunSummary[]): RowBatch {
  const rows = new RowColumns(runTable);
  for (const { run, effectiveStatus, isLive } of runs)
    rows.push({ ...run, effectiveStatus, isLive });
  return rows.view();
}
