/** Products of matrices. */
import { invalidInput } from '../../../../base/errors.ts';
import { broadcastShape, type GraphBuilder, type TensorShape } from '../graph/graph-builder.ts';
import { NodeReader, type Backward, type OpRule } from '../graph/op-rule.ts';
import type { OpRules } from '../graph/tape.ts';
import { rowCount } from './shapes.ts';

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

/** Matrices, or stacks of them, whose leading dimensions broadcast. A vector is a matrix of one row or one column. */
const matMul: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const [a, b] = [reader.input(0), reader.input(1)];
  const [shapeA, shapeB] = [g.shape(a), g.shape(b)];
  if (shapeA.length > 1 && shapeB.length > 1) return stacks(g, [a, b], node.output);
  if (shapeA.length === 0 || shapeB.length === 0)
    throw invalidInput(`MatMul "${node.output}"`, [shapeA, shapeB], 'given no scalar');
  const wideA = shapeA.length === 1 ? g.reshape(a, [1, ...shapeA]) : a;
  const wideB = shapeB.length === 1 ? g.reshape(b, [...shapeB, 1]) : b;
  const wide = g.fresh('MatMul');
  const backward = stacks(g, [wideA, wideB], wide);
  const made = g.shape(wide);
  const rows = shapeA.length === 1 ? [] : made.slice(-2, -1);
  const columns = shapeB.length === 1 ? [] : made.slice(-1);
  g.reshape(wide, [...made.slice(0, -2), ...rows, ...columns], node.output);
  return (dy, wants) => {
    const [da = null, db = null] = backward(g.reshape(dy, made), wants, []);
    return [da && g.reshape(da, shapeA), db && g.reshape(db, shapeB)];
  };
};

function stacks(g: GraphBuilder, [a, b]: readonly [string, string], output: string): Backward {
  const [shapeA, shapeB] = [g.shape(a), g.shape(b)];
  const [inner = 1, columns = 1] = [shapeA.at(-1), shapeB.at(-1)];
  if (inner !== shapeB.at(-2))
    throw invalidInput(
      `MatMul "${output}"`,
      [shapeA, shapeB],
      'two matrices that can be multiplied',
    );
  const stack = broadcastShape(shapeA.slice(0, -2), shapeB.slice(0, -2));
  g.op('MatMul', [a, b], [...stack, shapeA.at(-2) ?? 1, columns], {}, { output });
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

/** The rules of this file by operator. */
export const MATRIX_RULES: OpRules = {
  Gemm: gemm,
  MatMul: matMul,
};
