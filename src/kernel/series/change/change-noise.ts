/** The noise of a series and the correlation of neighbours in it, from differences, so that changes hardly matter. */
import type { ChangeModel } from './change.ts';

/** What differences tell. */
export type ChangeNoise = {
  /** Standard deviation around the segments. */
  readonly noise: number;
  /** Correlation of neighbours, 0 to {@link MOST_CORRELATION}. */
  readonly autocorrelation: number;
};

/** Differences that are looked at: with more, the estimate of the noise is within 0.7 % (one standard error) already. */
const SAMPLE = 32_767;
const MOST_CORRELATION = 0.99;
/** 1 / the upper quartile of the normal distribution: makes the median of magnitudes a standard deviation. */
const NORMAL = 1.482602218505602;
const GOLDEN = 0.6180339887498949;

/**
 * A typical value: the middle one of some spread over the series.
 *
 * @param points not empty
 */
export function sampleCentre(points: Float64Array): number {
  return median(sample(points.length, 1023, (at) => points[at] ?? 0));
}

/**
 * The noise of `points`. A first difference of independent noise has twice its variance, a second one six times; their median
 * magnitude is that of one difference without a change. With noise of first order and correlation r, differences at distance two
 * have 1 + r times the variance of those at distance one (Chakar et al. 2017), second differences (1 + r)(3 - r^2) / (3 - r) times.
 *
 * @param isAdjusted whether correlation is looked for
 */
export function estimateNoise(
  points: Float64Array,
  model: ChangeModel,
  isAdjusted: boolean,
): ChangeNoise {
  const isSlope = model === 'slope';
  const near = typicalDifference(points, 1, isSlope) * NORMAL;
  // Where most neighbours are equal only the changes are left to tell of noise, and nothing tells of correlation.
  if (near === 0)
    return {
      noise:
        (meanDifference(points, isSlope) * Math.sqrt(Math.PI / 2)) / Math.sqrt(isSlope ? 6 : 2),
      autocorrelation: 0,
    };
  let r = isAdjusted ? correlation(points, true) : 0;
  // Second differences hardly tell 0.8 from 1, first ones take a trend for correlation: both must find it.
  if (r > 0 && !isSlope) r = Math.min(r, correlation(points, false));
  const share = isSlope ? 2 * (1 - r) * (3 - r) : 2 * (1 - r);
  return { noise: near / Math.sqrt(share), autocorrelation: r };
}

/** Correlation of neighbours, from first or second differences; 0 within the error of that estimate. */
function correlation(points: Float64Array, isSecond: boolean): number {
  const near = typicalDifference(points, 1, isSecond);
  if (near === 0) return 0;
  const ratio = (typicalDifference(points, 2, isSecond) / near) ** 2;
  const found = isSecond ? solveSecond(ratio) : ratio - 1;
  // The standard error is about 4 / sqrt(n).
  const error = 4 / Math.sqrt(Math.min(SAMPLE, points.length));
  return found > 2 * error ? Math.min(found, MOST_CORRELATION) : 0;
}

/** Median magnitude of first or second differences of points `lag` apart. */
function typicalDifference(points: Float64Array, lag: number, isSecond: boolean): number {
  const count = points.length - lag * (isSecond ? 2 : 1);
  return count < 1 ? 0 : median(sample(count, SAMPLE, differences(points, lag, isSecond)));
}

/** Mean magnitude of all first or second differences. */
function meanDifference(points: Float64Array, isSecond: boolean): number {
  const count = points.length - (isSecond ? 2 : 1);
  const read = differences(points, 1, isSecond);
  let sum = 0;
  for (let i = 0; i < count; i++) sum += read(i);
  return count < 1 ? 0 : sum / count;
}

function differences(points: Float64Array, lag: number, isSecond: boolean): (at: number) => number {
  const at = (i: number): number => points[i] ?? 0;
  return isSecond
    ? (i) => Math.abs(at(i) - 2 * at(i + lag) + at(i + 2 * lag))
    : (i) => Math.abs(at(i + lag) - at(i));
}

/** Up to `most` of `count` values: one out of each span of equal length, at indexes that no period of the series meets. */
function sample(count: number, most: number, read: (at: number) => number): Float64Array {
  const size = Math.min(count, most);
  const span = count / size;
  const result = new Float64Array(size);
  for (let i = 0; i < size; i++)
    result[i] = read(size === count ? i : Math.floor((i + ((i * GOLDEN) % 1)) * span));
  return result;
}

/** The median; `values` are put in another order. */
function median(values: Float64Array): number {
  const middle = values.length >> 1;
  const upper = select(values, middle);
  if (values.length % 2 === 1) return upper;
  let lower = -Infinity;
  for (let i = 0; i < middle; i++) lower = Math.max(lower, values[i] ?? 0);
  return (lower + upper) / 2;
}

/** The value at rank `k` of the sorted order; those before it are no greater. Quickselect, which gives up early and sorts. */
function select(values: Float64Array, k: number): number {
  let first = 0;
  let last = values.length - 1;
  for (let round = 0; first < last; round++) {
    if (round === 64) {
      values.subarray(first, last + 1).sort();
      break;
    }
    const pivot = values[first + Math.floor(((round * GOLDEN + 0.5) % 1) * (last - first))] ?? 0;
    let i = first;
    let j = last;
    while (i <= j) {
      while ((values[i] ?? 0) < pivot) i++;
      while ((values[j] ?? 0) > pivot) j--;
      if (i > j) break;
      const held = values[i] ?? 0;
      values[i++] = values[j] ?? 0;
      values[j--] = held;
    }
    if (k <= j) last = j;
    else if (k >= i) first = i;
    else break;
  }
  return values[k] ?? 0;
}

function solveSecond(ratio: number): number {
  let low = 0;
  let high = 1;
  for (let i = 0; i < 40; i++) {
    const r = (low + high) / 2;
    if (((1 + r) * (3 - r * r)) / (3 - r) < ratio) low = r;
    else high = r;
  }
  return low;
}
