/** Outliers by z-score, robust z-score and Tukey's fences, over a whole series or against the values before each. */
import { checkLiteral, checkOptionNames } from '../../../base/assert.ts';
import { invalidInput } from '../../../base/errors.ts';
import { NORMAL_MAD_SCALE, QUARTILES } from '../order/order.ts';
import type { SeriesValues } from '../module/values.ts';

/** How outliers are told from the rest, see {@link OutlierOptions}. */
export const OUTLIER_METHODS = ['z_score', 'robust_z_score', 'iqr_fence'] as const;

/** One of {@link OUTLIER_METHODS}. */
export type OutlierMethod = (typeof OUTLIER_METHODS)[number];

/** Which side outliers are looked for on. */
export const OUTLIER_SIDES = ['both', 'upper', 'lower'] as const;

/** One of {@link OUTLIER_SIDES}. */
export type OutlierSide = (typeof OUTLIER_SIDES)[number];

/** Options of {@link OutlierKernel.outliers}. */
export type OutlierOptions = {
  /**
   * - `z_score`: the distance from the mean in standard deviations (of the population). Among _n_ values it cannot exceed (_n_ - 1) / √_n_.
   * - `robust_z_score`: the distance from the median in median absolute deviations times 1.4826 (Iglewicz and Hoaglin, 1993). Where
   *   that is 0, as more than half of the values are equal, in mean absolute deviations from the median times 1.2533, which
   *   estimates the standard deviation as well.
   * - `iqr_fence`: the distance from the nearer quartile in interquartile ranges (Tukey, 1977).
   *
   * Default `robust_z_score`, which outliers themselves do not hide from.
   */
  readonly method?: OutlierMethod;
  /** The score above which a value is an outlier, positive. Default 2.5 for `z_score`, 3.5 for `robust_z_score`, 1.5 for `iqr_fence`. */
  readonly threshold?: number;
  /** Which side to look on. Default `both`. */
  readonly side?: OutlierSide;
  /**
   * Judge each value by the `window` finite values before it, 2 or more, itself not among them: what is said of a value does not
   * change when the series goes on. Default null: by all values of the series.
   */
  readonly window?: number | null;
  /** How many values there have to be to judge by, 2 or more and at most `window`. Default 5, or `window` where that is less. */
  readonly minCount?: number;
};

/** What values are judged by. A value is an outlier when it is below `lowerFence` or above `upperFence`. */
export type OutlierBaseline = {
  /** How many finite values it is made of. */
  readonly count: number;
  /** Mean, median, or median, by method. */
  readonly center: number;
  /** The unit of scores: standard deviation, its robust estimate, or interquartile range, by method. */
  readonly spread: number;
  /** -Infinity where nothing is looked for on this side. */
  readonly lowerFence: number;
  /** Infinity where nothing is looked for on this side. */
  readonly upperFence: number;
};

/** The outliers of a series. The arrays are the receiver's; those beside `indices` have one element for each. */
export type Outliers = {
  readonly method: OutlierMethod;
  readonly threshold: number;
  /** Positions of the outliers, ascending. */
  readonly indices: Uint32Array<ArrayBuffer>;
  /** Signed scores, see `method`; an infinity where the values to judge by are all equal. */
  readonly scores: Float64Array<ArrayBuffer>;
  /** The lower fence each was judged by. */
  readonly lowerFences: Float64Array<ArrayBuffer>;
  /** The upper fence each was judged by. */
  readonly upperFences: Float64Array<ArrayBuffer>;
  /** What all values were judged by; null in a moving window and when there are fewer than `minCount` finite values. */
  readonly baseline: OutlierBaseline | null;
  /** Positions of NaN and infinities, ascending: they are no outliers and take no part in what others are judged by. */
  readonly nonFiniteIndices: Uint32Array<ArrayBuffer>;
};

/** Outliers of a series. */
export interface OutlierKernel {
  /**
   * The values that lie apart from the others.
   *
   * Over a whole series in linear time. In a window of _w_ values, `z_score` takes constant time a value: mean and variance are put
   * together from sums that only ever grow, so nothing drifts however long the series is. With _R_ the range of the window, the
   * variance is within _w_ _R_² 2^-51 of the exact one and the mean within _w_ _R_ 2^-51 and one rounding. The other methods take time
   * proportional to log _w_ and are exact but for the rounding of distances. Sizes below 10^-150 of the largest of the last
   * two windows count as 0 in a z-score.
   *
   * @throws {QuarkError} `invalid_input`
   */
  outliers(values: SeriesValues, options?: OutlierOptions): Outliers;
}

/** Options with every default filled in. */
export type OutlierScanSettings = {
  readonly method: OutlierMethod;
  readonly threshold: number;
  readonly side: OutlierSide;
  readonly window: number | null;
  readonly minCount: number;
};

/** Where values lie and how far apart: fences stand `threshold` spreads below `low` and above `high`. */
export type Spread = {
  readonly center: number;
  readonly low: number;
  readonly high: number;
  readonly spread: number;
};

/** What the mean absolute deviation of normal values is multiplied by to estimate their standard deviation: √(π/2). */
export const NORMAL_MEAN_DEVIATION_SCALE = 1.2533141373155003;

const THRESHOLDS: Readonly<Record<OutlierMethod, number>> = {
  z_score: 2.5,
  robust_z_score: 3.5,
  iqr_fence: 1.5,
};
const MIN_COUNT = 5;

/** @throws {QuarkError} `invalid_input` */
export function checkOutlierOptions(options: OutlierOptions = {}): OutlierScanSettings {
  checkOptionNames('options', options, ['method', 'threshold', 'side', 'window', 'minCount']);
  const method = checkLiteral(
    'options.method',
    options.method ?? 'robust_z_score',
    OUTLIER_METHODS,
  );
  const threshold = options.threshold ?? THRESHOLDS[method];
  if (typeof threshold !== 'number' || !(threshold > 0 && threshold < Infinity))
    throw invalidInput('options.threshold', threshold, 'a positive number');
  const side = checkLiteral('options.side', options.side ?? 'both', OUTLIER_SIDES);
  const window = options.window ?? null;
  if (window !== null && !(Number.isSafeInteger(window) && window >= 2))
    throw invalidInput('options.window', window, 'null or an integer of 2 or more');
  const most = window ?? Number.MAX_SAFE_INTEGER;
  const minCount = options.minCount ?? Math.min(MIN_COUNT, most);
  if (!Number.isSafeInteger(minCount) || minCount < 2 || minCount > most)
    throw invalidInput('options.minCount', minCount, 'an integer of 2 or more, at most window');
  return { method, threshold, side, window, minCount };
}

/** The fences that stand `threshold` spreads away, on the sides that are looked on. */
export function fencesOf(
  { low, high, spread }: Spread,
  { threshold, side }: OutlierScanSettings,
): readonly [number, number] {
  // A spread above the range of float64 leaves nothing outside.
  const reach = threshold * spread;
  return [side === 'upper' ? -Infinity : low - reach, side === 'lower' ? Infinity : high + reach];
}

/** How many spreads a value lies outside. */
export function scoreOf(value: number, { low, high, spread }: Spread): number {
  const from = value > high ? high : low;
  const distance = value - from;
  if (distance - distance === 0) return distance / spread;
  return (value / 2 - from / 2) / (spread / 2);
}

/** The parts of one series' outliers that the twins compute, each in its way. */
export interface OutlierParts {
  /** How many values are finite, and how they spread when there are any. */
  measure(): { readonly count: number; readonly spread: Spread };
  /** Positions of finite values outside the fences, ascending. */
  beyond(lowerFence: number, upperFence: number): Uint32Array<ArrayBuffer>;
}

/** The outliers of a whole series. */
export function outliersOfAll(
  values: Float64Array,
  settings: OutlierScanSettings,
  parts: OutlierParts,
): Outliers {
  const { method, threshold } = settings;
  const { count, spread } = parts.measure();
  const nonFiniteIndices = count < values.length ? findNonFinite(values) : new Uint32Array(0);
  if (count < settings.minCount) return noOutliers(settings, nonFiniteIndices);
  const [lowerFence, upperFence] = fencesOf(spread, settings);
  const indices = parts.beyond(lowerFence, upperFence);
  return {
    method,
    threshold,
    indices,
    scores: Float64Array.from(indices, (at) => scoreOf(values[at] ?? 0, spread)),
    lowerFences: new Float64Array(indices.length).fill(lowerFence),
    upperFences: new Float64Array(indices.length).fill(upperFence),
    baseline: {
      count,
      center: spread.center,
      spread: spread.spread,
      lowerFence,
      upperFence,
    },
    nonFiniteIndices,
  };
}

function noOutliers(
  { method, threshold }: OutlierScanSettings,
  nonFiniteIndices: Uint32Array<ArrayBuffer>,
): Outliers {
  return {
    method,
    threshold,
    indices: new Uint32Array(0),
    scores: new Float64Array(0),
    lowerFences: new Float64Array(0),
    upperFences: new Float64Array(0),
    baseline: null,
    nonFiniteIndices,
  };
}

/** Positions of NaN and infinities. */
export function findNonFinite(values: Float64Array): Uint32Array<ArrayBuffer> {
  const found: number[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    if (value - value !== 0) found.push(i);
  }
  return Uint32Array.from(found);
}

/** The parts of {@link TensorStats} that a spread is made of. */
export type WindowMoments = {
  readonly mean: number;
  readonly std: number;
  readonly min: number;
  readonly max: number;
};

/** Mean and standard deviation, at whatever scale: where squares would leave the range of float64, of values brought into it. */
export function spreadOfMoments(
  values: Float64Array,
  momentsOf: (values: Float64Array) => WindowMoments,
): Spread {
  const { mean, std, min, max } = momentsOf(values);
  if (min === max) return spreadAround(min, 0);
  const size = Math.max(Math.abs(min), Math.abs(max));
  const range = max - min;
  if (size < 1e120 && range > 1e-120) return spreadAround(mean, std);
  // Two powers of two, for one alone may leave the range itself.
  const half = 2 ** -Math.round(Math.log2(size < 1e120 ? range : size) / 2);
  const scaled = momentsOf(values.map((value) => value * half * half));
  return spreadAround(scaled.mean / half / half, scaled.std / half / half);
}

function spreadAround(center: number, spread: number): Spread {
  return { center, low: center, high: center, spread };
}

/** The spread that the robust z-score is counted in, around a median. */
export function robustSpread(median: number, mad: number, meanDeviation: () => number): Spread {
  return spreadAround(
    median,
    mad > 0 ? mad * NORMAL_MAD_SCALE : meanDeviation() * NORMAL_MEAN_DEVIATION_SCALE,
  );
}

/** The mean of the distances of the finite values from `center`, which may be as far apart as float64 allows. */
export function meanDistance(values: Float64Array, center: number, count: number): number {
  let mean = 0;
  let rest = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    if (value - value !== 0) continue;
    const distance = Math.abs(value / count - center / count);
    // Compensated (Neumaier, 1974).
    const sum = mean + distance;
    rest += mean >= distance ? mean - sum + distance : distance - sum + mean;
    mean = sum;
  }
  return mean + rest;
}

/** Quartiles as a spread. */
export function quartileSpread(low: number, center: number, high: number): Spread {
  return { center, low, high, spread: high - low };
}

/** The probabilities that {@link quartileSpread} takes. */
export const FENCE_PROBABILITIES: readonly number[] = [QUARTILES[0] ?? 0, 0.5, QUARTILES[1] ?? 1];
