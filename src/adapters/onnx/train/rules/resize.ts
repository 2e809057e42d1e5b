/**
 * Resizing of images. It is linear and goes axis by axis: along each, the output is a matrix times the input, and the gradient
 * that matrix turned round. The matrices follow ONNX's definition of Resize.
 */
import { axisFromEnd, type GraphBuilder, type TensorShape } from '../graph/graph-builder.ts';
import { NodeReader, type OpRule, type OpRuleContext } from '../graph/op-rule.ts';
import type { OpRules } from '../graph/tape.ts';

/** One axis that is resized. */
type ResizedAxis = {
  readonly axis: number;
  readonly input: number;
  readonly output: number;
  readonly scale: number;
};

/** How positions and weights are found. */
type Resampling = {
  readonly mode: string;
  readonly coordinates: string;
  readonly rounding: string;
  readonly cubic: number;
  readonly excludesOutside: boolean;
};

/** Numbers of the matrix of one axis: 64 MiB. */
const MAX_MATRIX = 2 ** 24;

const resize: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const shape = g.shape(x);
  const isEarly = node.op === 'Upsample' || node.inputs.length === 2;
  const how = resamplingOf(reader, isEarly);
  const { made, scales, sizes } = sizesOf(context, reader, shape, isEarly);
  const axes = shape.flatMap((input, axis): ResizedAxis[] => {
    const [output, scale = 1] = [made[axis], scales?.[axis]];
    if (output === input && (scales === undefined || scale === 1)) return [];
    if (typeof input !== 'number' || typeof output !== 'number')
      throw reader.unsupported('it resizes an axis whose size only a run decides');
    if (input * output > MAX_MATRIX) throw reader.unsupported('its sizes are too large');
    return [{ axis, input, output, scale: scales === undefined ? output / input : scale }];
  });
  if (axes.length === 0) {
    g.unary('Identity', x, {}, node.output);
    return (dy) => [dy];
  }
  const wanted =
    scales === undefined ? ['', sizes] : [g.floats(Float32Array.from(scales), [shape.length])];
  g.op('Resize', [x, '', ...wanted], made, attributesOf(how), { output: node.output });
  return (dy) => [
    axes.reduce((gradient, axis) => alongAxis(g, gradient, axis, matrixOf(axis, how)), dy),
  ];
};

function resamplingOf(reader: NodeReader, isEarly: boolean): Resampling {
  const mode = reader.text('mode', 'nearest');
  const coordinates = isEarly
    ? 'asymmetric'
    : reader.text('coordinate_transformation_mode', 'half_pixel');
  if (!['nearest', 'linear', 'cubic'].includes(mode))
    throw reader.unsupported(`its mode is "${mode}"`);
  if (!Object.hasOwn(COORDINATES, coordinates))
    throw reader.unsupported(`its coordinates are "${coordinates}"`);
  if (reader.number('antialias', 0) !== 0) throw reader.unsupported('antialias is set');
  for (const policy of ['not_larger', 'not_smaller'])
    if (reader.text('keep_aspect_ratio_policy', '') === policy)
      throw reader.unsupported(`its keep_aspect_ratio_policy is "${policy}"`);
  return {
    mode,
    coordinates,
    rounding: isEarly ? 'floor' : reader.text('nearest_mode', 'round_prefer_floor'),
    cubic: reader.number('cubic_coeff_a', -0.75),
    excludesOutside: reader.number('exclude_outside', 0) !== 0,
  };
}

const attributesOf = (how: Resampling): Parameters<GraphBuilder['op']>[3] => ({
  mode: how.mode,
  coordinate_transformation_mode: how.coordinates,
  nearest_mode: how.rounding,
  cubic_coeff_a: { float: how.cubic },
  exclude_outside: Number(how.excludesOutside),
});

/** The shape that is made, and the scales or the sizes that the file asks for. */
function sizesOf(
  context: OpRuleContext,
  reader: NodeReader,
  shape: TensorShape,
  isEarly: boolean,
): { made: TensorShape; scales?: readonly number[]; sizes: string } {
  const { g } = context;
  const named = reader.integers('axes')?.map((axis) => axisFromEnd(axis, shape.length));
  const spread = <T>(values: readonly T[], rest: readonly T[]): readonly T[] =>
    named === undefined ? values : rest.map((value, axis) => values[named.indexOf(axis)] ?? value);
  const input = reader.optionalInput(isEarly ? 1 : 2);
  const given =
    reader.floats('scales') ?? (input === undefined ? undefined : context.constant(input));
  if (given !== undefined && given.length > 0) {
    const scales = spread(
      given,
      shape.map(() => 1),
    );
    if (scales.length !== shape.length || scales.some((scale) => !(scale > 0)))
      throw reader.invalid('scales', scales, `${shape.length} numbers greater than 0`);
    const made = shape.map((size, axis) => {
      const scale = scales[axis] ?? 1;
      return typeof size === 'number' ? Math.floor(size * scale) : size;
    });
    return { made, scales, sizes: '' };
  }
  const made = spread(context.sizes(reader.input(3)), shape);
  const parts = made.map((size, axis) =>
    typeof size === 'number' ? g.integers([size]) : g.sizeAt(reader.input(0), axis),
  );
  return { made, sizes: g.concat(parts, 'int64') };
}

/** Where in the input an output position lies. */
const COORDINATES: Readonly<Record<string, (at: number, axis: ResizedAxis) => number>> = {
  align_corners: (at, { input, output }) => (output === 1 ? 0 : (at * (input - 1)) / (output - 1)),
  asymmetric: (at, { scale }) => at / scale,
  half_pixel: (at, { scale }) => (at + 0.5) / scale - 0.5,
  half_pixel_symmetric: (at, { input, output, scale }) => {
    const offset = (input / 2) * (1 - output / (scale * input));
    return offset + (at + 0.5) / scale - 0.5;
  },
  pytorch_half_pixel: (at, { output, scale }) => (output > 1 ? (at + 0.5) / scale - 0.5 : 0),
  tf_half_pixel_for_nn: (at, { scale }) => (at + 0.5) / scale,
};

const ROUNDINGS: Readonly<Record<string, (x: number) => number>> = {
  ceil: Math.ceil,
  floor: Math.floor,
  round_prefer_ceil: Math.round,
  round_prefer_floor: (x) => Math.ceil(x - 0.5),
};

/** Which inputs an output is made of, and with which weights; positions may lie outside. */
function taps(x: number, how: Resampling): readonly (readonly [at: number, weight: number])[] {
  if (how.mode === 'nearest') return [[(ROUNDINGS[how.rounding] ?? Math.round)(x), 1]];
  const first = Math.floor(x);
  const ratio = x - first;
  if (how.mode === 'linear')
    return [
      [first, 1 - ratio],
      [first + 1, ratio],
    ];
  return [-1, 0, 1, 2].map((step) => [
    first + step,
    cubicWeight(Math.abs(ratio - step), how.cubic),
  ]);
}

/** Keys, Cubic convolution interpolation for digital image processing, 1981. */
function cubicWeight(s: number, a: number): number {
  if (s <= 1) return ((a + 2) * s - (a + 3)) * s * s + 1;
  return s < 2 ? ((a * s - 5 * a) * s + 8 * a) * s - 4 * a : 0;
}

/** `[output, input]`, row-major. */
function matrixOf(axis: ResizedAxis, how: Resampling): Float32Array {
  const { input, output } = axis;
  const matrix = new Float32Array(output * input);
  const where = COORDINATES[how.coordinates];
  for (let row = 0; row < output; row += 1) {
    const found = taps(where?.(row, axis) ?? 0, how);
    const inside = found.filter(([at]) => at >= 0 && at < input);
    const isCut = how.excludesOutside && how.mode === 'cubic';
    const used = isCut ? inside : found;
    const total = isCut ? inside.reduce((sum, [, weight]) => sum + weight, 0) : 1;
    for (const [at, weight] of used) {
      const column = Math.min(Math.max(at, 0), input - 1);
      matrix[row * input + column] = (matrix[row * input + column] ?? 0) + weight / total;
    }
  }
  return matrix;
}

/** The gradient along one axis: times the matrix, from the output's size to the input's. */
function alongAxis(
  g: GraphBuilder,
  dy: string,
  { axis, input, output }: ResizedAxis,
  matrix: Float32Array,
): string {
  const shape = g.shape(dy);
  const made = shape.map((size, at) => (at === axis ? input : size));
  const right = g.floats(matrix, [output, input]);
  const last = shape.length - 1;
  if (axis === last) return g.op('MatMul', [dy, right], made);
  const order = shape.map((_, at) => (at === axis ? last : at === last ? axis : at));
  const turned = g.transpose(dy, order);
  const through = g.op(
    'MatMul',
    [turned, right],
    order.map((at) => made[at] ?? 1),
  );
  return g.transpose(through, order);
}

/** The rules of this file by operator. */
export const RESIZE_RULES: OpRules = { Resize: resize, Upsample: resize };
