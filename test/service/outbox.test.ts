/** Sessions that record here and send to a real service on a port, over HTTP. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ArtifactStore } from '../../src/instruments/artifacts/artifact-store.ts';
import { runCli } from '../../src/cli/cli.ts';
import { LOCAL_USER } from '../../src/service/access/principal.ts';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { openFileSpaces, openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { deleteArtifact, deleteTable } from '../../src/read/row-deletion.ts';
import { metricTable } from '../../src/records/metric.ts';
import { compactTable } from '../../src/segment/compact.ts';
import { readMetricColumns } from '../../src/read/metric-columns.ts';
import { applyRetention } from '../../src/retention/apply.ts';
import { planRetention } from '../../src/retention/plan.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { EventLogger } from '../../src/session/event-logger.ts';
import { MetricsLogger } from '../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { configurePersistence } from '../../src/store/persistence.ts';
import { verifySync } from '../../src/sync/sync-storage.ts';
import { FakeIo } from '../cli/fake-io.ts';

let folder = '';
let service: ServedService | undefined;
let port = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quark-outbox-'));
  await start();
});

afterEach(async () => {
  vi.unstubAllEnvs();
  configurePersistence({});
  await service?.close();
  service = undefined;
  port = 0;
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  service = await serveService({ storage: join(folder, 'service'), port, keyless: 'always' });
  port = service.port;
}

const place = (): string => join(folder, 'my runs');
const url = (): string => `http://127.0.0.1:${port}/`;

async function record(session: TrainingSession, steps: number): Promise<void> {
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < steps; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await metrics.flush();
}

async function expectEqual(runId: string): Promise<void> {
  const local = await openFileStorage(place());
  try {
    const [result] = await verifySync(local, runId);
    expect(result).toMatchObject({ isEqual: true, isRunEqual: true });
    expect(result?.tables.length).toBeGreaterThan(1);
  } finally {
    await local.close();
  }
}

describe('a session with a service', () => {
  test('has everything there when it has ended, artifacts too, under a name and no path', async () => {
    const runId = await TrainingSession.run(
      { project: 'p', storageDir: place(), persistenceUrl: url(), tags: ['a'] },
      async (session) => {
        await record(session, 500);
        await new ArtifactStore(session).store(
          'checkpoint',
          'weights',
          new Uint8Array(400_000).fill(7),
        );
        await session.addTag('b');
        return session.runId;
      },
    );
    await expectEqual(runId);
    const remote = await openHttpStorage(url(), { space: 'my-runs' });
    const run = await remote.findRun(runId);
    expect(run).toMatchObject({ status: 'completed', tags: ['a', 'b'] });
    expect(run?.document).not.toContain(folder);
    expect(await remote.listLeases()).toEqual([]);
    await remote.close();
  });

  test('goes on while the service is away, and what is left is sent by "quark sync"', async () => {
    vi.stubEnv('QUARK_PERSISTENCE_URL', url());
    const session = await TrainingSession.startRun({ project: 'p', storageDir: place() });
    await record(session, 10);
    expect(await session.synced({ timeoutMs: 10_000 })).toMatchObject({
      state: 'idle',
      pendingRows: 0,
    });
    await service?.close();
    await record(session, 1000);
    await session.synced({ timeoutMs: 1500 });
    await expect.poll(async () => (await session.syncStatus()).state).toBe('waiting');
    const away = await session.syncStatus();
    expect(away).toMatchObject({ state: 'waiting', pendingRuns: 1, pendingRows: 1000 });
    expect(away.lastError?.reason).toBe('unreachable');
    expect(away.nextAttemptAtMs).toBeGreaterThan(0);
    await session.endRun();
    await session.close();
    vi.unstubAllEnvs();

    const io = new FakeIo({ cwd: folder });
    expect(await runCli(['sync', '--storage-dir', 'my runs'], io)).toBe(1);
    expect(io.out).toContain('unreachable');
    expect(io.out).toContain('1 run with 10');
    await start();
    expect(
      await runCli(['verify', 'latest', '--storage-dir', 'my runs'], new FakeIo({ cwd: folder })),
    ).toBe(1);
    const again = new FakeIo({ cwd: folder });
    expect(await runCli(['sync', '--storage-dir', 'my runs'], again)).toBe(0);
    expect(again.out).toContain('all sent');
    const verifying = new FakeIo({ cwd: folder });
    expect(await runCli(['verify', 'latest', '--storage-dir', 'my runs'], verifying)).toBe(0);
    expect(verifying.out).toContain('the same on both sides');
    await expectEqual(session.runId);
  });

  test('brings nothing back of tables and artifacts that were deleted there, and verification knows it', async () => {
    const runId = await TrainingSession.run(
      { project: 'p', storageDir: place(), persistenceUrl: url() },
      async (session) => {
        await record(session, 30);
        const artifacts = new ArtifactStore(session);
        for (const name of ['a', 'b']) await artifacts.store('notes', name, { name });
        return session.runId;
      },
    );
    const sync = async (...more: string[]): Promise<void> => {
      const io = new FakeIo({ cwd: folder });
      expect(await runCli(['sync', '--storage-dir', 'my runs', ...more], io)).toBe(0);
    };
    await sync();
    const remote = await openHttpStorage(url(), { space: 'my-runs' });
    const rowsThere = async (): Promise<number[]> =>
      Promise.all(
        ['metrics', 'artifacts'].map(async (table) =>
          (await remote.listSegments({ runId, table })).reduce((sum, one) => sum + one.rowCount, 0),
        ),
      );
    expect(await deleteTable(remote, runId, 'metrics')).toMatchObject({ rows: 30 });
    expect(await deleteArtifact(remote, runId, 'a')).toMatchObject({ rows: 1 });
    expect(await rowsThere()).toEqual([0, 1]);
    await expectEqual(runId);
    await sync('--again');
    expect(await rowsThere()).toEqual([0, 1]);
    await expectEqual(runId);
    const verifying = new FakeIo({ cwd: folder });
    expect(await runCli(['verify', runId, '--storage-dir', 'my runs'], verifying)).toBe(0);
    expect(verifying.out).toContain('metrics: 30 rows were deleted there\n');
    expect(verifying.out).toContain('artifacts: 1 row was deleted there\n');
    await remote.close();
  });

  test('brings nothing back of metrics that were downsampled there, and verification says that they were', async () => {
    const runId = await TrainingSession.run(
      { project: 'p', storageDir: place(), persistenceUrl: url() },
      async (session) => {
        await record(session, 300);
        return session.runId;
      },
    );
    const sync = async (...more: string[]): Promise<void> => {
      const io = new FakeIo({ cwd: folder });
      expect(await runCli(['sync', '--storage-dir', 'my runs', ...more], io)).toBe(0);
    };
    await sync();
    const remote = await openHttpStorage(url(), { space: 'my-runs' });
    const rules = { rules: [{ act: 'thin', olderThanDays: 90, pointsPerMetric: 40 }] } as const;
    const clock = { now: () => Date.now() + 100 * 24 * 60 * 60 * 1000 };
    const through = await applyRetention(remote, rules, { clock });
    expect(through).toMatchObject({ done: [], skipped: [{ step: { runId } }] });
    const spaces = await openFileSpaces(join(folder, 'service'));
    const { done, skipped } = await applyRetention(spaces.store(`${LOCAL_USER}/my-runs`), rules, {
      clock,
    });
    expect(skipped).toEqual([]);
    const left = done[0]?.rows?.after ?? 0;
    expect(done).toMatchObject([{ act: 'thin', runId, rows: { before: 300 } }]);
    const rowsThere = async (): Promise<number> =>
      (await readMetricColumns({ store: remote, runId })).rowCount;
    expect(left).toBeLessThanOrEqual(40);
    expect(await rowsThere()).toBe(left);
    await expectEqual(runId);
    await sync('--again');
    expect(await rowsThere()).toBe(left);
    expect((await planRetention(remote, rules, { clock })).steps).toEqual([]);
    const verifying = new FakeIo({ cwd: folder });
    expect(await runCli(['verify', runId, '--storage-dir', 'my runs'], verifying)).toBe(0);
    expect(verifying.out).toContain(
      `metrics: downsampled to 40 points a metric, ${300 - left} rows were taken away there\n`,
    );
    await spaces.close();
    await remote.close();
  });

  test('metrics that were downsampled here stay whole there, merged or not, and are not taken away by sending again', async () => {
    const runId = await TrainingSession.run(
      { project: 'p', storageDir: place(), persistenceUrl: url() },
      async (session) => {
        await record(session, 300);
        await record(session, 300);
        return session.runId;
      },
    );
    const sync = async (...more: string[]): Promise<void> => {
      const io = new FakeIo({ cwd: folder });
      expect(await runCli(['sync', '--storage-dir', 'my runs', ...more], io)).toBe(0);
    };
    await sync();
    const local = await openFileStorage(place());
    const rules = { rules: [{ act: 'thin', olderThanDays: 90, pointsPerMetric: 40 }] } as const;
    const clock = { now: () => Date.now() + 100 * 24 * 60 * 60 * 1000 };
    expect((await applyRetention(local, rules, { clock })).done).toMatchObject([
      { runId, rows: { before: 600 } },
    ]);
    await local.close();
    const remote = await openHttpStorage(url(), { space: 'my-runs' });
    const rowsThere = async (): Promise<number> =>
      (await readMetricColumns({ store: remote, runId })).rowCount;
    await sync('--again');
    expect(await rowsThere()).toBe(600);
    await expectEqual(runId);
    await compactTable(remote, metricTable, runId, 'mrg_there');
    await sync('--again');
    expect(await rowsThere()).toBe(600);
    await expectEqual(runId);
    const verifying = new FakeIo({ cwd: folder });
    expect(await runCli(['verify', runId, '--storage-dir', 'my runs'], verifying)).toBe(0);
    expect(verifying.out).toContain('metrics: downsampled to 40 points a metric');
    await remote.close();
  });

  test('is resumed on another machine, and there is one run with all of both', async () => {
    const first = await TrainingSession.startRun({
      project: 'p',
      storageDir: place(),
      persistenceUrl: url(),
    });
    await record(first, 20);
    await first.endRun('interrupted');
    await first.close();

    const elsewhere = join(folder, 'elsewhere', 'my runs');
    const second = await TrainingSession.resumeRun({
      runId: first.runId,
      storageDir: elsewhere,
      persistenceUrl: url(),
    });
    await record(second, 30);
    const both = await new MetricsLogger(second).read();
    expect(both).toHaveLength(50);
    expect(new Set(both.map((one) => one.sequence)).size).toBe(50);
    new EventLogger(second).log('user_log', { payload: {} });
    // While it goes on there, it cannot be resumed here.
    await expect(
      TrainingSession.resumeRun({
        runId: first.runId,
        storageDir: place(),
        persistenceUrl: url(),
      }),
    ).rejects.toMatchObject({ code: 'invalid_run_state' });
    await second.endRun();
    await second.close();

    const remote = await openHttpStorage(url(), { space: 'my-runs' });
    const rows = (await remote.listSegments({ runId: first.runId, table: 'metrics' })).reduce(
      (sum, one) => sum + one.rowCount,
      0,
    );
    expect(rows).toBe(50);
    expect(await remote.findRun(first.runId)).toMatchObject({ status: 'completed' });
    await remote.close();
  });

  test('names what is wrong with its configuration, and never the key', async () => {
    const options = { project: 'p', storageDir: place() };
    const wrong = { code: 'invalid_input' };
    for (const compareEveryMs of [999, 86_400_001, Number.NaN])
      expect(() => configurePersistence({ compareEveryMs })).toThrow(
        /compareEveryMs must be a number of milliseconds from 1000 to 86400000/,
      );
    await expect(
      TrainingSession.startRun({ ...options, persistenceUrl: 'ftp://x' }),
    ).rejects.toMatchObject({ ...wrong, details: { field: 'persistenceUrl' } });
    const bad = TrainingSession.startRun({ ...options, userKey: 'secret word' });
    await expect(bad).rejects.toMatchObject({ ...wrong, details: { field: 'userKey' } });
    await expect(bad).rejects.not.toMatchObject({
      message: expect.stringContaining('secret word') as string,
    });
    await expect(
      TrainingSession.startRun({ ...options, persistenceTimeoutSeconds: 0 }),
    ).rejects.toMatchObject({ ...wrong, details: { field: 'persistenceTimeoutSeconds' } });
    vi.stubEnv('QUARK_PERSISTENCE_TIMEOUT_SECONDS', 'soon');
    vi.stubEnv('QUARK_PERSISTENCE_URL', url());
    await expect(TrainingSession.startRun(options)).rejects.toMatchObject({
      ...wrong,
      details: { field: 'QUARK_PERSISTENCE_TIMEOUT_SECONDS' },
    });
  });

  test('lets go of the local copy only once the service has the same', async () => {
    configurePersistence({ persistenceUrl: url(), keepLocal: 'until-acknowledged' });
    const session = await TrainingSession.startRun({ project: 'p', storageDir: place() });
    await record(session, 100);
    await session.endRun();
    const local = await openFileStorage(place());
    await expect.poll(() => local.findRun(session.runId)).toBeUndefined();
    // The session reads on from the service.
    expect((await session.reload()).status).toBe('completed');
    expect(
      await session.store.listSegments({ runId: session.runId, table: 'metrics' }),
    ).not.toEqual([]);
    await local.close();
    await session.close();
  });

  test('is told where the service keeps its records in the same folder, and loses none of them', async () => {
    const storageDir = join(folder, 'default');
    const own = await serveService({ storage: storageDir, keyless: 'always' });
    try {
      configurePersistence({ persistenceUrl: own.url, keepLocal: 'until-acknowledged' });
      const session = await TrainingSession.startRun({ project: 'p', storageDir });
      await record(session, 10);
      await expect
        .poll(async () => session.syncStatus(), { timeout: 15_000 })
        .toMatchObject({
          state: 'blocked',
          acknowledgedRows: 0,
          lastError: { message: expect.stringContaining('in this very store') as string },
        });
      await session.endRun();
      await session.close();
      const remote = await openHttpStorage(own.url);
      expect(await remote.findRun(session.runId)).toMatchObject({ status: 'completed' });
      expect(await remote.listSegments({ runId: session.runId, table: 'metrics' })).not.toEqual([]);
      expect(await remote.listLeases()).toEqual([]);
      await remote.close();
    } finally {
      await own.close();
    }
  });
});
