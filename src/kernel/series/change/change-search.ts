/** The search for change points over an engine: what to reduce, what to solve, where to look closer. */
import type { ChangePoints, ChangeSettings } from './change.ts';
import { estimateNoise } from './change-noise.ts';
import { fitBounded, fitLines, fitMeans } from './change-fit.ts';
import { searchLines } from './change-lines.ts';

/** A partition of items: the first item of each segment, from 0 on, and its level. */
export type ItemSegments = {
  readonly starts: Uint32Array;
  readonly levels: Float64Array;
  readonly isExact: boolean;
  /** Steps over pieces that it took. */
  readonly work: number;
};

/** What a search is to minimise. */
export type Goal = {
  readonly penalty: number;
  /** Most that one point costs. */
  readonly bound: number;
  /** Fewest points of a segment. */
  readonly least: number;
  /** Steps over pieces after which candidates are given up. */
  readonly work: number;
};

/** The heavy parts, over points that are finite, around 0 and at most 4 in magnitude. Runs and items are given by where they start. */
export interface ChangeEngine {
  readonly count: number;
  /** The points. Valid until the next call of another method. */
  points(): Float64Array;
  /** Runs of up to `block` points in which nothing stands out by `limit`; undefined when they are more than `most`. */
  grid(block: number, limit: number, most: number): Uint32Array | undefined;
  /** Weight, mean and sum of squared deviations of each run, three numbers a run. */
  items(starts: Uint32Array): Float64Array;
  /** The best segments of the mean. */
  mean(starts: Uint32Array, goal: Goal): ItemSegments;
  /** Mean, slope and sum of squared residuals of each run, three numbers a run. */
  lineItems(starts: Uint32Array): Float64Array;
  /** The best segments of lines: the first item of each. `goal.bound` and `goal.work` have no meaning here. */
  lines(starts: Uint32Array, goal: Goal): ItemSegments;
}

/** Points ready for the search, and how to undo that: value = (point + centre) / scale. */
export type ReadyPoints = {
  readonly engine: ChangeEngine;
  readonly scale: number;
  readonly centre: number;
  /** Least and greatest point. */
  readonly low: number;
  readonly high: number;
  /** Index of each point among the values, where some were passed over. */
  readonly origin: Uint32Array | undefined;
};

/** Segments as the search leaves them: the first point of each, and its level where the model has no slope. */
export type Segments = {
  readonly starts: Uint32Array;
  readonly levels: Float64Array;
  readonly isExact: boolean;
  /** Steps over pieces that it took; 0 where they are not counted. */
  readonly work: number;
};

/** All points in one segment. */
const WHOLE: Segments = {
  starts: new Uint32Array(1),
  levels: new Float64Array(1),
  isExact: true,
  work: 0,
};

/** Deviations beyond this many times the noise cost no more than one at it. */
const BIWEIGHT_REACH = 3;
/** Runs that a series is cut into at least, before any is taken apart. */
const RUNS = 16_384;
const MOST_BLOCK = 4096;
/** Differences below this share of the largest magnitude may be rounding, and are no noise. */
const ROUNDING = 2 ** -46;
const ROUNDS = 10;
const BISECTIONS = 16;
/** Steps over pieces until candidates are given up: a few nanoseconds each. All that a series of 10,000 points can need. */
const EXACT_WORK = 2 ** 26;
/** The same for each of many searches, at least. */
const LEAST_WORK = 2 ** 20;
/** The same for all rounds of a search that begins with runs. */
const RUNS_WORK = 2 ** 24;

/** Finds the change points of `ready` as `settings` say. */
export function searchChanges(ready: ReadyPoints, settings: ChangeSettings): ChangePoints {
  const { engine, scale } = ready;
  const { count } = engine;
  if (count === 0) return nothing(settings);
  const found = estimateNoise(engine.points(), settings.model, settings.isAdjusted);
  const r = found.autocorrelation;
  const isFlat = ready.low === ready.high || found.noise === 0;
  const noise =
    settings.noise === undefined
      ? isFlat
        ? 0
        : Math.max(found.noise, ROUNDING)
      : settings.noise * scale;
  const factor = penaltyFactor(settings, count) * ((1 + r) / (1 - r));
  const least = Math.min(settings.minSegmentLength, count);
  const search = (penalty: number, work: number): Segments =>
    settings.model === 'mean'
      ? searchMean(engine, penalty * noise * noise, least, settings, noise, work)
      : searchLines(engine, penalty * noise * noise, least, settings);
  const isOne = isFlat || !(noise * noise * factor < Infinity) || 2 * least > count;
  const best = isOne
    ? { penalty: factor, segments: WHOLE }
    : withMostChanges(search, factor, () => costOfOne(engine.points(), noise), settings.maxChanges);
  return describe(ready, settings, best.segments, {
    noise,
    penalty: best.penalty,
    autocorrelation: r,
  });
}

function penaltyFactor({ penalty, model }: ChangeSettings, count: number): number {
  return penalty === 'bic' ? (model === 'mean' ? 2 : 3) * Math.log(Math.max(count, 2)) : penalty;
}

/**
 * The lowest penalty that leaves at most `most` changes, by halving the ratio of two penalties: one that leaves more, and `enough`, which
 * leaves none. All searches together take a few times the work of one.
 */
function withMostChanges(
  search: (penalty: number, work: number) => Segments,
  penalty: number,
  enough: () => number,
  most: number,
): { penalty: number; segments: Segments } {
  const first = search(penalty, EXACT_WORK);
  if (first.starts.length - 1 <= most) return { penalty, segments: first };
  let left = EXACT_WORK - first.work;
  let low = penalty;
  let high = Math.max(penalty, enough());
  let segments = WHOLE;
  for (let i = 0; i < BISECTIONS && segments.starts.length - 1 < most; i++) {
    const middle = Math.sqrt(low) * Math.sqrt(high);
    const found = search(middle, Math.max(LEAST_WORK, left / 4));
    left -= found.work;
    if (found.starts.length - 1 > most) low = middle;
    else {
      high = middle;
      segments = found;
    }
  }
  return { penalty: high, segments };
}

/** What one segment costs, in units of the noise: with a penalty as high no change can pay. */
function costOfOne(points: Float64Array, noise: number): number {
  let mean = 0;
  for (let i = 0; i < points.length; i++) mean += ((points[i] ?? 0) - mean) / (i + 1);
  let sum = 0;
  for (let i = 0; i < points.length; i++) sum += ((points[i] ?? 0) - mean) ** 2;
  return sum / noise / noise;
}

function searchMean(
  engine: ChangeEngine,
  penalty: number,
  least: number,
  settings: ChangeSettings,
  noise: number,
  work: number,
): Segments {
  const { count } = engine;
  const bound = settings.loss === 'squared' ? Infinity : (BIWEIGHT_REACH * noise) ** 2;
  const goal = { penalty, bound, least, work };
  if (count <= settings.exactLimit) {
    return engine.mean(everyPoint(count), goal);
  }
  const most = Math.max(RUNS * 4, Math.floor(count / 16));
  let runs = firstRuns(engine, penalty / 2, most);
  let left = Math.min(work, RUNS_WORK);
  for (let round = 1; ; round++) {
    const found = engine.mean(runs, { ...goal, work: left });
    left = Math.max(0, left - found.work);
    // Four penalties are exceeded by noise once in a million changes. Further rounds look further: on a ramp, changes push each other.
    const saving = penalty * 2 ** Math.max(2, round - 2);
    const closer: Uint32Array | undefined =
      round === ROUNDS ? undefined : takeApart(runs, count, found, saving, most);
    if (closer === undefined)
      return { ...pointSegments(found, runs), work: Math.min(work, RUNS_WORK) - left };
    runs = closer;
  }
}

/** Runs in which nothing stands out by `limit`, or by four, sixteen, ... times it where those would be more than `most`. */
function firstRuns(engine: ChangeEngine, limit: number, most: number): Uint32Array {
  const wanted = 2 ** Math.ceil(Math.log2(engine.count / RUNS));
  const block = Math.max(2, Math.min(MOST_BLOCK, wanted));
  for (let allowed = limit; ; allowed *= 4) {
    const runs = engine.grid(block, allowed, most);
    if (runs !== undefined) return runs;
  }
}

function pointSegments(
  { starts, levels }: ItemSegments,
  runs: Uint32Array,
): Omit<Segments, 'work'> {
  return { starts: starts.map((item) => runs[item] ?? 0), levels, isExact: false };
}

/**
 * Takes apart the runs beside each change, and those near enough to hold a better position for it: where a jump of that size would save
 * no more than `saving` from there to the change, were there no noise. Into points where that is not too many, else in eight.
 * Undefined when nothing is left.
 */
function takeApart(
  runs: Uint32Array,
  count: number,
  { starts, levels }: ItemSegments,
  saving: number,
  most: number,
): Uint32Array | undefined {
  const at = (item: number): number => (item < runs.length ? (runs[item] ?? 0) : count);
  const marks = new Uint8Array(runs.length);
  for (let k = 1; k < starts.length; k++) {
    const item = starts[k] ?? 0;
    const position = at(item);
    const jump = (levels[k] ?? 0) - (levels[k - 1] ?? 0);
    const reach = saving / (jump * jump);
    const first = starts[k - 1] ?? 0;
    const end = starts[k + 1] ?? runs.length;
    for (let i = item - 1; i >= first && (i === item - 1 || at(i + 1) > position - reach); i--)
      marks[i] = i === item - 1 ? 2 : Math.max(1, marks[i] ?? 0);
    for (let i = item; i < end && (i === item || at(i) < position + reach); i++)
      marks[i] = i === item ? 2 : Math.max(1, marks[i] ?? 0);
  }
  return (
    split(runs, count, marks, 1, Infinity, most) ??
    split(runs, count, marks, 2, Infinity, most) ??
    split(runs, count, marks, 2, 8, most)
  );
}

/** The runs with those marked by `mark` or more in up to `parts` parts each; undefined when that is no change, or too many. */
function split(
  runs: Uint32Array,
  count: number,
  marks: Uint8Array,
  mark: number,
  parts: number,
  most: number,
): Uint32Array | undefined {
  const size = (item: number): number => (runs[item + 1] ?? count) - (runs[item] ?? 0);
  const partsOf = (item: number): number =>
    (marks[item] ?? 0) >= mark ? Math.min(parts, size(item)) : 1;
  let total = 0;
  for (let item = 0; item < runs.length; item++) total += partsOf(item);
  if (total === runs.length || total > most) return undefined;
  const result = new Uint32Array(total);
  let o = 0;
  for (let item = 0; item < runs.length; item++) {
    const own = partsOf(item);
    const start = runs[item] ?? 0;
    for (let i = 0; i < own; i++) result[o++] = start + Math.floor((i * size(item)) / own);
  }
  return result;
}

/** Runs of one point each. */
export function everyPoint(count: number): Uint32Array {
  const starts = new Uint32Array(count);
  for (let i = 0; i < count; i++) starts[i] = i;
  return starts;
}

type Scales = {
  readonly noise: number;
  readonly penalty: number;
  readonly autocorrelation: number;
};

/** The result in the unit of the values. */
function describe(
  ready: ReadyPoints,
  settings: ChangeSettings,
  { starts, levels, isExact }: Segments,
  { noise, penalty, autocorrelation }: Scales,
): ChangePoints {
  const { engine, scale, centre, origin } = ready;
  const fitted =
    settings.model === 'slope'
      ? fitLines(engine, starts)
      : settings.loss === 'biweight'
        ? fitBounded(engine, starts, levels, BIWEIGHT_REACH * noise)
        : fitMeans(engine, starts);
  const loss = noise > 0 ? fitted.loss / noise / noise : 0;
  return {
    indices: starts.slice(1).map((start) => (origin === undefined ? start : (origin[start] ?? 0))),
    levels: fitted.levels.map((level) => (level + centre) / scale),
    slopes: fitted.slopes.map((slope) => slope / scale),
    cost: loss + penalty * (starts.length - 1),
    penalty,
    noise: noise / scale,
    autocorrelation,
    count: engine.count,
    isExact,
  };
}

/** A power of two that brings `largest`, a magnitude, near 1: exact, and its square neither overflows nor vanishes. */
export function scaleFor(largest: number): number {
  return (
    2 ** -Math.max(-1000, Math.min(1000, Math.floor(Math.log2(Math.max(largest, 2 ** -1000)))))
  );
}

/** Follows `last` (items before the segment that ends with an item) from the end. */
export function traceBack(
  last: Uint32Array,
  levels: Float64Array | undefined,
  isExact: boolean,
  work: number,
): ItemSegments {
  const starts: number[] = [];
  const found: number[] = [];
  for (let t = last.length - 1; t > 0; t = last[t] ?? 0) {
    starts.push(last[t] ?? 0);
    found.push(levels?.[t] ?? 0);
  }
  return {
    starts: Uint32Array.from(starts.toReversed()),
    levels: Float64Array.from(found.toReversed()),
    isExact,
    work,
  };
}

function nothing(settings: ChangeSettings): ChangePoints {
  return {
    indices: new Uint32Array(0),
    levels: new Float64Array(0),
    slopes: new Float64Array(0),
    cost: 0,
    penalty: penaltyFactor(settings, 0),
    noise: settings.noise ?? 0,
    autocorrelation: 0,
    count: 0,
    isExact: true,
  };
}
