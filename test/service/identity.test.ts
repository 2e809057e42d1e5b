/** What a service tells of its database with every answer, and when the epoch changes. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import { openSqlite } from '../../src/store/sql/node/sqlite.ts';
import { changeEpoch, renewMark } from '../../src/store/sql/store-identity.ts';
import type { StoreIdentity } from '../../src/store/store.ts';
import { makeSchema } from '../support/postgres.ts';
import { ask, RunningServices, storeOf } from './running-service.ts';

const services = new RunningServices();
afterEach(() => services.clear());

async function told(port: number, path = '/api/v1/'): Promise<StoreIdentity & { durable: string }> {
  const { headers } = await ask(port, path);
  const one = (name: string): string => String(headers[name]);
  return {
    id: one('quark-store'),
    epoch: Number(one('quark-epoch')),
    durable: one('quark-durable'),
  };
}

test('every answer tells id and epoch: pages, errors, probes, refusals', async () => {
  const { port } = await services.start({ allowOrigins: ['https://app.example.com'] });
  const first = await told(port);
  expect(first.id).toMatch(/^db_[0-9a-z]+$/);
  expect(first.epoch).toBeGreaterThan(1_600_000_000_000);
  for (const path of ['/healthz', '/metrics', '/nothing', '/api/v1/nothing', '/api/v1/runs/none'])
    expect(await told(port, path), path).toEqual(first);
  const page = await ask(port, '/api/v1/', { headers: { origin: 'https://app.example.com' } });
  expect(page.headers['access-control-expose-headers']).toContain('quark-epoch');
});

test('a client knows it from the last answer', async () => {
  const service = await services.start();
  const store = await storeOf(service);
  const { epoch, id } = await told(service.port);
  expect(await store.identity?.()).toEqual({ id, epoch });
  await store.close();
});

test('an end in order leaves the epoch as it is, and an end without notice changes it', async () => {
  const folder = services.folder();
  const first = await services.start({ storage: folder });
  const before = await told(first.port);
  // A second one on the same database while the first one runs.
  const second = await services.start({ storage: folder });
  expect(await told(second.port)).toEqual(before);
  await second.close();
  await first.close();
  const third = await services.start({ storage: folder });
  expect(await told(third.port)).toEqual(before);

  const copy = join(services.folder(), 'copy');
  await cp(join(folder, '.quark'), join(copy, '.quark'), { recursive: true });
  await third.close();
  // What was copied while it ran has a mark. Its process is this one, which has ended that service.
  const fourth = await services.start({ storage: copy });
  const after = await told(fourth.port);
  expect(after.id).toBe(before.id);
  expect(after.epoch).toBeGreaterThan(before.epoch);
});

test('a restore changes it to one that no other copy has', async () => {
  const folder = services.folder();
  const service = await services.start({ storage: folder });
  const before = await told(service.port);
  await service.close();
  const path = join(folder, '.quark', 'quark.db');
  const database = await openSqlite(path);
  const one = await database.transaction(() => changeEpoch(Date.now()));
  // By a clock that was turned back as well.
  const two = await database.transaction(() => changeEpoch(0));
  await database.close();
  expect(one.epoch).toBeGreaterThan(before.epoch);
  expect(two).toEqual({ id: before.id, epoch: one.epoch + 1 });
});

test('marks: of a process that is gone, that was not renewed, and of another timeline', async () => {
  const database = await openSqlite(join(services.folder(), 'quark.db'));
  const rules = {
    nowMs: 1_000_000,
    ttlMs: 40_000,
    isGone: () => false,
    safety: { isDurable: true, losesWithService: true, origin: null as string | null },
  };
  const renew = (id: string, change: Partial<typeof rules> = {}) =>
    database.transaction(() => renewMark({ id, tag: id }, { ...rules, ...change }));
  const first = await renew('a');
  expect(await renew('b')).toEqual(first);
  expect(await renew('b', { nowMs: 1_030_000 })).toEqual(first);
  // `a` was not renewed: it has ended. That is found once.
  const second = await renew('b', { nowMs: 1_050_000 });
  expect(second.epoch).toBeGreaterThan(first.epoch);
  expect(await renew('b', { nowMs: 1_060_000 })).toEqual(second);
  // Where the end of a service loses nothing, nothing changes.
  await renew('c', { nowMs: 1_060_000 });
  const durable = { isDurable: true, losesWithService: false, origin: '7/1' };
  expect(await renew('b', { nowMs: 1_060_000, isGone: () => true, safety: durable })).toEqual(
    second,
  );
  const third = await renew('b', { nowMs: 1_060_001, safety: { ...durable, origin: '7/2' } });
  expect(third.epoch).toBeGreaterThan(second.epoch);
  expect(await renew('b', { nowMs: 1_060_002, safety: { ...durable, origin: '7/2' } })).toEqual(
    third,
  );
  await database.close();
});

test('PostgreSQL tells its timeline, and whether it waits for the disk', async () => {
  const schema = await makeSchema();
  try {
    const first = await services.start({ storage: schema.uri });
    const before = await told(first.port);
    const spaces = await openSpaces(schema.uri);
    const safety = await spaces.database.safety();
    await spaces.close();
    // The server of the tests does not wait for the disk; another one may.
    expect(safety.losesWithService).toBe(!safety.isDurable);
    expect(safety.origin).toMatch(/^\d+\/[0-9A-F]{8}$/);
    expect(before.durable).toBe(safety.isDurable ? '1' : '0');
    const second = await services.start({ storage: schema.uri });
    expect(await told(second.port)).toEqual(before);
    await second.close();
    await first.close();
  } finally {
    await services.clear();
    await schema.remove();
  }
});
