/**
 * SQLite through a driver (`sqlite-driver.ts`), as the {@link SqlDatabase} of the SQL store.
 *
 * Durability: the database runs in WAL mode. With `synchronous: 'normal'` (the default) an acknowledged write has
 * reached the operating system: it survives the end of the process by any signal. If the whole machine loses power, the
 * last writes since the most recent checkpoint may be missing, and the database is whole; closing a store and giving
 * space back (as at the end of a run) are checkpoints. With `'full'` each write also waits for the disk and survives
 * power loss; measured (bench/storage.mjs), that makes a small append five to ten times and a large one two to four times as slow. What
 * several callers write at once is then committed together (`commit-group.ts`).
 */
import { accessSync, constants, statSync } from 'node:fs';
import { SessionStoreError } from '../../../base/errors.ts';
import { Mutex } from '../../../base/mutex.ts';
import { nextTask } from '../../../base/next-task.ts';
import { measured } from '../../../base/thread/thread-time.ts';
import { migrateStep, SQL_LAYOUT_VERSION } from '../sql-layout.ts';
import {
  numberCell,
  ONLY_ATTEMPT,
  sql,
  type SqlAttempt,
  type DatabaseSafety,
  type SqlBatch,
  type SqlCall,
  type SqlDatabase,
  type SqlRow,
  type SqlWork,
} from '../sql-database.ts';
import { CommitGroup } from './commit-group.ts';
import { loadSqlite, type SqliteConnection, type SqliteStatement } from './sqlite-driver.ts';
import { isBusy, notADatabase, sqliteFailure } from './sqlite-errors.ts';

/** How far a write has to come before it counts: to the operating system, or to the disk. */
export type Synchronous = 'normal' | 'full';

/** How a database is opened. */
export type SqliteConfig = {
  readonly synchronous: Synchronous;
  /** How long to wait, in milliseconds, while other processes write. */
  readonly busyTimeoutMs: number;
};

/** The defaults of {@link openSqlite}. */
export const DEFAULT_SQLITE_CONFIG: SqliteConfig = Object.freeze({
  synchronous: 'normal',
  busyTimeoutMs: 15_000,
});

/** SQLite's own sleep when a lock is taken: short, since it stops the thread; longer waits give the thread back. */
const SHORT_WAIT_MS = 2;
const MAX_PAUSE_MS = 25;
/** How long the last write of a process may stop the thread. */
const LAST_MOMENT_MS = 5000;
/** Small pages: an append rewrites seven pages besides its bytes. */
const PAGE_BYTES = 4096;
/** The log is folded into the database file after 8 MiB, in a turn of its own: that stops the thread for some 10 ms. */
const FOLD_BYTES = 8 << 20;
/** What a transaction writes beside bytes of segments and blobs. */
const TRANSACTION_BYTES = 8 * PAGE_BYTES;
/** A commit folds the log where it has grown to so much: 16 MiB, which others have written; 8 where each commit waits for the disk. */
const CHECKPOINT_PAGES = { normal: 4096, full: 2048 };
/** The log is cut to so much. */
const LOG_BYTES = 16 << 20;
/** So many KiB of pages stay in memory, where a transaction needs them: SQLite's 2 MiB are too few for the facts of hundreds of runs. */
const CACHE_KIB = 16_384;
/** Pages given back in one transaction: some 5 ms. */
const RECLAIM_PAGES = 1000;
/** SQLite takes a file smaller than any page for an empty database and writes over it. */
const SMALLEST_PAGE_BYTES = 512;
const MAX_STATEMENTS = 200;

/**
 * Opens the database file, makes it if there is none, and brings its layout up to date.
 *
 * @throws {SessionStoreError} `corrupt`, `unwritable`, `full`, `busy`, `version`, `failed`
 */
export async function openSqlite(
  path: string,
  config: Partial<SqliteConfig> = {},
): Promise<SqlDatabase> {
  const isNew = checkFile(path);
  const connect = loadSqlite();
  const effective = { ...DEFAULT_SQLITE_CONFIG, ...config };
  let database: SqliteDatabase;
  try {
    database = new SqliteDatabase(connect(path), path, effective.busyTimeoutMs);
  } catch (error) {
    throw sqliteFailure(error, path);
  }
  try {
    await database.prepare(isNew, effective.synchronous);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** Which layouts of a database a reader takes: the current one, or any, for what copies or examines the database. */
export type ReadableLayouts = 'current' | 'any';

/**
 * Opens a database file that is only read, as it is: no log, no migration.
 *
 * @param file what the driver opens: a path, or a `file:` URI with settings
 * @param path names the database in messages
 * @param layouts default `current`
 * @throws {SessionStoreError} as {@link openSqlite}; `version` where the layout is not one of `layouts`: an older one is brought up
 *   to date by a writer only
 */
export async function openSqliteForReading(
  file: string,
  path: string,
  layouts: ReadableLayouts = 'current',
): Promise<SqlDatabase> {
  const connect = loadSqlite();
  let database: SqliteDatabase;
  try {
    database = new SqliteDatabase(connect(file), path, DEFAULT_SQLITE_CONFIG.busyTimeoutMs, true);
  } catch (error) {
    throw sqliteFailure(error, path);
  }
  try {
    await database.prepareForReading(layouts);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

class SqliteDatabase implements SqlDatabase {
  readonly name: string;
  readonly isReadOnly: boolean;
  readonly #database: SqliteConnection;
  readonly #busyTimeoutMs: number;
  readonly #statements = new Map<string, SqliteStatement>();
  readonly #writes = new Mutex();
  #isDurable = false;
  /** About how much was written since the log was folded. */
  #unfoldedBytes = 0;
  /** Where each commit waits for the disk, those that wait at once do so together. */
  #group: CommitGroup | undefined;

  constructor(
    database: SqliteConnection,
    path: string,
    busyTimeoutMs: number,
    isReadOnly: boolean = false,
  ) {
    this.name = path;
    this.isReadOnly = isReadOnly;
    this.#database = database;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  /** Sets the connection up, refuses databases of other programs, migrates. */
  async prepare(isNew: boolean, synchronous: Synchronous): Promise<void> {
    await this.#retry(() => {
      this.#pragma(`busy_timeout = ${SHORT_WAIT_MS}`);
      if (isNew) {
        this.#pragma(`page_size = ${PAGE_BYTES}`);
        this.#pragma('auto_vacuum = INCREMENTAL');
      } else {
        this.#refuseForeign();
      }
      this.#pragma('journal_mode = WAL');
      this.#pragma(`synchronous = ${synchronous === 'full' ? 'FULL' : 'NORMAL'}`);
      // On macOS the disk is told to write as well; elsewhere this changes nothing.
      if (synchronous === 'full') this.#pragma('fullfsync = ON');
      this.#pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES[synchronous]}`);
      this.#pragma(`cache_size = -${CACHE_KIB}`);
      this.#pragma(`journal_size_limit = ${LOG_BYTES}`);
      this.#pragma('temp_store = MEMORY');
    });
    if ((await this.#layoutVersion()) !== SQL_LAYOUT_VERSION) {
      let isBehind = true;
      while (isBehind)
        isBehind = await this.transaction(() => migrateStep(`The database ${this.name}`));
    }
    if (synchronous !== 'full') return;
    this.#isDurable = true;
    this.#group = new CommitGroup({
      run: (text) => this.#run(text),
      drive: (work) => this.#drive(() => work(ONLY_ATTEMPT)),
      transact: (work) => this.#transact(work),
      isInTransaction: () => this.#database.inTransaction,
      exclusively: (work) => this.#writes.run(work),
      retry: (work) => this.#retry(work),
      failure: (error) => sqliteFailure(error, this.name),
    });
  }

  /** Sets a connection up that only reads; refuses databases of other programs and of other layouts. */
  async prepareForReading(layouts: ReadableLayouts): Promise<void> {
    await this.#retry(() => {
      this.#pragma(`busy_timeout = ${SHORT_WAIT_MS}`);
      this.#refuseForeign();
      this.#pragma('temp_store = MEMORY');
    });
    if (layouts === 'any') return;
    const version = await this.#layoutVersion();
    if (version === SQL_LAYOUT_VERSION) return;
    throw new SessionStoreError(
      'version',
      version > SQL_LAYOUT_VERSION
        ? `The database ${this.name} was written by a newer version of Quark. Update quark-sdk to read it.`
        : `The database ${this.name} was written by an earlier version of Quark and cannot be brought up to date, as it can only be read. Copy the folder to where it can be written, and open the copy.`,
      { details: { path: this.name, version, expected: SQL_LAYOUT_VERSION } },
    );
  }

  read<T>(work: () => SqlWork<T>): Promise<T> {
    return this.#retry(() => this.#drive(work));
  }

  async transaction<T>(work: (attempt: SqlAttempt) => SqlWork<T>): Promise<T> {
    this.#checkWritable();
    if (this.#group !== undefined) return this.#group.run(work);
    const result = await this.#writes.run(() => this.#retry(() => this.#transact(work)));
    this.#unfoldedBytes += TRANSACTION_BYTES;
    if (this.#unfoldedBytes >= FOLD_BYTES) void this.#fold();
    return result;
  }

  transactionNow<T>(work: (attempt: SqlAttempt) => SqlWork<T>): T {
    this.#checkWritable();
    try {
      this.#pragma(`busy_timeout = ${Math.min(LAST_MOMENT_MS, this.#busyTimeoutMs)}`);
      return this.#transact(work);
    } catch (error) {
      throw sqliteFailure(error, this.name);
    } finally {
      this.#pragma(`busy_timeout = ${SHORT_WAIT_MS}`);
    }
  }

  async safety(): Promise<DatabaseSafety> {
    return { isDurable: this.#isDurable, losesWithService: true, origin: null };
  }

  async reclaimSpace(): Promise<void> {
    this.#checkWritable();
    for (;;) {
      const isDone = await this.#writes.run(() =>
        this.#retry(() => {
          this.#database.exec(`PRAGMA incremental_vacuum(${RECLAIM_PAGES})`);
          return this.#number('PRAGMA freelist_count') === 0;
        }),
      );
      // Pages that move are in the log now.
      this.#unfoldedBytes += RECLAIM_PAGES * PAGE_BYTES;
      if (this.#unfoldedBytes >= FOLD_BYTES) await this.#fold();
      await nextTask();
      if (isDone) break;
    }
    await this.#retry(() => this.#execute(sql('PRAGMA wal_checkpoint(TRUNCATE)')));
  }

  async close(): Promise<void> {
    await this.#group?.settle();
    await this.#writes.run(async () => {
      if (!this.#database.isOpen) return;
      try {
        if (!this.isReadOnly) this.#pragma('wal_checkpoint(TRUNCATE)');
      } catch {
        // The log stays and is read at the next opening: nothing is lost.
      }
      this.#statements.clear();
      this.#database.close();
    });
  }

  /** Folds the log as far as readers allow. A commit that finds the log longer does it again, and says what failed. */
  async #fold(): Promise<void> {
    this.#unfoldedBytes = 0;
    await nextTask();
    await this.#writes.run(async () => {
      try {
        if (this.#database.isOpen) this.#pragma('wal_checkpoint(PASSIVE)');
      } catch {
        // The log stays.
      }
    });
  }

  #checkWritable(): void {
    if (!this.isReadOnly) return;
    throw new SessionStoreError(
      'read_only',
      `${this.name} can only be read: it lies on read-only media, or this user may not write it or its folder. Nothing was changed.`,
      { details: { path: this.name } },
    );
  }

  #transact<T>(work: (attempt: SqlAttempt) => SqlWork<T>): T {
    return measured('flush', () => this.#transactNow(work));
  }

  #transactNow<T>(work: (attempt: SqlAttempt) => SqlWork<T>): T {
    this.#run('BEGIN IMMEDIATE');
    try {
      const result = this.#drive(() => work(ONLY_ATTEMPT));
      this.#run('COMMIT');
      return result;
    } catch (error) {
      // After a full disk and other severe errors SQLite has rolled back by itself.
      if (this.#database.inTransaction) this.#run('ROLLBACK');
      throw error;
    }
  }

  #drive<T>(work: () => SqlWork<T>): T {
    const steps = work();
    let step = steps.next();
    while (step.done !== true) step = steps.next(this.#answer(step.value));
    return step.value;
  }

  #answer(asked: SqlCall | SqlBatch): readonly SqlRow[] {
    if (!('calls' in asked)) return this.#execute(asked);
    for (const call of asked.calls) asked.answers.push(this.#execute(call));
    return [];
  }

  #execute(call: SqlCall): readonly SqlRow[] {
    const statement = this.#statement(call.text);
    if (statement.isReader && call.isSingle) {
      const row = statement.get(call.params);
      return row === undefined ? [] : [row];
    }
    if (statement.isReader) return statement.all(call.params);
    statement.run(call.params);
    for (const param of call.params)
      if (param instanceof Uint8Array) this.#unfoldedBytes += param.byteLength;
    return [];
  }

  #run(text: string): void {
    this.#statement(text).run([]);
  }

  #statement(text: string): SqliteStatement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const statement = this.#database.prepare(toSqlite(text));
    this.#statements.set(text, statement);
    return statement;
  }

  #pragma(text: string): void {
    this.#database.exec(`PRAGMA ${text}`);
  }

  #number(text: string): number {
    const [row] = this.#execute(sql(text));
    return row === undefined ? 0 : numberCell(row, 0);
  }

  async #layoutVersion(): Promise<number> {
    return this.#retry(() => {
      const count = this.#number("SELECT count(*) FROM sqlite_master WHERE name = 'quark_layout'");
      return count === 0 ? 0 : this.#number('SELECT max(version) FROM quark_layout');
    });
  }

  #refuseForeign(): void {
    const tables = this.#number("SELECT count(*) FROM sqlite_master WHERE type = 'table'");
    const own = this.#number("SELECT count(*) FROM sqlite_master WHERE name = 'quark_layout'");
    if (tables === 0 || own === 1) return;
    throw new SessionStoreError(
      'corrupt',
      `${this.name} is an SQLite database of another program. Nothing was changed. Choose another storage directory, or move the file away.`,
      { details: { path: this.name } },
    );
  }

  /** Runs work again while other processes hold the lock, giving the thread back in between. */
  async #retry<T>(work: () => T): Promise<T> {
    const start = performance.now();
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        return work();
      } catch (error) {
        const waitedMs = performance.now() - start;
        if (!isBusy(error) || waitedMs > this.#busyTimeoutMs)
          throw sqliteFailure(error, this.name, waitedMs);
      }
      const jitteredMs = pauseMs * (0.5 + Math.random());
      await new Promise((resolve) => {
        setTimeout(resolve, jitteredMs);
      });
    }
  }
}

/** What SQLite says in other words than PostgreSQL. */
export function toSqlite(text: string): string {
  return text
    .replaceAll(/\btext\(([^)]*)\)/g, 'CAST($1 AS BLOB)')
    .replaceAll(' FOR UPDATE', '')
    .replaceAll(' FOR SHARE', '')
    .replaceAll('BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY', 'INTEGER PRIMARY KEY')
    .replaceAll('BIGINT PRIMARY KEY', 'INTEGER PRIMARY KEY')
    .replaceAll(' COLLATE "C"', '')
    .replaceAll('/* WITHOUT ROWID */', 'WITHOUT ROWID')
    .replaceAll('BYTEA', 'BLOB');
}

/**
 * Whether the file has yet to be made. It is looked at and never opened: a process that closes a file loses all its
 * locks on it, also those of the connections it has, and the next process to leave would delete the log under them.
 */
function checkFile(path: string): boolean {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined || found.size === 0) return true;
    accessSync(path, constants.R_OK | constants.W_OK);
    if (found.isFile() && found.size < SMALLEST_PAGE_BYTES) throw notADatabase(path);
    return false;
  } catch (error) {
    throw sqliteFailure(error, path);
  }
}
