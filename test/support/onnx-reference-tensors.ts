/** Tensors in float64, row-major, and what the references of operators share. */
import type { Attributes } from '../../src/adapters/onnx/file/onnx-writer.ts';

/** A tensor in float64, row-major. */
export type RefTensor = { readonly shape: readonly number[]; readonly data: Float64Array };

export const sizeOf = (shape: readonly number[]): number =>
  shape.reduce((product, n) => product * n, 1);

export const refTensor = (shape: readonly number[], data: ArrayLike<number>): RefTensor => ({
  shape,
  data: Float64Array.from(data),
});

/** Every position of a shape, in row-major order. */
export function* positions(shape: readonly number[]): Generator<number[]> {
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

export const offset = (shape: readonly number[], at: readonly number[]): number =>
  shape.reduce((sum, n, axis) => sum * n + at[axis]!, 0);

export const get = (t: RefTensor, at: readonly number[]): number => t.data[offset(t.shape, at)]!;

export function build(shape: readonly number[], value: (at: number[]) => number): RefTensor {
  return refTensor(shape, [...positions(shape)].map(value));
}

/** How far apart neighbours along each axis lie; 0 along axes that are repeated. */
function steps({ shape }: RefTensor, rank: number): number[] {
  const made = Array<number>(rank).fill(0);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    if (shape[axis] !== 1) made[rank - shape.length + axis] = step;
    step *= shape[axis]!;
  }
  return made;
}

/** Walks through a shape in row-major order, with the offsets in two tensors. */
function walk(
  shape: readonly number[],
  [stepsX, stepsY]: readonly [readonly number[], readonly number[]],
  visit: (i: number, x: number, y: number) => void,
): void {
  const at = shape.map(() => 0);
  let [x, y] = [0, 0];
  const size = sizeOf(shape);
  for (let i = 0; i < size; i += 1) {
    visit(i, x, y);
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      at[axis]! += 1;
      x += stepsX[axis]!;
      y += stepsY[axis]!;
      if (at[axis]! < shape[axis]!) break;
      x -= stepsX[axis]! * at[axis]!;
      y -= stepsY[axis]! * at[axis]!;
      at[axis] = 0;
    }
  }
}

export function broadcast(
  a: RefTensor,
  b: RefTensor,
  f: (x: number, y: number) => number,
): RefTensor {
  const rank = Math.max(a.shape.length, b.shape.length);
  const full = (t: RefTensor): number[] => [
    ...Array<number>(rank - t.shape.length).fill(1),
    ...t.shape,
  ];
  const [wideA, wideB] = [full(a), full(b)];
  const shape = wideA.map((n, i) => Math.max(n, wideB[i]!));
  const data = new Float64Array(sizeOf(shape));
  walk(shape, [steps(a, rank), steps(b, rank)], (i, x, y) => {
    data[i] = f(a.data[x]!, b.data[y]!);
  });
  return { shape, data };
}

export const num = (attributes: Attributes, name: string, fallback: number): number => {
  const value = attributes[name];
  if (typeof value === 'number') return value;
  return typeof value === 'object' && 'float' in value ? value.float : fallback;
};
export const ints = (attributes: Attributes, name: string): readonly number[] | undefined => {
  const value = attributes[name];
  return Array.isArray(value) ? value : undefined;
};

export function transpose(t: RefTensor, order: readonly number[]): RefTensor {
  const shape = order.map((axis) => t.shape[axis]!);
  const from = steps(t, t.shape.length);
  const turned = order.map((axis) => from[axis]!);
  const data = new Float64Array(t.data.length);
  walk(shape, [turned, turned], (i, x) => {
    data[i] = t.data[x]!;
  });
  return { shape, data };
}

export function matMul(a: RefTensor, b: RefTensor): RefTensor {
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
  const columns = b.shape.at(-1)!;
  return build([...stack, a.shape.at(-2)!, columns], (at) => {
    const [row, column] = at.slice(-2) as [number, number];
    const fromA = offset(a.shape, [...lead(a, at), row, 0]);
    const fromB = offset(b.shape, [...lead(b, at), 0, column]);
    let sum = 0;
    for (let k = 0; k < inner; k += 1) sum += a.data[fromA + k]! * b.data[fromB + k * columns]!;
    return sum;
  });
}

export function reduce(
  t: RefTensor,
  axes: readonly number[],
  keep: boolean,
  mean: boolean,
): RefTensor {
  const kept = t.shape.map((n, axis) => (axes.includes(axis) ? 1 : n));
  const data = new Float64Array(sizeOf(kept));
  const to = steps({ shape: kept, data }, kept.length);
  walk(t.shape, [to, to], (i, x) => {
    data[x]! += t.data[i]!;
  });
  const count = mean ? sizeOf(t.shape) / sizeOf(kept) : 1;
  return {
    shape: keep ? kept : t.shape.filter((_, axis) => !axes.includes(axis)),
    data: data.map((x) => x / count),
  };
}

export function normalised(x: RefTensor, axes: readonly number[], epsilon: number): RefTensor {
  const from = broadcast(x, reduce(x, axes, true, true), (p, q) => p - q);
  const variance = reduce({ ...from, data: from.data.map((v) => v * v) }, axes, true, true);
  return broadcast(from, variance, (p, q) => p / Math.sqrt(q + epsilon));
}

export const axisOf = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);
