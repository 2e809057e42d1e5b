/** SQLite as Node 22.16 and later have it (`node:sqlite`), for machines without the native package. */
import type { SqlRow, SqlValue } from '../sql-database.ts';
import type { SqliteConnection, SqliteDriver, SqliteStatement } from './sqlite-driver.ts';

/** What is used of `node:sqlite`; the oldest Node that this package supports has no types of it. */
type BuiltinStatement = {
  setReturnArrays(isOn: boolean): void;
  columns(): readonly unknown[];
  run(...params: readonly SqlValue[]): unknown;
  get(...params: readonly SqlValue[]): SqlRow | undefined;
  all(...params: readonly SqlValue[]): readonly SqlRow[];
};
type BuiltinDatabase = {
  readonly isOpen: boolean;
  readonly isTransaction: boolean;
  exec(text: string): void;
  prepare(text: string): BuiltinStatement;
  close(): void;
};
type Builtin = {
  readonly DatabaseSync: new (
    file: string,
    options: { readonly enableForeignKeyConstraints: boolean },
  ) => BuiltinDatabase;
  readonly StatementSync: { readonly prototype: object };
  backup(
    source: BuiltinDatabase,
    path: string,
    options: { readonly rate: number },
  ): Promise<number>;
};

/** Undefined where Node has none, or one without rows as arrays (before 22.16). */
export function builtinSqlite(): SqliteDriver | undefined {
  const found = quietly(() => process.getBuiltinModule('node:sqlite')) as Builtin | undefined;
  if (found === undefined || !('setReturnArrays' in found.StatementSync.prototype))
    return undefined;
  return (file) => named(() => new BuiltinConnection(found, file));
}

/**
 * Copies a database to a new file, page for page and as of one moment, while others write to it. Node's SQLite has no table of pages
 * (`sqlite_dbpage`) to read them by.
 */
export async function copyByBuiltin(from: string, to: string): Promise<void> {
  const builtin = quietly(() => process.getBuiltinModule('node:sqlite')) as Builtin;
  const source = named(
    () => new builtin.DatabaseSync(from, { enableForeignKeyConstraints: false }),
  );
  try {
    // In one step: in several, a writer would make it begin again.
    await builtin.backup(source, to, { rate: MOST_PAGES }).catch((error: unknown) =>
      named(() => {
        throw error;
      }),
    );
  } finally {
    source.close();
  }
}

/** More pages than a database has. */
const MOST_PAGES = 2 ** 31 - 1;

/** Node 22 and 24 warn of the module when it is loaded: what is stored with it is plain SQLite. */
function quietly<T>(load: () => T): T {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}

class BuiltinConnection implements SqliteConnection {
  readonly #database: BuiltinDatabase;

  constructor({ DatabaseSync }: Builtin, file: string) {
    // As SQLite has it by itself.
    this.#database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  }

  get isOpen(): boolean {
    return this.#database.isOpen;
  }

  get inTransaction(): boolean {
    return this.#database.isOpen && this.#database.isTransaction;
  }

  exec(text: string): void {
    named(() => this.#database.exec(text));
  }

  prepare(text: string): SqliteStatement {
    const prepared = named(() => this.#database.prepare(text));
    prepared.setReturnArrays(true);
    return {
      isReader: prepared.columns().length > 0,
      run: (params) => void named(() => prepared.run(...bound(params))),
      get: (params) => named(() => prepared.get(...bound(params))),
      all: (params) => named(() => prepared.all(...bound(params))),
    };
  }

  close(): void {
    named(() => this.#database.close());
  }
}

/** Node binds bytes of a buffer of length 0 as null; those of a longer buffer stay empty bytes. */
const NO_BYTES = new Uint8Array(new ArrayBuffer(8), 0, 0);

function bound(params: readonly SqlValue[]): readonly SqlValue[] {
  const isEmpty = (value: SqlValue): boolean => value instanceof Uint8Array && value.length === 0;
  return params.some(isEmpty) ? params.map((value) => (isEmpty(value) ? NO_BYTES : value)) : params;
}

/** Names of SQLite's primary result codes, https://www.sqlite.org/rescode.html, that the store tells apart. */
const NAMES: Readonly<Record<number, string>> = {
  3: 'SQLITE_PERM',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  15: 'SQLITE_PROTOCOL',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  23: 'SQLITE_AUTH',
  26: 'SQLITE_NOTADB',
};

/** Runs work; what it throws gets SQLite's name of the error as `code`. */
function named<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && typeof error.errcode === 'number')
      throw Object.assign(error, { code: NAMES[error.errcode & 0xff] ?? 'SQLITE_ERROR' });
    throw error;
  }
}
