/** From the elements of a tensor in host memory to the numbers that are recorded. */
import { checkTensor, rangeAround } from './checks.ts';
import type { Histogram, Kernel, TensorData, TensorStats, TensorType } from '../kernel.ts';
import type { ReductionRequest, TensorHistogram, TensorSummary } from './summaries.ts';

/** Type of the bits of an array, where the array does not say it. */
export function typeOption(data: TensorData, dtype: string): { readonly type?: TensorType } {
  if (!(data instanceof Uint16Array)) return {};
  return { type: dtype === 'bfloat16' ? 'bfloat16' : 'float16' };
}

/** Statistics of a tensor of a source, at once. */
export function statsNow(
  kernel: Kernel,
  data: TensorData,
  dtype: string,
  request: Pick<ReductionRequest, 'epsilon' | 'threshold'>,
): TensorStats {
  return kernel.uncheckedStats(data, checkedType(data, dtype), request);
}

function checkedType(data: TensorData, dtype: string): TensorType {
  // The common type by its class, which costs less than its name; what is empty may have lost its memory.
  return data instanceof Float32Array && data.length > 0
    ? 'float32'
    : checkTensor(data, typeOption(data, dtype));
}

/** Statistics as a summary. */
export function summaryOf(
  stats: TensorStats,
  units: Uint8Array | null,
  histogram: TensorHistogram | null,
): TensorSummary {
  const hasFinite = stats.finiteCount > 0;
  return {
    elementCount: stats.elementCount,
    nonFiniteCount: stats.elementCount - stats.finiteCount,
    mean: hasFinite ? stats.mean : null,
    variance: hasFinite ? stats.variance : null,
    std: hasFinite ? stats.std : null,
    l2Norm: stats.l2Norm,
    min: hasFinite ? stats.min : null,
    max: hasFinite ? stats.max : null,
    nearZeroRatio: hasFinite ? stats.nearZeroRatio : null,
    saturatedRatio: hasFinite ? stats.saturatedRatio : null,
    deadUnits: units,
    histogram,
  };
}

/** The axis counted from 0; null where a shape has no axis of units besides that of the batch. */
export function unitAxisOf(shape: readonly number[], axis: number): number | null {
  const at = axis < 0 ? shape.length + axis : axis;
  return shape.length >= 2 && at >= 0 && at < shape.length ? at : null;
}

/**
 * Finds units whose every element has |x| <= epsilon; NaN is not near zero. Live units drop out at their first such
 * element, so that a layer without dead units costs two or three reads a unit.
 */
export class DeadUnitSearch {
  readonly #epsilon: number;
  readonly #units: number;
  readonly #inner: number;
  /** Units that have been near zero so far: the first `#candidates` of the list. */
  readonly #left: Int32Array;
  #candidates: number;
  #hasElements = false;

  constructor(shape: readonly number[], axis: number, epsilon: number) {
    this.#epsilon = epsilon;
    this.#units = shape[axis] ?? 0;
    this.#inner = shape.slice(axis + 1).reduce((product, size) => product * size, 1);
    this.#candidates = this.#units;
    this.#left = new Int32Array(this.#units);
    // A loop: Int32Array.from takes longer than all of the search.
    for (let unit = 0; unit < this.#units; unit++) this.#left[unit] = unit;
  }

  /** Elements from one row of all units to the next. */
  get stride(): number {
    return this.#units * this.#inner;
  }

  /** Whether looking further can change anything. */
  get isOpen(): boolean {
    return this.#candidates > 0;
  }

  /** Looks at the elements from one multiple of the stride to another. */
  look(data: TensorData, from: number, to: number): void {
    const inner = this.#inner;
    const epsilon = this.#epsilon;
    const left = this.#left;
    const { stride } = this;
    this.#hasElements ||= to > from;
    for (let row = from; row < to && this.#candidates > 0; row += stride) {
      if (inner === 1 && data instanceof Float32Array) {
        this.#candidates = nearZero32(left, this.#candidates, data, row, epsilon);
        continue;
      }
      let kept = 0;
      for (let i = 0; i < this.#candidates; i++) {
        const unit = left[i] ?? 0;
        const start = row + unit * inner;
        let at = start;
        while (at < start + inner && Math.abs(data[at] ?? Number.NaN) <= epsilon) at++;
        if (at === start + inner) left[kept++] = unit;
      }
      this.#candidates = kept;
    }
  }

  /** 1 for each dead unit, `[units]`. */
  get found(): Uint8Array {
    const dead = new Uint8Array(this.#units);
    if (!this.#hasElements) return dead;
    for (let i = 0; i < this.#candidates; i++) dead[this.#left[i] ?? 0] = 1;
    return dead;
  }
}

/** 1 for each unit whose every element has |x| <= epsilon, `[units]`. */
export function deadUnitsOf(
  data: TensorData,
  shape: readonly number[],
  axis: number,
  epsilon: number,
): Uint8Array {
  const search = new DeadUnitSearch(shape, axis, epsilon);
  search.look(data, 0, data.length);
  return search.found;
}

/** Keeps the units that are near zero in a row, and says how many. By itself, for one type: several times as fast as for any. */
function nearZero32(
  units: Int32Array,
  count: number,
  data: Float32Array,
  row: number,
  epsilon: number,
): number {
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const unit = units[i] ?? 0;
    if (Math.abs(data[row + unit] ?? Number.NaN) <= epsilon) units[kept++] = unit;
  }
  return kept;
}

/**
 * Histogram over the range of the values that are counted.
 *
 * @param stats those of all of `data`, where they are known: then its range needs no pass of its own
 */
export function histogramOf(
  kernel: Kernel,
  data: TensorData,
  dtype: string,
  { bins, maxValues }: NonNullable<ReductionRequest['histogram']>,
  stats?: Pick<TensorStats, 'min' | 'max'>,
): TensorHistogram {
  const { counts, min, max }: Histogram =
    stats === undefined || data.length > maxValues
      ? kernel.histogram(data, {
          bins,
          maxHistogramValues: maxValues,
          ...typeOption(data, dtype),
        })
      : kernel.uncheckedHistogram(
          data,
          checkedType(data, dtype),
          bins,
          rangeAround(stats.min, stats.max),
        );
  let sampleCount = 0;
  const edges = new Float64Array(bins + 1);
  const width = (max - min) / bins;
  for (let bin = 0; bin < bins; bin++) {
    edges[bin] = min + bin * width;
    sampleCount += counts[bin] ?? 0;
  }
  edges[bins] = max;
  return { edges, counts, sampleCount };
}

let scratch32 = new Float32Array(0);
const MAX_SCRATCH_LENGTH = 1 << 18;

/**
 * `after - before` for a span of two tensors, and the sum of squares of the finite elements of `before`. float32
 * differences are those of float64, rounded once. The result may be overwritten by the next call.
 */
export function differenceOf(
  after: TensorData,
  before: TensorData,
  from: number,
  to: number,
): { readonly update: Float32Array | Float64Array; readonly beforeSquares: number } {
  const length = to - from;
  if (after instanceof Float32Array && before instanceof Float32Array) {
    const update = scratchOf(length).subarray(0, length);
    const squares = subtract32(update, after, before, from);
    return { update, beforeSquares: squaresOr(squares, before, from, to) };
  }
  const update = new Float64Array(length);
  let squares = 0;
  for (let i = 0; i < length; i++) {
    const was = before[from + i] ?? 0;
    update[i] = (after[from + i] ?? 0) - was;
    squares += was * was;
  }
  return { update, beforeSquares: squaresOr(squares, before, from, to) };
}

/**
 * By itself, for arrays of one type: several times as fast as for any. Four sums, because one would wait for its own last
 * addition (1.6 times as long).
 */
function subtract32(
  update: Float32Array,
  after: Float32Array,
  before: Float32Array,
  from: number,
): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  const { length } = update;
  const whole = length & ~3;
  for (let i = 0, at = from; i < whole; i += 4, at += 4) {
    const a = before[at] ?? 0;
    const b = before[at + 1] ?? 0;
    const c = before[at + 2] ?? 0;
    const d = before[at + 3] ?? 0;
    update[i] = (after[at] ?? 0) - a;
    update[i + 1] = (after[at + 1] ?? 0) - b;
    update[i + 2] = (after[at + 2] ?? 0) - c;
    update[i + 3] = (after[at + 3] ?? 0) - d;
    first += a * a;
    second += b * b;
    third += c * c;
    fourth += d * d;
  }
  for (let i = whole; i < length; i++) {
    const was = before[from + i] ?? 0;
    update[i] = (after[from + i] ?? 0) - was;
    first += was * was;
  }
  return first + second + (third + fourth);
}

/** The sum, or, where an element is not finite, that of the others. */
function squaresOr(squares: number, data: TensorData, from: number, to: number): number {
  if (squares - squares === 0) return squares;
  let finite = 0;
  for (let i = from; i < to; i++) {
    const value = data[i] ?? 0;
    // Not the square: that of a finite float64 may be infinite, and then so is the norm.
    if (value - value === 0) finite += value * value;
  }
  return finite;
}

function scratchOf(length: number): Float32Array {
  if (length > MAX_SCRATCH_LENGTH) return new Float32Array(length);
  if (scratch32.length < length) scratch32 = new Float32Array(length);
  return scratch32;
}

/** Whether elements of this type have differences and angles. */
export function isFloat(data: TensorData): data is Float32Array | Float64Array {
  return data instanceof Float32Array || data instanceof Float64Array;
}

/** Number of elements of a shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
