/**
 * Who did what, when, to what, and from where. Lines are added, by the transaction of the act or before it, and never changed or
 * removed: no statement here does either.
 */
import { checkCount, checkInstant, checkOptionNames, isGiven } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { invalidInput } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import {
  jsonCell,
  numberCell,
  sql,
  textCell,
  type SqlDatabase,
  type SqlRow,
  type SqlValue,
  type SqlWork,
} from '../../store/sql/sql-database.ts';
import {
  MAX_AUDIT_LINES,
  type AuditAction,
  type AuditFilter,
  type AuditLine,
} from '../../wire/audit-messages.ts';
import type { Principal } from './principal.ts';

/** Who acts, and from where. */
export type Actor = {
  /** Null: no key was needed. */
  readonly keyId: string | null;
  /** Null: somebody at the machine of the service, or the service by itself. */
  readonly userId: string | null;
  /** Address that the request came from, if it was one. */
  readonly from: string | null;
  /** What the headers of a proxy say of where the request came from. Nobody vouches for it. */
  readonly claimedFrom?: string | undefined;
};

/** Somebody at the machine of the service, or the service by itself. */
export const MACHINE: Actor = Object.freeze({ keyId: null, userId: null, from: null });

/** What is done to what. */
export type AuditAct = {
  readonly action: AuditAction;
  readonly target: { readonly kind: string; readonly id: string };
  /** Id of the user whose thing it is. */
  readonly ownerId?: string | null;
  /** Name of that user's space. */
  readonly space?: string | null;
  /** What else is known, as plain JSON; names in snake_case. */
  readonly detail?: Readonly<Record<string, unknown>>;
};

/** A line to be: an act, who does it, and when (now, unless given; epoch milliseconds). */
export type AuditRecord = AuditAct & Actor & { readonly atMs?: number };

/** Characters of `detail` as JSON. */
const MAX_DETAIL_CHARS = 4_096;
/** Characters of an id or a name in a line. */
const MAX_TEXT_CHARS = 512;
const DEFAULT_LINES = 100;

const COLUMNS =
  'id, at_ms, text(key_id), text(user_id), text(user_name), text(action), text(target_kind), text(target_id), text(owner_id), text(space_name), text(remote_address), text(detail)';

/** The audit log of a database. */
export class AuditLog {
  readonly #database: SqlDatabase;
  readonly #clock: Pick<Clock, 'now'>;

  /** @param database stays the caller's to close */
  constructor(database: SqlDatabase, clock: Pick<Clock, 'now'>) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Adds a line in a transaction of its own: before the act, where that has another one. */
  async record(act: AuditRecord): Promise<void> {
    const add = this.adding(act, act.atMs);
    await this.#database.transaction(() => add(act));
  }

  /**
   * Adds lines in the transaction of an act. However often that is attempted, a line for an action on a target is there once.
   *
   *     const add = audit.adding(actor);
   *     await database.transaction(function* () {
   *       yield* add({ action: 'key.revoke', target: { kind: 'key', id } });
   *       yield* change();
   *     });
   *
   * @param atMs epoch milliseconds; now unless given
   */
  adding(actor: Actor, atMs: number = this.#clock.now()): (act: AuditAct) => SqlWork<void> {
    const id = createId('act', atMs);
    return function* (act) {
      const { action, target } = act;
      yield sql(
        `INSERT INTO audit_log (act_id, at_ms, key_id, user_id, user_name, action, target_kind, target_id, owner_id, space_name, remote_address, detail)
         VALUES (?, ?, ?, ?, (SELECT name FROM users WHERE id = ?), ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (act_id) DO NOTHING`,
        `${id} ${action} ${clip(target.kind)} ${clip(target.id)}`,
        atMs,
        ...cellsOf(actor, act),
      );
    };
  }

  /**
   * Lines that match. Those of transactions that are under way while others are read may have smaller ids.
   *
   * @param userId only lines about this user's things, and of what this user did
   * @throws {QuarkError} `invalid_input` naming the field
   */
  async list(filter: AuditFilter = {}, userId?: string): Promise<readonly AuditLine[]> {
    const { conditions, params } = conditionsOf(filter);
    if (userId !== undefined) {
      conditions.push('(owner_id = ? OR user_id = ?)');
      params.push(userId, userId);
    }
    const limit = limitOf(filter.limit);
    const order = filter.after === undefined ? 'DESC' : 'ASC';
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    return this.#database.read(function* () {
      const rows = yield sql(
        `SELECT ${COLUMNS} FROM audit_log ${where} ORDER BY id ${order} LIMIT ?`,
        ...params,
        limit,
      );
      return rows.map(lineOf);
    });
  }
}

/** Who acts, where a request of this principal came from this address. */
export function actorOf(
  principal: Pick<Principal, 'keyId' | 'userId'>,
  remoteAddress: string | undefined,
  headers: Headers,
): Actor {
  const claimed = headers.get('x-forwarded-for') ?? headers.get('forwarded');
  return {
    keyId: principal.keyId ?? null,
    userId: principal.userId,
    from: remoteAddress ?? null,
    ...(claimed === null ? {} : { claimedFrom: claimed }),
  };
}

function cellsOf({ keyId, userId, from, claimedFrom }: Actor, act: AuditAct): readonly SqlValue[] {
  const { action, target, ownerId = null, space = null } = act;
  const claim = claimedFrom === undefined ? {} : { claimed_from: clip(claimedFrom) };
  return [
    keyId,
    userId,
    userId,
    action,
    clip(target.kind),
    clip(target.id),
    ownerId,
    space,
    from === null ? null : clip(from),
    detailText({ ...act.detail, ...claim }),
  ];
}

function detailText(detail: Readonly<Record<string, unknown>>): string {
  // PostgreSQL takes no NUL in a text: JSON escapes it.
  const text = JSON.stringify(detail);
  if (text.length <= MAX_DETAIL_CHARS) return text;
  return JSON.stringify({ clipped: text.slice(0, MAX_TEXT_CHARS) });
}

/** Texts of requests have any length and content. */
function clip(text: string): string {
  return text.replaceAll('\0', '').slice(0, MAX_TEXT_CHARS);
}

function conditionsOf(filter: AuditFilter): { conditions: string[]; params: SqlValue[] } {
  checkOptionNames('filter', filter, [
    'after',
    'before',
    'action',
    'user',
    'target',
    'sinceMs',
    'untilMs',
    'limit',
  ]);
  const { after, before, action, user, target, sinceMs, untilMs } = filter;
  if (isGiven(after) && isGiven(before))
    throw invalidInput('before', before, 'left out where after is given');
  const conditions: string[] = [];
  const params: SqlValue[] = [];
  const add = (condition: string, ...values: readonly SqlValue[]): void => {
    conditions.push(condition);
    params.push(...values);
  };
  if (isGiven(after)) add('id > ?', checkCount('after', after));
  if (isGiven(before)) add('id < ?', checkCount('before', before));
  // "/" follows "." in the order of characters.
  if (isGiven(action)) {
    const wanted = checkText('action', action);
    add('(action = ? OR (action >= ? AND action < ?))', wanted, `${wanted}.`, `${wanted}/`);
  }
  if (isGiven(user)) add('user_name = ?', checkText('user', user));
  if (isGiven(target)) add('target_id = ?', checkText('target', target));
  if (isGiven(sinceMs)) add('at_ms >= ?', checkInstant('since', sinceMs));
  if (isGiven(untilMs)) add('at_ms <= ?', checkInstant('until', untilMs));
  return { conditions, params };
}

function limitOf(given: number | undefined): number {
  const limit = given ?? DEFAULT_LINES;
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_AUDIT_LINES) return limit;
  throw invalidInput('limit', limit, `a whole number from 1 to ${MAX_AUDIT_LINES}`);
}

function checkText(field: string, value: unknown): string {
  if (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= MAX_TEXT_CHARS &&
    !value.includes('\0')
  )
    return value;
  throw invalidInput(field, value, `a text of 1 to ${MAX_TEXT_CHARS} characters`);
}

function lineOf(row: SqlRow): AuditLine {
  return {
    id: numberCell(row, 0),
    atMs: numberCell(row, 1),
    keyId: optionalTextCell(row, 2),
    userId: optionalTextCell(row, 3),
    user: optionalTextCell(row, 4),
    action: textCell(row, 5),
    targetKind: textCell(row, 6),
    targetId: textCell(row, 7),
    ownerId: optionalTextCell(row, 8),
    space: optionalTextCell(row, 9),
    from: optionalTextCell(row, 10),
    detail: jsonCell(row, 11, isObject),
  };
}

function optionalTextCell(row: SqlRow, column: number): string | null {
  return row[column] === null ? null : textCell(row, column);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
