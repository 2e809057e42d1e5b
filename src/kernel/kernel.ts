/** What a kernel computes, and in which shape the results come. */

/**
 * The tensors a kernel reads: flat, row-major, of any length. They are never changed, kept or transferred. Booleans are a
 * `Uint8Array` of 0 and 1, as TensorFlow.js keeps them. A `Uint16Array` holds the bit patterns of float16 or bfloat16 values; the
 * option `type` has to say which.
 */
export type TensorData = Float32Array | Float64Array | Int32Array | Uint8Array | Uint16Array;

/** The element types of {@link TensorData}. */
export const TENSOR_TYPES = [
  'float32',
  'float64',
  'int32',
  'uint8',
  'float16',
  'bfloat16',
] as const;

/** One of {@link TENSOR_TYPES}. */
export type TensorType = (typeof TENSOR_TYPES)[number];

/** What the bits of a tensor are. */
export type TensorTypeOptions = {
  /**
   * Needed for a `Uint16Array`: `float16` or `bfloat16`. Other arrays have one type each, which this may repeat.
   */
  readonly type?: TensorType;
};

/** Options of the tensor statistics. */
export type TensorStatsOptions = TensorTypeOptions & {
  /** A finite value counts as near zero when |x| <= epsilon. 0 or more; default 0. */
  readonly epsilon?: number;
  /** A finite value counts as saturated when |x| >= threshold. 0 or more; default null: not counted. */
  readonly threshold?: number | null;
};

/**
 * Statistics of one tensor, in the unit of its values. NaN and infinities are counted and take part in nothing else. Where no
 * value is finite, mean, variance, std, rms, min, max and the ratios are NaN and the norms are 0.
 *
 * Error bounds. Counts, `min` and `max` are exact (a zero is +0). float32, float16 and bfloat16 tensors, for the worst data there is:
 * `variance` 6.5e-5 of itself, `std` half of that, `mean` 5e-6 of `std` and 1e-12 of `rms`, `l1Norm` 2e-6 of itself, `l2Norm` and
 * `rms` 3.5e-5; in practice all of them stay below 1e-6. Other types: 1e-12 of itself, `mean` 1e-12 of `rms`. Where values lie
 * close together far from 0, float64 cannot tell more: for all types `variance` and `std` may be off by another 2^-50 |mean| / std
 * of themselves.
 * Squares of float64 values leave float64 beyond 1e150 and below 1e-150: `variance`, `std`, `l2Norm` and `rms` are Infinity or 0
 * then; beyond 1e300 they and the mean are lost, and may be NaN.
 */
export type TensorStats = {
  /** All elements. */
  readonly elementCount: number;
  /** Elements that are neither NaN nor infinite. */
  readonly finiteCount: number;
  /** NaN elements. */
  readonly nanCount: number;
  /** +Infinity elements. */
  readonly positiveInfinityCount: number;
  /** -Infinity elements. */
  readonly negativeInfinityCount: number;
  /** Elements equal to 0, of either sign. */
  readonly zeroCount: number;
  /** Mean of the finite values. */
  readonly mean: number;
  /** Population variance of the finite values: the mean squared deviation, divided by the count, not by the count less one. */
  readonly variance: number;
  /** Square root of `variance`. */
  readonly std: number;
  /** Sum of |x|. */
  readonly l1Norm: number;
  /** Square root of the sum of squares. */
  readonly l2Norm: number;
  /** Square root of the mean square. */
  readonly rms: number;
  /** Smallest finite value. */
  readonly min: number;
  /** Largest finite value. */
  readonly max: number;
  /** The epsilon that was applied. */
  readonly epsilon: number;
  /** Finite values with |x| <= epsilon. */
  readonly nearZeroCount: number;
  /** `nearZeroCount / finiteCount`, 0 to 1. */
  readonly nearZeroRatio: number;
  /** The threshold that was applied, or null. */
  readonly threshold: number | null;
  /** Finite values with |x| >= threshold; null without a threshold. */
  readonly saturatedCount: number | null;
  /** `saturatedCount / finiteCount`, 0 to 1; null without a threshold. */
  readonly saturatedRatio: number | null;
};

/** The tensors of a pair: both of the same type and length. */
export type PairData = Float32Array | Float64Array;

/** The element types of {@link PairData}. */
export type PairType = 'float32' | 'float64';

/**
 * Two tensors side by side, in the unit of their values: a layer before and after an update, or a gradient and the one before.
 * Only the elements where both are finite take part.
 *
 * Error bounds: norms and `relativeDifference` 1e-12 of themselves; `dot` 1e-12 of `firstNorm * secondNorm`; `cosine` 3e-12.
 * Squares of float64 values leave float64 beyond 1e150 and below 1e-150: the norms are Infinity or 0 then, and the ratios NaN.
 */
export type TensorPairStats = {
  /** Elements of each tensor. */
  readonly elementCount: number;
  /** Elements where both are finite. */
  readonly finiteCount: number;
  /** Square root of the sum of squares of the first. */
  readonly firstNorm: number;
  /** Square root of the sum of squares of the second. */
  readonly secondNorm: number;
  /** Square root of the sum of squared differences. */
  readonly differenceNorm: number;
  /** `differenceNorm / firstNorm`: 0 for equal tensors, Infinity when only the first is 0, NaN when both are. */
  readonly relativeDifference: number;
  /** Sum of products. */
  readonly dot: number;
  /** Cosine of the angle between the two, -1 to 1; NaN when one of them is 0. */
  readonly cosine: number;
};

/** A closed interval of values. */
export type ValueRange = {
  /** Lower end, inclusive. */
  readonly min: number;
  /** Upper end, inclusive. */
  readonly max: number;
};

/** How the bins of a histogram divide its range. */
export const HISTOGRAM_SCALES = ['uniform', 'log_magnitude'] as const;

/** One of {@link HISTOGRAM_SCALES}. */
export type HistogramScale = (typeof HISTOGRAM_SCALES)[number];

/** Options of the histogram. */
export type HistogramOptions = TensorTypeOptions & {
  /**
   * `uniform`: bins of equal width over `range`. `log_magnitude`: bins for each power of two of |x|, apart for negative and positive
   * values, which shows gradients of all sizes at once. Default `uniform`.
   */
  readonly scale?: HistogramScale;
  /** Number of uniform bins, 1 to 65,536; default 32. */
  readonly bins?: number;
  /**
   * Range the uniform bins divide; default: from the smallest to the largest finite value that is counted. A tensor without finite
   * values gets 0 to 1, one whose values are all equal (or span less than 2^-960) a range around them, and ends beyond 2^1022 are cut
   * to it.
   */
  readonly range?: ValueRange;
  /**
   * Smallest and largest |x| that `log_magnitude` tells apart: powers of two from 2^-126 to 2^127; default 2^-40 (about 1e-12) to
   * 2^24. Not taken from the data, so that histograms of different steps and layers have the same bins and merge.
   */
  readonly magnitudes?: ValueRange;
  /** Bins of `log_magnitude` between two powers of two, all of the same width: 1, 2, 4, 8, 16, 32 or 64; default 1. */
  readonly binsPerOctave?: number;
  /**
   * Most values that are counted, 1 or more; null, the default, counts all. Of a larger tensor a sample of exactly so many is counted:
   * the tensor is cut into so many equal parts by position, and one value of each is taken, at an index that depends on the number
   * of the part alone. So every element stands the same chance, and the sample is the same in every run and on every machine. An
   * element that lies in two parts can be taken for both. A range that is not given is that of the sample.
   */
  readonly maxHistogramValues?: number | null;
};

/**
 * Counts of values in bins. Bin `i` holds `edge(i) <= x < edge(i + 1)`; the last bin holds `max` too. Counts are of the values that
 * were looked at, `sampledCount` of them, and add up to it: bins, underflow, overflow, NaN and infinities.
 *
 * `uniform`: `edge(i) = min + i * (max - min) / bins`. Every count is exact; a value within 2^-50 of the size of the larger
 * end of an inner edge may lie on either side of it.
 *
 * `log_magnitude`: with b bins an octave and m = `magnitudes.min`, the edges above 0 are `2^e * (1 + j / b)` for j from 0 to b - 1
 * and every power of two from m up, then `magnitudes.max`; those below 0 are the same with a minus sign. So there are `2 n + 1`
 * bins with `n = b * log2(magnitudes.max / magnitudes.min)`: n for negative values, bin `n` for what is near zero,
 * `-m <= x < m`, and n for positive ones. Every count is exact.
 */
export type Histogram = {
  /** How the bins divide the range. */
  readonly scale: HistogramScale;
  /** Lower end of the first bin. */
  readonly min: number;
  /** Upper end of the last bin. */
  readonly max: number;
  /** Smallest and largest magnitude that has bins; null when they are uniform. */
  readonly magnitudes: ValueRange | null;
  /** Bins between two powers of two; null when they are uniform. */
  readonly binsPerOctave: number | null;
  /** Values of each bin, `[bins]`; integers below 2^53. Owned by the receiver. */
  readonly counts: Float64Array;
  /** All elements of the tensor. */
  readonly elementCount: number;
  /** Elements that were counted; as many as `elementCount` unless `maxHistogramValues` is less. */
  readonly sampledCount: number;
  /** Finite values below `min`. */
  readonly underflowCount: number;
  /** Finite values above `max`. */
  readonly overflowCount: number;
  /** NaN elements; they are in no bin. */
  readonly nanCount: number;
  /** +Infinity elements; they are in no bin and not in `overflowCount`. */
  readonly positiveInfinityCount: number;
  /** -Infinity elements; they are in no bin and not in `underflowCount`. */
  readonly negativeInfinityCount: number;
  /** Elements equal to 0, of either sign; they are in their bin as well. */
  readonly zeroCount: number;
};

/** Options of the statistics of units. */
export type TensorUnitStatsOptions = TensorTypeOptions & {
  /** Units (features, channels) of the tensor: the size of its unit axis; 1 to 16,777,216. */
  readonly units: number;
  /**
   * Consecutive elements that belong to one unit: the product of the sizes of the axes after the unit axis. Default 1, for
   * `[batch, units]` and `[n, h, w, channels]`; `h * w` for `[n, channels, h, w]`, as onnxruntime-web has it.
   */
  readonly innerSize?: number;
  /** A finite value counts as inactive when |x| <= epsilon. 0 or more; default 0. */
  readonly epsilon?: number;
};

/**
 * One row for each unit of a tensor, as arrays of `[units]`, owned by the receiver: which units are dead, and whether the same ones
 * still are in a later probe. Element `i` belongs to unit `floor(i / innerSize) % units`. NaN and infinities take part in
 * nothing.
 *
 * Error bounds: counts and `maxMagnitudes` are exact, `means` good to 1e-12 of the mean |x| of the unit. float64 sums beyond 1e300
 * are lost.
 */
export type TensorUnitStats = {
  /** Size of the unit axis. */
  readonly units: number;
  /** All elements; each unit has `elementCount / units`. */
  readonly elementCount: number;
  /** The epsilon that was applied. */
  readonly epsilon: number;
  /** Elements of each unit that are neither NaN nor infinite. */
  readonly finiteCounts: Float64Array;
  /** Mean of the finite values of each unit; NaN when it has none. */
  readonly means: Float64Array;
  /** Largest |x| of the finite values of each unit; NaN when it has none. */
  readonly maxMagnitudes: Float64Array;
  /** Finite values of each unit with |x| <= epsilon. */
  readonly inactiveCounts: Float64Array;
  /** `inactiveCounts / finiteCounts`, 0 to 1; NaN for a unit without finite values. */
  readonly inactiveRatios: Float64Array;
  /** Units with finite values all of which are inactive. */
  readonly deadUnitCount: number;
};

/** How tensors were read that TensorFlow.js' wasm backend has in its memory. */
export type InPlaceDiagnostics = {
  /** Calls that read a tensor where the backend has it, with no copy. */
  readonly callCount: number;
  /** Why a tensor of a backend was copied first, as those of other frameworks are; null where none was. */
  readonly failure: string | null;
};

/** Numeric routines over one tensor, on the calling thread. */
export interface Kernel {
  /** Which implementation this is: SIMD WebAssembly or plain JavaScript. */
  readonly kind: 'wasm' | 'js';

  /**
   * Statistics of all elements.
   *
   * @throws {QuarkError} `invalid_input`
   */
  tensorStats(data: TensorData, options?: TensorStatsOptions): TensorStats;

  /**
   * {@link Kernel.tensorStats} for callers who know what they hand over: checking it takes as long as a thousand elements.
   *
   * @internal
   */
  uncheckedStats(
    data: TensorData,
    type: TensorType,
    settings: Required<Pick<TensorStatsOptions, 'epsilon' | 'threshold'>>,
  ): TensorStats;

  /**
   * Histogram of all elements, or of a sample of them.
   *
   * @throws {QuarkError} `invalid_input`
   */
  histogram(data: TensorData, options?: HistogramOptions): Histogram;

  /**
   * {@link Kernel.histogram} of all elements in uniform bins, for callers who know the range.
   *
   * @internal
   */
  uncheckedHistogram(
    data: TensorData,
    type: TensorType,
    bins: number,
    range: ValueRange,
  ): Histogram;

  /**
   * Norms of two tensors and of their difference, and the cosine between them, in one pass.
   *
   * @param second of the type and length of `first`
   * @throws {QuarkError} `invalid_input`
   */
  tensorPairStats(first: PairData, second: PairData): TensorPairStats;

  /**
   * Statistics of each unit of a tensor, its length a multiple of `units * innerSize`.
   *
   * @throws {QuarkError} `invalid_input`
   */
  tensorUnitStats(data: TensorData, options: TensorUnitStatsOptions): TensorUnitStats;
}
