/**
 * What a key of scope `admin` may do from elsewhere: make, list and revoke keys of its own user, and share that user's
 * projects. Other users, and their first keys, are made at the service's machine only.
 */
import { checkInstant } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { invalidInput, SessionStoreError } from '../../base/errors.ts';
import type { SqlDatabase } from '../../store/sql/sql-database.ts';
import type {
  NewKeyOptions,
  ProjectShare,
  RunAccess,
  UserKey,
} from '../../wire/access-messages.ts';
import type { AuditFilter, AuditLine } from '../../wire/audit-messages.ts';
import type { QuotaOptions, QuotaReport } from '../../wire/quota-messages.ts';
import { refusalOf, type AccessBook, type Condition } from './access-book.ts';
import * as rows from './access-sql.ts';
import type { Actor } from './audit-log.ts';
import type { Removal, RemovalOptions, Removals } from './removals.ts';
import { checkScope, minUndoMsOf, type Principal } from './principal.ts';

/** What an {@link OwnAccess} is made of. */
export type OwnAccessParts = {
  readonly access: AccessBook;
  readonly database: SqlDatabase;
  readonly removals?: Removals;
  readonly clock: Pick<Clock, 'now'>;
  readonly limits: {
    readonly keysPerUser: number;
    readonly sharesPerUser: number;
    readonly minUndoDays: number;
  };
};

/** Which of one's own projects to share, with whom. */
export type OwnShare = {
  readonly space?: string;
  readonly project: string;
  readonly user: string;
};

/** Who asks, and what the audit log is to say of them. */
export type Requester = Principal & { readonly actor: Actor };

/** Keys and shares of the user who asks. Everything throws `unauthorised` (403) for keys of another scope, or none. */
export class OwnAccess {
  readonly #parts: OwnAccessParts;

  constructor(parts: OwnAccessParts) {
    this.#parts = parts;
  }

  /** The keys of the user, those that ended or were revoked included, oldest first. */
  async listKeys(principal: Principal): Promise<readonly UserKey[]> {
    const { userId } = administrator(principal);
    return this.#parts.access.listKeys(userId);
  }

  /**
   * Makes another key of the user. It ends with the key that makes it, unless it is to end before; `expiresAt` null asks
   * for a key without end.
   *
   * @throws {QuarkError} `invalid_input`
   * @throws {SessionStoreError} `unauthorised` when it would outlive the key that makes it (403), or that one is not good
   * any longer (401); `rejected` (409) when the user has all keys that one may have
   */
  async createKey(
    principal: Requester,
    options: Pick<NewKeyOptions, 'scope' | 'label'> & {
      readonly expiresAt?: string | number | null | undefined;
    },
  ): Promise<UserKey & { readonly key: string }> {
    const { keyId, userId, userName } = administrator(principal);
    const { access, clock, database, limits } = this.#parts;
    const own = await database.read(() => rows.findKey(keyId));
    const { expiresAt, ...rest } = options;
    const endMs = endOf(expiresAt, own?.expiresAtMs ?? null, clock.now());
    return access.createKey(
      { ...rest, user: userName, ...(endMs === null ? {} : { expiresAt: endMs }) },
      {
        actor: principal.actor,
        *condition(nowMs) {
          yield* mustBeGood(keyId, userId)(nowMs);
          if ((yield* rows.countKeys(userId, nowMs)) > limits.keysPerUser)
            throw tooMany('keys', limits.keysPerUser, 'Revoke one first.');
        },
      },
    );
  }

  /**
   * Makes a key of the user useless from now on, also the one that asks. What it made stays.
   *
   * @throws {QuarkError} `invalid_input` for what is no key id
   * @throws {SessionStoreError} `missing` when the user has no such key
   */
  async revokeKey(principal: Requester, keyId: string): Promise<UserKey> {
    const { userId } = administrator(principal);
    return this.#parts.access.revokeKey(keyId, userId, principal);
  }

  /** Lines of the audit log about what is the user's, and about what the user did. @throws {QuarkError} `invalid_input` */
  async listAudit(principal: Principal, filter: AuditFilter): Promise<readonly AuditLine[]> {
    checkScope(principal, 'admin');
    return this.#parts.access.audit.list(filter, principal.userId);
  }

  /** The quota of the user, and those of the user's projects, with what is used of them. */
  async listQuotas(principal: Principal): Promise<readonly QuotaReport[]> {
    checkScope(principal, 'admin');
    return this.#parts.access.quotas.list(principal.userName);
  }

  /**
   * Sets the quota of a project of the user, which guests with the right to write cannot pass either. That of a user is set at the
   * machine of the service.
   *
   * @throws {QuarkError} `invalid_input`
   * @throws {SessionStoreError} `missing` when there is no such project; `unauthorised` as with keys
   */
  async setQuota(
    principal: Requester,
    options: Omit<QuotaOptions, 'user' | 'project'> & { readonly project: string },
  ): Promise<QuotaReport> {
    const { userName } = administrator(principal);
    return this.#parts.access.quotas.set({ ...options, user: userName }, principal.actor);
  }

  /** How long what this key deletes can be brought back, at least, in milliseconds. */
  minUndoMs(principal: Principal): number {
    return minUndoMsOf(principal, this.#parts.limits);
  }

  /**
   * Removes a space of the user; see {@link Removals.removeSpace}.
   *
   * @throws {SessionStoreError} `unauthorised` (403) without scope `delete`, and for `purge` without scope `admin`
   */
  async removeSpace(
    principal: Requester,
    space: string,
    options: Omit<RemovalOptions, 'actor'>,
  ): Promise<Removal> {
    checkScope(principal, options.purge === true ? 'admin' : 'delete');
    const { actor, userName } = principal;
    return this.#removals.removeSpace(userName, space, { ...options, actor });
  }

  /** Removes the user; see {@link Removals.removeUser}. */
  async removeUser(principal: Requester, options: Omit<RemovalOptions, 'actor'>): Promise<Removal> {
    const { userName } = administrator(principal);
    return this.#removals.removeUser(userName, { ...options, actor: principal.actor });
  }

  get #removals(): Removals {
    const { removals } = this.#parts;
    if (removals !== undefined) return removals;
    throw new SessionStoreError('rejected', 'Spaces and users cannot be removed here.');
  }

  /** What of the user's is shared, by space, project and user. */
  async listShares(principal: Principal): Promise<readonly ProjectShare[]> {
    const { userId } = administrator(principal);
    return this.#parts.access.listShares(userId);
  }

  /**
   * Lets another user read (or write, too) a project of this one. Sharing again changes what may be done.
   *
   * @throws {QuarkError} `invalid_input`
   * @throws {SessionStoreError} `missing` when there is no such user or project; `rejected` (409) when the user shares
   * all that one may; `unauthorised` as with keys
   */
  async share(
    principal: Requester,
    share: OwnShare & { readonly access?: RunAccess },
  ): Promise<void> {
    const { keyId, userId, userName } = administrator(principal);
    const { access, limits } = this.#parts;
    await access.share(
      { ...share, owner: userName },
      {
        actor: principal.actor,
        *condition(nowMs) {
          yield* mustBeGood(keyId, userId)(nowMs);
          if ((yield* rows.countShares(userId)) > limits.sharesPerUser)
            throw tooMany('shares', limits.sharesPerUser, 'Take one back first.');
        },
      },
    );
  }

  /** Takes a share back; returns whether there was one. @throws {QuarkError} `invalid_input` */
  async unshare(principal: Requester, share: OwnShare): Promise<boolean> {
    const { userName } = administrator(principal);
    return this.#parts.access.unshare({ ...share, owner: userName }, principal);
  }
}

/** @throws {SessionStoreError} `unauthorised` (403) */
function administrator(principal: Principal): Principal & { readonly keyId: string } {
  checkScope(principal, 'admin');
  const { keyId } = principal;
  // A user who needs no key at a machine has its command line, and what is made there outlives the time without keys.
  if (keyId === undefined)
    throw new SessionStoreError(
      'unauthorised',
      'Keys and shares are for a key of scope "admin". Without one, use "quark keys" and "quark share" at the machine of the service, with --storage-dir.',
      { details: { needed: 'admin', httpStatus: 403 } },
    );
  return { ...principal, keyId };
}

/** A key that was revoked after its check leaves nothing behind. */
function mustBeGood(keyId: string, userId: string): Condition {
  return function* (nowMs) {
    const key = yield* rows.lockKey(keyId, userId);
    const refusal = key === undefined ? undefined : refusalOf(key, nowMs);
    if (key === undefined || refusal !== undefined)
      throw refusal ?? new SessionStoreError('unauthorised', 'This key is not known here.');
  };
}

/**
 * When a new key ends, in epoch milliseconds or null for never.
 *
 * @throws {QuarkError} `invalid_input`
 * @throws {SessionStoreError} `unauthorised` (403)
 */
function endOf(
  wanted: string | number | null | undefined,
  ownEndMs: number | null,
  nowMs: number,
): number | null {
  if (wanted === undefined) return ownEndMs;
  const endMs = wanted === null ? null : checkInstant('expires_at_ms', wanted);
  if (endMs !== null && endMs <= nowMs)
    throw invalidInput('expires_at_ms', wanted, 'an instant in the future');
  if (ownEndMs === null || (endMs !== null && endMs <= ownEndMs)) return endMs;
  const rule = `at most ${ownEndMs} (${new Date(ownEndMs).toISOString()}), the end of the key that makes it`;
  const value = endMs === null ? 'null (no end)' : String(endMs);
  throw new SessionStoreError('unauthorised', `expires_at_ms must be ${rule}; got ${value}.`, {
    details: { field: 'expires_at_ms', value, rule, httpStatus: 403 },
  });
}

function tooMany(what: string, limit: number, advice: string): SessionStoreError {
  const rule = `at most ${limit} of one user`;
  return new SessionStoreError('rejected', `There may be ${rule} ${what}. ${advice}`, {
    details: { field: what, value: limit, rule, httpStatus: 409 },
  });
}
