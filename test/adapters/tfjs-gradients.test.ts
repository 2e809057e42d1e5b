/** Gradients with respect to outputs that share a tensor: each output has its own, whatever the operations behind it. */
import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { HookEngine, type HookEngineConfig } from '../../src/probes.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { tfjsModel, tfjsVariables } from '../../src/tfjs.ts';

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

const openSession = (): Promise<TrainingSession> =>
  TrainingSession.startRun({ project: 'p', storage: createMemoryStore(), handleSignals: false });

/** `a = h`, the same tensor; the loss is half the square of a + h, so dL/da = a + h and dL/dh is twice that. */
const buildSkip = (): tf.LayersModel => {
  const x = tf.input({ shape: [1] });
  const h = tf.layers.dense({ name: 'h', units: 1, useBias: false }).apply(x) as tf.SymbolicTensor;
  const a = tf.layers.activation({ name: 'a', activation: 'linear' }).apply(h) as tf.SymbolicTensor;
  const sum = tf.layers.add({ name: 'sum' }).apply([a, h]) as tf.SymbolicTensor;
  const model = tf.model({ inputs: x, outputs: sum });
  model.setWeights([tf.tensor2d([[2]])]);
  return model;
};

const gradientsOf = async (
  model: tf.LayersModel,
  config: HookEngineConfig,
): Promise<Record<string, number | null>> => {
  const session = await openSession();
  const hooks = new HookEngine(session, tfjsModel(tf, model, tf.train.sgd(0)), config);
  hooks.beginStep(0);
  const { grads, value } = tf.variableGrads(() =>
    tf.mul(0.5, tf.sum(tf.square(model.apply(tf.tensor2d([[1]])) as tf.Tensor))),
  );
  hooks.endStep();
  tf.dispose([grads, value]);
  const records = await hooks.read({ hookDirection: 'backward' });
  await session.endRun();
  return Object.fromEntries(records.map(({ moduleName, mean }) => [moduleName, mean]));
};

it.each([
  ['all layers', {}],
  ['the layer that hands its input on, and not the one that made it', ['a', 'sum']],
  ['the layer that made it, and not the one that hands it on', ['h', 'sum']],
] as const)('a tensor that two layers give: %s', async (_, names) => {
  const wanted = { h: 8, a: 4, sum: 4 };
  const found = await gradientsOf(
    buildSkip(),
    Array.isArray(names) ? { filters: { includeNames: names } } : {},
  );
  const expected = Array.isArray(names)
    ? Object.fromEntries(Object.entries(wanted).filter(([name]) => names.includes(name)))
    : wanted;
  expect(found).toStrictEqual(expected);
});

it('a tensor that is used as it was and as the tap gave it', async () => {
  const session = await openSession();
  const w = tf.variable(tf.tensor1d([2]));
  const source = tfjsVariables(tf, { variables: { w }, taps: { t: 'Tap' } });
  const hooks = new HookEngine(session, source);
  hooks.beginStep(0);
  const { grads } = tf.variableGrads(() => {
    const t = tf.mul(w, 3);
    return tf.sum(tf.add(tf.mul(source.tap('t', t), 5), tf.mul(t, 7)));
  });
  hooks.endStep();
  const [record] = await hooks.read({ hookDirection: 'backward' });
  expect(record?.mean).toBe(5);
  expect(Object.values(grads).map((gradient) => gradient.dataSync()[0])).toStrictEqual([36]);
  await session.endRun();
});

it('a gradient of a gradient leaves the loss and its gradient as they are', async () => {
  const train = async (isObserved: boolean): Promise<number[]> => {
    const session = await openSession();
    const model = buildSkip();
    const hooks = isObserved
      ? new HookEngine(session, tfjsModel(tf, model, tf.train.sgd(0)))
      : undefined;
    hooks?.beginStep(0);
    const { grads, value } = tf.variableGrads(() => {
      const slope = tf.grad((x) => tf.sum(tf.square(model.apply(x) as tf.Tensor)));
      return tf.sum(tf.square(slope(tf.tensor2d([[1]]))));
    });
    hooks?.endStep();
    if (hooks !== undefined)
      expect(await hooks.read({ hookDirection: 'backward' })).toHaveLength(3);
    await session.endRun();
    return [value, ...Object.values(grads)].map((tensor) => tensor.dataSync()[0] ?? Number.NaN);
  };
  expect(await train(true)).toStrictEqual(await train(false));
});
