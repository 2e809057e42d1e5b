/** How a loss falls: where it starts to, where most of it is done, where its plateaus are. */
import type { PhaseName } from '../../records/literals.ts';
import { firstAt } from '../columns/sorted-search.ts';
import type { PhaseSettings } from './thresholds.ts';
import { relativeTo, type Track } from './track.ts';

/** A span of a run without divergence. */
export type Leg = {
  /** Index of the first point, and after the last. */
  readonly from: number;
  readonly to: number;
  /** Points of an epoch-level series that are initialization; 0 where the run does not start here. */
  readonly firstPoints: number;
};

/** Share of its fall by which a loss has left where it was. */
const LEFT_SHARE = 0.05;
/** Share of its fall at which the steep part of the start is over. */
const STEEP_SHARE = 0.5;
/** Share of the run that initialization takes at most once the loss falls, in a step-level series. */
const INIT_SHARE = 0.02;
/** Share of the run that a loss may stay where it was before it counts as stuck. */
const STUCK_SHARE = 0.1;
/** Standard deviations of the noise that a loss has to fall by: between lines through many points, between points. */
const LINE_NOISE = 1;
const POINT_NOISE = 2;
/** Points, mostly noise, that a step-level series has to stay there: fewer say nothing. */
const MIN_STUCK_POINTS = 20;
/** How far the curve is below its chord at the knee at least, as a share of the box around it. */
const MIN_KNEE = 0.25;
/** Points from which on a curve can have a knee. */
const MIN_KNEE_POINTS = 10;
/** Share of the run over which a fall is held against the threshold of rapid learning. */
const RATE_SHARE = 0.05;

/** Names the points of a leg: `stagnation` only where the loss has not begun to fall, see `plateaus.ts` for the rest. */
export function labelLeg(
  track: Track,
  values: Float64Array,
  leg: Leg,
  thresholds: PhaseSettings,
  labels: PhaseName[],
): void {
  labels.fill('stabilization', leg.from, leg.to);
  const { begin, left, origin } = beginOf(track, values, leg, thresholds);
  const knee = endOfSteep(track, values, origin, leg.to, thresholds);
  const isStuck =
    spanOf(track, begin, left) > STUCK_SHARE * track.span &&
    (track.curve.regime !== 'step' || left - begin >= MIN_STUCK_POINTS);
  labels.fill('initialization_adaptation', leg.from, begin);
  if (track.curve.regime === 'point') {
    for (let i = Math.max(1, begin); i < leg.to; i++)
      if (isRapid(track, values, i, thresholds)) labels[i] = 'rapid_learning';
    if (knee > left) labels.fill('rapid_learning', begin, knee);
    return;
  }
  const end = Math.max(knee, endOfRate(track, values, left, leg.to, thresholds));
  if (isStuck) labels.fill('stagnation', begin, left);
  // What leads into the fall without a plateau is part of it.
  if (end > left) labels.fill('rapid_learning', isStuck ? left : begin, end);
}

/** Whether the fall from one point to the next reaches the threshold. */
function isRapid(
  track: Track,
  values: Float64Array,
  i: number,
  thresholds: PhaseSettings,
): boolean {
  const before = values[i - 1] ?? 0;
  const fall = relativeTo(track, before - (values[i] ?? 0), before);
  return fall >= thresholds.rapidLearningMinRelativeChange;
}

type Begin = {
  /** Index of the first point after initialization. */
  readonly begin: number;
  /** Index of the first point, after initialization, that has left the level of the start. */
  readonly left: number;
  /** Index of the last point on the level of the start. */
  readonly origin: number;
};

function beginOf(
  track: Track,
  values: Float64Array,
  { from, to, firstPoints }: Leg,
  thresholds: PhaseSettings,
): Begin {
  const { noise, positions, regime } = track.curve;
  const start = positions[from] ?? 0;
  const early = Math.max(from + 1, firstAt(positions, start + INIT_SHARE * track.span));
  let top = from;
  for (let i = from; i < Math.min(early, to); i++)
    if ((values[i] ?? 0) > (values[top] ?? 0)) top = i;
  let least = values[top] ?? 0;
  for (let i = top; i < to; i++) least = Math.min(least, values[i] ?? 0);
  const high = values[top] ?? 0;
  const hasFall =
    relativeTo(track, high - least, high) > thresholds.stagnationMaxRelativeChange &&
    high - least > (regime === 'step' ? LINE_NOISE : POINT_NOISE) * noise;
  const middle = high - STEEP_SHARE * (high - least);
  let half = hasFall ? top : to;
  while (half < to && (values[half] ?? 0) > middle) half++;
  // Seen from the middle of the fall: before it, noise may dip.
  let leaves = half;
  while (leaves > top + 1 && (values[leaves - 1] ?? 0) <= high - LEFT_SHARE * (high - least))
    leaves--;
  if (!hasFall) leaves = to;
  const origin = Math.max(from, leaves - 1);
  if (firstPoints === 0) return { begin: from, left: leaves, origin };
  if (regime !== 'step') {
    const begin = Math.min(to, from + firstPoints);
    return { begin, left: Math.max(begin, leaves), origin };
  }
  if (!hasFall || spanOf(track, from, leaves) > STUCK_SHARE * track.span)
    return { begin: Math.min(early, to), left: Math.max(early, leaves), origin };
  const latest = firstAt(positions, (positions[leaves] ?? start) + INIT_SHARE * track.span);
  const begin = Math.max(from + 1, leaves, Math.min(half, latest));
  return { begin: Math.min(begin, to), left: begin, origin };
}

/**
 * Index after the last point of the steep part of a curve: the knee, where the curve is furthest below the straight line from its first to its
 * last point, both axes as shares (Satopää, Albrecht, Irwin and Raghavan 2011), or the lowest point where the curve has no knee, as it falls
 * undiminished. `from` where the fall up to there is too small.
 */
function endOfSteep(
  track: Track,
  values: Float64Array,
  from: number,
  to: number,
  thresholds: PhaseSettings,
): number {
  if (to - from < MIN_KNEE_POINTS) return from;
  let least = from;
  for (let i = from; i < to; i++) if ((values[i] ?? 0) < (values[least] ?? 0)) least = i;
  const first = values[from] ?? 0;
  const fall = first - (values[least] ?? 0);
  const length = spanOf(track, from, to - 1);
  if (!(fall > 0 && length > 0)) return from;
  const bend = (i: number): number =>
    (first - (values[i] ?? 0)) / fall - spanOf(track, from, i) / length;
  let sharpest = 0;
  for (let i = from; i <= least; i++) sharpest = Math.max(sharpest, bend(i));
  let end = least;
  if (sharpest >= MIN_KNEE) {
    end = from;
    while (bend(end) < sharpest) end++;
  }
  const fallToEnd = relativeTo(track, first - (values[end] ?? 0), first);
  return fallToEnd >= thresholds.rapidLearningMinRelativeChange ? end + 1 : from;
}

/** Index after the last point of the start of a leg over which the loss falls fast enough, seen over a twentieth of the run. */
function endOfRate(
  track: Track,
  values: Float64Array,
  from: number,
  to: number,
  thresholds: PhaseSettings,
): number {
  const { positions } = track.curve;
  let least = from;
  for (let i = from; i < to; i++) if ((values[i] ?? 0) < (values[least] ?? 0)) least = i;
  const isPastMiddle = (i: number): boolean => {
    const [first, low] = [values[from] ?? 0, values[least] ?? 0];
    return (values[i] ?? 0) <= first - STEEP_SHARE * (first - low);
  };
  let end = from;
  for (let i = from + 1; i < to; i++) {
    const back = firstAt(positions, (positions[i] ?? 0) - RATE_SHARE * track.span);
    // At the start of the leg a window may be shorter, but never without a point before.
    const j = Math.max(from, Math.min(back, i - 1));
    const before = values[j] ?? 0;
    const fall = relativeTo(track, before - (values[i] ?? 0), before);
    if (fall >= thresholds.rapidLearningMinRelativeChange) end = i + 1;
    // A fall that begins slowly is sought until half of it is done.
    else if (spanOf(track, end, i) > RATE_SHARE * track.span && (end > from || isPastMiddle(i)))
      break;
  }
  return end;
}

function spanOf({ curve: { positions } }: Track, from: number, to: number): number {
  const last = positions.length - 1;
  return (positions[Math.min(to, last)] ?? 0) - (positions[Math.min(from, last)] ?? 0);
}
