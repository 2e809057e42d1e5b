/** The records of a store as the tables of a query: which there are, and their rows in batches. */
import { listRuns, type RunSummary } from '../read/runs.ts';
import { tableBatches } from '../read/table-batches.ts';
import { runRecord } from '../records/run.ts';
import { TABLES } from '../records/tables.ts';
import type { ColumnKind } from '../schema/column.ts';
import type { RecordDefinition } from '../schema/record.ts';
import type { DamageReport } from '../segment/open-segment.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';
import type { Store } from '../store/store.ts';
import type { TableSpec } from './query-messages.ts';

/** Columns that `runs` has beside those of the record: what leases say of a run. */
const RUN_EXTRAS = [
  { name: 'effective_status', kind: 'text' },
  { name: 'is_live', kind: 'bool' },
] as const;
/** Functions that take the name of a table, or a whole query, as text. */
const NAMES_BY_TEXT = /\bquery(_table)?\s*\(/i;

/** Every table that a query may name. */
export function tableSpecs(): readonly TableSpec[] {
  return [
    { name: 'runs', columns: [...columnsOf(runRecord), ...RUN_EXTRAS] },
    ...[...TABLES].map(([name, table]) => ({ name, columns: columnsOf(table) })),
  ];
}

function columnsOf({ columns, storedNames }: RecordDefinition): TableSpec['columns'] {
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
    const runs = (await listRuns(store)).filter(({ run }) => wanted?.has(run.id) ?? true);
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
  const columns = new Map<string, Vector>();
  for (const [field, { kind }] of Object.entries(runRecord.columns))
    columns.set(
      runRecord.storedNames.get(field) ?? field,
      vectorOf(
        kind,
        runs.map(({ run }): unknown => Reflect.get(run, field)),
      ),
    );
  const extra = (name: string, kind: ColumnKind, values: readonly unknown[]): void =>
    void columns.set(name, vectorOf(kind, values));
  extra(
    'effective_status',
    'text',
    runs.map(({ effectiveStatus }) => effectiveStatus),
  );
  extra(
    'is_live',
    'bool',
    runs.map(({ isLive }) => isLive),
  );
  return { rowCount: runs.length, columns };
}

/** Values of a record as a column. */
function vectorOf(kind: ColumnKind, values: readonly unknown[]): Vector {
  switch (kind) {
    case 'key':
    case 'text':
      return {
        kind: 'text',
        values: values.map((value) => (isNone(value) ? null : String(value))),
      };
    case 'json':
      return {
        kind: 'text',
        values: values.map((value) => (isNone(value) ? null : JSON.stringify(value))),
      };
    case 'f64':
      return {
        kind: 'f64',
        values: Float64Array.from(values, Number),
        isNull: Uint8Array.from(values, (value) => (isNone(value) ? 1 : 0)),
      };
    case 'count':
      return { kind: 'number', values: Float64Array.from(values, numberOf(Number)) };
    case 'instant':
      return {
        kind: 'number',
        values: Float64Array.from(
          values,
          numberOf((value) => Date.parse(String(value))),
        ),
      };
    case 'bool':
      return {
        kind: 'bool',
        values: Uint8Array.from(values, (value) => (isNone(value) ? 2 : Number(value === true))),
      };
    case 'f64_list':
      return {
        kind: 'f64_list',
        values: values.map((value) => (Array.isArray(value) ? Float64Array.from(value) : null)),
      };
    case 'text_list':
      return {
        kind: 'text_list',
        values: values.map((value) => (Array.isArray(value) ? value.map(String) : null)),
      };
  }
}

/** A number where NaN stands for null. */
function numberOf(make: (value: unknown) => number): (value: unknown) => number {
  return (value) => (isNone(value) ? Number.NaN : make(value));
}

function isNone(value: unknown): boolean {
  return value === null || value === undefined;
}
