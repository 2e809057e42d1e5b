/** The worker of a watch: the same alerts as on the calling thread, however often it dies; what a look reads. */
import { Worker } from 'node:worker_threads';
import { expect, test, vi } from 'vitest';
import { createMemoryStore, MetricsLogger, startRun, TrainingSession } from 'quark-sdk';
import { AnalyzerEngine, type WatchOptions } from 'quark-sdk/analysis';
import { DataDiagnostics } from 'quark-sdk/probes';
import workerSource from 'virtual:quark-inline-watch-worker';
import { layerSummaryTable } from '../../../../src/records/layer-summary.ts';
import { RecordWriter } from '../../../../src/session/record-writer.ts';
import { handleOf } from '../../../../src/session/run-handle.ts';
import type { Dict } from '../../../../src/schema/record.ts';
import { TestClock } from '../../../support/clock.ts';
import { fallingLoss } from '../../../support/analysis-runs.ts';

const START = Date.UTC(2026, 0, 2);

/** A worker that exits upon its n-th message; two start it, and a flush with a turn of the clock makes it look twice. */
function mortalWorker(lastMessage: number): Worker {
  const text = `
import { parentPort } from 'node:worker_threads';
let count = 0;
parentPort.on('message', () => { if (++count === ${lastMessage}) process.exit(7); });
`;
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(text + workerSource)}`));
}

async function recorded(storage = createMemoryStore()) {
  const clock = new TestClock(START);
  const session = await startRun({ project: 'watch', storage, clock });
  const metrics = new MetricsLogger(session, { batchSize: 1_000_000 });
  return { clock, session, metrics, storage };
}

/** A run with a spike, a layer that dies, batches, and numbers that break at the end. */
async function troubled(options: WatchOptions, config = {}) {
  const count = 1000;
  const { clock, metrics, session } = await recorded();
  const batches = new DataDiagnostics(session);
  const layers = new RecordWriter(handleOf(session), layerSummaryTable, {});
  const watch = new AnalyzerEngine(session, config).watch({ cooldownMs: 0, ...options });
  const falling = fallingLoss(count);
  for (let step = 0; step < count; step++) {
    const loss = step === 600 ? 5 : step >= 950 ? Number.NaN : falling(step);
    metrics.log('train/loss', loss, { step });
    metrics.log('train/lr', 0.01, { step });
    if (step % 4 === 0) batches.logBatch(loss, { step, sampleIds: [`s${step}`], labels: [0, 1] });
    if (step % 100 === 50)
      layers.add({
        timestamp: clock.now(),
        moduleName: 'dense_1',
        moduleType: 'ReLU',
        summaryType: 'activation',
        hookDirection: 'forward',
        step,
        epoch: null,
        callIndex: 0,
        elementCount: 512,
        tensorShape: [32, 16],
        mean: 0,
        std: 0,
        norm: 0,
        variance: 0,
        deadUnitRatio: 1,
        saturationRatio: null,
        nonFiniteCount: 0,
        deadUnitCount: 16,
        persistentDeadUnitCount: 16,
        zeroOutputRatio: null,
        deadUnitShare: null,
        metadata: null,
      });
    if (step % 20 !== 19) continue;
    clock.advance(1000);
    await session.flush();
  }
  await session.endRun('failed');
  const alerts = watch.alerts.map((alert): Dict => ({ ...alert.toDict(), id: '', run_id: '' }));
  return { alerts, status: watch.status };
}

let judgedHere: ReturnType<typeof troubled> | undefined;
/** What the calling thread tells of the run. */
const onThisThread = () => (judgedHere ??= troubled({ workerMode: 'none' }));

test('a worker tells what the calling thread tells, and so does the next one when it dies', async () => {
  const here = await onThisThread();
  expect(here.alerts.map((alert) => alert['rule_id'])).toEqual(
    expect.arrayContaining(['loss_spike', 'non_finite', 'activation_collapse']),
  );
  expect(here.status).toMatchObject({ workerMode: 'none', workerFailures: [], lastError: null });

  const there = await troubled({ workerMode: 'inline-source' });
  expect(there.status).toMatchObject({ workerMode: 'inline-source', workerFailures: [] });
  expect(there.alerts).toEqual(here.alerts);
  const counted = ({ status: { evaluations, rows } }: typeof here) => ({ evaluations, rows });
  expect(counted(there)).toEqual(counted(here));

  // Dies while it judges, once: the next is given the run again.
  const mortal: Worker[] = [];
  const died = await troubled({
    spawn: () => {
      mortal.push(mortalWorker(mortal.length === 0 ? 80 : Number.POSITIVE_INFINITY));
      return mortal.at(-1) as Worker;
    },
  });
  expect(died.status).toMatchObject({
    workerMode: 'custom',
    workerFailures: ['the worker exited with code 7'],
    lastError: null,
  });
  expect(mortal).toHaveLength(2);
  expect(died.alerts).toEqual(here.alerts);
  expect(counted(died)).toEqual(counted(here));
});

test('where workers die again and again, the calling thread goes on', async () => {
  const here = await onThisThread();
  const spawned = vi.fn<() => Worker>(() => mortalWorker(20));
  const gone = await troubled({ spawn: spawned });
  expect(spawned).toHaveBeenCalledTimes(3);
  expect(gone.status.workerMode).toBe('none');
  expect(gone.status.workerFailures).toHaveLength(3);
  expect(gone.alerts).toEqual(here.alerts);
});

test('settings that cannot be sent leave the calling thread to judge', async () => {
  const { alerts, status } = await troubled(
    { workerMode: 'inline-source' },
    { model: { layers: [], call: () => undefined } },
  );
  expect(status.workerMode).toBe('none');
  expect(status.workerFailures).toHaveLength(1);
  expect(alerts.map((alert) => alert['rule_id'])).toContain('non_finite');
});

test('what a look reads does not depend on how long the run is', async () => {
  const { clock, metrics, session, storage } = await recorded();
  const listed = vi.spyOn(storage, 'listSegments');
  const read = vi.spyOn(storage, 'readSegments');
  const watch = new AnalyzerEngine(session).watch({ workerMode: 'none' });
  const falling = fallingLoss(10_000);
  const looks: { rows: number; lists: number; segments: number }[] = [];
  for (let step = 0; step < 3000; step++) {
    metrics.log('train/loss', falling(step), { step });
    if (step % 20 !== 19) continue;
    const { rows } = watch.status;
    listed.mockClear();
    read.mockClear();
    clock.advance(1000);
    await session.flush();
    looks.push({
      rows: watch.status.rows - rows,
      lists: listed.mock.calls.length,
      segments: read.mock.calls.flatMap(([segments]) => segments).length,
    });
  }
  const usual = { rows: 20, lists: 0, segments: 1 };
  expect(looks.slice(1)).toEqual(Array.from({ length: 149 }, () => usual));
  await session.endRun();
});

test('rows of another session and segments that are merged meanwhile are looked at once', async () => {
  const { clock, metrics, session, storage } = await recorded();
  const watch = new AnalyzerEngine(session).watch();
  const other = await TrainingSession.attachRun({ runId: session.runId, storage, clock });
  const theirs = new MetricsLogger(other, { batchSize: 1_000_000 });
  const read = storage.readSegments.bind(storage);
  let isMerged = false;
  vi.spyOn(storage, 'readSegments').mockImplementation((segments) => {
    // As if a merge had taken them away between listing and reading.
    if (isMerged) return read(segments);
    isMerged = true;
    return Promise.resolve(segments.map(() => ({ kind: 'gone' })));
  });
  for (let step = 0; step < 300; step++) {
    (step % 3 === 0 ? theirs : metrics).log('train/loss', 1, { step });
    if (step % 20 !== 19) continue;
    await theirs.flush();
    clock.advance(1000);
    await session.flush();
  }
  expect(watch.status).toMatchObject({ rows: 300, lastError: null });
  await other.close();
  await session.endRun();
});

test('a flush is over when what it wrote was looked at, however long the store takes', async () => {
  const { metrics, session, storage } = await recorded();
  const append = storage.appendSegments.bind(storage);
  vi.spyOn(storage, 'appendSegments').mockImplementation(async (segments) => {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    return append(segments);
  });
  const watch = new AnalyzerEngine(session).watch({
    workerMode: 'none',
    // May wait for a flush without holding up the look that it is told by.
    onAlert: async () => session.flush(),
  });
  metrics.log('train/loss', Number.NaN, { step: 0 });
  await session.flush();
  expect(watch.alerts).toMatchObject([{ ruleId: 'non_finite' }]);
  await session.endRun();
});

test('a store that fails delays what is looked at, and loses nothing', async () => {
  const { metrics, session, storage } = await recorded();
  const watch = new AnalyzerEngine(session).watch();
  await session.flush();
  vi.spyOn(storage, 'readSegments').mockRejectedValueOnce(new Error('unplugged'));
  metrics.log('train/loss', 1, { step: 0 });
  await session.flush();
  expect(watch.status).toMatchObject({ rows: 0, lastError: { message: 'unplugged' } });
  metrics.log('train/loss', Number.NaN, { step: 1 });
  await session.flush();
  expect(watch.status).toMatchObject({ rows: 2, lastError: null });
  expect(watch.alerts).toHaveLength(1);
  await session.endRun();
});
