/** Users, keys and shares, on each database that can hold them. */
import { timingSafeEqual } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import { AccessBook } from '../../src/service/access/access-book.ts';
import { forgetKeys } from '../../src/service/access/access-sql.ts';
import { MACHINE } from '../../src/service/access/audit-log.ts';
import { OwnAccess } from '../../src/service/access/own-access.ts';
import { storedSpace } from '../../src/service/access/principal.ts';
import { sql, textCell, type SqlRow, type SqlWork } from '../../src/store/sql/sql-database.ts';
import type { StoreSpaces } from '../../src/store/sql/sql-store.ts';
import { DATABASES, type DatabaseLocation } from '../support/databases.ts';

describe.each(DATABASES)('on %s', (_name, makeLocation) => {
  let location: DatabaseLocation;
  let spaces: StoreSpaces;
  let access: AccessBook;
  const clock = { nowMs: 0, now: (): number => clock.nowMs };

  beforeEach(async () => {
    clock.nowMs = 1_700_000_000_000;
    location = await makeLocation();
    spaces = await openSpaces(location.uri, { clock });
    access = new AccessBook({ database: spaces.database, clock, timingSafeEqual });
  }, 120_000);
  afterEach(async () => {
    await spaces.close();
    await location.remove();
  });

  async function user(name: string): Promise<Awaited<ReturnType<AccessBook['identify']>>> {
    return access.identify((await access.createKey({ user: name })).key);
  }

  it('a key is kept as its hash only, and is found by its name', async () => {
    const made = await access.createKey({ user: 'alice', scope: 'admin', label: 'laptop' });
    expect(made).toMatchObject({ userName: 'alice', scope: 'admin', label: 'laptop' });
    const rows = await spaces.database.read(function* (): SqlWork<readonly SqlRow[]> {
      return yield sql('SELECT text(id), text(hash), text(user_id) FROM user_keys');
    });
    expect(rows).toHaveLength(1);
    const [id = '', hash = ''] = [0, 1].map((at) => textCell(rows[0] ?? [], at));
    expect([id, hash]).toEqual([made.keyId, expect.stringMatching(/^[0-9a-f]{64}$/)]);
    const kept = JSON.stringify(rows.map((row) => row.map((_, at) => textCell(row, at))));
    expect(kept).not.toContain(made.key.slice(made.keyId.length));
    expect(await access.identify(made.key)).toEqual({
      userId: expect.stringMatching(/^user_/),
      userName: 'alice',
      keyId: made.keyId,
      scope: 'admin',
    });
    // Two keys of one user are of one user.
    const other = await access.createKey({ user: 'alice' });
    expect((await access.identify(other.key)).userId).toBe(
      (await access.identify(made.key)).userId,
    );
    expect((await access.listUsers()).map(({ name }) => name)).toEqual(['alice']);
    expect((await access.listKeys()).map(({ keyId }) => keyId).sort()).toEqual(
      [made.keyId, other.keyId].sort(),
    );
    expect(JSON.stringify(await access.listKeys())).not.toContain(hash);
  });

  it('a key ends when it was to, and when it is revoked', async () => {
    const { key } = await access.createKey({ user: 'a', expiresAt: clock.nowMs + 10 });
    const { key: other, keyId } = await access.createKey({ user: 'a' });
    clock.nowMs += 9;
    await access.identify(key);
    clock.nowMs += 1;
    await expect(access.identify(key)).rejects.toMatchObject({ reason: 'unauthorised' });
    expect(await access.revokeKey(keyId)).toMatchObject({ revokedAtMs: clock.nowMs });
    await expect(access.identify(other)).rejects.toMatchObject({ reason: 'unauthorised' });
    clock.nowMs += 5;
    expect(await access.revokeKey(keyId)).toMatchObject({ revokedAtMs: clock.nowMs - 5 });
    expect(await access.hasKeys()).toBe(true);
  });

  it('a key that is revoked after it was looked at makes no key and no share', async () => {
    const { key, keyId } = await access.createKey({ user: 'alice', scope: 'admin' });
    const admin = { ...(await access.identify(key)), actor: MACHINE };
    await user('bob');
    await spaces
      .store(storedSpace(admin.userId, 'default'))
      .ensureProject({ id: 'p', name: 'digits', createdAtMs: 1 });
    const limits = { keysPerUser: 9, sharesPerUser: 9, minUndoDays: 1 };
    const own = new OwnAccess({ access, clock, limits, database: spaces.database });
    const share = { project: 'digits', user: 'bob' };
    await own.createKey(admin, { scope: 'read' });
    await own.share(admin, share);
    await own.unshare(admin, share);
    const before = [await access.listKeys(), await access.listShares()];
    await access.revokeKey(keyId);
    await expect(own.createKey(admin, {})).rejects.toMatchObject({ reason: 'unauthorised' });
    await expect(own.share(admin, share)).rejects.toMatchObject({ reason: 'unauthorised' });
    expect([
      (await access.listKeys()).map((one) => ({ ...one, revokedAtMs: null })),
      await access.listShares(),
    ]).toEqual(before);
  });

  it('forgets the oldest keys of no use, and none that is good or of somebody else', async () => {
    const names: string[] = [];
    for (let i = 0; i < 4; i++) {
      clock.nowMs += 1;
      names.push((await access.createKey({ user: 'alice' })).keyId);
    }
    const { keyId: other } = await access.createKey({ user: 'bob' });
    for (const keyId of [...names.slice(0, 3), other]) await access.revokeKey(keyId);
    const [alice] = await access.listUsers();
    await spaces.database.transaction(() => forgetKeys(alice?.id ?? '', clock.nowMs, 1));
    expect((await access.listKeys()).map(({ keyId }) => keyId).toSorted()).toEqual(
      [...names.slice(2), other].toSorted(),
    );
  });

  it('shares a project that is there with a user who is there', async () => {
    const [alice, bob] = [await user('alice'), await user('bob')];
    const share = { owner: 'alice', project: 'digits', user: 'bob' };
    await expect(access.share(share)).rejects.toMatchObject({ reason: 'missing' });
    const space = storedSpace(alice.userId, 'default');
    await spaces.store(space).ensureProject({ id: 'p', name: 'digits', createdAtMs: 1 });
    await expect(access.share({ ...share, user: 'carol' })).rejects.toMatchObject({
      reason: 'missing',
    });
    await access.share(share);
    await access.share({ ...share, access: 'write' });
    expect(await access.listShares()).toMatchObject([
      { ownerName: 'alice', space: 'default', project: 'digits', userName: 'bob', access: 'write' },
    ]);
    expect(await access.openSpace(bob, { owner: 'alice', name: 'default' })).toEqual({
      storedName: space,
      projects: new Map([['digits', 'write']]),
    });
    for (const address of [
      { owner: 'alice', name: 'other' },
      { owner: 'nobody', name: 'default' },
      { owner: alice.userId, name: 'default' },
    ])
      await expect(access.openSpace(bob, address)).rejects.toMatchObject({ reason: 'missing' });
    expect(await access.listSpaces(bob)).toEqual([
      { space: 'default', owner: 'bob', projects: null },
      { space: 'alice:default', owner: 'alice', projects: { digits: 'write' } },
    ]);
    expect(await access.unshare(share)).toBe(true);
    expect(await access.unshare(share)).toBe(false);
    await expect(access.openSpace(bob, { owner: 'alice', name: 'default' })).rejects.toThrow(
      /shared/,
    );
  });

  it('lists the spaces of a user, whose name may hold what patterns mean', async () => {
    const one = await user('a_b');
    for (const name of ['second', 'default', 'First'])
      await spaces
        .store(storedSpace(one.userId, name))
        .ensureProject({ id: 'p', name: 'p', createdAtMs: 1 });
    expect((await access.listSpaces(one)).map(({ space }) => space)).toEqual([
      'default',
      'First',
      'second',
    ]);
    expect((await access.listSpaces(await user('a'))).map(({ space }) => space)).toEqual([
      'default',
    ]);
  });
});

describe('what is asked for', () => {
  it('is checked before anything is made, and a key is in no message', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'quark-access-'));
    const spaces = await openSpaces(directory);
    const access = new AccessBook({
      database: spaces.database,
      clock: { now: () => 1_000 },
      timingSafeEqual,
    });
    const wrong: readonly unknown[] = [
      { user: '../a' },
      { user: 'a/b' },
      { user: '' },
      { user: 'a:b' },
      { user: 'a..b' },
      { user: 'a', scope: 'root' },
      { user: 'a', expiresAt: 1_000 },
      { user: 'a', expiresAt: 'soon' },
      { user: 'a', label: '\u0007' },
      { user: 'a', colour: 'red' },
    ];
    for (const options of wrong)
      await expect(
        access.createKey(options as Parameters<AccessBook['createKey']>[0]),
      ).rejects.toMatchObject({ code: 'invalid_input' });
    expect(await access.hasKeys()).toBe(false);
    const { key } = await access.createKey({ user: 'a' });
    const error: unknown = await access.revokeKey(key).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'invalid_input' });
    expect(String(error)).not.toContain(key.slice(3, 20));
    await expect(access.share({ owner: 'a', project: 'p', user: 'a' })).rejects.toMatchObject({
      code: 'invalid_input',
    });
    await expect(access.revokeKey('qk_000000000000')).rejects.toMatchObject({ reason: 'missing' });
    await spaces.close();
    await rm(directory, { recursive: true, force: true });
  });
});
