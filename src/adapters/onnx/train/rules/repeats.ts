/** What repeats a tensor, or makes one from sizes alone. */
import type { GraphBuilder, TensorShape } from '../graph/graph-builder.ts';
import { noGradient, NodeReader, type OpRule } from '../graph/op-rule.ts';
import type { OpRules } from '../graph/tape.ts';

/** Repeats along the axes of size 1. */
const expand: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const shape = g.shape(x);
  const asked = context.sizes(reader.input(1));
  const rank = Math.max(shape.length, asked.length);
  const made: TensorShape = Array.from({ length: rank }, (_, i) => {
    const own = shape[i - rank + shape.length] ?? 1;
    const other = asked[i - rank + asked.length] ?? 1;
    return own === 1 ? other : own;
  });
  g.op('Expand', [x, expanded(g, shape, made)], made, {}, { output: node.output, type: g.type(x) });
  return (dy) => [g.sumTo(dy, shape), null];
};

/** The shape to expand to; sizes that the input has already may be 1 there. */
function expanded(g: GraphBuilder, shape: TensorShape, made: TensorShape): string {
  const offset = made.length - shape.length;
  return g.exactShape(made.map((size, i) => (shape[i - offset] === size ? 1 : size)));
}

/** A tensor of one number. */
const constantOfShape: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const shape = context.sizes(reader.input(0));
  const isWhole = reader.text('value_type', 'float32') !== 'float32';
  const value = reader.number('value', 0);
  const one = isWhole ? g.longs([value], []) : g.scalar(value);
  g.op('Expand', [one, g.exactShape(shape)], shape, {}, { output: node.output, type: g.type(one) });
  return noGradient;
};

/** Whole numbers, or others, at equal distances. */
const range: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const [start, limit, delta] = [0, 1, 2].map((index) => context.sizes(reader.input(index))[0]);
  if (start === undefined || limit === undefined || typeof delta !== 'number')
    throw reader.unsupported('its bounds are computed');
  let size: number | string = limit;
  if (typeof start === 'number' && typeof limit === 'number')
    size = Math.max(0, Math.ceil((limit - start) / delta));
  else if (start !== 0 || delta !== 1) throw reader.unsupported('its bounds are computed');
  const end = g.reshape(g.sizeOf(limit), []);
  const begin = g.longs([start], []);
  g.op(
    'Range',
    [begin, end, g.longs([delta], [])],
    [size],
    {},
    { output: node.output, type: 'int64' },
  );
  return noGradient;
};

/** Repeats the whole along each axis. */
const tile: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const shape = g.shape(x);
  const repeats = context.constant(reader.input(1));
  if (repeats.length !== shape.length || repeats.some((count) => count < 1))
    throw reader.invalid('repeats', repeats, `${shape.length} counts of 1 or more`);
  const made = shape.map((size, axis) => {
    const count = repeats[axis] ?? 1;
    return typeof size === 'number' ? size * count : count === 1 ? size : `${size}*${count}`;
  });
  g.op('Tile', [x, g.integers(repeats)], made, {}, { output: node.output, type: g.type(x) });
  return (dy) => {
    const apart = shape.flatMap((size, axis) => [repeats[axis] ?? 1, size]);
    const axes = shape.map((_, axis) => 2 * axis);
    return [g.reduce('ReduceSum', g.reshape(dy, apart), axes, false), null];
  };
};

/** The rules of this file by operator. */
export const REPEAT_RULES: OpRules = {
  ConstantOfShape: constantOfShape,
  Expand: expand,
  Range: range,
  Tile: tile,
};
