/** Makes a store of a snapshot: beside its folder, checked, then moved to it in one step. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isStoreError, SessionStoreError } from '../../base/errors.ts';
import { createBlobFiles } from '../../store/sql/node/blob-files.ts';
import { lockDatabase, lockFile, type LockedDatabase } from '../../store/sql/node/file-lock.ts';
import { locateStore, openFileSpaces } from '../../store/sql/node/file-storage.ts';
import { makeFolder } from '../../store/sql/node/folders.ts';
import { checkSqliteFile } from '../../store/sql/node/sqlite-check.ts';
import { sqliteFailure } from '../../store/sql/node/sqlite-errors.ts';
import { beginBlobs } from '../../store/sql/sql-blob-sweep.ts';
import { SQL_LAYOUT_VERSION } from '../../store/sql/sql-layout.ts';
import type { StoreLocation } from '../../store/store.ts';
import { assembleDatabase, readContent } from './assemble.ts';
import { BackupFolder, namesIn } from './backup-folder.ts';
import { finishRestored, type DeletedAgain, type DeletedSince } from './finish-restored.ts';
import type { Snapshot } from './snapshot.ts';
import {
  mergeRowTombstones,
  readLacking,
  readRowTombstones,
  ROW_TOMBSTONES,
  rowTombstonesOf,
  type LackingSegment,
} from './row-tombstones.ts';
import {
  mergeTombstones,
  readNamedTombstones,
  readTombstoneFile,
  readTombstones,
  type Tombstone,
} from './tombstones.ts';

/** How a backup is restored. */
export type RestoreOptions = {
  /** The snapshot, or the beginning of its id. Default: the newest. */
  readonly snapshotId?: string | undefined;
  /** Moves a store that is in the folder aside, to `.quark-replaced-TIME`. Default false: the folder must have none. */
  readonly replaces?: boolean;
  /** More files of tombstones, beside that of the backup and those of a store that is replaced. */
  readonly tombstones?: readonly string[];
};

/** What a restore has come to. */
export type RestoreReport = {
  readonly snapshotId: string;
  /** The moment that the store is of, in UTC epoch milliseconds. */
  readonly madeAtMs: number;
  /** The folder with the store. */
  readonly path: string;
  readonly databaseBytes: number;
  readonly blobCount: number;
  /** Blobs whose bytes were missing when the backup was made: the artifacts that name them cannot be read. */
  readonly lostBlobs: readonly string[];
  /** Runs that the snapshot has and that were deleted after it. */
  readonly deletedRunIds: readonly string[];
  /** Rows of tables, artifacts and metrics that the snapshot has and that were deleted after it. */
  readonly deletedRows: number;
  /** Where the store is that was there before. */
  readonly replacedPath: string | null;
  /** True: the tombstones of the store that was there could not be read, as it is damaged. */
  readonly isOldUnreadable: boolean;
};

const DRAFT = '.quark-restoring-';

/**
 * Restores a snapshot into a folder. Everything is hashed while it is read, the database is checked by SQLite, and the store
 * appears in the folder as a whole or not at all. Runs that were deleted after the snapshot stay away, and the epoch of the
 * database changes, so that clients compare what they have with what it has, and send again.
 *
 * @param destination the folder of the backup
 * @param directory the folder that the store is restored into: the store is in `.quark` there
 * @throws {SessionStoreError} `missing`; `rejected` when there is a store and `replaces` is not set; `busy` when a process uses it;
 *   `version` when the snapshot is of a newer layout; `corrupt`, `full`, `unwritable`
 * @example
 * ```js
 * import { listRuns, openStorage, TrainingSession } from 'quark-sdk';
 * import { backupStore, restoreBackup } from 'quark-sdk/node';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, () => {});
 * await backupStore('quark-runs', 'backups');
 * const { path, deletedRunIds } = await restoreBackup('backups', 'restored');
 * const store = await openStorage(path);
 * console.log((await listRuns(store)).length, deletedRunIds); // 1 []
 * await store.close();
 * ```
 */
export async function restoreBackup(
  destination: string,
  directory: string,
  options: RestoreOptions = {},
): Promise<RestoreReport> {
  const folder = new BackupFolder(destination);
  const target = locateStore(resolve(directory));
  return folder.locked('shared', 10_000, async () => {
    const snapshot = await folder.snapshot(options.snapshotId);
    if (snapshot.layout > SQL_LAYOUT_VERSION) throw newerLayout(snapshot);
    await makeFolder(target.storageDir);
    await checkTarget(target, options.replaces === true);
    const isThere = existsSync(target.dbPath);
    const locked = isThere ? await lockDatabase(target.dbPath) : undefined;
    try {
      const old = oldTombstones(locked, isThere);
      const given = await Promise.all([
        readTombstoneFile(join(folder.path, 'tombstones')),
        ...(options.tombstones ?? []).map(readNamedTombstones),
      ]);
      const tombstones = mergeTombstones(...given, old.found);
      await removeAbandoned(target.storageDir);
      const draft = join(target.storageDir, `${DRAFT}${randomBytes(6).toString('hex')}`);
      await makeFolder(join(draft, '.quark'));
      const releaseDraft = await lockFile(join(draft, 'lock'), 'exclusive', 0);
      try {
        await writeContent(folder, snapshot, locateStore(draft));
        const rows = mergeRowTombstones(
          await readRowTombstones(join(folder.path, ROW_TOMBSTONES)),
          await rowTombstonesOf(old.lacking),
        );
        const again = await finish(draft, { tombstones, rows }, snapshot);
        const replacedPath = await moveInto(draft, target, locked);
        return {
          snapshotId: snapshot.id,
          madeAtMs: snapshot.madeAtMs,
          path: target.storageDir,
          databaseBytes: snapshot.pageCount * snapshot.pageBytes,
          blobCount: snapshot.blobs.length,
          lostBlobs: snapshot.lostBlobs,
          deletedRunIds: again.runIds,
          deletedRows: again.rows,
          replacedPath,
          isOldUnreadable: old.isUnreadable,
        };
      } finally {
        releaseDraft();
        await rm(draft, { recursive: true, force: true });
      }
    } finally {
      locked?.release();
    }
  });
}

async function checkTarget({ storeRoot }: StoreLocation, replaces: boolean): Promise<void> {
  const found = (await namesIn(storeRoot)) ?? [];
  if (found.length === 0 || replaces) return;
  throw new SessionStoreError(
    'rejected',
    `There is a store in ${storeRoot}. Nothing was changed. Restore into another folder; or add --replace, which moves this store aside.`,
    { details: { field: 'directory', value: storeRoot, rule: 'a folder without a store' } },
  );
}

type OldTombstones = {
  readonly found: readonly Tombstone[];
  readonly lacking: readonly LackingSegment[];
  readonly isUnreadable: boolean;
};

/** What the store that is there says of deleted runs. */
function oldTombstones(locked: LockedDatabase | undefined, isThere: boolean): OldTombstones {
  if (!isThere) return { found: [], lacking: [], isUnreadable: false };
  try {
    return {
      found: locked?.read(readTombstones) ?? [],
      lacking: locked?.read(readLacking) ?? [],
      isUnreadable: locked === undefined,
    };
  } catch {
    return { found: [], lacking: [], isUnreadable: true };
  }
}

async function writeContent(
  folder: BackupFolder,
  snapshot: Snapshot,
  { dbPath, storeRoot }: StoreLocation,
): Promise<void> {
  await assembleDatabase(folder, snapshot, dbPath);
  const files = createBlobFiles(storeRoot);
  for (const { sha256, sizeBytes } of snapshot.blobs)
    await files.put(sha256, await readContent(folder.blobs, sha256, sizeBytes, snapshot.id));
  const [problem] = await checkSqliteFile(dbPath);
  if (problem === undefined) return;
  throw new SessionStoreError(
    'corrupt',
    `The database of snapshot ${snapshot.id} is damaged: ${problem}. Nothing was changed. Use another snapshot ("quark backup list").`,
    { details: { snapshotId: snapshot.id, problem } },
  );
}

async function finish(
  draft: string,
  deleted: DeletedSince,
  { blobs }: Snapshot,
): Promise<DeletedAgain> {
  const spaces = await openFileSpaces(draft);
  try {
    const files = blobs.map(({ sha256 }) => sha256);
    await spaces.database.transaction(() => beginBlobs(files));
    return await finishRestored(spaces, locateStore(draft), deleted, Date.now());
  } finally {
    await spaces.close();
  }
}

/** Moves the store to its folder; returns where the one is that was there. */
async function moveInto(
  draft: string,
  { storageDir, storeRoot }: StoreLocation,
  locked: LockedDatabase | undefined,
): Promise<string | null> {
  const isThere = ((await namesIn(storeRoot)) ?? []).length > 0;
  const aside = join(
    storageDir,
    `.quark-replaced-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`,
  );
  try {
    // Under the lock of its database: who opens it meanwhile waits, and then finds the restored one.
    if (isThere) await rename(storeRoot, aside);
    // Refused where somebody has made a store in between.
    await rename(join(draft, '.quark'), storeRoot);
  } catch (error) {
    throw sqliteFailure(error, storeRoot);
  } finally {
    locked?.release();
  }
  return isThere ? aside : null;
}

/** Removes what killed restores have left: drafts whose lock nobody has. */
async function removeAbandoned(storageDir: string): Promise<void> {
  for (const name of (await namesIn(storageDir)) ?? []) {
    if (!name.startsWith(DRAFT)) continue;
    const path = join(storageDir, name);
    try {
      (await lockFile(join(path, 'lock'), 'exclusive', 0))();
    } catch (error) {
      if (isStoreError(error, 'busy')) continue;
    }
    await rm(path, { recursive: true, force: true });
  }
}

function newerLayout({ id, layout, madeBy }: Snapshot): SessionStoreError {
  return new SessionStoreError(
    'version',
    `Snapshot ${id} was made by Quark ${madeBy} of a newer layout (${layout}; this one knows up to ${SQL_LAYOUT_VERSION}). Nothing was changed. Update quark-sdk to restore it.`,
    { details: { snapshotId: id, found: layout, known: SQL_LAYOUT_VERSION } },
  );
}
