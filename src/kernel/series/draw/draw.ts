/** Fewer points that draw the same picture: what the kernels for drawing take and give, and their checks. */
import { checkOptionNames, checkPositive } from '../../../base/assert.ts';
import { invalidInput } from '../../../base/errors.ts';
import { checkSeries, type SeriesValues } from '../module/values.ts';

/** What is left of a series. All indices count into the series that was given; both lists ascend and repeat nothing. */
export type SeriesReduction = {
  /** The values that were kept. Each is finite. */
  readonly indices: Uint32Array;
  /**
   * Where values that are not finite interrupt the kept ones: between two kept values of a bucket, before its first and after its last,
   * the first NaN, the first +Infinity and the first -Infinity. A line through two kept values with one of these between them has to break.
   */
  readonly nonFiniteIndices: Uint32Array;
  /** How many values of the same kind, in the same bucket, each of {@link SeriesReduction.nonFiniteIndices} stands for. */
  readonly nonFiniteCounts: Uint32Array;
};

/** A reduction by buckets. */
export type BucketReduction = SeriesReduction & {
  /** Index of the first value of each bucket, and one more entry for the end: bucket `b` is `[bucketStarts[b], bucketStarts[b + 1])`. */
  readonly bucketStarts: Uint32Array;
};

/** How a series is cut into buckets. */
export type BucketOptions = {
  /** Number of buckets, 1 to 2^24: pixel columns, as a rule. It may exceed the number of values; empty buckets give nothing. */
  readonly buckets: number;
  /**
   * Position of each value on the axis: as many as values, finite, ascending; equal ones and gaps are allowed. Without them the index is
   * the position.
   */
  readonly positions?: SeriesValues;
  /** Start of the first bucket, on the axis. Values before it are left out. Default: the first position. */
  readonly from?: number;
  /** End of the last bucket, which it belongs to. Values after it are left out. Default: the last position. */
  readonly to?: number;
};

/** How many points {@link DrawKernel.lttb} keeps, and of which. */
export type LttbOptions = {
  /** Number of points to keep, 2 to 2^24. Fewer come back only when fewer values are finite. */
  readonly points: number;
  /** Position of each value on the axis: as many as values, finite, ascending. Default: the index. */
  readonly positions?: SeriesValues;
  /**
   * Preselect this many points for each that is to be kept, as the lowest and highest of buckets, and choose among those: faster, and
   * the same picture (MinMaxLTTB; Van Der Donckt, Van Der Donckt, Rademaker and Van Hoecke 2023, who advise 4). 2 to 1024; 0, the
   * default, is plain LTTB.
   */
  readonly minMaxRatio?: number;
};

/**
 * Reduction of a series to what a chart can show. Values that are not finite are never among the kept ones and never vanish either:
 * see {@link SeriesReduction.nonFiniteIndices}. Results are exact, alike in every implementation and from run to run.
 */
export interface DrawKernel {
  /**
   * The first, the lowest, the highest and the last finite value of each bucket (M4; Jugel, Jerzak, Hackenbroich and Markl 2014). With
   * one bucket for each pixel column, lines through them set the same pixels as lines through all values. Every extreme survives; of
   * equal extremes the earliest is kept; -0 and 0 are equal.
   *
   * Without `positions`, `from` and `to`, buckets hold equal numbers of values: bucket `b` begins at index `floor(b * n / buckets)`. With
   * one of them, buckets are equally wide: bucket `b` begins at `from + b * ((to - from) / buckets)`, rounded as written.
   *
   * @returns at most `4 * buckets` indices, in new arrays
   * @throws {QuarkError} `invalid_input`
   */
  m4(values: SeriesValues, options: BucketOptions): BucketReduction;

  /** As {@link DrawKernel.m4}, but only the lowest and the highest finite value of each bucket: at most `2 * buckets` indices. */
  minMax(values: SeriesValues, options: BucketOptions): BucketReduction;

  /**
   * Largest triangle, three buckets (Steinarsson 2013): of each bucket the value that makes the largest triangle with the one kept
   * before and the mean of the bucket after. The first and the last finite value are always kept; of equal triangles the earliest wins.
   * It works on the finite values only. Bucket `b` of `points - 2` begins after `1 + floor(b * (n - 2) / (points - 2))` of them, exactly.
   *
   * It keeps the look of a curve with few points, and promises less than {@link DrawKernel.m4}: a spike may be lost. Triangles are
   * compared exactly where values and positions are integers (or multiples of one power of two) whose sums and products stay below 2^53;
   * else areas that differ by less than `1e-15 * (4 + n / points)` of the box around the triangles may be taken for each other. From
   * values of about 1e150 on areas overflow and are not ranked.
   *
   * @returns in new arrays
   * @throws {QuarkError} `invalid_input`
   */
  lttb(values: SeriesValues, options: LttbOptions): SeriesReduction;
}

/** Buckets or points one call can ask for. */
const MAX_PARTS = 2 ** 24;
const MAX_RATIO = 1024;

/** A reduction to buckets, checked. `positions` are undefined where the index is the position. */
export type BucketRequest = {
  readonly values: Float64Array;
  readonly positions: Float64Array | undefined;
  readonly starts: Uint32Array;
};

/** Says how many positions there are before the first that does not ascend. */
export type CountAscending = (positions: Float64Array) => number;

/** @throws {QuarkError} `invalid_input` */
export function checkBuckets(
  given: SeriesValues,
  options: BucketOptions,
  ascending: CountAscending,
): BucketRequest {
  checkOptionNames('options', options, ['buckets', 'positions', 'from', 'to']);
  const values = checkSeries('values', given);
  const positions = checkPositions(
    'options.positions',
    options.positions,
    values.length,
    ascending,
  );
  return { values, positions, starts: bucketStarts(values.length, positions, options) };
}

/**
 * Where the buckets of a series of `length` begin.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function bucketStarts(
  length: number,
  positions: Float64Array | undefined,
  options: Pick<BucketOptions, 'buckets' | 'from' | 'to'>,
): Uint32Array {
  const buckets = checkParts('options.buckets', options.buckets, 1);
  const starts = new Uint32Array(buckets + 1);
  if (positions === undefined && options.from === undefined && options.to === undefined) {
    // Products of integers below 2^53 are exact, and so is the floor of their quotients.
    for (let b = 0; b <= buckets; b++) starts[b] = Math.floor((b * length) / buckets);
    return starts;
  }
  const from = checkPosition('options.from', options.from ?? positions?.[0] ?? 0);
  const to = checkPosition(
    'options.to',
    options.to ?? positions?.[length - 1] ?? Math.max(0, length - 1),
  );
  // Both ends may be the defaults of an empty series.
  if (!(from <= to) && length > 0)
    throw invalidInput('options.to', to, `at or above options.from, which is ${from}`);
  const width = (to - from) / buckets;
  if (!Number.isFinite(width))
    throw invalidInput('options.to', to, 'so near to options.from that the difference is finite');
  let at = 0;
  for (let b = 0; b < buckets; b++) {
    at = firstFrom(positions, length, from + b * width, at);
    starts[b] = at;
  }
  starts[buckets] = firstAfter(positions, length, to, at);
  return starts;
}

/** Index, from `start` on, of the first position that is not below `position`. Near ones are found fastest. */
function firstFrom(
  positions: Float64Array | undefined,
  length: number,
  position: number,
  start: number,
): number {
  if (positions === undefined) return Math.min(length, Math.max(start, Math.ceil(position)));
  let low = start;
  let stride = 1;
  while (low + stride <= length && (positions[low + stride - 1] ?? Infinity) < position) {
    low += stride;
    stride *= 2;
  }
  let high = Math.min(length, low + stride);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((positions[middle] ?? Infinity) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

function firstAfter(
  positions: Float64Array | undefined,
  length: number,
  position: number,
  start: number,
): number {
  if (positions === undefined) return Math.min(length, Math.max(start, Math.floor(position) + 1));
  let low = start;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((positions[middle] ?? Infinity) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The positions of `length` values as float64; undefined where none were given.
 *
 * @param skipped positions that stand before these in the array that the caller sees
 * @throws {QuarkError} `invalid_input`
 */
export function checkPositions(
  name: string,
  given: SeriesValues | undefined,
  length: number,
  ascending: CountAscending,
  skipped: number = 0,
): Float64Array | undefined {
  if (given === undefined) return undefined;
  const positions = checkSeries(name, given);
  if (positions.length !== length)
    throw invalidInput(name, `${positions.length} positions`, `as many as values, ${length}`);
  if (length === 0) return positions;
  const sorted = ascending(positions);
  if (sorted < length)
    throw invalidInput(
      `${name}[${skipped + sorted}]`,
      positions[sorted],
      `a number at or above the position before it, ${positions[sorted - 1]}; sort values and positions together`,
    );
  // What lies between the ends of an ascending list is as finite as they are.
  for (const at of [0, length - 1]) checkPosition(`${name}[${skipped + at}]`, positions[at]);
  return positions;
}

/** A reduction by triangles, checked. */
export type LttbRequest = {
  readonly values: Float64Array;
  readonly positions: Float64Array | undefined;
  readonly points: number;
  readonly minMaxRatio: number;
};

/** @throws {QuarkError} `invalid_input` */
export function checkLttb(
  given: SeriesValues,
  options: LttbOptions,
  ascending: CountAscending,
): LttbRequest {
  checkOptionNames('options', options, ['points', 'positions', 'minMaxRatio']);
  const values = checkSeries('values', given);
  const positions = checkPositions(
    'options.positions',
    options.positions,
    values.length,
    ascending,
  );
  const points = checkParts('options.points', options.points, 2);
  const { minMaxRatio = 0 } = options;
  if (
    minMaxRatio !== 0 &&
    !(Number.isInteger(minMaxRatio) && minMaxRatio >= 2 && minMaxRatio <= MAX_RATIO)
  )
    throw invalidInput(
      'options.minMaxRatio',
      minMaxRatio,
      `0 or an integer from 2 to ${MAX_RATIO}`,
    );
  return { values, positions, points, minMaxRatio };
}

function checkParts(field: string, value: unknown, least: number): number {
  const count = checkPositive(field, value);
  if (count < least || count > MAX_PARTS)
    throw invalidInput(field, count, `an integer from ${least} to ${MAX_PARTS}`);
  return count;
}

function checkPosition(field: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw invalidInput(field, value, 'a finite number');
  return value;
}
