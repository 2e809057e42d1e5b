/** SQL on runs, through DuckDB. */
import { checkNotAborted, checkPositive } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { asGiven, orDefault, positive, readOptions } from '../../base/options.ts';
import { findDuckDb } from '../duckdb.ts';
import type { QueryColumn, QueryValue } from '../query-messages.ts';
import { rowsFor, tableSpecs } from '../run-tables.ts';
import { checkStore } from '../../store/whole-store.ts';
import type { DamageReport } from '../../segment/open-segment.ts';
import type { Store } from '../../store/store.ts';
import { overLimit, QueryProcess } from './query-process.ts';

/** Options of {@link queryRuns}. */
export type QueryOptions = {
  /** Only these runs; default: all of the store. */
  readonly runIds?: readonly string[] | undefined;
  /** Rows of the answer, at most; default 1,000,000. What is more is cut off, and `isCut` says so. */
  readonly maxRows?: number | undefined;
  /** Size of the answer, in MiB, at most; default 512. A value counts 8 bytes, and one for each character or byte that it holds. */
  readonly maxResultMib?: number | undefined;
  /** Memory that DuckDB may take, in MiB; default 2,048. */
  readonly maxMemoryMib?: number | undefined;
  /** Time that the query may take, in milliseconds, with the reading of the runs; default 600,000 (10 minutes), at most 2,147,483,647. */
  readonly timeoutMs?: number | undefined;
  /** Ends the query at once: it rejects with code `aborted`. */
  readonly signal?: AbortSignal | undefined;
};

/** The answer to a query. */
export type QueryResult = {
  /** Names and SQL types, in order. */
  readonly columns: readonly QueryColumn[];
  /** One value for each column. */
  readonly rows: readonly (readonly QueryValue[])[];
  /** Whether there were more rows than `maxRows`. */
  readonly isCut: boolean;
  /** Segments that could not be read and are missing in the tables. */
  readonly damage: readonly DamageReport[];
};

const DEFAULT_MAX_ROWS = 1_000_000;
const DEFAULT_MAX_RESULT_MIB = 512;
const DEFAULT_MAX_MEMORY_MIB = 2048;
const DEFAULT_TIMEOUT_MS = 600_000;
/** Timers take no more. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** What is asked, checked. */
type Question = ReturnType<typeof checkOptions> & { readonly sql: string };

/**
 * Asks a store a question in SQL, in the dialect of DuckDB. The tables are those of the records, with their stored names: `metrics`,
 * `events`, `telemetry`, `layer_summaries`, `parameter_summaries`, `parameter_distributions`, `batch_diagnostics`, `artifacts`, `alerts`,
 * `health_scores`, `phases` and `runs` (which also has `effective_status` and `is_live`). Counts are BIGINT, numbers DOUBLE (NaN stays NaN,
 * missing is NULL), instants TIMESTAMP in UTC, structured fields JSON.
 *
 * Tables whose names occur in the query are put into a database in memory, for each query anew. The query is one statement that only
 * asks, and it sees nothing but these tables: files, the network, extensions and settings are closed to it.
 *
 * DuckDB runs in a process of its own, which is killed when the query has ended, reaches a limit, or is aborted, and which ends with this
 * process. `maxMemoryMib` is DuckDB's own limit everywhere; on Linux the process is killed, too, when it takes 512 MiB more than that.
 *
 * @throws {QuarkError} `invalid_input` for SQL that DuckDB refuses, with its message, and for a query over `timeoutMs`, `maxMemoryMib` or
 *   `maxResultMib`, with the name of that option in `details.option` and its value in `details.limit`; `unsupported` when
 *   `@duckdb/node-api` is not installed, with the line that installs it in `details.install`; `aborted`
 * @example
 * ```js
 * import { MetricsLogger, openStorage, TrainingSession } from 'quark-sdk';
 * import { queryRuns } from 'quark-sdk/node';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 * });
 * const store = await openStorage('quark-runs');
 * const sql = 'select metric_key, min(value) as least from metrics group by all';
 * const { columns, rows } = await queryRuns(store, sql, { timeoutMs: 30_000 });
 * console.log(columns.map(({ name }) => name), rows); // [ 'metric_key', 'least' ] [ [ 'train/loss', 0.4 ] ]
 * await store.close();
 * ```
 */
export async function queryRuns(
  store: Store,
  sql: string,
  options: QueryOptions = {},
): Promise<QueryResult> {
  checkStore(store);
  const settings = checkOptions(options);
  if (typeof sql !== 'string' || sql.trim() === '') throw invalidInput('sql', sql, 'a statement');
  const { maxMemoryMib: memoryMib, signal, timeoutMs } = settings;
  checkNotAborted(signal);
  const packageUrl = findDuckDb((name) => import.meta.resolve(name));
  const query = await QueryProcess.start({ timeoutMs, memoryMib, signal });
  try {
    return await query.during(answer(query, packageUrl, store, { ...settings, sql }));
  } finally {
    query.close();
  }
}

function checkOptions(options: QueryOptions) {
  return readOptions(
    'options',
    options,
    {
      runIds: (field, runIds) => {
        if (runIds !== undefined && !Array.isArray(runIds))
          throw invalidInput(field, runIds, 'a list of run ids');
        return runIds;
      },
      maxRows: orDefault(positive(), DEFAULT_MAX_ROWS),
      maxResultMib: orDefault(positive(), DEFAULT_MAX_RESULT_MIB),
      maxMemoryMib: orDefault(positive(), DEFAULT_MAX_MEMORY_MIB),
      timeoutMs: (field, value) => {
        const timeoutMs = checkPositive(field, value ?? DEFAULT_TIMEOUT_MS);
        if (timeoutMs > MAX_TIMEOUT_MS)
          throw invalidInput(field, timeoutMs, `at most ${MAX_TIMEOUT_MS}`);
        return timeoutMs;
      },
      signal: asGiven,
    },
    '',
  );
}

async function answer(
  query: QueryProcess,
  packageUrl: string,
  store: Store,
  question: Question,
): Promise<QueryResult> {
  const { sql, maxMemoryMib: memoryMib, runIds } = question;
  await query.request({ kind: 'start', packageUrl, memoryMib, tables: tableSpecs(), sql });
  const damage: DamageReport[] = [];
  // One batch is read while the process takes the one before.
  let taken: Promise<unknown> | undefined;
  const rows = rowsFor(sql, store, runIds, query.signal, (report) => void damage.push(report));
  for await (const { table, runId, batch } of rows) {
    await taken;
    taken = query.request({ kind: 'fill', table, runId, batch });
    // It is awaited later, or not at all where the reading fails.
    taken.catch(() => undefined);
  }
  await taken;
  return { ...(await collect(query, question)), damage };
}

async function collect(
  query: QueryProcess,
  { maxRows, maxResultMib }: Question,
): Promise<Omit<QueryResult, 'damage'>> {
  const rows: (readonly QueryValue[])[] = [];
  let part = await query.request({ kind: 'ask', maxRows, maxBytes: maxResultMib * 2 ** 20 });
  for (;;) {
    if (part.kind !== 'rows') throw new Error('The query was answered with something else.');
    for (const row of part.rows) rows.push(row);
    if (part.next === 'full')
      throw overLimit(
        `The answer is larger than its limit of ${maxResultMib} MiB. The option maxResultMib (quark query: --max-result) allows more; LIMIT asks for fewer rows.`,
        'maxResultMib',
        maxResultMib,
        `at most ${maxResultMib} MiB`,
      );
    if (part.next !== 'more') return { columns: part.columns, rows, isCut: part.next === 'cut' };
    part = await query.request({ kind: 'more' });
  }
}
