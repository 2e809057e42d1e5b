/** Products of matrices, softmax, reductions and what only changes a shape. */
import { invalidInput } from '../../../base/errors.ts';
import {
  axisFromEnd,
  broadcastShape,
  elementCount,
  type GraphBuilder,
  type TensorShape,
} from './graph-builder.ts';
import { NodeReader, type ForwardNode, type OpRule, type OpRuleContext } from './op-rule.ts';

/** alpha A' B' + beta C, where ' transposes if asked to. */
const gemm: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const [a, b, c] = [reader.input(0), reader.input(1), reader.optionalInput(2)];
  const [alpha, beta] = [reader.number('alpha', 1), reader.number('beta', 1)];
  const transA = reader.number('transA', 0) === 1;
  const transB = reader.number('transB', 0) === 1;
  const [rows = 1, inner] = sides(g.shape(a), transA);
  const [innerB, columns = 1] = sides(g.shape(b), transB);
  if (g.shape(a).length !== 2 || g.shape(b).length !== 2 || inner !== innerB)
    throw invalidInput(
      `Gemm "${node.output}"`,
      [g.shape(a), g.shape(b)],
      'two matrices that can be multiplied',
    );
  g.op(
    'Gemm',
    c === undefined ? [a, b] : [a, b, c],
    [rows, columns],
    {
      alpha: { float: alpha },
      beta: { float: beta },
      transA: Number(transA),
      transB: Number(transB),
    },
    { output: node.output },
  );
  /** alpha P' Q', with the shape of `like`. */
  const product = (p: string, q: string, transP: boolean, transQ: boolean, like: string): string =>
    g.op('Gemm', [p, q], g.shape(like), {
      alpha: { float: alpha },
      transA: Number(transP),
      transB: Number(transQ),
    });
  return (dy, [wantsA, wantsB, wantsC]) => {
    let da: string | null = null;
    let db: string | null = null;
    if (wantsA === true)
      da = transA ? product(b, dy, transB, true, a) : product(dy, b, false, !transB, a);
    if (wantsB === true)
      db = transB ? product(dy, a, true, transA, b) : product(a, dy, !transA, false, b);
    const dc = c !== undefined && wantsC === true ? g.scale(g.sumTo(dy, g.shape(c)), beta) : null;
    return [da, db, dc];
  };
};

const sides = (shape: TensorShape, isTransposed: boolean): TensorShape =>
  isTransposed ? [...shape].reverse() : shape;

/** Matrices, or stacks of them, whose leading dimensions broadcast. */
const matMul: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const [a, b] = [reader.input(0), reader.input(1)];
  const [shapeA, shapeB] = [g.shape(a), g.shape(b)];
  const [inner, columns] = [shapeA.at(-1), shapeB.at(-1)];
  if (shapeA.length < 2 || shapeB.length < 2 || columns === undefined || inner === undefined)
    throw reader.unsupported('a factor is a vector');
  if (inner !== shapeB.at(-2))
    throw invalidInput(
      `MatMul "${node.output}"`,
      [shapeA, shapeB],
      'two matrices that can be multiplied',
    );
  const stack = broadcastShape(shapeA.slice(0, -2), shapeB.slice(0, -2));
  g.op('MatMul', [a, b], [...stack, shapeA.at(-2) ?? 1, columns], {}, { output: node.output });
  return (dy, [wantsA, wantsB]) => {
    const da = wantsA === true ? g.sumTo(stackProduct(g, dy, turned(g, b)), shapeA) : null;
    if (wantsB !== true) return [da, null];
    if (shapeB.length > 2) return [da, g.sumTo(stackProduct(g, turned(g, a), dy), shapeB)];
    // One matrix for the whole stack: its gradient is one product over all rows.
    const rows = rowCount(shapeA.slice(0, -1));
    return [
      da,
      g.op('Gemm', [g.reshape(a, [rows, inner]), g.reshape(dy, [rows, columns])], shapeB, {
        transA: 1,
      }),
    ];
  };
};

/** The product of sizes, as a symbol when one of them is. */
export function rowCount(shape: TensorShape): number | string {
  return elementCount(shape) ?? shape.join('*');
}

function turned(g: GraphBuilder, a: string): string {
  const rank = g.shape(a).length;
  const order = Array.from({ length: rank }, (_, axis) => axis);
  return g.transpose(a, [...order.slice(0, -2), rank - 1, rank - 2]);
}

function stackProduct(g: GraphBuilder, a: string, b: string): string {
  const [shapeA, shapeB] = [g.shape(a), g.shape(b)];
  const stack = broadcastShape(shapeA.slice(0, -2), shapeB.slice(0, -2));
  return g.op('MatMul', [a, b], [...stack, shapeA.at(-2) ?? 1, shapeB.at(-1) ?? 1]);
}

/** Before operator set 13 softmax flattened what followed its axis; the last axis means the same in both. */
function lastAxis(context: OpRuleContext, node: ForwardNode): { x: string; axis: number } {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const rank = context.g.shape(x).length;
  const axis = axisFromEnd(reader.number('axis', -1), rank);
  if (axis !== rank - 1) throw reader.unsupported('its axis is not the last');
  return { x, axis };
}

const softmax: OpRule = (context, node) => {
  const { g } = context;
  const { x, axis } = lastAxis(context, node);
  g.unary('Softmax', x, { axis: -1 }, node.output);
  return (dy) => {
    const along = g.reduce('ReduceSum', g.mul(dy, node.output), [axis], true);
    return [g.mul(node.output, g.sub(dy, along))];
  };
};

const logSoftmax: OpRule = (context, node) => {
  const { g } = context;
  const { x, axis } = lastAxis(context, node);
  g.unary('LogSoftmax', x, { axis: -1 }, node.output);
  return (dy) => {
    const along = g.reduce('ReduceSum', dy, [axis], true);
    return [g.sub(dy, g.mul(g.unary('Exp', node.output), along))];
  };
};

function reduction(opType: 'ReduceSum' | 'ReduceMean'): OpRule {
  return (context, node) => {
    const { g } = context;
    const reader = new NodeReader(node);
    const x = reader.input(0);
    const shape = g.shape(x);
    const given = reader.axes(context, shape.length) ?? [];
    if (given.length === 0 && reader.number('noop_with_empty_axes', 0) !== 0)
      throw reader.unsupported('noop_with_empty_axes is set, and it has no axes');
    const axes = given.length === 0 ? shape.map((_, axis) => axis) : given;
    g.reduce(opType, x, axes, reader.number('keepdims', 1) === 1, node.output);
    return (dy) => {
      const kept = g.reshape(
        dy,
        shape.map((size, axis) => (axes.includes(axis) ? 1 : size)),
      );
      const each = opType === 'ReduceSum' ? kept : g.div(kept, g.countRatio(x, node.output));
      return [g.expandLike(each, x)];
    };
  };
}

/** An operator that only says how the numbers are counted: its gradient is counted back. */
function reshaping(
  target: (context: OpRuleContext, shape: TensorShape, node: NodeReader) => TensorShape,
): OpRule {
  return (context, node) => {
    const { g } = context;
    const reader = new NodeReader(node);
    const x = reader.input(0);
    const shape = g.shape(x);
    g.reshape(x, target(context, shape, reader), node.output);
    return (dy) => [g.reshape(dy, shape), null];
  };
}

const flatten = reshaping((_context, shape, node) => {
  const axis = node.number('axis', 1);
  const at = axis < 0 ? axis + shape.length : axis;
  return [rowCount(shape.slice(0, at)), rowCount(shape.slice(at))];
});

const reshape = reshaping((context, shape, node) => {
  const asked = context
    .sizes(node.input(1))
    .map((size, axis) => (size === 0 ? (shape[axis] ?? 0) : size));
  return asked.map((size) => (size === -1 ? restOf(shape, asked, node) : size));
});

/** The size that -1 stands for: what is left when known sizes and equal symbols are divided away. */
function restOf(shape: TensorShape, asked: TensorShape, node: NodeReader): number | string {
  const symbols = shape.filter((size) => typeof size === 'string');
  for (const size of asked) {
    const at = symbols.findIndex((symbol) => symbol === size);
    if (at >= 0) symbols.splice(at, 1);
  }
  const known = (sizes: TensorShape): number =>
    sizes.reduce<number>(
      (product, size) => (typeof size === 'number' && size !== -1 ? product * size : product),
      1,
    );
  const factor = known(shape) / known(asked);
  if (symbols.length === 0 && Number.isInteger(factor)) return factor;
  if (symbols.length === 0) throw node.unsupported('its size does not divide the input');
  return factor === 1 ? symbols.join('*') : `${symbols.join('*')}*${factor}`;
}

const squeeze = reshaping((context, shape, node) => {
  const axes =
    node.axes(context, shape.length) ?? shape.flatMap((size, axis) => (size === 1 ? [axis] : []));
  return shape.filter((_, axis) => !axes.includes(axis));
});

const unsqueeze = reshaping((context, shape, node) => {
  const given = node.integers('axes') ?? context.constant(node.input(1));
  const rank = shape.length + given.length;
  const axes = new Set(given.map((axis) => axisFromEnd(axis, rank)));
  const rest = [...shape];
  return Array.from({ length: rank }, (_, axis) => (axes.has(axis) ? 1 : (rest.shift() ?? 1)));
});

const transpose: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const axes = g.shape(x).map((_, axis) => axis);
  const order = reader.integers('perm') ?? [...axes].reverse();
  if (order.length !== axes.length || !axes.every((axis) => order.includes(axis)))
    throw reader.invalid('perm', order, `the axes 0 to ${axes.length - 1} in any order`);
  g.transpose(x, order, node.output);
  return (dy) => [
    g.transpose(
      dy,
      order.map((_, axis) => order.indexOf(axis)),
    ),
  ];
};

/** Rows of a table by their numbers: an embedding. */
const gather: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const [table, indices] = [reader.input(0), reader.input(1)];
  if (reader.number('axis', 0) !== 0) throw reader.unsupported('its axis is not the first');
  const [rows = 1, ...row] = g.shape(table);
  const where = g.shape(indices);
  g.op('Gather', [table, indices], [...where, ...row], { axis: 0 }, { output: node.output });
  return (dy, [wantsTable]) => {
    if (wantsTable !== true) return [null, null];
    const zeros = g.op('ConstantOfShape', [g.shapeTensor([rows, ...row])], [rows, ...row]);
    const count = rowCount(where);
    const wide = g.op('Cast', [indices], where, { to: INT64 }, { type: 'int64' });
    const at = g.reshape(wide, [count, 1]);
    const flat = g.reshape(dy, [count, ...row]);
    // Words that occur twice add up.
    return [g.op('ScatterND', [zeros, at, flat], g.shape(table), { reduction: 'add' }), null];
  };
};

const INT64 = 7;

/** The rules of this file by operator. */
export const MATRIX_RULES: Readonly<Record<string, OpRule>> = {
  Flatten: flatten,
  Gather: gather,
  Gemm: gemm,
  LogSoftmax: logSoftmax,
  MatMul: matMul,
  ReduceMean: reduction('ReduceMean'),
  ReduceSum: reduction('ReduceSum'),
  Reshape: reshape,
  Softmax: softmax,
  Squeeze: squeeze,
  Transpose: transpose,
  Unsqueeze: unsqueeze,
};
