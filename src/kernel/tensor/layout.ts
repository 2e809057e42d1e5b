/**
 * Where each number lies in linear memory. AssemblyScript compiles this file too, so both sides read one declaration:
 * plain integer constants only.
 *
 * A slot is one float64. A state is filled by its reset function, then by any number of calls over consecutive blocks of
 * one tensor.
 */

/** Bytes of one slot. */
export const SLOT_BYTES = 8;

/** Finite values seen. */
export const STATS_FINITE = 0;
/** Mean of the finite values, less the origin. */
export const STATS_MEAN = 1;
/** Sum of squared deviations from the mean. */
export const STATS_M2 = 2;
/** Sum of |x|. */
export const STATS_L1 = 3;
/** Smallest finite value, +Infinity before the first. */
export const STATS_MIN = 4;
/** Largest finite value, -Infinity before the first. */
export const STATS_MAX = 5;
/** NaN seen. */
export const STATS_NAN = 6;
/** +Infinity seen. */
export const STATS_POSITIVE_INFINITY = 7;
/** -Infinity seen. */
export const STATS_NEGATIVE_INFINITY = 8;
/** Values equal to 0, of either sign. */
export const STATS_ZERO = 9;
/** Finite values with |x| <= epsilon. */
export const STATS_NEAR_ZERO = 10;
/** Finite values with |x| >= threshold. */
export const STATS_SATURATED = 11;
/** A value in the midst of the first block, from which the mean is counted, so that a large mean costs no digits of the rest. */
export const STATS_ORIGIN = 12;
/** Slots of a statistics state. */
export const STATS_SLOTS = 13;

/** NaN seen. */
export const HISTOGRAM_NAN = 0;
/** +Infinity seen. */
export const HISTOGRAM_POSITIVE_INFINITY = 1;
/** -Infinity seen. */
export const HISTOGRAM_NEGATIVE_INFINITY = 2;
/** Values equal to 0, of either sign. */
export const HISTOGRAM_ZERO = 3;
/** Slots of the counts kept beside the bins. */
export const HISTOGRAM_SLOTS = 4;

/** Sub-histograms, one a lane, so that equal neighbours do not wait for one another's store. */
export const HISTOGRAM_LANES = 4;
/** Cells of a table beyond its bins: underflow before the first bin, overflow after the last, then one that nobody reads. */
export const HISTOGRAM_EXTRA_CELLS = 3;

/** Elements where both tensors of a pair are finite. */
export const PAIR_FINITE = 0;
/** Sum of squares of the first tensor. */
export const PAIR_FIRST = 1;
/** Sum of squares of the second tensor. */
export const PAIR_SECOND = 2;
/** Sum of products. */
export const PAIR_DOT = 3;
/** Sum of squared differences. */
export const PAIR_DIFFERENCE = 4;
/** Slots of the sums of a pair. */
export const PAIR_SLOTS = 5;

/**
 * Most units whose running sums are kept at a time. A state of units is four arrays one after the other, a number for each of so
 * many units: sums of the finite values (float64), largest |x| (float64, or float32 for float32 data, in the space of float64),
 * NaN and infinities (uint32), values with |x| <= epsilon (uint32). A state of zeros is an empty one. Not a power of two: rows and
 * arrays would fall on the same lines of the cache, which costs a factor of two.
 */
export const UNIT_TILE = 2032;
/** Where the arrays after the first begin, in bytes from the state. */
export const UNIT_LARGEST_BYTES = 16_256;
export const UNIT_NON_FINITE_BYTES = 32_512;
export const UNIT_INACTIVE_BYTES = 40_640;
/** Bytes of a state of units. */
export const UNIT_STATE_BYTES = 48_768;

/**
 * Bytes that an instance needs for itself, besides what its callers give, at the address that it is made with; what lies there
 * before is of no account. The modules have no static data, so that they also work in a memory whose free bytes somebody else hands
 * out.
 */
export const SCRATCH_BYTES = 18_016;
