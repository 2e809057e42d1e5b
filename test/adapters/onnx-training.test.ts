/** Training as a plain ONNX graph: against a network written by hand, on a real task, observed and not. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import * as ort from 'onnxruntime-web';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  DIGIT_CLASSES,
  DIGIT_PIXELS,
  parseDigits,
  splitDigits,
  type Digits,
} from '../../demo/train/digits.ts';
import type { OnnxLayersModel } from '../../src/adapters/onnx/train/layer-kinds.ts';
import { networkOfLayers } from '../../src/adapters/onnx/train/network-layers.ts';
import type { OnnxOptimizer } from '../../src/adapters/onnx/train/optimizers.ts';
import type { LayerSummaryRecord } from '../../src/records/layer-summary.ts';
import type { ParameterSummaryRecord } from '../../src/records/parameter-summary.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { HookEngine } from '../../src/instruments/probes/hook-engine.ts';
import { ParameterDiagnostics } from '../../src/instruments/probes/parameter-diagnostics.ts';
import {
  buildOnnxTraining,
  openOnnxTrainer,
  type OnnxTrainer,
  type OnnxTrainingConfig,
} from '../../src/onnx.ts';
import {
  batch,
  combine,
  map,
  SIZES,
  startWeights,
  statistics,
  step,
  type Matrix,
  type Weights,
} from '../support/dense-by-hand.ts';
import { KeptLayers, KeptParameters } from '../support/layer-watch.ts';
import { apart, checkNetwork } from '../support/onnx-network.ts';

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

const DENSE: OnnxLayersModel = {
  inputShape: [SIZES.inputs],
  layers: [
    { kind: 'dense', name: 'hidden', units: SIZES.hidden, activation: 'tanh' },
    { kind: 'dense', name: 'output', units: SIZES.outputs },
  ],
};
const NAMES = {
  w1: 'hidden/weight',
  b1: 'hidden/bias',
  w2: 'output/weight',
  b2: 'output/bias',
} as const;
const KEYS = ['w1', 'b1', 'w2', 'b2'] as const;

const floats = ({ values }: Matrix): Float32Array => Float32Array.from(values);

const MSE = { loss: { kind: 'meanSquaredError' } } as const;

async function denseTrainer(optimizer: OnnxOptimizer): Promise<OnnxTrainer> {
  const trainer = await openOnnxTrainer(ort, buildOnnxTraining(DENSE, { ...MSE, optimizer }));
  const weights = startWeights();
  await trainer.loadWeights(
    Object.fromEntries(KEYS.map((key) => [NAMES[key], floats(weights[key])])),
  );
  return trainer;
}

const trainStep = (trainer: OnnxTrainer, seed: number): Promise<number> => {
  const { x, y } = batch(seed);
  return trainer.step({ x: floats(x), y: floats(y) });
};

/** The optimizers' papers, in float64, one parameter at a time. */
function reference(
  optimizer: OnnxOptimizer,
): (weights: Weights, gradients: Weights, t: number) => Weights {
  const kept = new Map<string, { m: Matrix; v: Matrix }>();
  const update = (key: string, w: Matrix, g: Matrix, t: number): Matrix => {
    const zero = map(w, () => 0);
    const { m, v } = kept.get(key) ?? { m: zero, v: zero };
    if (optimizer.kind === 'sgd')
      return combine(w, g, (a, b) => a - (optimizer.learningRate ?? 0.01) * b);
    if (optimizer.kind === 'momentum') {
      const { learningRate = 0.01, momentum = 0.9, nesterov = false } = optimizer;
      const velocity = combine(m, g, (a, b) => momentum * a + b);
      kept.set(key, { m: velocity, v });
      const direction = nesterov ? combine(g, velocity, (a, b) => a + momentum * b) : velocity;
      return combine(w, direction, (a, b) => a - learningRate * b);
    }
    const { learningRate = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 } = optimizer;
    const first = combine(m, g, (a, b) => beta1 * a + (1 - beta1) * b);
    const second = combine(v, g, (a, b) => beta2 * a + (1 - beta2) * b * b);
    kept.set(key, { m: first, v: second });
    const move = combine(
      first,
      second,
      (a, b) =>
        (learningRate * (a / (1 - beta1 ** t))) / (Math.sqrt(b / (1 - beta2 ** t)) + epsilon),
    );
    return combine(w, move, (a, b) => a - b);
  };
  return (weights, gradients, t) => ({
    w1: update('w1', weights.w1, gradients.w1, t),
    b1: update('b1', weights.b1, gradients.b1, t),
    w2: update('w2', weights.w2, gradients.w2, t),
    b2: update('b2', weights.b2, gradients.b2, t),
  });
}

describe('a dense network, against one written by hand', () => {
  it.each<OnnxOptimizer>([
    { kind: 'sgd', learningRate: 0.1 },
    { kind: 'momentum', learningRate: 0.05 },
    { kind: 'momentum', learningRate: 0.05, momentum: 0.8, nesterov: true },
    { kind: 'adam', learningRate: 0.01 },
    { kind: 'adam', learningRate: 0.01, beta1: 0.8, beta2: 0.9, epsilon: 1e-3 },
  ])('%o gives the same losses and weights at every step', async (optimizer) => {
    const trainer = await denseTrainer(optimizer);
    const follow = reference(optimizer);
    let weights = startWeights();
    for (let t = 1; t <= 60; t += 1) {
      const { x, y } = batch(t % 7);
      const wanted = step(weights, x, y);
      weights = follow(weights, wanted.gradients, t);
      expect(Math.abs((await trainStep(trainer, t % 7)) - wanted.loss) / wanted.loss).toBeLessThan(
        1e-5,
      );
    }
    const found = await trainer.readWeights();
    for (const key of KEYS)
      expect(apart(found[NAMES[key]]!, weights[key].values), key).toBeLessThan(1e-5);
    expect(trainer.stepCount).toBe(60);
    await trainer.close();
  });

  it('shows activations, gradients and the values before to those that watch', async () => {
    const trainer = await denseTrainer({ kind: 'sgd', learningRate: 0.1 });
    const layers = new KeptLayers(trainer.source);
    const parameters = new KeptParameters(trainer.source);
    const weights = startWeights();
    const { x, y } = batch(3);
    const wanted = step(weights, x, y);
    await trainStep(trainer, 3);
    const seen = (name: string): readonly number[] => layers.seen.get(name)?.data ?? [];
    expect([...layers.seen.keys()].sort()).toStrictEqual([
      'hidden backward',
      'hidden forward',
      'hidden/tanh backward',
      'hidden/tanh forward',
      'output backward',
      'output forward',
    ]);
    expect(apart(seen('hidden/tanh forward'), wanted.hidden.values)).toBeLessThan(1e-6);
    expect(apart(seen('output forward'), wanted.output.values)).toBeLessThan(1e-6);
    expect(apart(seen('hidden/tanh backward'), wanted.hiddenGradient.values)).toBeLessThan(1e-5);
    expect(apart(seen('output backward'), wanted.outputGradient.values)).toBeLessThan(1e-5);
    for (const key of KEYS) {
      expect(
        apart(
          parameters.seen.get(`${NAMES[key]} gradient`)?.data ?? [],
          wanted.gradients[key].values,
        ),
      ).toBeLessThan(1e-5);
      expect(parameters.seen.get(`${NAMES[key]} before`)?.data).toStrictEqual([
        ...weights[key].values,
      ]);
    }
    await trainer.close();
  });
});

describe('networks of layers', () => {
  it('of every kind have the gradients that float64 gives, at any batch size', async () => {
    const model: OnnxLayersModel = {
      inputShape: [2, 6, 6],
      seed: 5,
      layers: [
        { kind: 'conv2d', filters: 4, size: 3, padding: 'same', groups: 2, activation: 'silu' },
        { kind: 'batchNorm' },
        { kind: 'averagePool2d', size: 2, strides: 1 },
        { kind: 'conv2d', filters: 3, size: [2, 3], strides: [2, 1], bias: false },
        { kind: 'activation', activation: 'relu6', name: 'bounded' },
        { kind: 'maxPool2d', size: 2, strides: 1 },
        { kind: 'flatten' },
        { kind: 'layerNorm', trainable: false },
        { kind: 'dense', units: 5, activation: 'hardSwish', initializer: 'glorotUniform' },
        { kind: 'dense', units: 3 },
      ],
    };
    await checkNetwork(
      model,
      3,
      72,
      (count) => Int32Array.from({ length: count }, (_, i) => i % 3),
      3,
    );
  });

  it('of sequences: embedding, softmax within, global pooling of images', async () => {
    await checkNetwork(
      {
        inputShape: ['time'],
        inputType: 'int32',
        seed: 3,
        layers: [
          { kind: 'embedding', vocabulary: 7, dimensions: 4 },
          { kind: 'dense', units: 4, activation: 'softmax' },
          { kind: 'layerNorm' },
          { kind: 'dense', units: 3 },
        ],
      },
      2,
      5,
      (count) => Int32Array.from({ length: count * 5 }, (_, i) => i % 3),
      3,
    );
    await checkNetwork(
      {
        inputShape: [1, 4, 4],
        layers: [
          { kind: 'conv2d', filters: 3, size: 2 },
          { kind: 'globalAveragePool2d' },
          { kind: 'dense', units: 3 },
        ],
      },
      2,
      16,
      (count) => Int32Array.from({ length: count }, (_, i) => i % 3),
      3,
    );
  });

  it('begin with weights that the seed determines', () => {
    const weights = (seed: number): Float32Array =>
      networkOfLayers({ ...DENSE, seed }).parameters[0]!.initial;
    expect(weights(1)).toStrictEqual(weights(1));
    expect(weights(1)).not.toStrictEqual(weights(2));
    const { initial } = networkOfLayers({
      inputShape: [200],
      layers: [{ kind: 'dense', units: 100, activation: 'relu' }],
    }).parameters[0]!;
    const variance = initial.reduce((sum, value) => sum + value ** 2, 0) / initial.length;
    // He: 2 / 200. The variance of 20,000 draws is within 1 % of it, at one standard deviation.
    expect(variance).toBeGreaterThan(0.0095);
    expect(variance).toBeLessThan(0.0105);
  });
});

function digits(): { train: Digits; val: Digits } {
  const file = readFileSync(new URL('../../demo/public/digits.csv.gz', import.meta.url));
  return splitDigits(parseDigits(gunzipSync(file).toString()));
}

const DIGITS: OnnxLayersModel = {
  inputShape: [1, 8, 8],
  layers: [
    { kind: 'conv2d', name: 'conv', filters: 8, size: 3, activation: 'relu' },
    { kind: 'batchNorm', name: 'norm', momentum: 0.9 },
    { kind: 'maxPool2d', name: 'pool', size: 2 },
    { kind: 'flatten', name: 'flat' },
    { kind: 'dense', name: 'hidden', units: 32, activation: 'relu' },
    { kind: 'dense', name: 'digit', units: DIGIT_CLASSES },
  ],
};
const CLASSIFY: OnnxTrainingConfig = {
  loss: { kind: 'softmaxCrossEntropy' },
  optimizer: { kind: 'adam', learningRate: 0.003 },
};

function digitBatch(
  { images, labels }: Digits,
  from: number,
  count: number,
): { x: Float32Array; y: Int32Array } {
  return {
    x: images.slice(from * DIGIT_PIXELS, (from + count) * DIGIT_PIXELS),
    y: Int32Array.from(labels.subarray(from, from + count)),
  };
}

describe('handwritten digits', () => {
  it('are learnt, and told apart on images never seen', async () => {
    const { train, val } = digits();
    const trainer = await openOnnxTrainer(ort, buildOnnxTraining(DIGITS, CLASSIFY));
    const losses: number[] = [];
    for (let epoch = 0; epoch < 4; epoch += 1)
      for (let from = 0; from + 64 <= train.count; from += 64)
        losses.push(await trainer.step(digitBatch(train, from, 64)));
    const mean = (part: number[]): number =>
      part.reduce((sum, value) => sum + value, 0) / part.length;
    expect(mean(losses.slice(-20))).toBeLessThan(mean(losses.slice(0, 5)) / 8);
    const logits = (await trainer.predict({ x: val.images })).data as Float32Array;
    let right = 0;
    for (const [row, label] of val.labels.entries()) {
      const scores = logits.subarray(row * DIGIT_CLASSES, (row + 1) * DIGIT_CLASSES);
      right += Number(scores.indexOf(Math.max(...scores)) === label);
    }
    expect(right / val.count).toBeGreaterThan(0.93);
    // As a file for any runtime: the same numbers.
    const session = await ort.InferenceSession.create(await trainer.exportModel());
    expect(session.inputNames).toStrictEqual(['x']);
    const x = new ort.Tensor('float32', val.images, [val.count, 1, 8, 8]);
    expect(
      apart(Object.values(await session.run({ x }))[0]!.data as Float32Array, logits),
    ).toBeLessThan(1e-5);
    await trainer.close();
  }, 180_000);

  it('are learnt the same to the bit while everything is observed', async () => {
    const { train } = digits();
    const run = async (
      look: (trainer: OnnxTrainer, step: (s: number) => Promise<number>) => Promise<number[]>,
    ): Promise<number[]> => {
      const trainer = await openOnnxTrainer(ort, buildOnnxTraining(DIGITS, CLASSIFY));
      const losses = await look(trainer, (s) => trainer.step(digitBatch(train, s * 32, 32)));
      await trainer.close();
      return losses;
    };
    const plain = await run(async (_trainer, train_) => {
      const losses: number[] = [];
      for (let s = 0; s < 24; s += 1) losses.push(await train_(s));
      return losses;
    });
    const store = createMemoryStore();
    const session = await TrainingSession.startRun({
      project: 'p',
      storage: store,
      handleSignals: false,
      strictMode: true,
    });
    let summaries: readonly LayerSummaryRecord[] = [];
    let values: readonly ParameterSummaryRecord[] = [];
    const observed = await run(async (trainer, train_) => {
      const hooks = new HookEngine(session, trainer.source, { schedule: { everyNSteps: 3 } });
      const parameters = new ParameterDiagnostics(session, trainer.source, {
        schedule: { everyNSteps: 4 },
        captureDistributions: true,
        distributionTypes: ['value', 'gradient', 'update'],
      });
      const losses: number[] = [];
      for (let s = 0; s < 24; s += 1) {
        hooks.beginStep(s);
        losses.push(await train_(s));
        hooks.endStep();
        parameters.snapshot(s);
        await Promise.all([hooks.flush(), parameters.flush()]);
      }
      summaries = await hooks.read();
      values = await parameters.readSummaries();
      await hooks.close();
      await parameters.close();
      return losses;
    });
    expect(observed).toStrictEqual(plain);
    await session.endRun('completed');
    const reader = await openRun(store, session.runId);
    expect(new Set(summaries.map(({ step: at }) => at))).toStrictEqual(
      new Set([0, 3, 6, 9, 12, 15, 18, 21]),
    );
    expect(
      new Set(summaries.map(({ moduleName, hookDirection }) => `${moduleName} ${hookDirection}`))
        .size,
    ).toBe(16);
    expect(new Set(values.map(({ step: at }) => at))).toStrictEqual(new Set([0, 4, 8, 12, 16, 20]));
    expect(
      values.filter(
        ({ updateNorm, gradientNorm }) => (updateNorm ?? 0) > 0 && (gradientNorm ?? 0) > 0,
      ),
    ).toHaveLength(values.length);
    expect(await reader.readEvents({ severity: 'warning' })).toStrictEqual([]);
  }, 180_000);
});

describe('what is recorded', () => {
  it('is what float64 gives, to 1e-5', async () => {
    const store = createMemoryStore();
    const session = await TrainingSession.startRun({
      project: 'p',
      storage: store,
      handleSignals: false,
      strictMode: true,
    });
    const trainer = await denseTrainer({ kind: 'adam', learningRate: 0.05 });
    const hooks = new HookEngine(session, trainer.source);
    const parameters = new ParameterDiagnostics(session, trainer.source);
    const follow = reference({ kind: 'adam', learningRate: 0.05 });
    let weights = startWeights();
    const near = (found: number | null, wanted: number, what: string): void =>
      expect(
        Math.abs((found ?? Number.NaN) - wanted) / Math.max(Math.abs(wanted), 1e-3),
        what,
      ).toBeLessThan(1e-5);
    for (let t = 1; t <= 5; t += 1) {
      const { x, y } = batch(t);
      const wanted = step(weights, x, y);
      const before = weights;
      weights = follow(weights, wanted.gradients, t);
      await hooks.step(t, {}, () => trainStep(trainer, t));
      parameters.snapshot(t);
      await Promise.all([hooks.flush(), parameters.flush()]);
      const layer = async (
        moduleName: string,
        hookDirection: 'forward' | 'backward',
        matrix: Matrix,
      ): Promise<void> => {
        const [record] = await hooks.read({ moduleName, hookDirection, stepMin: t, stepMax: t });
        const { mean, std, norm } = statistics(matrix);
        near(record?.mean ?? null, mean, `${moduleName} mean`);
        near(record?.std ?? null, std, `${moduleName} std`);
        near(record?.norm ?? null, norm, `${moduleName} norm`);
        expect(record?.tensorShape).toStrictEqual([matrix.rows, matrix.columns]);
      };
      await layer('hidden/tanh', 'forward', wanted.hidden);
      await layer('hidden/tanh', 'backward', wanted.hiddenGradient);
      await layer('output', 'forward', wanted.output);
      await layer('output', 'backward', wanted.outputGradient);
      for (const key of KEYS) {
        const [record] = await parameters.readSummaries({
          parameterName: NAMES[key],
          stepMin: t,
          stepMax: t,
        });
        near(record?.valueNorm ?? null, statistics(weights[key]).norm, `${key} value`);
        near(
          record?.gradientNorm ?? null,
          statistics(wanted.gradients[key]).norm,
          `${key} gradient`,
        );
        near(
          record?.updateNorm ?? null,
          statistics(combine(weights[key], before[key], (a, b) => a - b)).norm,
          `${key} update`,
        );
        expect(record?.parameterRole).toBe(key.startsWith('w') ? 'weight' : 'bias');
      }
    }
    await hooks.close();
    await parameters.close();
    await trainer.close();
    await session.endRun('completed');
  });
});

describe('bad input', () => {
  const sgd = { kind: 'sgd' } as const;
  it.each<readonly [string, () => unknown, RegExp]>([
    [
      'no layers',
      () => buildOnnxTraining({ inputShape: [2], layers: [] }, { ...MSE, optimizer: sgd }),
      /model.layers/,
    ],
    [
      'an unknown layer',
      () =>
        buildOnnxTraining(
          { inputShape: [2], layers: [{ kind: 'lstm' } as never] },
          { ...MSE, optimizer: sgd },
        ),
      /model.layers\[0\].kind/,
    ],
    [
      'a misspelt option',
      () =>
        buildOnnxTraining(
          { inputShape: [2], layers: [{ kind: 'dense', unit: 3 } as never] },
          { ...MSE, optimizer: sgd },
        ),
      /model.layers\[0\].unit/,
    ],
    [
      'a name twice',
      () =>
        buildOnnxTraining(
          {
            inputShape: [2],
            layers: [
              { kind: 'dense', units: 1, name: 'a' },
              { kind: 'dense', units: 1, name: 'a' },
            ],
          },
          { ...MSE, optimizer: sgd },
        ),
      /layers\[1\].name/,
    ],
    [
      'a window larger than the image',
      () =>
        buildOnnxTraining(
          { inputShape: [1, 2, 2], layers: [{ kind: 'conv2d', filters: 1, size: 3 }] },
          { ...MSE, optimizer: sgd },
        ),
      /layers\[0\].size/,
    ],
    [
      'features of unknown number',
      () =>
        buildOnnxTraining(
          { inputShape: ['n'], layers: [{ kind: 'dense', units: 1 }] },
          { ...MSE, optimizer: sgd },
        ),
      /layers\[0\]/,
    ],
    [
      'an unknown loss',
      () => buildOnnxTraining(DENSE, { loss: { kind: 'hinge' } as never, optimizer: sgd }),
      /config.loss.kind/,
    ],
    [
      'an unknown optimizer',
      () => buildOnnxTraining(DENSE, { ...MSE, optimizer: { kind: 'rmsprop' } as never }),
      /config.optimizer.kind/,
    ],
    [
      'momentum for sgd',
      () =>
        buildOnnxTraining(DENSE, { ...MSE, optimizer: { kind: 'sgd', momentum: 0.9 } as never }),
      /config.optimizer.momentum/,
    ],
    [
      'a beta of 1',
      () => buildOnnxTraining(DENSE, { ...MSE, optimizer: { kind: 'adam', beta1: 1 } }),
      /beta1/,
    ],
    [
      'a target named like the input',
      () => buildOnnxTraining(DENSE, { ...MSE, optimizer: sgd, targetName: 'x' }),
      /config.targetName/,
    ],
    [
      'a frozen network',
      () =>
        buildOnnxTraining(
          { inputShape: [2], layers: [{ kind: 'dense', units: 1, trainable: false }] },
          { ...MSE, optimizer: sgd },
        ),
      /a parameter to train/,
    ],
    [
      'options of files for a list',
      () => buildOnnxTraining(DENSE, { ...MSE, optimizer: sgd, output: 'y' }),
      /"output"/,
    ],
  ])('%s is refused', (_name, make, message) => {
    expect(make).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringMatching(message) }),
    );
  });

  it('at a step is refused and changes nothing', async () => {
    const trainer = await denseTrainer({ kind: 'momentum' });
    const before = await trainer.readWeights();
    const { x, y } = { x: floats(batch(1).x), y: floats(batch(1).y) };
    await expect(trainer.step({ x })).rejects.toThrow(/batch.y/);
    await expect(trainer.step({ x, y, z: y })).rejects.toThrow(/batch.z/);
    await expect(trainer.step({ x: x.subarray(1), y })).rejects.toThrow(/batch.x/);
    await expect(trainer.step({ x, y: y.subarray(2) })).rejects.toThrow(
      /batch.y must be of shape \[batch, 2\], where batch is \d as in the inputs before/,
    );
    // A single row would be broadcast over all of them.
    await expect(trainer.step({ x, y: y.subarray(0, 2) })).rejects.toThrow(/where batch is/);
    const none = new Float32Array(0);
    await expect(trainer.step({ x: none, y: none })).rejects.toThrow(/at least one sample/);
    const others = [null, [1, 2], Float64Array.from(x), new Int32Array(x.length)];
    for (const other of others)
      await expect(trainer.step({ x: other as never, y })).rejects.toThrow(
        /batch.x must be a tensor of float32, or Float32Array/,
      );
    const ids = new ort.Tensor('int32', new Int32Array(x.length), [x.length / 3, 3]);
    await expect(trainer.step({ x: ids, y })).rejects.toThrow(/batch.x.type must be float32/);
    const flat = new ort.Tensor('float32', x, [x.length]);
    await expect(trainer.step({ x: flat, y })).rejects.toThrow(/batch.x must be of shape/);
    await expect(trainer.step(undefined as never)).rejects.toThrow(/batch must be an object/);
    expect(() => trainer.step({ x, y }, { learningRate: -1 })).toThrow(/learningRate/);
    await expect(trainer.loadWeights({ nothing: x })).rejects.toThrow(/weights.nothing/);
    await expect(trainer.loadWeights({ 'hidden/bias': new Float32Array(3) })).rejects.toThrow(
      /Float32Array of 4/,
    );
    expect(await trainer.readWeights()).toStrictEqual(before);
    expect(trainer.stepCount).toBe(0);
    await trainer.step({ x, y }, { learningRate: 0 });
    expect((await trainer.readWeights())['hidden/weight']).toStrictEqual(before['hidden/weight']);
    expect(trainer.learningRate).toBe(0);
    await trainer.close();
    await trainer.close();
    await expect(trainer.step({ x, y })).rejects.toThrow(
      expect.objectContaining({ code: 'writer_closed' }),
    );
    await expect(
      openOnnxTrainer(undefined as never, buildOnnxTraining(DENSE, { ...MSE, optimizer: sgd })),
    ).rejects.toThrow(/the module/);
  });

  it('classes that do not exist are refused', async () => {
    const layers = [{ kind: 'dense', units: 3 }] as const;
    const training = buildOnnxTraining(
      { inputShape: [2], layers },
      { loss: { kind: 'softmaxCrossEntropy' }, optimizer: { kind: 'sgd' } },
    );
    expect(training.classCount).toBe(3);
    const trainer = await openOnnxTrainer(ort, training);
    const x = Float32Array.of(1, 2, 3, 4);
    const before = await trainer.readWeights();
    for (const wrong of [3, -1]) {
      const message = new RegExp(`batch.y\\[1\\] must be a class: 0 to 2; got ${wrong}`);
      const y = Int32Array.of(0, wrong);
      await expect(trainer.step({ x, y })).rejects.toThrow(message);
      const tensor = new ort.Tensor('int32', y, [2]);
      await expect(trainer.step({ x, y: tensor })).rejects.toThrow(message);
    }
    expect(await trainer.readWeights()).toStrictEqual(before);
    await trainer.step({ x, y: Int32Array.of(0, 2) });
    await trainer.close();
  });

  it('lets timers have their turn', async () => {
    const trainer = await denseTrainer({ kind: 'sgd' });
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const end = performance.now() + 200;
    while (performance.now() < end) await trainStep(trainer, 1);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
    await trainer.close();
  });

  it('weights that were kept continue the training to the bit', async () => {
    const first = await denseTrainer({ kind: 'adam', learningRate: 0.02 });
    for (let i = 0; i < 6; i += 1) await trainStep(first, i);
    const [weights, count] = [await first.readWeights(), first.stepCount];
    const second = await denseTrainer({ kind: 'adam', learningRate: 0.02 });
    await second.loadWeights(weights, count);
    for (let i = 6; i < 9; i += 1)
      expect(await trainStep(second, i)).toBe(await trainStep(first, i));
    await first.close();
    await second.close();
  });
});
