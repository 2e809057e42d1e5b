/** Statistics as a list of numbers, and back. */
import type { TensorStats } from '../kernel.ts';
import type { TensorHistogram, TensorSummary } from './summaries.ts';

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

/** The summary of numbers that begin at `at`: that of the statistics, without an object for them. */
export function summaryOfNumbers(
  out: Float64Array,
  at: number,
  hasThreshold: boolean,
  deadUnits: Uint8Array | null,
  histogram: TensorHistogram | null,
): TensorSummary {
  const elementCount = out[at] ?? 0;
  const finiteCount = out[at + 1] ?? 0;
  const known = (index: number): number | null => (finiteCount > 0 ? (out[at + index] ?? 0) : null);
  return {
    elementCount,
    nonFiniteCount: elementCount - finiteCount,
    mean: known(6),
    variance: known(7),
    std: known(8),
    l2Norm: out[at + 10] ?? 0,
    min: known(12),
    max: known(13),
    nearZeroRatio: known(15),
    saturatedRatio: hasThreshold ? known(17) : null,
    deadUnits,
    histogram,
  };
}
