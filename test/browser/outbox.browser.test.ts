/** Outboxes on one IndexedDB database in a real browser, as two tabs have them: Web Locks decide who sends. */
import { deleteDB } from 'idb';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
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
