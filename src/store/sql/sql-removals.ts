/**
 * Spaces and users that were removed. Their runs are deleted runs until they are purged; then what is left of them goes: projects
 * without a run, quotas and counters of a space, and the row of a user. Blobs that no run names go with the sweep of blobs.
 */
import { readDocumentNote } from '../document-notes.ts';
import { DOCUMENTS_OF_PROJECTS, recountSpace } from './sql-usage.ts';
import {
  numberCell,
  sql,
  sqlOne,
  textCell,
  together,
  type SqlDatabase,
  type SqlWork,
} from './sql-database.ts';

/** The name of a removed user, which no other user can have: the name is free for a new one at once. */
export function removedName(name: string, userId: string): string {
  return `${name}~${userId}`;
}

/** Whether a user was removed. */
export function isRemovedName(name: string): boolean {
  return name.includes('~');
}

/** Notes that a space was removed, with all shares of it; returns how many shares there were. */
export function* markRemoved(
  space: string,
  owner: { readonly id: string; readonly spaceName: string },
  nowMs: number,
): SqlWork<number> {
  yield sql(
    `INSERT INTO removed_spaces (space, owner_id, removed_at_ms) VALUES (?, ?, ?)
     ON CONFLICT (space) DO UPDATE SET removed_at_ms = excluded.removed_at_ms`,
    space,
    owner.id,
    nowMs,
  );
  const shares = yield sql(
    'DELETE FROM project_shares WHERE owner_id = ? AND space_name = ? RETURNING text(project_name)',
    owner.id,
    owner.spaceName,
  );
  return shares.length;
}

/**
 * Removes a user: no key opens anything any longer, nothing is shared with the user or by the user, and the name is free. The row
 * stays until the runs are purged. Returns how many keys were good.
 */
export function* markUserRemoved(userId: string, nowMs: number): SqlWork<number> {
  const [row] = yield sqlOne('SELECT text(name) FROM users WHERE id = ? FOR UPDATE', userId);
  if (row === undefined) return 0;
  const name = textCell(row, 0);
  const keys = yield sql(
    'UPDATE user_keys SET revoked_at_ms = ? WHERE user_id = ? AND revoked_at_ms IS NULL RETURNING text(id)',
    nowMs,
    userId,
  );
  yield sql('DELETE FROM project_shares WHERE user_id = ? OR owner_id = ?', userId, userId);
  yield sql("DELETE FROM quotas WHERE owner_id = ? AND project_id = ''", userId);
  if (!isRemovedName(name))
    yield sql('UPDATE users SET name = ? WHERE id = ?', removedName(name, userId), userId);
  return keys.length;
}

/** Spaces that were removed and of which something is left. */
function* listRemoved(): SqlWork<readonly string[]> {
  const rows = yield sql('SELECT text(space) FROM removed_spaces ORDER BY space');
  return rows.map((row) => textCell(row, 0));
}

/**
 * Removes what is left of a removed space, as far as no run names it that is there or can be restored. True when nothing is left,
 * or when somebody uses the space again.
 */
function* finishSpace(space: string): SqlWork<boolean> {
  const unpurged = yield sqlOne(
    'SELECT 1 FROM deleted_runs WHERE space = ? AND purged_at_ms IS NULL LIMIT 1',
    space,
  );
  if (unpurged.length > 0) return false;
  yield* together([
    sql(
      `DELETE FROM projects WHERE space = ? AND NOT EXISTS
         (SELECT 1 FROM runs WHERE runs.space = projects.space AND runs.project_id = projects.id)`,
      space,
    ),
    sql(
      `DELETE FROM quotas WHERE space = ? AND project_id <> '' AND NOT EXISTS
         (SELECT 1 FROM projects WHERE projects.space = quotas.space AND projects.id = quotas.project_id)`,
      space,
    ),
    sql('DELETE FROM removed_spaces WHERE space = ?', space),
  ]);
  // Those of projects that are there stay: somebody uses the space again.
  yield sql(
    `DELETE FROM notes WHERE space = ? AND name >= 'documents/' AND name < 'documents0' AND name NOT IN
       (SELECT notes.name FROM ${DOCUMENTS_OF_PROJECTS} WHERE projects.space = ?)`,
    space,
    space,
  );
  yield* recountSpace(space);
  return true;
}

/** Removes the private documents of users from the spaces of others. */
function* removePrivateDocuments(userIds: ReadonlySet<string>): SqlWork<void> {
  if (userIds.size === 0) return;
  const rows = yield sql(
    "SELECT text(space), text(name) FROM notes WHERE name >= 'documents/' AND name < 'documents0' AND name LIKE '%/private-%'",
  );
  const spaces = new Set<string>();
  for (const row of rows) {
    const [space, name] = [textCell(row, 0), textCell(row, 1)];
    if (!userIds.has(readDocumentNote(name)?.owner ?? '')) continue;
    yield sql('DELETE FROM notes WHERE space = ? AND name = ?', space, name);
    spaces.add(space);
  }
  for (const space of spaces) yield* recountSpace(space);
}

/** Removes the rows of removed users of whose spaces nothing is left. Ids of their keys stay, so that no service opens up. */
function* finishUsers(): SqlWork<number> {
  const rows = yield sql(
    `SELECT text(id) FROM users WHERE name LIKE '%~%' AND NOT EXISTS
       (SELECT 1 FROM removed_spaces WHERE removed_spaces.owner_id = users.id)`,
  );
  yield* removePrivateDocuments(new Set(rows.map((row) => textCell(row, 0))));
  for (const row of rows) {
    const id = textCell(row, 0);
    yield sql("UPDATE user_keys SET label = '', hash = '' WHERE user_id = ?", id);
    yield sql('DELETE FROM users WHERE id = ?', id);
  }
  return rows.length;
}

/** Removes what is left of removed spaces and users whose runs were purged; returns how many spaces were finished. */
export async function finishRemovals(database: SqlDatabase): Promise<number> {
  let finished = 0;
  for (const space of await database.read(listRemoved))
    if (await database.transaction(() => finishSpace(space))) finished++;
  await database.transaction(finishUsers);
  return finished;
}

/** What a space holds. */
export type SpaceContent = { readonly projects: number; readonly runs: number };

/** How many projects and runs there are in a space, without deleted runs. */
export function* contentOf(space: string): SqlWork<SpaceContent> {
  const [[projects], [found]] = yield* counts(space);
  return {
    projects: projects === undefined ? 0 : numberCell(projects, 0),
    runs: found === undefined ? 0 : numberCell(found, 0),
  };
}

function* counts(space: string) {
  const [projects = [], found = []] = yield* together([
    sqlOne('SELECT count(*) FROM projects WHERE space = ?', space),
    sqlOne('SELECT count(*) FROM runs WHERE space = ?', space),
  ]);
  return [projects, found] as const;
}
