/** Sessions in a real browser, recorded into IndexedDB. */
import * as arrow from 'apache-arrow';
import { afterEach, expect, test } from 'vitest';
import {
  listRuns,
  MetricsLogger,
  openRun,
  openStorage,
  resumeRun,
  startRun,
  toArrowTable,
  TrainingSession,
  type Store,
} from 'quark-sdk';

const open: Store[] = [];
let counter = 0;

afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

function freshName(): string {
  return `session-test-${Date.now()}-${counter++}`;
}

async function openNamed(name: string): Promise<Store> {
  const store = await openStorage(`idb:${name}`);
  open.push(store);
  return store;
}

test('a run is recorded, merged and read back, with the storage directory as a name', async () => {
  const storageDir = freshName();
  const runId = await TrainingSession.run(
    { project: 'digits', storageDir, config: { lr: 0.1 } },
    async (session) => {
      const metrics = new MetricsLogger(session, { batchSize: 1000 });
      for (let step = 0; step < 20_000; step++) {
        metrics.log('train/loss', Math.fround(1 / (step + 1)), { step });
        metrics.log('train/accuracy', step === 7 ? Number.NaN : step / 20_000, { step });
        if (step % 2500 === 0) await session.flush();
      }
      return session.runId;
    },
  );
  const reader = await openRun(await openNamed(storageDir), runId);
  expect(reader.run).toMatchObject({
    status: 'completed',
    projectName: 'digits',
    config: { lr: 0.1 },
  });
  expect(reader.run.environment).toMatchObject({ platform: 'browser' });
  expect(await reader.metricKeys()).toEqual(['train/accuracy', 'train/loss']);
  const columns = await reader.readMetricColumns({ metricKey: 'train/loss' });
  expect(columns.values).toEqual(
    Float64Array.from({ length: 20_000 }, (_, step) => Math.fround(1 / (step + 1))),
  );
  expect((await reader.readEvents()).map((event) => event.eventType)).toEqual([
    'run_started',
    'non_finite_metric',
    'run_ended',
  ]);
  const table = toArrowTable(columns, arrow);
  expect([
    table.numRows,
    table.getChild('value')?.get(3),
    table.getChild('epoch')?.get(3),
    table.getChild('metric_key')?.get(0),
  ]).toEqual([20_000, 0.25, null, 'train/loss']);
});

test('two tabs, each with a connection of its own, write to one run', async () => {
  const name = freshName();
  const host = await startRun({ project: 'p', storage: await openNamed(name) });
  const guest = await TrainingSession.attachRun({
    runId: host.runId,
    storage: await openNamed(name),
  });
  const writers = [host, guest].map((session) => new MetricsLogger(session, { batchSize: 10 }));
  for (let step = 0; step < 300; step++) {
    writers.forEach((writer, i) => writer.log(`w${i}`, step, { step }));
    if (step % 30 === 0) await Promise.all([host.flush(), guest.addTag(`t${step}`)]);
  }
  await guest.close();
  await host.endRun();
  const reader = await openRun(await openNamed(name), host.runId);
  const columns = await reader.readMetricColumns();
  expect(Array.from(columns.sequences)).toEqual(Array.from({ length: 600 }, (_, i) => i));
  expect(reader.run.tags).toHaveLength(10);
});

test('when the page goes away the run is interrupted, flushed, and can be resumed', async () => {
  const name = freshName();
  const session = await startRun({ project: 'p', storage: await openNamed(name) });
  new MetricsLogger(session, { flushIntervalMs: 3_600_000 }).log('a', 1, { step: 0 });
  globalThis.dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }));
  const store = await openNamed(name);
  await expect
    .poll(async () => (await (await openRun(store, session.runId)).readMetrics()).length)
    .toBe(1);
  expect((await openRun(store, session.runId)).run.status).toBe('running');
  globalThis.dispatchEvent(new PageTransitionEvent('pagehide', { persisted: false }));
  await expect
    .poll(async () => (await openRun(store, session.runId)).run.status)
    .toBe('interrupted');
  expect(session.signal.aborted).toBe(true);
  const resumed = await resumeRun({ runId: session.runId, storage: store });
  expect(resumed.context.run.resumeCount).toBe(1);
  await resumed.endRun();
  expect(
    (await listRuns(store, { statuses: ['completed'] })).map((summary) => summary.run.id),
  ).toEqual([session.runId]);
});
