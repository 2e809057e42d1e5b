/** What the two rules on the size of updates share. */
import type { ParameterSeries } from '../columns/run-columns.ts';
import { say } from '../text/sentences.ts';
import { observe, ofParameter } from './observe.ts';
import { saySpan, spanOfRows } from './positions.ts';
import { levelSize } from './profile.ts';
import type { Observation } from './rule-types.ts';
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

/** Fewest steps by which a run is one that was meant to learn something. */
const MIN_STEPS = 50;
/** Fewest snapshots after the first tenth. */
const MIN_PROBES = 3;

/**
 * How far updates of the typical size can have carried the weights in the whole run, as a share of their size: that of one update times the
 * number of steps, were all in one direction. NaN of a run that is short, or whose updates are not known.
 */
export function reachOf(signals: Signals): number {
  const all = updateRatios(signals, MIN_PROBES);
  const steps = Math.max(
    ...all.map(({ weight }) => (weight.steps.at(-1) ?? Number.NaN) - (weight.steps[0] ?? 0)),
  );
  return steps >= MIN_STEPS ? median(all.map(({ ratio }) => ratio)) * steps : Number.NaN;
}

/** Share of their size below which weights are where they began. */
const STOOD = 0.05;

/** Whether the weights cannot have moved: what the curves of the run do then is not what it learned. */
export function hasStood(signals: Signals): boolean {
  return reachOf(signals) < STOOD && !wasThrown(signals);
}

/** Whether updates threw the weights far off: small ones that follow say nothing. */
export function wasThrown(signals: Signals): boolean {
  return blows(signals, 1, 2).length > 0 || swept(signals, 0.1, 2).length > 0;
}

/** Standard error of a median over that of a mean, of normal values. */
const MEDIAN_ERROR = 1.2533;
/** Standard errors of a gain that is none of chance. */
const CLEAR_GAIN = 3;

/** Whether a curve that the run is judged by has lost this share of its start, beyond its noise; true where there is none. */
export function hasLearned(signals: Signals, share: number): boolean {
  if (signals.judged.length === 0) return true;
  return signals.judged.some((series) => {
    const course = signals.course(series);
    if (course === undefined) return true;
    const { end, profile, start } = course;
    const { levelNoise, levels } = profile;
    const [first, last] = [Math.ceil(levels.length / 20), Math.ceil(levels.length / 10)];
    const error = MEDIAN_ERROR * levelNoise * Math.sqrt(1 / first + 1 / last);
    const gain = start - end;
    return gain >= share * (levelSize(profile, start) || 1) && gain > CLEAR_GAIN * error;
  });
}

/** One weight as evidence. */
export function observeRatio(
  { ratio, start, weight }: UpdateRatio,
  threshold: number,
): Observation {
  const rows = [start, weight.steps.length - 1] as const;
  const span = saySpan(spanOfRows(weight, ...rows));
  const summary = `The typical update is ${say(ratio)} of the weights ${span}.`;
  return observe(ofParameter(weight), rows, summary, { observed: ratio, threshold });
}

/**
 * Weights that got updates as large as themselves, the worst first; those that begin as zeros, and the scales of normalisation, are left out.
 * One such update is a blow only where most weights got one, or where the loss has more than doubled since: a single weight may be small
 * by chance.
 */
export function blows(signals: Signals, limit: number, min: number): readonly UpdateRatio[] {
  const weights = matrices(signals).filter(({ valueNorm }) => (valueNorm[0] ?? 0) > 0);
  const hit = weights.flatMap((weight) => largeUpdates(weight, (ratio) => ratio >= limit) ?? []);
  const isWhole = hit.length >= 2 && 2 * hit.length > weights.length;
  const isThrown = signals.learnedSinceFirst <= -1;
  return hit
    .filter(({ count }) => isWhole || isThrown || count >= min)
    .toSorted((a, b) => b.ratio - a.ratio);
}

/** The large updates of a weight, with the largest for a ratio; undefined where it has none. */
function largeUpdates(
  weight: ParameterSeries,
  isLarge: (ratio: number) => boolean,
): UpdateRatio | undefined {
  const large = weight.updateRatio.filter((ratio) => Number.isFinite(ratio) && isLarge(ratio));
  if (large.length === 0) return undefined;
  const ratio = large.reduce((a, b) => Math.max(a, b));
  return { weight, ratio, start: weight.updateRatio.findIndex(isLarge), count: large.length };
}

/** Share of the weights that must be swept along: those that begin near zero, such as adapters, grow by large factors in good runs too. */
const SWEPT_SHARE = 0.75;
/** Snapshots of one weight with large updates; one is what the first step of many optimizers is. */
const SWEPT_PROBES = 2;

/**
 * Weights that updates above `limit` have carried to `growth` times their first size, the worst first: later updates look small beside what
 * the first ones have made of them. None unless nearly all weights went that way. `ratio` is the largest update.
 */
export function swept(signals: Signals, limit: number, growth: number): readonly UpdateRatio[] {
  const weights = matrices(signals);
  const hit = weights.flatMap((weight) => {
    const large = largeUpdates(weight, (ratio) => ratio > limit);
    return large !== undefined && large.count >= SWEPT_PROBES && grownBy(weight) >= growth
      ? [large]
      : [];
  });
  return hit.length >= SWEPT_SHARE * weights.length
    ? hit.toSorted((a, b) => grownBy(b.weight) - grownBy(a.weight))
    : [];
}

/** How many times its first norm the largest norm of a weight is; NaN where it began as zeros, or has left the range of numbers. */
export function grownBy({ valueNorm }: ParameterSeries): number {
  const first = valueNorm[0] ?? Number.NaN;
  const factor = valueNorm.reduce((a, b) => (b > a ? b : a), 0) / first;
  return first > 0 && Number.isFinite(factor) ? factor : Number.NaN;
}

/** Weights that are trained, without the scales of normalisation, of which there are as many as of biases. */
function matrices(signals: Signals): readonly ParameterSeries[] {
  const biases = signals.biasCounts;
  return signals.weights.filter(
    ({ elementCount, isFrozen, moduleName }) =>
      !isFrozen && elementCount[0] !== biases.get(moduleName),
  );
}
