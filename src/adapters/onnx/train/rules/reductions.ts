/** Softmax, and sums, means, extremes and norms over axes. */
import { axisFromEnd, type GraphBuilder, type TensorShape } from '../graph/graph-builder.ts';
import { noGradient, NodeReader, type OpRule } from '../graph/op-rule.ts';
import { composed, type OpRules } from '../graph/tape.ts';
import { rowCount } from './shapes.ts';

/**
 * Before operator set 13 the axes from `axis` on were one; the importer says so by `flattens`. Over the last axis both mean the
 * same.
 */
function overOneAxis(rule: OpRule): OpRule {
  const flattened = composed({ Softmax: softmax, LogSoftmax: logSoftmax }, (tape, { g }, node) => {
    const reader = new NodeReader(node);
    const shape = g.shape(reader.input(0));
    const axis = axisFromEnd(reader.number('axis', 1), shape.length);
    const rows = [rowCount(shape.slice(0, axis)), rowCount(shape.slice(axis))];
    const made = tape.op(node.op, [tape.reshape(reader.input(0), rows)], { axis: 1 });
    return [tape.reshape(made, shape)];
  });
  return (context, node) => {
    const reader = new NodeReader(node);
    const rank = context.g.shape(reader.input(0)).length;
    const isLast = axisFromEnd(reader.number('axis', -1), rank) === rank - 1;
    return reader.number('flattens', 0) === 0 || isLast
      ? rule(context, node)
      : flattened(context, node);
  };
}

const softmax: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const axis = axisFromEnd(reader.number('axis', -1), g.shape(x).length);
  g.unary('Softmax', x, { axis }, node.output);
  return (dy) => {
    const along = g.reduce('ReduceSum', g.mul(dy, node.output), [axis], true);
    return [g.mul(node.output, g.sub(dy, along))];
  };
};

const logSoftmax: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const axis = axisFromEnd(reader.number('axis', -1), g.shape(x).length);
  g.unary('LogSoftmax', x, { axis }, node.output);
  return (dy) => {
    const along = g.reduce('ReduceSum', dy, [axis], true);
    return [g.sub(dy, g.mul(g.unary('Exp', node.output), along))];
  };
};

/** How a gradient comes back from a reduction: `dy` and `y` have size 1 along the axes. */
type Spread = (
  g: GraphBuilder,
  dy: string,
  values: { readonly x: string; readonly y: string; readonly axes: readonly number[] },
) => string;

const toAll: Spread = (g, dy, { x }) => g.expandLike(dy, x);

/** Equal shares to all that are the largest or smallest. */
const toExtremes: Spread = (g, dy, { x, y, axes }) => {
  const isIt = g.toFloat(g.compare('Equal', x, y));
  return g.mul(isIt, g.div(dy, g.reduce('ReduceSum', isIt, axes, true)));
};

/**
 * The product of the others. With one zero, only its own gradient is not 0; with more, all are.
 */
const toFactors: Spread = (g, dy, { x, y, axes }) => {
  const isZero = g.compare('Equal', x, g.scalar(0));
  const zeros = g.reduce('ReduceSum', g.toFloat(isZero), axes, true);
  const without = g.where(isZero, g.scalar(1), x);
  const rest = g.reduce('ReduceProd', without, axes, true);
  const hasOne = g.toFloat(g.compare('Equal', zeros, g.scalar(1)));
  return g.mul(dy, g.where(isZero, g.mul(rest, hasOne), g.div(y, without)));
};

const REDUCTIONS: Readonly<Record<string, Spread>> = {
  ReduceL1: (g, dy, { x }) => g.mul(dy, g.unary('Sign', x)),
  // At 0 the slope is taken as 0.
  ReduceL2: (g, dy, { x, y }) => {
    const isZero = g.compare('Equal', y, g.scalar(0));
    return g.mul(x, g.where(isZero, g.scalar(0), g.div(dy, y)));
  },
  ReduceLogSum: (g, dy, { x, y }) => g.expandLike(g.div(dy, g.unary('Exp', y)), x),
  ReduceLogSumExp: (g, dy, { x, y }) => g.mul(dy, g.unary('Exp', g.sub(x, y))),
  ReduceMax: toExtremes,
  ReduceMean: (g, dy, { x, y }) => g.expandLike(g.div(dy, g.countRatio(x, y)), x),
  ReduceMin: toExtremes,
  ReduceProd: toFactors,
  ReduceSum: toAll,
  ReduceSumSquare: (g, dy, { x }) => g.mul(dy, g.scale(x, 2)),
};

function reduction(opType: string, spread: Spread): OpRule {
  return (context, node) => {
    const { g } = context;
    const reader = new NodeReader(node);
    const x = reader.input(0);
    const shape = g.shape(x);
    const given = reader.axes(context, shape.length) ?? [];
    if (given.length === 0 && reader.number('noop_with_empty_axes', 0) !== 0) {
      g.unary('Identity', x, {}, node.output);
      return (dy) => [dy, null];
    }
    const axes = given.length === 0 ? shape.map((_, axis) => axis) : given;
    g.reduce(opType, x, axes, reader.number('keepdims', 1) === 1, node.output);
    if (g.type(x) !== 'float32') return noGradient;
    const wide = shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
    return (dy) => [
      spread(g, g.reshape(dy, wide), { x, y: g.reshape(node.output, wide), axes }),
      null,
    ];
  };
}

const reductions = Object.entries(REDUCTIONS).map(
  ([op, spread]) => [op, reduction(op, spread)] as const,
);

/** The mean, or the largest, of each channel. */
function global(opType: 'ReduceMean' | 'ReduceMax', forward: string): OpRule {
  const spread = REDUCTIONS[opType] ?? toAll;
  return ({ g }, { inputs: [x = ''], output }) => {
    const shape = g.shape(x);
    const axes = shape.flatMap((_, axis) => (axis < 2 ? [] : [axis]));
    const pooled = shape.map((size, axis) => (axis < 2 ? size : 1));
    g.op(forward, [x], pooled, {}, { output });
    return (dy) => [spread(g, dy, { x, y: output, axes })];
  };
}

/** The position of the largest or smallest. */
const position: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const shape = g.shape(x);
  const axis = axisFromEnd(reader.number('axis', 0), shape.length);
  const isWide = reader.number('keepdims', 1) === 1;
  const made: TensorShape = isWide
    ? shape.map((size, at) => (at === axis ? 1 : size))
    : shape.filter((_, at) => at !== axis);
  g.op(
    node.op,
    [x],
    made,
    { axis, keepdims: Number(isWide), select_last_index: reader.number('select_last_index', 0) },
    { output: node.output, type: 'int64' },
  );
  return noGradient;
};

/** The rules of this file by operator. */
export const REDUCTION_RULES: OpRules = {
  ...Object.fromEntries(reductions),
  ArgMax: position,
  ArgMin: position,
  GlobalAveragePool: global('ReduceMean', 'GlobalAveragePool'),
  GlobalMaxPool: global('ReduceMax', 'GlobalMaxPool'),
  LogSoftmax: overOneAxis(logSoftmax),
  Softmax: overOneAxis(softmax),
};
