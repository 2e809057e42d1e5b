/** What moves elements without changing them: joining, cutting, blocks of channels. */
import { axisFromEnd, type GraphBuilder, type TensorShape } from '../graph/graph-builder.ts';
import { NodeReader, type OpRule, type OpRuleContext } from '../graph/op-rule.ts';
import { TO_END, padded, part } from '../graph/parts.ts';
import { composed, type OpRules } from '../graph/tape.ts';
import { SHAPE_RULES } from './shapes.ts';

const concat: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const names = node.inputs;
  const axis = axisFromEnd(reader.number('axis', 1), g.shape(reader.input(0)).length);
  const type = g.type(reader.input(0));
  const joined = g.concat(names, type, axis);
  g.unary('Identity', joined, {}, node.output);
  return (dy, wants) => {
    let from: string | number = 0;
    return names.map((name, index) => {
      const size = g.shape(name)[axis] ?? 1;
      const start = from;
      from = after(g, from, name, axis);
      return wants[index] === true ? part(g, dy, axis, start, { end: from, size }) : null;
    });
  };
};

/** The position behind a value along an axis: a number where it is known, else a list of one int64 in the graph. */
function after(
  g: GraphBuilder,
  from: number | string,
  name: string,
  axis: number,
): number | string {
  const size = g.shape(name)[axis] ?? 1;
  if (typeof from === 'number' && typeof size === 'number') return from + size;
  const begin = typeof from === 'number' ? g.integers([from]) : from;
  return g.binary('Add', begin, g.sizeAt(name, axis));
}

const split: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const shape = g.shape(x);
  const names = node.outputs ?? [node.output];
  const axis = axisFromEnd(reader.number('axis', 0), shape.length);
  const sizes = splitSizes(context, reader, shape[axis] ?? 1, names.length);
  const outputs = names.map((name, index): [string, { type: 'float32'; shape: TensorShape }] => [
    name === '' ? g.fresh('Split') : name,
    { type: 'float32', shape: shape.map((size, at) => (at === axis ? (sizes[index] ?? 1) : size)) },
  ]);
  g.ops(
    'Split',
    [x, g.integers(sizes)],
    outputs.map(([name, value]) => [name, { ...value, type: g.type(x) }]),
    { axis },
  );
  return (_dy, _wants, each) => {
    const parts = outputs.map(([name], index) => each[index] ?? g.zerosLike(name));
    return [g.concat(parts, 'float32', axis), null];
  };
};

/** Sizes are an input from operator set 13 on and an attribute before; without them, all parts are alike but the last. */
function splitSizes(
  context: OpRuleContext,
  reader: NodeReader,
  length: number | string,
  count: number,
): readonly number[] {
  const input = reader.optionalInput(1);
  const given =
    reader.integers('split') ?? (input === undefined ? undefined : context.constant(input));
  if (typeof length !== 'number') {
    if (given !== undefined && given.length === 1 && count === 1)
      throw reader.unsupported('it splits an axis whose size only a run decides');
    if (given === undefined)
      throw reader.unsupported('it splits an axis whose size only a run decides');
    return given;
  }
  const each = Math.ceil(length / count);
  const sizes = given ?? Array.from({ length: count }, (_, i) => Math.min(each, length - i * each));
  if (
    sizes.length !== count ||
    sizes.reduce((sum, size) => sum + size, 0) !== length ||
    sizes.some((size) => size < 0)
  )
    throw reader.invalid('split', sizes, `${count} sizes that add up to ${length}`);
  return sizes;
}

/** From, to and step along one axis, as ONNX reads them: from the end where negative, and no further than the ends. */
type Cut = {
  readonly axis: number;
  readonly start: number;
  readonly end: number;
  readonly step: number;
};

/** From the beginning to a size that a run decides, as positions are cut to the length of a sequence. */
type CutToSize = { readonly axis: number; readonly size: string };

const isToSize = (cut: Cut | CutToSize): cut is CutToSize => 'size' in cut;

const slice: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const cuts = cutsOf(context, reader, g.shape(x));
  let value = x;
  const back: ((dy: string) => string)[] = [];
  for (const cut of cuts) {
    const from = value;
    if (isToSize(cut)) {
      value = part(g, from, cut.axis, 0, { end: g.sizeOf(cut.size), size: cut.size });
      back.unshift((dy) => uncutToSize(g, dy, from, cut));
    } else {
      value = cutAlong(g, reader, from, cut);
      back.unshift((dy) => uncutAlong(g, dy, from, cut));
    }
  }
  g.unary('Identity', value, {}, node.output);
  return (dy) => [back.reduce((gradient, step) => step(gradient), dy)];
};

/** Starts, ends, axes and steps are inputs from operator set 10 on, attributes before. */
function cutsOf(
  context: OpRuleContext,
  reader: NodeReader,
  shape: TensorShape,
): readonly (Cut | CutToSize)[] {
  const list = (index: number, name: string): readonly number[] | undefined => {
    const input = reader.optionalInput(index);
    return input === undefined ? reader.integers(name) : context.constant(input);
  };
  const endInput = reader.optionalInput(2);
  const ends = (endInput === undefined ? reader.integers('ends') : context.sizes(endInput)) ?? [];
  const starts = list(1, 'starts') ?? [];
  const axes = list(3, 'axes') ?? starts.map((_, axis) => axis);
  const steps = list(4, 'steps') ?? starts.map(() => 1);
  if (
    starts.length !== ends.length ||
    axes.length !== starts.length ||
    steps.length !== starts.length
  )
    throw reader.invalid('starts', [starts, ends, axes, steps], 'as long as ends, axes and steps');
  return starts.map((start, i) => {
    const [end = 0, step = 1] = [ends[i], steps[i]];
    if (step === 0) throw reader.invalid('steps', steps, 'steps that are not 0');
    const axis = axisFromEnd(axes[i] ?? 0, shape.length);
    if (typeof end === 'number') return { axis, start, end, step };
    if (start !== 0 || step !== 1)
      throw reader.unsupported('it ends at a size that a run decides, and does not begin at 0');
    return { axis, size: end };
  });
}

/** Begin and end of a cut within a size that is known. */
function bounds({ start, end, step }: Cut, size: number): { from: number; count: number } {
  const low = step > 0 ? 0 : -1;
  const high = step > 0 ? size : size - 1;
  const clamp = (at: number): number => Math.min(Math.max(at < 0 ? at + size : at, low), high);
  const [from, to] = [clamp(start), clamp(end)];
  return { from, count: Math.max(0, Math.ceil((to - from) / step)) };
}

function cutAlong(g: GraphBuilder, reader: NodeReader, x: string, cut: Cut): string {
  const size = g.shape(x)[cut.axis] ?? 1;
  if (typeof size === 'number') {
    const { from, count } = bounds(cut, size);
    if (count === 0) throw reader.unsupported('nothing is left of its input');
    // Backwards to the first element: an end before it, and not from the end.
    const to = cut.step > 0 ? Math.min(from + count * cut.step, size) : from + count * cut.step;
    return part(g, x, cut.axis, from, { end: to < 0 ? -TO_END : to, size: count, step: cut.step });
  }
  if (cut.step !== 1)
    throw reader.unsupported('it steps through an axis whose size only a run decides');
  const made = cut.start === 0 && cut.end >= TO_END ? size : sizeOfCut(cut, size);
  return part(g, x, cut.axis, cut.start, { end: cut.end, size: made });
}

/** The size of a cut through an axis that only a run decides: known where both ends are counted from the same one. */
function sizeOfCut({ start, end }: Cut, size: string): number | string {
  if (start >= 0 && end >= 0 && end < TO_END) return end - start;
  if (start < 0 && (end >= TO_END || end < 0)) return (end >= TO_END ? 0 : end) - start;
  return `${size}[${start}:${end >= TO_END ? '' : end}]`;
}

/** The gradient of a cut, with zeros where nothing was taken. */
function uncutAlong(g: GraphBuilder, dy: string, from: string, cut: Cut): string {
  const shape = g.shape(from);
  const size = shape[cut.axis] ?? 1;
  if (typeof size === 'number') {
    const { from: first, count } = bounds(cut, size);
    if (count === size && cut.step === 1) return dy;
    if (cut.step === 1) return padded(g, dy, cut.axis, [first, size - first - count], shape);
    const source = Array.from({ length: size }, () => count);
    for (let i = 0; i < count; i += 1) source[first + i * cut.step] = i;
    // One more row, of zeros, for what was not taken.
    const rows = padded(
      g,
      dy,
      cut.axis,
      [0, 1],
      shape.map((n, at) => (at === cut.axis ? count + 1 : n)),
    );
    return g.op('Gather', [rows, g.integers(source)], shape, { axis: cut.axis });
  }
  const total = g.sizeAt(from, cut.axis);
  const at = (position: number): string | number =>
    position < 0 ? g.binary('Add', total, g.integers([position])) : position;
  const before = at(cut.start);
  const behind =
    cut.end >= TO_END ? 0 : cut.end < 0 ? -cut.end : g.binary('Sub', total, g.integers([cut.end]));
  return padded(g, dy, cut.axis, [before, behind], shape);
}

/** The gradient of a cut to a size that a run decides: zeros behind it. */
function uncutToSize(g: GraphBuilder, dy: string, from: string, { axis, size }: CutToSize): string {
  const shape = g.shape(from);
  if (shape[axis] === size) return dy;
  const behind = g.binary('Sub', g.sizeAt(from, axis), g.sizeOf(size));
  return padded(g, dy, axis, [0, behind], shape);
}

/** Blocks of channels become positions, and the other way round: two reshapes and a transposition. */
const depthToSpace: OpRule = composed(SHAPE_RULES, (tape, { g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const [batch = 1, channels, height, width] = g.shape(x);
  const block = reader.number('blocksize', 1);
  if (typeof channels !== 'number' || typeof height !== 'number' || typeof width !== 'number')
    throw reader.unsupported('its sizes are not all known');
  const depth = channels / block ** 2;
  const isDepthFirst = reader.text('mode', 'DCR') === 'DCR';
  const apart = isDepthFirst
    ? [batch, block, block, depth, height, width]
    : [batch, depth, block, block, height, width];
  const order = isDepthFirst ? [0, 3, 4, 1, 5, 2] : [0, 1, 4, 2, 5, 3];
  const turned = tape.op('Transpose', [tape.reshape(x, apart)], { perm: order });
  return [tape.reshape(turned, [batch, depth, height * block, width * block])];
});

const spaceToDepth: OpRule = composed(SHAPE_RULES, (tape, { g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const [batch = 1, channels, height, width] = g.shape(x);
  const block = reader.number('blocksize', 1);
  if (typeof channels !== 'number' || typeof height !== 'number' || typeof width !== 'number')
    throw reader.unsupported('its sizes are not all known');
  const apart = [batch, channels, height / block, block, width / block, block];
  const turned = tape.op('Transpose', [tape.reshape(x, apart)], { perm: [0, 3, 5, 1, 2, 4] });
  return [tape.reshape(turned, [batch, channels * block ** 2, height / block, width / block])];
});

/** The upper or lower triangle of matrices. */
const trilu: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const shift = reader.optionalInput(1);
  const inputs = shift === undefined ? [x] : [x, g.longs(context.constant(shift), [])];
  const attributes = { upper: reader.number('upper', 1) };
  const triangle = (from: string, output?: string): string =>
    g.op('Trilu', [from, ...inputs.slice(1)], g.shape(x), attributes, { output, type: g.type(x) });
  triangle(x, node.output);
  return (dy) => [triangle(dy), null];
};

/** The rules of this file by operator. */
export const LAYOUT_RULES: OpRules = {
  Concat: concat,
  DepthToSpace: depthToSpace,
  Slice: slice,
  SpaceToDepth: spaceToDepth,
  Split: split,
  Trilu: trilu,
};
