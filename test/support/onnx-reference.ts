/**
 * The operators that can be trained through, forward only, in float64 and written straight from ONNX's definitions.
 * Gradients of the training graph are compared with central differences of this.
 */
import type { Attributes } from '../../src/adapters/onnx/file/onnx-writer.ts';
import type { ForwardNode } from '../../src/adapters/onnx/train/graph/op-rule.ts';

import { OPERATORS } from './onnx-reference-operators.ts';
import {
  axisOf,
  broadcast,
  build,
  get,
  ints,
  matMul,
  normalised,
  num,
  offset,
  positions,
  reduce,
  refTensor,
  sizeOf,
  transpose,
  type RefTensor,
} from './onnx-reference-tensors.ts';

export { refTensor, sizeOf, type RefTensor };

/** Abramowitz and Stegun 7.1.5: the power series, exact enough for |x| below 4. */
export function erf(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; n < 120; n += 1) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

const POINTWISE: Readonly<Record<string, (x: number, attributes: Attributes) => number>> = {
  Abs: (x) => Math.abs(x),
  Acos: Math.acos,
  Asin: Math.asin,
  Atan: Math.atan,
  Cast: (x) => x,
  CastLike: (x) => x,
  Ceil: Math.ceil,
  Celu: (x, a) =>
    Math.max(0, x) + Math.min(0, num(a, 'alpha', 1) * (Math.exp(x / num(a, 'alpha', 1)) - 1)),
  Cos: Math.cos,
  Cosh: Math.cosh,
  Dropout: (x) => x,
  Floor: Math.floor,
  IsInf: (x) => Number(Math.abs(x) === Infinity),
  IsNaN: (x) => Number(Number.isNaN(x)),
  Mish: (x) => x * Math.tanh(Math.log1p(Math.exp(x))),
  Not: (x) => Number(x === 0),
  Round: Math.round,
  Shrink: (x, a) => {
    const [bias, lambd] = [num(a, 'bias', 0), num(a, 'lambd', 0.5)];
    return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
  },
  Sign: Math.sign,
  Sin: Math.sin,
  Sinh: Math.sinh,
  Softsign: (x) => x / (1 + Math.abs(x)),
  Tan: Math.tan,
  ThresholdedRelu: (x, a) => (x > num(a, 'alpha', 1) ? x : 0),
  Elu: (x, a) => (x > 0 ? x : num(a, 'alpha', 1) * (Math.exp(x) - 1)),
  Erf: (x) => erf(x),
  Exp: (x) => Math.exp(x),
  Gelu: (x, a) =>
    a['approximate'] === 'tanh'
      ? 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
      : 0.5 * x * (1 + erf(x / Math.SQRT2)),
  HardSigmoid: (x, a) => Math.max(0, Math.min(1, num(a, 'alpha', 0.2) * x + num(a, 'beta', 0.5))),
  HardSwish: (x) => x * Math.max(0, Math.min(1, x / 6 + 0.5)),
  Identity: (x) => x,
  LeakyRelu: (x, a) => (x > 0 ? x : num(a, 'alpha', 0.01) * x),
  Log: (x) => Math.log(x),
  Neg: (x) => -x,
  Reciprocal: (x) => 1 / x,
  Relu: (x) => Math.max(0, x),
  Selu: (x, a) =>
    num(a, 'gamma', 1.0507009873554805) *
    (x > 0 ? x : num(a, 'alpha', 1.6732632423543772) * (Math.exp(x) - 1)),
  Sigmoid: sigmoid,
  Silu: (x) => x * sigmoid(x),
  Softplus: (x) => Math.log1p(Math.exp(x)),
  Sqrt: (x) => Math.sqrt(x),
  Tanh: (x) => Math.tanh(x),
};

/** Windows of a convolution or a pool: for each output position the inputs, or -1 in the padding. */
function windows(
  input: readonly number[],
  kernel: readonly number[],
  a: Attributes,
): {
  output: number[];
  counted: (o: readonly number[]) => number;
  at: (o: readonly number[], k: readonly number[]) => number[] | undefined;
} {
  const ones = kernel.map(() => 1);
  const [strides, dilations] = [ints(a, 'strides') ?? ones, ints(a, 'dilations') ?? ones];
  let pads = [...(ints(a, 'pads') ?? kernel.flatMap(() => [0, 0]))];
  const autoPad = a['auto_pad'];
  if (autoPad === 'SAME_UPPER' || autoPad === 'SAME_LOWER') {
    const total = input.map((n, i) =>
      Math.max(
        0,
        (Math.ceil(n / strides[i]!) - 1) * strides[i]! + (kernel[i]! - 1) * dilations[i]! + 1 - n,
      ),
    );
    const small = total.map((n) => Math.floor(n / 2));
    const large = total.map((n, i) => n - small[i]!);
    pads = autoPad === 'SAME_UPPER' ? [...small, ...large] : [...large, ...small];
  }
  const output = input.map((n, i) => {
    const reach = (kernel[i]! - 1) * dilations[i]! + 1;
    const room = n + pads[i]! + pads[i + kernel.length]! - reach;
    if (num(a, 'ceil_mode', 0) === 0) return Math.floor(room / strides[i]!) + 1;
    const count = Math.ceil(room / strides[i]!) + 1;
    return (count - 1) * strides[i]! >= n + pads[i]! ? count - 1 : count;
  });
  /** How many positions of a window lie in the input or in padding that the file names. */
  const counted = (o: readonly number[]): number =>
    o.reduce((size, position, i) => {
      const from = position * strides[i]! - pads[i]!;
      return size * (Math.min(from + kernel[i]!, input[i]! + pads[i + kernel.length]!) - from);
    }, 1);
  return {
    output,
    counted,
    at: (o, k) => {
      const found = o.map(
        (position, i) => position * strides[i]! - pads[i]! + k[i]! * dilations[i]!,
      );
      return found.every((position, i) => position >= 0 && position < input[i]!)
        ? found
        : undefined;
    },
  };
}

function conv(x: RefTensor, w: RefTensor, b: RefTensor | undefined, a: Attributes): RefTensor {
  const kernel = w.shape.slice(2);
  const image = x.shape.slice(2);
  const { output, at } = windows(image, kernel, a);
  const perGroup = w.shape[0]! / num(a, 'group', 1);
  // For each position of the output, where its window lies in the image and in the kernel.
  const taken = [...positions(output)].map((o) =>
    [...positions(kernel)].flatMap((k, i) => {
      const from = at(o, k);
      return from === undefined ? [] : [[offset(image, from), i] as const];
    }),
  );
  const [pixels, weights, into] = [sizeOf(image), sizeOf(kernel), w.shape[1]!];
  const data = new Float64Array(x.shape[0]! * w.shape[0]! * taken.length);
  let next = 0;
  for (let n = 0; n < x.shape[0]!; n += 1)
    for (let m = 0; m < w.shape[0]!; m += 1)
      for (const window of taken) {
        let sum = b?.data[m] ?? 0;
        for (let c = 0; c < into; c += 1) {
          const channel = Math.floor(m / perGroup) * into + c;
          const [fromX, fromW] = [(n * x.shape[1]! + channel) * pixels, (m * into + c) * weights];
          for (const [p, k] of window) sum += w.data[fromW + k]! * x.data[fromX + p]!;
        }
        data[next] = sum;
        next += 1;
      }
  return { shape: [x.shape[0]!, w.shape[0]!, ...output], data };
}

function pool(x: RefTensor, a: Attributes, kind: 'max' | 'mean'): RefTensor {
  const kernel = ints(a, 'kernel_shape')!;
  const { output, at, counted } = windows(x.shape.slice(2), kernel, a);
  const all = num(a, 'count_include_pad', 0) === 1;
  return build([x.shape[0]!, x.shape[1]!, ...output], ([n = 0, c = 0, ...o]) => {
    const seen: number[] = [];
    for (const k of positions(kernel)) {
      const from = at(o, k);
      if (from !== undefined) seen.push(get(x, [n, c, ...from]));
    }
    if (kind === 'max') return Math.max(...seen);
    return seen.reduce((sum, value) => sum + value, 0) / (all ? counted(o) : seen.length);
  });
}

function softmax(x: RefTensor, log: boolean, a: Attributes = {}): RefTensor {
  const rank = x.shape.length;
  const axis = axisOf(num(a, 'axis', -1), rank);
  if (num(a, 'flattens', 0) === 1) {
    const rows = { ...x, shape: [sizeOf(x.shape.slice(0, axis)), sizeOf(x.shape.slice(axis))] };
    return { ...softmax(rows, log), shape: x.shape };
  }
  if (axis !== rank - 1) {
    const order = x.shape.map((_, i) => (i === axis ? rank - 1 : i === rank - 1 ? axis : i));
    return transpose(softmax(transpose(x, order), log), order);
  }
  const width = x.shape[axis]!;
  return build(x.shape, (at) => {
    const start = offset(x.shape, at) - at[axis]!;
    const row = x.data.slice(start, start + width);
    const top = Math.max(...row);
    const total = row.reduce((sum, v) => sum + Math.exp(v - top), 0);
    const value = get(x, at) - top - Math.log(total);
    return log ? value : Math.exp(value);
  });
}

/** Matrices; a vector is one row or one column, which the result does not have. */
function matrixProduct(a: RefTensor, b: RefTensor): RefTensor {
  const wideA = a.shape.length === 1 ? { ...a, shape: [1, ...a.shape] } : a;
  const wideB = b.shape.length === 1 ? { ...b, shape: [...b.shape, 1] } : b;
  const made = matMul(wideA, wideB);
  const rows = a.shape.length === 1 ? [] : made.shape.slice(-2, -1);
  const columns = b.shape.length === 1 ? [] : made.shape.slice(-1);
  return { ...made, shape: [...made.shape.slice(0, -2), ...rows, ...columns] };
}

function reshape(x: RefTensor, asked: readonly number[]): RefTensor {
  const shape = asked.map((n, i) => (n === 0 ? x.shape[i]! : n));
  const known = shape.reduce((product, n) => (n === -1 ? product : product * n), 1);
  return { ...x, shape: shape.map((n) => (n === -1 ? x.data.length / known : n)) };
}

/** One operation; batch normalisation normalises by its batch, as in training. */
export function evaluateNode(
  node: ForwardNode,
  inputs: readonly (RefTensor | undefined)[],
): RefTensor | readonly RefTensor[] {
  const { op, attributes: a } = node;
  const given = (i: number): RefTensor => {
    const tensor = inputs[i];
    if (tensor === undefined) throw new Error(`${op} lacks input ${i}`);
    return tensor;
  };
  const x = given(0);
  const rank = x.shape.length;
  const pointwise = POINTWISE[op];
  const operator = OPERATORS[op];
  if (operator !== undefined)
    return operator(given, a, { op, inputs, count: node.outputs?.length ?? 1 });
  if (pointwise !== undefined) return { ...x, data: x.data.map((v) => pointwise(v, a)) };
  switch (op) {
    case 'Add':
      return broadcast(x, given(1), (p, q) => p + q);
    case 'Sub':
      return broadcast(x, given(1), (p, q) => p - q);
    case 'Mul':
      return broadcast(x, given(1), (p, q) => p * q);
    case 'Div':
      return broadcast(x, given(1), (p, q) => p / q);
    case 'Pow':
      return broadcast(x, given(1), (p, q) => p ** q);
    case 'Clip':
      return {
        ...x,
        data: x.data.map((v) =>
          Math.min(
            Math.max(v, inputs[1]?.data[0] ?? num(a, 'min', -Infinity)),
            inputs[2]?.data[0] ?? num(a, 'max', Infinity),
          ),
        ),
      };
    case 'Gemm': {
      const left = num(a, 'transA', 0) === 1 ? transpose(x, [1, 0]) : x;
      const right = num(a, 'transB', 0) === 1 ? transpose(given(1), [1, 0]) : given(1);
      const product = matMul(left, right);
      const scaled = { ...product, data: product.data.map((v) => v * num(a, 'alpha', 1)) };
      const c = inputs[2];
      return c === undefined ? scaled : broadcast(scaled, c, (p, q) => p + num(a, 'beta', 1) * q);
    }
    case 'MatMul':
      return matrixProduct(x, given(1));
    case 'Softmax':
    case 'LogSoftmax':
      return softmax(x, op === 'LogSoftmax', a);
    case 'ReduceSum':
    case 'ReduceMean': {
      if (num(a, 'noop_with_empty_axes', 0) === 1 && inputs[1] === undefined) return x;
      const axes =
        ints(a, 'axes') ??
        (inputs[1] === undefined ? x.shape.map((_, i) => i) : [...given(1).data]);
      return reduce(
        x,
        axes.map((axis) => axisOf(axis, rank)),
        num(a, 'keepdims', 1) === 1,
        op === 'ReduceMean',
      );
    }
    case 'Flatten': {
      const axis = axisOf(num(a, 'axis', 1), rank);
      return { ...x, shape: [sizeOf(x.shape.slice(0, axis)), sizeOf(x.shape.slice(axis))] };
    }
    case 'Reshape':
      return reshape(x, [...given(1).data]);
    case 'Squeeze': {
      const axes = new Set(
        (ints(a, 'axes') ?? [...given(1).data]).map((axis) => axisOf(axis, rank)),
      );
      return { ...x, shape: x.shape.filter((_, axis) => !axes.has(axis)) };
    }
    case 'Unsqueeze': {
      const asked = ints(a, 'axes') ?? [...given(1).data];
      const axes = new Set(asked.map((axis) => axisOf(axis, rank + asked.length)));
      const rest = [...x.shape];
      return {
        ...x,
        shape: Array.from({ length: rank + asked.length }, (_, axis) =>
          axes.has(axis) ? 1 : rest.shift()!,
        ),
      };
    }
    case 'Transpose':
      return transpose(x, ints(a, 'perm') ?? x.shape.map((_, axis) => rank - 1 - axis));
    case 'Conv':
      return conv(x, given(1), inputs[2], a);
    case 'MaxPool':
      return pool(x, a, 'max');
    case 'AveragePool':
      return pool(x, a, 'mean');
    case 'GlobalAveragePool':
      return reduce(
        x,
        x.shape.flatMap((_, axis) => (axis < 2 ? [] : [axis])),
        true,
        true,
      );
    case 'BatchNormalization': {
      const axes = x.shape.flatMap((_, axis) => (axis === 1 ? [] : [axis]));
      const perChannel = (t: RefTensor): RefTensor => ({
        ...t,
        shape: x.shape.slice(1).map((_, i) => (i === 0 ? t.data.length : 1)),
      });
      const scaled = broadcast(
        normalised(x, axes, num(a, 'epsilon', 1e-5)),
        perChannel(given(1)),
        (p, q) => p * q,
      );
      return broadcast(scaled, perChannel(given(2)), (p, q) => p + q);
    }
    case 'LayerNormalization': {
      const first = axisOf(num(a, 'axis', -1), rank);
      const axes = x.shape.flatMap((_, axis) => (axis < first ? [] : [axis]));
      const scaled = broadcast(
        normalised(x, axes, num(a, 'epsilon', 1e-5)),
        given(1),
        (p, q) => p * q,
      );
      return inputs[2] === undefined ? scaled : broadcast(scaled, inputs[2], (p, q) => p + q);
    }
    default:
      throw new Error(`${op} is not known to the reference.`);
  }
}

/** All values of a network, from those it is given. */
export function evaluate(
  nodes: readonly ForwardNode[],
  given: ReadonlyMap<string, RefTensor>,
): Map<string, RefTensor> {
  const values = new Map(given);
  for (const node of nodes) {
    const made = evaluateNode(
      node,
      node.inputs.map((name) => values.get(name)),
    );
    const all = 'shape' in made ? [made] : made;
    for (const [index, name] of (node.outputs ?? [node.output]).entries())
      if (name !== '') values.set(name, all[index]!);
  }
  return values;
}

/** Mean over the rows of the cross-entropy between targets, `[rows]` class numbers or `[rows, classes]`, and logits. */
export function crossEntropy(logits: RefTensor, targets: RefTensor): number {
  const logs = softmax(logits, true);
  const classes = logits.shape.at(-1)!;
  const rows = logs.data.length / classes;
  let sum = 0;
  for (let row = 0; row < rows; row += 1)
    for (let c = 0; c < classes; c += 1) {
      const index = row * classes + c;
      const wanted =
        targets.data.length === logs.data.length
          ? targets.data[index]!
          : Number(targets.data[row] === c);
      sum -= wanted * logs.data[index]!;
    }
  return sum / rows;
}

export function meanSquaredError(output: RefTensor, targets: RefTensor): number {
  return (
    output.data.reduce((sum, y, i) => sum + (y - targets.data[i]!) ** 2, 0) / output.data.length
  );
}

/** The derivative of `loss` with respect to each element of `data`, by central differences: error h^2 / 6 times the third derivative. */
export function centralDifferences(data: Float64Array, loss: () => number, h = 1e-5): Float64Array {
  return data.map((value, i) => {
    data[i] = value + h;
    const above = loss();
    data[i] = value - h;
    const below = loss();
    data[i] = value;
    return (above - below) / (2 * h);
  });
}
