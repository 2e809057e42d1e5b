/** SQL on runs, through DuckDB. */
import { checkNotAborted, checkOptionNames, checkPositive } from '../base/assert.ts';
import { invalidInput, messageOf, QuarkError } from '../base/errors.ts';
import { checkStore } from '../read/runs.ts';
import { runRecord } from '../records/run.ts';
import { TABLES } from '../records/tables.ts';
import type { DamageReport } from '../segment/open-segment.ts';
import type { Store } from '../store/store.ts';
import { loadDuckDb, type DuckConnection, type DuckDb } from './duckdb.ts';
import { createTable, fillRuns, fillTable } from './fill-table.ts';

/** A value of an answer. A BIGINT is a number where that is exact, else a bigint; an instant is ISO 8601 text in UTC. */
export type QueryValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | readonly QueryValue[]
  | { readonly [name: string]: QueryValue };

/** Options of {@link queryRuns}. */
export type QueryOptions = {
  /** Only these runs; default: all of the store. */
  readonly runIds?: readonly string[] | undefined;
  /** Rows of the answer, at most; default 1,000,000. */
  readonly maxRows?: number | undefined;
  /** Memory that DuckDB may take, in MiB; default 2,048. */
  readonly maxMemoryMib?: number | undefined;
  /** Ends the query: it rejects with code `aborted`. */
  readonly signal?: AbortSignal | undefined;
};

/** The answer to a query. */
export type QueryResult = {
  /** Names and SQL types, in order. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** One value for each column. */
  readonly rows: readonly (readonly QueryValue[])[];
  /** Whether there were more rows than `maxRows`. */
  readonly isCut: boolean;
  /** Segments that could not be read and are missing in the tables. */
  readonly damage: readonly DamageReport[];
};

const OPTION_NAMES = ['runIds', 'maxRows', 'maxMemoryMib', 'signal'] as const;
const INTERRUPT_EVERY_MS = 20;
const DEFAULT_MAX_ROWS = 1_000_000;
const DEFAULT_MAX_MEMORY_MIB = 2048;
/** Functions that take the name of a table, or a whole query, as text. */
const NAMES_BY_TEXT = /\bquery(_table)?\s*\(/i;
const ASKING = ['SELECT', 'EXPLAIN', 'RELATION'] as const;

/**
 * Asks a store a question in SQL, in the dialect of DuckDB. The tables are those of the records, with their stored names: `metrics`,
 * `events`, `telemetry`, `layer_summaries`, `parameter_summaries`, `parameter_distributions`, `batch_diagnostics`, `artifacts`, `alerts`,
 * `health_scores`, `phases` and `runs` (which also has `effective_status` and `is_live`). Counts are BIGINT, numbers DOUBLE (NaN stays NaN,
 * missing is NULL), instants TIMESTAMP in UTC, structured fields JSON.
 *
 * Tables whose names occur in the query are put into a database in memory, for each query anew. The query is one statement that only
 * asks, and it sees nothing but these tables: files, the network, extensions and settings are closed to it.
 *
 * @throws {QuarkError} `invalid_input` for SQL that DuckDB refuses, with its message; `unsupported` when `@duckdb/node-api` is not
 *   installed, with the line that installs it in `details.install`; `aborted`
 */
export async function queryRuns(
  store: Store,
  sql: string,
  options: QueryOptions = {},
): Promise<QueryResult> {
  checkStore(store);
  checkOptionNames('options', options, OPTION_NAMES);
  if (typeof sql !== 'string' || sql.trim() === '') throw invalidInput('sql', sql, 'a statement');
  const { runIds, signal } = options;
  if (runIds !== undefined && !Array.isArray(runIds))
    throw invalidInput('runIds', runIds, 'a list of run ids');
  const maxRows = checkPositive('maxRows', options.maxRows ?? DEFAULT_MAX_ROWS);
  const memory = checkPositive('maxMemoryMib', options.maxMemoryMib ?? DEFAULT_MAX_MEMORY_MIB);
  checkNotAborted(signal);
  const duckdb = await loadDuckDb();
  const instance = await duckdb.DuckDBInstance.create(':memory:', {});
  try {
    const connection = await instance.connect();
    let repeating: ReturnType<typeof setInterval> | undefined;
    // Again and again: an interruption that comes just before a statement begins does not reach it.
    const interrupt = (): void => {
      connection.interrupt();
      repeating ??= setInterval(interrupt, INTERRUPT_EVERY_MS);
    };
    signal?.addEventListener('abort', interrupt);
    try {
      for (const setting of closing(memory)) await connection.run(`SET ${setting}`);
      await checkQuestion(duckdb, connection, sql);
      const damage = await fill(duckdb, connection, store, sql, runIds, signal);
      await connection.run('SET lock_configuration = true');
      checkNotAborted(signal);
      return { ...(await ask(connection, sql, maxRows)), damage };
    } catch (error) {
      checkNotAborted(signal);
      throw error;
    } finally {
      signal?.removeEventListener('abort', interrupt);
      clearInterval(repeating);
      connection.closeSync();
    }
  } finally {
    instance.closeSync();
  }
}

/** Settings that leave a query nothing but its tables and some memory. They are locked before it is asked. */
function closing(memoryMib: number): readonly string[] {
  return [
    `memory_limit = '${memoryMib}MiB'`,
    "temp_directory = ''",
    'autoinstall_known_extensions = false',
    'autoload_known_extensions = false',
    'enable_external_access = false',
  ];
}

/** One statement, and one that asks. */
async function checkQuestion(
  duckdb: DuckDb,
  connection: DuckConnection,
  sql: string,
): Promise<void> {
  // The tables have to be there, or a query that names them is refused for that.
  await createTable(connection, 'runs', runRecord);
  for (const [name, table] of TABLES) await createTable(connection, name, table);
  const { count } = await connection.extractStatements(sql).catch(refuse);
  if (count !== 1) throw invalidInput('sql', sql, 'one statement');
  const { statementType } = await connection.prepare(sql).catch(refuse);
  if (!ASKING.some((name) => duckdb.StatementType[name] === statementType))
    throw invalidInput('sql', sql, 'a statement that asks, such as SELECT');
}

async function fill(
  duckdb: DuckDb,
  connection: DuckConnection,
  store: Store,
  sql: string,
  runIds: readonly string[] | undefined,
  signal: AbortSignal | undefined,
): Promise<readonly DamageReport[]> {
  const wanted = runIds === undefined ? undefined : new Set(runIds);
  const isNamed = (name: string): boolean =>
    NAMES_BY_TEXT.test(sql) || new RegExp(`\\b${name}\\b`, 'i').test(sql);
  if (isNamed('runs')) await fillRuns(duckdb, connection, store, wanted);
  const tables = [...TABLES].filter(([name]) => isNamed(name));
  if (tables.length === 0) return [];
  const ids = (await store.listRuns()).map(({ id }) => id);
  const damage: DamageReport[] = [];
  for (const runId of ids) {
    if (wanted?.has(runId) === false) continue;
    for (const [, table] of tables) {
      checkNotAborted(signal);
      damage.push(...(await fillTable(duckdb, connection, table, store, runId, signal)));
    }
  }
  return damage;
}

async function ask(
  connection: DuckConnection,
  sql: string,
  maxRows: number,
): Promise<Omit<QueryResult, 'damage'>> {
  const reader = await connection.streamAndReadUntil(sql, maxRows + 1).catch(refuse);
  const names = reader.columnNames();
  const types = reader.columnTypes();
  const rows = rowsOf(reader);
  return {
    columns: names.map((name, at) => ({ name, type: String(types[at] ?? '') })),
    rows: rows.slice(0, maxRows).map((row) => row.map(valueOf)),
    isCut: rows.length > maxRows,
  };
}

/** Instants that are infinite, or out of the range of a Date, are valid in SQL and have no value here. */
function rowsOf<Row>(reader: { getRowsJS(): Row[] }): Row[] {
  try {
    return reader.getRowsJS();
  } catch (cause) {
    return refuse(new Error(`${messageOf(cause)}. Cast it to VARCHAR to see it.`, { cause }));
  }
}

function refuse(cause: unknown): never {
  const reason = messageOf(cause).trim();
  throw new QuarkError('invalid_input', `The query failed. ${reason}`, {
    details: { field: 'sql', rule: reason },
    cause,
  });
}

function valueOf(value: unknown): QueryValue {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return value;
    case 'bigint':
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    case 'object':
      break;
    case 'undefined':
    case 'function':
    case 'symbol':
      return null;
  }
  if (value === null) return null;
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(valueOf);
  // Structs come as plain objects; what has a class of its own has a text.
  if (Object.getPrototypeOf(value) !== Object.prototype) return textOf(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]: [string, unknown]) => [name, valueOf(inner)]),
  );
}

function textOf(value: object): string {
  // oxlint-disable-next-line typescript/no-base-to-string -- values of DuckDB have one of their own
  return String(value);
}
