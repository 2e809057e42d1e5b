/** DuckDB, as far as queries use it: an optional package, loaded when the first query is asked. */
import { messageOf, QuarkError } from '../base/errors.ts';

/** A column of a chunk that is filled. */
export interface DuckVector {
  setItem(row: number, value: unknown): void;
  flush(): void;
}

/** Rows on their way into a table. */
export interface DuckChunk {
  getColumnVector(column: number): DuckVector;
}

/** Puts chunks into a table. */
export interface DuckAppender {
  appendDataChunk(chunk: DuckChunk): void;
  closeSync(): void;
}

/** Rows as they come. */
export interface DuckReader {
  readonly currentRowCount: number;
  readonly done: boolean;
  columnNames(): string[];
  columnTypes(): { toString(): string }[];
  getRowsJS(): unknown[][];
}

/** A database that is talked to. */
export interface DuckConnection {
  run(sql: string): Promise<unknown>;
  extractStatements(sql: string): Promise<{ readonly count: number }>;
  prepare(sql: string): Promise<{ readonly statementType: number }>;
  streamAndReadUntil(sql: string, rowCount: number): Promise<DuckReader>;
  createAppender(table: string): Promise<DuckAppender>;
  interrupt(): void;
  closeSync(): void;
}

/** What the package gives. */
export interface DuckDb {
  readonly DuckDBInstance: {
    create(
      path: string,
      options: Record<string, string>,
    ): Promise<{ connect(): Promise<DuckConnection>; closeSync(): void }>;
  };
  readonly DuckDBDataChunk: { create(types: readonly unknown[], rowCount: number): DuckChunk };
  readonly DuckDBTimestampValue: new (micros: bigint) => object;
  readonly listValue: (items: readonly unknown[]) => object;
  readonly LIST: (type: unknown) => unknown;
  readonly VARCHAR: unknown;
  readonly DOUBLE: unknown;
  readonly BIGINT: unknown;
  readonly BOOLEAN: unknown;
  readonly TIMESTAMP: unknown;
  readonly StatementType: Readonly<Record<string, unknown>>;
}

const PACKAGE = '@duckdb/node-api';
const NEEDED = ['DuckDBInstance', 'DuckDBDataChunk', 'DuckDBTimestampValue', 'listValue'] as const;

/** @throws {QuarkError} `unsupported` when the package is not installed; `details.install` is the line that installs it */
export async function loadDuckDb(
  load: () => Promise<unknown> = () => import('@duckdb/node-api'),
): Promise<DuckDb> {
  let found: unknown;
  try {
    found = await load();
  } catch (cause) {
    throw missing(`could not be loaded (${messageOf(cause)})`, cause);
  }
  const has = (name: string): boolean =>
    typeof found === 'object' && found !== null && typeof Reflect.get(found, name) === 'function';
  if (!NEEDED.every(has)) throw missing('is of a version that is not known here', undefined);
  // The package declares more than is needed, in types of its own.
  return found as DuckDb;
}

function missing(what: string, cause: unknown): QuarkError {
  const install = `npm install ${PACKAGE}`;
  return new QuarkError(
    'unsupported',
    `Queries need the package ${PACKAGE}, which ${what}. Install it with: ${install}`,
    { details: { package: PACKAGE, install }, cause },
  );
}
