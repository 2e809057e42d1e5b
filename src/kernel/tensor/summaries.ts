/**
 * The numbers that a probe records of a tensor. However a tensor gets here, whole or in slices, on the training thread or in a worker,
 * they are those of the same slices, to the last bit.
 */
import type { Kernel, PairData, TensorData, TensorPairStats, TensorStats } from '../kernel.ts';
import { deadUnitsOf, differenceOf, histogramOf, statsNow } from './reductions.ts';
import { mergeTensorPairStats, mergeTensorStats } from './results.ts';
import { sampleIndex } from './sampling.ts';

/** What to compute of a tensor. */
export type ReductionRequest = {
  /** Elements with |x| <= epsilon count as near zero. */
  readonly epsilon: number;
  /** Elements with |x| >= threshold count as saturated; null: not counted. */
  readonly threshold: number | null;
  /** Axis of the units whose deadness is wanted, from 0; null: not wanted. */
  readonly unitAxis: number | null;
  /** Bins of a histogram from the smallest to the largest element, and how many elements to count; null: none. */
  readonly histogram: { readonly bins: number; readonly maxValues: number } | null;
};

/** Counts of a tensor's values in uniform bins. */
export type TensorHistogram = {
  /** Edges of the bins, ascending; one more than there are bins. */
  readonly edges: Float64Array;
  /** Elements a bin; every bin but the last excludes its upper edge. */
  readonly counts: Float64Array;
  /** Elements that were counted. */
  readonly sampleCount: number;
};

/**
 * The numbers of a tensor. NaN and infinities are counted and take part in nothing else; where no element is finite,
 * mean, variance, extremes and ratios are null.
 */
export type TensorSummary = {
  readonly elementCount: number;
  /** NaN and infinite elements. */
  readonly nonFiniteCount: number;
  readonly mean: number | null;
  /** Population variance. */
  readonly variance: number | null;
  /** Population standard deviation. */
  readonly std: number | null;
  /** Square root of the sum of squares. */
  readonly l2Norm: number;
  readonly min: number | null;
  readonly max: number | null;
  /** Share of finite elements near zero. */
  readonly nearZeroRatio: number | null;
  /** Share of finite elements that are saturated; null when not asked for. */
  readonly saturatedRatio: number | null;
  /** 1 for each unit that is near zero throughout, `[units]`; null when not asked for. */
  readonly deadUnits: Uint8Array | null;
  /** Null when not asked for. */
  readonly histogram: TensorHistogram | null;
};

/** What was found of a change. */
export type ChangeSummary = { readonly update: TensorSummary; readonly beforeNorm: number };

/** Elements that are reduced at a time. */
export const SLICE_LENGTH: number = 1 << 17;

/** Start and end of the spans that a length is divided into; a length of 0 has one empty span. */
export function* spans(length: number, step: number): Generator<readonly [number, number]> {
  for (let from = 0; from === 0 || from < length; from += step)
    yield [from, Math.min(length, from + step)];
}

/** Elements of a change that a histogram counts, taken as its slices come. */
export class ChangeSample {
  readonly values: Float32Array | Float64Array;
  readonly #length: number;
  #taken = 0;

  constructor(length: number, maxValues: number, like: TensorData) {
    const count = Math.min(length, maxValues);
    this.#length = length;
    this.values = like instanceof Float32Array ? new Float32Array(count) : new Float64Array(count);
  }

  /** Whether it is all of the change. */
  get isWhole(): boolean {
    return this.values.length === this.#length;
  }

  /** Takes those of a slice that begins at element `from`. */
  take(update: Float32Array | Float64Array, from: number): void {
    const { values } = this;
    if (this.isWhole) {
      values.set(update, from);
      return;
    }
    const to = from + update.length;
    while (this.#taken < values.length) {
      const at = sampleIndex(this.#taken, values.length, this.#length);
      if (at >= to) return;
      values[this.#taken++] = update[at - from] ?? 0;
    }
  }
}

/** Statistics of a tensor in slices. */
export function slicedStats(
  kernel: Kernel,
  data: TensorData,
  dtype: string,
  request: Pick<ReductionRequest, 'epsilon' | 'threshold'>,
): TensorStats {
  if (data.length <= SLICE_LENGTH) return statsNow(kernel, data, dtype, request);
  const parts: TensorStats[] = [];
  for (const [from, to] of spans(data.length, SLICE_LENGTH))
    parts.push(statsNow(kernel, data.subarray(from, to), dtype, request));
  return mergeTensorStats(parts);
}

/** What was found of a tensor, before it becomes a summary. */
export type FoundNumbers = {
  readonly stats: TensorStats;
  readonly units: Uint8Array | null;
  readonly histogram: TensorHistogram | null;
};

/** Everything that was asked of a tensor. */
export function findNumbers(
  kernel: Kernel,
  data: TensorData,
  tensor: { readonly shape: readonly number[]; readonly dtype: string },
  request: ReductionRequest,
): FoundNumbers {
  const { dtype, shape } = tensor;
  const { histogram, unitAxis, epsilon } = request;
  // The bits of half floats are not their values.
  const hasUnits = unitAxis !== null && !(data instanceof Uint16Array);
  const stats = slicedStats(kernel, data, dtype, request);
  return {
    stats,
    units: hasUnits ? deadUnitsOf(data, shape, unitAxis, epsilon) : null,
    histogram: histogram === null ? null : histogramOf(kernel, data, dtype, histogram, stats),
  };
}

/** The same of `after - before`, and the norm of `before`. */
export function findChange(
  kernel: Kernel,
  after: PairData,
  before: TensorData,
  { epsilon, threshold, histogram }: ReductionRequest,
): FoundNumbers & Pick<ChangeSummary, 'beforeNorm'> {
  const { length } = after;
  if (length <= SLICE_LENGTH && (histogram === null || length <= histogram.maxValues)) {
    const { update, beforeSquares } = differenceOf(after, before, 0, length);
    const stats = statsNow(kernel, update, '', { epsilon, threshold });
    const bins = histogram === null ? null : histogramOf(kernel, update, '', histogram, stats);
    return { stats, units: null, histogram: bins, beforeNorm: Math.sqrt(beforeSquares) };
  }
  const sample =
    histogram === null ? undefined : new ChangeSample(length, histogram.maxValues, after);
  const parts: TensorStats[] = [];
  let squares = 0;
  for (const [from, to] of spans(length, SLICE_LENGTH)) {
    const { update, beforeSquares } = differenceOf(after, before, from, to);
    squares += beforeSquares;
    sample?.take(update, from);
    parts.push(kernel.tensorStats(update, { epsilon, threshold }));
  }
  const stats = mergeTensorStats(parts);
  return {
    stats,
    units: null,
    histogram:
      histogram === null || sample === undefined
        ? null
        : changeHistogram(kernel, sample, histogram.bins, stats),
    beforeNorm: Math.sqrt(squares),
  };
}

/** Histogram of the values of a sample. @param stats those of all of the change, where they are known */
export function changeHistogram(
  kernel: Kernel,
  { isWhole, values }: ChangeSample,
  bins: number,
  stats?: TensorStats,
): TensorHistogram {
  const all = { bins, maxValues: Math.max(1, values.length) };
  return histogramOf(kernel, values, '', all, isWhole ? stats : undefined);
}

/** The cosine of the angle between two tensors; null when one is all zero. */
export function cosineBetween(kernel: Kernel, first: PairData, second: PairData): number | null {
  if (first.length <= SLICE_LENGTH)
    return finiteOrNull(kernel.tensorPairStats(first, second).cosine);
  const parts: TensorPairStats[] = [];
  for (const [from, to] of spans(first.length, SLICE_LENGTH))
    parts.push(kernel.tensorPairStats(first.subarray(from, to), second.subarray(from, to)));
  return finiteOrNull(mergeTensorPairStats(parts).cosine);
}

/** A number, or null where there is none. */
export function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
