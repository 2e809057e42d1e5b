/**
 * Batch and layer normalisation. They are emitted in parts, because the gradient needs the mean and the deviation, which
 * onnxruntime's own operators do not give on every provider.
 */
import { axisFromEnd, type GraphBuilder, type TensorShape } from './graph-builder.ts';
import { NodeReader, type OpRule } from './op-rule.ts';

type Normalised = {
  /** (x - mean) / deviation */
  readonly centred: string;
  /** 1 / sqrt(variance + epsilon) */
  readonly inverse: string;
  readonly mean: string;
  readonly variance: string;
};

/** Mean, population variance and what they make of `x`, over `axes`. */
function normalise(
  g: GraphBuilder,
  x: string,
  axes: readonly number[],
  epsilon: number,
): Normalised {
  const mean = g.reduce('ReduceMean', x, axes, true);
  const from = g.sub(x, mean);
  const variance = g.reduce('ReduceMean', g.mul(from, from), axes, true);
  const inverse = g.unary('Reciprocal', g.unary('Sqrt', g.add(variance, g.scalar(epsilon))));
  return { centred: g.mul(from, inverse), inverse, mean, variance };
}

/**
 * Ioffe and Szegedy, Batch Normalization, 2015, section 3, which holds for any axes: with n = centred and d the gradient
 * of n, dx = inverse (d - mean(d) - n mean(d n)).
 */
function throughNormalise(
  g: GraphBuilder,
  d: string,
  { centred, inverse }: Normalised,
  axes: readonly number[],
): string {
  const meanD = g.reduce('ReduceMean', d, axes, true);
  const meanDn = g.reduce('ReduceMean', g.mul(d, centred), axes, true);
  return g.mul(inverse, g.sub(g.sub(d, meanD), g.mul(centred, meanDn)));
}

/**
 * In training each channel is normalised by its own mean and variance over the batch, and the running ones move towards
 * these by 1 - momentum. In inference the running ones are used.
 */
const batchNormalization: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const [scale, bias, runningMean, runningVariance] = [1, 2, 3, 4].map((index) =>
    reader.input(index),
  );
  const epsilon = reader.number('epsilon', 1e-5);
  const momentum = reader.number('momentum', 0.9);
  if (
    scale === undefined ||
    bias === undefined ||
    runningMean === undefined ||
    runningVariance === undefined
  )
    throw reader.unsupported('inputs are missing');
  if (context.mode === 'inference') {
    g.op(
      'BatchNormalization',
      [x, scale, bias, runningMean, runningVariance],
      g.shape(x),
      // Of no use there; a program that trains the model further needs it.
      { epsilon: { float: epsilon }, momentum: { float: momentum } },
      { output: node.output },
    );
    return () => {
      throw reader.unsupported('it is part of an inference graph');
    };
  }
  const axes = g.shape(x).flatMap((_, axis) => (axis === 1 ? [] : [axis]));
  const [, channels = 1] = g.shape(x);
  const perChannel: TensorShape = g
    .shape(x)
    .map((_, axis) => (axis === 1 ? channels : 1))
    .slice(1);
  const normalised = normalise(g, x, axes, epsilon);
  const scaled = g.mul(normalised.centred, g.reshape(scale, perChannel));
  g.binary('Add', scaled, g.reshape(bias, perChannel), node.output);
  const moved = (running: string, current: string): string =>
    g.add(g.scale(running, momentum), g.scale(g.reshape(current, [channels]), 1 - momentum));
  context.setState(runningMean, moved(runningMean, normalised.mean));
  context.setState(runningVariance, moved(runningVariance, normalised.variance));
  return (dy, [wantsX, wantsScale, wantsBias]) => [
    wantsX === true
      ? throughNormalise(g, g.mul(dy, g.reshape(scale, perChannel)), normalised, axes)
      : null,
    wantsScale === true ? g.reduce('ReduceSum', g.mul(dy, normalised.centred), axes, false) : null,
    wantsBias === true ? g.reduce('ReduceSum', dy, axes, false) : null,
    null,
    null,
  ];
};

/** Each row is normalised over the axes from `axis` on: Ba, Kiros and Hinton, Layer Normalization, 2016. */
const layerNormalization: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const [x, scale, bias] = [reader.input(0), reader.input(1), reader.optionalInput(2)];
  const shape = g.shape(x);
  const first = axisFromEnd(reader.number('axis', -1), shape.length);
  const axes = shape.flatMap((_, axis) => (axis < first ? [] : [axis]));
  const normalised = normalise(g, x, axes, reader.number('epsilon', 1e-5));
  if (bias === undefined) g.binary('Mul', normalised.centred, scale, node.output);
  else g.binary('Add', g.mul(normalised.centred, scale), bias, node.output);
  return (dy, [wantsX, wantsScale, wantsBias]) => [
    wantsX === true ? throughNormalise(g, g.mul(dy, scale), normalised, axes) : null,
    wantsScale === true ? g.sumTo(g.mul(dy, normalised.centred), g.shape(scale)) : null,
    bias !== undefined && wantsBias === true ? g.sumTo(dy, g.shape(bias)) : null,
  ];
};

/** The rules of this file by operator. */
export const NORMALISATION_RULES: Readonly<Record<string, OpRule>> = {
  BatchNormalization: batchNormalization,
  LayerNormalization: layerNormalization,
};
