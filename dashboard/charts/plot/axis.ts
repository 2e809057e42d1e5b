/** Puts a series on an x axis: ascending x, the latest value where a step was written again, nothing else changed. */
import type { EpochScale } from '../../series/epoch-scale.ts';
import type { SampleSeries, XAxis } from '../../series/series.ts';

/** A series ready to be reduced and drawn. Arrays may be views of the series: read only. */
export type AxisSeries = {
  /** Ascending. */
  readonly xs: Float64Array;
  readonly ys: Float64Array;
  /** Points left out because they have no x on this axis. */
  readonly missingCount: number;
  /** Points left out because the same step was written again later. */
  readonly repeatedCount: number;
  /** Whether every point is there, in the order in which it was written. */
  readonly isAsWritten: boolean;
  /** Where each point is in its series; undefined where the points are those of the series, in the same order. */
  readonly rows: Int32Array | undefined;
  /** How many points at the beginning are what they were in the update before: what was computed from them is valid. */
  readonly stableCount: number;
};

/**
 * The points of `series` by `axis`: steps as they are, time in seconds since `startMs`, epochs with the fraction that
 * the step stands for.
 */
export function onAxis(
  series: SampleSeries,
  axis: XAxis,
  startMs: number,
  scale: EpochScale,
): AxisSeries {
  return new AxisTrack(series, axis, startMs, scale).update();
}

/**
 * A series on an axis while it grows: each update reads the new points only, as long as they ascend, and otherwise merges them with the
 * ones before. However the series was cut into updates, the points are those of {@link onAxis}.
 */
export class AxisTrack {
  readonly startMs: number;
  readonly scale: EpochScale;
  readonly #series: SampleSeries;
  readonly #axis: XAxis;
  /** On steps and epochs, what was written last is what counts; times may repeat. */
  readonly #latestOnly: boolean;
  #taken = 0;
  #lastX = Number.NEGATIVE_INFINITY;
  #missingCount = 0;
  /** Positions of points as written, where they are not the steps themselves. */
  #positions: Float64Array = new Float64Array(0);
  /** Points put in order, once they no longer come in order. */
  #ordered: OrderedPoints | undefined;

  constructor(series: SampleSeries, axis: XAxis, startMs: number, scale: EpochScale) {
    this.#series = series;
    this.#axis = axis;
    this.startMs = startMs;
    this.scale = scale;
    this.#latestOnly = axis === 'step' || axis === 'epoch';
  }

  /** Takes in what the series has got since, and gives all of it. */
  update(): AxisSeries {
    const { length } = this.#series;
    const from = this.#taken;
    this.#taken = length;
    const xs = this.#xs(from, length);
    let stableCount = from;
    if (this.#ordered === undefined) {
      const end = this.#ascendingUntil(xs, from, length);
      if (end === length) {
        return {
          xs: xs.subarray(0, length),
          ys: this.#series.values,
          missingCount: 0,
          repeatedCount: 0,
          isAsWritten: true,
          rows: undefined,
          stableCount,
        };
      }
      this.#ordered = new OrderedPoints(this.#latestOnly);
      this.#missingCount += this.#ordered.add(xs, this.#series.values, 0, end);
      this.#missingCount += this.#ordered.add(xs, this.#series.values, end, length);
      stableCount = 0;
    } else {
      this.#ordered.changedFrom = this.#ordered.length;
      this.#missingCount += this.#ordered.add(xs, this.#series.values, from, length);
      stableCount = this.#ordered.changedFrom;
    }
    return {
      xs: this.#ordered.xs,
      ys: this.#ordered.ys,
      missingCount: this.#missingCount,
      repeatedCount: length - this.#missingCount - this.#ordered.length,
      isAsWritten: false,
      rows: this.#ordered.rows,
      stableCount,
    };
  }

  #ascendingUntil(xs: Float64Array, from: number, to: number): number {
    let last = this.#lastX;
    for (let at = from; at < to; at += 1) {
      const x = xs[at] ?? Number.NaN;
      if (!(this.#latestOnly ? x > last : x >= last)) return at;
      last = x;
    }
    this.#lastX = last;
    return to;
  }

  /** Positions of the points, of which those from `from` on are new. */
  #xs(from: number, to: number): Float64Array {
    const { steps, epochs, timesMs } = this.#series;
    if (this.#axis === 'step') return steps;
    if (to > this.#positions.length) {
      const larger = new Float64Array(Math.max(to, 2 * this.#positions.length));
      larger.set(this.#positions);
      this.#positions = larger;
    }
    const positions = this.#positions;
    if (this.#axis === 'time' || this.#axis === 'wall') {
      const zeroMs = this.#axis === 'time' ? this.startMs : 0;
      for (let at = from; at < to; at += 1)
        positions[at] = ((timesMs[at] ?? Number.NaN) - zeroMs) / 1000;
      return positions;
    }
    const { firstStep, stepsPerEpoch } = this.scale;
    let epoch = Number.NaN;
    let first: number | undefined;
    for (let at = from; at < to; at += 1) {
      const lap = epochs[at] ?? Number.NaN;
      const step = steps[at] ?? Number.NaN;
      if (lap !== epoch) {
        epoch = lap;
        first = firstStep.get(lap);
      }
      positions[at] =
        Number.isNaN(step) || first === undefined
          ? lap
          : lap + Math.min(1, (step - first) / stepsPerEpoch);
    }
    return positions;
  }
}

/** Points by ascending x, whatever order they come in. */
export class OrderedPoints {
  length = 0;
  /** Index of the first point that is not what it was when this was set to the length. */
  changedFrom = 0;
  readonly #latestOnly: boolean;
  #xs: Float64Array = new Float64Array(0);
  #ys: Float64Array = new Float64Array(0);
  #rows: Int32Array = new Int32Array(0);

  constructor(latestOnly: boolean) {
    this.#latestOnly = latestOnly;
  }

  get xs(): Float64Array {
    return this.#xs.subarray(0, this.length);
  }
  get ys(): Float64Array {
    return this.#ys.subarray(0, this.length);
  }
  /** The rows that the points were in the columns they came from. */
  get rows(): Int32Array {
    return this.#rows.subarray(0, this.length);
  }

  /** Adds points `from` to `to` of these columns. Returns how many of them have no x. */
  add(xs: Float64Array, ys: Float64Array, from: number, to: number): number {
    const rows = new Int32Array(to - from);
    let count = 0;
    let isAscending = true;
    let last = Number.NEGATIVE_INFINITY;
    for (let at = from; at < to; at += 1) {
      const x = xs[at] ?? Number.NaN;
      if (Number.isNaN(x)) continue;
      if (x < last) isAscending = false;
      last = x;
      rows[count++] = at;
    }
    const added = rows.subarray(0, count);
    // Among equal x the order of writing stays.
    if (!isAscending) added.sort((a, b) => (xs[a] ?? 0) - (xs[b] ?? 0) || a - b);
    if (count > 0) this.#merge(added, xs, ys);
    return to - from - count;
  }

  /** Merges rows, which ascend, into the points from the first that they may change on. */
  #merge(rows: Int32Array, xs: Float64Array, ys: Float64Array): void {
    const start = lowerBound(this.xs, xs[rows[0] ?? 0] ?? 0);
    this.changedFrom = Math.min(this.changedFrom, start);
    const oldXs = this.#xs.slice(start, this.length);
    const oldYs = this.#ys.slice(start, this.length);
    const oldRows = this.#rows.slice(start, this.length);
    const room = this.length + rows.length;
    if (room > this.#xs.length) {
      this.#xs = grown(this.#xs, Math.max(room, 2 * this.length));
      this.#ys = grown(this.#ys, this.#xs.length);
      const rowsBefore = this.#rows;
      this.#rows = new Int32Array(this.#xs.length);
      this.#rows.set(rowsBefore);
    }
    this.length = start;
    let old = 0;
    const pushOld = (): void => {
      this.#push(oldXs[old] ?? 0, oldYs[old] ?? Number.NaN, oldRows[old] ?? 0);
      old += 1;
    };
    for (const row of rows) {
      const x = xs[row] ?? Number.NaN;
      while (old < oldXs.length && (oldXs[old] ?? 0) <= x) pushOld();
      this.#push(x, ys[row] ?? Number.NaN, row);
    }
    while (old < oldXs.length) pushOld();
  }

  #push(x: number, y: number, row: number): void {
    if (this.#latestOnly && this.length > 0 && this.#xs[this.length - 1] === x) this.length -= 1;
    this.#xs[this.length] = x;
    this.#ys[this.length] = y;
    this.#rows[this.length] = row;
    this.length += 1;
  }
}

function grown(column: Float64Array, capacity: number): Float64Array {
  const larger = new Float64Array(capacity);
  larger.set(column);
  return larger;
}

/** Index of the point nearest to `x`, or -1 in an empty series. `xs` ascends. */
export function nearestIndex(xs: Float64Array, x: number): number {
  if (xs.length === 0) return -1;
  const after = lowerBound(xs, x);
  if (after === 0) return 0;
  if (after === xs.length) return xs.length - 1;
  return x - (xs[after - 1] ?? 0) <= (xs[after] ?? 0) - x ? after - 1 : after;
}

/** Index of the first element that is not below `x`. */
export function lowerBound(xs: Float64Array, x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((xs[middle] ?? 0) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}
