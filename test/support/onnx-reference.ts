/**
 * The operators that can be trained through, forward only, in float64 and written straight from ONNX's definitions.
 * Gradients of the training graph are compared with central differences of this.
 */
import type { Attributes } from '../../src/adapters/onnx/file/onnx-writer.ts';
import type { ForwardNode } from '../../src/adapters/onnx/train/graph/op-rule.ts';

/** A tensor in float64, row-major. */
export type RefTensor = { readonly shape: readonly number[]; readonly data: Float64Array };

export const sizeOf = (shape: readonly number[]): number =>
  shape.reduce((product, n) => product * n, 1);

export const refTensor = (shape: readonly number[], data: ArrayLike<number>): RefTensor => ({
  shape,
  data: Float64Array.from(data),
});

/** Every position of a shape, in row-major order. */
function* positions(shape: readonly number[]): Generator<number[]> {
  const at = shape.map(() => 0);
  for (let left = sizeOf(shape); left > 0; left -= 1) {
    yield [...at];
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      at[axis]! += 1;
      if (at[axis]! < shape[axis]!) break;
      at[axis] = 0;
    }
  }
}

const offset = (shape: readonly number[], at: readonly number[]): number =>
  shape.reduce((sum, n, axis) => sum * n + at[axis]!, 0);

const get = (t: RefTensor, at: readonly number[]): number => t.data[offset(t.shape, at)]!;

function build(shape: readonly number[], value: (at: number[]) => number): RefTensor {
  return refTensor(shape, [...positions(shape)].map(value));
}

function broadcast(a: RefTensor, b: RefTensor, f: (x: number, y: number) => number): RefTensor {
  const rank = Math.max(a.shape.length, b.shape.length);
  const pad = (t: RefTensor): RefTensor => ({
    ...t,
    shape: [...Array<number>(rank - t.shape.length).fill(1), ...t.shape],
  });
  const [x, y] = [pad(a), pad(b)];
  const shape = x.shape.map((n, i) => Math.max(n, y.shape[i]!));
  const read = (t: RefTensor, at: number[]): number =>
    get(
      t,
      at.map((i, axis) => (t.shape[axis] === 1 ? 0 : i)),
    );
  return build(shape, (at) => f(read(x, at), read(y, at)));
}

const num = (attributes: Attributes, name: string, fallback: number): number => {
  const value = attributes[name];
  if (typeof value === 'number') return value;
  return typeof value === 'object' && 'float' in value ? value.float : fallback;
};
const ints = (attributes: Attributes, name: string): readonly number[] | undefined => {
  const value = attributes[name];
  return Array.isArray(value) ? value : undefined;
};

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
  Elu: (x, a) => (x > 0 ? x : num(a, 'alpha', 1) * (Math.exp(x) - 1)),
  Erf: (x) => erf(x),
  Exp: (x) => Math.exp(x),
  Gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
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

function transpose(t: RefTensor, order: readonly number[]): RefTensor {
  return build(
    order.map((axis) => t.shape[axis]!),
    (at) => {
      const from: number[] = [];
      order.forEach((axis, i) => (from[axis] = at[i]!));
      return get(t, from);
    },
  );
}

function matMul(a: RefTensor, b: RefTensor): RefTensor {
  const stack = broadcast(
    { shape: a.shape.slice(0, -2), data: new Float64Array(sizeOf(a.shape.slice(0, -2))) },
    { shape: b.shape.slice(0, -2), data: new Float64Array(sizeOf(b.shape.slice(0, -2))) },
    () => 0,
  ).shape;
  const inner = a.shape.at(-1)!;
  const lead = (t: RefTensor, at: readonly number[]): number[] => {
    const own = t.shape.slice(0, -2);
    return own.map((n, i) => (n === 1 ? 0 : at[stack.length - own.length + i]!));
  };
  return build([...stack, a.shape.at(-2)!, b.shape.at(-1)!], (at) => {
    const [row, column] = at.slice(-2) as [number, number];
    let sum = 0;
    for (let k = 0; k < inner; k += 1)
      sum += get(a, [...lead(a, at), row, k]) * get(b, [...lead(b, at), k, column]);
    return sum;
  });
}

function reduce(t: RefTensor, axes: readonly number[], keep: boolean, mean: boolean): RefTensor {
  const kept = t.shape.map((n, axis) => (axes.includes(axis) ? 1 : n));
  const data = new Float64Array(sizeOf(kept));
  for (const at of positions(t.shape))
    data[
      offset(
        kept,
        at.map((i, axis) => (axes.includes(axis) ? 0 : i)),
      )
    ]! += get(t, at);
  const count = mean ? sizeOf(t.shape) / sizeOf(kept) : 1;
  return {
    shape: keep ? kept : t.shape.filter((_, axis) => !axes.includes(axis)),
    data: data.map((x) => x / count),
  };
}

/** Windows of a convolution or a pool: for each output position the inputs, or -1 in the padding. */
function windows(
  input: readonly number[],
  kernel: readonly number[],
  a: Attributes,
): { output: number[]; at: (o: readonly number[], k: readonly number[]) => number[] | undefined } {
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
    return Math.floor((n + pads[i]! + pads[i + kernel.length]! - reach) / strides[i]!) + 1;
  });
  return {
    output,
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
  const { output, at } = windows(x.shape.slice(2), kernel, a);
  const perGroup = w.shape[0]! / num(a, 'group', 1);
  return build([x.shape[0]!, w.shape[0]!, ...output], ([n = 0, m = 0, ...o]) => {
    let sum = b?.data[m] ?? 0;
    for (let c = 0; c < w.shape[1]!; c += 1)
      for (const k of positions(kernel)) {
        const from = at(o, k);
        if (from === undefined) continue;
        const channel = Math.floor(m / perGroup) * w.shape[1]! + c;
        sum += get(w, [m, c, ...k]) * get(x, [n, channel, ...from]);
      }
    return sum;
  });
}

function pool(x: RefTensor, a: Attributes, kind: 'max' | 'mean'): RefTensor {
  const kernel = ints(a, 'kernel_shape')!;
  const { output, at } = windows(x.shape.slice(2), kernel, a);
  const all = num(a, 'count_include_pad', 0) === 1;
  return build([x.shape[0]!, x.shape[1]!, ...output], ([n = 0, c = 0, ...o]) => {
    const seen: number[] = [];
    for (const k of positions(kernel)) {
      const from = at(o, k);
      if (from !== undefined) seen.push(get(x, [n, c, ...from]));
    }
    if (kind === 'max') return Math.max(...seen);
    return seen.reduce((sum, value) => sum + value, 0) / (all ? sizeOf(kernel) : seen.length);
  });
}

function normalised(x: RefTensor, axes: readonly number[], epsilon: number): RefTensor {
  const from = broadcast(x, reduce(x, axes, true, true), (p, q) => p - q);
  const variance = reduce({ ...from, data: from.data.map((v) => v * v) }, axes, true, true);
  return broadcast(from, variance, (p, q) => p / Math.sqrt(q + epsilon));
}

const axisOf = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);

function softmax(x: RefTensor, log: boolean): RefTensor {
  const axis = x.shape.length - 1;
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

function reshape(x: RefTensor, asked: readonly number[]): RefTensor {
  const shape = asked.map((n, i) => (n === 0 ? x.shape[i]! : n));
  const known = shape.reduce((product, n) => (n === -1 ? product : product * n), 1);
  return { ...x, shape: shape.map((n) => (n === -1 ? x.data.length / known : n)) };
}

/** One operation; batch normalisation normalises by its batch, as in training. */
export function evaluateNode(
  node: ForwardNode,
  inputs: readonly (RefTensor | undefined)[],
): RefTensor {
  const { op, attributes: a } = node;
  const given = (i: number): RefTensor => {
    const tensor = inputs[i];
    if (tensor === undefined) throw new Error(`${op} lacks input ${i}`);
    return tensor;
  };
  const x = given(0);
  const rank = x.shape.length;
  const pointwise = POINTWISE[op];
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
      return matMul(x, given(1));
    case 'Softmax':
    case 'LogSoftmax':
      return softmax(x, op === 'LogSoftmax');
    case 'ReduceSum':
    case 'ReduceMean': {
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
    case 'Gather': {
      const where = given(1);
      const row = sizeOf(x.shape.slice(1));
      return refTensor(
        [...where.shape, ...x.shape.slice(1)],
        [...where.data].flatMap((i) => Array.from(x.data.subarray(i * row, (i + 1) * row))),
      );
    }
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
  for (const node of nodes)
    values.set(
      node.output,
      evaluateNode(
        node,
        node.inputs.map((name) => values.get(name)),
      ),
    );
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
