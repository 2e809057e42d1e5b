/** Gradients of a whole file, as its training step gives them, against central differences of the same operators in float64. */
import * as ort from 'onnxruntime-web';
import type { Network } from '../../src/adapters/onnx/train/network.ts';
import { networkOfOnnx } from '../../src/adapters/onnx/train/network-import.ts';
import { trainingOf } from '../../src/adapters/onnx/train/training-step.ts';
import type { OnnxTraining } from '../../src/onnx.ts';
import {
  crossEntropy,
  evaluate,
  meanSquaredError,
  refTensor,
  type RefTensor,
} from '../support/onnx-reference.ts';
import type { ModelCase } from './model-case.ts';
import { configOf, feedNumbers, targetFeed, tensorOf } from './case-feeds.ts';

const PARAMETERS = 5;
const ELEMENTS = 20;
/** Of all other parameters. */
const FEW_ELEMENTS = 2;
/** Small, so that few steps cross a kink of a piecewise operator; float64 leaves an error of some 1e-9. */
const H = 1e-7;

/** Largest error found, by the largest component; where, and how many parameters were looked at. */
export type GradientError = {
  readonly error: number;
  readonly where: string;
  readonly count: number;
};

/** The values that a network is given. */
function givenOf(network: Network, test: ModelCase): Map<string, RefTensor> {
  const given = new Map<string, RefTensor>();
  for (const { name, shape, initial } of [...network.parameters, ...network.state])
    given.set(name, refTensor(shape, initial));
  for (const { name, shape, data } of network.constants) given.set(name, refTensor(shape, data));
  for (const [name, feed] of Object.entries(test.feeds)) {
    const numbers = feedNumbers(name, feed);
    const isFloat = feed.type === 'float32';
    given.set(name, refTensor(feed.shape, isFloat ? Float32Array.from(numbers) : numbers));
  }
  return given;
}

/** The loss as a function of parameters, of which each change computes only what follows from it. */
class Reference {
  readonly #nodes: Network['nodes'];
  readonly #values: Map<string, RefTensor>;
  readonly #lossOf: (values: ReadonlyMap<string, RefTensor>) => number;
  readonly loss: number;

  constructor(network: Network, test: ModelCase) {
    this.#nodes = network.nodes;
    this.#values = evaluate(network.nodes, givenOf(network, test));
    const feed = targetFeed(test);
    const numbers = feedNumbers('targets', feed);
    const targets = refTensor(
      feed.shape,
      test.loss === 'classes' ? numbers : Float32Array.from(numbers),
    );
    const output = test.logits ?? network.output;
    this.#lossOf = (values) => {
      const found = values.get(output);
      if (found === undefined) throw new Error(`Nothing computes "${output}".`);
      return test.loss === 'classes'
        ? crossEntropy(found, targets)
        : meanSquaredError(found, targets);
    };
    this.loss = this.#lossOf(this.#values);
  }

  derivatives(parameter: string, elements: readonly number[]): number[] {
    const reached = new Set([parameter]);
    const nodes = this.#nodes.filter((node) => {
      if (!node.inputs.some((name) => reached.has(name))) return false;
      for (const name of node.outputs ?? [node.output]) reached.add(name);
      return true;
    });
    const data = this.#values.get(parameter)?.data ?? new Float64Array();
    const lossAt = (element: number, value: number): number => {
      data[element] = value;
      return this.#lossOf(evaluate(nodes, this.#values));
    };
    return elements.map((element) => {
      const value = data[element] ?? 0;
      const rise = lossAt(element, value + H) - lossAt(element, value - H);
      data[element] = value;
      return rise / (2 * H);
    });
  }
}

/** Sizes that a run decides, from what it is fed; noise is 1 everywhere, as the reference has none. */
function noiseTensors(training: OnnxTraining, test: ModelCase): Record<string, ort.Tensor> {
  const sizes = new Map<string, number>();
  for (const { name, shape } of training.inputs)
    for (const [axis, size] of shape.entries())
      if (typeof size === 'string') sizes.set(size, test.feeds[name]?.shape[axis] ?? 1);
  const sizeOf = (size: number | string): number =>
    `${size}`.split('*').reduce((all, factor) => all * (sizes.get(factor) ?? Number(factor)), 1);
  return Object.fromEntries(
    training.noise.map(({ name, shape }) => {
      const dims = shape.map(sizeOf);
      const ones = new Float32Array(dims.reduce((all, n) => all * n, 1)).fill(1);
      return [name, new ort.Tensor('float32', ones, dims)];
    }),
  );
}

async function trainedGradients(training: OnnxTraining, test: ModelCase) {
  const session = await ort.InferenceSession.create(training.bytes, { logSeverityLevel: 3 });
  const feeds: Record<string, ort.Tensor> = {
    ...noiseTensors(training, test),
    'quark/learning_rate': new ort.Tensor('float32', [0.1], []),
  };
  for (const { name, shape, initial } of [...training.parameters, ...training.state])
    feeds[name] = new ort.Tensor('float32', initial.slice(), [...shape]);
  for (const { name, type } of training.inputs) {
    const feed = test.feeds[name];
    if (feed === undefined) throw new Error(`The case feeds no "${name}".`);
    feeds[name] = tensorOf(name, feed, type);
  }
  const { name, type } = training.target;
  feeds[name] = tensorOf('targets', targetFeed(test), type);
  const outputs = await session.run(feeds);
  await session.release();
  return outputs;
}

/** Some of a list: the first, the last, and those between them at equal distances. */
function spread<T>(all: readonly T[], count: number): T[] {
  if (all.length <= count) return [...all];
  if (count === 1) return all.slice(Math.floor(all.length / 2)).slice(0, 1);
  return Array.from({ length: count }, (_, i) =>
    all.slice(Math.round((i * (all.length - 1)) / (count - 1))).slice(0, 1),
  ).flat();
}

const largestOf = (data: ArrayLike<number>): number => {
  let most = 0;
  for (let i = 0; i < data.length; i += 1) most = Math.max(most, Math.abs(data[i] ?? 0));
  return most;
};

/** Elements to look at: the one with the largest derivative is among them. */
function sampled(gradient: Float32Array, count: number): number[] {
  const largest = gradient.reduce(
    (best, value, i) => (Math.abs(value) > Math.abs(gradient[best] ?? 0) ? i : best),
    0,
  );
  const others = Array.from(gradient.keys()).filter((i) => i !== largest);
  return [largest, ...spread(others, count - 1)];
}

/** The largest error of the gradients of all parameters: on 20 elements of five of them, on two of the others. */
export async function gradientError(bytes: Uint8Array, test: ModelCase): Promise<GradientError> {
  const { loss, output, isTrainable } = configOf(test);
  const network = networkOfOnnx(bytes, {
    ...(output === undefined ? {} : { output }),
    ...(isTrainable === undefined ? {} : { isTrainable }),
  });
  const training = trainingOf(network, { loss, optimizer: { kind: 'sgd', learningRate: 0.1 } });
  const outputs = await trainedGradients(training, test);
  const reference = new Reference(network, test);
  const found = Number(outputs[training.loss]?.data[0]);
  const apart = Math.abs(found - reference.loss) / Math.max(1e-3, Math.abs(reference.loss));
  if (!(apart < 1e-4))
    return { error: apart, where: `nothing: the loss ${found} is not ${reference.loss}`, count: 0 };
  const trained = training.parameters.flatMap(({ name, gradient }) => {
    const data = gradient === null ? undefined : outputs[gradient]?.data;
    return data instanceof Float32Array ? [{ name, data }] : [];
  });
  // Of parameters that cancel out, as a bias before a normalisation, nothing but rounding is left.
  const floor = Math.max(...trained.map(({ data }) => largestOf(data))) / 1000;
  let worst: GradientError = { error: 0, where: '', count: 0 };
  const looked = new Set(spread(trained, PARAMETERS));
  for (const parameter of trained) {
    const { name, data } = parameter;
    const elements = sampled(data, looked.has(parameter) ? ELEMENTS : FEW_ELEMENTS);
    const wanted = reference.derivatives(name, elements);
    const largest = Math.max(largestOf(data), floor);
    for (const [i, element] of elements.entries()) {
      const error = Math.abs((wanted[i] ?? Number.NaN) - (data[element] ?? 0)) / largest;
      if (!(error <= worst.error)) worst = { error, where: `${name}[${element}]`, count: 0 };
    }
  }
  return { ...worst, count: trained.length };
}
