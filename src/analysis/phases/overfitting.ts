/** Where validation gets worse while training goes on falling. */
import { indexAtOrBefore } from '../columns/sorted-search.ts';
import { noiseOf } from '../signals/profile.ts';
import type { PhaseSettings } from './thresholds.ts';
import { turnsOf } from '../signals/robust-curve.ts';
import { upperMedian, relativeTo, type Track } from './track.ts';

/** A span of the run in which the model learns its training data by heart. */
export type Overfitting = {
  /** First position. */
  readonly start: number;
  /** Position of the next validation that is better than the best before; Infinity when none is. */
  readonly until: number;
  /** The best validation loss before it. */
  readonly best: number;
  readonly bestAt: number;
  /** The typical regression, the typical gap and the fall of the training loss, as they are compared with the thresholds. */
  readonly regression: number;
  readonly gap: number;
  /** Whether validation lay below training at its best and no longer does: the gap is how far they have parted since. */
  readonly isParting: boolean;
  readonly trainFall: number;
};

/** Share of the run that it lasts at least. */
const MIN_SHARE = 0.1;
/** A regression has to stand out of the noise of the validation by this many standard deviations. */
const NOISE_LIMIT = 2;
/** Validations that it lasts at least: a lone one that is worse is an event. */
const MIN_POINTS = 2;
/** Validations that noise is told from. */
const MIN_FOR_NOISE = 5;

/**
 * Spans that begin with the first validation which is `overfittingMinValidationRegression` above the best before it, and end with the next
 * that is better than that best, two validations later at least. Over the span the median regression must hold and stand out of the noise, the training loss must have fallen by
 * `overfittingMinTrainRelativeChange` since the best, and the median gap must be `overfittingMinGap` of the validation loss, counted from
 * where it was at the best, if validation lay below training there and no longer does.
 */
export function findOverfitting(
  train: Track,
  val: Track,
  thresholds: PhaseSettings,
): readonly Overfitting[] {
  const { fitted, positions } = val.curve;
  const found: Overfitting[] = [];
  let bestAt = 0;
  for (let i = 1; i < fitted.length; i++) {
    const best = fitted[bestAt] ?? 0;
    if ((fitted[i] ?? 0) <= best) {
      bestAt = i;
      continue;
    }
    const isWorse = (k: number): boolean =>
      regressionAt(val, k, best) >= thresholds.overfittingMinValidationRegression;
    if (!isWorse(i)) continue;
    let to = i;
    while (to < fitted.length && (fitted[to] ?? 0) > best) to++;
    const one =
      to - i < MIN_POINTS ? undefined : judge({ train, val }, [i, to], bestAt, thresholds);
    if (one !== undefined) found.push(one);
    i = to - 1;
  }
  const last = positions.at(-1) ?? 0;
  const least = MIN_SHARE * (val.span || last);
  return found.filter(({ start, until }) => Math.min(until, last) - start >= least);
}

function judge(
  { train, val }: { readonly train: Track; readonly val: Track },
  [from, to]: readonly [from: number, to: number],
  bestAt: number,
  thresholds: PhaseSettings,
): Overfitting | undefined {
  const { fitted, positions } = val.curve;
  const best = fitted[bestAt] ?? 0;
  const inside = positions.subarray(from, to);
  const rises = Array.from(fitted.subarray(from, to), (value) => value - best);
  const rise = upperMedian(rises);
  const regression = relativeTo(val, rise, best);
  const trainAt = (position: number): number => {
    const { curve } = train;
    return curve.fitted[Math.max(0, indexAtOrBefore(curve.positions, position))] ?? 0;
  };
  const before = trainAt(positions[bestAt] ?? 0);
  const after = Array.from(inside, trainAt).reduce(
    (least, value) => Math.min(least, value),
    before,
  );
  const trainFall = relativeTo(train, before - after, before);
  // Where training is the harder task (dropout, augmentation), its loss lies above validation. If that is overtaken, the gap counts from there.
  const isOvertaken = (fitted[to - 1] ?? 0) >= trainAt(positions[to - 1] ?? 0);
  const offset = isOvertaken ? Math.min(0, best - before) : 0;
  const gaps = Array.from(inside, (position, i) => {
    const value = fitted[from + i] ?? 0;
    return relativeTo(val, value - trainAt(position) - offset, value);
  });
  const gap = upperMedian(gaps);
  const holds =
    regression >= thresholds.overfittingMinValidationRegression &&
    rise > NOISE_LIMIT * noiseSince(val, bestAt) &&
    trainFall >= thresholds.overfittingMinTrainRelativeChange &&
    gap >= thresholds.overfittingMinGap;
  if (!holds) return undefined;
  return {
    start: positions[from] ?? 0,
    until: positions[to] ?? Infinity,
    best,
    bestAt: positions[bestAt] ?? 0,
    regression,
    gap,
    isParting: offset < 0,
    trainFall,
  };
}

/** The noise of validation from its best on: none where it only turns there. */
function noiseSince({ curve: { noise, values } }: Track, bestAt: number): number {
  const rest = values.subarray(Math.min(bestAt, Math.max(0, values.length - MIN_FOR_NOISE)));
  return turnsOf(rest) > 1 ? Math.max(noise, noiseOf(rest)) : noise;
}

function regressionAt(val: Track, i: number, best: number): number {
  return relativeTo(val, (val.curve.fitted[i] ?? 0) - best, best);
}
