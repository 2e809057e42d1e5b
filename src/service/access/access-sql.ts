/** Users, keys and shares in SQL. */
import {
  numberCell,
  optionalNumberCell,
  sql,
  sqlOne,
  textCell,
  type SqlRow,
  type SqlWork,
} from '../../store/sql-database.ts';
import { KEY_SCOPES, type KeyScope, type RunAccess } from './principal.ts';

/** A user as they are kept. */
export type User = {
  readonly id: string;
  /** What people call them; unique. */
  readonly name: string;
  /** UTC epoch milliseconds. */
  readonly createdAtMs: number;
};

/** What is known of a key. The key itself is kept nowhere. */
export type UserKey = {
  /** `qk_` and 12 characters: no secret. */
  readonly keyId: string;
  readonly userName: string;
  readonly scope: KeyScope;
  /** What the key is for, as whoever made it said; may be empty. */
  readonly label: string;
  /** UTC epoch milliseconds, like all instants here. */
  readonly createdAtMs: number;
  /** From then on the key is refused; null: never. */
  readonly expiresAtMs: number | null;
  /** Since then the key is refused; null: it was not revoked. */
  readonly revokedAtMs: number | null;
};

/** A project that another user may read or write. */
export type ProjectShare = {
  readonly ownerName: string;
  /** Name of the owner's space that holds the project. */
  readonly space: string;
  readonly project: string;
  /** With whom it is shared. */
  readonly userName: string;
  readonly access: RunAccess;
  readonly createdAtMs: number;
};

/** A key with what checking it needs. */
export type KeptKey = UserKey & { readonly userId: string; readonly hash: string };

const KEY_COLUMNS =
  'text(k.id), text(u.name), text(k.scope), text(k.label), k.created_at_ms, k.expires_at_ms, k.revoked_at_ms, text(u.id), text(k.hash)';
const SHARE_COLUMNS =
  'text(o.name), text(s.space_name), text(s.project_name), text(u.name), text(s.access), s.created_at_ms';

export function* ensureUser(user: User): SqlWork<User> {
  yield sql(
    'INSERT INTO users (id, name, created_at_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    user.id,
    user.name,
    user.createdAtMs,
  );
  return (yield* findUser(user.name)) ?? user;
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

export function* addKey(key: KeptKey): SqlWork<void> {
  yield sql(
    `INSERT INTO user_keys (id, user_id, hash, scope, label, created_at_ms, expires_at_ms, revoked_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, NULL)`,
    key.keyId,
    key.userId,
    key.hash,
    key.scope,
    key.label,
    key.createdAtMs,
    key.expiresAtMs,
  );
}

export function* findKey(keyId: string): SqlWork<KeptKey | undefined> {
  const [row] = yield sqlOne(
    `SELECT ${KEY_COLUMNS} FROM user_keys k JOIN users u ON u.id = k.user_id WHERE k.id = ?`,
    keyId,
  );
  return row === undefined ? undefined : keyOf(row);
}

export function* listKeys(): SqlWork<readonly KeptKey[]> {
  const rows = yield sql(
    `SELECT ${KEY_COLUMNS} FROM user_keys k JOIN users u ON u.id = k.user_id ORDER BY k.created_at_ms, k.id`,
  );
  return rows.map(keyOf);
}

export function* hasKeys(): SqlWork<boolean> {
  return (yield sqlOne('SELECT text(id) FROM user_keys LIMIT 1')).length > 0;
}

/** The first revocation counts. */
export function* revokeKey(keyId: string, nowMs: number): SqlWork<KeptKey | undefined> {
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

export function* listShares(): SqlWork<readonly ProjectShare[]> {
  const rows = yield sql(
    `SELECT ${SHARE_COLUMNS} FROM project_shares s
     JOIN users o ON o.id = s.owner_id JOIN users u ON u.id = s.user_id
     ORDER BY o.name, s.space_name, s.project_name, u.name`,
  );
  return rows.map(shareOf);
}

/** What is shared with a user, each with the id of its owner. */
export function* sharesWith(
  userId: string,
): SqlWork<readonly (ProjectShare & { readonly ownerId: string })[]> {
  const rows = yield sql(
    `SELECT ${SHARE_COLUMNS}, text(o.id) FROM project_shares s
     JOIN users o ON o.id = s.owner_id JOIN users u ON u.id = s.user_id
     WHERE s.user_id = ? ORDER BY o.name, s.space_name, s.project_name`,
    userId,
  );
  return rows.map((row) => ({ ...shareOf(row), ownerId: textCell(row, 6) }));
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

function keyOf(row: SqlRow): KeptKey {
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
