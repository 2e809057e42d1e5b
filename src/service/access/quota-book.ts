/** Quotas of users and projects: set, listed with what is used of them, and read for the requests of a space. */
import { checkCount, checkOptionNames } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { invalidInput, SessionStoreError } from '../../base/errors.ts';
import { checkLabel } from '../../base/names.ts';
import {
  addUsage,
  NO_QUOTA,
  NO_USAGE,
  QUOTA_RESOURCES,
  type QuotaLimits,
  type QuotaUse,
  type SpaceQuotas,
  type UsedAmounts,
} from '../../store/quotas.ts';
import { isRemovedName } from '../../store/sql/sql-removals.ts';
import { sqlOne, textCell, type SqlDatabase, type SqlWork } from '../../store/sql/sql-database.ts';
import {
  listQuotas,
  putQuota,
  recountSpace,
  usageByProject,
  usageOfUser,
  type StoredQuota,
} from '../../store/sql/sql-usage.ts';
import { DEFAULT_SPACE_NAME } from '../../wire/access-messages.ts';
import { QUOTA_WARNING } from '../../wire/quota-header.ts';
import type { QuotaOptions, QuotaReport } from '../../wire/quota-messages.ts';
import { findUser, listUsers, usedSpaces, type User } from './access-sql.ts';
import { MACHINE, type Actor, type AuditLog } from './audit-log.ts';
import { checkAccessName, LOCAL_USER, ownerOf, storedSpace } from './principal.ts';

/** What a {@link QuotaBook} is made of. */
export type QuotaBookParts = {
  readonly database: SqlDatabase;
  readonly clock: Pick<Clock, 'now'>;
  readonly audit: AuditLog;
};

/** How long what was read is used, in milliseconds: a quota that somebody raises counts after that in every process. */
const READ_EVERY_MS = 1_000;
/** Spaces whose quotas are in memory. */
const MAX_SPACES = 1_024;

type Found = { readonly atMs: number; readonly quotas: SpaceQuotas | undefined };

/** The quotas of a service. */
export class QuotaBook {
  /** What applies to a user for whom nothing else was set. The service sets it. */
  defaults: QuotaLimits = NO_QUOTA;
  /** Told once when four fifths of a quota are used: whose (id of the user), of what. The service sets it, to log it. */
  onNear: (ownerId: string, use: QuotaUse) => void = () => undefined;
  readonly #parts: QuotaBookParts;
  readonly #found = new Map<string, Found>();
  /** By user and resource: what was last seen of quotas of which four fifths are used. */
  readonly #near = new Map<string, { readonly space: string; readonly use: QuotaUse }>();

  constructor(parts: QuotaBookParts) {
    this.#parts = parts;
  }

  /** The quotas that apply in a space, as the database names it; undefined: none. */
  async quotasOf(storedName: string): Promise<SpaceQuotas | undefined> {
    const nowMs = this.#parts.clock.now();
    const found = this.#found.get(storedName);
    if (found !== undefined && nowMs >= found.atMs && nowMs < found.atMs + READ_EVERY_MS)
      return found.quotas;
    const { ownerId } = ownerOf(storedName);
    const stored = await this.#parts.database.read(() => listQuotas(ownerId));
    const quotas = this.#quotasFrom(stored, ownerId, storedName);
    this.#found.delete(storedName);
    this.#found.set(storedName, { atMs: nowMs, quotas });
    const [oldest] = this.#found.keys();
    if (this.#found.size > MAX_SPACES && oldest !== undefined) this.#found.delete(oldest);
    return quotas;
  }

  /** What was last seen of quotas of this space of which four fifths and more are used. */
  nearIn(storedName: string): readonly QuotaUse[] {
    const { ownerId } = ownerOf(storedName);
    return [...this.#near]
      .filter(([name]) => name.startsWith(`${ownerId} `))
      .flatMap(([, { space, use }]) =>
        use.project === undefined || space === storedName ? [use] : [],
      );
  }

  /** How many quotas are used to four fifths, and how many wholly, as far as this process has seen. */
  get counts(): { readonly near: number; readonly usedUp: number } {
    const uses = [...this.#near.values()].map(({ use }) => use);
    const usedUp = uses.filter(({ used, limit }) => used >= limit).length;
    return { near: uses.length - usedUp, usedUp };
  }

  /**
   * Sets a quota, or removes what is null. A quota below what is stored deletes nothing.
   *
   * @throws {QuarkError} `invalid_input`
   * @throws {SessionStoreError} `missing` when there is no such user or project
   */
  async set(options: QuotaOptions, actor: Actor = MACHINE): Promise<QuotaReport> {
    const { user, project, space, limits } = checkQuota(options);
    const { audit, clock, database } = this.#parts;
    const add = audit.adding(actor);
    const nowMs = clock.now();
    await database.transaction(function* () {
      const owner = yield* ownerNamed(user);
      const stored = storedSpace(owner.id, space);
      const found = project === undefined ? undefined : yield* projectNamed(stored, project);
      const before = (yield* listQuotas(owner.id)).find(
        (one) =>
          one.project?.id === found?.id && (found === undefined || one.project?.space === stored),
      );
      const next = { ...NO_QUOTA, ...before?.limits, ...limits };
      const isRemoved = QUOTA_RESOURCES.every((resource) => next[resource] === null);
      yield* add({
        action: isRemoved ? 'quota.remove' : 'quota.set',
        target:
          project === undefined ? { kind: 'user', id: owner.id } : { kind: 'project', id: project },
        ownerId: owner.id,
        ...(project === undefined ? {} : { space }),
        detail: { user, ...sayLimits(next) },
      });
      yield* putQuota({ ownerId: owner.id, limits: next, project: found }, nowMs);
    });
    this.#found.clear();
    const reports = await this.list(user);
    const report = reports.find(
      (one) => one.project === (project ?? null) && (project === undefined || one.space === space),
    );
    return report ?? reportOf({ user, space: null, project: null }, this.defaults, NO_USAGE);
  }

  /** The quota of each user (or one), and those of projects that have one, with what is used of them. */
  async list(userName?: string): Promise<readonly QuotaReport[]> {
    const users = await this.#parts.database.read(() => usersOrLocal(userName));
    const reports: QuotaReport[] = [];
    for (const { id, name } of users) {
      const [stored, usage, byProject] = await Promise.all([
        this.#parts.database.read(() => listQuotas(id)),
        this.#parts.database.read(() => usageOfUser(id)),
        this.#parts.database.read(() => usageByProject(id)),
      ]);
      const own = stored.find(({ project }) => project === undefined)?.limits;
      const names = { user: name, space: null, project: null };
      reports.push(reportOf(names, this.#withDefaults(own), usage));
      for (const { project, limits } of stored) {
        if (project === undefined) continue;
        const used = byProject
          .filter((one) => one.space === project.space && one.projectId === project.id)
          .reduce((sum, one) => addUsage(sum, one.usage), NO_USAGE);
        const of = { user: name, space: ownerOf(project.space).name, project: project.name };
        reports.push(reportOf(of, limits, used));
      }
    }
    return reports;
  }

  /** Counts what is stored anew, of one user or of all; returns how many spaces were counted. */
  async recount(userName?: string, actor: Actor = MACHINE): Promise<number> {
    const { audit, database } = this.#parts;
    const spaces: string[] = [];
    for (const { id } of await database.read(() => usersOrLocal(userName))) {
      const target = { kind: 'user', id };
      await audit.record({ ...actor, action: 'quota.recount', target, ownerId: id });
      spaces.push(...(await database.read(() => usedSpaces(id))));
    }
    for (const space of spaces) await database.transaction(() => recountSpace(space));
    this.#found.clear();
    return spaces.length;
  }

  #withDefaults(own: QuotaLimits | undefined): QuotaLimits {
    const { bytes, runs, segments } = this.defaults;
    return {
      bytes: own?.bytes ?? bytes,
      runs: own?.runs ?? runs,
      segments: own?.segments ?? segments,
    };
  }

  #quotasFrom(
    stored: readonly StoredQuota[],
    ownerId: string,
    storedName: string,
  ): SpaceQuotas | undefined {
    const user = this.#withDefaults(stored.find(({ project }) => project === undefined)?.limits);
    const projects = new Map(
      stored.flatMap(({ project, limits }) =>
        project?.space === storedName
          ? [[project.id, { name: project.name, limits }] as const]
          : [],
      ),
    );
    const hasLimit = QUOTA_RESOURCES.some((resource) => user[resource] !== null);
    if (!hasLimit && projects.size === 0) {
      this.#forget(ownerId);
      return undefined;
    }
    const onUse = (uses: readonly QuotaUse[]): void => this.#note(ownerId, storedName, uses);
    return { user, projects, onUse, hasRoom: false };
  }

  #note(ownerId: string, space: string, uses: readonly QuotaUse[]): void {
    for (const use of uses) {
      const where = use.project === undefined ? '' : `${space} ${use.project}`;
      const name = `${ownerId} ${use.resource} ${where}`;
      const wasNear = this.#near.has(name);
      if (use.used < use.limit * QUOTA_WARNING) this.#near.delete(name);
      else {
        this.#near.set(name, { space, use });
        if (!wasNear) this.onNear(ownerId, use);
      }
    }
  }

  #forget(ownerId: string): void {
    for (const name of this.#near.keys())
      if (name.startsWith(`${ownerId} `)) this.#near.delete(name);
  }
}

/** Limits where some may be left out. @throws {QuarkError} `invalid_input` */
export function checkQuotaLimits(field: string, given: Partial<QuotaLimits> = {}): QuotaLimits {
  checkOptionNames(field, given, QUOTA_RESOURCES);
  const [bytes, runs, segments] = QUOTA_RESOURCES.map((resource) => {
    const value = given[resource] ?? null;
    return value === null ? null : checkCount(`${field}.${resource}`, value);
  });
  return { bytes: bytes ?? null, runs: runs ?? null, segments: segments ?? null };
}

function checkQuota(options: QuotaOptions): {
  readonly user: string;
  readonly project: string | undefined;
  readonly space: string;
  readonly limits: Partial<QuotaLimits>;
} {
  checkOptionNames('options', options, ['user', 'project', 'space', ...QUOTA_RESOURCES]);
  const { project, space } = options;
  const user = checkAccessName('user', options.user);
  const given = QUOTA_RESOURCES.filter((resource) => options[resource] !== undefined);
  if (given.length === 0)
    throw invalidInput('quota', undefined, `one of ${QUOTA_RESOURCES.join(', ')}, at least`);
  const limits = Object.fromEntries(
    given.map((resource) => {
      const value = options[resource];
      return [resource, value === null ? null : checkCount(resource, value)];
    }),
  );
  return {
    user,
    project: project === undefined ? undefined : checkLabel('project', project),
    space: checkAccessName('space', space ?? DEFAULT_SPACE_NAME),
    limits,
  };
}

function* usersOrLocal(name: string | undefined): SqlWork<readonly User[]> {
  if (name !== undefined) return [yield* ownerNamed(checkAccessName('user', name))];
  const users = (yield* listUsers()).filter((one) => !isRemovedName(one.name));
  const local = users.some(({ id }) => id === LOCAL_USER) ? [] : [LOCAL];
  return [...local, ...users].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const LOCAL: User = { id: LOCAL_USER, name: LOCAL_USER, createdAtMs: 0 };

function* ownerNamed(name: string): SqlWork<User> {
  if (name === LOCAL_USER) return LOCAL;
  const found = yield* findUser(name);
  if (found !== undefined) return found;
  throw new SessionStoreError('missing', `There is no user "${name}".`, {
    details: { user: name },
  });
}

function* projectNamed(
  space: string,
  name: string,
): SqlWork<{ readonly space: string; readonly id: string; readonly name: string }> {
  const [row] = yield sqlOne(
    'SELECT text(id) FROM projects WHERE space = ? AND name = ?',
    space,
    name,
  );
  if (row !== undefined) return { space, id: textCell(row, 0), name };
  throw new SessionStoreError('missing', `There is no project "${name}" in this space.`, {
    details: { project: name },
  });
}

function reportOf(
  of: Pick<QuotaReport, 'user' | 'space' | 'project'>,
  limits: QuotaLimits,
  usage: UsedAmounts,
): QuotaReport {
  const used = { usedBytes: usage.bytes, usedRuns: usage.runs, usedSegments: usage.segments };
  return { ...of, ...limits, ...used };
}

/** Limits as a line of the audit log says them: what nothing limits has no number. */
function sayLimits(limits: QuotaLimits): Record<string, number | string | null> {
  return Object.fromEntries(
    QUOTA_RESOURCES.map((resource) => {
      const limit = limits[resource];
      return [resource, limit === Number.MAX_SAFE_INTEGER ? 'unlimited' : limit];
    }),
  );
}
