/**
 * Theil-Sen: one slope among n^2 / 2 is found by narrowing a bracket. Some of the slopes inside are drawn at random; two of them, a
 * little to either side of the wanted rank, become the new ends once all slopes on their sides have been counted. Some three rounds leave
 * so few that they can be listed.
 */
import { invalidInput } from '../../../base/errors.ts';
import type { TheilSenSettings } from './curve-checks.ts';
import { medianOf } from './curve-median.ts';
import { twoSidedProbability, twoSidedQuantile } from './curve-normal.ts';
import { finitePoints, gatherByIndex } from './curve-order.ts';
import type { Slopes } from './curve-slope-js.ts';
import type { MannKendall, TheilSenResult } from './curve.ts';

/** Most points: their sorting has to fit into the memory of one instance. */
const MAX_POINTS = 2 ** 24;
const LEAST_SAMPLE = 1024;
const MOST_SAMPLE = 2 ** 16;
/** Ranks of a sample are off by half the root of its size; this many of those to either side miss one time in 400. */
const DEVIATIONS = 3;

type Points = {
  /** In order, of size below 2. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Slopes of the points as given are slopes of these times this power of two. */
  readonly exponent: number;
  /** Median of y - slope x of the points as given. */
  readonly interceptOf: (slope: number) => number;
};

type Bracket = {
  readonly low: number;
  readonly high: number;
  /** Slopes up to `low`, and slopes below `high`. */
  readonly upToLow: number;
  readonly belowHigh: number;
};

/** Lends the slopes between points for as long as `work` runs. */
export type WithSlopes = <T>(x: Float64Array, y: Float64Array, work: (slopes: Slopes) => T) => T;

export function theilSen(
  values: Float64Array,
  { positions, confidence }: TheilSenSettings,
  withSlopes: WithSlopes,
): TheilSenResult {
  const points = pointsOf(values, positions);
  const count = points.x.length;
  const pairCount = pairsOf(count) - sumOverTies(points.x, pairsOf);
  if (pairCount === 0) {
    const trend = { s: 0, tau: Number.NaN, z: Number.NaN, pValue: Number.NaN };
    const interval = confidence === null ? null : { low: Number.NaN, high: Number.NaN };
    return { slope: Number.NaN, intercept: Number.NaN, count, pairCount, interval, trend };
  }
  return withSlopes(points.x, points.y, (slopes) => {
    const flat = slopes.count(0);
    const { trend, deviation } = mannKendall(points, pairCount, flat);
    const random = uniform();
    const find = (first: number, second: number): readonly [number, number] => {
      slopes.resetLow();
      const all = { low: -Infinity, high: Infinity, upToLow: 0, belowHigh: pairCount };
      const [a, b] = select(slopes, all, first, second, random);
      return [unscaled(points, a), unscaled(points, b)];
    };
    const [a, b] = find(Math.floor((pairCount - 1) / 2), Math.floor(pairCount / 2));
    const slope = a === b ? a : 0.5 * a + 0.5 * b;
    let interval = null;
    if (confidence !== null) {
      const reach = twoSidedQuantile(1 - confidence) * deviation;
      const low = Math.max(0, Math.round((pairCount - reach) / 2) - 1);
      const high = Math.min(pairCount - 1, Math.round((pairCount + reach) / 2));
      interval = { low: find(low, low)[0], high: find(high, high)[0] };
    }
    return { slope, intercept: points.interceptOf(slope), count, pairCount, interval, trend };
  });
}

/** The slopes at two ranks, the same or neighbours, of those in a bracket; `slopes` has its lower end. */
function select(
  slopes: Slopes,
  bracket: Bracket,
  first: number,
  second: number,
  random: () => number,
): readonly [number, number] {
  let { low, high, upToLow, belowHigh } = bracket;
  while (true) {
    const inside = belowHigh - upToLow;
    const isAll = inside <= Math.max(LEAST_SAMPLE, slopes.pointCount);
    const size = isAll ? inside : Math.min(MOST_SAMPLE, Math.max(LEAST_SAMPLE, slopes.pointCount));
    // One from each of as many equal parts: ascending, and no further off than if all were drawn from the whole.
    const ranks = new Float64Array(size);
    for (let k = 0; k < size; k++)
      ranks[k] = isAll ? k : Math.min(inside - 1, Math.floor(((k + random()) * inside) / size));
    const sample = slopes.between(high, ranks).sort();
    if (isAll) return [sample[first - upToLow] ?? 0, sample[second - upToLow] ?? 0];
    const middle = ((first + 1 - upToLow) / inside) * size;
    const reach = (DEVIATIONS / 2) * Math.sqrt(size);
    const at = (k: number): number => sample[Math.max(0, Math.min(size - 1, Math.floor(k)))] ?? 0;
    let isNarrower = false;
    for (const guess of [at(middle - reach), at(middle + reach)]) {
      if (!(guess > low && guess < high)) continue;
      isNarrower = true;
      const { below, equal } = slopes.count(guess);
      if (second < below) {
        high = guess;
        belowHigh = below;
      } else if (first >= below + equal) {
        slopes.keepLow();
        low = guess;
        upToLow = below + equal;
      } else {
        const upTo = { low, high: guess, upToLow, belowHigh: below };
        const from = { low: guess, high, upToLow: below + equal, belowHigh };
        const a = first >= below ? guess : select(slopes, upTo, first, first, random)[0];
        if (second < below + equal) return [a, guess];
        slopes.count(guess);
        slopes.keepLow();
        return [a, select(slopes, from, second, second, random)[0]];
      }
    }
    // No float64 lies between the ends: the slopes inside are equal but for rounding.
    if (!isNarrower) return [at(middle), at(middle)];
  }
}

/** The finite points in order, in a range where neither products nor their errors leave float64. */
function pointsOf(values: Float64Array, positions: Float64Array | null): Points {
  const index = finitePoints(values, positions);
  if (index.length > MAX_POINTS)
    throw invalidInput(
      'values',
      `${index.length} finite values`,
      `at most ${MAX_POINTS} finite values`,
    );
  let x = gatherByIndex(positions, index);
  let y = gatherByIndex(values, index);
  if (!isInOrder(x, y)) {
    const order = index.map((_, k) => k);
    const xs = x;
    const ys = y;
    order.sort((i, j) => (xs[i] ?? 0) - (xs[j] ?? 0) || (ys[i] ?? 0) - (ys[j] ?? 0));
    x = gatherByIndex(xs, order);
    y = gatherByIndex(ys, order);
  }
  const xExponent = exponentOf(x);
  const yExponent = exponentOf(y);
  const interceptOf = (slope: number): number =>
    medianOf(y.map((value, i) => value - slope * (x[i] ?? 0)));
  return {
    x: x.map((value) => timesPowerOfTwo(value, -xExponent)),
    y: y.map((value) => timesPowerOfTwo(value, -yExponent)),
    exponent: yExponent - xExponent,
    interceptOf,
  };
}

function isInOrder(x: Float64Array, y: Float64Array): boolean {
  for (let i = 1; i < x.length; i++) {
    const step = (x[i] ?? 0) - (x[i - 1] ?? 0);
    if (!(step > 0 || (step === 0 && (y[i] ?? 0) >= (y[i - 1] ?? 0)))) return false;
  }
  return true;
}

function unscaled({ exponent }: Points, slope: number): number {
  return timesPowerOfTwo(slope, exponent) + 0;
}

/** The power of two next to the largest size; 0 where all are 0. */
function exponentOf(values: Float64Array): number {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most === 0 ? 0 : Math.floor(Math.log2(most));
}

function timesPowerOfTwo(value: number, exponent: number): number {
  let result = value;
  let left = exponent;
  // In one step where it can be, since a step into the subnormal numbers rounds.
  for (; left > 1000; left -= 1000) result *= 2 ** 1000;
  for (; left < -1000; left += 1000) result *= 2 ** -1000;
  return result * 2 ** left;
}

function mannKendall(
  { x, y }: Points,
  pairCount: number,
  flat: { readonly below: number; readonly equal: number },
): { readonly trend: MannKendall; readonly deviation: number } {
  const s = pairCount - flat.equal - 2 * flat.below;
  const n = x.length;
  const sorted = y.slice().sort();
  const [pairsX, pairsY] = [sumOverTies(x, pairsOf), sumOverTies(sorted, pairsOf)];
  const [triplesX, triplesY] = [sumOverTies(x, triplesOf), sumOverTies(sorted, triplesOf)];
  // Kendall, Rank Correlation Methods (1970), for ties in both.
  const variance =
    (weightOf(n) - sumOverTies(x, weightOf) - sumOverTies(sorted, weightOf)) / 18 +
    (2 * pairsX * pairsY) / (n * (n - 1)) +
    (n > 2 ? (4 * triplesX * triplesY) / (n * (n - 1) * (n - 2)) : 0);
  const deviation = Math.sqrt(Math.max(0, variance));
  const z = deviation === 0 ? Number.NaN : (s - Math.sign(s)) / deviation;
  const most = Math.sqrt(pairsOf(n) - pairsX) * Math.sqrt(pairsOf(n) - pairsY);
  const tau = most === 0 ? Number.NaN : Math.max(-1, Math.min(s / most, 1));
  const pValue = Number.isNaN(z) ? Number.NaN : twoSidedProbability(z);
  return { trend: { s, tau, z, pValue }, deviation };
}

/** The sum over all spans of equal values of a measure of their length. */
function sumOverTies(sorted: Float64Array, measure: (length: number) => number): number {
  let sum = 0;
  let from = 0;
  for (let i = 1; i <= sorted.length; i++) {
    if (i < sorted.length && sorted[i] === sorted[from]) continue;
    if (i - from > 1) sum += measure(i - from);
    from = i;
  }
  return sum;
}

const pairsOf = (n: number): number => (n < 2 ? 0 : (n * (n - 1)) / 2);
const triplesOf = (n: number): number => n * (n - 1) * (n - 2);
const weightOf = (n: number): number => n * (n - 1) * (2 * n + 5);

/** Numbers from 0 to below 1, the same sequence every time (a Weyl sequence through the finaliser of MurmurHash3). */
function uniform(): () => number {
  let state = 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
  return () => (next() * 2 ** 21 + (next() >>> 11)) * 2 ** -53;
}
