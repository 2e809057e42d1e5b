/** One query, in a process of its own: tables, their rows, the question, and the answer part by part. */
import { invalidInput, isQuarkError, messageOf, QuarkError } from '../base/errors.ts';
import { bytesOf, valueOf } from './answer-values.ts';
import {
  loadDuckDb,
  type DuckChunk,
  type DuckConnection,
  type DuckDb,
  type DuckResult,
} from './duckdb.ts';
import { createTable, fillTable } from './fill-table.ts';
import type {
  AnswerPart,
  FromQuery,
  QueryColumn,
  QueryFailure,
  QueryValue,
  TableSpec,
  ToQuery,
} from './query-messages.ts';

/** A part of an answer is sent when it has so many bytes. */
const PART_BYTES = 1 << 20;
const ASKING = ['SELECT', 'EXPLAIN', 'RELATION'] as const;

/** The process, as far as it is used. */
type QueryPort = {
  title: string;
  readonly pid: number;
  readonly kill: (pid: number, signal: string) => void;
  readonly send: (message: FromQuery) => void;
  readonly on: {
    (event: 'message', listener: (message: ToQuery) => void): void;
    (event: 'disconnect' | 'SIGINT', listener: () => void): void;
  };
};

/** Makes this process answer one query for the process that started it. It ends with that one. */
export function exposeQuery(): void {
  const { process: port } = globalThis as unknown as { readonly process: QueryPort };
  port.title = 'quark-query';
  // To exit would wait for the threads of DuckDB, which may have no end.
  port.on('disconnect', () => port.kill(port.pid, 'SIGKILL'));
  // A terminal sends it to the program, too, which knows what to do.
  port.on('SIGINT', () => undefined);
  const query = new AnsweredQuery();
  port.on('message', (message) => {
    void query.answer(message).then(
      (answer) => port.send(answer),
      (error: unknown) => port.send(failureOf(error)),
    );
  });
}

/** A database in memory and the question to it. */
class AnsweredQuery {
  #open: { readonly duckdb: DuckDb; readonly connection: DuckConnection } | undefined;
  #tables: readonly TableSpec[] = [];
  #sql = '';
  #answer: Answer | undefined;

  async answer(message: ToQuery): Promise<FromQuery> {
    if (message.kind === 'start') {
      const { packageUrl, memoryMib, tables, sql } = message;
      const duckdb = await loadDuckDb(() => import(/* @vite-ignore */ packageUrl));
      const instance = await duckdb.DuckDBInstance.create(':memory:', {});
      const connection = await instance.connect();
      this.#open = { duckdb, connection };
      this.#tables = tables;
      this.#sql = sql;
      for (const setting of closing(memoryMib)) await connection.run(`SET ${setting}`);
      // The tables have to be there, or a query that names them is refused for that.
      for (const table of tables) await createTable(connection, table);
      await checkQuestion(duckdb, connection, sql);
      return { kind: 'done' };
    }
    if (this.#open === undefined) throw new Error('The query was not started.');
    const { duckdb, connection } = this.#open;
    if (message.kind === 'fill') {
      const table = this.#tables.find(({ name }) => name === message.table);
      if (table !== undefined)
        await fillTable(duckdb, connection, table, message.runId, message.batch).catch(refuse);
      return { kind: 'done' };
    }
    if (message.kind === 'ask') {
      await connection.run('SET lock_configuration = true');
      const result = await connection.stream(this.#sql).catch(refuse);
      this.#answer = new Answer(result, duckdb.JSDuckDBValueConverter, message);
    }
    if (this.#answer === undefined) throw new Error('The query was not asked.');
    return this.#answer.next();
  }
}

/** The rows of an answer, up to its limits. */
class Answer {
  readonly #result: DuckResult;
  readonly #converter: unknown;
  readonly #columns: readonly QueryColumn[];
  #rowsLeft: number;
  #bytesLeft: number;
  #chunk: DuckChunk | null = null;
  #row = 0;

  constructor(
    result: DuckResult,
    converter: unknown,
    limits: { readonly maxRows: number; readonly maxBytes: number },
  ) {
    this.#result = result;
    this.#converter = converter;
    const types = result.columnTypes();
    this.#columns = result
      .columnNames()
      .map((name, at) => ({ name, type: String(types[at] ?? '') }));
    this.#rowsLeft = limits.maxRows;
    this.#bytesLeft = limits.maxBytes;
  }

  async next(): Promise<AnswerPart> {
    const rows: QueryValue[][] = [];
    const part = (next: AnswerPart['next']): AnswerPart => ({
      kind: 'rows',
      columns: this.#columns,
      rows,
      next,
    });
    let bytes = 0;
    while (bytes < PART_BYTES) {
      if (this.#chunk === null || this.#row === this.#chunk.rowCount) {
        this.#chunk = await this.#result.fetchChunk().catch(refuse);
        this.#row = 0;
        if (this.#chunk === null || this.#chunk.rowCount === 0) return part('end');
      }
      if (this.#rowsLeft === 0) return part('cut');
      const row = rowOf(this.#chunk, this.#row, this.#converter);
      const size = row.reduce<number>((sum, value) => sum + bytesOf(value), 0);
      if (size > this.#bytesLeft) return part('full');
      rows.push(row);
      this.#row += 1;
      this.#rowsLeft -= 1;
      this.#bytesLeft -= size;
      bytes += size;
    }
    return part('more');
  }
}

/** Instants that are infinite, or out of the range of a Date, are valid in SQL and have no value here. */
function rowOf(chunk: DuckChunk, row: number, converter: unknown): QueryValue[] {
  try {
    return chunk.convertRowValues(row, converter).map(valueOf);
  } catch (cause) {
    return refuse(new Error(`${messageOf(cause)}. Cast it to VARCHAR to see it.`, { cause }));
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
  const { count } = await connection.extractStatements(sql).catch(refuse);
  if (count !== 1) throw invalidInput('sql', sql, 'one statement');
  const { statementType } = await connection.prepare(sql).catch(refuse);
  if (!ASKING.some((name) => duckdb.StatementType[name] === statementType))
    throw invalidInput('sql', sql, 'a statement that asks, such as SELECT');
}

/** What DuckDB refuses. */
function refuse(cause: unknown): never {
  const reason = messageOf(cause).trim();
  const hint = /^out of memory/i.test(reason)
    ? ' The option maxMemoryMib (quark query: --max-memory) allows more.'
    : '';
  throw new QuarkError('invalid_input', `The query failed. ${reason}${hint}`, {
    details: { field: 'sql', rule: reason },
    cause,
  });
}

function failureOf(error: unknown): QueryFailure {
  if (!isQuarkError(error)) {
    try {
      return refuse(error);
    } catch (refused) {
      return failureOf(refused);
    }
  }
  const { code, message, details, cause } = error;
  const reason = cause === undefined ? null : messageOf(cause);
  return { kind: 'failed', code, message, details, reason };
}
