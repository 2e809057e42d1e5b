/** Elements chosen by their positions, and put there. Gradients of what is chosen twice add up. */
import { axisFromEnd, type GraphBuilder, type TensorShape } from '../graph/graph-builder.ts';
import { noGradient, NodeReader, type OpRule } from '../graph/op-rule.ts';
import { padded } from '../graph/parts.ts';
import type { OpRules } from '../graph/tape.ts';
import { rowCount } from './shapes.ts';

const INT64 = 7;

const wide = (g: GraphBuilder, indices: string): string =>
  g.type(indices) === 'int64'
    ? indices
    : g.op('Cast', [indices], g.shape(indices), { to: INT64 }, { type: 'int64' });

/** Slices of a table by their numbers along an axis: an embedding, or one position of a sequence. */
const gather: OpRule = ({ g, constantOrNone }, node) => {
  const reader = new NodeReader(node);
  const [table, indices] = [reader.input(0), reader.input(1)];
  const shape = g.shape(table);
  const axis = axisFromEnd(reader.number('axis', 0), shape.length);
  const where = g.shape(indices);
  const [before, behind] = [shape.slice(0, axis), shape.slice(axis + 1)];
  const made = [...before, ...where, ...behind];
  g.op('Gather', [table, indices], made, { axis }, { output: node.output, type: g.type(table) });
  return (dy, [wantsTable]) => {
    if (wantsTable !== true) return [null, null];
    const size = shape[axis] ?? 1;
    const [only, ...more] = constantOrNone(indices) ?? [];
    if (only !== undefined && more.length === 0 && typeof size === 'number') {
      // One position: zeros on both sides of it.
      const at = only < 0 ? only + size : only;
      const row = g.reshape(dy, [...before, 1, ...behind]);
      return [padded(g, row, axis, [at, size - 1 - at], shape), null];
    }
    // The chosen axis goes first, as ScatterND wants it, and back.
    const count = rowCount(where);
    const flat = g.reshape(dy, [...before, count, ...behind]);
    const order = [axis, ...axesBut(shape.length, axis)];
    const first = axis === 0 ? flat : g.transpose(flat, order);
    const rows = [size, ...before, ...behind];
    const zeros = g.op('ConstantOfShape', [g.shapeTensor(rows)], rows);
    const at = g.reshape(wide(g, indices), [count, 1]);
    const summed = g.op('ScatterND', [zeros, at, first], rows, { reduction: 'add' });
    const back = order.map((_, to) => order.indexOf(to));
    return [axis === 0 ? summed : g.transpose(summed, back), null];
  };
};

const axesBut = (rank: number, axis: number): number[] =>
  Array.from({ length: rank }, (_, at) => at).filter((at) => at !== axis);

/** One element for each position of `indices`, whose number along the axis is chosen. */
const gatherElements: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const [data, indices] = [reader.input(0), reader.input(1)];
  const axis = axisFromEnd(reader.number('axis', 0), g.shape(data).length);
  g.op(
    'GatherElements',
    [data, indices],
    g.shape(indices),
    { axis },
    { output: node.output, type: g.type(data) },
  );
  return (dy) => [scatteredSum(g, data, indices, dy, axis), null];
};

const scatteredSum = (
  g: GraphBuilder,
  like: string,
  indices: string,
  dy: string,
  axis: number,
): string =>
  g.op('ScatterElements', [g.zerosLike(like), wide(g, indices), dy], g.shape(like), {
    axis,
    reduction: 'add',
  });

const gatherND: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const [data, indices] = [reader.input(0), reader.input(1)];
  if (reader.number('batch_dims', 0) !== 0) throw reader.unsupported('batch_dims is set');
  const [shape, where] = [g.shape(data), g.shape(indices)];
  const depth = where.at(-1);
  if (typeof depth !== 'number' || depth > shape.length)
    throw reader.unsupported('how many axes its indices name is not known');
  const made = [...where.slice(0, -1), ...shape.slice(depth)];
  g.op('GatherND', [data, indices], made, {}, { output: node.output, type: g.type(data) });
  return (dy) => [
    g.op('ScatterND', [g.zerosLike(data), wide(g, indices), dy], shape, { reduction: 'add' }),
    null,
  ];
};

/** Replaces elements, or adds to them. What was replaced has no gradient. */
const scatter: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const [data, indices, updates] = [reader.input(0), reader.input(1), reader.input(2)];
  const reduction = reader.text('reduction', 'none');
  if (reduction !== 'none' && reduction !== 'add')
    throw reader.unsupported(`its reduction is "${reduction}"`);
  const isND = node.op === 'ScatterND';
  const shape = g.shape(data);
  const op = isND ? 'ScatterND' : 'ScatterElements';
  const axis = isND ? undefined : axisFromEnd(reader.number('axis', 0), shape.length);
  const along = axis === undefined ? {} : { axis };
  const type = g.type(data);
  g.op(op, [data, indices, updates], shape, { ...along, reduction }, { output: node.output, type });
  return (dy, [wantsData, , wantsUpdates]) => {
    const at = g.shape(updates);
    const zeros = (): string => g.zerosLike(updates);
    const kept = (): string =>
      reduction === 'add' ? dy : g.op(op, [dy, indices, zeros()], shape, along);
    const taken = (): string =>
      g.op(isND ? 'GatherND' : 'GatherElements', [dy, indices], at, along);
    return [wantsData === true ? kept() : null, null, wantsUpdates === true ? taken() : null];
  };
};

/** The largest or smallest elements, and where they were. */
const topK: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const shape = g.shape(x);
  const input = reader.optionalInput(1);
  const k = input === undefined ? reader.number('k', 1) : (context.constant(input)[0] ?? 1);
  const axis = axisFromEnd(reader.number('axis', -1), shape.length);
  const made = shape.map((size, at) => (at === axis ? k : size));
  const [values = '', indices = ''] = (node.outputs ?? [node.output]).map((name) =>
    name === '' ? g.fresh('TopK') : name,
  );
  const positions = indices === '' ? g.fresh('TopK') : indices;
  g.ops(
    'TopK',
    [x, g.integers([k])],
    [
      [values, { type: g.type(x), shape: made }],
      [positions, { type: 'int64', shape: made }],
    ],
    { axis, largest: reader.number('largest', 1), sorted: reader.number('sorted', 1) },
  );
  return (_dy, _wants, [dValues]) => [
    dValues === null || dValues === undefined ? null : scatteredSum(g, x, positions, dValues, axis),
    null,
  ];
};

/** Running sums along an axis; back, they run the other way. */
const cumSum: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const shape = g.shape(x);
  const axis = axisFromEnd(context.constant(reader.input(1))[0] ?? 0, shape.length);
  const [exclusive, reverse] = [reader.number('exclusive', 0), reader.number('reverse', 0)];
  const summed = (from: string, isReverse: number, output?: string): string =>
    g.op(
      'CumSum',
      [from, g.longs([axis], [])],
      shape,
      { exclusive, reverse: isReverse },
      { output, type: g.type(x) },
    );
  summed(x, reverse, node.output);
  return (dy) => [summed(dy, 1 - reverse), null];
};

/** 1 at a class, 0 elsewhere, or two other values: nothing to differentiate. */
const oneHot: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const [indices, depth, values] = [reader.input(0), reader.input(1), reader.input(2)];
  const shape = g.shape(indices);
  const count = context.constant(depth)[0] ?? 1;
  const axis = axisFromEnd(reader.number('axis', -1), shape.length + 1);
  const made: TensorShape = [...shape.slice(0, axis), count, ...shape.slice(axis)];
  g.op(
    'OneHot',
    [wide(g, indices), depth, values],
    made,
    { axis },
    { output: node.output, type: g.type(values) },
  );
  return noGradient;
};

/** The rules of this file by operator. */
export const INDEX_RULES: OpRules = {
  CumSum: cumSum,
  Gather: gather,
  GatherElements: gatherElements,
  GatherND: gatherND,
  OneHot: oneHot,
  Scatter: scatter,
  ScatterElements: scatter,
  ScatterND: scatter,
  TopK: topK,
};
