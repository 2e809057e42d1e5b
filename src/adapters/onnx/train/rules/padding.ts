/** Padding: with a number, or with what lies at the edges. */
import { axisFromEnd, type GraphBuilder } from '../graph/graph-builder.ts';
import { NodeReader, type OpRule, type OpRuleContext } from '../graph/op-rule.ts';
import { TO_END, padded, part, reversed } from '../graph/parts.ts';
import type { OpRules } from '../graph/tape.ts';

/** How a gradient comes back to the edge from the padding of one side, `count` wide; `dy` is that padding alone. */
type EdgeGradient = (
  g: GraphBuilder,
  dy: string,
  at: {
    readonly axis: number;
    readonly size: number;
    readonly count: number;
    readonly isBegin: boolean;
  },
) => string;

const PAD_MODES: Readonly<Record<string, EdgeGradient>> = {
  edge: (g, dy, { axis, size, isBegin }) => {
    const shape = g.shape(dy).map((n, at) => (at === axis ? size : n));
    const summed = g.reduce('ReduceSum', dy, [axis], true);
    return padded(g, summed, axis, [isBegin ? 0 : size - 1, isBegin ? size - 1 : 0], shape);
  },
  reflect: (g, dy, { axis, size, count, isBegin }) => {
    const shape = g.shape(dy).map((n, at) => (at === axis ? size : n));
    const turned = reversed(g, dy, axis);
    return isBegin
      ? padded(g, turned, axis, [1, size - 1 - count], shape)
      : padded(g, turned, axis, [size - 1 - count, 1], shape);
  },
  wrap: (g, dy, { axis, size, count, isBegin }) => {
    const shape = g.shape(dy).map((n, at) => (at === axis ? size : n));
    return isBegin
      ? padded(g, dy, axis, [size - count, 0], shape)
      : padded(g, dy, axis, [0, size - count], shape);
  },
};

const pad: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const mode = reader.text('mode', 'constant');
  if (mode !== 'constant' && !Object.hasOwn(PAD_MODES, mode))
    throw reader.unsupported(`its mode is "${mode}"`);
  const rank = g.shape(x).length;
  const pads = padsFor(context, reader, rank);
  const fill = reader.optionalInput(2);
  const value = fill === undefined ? reader.number('value', 0) : (context.constant(fill)[0] ?? 0);
  const axes = Array.from({ length: rank }, (_, axis) => axis).filter(
    (axis) => (pads[axis] ?? 0) !== 0 || (pads[axis + rank] ?? 0) !== 0,
  );
  let current = x;
  const back: ((dy: string) => string)[] = [];
  for (const axis of axes) {
    const from = current;
    const sides = { axis, begin: pads[axis] ?? 0, end: pads[axis + rank] ?? 0 };
    current = padAlong(g, reader, from, { ...sides, mode, value });
    back.unshift((dy) => unpadAlong(g, dy, from, { ...sides, mode }));
  }
  g.unary('Identity', current, {}, node.output);
  return (dy) => [back.reduce((gradient, step) => step(gradient), dy)];
};

/** Of all axes, though the operator may name some: how much is put before each, then behind each. */
function padsFor(context: OpRuleContext, reader: NodeReader, rank: number): readonly number[] {
  const input = reader.optionalInput(1);
  const given =
    (input === undefined
      ? (reader.integers('pads') ?? reader.integers('paddings'))
      : context.constant(input)) ?? [];
  const axesInput = reader.optionalInput(3);
  const axes = (
    axesInput === undefined
      ? Array.from({ length: rank }, (_, axis) => axis)
      : context.constant(axesInput)
  ).map((axis) => axisFromEnd(axis, rank));
  if (given.length !== 2 * axes.length)
    throw reader.invalid('pads', given, `${2 * axes.length} sizes`);
  const pads = Array<number>(2 * rank).fill(0);
  for (const [i, axis] of axes.entries()) {
    pads[axis] = given[i] ?? 0;
    pads[axis + rank] = given[i + axes.length] ?? 0;
  }
  return pads;
}

type PadSides = {
  readonly axis: number;
  readonly begin: number;
  readonly end: number;
  readonly mode: string;
};

function padAlong(
  g: GraphBuilder,
  reader: NodeReader,
  x: string,
  { axis, begin, end, mode, value }: PadSides & { readonly value: number },
): string {
  const shape = g.shape(x);
  const size = shape[axis] ?? 1;
  if (typeof size === 'string' && mode !== 'constant')
    throw reader.unsupported(
      `it pads an axis whose size only a run decides, in the mode "${mode}"`,
    );
  const made = typeof size === 'number' ? size + begin + end : `${size}+${begin + end}`;
  if (typeof made === 'number' && made < 1)
    throw reader.unsupported('nothing is left of its input');
  const most = mode === 'reflect' ? 1 : 0;
  if (
    typeof size === 'number' &&
    mode !== 'constant' &&
    mode !== 'edge' &&
    Math.max(begin, end) > size - most
  )
    throw reader.unsupported(`it pads by more than its input has, in the mode "${mode}"`);
  const wide = shape.map((n, at) => (at === axis ? made : n));
  if (mode !== 'wrap') {
    const pads = shape
      .map((_, at) => (at === axis ? begin : 0))
      .concat(shape.map((_, at) => (at === axis ? end : 0)));
    const inputs =
      mode === 'constant' ? [x, g.integers(pads), g.scalar(value)] : [x, g.integers(pads)];
    return g.op('Pad', inputs, wide, { mode });
  }
  // "wrap" is of operator set 19.
  const count = typeof size === 'number' ? size : 1;
  const parts: string[] = [];
  if (begin > 0) parts.push(part(g, x, axis, count - begin, { end: count, size: begin }));
  parts.push(x);
  if (end > 0) parts.push(part(g, x, axis, 0, { end, size: end }));
  return g.concat(parts, 'float32', axis);
}

function unpadAlong(
  g: GraphBuilder,
  dy: string,
  from: string,
  { axis, begin, end, mode }: PadSides,
): string {
  const shape = g.shape(from);
  const size = shape[axis] ?? 1;
  const [cutBegin, cutEnd] = [Math.max(begin, 0), Math.max(end, 0)];
  const inner = typeof size === 'number' ? size + Math.min(begin, 0) + Math.min(end, 0) : size;
  const core = part(g, dy, axis, cutBegin, { end: cutEnd === 0 ? TO_END : -cutEnd, size: inner });
  // What was cut away has no gradient.
  const whole =
    begin < 0 || end < 0
      ? padded(g, core, axis, [Math.max(-begin, 0), Math.max(-end, 0)], shape)
      : core;
  const edge = Object.hasOwn(PAD_MODES, mode) ? PAD_MODES[mode] : undefined;
  if (edge === undefined || typeof size !== 'number') return whole;
  let sum = whole;
  if (begin > 0) {
    const side = part(g, dy, axis, 0, { end: begin, size: begin });
    sum = g.add(sum, edge(g, side, { axis, size, count: begin, isBegin: true }));
  }
  if (end > 0) {
    const side = part(g, dy, axis, -end, { end: TO_END, size: end });
    sum = g.add(sum, edge(g, side, { axis, size, count: end, isBegin: false }));
  }
  return sum;
}

/** The rules of this file by operator. */
export const PADDING_RULES: OpRules = { Pad: pad };
