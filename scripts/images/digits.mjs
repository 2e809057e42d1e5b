// Real trainings of small networks on the digits that the page carries, recorded with all that Quark records.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import * as tf from '@tensorflow/tfjs';
import { startRun } from 'quark-sdk';
import { captureConsole } from 'quark-sdk/console';
import { MediaLogger } from 'quark-sdk/media';
import { DataDiagnostics } from 'quark-sdk/probes';
import { Profiler } from 'quark-sdk/profiler';
import { quarkCallback } from 'quark-sdk/tfjs';

const SIDE = 8;
const PIXELS = SIDE * SIDE;
const CLASSES = Array.from({ length: 10 }, (_, digit) => String(digit));
const TRAIN_COUNT = 1400;
const SHOWN = 8;
/** Every so many-th image of the long training has a wrong label: batches and samples that are hard to learn. */
const WRONG_EVERY = 70;

await tf.setBackend('cpu');
tf.enableProdMode();

/** All images, `[count, 64]` from 0 to 1, and their digits. */
function readDigits() {
  const path = new URL('../../demo/public/digits.csv.gz', import.meta.url);
  const lines = gunzipSync(readFileSync(path)).toString().trim().split('\n');
  const rows = lines.map((line) => line.split(',').map(Number));
  return rows.map((row) => ({
    pixels: row.slice(0, PIXELS).map((grey) => grey / 16),
    label: row[PIXELS],
  }));
}

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled(list, random) {
  const order = [...list];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}

const DIGITS = shuffled(
  readDigits().map((digit, id) => ({ ...digit, id })),
  seeded(1),
);
const TRAIN = DIGITS.slice(0, TRAIN_COUNT);
const VAL = DIGITS.slice(TRAIN_COUNT);

const tensorsOf = (digits) =>
  tf.tidy(() => ({
    xs: tf.tensor4d(
      digits.flatMap(({ pixels }) => pixels),
      [digits.length, SIDE, SIDE, 1],
    ),
    ys: tf
      .oneHot(
        tf.tensor1d(
          digits.map(({ label }) => label),
          'int32',
        ),
        CLASSES.length,
      )
      .toFloat(),
  }));

function network({ rate, seed, units, kind }) {
  const init = (offset) => tf.initializers.heNormal({ seed: seed * 10 + offset });
  const dense = (name, count, offset) =>
    tf.layers.dense({ name, units: count, activation: 'relu', kernelInitializer: init(offset) });
  const conv = (name, filters, offset, inputShape) =>
    tf.layers.conv2d({
      name,
      filters,
      kernelSize: 3,
      activation: 'relu',
      kernelInitializer: init(offset),
      inputShape,
    });
  const model = tf.sequential({
    name: kind,
    layers: [
      ...(kind === 'dense'
        ? [
            tf.layers.flatten({ name: 'flatten', inputShape: [SIDE, SIDE, 1] }),
            dense('hidden', units, 1),
          ]
        : [
            conv('conv1', 8, 1, [SIDE, SIDE, 1]),
            conv('conv2', 16, 2),
            tf.layers.maxPooling2d({ name: 'pool', poolSize: 2 }),
            tf.layers.flatten({ name: 'flatten' }),
            dense('hidden', units, 3),
          ]),
      tf.layers.dense({
        name: 'digit',
        units: 10,
        activation: 'softmax',
        kernelInitializer: init(4),
      }),
    ],
  });
  const optimizer = kind === 'dense' && rate >= 1 ? tf.train.sgd(rate) : tf.train.adam(rate);
  model.compile({ optimizer, loss: 'categoricalCrossentropy', metrics: ['accuracy'] });
  return model;
}

/** Trains for some epochs. `each` is told of every batch before it is trained on, `onEpoch` of the end of every epoch. */
async function fit(model, { config, callbacks, each, onEpoch, digits = TRAIN }) {
  const random = seeded(config.seed);
  const batchesPerEpoch = Math.ceil(digits.length / config.batchSize);
  const generate = function* () {
    for (;;) {
      const order = shuffled(digits, random);
      for (let at = 0; at < order.length; at += config.batchSize) {
        const batch = order.slice(at, at + config.batchSize);
        each?.(batch);
        yield tensorsOf(batch);
      }
    }
  };
  const { xs, ys } = tensorsOf(VAL);
  const listener = onEpoch === undefined ? [] : [{ onEpochEnd: onEpoch }];
  await model.fitDataset(tf.data.generator(generate), {
    epochs: config.epochs,
    batchesPerEpoch,
    validationData: [xs, ys],
    callbacks: [...callbacks, ...listener],
  });
  tf.dispose([xs, ys]);
}

/** One run of the sweep: a dense network and its metrics. @returns its id */
export async function recordSweepRun(store, { rate, units, seed }) {
  const config = { rate, units, seed, batchSize: 32, epochs: 6 };
  const session = await startRun({
    project: 'digits',
    storage: store,
    name: `rate ${rate}, ${units} units, seed ${seed}`,
    tags: ['sweep', ...(rate === 0.003 ? ['baseline'] : [])],
    groups: ['rates'],
    config,
    handleSignals: false,
  });
  const model = network({ ...config, kind: 'dense' });
  const recorder = quarkCallback(session, tf, model, { hooks: false, parameters: false });
  await fit(model, { config, callbacks: [recorder] });
  await session.endRun();
  model.dispose();
  return session.runId;
}

/** A training whose rate is far too high: it diverges, and ends with the error that its program throws. @returns its id */
export async function recordBroken(store) {
  const config = { rate: 60, units: 64, seed: 1, batchSize: 32, epochs: 3, optimizer: 'sgd' };
  const session = await startRun({
    project: 'digits',
    storage: store,
    name: 'rate 60, plain SGD',
    tags: ['sweep'],
    notes: 'How the rules say that a rate is too high.',
    config,
    handleSignals: false,
  });
  const model = network({ ...config, kind: 'dense' });
  const every = { schedule: { everyNSteps: 2 } };
  const recorder = quarkCallback(session, tf, model, { hooks: every, parameters: every });
  await fit(model, { config, callbacks: [recorder] });
  await session.addLog('The loss rises to 14 and stays there: nothing is learnt at this rate.', {
    eventType: 'runtime_error',
    severity: 'error',
  });
  await session.endRun('failed');
  model.dispose();
  return session.runId;
}

/** A training of 40 epochs that has come to its third. @returns its session, which is open */
export async function beginLongRun(store) {
  const config = { rate: 0.003, units: 32, seed: 8, batchSize: 32, epochs: 40 };
  const session = await startRun({
    project: 'digits',
    storage: store,
    name: 'convolutional, 40 epochs',
    tags: ['convolutional'],
    groups: ['architectures'],
    config,
    handleSignals: false,
  });
  const model = network({ ...config, kind: 'convolutional' });
  const recorder = quarkCallback(session, tf, model, { hooks: false, parameters: false });
  const onEpoch = async (epoch) => {
    model.stopTraining = epoch === 2;
  };
  await fit(model, { config, callbacks: [recorder], onEpoch });
  await session.flush();
  model.dispose();
  return session;
}

const NOTES = `## Does a convolution help?

The parent is the dense network of 64 units at the same rate. This one has two convolutions before the hidden layer, and fewer parameters.

| layer   | output     | parameters |
| ------- | ---------- | ---------: |
| conv1   | 6 x 6 x 8  |         80 |
| conv2   | 4 x 4 x 16 |      1,168 |
| hidden  | 32         |      2,080 |
| digit   | 10         |        330 |

- [x] train on labels of which one in ${WRONG_EVERY} is wrong
- [ ] find these by their loss: see \`Batches\`
`;

/** The training that the pages of a run show: layers, parameters, machine, console, profile, batches and media. @returns its id */
export async function recordConvolutional(store, parentRunId) {
  const config = {
    network: { kind: 'convolutional', filters: [8, 16] },
    optimizer: 'adam',
    rate: 0.003,
    units: 32,
    batchSize: 32,
    epochs: 8,
    seed: 7,
  };
  const session = await startRun({
    project: 'digits',
    storage: store,
    name: 'convolutional, rate 0.003',
    description: 'Does a convolution help?',
    tags: ['convolutional'],
    groups: ['architectures'],
    notes: NOTES,
    parentRunId,
    config,
    handleSignals: false,
  });
  const { info, warn } = console;
  // What the training prints is for its run, not for the terminal.
  console.info = console.warn = () => undefined;
  const said = captureConsole(session);
  console.info(`backend ${tf.getBackend()}, ${TRAIN.length} images, ${VAL.length} for validation`);
  const profiler = new Profiler(session);
  const model = await profiler.scope('Model Loading', async () =>
    network({ ...config, kind: 'convolutional' }),
  );
  const every = { schedule: { everyNSteps: 8 }, overheadBudget: 0.5 };
  const recorder = quarkCallback(session, tf, model, {
    telemetry: { sampleEveryNSteps: 8 },
    hooks: every,
    parameters: {
      ...every,
      captureDistributions: true,
      distributionTypes: ['value', 'gradient', 'update'],
    },
  });
  const diagnostics = new DataDiagnostics(session);
  const media = new MediaLogger(session);
  let batch = [];
  let epoch = 0;
  const batches = {
    onBatchEnd: async (_at, logs) => {
      const labels = batch.map(({ label }) => label);
      const sampleIds = batch.map(({ id }) => `digit-${id}`);
      diagnostics.logBatch(logs.loss, { step: recorder.nextStep, epoch, labels, sampleIds });
    },
  };
  const spoiled = TRAIN.map((digit) =>
    digit.id % WRONG_EVERY === WRONG_EVERY - 1
      ? { ...digit, label: (digit.label + 5) % 10 }
      : digit,
  );
  await fit(model, {
    config,
    digits: spoiled,
    callbacks: [batches, recorder],
    each: (next) => {
      batch = next;
    },
    onEpoch: async (at, logs) => {
      epoch = at + 1;
      const step = recorder.nextStep - 1;
      const values = Object.entries(logs).map(([name, value]) => `${name} ${value.toFixed(4)}`);
      console.info(`\u001b[32mepoch ${epoch} of ${config.epochs}\u001b[0m ${values.join(', ')}`);
      await profiler.scope('Evaluation', () => recordEvaluation(media, model, { step, epoch: at }));
    },
  });
  await profiler.scope('Export', () =>
    media.logModel('model', model, { step: recorder.nextStep - 1 }),
  );
  await media.logCode();
  await diagnostics.close();
  await profiler.close();
  await said.stop();
  Object.assign(console, { info, warn });
  await session.endRun();
  model.dispose();
  return session.runId;
}

/** What the network makes of the validation images: the images themselves, matrices, curves, a table, an embedding. */
async function recordEvaluation(media, model, at) {
  const { xs, ys } = tensorsOf(VAL);
  const probabilities = tf.tidy(() => model.predict(xs).arraySync());
  const inner = tf.model({ inputs: model.inputs, outputs: model.getLayer('hidden').output });
  const vectors = tf.tidy(() => inner.predict(xs).dataSync());
  tf.dispose([xs, ys]);
  const found = VAL.map((digit, i) => {
    const guess = probabilities[i].indexOf(Math.max(...probabilities[i]));
    return { ...digit, guess, p: probabilities[i][digit.label] };
  });
  const worst = found.toSorted((a, b) => a.p - b.p).slice(0, SHOWN);
  for (const [rank, { pixels, label, guess, p }] of worst.entries()) {
    if (guess !== label)
      console.warn(`a ${label} is taken for a ${guess}: p(${label}) = ${p.toFixed(4)}`);
    const data = Float32Array.from(pixels, (grey) => 1 - grey);
    const metadata = { digit: label, taken_for: guess };
    await media.logImage(
      `worst/${rank + 1}`,
      { data, width: SIDE, height: SIDE },
      { ...at, metadata },
    );
  }
  const labels = found.map(({ label }) => label);
  const predictions = found.map(({ guess }) => guess);
  const classes = CLASSES;
  await media.confusionMatrix('val/confusion', { labels, predictions, classes }, at);
  for (const digit of [1, 8, 9]) {
    const curve = {
      labels: labels.map((one) => Number(one === digit)),
      scores: probabilities.map((row) => row[digit]),
    };
    await media.rocCurve(`val/roc/${digit}`, curve, at);
    await media.prCurve(`val/pr/${digit}`, curve, at);
  }
  await media.logDistribution(
    'val/p_of_the_digit',
    Float32Array.from(found, ({ p }) => p),
    at,
  );
  const columns = ['sample', 'digit', 'taken for', 'p of the digit', 'right'];
  const rows = [...worst, ...found.slice(0, 200)].map(({ id, label, guess, p }, i) => {
    const sample = i < SHOWN ? `image:worst/${i + 1}` : `digit-${id}`;
    return [sample, label, guess, p, guess === label];
  });
  await media.logTable('val/predictions', { columns, rows }, at);
  const embedding = {
    vectors,
    dimensions: vectors.length / VAL.length,
    labels: labels.map(String),
  };
  await media.embedding('val/hidden', embedding, at);
  await media.logText('val/report', reportOf(labels, predictions), { ...at, format: 'markdown' });
}

function reportOf(labels, predictions) {
  const lines = CLASSES.map((_name, digit) => {
    const both = labels.filter((label, i) => label === digit && predictions[i] === digit).length;
    const recall = both / labels.filter((label) => label === digit).length;
    const precision = both / Math.max(1, predictions.filter((guess) => guess === digit).length);
    return `| ${digit} | ${precision.toFixed(3)} | ${recall.toFixed(3)} |`;
  });
  return ['| digit | precision | recall |', '| --- | --- | --- |', ...lines].join('\n');
}
