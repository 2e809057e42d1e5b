/** Users, keys and shares in SQL. */
import {
  numberCell,
  optionalNumberCell,
  sql,
  sqlOne,
  textCell,
  type SqlRow,
  type SqlWork,
} from '../../store/sql/sql-database.ts';
import {
  KEY_SCOPES,
  type ProjectShare,
  type RunAccess,
  type UserKey,
} from '../../wire/access-messages.ts';

/** A user as stored. */
export type User = {
  readonly id: string;
  /** What people call them; unique. */
  readonly name: string;
  /** UTC epoch milliseconds. */
  readonly createdAtMs: number;
};

/** A key with what checking it needs. */
export type StoredKey = UserKey & { readonly userId: string; readonly hash: string };

const KEY_COLUMNS =
  'text(k.id), text(u.name), text(k.scope), text(k.label), k.created_at_ms, k.expires_at_ms, k.revoked_at_ms, text(u.id), text(k.hash)';
const SHARE_COLUMNS =
  'text(o.name), text(s.space_name), text(s.project_name), text(u.name), text(s.access), s.created_at_ms';

/** The user of this name as stored, and whether it was stored just now. */
export function* ensureUser(user: User): SqlWork<{ readonly user: User; readonly isNew: boolean }> {
  const added = yield sql(
    'INSERT INTO users (id, name, created_at_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING text(id)',
    user.id,
    user.name,
    user.createdAtMs,
  );
  return { user: (yield* findUser(user.name)) ?? user, isNew: added.length > 0 };
}

export function* findUser(name: string): SqlWork<User | undefined> {
  const [row] = yield sqlOne(
    'SELECT text(id), text(name), created_at_ms FROM users WHERE name = ?',
    name,
  );
  return row === undefined ? undefined : userOf(row);
}

export function* listUsers(): SqlWork<readonly User[]> {
  return (yield sql('SELECT text(id), text(name), created_at_ms FROM users')).map(userOf);
}

export function* addKey(key: StoredKey): SqlWork<void> {
  // A second attempt after a lost connection finds its own row: nobody else draws the same name.
  yield sql(
    `INSERT INTO user_keys (id, user_id, hash, scope, label, created_at_ms, expires_at_ms, revoked_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT DO NOTHING`,
    key.keyId,
    key.userId,
    key.hash,
    key.scope,
    key.label,
    key.createdAtMs,
    key.expiresAtMs,
  );
}

export function* findKey(keyId: string): SqlWork<StoredKey | undefined> {
  const [row] = yield sqlOne(
    `SELECT ${KEY_COLUMNS} FROM user_keys k JOIN users u ON u.id = k.user_id WHERE k.id = ?`,
    keyId,
  );
  return row === undefined ? undefined : keyOf(row);
}

/** All keys, or those of one user. */
export function* listKeys(userId?: string): SqlWork<readonly StoredKey[]> {
  const [where, values] = userId === undefined ? ['', []] : ['WHERE k.user_id = ?', [userId]];
  const rows = yield sql(
    `SELECT ${KEY_COLUMNS} FROM user_keys k JOIN users u ON u.id = k.user_id ${where} ORDER BY k.created_at_ms, k.id`,
    ...values,
  );
  return rows.map(keyOf);
}

/** The key, which nobody revokes before the end of the transaction; what its user may have is counted by one at a time. */
export function* lockKey(keyId: string, userId: string): SqlWork<StoredKey | undefined> {
  yield sql('SELECT text(id) FROM users WHERE id = ? FOR UPDATE', userId);
  yield sql('SELECT text(id) FROM user_keys WHERE id = ? FOR UPDATE', keyId);
  return yield* findKey(keyId);
}

/** Keys of a user that were not revoked and have not reached their end. */
export function* countKeys(userId: string, nowMs: number): SqlWork<number> {
  const [row] = yield sqlOne(
    `SELECT count(*) FROM user_keys
     WHERE user_id = ? AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?)`,
    userId,
    nowMs,
  );
  return row === undefined ? 0 : numberCell(row, 0);
}

/** Drops the oldest keys of a user that are of no use any longer, all but so many. */
export function* forgetKeys(userId: string, nowMs: number, limit: number): SqlWork<void> {
  yield sql(
    `DELETE FROM user_keys WHERE id IN (
       SELECT id FROM user_keys WHERE user_id = ? AND (revoked_at_ms IS NOT NULL OR expires_at_ms <= ?)
       ORDER BY created_at_ms DESC, id LIMIT 1000 OFFSET ?)`,
    userId,
    nowMs,
    limit,
  );
}

export function* hasKeys(): SqlWork<boolean> {
  return (yield sqlOne('SELECT text(id) FROM user_keys LIMIT 1')).length > 0;
}

/** Revokes a key, one of this user if one is given. The first revocation counts. */
export function* revokeKey(
  keyId: string,
  nowMs: number,
  userId?: string,
): SqlWork<StoredKey | undefined> {
  const found = yield* findKey(keyId);
  if (found === undefined || (userId !== undefined && found.userId !== userId)) return undefined;
  yield sql(
    'UPDATE user_keys SET revoked_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL',
    nowMs,
    keyId,
  );
  return yield* findKey(keyId);
}

/** Whether the space holds a project of this name. */
export function* hasProject(space: string, project: string): SqlWork<boolean> {
  const found = yield sqlOne(
    'SELECT text(name) FROM projects WHERE space = ? AND name = ?',
    space,
    project,
  );
  return found.length > 0;
}

/** Ids of users and the rest of a share, as a row. */
export type ShareRow = {
  readonly ownerId: string;
  readonly space: string;
  readonly project: string;
  readonly userId: string;
};

export function* putShare(row: ShareRow, access: RunAccess, nowMs: number): SqlWork<void> {
  yield sql(
    `INSERT INTO project_shares (owner_id, space_name, project_name, user_id, access, created_at_ms)
     VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (user_id, owner_id, space_name, project_name) DO UPDATE SET access = excluded.access`,
    row.ownerId,
    row.space,
    row.project,
    row.userId,
    access,
    nowMs,
  );
}

export function* removeShare(row: ShareRow): SqlWork<boolean> {
  const removed = yield sql(
    `DELETE FROM project_shares WHERE owner_id = ? AND space_name = ? AND project_name = ? AND user_id = ?
     RETURNING text(project_name)`,
    row.ownerId,
    row.space,
    row.project,
    row.userId,
  );
  return removed.length > 0;
}

/** All shares, or those of the projects of one user. */
export function* listShares(ownerId?: string): SqlWork<readonly ProjectShare[]> {
  const [where, values] = ownerId === undefined ? ['', []] : ['WHERE s.owner_id = ?', [ownerId]];
  const rows = yield sql(
    `SELECT ${SHARE_COLUMNS} FROM project_shares s
     JOIN users o ON o.id = s.owner_id JOIN users u ON u.id = s.user_id
     ${where} ORDER BY o.name, s.space_name, s.project_name, u.name`,
    ...values,
  );
  return rows.map(shareOf);
}

/** How many shares there are of a user's projects. */
export function* countShares(ownerId: string): SqlWork<number> {
  const [row] = yield sqlOne('SELECT count(*) FROM project_shares WHERE owner_id = ?', ownerId);
  return row === undefined ? 0 : numberCell(row, 0);
}

/** What is shared with a user, of one space if one is given, each with the id of its owner. */
export function* sharesWith(
  userId: string,
  of?: { readonly owner: string; readonly space: string },
): SqlWork<readonly (ProjectShare & { readonly ownerId: string })[]> {
  const [where, values] =
    of === undefined ? ['', []] : ['AND o.name = ? AND s.space_name = ?', [of.owner, of.space]];
  const rows = yield sql(
    `SELECT ${SHARE_COLUMNS}, text(o.id) FROM project_shares s
     JOIN users o ON o.id = s.owner_id JOIN users u ON u.id = s.user_id
     WHERE s.user_id = ? ${where} ORDER BY o.name, s.space_name, s.project_name`,
    userId,
    ...values,
  );
  return rows.map((row) => ({ ...shareOf(row), ownerId: textCell(row, 6) }));
}

/** Every space of a user that holds anything, as the database names it; what has no user is of `local`. */
export function* usedSpaces(userId: string): SqlWork<readonly string[]> {
  const range = ' WHERE space >= ? AND space < ?';
  const tables = ['projects', 'runs', 'blob_spaces', 'usage_counters'];
  const rows = yield sql(
    tables.map((table) => `SELECT text(space) FROM ${table}${range}`).join(' UNION '),
    ...tables.flatMap(() => [`${userId}/`, `${userId}0`]),
  );
  const spaces = rows.map((row) => textCell(row, 0));
  return userId === 'local' ? ['', ...spaces] : spaces;
}

/** Names of the spaces of a user that hold a project. */
export function* spacesOf(prefix: string): SqlWork<readonly string[]> {
  // Not with LIKE: "_" is a letter of ids. "0" is what follows "/" in the order of characters.
  const rows = yield sql(
    'SELECT DISTINCT text(space) FROM projects WHERE space >= ? AND space < ?',
    `${prefix}/`,
    `${prefix}0`,
  );
  return rows.map((row) => textCell(row, 0).slice(prefix.length + 1));
}

function userOf(row: SqlRow): User {
  return { id: textCell(row, 0), name: textCell(row, 1), createdAtMs: numberCell(row, 2) };
}

function keyOf(row: SqlRow): StoredKey {
  const scope = textCell(row, 2);
  return {
    keyId: textCell(row, 0),
    userName: textCell(row, 1),
    // A scope of a newer version is one that this version cannot grant.
    scope: KEY_SCOPES.find((known) => known === scope) ?? 'read',
    label: textCell(row, 3),
    createdAtMs: numberCell(row, 4),
    expiresAtMs: optionalNumberCell(row, 5),
    revokedAtMs: optionalNumberCell(row, 6),
    userId: textCell(row, 7),
    hash: textCell(row, 8),
  };
}

function shareOf(row: SqlRow): ProjectShare {
  return {
    ownerName: textCell(row, 0),
    space: textCell(row, 1),
    project: textCell(row, 2),
    userName: textCell(row, 3),
    access: textCell(row, 4) === 'write' ? 'write' : 'read',
    createdAtMs: numberCell(row, 5),
  };
}
