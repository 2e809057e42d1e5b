/**
 * The points of one metric, in typed arrays that grow as segments arrive. Append only: what was drawn once stays, so a
 * live page handles only what is new.
 */

/** What a chart can put on its x axis. */
export const X_AXES = ['step', 'time', 'epoch'] as const;

/** One of {@link X_AXES}. */
export type XAxis = (typeof X_AXES)[number];

/** The columns of a read, as far as a series takes them over. Rows of several metrics are mixed. */
export type PointColumns = {
  readonly rowCount: number;
  readonly keys: readonly string[];
  readonly keyIndex: Int32Array;
  readonly values: Float64Array;
  /** NaN where a point has none. */
  readonly steps: Float64Array;
  /** NaN where a point has none. */
  readonly epochs: Float64Array;
  readonly timestampsMs: Float64Array;
};

const INITIAL_CAPACITY = 256;

/** The points of one metric in the order in which they were written. */
export class MetricSeries {
  readonly key: string;
  #length = 0;
  #values: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #steps: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #epochs: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #timesMs: Float64Array<ArrayBuffer> = new Float64Array(INITIAL_CAPACITY);
  #nonFiniteCount = 0;

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

  /** Makes room for `count` points. */
  reserve(count: number): void {
    if (count <= this.#values.length) return;
    const capacity = Math.max(count, this.#values.length * 2);
    this.#values = grown(this.#values, capacity);
    this.#steps = grown(this.#steps, capacity);
    this.#epochs = grown(this.#epochs, capacity);
    this.#timesMs = grown(this.#timesMs, capacity);
  }

  push(value: number, step: number, epoch: number, timeMs: number): void {
    const at = this.#length;
    if (at === this.#values.length) this.reserve(at + 1);
    this.#values[at] = value;
    this.#steps[at] = step;
    this.#epochs[at] = epoch;
    this.#timesMs[at] = timeMs;
    if (!Number.isFinite(value)) this.#nonFiniteCount += 1;
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
  readonly #byKey = new Map<string, MetricSeries>();
  #pointCount = 0;

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

  /** Takes over the rows of a read. Returns the keys that are new. */
  append(columns: PointColumns): readonly string[] {
    const counts = new Int32Array(columns.keys.length);
    for (let row = 0; row < columns.rowCount; row += 1) {
      const key = columns.keyIndex[row] ?? -1;
      if (key >= 0 && key < counts.length) counts[key] = (counts[key] ?? 0) + 1;
    }
    const fresh: string[] = [];
    const targets = columns.keys.map((key, index) => {
      const count = counts[index] ?? 0;
      if (count === 0) return undefined;
      let series = this.#byKey.get(key);
      if (series === undefined) {
        series = new MetricSeries(key);
        this.#byKey.set(key, series);
        fresh.push(key);
      }
      series.reserve(series.length + count);
      return series;
    });
    for (let row = 0; row < columns.rowCount; row += 1) {
      targets[columns.keyIndex[row] ?? -1]?.push(
        columns.values[row] ?? Number.NaN,
        columns.steps[row] ?? Number.NaN,
        columns.epochs[row] ?? Number.NaN,
        columns.timestampsMs[row] ?? Number.NaN,
      );
    }
    this.#pointCount += columns.rowCount;
    return fresh;
  }
}
