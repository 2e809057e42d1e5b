/** Small networks of TensorFlow.js, recorded and judged: what is wrong with them is told, and those that are well are left alone. */
import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, test } from 'vitest';
import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
import { analyzeColumns, loadRunColumns } from 'quark-sdk/analysis';
import { quarkCallback } from 'quark-sdk/tfjs';
import { normal, random } from '../../../support/analysis-runs.ts';

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

/** Points around four centres, and which centre each belongs to. */
function points(count: number, seed: number, shuffled = false) {
  const next = random(seed);
  const gauss = normal(seed + 1);
  const labels = Array.from({ length: count }, () => Math.floor(4 * next()));
  const xs = labels.map((label) => [
    1.3 * Math.cos((label * Math.PI) / 2) + 0.35 * gauss(),
    1.3 * Math.sin((label * Math.PI) / 2) + 0.35 * gauss(),
  ]);
  const said = shuffled ? labels.map(() => Math.floor(4 * next())) : labels;
  return { xs: tf.tensor2d(xs), ys: tf.oneHot(tf.tensor1d(said, 'int32'), 4).toFloat() };
}

type Points = ReturnType<typeof points>;

/** The same initial weights every time. */
const drawn = (seed: number) => tf.initializers.heNormal({ seed });

/** Two hidden layers; those that are named are frozen. */
function network(units: number, frozen: readonly string[] = []): tf.Sequential {
  const layers = [units, units, 4].map((width, i) => {
    const name = i < 2 ? `hidden_${i}` : 'output';
    return tf.layers.dense({
      name,
      units: width,
      activation: i < 2 ? 'relu' : 'softmax',
      kernelInitializer: drawn(11 + i),
      trainable: !frozen.includes(name),
      ...(i === 0 ? { inputShape: [2] } : {}),
    });
  });
  return tf.sequential({ layers });
}

type Training = {
  readonly epochs: number;
  /** Whether layers and parameters are looked at, at every second step. */
  readonly isProbed?: boolean;
};

/** Trains, and says what is found above a remark, as rule ids; what the machine does meanwhile is left out. */
async function findings(
  model: tf.LayersModel,
  train: Points,
  held: Points,
  { epochs, isProbed = false }: Training,
): Promise<readonly string[]> {
  const store = createMemoryStore();
  const run = { project: 'networks', storage: store, handleSignals: false };
  const session = await TrainingSession.startRun(run);
  const optimizer = tf.train.adam(0.02);
  model.compile({ optimizer, loss: 'categoricalCrossentropy', metrics: ['accuracy'] });
  const probe = isProbed && { schedule: { everyNSteps: 2 } };
  const record = quarkCallback(session, tf, model, {
    hooks: probe,
    parameters: probe,
    telemetry: false,
  });
  await model.fit(train.xs, train.ys, {
    epochs,
    batchSize: 16,
    shuffle: false,
    verbose: 0,
    yieldEvery: 'never',
    validationData: [held.xs, held.ys],
    callbacks: record,
  });
  await session.endRun();
  const columns = await loadRunColumns(await openRun(store, session.runId));
  return analyzeColumns(columns)
    .alerts.filter(({ category, severity }) => severity !== 'info' && category !== 'runtime')
    .map(({ ruleId }) => ruleId);
}

const held = () => points(96, 900);

test('layers that are frozen by mistake', async () => {
  const model = network(12, ['hidden_0', 'hidden_1']);
  expect(await findings(model, points(96, 1), held(), { epochs: 3, isProbed: true })).toContain(
    'unchanged_parameters',
  );
});

test('a frozen base that was trained before is no mistake', async () => {
  const base = network(12);
  base.compile({ optimizer: tf.train.adam(0.02), loss: 'categoricalCrossentropy' });
  const before = points(192, 2);
  await base.fit(before.xs, before.ys, {
    epochs: 2,
    shuffle: false,
    verbose: 0,
    yieldEvery: 'never',
  });
  const model = tf.sequential({ layers: base.layers.slice(0, -1) });
  for (const layer of model.layers) layer.trainable = false;
  model.add(
    tf.layers.dense({ name: 'head', units: 4, activation: 'softmax', kernelInitializer: drawn(5) }),
  );
  expect(await findings(model, points(96, 3), held(), { epochs: 3, isProbed: true })).toEqual([]);
});

test('twelve samples are learned by heart', async () => {
  const next = normal(4);
  const noisy = points(64, 5);
  const few = points(12, 6);
  // Most of the input is noise: twelve samples do not tell what matters.
  const wide = ({ xs, ys }: Points) => ({
    ys,
    xs: tf.concat<tf.Tensor2D>(
      [
        xs.mul(0.5),
        tf.tensor2d(Float32Array.from({ length: xs.shape[0] * 20 }, next), [xs.shape[0], 20]),
      ],
      1,
    ),
  });
  const model = tf.sequential({
    layers: [
      tf.layers.dense({
        units: 24,
        activation: 'relu',
        inputShape: [22],
        kernelInitializer: drawn(6),
      }),
      tf.layers.dense({ units: 4, activation: 'softmax', kernelInitializer: drawn(7) }),
    ],
  });
  expect(await findings(model, wide(few), wide(noisy), { epochs: 30 })).toContain(
    'overfitting_onset',
  );
});

test('labels that do not belong to their samples', async () => {
  const found = await findings(network(24), points(256, 7, true), held(), { epochs: 12 });
  expect(
    found.filter((id) => ['loss_not_decreasing', 'overfitting_onset'].includes(id)),
  ).not.toEqual([]);
});

test('a healthy network', async () => {
  expect(await findings(network(16), points(128, 8), held(), { epochs: 8 })).toEqual([]);
});
