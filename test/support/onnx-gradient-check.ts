/** The gradient of one operator in the training graph on onnxruntime-web, against central differences in float64. */
import * as ort from 'onnxruntime-web';
import { expect } from 'vitest';
import type { Network, NetworkConstant } from '../../src/adapters/onnx/train/network.ts';
import type { ForwardNode } from '../../src/adapters/onnx/train/graph/op-rule.ts';
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
} from './onnx-reference.ts';

/** Values away from the kinks of piecewise operators: 0, 3, 6 and such lie between two of them. */
export type Draw = 'any' | 'positive' | 'distinct' | 'negative' | 'small' | 'zeros';
type Input = readonly number[] | { readonly shape: readonly number[]; readonly draw: Draw };
/** One operator, or a few. */
export type Case = {
  readonly name?: string;
  readonly op: string;
  readonly inputs: readonly (
    | Input
    | { readonly constant: NetworkConstant }
    | { readonly indices: readonly number[]; readonly shape: readonly number[] }
    | null
  )[];
  readonly attributes?: Attributes;
  /** Inputs that only what follows reads, numbered on. */
  readonly more?: Case['inputs'];
  readonly loss?: OnnxLoss;
  /** How many outputs it has; the loss is computed from the sum of those that are numbers, unless `nodes` says otherwise. */
  readonly outputs?: number;
  /** What follows: reads `first`, the output of the operator, `first_1` and so on, and ends with `out`. */
  readonly after?: readonly ForwardNode[];
  /** Largest error of a gradient by the largest component; 1e-5 unless given. */
  readonly tolerance?: number;
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
    if (draw === 'small') return Math.fround(next() * 1.6 - 0.8);
    if (draw === 'zeros' && next() < 0.3) return 0;
    // Quarters moved by an eighth and less: never within 0.02 of a multiple of a quarter.
    const quarter = Math.floor(next() * 32 - 16) / 4;
    return Math.fround(quarter + 0.03 + next() * 0.19);
  });
}

export const int64s = (name: string, data: readonly number[]): { constant: NetworkConstant } => ({
  constant: { name, type: 'int64', shape: [data.length], data },
});
export const scalar = (name: string, value: number): { constant: NetworkConstant } => ({
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
  const all = [...test.inputs, ...(test.more ?? [])].map((input, i) => {
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
  const names = all.slice(0, test.inputs.length);
  const attributes = test.attributes ?? {};
  const output = test.after === undefined ? 'out' : 'first';
  const outputs = Array.from({ length: test.outputs ?? 1 }, (_, i) =>
    i === 0 ? output : `${output}_${i}`,
  );
  const node: ForwardNode = {
    op: test.op,
    inputs: names,
    output,
    ...(test.outputs === undefined ? {} : { outputs }),
    attributes,
  };
  return {
    given,
    network: {
      inputs,
      output: 'out',
      nodes: [node, ...(test.after ?? [])],
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
export async function check(test: Case, seed = 1): Promise<void> {
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
    expect(error / largest, `${test.op} ${name}`).toBeLessThan(test.tolerance ?? 1e-5);
    const after = outputs[updated ?? '']?.data as Float32Array;
    expect([...after]).toStrictEqual(
      Array.from(initial, (v, i) => Math.fround(v - Math.fround(Math.fround(0.1) * found[i]!))),
    );
  }
}
