/** Kernels over a series as a curve: smoothing, trend, spikes, area, and two series on one axis. */
import type { SeriesValues } from '../module/values.ts';

/** How {@link CurveKernel.smoothExponential} forgets. At most one of the first four is given; `weight: 0.6` when none is. */
export type SmoothExponentialOptions = {
  /** Share of the newest value, 2^-40 to 1. */
  readonly alpha?: number;
  /** The smoothing weight of TensorBoard and of Weights & Biases: 1 - alpha, 0 to 1 - 2^-40. */
  readonly weight?: number;
  /** Distance after which a value counts half: in points, or in units of `positions`. Above 0, at most 2^40. */
  readonly halfLife?: number;
  /** As pandas has it: alpha = 2 / (span + 1). 1 to 2^40. */
  readonly span?: number;
  /**
   * Whether the start is corrected for the missing past, so that the first results are plain weighted means of what there is (default),
   * as TensorBoard and pandas do. Else the first finite value stands for all of the past.
   */
  readonly adjust?: boolean;
  /**
   * Where each value lies (steps, milliseconds), as many as values. What is forgotten from one value to the next then depends on the
   * distance between them: `weight` is what one unit of position leaves over. A distance below 0 counts as 0, so a restart at an
   * earlier step forgets nothing. A value whose position is not finite is skipped.
   */
  readonly positions?: SeriesValues;
  /** Whether a skipped value gets the last result before it, instead of NaN. Default false. */
  readonly fillGaps?: boolean;
};

/** Window of {@link CurveKernel.smoothRobust}. */
export type SmoothRobustOptions = {
  /** Values a window spans, skipped ones among them: 1 to 2^22. Default 101. */
  readonly window?: number;
  /**
   * Whether the window lies around the value (default), or ends with it. A window of an even number of values has one more before the
   * value than after it.
   */
  readonly center?: boolean;
  /** Whether a skipped value gets the median of its window too, instead of NaN. Default false. */
  readonly fillGaps?: boolean;
};

/** Options of {@link CurveKernel.theilSen}. */
export type TheilSenOptions = {
  /** Where each value lies, as many as values, in any order. Their indices unless given. */
  readonly positions?: SeriesValues;
  /** Level of a confidence interval of the slope, above 0 and below 1, such as 0.95. No interval unless given: it costs two more selections. */
  readonly confidence?: number;
};

/** A straight line that half of the pairs of points lie above, and the test of whether there is a trend at all. */
export type TheilSenResult = {
  /** Median of the slopes of all pairs at different positions; NaN when there is no such pair. */
  readonly slope: number;
  /** Median of value - slope * position; NaN without a slope. */
  readonly intercept: number;
  /** Finite values at finite positions. */
  readonly count: number;
  /** Pairs of them at different positions. */
  readonly pairCount: number;
  /** Ends of the confidence interval of the slope (Sen, 1968); null unless asked for. */
  readonly interval: { readonly low: number; readonly high: number } | null;
  /** The test of Mann (1945) and Kendall: whether values rise or fall with their positions. */
  readonly trend: MannKendall;
};

/** Of the pairs of points: how many more rise than fall, and how likely that is by chance. */
export type MannKendall = {
  /** Rising pairs less falling ones. */
  readonly s: number;
  /** Kendall's tau-b, -1 (always falling) to 1; NaN where all values or all positions are equal. */
  readonly tau: number;
  /** S in standard deviations, with the correction for ties and for continuity; NaN where it has no deviation. */
  readonly z: number;
  /** Two-sided probability of such an S in independent values; too small when neighbours are correlated. NaN where z is. */
  readonly pValue: number;
};

/** Sides of the local level on which {@link CurveKernel.spikes} looks. */
export const SPIKE_DIRECTIONS = ['up', 'down', 'both'] as const;

/** One of {@link SPIKE_DIRECTIONS}. */
export type SpikeDirection = (typeof SPIKE_DIRECTIONS)[number];

/** What counts as a spike. The defaults do not depend on the unit of the series. */
export type SpikeOptions = {
  /** Which way. Default `'up'`. */
  readonly direction?: SpikeDirection;
  /** Values before a point, skipped ones among them, that its local level and spread come from: 2 to 2^20. Default 101. */
  readonly window?: number;
  /** Finite values that must come before the first point that can be a spike: 2 to `window`. Default 16, or `window` if that is less. */
  readonly minPeriods?: number;
  /** Height at which a spike begins, in spreads. Above 0. Default 8. */
  readonly threshold?: number;
  /** Height at which it has recovered, in spreads at its begin: 0 to `threshold`. Default 3, or `threshold` if that is less. */
  readonly recovery?: number;
  /** Least height as a share of the absolute level. Default 0.1. */
  readonly minRelativeHeight?: number;
  /** Least height in the unit of the values. Default 0. */
  readonly minHeight?: number;
  /** Finite values after which what has not recovered is a new level: at least 1. Default `window`. */
  readonly maxLength?: number;
};

/** A span of values far off the level before it. */
export type Spike = {
  readonly direction: 'up' | 'down';
  /** Index of its first value. */
  readonly start: number;
  /** Index of the first value that is back; where none is, one after the last that was looked at. */
  readonly end: number;
  /** Index of its furthest value, the first of equals. */
  readonly peak: number;
  /** Median of the window before it. */
  readonly level: number;
  /** Typical distance from the level before it, scaled as a standard deviation; 0 for a constant. */
  readonly spread: number;
  /** Distance of the peak from the level in spreads; Infinity for a spread of 0. */
  readonly heightInSpreads: number;
  /** Whether the values came back, before `maxLength` values and the end of the series. */
  readonly isRecovered: boolean;
};

/** Where {@link CurveKernel.areaUnderCurve} begins and ends. */
export type AreaOptions = {
  /** Where each value lies, as many as values, in any order; of several at one position the last counts. Indices unless given. */
  readonly positions?: SeriesValues;
  /** First position, inclusive. The first there is unless given. */
  readonly from?: number;
  /** Last position, inclusive. The last there is unless given. */
  readonly to?: number;
};

/** The area between a curve and zero. */
export type CurveArea = {
  /** Area by trapezoids; 0 without a span. */
  readonly area: number;
  /** Length of the part of `from` to `to` that points cover. */
  readonly span: number;
  /** Area divided by span, the mean height; the value itself for a single position, NaN for none. */
  readonly mean: number;
  /** Different positions between `from` and `to` that have a finite value. */
  readonly count: number;
};

/** A series and the step of each of its values, as many as values, in any order. */
export type SteppedSeries = { readonly steps: SeriesValues; readonly values: SeriesValues };

/** Which steps {@link CurveKernel.alignOnStep} answers for: those of both series, of either, or of the first. */
export const ALIGN_JOINS = ['inner', 'outer', 'left'] as const;

/** One of {@link ALIGN_JOINS}. */
export type AlignJoin = (typeof ALIGN_JOINS)[number];

/** Where the value of a step comes from that a series lacks: nowhere, from the last step before it, or from the nearest. */
export const ALIGN_FILLS = ['none', 'previous', 'nearest'] as const;

/** One of {@link ALIGN_FILLS}. */
export type AlignFill = (typeof ALIGN_FILLS)[number];

/** How two series are put on one axis. */
export type AlignOptions = {
  /** Default `'inner'`. */
  readonly join?: AlignJoin;
  /** Default `'none'`; without effect on `'inner'`, which has no gaps. */
  readonly fill?: AlignFill;
  /** Furthest distance in steps that a value is filled from. Default Infinity. */
  readonly tolerance?: number;
};

/** Two series on one axis: row `i` is step `steps[i]`. */
export type AlignedSeries = {
  /** Ascending, each once. */
  readonly steps: Float64Array<ArrayBuffer>;
  /** Values of the first series, NaN where it has none. */
  readonly first: Float64Array<ArrayBuffer>;
  /** Values of the second series, NaN where it has none. */
  readonly second: Float64Array<ArrayBuffer>;
  /** Index in the first series of the value, -1 where it has none. */
  readonly firstIndex: Int32Array<ArrayBuffer>;
  /** Index in the second series of the value, -1 where it has none. */
  readonly secondIndex: Int32Array<ArrayBuffer>;
};

/**
 * Kernels over a series as a curve. NaN and infinities are skipped everywhere: they neither count nor spoil what is around them. All
 * results belong to the caller, and are the same bit for bit from run to run.
 */
export interface CurveKernel {
  /**
   * Exponential moving average, y = sum of b^k x(n-k) / sum of b^k over the finite values before and at n, b = 1 - alpha (with
   * `adjust: false`, y(n) = b y(n-1) + alpha x(n)). With positions, b^k becomes b^distance, as of pandas' `ewm(halflife, times)` and
   * of Weights & Biases' time-weighted average.
   *
   * Not further than 8 m 2^-53 D + 4 2^-53 max|x| from the exact value, where m is the smaller of n and 1 / alpha (n with positions),
   * D the largest |x - first x| and max|x| the largest |x| of the series; m times the least subnormal comes on top where that is more.
   * A constant series comes out unchanged.
   *
   * @returns as many values, NaN where the input is not finite (see `fillGaps`)
   * @throws {QuarkError} `invalid_input`
   */
  smoothExponential(
    values: SeriesValues,
    options?: SmoothExponentialOptions,
  ): Float64Array<ArrayBuffer>;

  /**
   * Moving median, which single spikes do not move and which keeps steps sharp. At the ends the window is cut off, so the first and
   * last results are medians of fewer values. Exact; of an even number of values it is half the sum of the two in the middle.
   *
   * Time O(n log window) whatever the values are (Suomela, 2014: blocks are sorted, then only linked and unlinked), memory
   * O(window) beside the result.
   *
   * @returns as many values, NaN where the input is not finite (see `fillGaps`) or the window has no finite value
   * @throws {QuarkError} `invalid_input`
   */
  smoothRobust(values: SeriesValues, options?: SmoothRobustOptions): Float64Array<ArrayBuffer>;

  /**
   * Robust slope (Theil, 1950; Sen, 1968): the median of the slopes of all pairs of points, pairs at one position left out, without
   * looking at all pairs. Up to 29 % of the points may be arbitrarily wrong. Slopes are counted by exact comparisons on either side
   * of a bracket that random pairs narrow (Matousek, 1991; Dillencourt, Mount and Netanyahu, 1992), in expected time O(n log n); the
   * randomness is fixed, so the answer is the same each time.
   *
   * The slope is at most three units in its last place from the exact median (of the larger of the two in the middle, where there are
   * two), and equal to the median of the slopes as float64 division
   * gives them wherever differences of values and of positions are exact, as for integers. Holds where magnitudes other than 0 differ
   * by less than a factor of 2^400, in values and in positions.
   *
   * @throws {QuarkError} `invalid_input`, also for more than 2^24 finite points
   */
  theilSen(values: SeriesValues, options?: TheilSenOptions): TheilSenResult;

  /**
   * Spans that rise far above (or fall below) the local level, with begin, peak and recovery. The level of a point is the median
   * of the `window` values before it; the spread is 1.4826 times the median, over the same window, of the distances of values from
   * their levels, or where that is 0, 1.2533 times the mean of these distances. A spike begins where the height, the distance from
   * the level, is at least `threshold` spreads, at least `minRelativeHeight` times the absolute level, at least `minHeight`, and
   * above 0. It is over with the first value whose height above the level at its begin is at most `recovery` spreads (at
   * spread 0: at most half of the height it began with). No result depends on values that come after a spike, so a series that grows
   * keeps the spikes it had, except for one that was still open.
   *
   * @returns in order, without overlap
   * @throws {QuarkError} `invalid_input`
   */
  spikes(values: SeriesValues, options?: SpikeOptions): readonly Spike[];

  /**
   * Area under the straight lines that join finite points. At `from` and `to` a line is cut where it crosses them; beyond the first
   * and last point there is no area. The sum is compensated: it is off by at most 8 * 2^-53 times the same area of the absolute values.
   *
   * @throws {QuarkError} `invalid_input`
   */
  areaUnderCurve(values: SeriesValues, options?: AreaOptions): CurveArea;

  /**
   * Puts two series on one axis of steps. Of several finite values at one step the last in order of index counts (a restart replaces
   * what it repeats); values and steps that are not finite count as missing. `{ join: 'left', fill: 'previous' }` is the last
   * validation known at each training step, `'nearest'` the one closest to it (the earlier of two as close).
   *
   * @throws {QuarkError} `invalid_input`
   */
  alignOnStep(first: SteppedSeries, second: SteppedSeries, options?: AlignOptions): AlignedSeries;
}
