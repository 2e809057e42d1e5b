/** `quark query SQL`: a question to the runs of a store, or of files, in SQL. */
import { resolve } from 'node:path';
import { importRuns } from '../../exchange.ts';
import { createMemoryStore, describeDamage, type Store } from '../../index.ts';
import { openInputFiles, queryRuns, type QueryResult, type QueryValue } from '../../node.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  JSON_OPTION,
  STORAGE_OPTIONS,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { onTerminal, table, type Style } from '../support/text.ts';

const SHOWN_PROBLEMS = 5;
/** Timers take no more. */
const MAX_TIMEOUT_S = 2_147_483;
/** Options that have to be at least 1. */
const LIMITS = ['max-rows', 'max-result', 'max-memory', 'timeout'] as const;

export const queryCommand: Command = {
  spec: {
    name: 'query',
    summary: 'Ask the runs a question in SQL.',
    positionals: ['SQL'],
    options: {
      ...STORAGE_OPTIONS,
      file: {
        kind: 'list',
        value: 'PATH',
        help: 'Ask an export or a log instead of a store: .quark, Parquet, Arrow, CSV, or what "quark import" reads.',
      },
      run: { kind: 'list', value: 'RUN', help: 'Only this run, by its whole id.' },
      'max-rows': { kind: 'count', value: 'N', help: 'At most so many rows. Default: 1000000.' },
      'max-result': {
        kind: 'count',
        value: 'MIB',
        help: 'Fail when the answer is larger. Default: 512.',
      },
      'max-memory': {
        kind: 'count',
        value: 'MIB',
        help: 'Memory that DuckDB may take. Default: 2048. On Linux, a process that takes 512 MiB more is killed.',
      },
      timeout: {
        kind: 'count',
        value: 'SECONDS',
        max: MAX_TIMEOUT_S,
        help: 'Fail when the query takes longer, with the reading of the runs. Default: 600.',
      },
      csv: { kind: 'flag', help: 'Write CSV.' },
      json: {
        ...JSON_OPTION,
        help: 'Write one JSON object a row; errors (on standard error) as JSON, too.',
      },
    },
    notes: [
      'Tables: runs, metrics, events, telemetry, layer_summaries, parameter_summaries, parameter_distributions,\n' +
        'batch_diagnostics, artifacts, alerts, health_scores, phases; with the fields of the records. "DESCRIBE metrics" shows them.',
      'The SQL is that of DuckDB, which has to be installed: npm install @duckdb/node-api',
      'DuckDB runs in a process of its own, which is killed when the query has ended, reaches a limit, or is interrupted.',
    ],
  },
  async run({ io, args, style }) {
    if (args.flag('csv') && args.flag('json'))
      throw new UsageError('Give either --csv or --json, not both', 'query');
    for (const name of LIMITS)
      if (args.count(name) === 0)
        throw new UsageError(`--${name} must be a whole number, 1 or more; got "0"`, 'query');
    const sql = args.positionals[0] ?? '';
    const timeout = args.count('timeout');
    const controller = new AbortController();
    const undo = io.onInterrupt(() => controller.abort());
    try {
      const result = await withSource({ io, args }, controller.signal, (store) =>
        queryRuns(store, sql, {
          signal: controller.signal,
          runIds: args.list('run'),
          maxRows: args.count('max-rows'),
          maxResultMib: args.count('max-result'),
          maxMemoryMib: args.count('max-memory'),
          timeoutMs: timeout === undefined ? undefined : timeout * 1_000,
        }),
      );
      for (const report of result.damage)
        await io.stderr.write(`warning: ${onTerminal(describeDamage(report))}\n`);
      if (args.flag('json')) for (const line of jsonLines(result)) await io.stdout.write(line);
      else if (args.flag('csv')) for (const line of csvLines(result)) await io.stdout.write(line);
      else await io.stdout.write(tableText(result, io.stdout.columns, style));
      if (result.isCut)
        await io.stderr.write(`Only the first ${result.rows.length} rows; see --max-rows.\n`);
      return EXIT.ok;
    } finally {
      undo();
    }
  },
};

/** The store, or one in memory that the files were read into. */
async function withSource<T>(
  context: Pick<CommandContext, 'io' | 'args'>,
  signal: AbortSignal,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const { io, args } = context;
  const paths = args.list('file');
  if (paths === undefined) return withStore(context, work);
  if (args.text('storage') !== undefined || args.text('storage-dir') !== undefined)
    throw new UsageError('Give either --file or a store, not both', 'query');
  const store = createMemoryStore();
  const files = await openInputFiles(paths.map((path) => resolve(io.cwd, path)));
  const { runs, problems, unknown } = await importRuns(files, store, { signal });
  for (const { file, place, reason } of problems.slice(0, SHOWN_PROBLEMS))
    await io.stderr.write(
      `warning: ${onTerminal(`${file}${place === null ? '' : `, ${place}`}: ${reason}`)}\n`,
    );
  if (problems.length > SHOWN_PROBLEMS)
    await io.stderr.write(`warning: ${problems.length - SHOWN_PROBLEMS} more problems\n`);
  if (runs.length === 0)
    for (const { advice, file, seen } of unknown.slice(0, SHOWN_PROBLEMS))
      await io.stderr.write(
        `warning: ${onTerminal(`${file} is not recognised: ${seen}. ${advice}`)}\n`,
      );
  return work(store);
}

function tableText(result: QueryResult, width: number | undefined, style: Style): string {
  const { columns, rows } = result;
  if (rows.length === 0) return 'No rows.\n';
  return table(
    columns.map(({ name, type }, at) => ({
      title: onTerminal(name),
      cell: (row: readonly QueryValue[]) => cellText(row[at] ?? null),
      ...(isNumber(type) ? { align: 'right' as const } : { isElastic: true }),
    })),
    rows,
    width,
    style,
  );
}

function isNumber(type: string): boolean {
  return /^(DOUBLE|FLOAT|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL)/.test(type);
}

function cellText(value: QueryValue): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  return typeof value === 'object' ? jsonOf(value) : String(value);
}

function* csvLines({ columns, rows }: QueryResult): Generator<string> {
  yield `${columns.map(({ name }) => csvCell(name)).join(',')}\n`;
  for (const row of rows)
    yield `${row.map((value) => (value === null ? '' : csvCell(cellText(value)))).join(',')}\n`;
}

/** Quoted where it must be; an empty text is quoted to be told from a missing value. */
function csvCell(text: string): string {
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function* jsonLines({ columns, rows }: QueryResult): Generator<string> {
  for (const row of rows) {
    const fields = columns.map(
      ({ name }, at) => `${JSON.stringify(name)}:${jsonOf(row[at] ?? null)}`,
    );
    yield `{${fields.join(',')}}\n`;
  }
}

/** What JSON has no number for is text, and large integers keep all their digits. */
function jsonOf(value: QueryValue): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number')
    return Number.isFinite(value) ? (Object.is(value, -0) ? '-0' : String(value)) : `"${value}"`;
  if (value instanceof Uint8Array) return `"${Buffer.from(value).toString('base64')}"`;
  if (isList(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}:${jsonOf(inner)}`,
  );
  return `{${fields.join(',')}}`;
}

function isList(value: QueryValue): value is readonly QueryValue[] {
  return Array.isArray(value);
}
