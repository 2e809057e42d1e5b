/**
 * Normalisations. They are emitted in parts, because the gradient needs the mean and the deviation, which
 * onnxruntime's own operators do not give on every provider.
 */
import {
  axisFromEnd,
  elementCount,
  type GraphBuilder,
  type TensorShape,
} from '../graph/graph-builder.ts';
import { NodeReader, type OpRule } from '../graph/op-rule.ts';
import { composed, type OpRules } from '../graph/tape.ts';
import { ACTIVATION_RULES } from './activations.ts';
import { ARITHMETIC_RULES } from './arithmetic.ts';
import { LAYOUT_RULES } from './layout.ts';
import { PADDING_RULES } from './padding.ts';
import { REDUCTION_RULES } from './reductions.ts';

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

/**
 * Each sample's channels, one by one or in groups, are normalised over all their positions: Ulyanov and others, Instance
 * Normalization, 2016; Wu and He, Group Normalization, 2018. Scale and bias are of a channel, or of a group (operator set 18).
 */
function channelNormalization(groupsOf: (reader: NodeReader, channels: number) => number): OpRule {
  return ({ g }, node) => {
    const reader = new NodeReader(node);
    const [x, scale, bias] = [reader.input(0), reader.input(1), reader.input(2)];
    const shape = g.shape(x);
    const [batch = 1, channels] = shape;
    const positions = elementCount(shape.slice(2));
    if (typeof channels !== 'number' || positions === undefined)
      throw reader.unsupported('its sizes are not all known');
    const groups = groupsOf(reader, channels);
    const apart: TensorShape = [batch, groups, (channels / groups) * positions];
    const normalised = normalise(g, g.reshape(x, apart), [2], reader.number('epsilon', 1e-5));
    const ofGroups = g.shape(scale)[0] === groups && groups !== channels;
    const wide: TensorShape = ofGroups ? apart : [batch, channels, positions];
    const per: TensorShape = [1, ofGroups ? groups : channels, 1];
    const centred = g.reshape(normalised.centred, wide);
    const scaled = g.mul(centred, g.reshape(scale, per));
    g.reshape(g.add(scaled, g.reshape(bias, per)), shape, node.output);
    return (dy, [wantsX, wantsScale, wantsBias]) => {
      const d = g.reshape(dy, wide);
      const inner = (): string => g.reshape(g.mul(d, g.reshape(scale, per)), apart);
      return [
        wantsX === true ? g.reshape(throughNormalise(g, inner(), normalised, [2]), shape) : null,
        wantsScale === true ? g.reduce('ReduceSum', g.mul(d, centred), [0, 2], false) : null,
        wantsBias === true ? g.reduce('ReduceSum', d, [0, 2], false) : null,
      ];
    };
  };
}

const PARTS: OpRules = {
  ...ARITHMETIC_RULES,
  ...REDUCTION_RULES,
  ...LAYOUT_RULES,
  ...PADDING_RULES,
  ...ACTIVATION_RULES,
};

/** Divided by the root of the mean square: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019. */
const rmsNormalization: OpRule = composed(PARTS, (tape, { g }, node) => {
  const reader = new NodeReader(node);
  const [x, scale] = [reader.input(0), reader.input(1)];
  const rank = g.shape(x).length;
  const first = axisFromEnd(reader.number('axis', -1), rank);
  const axes = Array.from({ length: rank - first }, (_, i) => first + i);
  const square = tape.op('ReduceMean', [tape.op('Mul', [x, x])], { axes, keepdims: 1 });
  const epsilon = g.scalar(reader.number('epsilon', 1e-5));
  const root = tape.op('Sqrt', [tape.op('Add', [square, epsilon])]);
  return [tape.op('Mul', [tape.op('Div', [x, root]), scale])];
});

/** Divided by the norm along an axis. */
const lpNormalization: OpRule = composed(PARTS, (tape, { g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const axes = [axisFromEnd(reader.number('axis', -1), g.shape(x).length)];
  const norm = reader.number('p', 2) === 1 ? 'ReduceL1' : 'ReduceL2';
  return [tape.op('Div', [x, tape.op(norm, [x], { axes, keepdims: 1 })])];
});

/** Over all of the batch and its positions, without weights. */
const meanVarianceNormalization: OpRule = composed(PARTS, (tape, { g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const axes = (reader.integers('axes') ?? [0, 2, 3]).map((axis) =>
    axisFromEnd(axis, g.shape(x).length),
  );
  const from = tape.op('Sub', [x, tape.op('ReduceMean', [x], { axes, keepdims: 1 })]);
  const variance = tape.op('ReduceMean', [tape.op('Mul', [from, from])], { axes, keepdims: 1 });
  return [tape.op('Div', [from, tape.op('Add', [tape.op('Sqrt', [variance]), g.scalar(1e-9)])])];
});

/** Divided by a power of the squares of neighbouring channels: Krizhevsky and others, ImageNet Classification, 2012. */
const lrn: OpRule = composed(PARTS, (tape, { g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const shape = g.shape(x);
  const [, channels] = shape;
  const size = reader.number('size', 1);
  if (typeof channels !== 'number') throw reader.unsupported('its channels are not known');
  const before = Math.floor((size - 1) / 2);
  const pads = [0, before, ...shape.slice(2).map(() => 0), 0, size - 1 - before];
  const square = tape.op('Pad', [tape.op('Mul', [x, x])], {
    pads: [...pads, ...shape.slice(2).map(() => 0)],
  });
  const neighbours = Array.from({ length: size }, (_, i) =>
    tape.op('Slice', [square], { starts: [i], ends: [i + channels], axes: [1] }),
  );
  const sum = tape.op('Sum', neighbours);
  const share = g.scalar(reader.number('alpha', 1e-4) / size);
  const base = tape.op('Add', [tape.op('Mul', [sum, share]), g.scalar(reader.number('bias', 1))]);
  const power = tape.op('Exp', [
    tape.op('Mul', [tape.op('Log', [base]), g.scalar(-reader.number('beta', 0.75))]),
  ]);
  return [tape.op('Mul', [x, power])];
});

/** The rules of this file by operator. */
export const NORMALISATION_RULES: OpRules = {
  BatchNormalization: batchNormalization,
  GroupNormalization: channelNormalization((reader) => reader.number('num_groups', 1)),
  InstanceNormalization: channelNormalization((_reader, channels) => channels),
  LRN: lrn,
  LayerNormalization: layerNormalization,
  LpNormalization: lpNormalization,
  MeanVarianceNormalization: meanVarianceNormalization,
  RMSNormalization: rmsNormalization,
  SimplifiedLayerNormalization: rmsNormalization,
};
