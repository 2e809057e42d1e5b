/**
 * The pages of an SQLite database as of one moment, read while other processes write. They are read through a transaction of
 * SQLite's own (the virtual table `sqlite_dbpage`), so what the log has and the file does not is in them, and no page is of two
 * states. The log cannot be folded into the file for as long as the transaction lasts: close it soon.
 */
import { existsSync } from 'node:fs';
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
 * @throws {SessionStoreError} `missing`, `corrupt`, `busy`, `failed`
 */
export async function openDatabasePages(path: string): Promise<DatabasePages> {
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
