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
 * `variance` 6.5e-5 of itself, `std` half of that, `mean` 5e-6 of `std`, `l1Norm` 2e-6 of itself, `l2Norm` and `rms` 3.5e-5; in
 * practice all of them stay below 1e-6. Other types: 1e-12, and `variance` another 2^-50 |mean| / std where chunks were merged.
 * Squares of float64 values leave float64 beyond 1e150 and below 1e-150: `variance`, `std`, `l2Norm` and `rms` are Infinity or 0
 * then; beyond 1e300 the mean is lost too.
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
 * Only the places where both are finite take part.
 *
 * Error bounds: norms and `relativeDifference` 1e-12 of themselves; `dot` 1e-12 of `firstNorm * secondNorm`; `cosine` 3e-12.
 * Squares of float64 values leave float64 beyond 1e150 and below 1e-150: the norms are Infinity or 0 then, and the ratios NaN.
 */
export type TensorPairStats = {
  /** Elements of each tensor. */
  readonly elementCount: number;
  /** Places where both are finite. */
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

/** Options of the histogram. */
export type HistogramOptions = TensorTypeOptions & {
  /** Number of bins, 1 to 65,536; default 32. */
  readonly bins?: number;
  /**
   * Range the bins divide; default: from the smallest to the largest finite value. A tensor without finite values gets 0 to 1, one
   * whose values are all equal (or span less than 2^-960) a range around them, and ends beyond 2^1022 are cut to it.
   */
  readonly range?: ValueRange;
};

/**
 * Counts of values in uniform bins. Bin `i` holds `edge(i) <= x < edge(i + 1)` with `edge(i) = min + i * (max - min) / bins`; the
 * last bin holds `max` too. Every count is exact; a value within 4 units in the last place (float64, of the larger end) of an inner
 * edge may lie on either side of it.
 */
export type Histogram = {
  /** Lower end of the first bin. */
  readonly min: number;
  /** Upper end of the last bin. */
  readonly max: number;
  /** Values of each bin, `[bins]`; integers below 2^53. Owned by the receiver. */
  readonly counts: Float64Array;
  /** All elements. */
  readonly elementCount: number;
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
   * Histogram of all elements.
   *
   * @throws {QuarkError} `invalid_input`
   */
  histogram(data: TensorData, options?: HistogramOptions): Histogram;

  /**
   * Norms of two tensors and of their difference, and the cosine between them, in one pass.
   *
   * @param second of the type and length of `first`
   * @throws {QuarkError} `invalid_input`
   */
  tensorPairStats(first: PairData, second: PairData): TensorPairStats;
}
