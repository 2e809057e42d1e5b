/**
 * Sizes that a model computes from the shapes of its tensors, to flatten or fold a batch: exporters write those as a
 * dozen small operators. They are followed here, with names for the sizes that a run decides, and leave no trace in the
 * training graph.
 */
import type { TensorShape } from './graph-builder.ts';
import { MAX_RANK, type ElementType } from '../../file/onnx-format.ts';
import { NodeReader, type ForwardNode } from './op-rule.ts';

/** Whole numbers, and names of sizes; or, in between, other numbers. */
export type SizeValue = {
  readonly values: TensorShape;
  /** A single number, or a list. */
  readonly rank: 0 | 1;
  readonly type: ElementType;
};

/** What is known of the values that are no tensors of the network. */
export type KnownSizes = {
  /** Shape of a tensor; undefined for what is none. */
  readonly shapeOf: (name: string) => TensorShape | undefined;
  /** Sizes that were computed or are constants. */
  readonly sizesOf: (name: string) => SizeValue | undefined;
};

type Size = number | string;

/** Longer names of sizes are no longer products that exporters write; a small file could double one again and again. */
const MAX_SYMBOL_LENGTH = 1000;

const INT64 = { rank: 1, type: 'int64' } as const;

/** The sizes an operation gives; undefined when it is none of those that compute sizes, or they are too many. */
export function sizesOfNode(node: ForwardNode, known: KnownSizes): SizeValue | undefined {
  const sizes = computedSizes(node, known);
  return sizes === undefined || sizes.values.length > MAX_RANK ? undefined : sizes;
}

function computedSizes(node: ForwardNode, known: KnownSizes): SizeValue | undefined {
  const [first = ''] = node.inputs;
  if (node.op === 'Shape' || node.op === 'Size') return sizesOfTensor(node, known.shapeOf(first));
  const all = node.inputs.filter((name) => name !== '').map((name) => known.sizesOf(name));
  const [a, b] = all;
  if (a === undefined || all.some((value) => value === undefined)) return undefined;
  if (node.op === 'Slice') return sliced(node, a, known);
  if (node.op === 'Concat') {
    const values = all.flatMap((value) => value?.values ?? []);
    return { ...a, rank: 1, values };
  }
  const shaped = reshaped(node, a, b);
  if (shaped !== undefined) return shaped;
  if (Object.hasOwn(UNARY, node.op)) return each(a, (x) => UNARY[node.op]?.(x));
  if (node.op === 'Where') return chosen(all);
  if (b !== undefined && all.length === 2 && Object.hasOwn(BINARY, node.op))
    return elementwise(a, b, node.op);
  return undefined;
}

function sizesOfTensor(node: ForwardNode, shape: TensorShape | undefined): SizeValue | undefined {
  if (shape === undefined) return undefined;
  const reader = new NodeReader(node);
  if (node.op === 'Shape') {
    const values = shape.slice(reader.number('start', 0), reader.number('end', shape.length));
    return { ...INT64, values };
  }
  let size: Size | undefined = 1;
  for (const length of shape) size = size === undefined ? undefined : product(size, length);
  return size === undefined ? undefined : { rank: 0, type: 'int64', values: [size] };
}

/** What changes the type, the order or the shape of a list. */
function reshaped(
  node: ForwardNode,
  a: SizeValue,
  b: SizeValue | undefined,
): SizeValue | undefined {
  switch (node.op) {
    case 'Cast':
      return { ...a, type: new NodeReader(node).number('to', 7) === 7 ? 'int64' : 'float32' };
    case 'Identity':
      return a;
    case 'Squeeze':
      return a.values.length === 1 ? { ...a, rank: 0 } : undefined;
    case 'Unsqueeze':
      return a.values.length === 1 ? { ...a, rank: 1 } : undefined;
    case 'Reshape':
      return b?.values.length === 1 ? { ...a, rank: 1 } : undefined;
    case 'Gather': {
      const picked = b?.values.map((index) => a.values.at(Number(index)));
      const values = picked?.flatMap((size) => (size === undefined ? [] : [size]));
      return b === undefined || values?.length !== b.values.length
        ? undefined
        : { ...a, rank: b.rank, values };
    }
    case 'ConstantOfShape': {
      const [count, ...more] = a.values;
      if (typeof count !== 'number' || more.length > 0 || count > MAX_RANK) return undefined;
      const reader = new NodeReader(node);
      if (reader.text('value_type', 'float32') !== 'int64') return undefined;
      return { ...INT64, values: Array<number>(count).fill(reader.number('value', 0)) };
    }
    case 'ReduceProd': {
      const reader = new NodeReader(node);
      let size: Size | undefined = 1;
      for (const length of a.values) size = size === undefined ? undefined : product(size, length);
      return size === undefined
        ? undefined
        : { ...a, rank: reader.number('keepdims', 1) === 1 ? 1 : 0, values: [size] };
    }
    default:
      return undefined;
  }
}

/** Of a list: from, to and step along its only axis. */
function sliced(node: ForwardNode, sizes: SizeValue, known: KnownSizes): SizeValue | undefined {
  const reader = new NodeReader(node);
  const bound = (index: number, name: string): Size | undefined =>
    known.sizesOf(node.inputs[index] ?? '')?.values[0] ?? reader.integers(name)?.[0];
  const [start, end, step] = [bound(1, 'starts'), bound(2, 'ends'), bound(4, 'steps')];
  if (typeof start !== 'number' || typeof end !== 'number') return undefined;
  if (step === -1) {
    const { length } = sizes.values;
    if (start !== -1 || end > -length - 1) return undefined;
    return { ...sizes, values: [...sizes.values].reverse() };
  }
  return (step ?? 1) === 1 ? { ...sizes, values: sizes.values.slice(start, end) } : undefined;
}

function each(a: SizeValue, f: (x: number) => number | undefined): SizeValue | undefined {
  const values = a.values.flatMap((x) => {
    const made = typeof x === 'number' ? f(x) : undefined;
    return made === undefined ? [] : [made];
  });
  return values.length === a.values.length ? { ...a, values } : undefined;
}

/** The second where a condition is 1, the third where it is 0. */
function chosen(all: readonly (SizeValue | undefined)[]): SizeValue | undefined {
  const [condition, a, b] = all;
  if (condition === undefined || a === undefined || b === undefined) return undefined;
  const length = Math.max(condition.values.length, a.values.length, b.values.length);
  const at = ({ values }: SizeValue, i: number): Size => values[i] ?? values[0] ?? 0;
  const values = Array.from({ length }, (_, i) => (at(condition, i) === 0 ? at(b, i) : at(a, i)));
  const rank = condition.rank === 1 || a.rank === 1 || b.rank === 1 ? 1 : 0;
  return { values, rank, type: a.type };
}

const UNARY: Readonly<Record<string, (x: number) => number>> = {
  Abs: Math.abs,
  Ceil: Math.ceil,
  Floor: Math.floor,
  Neg: (x) => -x,
  Not: (x) => Number(x === 0),
  Round: Math.round,
  Sqrt: Math.sqrt,
};

/** With whole numbers, a quotient is cut off; the type says which it is. */
const BINARY: Readonly<Record<string, (x: Size, y: Size, isWhole: boolean) => Size | undefined>> = {
  Add: (x, y) => (typeof x === 'number' && typeof y === 'number' ? x + y : named(x, '+', y, 0)),
  Div: (x, y, isWhole) => {
    if (typeof x !== 'number' || typeof y !== 'number') return y === 1 ? x : undefined;
    return isWhole ? Math.trunc(x / y) : x / y;
  },
  Equal: (x, y) => compared(x, y, (p, q) => p === q),
  Greater: (x, y) => compared(x, y, (p, q) => p > q),
  Less: (x, y) => compared(x, y, (p, q) => p < q),
  Max: (x, y) => bothNumbers(x, y, Math.max),
  Min: (x, y) => bothNumbers(x, y, Math.min),
  Mod: (x, y) => bothNumbers(x, y, (p, q) => p % q),
  Mul: (x, y) => product(x, y),
  Pow: (x, y) => bothNumbers(x, y, (p, q) => p ** q),
  Sub: (x, y) => {
    if (x === y) return 0;
    return typeof x === 'number' && typeof y === 'number' ? x - y : y === 0 ? x : undefined;
  },
};

const bothNumbers = (x: Size, y: Size, f: (p: number, q: number) => number): number | undefined =>
  typeof x === 'number' && typeof y === 'number' ? f(x, y) : undefined;

/** A size that a run decides is at least 1: it is never equal to, nor less than, 0 or a negative number. */
function compared(x: Size, y: Size, f: (p: number, q: number) => boolean): number | undefined {
  if (typeof x === 'number' && typeof y === 'number') return Number(f(x, y));
  if (x === y) return Number(f(1, 1));
  if (typeof y === 'number' && y <= 0) return Number(f(1, y));
  return typeof x === 'number' && x <= 0 ? Number(f(x, 1)) : undefined;
}

function elementwise(a: SizeValue, b: SizeValue, op: string): SizeValue | undefined {
  const isWhole = a.type !== 'float32';
  const length = Math.max(a.values.length, b.values.length);
  const values = Array.from({ length }, (_, i) =>
    BINARY[op]?.(a.values[i] ?? a.values[0] ?? 1, b.values[i] ?? b.values[0] ?? 1, isWhole),
  ).flatMap((value) => (value === undefined ? [] : [value]));
  if (values.length !== length) return undefined;
  return { ...a, rank: a.rank === 1 || b.rank === 1 ? 1 : 0, values };
}

function product(x: Size, y: Size): Size | undefined {
  if (typeof x === 'number' && typeof y === 'number') return x * y;
  return named(x, '*', y, 1);
}

/** The name of what two sizes make; `neutral` changes nothing. */
function named(x: Size, sign: string, y: Size, neutral: number): Size | undefined {
  if (x === neutral) return y;
  if (y === neutral) return x;
  const name = `${x}${sign}${y}`;
  return name.length > MAX_SYMBOL_LENGTH ? undefined : name;
}
