/** What is done to a restored store before anybody opens it. */
import { join } from 'node:path';
import { runFolder } from '../store/sql/node/file-storage.ts';
import { makeFolder } from '../store/sql/node/folders.ts';
import { sql, textCell, type SqlWork } from '../store/sql/sql-database.ts';
import type { StoreSpaces } from '../store/sql/sql-store.ts';
import { changeEpoch } from '../store/sql/store-identity.ts';
import type { StoreLocation } from '../store/store.ts';
import type { Tombstone } from './tombstones.ts';

/** Gives the database a new epoch, applies tombstones, and makes the folders of the runs; returns the ids of the runs that the snapshot had and that were deleted. */
export async function finishRestored(
  spaces: StoreSpaces,
  location: StoreLocation,
  tombstones: readonly Tombstone[],
  nowMs: number,
): Promise<readonly string[]> {
  await spaces.database.transaction(() => changeEpoch(nowMs));
  const deleted: string[] = [];
  for (const { id, space } of tombstones) {
    const store = spaces.store(space);
    if ((await store.findRun(id)) === undefined) continue;
    await store.notes?.forgetRun(id);
    deleted.push(id);
  }
  for (const [space, id] of await spaces.database.read(listAllRuns))
    await makeFolder(join(runFolder(location, space), id));
  return deleted;
}

/** The runs of all spaces. */
function* listAllRuns(): SqlWork<readonly (readonly [space: string, id: string])[]> {
  const rows = yield sql('SELECT text(space), text(id) FROM runs');
  return rows.map((row) => [textCell(row, 0), textCell(row, 1)]);
}
