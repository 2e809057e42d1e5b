/**
 * The points of one metric, in typed arrays that grow as segments arrive. Append only: what was drawn once stays, so a
 * live page handles only what is new.
 */

import { EpochScaler, type EpochScale } from './epoch-scale.ts';
import {
  Extremes,
  splitByMetric,
  type PointColumns,
  type PointRange,
  type SeriesPart,
  type SeriesParts,
} from './series-parts.ts';

/** What a chart can put on its x axis. */
export const X_AXES = ['step', 'time', 'epoch'] as const;

/** One of {@link X_AXES}. */
export type XAxis = (typeof X_AXES)[number];

const INITIAL_CAPACITY = 256;

/** What a thinned series stands for. */
export type Standing = { readonly sampleCount: number; readonly nonFiniteCount: number };

/** The points of one metric in the order in which they were written. */
export class MetricSeries {
  readonly key: string;
  /** Set where these are only some of the samples: as many as a picture needs. */
  standsFor: Standing | undefined;
  #length = 0;
  #values: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #steps: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #epochs: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #timesMs: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #nonFiniteCount = 0;
  readonly #step = new Extremes();
  readonly #epoch = new Extremes();
  readonly #timeMs = new Extremes();

  constructor(key: string) {
    this.key = key;
  }

  get length(): number {
    return this.#length;
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

  /** Lowest and highest step, epoch and time of any point; of no point, `min` is above `max`. */
  get stepRange(): PointRange {
    return this.#step;
  }
  get epochRange(): PointRange {
    return this.#epoch;
  }
  get timeRangeMs(): PointRange {
    return this.#timeMs;
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
  *growing(count: number): Generator<void> {
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

  /** Adds points. There must be room. */
  #take(part: SeriesPart): void {
    this.#values.set(part.values, this.#length);
    this.#steps.set(part.steps, this.#length);
    this.#epochs.set(part.epochs, this.#length);
    this.#timesMs.set(part.timesMs, this.#length);
    this.#nonFiniteCount += part.nonFiniteCount;
    for (const [extremes, { min, max }] of [
      [this.#step, part.step],
      [this.#epoch, part.epoch],
      [this.#timeMs, part.timeMs],
    ] as const) {
      if (min > max) continue;
      extremes.add(min);
      extremes.add(max);
    }
    this.#length += part.values.length;
  }

  /** Adds points, in steps that take a moment each. */
  *taking(part: SeriesPart): Generator<void> {
    yield* this.growing(this.#length + part.values.length);
    yield;
    this.#take(part);
  }

  push(value: number, step: number, epoch: number, timeMs: number): void {
    const at = this.#length;
    if (at === this.#values.length) drain(this.growing(at + 1));
    this.#values[at] = value;
    this.#steps[at] = step;
    this.#epochs[at] = epoch;
    this.#timesMs[at] = timeMs;
    if (!Number.isFinite(value)) this.#nonFiniteCount += 1;
    this.#step.add(step);
    this.#epoch.add(epoch);
    this.#timeMs.add(timeMs);
    this.#length = at + 1;
  }
}

function grown(column: Float64Array<ArrayBuffer>, capacity: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(capacity);
  larger.set(column);
  return larger;
}

/** Every metric of a run. */
export class SeriesSet {
  #byKey = new Map<string, MetricSeries>();
  #scaler = new EpochScaler();
  #pointCount = 0;

  /** Where epochs begin: the same object as long as no point moves on the axis of epochs. */
  get epochScale(): EpochScale {
    return this.#scaler.scale;
  }

  /** Points of all metrics together; changes whenever points were added. */
  get pointCount(): number {
    return this.#pointCount;
  }
  /** Keys in the order in which they first appeared. */
  get keys(): readonly string[] {
    return [...this.#byKey.keys()];
  }
  get(key: string): MetricSeries | undefined {
    return this.#byKey.get(key);
  }
  /** The series of all metrics, in the order in which they first appeared. */
  all(): readonly MetricSeries[] {
    return [...this.#byKey.values()];
  }

  /** Takes over the rows of a read. */
  append(columns: PointColumns): void {
    this.take(splitByMetric(columns));
  }

  /** Takes over what was read, at once. */
  take(parts: SeriesParts): void {
    drain(this.taking(parts));
  }

  /** Takes over what was read, in steps that take a moment each. Between two of them whole metrics may be ahead of others. */
  *taking({ rowCount, parts, epochs }: SeriesParts): Generator<void> {
    for (const span of epochs) this.#scaler.addSpan(span);
    for (const part of parts) {
      let series = this.#byKey.get(part.key);
      if (series === undefined) {
        series = new MetricSeries(part.key);
        this.#byKey.set(part.key, series);
      }
      yield* series.taking(part);
    }
    this.#pointCount += rowCount;
  }

  /** Shows the series of another set from now on, and grows as that one does. */
  become(other: SeriesSet): void {
    this.#byKey = other.#byKey;
    this.#scaler = other.#scaler;
    this.#pointCount = other.#pointCount;
  }

  /** Shows those series of another set too that this one has none of. */
  borrow(other: SeriesSet): void {
    for (const [key, series] of other.#byKey) {
      if (this.#byKey.has(key)) continue;
      this.#byKey.set(key, series);
      this.#pointCount += series.length;
    }
  }

  /** From the first to the last place of any point on an axis; undefined where no point has one. */
  extent(axis: XAxis, startMs: number): PointRange | undefined {
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    for (const series of this.#byKey.values()) {
      const range =
        axis === 'step'
          ? series.stepRange
          : axis === 'epoch'
            ? series.epochRange
            : series.timeRangeMs;
      min = Math.min(min, range.min);
      max = Math.max(max, range.max);
    }
    if (min > max) return undefined;
    switch (axis) {
      case 'step':
        return { min, max };
      case 'time':
        return { min: (min - startMs) / 1000, max: (max - startMs) / 1000 };
      case 'epoch':
        return { min, max: Math.max(max, this.#scaler.end ?? max) };
    }
  }
}

function drain(steps: Generator<void>): void {
  while (steps.next().done !== true);
}
