/**
 * Locks between processes, for folders that several programs work in. A lock is that of SQLite on a file of no bytes, so it ends
 * with the process that has it, in whatever way that ends.
 */
import { messageOf, SessionStoreError } from '../../../base/errors.ts';
import type { SqlWork } from '../sql-database.ts';
import { loadSqlite, type SqliteConnection } from './sqlite-driver.ts';
import { toSqlite } from './sqlite.ts';
import { isBusy, sqliteFailure } from './sqlite-errors.ts';

/**
 * - `shared`: any number, beside one `write`.
 * - `write`: one at a time.
 * - `exclusive`: alone.
 */
export type LockKind = 'shared' | 'write' | 'exclusive';

const BEGIN = { shared: 'BEGIN', write: 'BEGIN IMMEDIATE', exclusive: 'BEGIN EXCLUSIVE' } as const;
const RETRY_MS = 50;

/**
 * Takes a lock and returns the function that releases it.
 *
 * @param path a file that is made where it is missing; nothing is written to it
 * @param waitMs how long to wait for others, in milliseconds
 * @throws {SessionStoreError} `busy` when others have it, `unwritable`
 */
export async function lockFile(path: string, kind: LockKind, waitMs: number): Promise<() => void> {
  const connect = loadSqlite();
  let database;
  try {
    database = connect(path);
  } catch (error) {
    throw sqliteFailure(error, path);
  }
  const start = performance.now();
  for (;;) {
    try {
      database.exec(BEGIN[kind]);
      // The shared lock of SQLite comes with the first read.
      database.exec('SELECT count(*) FROM sqlite_master');
      break;
    } catch (error) {
      if (database.inTransaction) database.exec('ROLLBACK');
      if (!isBusy(error) || performance.now() - start >= waitMs) {
        database.close();
        throw isBusy(error) ? lockTaken(path, error) : sqliteFailure(error, path);
      }
    }
    await new Promise((resolve) => {
      setTimeout(resolve, RETRY_MS);
    });
  }
  return () => {
    if (!database.isOpen) return;
    if (database.inTransaction) database.exec('ROLLBACK');
    database.close();
  };
}

function lockTaken(path: string, cause: unknown): SessionStoreError {
  return new SessionStoreError(
    'busy',
    `Another process has the lock ${path}. Nothing was changed. Try again when it has ended. (${messageOf(cause)})`,
    { details: { path }, cause },
  );
}

/** A database that nobody else has open. */
export interface LockedDatabase {
  /** Runs work that only reads. @throws what the driver throws, where the database is damaged */
  read<T>(work: () => SqlWork<T>): T;
  release(): void;
}

/**
 * Takes a database for itself alone, so that it can be moved; undefined for a file that SQLite cannot open, which is nobody's.
 *
 * @throws {SessionStoreError} `busy` when a process has it open
 */
export async function lockDatabase(path: string): Promise<LockedDatabase | undefined> {
  const connect = loadSqlite();
  let database: SqliteConnection;
  try {
    database = connect(path);
  } catch {
    return undefined;
  }
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!isBusy(error)) return undefined;
    throw new SessionStoreError(
      'busy',
      `${path} is open in another process. Nothing was changed. End what records into it or serves it first.`,
      { details: { path }, cause: error },
    );
  }
  return {
    read(work) {
      const steps = work();
      let step = steps.next();
      while (step.done !== true) {
        const asked = step.value;
        const calls = 'calls' in asked ? asked.calls : [asked];
        const answers = calls.map(({ params, text }) =>
          database.prepare(toSqlite(text)).all(params),
        );
        if ('calls' in asked) asked.answers.push(...answers);
        step = steps.next('calls' in asked ? [] : (answers[0] ?? []));
      }
      return step.value;
    },
    release() {
      if (!database.isOpen) return;
      if (database.inTransaction) database.exec('ROLLBACK');
      database.close();
    },
  };
}
