/**
 * SQLite as the native packages `@libsql/...` have it: one a platform, without the package `libsql` itself, which would bring all of
 * them. Their functions are those that its `index.js` calls, in the version that `optionalDependencies` names.
 *
 * What is to be known of libsql 0.5: a lone object (bytes, null) given as the only parameter is taken for named parameters, so
 * parameters always travel as one array; binding a boolean, or reading a text cell that is not UTF-8, aborts the process, so text is
 * read as bytes; a closed database lets go of its files when the last prepared statement has been collected.
 */
import { loadDriver } from '../../../base/node/load-driver.ts';
import type { SqlRow, SqlValue } from '../sql-database.ts';
import type { SqliteConnection, SqliteDriver, SqliteStatement } from './sqlite-driver.ts';

type Handle = { readonly brand: 'handle' };

/** What a package exports, as far as it is used. */
type Native = {
  databaseOpen(
    file: string,
    authToken: string,
    cipher: string,
    key: string,
    timeout: number,
    remoteKey: string,
  ): Handle;
  databaseInTransaction(database: Handle): boolean;
  databaseExecSync(this: Handle, text: string): void;
  databasePrepareSync(this: Handle, text: string): Handle;
  databaseClose(this: Handle): void;
  statementRaw(this: Handle, isRaw: boolean): void;
  statementIsReader(this: Handle): boolean;
  statementGet(this: Handle, params: readonly SqlValue[]): SqlRow | undefined;
  statementRun(this: Handle, params: readonly SqlValue[]): unknown;
  statementRowsSync(this: Handle, params: readonly SqlValue[]): Handle;
  rowsNext(this: Handle, into: (SqlRow | undefined)[]): void;
};

/** Rows that cross from native code at a time. */
const ROWS_AT_ONCE = 100;

/**
 * Names of the packages that may have SQLite for a machine, the likeliest first. The packages for musl are not among
 * `optionalDependencies`: npm would install them beside those for glibc, 10 MB each.
 */
export function nativePackages({
  platform,
  arch,
}: { readonly platform: string; readonly arch: string } = process): readonly string[] {
  if (platform === 'win32') return [`@libsql/win32-${arch}-msvc`];
  if (platform !== 'linux') return [`@libsql/${platform}-${arch}`];
  const libraries = arch === 'arm' ? ['gnueabihf', 'musleabihf'] : ['gnu', 'musl'];
  return libraries.map((library) => `@libsql/linux-${arch}-${library}`);
}

/** @throws what loading the first of the packages threw, where none can be loaded */
export function nativeSqlite(): SqliteDriver {
  let reason: unknown;
  for (const name of nativePackages()) {
    try {
      const native = loadDriver((require): Native => require(name));
      return (file) => new NativeConnection(native, file);
    } catch (cause) {
      reason ??= cause;
    }
  }
  throw reason;
}

class NativeConnection implements SqliteConnection {
  readonly #native: Native;
  readonly #handle: Handle;
  #isOpen = true;

  constructor(native: Native, file: string) {
    this.#native = native;
    this.#handle = native.databaseOpen(file, '', 'aes256cbc', '', 0, '');
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get inTransaction(): boolean {
    return this.#native.databaseInTransaction(this.#handle);
  }

  exec(text: string): void {
    this.#native.databaseExecSync.call(this.#handle, text);
  }

  prepare(text: string): SqliteStatement {
    return new NativeStatement(
      this.#native,
      this.#native.databasePrepareSync.call(this.#handle, text),
    );
  }

  close(): void {
    this.#native.databaseClose.call(this.#handle);
    this.#isOpen = false;
  }
}

class NativeStatement implements SqliteStatement {
  readonly isReader: boolean;
  readonly #native: Native;
  readonly #handle: Handle;

  constructor(native: Native, handle: Handle) {
    this.#native = native;
    this.#handle = handle;
    this.isReader = native.statementIsReader.call(handle);
    if (this.isReader) native.statementRaw.call(handle, true);
  }

  run(params: readonly SqlValue[]): void {
    this.#native.statementRun.call(this.#handle, params);
  }

  get(params: readonly SqlValue[]): SqlRow | undefined {
    return this.#native.statementGet.call(this.#handle, params);
  }

  all(params: readonly SqlValue[]): readonly SqlRow[] {
    const rows = this.#native.statementRowsSync.call(this.#handle, params);
    const found: SqlRow[] = [];
    const some = Array.from<SqlRow | undefined>({ length: ROWS_AT_ONCE });
    for (;;) {
      some.fill(undefined);
      this.#native.rowsNext.call(rows, some);
      for (const row of some) {
        if (!row) return found;
        found.push(row);
      }
    }
  }
}
