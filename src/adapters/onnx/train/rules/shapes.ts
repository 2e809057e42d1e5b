/** What only changes a shape, or the order of axes: the gradient is counted back. */
import { axisFromEnd, elementCount, type TensorShape } from '../graph/graph-builder.ts';
import { NodeReader, type OpRule, type OpRuleContext } from '../graph/op-rule.ts';
import type { OpRules } from '../graph/tape.ts';

/** The product of sizes, as a symbol when one of them is. */
export function rowCount(shape: TensorShape): number | string {
  return elementCount(shape) ?? shape.join('*');
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

/** The rules of this file by operator. */
export const SHAPE_RULES: OpRules = {
  Flatten: flatten,
  Reshape: reshape,
  Squeeze: squeeze,
  Transpose: transpose,
  Unsqueeze: unsqueeze,
};
