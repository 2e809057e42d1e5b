/** DuckDB, as far as queries use it: an optional package, loaded by the process of a query. */
import { messageOf, QuarkError } from '../base/errors.ts';

/** A column of a chunk that is filled. */
export interface DuckVector {
  setItem(row: number, value: unknown): void;
  flush(): void;
}

/** Rows on their way into a table. */
export interface DuckChunk {
  readonly rowCount: number;
  getColumnVector(column: number): DuckVector;
  /** The values of a row, in the types that `converter` has for them. */
  convertRowValues(row: number, converter: unknown): unknown[];
}

/** Puts chunks into a table. */
export interface DuckAppender {
  appendDataChunk(chunk: DuckChunk): void;
  closeSync(): void;
}

/** Rows as they come. */
export interface DuckResult {
  columnNames(): string[];
  columnTypes(): { toString(): string }[];
  /** The next rows; null, or a chunk without rows, at the end. */
  fetchChunk(): Promise<DuckChunk | null>;
}

/** A database that is talked to. */
export interface DuckConnection {
  run(sql: string): Promise<unknown>;
  extractStatements(sql: string): Promise<{ readonly count: number }>;
  prepare(sql: string): Promise<{ readonly statementType: number }>;
  stream(sql: string): Promise<DuckResult>;
  createAppender(table: string): Promise<DuckAppender>;
}

/** What the package gives. */
export interface DuckDb {
  readonly DuckDBInstance: {
    create(
      path: string,
      options: Record<string, string>,
    ): Promise<{ connect(): Promise<DuckConnection> }>;
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
  /** To values of JavaScript. */
  readonly JSDuckDBValueConverter: unknown;
  readonly StatementType: Readonly<Record<string, unknown>>;
}

const PACKAGE = '@duckdb/node-api';
const NEEDED = [
  'DuckDBInstance',
  'DuckDBDataChunk',
  'DuckDBTimestampValue',
  'listValue',
  'JSDuckDBValueConverter',
] as const;

/**
 * Where the package lies, for a process that loads it.
 *
 * @throws {QuarkError} `unsupported` when it is not installed; `details.install` is the line that installs it
 */
export function findDuckDb(resolve: (name: string) => string): string {
  try {
    return resolve(PACKAGE);
  } catch (cause) {
    throw missing(`could not be loaded (${messageOf(cause)})`, cause);
  }
}

/** @throws {QuarkError} `unsupported` when the package cannot be loaded; `details.install` is the line that installs it */
export async function loadDuckDb(load: () => Promise<unknown>): Promise<DuckDb> {
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
