/** Deletion on both sides of an outbox: what is deleted here or there comes back from nowhere. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SessionStoreError } from '../../../src/base/errors.ts';
import { createMemoryStore, openMemoryStorage } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { SERVICE_DELETED_RUN } from '../../../src/sync/deletion-event.ts';
import { OutboxStore } from '../../../src/sync/outbox-store.ts';
import { verifyRun } from '../../../src/sync/verify.ts';
import { FastClock } from '../../support/fast-clock.ts';
import { runOf, segmentOf } from '../../support/segments.ts';
import { faultyStore, intercept, type Fault } from '../../support/store-proxy.ts';

const PATIENCE = { timeout: 20_000, interval: 10 };
const AWAY: Fault = { kind: 'before', reason: 'unreachable' };
const ID = 'run_a';

let service: Store;
let local: Store;
let outbox: OutboxStore;
let fault: (call: string) => Fault;
let remoteOf: (store: Store) => Store;

beforeEach(async () => {
  service = createMemoryStore();
  local = await openMemoryStorage(`memory:${randomUUID()}`);
  fault = () => ({ kind: 'none' });
  remoteOf = (store) => faultyStore(store, (call) => fault(call));
  outbox = open();
});

afterEach(async () => {
  await outbox.close();
  await local.close();
});

function open(onDeletedRemotely: 'keep' | 'drop' = 'keep'): OutboxStore {
  return new OutboxStore({
    local,
    ownsLocal: false,
    openRemote: async () => remoteOf(service),
    remoteUri: 'https://service.test/',
    space: 'default',
    clock: new FastClock(100),
    random: () => 1,
    compareEveryMs: 500,
    onDeletedRemotely,
  });
}

async function record(id = ID, segments = 2): Promise<void> {
  await outbox.createRun(runOf({ id }));
  await outbox.appendSegments(
    Array.from({ length: segments }, (_, i) => segmentOf(i, { runId: id })),
  );
  await arrived();
}

async function arrived(): Promise<void> {
  await expect.poll(async () => (await outbox.sync.status()).pendingRuns, PATIENCE).toBe(0);
}

const there = async (id = ID): Promise<boolean> => (await service.findRun(id)) !== undefined;

test('a run that is deleted here is deleted at the service, and restored with it', async () => {
  await record();
  await record('run_b');
  const deleted = await outbox.deleteRun(ID, { by: 'kim', keepMs: 1e9 });
  expect((await outbox.listRuns()).map(({ id }) => id)).toEqual(['run_b']);
  expect(await outbox.findRun(ID)).toBeUndefined();
  expect(await outbox.listSegments({ runId: ID, table: 'metrics' })).toEqual([]);
  await expect.poll(() => there(), PATIENCE).toBe(false);
  expect(await service.findDeletedRun(ID)).toMatchObject({ by: 'kim' });
  expect((await outbox.listDeletedRuns()).map(({ id }) => id)).toEqual([ID]);
  expect(await outbox.findDeletedRun(ID)).toEqual(deleted);
  await arrived();
  await outbox.restoreRun(ID);
  await expect.poll(() => there(), PATIENCE).toBe(true);
  await arrived();
  // Rows go on from where they were.
  await outbox.appendSegments([segmentOf(2, { runId: ID })]);
  await expect
    .poll(
      async () => (await service.listSegments({ runId: ID, table: 'metrics' })).length,
      PATIENCE,
    )
    .toBe(3);
  expect((await verifyRun(local, service, ID)).isRunEqual).toBe(true);
});

test('what is deleted while the service is away is deleted there later, by whichever process', async () => {
  await record();
  fault = () => AWAY;
  await outbox.deleteRun(ID);
  expect((await outbox.sync.status()).pendingRuns).toBe(1);
  await outbox.close();
  fault = () => ({ kind: 'none' });
  expect(await there()).toBe(true);
  outbox = open();
  await expect.poll(() => there(), PATIENCE).toBe(false);
  await arrived();
});

test('a run that was never sent is deleted here, and nothing of it reaches the service', async () => {
  fault = () => AWAY;
  await outbox.createRun(runOf({ id: ID }));
  await outbox.appendSegments([segmentOf(0, { runId: ID })]);
  await outbox.deleteRun(ID);
  fault = () => ({ kind: 'none' });
  outbox.urge();
  await arrived();
  expect(await service.listRuns()).toEqual([]);
  await expect(outbox.createRun(runOf({ id: ID }))).rejects.toMatchObject({ reason: 'deleted' });
});

test('a run that is deleted at the service comes back from no outbox, and the copy here goes on', async () => {
  await record();
  await service.deleteRun(ID);
  await outbox.appendSegments([segmentOf(5, { runId: ID })]);
  await expect.poll(async () => (await outbox.sync.status()).deletedRuns, PATIENCE).toEqual([ID]);
  const { lastError, pendingRuns } = await outbox.sync.status(ID);
  expect(lastError?.reason).toBe('deleted');
  expect(pendingRuns).toBe(0);
  const events = await local.listSegments({ runId: ID, table: 'events' });
  expect(events.map(({ keys }) => keys)).toEqual([[SERVICE_DELETED_RUN]]);
  // Sending everything again does not bring it back, and says it once.
  await outbox.syncNotes.forgetSent(ID);
  outbox.urge();
  await expect.poll(async () => (await outbox.sync.status()).deletedRuns, PATIENCE).toEqual([ID]);
  expect(await local.listSegments({ runId: ID, table: 'events' })).toHaveLength(1);
  expect(await there()).toBe(false);
  await expect(verifyRun(local, service, ID)).rejects.toMatchObject({ reason: 'deleted' });
  // Nor does a purge there.
  await service.purgeDeletedRuns(undefined, [ID]);
  await outbox.appendSegments([segmentOf(6, { runId: ID })]);
  expect(await local.listSegments({ runId: ID, table: 'metrics' })).toHaveLength(4);
  expect(await there()).toBe(false);
});

test('a client with nothing to send learns it, too, and sends again when the run is restored there', async () => {
  await record();
  await service.deleteRun(ID);
  await expect.poll(async () => (await outbox.sync.status()).deletedRuns, PATIENCE).toEqual([ID]);
  await local.appendSegments([segmentOf(7, { runId: ID })]);
  await service.restoreRun(ID);
  await expect
    .poll(
      async () => (await service.listSegments({ runId: ID, table: 'metrics' })).length,
      PATIENCE,
    )
    .toBe(3);
  expect((await outbox.sync.status()).deletedRuns).toBeUndefined();
});

test('restoring a run that only the service has deleted restores it there', async () => {
  await record();
  await service.deleteRun(ID);
  await expect.poll(async () => (await outbox.sync.status()).deletedRuns, PATIENCE).toEqual([ID]);
  await outbox.restoreRun(ID);
  expect(await there()).toBe(true);
  await arrived();
});

test('the copy is dropped where that is the policy, and can be restored on both sides', async () => {
  await record();
  await outbox.close();
  outbox = open('drop');
  await service.deleteRun(ID);
  await expect.poll(async () => local.findRun(ID), PATIENCE).toBeUndefined();
  expect(await local.findDeletedRun(ID)).toMatchObject({ by: 'service' });
  await outbox.restoreRun(ID);
  await expect.poll(() => there(), PATIENCE).toBe(true);
  expect(await local.findRun(ID)).toBeDefined();
});

test('a key that may not delete is told so, and the others runs go on', async () => {
  await record();
  const refused = new SessionStoreError('unauthorised', 'This needs a key of scope "delete".', {
    details: { needed: 'delete', status: 403 },
  });
  remoteOf = (store) =>
    intercept(store, async (call, _args, work) => {
      if (call === 'deleteRun') throw refused;
      return work();
    });
  await outbox.close();
  outbox = open();
  await outbox.deleteRun(ID);
  await record('run_b');
  await expect
    .poll(async () => (await outbox.sync.status()).lastError?.reason, PATIENCE)
    .toBe('unauthorised');
  expect(await there()).toBe(true);
  expect(await there('run_b')).toBe(true);
  expect(await outbox.findRun(ID)).toBeUndefined();
});

test('a run that was deleted here long ago can be restored at the service for the least time there', async () => {
  await record();
  // The clock of the outbox is not that of the stores: more than the difference.
  const minUndoMs = 10 * 366 * 86_400_000;
  const asked: unknown[] = [];
  remoteOf = (store) =>
    intercept(store, async (call, args, work) => {
      if (call !== 'deleteRun') return work();
      const { keepMs } = Object(args[1]);
      asked.push(keepMs);
      if (keepMs < minUndoMs)
        throw new SessionStoreError('unauthorised', 'This needs a key of scope "admin".', {
          details: { needed: 'admin', minUndoMs, status: 403 },
        });
      return work();
    });
  await outbox.close();
  outbox = open();
  await outbox.deleteRun(ID, { keepMs: 5_000 });
  await expect.poll(() => there(), PATIENCE).toBe(false);
  expect(asked).toEqual([expect.any(Number), minUndoMs]);
  const { deletedAtMs, purgeAtMs } = (await service.findDeletedRun(ID))!;
  expect(purgeAtMs - deletedAtMs).toBe(minUndoMs);
});

test('the archive goes both ways', async () => {
  await record();
  await outbox.archiveRun(ID);
  await expect
    .poll(async () => (await service.findRun(ID))?.archivedAtMs, PATIENCE)
    .toBeTypeOf('number');
  await arrived();
  await service.restoreRun(ID);
  // Taken along with the next change of the run.
  const run = await local.findRun(ID);
  if (run === undefined) throw new Error('It is here.');
  await outbox.updateRun({ ...run, tags: ['x'] });
  await expect.poll(async () => (await service.findRun(ID))?.tags, PATIENCE).toEqual(['x']);
  await arrived();
  expect((await local.findRun(ID))?.archivedAtMs).toBeUndefined();
  expect((await service.findRun(ID))?.archivedAtMs).toBeUndefined();
  expect((await verifyRun(local, service, ID)).isRunEqual).toBe(true);
});
