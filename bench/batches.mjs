// What it costs a training that the callback reads its batches (the counts of classes, their order, the hashes of samples).
// Needs a build (`npm run build:lib`).
//
//   npm run bench -- batches [--rounds=9] [--backends=wasm,cpu]
//
// The same `fit` with and without `batches`, in turn: new models with the same weights, the same data in the same order. Of each epoch
// its own time is taken, as the first two epochs read every batch and hash samples, and later ones read every 10th. The losses of both have
// to be equal to the last bit, or the benchmark fails. Times are processor times of the process, which other programs
// on the machine change least; everything of `fit` is on one thread.
import { parseArgs } from 'node:util';
import { median, report } from './harness.mjs';
import * as core from '../dist/index.js';
import * as adapter from '../dist/tfjs.js';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    backends: { type: 'string', default: 'wasm,cpu' },
  },
});
const EPOCHS = 6;
const SIZES = [
  { name: '64 inputs, batches of 32', inputs: 64, units: [64, 32, 10], batch: 32, batches: 60 },
  { name: '784 inputs, batches of 32', inputs: 784, units: [128, 10], batch: 32, batches: 40 },
  { name: '784 inputs, batches of 256', inputs: 784, units: [128, 10], batch: 256, batches: 10 },
];

const tf = await import('@tensorflow/tfjs');
await import('@tensorflow/tfjs-backend-wasm');
tf.enableProdMode();

const rows = [];
for (const backend of options.backends.split(',')) {
  await tf.setBackend(backend);
  await tf.ready();
  for (const size of SIZES) await measure(backend, size);
}
await report('batches', rows);

async function measure(backend, size) {
  const { batch, batches, inputs } = size;
  const count = batch * batches;
  const xs = tf.randomNormal([count, inputs], 0, 1, 'float32', 1);
  const classes = Int32Array.from({ length: count }, (_, i) => (i * 7) % 10);
  const ys = tf.tidy(() => tf.oneHot(tf.tensor1d(classes, 'int32'), 10).toFloat());
  const times = new Map([false, true].map((reads) => [reads, []]));
  for (let round = -1; round < Number(options.rounds); round++) {
    const losses = [];
    // Each is the first one in every other round.
    for (const reads of round % 2 === 0 ? [false, true] : [true, false]) {
      const found = await train(size, { xs, ys, reads });
      losses.push(found.losses);
      if (round >= 0) times.get(reads).push(found.epochMs);
    }
    const [a, b] = losses;
    if (a.length !== b.length || a.some((loss, i) => !Object.is(loss, b[i])))
      throw new Error(`${backend}, ${size.name}: the losses differ where batches are read.`);
  }
  tf.dispose([xs, ys]);
  const spans = {
    'first epoch': (epochMs) => epochMs[0],
    'second epoch': (epochMs) => epochMs[1],
    'later epochs': (epochMs) => median(epochMs.slice(2)),
  };
  for (const [name, pick] of Object.entries(spans)) {
    const pairs = times.get(false).map((plain, i) => [pick(plain), pick(times.get(true)[i])]);
    const where = `${backend}, ${size.name}, ${name}`;
    const plainMs = median(pairs.map(([plain]) => plain)) / batches;
    const moreMs = median(pairs.map(([plain, read]) => read - plain)) / batches;
    rows.push(
      { what: `${where}: a step without`, value: plainMs, unit: 'ms' },
      { what: `${where}: reading batches, a step`, value: moreMs * 1000, unit: 'µs more' },
      { what: `${where}: share`, value: (100 * moreMs) / plainMs, unit: '% more' },
    );
  }
}

async function train({ batch, inputs, units }, { reads, xs, ys }) {
  const session = await core.TrainingSession.startRun({
    project: 'batches',
    storage: core.createMemoryStore(),
    handleSignals: false,
  });
  const model = tf.sequential({
    layers: units.map((count, i) =>
      tf.layers.dense({
        units: count,
        kernelInitializer: tf.initializers.glorotUniform({ seed: 5 + i }),
        ...(i === 0 ? { inputShape: [inputs] } : {}),
        activation: i < units.length - 1 ? 'relu' : 'softmax',
      }),
    ),
  });
  model.compile({ optimizer: tf.train.adam(0.001), loss: 'categoricalCrossentropy' });
  const callback = adapter.quarkCallback(session, tf, model, { telemetry: false, batches: reads });
  const losses = [];
  const epochMs = [];
  let began;
  const clock = {
    onEpochBegin: () => {
      began = process.cpuUsage();
    },
    onBatchEnd: (_, logs) => losses.push(logs.loss),
    onEpochEnd: () => {
      const { system, user } = process.cpuUsage(began);
      epochMs.push((system + user) / 1000);
    },
  };
  await model.fit(xs, ys, {
    epochs: EPOCHS,
    batchSize: batch,
    shuffle: false,
    yieldEvery: 'never',
    verbose: 0,
    callbacks: [callback, clock],
  });
  await session.endRun();
  model.dispose();
  return { losses, epochMs };
}
