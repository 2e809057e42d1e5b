/**
 * Removes spaces and users. Their runs become deleted runs, which can be restored until they are purged; a removed user's keys
 * and shares are of no use at once. Each removal can be done again where it was interrupted.
 */
import type { Clock } from '../../base/clock.ts';
import { invalidInput, SessionStoreError } from '../../base/errors.ts';
import { checkDeletion } from '../../store/deletion.ts';
import type { Store } from '../../store/store.ts';
import {
  contentOf,
  finishRemovals,
  isRemovedName,
  markRemoved,
  markUserRemoved,
} from '../../store/sql/sql-removals.ts';
import type { StoreSpaces } from '../../store/sql/sql-store.ts';
import type { AccessBook } from './access-book.ts';
import { findUser, usedSpaces, type User } from './access-sql.ts';
import { MACHINE, type Actor } from './audit-log.ts';
import { auditStore } from './audited.ts';
import { checkAccessName, LOCAL_USER, ownerOf, storedSpace } from './principal.ts';

/** What a removal does, or would do. */
export type Removal = {
  readonly spaces: readonly string[];
  readonly projects: number;
  readonly runs: number;
  /** Keys that were good. */
  readonly keys: number;
};

/** How to remove. */
export type RemovalOptions = {
  /** How long the runs can be restored, in milliseconds. Default: 30 days. */
  readonly keepMs?: number;
  /** Removes bytes at once, and everything that is left with them. Default false. */
  readonly purge?: boolean;
  /** Who does it. Default: somebody at the machine of the service. */
  readonly actor?: Actor;
  /** Counts only, and removes nothing. Default false. */
  readonly isDryRun?: boolean;
};

/** What a {@link Removals} is made of. */
export type RemovalParts = {
  readonly spaces: StoreSpaces;
  readonly access: AccessBook;
  readonly clock: Pick<Clock, 'now'>;
};

/** Passes over the runs of a space: a session that goes on while it is removed may add one. */
const MAX_PASSES = 3;

/** Removes spaces and users of a service. */
export class Removals {
  readonly #parts: RemovalParts;

  constructor(parts: RemovalParts) {
    this.#parts = parts;
  }

  /** The names of the spaces of a user that hold anything. @throws {SessionStoreError} `missing` */
  async listSpaces(userName: string): Promise<readonly string[]> {
    const { id } = await this.#user(userName);
    const stored = await this.#parts.spaces.database.read(() => usedSpaces(id));
    return stored.map((space) => ownerOf(space).name).sort();
  }

  /**
   * Removes a space of a user: its runs are deleted, its shares end, and its projects go with the last run.
   *
   * @throws {QuarkError} `invalid_input`
   * @throws {SessionStoreError} `missing` when there is no such user, or nothing in the space
   */
  async removeSpace(
    userName: string,
    spaceName: string,
    options: RemovalOptions = {},
  ): Promise<Removal> {
    checkOptions(options);
    const user = await this.#user(userName);
    const name = checkAccessName('space', spaceName);
    const space = storedSpace(user.id, name);
    const { database } = this.#parts.spaces;
    const content = await database.read(() => contentOf(space));
    if (content.projects === 0 && content.runs === 0)
      throw new SessionStoreError('missing', `${userName} has nothing in the space "${name}".`, {
        details: { user: userName, space: name },
      });
    const removal = { spaces: [name], ...content, keys: 0 };
    if (options.isDryRun === true) return removal;
    await this.#removeSpace(user, space, options);
    if (options.purge === true) await finishRemovals(this.#parts.spaces.database);
    this.#parts.access.onLoss();
    return removal;
  }

  /**
   * Removes a user: keys and shares are of no use at once, all spaces are removed, and the name is free for another user. The row of
   * the user goes with the last run.
   *
   * @throws {QuarkError} `invalid_input` for the user `local`, who is the machine
   * @throws {SessionStoreError} `missing` when there is no such user
   */
  async removeUser(userName: string, options: RemovalOptions = {}): Promise<Removal> {
    checkOptions(options);
    const user = await this.#user(userName);
    if (user.id === LOCAL_USER)
      throw invalidInput('user', userName, 'another user than the one of this machine');
    const { access, clock, spaces } = this.#parts;
    const { database } = spaces;
    const stored = await database.read(() => usedSpaces(user.id));
    const contents = await Promise.all(
      stored.map((space) => database.read(() => contentOf(space))),
    );
    const found = {
      spaces: stored.map((space) => ownerOf(space).name),
      projects: contents.reduce((sum, { projects }) => sum + projects, 0),
      runs: contents.reduce((sum, { runs }) => sum + runs, 0),
    };
    if (options.isDryRun === true) {
      const now = clock.now();
      const keys = await access.listKeys(user.id);
      const good = keys.filter(
        ({ expiresAtMs, revokedAtMs }) =>
          revokedAtMs === null && (expiresAtMs === null || expiresAtMs > now),
      );
      return { ...found, keys: good.length };
    }
    const nowMs = clock.now();
    const add = access.audit.adding(options.actor ?? MACHINE, nowMs);
    const keys = await database.transaction(function* () {
      yield* add({
        action: 'user.delete',
        target: { kind: 'user', id: user.id },
        ownerId: user.id,
        detail: { name: userName, ...found },
      });
      for (const space of stored)
        yield* markRemoved(space, { id: user.id, spaceName: ownerOf(space).name }, nowMs);
      return yield* markUserRemoved(user.id, nowMs);
    });
    access.onLoss();
    for (const space of stored) await this.#removeSpace(user, space, options);
    await finishRemovals(this.#parts.spaces.database);
    return { ...found, keys };
  }

  async #removeSpace(
    user: User,
    space: string,
    { actor = MACHINE, keepMs, purge = false }: RemovalOptions,
  ): Promise<void> {
    const { access, clock, spaces } = this.#parts;
    const { audit } = access;
    const { name } = ownerOf(space);
    const nowMs = clock.now();
    const add = audit.adding(actor, nowMs);
    await spaces.database.transaction(function* () {
      const shares = yield* markRemoved(space, { id: user.id, spaceName: name }, nowMs);
      yield* add({
        action: 'space.delete',
        target: { kind: 'space', id: name },
        ownerId: user.id,
        space: name,
        detail: { shares, purge },
      });
    });
    const store = auditStore(spaces.store(space), { audit, actor, storedName: space });
    await deleteRuns(store, keepMs, user.name);
    if (purge) {
      const deleted = (await store.listDeletedRuns()).filter(
        ({ purgedAtMs }) => purgedAtMs === undefined,
      );
      await store.purgeDeletedRuns(
        undefined,
        deleted.map(({ id }) => id),
      );
    }
  }

  async #user(name: string): Promise<User> {
    const userName = checkAccessName('user', name);
    if (userName === LOCAL_USER) return { id: LOCAL_USER, name: LOCAL_USER, createdAtMs: 0 };
    const found = await this.#parts.spaces.database.read(() => findUser(userName));
    if (found !== undefined && !isRemovedName(found.name)) return found;
    throw new SessionStoreError('missing', `There is no user "${userName}".`, {
      details: { user: userName },
    });
  }
}

/** As each deletion checks them: before anything is removed. @throws {QuarkError} `invalid_input` */
function checkOptions({ keepMs }: RemovalOptions): void {
  if (keepMs !== undefined) checkDeletion('run', { keepMs });
}

async function deleteRuns(store: Store, keepMs: number | undefined, by: string): Promise<void> {
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const runs = await store.listRuns();
    if (runs.length === 0) return;
    for (const { id } of runs)
      await store.deleteRun(id, { by, ...(keepMs === undefined ? {} : { keepMs }) });
  }
}
