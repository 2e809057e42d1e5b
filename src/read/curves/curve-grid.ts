/**
 * One metric on a grid of equal parts of an axis: of each part the first, lowest, highest and last finite sample and the first
 * of each kind that is not finite (M4: Jugel et al., 2014). Samples may come in any order; memory depends on the grid alone.
 *
 * Parts are powers of two wide and begin at multiples of their width, so that those of a fine grid lie within those of a coarse one:
 * what a fine grid has kept comes, on a coarse one, to what all samples come to.
 */

/** Columns of samples that a grid takes from. */
export type SampleColumns = {
  readonly values: Float64Array;
  readonly steps: Float64Array | undefined;
  readonly epochs: Float64Array | undefined;
  readonly timesMs: Float64Array | undefined;
  readonly sequences: Float64Array;
};

/** Chosen samples, ordered by sequence number. */
export type ChosenSamples = {
  readonly values: Float64Array<ArrayBuffer>;
  readonly steps: Float64Array<ArrayBuffer>;
  readonly epochs: Float64Array<ArrayBuffer>;
  readonly timesMs: Float64Array<ArrayBuffer>;
  readonly sequences: Float64Array<ArrayBuffer>;
};

/** Lowest and highest position of any sample; none where `min` is above `max`. */
export type PositionRange = { readonly min: number; readonly max: number };

/** A division of an axis: parts are 2 to the power of `exponent` wide, and `first` counts those before the range. */
export type AxisGrid = { readonly exponent: number; readonly first: number };

/** Parts are no narrower than 2^-10: steps are whole, and clocks are no finer than a thousandth of a millisecond. */
const LOWEST_EXPONENT = -10;
const HIGHEST_EXPONENT = 64;

/** The finest grid with at most so many parts over a range; one part for everything where there is nothing to divide. */
export function divideAxis({ min, max }: PositionRange, parts: number): AxisGrid {
  if (!(min <= max)) return { exponent: HIGHEST_EXPONENT, first: 0 };
  let exponent = LOWEST_EXPONENT;
  const firstOf = (position: number): number => Math.floor(position * 2 ** -exponent);
  while (exponent < HIGHEST_EXPONENT && firstOf(max) - firstOf(min) >= parts) exponent++;
  return { exponent, first: firstOf(min) };
}

/** Slots of a part. */
const FIRST = 0;
const LOW = 1;
const HIGH = 2;
const LAST = 3;
const NOT_A_NUMBER = 4;
const ABOVE = 5;
const BELOW = 6;
const SLOTS = 7;
/** What is known of a sample: value, step, epoch, time, sequence number, position on the axis. */
const FACTS = 6;
const POSITION = 5;
const SEQUENCE = 4;

/** See the top of this file. */
export class CurveGrid {
  readonly #first: number;
  readonly #perUnit: number;
  readonly #buckets: number;
  readonly #facts: Float64Array;

  /** @param axis what lies outside of it and its `buckets` parts is taken to lie on the edge */
  constructor({ exponent, first }: AxisGrid, buckets: number) {
    this.#first = first;
    this.#perUnit = 2 ** -exponent;
    this.#buckets = buckets;
    this.#facts = new Float64Array(buckets * SLOTS * FACTS).fill(Number.NaN);
  }

  /**
   * Takes in some rows; returns how many of them are not finite. `positions` are their positions on the axis, none of them NaN. Only what a run
   * of neighbours in one part comes to is written down, so that a long series costs a few comparisons a sample.
   */
  add(columns: SampleColumns, positions: Float64Array, rows: Int32Array | number): number {
    const { values } = columns;
    let nonFiniteCount = 0;
    const count = typeof rows === 'number' ? rows : rows.length;
    const isList = typeof rows !== 'number';
    let bucket = -1;
    let first = -1;
    let low = -1;
    let high = -1;
    let last = -1;
    let lowest = Number.POSITIVE_INFINITY;
    let highest = Number.NEGATIVE_INFINITY;
    const flush = (): void => {
      if (first < 0) return;
      this.#keep(bucket, FIRST, columns, positions, first);
      this.#keep(bucket, LOW, columns, positions, low);
      this.#keep(bucket, HIGH, columns, positions, high);
      this.#keep(bucket, LAST, columns, positions, last);
      first = -1;
      last = -1;
      lowest = Number.POSITIVE_INFINITY;
      highest = Number.NEGATIVE_INFINITY;
    };
    for (let i = 0; i < count; i++) {
      const row = isList ? (rows[i] ?? 0) : i;
      const value = values[row] ?? Number.NaN;
      const at = Math.floor((positions[row] ?? 0) * this.#perUnit) - this.#first;
      const found = at < 0 ? 0 : at < this.#buckets ? at : this.#buckets - 1;
      if (found !== bucket) {
        flush();
        bucket = found;
      }
      if (!Number.isFinite(value)) {
        nonFiniteCount += 1;
        const kind = Number.isNaN(value) ? NOT_A_NUMBER : value > 0 ? ABOVE : BELOW;
        this.#keep(bucket, kind, columns, positions, row);
        continue;
      }
      // Positions need not ascend within a run: a sample may be the first or last of its part without being the first or last here.
      if (first < 0 || (positions[row] ?? 0) < (positions[first] ?? 0)) first = row;
      if (last < 0 || (positions[row] ?? 0) >= (positions[last] ?? 0)) last = row;
      if (value < lowest) {
        lowest = value;
        low = row;
      }
      if (value > highest) {
        highest = value;
        high = row;
      }
    }
    flush();
    return nonFiniteCount;
  }

  /** Every chosen sample, once. */
  samples(): ChosenSamples {
    const bySequence = new Map<number, number>();
    for (let at = 0; at < this.#facts.length; at += FACTS) {
      const sequence = this.#facts[at + SEQUENCE] ?? Number.NaN;
      if (!Number.isNaN(sequence)) bySequence.set(sequence, at);
    }
    const order = [...bySequence].sort(([a], [b]) => a - b);
    const column = (fact: number): Float64Array<ArrayBuffer> =>
      Float64Array.from(order, ([, at]) => this.#facts[at + fact] ?? Number.NaN);
    return {
      values: column(0),
      steps: column(1),
      epochs: column(2),
      timesMs: column(3),
      sequences: column(SEQUENCE),
    };
  }

  #keep(
    bucket: number,
    slot: number,
    columns: SampleColumns,
    positions: Float64Array,
    row: number,
  ): void {
    const facts = this.#facts;
    const at = (bucket * SLOTS + slot) * FACTS;
    const value = columns.values[row] ?? Number.NaN;
    const position = positions[row] ?? Number.NaN;
    const sequence = columns.sequences[row] ?? Number.NaN;
    const isFree = Number.isNaN(facts[at + SEQUENCE] ?? Number.NaN);
    if (!isFree && !this.#isBetter(slot, at, value, position, sequence)) return;
    facts[at] = value;
    facts[at + 1] = columns.steps?.[row] ?? Number.NaN;
    facts[at + 2] = columns.epochs?.[row] ?? Number.NaN;
    facts[at + 3] = columns.timesMs?.[row] ?? Number.NaN;
    facts[at + SEQUENCE] = sequence;
    facts[at + POSITION] = position;
  }

  /** Whether a sample replaces the stored one. Of equal ones the earlier in the order of recording remains, whichever came first. */
  #isBetter(slot: number, at: number, value: number, position: number, sequence: number): boolean {
    const storedValue = this.#facts[at] ?? 0;
    const storedPosition = this.#facts[at + POSITION] ?? 0;
    const isEarlier = sequence < (this.#facts[at + SEQUENCE] ?? 0);
    switch (slot) {
      case LOW:
        return value < storedValue || (value === storedValue && isEarlier);
      case HIGH:
        return value > storedValue || (value === storedValue && isEarlier);
      case LAST:
        return position > storedPosition || (position === storedPosition && !isEarlier);
      default:
        return position < storedPosition || (position === storedPosition && isEarlier);
    }
  }
}
