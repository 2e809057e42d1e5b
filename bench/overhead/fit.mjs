// `quarkCallback` in `model.fit`: the same training with a callback that does nothing and with one that records, in turn. Node only.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { convolutional, dense } from './networks.mjs';
import { median, quantile } from './rounds.mjs';

const recurrent = (tf) =>
  tf.sequential({
    layers: [tf.layers.lstm({ units: 24, inputShape: [12, 8] }), tf.layers.dense({ units: 10 })],
  });

/** Networks that `fit` trains, with the shape of a batch and the steps of one measurement. */
export const FIT_NETWORKS = {
  'dense, fit': { make: dense([64, 32, 10], 64), shape: [32, 64], steps: 300 },
  'convolutional, fit': { make: convolutional, shape: [8, 16, 16, 1], steps: 60 },
  'LSTM, fit': { make: recurrent, shape: [16, 12, 8], steps: 40 },
};

const none = { hooks: false, parameters: false };
const every = { schedule: { everyNSteps: 1 } };
/** What is measured beside a callback without functions. `empty` has functions that do nothing, `callback` records. */
export const FIT_VARIANTS = [
  { name: 'functions that do nothing', empty: true },
  { name: 'defaults', options: {} },
  { name: 'no probes', options: none },
  { name: 'no probes, telemetry', options: { ...none, telemetry: false } },
  { name: 'no probes, telemetry, batches', options: { ...none, telemetry: false, batches: false } },
  {
    name: 'cadence 1, everything',
    options: { hooks: every, parameters: every, telemetry: { sampleEveryNSteps: 1 } },
  },
  {
    name: 'cadence 10, histograms',
    options: {
      hooks: { schedule: { everyNSteps: 10 } },
      parameters: {
        schedule: { everyNSteps: 10 },
        captureDistributions: true,
        distributionTypes: ['value', 'gradient', 'update'],
      },
    },
  },
];

/** Processor time of the main thread in milliseconds, which other processes do not lengthen as they do the time by the clock. */
function threadMs() {
  const [ns] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  return Number(ns) / 1e6;
}
const processMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

async function open({ lib, tf, storage }, { make, shape, steps }, variant) {
  const model = make(tf);
  model.compile({ optimizer: tf.train.adam(0.001), loss: 'meanSquaredError' });
  const [batchSize, ...rest] = shape;
  const xs = tf.randomNormal([batchSize * steps, ...rest], 0, 1, 'float32', 1);
  const ys = tf.randomNormal([batchSize * steps, 10], 0, 1, 'float32', 2);
  let session;
  let callback = {};
  if (variant.empty) callback = { onBatchBegin: async () => {}, onBatchEnd: async () => {} };
  if (variant.options !== undefined) {
    session = await lib.TrainingSession.startRun({
      project: 'overhead',
      storageDir: storage,
      handleSignals: false,
    });
    callback = lib.quarkCallback(session, tf, model, variant.options);
  }
  return {
    session,
    async train() {
      const began = performance.now();
      const threadBegan = threadMs();
      const processBegan = processMs();
      await model.fit(xs, ys, { epochs: 1, batchSize, shuffle: false, callbacks: callback });
      return {
        wall: (performance.now() - began) / steps,
        thread: (threadMs() - threadBegan) / steps,
        process: (processMs() - processBegan) / steps,
      };
    },
    /** Steps of which layers and parameters were recorded. */
    async probes() {
      if (session === undefined) return [0, 0];
      const run = { store: session.store, runId: session.runId };
      const stepsOf = ({ records }) => new Set(records.map(({ step }) => step)).size;
      return [
        stepsOf(await lib.readLayerSummaries(run)),
        stepsOf(await lib.readParameterSummaries(run)),
      ];
    },
    async close() {
      await session?.endRun();
      tf.dispose([xs, ys]);
      model.dispose();
    },
  };
}

/**
 * The rows of one network on the backend in use: rounds of the callback without functions, then one variant of each build, then
 * without again.
 *
 * @param libs what is measured, by the name of the build
 */
export async function measureFit(libs, tf, network, { seconds, variants, where }) {
  const settings = FIT_NETWORKS[network];
  const folder = await mkdtemp(join(where ?? tmpdir(), 'quark-overhead-'));
  const plain = await open({ tf }, settings, {});
  const cases = [];
  for (const variant of variants)
    for (const [build, lib] of Object.entries(variant.empty ? { '': undefined } : libs)) {
      const storage = join(folder, `${cases.length}`);
      cases.push({
        variant,
        build,
        ...(await open({ lib, tf, storage }, settings, variant)),
        found: [],
      });
    }
  for (let i = 0; i < 2; i++) for (const one of [plain, ...cases]) await one.train();
  const plainMs = [];
  const until = performance.now() + seconds * 1000;
  let rounds = 0;
  while (rounds < 5 || performance.now() < until) {
    let before = await plain.train();
    for (const one of cases) {
      const own = await one.train();
      const after = await plain.train();
      const over = (what) => (200 * own[what]) / (before[what] + after[what]) - 100;
      one.found.push({ own, wall: over('wall'), thread: over('thread'), process: over('process') });
      plainMs.push(after);
      before = after;
    }
    rounds++;
  }
  const rows = [];
  for (const one of cases)
    rows.push({ ...rowOf(one, plainMs), rounds, probes: await one.probes() });
  for (const one of [plain, ...cases]) await one.close();
  await rm(folder, { recursive: true, force: true });
  return rows;
}

const KINDS = ['wall', 'thread', 'process'];
const least = (list, what) => Math.min(...list.map((times) => times[what]));

/** The figures of one case: medians with intervals, and best rounds. */
function rowOf({ variant, build, found }, plainMs) {
  const own = found.map((round) => round.own);
  const [wall, thread, whole] = KINDS.map((what) => {
    const list = found.map((round) => round[what]);
    return [median(list), ...interval(list)];
  });
  return {
    variant: variant.name,
    build,
    stepMs: median(plainMs.map((times) => times.thread)),
    wall,
    thread,
    process: whole,
    leastWall: 100 * (least(own, 'wall') / least(plainMs, 'wall') - 1),
    leastThread: 100 * (least(own, 'thread') / least(plainMs, 'thread') - 1),
  };
}

/** An interval of 95 % for the median, by order statistics. */
function interval(list) {
  const half = 0.98 / Math.sqrt(list.length);
  return [quantile(list, Math.max(0, 0.5 - half)), quantile(list, Math.min(1, 0.5 + half))];
}
