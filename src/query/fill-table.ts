/** Tables of DuckDB, and batches of records on their way into them. */
import type { ColumnKind } from '../schema/column.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';
import type { DuckConnection, DuckDb } from './duckdb.ts';
import type { TableSpec } from './query-messages.ts';

/** Rows of a chunk: what DuckDB works with at a time. */
const CHUNK_ROWS = 2048;

/** Types of columns, in SQL and as DuckDB's own values. */
const TYPES: Readonly<Record<ColumnKind, readonly [sql: string, of: (duckdb: DuckDb) => unknown]>> =
  {
    key: ['VARCHAR', (duckdb) => duckdb.VARCHAR],
    text: ['VARCHAR', (duckdb) => duckdb.VARCHAR],
    json: ['JSON', (duckdb) => duckdb.VARCHAR],
    f64: ['DOUBLE', (duckdb) => duckdb.DOUBLE],
    count: ['BIGINT', (duckdb) => duckdb.BIGINT],
    instant: ['TIMESTAMP', (duckdb) => duckdb.TIMESTAMP],
    bool: ['BOOLEAN', (duckdb) => duckdb.BOOLEAN],
    f64_list: ['DOUBLE[]', (duckdb) => duckdb.LIST(duckdb.DOUBLE)],
    text_list: ['VARCHAR[]', (duckdb) => duckdb.LIST(duckdb.VARCHAR)],
  };

/** A table with nothing in it yet. */
export async function createTable(
  connection: DuckConnection,
  { name, columns }: TableSpec,
): Promise<void> {
  const fields = columns.map((column) => `"${column.name}" ${TYPES[column.kind][0]}`);
  await connection.run(`CREATE TABLE "${name}" (${fields.join(', ')})`);
}

/** Appends a batch to a table. `runId` is the value of the column `run_id`, which batches do not have. */
export async function fillTable(
  duckdb: DuckDb,
  connection: DuckConnection,
  { name, columns }: TableSpec,
  runId: string | null,
  batch: RowBatch,
): Promise<void> {
  const types = columns.map(({ kind }) => TYPES[kind][1](duckdb));
  const values = columns.map((column) =>
    runId !== null && column.name === 'run_id'
      ? () => runId
      : valuesOf(duckdb, column.kind, batch, column.name),
  );
  const appender = await connection.createAppender(name);
  try {
    for (let from = 0; from < batch.rowCount; from += CHUNK_ROWS) {
      const to = Math.min(batch.rowCount, from + CHUNK_ROWS);
      const chunk = duckdb.DuckDBDataChunk.create(types, to - from);
      for (const [at, value] of values.entries()) {
        const target = chunk.getColumnVector(at);
        for (let row = from; row < to; row++) target.setItem(row - from, value(row));
        target.flush();
      }
      appender.appendDataChunk(chunk);
    }
  } finally {
    appender.closeSync();
  }
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
    if (ms !== last || made === null)
      made = new duckdb.DuckDBTimestampValue(BigInt(Math.round(ms)) * 1000n);
    last = ms;
    return made;
  };
}

/** A number where NaN stands for null. */
function number<T>(value: number | undefined, make: (value: number) => T): T | null {
  return value === undefined || Number.isNaN(value) ? null : make(value);
}
