/** What is done to a restored store before anybody opens it. */
import { join } from 'node:path';
import { runFolder } from '../../store/sql/node/file-storage.ts';
import { makeFolder } from '../../store/sql/node/folders.ts';
import { sql, textCell, type SqlWork } from '../../store/sql/sql-database.ts';
import type { StoreSpaces } from '../../store/sql/sql-store.ts';
import { NEXT_ORDER } from '../../store/sql/sql-runs.ts';
import { changeEpoch } from '../../store/sql/store-identity.ts';
import type { StoreLocation } from '../../store/store.ts';
import { deleteRowsAgain } from './delete-rows-again.ts';
import type { RowTombstone } from './row-tombstones.ts';
import type { Tombstone } from './tombstones.ts';

/**
 * How long a deleted run of a restored store can be brought back at least, in milliseconds: a week. Its time may have come since the
 * snapshot, or the run was undeleted after it, which nothing in the snapshot says.
 */
export const UNDO_AFTER_RESTORE_MS: number = 7 * 24 * 3_600_000;

/** What was deleted after the snapshot. */
export type DeletedSince = {
  readonly tombstones: readonly Tombstone[];
  readonly rows: readonly RowTombstone[];
};

/** What was done again: ids of runs that the snapshot had, and rows. */
export type DeletedAgain = { readonly runIds: readonly string[]; readonly rows: number };

/** Gives the database a new epoch, applies tombstones, and makes the folders of the runs. */
export async function finishRestored(
  spaces: StoreSpaces,
  location: StoreLocation,
  { rows: rowTombstones, tombstones }: DeletedSince,
  nowMs: number,
): Promise<DeletedAgain> {
  await spaces.database.transaction(() => changeEpoch(nowMs));
  await spaces.database.transaction(() => extendUndo(nowMs + UNDO_AFTER_RESTORE_MS));
  // Before the runs, so that a run that is undeleted later comes back without these rows.
  const rows = await deleteRowsAgain(spaces, rowTombstones, nowMs);
  const runIds: string[] = [];
  for (const tombstone of tombstones)
    if (await applyTombstone(spaces, tombstone, nowMs)) runIds.push(tombstone.id);
  for (const [space, id] of await spaces.database.read(listAllRuns))
    await makeFolder(join(runFolder(location, space), id));
  return { runIds, rows };
}

/**
 * Deletes the run, if it is there; otherwise sees to it that no client brings it back. What was purged is purged. Returns whether it
 * was there.
 */
async function applyTombstone(
  spaces: StoreSpaces,
  tombstone: Tombstone,
  nowMs: number,
): Promise<boolean> {
  const { by, id, purgeAtMs, purgedAtMs, space } = tombstone;
  const store = spaces.store(space);
  if ((await store.findRun(id)) === undefined) {
    await spaces.database.transaction(() => insertTombstone(tombstone, nowMs));
    // The snapshot may have it as one that can be restored.
    if (purgedAtMs !== null) await store.purgeDeletedRuns(nowMs, [id]);
    return false;
  }
  await store.deleteRun(id, {
    keepMs: purgedAtMs === null ? Math.max(UNDO_AFTER_RESTORE_MS, purgeAtMs - nowMs) : 0,
    ...(by === null ? {} : { by }),
  });
  // Its bytes were gone, and are to be gone again.
  if (purgedAtMs !== null) await store.purgeDeletedRuns(nowMs, [id]);
  return true;
}

function* extendUndo(leastMs: number): SqlWork<void> {
  yield sql(
    'UPDATE deleted_runs SET purge_at_ms = ? WHERE purged_at_ms IS NULL AND purge_at_ms < ?',
    leastMs,
    leastMs,
  );
}

function* insertTombstone(tombstone: Tombstone, nowMs: number): SqlWork<void> {
  const { by, deletedAtMs, id, projectName, purgeAtMs, purgedAtMs, space } = tombstone;
  yield sql(
    `INSERT INTO deleted_runs (space, id, project_name, deleted_at_ms, purge_at_ms, purged_at_ms, deleted_by, revision, change_order, run)
     VALUES (?, ?, ?, ?, ?, ?, ?, 1, ${NEXT_ORDER}, NULL) ON CONFLICT (space, id) DO NOTHING`,
    space,
    id,
    projectName,
    deletedAtMs,
    purgeAtMs,
    purgedAtMs ?? nowMs,
    by,
    space,
    space,
  );
}

/** The runs of all spaces. */
function* listAllRuns(): SqlWork<readonly (readonly [space: string, id: string])[]> {
  const rows = yield sql('SELECT text(space), text(id) FROM runs');
  return rows.map((row) => [textCell(row, 0), textCell(row, 1)]);
}
