import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  addLog,
  addTag,
  createMemoryStore,
  dumpRecord,
  endRun,
  EventLogger,
  listRuns,
  MetricsLogger,
  openRun,
  openStorage,
  resumeRun,
  startRun,
  TrainingSession,
  type Store,
} from 'quark-sdk';
import { TestClock } from '../../support/clock.ts';

let directory: string;
let clock: TestClock;
let open: Store[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quark-session-'));
  clock = new TestClock(Date.UTC(2026, 0, 2));
  open = [];
});
afterEach(async () => {
  for (const store of open) await store.close();
  await rm(directory, { recursive: true, force: true });
});

async function openStore(kind: string): Promise<Store> {
  const store =
    kind === 'memory' ? createMemoryStore({ clock }) : await openStorage(directory, { clock });
  open.push(store);
  return store;
}

describe.each(['memory', 'sqlite'])('a session on %s', (kind) => {
  test('records a run from start to end', async () => {
    const storage = await openStore(kind);
    const session = await startRun({
      project: 'digits',
      config: { lr: 0.1 },
      tags: ['a', 'b', 'a'],
      storage,
      clock,
    });
    expect(session.status).toBe('running');
    const metrics = new MetricsLogger(session, { batchSize: 10 });
    const events = new EventLogger(session.context);
    for (let step = 0; step < 25; step++)
      metrics.log('train/loss', 1 / (step + 1), { step, epoch: 0 });
    events.log('checkpoint_saved', { step: 24, payload: { path: 'a.bin' } });
    await addTag(session, 'c');
    const logged = await addLog(session, 'warm', { identifier: 'Warning', payload: { n: 1 } });
    expect(logged).toMatchObject({
      eventType: 'user_log',
      severity: 'warning',
      sequence: 1,
      payload: { message: 'warm', identifier: 'Warning', n: 1 },
    });
    clock.advance(5000);
    const context = await endRun(session);
    expect(context.status).toBe('completed');
    expect(context.tags).toEqual(['a', 'b', 'c']);
    expect(context.run.endedAt).toBe('2026-01-02T00:00:05.000Z');
    expect(dumpRecord(context)).toEqual({
      storage_dir: storage.location.storageDir,
      store_root: storage.location.storeRoot,
      db_path: storage.location.dbPath,
      project: dumpRecord(context.project),
      run: dumpRecord(context.run),
    });
    expect(session.toDict()).toEqual(context.toDict());

    const reader = await openRun(storage, session.runId);
    expect(reader.run.config).toEqual({ lr: 0.1 });
    const records = await reader.readMetrics();
    expect(records.map((record) => record.step)).toEqual(Array.from({ length: 25 }, (_, i) => i));
    expect(records.map((record) => record.sequence)).toEqual(
      Array.from({ length: 25 }, (_, i) => i),
    );
    expect(records.at(3)?.toDict()).toEqual({
      run_id: session.runId,
      sequence: 3,
      timestamp: '2026-01-02T00:00:00.000Z',
      metric_key: 'train/loss',
      namespace: 'train',
      metric_name: 'loss',
      value: 0.25,
      step: 3,
      epoch: 0,
      description: null,
      metadata: null,
    });
    const types = (await reader.readEvents()).map((event) => event.eventType);
    expect(types).toEqual(['run_started', 'user_log', 'checkpoint_saved', 'run_ended']);
    expect(reader.damage).toEqual([]);
    await session.close();
  });

  test('ends as failed when the work throws, and the error is recorded', async () => {
    const storage = await openStore(kind);
    const work = TrainingSession.run({ project: 'p', storage, clock }, async (session) => {
      new MetricsLogger(session).log('x', 1, { step: 0 });
      throw new TypeError('bad shape');
    });
    await expect(work).rejects.toThrow('bad shape');
    const [summary] = await listRuns(storage);
    expect(summary?.run.status).toBe('failed');
    const reader = await openRun(storage, summary?.run.id ?? '');
    expect(await reader.readMetrics()).toHaveLength(1);
    const [error] = await reader.readEvents({ eventType: 'runtime_error' });
    expect(error).toMatchObject({
      severity: 'error',
      payload: { message: 'bad shape', identifier: 'Error', error_type: 'TypeError' },
    });
  });

  test('ends as interrupted on an AbortError', async () => {
    const storage = await openStore(kind);
    const work = TrainingSession.run({ project: 'p', storage, clock }, () => {
      throw new DOMException('stop', 'AbortError');
    });
    await expect(work).rejects.toThrow('stop');
    const [summary] = await listRuns(storage, { statuses: ['interrupted'] });
    expect(summary?.run.status).toBe('interrupted');
  });

  test('a run whose lease lapsed counts as interrupted and can be resumed once', async () => {
    const storage = await openStore(kind);
    const dead = await startRun({ project: 'p', storage, clock, leaseTtlMs: 1000 });
    const { runId } = dead;
    new MetricsLogger(dead).log('x', 1, { step: 0 });
    await dead.flush();
    await expect(resumeRun({ runId, storage, clock })).rejects.toThrow(/another session/);
    clock.jump(1001);
    expect(
      (await listRuns(storage)).map((summary) => [summary.isLive, summary.effectiveStatus]),
    ).toEqual([[false, 'interrupted']]);
    const resumed = await resumeRun({ runId, storage, clock });
    expect(resumed.context.run.resumeCount).toBe(1);
    await expect(resumeRun({ runId, storage, clock })).rejects.toMatchObject({
      code: 'invalid_run_state',
    });
    await resumed.endRun();
    await expect(resumeRun({ runId, storage, clock })).rejects.toThrow(/completed/);
    expect(
      (await (await openRun(storage, runId)).readEvents({ eventType: 'run_resumed' })).map(
        (event) => event.payload,
      ),
    ).toEqual([{ previous_status: 'running', resume_count: 1 }]);
  });

  test('takes a time without a zone for UTC', async () => {
    const session = await startRun({ project: 'p', storage: await openStore(kind), clock });
    const metrics = new MetricsLogger(session);
    const at = (timestamp: string): string => metrics.log('a', 1, { step: 0, timestamp }).timestamp;
    expect(at('2026-05-07T01:02:03')).toBe('2026-05-07T01:02:03.000Z');
    expect(at('2026-05-07T01:02:03.5+02:00')).toBe('2026-05-06T23:02:03.500Z');
    expect(at('2026-05-07')).toBe('2026-05-07T00:00:00.000Z');
    await session.close();
  });

  test('keeps lineage', async () => {
    const storage = await openStore(kind);
    const first = await startRun({ project: 'p', storage, clock });
    const second = await startRun({ project: 'p', storage, clock, parentRunId: first.runId });
    const third = await startRun({ project: 'p', storage, clock, parentRunId: second.runId });
    expect(third.context.run).toMatchObject({
      parentRunId: second.runId,
      lineageRootRunId: first.runId,
    });
    expect(first.context.run.lineageRootRunId).toBe(first.runId);
    await expect(
      startRun({ project: 'p', storage, clock, parentRunId: 'run_none' }),
    ).rejects.toMatchObject({ code: 'run_not_found' });
  });

  test('two sessions write to one run and nothing is lost', async () => {
    const storage = await openStore(kind);
    const other = kind === 'memory' ? storage : await openStore(kind);
    const host = await startRun({ project: 'p', storage, clock });
    const guest = await TrainingSession.attachRun({ runId: host.runId, storage: other, clock });
    const writers = [
      new MetricsLogger(host, { batchSize: 3 }),
      new MetricsLogger(guest, { batchSize: 7 }),
    ];
    for (let step = 0; step < 200; step++) {
      writers.forEach((writer, i) => writer.log(`w${i}`, step, { step }));
      if (step % 10 === 0) await Promise.all([host.addTag(`h${step}`), guest.addTag(`g${step}`)]);
    }
    await Promise.all([host.flush(), guest.flush()]);
    await guest.close();
    await host.endRun();
    const reader = await openRun(storage, host.runId);
    const columns = await reader.readMetricColumns();
    expect(columns.rowCount).toBe(400);
    expect(Array.from(columns.sequences)).toEqual(Array.from({ length: 400 }, (_, i) => i));
    expect((await reader.readMetrics({ metricKey: 'w1' })).map((record) => record.value)).toEqual(
      Array.from({ length: 200 }, (_, i) => i),
    );
    expect(reader.run.tags).toHaveLength(40);
  });

  test('merging keeps every row and makes one metric readable by itself', async () => {
    const storage = await openStore(kind);
    const session = await startRun({ project: 'p', storage, clock });
    const metrics = new MetricsLogger(session, { batchSize: 100 });
    for (let step = 0; step < 30_000; step++) {
      metrics.log('a', Math.fround(step / 7), { step });
      metrics.log(step % 2 === 0 ? 'b' : 'c', step === 77 ? Number.NaN : -step, {
        step,
        epoch: step >> 8,
        ...(step === 5 ? { description: 'five', metadata: { n: [1] } } : {}),
      });
      if (step % 1000 === 0) await session.flush();
    }
    const before = await metrics.readColumns();
    await session.endRun();
    const reader = await openRun(storage, session.runId);
    const after = await reader.readMetricColumns();
    const named = (columns: typeof before): unknown[] =>
      Array.from(columns.keyIndex, (index) => columns.keys[index]);
    expect(named(after)).toEqual(named(before));
    for (const name of ['values', 'steps', 'epochs', 'timesMs', 'sequences'] as const)
      expect(after[name]).toEqual(before[name]);
    const segments = await storage.listSegments({
      runId: session.runId,
      table: 'metrics',
      keys: ['a'],
    });
    expect(segments.every((segment) => segment.encoding === 'packed')).toBe(true);
    expect(segments.reduce((sum, segment) => sum + segment.rowCount, 0)).toBe(30_000);
    expect(await reader.readMetrics({ step: 5, metricKey: 'c' })).toMatchObject([
      { description: 'five', metadata: { n: [1] } },
    ]);
    expect(
      (await reader.readEvents({ eventType: 'non_finite_metric' })).map((event) => [
        event.step,
        event.payload['metric_key'],
      ]),
    ).toEqual([[77, 'c']]);
  });
});
