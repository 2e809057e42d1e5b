/** The points that a drawing retains of a span of a series: found by a scan in plain JavaScript, or merged from two adjacent spans. */
import type { BucketReduction } from './draw.ts';

/** Indices of what M4 keeps of a span; -1 where it has no finite value. */
export type Span = {
  readonly first: number;
  readonly low: number;
  readonly high: number;
  readonly last: number;
  /** Indices and counts in turn, as {@link NonFiniteSink} makes them. */
  readonly nonFinite: readonly number[];
};

/** Which of the four are kept. */
export type KeptPoints = 'm4' | 'minMax';

/** Gathers values that are not finite, in ascending order: the first of each kind between two kept values, and how many. */
export class NonFiniteSink {
  readonly pairs: number[] = [];
  readonly #values: Float64Array;
  readonly #kept: ArrayLike<number>;
  #next = 0;
  /** Where the count of each kind of the present gap stands in `pairs`. */
  #nan = -1;
  #positive = -1;
  #negative = -1;

  constructor(values: Float64Array, kept: ArrayLike<number>) {
    this.#values = values;
    this.#kept = kept;
  }

  add(index: number, count: number): void {
    while ((this.#kept[this.#next] ?? Infinity) < index) {
      this.#next += 1;
      this.#nan = this.#positive = this.#negative = -1;
    }
    const value = this.#values[index] ?? Number.NaN;
    if (value === Infinity) this.#positive = this.#count(this.#positive, index, count);
    else if (value === -Infinity) this.#negative = this.#count(this.#negative, index, count);
    else this.#nan = this.#count(this.#nan, index, count);
  }

  #count(known: number, index: number, count: number): number {
    if (known >= 0) {
      this.pairs[known] = (this.pairs[known] ?? 0) + count;
      return known;
    }
    return this.pairs.push(index, count) - 1;
  }
}

/** What is kept of the values from `start` to before `end`. */
export function scanSpan(values: Float64Array, start: number, end: number, kept: KeptPoints): Span {
  let first = -1;
  let low = -1;
  let high = -1;
  let last = -1;
  let lowest = 0;
  let highest = 0;
  let finite = 0;
  for (let at = start; at < end; at++) {
    const value = values[at] ?? Number.NaN;
    // The difference of a number with itself is 0, of anything that is not finite NaN.
    if (value - value !== 0) continue;
    finite += 1;
    last = at;
    if (first < 0) {
      first = low = high = at;
      lowest = highest = value;
    } else if (value < lowest) {
      low = at;
      lowest = value;
    } else if (value > highest) {
      high = at;
      highest = value;
    }
  }
  if (finite === end - start) return { first, low, high, last, nonFinite: NOTHING };
  const sink = new NonFiniteSink(values, keptOf(first, low, high, last, kept));
  for (let at = start; at < end; at++) {
    const value = values[at] ?? Number.NaN;
    if (value - value !== 0) sink.add(at, 1);
  }
  return { first, low, high, last, nonFinite: sink.pairs };
}

/** What M4 keeps of two spans, of which `b` begins where `a` ends: the same as if both had been scanned as one. */
export function joinSpans(values: Float64Array, a: Span, b: Span): Span {
  const first = a.first < 0 ? b.first : a.first;
  const last = b.last < 0 ? a.last : b.last;
  const low =
    a.low < 0 || (b.low >= 0 && valueAt(values, b.low) < valueAt(values, a.low)) ? b.low : a.low;
  const high =
    a.high < 0 || (b.high >= 0 && valueAt(values, b.high) > valueAt(values, a.high))
      ? b.high
      : a.high;
  if (a.nonFinite.length + b.nonFinite.length === 0)
    return { first, low, high, last, nonFinite: NOTHING };
  const sink = new NonFiniteSink(values, keptOf(first, low, high, last, 'm4'));
  for (const { nonFinite } of [a, b]) {
    for (let i = 0; i < nonFinite.length; i += 2)
      sink.add(nonFinite[i] ?? 0, nonFinite[i + 1] ?? 0);
  }
  return { first, low, high, last, nonFinite: sink.pairs };
}

const NOTHING: readonly number[] = [];

function valueAt(values: Float64Array, index: number): number {
  return values[index] ?? Number.NaN;
}

function keptOf(
  first: number,
  low: number,
  high: number,
  last: number,
  kept: KeptPoints,
): number[] {
  if (first < 0) return [];
  const [left, right] = low < high ? [low, high] : [high, low];
  return kept === 'm4' ? [first, left, right, last] : [left, right];
}

/** Puts what is kept of each bucket, in turn, into one reduction. */
export class ReductionBuilder {
  readonly #starts: Uint32Array;
  readonly #kept: KeptPoints;
  readonly #indices: Uint32Array;
  readonly #nonFinite: number[] = [];
  #length = 0;

  /** @param starts become part of the result */
  constructor(starts: Uint32Array, kept: KeptPoints) {
    this.#starts = starts;
    this.#kept = kept;
    const values = (starts.at(-1) ?? 0) - (starts[0] ?? 0);
    const each = kept === 'm4' ? 4 : 2;
    this.#indices = new Uint32Array(Math.min(values, each * (starts.length - 1)));
  }

  addSpan(span: Span): void {
    if (span.first >= 0) this.add(span.first, span.low, span.high, span.last);
    for (const entry of span.nonFinite) this.#nonFinite.push(entry);
  }

  /** A bucket whose values are all finite. */
  add(first: number, low: number, high: number, last: number): void {
    const left = low < high ? low : high;
    const right = low < high ? high : low;
    const isM4 = this.#kept === 'm4';
    if (isM4 && first !== left) this.#push(first);
    this.#push(left);
    if (right !== left) this.#push(right);
    if (isM4 && last !== right) this.#push(last);
  }

  finish(): BucketReduction {
    return {
      indices: this.#indices.slice(0, this.#length),
      ...unzip(this.#nonFinite),
      bucketStarts: this.#starts,
    };
  }

  #push(index: number): void {
    this.#indices[this.#length++] = index;
  }
}

/** Pairs of an index and a count as the two lists of a reduction. */
export function unzip(
  pairs: readonly number[],
): Pick<BucketReduction, 'nonFiniteIndices' | 'nonFiniteCounts'> {
  const length = pairs.length / 2;
  return {
    nonFiniteIndices: Uint32Array.from({ length }, (_, i) => pairs[2 * i] ?? 0),
    nonFiniteCounts: Uint32Array.from({ length }, (_, i) => pairs[2 * i + 1] ?? 0),
  };
}
