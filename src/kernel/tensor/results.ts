/** From raw sums of statistics and of pairs to the result types, and the merging of results. */
import { invalidInput } from '../../base/errors.ts';
import type { StatsSettings } from './checks.ts';
import type { TensorPairStats, TensorStats } from '../kernel.ts';
import {
  PAIR_DIFFERENCE,
  PAIR_DOT,
  PAIR_FINITE,
  PAIR_FIRST,
  PAIR_SECOND,
  STATS_FINITE,
  STATS_L1,
  STATS_M2,
  STATS_MAX,
  STATS_MEAN,
  STATS_MIN,
  STATS_NAN,
  STATS_NEAR_ZERO,
  STATS_NEGATIVE_INFINITY,
  STATS_ORIGIN,
  STATS_POSITIVE_INFINITY,
  STATS_SATURATED,
  STATS_ZERO,
} from './layout.ts';

/** A statistics state (see layout.ts), slot by slot, as a result. */
export function statsFromSlots(
  elementCount: number,
  slots: Float64Array,
  settings: StatsSettings,
): TensorStats {
  const slot = (index: number): number => slots[index] ?? 0;
  const finiteCount = slot(STATS_FINITE);
  const hasFinite = finiteCount > 0;
  const mean = hasFinite ? slot(STATS_ORIGIN) + slot(STATS_MEAN) : Number.NaN;
  const variance = hasFinite ? slot(STATS_M2) / finiteCount : Number.NaN;
  const meanSquare = variance + mean * mean;
  const hasThreshold = settings.threshold !== null;
  return {
    elementCount,
    finiteCount,
    nanCount: slot(STATS_NAN),
    positiveInfinityCount: slot(STATS_POSITIVE_INFINITY),
    negativeInfinityCount: slot(STATS_NEGATIVE_INFINITY),
    zeroCount: slot(STATS_ZERO),
    mean,
    variance,
    std: Math.sqrt(variance),
    l1Norm: slot(STATS_L1),
    l2Norm: hasFinite ? Math.sqrt(meanSquare * finiteCount) : 0,
    rms: Math.sqrt(meanSquare),
    // + 0: the kernels do not keep the sign of a zero, so there is none.
    min: hasFinite ? slot(STATS_MIN) + 0 : Number.NaN,
    max: hasFinite ? slot(STATS_MAX) + 0 : Number.NaN,
    epsilon: settings.epsilon,
    nearZeroCount: slot(STATS_NEAR_ZERO),
    nearZeroRatio: slot(STATS_NEAR_ZERO) / finiteCount,
    threshold: settings.threshold,
    saturatedCount: hasThreshold ? slot(STATS_SATURATED) : null,
    saturatedRatio: hasThreshold ? slot(STATS_SATURATED) / finiteCount : null,
  };
}

/**
 * The statistics of the parts taken together: counts and extremes exactly, mean and variance by the pairwise update of Chan, Golub
 * and LeVeque, which adds at most 4 units in the last place (float64) a part.
 *
 * @param parts one or more, made with the same epsilon and threshold
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createKernels, mergeTensorStats } from 'quark-sdk/kernels';
 *
 * const kernels = await createKernels();
 * const parts = [[1, 2], [3, 6]].map((part) => kernels.inline.tensorStats(new Float32Array(part)));
 * const { elementCount, mean, max } = mergeTensorStats(parts);
 * console.log(elementCount, mean, max); // 4 3 6
 * await kernels.close();
 * ```
 */
export function mergeTensorStats(parts: readonly TensorStats[]): TensorStats {
  const [first, ...rest] = parts;
  if (first === undefined) throw invalidInput('parts', parts, 'one part or more');
  return rest.reduce(mergeTwoStats, first);
}

function mergeTwoStats(a: TensorStats, b: TensorStats): TensorStats {
  if (a.epsilon !== b.epsilon)
    throw invalidInput('parts.epsilon', b.epsilon, `the same in all parts (${a.epsilon})`);
  if (a.threshold !== b.threshold)
    throw invalidInput('parts.threshold', b.threshold, `the same in all parts (${a.threshold})`);
  const finiteCount = a.finiteCount + b.finiteCount;
  const nearZeroCount = a.nearZeroCount + b.nearZeroCount;
  const saturatedCount =
    a.saturatedCount === null || b.saturatedCount === null
      ? null
      : a.saturatedCount + b.saturatedCount;
  const l2Norm = Math.hypot(a.l2Norm, b.l2Norm);
  return {
    elementCount: a.elementCount + b.elementCount,
    finiteCount,
    nanCount: a.nanCount + b.nanCount,
    positiveInfinityCount: a.positiveInfinityCount + b.positiveInfinityCount,
    negativeInfinityCount: a.negativeInfinityCount + b.negativeInfinityCount,
    zeroCount: a.zeroCount + b.zeroCount,
    ...mergeMoments(a, b),
    l1Norm: a.l1Norm + b.l1Norm,
    l2Norm,
    rms: finiteCount > 0 ? l2Norm / Math.sqrt(finiteCount) : Number.NaN,
    epsilon: a.epsilon,
    nearZeroCount,
    nearZeroRatio: nearZeroCount / finiteCount,
    threshold: a.threshold,
    saturatedCount,
    saturatedRatio: saturatedCount === null ? null : saturatedCount / finiteCount,
  };
}

type Moments = Pick<TensorStats, 'mean' | 'variance' | 'std' | 'min' | 'max'>;

function mergeMoments(a: TensorStats, b: TensorStats): Moments {
  if (a.finiteCount === 0 || b.finiteCount === 0) {
    const { mean, variance, std, min, max } = a.finiteCount === 0 ? b : a;
    return { mean, variance, std, min, max };
  }
  const weight = b.finiteCount / (a.finiteCount + b.finiteCount);
  const delta = b.mean - a.mean;
  const variance =
    a.variance * (1 - weight) + b.variance * weight + delta * delta * weight * (1 - weight);
  return {
    mean: a.mean + delta * weight,
    variance,
    std: Math.sqrt(variance),
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
  };
}

/** The sums of a pair (see layout.ts), slot by slot, as a result. */
export function pairFromSlots(elementCount: number, slots: Float64Array): TensorPairStats {
  const slot = (index: number): number => slots[index] ?? 0;
  return pairResult(
    elementCount,
    slot(PAIR_FINITE),
    Math.sqrt(slot(PAIR_FIRST)),
    Math.sqrt(slot(PAIR_SECOND)),
    Math.sqrt(slot(PAIR_DIFFERENCE)),
    slot(PAIR_DOT),
  );
}

/**
 * The comparison of the parts taken together; norms are good to another 4 units in the last place (float64) a part.
 *
 * @param parts one or more
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createKernels, mergeTensorPairStats } from 'quark-sdk/kernels';
 *
 * const kernels = await createKernels();
 * const pair = (first, second) => kernels.inline.tensorPairStats(new Float32Array(first), new Float32Array(second));
 * const { firstNorm, differenceNorm, elementCount } = mergeTensorPairStats([pair([3, 0], [3, 1]), pair([0, 4], [0, 4])]);
 * console.log(firstNorm, differenceNorm, elementCount); // 5 1 4
 * await kernels.close();
 * ```
 */
export function mergeTensorPairStats(parts: readonly TensorPairStats[]): TensorPairStats {
  const [first, ...rest] = parts;
  if (first === undefined) throw invalidInput('parts', parts, 'one part or more');
  return rest.reduce(
    (a, b) =>
      pairResult(
        a.elementCount + b.elementCount,
        a.finiteCount + b.finiteCount,
        Math.hypot(a.firstNorm, b.firstNorm),
        Math.hypot(a.secondNorm, b.secondNorm),
        Math.hypot(a.differenceNorm, b.differenceNorm),
        a.dot + b.dot,
      ),
    first,
  );
}

function pairResult(
  elementCount: number,
  finiteCount: number,
  firstNorm: number,
  secondNorm: number,
  differenceNorm: number,
  dot: number,
): TensorPairStats {
  return {
    elementCount,
    finiteCount,
    firstNorm,
    secondNorm,
    differenceNorm,
    relativeDifference: differenceNorm / firstNorm,
    dot,
    // Divided one after the other, because the product of the norms may leave float64.
    cosine: Math.max(-1, Math.min(1, dot / firstNorm / secondNorm)),
  };
}
