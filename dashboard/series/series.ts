/**
 * The points of one metric, in typed arrays that grow as segments arrive. Append only: what was drawn once stays, so a
 * live page handles only what is new.
 */

import type { RecordedSeries, SeriesRead } from 'quark-sdk';
import { getOrMake } from '../parts/maps.ts';
import { EpochScaler, type EpochScale } from './epoch-scale.ts';
import { downsampledRows, POINTS_A_STEP } from './downsampling.ts';

/** Lowest and highest of some numbers; of none, `min` is above `max`. */
export type PointRange = { readonly min: number; readonly max: number };

/** Lowest and highest of the numbers it was given. */
class Extremes implements PointRange {
  min: number = Number.POSITIVE_INFINITY;
  max: number = Number.NEGATIVE_INFINITY;

  /** A comparison with NaN is false: it changes nothing. */
  add(value: number): void {
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
  }
}

/** What a chart can put on its x axis. */
export const X_AXES = ['step', 'time', 'epoch', 'wall'] as const;

/** One of {@link X_AXES}: `time` is since the run began, `wall` the time of day, both in seconds. */
export type XAxis = (typeof X_AXES)[number];

/** How the name of an axis begins that goes by the values of a metric. */
export const METRIC_AXIS = 'metric:';

const INITIAL_CAPACITY = 256;
/** Room of a downsampled series, for the points that come. */
const ROOM_TO_GROW = 1.5;
/** Points of a run that a page holds, at 32 bytes each and as much again while columns grow; of more it thins every metric. */
export const MOST_POINTS = 6_000_000;

/** What a downsampled series stands for. */
export type Standing = { readonly sampleCount: number; readonly nonFiniteCount: number };

/** The points of one metric in the order in which they were written. */
export class SampleSeries {
  readonly key: string;
  /** Samples that were read and are not among the points any more. */
  #left: Standing = { sampleCount: 0, nonFiniteCount: 0 };
  #given: Standing | undefined;
  #length = 0;
  #values: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #steps: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #epochs: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #timesMs: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #nonFiniteCount = 0;
  readonly #ranges = { step: new Extremes(), epoch: new Extremes(), time: new Extremes() };

  constructor(key: string) {
    this.key = key;
  }

  get length(): number {
    return this.#length;
  }
  /** Set where these are only some of the samples: as many as a chart needs. */
  get standsFor(): Standing | undefined {
    if (this.#given !== undefined || this.#left.sampleCount === 0) return this.#given;
    return {
      sampleCount: this.#left.sampleCount + this.#length,
      nonFiniteCount: this.#left.nonFiniteCount + this.#nonFiniteCount,
    };
  }
  set standsFor(standing: Standing | undefined) {
    this.#given = standing;
  }
  /** How many points are NaN or infinite. */
  get nonFiniteCount(): number {
    return this.#nonFiniteCount;
  }
  /** Views of the points so far; valid until the next append. */
  get values(): Float64Array {
    return this.#values.subarray(0, this.#length);
  }
  get steps(): Float64Array {
    return this.#steps.subarray(0, this.#length);
  }
  get epochs(): Float64Array {
    return this.#epochs.subarray(0, this.#length);
  }
  get timesMs(): Float64Array {
    return this.#timesMs.subarray(0, this.#length);
  }

  /** Lowest and highest step, epoch or time in milliseconds of any point; of no point, `min` is above `max`. */
  rangeOn(axis: XAxis): PointRange {
    return this.#ranges[axis === 'wall' ? 'time' : axis];
  }

  /** The point written last, or undefined while there is none. */
  get last(): { value: number; step: number; epoch: number; timeMs: number } | undefined {
    const at = this.#length - 1;
    if (at < 0) return undefined;
    return {
      value: this.#values[at] ?? Number.NaN,
      step: this.#steps[at] ?? Number.NaN,
      epoch: this.#epochs[at] ?? Number.NaN,
      timeMs: this.#timesMs[at] ?? Number.NaN,
    };
  }

  /** Makes room for `count` points, a column at a time: large ones take a moment each. */
  *#growing(count: number): Generator<void> {
    if (count <= this.#values.length) return;
    const capacity = Math.max(count, this.#values.length * 2);
    this.#steps = grown(this.#steps, capacity);
    yield;
    this.#epochs = grown(this.#epochs, capacity);
    yield;
    this.#timesMs = grown(this.#timesMs, capacity);
    yield;
    // The last one: its length is the capacity.
    this.#values = grown(this.#values, capacity);
  }

  /** Adds what was read, in steps that take a moment each. The columns of the first read become those of the series. */
  *taking({ epochs, steps, timesMs, values }: Columns): Generator<void> {
    const start = this.#length;
    const { length } = values;
    if (start === 0 && length >= INITIAL_CAPACITY) {
      this.#values = values;
      this.#steps = steps ?? new Float64Array(length).fill(Number.NaN);
      this.#epochs = epochs ?? new Float64Array(length).fill(Number.NaN);
      this.#timesMs = timesMs;
    } else {
      yield* this.#growing(start + length);
      yield;
      this.#values.set(values, start);
      this.#timesMs.set(timesMs, start);
      if (steps === null) this.#steps.fill(Number.NaN, start, start + length);
      else this.#steps.set(steps, start);
      if (epochs === null) this.#epochs.fill(Number.NaN, start, start + length);
      else this.#epochs.set(epochs, start);
    }
    yield* this.#measuring(start, start + length);
    // Last: what has a length has been measured.
    this.#length = start + length;
  }

  push(value: number, step: number, epoch: number, timeMs: number): void {
    const at = this.#length;
    drain(this.#growing(at + 1));
    this.#values[at] = value;
    this.#steps[at] = step;
    this.#epochs[at] = epoch;
    this.#timesMs[at] = timeMs;
    this.#length = at + 1;
    this.#measure(at);
  }

  /**
   * The same metric with fewer points, as another object: whatever was computed from the points of this one stays valid for this one. The
   * lowest and the highest of each few points are among those that are left. Comes in steps that take a moment each.
   */
  *downsampled(): Generator<void, SampleSeries> {
    const rows = yield* downsampledRows(this.values);
    const next = new SampleSeries(this.key);
    const room = Math.max(INITIAL_CAPACITY, Math.ceil(rows.length * ROOM_TO_GROW));
    next.#values = rowsOf(this.#values, rows, room);
    yield;
    next.#steps = rowsOf(this.#steps, rows, room);
    yield;
    next.#epochs = rowsOf(this.#epochs, rows, room);
    yield;
    next.#timesMs = rowsOf(this.#timesMs, rows, room);
    yield* next.#measuring(0, rows.length);
    next.#length = rows.length;
    for (const axis of ['step', 'epoch', 'time'] as const) {
      next.#ranges[axis].add(this.#ranges[axis].min);
      next.#ranges[axis].add(this.#ranges[axis].max);
    }
    next.#given = this.#given;
    next.#left = {
      sampleCount: this.#left.sampleCount + this.#length - next.#length,
      nonFiniteCount: this.#left.nonFiniteCount + this.#nonFiniteCount - next.#nonFiniteCount,
    };
    return next;
  }

  /** Measures the points from `start` up to `end`. */
  *#measuring(start: number, end: number): Generator<void> {
    for (let from = start; from < end; from += POINTS_A_STEP) {
      yield;
      const to = Math.min(end, from + POINTS_A_STEP);
      for (let at = from; at < to; at += 1) this.#measure(at);
    }
  }

  #measure(at: number): void {
    if (!Number.isFinite(this.#values[at])) this.#nonFiniteCount += 1;
    const { step, epoch, time } = this.#ranges;
    step.add(this.#steps[at] ?? Number.NaN);
    epoch.add(this.#epochs[at] ?? Number.NaN);
    time.add(this.#timesMs[at] ?? Number.NaN);
  }
}

type Columns = Omit<RecordedSeries, 'key'>;

/** These rows of a column, with room for `room` values. */
function rowsOf(column: Float64Array, rows: Int32Array, room: number): Float64Array<ArrayBuffer> {
  const left = new Float64Array(room);
  for (let at = 0; at < rows.length; at += 1) left[at] = column[rows[at] ?? 0] ?? Number.NaN;
  return left;
}

function grown(column: Float64Array<ArrayBuffer>, capacity: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(capacity);
  larger.set(column);
  return larger;
}

/** Points of several metrics. */
export type NewSeries = Pick<SeriesRead, 'series' | 'rowCount'>;

/** Every metric of a run. */
export class SeriesSet {
  #byKey = new Map<string, SampleSeries>();
  #scaler = new EpochScaler();
  #pointCount = 0;
  /** Metrics that the run has, whether or not their points are here. */
  #announced: ReadonlySet<string> = new Set();
  #onAsked: (key: string) => void = () => undefined;
  /** Points that are there: fewer than were read where metrics have been downsampled. */
  #heldCount = 0;
  readonly #mostPoints: number;

  /** @param mostPoints points from which on every metric is downsampled */
  constructor(mostPoints: number = MOST_POINTS) {
    this.#mostPoints = mostPoints;
  }

  /** Where epochs begin: the same object as long as no point moves on the axis of epochs. */
  get epochScale(): EpochScale {
    return this.#scaler.scale;
  }

  /** Points of all metrics together; changes whenever points were added. */
  get pointCount(): number {
    return this.#pointCount;
  }
  /** Keys in the order in which they first appeared, those that were announced before others. */
  get keys(): readonly string[] {
    return [...new Set([...this.#announced, ...this.#byKey.keys()])];
  }
  get(key: string): SampleSeries | undefined {
    return this.#byKey.get(key);
  }
  /** These metrics are shown: where points of them are not here, they may come. */
  lookAt(keys: readonly string[]): void {
    for (const key of keys) if (this.#announced.has(key)) this.#onAsked(key);
  }
  /** Whether points of a metric are here. */
  has(key: string): boolean {
    return this.#byKey.has(key);
  }
  /** How many points of a metric are here. */
  lengthOf(key: string): number {
    return this.#byKey.get(key)?.length ?? 0;
  }
  /** Names metrics of which points come when they are shown: `onAsked` is called with each key that is wanted. */
  announce(keys: readonly string[], onAsked: (key: string) => void): void {
    this.#announced = new Set(keys);
    this.#onAsked = onAsked;
  }
  /** The series of all metrics, in the order in which they first appeared. */
  all(): readonly SampleSeries[] {
    return [...this.#byKey.values()];
  }

  /** Adds what was read, at once. */
  take(read: NewSeries): void {
    drain(this.taking(read));
  }

  /** Adds what was read, in steps that take a moment each. Between two of them whole metrics may be ahead of others. */
  *taking({ rowCount, series: all }: NewSeries): Generator<void> {
    for (const { epochs, steps } of all) {
      if (epochs === null || steps === null) continue;
      for (let from = 0; from < steps.length; from += POINTS_A_STEP) {
        const to = Math.min(steps.length, from + POINTS_A_STEP);
        for (let at = from; at < to; at += 1)
          this.#scaler.add(steps[at] ?? Number.NaN, epochs[at] ?? Number.NaN);
        yield;
      }
    }
    for (const columns of all) {
      const series = this.#series(columns.key);
      const before = series.length;
      yield* series.taking(columns);
      this.#heldCount += series.length - before;
    }
    this.#pointCount += rowCount;
    if (this.#heldCount > this.#mostPoints) yield* this.#downsample();
  }

  /** Half of the points, more or less, of every metric that has many. */
  *#downsample(): Generator<void> {
    for (const [key, series] of this.#byKey) {
      const next = yield* series.downsampled();
      this.#byKey.set(key, next);
      this.#heldCount -= series.length - next.length;
      yield;
    }
  }

  /** Adds one point. */
  push(key: string, value: number, step: number, epoch: number, timeMs: number): void {
    this.#scaler.add(step, epoch);
    this.#series(key).push(value, step, epoch, timeMs);
    this.#pointCount += 1;
  }

  #series(key: string): SampleSeries {
    return getOrMake(this.#byKey, key, () => new SampleSeries(key));
  }

  /** Shows the series of another set from now on, and grows as that one does. */
  become(other: SeriesSet): void {
    this.#byKey = other.#byKey;
    this.#scaler = other.#scaler;
    this.#pointCount = other.#pointCount;
    this.#heldCount = other.#heldCount;
  }

  /** Shows the series of another set instead of its own under the same keys. */
  adopt(other: SeriesSet): void {
    for (const series of other.#byKey.values()) this.put(series);
    for (const span of other.#scaler.spans) this.#scaler.addSpan(span);
  }

  /** Shows a series instead of the one under its key. */
  put(series: SampleSeries): void {
    this.#heldCount += series.length - this.lengthOf(series.key);
    this.#pointCount += series.length;
    this.#byKey.set(series.key, series);
  }

  /** Shows those series of another set too that this one has none of. */
  borrow(other: SeriesSet): void {
    for (const [key, series] of other.#byKey) {
      if (this.#byKey.has(key)) continue;
      this.#byKey.set(key, series);
      this.#pointCount += series.length;
    }
  }

  /**
   * Whether an axis separates points: some metric has two of them at different positions, or none has more than one. Files without
   * times have all their points at the same instant.
   */
  separates(axis: XAxis): boolean {
    const known = this.all().filter(
      (series) => series.rangeOn(axis).min <= series.rangeOn(axis).max,
    );
    if (known.length === 0) return false;
    return (
      known.some((series) => series.rangeOn(axis).min < series.rangeOn(axis).max) ||
      this.all().every(({ length }) => length <= 1)
    );
  }

  /** Where the last point of a metric is on the axis of epochs. */
  #endOf(key: string): number {
    const last = this.#byKey.get(key)?.last;
    if (last === undefined) return Number.NEGATIVE_INFINITY;
    const { firstStep, stepsPerEpoch } = this.epochScale;
    const share = (last.step - (firstStep.get(last.epoch) ?? Number.NaN)) / stepsPerEpoch;
    const end = Number.isNaN(share) ? last.epoch : last.epoch + Math.min(1, share);
    return Number.isNaN(end) ? Number.NEGATIVE_INFINITY : end;
  }

  /** From the first to the last position of any point on an axis, of all metrics or of these; undefined where no point has one. */
  extent(axis: XAxis, startMs: number, keys?: readonly string[]): PointRange | undefined {
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    const wanted = keys?.flatMap((key) => this.#byKey.get(key) ?? []) ?? this.#byKey.values();
    for (const series of wanted) {
      const range = series.rangeOn(axis);
      min = Math.min(min, range.min);
      max = Math.max(max, range.max);
    }
    if (min > max) return undefined;
    switch (axis) {
      case 'step':
        return { min, max };
      case 'time':
        return { min: (min - startMs) / 1000, max: (max - startMs) / 1000 };
      case 'wall':
        return { min: min / 1000, max: max / 1000 };
      case 'epoch':
        return {
          min,
          max:
            keys === undefined
              ? Math.max(max, this.#scaler.end ?? max)
              : keys.reduce((end, key) => Math.max(end, this.#endOf(key)), max),
        };
    }
  }
}

function drain(steps: Generator<void>): void {
  while (steps.next().done !== true);
}
