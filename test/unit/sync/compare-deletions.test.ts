/** What was deleted on purpose, at the service or here, is not taken for what the service has lost. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deleteTable } from '../../../src/read/row-deletion.ts';
import { createMemoryStore, openMemoryStorage } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { SERVICE_LOST_ROWS } from '../../../src/sync/loss-notes.ts';
import { OutboxStore } from '../../../src/sync/outbox-store.ts';
import { FastClock } from '../../support/fast-clock.ts';
import { runOf, segmentOf } from '../../support/segments.ts';

const PATIENCE = { timeout: 20_000, interval: 10 };
const ID = 'run_a';

let service: Store;
let local: Store;
let outbox: OutboxStore;

beforeEach(async () => {
  service = createMemoryStore();
  local = await openMemoryStorage(`memory:${randomUUID()}`);
  outbox = open();
});

afterEach(async () => {
  await outbox.close();
  await local.close();
});

function open(): OutboxStore {
  return new OutboxStore({
    local,
    ownsLocal: false,
    openRemote: async () => service,
    remoteUri: 'https://service.test/',
    space: 'default',
    clock: new FastClock(100),
    random: () => 1,
    // The tombstones of the service are read at the start and not again.
    compareEveryMs: 1e9,
  });
}

async function record(): Promise<void> {
  await outbox.createRun(runOf({ id: ID }));
  await outbox.appendSegments([0, 1].map((batch) => segmentOf(batch, { runId: ID })));
  await arrived();
  await outbox.compareSent();
}

async function arrived(): Promise<void> {
  await expect.poll(async () => (await outbox.sync.status()).pendingRuns, PATIENCE).toBe(0);
}

async function expectNothingLost(): Promise<void> {
  await outbox.compareSent();
  expect((await outbox.sync.status()).lostRows).toEqual([]);
  for (const kind of ['lost', 'missing'])
    expect(await local.notes?.list(`sync/${kind}/`), kind).toEqual([]);
  for (const store of [local, service]) {
    const events = await store.listSegments({ runId: ID, table: 'events' });
    const own = await store.readSegments(events);
    expect(
      own.some((one) => one.kind === 'bytes' && textOf(one.bytes).includes(SERVICE_LOST_ROWS)),
    ).toBe(false);
  }
}

const textOf = (bytes: Uint8Array): string => new TextDecoder('latin1').decode(bytes);

describe.each([
  ['and can be restored', false],
  ['and its bytes are gone', true],
])('a run that was deleted at the service %s', (_name, isPurged) => {
  async function remove(): Promise<void> {
    await service.deleteRun(ID);
    if (isPurged) await service.purgeDeletedRuns(undefined, [ID]);
  }

  test('is not lost, where it is here', async () => {
    await record();
    await remove();
    await expectNothingLost();
    if (isPurged) return;
    await service.restoreRun(ID);
    await outbox.close();
    outbox = open();
    await arrived();
    await expectNothingLost();
    expect(await service.listSegments({ runId: ID, table: 'metrics' })).toHaveLength(2);
  });

  test('is not lost, where the copy here was removed before', async () => {
    await record();
    const survey = await local.notes?.survey(ID);
    if (survey !== undefined) await local.notes?.forgetRun(ID, survey);
    await outbox.syncNotes.removeMember(ID);
    expect(await local.findRun(ID)).toBeUndefined();
    await remove();
    await expectNothingLost();
  });
});

test('a table that was deleted at the service is not lost, and does not come back', async () => {
  await record();
  await service.updateRun({ ...runOf({ id: ID, status: 'completed' }), revision: 1 });
  await deleteTable(service, ID, 'metrics');
  await expectNothingLost();
  await outbox.appendSegments([segmentOf(2, { runId: ID })]);
  await arrived();
  await expectNothingLost();
  expect(await service.listSegments({ runId: ID, table: 'metrics' })).toMatchObject([
    { batchNumber: 2 },
  ]);
});

test('a table that was deleted here only is not lost at a service that is put back', async () => {
  await record();
  const before = createMemoryStore();
  await before.createRun(runOf({ id: ID }));
  await before.appendSegments([segmentOf(0, { runId: ID })]);
  await local.updateRun({ ...runOf({ id: ID, status: 'completed' }), revision: 1 });
  await deleteTable(local, ID, 'metrics');
  await outbox.close();
  service = before;
  outbox = open();
  await expectNothingLost();
  await arrived();
});

test('superseded rows that are here are sent again, and not told to be missing', async () => {
  await record();
  await service.updateRun({ ...runOf({ id: ID, generation: 2 }), revision: 1 });
  await outbox.appendSegments([segmentOf(2, { runId: ID })]);
  await arrived();
  // This store has learnt by now that the run was taken over.
  await outbox.appendSegments([segmentOf(3, { runId: ID, generation: 1 })]);
  await arrived();
  expect(await local.listSegments({ runId: ID, table: 'metrics' })).toHaveLength(3);
  const all = { runId: ID, table: 'metrics', superseded: true };
  expect(await service.listSegments(all)).toHaveLength(4);
  await outbox.compareSent();
  const before = createMemoryStore();
  await before.createRun(runOf({ id: ID }));
  await before.updateRun({ ...runOf({ id: ID, generation: 2 }), revision: 1 });
  await before.appendSegments(
    [0, 1].map((batch) => segmentOf(batch, { runId: ID, generation: 1 })),
  );
  await outbox.close();
  service = before;
  outbox = open();
  await expect.poll(async () => (await service.listSegments(all)).length, PATIENCE).toBe(4);
  await arrived();
  expect((await outbox.sync.status()).lostRows).toEqual([]);
});
