/** One metric while its rows come in, a chunk of one segment at a time, and its columns in the end. */
import { ascendingOrder, inOrder, isAscending } from '../../base/ascending-order.ts';
import type { ArrowNumbers } from '../../codecs/arrow/arrow-reader.ts';

/** Samples of one metric: columns of one length, in the order they were persisted. The caller owns the arrays. */
export type RecordedSeries = {
  /** The full key, such as `train/loss`. */
  readonly key: string;
  readonly values: Float64Array<ArrayBuffer>;
  /** Step of each sample, NaN for none. Null where no sample has a step. */
  readonly steps: Float64Array<ArrayBuffer> | null;
  /** Epoch of each sample, NaN for none. Null where no sample has an epoch. */
  readonly epochs: Float64Array<ArrayBuffer> | null;
  /** When each sample was made, in UTC epoch milliseconds. */
  readonly timesMs: Float64Array<ArrayBuffer>;
};

/** Sequence numbers of rows that were added together: `first + i * stride`, or, where they are not evenly spaced, a copy. */
type Chunk = {
  /** Index of the first row. */
  readonly at: number;
  readonly count: number;
  readonly first: number;
  readonly last: number;
  readonly stride: number;
  readonly isAscending: boolean;
  readonly sequences: Float64Array | null;
};

const NONE = new Float64Array(0);
/** Largest expected number of rows that is allocated, in multiples of those that came: manifests may claim any number. */
const MAX_FORESIGHT = 64;
/** Unused memory at the end of a column that is left there rather than copied away, as a share of the rows. */
const MAX_SLACK = 1 / 8;

/** A metric that rows are added to: `reserve`, then `number`, then every column from the index that `reserve` returned. */
export class GrowingSeries {
  readonly key: string;
  values: Float64Array<ArrayBuffer> = NONE;
  timesMs: Float64Array<ArrayBuffer> = NONE;
  #steps: Float64Array<ArrayBuffer> | null = null;
  #epochs: Float64Array<ArrayBuffer> | null = null;
  #count = 0;
  readonly #expected: number;
  readonly #chunks: Chunk[] = [];
  #last = Number.NEGATIVE_INFINITY;
  #isAscending = true;

  /** Smallest and largest sequence number; of no row, the first is above the last. */
  firstSequence: number = Number.POSITIVE_INFINITY;
  lastSequence: number = Number.NEGATIVE_INFINITY;

  /** @param expected how many rows there will be, by the manifests */
  constructor(key: string, expected: number) {
    this.key = key;
    this.#expected = expected;
  }

  get rowCount(): number {
    return this.#count;
  }

  get hasSteps(): boolean {
    return this.#steps !== null;
  }

  get hasEpochs(): boolean {
    return this.#epochs !== null;
  }

  /** Makes room for that many rows; returns the index of the first. */
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
      this.timesMs = grown(this.timesMs, at, capacity);
      this.#steps &&= grown(this.#steps, at, capacity);
      this.#epochs &&= grown(this.#epochs, at, capacity);
    }
    this.#count = count;
    return at;
  }

  /** The steps, to be written from the index that `reserve` returned. Rows before it had none. */
  writeSteps(): Float64Array {
    this.#steps ??= new Float64Array(this.values.length).fill(Number.NaN, 0, this.#count);
    return this.#steps;
  }

  /** The epochs, as the steps. */
  writeEpochs(): Float64Array {
    this.#epochs ??= new Float64Array(this.values.length).fill(Number.NaN, 0, this.#count);
    return this.#epochs;
  }

  /** Takes the sequence numbers of the rows just reserved. They are copied where they are not evenly spaced. */
  number(sequences: ArrowNumbers): void {
    const count = sequences.length;
    const first = sequences[0] ?? 0;
    const last = sequences[count - 1] ?? first;
    const stride = count > 1 ? (sequences[1] ?? 0) - first : 0;
    const isEven = isEvenlySpaced(sequences, stride);
    const own = isEven ? null : Float64Array.from(sequences);
    this.#addChunk({ first, last, stride, sequences: own }, count);
  }

  /** The same for rows that follow each other. */
  numberFrom(first: number, count: number): void {
    this.#addChunk({ first, last: first + count - 1, stride: 1, sequences: null }, count);
  }

  finish(): RecordedSeries {
    const moved = this.#isAscending ? null : inTurn(this.#chunks);
    const order = this.#isAscending || moved !== null ? null : ascendingOrder(this.#sequences());
    const finished = (column: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> => {
      if (order !== null) return inOrder(column, order);
      if (moved !== null) return joined(column, moved, this.#count);
      const isTight = column.length - this.#count <= this.#count * MAX_SLACK;
      return isTight ? column.subarray(0, this.#count) : column.slice(0, this.#count);
    };
    return {
      key: this.key,
      values: finished(this.values),
      steps: this.#steps && finished(this.#steps),
      epochs: this.#epochs && finished(this.#epochs),
      timesMs: finished(this.timesMs),
    };
  }

  #addChunk(
    { first, last, sequences, stride }: Pick<Chunk, 'first' | 'last' | 'sequences' | 'stride'>,
    count: number,
  ): void {
    const isUp = sequences === null ? count < 2 || stride > 0 : isAscending(sequences);
    if (!isUp || !(first > this.#last)) this.#isAscending = false;
    this.#last = last;
    for (const sequence of sequences ?? [first, last]) {
      if (sequence < this.firstSequence) this.firstSequence = sequence;
      if (sequence > this.lastSequence) this.lastSequence = sequence;
    }
    const at = this.#count - count;
    this.#chunks.push({ at, count, first, last, stride, isAscending: isUp, sequences });
  }

  #sequences(): Float64Array {
    const all = new Float64Array(this.#count);
    let at = 0;
    for (const { count, first, sequences, stride } of this.#chunks) {
      if (sequences === null) for (let i = 0; i < count; i++) all[at + i] = first + i * stride;
      else all.set(sequences, at);
      at += count;
    }
    return all;
  }
}

/** Whether each number is `stride` above the one before. */
function isEvenlySpaced(sequences: ArrowNumbers, stride: number): boolean {
  if (sequences instanceof Int32Array) {
    for (let i = 1; i < sequences.length; i++)
      if ((sequences[i] ?? 0) - (sequences[i - 1] ?? 0) !== stride) return false;
    return true;
  }
  const first = sequences[0] ?? 0;
  for (let i = 1; i < sequences.length; i++) if (sequences[i] !== first + i * stride) return false;
  return true;
}

/** The chunks in the order of their rows; null where some overlap. */
function inTurn(chunks: readonly Chunk[]): readonly Chunk[] | null {
  const sorted = chunks.toSorted((a, b) => a.first - b.first);
  let last = Number.NEGATIVE_INFINITY;
  for (const chunk of sorted) {
    if (!chunk.isAscending || !(chunk.first > last)) return null;
    last = chunk.last;
  }
  return sorted;
}

function joined(
  column: Float64Array,
  chunks: readonly Chunk[],
  rowCount: number,
): Float64Array<ArrayBuffer> {
  const all = new Float64Array(rowCount);
  let to = 0;
  for (const { at, count } of chunks) {
    all.set(column.subarray(at, at + count), to);
    to += count;
  }
  return all;
}

function grown(column: Float64Array, count: number, capacity: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(capacity);
  larger.set(column.subarray(0, count));
  return larger;
}
