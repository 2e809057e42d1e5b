/** What the values of a metric are: shares, percent, or a loss with or without a zero. */
import type { MetricSeries } from '../../columns/run-columns.ts';
import type { RoleUnit } from './role-types.ts';

/** A share is above 1 by its rounding at most. */
const ROUNDING = 1e-3;
/** Percent end here: what is above is a count. */
const MAX_PERCENT = 100 * (1 + ROUNDING);

/** Share of the values that may be below zero by noise. */
const MAX_STRAYS = 0.02;

/** Whether a series goes below zero, for more than a value now and then. */
export function goesBelowZero(values: Float64Array): boolean {
  let below = 0;
  for (const value of values) if (value < 0) below++;
  return below > MAX_STRAYS * values.length;
}

/** The unit of a loss or a reward. */
export function unitOfLoss({ values }: MetricSeries): RoleUnit {
  return goesBelowZero(values) ? 'signed' : 'nonnegative';
}

/** The unit of accuracies that were recorded together: percent as soon as one of them is no share. */
export function unitOfAccuracies(list: readonly MetricSeries[]): 'ratio' | 'percent' {
  const isPercent = list.some(
    ({ key, values }) => rangeOf(values).most > 1 + ROUNDING || /percent|pct/iu.test(key),
  );
  return isPercent ? 'percent' : 'ratio';
}

/** Whether values may be an accuracy at all: none below zero, and none above 100. */
export function isShare({ values }: MetricSeries): boolean {
  const { least, most } = rangeOf(values);
  return !(least < 0) && !(most > MAX_PERCENT);
}

/** An accuracy as shares of 1, for judging; what is stored stays as it is. */
export function asShares(series: MetricSeries, unit: RoleUnit): MetricSeries {
  return unit === 'percent'
    ? { ...series, values: series.values.map((value) => value / 100) }
    : series;
}

function rangeOf(values: Float64Array): { readonly least: number; readonly most: number } {
  let least = Infinity;
  let most = -Infinity;
  for (const value of values) {
    if (value - value !== 0) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return { least, most };
}
