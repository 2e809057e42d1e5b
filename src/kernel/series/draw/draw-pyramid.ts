/** A series that grows, ready to be drawn at any zoom. */
import { checkOptionNames } from '../../../base/assert.ts';
import { invalidInput } from '../../../base/errors.ts';
import { bucketStarts, checkPositions, type BucketOptions, type BucketReduction } from './draw.ts';
import { countAscending } from './draw-js.ts';
import { joinSpans, ReductionBuilder, scanSpan, type Span } from './draw-span.ts';
import { checkSeries, MAX_SERIES_VALUES, type SeriesValues } from '../module/values.ts';

/** Values of a block of the lowest level: few enough to be scanned when a bucket ends inside. */
const BASE = 64;
/** Stands for a block with values that are not finite. */
const MIXED = 0xffff_ffff;

/** Blocks of `BASE * 2^k` values: indices of the lowest and the highest of each, in turn. */
type Level = {
  readonly size: number;
  count: number;
  extremes: Uint32Array;
  /** Blocks with values that are not finite. */
  readonly mixed: Map<number, Span>;
};

/** The part of a series to draw, and on how many buckets. */
export type PyramidQuery = Pick<BucketOptions, 'buckets' | 'from' | 'to'>;

/**
 * A series that grows by appending and gives the M4 reduction of any part of it without looking at all of it: the same as
 * {@link DrawKernel.m4} of all values, to the index, in time proportional to `buckets * log(length)`.
 *
 * Over blocks of 64, 128, 256, ... values it keeps where the lowest and the highest are. A block that is full never changes, and how the
 * series was cut into appends makes no difference. That is a quarter of a byte for each value, up to twice that while it grows, and some
 * bytes more for blocks with values that are not finite; the values and positions themselves are 8 bytes each, or nothing where
 * {@link SeriesPyramid.extendTo} refers to arrays that are there already. It is built anew in a few milliseconds for a million
 * values, so there is nothing to save.
 *
 * @example
 * ```js
 * import { SeriesPyramid } from 'quark-sdk/kernels';
 *
 * const pyramid = new SeriesPyramid();
 * for (let i = 0; i < 100; i++) pyramid.append(Float64Array.from({ length: 1000 }, (_, j) => Math.sin((1000 * i + j) / 500)));
 * const { indices } = pyramid.query({ buckets: 50, from: 20_000, to: 40_000 }); // what a chart 50 pixels wide draws of this part
 * console.log(pyramid.length, indices.length <= 200); // 100000 true
 * ```
 */
export class SeriesPyramid {
  #values: Float64Array = new Float64Array(0);
  #positions: Float64Array | undefined;
  /** Whether the arrays above are this object's own, to be written to. */
  #isOwn = true;
  #length = 0;
  readonly #levels: Level[] = [];

  /** Number of values so far. */
  get length(): number {
    return this.#length;
  }

  /** The values so far: a view, to be read only, and only until the next append. */
  get values(): Float64Array {
    return this.#values.subarray(0, this.#length);
  }

  /** The positions so far, as {@link SeriesPyramid.values}; undefined where there are none, and the index is the position. */
  get positions(): Float64Array | undefined {
    return this.#positions?.subarray(0, this.#length);
  }

  /** Bytes held beside the values and positions. Blocks with values that are not finite are counted by their entries. */
  get indexBytes(): number {
    let bytes = 0;
    for (const { extremes, mixed } of this.#levels) {
      bytes += extremes.byteLength;
      for (const { nonFinite } of mixed.values()) bytes += 32 + 8 * nonFinite.length;
    }
    return bytes;
  }

  /**
   * Adds values at the end; they are copied.
   *
   * @param positions their positions: finite, ascending and not below those before. Either every append gives positions, or none does.
   * @throws {QuarkError} `invalid_input`, and nothing was added
   */
  append(values: SeriesValues, positions?: SeriesValues): void {
    const added = checkSeries('values', values);
    const checked = checkPositions('positions', positions, added.length, countAscending);
    if (added.length === 0) return;
    this.#checkGrowth(this.#length + added.length, checked, 0);
    const length = this.#length + added.length;
    const capacity = this.#isOwn ? this.#values.length : 0;
    if (length > capacity) {
      const room = Math.max(length, 2 * this.#length, BASE);
      this.#values = grown(this.values, room);
      if (checked !== undefined) this.#positions = grown(this.positions, room);
      this.#isOwn = true;
    }
    this.#values.set(added, this.#length);
    if (checked !== undefined) this.#positions?.set(checked, this.#length);
    this.#length = length;
    this.#build();
  }

  /**
   * Takes over a longer state of the same series without copying it: for arrays that their owner keeps and grows.
   *
   * @param values the whole series so far. Its first {@link SeriesPyramid.length} values are the ones known already, which is not checked;
   *   none may change as long as this object refers to the array.
   * @param positions their positions, as for {@link SeriesPyramid.append}, held in the same way
   * @throws {QuarkError} `invalid_input`, and nothing was taken over
   */
  extendTo(values: Float64Array, positions?: Float64Array): void {
    for (const [name, array] of Object.entries({ values, positions }))
      if (array !== undefined && !(array instanceof Float64Array))
        throw invalidInput(name, array, 'a Float64Array');
    checkSeries('values', values);
    const known = this.#length;
    if (values.length < known)
      throw invalidInput(
        'values',
        `${values.length} values`,
        `at least the ${known} known already`,
      );
    if (positions !== undefined && positions.length !== values.length)
      throw invalidInput(
        'positions',
        `${positions.length} positions`,
        `as many as values, ${values.length}`,
      );
    const added = positions?.subarray(known);
    checkPositions('positions', added, values.length - known, countAscending, known);
    if (values.length === 0) return;
    this.#checkGrowth(values.length, positions, known);
    this.#values = values;
    this.#positions = positions;
    this.#isOwn = false;
    this.#length = values.length;
    this.#build();
  }

  /**
   * The first, lowest, highest and last finite value of each bucket of a part of the series, exactly as {@link DrawKernel.m4} gives them
   * for all values with the same options.
   *
   * A line that is to run off the edges of a chart takes one value more on each side: those before `bucketStarts[0]` and at
   * `bucketStarts[buckets]`.
   *
   * @returns at most `4 * buckets` indices into the series, in new arrays
   * @throws {QuarkError} `invalid_input`
   */
  query(options: PyramidQuery): BucketReduction {
    checkOptionNames('options', options, ['buckets', 'from', 'to']);
    const starts = bucketStarts(this.#length, this.positions, options);
    const builder = new ReductionBuilder(starts, 'm4');
    for (let b = 0; b + 1 < starts.length; b++) {
      const from = starts[b] ?? 0;
      const to = starts[b + 1] ?? 0;
      if (from === to) continue;
      if (!this.#addFinite(builder, from, to)) builder.addSpan(this.#span(from, to));
    }
    return builder.finish();
  }

  #checkGrowth(length: number, positions: Float64Array | undefined, next: number): void {
    if (length > MAX_SERIES_VALUES)
      throw invalidInput('values', `${length} values in all`, `at most ${MAX_SERIES_VALUES}`);
    if (this.#length === 0) return;
    const hasPositions = this.#positions !== undefined;
    if (hasPositions !== (positions !== undefined))
      throw invalidInput(
        'positions',
        positions === undefined ? undefined : 'an array',
        hasPositions ? 'given, as they were before' : 'left out, as they were before',
      );
    const last = this.#positions?.[this.#length - 1] ?? -Infinity;
    const position = positions?.[next] ?? last;
    if (position < last)
      throw invalidInput(`positions[${next}]`, position, `at or above the last so far, ${last}`);
  }

  /** Adds the blocks that have become full. */
  #build(): void {
    const values = this.#values;
    for (let k = 0, size = BASE; size <= this.#length; k++, size *= 2) {
      const level = (this.#levels[k] ??= {
        size,
        count: 0,
        extremes: new Uint32Array(2),
        mixed: new Map(),
      });
      const full = Math.floor(this.#length / size);
      if (2 * full > level.extremes.length) {
        const larger = new Uint32Array(Math.max(2 * full, 2 * level.extremes.length));
        larger.set(level.extremes);
        level.extremes = larger;
      }
      const below = this.#levels[k - 1];
      for (let i = level.count; i < full; i++) {
        if (below === undefined) {
          setBlock(level, i, scanSpan(values, i * size, (i + 1) * size, 'm4'));
          continue;
        }
        const { extremes } = below;
        const low = extremes[4 * i] ?? MIXED;
        const otherLow = extremes[4 * i + 2] ?? MIXED;
        if (low === MIXED || otherLow === MIXED) {
          setBlock(level, i, joinSpans(values, blockOf(below, 2 * i), blockOf(below, 2 * i + 1)));
          continue;
        }
        const high = extremes[4 * i + 1] ?? MIXED;
        const otherHigh = extremes[4 * i + 3] ?? MIXED;
        level.extremes[2 * i] = (values[otherLow] ?? 0) < (values[low] ?? 0) ? otherLow : low;
        level.extremes[2 * i + 1] =
          (values[otherHigh] ?? 0) > (values[high] ?? 0) ? otherHigh : high;
      }
      level.count = full;
    }
  }

  /** The largest full block that begins at `from` and ends by `to`; undefined where none does. */
  #blockAt(from: number, to: number): Level | undefined {
    let found: Level | undefined;
    for (const level of this.#levels) {
      const { size } = level;
      if (from % size !== 0 || from + size > to) break;
      found = level;
    }
    return found;
  }

  /** Adds a bucket, if all its values are finite. */
  #addFinite(builder: ReductionBuilder, from: number, to: number): boolean {
    const values = this.#values;
    let low = from;
    let high = from;
    let lowest = values[from] ?? Number.NaN;
    let highest = lowest;
    for (let at = from; at < to;) {
      const level = this.#blockAt(at, to);
      if (level === undefined) {
        const end = Math.min(to, (Math.floor(at / BASE) + 1) * BASE);
        for (; at < end; at++) {
          const value = values[at] ?? Number.NaN;
          if (value - value !== 0) return false;
          if (value < lowest) {
            lowest = value;
            low = at;
          } else if (value > highest) {
            highest = value;
            high = at;
          }
        }
        continue;
      }
      const block = at / level.size;
      const lower = level.extremes[2 * block] ?? MIXED;
      if (lower === MIXED) return false;
      const higher = level.extremes[2 * block + 1] ?? MIXED;
      const lowValue = values[lower] ?? Number.NaN;
      const highValue = values[higher] ?? Number.NaN;
      if (lowValue < lowest) {
        lowest = lowValue;
        low = lower;
      }
      if (highValue > highest) {
        highest = highValue;
        high = higher;
      }
      at += level.size;
    }
    builder.add(from, low, high, to - 1);
    return true;
  }

  /** What is kept of any part. */
  #span(from: number, to: number): Span {
    let span: Span | undefined;
    for (let at = from; at < to;) {
      const level = this.#blockAt(at, to);
      const end =
        level === undefined ? Math.min(to, (Math.floor(at / BASE) + 1) * BASE) : at + level.size;
      const next =
        level === undefined
          ? scanSpan(this.#values, at, end, 'm4')
          : blockOf(level, at / level.size);
      span = span === undefined ? next : joinSpans(this.#values, span, next);
      at = end;
    }
    return span ?? scanSpan(this.#values, from, from, 'm4');
  }
}

function setBlock(level: Level, block: number, span: Span): void {
  const isFinite = span.nonFinite.length === 0;
  level.extremes[2 * block] = isFinite ? span.low : MIXED;
  level.extremes[2 * block + 1] = isFinite ? span.high : MIXED;
  if (!isFinite) level.mixed.set(block, span);
}

function blockOf(level: Level, block: number): Span {
  return (
    level.mixed.get(block) ?? {
      first: block * level.size,
      low: level.extremes[2 * block] ?? 0,
      high: level.extremes[2 * block + 1] ?? 0,
      last: (block + 1) * level.size - 1,
      nonFinite: [],
    }
  );
}

function grown(column: Float64Array | undefined, capacity: number): Float64Array {
  const larger = new Float64Array(capacity);
  if (column !== undefined) larger.set(column);
  return larger;
}
