/** One metric while its rows come in, a stretch of one segment at a time, and how it looks in the end. */
import { ascendingOrder, inOrder, isAscending } from '../base/ascending-order.ts';

/** A metric as it was recorded: columns of one length, in the order of their sequence numbers. Do not change the arrays. */
export type RecordedSeries = {
  readonly key: string;
  readonly values: Float64Array;
  /** NaN for none. Null where no sample has a step. */
  readonly steps: Float64Array | null;
  /** NaN for none. Null where no sample has an epoch. */
  readonly epochs: Float64Array | null;
  /** UTC epoch milliseconds. */
  readonly timestampsMs: Float64Array;
};

/** Sequence numbers of rows that were added together: `first + i * stride`, or, where they are not evenly spaced, a copy. */
type Stretch = {
  readonly count: number;
  readonly first: number;
  readonly stride: number;
  readonly sequences: Float64Array | null;
};

const NONE = new Float64Array(0);
/** How far an expected number of rows is believed, in multiples of what is there: it comes from manifests. */
const MAX_FORESIGHT = 64;
/** Unused memory at the end of a column that is kept rather than copied away, as a share of the rows. */
const KEPT_SLACK = 1 / 8;

/** A metric that rows are added to: `reserve`, then `note`, then every column from the place that `reserve` gave. */
export class GrowingSeries {
  readonly key: string;
  values: Float64Array = NONE;
  timestampsMs: Float64Array = NONE;
  #steps: Float64Array | null = null;
  #epochs: Float64Array | null = null;
  #count = 0;
  readonly #expected: number;
  readonly #stretches: Stretch[] = [];
  #last = Number.NEGATIVE_INFINITY;
  #isAscending = true;

  /** @param expected how many rows there will be, as far as one knows */
  constructor(key: string, expected: number) {
    this.key = key;
    this.#expected = expected;
  }

  get hasSteps(): boolean {
    return this.#steps !== null;
  }

  get hasEpochs(): boolean {
    return this.#epochs !== null;
  }

  /** Room for that many rows more; returns where they go. */
  reserve(rowCount: number): number {
    const at = this.#count;
    const count = at + rowCount;
    if (count > this.values.length) {
      const foreseen = Math.min(this.#expected, MAX_FORESIGHT * count);
      const capacity = Math.max(
        count,
        foreseen,
        at === 0 ? 0 : Math.ceil(1.5 * this.values.length),
      );
      this.values = grown(this.values, at, capacity);
      this.timestampsMs = grown(this.timestampsMs, at, capacity);
      this.#steps &&= grown(this.#steps, at, capacity);
      this.#epochs &&= grown(this.#epochs, at, capacity);
    }
    this.#count = count;
    return at;
  }

  /** The steps, to be written from the place that `reserve` gave. Before that no row had one. */
  writeSteps(): Float64Array {
    this.#steps ??= new Float64Array(this.values.length).fill(Number.NaN, 0, this.#count);
    return this.#steps;
  }

  /** The epochs, as the steps. */
  writeEpochs(): Float64Array {
    this.#epochs ??= new Float64Array(this.values.length).fill(Number.NaN, 0, this.#count);
    return this.#epochs;
  }

  /** The sequence numbers of the rows just reserved. They are copied where they have to be kept. */
  note(sequences: Float64Array): void {
    const count = sequences.length;
    const first = sequences[0] ?? 0;
    const stride = count > 1 ? (sequences[1] ?? 0) - first : 0;
    if (!(first > this.#last)) this.#isAscending = false;
    let isEven = true;
    for (let i = 1; i < count && isEven; i++) isEven = sequences[i] === first + i * stride;
    if (isEven ? stride < 0 : !isAscending(sequences)) this.#isAscending = false;
    this.#last = sequences[count - 1] ?? first;
    this.#stretches.push({ count, first, stride, sequences: isEven ? null : sequences.slice() });
  }

  finish(): RecordedSeries {
    const order = this.#isAscending ? null : ascendingOrder(this.#sequences());
    const finished = (column: Float64Array): Float64Array => {
      if (order !== null) return inOrder(column, order);
      const isTight = column.length - this.#count <= this.#count * KEPT_SLACK;
      return isTight ? column.subarray(0, this.#count) : column.slice(0, this.#count);
    };
    return {
      key: this.key,
      values: finished(this.values),
      steps: this.#steps && finished(this.#steps),
      epochs: this.#epochs && finished(this.#epochs),
      timestampsMs: finished(this.timestampsMs),
    };
  }

  #sequences(): Float64Array {
    const all = new Float64Array(this.#count);
    let at = 0;
    for (const { count, first, sequences, stride } of this.#stretches) {
      if (sequences === null) for (let i = 0; i < count; i++) all[at + i] = first + i * stride;
      else all.set(sequences, at);
      at += count;
    }
    return all;
  }
}

function grown(column: Float64Array, count: number, capacity: number): Float64Array {
  const larger = new Float64Array(capacity);
  larger.set(column.subarray(0, count));
  return larger;
}
