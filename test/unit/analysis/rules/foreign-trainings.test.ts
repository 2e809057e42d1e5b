/** Trainings as tutorials write them, in TensorFlow.js, recorded by the callback alone: what is said of them, and what is not. */
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
import { analyzeColumns, loadRunColumns } from 'quark-sdk/analysis';
import { quarkCallback } from 'quark-sdk/tfjs';
import { normal, random } from '../../../support/analysis-runs.ts';

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

beforeEach(() => {
  // TensorFlow.js shuffles by it: each test trains the same way every time. Of the orders of seeds 1 to 6 that labels come in, that of the
  // first leaves the rule on labels unsure.
  vi.spyOn(Math, 'random').mockImplementation(random(2));
});
afterEach(() => {
  vi.restoreAllMocks();
});

type Data = { readonly xs: tf.Tensor; readonly ys: tf.Tensor };

type Training = {
  readonly epochs: number;
  readonly batchSize: number;
  readonly loss?: string;
  readonly rate?: number;
  readonly optimizer?: tf.Optimizer;
  readonly metrics?: string[];
  readonly shuffle?: boolean;
  readonly validation?: Data;
};

/** Trains as a user does; returns the alerts above a remark as `{ ruleId, severity, title, summary }`, without those on the machine. */
async function alertsOf(model: tf.LayersModel, { xs, ys }: Data, training: Training) {
  const store = createMemoryStore();
  const run = { project: 'tutorials', storage: store, handleSignals: false };
  const session = await TrainingSession.startRun(run);
  const { loss = 'categoricalCrossentropy', optimizer, rate = 0.02, validation } = training;
  model.compile({
    optimizer: optimizer ?? tf.train.adam(rate),
    loss,
    ...(training.metrics === undefined ? {} : { metrics: training.metrics }),
  });
  const probe = { schedule: { everyNSteps: 2 } };
  await model.fit(xs, ys, {
    epochs: training.epochs,
    batchSize: training.batchSize,
    shuffle: training.shuffle ?? true,
    verbose: 0,
    yieldEvery: 'never',
    ...(validation === undefined ? {} : { validationData: [validation.xs, validation.ys] }),
    callbacks: quarkCallback(session, tf, model, {
      hooks: probe,
      parameters: probe,
      telemetry: false,
    }),
  });
  await session.endRun();
  const columns = await loadRunColumns(await openRun(store, session.runId));
  return analyzeColumns(columns).alerts.filter(
    ({ category, severity }) => severity !== 'info' && category !== 'runtime',
  );
}

const idsOf = (alerts: Awaited<ReturnType<typeof alertsOf>>) => alerts.map(({ ruleId }) => ruleId);
const drawn = (seed: number, scale = 1) =>
  tf.initializers.varianceScaling({
    scale: scale ** 2,
    mode: 'fanAvg',
    distribution: 'uniform',
    seed,
  });

/** Clouds around `classes` centres in four dimensions. */
function clouds(count: number, seed: number, { classes = 3, width = 4, spread = 0.4 } = {}): Data {
  const next = random(seed);
  const gauss = normal(seed + 1);
  const labels = Array.from({ length: count }, () => Math.floor(classes * next()));
  const rows = labels.map((label) =>
    Array.from({ length: width }, (_, i) => Math.cos(2.4 * label * (i + 1) + i) + spread * gauss()),
  );
  return { xs: tf.tensor2d(rows), ys: tf.oneHot(tf.tensor1d(labels, 'int32'), classes).toFloat() };
}

function classifier({ output = 1, classes = 3, width = 4 } = {}): tf.Sequential {
  return tf.sequential({
    layers: [
      tf.layers.dense({
        name: 'hidden',
        units: 16,
        activation: 'tanh',
        inputShape: [width],
        kernelInitializer: drawn(1),
      }),
      tf.layers.dense({
        name: 'output',
        units: classes,
        activation: 'softmax',
        kernelInitializer: drawn(2, output),
      }),
    ],
  });
}

/** Steps of a sequence, each with a class of its own. */
function tagged(count: number, seed: number): Data {
  const next = random(seed);
  const words = Array.from({ length: count }, () =>
    Array.from({ length: 4 }, () => Math.floor(6 * next())),
  );
  const xs = tf.oneHot(tf.tensor2d(words, undefined, 'int32'), 6).toFloat();
  const tags = words.map((row) => row.map((word) => word % 3));
  return { xs, ys: tf.oneHot(tf.tensor2d(tags, undefined, 'int32'), 3).toFloat() };
}

/** A number that follows from three. */
function sums(count: number, seed: number, noise = 0.1): Data {
  const gauss = normal(seed);
  const rows = Array.from({ length: count }, () => Array.from({ length: 3 }, () => gauss()));
  return {
    xs: tf.tensor2d(rows),
    ys: tf.tensor2d(rows.map(([a = 0, b = 0, c = 0]) => [a - 0.5 * b + 0.3 * c + noise * gauss()])),
  };
}

describe('what is well is left alone', () => {
  test('a softmax inside TimeDistributed', async () => {
    const model = tf.sequential({
      layers: [
        tf.layers.lstm({
          units: 10,
          returnSequences: true,
          inputShape: [4, 6],
          kernelInitializer: drawn(3),
        }),
        tf.layers.timeDistributed({
          layer: tf.layers.dense({ units: 3, activation: 'softmax', kernelInitializer: drawn(4) }),
          name: 'tags',
        }),
      ],
    });
    const said = await alertsOf(model, tagged(78, 5), { epochs: 3, batchSize: 13 });
    expect(idsOf(said)).toStrictEqual([]);
  });

  test('one output unit and one sample a batch', async () => {
    const model = tf.sequential({
      layers: [
        tf.layers.dense({
          units: 6,
          activation: 'tanh',
          inputShape: [3],
          kernelInitializer: drawn(5),
        }),
        tf.layers.dense({ name: 'value', units: 1, kernelInitializer: drawn(6) }),
      ],
    });
    const said = await alertsOf(model, sums(160, 7, 0.6), {
      epochs: 1,
      batchSize: 1,
      loss: 'meanSquaredError',
      optimizer: tf.train.sgd(0.05),
    });
    expect(idsOf(said)).toStrictEqual([]);
  });
});

describe('the cause is named, and not another one', () => {
  test('a blow-up in the first steps is not blamed on initial values that suit the layers', async () => {
    const model = tf.sequential({
      layers: [
        tf.layers.dense({
          units: 16,
          activation: 'relu',
          inputShape: [4],
          kernelInitializer: drawn(7),
        }),
        tf.layers.dense({ units: 16, activation: 'relu', kernelInitializer: 'leCunNormal' }),
        tf.layers.dense({ units: 3, activation: 'softmax', kernelInitializer: drawn(8) }),
      ],
    });
    const said = await alertsOf(model, clouds(160, 8), { epochs: 8, batchSize: 16, rate: 8 });
    expect(idsOf(said)).toContain('update_ratio_high');
    expect(idsOf(said)).not.toContain('poor_initialization');
  });

  test('a softmax that is sure and wrong is no vanishing gradient', async () => {
    const data = clouds(150, 9, { classes: 4 });
    const said = await alertsOf(classifier({ output: 400, classes: 4 }), data, {
      epochs: 6,
      batchSize: 15,
      rate: 0.0005,
      metrics: ['accuracy'],
    });
    expect(idsOf(said)).not.toContain('vanishing_gradients');
    expect(idsOf(said)).toContain('activation_collapse');
    expect(said.find(({ ruleId }) => ruleId === 'activation_collapse')?.title).toMatch(/softmax/);
  });

  test('zeros of an LSTM are no dead ReLU', async () => {
    const data = tagged(60, 10);
    const model = tf.sequential({
      layers: [
        tf.layers.lstm({
          name: 'memory',
          units: 12,
          inputShape: [4, 6],
          returnSequences: true,
          kernelInitializer: drawn(9, 40),
          recurrentInitializer: drawn(10, 40),
          biasInitializer: tf.initializers.constant({ value: -40 }),
          unitForgetBias: false,
        }),
        tf.layers.dense({ units: 3, activation: 'softmax', kernelInitializer: drawn(11) }),
      ],
    });
    const said = await alertsOf(model, data, { epochs: 3, batchSize: 10, rate: 0.001 });
    expect(idsOf(said)).not.toContain('dying_relu');
    expect(said.length).toBeGreaterThan(0);
  });

  test('recurrent weights that are too large', async () => {
    const model = tf.sequential({
      layers: [
        tf.layers.simpleRNN({
          name: 'memory',
          units: 16,
          inputShape: [4, 6],
          kernelInitializer: drawn(12),
          recurrentInitializer: tf.initializers.randomNormal({ stddev: 1.2, seed: 13 }),
        }),
        tf.layers.dense({ units: 3, activation: 'softmax', kernelInitializer: drawn(14) }),
      ],
    });
    const { xs, ys } = tagged(150, 15);
    const first = ys.slice([0, 0, 0], [-1, 1, -1]).reshape([150, 3]);
    const said = await alertsOf(
      model,
      { xs, ys: first },
      { epochs: 4, batchSize: 15, rate: 0.0005 },
    );
    expect(idsOf(said)[0]).toBe('poor_initialization');
    expect(said[0]?.fact).toMatch(/recurrent/);
  });
});

describe('data', () => {
  test('classes that come sorted', async () => {
    const { xs, ys } = clouds(240, 16);
    const labels = Array.from(ys.argMax(-1).dataSync());
    const order = tf.tensor1d(
      [...labels.keys()].sort((a, b) => (labels[a] ?? 0) - (labels[b] ?? 0)),
      'int32',
    );
    const sorted = { xs: tf.gather(xs, order), ys: tf.gather(ys, order) };
    const options = { epochs: 3, batchSize: 13, metrics: ['accuracy'] };
    const said = await alertsOf(classifier(), sorted, { ...options, shuffle: false });
    expect(idsOf(said)).toContain('sorted_samples');
    // The same samples in any order.
    const shuffled = await alertsOf(classifier(), sorted, options);
    expect(idsOf(shuffled)).toStrictEqual([]);
  });

  test('the target is among the features', async () => {
    const { xs, ys } = sums(200, 17);
    const gauss = normal(18);
    const trace = tf.tensor2d(Array.from({ length: 200 }, () => [0.01 * gauss()]));
    const leaked = { xs: tf.concat([xs, ys.add(trace)], 1), ys };
    const model = (inputs: number) =>
      tf.sequential({
        layers: [
          tf.layers.dense({
            units: 8,
            activation: 'relu',
            inputShape: [inputs],
            kernelInitializer: drawn(19),
          }),
          tf.layers.dense({ units: 1, kernelInitializer: drawn(20) }),
        ],
      });
    const options = { epochs: 10, batchSize: 17, loss: 'meanSquaredError' };
    const said = await alertsOf(model(4), leaked, options);
    expect(idsOf(said)).toContain('data_leakage');
    expect(idsOf(await alertsOf(model(3), { xs, ys }, options))).toStrictEqual([]);
  });

  test('samples of the validation are trained on', async () => {
    const train = clouds(200, 21);
    const apart = clouds(60, 22);
    const options = { epochs: 4, batchSize: 19, metrics: ['accuracy'] };
    const mixed = {
      xs: tf.concat([train.xs.slice([0, 0], [20, -1]), apart.xs.slice([0, 0], [40, -1])]),
      ys: tf.concat([train.ys.slice([0, 0], [20, -1]), apart.ys.slice([0, 0], [40, -1])]),
    };
    const said = await alertsOf(classifier(), train, { ...options, validation: mixed });
    expect(idsOf(said)).toStrictEqual(['data_leakage']);
    const clean = await alertsOf(classifier(), train, { ...options, validation: apart });
    expect(idsOf(clean)).toStrictEqual([]);
  });

  test('labels that do not belong to their samples are told from learning by heart', async () => {
    const train = clouds(90, 23, { width: 8, spread: 0.7 });
    const order = tf.tensor1d([...tf.util.createShuffledIndices(90)], 'int32');
    const validation = clouds(90, 24, { width: 8, spread: 0.7 });
    const options = { epochs: 20, batchSize: 18, rate: 0.02, metrics: ['accuracy'], validation };
    const wrong = { xs: train.xs, ys: tf.gather(train.ys, order) };
    const model = () =>
      tf.sequential({
        layers: [
          tf.layers.dense({
            units: 48,
            activation: 'relu',
            inputShape: [8],
            kernelInitializer: drawn(25),
          }),
          tf.layers.dense({ units: 3, activation: 'softmax', kernelInitializer: drawn(26) }),
        ],
      });
    expect(idsOf(await alertsOf(model(), wrong, options))[0]).toBe('unrelated_labels');
    expect(idsOf(await alertsOf(model(), train, options))).not.toContain('unrelated_labels');
  });
});
