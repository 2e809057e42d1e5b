/** Which SQLite a process works with: the native one that the package brings, else that of Node. One of them for the whole process. */
import { SessionStoreError } from '../../../base/errors.ts';
import { reasonOf } from '../../../base/node/load-driver.ts';
import type { SqlRow, SqlValue } from '../sql-database.ts';
import { builtinSqlite } from './sqlite-builtin.ts';
import { nativePackages, nativeSqlite } from './sqlite-native.ts';

/** A prepared statement. Rows are arrays of cells. */
export interface SqliteStatement {
  /** Whether it gives rows. */
  readonly isReader: boolean;
  run(params: readonly SqlValue[]): void;
  get(params: readonly SqlValue[]): SqlRow | undefined;
  all(params: readonly SqlValue[]): readonly SqlRow[];
}

/** An open database. What its methods throw has the name of SQLite's error as `code`, such as `SQLITE_BUSY`. */
export interface SqliteConnection {
  readonly isOpen: boolean;
  readonly inTransaction: boolean;
  exec(text: string): void;
  prepare(text: string): SqliteStatement;
  close(): void;
}

/** Opens a file, or a `file:` URI with settings. */
export type SqliteDriver = (file: string) => SqliteConnection;

let chosen: SqliteDriver | undefined;

/**
 * The driver of this process, chosen once: two copies of SQLite in one process would undo each other's locks on a file.
 *
 * @throws {SessionStoreError} `failed` where there is none
 */
export function loadSqlite(): SqliteDriver {
  chosen ??= chooseSqlite(nativeSqlite, builtinSqlite);
  return chosen;
}

/**
 * The first driver that can be had.
 *
 * @throws {SessionStoreError} `failed` where none can; the message names the package to install
 */
export function chooseSqlite(
  native: () => SqliteDriver,
  builtin: () => SqliteDriver | undefined,
): SqliteDriver {
  try {
    return native();
  } catch (cause) {
    const found = builtin();
    if (found !== undefined) return found;
    const [name = 'libsql'] = nativePackages();
    const install = `npm install ${name}@${NATIVE_VERSION}`;
    throw new SessionStoreError(
      'failed',
      `Storing in a folder needs SQLite: Node 22.16 or later has it, and this is Node ${process.versions.node}; its package ${name} could not be loaded (${reasonOf(cause)}). Install it with: ${install}; a server that is deployed with traced files only, as by "output: 'standalone'" of Next, takes it along by outputFileTracingIncludes: { "/**": ["./node_modules/@libsql/**"] }. Or use "memory:" or the address of a Quark service as storage.`,
      { details: { package: name, install }, cause },
    );
  }
}

/** The version of the native packages that `optionalDependencies` names. */
const NATIVE_VERSION = '0.5.29';
