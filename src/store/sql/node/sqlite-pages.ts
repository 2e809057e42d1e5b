/**
 * The pages of an SQLite database as of one moment, read while other processes write. They are read through a transaction of
 * SQLite's own (the virtual table `sqlite_dbpage`), so what the log has and the file does not is in them, and no page is of two
 * states. The log cannot be folded into the file for as long as the transaction lasts: close it soon. The SQLite of Node lacks the
 * table: a copy is made of the whole database, and read.
 */
import { existsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { SessionStoreError } from '../../../base/errors.ts';
import {
  bytesCell,
  numberCell,
  sql,
  sqlOne,
  together,
  type SqlRow,
  type SqlWork,
} from '../sql-database.ts';
import { copyByBuiltin } from './sqlite-builtin.ts';
import { sqliteFailure } from './sqlite-errors.ts';
import { isOnlyRead, openReadOnlySqlite } from './sqlite-read-only.ts';
import { openSqliteForReading } from './sqlite.ts';

/** A database as of one moment. */
export interface DatabasePages {
  /** Bytes of a page: a power of two from 512 to 65,536. */
  readonly pageBytes: number;
  /** How many pages the database has. */
  readonly pageCount: number;
  /** The version of its layout; 0 where no step was made. */
  readonly layout: number;
  /** Runs work that only reads, in the same moment. */
  read<T>(work: () => SqlWork<T>): Promise<T>;
  /** The bytes of `count` pages from page `first` on; the first page of a database is 1. */
  pages(first: number, count: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Ends the moment. */
  close(): Promise<void>;
}

/**
 * Opens a database file of any layout, and fixes the moment. Nothing is migrated or written.
 *
 * @param copy the path of a file that may be made for the copy, and replaced; removed in the end. Without it, there are no pages where
 *   SQLite has no table of them
 * @throws {SessionStoreError} `missing`, `corrupt`, `busy`, `failed`, `full` (the copy)
 */
export async function openDatabasePages(path: string, copy?: string): Promise<DatabasePages> {
  if (!existsSync(path))
    throw new SessionStoreError(
      'missing',
      `There is no database at ${path}. Name the folder that runs were recorded into.`,
      { details: { path } },
    );
  const database = isOnlyRead(path)
    ? await openReadOnlySqlite(path, 'any')
    : await openSqliteForReading(path, path, 'any');
  try {
    if (copy !== undefined && !(await database.read(hasPageTable))) {
      await database.close();
      return await openCopy(path, copy);
    }
    const facts = await database.read(beginMoment);
    return {
      ...facts,
      read: (work) => database.read(work),
      pages: (first, count) => database.read(() => readPages(first, count, facts.pageBytes)),
      async close() {
        // A transaction that ends with its connection is as good.
        await database.read(endMoment).catch(() => undefined);
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The moment as a copy of the database, which nobody else has open. */
async function openCopy(path: string, copy: string): Promise<DatabasePages> {
  await rm(copy, { force: true }); // of one that was killed
  try {
    await copyByBuiltin(path, copy);
    const uri = `${pathToFileURL(copy).href}?mode=ro&immutable=1`;
    const database = await openSqliteForReading(uri, path, 'any');
    const facts = await database.read(beginMoment);
    return {
      ...facts,
      read: (work) => database.read(work),
      pages: (first, count) =>
        bytesOf(copy, (first - 1) * facts.pageBytes, count * facts.pageBytes),
      async close() {
        await database.close();
        await rm(copy, { force: true });
      },
    };
  } catch (error) {
    await rm(copy, { force: true });
    throw sqliteFailure(error, path);
  }
}

async function bytesOf(
  file: string,
  from: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  const handle = await open(file);
  try {
    const { bytesRead } = await handle.read(bytes, 0, length, from);
    if (bytesRead < length) throw new Error('Every page up to the count is there.');
    return bytes;
  } finally {
    await handle.close();
  }
}

function* hasPageTable(): SqlWork<boolean> {
  const found = yield sql("SELECT 1 FROM pragma_module_list WHERE name = 'sqlite_dbpage'");
  return found.length > 0;
}

function* beginMoment(): SqlWork<Pick<DatabasePages, 'pageBytes' | 'pageCount' | 'layout'>> {
  yield sql('BEGIN');
  // The moment is that of the first read.
  const [tables] = yield sql("SELECT count(*) FROM sqlite_master WHERE name = 'quark_layout'");
  const layout =
    countOf(tables) === 0 ? 0 : countOf((yield sql('SELECT max(version) FROM quark_layout'))[0]);
  return {
    layout,
    pageBytes: countOf((yield sql('PRAGMA page_size'))[0]),
    pageCount: countOf((yield sql('PRAGMA page_count'))[0]),
  };
}

function* endMoment(): SqlWork<void> {
  yield sql('COMMIT');
}

function countOf(row: SqlRow | undefined): number {
  return row === undefined ? 0 : numberCell(row, 0);
}

function* readPages(
  from: number,
  count: number,
  pageBytes: number,
): SqlWork<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(count * pageBytes);
  const answers = yield* together(
    Array.from({ length: count }, (_, i) =>
      sqlOne('SELECT data FROM sqlite_dbpage WHERE pgno = ?', from + i),
    ),
  );
  for (const [i, [row]] of answers.entries()) {
    if (row === undefined) throw new Error('Every page up to the count is there.');
    bytes.set(bytesCell(row, 0), i * pageBytes);
  }
  return bytes;
}
