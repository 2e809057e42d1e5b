/** What the two rules on the size of updates share. */
import type { ParameterSeries } from '../columns/run-columns.ts';
import { placeAt, sayRange } from './places.ts';
import { say, type Observation } from './rule.ts';
import type { Signals } from './signals.ts';
import { median } from './statistics.ts';

/** The typical update of one weight after the warm-up. */
export type UpdateRatio = {
  readonly weight: ParameterSeries;
  /** Median of update norm over value norm, of the rows from `start` on. */
  readonly ratio: number;
  readonly start: number;
  readonly count: number;
};

/** Of each weight that the optimizer has: how large its updates typically are, the first tenth of the snapshots left out. */
export function updateRatios(signals: Signals, minProbes: number): readonly UpdateRatio[] {
  return signals.weights
    .filter(({ isFrozen }) => !isFrozen)
    .map((weight) => {
      const { length } = weight.updateRatio;
      const start = Math.max(length > 1 ? 1 : 0, Math.floor(length / 10));
      const known = weight.updateRatio.subarray(start).filter((value) => Number.isFinite(value));
      return { weight, ratio: median(known), start, count: known.length };
    })
    .filter(({ count }) => count >= minProbes);
}

/** One weight as evidence. */
export function observeRatio(
  { ratio, start, weight }: UpdateRatio,
  threshold: number,
): Observation {
  const from = placeAt(weight, start);
  const to = placeAt(weight, weight.steps.length - 1);
  return {
    kind: 'parameter_summary',
    source: weight.parameterName,
    summary: `The typical update is ${say(ratio)} of the weights ${sayRange(from, to)}.`,
    observed: ratio,
    threshold,
    from,
    to,
  };
}

/**
 * Weights that got updates as large as themselves, the worst first; those that begin as zeros are left out. One such update is a
 * blow only where all weights got one: a single weight may be small by chance.
 */
export function blows(signals: Signals, limit: number, min: number): readonly UpdateRatio[] {
  const weights = signals.weights.filter(
    ({ isFrozen, valueNorm }) => !isFrozen && (valueNorm[0] ?? 0) > 0,
  );
  const hit = weights.flatMap((weight): UpdateRatio[] => {
    const hard = weight.updateRatio.filter((ratio) => Number.isFinite(ratio) && ratio >= limit);
    if (hard.length === 0) return [];
    const start = weight.updateRatio.findIndex((ratio) => ratio >= limit);
    return [{ weight, ratio: hard.reduce((a, b) => Math.max(a, b)), start, count: hard.length }];
  });
  const isWhole = hit.length >= 2 && hit.length === weights.length;
  return hit.filter(({ count }) => isWhole || count >= min).toSorted((a, b) => b.ratio - a.ratio);
}
