/** Statistics as a list of numbers, and back. */
import type { TensorStats } from '../kernel.ts';

/** How many there are. */
export const STATS_NUMBERS = 18;

/** Statistics as numbers; the settings they were made with are not among them. */
export function statsNumbers(stats: TensorStats): readonly number[] {
  return [
    stats.elementCount,
    stats.finiteCount,
    stats.nanCount,
    stats.positiveInfinityCount,
    stats.negativeInfinityCount,
    stats.zeroCount,
    stats.mean,
    stats.variance,
    stats.std,
    stats.l1Norm,
    stats.l2Norm,
    stats.rms,
    stats.min,
    stats.max,
    stats.nearZeroCount,
    stats.nearZeroRatio,
    stats.saturatedCount ?? Number.NaN,
    stats.saturatedRatio ?? Number.NaN,
  ];
}

/** Statistics of numbers that were written, made with these settings. */
export function readStats(
  out: Float64Array,
  epsilon: number,
  threshold: number | null,
): TensorStats {
  const at = (index: number): number => out[index] ?? 0;
  return {
    elementCount: at(0),
    finiteCount: at(1),
    nanCount: at(2),
    positiveInfinityCount: at(3),
    negativeInfinityCount: at(4),
    zeroCount: at(5),
    mean: at(6),
    variance: at(7),
    std: at(8),
    l1Norm: at(9),
    l2Norm: at(10),
    rms: at(11),
    min: at(12),
    max: at(13),
    epsilon,
    nearZeroCount: at(14),
    nearZeroRatio: at(15),
    threshold,
    saturatedCount: threshold === null ? null : at(16),
    saturatedRatio: threshold === null ? null : at(17),
  };
}
