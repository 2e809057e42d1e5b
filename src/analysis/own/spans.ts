/** Spans of a series in which something holds. All in one pass; NaN and infinities belong to no span. */

/** Rows from `first` to `last`, both inclusive. */
export type RowSpan = { readonly first: number; readonly last: number };

/** The spans of neighbouring rows whose values pass, as long as they can be. */
export function* spansWhere(
  values: Float64Array,
  passes: (value: number) => boolean,
): Generator<RowSpan> {
  let first = -1;
  for (let row = 0; row <= values.length; row++) {
    const value = values[row];
    const isIn = value !== undefined && Number.isFinite(value) && passes(value);
    if (isIn && first < 0) first = row;
    if (isIn || first < 0) continue;
    yield { first, last: row - 1 };
    first = -1;
  }
}

/** A change between two rows. */
export type Change = RowSpan & { readonly by: number };

/**
 * The largest change between two rows that are at most `within` apart: the difference of the values, or with `isShare` the difference over
 * the size of the earlier one. Undefined without two finite values.
 */
export function largestChange(
  values: Float64Array,
  positions: Float64Array,
  within: number,
  {
    direction,
    isShare,
  }: { readonly direction: 'up' | 'down' | undefined; readonly isShare: boolean },
): Change | undefined {
  let best: Change | undefined;
  let bestSize = 0;
  // Rows of the window that can be its lowest or its highest value: for later rows, the others do not matter.
  const lows = new RowQueue();
  const highs = new RowQueue();
  for (let row = 0; row < values.length; row++) {
    const value = values[row] ?? Number.NaN;
    if (!Number.isFinite(value)) continue;
    const since = (positions[row] ?? 0) - within;
    for (const [queue, way] of [
      [lows, 'up'],
      [highs, 'down'],
    ] as const) {
      queue.dropBefore(positions, since);
      const first = queue.first;
      if (first !== undefined && (direction === undefined || direction === way)) {
        const from = values[first] ?? 0;
        const by = isShare ? shareOf(value - from, from) : value - from;
        if ((way === 'up' ? by : -by) > bestSize) {
          bestSize = Math.abs(by);
          best = { first, last: row, by };
        }
      }
      queue.pushOrdered(row, values, way === 'up' ? 1 : -1);
    }
  }
  return best;
}

function shareOf(difference: number, from: number): number {
  if (difference === 0) return 0;
  return from === 0 ? Math.sign(difference) * Infinity : difference / Math.abs(from);
}

/** Rows in ascending order whose values ascend or descend. */
class RowQueue {
  readonly #rows: number[] = [];
  #start = 0;

  get first(): number | undefined {
    return this.#rows[this.#start];
  }

  dropBefore(positions: Float64Array, since: number): void {
    while (
      this.#start < this.#rows.length &&
      (positions[this.#rows[this.#start] ?? 0] ?? 0) < since
    )
      this.#start++;
  }

  dropBeforeRow(row: number): void {
    while (this.#start < this.#rows.length && (this.#rows[this.#start] ?? 0) < row) this.#start++;
  }

  /** @param sign 1 for the lowest first, -1 for the highest first */
  pushOrdered(row: number, values: Float64Array, sign: 1 | -1): void {
    const value = sign * (values[row] ?? 0);
    while (this.#rows.length > this.#start && sign * (values[this.#rows.at(-1) ?? 0] ?? 0) >= value)
      this.#rows.pop();
    this.#rows.push(row);
  }
}

/** A value that stands out. */
export type Outlier = { readonly row: number; readonly score: number; readonly mean: number };

/** Fewest values that a mean and a deviation are of. */
export const MIN_BASE = 10;

/** Differences below this share of the size of the mean are rounding. */
const ROUNDING = 1e-9;

/**
 * The value that is most standard deviations away from the mean of up to `over` finite values before it. Where those are all equal, any
 * other value is infinitely far away.
 */
export function farthestValue(
  values: Float64Array,
  over: number,
  direction: 'up' | 'down' | undefined,
): Outlier | undefined {
  const base = new SlidingMoments(Math.min(over, Math.max(MIN_BASE, values.length)));
  let best: Outlier | undefined;
  for (let row = 0; row < values.length; row++) {
    const value = values[row] ?? Number.NaN;
    if (!Number.isFinite(value)) continue;
    if (base.size >= MIN_BASE) {
      const score = base.scoreOf(value);
      const counts = direction === undefined || (direction === 'up' ? score > 0 : score < 0);
      if (counts && Math.abs(score) > Math.abs(best?.score ?? 0))
        best = { row, score, mean: base.mean };
    }
    base.push(value);
  }
  return best;
}

/** Mean and spread of the last values. */
class SlidingMoments {
  readonly #values: Float64Array;
  #count = 0;
  #squares = 0;
  mean = 0;

  constructor(capacity: number) {
    this.#values = new Float64Array(capacity);
  }

  get size(): number {
    return Math.min(this.#count, this.#values.length);
  }

  scoreOf(value: number): number {
    const distance = value - this.mean;
    const rounding = ROUNDING * Math.abs(this.mean);
    if (Math.abs(distance) <= rounding) return 0;
    const spread = Math.sqrt(Math.max(0, this.#squares / (this.size - 1)));
    return spread <= rounding ? Math.sign(distance) * Infinity : distance / spread;
  }

  push(value: number): void {
    const { length } = this.#values;
    const at = this.#count++ % length;
    const out = this.#values[at] ?? 0;
    this.#values[at] = value;
    const before = this.mean;
    if (this.#count <= length) {
      this.mean += (value - before) / this.#count;
      this.#squares += (value - before) * (value - this.mean);
    } else if (at === length - 1) {
      // Anew once a round, so that rounding does not add up.
      this.mean = this.#values.reduce((sum, one) => sum + one, 0) / length;
      this.#squares = this.#values.reduce((sum, one) => sum + (one - this.mean) ** 2, 0);
    } else {
      this.mean += (value - out) / length;
      this.#squares += (value - out) * (value - this.mean + out - before);
    }
  }
}

/**
 * The longest span without movement, by its length in `positions`. With a direction a row moves when its value is better than every value
 * before it by more than `tolerance`; without one, the values of a span lie at most `tolerance` apart.
 */
export function longestStall(
  values: Float64Array,
  positions: Float64Array,
  tolerance: number,
  direction: 'up' | 'down' | undefined,
): RowSpan | undefined {
  const rows = Int32Array.from(values.keys()).filter((row) => Number.isFinite(values[row]));
  const length = ({ first, last }: RowSpan): number =>
    (positions[last] ?? 0) - (positions[first] ?? 0);
  let best: RowSpan | undefined;
  const spans =
    direction === undefined
      ? flatSpans(values, rows, tolerance)
      : spansWithoutBest(values, rows, tolerance, direction === 'up' ? 1 : -1);
  for (const span of spans) if (best === undefined || length(span) > length(best)) best = span;
  return best;
}

/** From each best value to the last row before the next one. */
function* spansWithoutBest(
  values: Float64Array,
  rows: Int32Array,
  tolerance: number,
  sign: 1 | -1,
): Generator<RowSpan> {
  let best = Number.NEGATIVE_INFINITY;
  let first = rows[0] ?? 0;
  let last = first;
  for (const row of rows) {
    const value = sign * (values[row] ?? 0);
    if (value > best + tolerance) {
      if (row !== first) yield { first, last };
      best = value;
      first = row;
    }
    last = row;
  }
  if (rows.length > 0) yield { first, last };
}

/** For each row the longest span that ends there and whose values lie at most `tolerance` apart. */
function* flatSpans(values: Float64Array, rows: Int32Array, tolerance: number): Generator<RowSpan> {
  const lows = new RowQueue();
  const highs = new RowQueue();
  let start = 0;
  for (const row of rows) {
    lows.pushOrdered(row, values, 1);
    highs.pushOrdered(row, values, -1);
    while ((values[highs.first ?? row] ?? 0) - (values[lows.first ?? row] ?? 0) > tolerance) {
      start++;
      lows.dropBeforeRow(rows[start] ?? row);
      highs.dropBeforeRow(rows[start] ?? row);
    }
    yield { first: rows[start] ?? row, last: row };
  }
}
