/** Who may use a service: users, their keys, and the projects they share. Kept in the database of the store. */
import { checkInstant, checkLiteral, checkOptionNames, isGiven } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { invalidInput, SessionStoreError } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { checkLabel } from '../../base/names.ts';
import { compareText } from '../../store/run-rules.ts';
import { isRemovedName } from '../../store/sql/sql-removals.ts';
import type { SqlDatabase, SqlWork } from '../../store/sql/sql-database.ts';
import * as rows from './access-sql.ts';
import { AuditLog, MACHINE, type Actor, type AuditAct } from './audit-log.ts';
import type { User } from './access-sql.ts';
import {
  DEFAULT_SPACE_NAME,
  KEY_SCOPES,
  RUN_ACCESS,
  type NewKeyOptions,
  type ProjectShare,
  type RunAccess,
  type ShareOptions,
  type UserKey,
} from '../../wire/access-messages.ts';
import type { AuditFilter, AuditLine } from '../../wire/audit-messages.ts';
import type { QuotaOptions, QuotaReport } from '../../wire/quota-messages.ts';
import {
  checkAccessName,
  LOCAL_USER,
  storedSpace,
  type Principal,
  type SpaceAddress,
} from './principal.ts';
import { QuotaBook } from './quota-book.ts';
import { createUserKey, hashUserKey, isKeyId, keyIdOf } from './user-key.ts';

/** A space that a user can open, and what they may do there. */
export type ReachableSpace = {
  /** What to open it with: `NAME`, or `OWNER:NAME` for somebody else's. */
  readonly space: string;
  readonly owner: string;
  /** The projects in it that are shared, each with what may be done; null for a space of one's own: all of them. */
  readonly projects: Readonly<Record<string, RunAccess>> | null;
};

/** A space as the store knows it, and what somebody may do in it. */
export type GrantedSpace = {
  /** What the database calls it. */
  readonly storedName: string;
  /** The projects that are open to the one who asked; undefined: all, because the space is theirs. */
  readonly projects: ReadonlyMap<string, RunAccess> | undefined;
};

/** The last work of a transaction that changes something: throws, and so undoes it, where that may not be. */
export type Condition = (nowMs: number) => SqlWork<void>;

const ALWAYS: Condition = function* () {};

/** Who changes something, and what has to be so at its end. Unless given: somebody at the machine of the service, always. */
export type ChangeBy = { readonly actor?: Actor; readonly condition?: Condition };

/** What an {@link AccessBook} is made of. The database stays the caller's to close. */
export type AccessBookParts = {
  readonly database: SqlDatabase;
  readonly clock: Pick<Clock, 'now'>;
  /** Compares two arrays of the same length in a time that depends on nothing but that length. */
  readonly timingSafeEqual: (a: Uint8Array, b: Uint8Array) => boolean;
};

/** Revoked and ended keys that stay stored for each user, so that "revoked" differs from "not known". */
const STORED_ENDED_KEYS = 1_000;

/** Stands for the hash of a key that is not there, so that looking for it takes as long. */
const NO_HASH = '0'.repeat(64);

/** The list of users, keys and shares. */
export class AccessBook {
  /** Called after a key was revoked or a share removed through this book. The service sets it, to end open streams. */
  onLoss: () => void = () => undefined;
  /** What was done with keys, shares and runs, and by whom. */
  readonly audit: AuditLog;
  /** How much users and projects may take up. */
  readonly quotas: QuotaBook;
  readonly #database: SqlDatabase;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #timingSafeEqual: AccessBookParts['timingSafeEqual'];

  constructor({ database, clock, timingSafeEqual }: AccessBookParts) {
    this.#database = database;
    this.#clock = clock;
    this.#timingSafeEqual = timingSafeEqual;
    this.audit = new AuditLog(database, clock);
    this.quotas = new QuotaBook({ database, clock, audit: this.audit });
  }

  /**
   * Makes a key and, if need be, its user. The answer is the only place where the key ever stands. Of the keys of a user
   * that were revoked or have ended, the oldest beyond 1,000 are forgotten.
   *
   * @throws {QuarkError} `invalid_input`
   */
  async createKey(
    options: NewKeyOptions,
    { actor = MACHINE, condition = ALWAYS }: ChangeBy = {},
  ): Promise<UserKey & { readonly key: string }> {
    checkOptionNames('options', options, ['user', 'scope', 'label', 'expiresAt']);
    const nowMs = this.#clock.now();
    const userName = checkAccessName('user', options.user);
    const scope = checkLiteral('scope', options.scope ?? 'write', KEY_SCOPES);
    const label = isGiven(options.label) ? checkLabel('label', options.label) : '';
    const expiresAtMs = isGiven(options.expiresAt)
      ? checkInstant('expiresAt', options.expiresAt)
      : null;
    if (expiresAtMs !== null && expiresAtMs <= nowMs)
      throw invalidInput('expiresAt', options.expiresAt, 'an instant in the future');
    const { key, keyId } = createUserKey();
    const hash = await hashUserKey(key);
    const about = { keyId, userName, scope, label, createdAtMs: nowMs, expiresAtMs };
    const detail = { user: userName, scope, label, expires_at_ms: expiresAtMs };
    const add = this.audit.adding(actor);
    await this.#database.transaction(function* () {
      const user = yield* ensureUser(userName, nowMs, add);
      const target = { kind: 'key', id: keyId };
      yield* add({ action: 'key.create', target, ownerId: user.id, detail });
      yield* rows.addKey({ ...about, revokedAtMs: null, userId: user.id, hash });
      yield* rows.forgetKeys(user.id, nowMs, STORED_ENDED_KEYS);
      yield* condition(nowMs);
    });
    return { ...about, revokedAtMs: null, key };
  }

  /** All keys, or those of one user, those that ended or were revoked included, oldest first. */
  async listKeys(userId?: string): Promise<readonly UserKey[]> {
    return (await this.#database.read(() => rows.listKeys(userId))).map(withoutHash);
  }

  /** Whether a key was ever made, revoked ones included: a service that had keys never opens up again by itself. */
  hasKeys(): Promise<boolean> {
    return this.#database.read(() => rows.hasKeys());
  }

  /**
   * Makes a key useless from now on, if it is the user's whose id is given. Doing it again changes nothing.
   *
   * @throws {QuarkError} `invalid_input` for what is no key id
   * @throws {SessionStoreError} `missing` when there is no such key
   */
  async revokeKey(
    keyId: string,
    userId?: string,
    { actor = MACHINE }: ChangeBy = {},
  ): Promise<UserKey> {
    // The whole key would do as well as its name, but then it would stand in a shell's history.
    if (typeof keyId !== 'string' || !isKeyId(keyId))
      throw invalidInput(
        'key',
        '(not shown)',
        '"qk_" and 12 characters, as the list of keys shows it',
      );
    const nowMs = this.#clock.now();
    const add = this.audit.adding(actor);
    const found = await this.#database.transaction(function* () {
      const key = yield* rows.revokeKey(keyId, nowMs, userId);
      if (key === undefined) return undefined;
      const target = { kind: 'key', id: keyId };
      const detail = { user: key.userName };
      // The first revocation counts.
      if (key.revokedAtMs === nowMs)
        yield* add({ action: 'key.revoke', target, ownerId: key.userId, detail });
      return key;
    });
    if (found === undefined)
      throw new SessionStoreError(
        'missing',
        `${userId === undefined ? 'There is' : 'You have'} no key ${keyId}. "quark keys list" shows all.`,
        { details: { keyId } },
      );
    this.onLoss();
    return withoutHash(found);
  }

  /** Whether a key is valid: it exists, is not revoked and has not expired. */
  async isGood(keyId: string): Promise<boolean> {
    const found = await this.#database.read(() => rows.findKey(keyId));
    return found !== undefined && refusalOf(found, this.#clock.now()) === undefined;
  }

  /**
   * Who holds this key.
   *
   * @throws {SessionStoreError} `unauthorised` when the key is mistyped, unknown, revoked or at its end
   */
  async identify(key: string): Promise<Principal> {
    const keyId = keyIdOf(key);
    if (keyId === undefined)
      throw refused('The key is not complete, or has a typing error. Copy it again as a whole.');
    const found = await this.#database.read(() => rows.findKey(keyId));
    // The index finds the name of a key, which is no secret; the secret itself meets nothing but this comparison.
    const isRight = this.#timingSafeEqual(
      new TextEncoder().encode(await hashUserKey(key)),
      new TextEncoder().encode(found?.hash ?? NO_HASH),
    );
    if (found === undefined || !isRight) throw refused('This key is not known here.');
    const refusal = refusalOf(found, this.#clock.now());
    if (refusal !== undefined) throw refusal;
    return { userId: found.userId, userName: found.userName, keyId, scope: found.scope };
  }

  /** All users, by name. */
  async listUsers(): Promise<readonly User[]> {
    const users = (await this.#database.read(() => rows.listUsers())).filter(
      ({ name }) => !isRemovedName(name),
    );
    return [...users].sort((a, b) => compareText(a.name, b.name));
  }

  /**
   * Lets a user read (or write, too) a project of another one. Sharing again changes what may be done.
   *
   * @throws {QuarkError} `invalid_input`
   * @throws {SessionStoreError} `missing` when there is no such user or project
   */
  async share(
    options: ShareOptions & { readonly access?: RunAccess },
    { actor = MACHINE, condition = ALWAYS }: ChangeBy = {},
  ): Promise<void> {
    checkOptionNames('options', options, ['owner', 'space', 'project', 'user', 'access']);
    const { owner, space, project, user } = checkShare(options);
    const access = checkLiteral('access', options.access ?? 'read', RUN_ACCESS);
    const nowMs = this.#clock.now();
    const add = this.audit.adding(actor);
    await this.#database.transaction(function* () {
      if (owner === LOCAL_USER) yield* ensureUser(LOCAL_USER, nowMs, add);
      const from = (yield* rows.findUser(owner)) ?? noUser(owner);
      const to = (yield* rows.findUser(user)) ?? noUser(user);
      if (!(yield* rows.hasProject(storedSpace(from.id, space), project)))
        throw new SessionStoreError(
          'missing',
          `${owner} has no project "${project}" in the space "${space}".`,
          { details: { owner, space, project } },
        );
      yield* add(shareAct('share.put', from.id, { owner, space, project, user }, access));
      yield* rows.putShare({ ownerId: from.id, space, project, userId: to.id }, access, nowMs);
      yield* condition(nowMs);
    });
  }

  /**
   * Takes a share back; returns whether there was one.
   *
   * @throws {QuarkError} `invalid_input`
   */
  async unshare(options: ShareOptions, { actor = MACHINE }: ChangeBy = {}): Promise<boolean> {
    checkOptionNames('options', options, ['owner', 'space', 'project', 'user']);
    const { owner, space, project, user } = checkShare(options);
    const add = this.audit.adding(actor);
    const isRemoved = await this.#database.transaction(function* () {
      const from = yield* rows.findUser(owner);
      const to = yield* rows.findUser(user);
      if (from === undefined || to === undefined) return false;
      if (!(yield* rows.removeShare({ ownerId: from.id, space, project, userId: to.id })))
        return false;
      yield* add(shareAct('share.remove', from.id, { owner, space, project, user }));
      return true;
    });
    if (isRemoved) this.onLoss();
    return isRemoved;
  }

  /** All shares, or those of one user's projects, by owner, space, project and user. */
  listShares(ownerId?: string): Promise<readonly ProjectShare[]> {
    return this.#database.read(() => rows.listShares(ownerId));
  }

  /** Lines of the audit log, of all users. @throws {QuarkError} `invalid_input` */
  listAudit(filter: AuditFilter = {}): Promise<readonly AuditLine[]> {
    return this.audit.list(filter);
  }

  /** The quota of each user, and those of projects that have one, with what is used of them. */
  listQuotas(): Promise<readonly QuotaReport[]> {
    return this.quotas.list();
  }

  /** Sets a quota; see {@link QuotaBook.set}. */
  setQuota(options: QuotaOptions): Promise<QuotaReport> {
    return this.quotas.set(options);
  }

  /** The space that a request names, with what the one who asks may do in it. What is not shared does not exist. */
  async openSpace(principal: Principal, address: SpaceAddress): Promise<GrantedSpace> {
    if (address.owner === undefined || address.owner === principal.userName)
      return { storedName: storedSpace(principal.userId, address.name), projects: undefined };
    const of = { owner: address.owner, space: address.name };
    const here = await this.#database.read(() => rows.sharesWith(principal.userId, of));
    const ownerId = here[0]?.ownerId;
    if (ownerId === undefined)
      throw new SessionStoreError(
        'missing',
        `No project of the space "${address.owner}:${address.name}" is shared with you.`,
      );
    return {
      storedName: storedSpace(ownerId, address.name),
      projects: new Map(here.map(({ project, access }) => [project, access])),
    };
  }

  /** The spaces that somebody can open: their own that hold a project (and always `default`), then shared ones. */
  async listSpaces(principal: Principal): Promise<readonly ReachableSpace[]> {
    const { userId, userName } = principal;
    const [own, shares] = await Promise.all([
      this.#database.read(() => rows.spacesOf(userId)),
      this.#database.read(() => rows.sharesWith(userId)),
    ]);
    const names = [DEFAULT_SPACE_NAME, ...own.filter((name) => name !== DEFAULT_SPACE_NAME).sort()];
    const shared = new Map<string, ReachableSpace>();
    for (const { ownerName, space, project, access } of shares) {
      const address = `${ownerName}:${space}`;
      const projects = { ...shared.get(address)?.projects, [project]: access };
      shared.set(address, { space: address, owner: ownerName, projects });
    }
    return [
      ...names.map((space) => ({ space, owner: userName, projects: null })),
      ...shared.values(),
    ];
  }
}

/** The user of this name, who is made, with a line in the audit log, where there is none. */
function* ensureUser(
  name: string,
  nowMs: number,
  add: (act: AuditAct) => SqlWork<void>,
): SqlWork<User> {
  const { user, isNew } = yield* rows.ensureUser(newUser(name, nowMs));
  const target = { kind: 'user', id: user.id };
  if (isNew) yield* add({ action: 'user.create', target, ownerId: user.id, detail: { name } });
  return user;
}

function shareAct(
  action: 'share.put' | 'share.remove',
  ownerId: string,
  { project, space, user }: Required<ShareOptions>,
  access?: RunAccess,
): AuditAct {
  const detail = { with: user, ...(access === undefined ? {} : { access }) };
  return { action, target: { kind: 'project', id: project }, ownerId, space, detail };
}

function newUser(name: string, nowMs: number): User {
  return {
    id: name === LOCAL_USER ? LOCAL_USER : createId('user', nowMs),
    name,
    createdAtMs: nowMs,
  };
}

function checkShare(options: ShareOptions): Required<ShareOptions> {
  const owner = checkAccessName('owner', options.owner);
  const user = checkAccessName('user', options.user);
  if (owner === user) throw invalidInput('user', user, 'another user than the owner');
  return {
    owner,
    user,
    space: checkAccessName('space', options.space ?? DEFAULT_SPACE_NAME),
    project: checkLabel('project', options.project),
  };
}

function withoutHash(key: UserKey): UserKey {
  const { keyId, userName, scope, label, createdAtMs, expiresAtMs, revokedAtMs } = key;
  return { keyId, userName, scope, label, createdAtMs, expiresAtMs, revokedAtMs };
}

function noUser(name: string): never {
  throw new SessionStoreError(
    'missing',
    `There is no user "${name}". A user is made with the first key: "quark keys create ${name}".`,
    { details: { user: name } },
  );
}

/** Why a key that is the right one is refused; undefined where it is good. */
export function refusalOf(key: rows.StoredKey, nowMs: number): SessionStoreError | undefined {
  if (key.revokedAtMs !== null) return refused('This key has been revoked.', key.keyId);
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs)
    return refused('This key has reached its end. Ask for a new one.', key.keyId);
  return undefined;
}

function refused(message: string, keyId?: string): SessionStoreError {
  return new SessionStoreError('unauthorised', message, {
    details: keyId === undefined ? {} : { keyId },
  });
}
