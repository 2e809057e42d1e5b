/** What a client is told of a run that it may not see any more, that was deleted, or of which it has a part only. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MetricsLogger, TrainingSession } from '../../src/index.ts';
import { applyRetention } from '../../src/retention/apply.ts';
import { deleteTable } from '../../src/read/row-deletion.ts';
import { readEvents } from '../../src/read/events.ts';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { openOutbox } from '../../src/sync/open-outbox.ts';
import type { OutboxStore } from '../../src/sync/outbox-store.ts';
import { quark, type Ran } from '../cli/fake-io.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { runOf } from '../support/segments.ts';
import { RunningServices, storeOf } from './running-service.ts';

const SOON = { timeout: 20_000, interval: 20 };
const services = new RunningServices();
const open: { close(): Promise<void> }[] = [];
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-access-'));
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  await services.clear();
  rmSync(folder, { recursive: true, force: true });
});

/** A guest with an outbox into the space of somebody else, who shares the projects "digits" and "words". */
async function guest() {
  const service = await services.start({ maintenance: false });
  const { access } = service;
  const owner = await storeOf(
    service,
    (await access.createKey({ user: 'alice', scope: 'admin' })).key,
  );
  const { key: userKey } = await access.createKey({ user: 'bob', scope: 'write' });
  open.push(owner);
  for (const name of ['digits', 'words', 'secret'])
    await owner.ensureProject({ id: `p_${name}`, name, createdAtMs: 1 });
  const share = (project: string) =>
    access.share({ owner: 'alice', project, user: 'bob', access: 'write' });
  const unshare = (project: string) => access.unshare({ owner: 'alice', project, user: 'bob' });
  for (const project of ['digits', 'words']) await share(project);
  const local = createMemoryStore();
  const openBox = (): OutboxStore => {
    const outbox = openOutbox(local, {
      url: service.url,
      userKey,
      space: 'alice:default',
      timeoutMs: 5_000,
      compareEveryMs: 50,
      ownsLocal: false,
    });
    open.push(outbox);
    return outbox;
  };
  const outbox = openBox();
  await outbox.createRun(runOf({ projectId: 'p_digits', projectName: 'digits' }));
  await outbox.createRun(runOf({ id: 'run_2', projectId: 'p_words', projectName: 'words' }));
  await outbox.appendSegments([metricSegmentOf(0), metricSegmentOf(0, { runId: 'run_2' })]);
  await expect.poll(async () => (await outbox.sync.status()).pendingRuns, SOON).toBe(0);
  return { local, openBox, outbox, owner, share, unshare };
}

const eventsOf = async (store: Store, runId: string): Promise<number> =>
  (await readEvents({ store, runId })).records.length;

test('a share that has ended is told as no access, is no loss, and goes on when it is shared again', async () => {
  const { local, outbox, owner, share, unshare } = await guest();
  await unshare('digits');
  // Found at the interval by itself, and with what is sent next.
  await expect
    .poll(async () => (await outbox.sync.status()).refusedRuns, SOON)
    .toMatchObject([{ runId: 'run_1', reason: 'no_access' }]);
  await outbox.appendSegments([metricSegmentOf(1), metricSegmentOf(1, { runId: 'run_2' })]);
  await expect
    .poll(async () => (await owner.listSegments({ runId: 'run_2', table: 'metrics' })).length, SOON)
    .toBe(2);
  await expect
    .poll(() => outbox.sync.status(), SOON)
    .toMatchObject({
      pendingRuns: 0,
      lostRows: [],
      lastError: { reason: 'no_access', message: expect.stringContaining('Nothing is lost.') },
    });
  for (const runId of ['run_1', 'run_2']) expect(await eventsOf(local, runId)).toBe(0);
  expect(await owner.listSegments({ runId: 'run_1', table: 'metrics' })).toHaveLength(1);
  await share('digits');
  await expect
    .poll(async () => (await owner.listSegments({ runId: 'run_1', table: 'metrics' })).length, SOON)
    .toBe(2);
  expect((await outbox.sync.status()).refusedRuns).toBeUndefined();
  expect(await eventsOf(local, 'run_1')).toBe(0);
});

test('a run that has ended goes on, too, without a restart of the sender', async () => {
  const { outbox, owner, share, unshare } = await guest();
  const rows = async (): Promise<number> =>
    (await owner.listSegments({ runId: 'run_1', table: 'metrics' })).length;
  await unshare('digits');
  await expect
    .poll(async () => (await outbox.sync.status()).refusedRuns, SOON)
    .toMatchObject([{ runId: 'run_1', reason: 'no_access' }]);
  await outbox.appendSegments([metricSegmentOf(1)]);
  const run = await outbox.findRun('run_1');
  if (run === undefined) throw new Error('It is here.');
  await outbox.updateRun({ ...run, status: 'completed' });
  expect(await rows()).toBe(1);
  await share('digits');
  await expect.poll(rows, SOON).toBe(2);
  await expect.poll(async () => (await owner.findRun('run_1'))?.status, SOON).toBe('completed');
  await expect.poll(() => outbox.sync.status(), SOON).toMatchObject({ pendingRuns: 0 });
  expect((await outbox.sync.status()).refusedRuns).toBeUndefined();
});

test('a run that its owner has moved out of sight is no loss either, be there something to send or not', async () => {
  const { local, outbox, owner } = await guest();
  const run = await owner.findRun('run_1');
  if (run === undefined) throw new Error('It was sent.');
  await owner.updateRun({ ...run, projectId: 'p_secret', projectName: 'secret' });
  await outbox.appendSegments([metricSegmentOf(1)]);
  await expect
    .poll(async () => (await outbox.sync.status()).refusedRuns, SOON)
    .toMatchObject([{ runId: 'run_1', reason: 'no_access' }]);
  expect(await eventsOf(local, 'run_1')).toBe(0);
});

test('where nothing of a space is shared any more, the outbox is blocked and says why', async () => {
  const { local, outbox, unshare } = await guest();
  for (const project of ['digits', 'words']) await unshare(project);
  await outbox.appendSegments([metricSegmentOf(1)]);
  await expect
    .poll(() => outbox.sync.status(), SOON)
    .toMatchObject({
      state: 'blocked',
      lastError: { message: expect.stringMatching(/is shared with you/) },
      lostRows: [],
    });
  expect(await eventsOf(local, 'run_1')).toBe(0);
});

async function recorded(url: string, steps: number): Promise<string> {
  const session = await TrainingSession.startRun({
    project: 'p',
    storageDir: join(folder, 'runs'),
    persistenceUrl: url,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < steps; step++) metrics.log('loss', Math.sin(step), { step });
  await metrics.close();
  await session.endRun();
  await session.synced({ timeoutMs: 20_000 });
  await session.close();
  return session.runId;
}

const sync = (...args: string[]): Promise<Ran> =>
  quark(['sync', '--storage-dir', 'runs', ...args], { cwd: folder });

test('"quark sync --again" says of a run that it was deleted there, and asks for it once', async () => {
  const service = await services.start({ maintenance: false, keyless: 'always' });
  const runId = await recorded(service.url, 50);
  const remote = await storeOf(service, undefined, 'runs');
  open.push(remote);
  await remote.deleteRun(runId);
  for (const isPurged of [false, true]) {
    if (isPurged) await remote.purgeDeletedRuns(undefined, [runId]);
    services.log = '';
    const ran = await sync('--again');
    expect(ran.stdout).toMatch(/1 run not sent, everything else is there/);
    expect(ran).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(`deleted: ${runId} .* is not sent any more`),
    });
    const asked = services.lines.filter(
      ({ method, route }) => method === 'POST' && route === '/api/v1/runs',
    );
    expect(asked.length).toBeLessThanOrEqual(1);
  }
});

test('a run that a service has lost is sent as far as it is here: downsampled, and without what was deleted', async () => {
  const service = await services.start({ maintenance: false, keyless: 'always' });
  const runId = await recorded(service.url, 600);
  const dir = join(folder, 'runs');
  const local = await openFileStorage(dir);
  const clock = { now: () => Date.now() + 100 * 24 * 3_600_000 };
  const rules = { rules: [{ act: 'thin', olderThanDays: 90, pointsPerMetric: 40 }] } as const;
  expect((await applyRetention(local, rules, { clock })).done).toMatchObject([{ runId }]);
  expect((await deleteTable(local, runId, 'events')).rows).toBeGreaterThan(0);
  const [here] = await local.listSegments({ runId, table: 'metrics' });
  await local.close();
  // What is deleted of a copy is local: the service has all of it, whatever is sent again.
  expect((await sync('--again')).code).toBe(0);
  const before = await storeOf(service, undefined, 'runs');
  for (const [table, rows] of [
    ['metrics', 600],
    ['events', 2],
  ] as const) {
    const segments = await before.listSegments({ runId, table });
    expect(segments.reduce((sum, { rowCount }) => sum + rowCount, 0)).toBe(rows);
  }
  await before.close();
  const { port } = service;
  await services.clear();
  // Another database at the same address, with nothing in it.
  const other = await services.start({ maintenance: false, keyless: 'always', port });
  for (const more of [[], ['--again']]) {
    const ran = await sync(...more);
    expect(ran.code).toBe(0);
    // The rest was nowhere but there.
    expect(ran.stderr).toMatch(/^lost: .*\/events: 2 rows .*\nlost: .*\/metrics: 560 rows .*\n$/);
  }
  const remote = await storeOf(other, undefined, 'runs');
  open.push(remote);
  const there = await remote.listSegments({ runId, table: 'metrics' });
  expect(there).toMatchObject([
    { rowCount: here?.rowCount, droppedRows: here?.droppedRows, downsampledTo: 40 },
  ]);
  const verified = await quark(['verify', runId, '--storage-dir', 'runs'], { cwd: folder });
  expect(verified.stdout).toContain('events: 2 rows were deleted here');
  expect(verified.stdout).toContain('metrics: downsampled to 40 points a metric');
});
