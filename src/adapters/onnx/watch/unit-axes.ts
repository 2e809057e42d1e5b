/** Along which axis a tensor of a model has its units: channels of images come first, features last. */
import type { OnnxDimension, OnnxNode } from '../file/onnx-format.ts';

/** Operators whose output is `[batch, channels, ...spatial]`. */
const CHANNELS_FIRST =
  /^(?:Conv|ConvTranspose|BatchNormalization|InstanceNormalization|GroupNormalization|.*Pool)$/;

/** Operators that leave every number, or every plane of numbers, where it is. */
const KEEPING: ReadonlySet<string> = new Set(
  `Abs Add BiasGelu Cast Ceil Celu Clip Concat DepthToSpace Div Dropout Elu Erf Exp Floor Gelu HardSigmoid HardSwish
  Identity LRN LeakyRelu Log LogSoftmax Max Mean MeanVarianceNormalization Min Mish Mul Neg PRelu Pad Pow QuickGelu
  Reciprocal Relu Resize Round Selu Shrink Sigmoid Sign Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Sub Sum
  Swish Tanh ThresholdedRelu Upsample Where`.split(/\s+/),
);

/** Names of the values whose channels come first, as far as the operators say. */
export function channelsFirst(nodes: readonly OnnxNode[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { opType, inputs, outputs } of nodes) {
    const isSo =
      CHANNELS_FIRST.test(opType) ||
      (KEEPING.has(opType) && inputs.some((name) => found.has(name)));
    if (isSo) for (const name of outputs) found.add(name);
  }
  return found;
}

/** The axis of a value's units: 1 where channels come first, and in stacks of planes; -1, the last, elsewhere. */
export function onnxUnitAxisOf(
  name: string,
  shape: readonly OnnxDimension[] | null,
  firsts: ReadonlySet<string>,
): 1 | -1 {
  return firsts.has(name) || (shape !== null && shape.length > 3) ? 1 : -1;
}
