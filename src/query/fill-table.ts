/** From records in a store to rows in DuckDB: the declaration of a record is the declaration of its table. */
import { runRecord } from '../records/run.ts';
import type { ColumnKind } from '../schema/column.ts';
import type { RecordDefinition } from '../schema/record.ts';
import type { TableDefinition } from '../schema/table.ts';
import { listRuns } from '../read/runs.ts';
import { tableBatches } from '../read/table-batches.ts';
import type { DamageReport } from '../segment/open-segment.ts';
import type { RowBatch, Vector } from '../segment/vectors.ts';
import type { Store } from '../store/store.ts';
import type { DuckConnection, DuckDb } from './duckdb.ts';

/** Rows of a chunk: what DuckDB works with at a time. */
const CHUNK_ROWS = 2048;

const SQL_TYPES: Readonly<Record<ColumnKind, string>> = {
  key: 'VARCHAR',
  text: 'VARCHAR',
  json: 'JSON',
  f64: 'DOUBLE',
  count: 'BIGINT',
  instant: 'TIMESTAMP',
  bool: 'BOOLEAN',
  f64_list: 'DOUBLE[]',
  text_list: 'VARCHAR[]',
};

/** Columns that `runs` has beside those of the record: what leases say of a run. */
const RUN_EXTRAS = { effective_status: 'VARCHAR', is_live: 'BOOLEAN' } as const;

/** A table with nothing in it yet. */
export async function createTable(
  connection: DuckConnection,
  name: string,
  { columns, storedNames }: RecordDefinition,
): Promise<void> {
  const fields = Object.entries(columns).map(
    ([field, { kind }]) => `"${storedNames.get(field) ?? field}" ${SQL_TYPES[kind]}`,
  );
  const extras =
    name === 'runs' ? Object.entries(RUN_EXTRAS).map(([field, type]) => `"${field}" ${type}`) : [];
  await connection.run(`CREATE TABLE "${name}" (${[...fields, ...extras].join(', ')})`);
}

/** Fills a table with the rows of a run. Segments that cannot be read are reported and left out. */
export async function fillTable(
  duckdb: DuckDb,
  connection: DuckConnection,
  table: TableDefinition,
  store: Store,
  runId: string,
  signal: AbortSignal | undefined,
): Promise<readonly DamageReport[]> {
  const fields = Object.entries(table.columns).map(([field, { kind }]) => ({
    kind,
    stored: table.storedNames.get(field) ?? field,
  }));
  const types = fields.map(({ kind }) => typeOf(duckdb, kind));
  const damage: DamageReport[] = [];
  const onDamage = (report: DamageReport): void => void damage.push(report);
  const appender = await connection.createAppender(table.table);
  try {
    for await (const batch of tableBatches(store, table, runId, { signal, onDamage })) {
      for (let from = 0; from < batch.rowCount; from += CHUNK_ROWS) {
        const to = Math.min(batch.rowCount, from + CHUNK_ROWS);
        const chunk = duckdb.DuckDBDataChunk.create(types, to - from);
        for (const [at, { kind, stored }] of fields.entries()) {
          const target = chunk.getColumnVector(at);
          const value = stored === 'run_id' ? () => runId : valuesOf(duckdb, kind, batch, stored);
          for (let row = from; row < to; row++) target.setItem(row - from, value(row));
          target.flush();
        }
        appender.appendDataChunk(chunk);
      }
    }
  } finally {
    appender.closeSync();
  }
  return damage;
}

/** Fills `runs`. */
export async function fillRuns(
  duckdb: DuckDb,
  connection: DuckConnection,
  store: Store,
  runIds: ReadonlySet<string> | undefined,
): Promise<void> {
  const fields = Object.entries(runRecord.columns);
  const types = [
    ...fields.map(([, { kind }]) => typeOf(duckdb, kind)),
    duckdb.VARCHAR,
    duckdb.BOOLEAN,
  ];
  const runs = (await listRuns(store)).filter(({ run }) => runIds?.has(run.id) ?? true);
  const appender = await connection.createAppender('runs');
  try {
    for (let from = 0; from < runs.length; from += CHUNK_ROWS) {
      const some = runs.slice(from, from + CHUNK_ROWS);
      const chunk = duckdb.DuckDBDataChunk.create(types, some.length);
      const fill = (at: number, values: readonly unknown[]): void => {
        const target = chunk.getColumnVector(at);
        for (const [row, value] of values.entries()) target.setItem(row, value);
        target.flush();
      };
      for (const [at, [field, { kind }]] of fields.entries())
        fill(
          at,
          some.map(({ run }) => fieldValue(duckdb, kind, Reflect.get(run, field))),
        );
      fill(
        fields.length,
        some.map(({ effectiveStatus }) => effectiveStatus),
      );
      fill(
        fields.length + 1,
        some.map(({ isLive }) => isLive),
      );
      appender.appendDataChunk(chunk);
    }
  } finally {
    appender.closeSync();
  }
}

function typeOf(duckdb: DuckDb, kind: ColumnKind): unknown {
  switch (kind) {
    case 'key':
    case 'text':
    case 'json':
      return duckdb.VARCHAR;
    case 'f64':
      return duckdb.DOUBLE;
    case 'count':
      return duckdb.BIGINT;
    case 'instant':
      return duckdb.TIMESTAMP;
    case 'bool':
      return duckdb.BOOLEAN;
    case 'f64_list':
      return duckdb.LIST(duckdb.DOUBLE);
    case 'text_list':
      return duckdb.LIST(duckdb.VARCHAR);
  }
}

/** A value of a record as DuckDB takes it. */
function fieldValue(duckdb: DuckDb, kind: ColumnKind, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (kind === 'json') return JSON.stringify(value);
  if (kind === 'instant' && typeof value === 'string') return timestamp(duckdb, Date.parse(value));
  if (kind === 'count') return BigInt(Number(value));
  if (kind === 'text_list' || kind === 'f64_list')
    return duckdb.listValue(Array.isArray(value) ? value : []);
  return value;
}

function timestamp(duckdb: DuckDb, ms: number): object {
  return new duckdb.DuckDBTimestampValue(BigInt(Math.round(ms)) * 1000n);
}

/** The values of a column by row, as DuckDB takes them. A column that is not there is null in every row. */
function valuesOf(
  duckdb: DuckDb,
  kind: ColumnKind,
  batch: RowBatch,
  stored: string,
): (row: number) => unknown {
  const vector: Vector | undefined = batch.columns.get(stored);
  if (vector === undefined) return () => null;
  switch (vector.kind) {
    case 'number':
      return kind === 'instant'
        ? instantsOf(duckdb, vector.values)
        : (row) => number(vector.values[row], BigInt);
    case 'f64':
      return (row) => (vector.isNull?.[row] === 1 ? null : vector.values[row]);
    case 'key':
      return (row) => vector.dictionary[vector.indices[row] ?? -1] ?? null;
    case 'text':
      return (row) => vector.values[row] ?? null;
    case 'bool':
      return (row) => (vector.values[row] === 2 ? null : vector.values[row] === 1);
    case 'f64_list':
    case 'text_list':
      return (row) => {
        const items = vector.values[row];
        return items === null || items === undefined ? null : duckdb.listValue([...items]);
      };
  }
}

/** Many rows were written in the same millisecond: one value serves them all. */
function instantsOf(duckdb: DuckDb, values: Float64Array): (row: number) => object | null {
  let last = Number.NaN;
  let made: object | null = null;
  return (row) => {
    const ms = values[row] ?? Number.NaN;
    if (Number.isNaN(ms)) return null;
    if (ms !== last || made === null) made = timestamp(duckdb, ms);
    last = ms;
    return made;
  };
}

/** A number where NaN stands for null. */
function number<T>(value: number | undefined, make: (value: number) => T): T | null {
  return value === undefined || Number.isNaN(value) ? null : make(value);
}
