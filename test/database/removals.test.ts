/** Removing spaces and users, on each database: nothing of them opens, and in the end nothing of them is stored. */
import { timingSafeEqual } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccessBook } from '../../src/service/access/access-book.ts';
import type { Principal } from '../../src/service/access/principal.ts';
import { storedSpace } from '../../src/service/access/principal.ts';
import { Removals } from '../../src/service/access/removals.ts';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import { numberCell, sqlOne } from '../../src/store/sql/sql-database.ts';
import { finishRemovals } from '../../src/store/sql/sql-removals.ts';
import type { StoreSpaces } from '../../src/store/sql/sql-store.ts';
import { DATABASES, type DatabaseLocation } from '../support/databases.ts';
import { runOf, segmentOf } from '../support/segments.ts';

const DAY_MS = 86_400_000;

describe.each(DATABASES)('on %s', (_name, makeLocation) => {
  let location: DatabaseLocation;
  let spaces: StoreSpaces;
  let access: AccessBook;
  let removals: Removals;
  const clock = { nowMs: 0, now: (): number => clock.nowMs };

  beforeEach(async () => {
    clock.nowMs = 1_700_000_000_000;
    location = await makeLocation();
    spaces = await openSpaces(location.uri, { clock });
    access = new AccessBook({ database: spaces.database, clock, timingSafeEqual });
    removals = new Removals({ spaces, access, clock });
  }, 120_000);
  afterEach(async () => {
    await spaces.close();
    await location.remove();
  });

  const user = async (name: string): Promise<Principal> =>
    access.identify((await access.createKey({ user: name })).key);
  const count = async (table: string, where = ''): Promise<number> =>
    spaces.database.read(function* () {
      const [row] = yield sqlOne(`SELECT count(*) FROM ${table} ${where}`);
      return row === undefined ? 0 : numberCell(row, 0);
    });

  /** Records runs in a space; ids are unique within it only. */
  async function record(who: Principal, space: string, ids: readonly string[]): Promise<void> {
    const store = spaces.store(storedSpace(who.userId, space));
    await store.ensureProject({ id: 'project_1', name: 'digits', createdAtMs: 1 });
    for (const id of ids) {
      await store.createRun(runOf({ id }));
      await store.appendSegments([segmentOf(1, { runId: id }), segmentOf(2, { runId: id })]);
    }
  }

  it('a space: its runs can be restored until they are purged, then its projects go', async () => {
    const [alice, bob] = [await user('alice'), await user('bob')];
    await record(alice, 'old', ['r1', 'r2']);
    await record(alice, 'default', ['r1']);
    await record(bob, 'old', ['r1']);
    await access.share({ owner: 'alice', space: 'old', project: 'digits', user: 'bob' });
    await access.setQuota({ user: 'alice', space: 'old', project: 'digits', runs: 9 });
    expect(await removals.listSpaces('alice')).toEqual(['default', 'old']);
    const planned = { spaces: ['old'], projects: 1, runs: 2, keys: 0 };
    expect(await removals.removeSpace('alice', 'old', { isDryRun: true })).toEqual(planned);
    expect((await spaces.store(storedSpace(alice.userId, 'old')).listRuns()).length).toBe(2);
    expect(await removals.removeSpace('alice', 'old', { keepMs: DAY_MS })).toEqual(planned);
    const old = spaces.store(storedSpace(alice.userId, 'old'));
    expect(await old.listRuns()).toEqual([]);
    expect(await access.listShares()).toEqual([]);
    await old.restoreRun('r2');
    expect((await old.listRuns()).map(({ id }) => id)).toEqual(['r2']);
    expect(await old.listSegments({ runId: 'r2', table: 'metrics' })).toHaveLength(2);
    await finishRemovals(spaces.database);
    expect((await old.listProjects()).length).toBe(1);
    // Again, and to the end.
    await removals.removeSpace('alice', 'old', { purge: true });
    expect(await old.listProjects()).toEqual([]);
    expect(await count('removed_spaces')).toBe(0);
    expect(await count('quotas')).toBe(0);
    expect(await count('segments')).toBe(4);
    await expect(removals.removeSpace('alice', 'old')).rejects.toMatchObject({ reason: 'missing' });
    // Others' are as they were.
    for (const [who, space] of [
      [alice, 'default'],
      [bob, 'old'],
    ] as const)
      expect((await spaces.store(storedSpace(who.userId, space)).listRuns()).length).toBe(1);
    const actions = (await access.audit.list({ after: 0, action: 'space' })).map(
      ({ detail, targetId }) => [targetId, detail['purge']] as const,
    );
    expect(actions).toEqual([
      ['old', false],
      ['old', true],
    ]);
    expect(await access.audit.list({ action: 'run.delete' })).toHaveLength(3);
  });

  it('a user: no key opens anything, and the name is that of a new user', async () => {
    const made = await access.createKey({ user: 'alice', scope: 'admin' });
    const [alice, bob] = [await access.identify(made.key), await user('bob')];
    await record(alice, 'default', ['r1', 'r2']);
    await record(alice, 'old', ['r1']);
    await record(bob, 'default', ['r1']);
    await access.share({ owner: 'alice', project: 'digits', user: 'bob' });
    await access.share({ owner: 'bob', project: 'digits', user: 'alice' });
    await access.setQuota({ user: 'alice', runs: 9 });
    const planned = { spaces: ['default', 'old'], projects: 2, runs: 3, keys: 1 };
    const dry = await removals.removeUser('alice', { isDryRun: true });
    expect({ ...dry, spaces: [...dry.spaces].sort() }).toEqual(planned);
    const removed = await removals.removeUser('alice');
    expect({ ...removed, spaces: [...removed.spaces].sort() }).toEqual(planned);
    await expect(access.identify(made.key)).rejects.toMatchObject({ reason: 'unauthorised' });
    expect(await access.listShares()).toEqual([]);
    expect((await access.listUsers()).map(({ name }) => name)).toEqual(['bob']);
    await expect(removals.removeUser('alice')).rejects.toMatchObject({ reason: 'missing' });
    await expect(access.setQuota({ user: 'alice', runs: 1 })).rejects.toMatchObject({
      reason: 'missing',
    });
    // A new one of the name has nothing of the old.
    const next = await user('alice');
    expect(next.userId).not.toBe(alice.userId);
    expect(await spaces.store(storedSpace(next.userId, 'default')).listRuns()).toEqual([]);
    expect(await access.listSpaces(next)).toHaveLength(1);
    // The operator can restore a run, and its bytes go in their time.
    const store = spaces.store(storedSpace(alice.userId, 'default'));
    expect((await store.listDeletedRuns()).map(({ by, id }) => [id, by])).toEqual([
      ['r1', 'alice'],
      ['r2', 'alice'],
    ]);
    expect(await count('users')).toBe(3);
    clock.nowMs += 31 * DAY_MS;
    for (const space of ['default', 'old'])
      await spaces.store(storedSpace(alice.userId, space)).purgeDeletedRuns();
    expect(await finishRemovals(spaces.database)).toBe(2);
    expect(await count('users')).toBe(2);
    expect(await count('projects')).toBe(1);
    expect(await count('segments')).toBe(2);
    expect(await count('removed_spaces')).toBe(0);
    // A service that had keys does not open up, and who was removed stays in the log.
    expect(await access.hasKeys()).toBe(true);
    await expect(access.identify(made.key)).rejects.toMatchObject({ reason: 'unauthorised' });
    const [line] = await access.audit.list({ action: 'user.delete' });
    expect(line).toMatchObject({ targetId: alice.userId, detail: { name: 'alice', runs: 3 } });
  });

  it('a user with nothing, and at once', async () => {
    const bob = await user('bob');
    await user('alice');
    expect(await removals.removeUser('bob', { purge: true })).toMatchObject({ runs: 0, keys: 1 });
    expect((await access.listUsers()).map(({ name }) => name)).toEqual(['alice']);
    expect(await count('users')).toBe(1);
    expect(await access.isGood(bob.keyId ?? '')).toBe(false);
    await expect(removals.removeUser('local')).rejects.toMatchObject({ code: 'invalid_input' });
    for (const wrong of ['../a', 'a~b', 'a/b', ''])
      await expect(removals.removeUser(wrong)).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(removals.removeSpace('alice', '../x')).rejects.toMatchObject({
      code: 'invalid_input',
    });
  });
});
