/** Where a loss is far above its best: for good, for a while, or for a moment only. */
import type { PhaseSettings } from './thresholds.ts';
import { upperMedian, relativeTo, type Track } from './track.ts';

/** A span of points above the best so far. */
export type Episode = {
  /** Index of the first point. */
  readonly from: number;
  /** Index after the last point. */
  readonly to: number;
  /** The best level before it. */
  readonly best: number;
  /** The highest level in it. */
  readonly peak: number;
  /** How often it is back at its best in between. */
  readonly returns: number;
};

/** What was found: `divergence` are phases, `events` spikes that came back. */
export type Excursions = {
  readonly divergence: readonly Episode[];
  readonly events: readonly Episode[];
};

/** Share of the fall so far that a rise is measured by at least: at the floor of a solved task nothing diverges. */
const RISE_FLOOR = 0.25;
/** Standard deviations by which the fall of a loss that goes below zero is one, and no wandering. */
const CLEAR_FALL = 10;
/** What rises of such a loss are measured by: its fall, or, where it wanders, what it usually ranges over. */
const FALLS = 2;
const USUAL_RANGES = 12;
/** A rise has to stand out of the noise of the curve by this many standard deviations. */
const NOISE_LIMIT = 4;
/** By half of them where it lasts for this share of the run, and to its end: a line through many points is less uncertain than one. */
const LASTING_SHARE = 0.5;
/** Share of the run that an excursion lasts before it is a phase, when the loss comes back. */
const MIN_SHARE = 0.1;
/** The same for one that begins with the run: training that settles. */
const MIN_SHARE_AT_START = 0.2;
/** Share of the run that an excursion at its end lasts at least, and points of a step-level curve; in a curve of points, one is enough. */
const MIN_FINAL_SHARE = 0.01;
const MIN_FINAL_POINTS = { epoch: 2, step: 5 } as const;
/** Share of a rise up to which a loss is at the foot of it. */
const FOOT_SHARE = 0.1;
/** What comes back more often than this goes up and down, and does not diverge. */
const MAX_RETURNS = 1;
/** Share of the run whose median is what was typical of it. */
const TYPICAL_SHARE = 0.05;
/** What a start is: this share of the run. */
const START_SHARE = 0.02;

/**
 * Excursions begin where the loss is at least `divergenceFromBestRatio` above its best and has risen by at least
 * `divergenceMinRelativeRegression` since it began to rise, relative to the best (to a quarter of its fall so far, where that is more).
 * They begin at the rise itself and end with the last point that is that high.
 */
export function findExcursions(track: Track, thresholds: PhaseSettings): Excursions {
  const lasting = lastingRise(track, thresholds);
  const single = [
    ...collect(track, NOISE_LIMIT, thresholds).filter(
      ({ to }) => to <= (lasting[0]?.from ?? Infinity),
    ),
    ...lasting,
  ];
  const all = mergeNear(track, single).flatMap((episode): readonly Episode[] => {
    const last = single.find(({ to }) => to === episode.to);
    return last !== undefined && risesForGood(track, episode, last)
      ? [{ ...episode, to: last.from }, last]
      : [episode];
  });
  const isPhase = all.map(
    (episode) => lasts(track, episode, thresholds) && isTypical(track, episode, thresholds),
  );
  return {
    divergence: all.filter((_, i) => isPhase[i]),
    events: all.filter((_, i) => !isPhase[i]),
  };
}

/** What a rise is measured by. Of a loss that goes below zero, what it ranged over before it began to rise, several times. */
function scaleOf(track: Track, best: number, high: number): number {
  if (track.isRate) return 1;
  if (!track.isSigned) return Math.max(Math.abs(best), RISE_FLOOR * (high - best));
  const isFallen = high - best > CLEAR_FALL * track.curve.noise;
  return isFallen ? FALLS * (high - best) : USUAL_RANGES * track.usual;
}

/** What is above its best for most of the run, whether or not each point of it stands out of the noise. */
function lastingRise(track: Track, thresholds: PhaseSettings): readonly Episode[] {
  const { fitted, regime } = track.curve;
  const last = collect(track, NOISE_LIMIT / 2, thresholds).at(-1);
  return regime === 'step' &&
    last?.to === fitted.length &&
    shareOf(track, last.from, last.to) >= LASTING_SHARE
    ? [last]
    : [];
}

/** Whether what goes up and down goes up at last, higher than ever before, and lasts. */
function risesForGood(track: Track, { from, returns }: Episode, last: Episode): boolean {
  const { fitted } = track.curve;
  return (
    returns > MAX_RETURNS &&
    shareOf(track, last.from, last.to) >= MIN_SHARE &&
    upperMedian(fitted.subarray(last.from, last.to)) > Math.max(...fitted.subarray(from, last.from))
  );
}

function collect(track: Track, limit: number, thresholds: PhaseSettings): readonly Episode[] {
  const { fitted, noise } = track.curve;
  const least = Math.max(
    thresholds.divergenceFromBestRatio,
    thresholds.divergenceMinRelativeRegression,
  );
  const episodes: Episode[] = [];
  let best = fitted[0] ?? 0;
  let high = best;
  let bestAt = 0;
  const isAbove = (value: number): boolean => {
    const rise = value - best;
    if (!(rise > limit * noise)) return false;
    return rise >= least * scaleOf(track, best, high) && rise > 0;
  };
  for (let i = 1; i < fitted.length; i++) {
    const value = fitted[i] ?? 0;
    if (value <= best) {
      best = value;
      bestAt = i;
    }
    if (!isAbove(value)) {
      if (episodes.length === 0) high = Math.max(high, value);
      continue;
    }
    let from = bestAt + 1;
    const foot = best + FOOT_SHARE * (value - best);
    for (let k = bestAt + 1; k < i; k++) if ((fitted[k] ?? 0) <= foot) from = k + 1;
    let to = i;
    let peak = value;
    while (to < fitted.length && isAbove(fitted[to] ?? 0)) peak = Math.max(peak, fitted[to++] ?? 0);
    episodes.push({ from, to, best, peak, returns: 0 });
    i = to - 1;
  }
  return episodes;
}

/**
 * Whether what is typical of an excursion is as high as that, against the best that a twentieth of the run before it was typically: of noise, the
 * lowest values are compared with the highest.
 */
function isTypical(
  track: Track,
  { from, returns, to }: Episode,
  thresholds: PhaseSettings,
): boolean {
  const { regime, values } = track.curve;
  if (regime === 'point') return true;
  if (returns > MAX_RETURNS) return false;
  const width = Math.max(3, Math.ceil(TYPICAL_SHARE * values.length));
  let best = Infinity;
  let high = -Infinity;
  for (let i = 0; i + width <= Math.max(from, width); i++) {
    const level = upperMedian(values.subarray(i, Math.min(i + width, Math.max(from, 1))));
    best = Math.min(best, level);
    high = Math.max(high, level);
  }
  const rise = upperMedian(values.subarray(from, to)) - best;
  const scale = scaleOf(track, best, high);
  return rise >= thresholds.divergenceMinRelativeRegression * scale && rise > 0;
}

/** Excursions with hardly anything between them are one. */
function mergeNear(track: Track, episodes: readonly Episode[]): readonly Episode[] {
  const merged: Episode[] = [];
  for (const episode of episodes) {
    const last = merged.at(-1);
    if (last !== undefined && shareOf(track, last.to, episode.from) < MIN_SHARE)
      merged[merged.length - 1] = {
        from: last.from,
        to: episode.to,
        best: Math.min(last.best, episode.best),
        peak: Math.max(last.peak, episode.peak),
        returns: last.returns + (comesBack(track, last, episode) ? 1 : 0),
      };
    else merged.push(episode);
  }
  return merged;
}

/** Whether the loss is back at its best between two excursions. */
function comesBack({ curve: { fitted } }: Track, first: Episode, second: Episode): boolean {
  const foot = first.best + FOOT_SHARE * (first.peak - first.best);
  return fitted.subarray(first.to, second.from).some((value) => value <= foot);
}

function lasts(track: Track, { from, to }: Episode, thresholds: PhaseSettings): boolean {
  const { fitted, regime } = track.curve;
  const share = shareOf(track, from, to);
  const isFinal = to === fitted.length;
  if (isFinal)
    return (
      regime === 'point' || (to - from >= MIN_FINAL_POINTS[regime] && share >= MIN_FINAL_SHARE)
    );
  const isAtStart =
    regime === 'step'
      ? shareOf(track, 0, from) <= START_SHARE
      : from <= thresholds.initializationPoints;
  return to - from >= 2 && share >= (isAtStart ? MIN_SHARE_AT_START : MIN_SHARE);
}

/** Share of the run from one point to before another, by their positions. */
function shareOf({ curve: { positions }, span }: Track, from: number, to: number): number {
  const end = positions[Math.min(to, positions.length - 1)] ?? 0;
  return span > 0 ? (end - (positions[from] ?? 0)) / span : 0;
}

/** The curve with a straight line in the place of each event. */
export function withoutEvents(track: Track, events: readonly Episode[]): Float64Array {
  const values = track.curve.fitted.slice();
  for (const { from, to } of events) {
    const before = values[from - 1] ?? values[to] ?? 0;
    const after = values[to] ?? before;
    for (let i = from; i < to; i++)
      values[i] = before + ((after - before) * (i - from + 1)) / (to - from + 1);
  }
  return values;
}

/** How far a peak is above the best, relative; see {@link findExcursions}. */
export function riseOf(track: Track, { best, peak }: Episode): number {
  return relativeTo(track, peak - best, best, RISE_FLOOR);
}
