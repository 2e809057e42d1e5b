/** Outboxes on one IndexedDB database in a real browser, as two tabs have them: Web Locks decide who sends. */
import { deleteDB } from 'idb';
import { expect, test } from 'vitest';
import { longTest } from '../support/long.ts';
import { systemClock } from '../../src/base/clock.ts';
import { SessionStoreError } from '../../src/base/errors.ts';
import { openStorage } from '../../src/location/open-storage.ts';
import { createStoreHandler } from '../../src/service/routes/handler.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { openIdbStorage } from '../../src/store/idb/idb-store.ts';
import type { Store } from '../../src/store/store.ts';
import { OutboxStore } from '../../src/sync/outbox-store.ts';
import { RUN_ID, runOf, segmentOf } from '../support/segments.ts';

async function openTab(name: string, service: Store): Promise<OutboxStore> {
  return new OutboxStore({
    local: await openIdbStorage(`idb:${name}`),
    ownsLocal: true,
    openRemote: async () => service,
    remoteUri: 'https://service.test/',
    space: 'default',
    clock: systemClock,
    locks: navigator.locks,
  });
}

test('of two, one sends what both write; when it goes, the other goes on', async () => {
  const name = `outbox-${crypto.randomUUID()}`;
  const service = createMemoryStore();
  const first = await openTab(name, service);
  const second = await openTab(name, service);
  await first.createRun(runOf());
  await Promise.all([
    first.appendSegments([segmentOf(0, { writerId: 'w1' })]),
    second.appendSegments([segmentOf(0, { writerId: 'w2' })]),
  ]);
  expect(await second.sync.synced({ timeoutMs: 20_000 })).toMatchObject({
    state: 'idle',
    pendingRuns: 0,
    acknowledgedRows: 20,
  });
  const leaders = [await first.sync.status(), await second.sync.status()];
  expect(leaders.map(({ isUploader }) => isUploader)).toEqual([true, false]);
  await first.close();
  await second.appendSegments([segmentOf(1, { writerId: 'w2' })]);
  expect(await second.sync.synced({ timeoutMs: 20_000 })).toMatchObject({
    pendingRuns: 0,
    acknowledgedRows: 30,
    isUploader: true,
  });
  expect(await service.listSegments({ runId: RUN_ID, table: 'metrics' })).toHaveLength(3);
  await second.close();
  await deleteDB(name);
});

longTest(
  'the lock of one that does not answer any more is taken away, and the status says so meanwhile',
  async () => {
    const name = `outbox-${crypto.randomUUID()}`;
    const service = createMemoryStore();
    const first = await openTab(name, service);
    const lock = await navigator.locks.query().then(({ held = [] }) => {
      const found = held.find((one) => one.name?.includes(name));
      return found?.name ?? '';
    });
    await first.close();
    // It has the lock, and its thread is stopped.
    const code = `navigator.locks.request(${JSON.stringify(lock)}, () => {
    postMessage('held');
    setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000));
    return new Promise(() => {});
  });`;
    const worker = new Worker(URL.createObjectURL(new Blob([code])));
    await new Promise((resolve) => {
      worker.addEventListener('message', resolve, { once: true });
    });
    const second = await openTab(name, service);
    await second.createRun(runOf());
    await second.appendSegments([segmentOf(0)]);
    await expect
      .poll(async () => (await second.sync.status()).state, { timeout: 20_000, interval: 100 })
      .toBe('waiting');
    expect(await second.sync.synced({ timeoutMs: 60_000 })).toMatchObject({
      pendingRuns: 0,
      isUploader: true,
    });
    worker.terminate();
    await second.close();
    await deleteDB(name);
  },
);

test('what a closed page has left is sent by a page that only opens the store', async () => {
  const name = `outbox-${crypto.randomUUID()}`;
  const service = createMemoryStore();
  const handler = createStoreHandler({ writable: true });
  const left = new OutboxStore({
    local: await openIdbStorage(`idb:${name}`),
    ownsLocal: true,
    openRemote: () => Promise.reject(new SessionStoreError('unreachable', 'offline')),
    remoteUri: 'https://service.test/',
    space: 'default',
    clock: systemClock,
    locks: navigator.locks,
  });
  await left.createRun(runOf());
  await left.appendSegments([segmentOf(0), segmentOf(1)]);
  await left.close();
  const { fetch } = globalThis;
  globalThis.fetch = async (input) =>
    handler.handle(input instanceof Request ? input : new Request(input), { store: service });
  try {
    const store = await openStorage(`idb:${name}`);
    await expect
      .poll(() => service.listSegments({ runId: RUN_ID, table: 'metrics' }), { timeout: 60_000 })
      .toHaveLength(2);
    await store.close();
  } finally {
    globalThis.fetch = fetch;
    handler.close();
  }
  await deleteDB(name);
});
