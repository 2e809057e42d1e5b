/** What the TensorFlow.js adapter records, against a network computed by hand. For every backend. */
import type * as tfjs from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { HookEngine, ParameterDiagnostics } from '../../src/probes.ts';
import type { LayerSummaryRecord } from '../../src/records/layer-summary.ts';
import type { ParameterSummaryRecord } from '../../src/records/parameter-summary.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { tfjsModel, tfjsVariables } from '../../src/tfjs.ts';
import {
  batch,
  combine,
  map,
  SIZES,
  startWeights,
  statistics,
  step as stepByHand,
  type Matrix,
  type Weights,
} from '../support/dense-by-hand.ts';

type Tf = typeof tfjs;

export type TfjsBackend = {
  readonly name: string;
  readonly tf: Tf;
  /** Relative error allowed. */
  readonly tolerance: number;
  /** Whether losses are the same to the last bit with and without probes. */
  readonly isExact: boolean;
};

export async function openSession(): Promise<TrainingSession> {
  return TrainingSession.startRun({
    project: 'probes',
    storage: createMemoryStore(),
    handleSignals: false,
  });
}

/** The network of `dense-by-hand.ts`. */
export function denseModel(tf: Tf, name: string): tfjs.LayersModel {
  const { w1, b1, w2, b2 } = startWeights();
  const model = tf.sequential({
    name,
    layers: [
      tf.layers.dense({
        name: 'hidden',
        units: SIZES.hidden,
        activation: 'tanh',
        inputShape: [SIZES.inputs],
      }),
      tf.layers.dense({ name: 'output', units: SIZES.outputs }),
    ],
  });
  const tensors = [
    tensor(tf, w1),
    tf.tensor1d([...b1.values]),
    tensor(tf, w2),
    tf.tensor1d([...b2.values]),
  ];
  model.setWeights(tensors);
  tf.dispose(tensors);
  return model;
}

export function tensor(tf: Tf, { values, rows, columns }: Matrix): tfjs.Tensor2D {
  return tf.tensor2d(Float32Array.from(values), [rows, columns]);
}

/** One training step of the kind that ends in `applyGradients`. */
export function lossOf(
  tf: Tf,
  model: tfjs.LayersModel,
  x: tfjs.Tensor,
  y: tfjs.Tensor,
): () => tfjs.Scalar {
  return () => {
    const output = model.apply(x, { training: true });
    if (Array.isArray(output) || !(output instanceof tf.Tensor)) throw new TypeError('one output');
    return tf.losses.meanSquaredError(y, output);
  };
}

type Rule = {
  readonly make: (tf: Tf) => tfjs.Optimizer;
  /** The update of one weight from its gradients so far. */
  readonly update: (gradients: readonly Matrix[]) => Matrix;
};

const RATE = 0.1;

/** Optimizers by their published formulas, as TensorFlow.js sets their constants. */
const RULES: Readonly<Record<string, Rule>> = {
  sgd: {
    make: (tf) => tf.train.sgd(RATE),
    update: (gradients) => map(last(gradients), (g) => -RATE * g),
  },
  momentum: {
    make: (tf) => tf.train.momentum(RATE, 0.9),
    update: (gradients) =>
      map(
        gradients.reduce(
          (velocity, g) => combine(velocity, g, (v, d) => 0.9 * v + d),
          zero(gradients),
        ),
        (v) => -RATE * v,
      ),
  },
  adagrad: {
    make: (tf) => tf.train.adagrad(RATE, 0.1),
    update: (gradients) => {
      const sums = gradients.reduce(
        (sum, g) => combine(sum, g, (s, d) => s + d * d),
        map(last(gradients), () => 0.1),
      );
      return combine(last(gradients), sums, (g, s) => (-RATE * g) / Math.sqrt(s + 1e-7));
    },
  },
  rmsprop: {
    make: (tf) => tf.train.rmsprop(RATE, 0.9, 0, 1e-7),
    update: (gradients) => {
      const means = gradients.reduce(
        (mean, g) => combine(mean, g, (m, d) => 0.9 * m + 0.1 * d * d),
        zero(gradients),
      );
      return combine(last(gradients), means, (g, m) => (-RATE * g) / Math.sqrt(m + 1e-7));
    },
  },
  adam: {
    make: (tf) => tf.train.adam(RATE, 0.5, 0.75, 1e-7),
    update: (gradients) => {
      const t = gradients.length;
      // Powers of two: TensorFlow.js keeps 1 - 0.999^t in float32, which costs it four digits.
      const fold = (beta: number, f: (g: number) => number): Matrix =>
        gradients.reduce(
          (moment, g) => combine(moment, g, (m, d) => beta * m + (1 - beta) * f(d)),
          zero(gradients),
        );
      const first = map(
        fold(0.5, (g) => g),
        (m) => m / (1 - 0.5 ** t),
      );
      const second = map(
        fold(0.75, (g) => g * g),
        (v) => v / (1 - 0.75 ** t),
      );
      return combine(first, second, (m, v) => (-RATE * m) / (Math.sqrt(v) + 1e-7));
    },
  },
};

function last(list: readonly Matrix[]): Matrix {
  const item = list.at(-1);
  if (item === undefined) throw new RangeError('empty');
  return item;
}

function zero(list: readonly Matrix[]): Matrix {
  return map(last(list), () => 0);
}

const PARAMETERS: Readonly<Record<keyof Weights, string>> = {
  w1: 'hidden/kernel',
  b1: 'hidden/bias',
  w2: 'output/kernel',
  b2: 'output/bias',
};

export function tfjsProbesContract({ name, tf, tolerance, isExact }: TfjsBackend): void {
  const isOnHost = name === 'cpu' || name === 'wasm';
  beforeAll(async () => {
    tf.enableProdMode();
    expect(await tf.setBackend(name)).toBe(true);
    await tf.ready();
  });

  /** A mean that cancels out is measured by what it is the mean of. */
  const near = (
    found: number | null | undefined,
    wanted: number,
    scale = Math.abs(wanted),
  ): void => {
    expect(found).toBeTypeOf('number');
    expect(Math.abs((found ?? Number.NaN) - wanted)).toBeLessThanOrEqual(
      tolerance * Math.max(Math.abs(wanted), scale) + 1e-12,
    );
  };

  const checkLayer = (record: LayerSummaryRecord | undefined, wanted: Matrix): void => {
    const { mean, std, norm } = statistics(wanted);
    near(record?.mean, mean, std);
    near(record?.std, std);
    near(record?.variance, std * std);
    near(record?.norm, norm);
    expect(record?.elementCount).toBe(wanted.values.length);
    expect(record?.tensorShape).toStrictEqual([wanted.rows, wanted.columns]);
    expect(record?.nonFiniteCount).toBe(0);
  };

  describe.each(Object.entries(RULES))('%s', (_, rule) => {
    it('records activations, gradients, values and updates as computed by hand', async () => {
      const session = await openSession();
      const model = denseModel(tf, 'by_hand');
      const optimizer = rule.make(tf);
      const source = tfjsModel(tf, model, optimizer);
      const hooks = new HookEngine(session, source);
      const parameters = new ParameterDiagnostics(session, source);
      const weights = startWeights();
      const history: Record<keyof Weights, Matrix[]> = { w1: [], b1: [], w2: [], b2: [] };
      for (let i = 0; i < 3; i++) {
        const { x, y } = batch(i);
        const xs = tensor(tf, x);
        const ys = tensor(tf, y);
        hooks.beginStep(i, { epoch: 1 });
        optimizer.minimize(lossOf(tf, model, xs, ys));
        hooks.endStep();
        parameters.snapshot(i, { epoch: 1 });
        tf.dispose([xs, ys]);
        await hooks.flush();
        const wanted = stepByHand(weights, x, y);
        const layer = async (
          moduleName: string,
          hookDirection: 'forward' | 'backward',
        ): Promise<LayerSummaryRecord | undefined> =>
          (await hooks.read({ moduleName, hookDirection, step: i }))[0];
        checkLayer(await layer('hidden_input', 'forward'), x);
        expect(await layer('hidden_input', 'backward')).toBeUndefined();
        checkLayer(await layer('hidden', 'forward'), wanted.hidden);
        checkLayer(await layer('output', 'forward'), wanted.output);
        checkLayer(await layer('hidden', 'backward'), wanted.hiddenGradient);
        checkLayer(await layer('output', 'backward'), wanted.outputGradient);
        for (const key of ['w1', 'b1', 'w2', 'b2'] as const) {
          history[key].push(wanted.gradients[key]);
          const update = rule.update(history[key]);
          const before = weights[key];
          weights[key] = combine(before, update, (a, b) => a + b);
          const [record] = await parameters.readSummaries({
            parameterName: PARAMETERS[key],
            step: i,
          });
          checkParameter(record, weights[key], wanted.gradients[key], update, before);
        }
      }
      await session.endRun();
      model.dispose();
      optimizer.dispose();
    });

    const checkParameter = (
      record: ParameterSummaryRecord | undefined,
      value: Matrix,
      gradient: Matrix,
      update: Matrix,
      before: Matrix,
    ): void => {
      const values = statistics(value);
      near(record?.valueMean, values.mean, values.std);
      near(record?.valueStd, values.std);
      near(record?.valueNorm, values.norm);
      near(record?.valueMin, values.min, values.norm);
      near(record?.valueMax, values.max, values.norm);
      const gradients = statistics(gradient);
      near(record?.gradientMean, gradients.mean, gradients.norm);
      near(record?.gradientStd, gradients.std, gradients.norm);
      near(record?.gradientNorm, gradients.norm);
      near(record?.gradientMin, gradients.min, gradients.norm);
      near(record?.gradientMax, gradients.max, gradients.norm);
      // The update is a difference of float32 values: good to their last place.
      const updates = statistics(update);
      const place =
        2 ** -24 * Math.max(...value.values.map(Math.abs)) * Math.sqrt(value.values.length);
      const scale = updates.norm + (2 * place) / tolerance;
      near(record?.updateMean, updates.mean, scale);
      near(record?.updateStd, updates.std, scale);
      near(record?.updateNorm, updates.norm, scale);
      near(record?.updateMin, updates.min, scale);
      near(record?.updateMax, updates.max, scale);
      near(
        record?.updateRatio,
        updates.norm / statistics(before).norm,
        scale / statistics(before).norm,
      );
    };
  });

  it('leaves losses and weights as they are without it', async () => {
    expect.hasAssertions();
    const train = async (isObserved: boolean): Promise<number[]> => {
      const session = await openSession();
      const model = denseModel(tf, 'plain');
      model.compile({ optimizer: tf.train.adam(0.05), loss: 'meanSquaredError' });
      const source = tfjsModel(tf, model);
      const hooks = isObserved ? new HookEngine(session, source) : undefined;
      const parameters = isObserved ? new ParameterDiagnostics(session, source) : undefined;
      const numbers: number[] = [];
      for (let i = 0; i < 10; i++) {
        const { x, y } = batch(i);
        const xs = tensor(tf, x);
        const ys = tensor(tf, y);
        hooks?.beginStep(i);
        numbers.push(Number(await model.trainOnBatch(xs, ys)));
        hooks?.endStep();
        parameters?.snapshot(i);
        tf.dispose([xs, ys]);
        await session.flush();
      }
      for (const weight of model.getWeights()) numbers.push(...(await weight.data()));
      if (isObserved) expect(await hooks?.read()).toHaveLength(50);
      await session.endRun();
      model.optimizer.dispose();
      model.dispose();
      return numbers;
    };
    const plain = await train(false);
    const observed = await train(true);
    if (isExact) expect(observed).toStrictEqual(plain);
    else observed.forEach((number, i) => near(number, plain[i] ?? Number.NaN, 1));
  });

  it('leaves no tensors behind, step by step and at the end', async () => {
    const session = await openSession();
    const model = denseModel(tf, 'memory');
    const optimizer = tf.train.momentum(0.01, 0.9);
    const { x, y } = batch(1);
    const xs = tensor(tf, x);
    const ys = tensor(tf, y);
    const loss = lossOf(tf, model, xs, ys);
    optimizer.minimize(loss);
    const before = tf.memory().numTensors;
    const source = tfjsModel(tf, model, optimizer);
    // Without a GPU a probe on the device takes 50 ms.
    const schedule = { everyNSteps: isOnHost ? 1 : 20 };
    const hooks = new HookEngine(session, source, { schedule });
    const parameters = new ParameterDiagnostics(session, source, {
      schedule,
      captureDistributions: true,
      distributionTypes: ['value', 'gradient', 'update'],
      histogramBins: 8,
    });
    const counts = new Set<number>();
    const steps = 1000;
    for (let i = 0; i < steps; i++) {
      const isProbed = hooks.beginStep(i);
      optimizer.minimize(loss);
      hooks.endStep();
      parameters.snapshot(i);
      // On a device a probe is under way until it has been read back; elsewhere nothing has to be waited for.
      if (!isOnHost && isProbed) await session.flush();
      if (i > 1) counts.add(tf.memory().numTensors);
    }
    // The gradients of the last snapshot are kept for the cosine with the next: one of each parameter, and on a host as arrays.
    expect([...counts]).toStrictEqual([isOnHost ? before : before + 4]);
    expect(hooks.status).toMatchObject({
      probedSteps: steps / schedule.everyNSteps,
      skippedProbes: 0,
    });
    expect([...hooks.status.troubles, ...parameters.status.troubles]).toStrictEqual([]);
    await hooks.close();
    await parameters.close();
    expect(tf.memory().numTensors).toBe(before);
    expect(Object.hasOwn(optimizer, 'applyGradients')).toBe(false);
    for (const layer of model.layers) expect(Object.hasOwn(layer, 'call')).toBe(false);
    tf.dispose([xs, ys]);
    model.dispose();
    optimizer.dispose();
    await session.endRun();
  }, 120_000);

  it('counts what is not finite and goes on with the rest', async () => {
    const session = await openSession();
    const model = tf.sequential({
      layers: [
        tf.layers.dense({
          name: 'a',
          units: 2,
          inputShape: [2],
          useBias: false,
          activation: 'relu',
        }),
      ],
    });
    const eye = tf.eye(2);
    model.setWeights([eye]);
    const hooks = new HookEngine(session, tfjsModel(tf, model), { captureEvaluation: true });
    const xs = tf.tensor2d([Number.NaN, 2, 3, -4], [2, 2]);
    hooks.beginStep(0);
    tf.dispose(model.predict(xs));
    hooks.endStep();
    const [input, record] = await hooks.read();
    expect(input).toMatchObject({ moduleName: 'a_input', elementCount: 4, nonFiniteCount: 1 });
    near(input?.norm, Math.sqrt(29));
    expect(record).toMatchObject({ metadata: { pass: 'evaluation' }, elementCount: 4 });
    // relu(NaN) is NaN or 0 by backend; the product with 0 makes one NaN of a row's other value.
    expect(record?.nonFiniteCount).toBeLessThanOrEqual(2);
    near(record?.norm, 3);
    await session.endRun();
    tf.dispose([xs, eye]);
    model.dispose();
  });

  it('takes tensors without elements for what they are', async () => {
    const session = await openSession();
    const empty = tf.variable(tf.zeros([0, 3]));
    const source = tfjsVariables(tf, {
      variables: { 'a/w': empty },
      taps: { none: 'Tap', one: 'Tap' },
    });
    const hooks = new HookEngine(session, source, { captureEvaluation: true });
    const parameters = new ParameterDiagnostics(session, source, {
      captureDistributions: true,
      histogramBins: 2,
    });
    const tensors = [tf.zeros([0, 2]), tf.ones([1, 2])] as const;
    hooks.beginStep(0);
    source.tap('none', tensors[0]);
    source.tap('one', tensors[1]);
    hooks.endStep();
    parameters.snapshot(0);
    const nothing = { elementCount: 0, mean: null, std: null, norm: 0, nonFiniteCount: 0 };
    expect(await hooks.read()).toMatchObject([
      { moduleName: 'none', ...nothing, deadUnitRatio: null, deadUnitCount: 0 },
      { moduleName: 'one', elementCount: 2, mean: 1, norm: expect.closeTo(Math.SQRT2, 5) },
    ]);
    expect(await parameters.readSummaries()).toMatchObject([
      { elementCount: 0, valueMean: null, valueNorm: 0, valueMin: null, nearZeroRatio: null },
    ]);
    expect(await parameters.readDistributions()).toMatchObject([
      { counts: [0, 0], binEdges: [0, 0.5, 1], sampleCount: 0 },
    ]);
    expect([...hooks.status.troubles, ...parameters.status.troubles]).toStrictEqual([]);
    await session.endRun();
    tf.dispose([empty, ...tensors]);
  });

  it('counts values in bins', async () => {
    const session = await openSession();
    const values = Float32Array.from({ length: 1000 }, (_, i) =>
      Math.fround(Math.sin(i * 12.9898)),
    );
    const model = tf.sequential({
      layers: [tf.layers.dense({ name: 'a', units: 10, inputShape: [100], useBias: false })],
    });
    const weights = tf.tensor2d(values, [100, 10]);
    model.setWeights([weights]);
    const parameters = new ParameterDiagnostics(session, tfjsModel(tf, model), {
      captureDistributions: true,
      histogramBins: 7,
    });
    parameters.snapshot(0);
    const [found] = await parameters.readDistributions();
    const min = Math.min(...values);
    const width = (Math.max(...values) - min) / 7;
    const counts = [0, 0, 0, 0, 0, 0, 0];
    for (const value of values) {
      const bin = Math.min(6, Math.floor((value - min) / width));
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
    expect(found?.counts).toStrictEqual(counts);
    expect(found?.sampleCount).toBe(1000);
    found?.binEdges.forEach((edge, i) => near(edge, min + i * width, 1));
    await session.endRun();
    weights.dispose();
    model.dispose();
  });
}
