/** The gradient of every operator that can be trained through, on onnxruntime-web, against central differences. */
import * as ort from 'onnxruntime-web';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  TRAINABLE_OPS,
  type Network,
  type NetworkConstant,
} from '../../src/adapters/onnx/train/network.ts';
import type { Attributes } from '../../src/adapters/onnx/file/onnx-writer.ts';
import { trainingOf, type OnnxLoss } from '../../src/adapters/onnx/train/training-step.ts';
import {
  centralDifferences,
  crossEntropy,
  evaluate,
  meanSquaredError,
  refTensor,
  sizeOf,
  type RefTensor,
} from '../support/onnx-reference.ts';
import { runs } from '../support/property.ts';

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

/** Values away from the kinks of piecewise operators: 0, 3, 6 and such lie between two of them. */
type Draw = 'any' | 'positive' | 'distinct' | 'negative';
type Input = readonly number[] | { readonly shape: readonly number[]; readonly draw: Draw };
type Case = {
  readonly name?: string;
  readonly op: string;
  readonly inputs: readonly (
    | Input
    | { readonly constant: NetworkConstant }
    | { readonly indices: readonly number[]; readonly shape: readonly number[] }
    | null
  )[];
  readonly attributes?: Attributes;
  readonly loss?: OnnxLoss;
};

function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

function drawn(shape: readonly number[], draw: Draw, next: () => number): Float64Array {
  const size = sizeOf(shape);
  if (draw === 'distinct' || draw === 'negative') {
    const order = Array.from({ length: size }, (_, i) => i).sort(() => next() - 0.5);
    return Float64Array.from(order, (i) => (draw === 'distinct' ? i - size / 2 : i - size) / 7);
  }
  return Float64Array.from({ length: size }, () => {
    if (draw === 'positive') return Math.fround(0.5 + next());
    // Quarters moved by an eighth and less: never within 0.02 of a multiple of a quarter.
    const quarter = Math.floor(next() * 32 - 16) / 4;
    return Math.fround(quarter + 0.03 + next() * 0.19);
  });
}

const int64s = (name: string, data: readonly number[]): { constant: NetworkConstant } => ({
  constant: { name, type: 'int64', shape: [data.length], data },
});
const scalar = (name: string, value: number): { constant: NetworkConstant } => ({
  constant: { name, type: 'float32', shape: [], data: [value] },
});

/** The network of one operator, whose inputs are all parameters, with the values they have. */
function networkOf(test: Case, seed: number): { network: Network; given: Map<string, RefTensor> } {
  const next = random(seed);
  const given = new Map<string, RefTensor>();
  const parameters: Network['parameters'][number][] = [];
  const constants: NetworkConstant[] = [];
  const inputs: Network['inputs'][number][] = [];
  const state: Network['state'][number][] = [];
  const names = test.inputs.map((input, i) => {
    if (input === null) return '';
    const name = `in${i}`;
    if ('constant' in input) {
      constants.push({ ...input.constant, name });
      given.set(name, refTensor(input.constant.shape, input.constant.data));
    } else if ('indices' in input) {
      inputs.push({ name, type: 'int32', shape: input.shape });
      given.set(name, refTensor(input.shape, input.indices));
    } else {
      const { shape, draw } = 'shape' in input ? input : { shape: input, draw: 'any' as const };
      const data = drawn(shape, draw, next);
      given.set(name, { shape, data });
      const initial = Float32Array.from(data);
      if (test.op === 'BatchNormalization' && i >= 3)
        state.push({ name, layerName: 'l', shape, initial });
      else
        parameters.push({
          name,
          layerName: 'l',
          role: 'weight',
          shape,
          initial,
          isTrainable: true,
        });
    }
    return name;
  });
  const node = { op: test.op, inputs: names, output: 'out', attributes: test.attributes ?? {} };
  return {
    given,
    network: {
      inputs,
      output: 'out',
      nodes: [node],
      layers: [{ name: 'l', type: test.op, output: 'out' }],
      parameters,
      state,
      constants,
    },
  };
}

/**
 * Runs the training graph and compares loss and gradients with float64. A gradient is a sum of up to some hundred
 * products in float32, each with a relative error of 2^-24 and cancelling one another: 1e-5 of the largest is some 100
 * such errors. The differences themselves are exact to about 1e-9.
 */
async function check(test: Case, seed = 1): Promise<void> {
  const { network, given } = networkOf(test, seed);
  const loss: OnnxLoss = test.loss ?? { kind: 'meanSquaredError' };
  const forward = (): RefTensor => evaluate(network.nodes, given).get('out')!;
  const { shape } = forward();
  const next = random(seed + 99);
  const isClasses = loss.kind === 'softmaxCrossEntropy' && loss.targets !== 'probabilities';
  const classes = shape.at(-1) ?? 1;
  const targets = isClasses
    ? refTensor(
        shape.slice(0, -1),
        Array.from({ length: sizeOf(shape) / classes }, () => Math.floor(next() * classes)),
      )
    : refTensor(
        shape,
        Float32Array.from({ length: sizeOf(shape) }, () => next()),
      );
  const lossOf = (): number =>
    loss.kind === 'meanSquaredError'
      ? meanSquaredError(forward(), targets)
      : crossEntropy(forward(), targets);

  const training = trainingOf(network, { loss, optimizer: { kind: 'sgd' } });
  const session = await ort.InferenceSession.create(training.bytes);
  const feeds: Record<string, ort.Tensor> = {
    'quark/learning_rate': new ort.Tensor('float32', [0.1], []),
    y: isClasses
      ? new ort.Tensor('int32', Int32Array.from(targets.data), targets.shape)
      : new ort.Tensor('float32', Float32Array.from(targets.data), targets.shape),
  };
  for (const { name, shape: dims, initial } of [...network.parameters, ...network.state])
    feeds[name] = new ort.Tensor('float32', initial.slice(), dims);
  for (const { name, shape: dims } of network.inputs)
    feeds[name] = new ort.Tensor('int32', Int32Array.from(given.get(name)!.data), dims.map(Number));
  const outputs = await session.run(feeds);
  await session.release();

  const wantedLoss = lossOf();
  const lossError = Math.abs(Number(outputs[training.loss]?.data[0]) - wantedLoss);
  expect(lossError / Math.max(1, Math.abs(wantedLoss))).toBeLessThan(2e-6);
  const layer = training.layers[0]!;
  expect(outputs[layer.activation]?.dims).toStrictEqual(shape);
  for (const { name, gradient, updated, initial } of training.parameters) {
    const tensor = outputs[gradient ?? ''];
    const found = tensor?.data as Float32Array;
    const value = given.get(name)!;
    expect(tensor?.dims).toStrictEqual(value.shape);
    const wanted = centralDifferences(value.data, lossOf);
    const largest = wanted.reduce((most, v) => Math.max(most, Math.abs(v)), 1e-3);
    const error = wanted.reduce((most, v, i) => Math.max(most, Math.abs(v - found[i]!)), 0);
    expect(error / largest, `${test.op} ${name}`).toBeLessThan(1e-5);
    const after = outputs[updated ?? '']?.data as Float32Array;
    expect([...after]).toStrictEqual(
      Array.from(initial, (v, i) => Math.fround(v - Math.fround(Math.fround(0.1) * found[i]!))),
    );
  }
}

const pointwise = (op: string, attributes: Attributes = {}, draw: Draw = 'any'): Case => ({
  op,
  inputs: [{ shape: [3, 40], draw }],
  attributes,
});

const CASES: readonly Case[] = [
  ...[
    'Abs',
    'Elu',
    'Gelu',
    'HardSigmoid',
    'HardSwish',
    'Identity',
    'LeakyRelu',
    'Neg',
    'Relu',
    'Selu',
    'Sigmoid',
    'Silu',
    'Softplus',
    'Tanh',
    'Erf',
    'Exp',
  ].map((op) => pointwise(op)),
  ...['Log', 'Reciprocal', 'Sqrt'].map((op) => pointwise(op, {}, 'positive')),
  pointwise('Elu', { alpha: { float: 0.5 } }),
  pointwise('LeakyRelu', { alpha: { float: 0.25 } }),
  pointwise('Selu', { alpha: { float: 1.5 }, gamma: { float: 0.75 } }),
  pointwise('HardSigmoid', { alpha: { float: 0.25 }, beta: { float: 0.375 } }),
  { op: 'Pow', inputs: [{ shape: [3, 5], draw: 'positive' }, scalar('p', 2.5)] },
  { op: 'Pow', inputs: [[3, 5], scalar('p', 2)] },
  { op: 'Clip', inputs: [[3, 40], scalar('low', 0), scalar('high', 2)] },
  { op: 'Clip', inputs: [[3, 40], null, scalar('high', 1)] },
  { op: 'Clip', inputs: [[3, 40]], attributes: { min: { float: -1 }, max: { float: 1 } } },
  ...['Add', 'Sub', 'Mul'].flatMap((op): Case[] => [
    {
      op,
      inputs: [
        [3, 4],
        [3, 4],
      ],
    },
    { op, inputs: [[2, 3, 4], [4]] },
    {
      op,
      inputs: [
        [3, 1],
        [2, 1, 4],
      ],
    },
  ]),
  { op: 'Div', inputs: [[2, 3, 4], { shape: [3, 1], draw: 'positive' }] },
  { op: 'Gemm', inputs: [[3, 5], [5, 4], [4]] },
  {
    op: 'Gemm',
    inputs: [
      [3, 5],
      [5, 4],
    ],
  },
  {
    op: 'Gemm',
    inputs: [
      [5, 3],
      [5, 4],
      [3, 1],
    ],
    attributes: { transA: 1, alpha: { float: 0.5 }, beta: { float: 2 } },
  },
  { op: 'Gemm', inputs: [[3, 5], [4, 5], [1]], attributes: { transB: 1, alpha: { float: 2 } } },
  {
    op: 'Gemm',
    inputs: [
      [5, 3],
      [4, 5],
      [3, 4],
    ],
    attributes: { transA: 1, transB: 1 },
  },
  {
    op: 'MatMul',
    inputs: [
      [3, 5],
      [5, 4],
    ],
  },
  {
    op: 'MatMul',
    inputs: [
      [2, 3, 5],
      [5, 4],
    ],
  },
  {
    op: 'MatMul',
    inputs: [
      [2, 3, 5],
      [2, 5, 4],
    ],
  },
  {
    op: 'MatMul',
    inputs: [
      [2, 1, 3, 5],
      [3, 5, 4],
    ],
  },
  { op: 'Softmax', inputs: [[3, 5]] },
  { op: 'LogSoftmax', inputs: [[2, 3, 5]] },
  { op: 'ReduceSum', inputs: [[2, 3, 4], int64s('axes', [1])] },
  { op: 'ReduceMean', inputs: [[2, 3, 4]], attributes: { axes: [0, -1], keepdims: 0 } },
  { op: 'ReduceMean', inputs: [[2, 3, 4]], attributes: { keepdims: 0 } },
  { op: 'Flatten', inputs: [[2, 3, 4]], attributes: { axis: 2 } },
  { op: 'Reshape', inputs: [[2, 3, 4], int64s('shape', [0, -1, 2])] },
  { op: 'Squeeze', inputs: [[2, 1, 4], int64s('axes', [1])] },
  { op: 'Unsqueeze', inputs: [[2, 4], int64s('axes', [0, -1])] },
  { op: 'Transpose', inputs: [[2, 3, 4]], attributes: { perm: [2, 0, 1] } },
  { op: 'Transpose', inputs: [[2, 3, 4]] },
  // The same row three times: its gradients add up.
  {
    op: 'Gather',
    inputs: [[5, 3], { indices: [1, 4, 1, 1], shape: [2, 2] }],
    attributes: { axis: 0 },
  },
  { op: 'Conv', inputs: [[2, 2, 6, 5], [3, 2, 3, 2], [3]] },
  {
    op: 'MaxPool',
    inputs: [{ shape: [2, 2, 5, 5], draw: 'distinct' }],
    attributes: { kernel_shape: [2, 2], strides: [2, 2] },
  },
  // Padding is larger than every element, and still never the largest.
  {
    op: 'MaxPool',
    inputs: [{ shape: [1, 2, 4, 4], draw: 'negative' }],
    attributes: { kernel_shape: [2, 3], pads: [1, 1, 0, 1] },
  },
  {
    op: 'MaxPool',
    inputs: [{ shape: [2, 1, 6, 5], draw: 'distinct' }],
    attributes: { kernel_shape: [2, 2], dilations: [2, 3], strides: [2, 1] },
  },
  // Windows that overlap, with padding: one element is the largest of several.
  {
    op: 'MaxPool',
    inputs: [{ shape: [2, 2, 5, 5], draw: 'distinct' }],
    attributes: { kernel_shape: [3, 3], strides: [1, 2], pads: [1, 1, 1, 0] },
  },
  {
    op: 'AveragePool',
    inputs: [[2, 2, 5, 6]],
    attributes: { kernel_shape: [2, 3], strides: [2, 2] },
  },
  {
    op: 'AveragePool',
    inputs: [[2, 2, 5, 6]],
    attributes: { kernel_shape: [3, 3], strides: [2, 1], auto_pad: 'SAME_UPPER' },
  },
  {
    op: 'AveragePool',
    inputs: [[2, 2, 5, 6]],
    attributes: { kernel_shape: [3, 3], pads: [1, 0, 1, 1], count_include_pad: 1 },
  },
  { op: 'GlobalAveragePool', inputs: [[2, 3, 4, 5]] },
  { op: 'BatchNormalization', inputs: [[4, 3], [3], [3], [3], [3]] },
  {
    op: 'BatchNormalization',
    inputs: [[3, 2, 4, 2], [2], [2], [2], [2]],
    attributes: { epsilon: { float: 1e-3 } },
  },
  {
    op: 'LayerNormalization',
    inputs: [[3, 6], [6], [6]],
    attributes: { epsilon: { float: 1e-3 } },
  },
  {
    op: 'LayerNormalization',
    inputs: [
      [2, 3, 4],
      [3, 4],
    ],
    attributes: { axis: 1 },
  },
];

describe('gradients against central differences', () => {
  it('has a case for every operator', () => {
    expect([...new Set(CASES.map(({ op }) => op))].sort()).toStrictEqual([...TRAINABLE_OPS]);
  });

  it.each(
    CASES.map(
      (test, i) =>
        [
          `${test.op} ${JSON.stringify(test.inputs.map((x) => (x !== null && 'length' in x ? x : '')))} #${i}`,
          test,
        ] as const,
    ),
  )('%s', async (_name, test) => check(test));

  it.each<readonly [string, Case]>([
    ['classes', { op: 'Identity', inputs: [[4, 5]], loss: { kind: 'softmaxCrossEntropy' } }],
    [
      'classes of sequences',
      { op: 'Identity', inputs: [[2, 3, 5]], loss: { kind: 'softmaxCrossEntropy' } },
    ],
    // Targets that do not add up to 1 either.
    [
      'probabilities',
      {
        op: 'Identity',
        inputs: [[4, 5]],
        loss: { kind: 'softmaxCrossEntropy', targets: 'probabilities' },
      },
    ],
  ])('softmax cross-entropy of %s', async (_name, test) => check(test));

  it('convolutions of any window', async () => {
    const dimension = fc.record({
      size: fc.integer({ min: 4, max: 8 }),
      kernel: fc.integer({ min: 1, max: 3 }),
      stride: fc.integer({ min: 1, max: 3 }),
      dilation: fc.integer({ min: 1, max: 2 }),
      before: fc.integer({ min: 0, max: 2 }),
      after: fc.integer({ min: 0, max: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(dimension, { minLength: 1, maxLength: 2 }),
        fc.constantFrom(1, 2),
        fc.constantFrom('NOTSET', 'SAME_UPPER', 'SAME_LOWER', 'VALID'),
        fc.integer({ min: 1, max: 1000 }),
        async (dimensions, group, autoPad, seed) => {
          fc.pre(dimensions.every(({ size, kernel, dilation }) => (kernel - 1) * dilation < size));
          const all = (name: keyof (typeof dimensions)[number]): number[] =>
            dimensions.map((d) => d[name]);
          await check(
            {
              op: 'Conv',
              inputs: [
                [2, 2 * group, ...all('size')],
                [3 * group, 2, ...all('kernel')],
                [3 * group],
              ],
              attributes: {
                kernel_shape: all('kernel'),
                strides: all('stride'),
                dilations: all('dilation'),
                group,
                ...(autoPad === 'NOTSET'
                  ? { pads: [...all('before'), ...all('after')] }
                  : { auto_pad: autoPad }),
              },
            },
            seed,
          );
        },
      ),
      runs(25),
    );
  });

  it('pools of any window', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('MaxPool', 'AveragePool'),
        fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
        fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
        fc.constantFrom<Attributes>(
          { auto_pad: 'VALID' },
          { auto_pad: 'SAME_LOWER' },
          { pads: [0, 0, 0, 0] },
        ),
        fc.integer({ min: 1, max: 1000 }),
        async (op, kernel, strides, padding, seed) =>
          check(
            {
              op,
              inputs: [{ shape: [2, 2, 5, 7], draw: 'distinct' }],
              attributes: { kernel_shape: kernel, strides, ...padding },
            },
            seed,
          ),
      ),
      runs(12),
    );
  });
});
