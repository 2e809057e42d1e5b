/** Where a loss has plateaus, and whether that is for want of progress or because nothing is left to learn. */
import { firstAfter, firstAt } from '../columns/sorted-search.ts';
import type { PhaseSettings } from './thresholds.ts';
import { relativeTo, upperMedian, type Track } from './track.ts';

/** The loss that plateaus are found in. */
export type PlateauView = {
  readonly track: Track;
  /** Its levels, without spikes. */
  readonly levels: Float64Array;
  /** Whether every point counts by itself. */
  readonly isPointwise: boolean;
  /** Shortest plateau, as a distance on the axis. */
  readonly window: number;
};

/** A plateau: from `start` to before `end`, the end of the run being Infinity. */
export type Plateau = { readonly start: number; readonly end: number };

/** Whether the task is solved at a position: nothing is left to learn. */
export type IsSolved = (position: number) => boolean;

/** Share of the run over which a loss has to be flat: epoch-level, step-level. */
const PLATEAU_SHARE = { epoch: 0.1, step: 0.3 } as const;
/** The same in points, where each point counts: as many as this share of them, two at least. */
const PLATEAU_POINTS = 0.15;
/** Points of a validation from which on it says whether there is progress. */
const MIN_VAL_POINTS = 5;
/** Share of its first level at which a loss has no room left. */
const FLOOR_SHARE = 0.1;
/** Distance from its least level, as a share of its fall, up to which a loss is near it. */
const NEAR_SHARE = 0.05;
/** A span is no plateau, but slow progress, unless the loss moves at this share of its usual rate or less. */
const SLOWER = 2 / 3;

/**
 * In series of more than 20 points, validation is what counts, if there is one of five points or more: a model that only learns its
 * training data by heart makes no progress.
 */
export function plateauView(primary: Track, values: Float64Array, val: Track | null): PlateauView {
  const { regime } = primary.curve;
  if (regime === 'point') return { track: primary, levels: values, isPointwise: true, window: 0 };
  const window = PLATEAU_SHARE[regime] * primary.span;
  const isEnough =
    val !== null && val.curve.fitted.length >= MIN_VAL_POINTS && val.span >= primary.span / 2;
  return isEnough
    ? { track: val, levels: val.curve.fitted, isPointwise: false, window }
    : { track: primary, levels: values, isPointwise: false, window };
}

/**
 * Spans without progress from a position on, where fast learning is over. From point to point, every change is within
 * `stagnationMaxRelativeChange`, of training and of validation where both have a value. In longer series no value of the span is further
 * than half of that from its median, and the loss moves at two thirds of its usual rate at most.
 */
export function findPlateaus(
  view: PlateauView,
  val: Track | null,
  from: number,
  thresholds: PhaseSettings,
): readonly Plateau[] {
  return view.isPointwise
    ? pointPlateaus(view.track, view.levels, val, thresholds)
    : spanPlateaus(view, firstAt(view.track.curve.positions, from), thresholds);
}

function pointPlateaus(
  primary: Track,
  values: Float64Array,
  val: Track | null,
  thresholds: PhaseSettings,
): readonly Plateau[] {
  const { positions } = primary.curve;
  const limit = thresholds.stagnationMaxRelativeChange;
  const least = Math.max(values.length < 8 ? 1 : 2, Math.round(PLATEAU_POINTS * values.length));
  const isFlat = Array.from(values, (value, i) => {
    const before = values[i - 1];
    if (before === undefined) return false;
    if (Math.abs(relativeTo(primary, value - before, before)) > limit) return false;
    const change = changeAt(val, positions[i - 1] ?? 0, positions[i] ?? 0);
    return change === undefined || Math.abs(change) <= limit;
  });
  const found: Plateau[] = [];
  for (let i = 0; i < isFlat.length; i++) {
    if (isFlat[i] !== true) continue;
    let to = i;
    while (isFlat[to] === true) to++;
    if (to - i >= least) found.push({ start: positions[i] ?? 0, end: positions[to] ?? Infinity });
    i = to;
  }
  return found;
}

/** Relative change of the validation between two positions at which it has a value. */
function changeAt(val: Track | null, from: number, to: number): number | undefined {
  if (val === null) return undefined;
  const { fitted, positions } = val.curve;
  const i = firstAt(positions, from);
  const j = firstAt(positions, to);
  if (positions[i] !== from || positions[j] !== to) return undefined;
  return relativeTo(val, (fitted[j] ?? 0) - (fitted[i] ?? 0), fitted[i] ?? 0);
}

/** The longest span first, then the longest of what is left and does not touch it: two in a row would be slow progress. */
function spanPlateaus(
  { levels, track, window }: PlateauView,
  begin: number,
  thresholds: PhaseSettings,
): readonly Plateau[] {
  const { positions } = track.curve;
  const found: Plateau[] = [];
  const search = (from: number, to: number): void => {
    let best = { from, to: from, length: -1 };
    for (let i = from; i < to; i++) {
      const end = endOfPlateau(track, levels, i, to, thresholds);
      const length = (positions[end] ?? 0) - (positions[i] ?? 0);
      if (length > best.length) best = { from: i, to: end, length };
    }
    const start = positions[best.from] ?? 0;
    if (best.length < window || best.to - best.from < 2) return;
    const isFlat = isSlower(track, levels, begin, best, thresholds);
    const end = isFlat ? resumes(track, levels, best, to, thresholds) : best.to + 1;
    if (isFlat) found.push({ start, end: positions[end] ?? Infinity });
    search(from, firstAt(positions, start - window));
    search(firstAt(positions, (positions[end - 1] ?? 0) + window), to);
  };
  search(begin, levels.length);
  return found;
}

/** Index of the first point after a span that is better than it by more than the threshold: until then there was no progress. */
function resumes(
  track: Track,
  levels: Float64Array,
  span: { readonly from: number; readonly to: number },
  end: number,
  thresholds: PhaseSettings,
): number {
  const level = upperMedian(levels.subarray(span.from, span.to + 1));
  const room = roomFor(track);
  let next = span.to + 1;
  const isBetter = (value: number): boolean =>
    relativeTo(track, Math.max(0, level - value - room), level) >
    thresholds.stagnationMaxRelativeChange;
  while (next < end && !isBetter(levels[next] ?? 0)) next++;
  return next;
}

/**
 * Whether the loss moves clearly slower than on the whole since `begin`, or hardly at all on the whole. What noise may hide of a fall
 * counts as fallen: of few noisy values nobody can say that they are flat.
 */
function isSlower(
  track: Track,
  levels: Float64Array,
  begin: number,
  { from, to }: { readonly from: number; readonly to: number },
  thresholds: PhaseSettings,
): boolean {
  const { noise, positions, regime } = track.curve;
  const first = levels[begin] ?? 0;
  const all = first - levels.subarray(begin).reduce((low, value) => Math.min(low, value), Infinity);
  if (relativeTo(track, all, first) <= 2 * thresholds.stagnationMaxRelativeChange) return true;
  const hidden = regime === 'step' ? lineError(noise, to - from + 1) : 0;
  const inside = Math.abs((levels[to] ?? 0) - (levels[from] ?? 0)) + hidden;
  const length = (positions.at(-1) ?? 0) - (positions[begin] ?? 0);
  return inside * length <= SLOWER * all * ((positions[to] ?? 0) - (positions[from] ?? 0));
}

/** Index of the last point of a plateau since `from`. */
function endOfPlateau(
  track: Track,
  values: Float64Array,
  from: number,
  to: number,
  thresholds: PhaseSettings,
): number {
  const half = thresholds.stagnationMaxRelativeChange / 2;
  const room = roomFor(track);
  const level = values[from] ?? 0;
  let low = level;
  let high = level;
  const sorted: number[] = [];
  let end = from;
  for (let k = from; k < to; k++) {
    const value = values[k] ?? level;
    low = Math.min(low, value);
    high = Math.max(high, value);
    // Whatever the median is, values further apart than this cannot all be near it.
    if (relativeTo(track, Math.max(0, high - low - 2 * room), level) > 2 * half) break;
    sorted.splice(firstAfter(sorted, value), 0, value);
    const median = sorted[sorted.length >>> 1] ?? value;
    const furthest = Math.max(high - median, median - low) - room;
    if (relativeTo(track, Math.max(0, furthest), median) <= half) end = k;
  }
  return end;
}

/**
 * What noise does to a curve without progress: a moving median is off by about the noise, a line through a window of the shortest length by
 * twice the noise over the square root of its points, at its ends.
 */
function roomFor({ curve }: Track): number {
  const { fitted, noise, regime } = curve;
  return regime === 'step' ? (2 * noise) / Math.sqrt(PLATEAU_SHARE.step * fitted.length) : noise;
}

/** Standard error of what a line through some values of that noise falls by, from its first point to its last. */
function lineError(noise: number, points: number): number {
  return noise * Math.sqrt(12 / points);
}

/**
 * Whether a loss that has a plateau at a point has it because nothing is left: the accuracy says so, or the loss has fallen by nine
 * tenths, to near its least. Of a loss that goes below zero nobody knows where its floor is.
 */
export function isConverged(
  track: Track,
  values: Float64Array,
  i: number,
  isSolved: IsSolved,
): boolean {
  if (isSolved(track.curve.positions[i] ?? 0)) return true;
  if (!(track.drop > 0) || track.isSigned) return false;
  const value = values[i] ?? 0;
  const least = values.reduce((low, other) => Math.min(low, other), Infinity);
  if (least < 0 || value - least > NEAR_SHARE * track.drop) return false;
  // Of an error rate, a twentieth is what an accuracy of 0.95 leaves.
  return value <= (track.isRate ? 0.05 : FLOOR_SHARE * (least + track.drop));
}
