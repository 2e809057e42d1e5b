/**
 * Sizes that a model computes from the shapes of its tensors, to flatten or fold a batch: exporters write those as a
 * dozen small operators. They are followed here, with names for the sizes that a run decides, and leave no trace in the
 * training graph.
 */
import type { TensorShape } from './graph-builder.ts';
import { MAX_RANK } from '../../file/onnx-format.ts';
import { NodeReader, type ForwardNode } from './op-rule.ts';

/** Whole numbers, and names of sizes. */
type Sizes = TensorShape;

/** What is known of the values that are no tensors of the network. */
export type KnownSizes = {
  /** Shape of a tensor; undefined for what is none. */
  readonly shapeOf: (name: string) => TensorShape | undefined;
  /** Sizes that were computed or are constants. */
  readonly sizesOf: (name: string) => Sizes | undefined;
};

/** Longer names of sizes are no longer products that exporters write; a small file could double one again and again. */
const MAX_SYMBOL_LENGTH = 1000;

/** The sizes an operation gives; undefined when it is none of those that compute sizes, or they are too many. */
export function sizesOfNode(node: ForwardNode, known: KnownSizes): Sizes | undefined {
  const sizes = computedSizes(node, known);
  return sizes === undefined || sizes.length > MAX_RANK ? undefined : sizes;
}

function computedSizes(node: ForwardNode, known: KnownSizes): Sizes | undefined {
  const reader = new NodeReader(node);
  const [first = '', second = ''] = node.inputs;
  if (node.op === 'Shape') {
    const shape = known.shapeOf(first);
    return shape?.slice(reader.number('start', 0), reader.number('end', shape.length));
  }
  const a = known.sizesOf(first);
  if (a === undefined) return undefined;
  const b = known.sizesOf(second);
  switch (node.op) {
    case 'Cast':
    case 'Identity':
    case 'Squeeze':
    case 'Unsqueeze':
      return a;
    case 'Gather': {
      const picked = b?.map((index) => a.at(Number(index)));
      return picked?.every((size) => size !== undefined) === true ? picked : undefined;
    }
    case 'Slice':
      return sliced(node, a, known);
    case 'Concat': {
      const parts = node.inputs.map((name) => known.sizesOf(name));
      return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
    }
    case 'Mul':
      return b === undefined ? undefined : elementwise(a, b, product);
    case 'Div':
      return b === undefined ? undefined : elementwise(a, b, quotient);
    default:
      return undefined;
  }
}

/** Of a list: from, to and step along its only axis. */
function sliced({ inputs }: ForwardNode, sizes: Sizes, known: KnownSizes): Sizes | undefined {
  const [start, end, step] = [1, 2, 4].map((at) => known.sizesOf(inputs[at] ?? '')?.[0]);
  if (typeof start !== 'number' || typeof end !== 'number' || (step ?? 1) !== 1) return undefined;
  return sizes.slice(start, end);
}

function elementwise(
  a: Sizes,
  b: Sizes,
  combine: (x: number | string, y: number | string) => number | string | undefined,
): Sizes | undefined {
  const all = Array.from({ length: Math.max(a.length, b.length) }, (_, i) =>
    combine(a[i] ?? a[0] ?? 1, b[i] ?? b[0] ?? 1),
  );
  return all.every((size) => size !== undefined) ? all : undefined;
}

function product(x: number | string, y: number | string): number | string | undefined {
  if (typeof x === 'number' && typeof y === 'number') return x * y;
  if (x === 1) return y;
  if (y === 1) return x;
  const name = `${x}*${y}`;
  return name.length > MAX_SYMBOL_LENGTH ? undefined : name;
}

function quotient(x: number | string, y: number | string): number | string | undefined {
  if (typeof x === 'number' && typeof y === 'number') return Math.trunc(x / y);
  return y === 1 ? x : undefined;
}
