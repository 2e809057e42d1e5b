/** Whether SQLite finds its own structures whole. */
import { pathToFileURL } from 'node:url';
import { sql, textCell, type SqlWork } from '../sql-database.ts';
import { openSqliteForReading } from './sqlite.ts';

/** What SQLite finds wrong with its pages and indexes, 100 problems at most; empty when nothing is. */
export function* sqliteProblems(): SqlWork<readonly string[]> {
  // As bytes: a damaged database may have names that are not UTF-8, which the driver does not survive as text.
  // Without a number: newer versions of SQLite take one for the name of a table here.
  const rows = yield sql('SELECT text(integrity_check) FROM pragma_integrity_check');
  const found = rows.map((row) => textCell(row, 0));
  return found.length === 1 && found[0] === 'ok' ? [] : found;
}

/** {@link sqliteProblems} of a file that nobody has open; the file is not changed. @throws {SessionStoreError} `corrupt`, `failed` */
export async function checkSqliteFile(path: string): Promise<readonly string[]> {
  const uri = `${pathToFileURL(path).href}?mode=ro&immutable=1`;
  const database = await openSqliteForReading(uri, path, 'any');
  try {
    return await database.read(sqliteProblems);
  } finally {
    await database.close();
  }
}
