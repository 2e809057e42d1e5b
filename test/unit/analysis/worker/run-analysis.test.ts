/** Analyses in a worker find what analyses on the calling thread find, end when they are aborted, and pass on what a store throws. */
import { Worker } from 'node:worker_threads';
import { beforeAll, describe, expect, test } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, startRun, type Store } from 'quark-sdk';
import {
  AnalyzerEngine,
  ComparisonEngine,
  defineRule,
  loadRunColumns,
  PhaseAnalyzer,
  type AnalysisProgress,
  type RunAnalysisOptions,
} from 'quark-sdk/analysis';
import workerSource from 'virtual:quark-inline-watch-worker';
import { SessionStoreError } from '../../../../src/base/errors.ts';
import { wrapStore } from '../../../../src/store/front.ts';
import { TestClock } from '../../../support/clock.ts';
import { fallingLoss, random } from '../../../support/analysis-runs.ts';

const START = Date.UTC(2026, 0, 2);
const STEPS = 8_000;

const inWorker: RunAnalysisOptions = {
  spawn: () => new Worker(new URL(`data:text/javascript,${encodeURIComponent(workerSource)}`)),
};
const here: RunAnalysisOptions = { workerMode: 'none' };

async function record(storage: Store, seed: number): Promise<string> {
  const session = await startRun({
    project: 'worker',
    storage,
    clock: new TestClock(START + seed),
    config: { lr: seed },
  });
  const metrics = new MetricsLogger(session, { batchSize: 1_000_000 });
  const falling = fallingLoss(STEPS);
  const draw = random(seed);
  for (let step = 0; step < STEPS; step++) {
    const loss = step === 4000 ? 9 : falling(step) + 0.01 * draw();
    metrics.log('train/loss', step > 7_900 ? Number.NaN : loss, { step });
    metrics.log('train/accuracy', 1 - loss / 10, { step });
    if (step % 10 === 0) metrics.log('val/loss', loss + (step / STEPS) ** 2, { step });
  }
  await session.endRun();
  return session.runId;
}

/** Ids are drawn anew by each analysis. */
const withoutIds = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, member: unknown) =>
      ['id', 'contributing_alert_ids', 'alert_id', 'generated_at', 'timestamp'].includes(key)
        ? undefined
        : member,
    ),
  );

let store: Store;
let runIds: readonly [string, string, string];

beforeAll(async () => {
  store = createMemoryStore();
  runIds = [await record(store, 1), await record(store, 2), await record(store, 3)];
});

describe('the same in a worker and on the calling thread', () => {
  const expectSame = async (
    analyze: (options: RunAnalysisOptions) => Promise<{ toDict(): unknown }>,
  ) => {
    const [one, two] = [await analyze(inWorker), await analyze(here)];
    expect(withoutIds(one.toDict())).toEqual(withoutIds(two.toDict()));
    expect(Object.keys(one)).toEqual(Object.keys(two));
    return one;
  };

  test('alerts and scores', async () => {
    const run = await openRun(store, runIds[0]);
    const found = await expectSame((options) =>
      new AnalyzerEngine(run).analyze({ persist: false, ...options }),
    );
    expect(JSON.stringify(found.toDict())).toContain('train/loss');
  });

  test('alerts of columns that the caller has read', async () => {
    const run = await openRun(store, runIds[0]);
    const columns = await loadRunColumns(run);
    await expectSame((options) =>
      new AnalyzerEngine(run).analyze({ persist: false, columns, ...options }),
    );
  });

  test('phases', async () => {
    const run = await openRun(store, runIds[0]);
    await expectSame((options) => new PhaseAnalyzer(run).analyze({ persist: false, ...options }));
  });

  test('comparisons, and records are records', async () => {
    const run = await openRun(store, runIds[0]);
    await expectSame((options) => new ComparisonEngine(run).compare(runIds[1], options));
    const found = await new ComparisonEngine(run).compare(runIds[1], inWorker);
    expect(found.metricDiffs[0]?.toDict()).toMatchObject({ metric_key: 'train/loss' });
  });

  test('groups of runs', async () => {
    const run = await openRun(store, runIds[0]);
    await expectSame((options) =>
      new ComparisonEngine(run).compareGroups(runIds.slice(1), options),
    );
  });
});

test('what an analysis found in a worker is stored', async () => {
  const run = await openRun(store, runIds[1]);
  const engine = new AnalyzerEngine(run);
  const { alerts } = await engine.analyze(inWorker);
  expect(alerts.length).toBeGreaterThan(0);
  expect((await engine.readAlerts()).map(({ id }) => id)).toEqual(alerts.map(({ id }) => id));
});

test('progress is told: bytes that were read, then the rules', async () => {
  const told: AnalysisProgress[] = [];
  const run = await openRun(store, runIds[0]);
  await new AnalyzerEngine(run).analyze({
    persist: false,
    ...inWorker,
    onProgress: (progress) => told.push(progress),
  });
  const bytes = told.flatMap((one) => (one.stage === 'reading' ? [one.bytes] : []));
  const shares = told.flatMap((one) => (one.stage === 'computing' ? [one.share] : []));
  expect(bytes.at(-1)).toBeGreaterThan(0);
  expect(shares.at(-1)).toBe(1);
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
});

test('columns that are given are analysed without a call of the store', async () => {
  const calls: string[] = [];
  const watched = wrapStore(store, (name, _args, call) => {
    calls.push(name);
    return call();
  });
  const run = await openRun(watched, runIds[0]);
  const columns = await loadRunColumns(run);
  calls.length = 0;
  await new AnalyzerEngine(run).analyze({ persist: false, columns, ...inWorker });
  await new PhaseAnalyzer(run).analyze({ persist: false, columns, ...inWorker });
  expect(calls).toEqual([]);
});

test.each([
  ['in a worker', inWorker],
  ['here', here],
])('a callback that throws ends an analysis %s with what it threw', async (_name, options) => {
  const run = await openRun(store, runIds[0]);
  const analysis = new AnalyzerEngine(run).analyze({
    persist: false,
    ...options,
    onProgress: () => {
      throw new Error('The bar is gone.');
    },
  });
  await expect(analysis).rejects.toThrow('The bar is gone.');
});

test.each([
  ['in a worker', inWorker],
  ['here', here],
])('an analysis that is aborted %s rejects, and stores nothing', async (_name, options) => {
  const run = await openRun(store, runIds[2]);
  const stop = new AbortController();
  const engine = new AnalyzerEngine(run);
  const slow = engine.analyze({
    ...options,
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  await expect(slow).rejects.toMatchObject({ code: 'aborted' });
  expect(await engine.readAlerts()).toEqual([]);
});

test('what the store throws is what the analysis throws', async () => {
  const failing = wrapStore(store, (name, _args, call) => {
    if (name === 'readSegments')
      throw new SessionStoreError('unreachable', 'The disk is gone.', { details: { disk: 'a' } });
    return call();
  });
  const run = await openRun(failing, runIds[0]);
  const error: unknown = await new AnalyzerEngine(run)
    .analyze({ persist: false, ...inWorker })
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SessionStoreError);
  expect(error).toMatchObject({ message: 'The disk is gone.', details: { disk: 'a' } });
});

test('rules that are functions of the program are asked on the calling thread', async () => {
  let isAsked = false;
  const rule = defineRule({
    id: 'asked_here',
    category: 'runtime',
    thresholds: {},
    evaluate: () => {
      isAsked = true;
      return [];
    },
  });
  const run = await openRun(store, runIds[0]);
  await new AnalyzerEngine(run, { rules: [rule] }).analyze({ persist: false, ...inWorker });
  expect(isAsked).toBe(true);
});

test.each([
  ['in a worker', {}, STEPS],
  ['in a worker, for a short run', {}, 50],
  ['here', here, 50],
] as const)('segments are listed once %s', async (_, where, steps) => {
  const small = createMemoryStore();
  const session = await startRun({ project: 'small', storage: small });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < steps; step++)
    for (const key of ['train/loss', 'a', 'b', 'c']) metrics.log(key, 1 / (step + 1), { step });
  await session.endRun();
  const lists: string[] = [];
  const counted = wrapStore(small, (name, args, call) => {
    const [filter] = args;
    if (name === 'listSegments') lists.push(JSON.stringify(filter));
    return call();
  });
  const reader = await openRun(counted, session.runId);
  lists.length = 0;
  await new AnalyzerEngine(reader).analyze({ persist: false, ...where });
  expect(lists.filter((one) => one.includes('"metrics"'))).toHaveLength(1);
  expect(new Set(lists).size).toBe(lists.length);
});
