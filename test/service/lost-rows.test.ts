/** A service whose folder is put back to an earlier state: what it had acknowledged since is found, and sent again. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { longTest } from '../support/long.ts';
import { runCli } from '../../src/cli/cli.ts';
import { readEvents } from '../../src/read/events.ts';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { MetricsLogger } from '../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import type { Store } from '../../src/store/store.ts';
import { openSync, verifySync } from '../../src/sync/sync-storage.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { FakeIo } from '../cli/fake-io.ts';

let folder = '';
let service: ServedService | undefined;
let port = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quark-lost-'));
  await start();
});

afterEach(async () => {
  await service?.close();
  service = undefined;
  port = 0;
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  service = await serveService({ storage: join(folder, 'service'), port, keyless: 'always' });
  port = service.port;
}

const url = (): string => `http://127.0.0.1:${port}/`;
const runsOf = (name: string): string => join(folder, name, 'my runs');

/** A copy of the database of the service, taken while it runs, or in order after it was closed. */
async function backUp(isInOrder: boolean): Promise<void> {
  if (isInOrder) await service?.close();
  await cp(join(folder, 'service'), join(folder, 'backup'), { recursive: true });
  if (isInOrder) await start();
}

/** Puts the copy where the database was, as somebody does who knows of no command for it. */
async function putBack(): Promise<void> {
  await service?.close();
  await rm(join(folder, 'service'), { recursive: true });
  await cp(join(folder, 'backup'), join(folder, 'service'), { recursive: true });
  await start();
}

async function record(session: TrainingSession, from: number, steps: number): Promise<void> {
  const metrics = new MetricsLogger(session, { batchSize: 50 });
  for (let step = from; step < from + steps; step++) metrics.log('loss', 1 / (step + 1), { step });
  await metrics.flush();
  await metrics.close();
  expect(await session.synced({ timeoutMs: 60_000 })).toMatchObject({ pendingRows: 0 });
}

async function atService<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openHttpStorage(url(), { space: 'my-runs' });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const rowsThere = (runId: string): Promise<number> =>
  atService(async (store) => {
    const found = await store.listSegments({ runId, table: 'metrics' });
    return found.reduce((sum, { rowCount }) => sum + rowCount, 0);
  });

const lossesThere = (runId: string): Promise<readonly unknown[]> =>
  atService(async (store) => {
    const { records } = await readEvents({ store, runId }, { eventType: 'sync_service_lost_rows' });
    return records.map(({ payload, severity }) => ({ payload, severity }));
  });

/** Rows of metrics that the outbox has noted as being at the service. */
async function seenRows(name: string): Promise<unknown> {
  const local = await openFileStorage(runsOf(name));
  const [note] = (await local.notes?.list('sync/seen/')) ?? [];
  await local.close();
  const seen = JSON.parse(note?.text ?? '{}') as { tables?: { metrics?: { rowCount?: number } } };
  return seen.tables?.metrics?.rowCount;
}

async function startRun(name: string): Promise<TrainingSession> {
  return TrainingSession.startRun({
    project: 'p',
    storageDir: runsOf(name),
    persistenceUrl: url(),
    tags: ['a'],
  });
}

async function expectEqual(name: string, runId: string): Promise<void> {
  const local = await openFileStorage(runsOf(name));
  const [result] = await verifySync(local, runId);
  await local.close();
  expect(result).toMatchObject({ isEqual: true });
}

const soon = { timeout: 60_000 };

describe.each([
  ['taken while the service ran', false],
  ['taken after the service was closed', true],
])('a backup that was %s is put back', (_name, isInOrder) => {
  test('a session that goes on sends again, and says so in its run', async () => {
    const session = await startRun('one');
    const { runId } = session;
    await record(session, 0, 500);
    await backUp(isInOrder);
    await record(session, 500, 2_500);
    await session.addTag('b');
    expect(await rowsThere(runId)).toBe(3_000);
    await putBack();
    expect(await rowsThere(runId)).toBe(500);
    // Nothing tells of a copy that was taken in order: it is found with what is sent next, or at the interval.
    if (isInOrder) await record(session, 3_000, 1);
    await expect.poll(() => rowsThere(runId), soon).toBe(isInOrder ? 3_001 : 3_000);
    await expect
      .poll(() => lossesThere(runId), soon)
      .toMatchObject([{ severity: 'warning', payload: { rows_missing: 0 } }]);
    const [{ payload }] = (await lossesThere(runId)) as [{ payload: { tables: object } }];
    expect(payload.tables).toMatchObject({ metrics: { sent_again: 2_500, missing: 0 } });
    await session.endRun();
    await session.close();
    await expectEqual('one', runId);
    const run = await atService((store) => store.findRun(runId));
    expect(run).toMatchObject({ status: 'completed', tags: ['a', 'b'] });
  });

  test('"quark sync" sends again what an ended run had sent', async () => {
    const session = await startRun('one');
    const { runId } = session;
    await record(session, 0, 501);
    await backUp(isInOrder);
    await record(session, 501, 2_500);
    await session.endRun();
    await session.close();
    await expectEqual('one', runId);
    await putBack();
    expect(await rowsThere(runId)).toBe(501);
    const io = new FakeIo({ cwd: join(folder, 'one') });
    expect(await runCli(['sync', '--storage-dir', 'my runs'], io)).toBe(0);
    expect(io.out).toContain('all sent');
    await expectEqual('one', runId);
    expect(await lossesThere(runId)).toHaveLength(1);
    const run = await atService((store) => store.findRun(runId));
    expect(run?.status).toBe('completed');
  });
});

longTest(
  'of a run that was taken over from the service, what is stored nowhere any more is told',
  async () => {
    const first = await startRun('one');
    const { runId } = first;
    await record(first, 0, 50);
    await backUp(false);
    await record(first, 50, 70);
    await first.endRun('interrupted');
    await first.close();
    const second = await TrainingSession.resumeRun({
      runId,
      storageDir: runsOf('two'),
      persistenceUrl: url(),
    });
    await record(second, 120, 200);
    expect(await rowsThere(runId)).toBe(320);
    await expect.poll(() => seenRows('two'), soon).toBeGreaterThanOrEqual(120);
    expect((await second.syncStatus()).lostRows).toEqual([]);
    await putBack();
    await expect.poll(() => rowsThere(runId), soon).toBe(250);
    await expect
      .poll(() => lossesThere(runId), soon)
      .toMatchObject([
        { severity: 'error', payload: { tables: { metrics: { sent_again: 200, missing: 70 } } } },
      ]);
    const { lostRows } = await second.syncStatus();
    expect(lostRows).toContainEqual({ runId, table: 'metrics', rows: 70 });
    await second.endRun();
    await second.close();
  },
);

async function recordAndLetGo(): Promise<string> {
  const session = await TrainingSession.startRun({
    project: 'p',
    storageDir: runsOf('one'),
    persistenceUrl: url(),
    keepLocal: 'until-acknowledged',
  });
  await record(session, 0, 300);
  await session.endRun();
  await session.close();
  return session.runId;
}

async function isHere(runId: string): Promise<boolean> {
  const local = await openFileStorage(runsOf('one'));
  const found = await local.findRun(runId);
  await local.close();
  return found !== undefined;
}

test('only what the disk of the service has is removed here, and told when it is gone all the same', async () => {
  await backUp(false);
  await service?.close();
  const storage = join(folder, 'service');
  service = await serveService({ storage, port, keyless: 'always', synchronous: 'normal' });
  const first = await recordAndLetGo();
  expect(await isHere(first)).toBe(true);
  await service.close();
  await start();
  const local = await openFileStorage(runsOf('one'));
  const options = { persistenceUrl: url(), keepLocal: 'until-acknowledged' } as const;
  let [task] = await openSync(local, options);
  await expect.poll(() => isHere(first), soon).toBe(false);
  await task?.outbox.close();
  await putBack();
  [task] = await openSync(local, options);
  await task?.compare();
  expect((await task?.status())?.lostRows).toContainEqual({
    runId: first,
    table: 'metrics',
    rows: 300,
  });
  await task?.outbox.close();
  await local.close();
});
