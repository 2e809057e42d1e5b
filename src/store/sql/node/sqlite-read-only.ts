/** Opens SQLite databases that this process may not write: on read-only media, or of another user. */
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdtempSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SqlDatabase } from '../sql-database.ts';
import { sqliteFailure } from './sqlite-errors.ts';
import { openSqliteForReading, type ReadableLayouts } from './sqlite.ts';

/** How often a copy is made anew because somebody began to write. */
const MAX_COPIES = 3;

/** Whether there is a database that this process may read and not write. A writer needs the folder, too, for its log. */
export function isOnlyRead(path: string): boolean {
  if (!may(path, constants.R_OK)) return false;
  const found = statSync(path);
  if (!found.isFile() || found.size === 0) return false;
  return !may(path, constants.W_OK) || !may(dirname(path), constants.W_OK);
}

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/**
 * Opens a database that {@link isOnlyRead}.
 *
 * - Another process has it open (the index of a log exists): commits are visible as they are made, under SQLite's locks.
 * - It is not open, and its log is empty: the file is read in its current state. Later writes are not visible.
 * - It is not open, and a killed writer has left a log: SQLite cannot read a log without an index, and cannot create the index
 *   here. A copy of both files in the temporary folder is read, and removed when the store is closed.
 *
 * @throws {SessionStoreError} `corrupt`, `unwritable`, `busy`, `version`, `failed`
 */
export async function openReadOnlySqlite(
  path: string,
  layouts: ReadableLayouts = 'current',
): Promise<SqlDatabase> {
  const uri = pathToFileURL(path).href;
  if (existsSync(`${path}-shm`))
    return openSqliteForReading(`${uri}?mode=ro&readonly_shm=1`, path, layouts);
  if (!hasLog(path)) return openSqliteForReading(`${uri}?mode=ro&immutable=1`, path, layouts);
  const { folder, file } = copy(path);
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const database = await openSqliteForReading(file, path, layouts);
    return {
      name: database.name,
      isReadOnly: true,
      read: (work) => database.read(work),
      transaction: (work) => database.transaction(work),
      safety: () => database.safety(),
      reclaimSpace: () => database.reclaimSpace(),
      async close() {
        await database.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

function hasLog(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** The database and its log, of one moment: nobody has changed either while they were copied. */
function copy(path: string): { readonly folder: string; readonly file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'quark-read-'));
  const file = join(folder, 'quark.db');
  try {
    for (let copies = 0; copies < MAX_COPIES; copies++) {
      const before = stampOf(path);
      copyFileSync(path, file);
      copyFileSync(`${path}-wal`, `${file}-wal`);
      if (stampOf(path) === before) break;
    }
    // Their modes were copied, too.
    for (const one of [file, `${file}-wal`]) chmodSync(one, 0o600);
    return { folder, file };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw sqliteFailure(error, path);
  }
}

function stampOf(path: string): string {
  return [path, `${path}-wal`]
    .map((one) => {
      const { size, mtimeMs } = statSync(one);
      return `${size} ${mtimeMs}`;
    })
    .join();
}
