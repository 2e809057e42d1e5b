/**
 * Rows of a read, taken apart by metric: what a worker can do for the page, so that the page only puts whole columns behind each other.
 */
import type { DamageReport, MetricColumns } from 'quark-sdk';
import { EpochScaler, type EpochSpan } from './epoch-scale.ts';

/** The columns of a read, as far as a series takes them over. Rows of several metrics are mixed. */
export type PointColumns = Pick<
  MetricColumns,
  'rowCount' | 'keys' | 'keyIndex' | 'values' | 'steps' | 'epochs' | 'timestampsMs'
>;

/** Lowest and highest of some numbers; of none, `min` is above `max`. */
export type PointRange = { readonly min: number; readonly max: number };

/** Lowest and highest of the numbers it was given. */
export class Extremes implements PointRange {
  min: number = Number.POSITIVE_INFINITY;
  max: number = Number.NEGATIVE_INFINITY;

  /** A comparison with NaN is false: it changes nothing. */
  add(value: number): void {
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
  }
}

/** Points of one metric, in the order in which they were written. The four columns share one buffer. */
export type SeriesPart = {
  readonly key: string;
  readonly values: Float64Array<ArrayBuffer>;
  readonly steps: Float64Array<ArrayBuffer>;
  readonly epochs: Float64Array<ArrayBuffer>;
  readonly timesMs: Float64Array<ArrayBuffer>;
  readonly nonFiniteCount: number;
  readonly step: PointRange;
  readonly epoch: PointRange;
  readonly timeMs: PointRange;
};

/** Points of several metrics. */
export type SeriesParts = {
  readonly rowCount: number;
  /** By metric, in the order in which they first appear. */
  readonly parts: readonly SeriesPart[];
  /** First and last step of each epoch in the rows. */
  readonly epochs: readonly EpochSpan[];
};

/** What a reading of a run gives. */
export type SeriesRead = SeriesParts & {
  /** Sequence number of the last row that was looked at; one less than asked for where there was none. */
  readonly lastSequence: number;
  /** Whether there is more to read at once. */
  readonly hasMore: boolean;
  readonly damage: readonly DamageReport[];
};

const COLUMNS = 4;

/** The rows by metric. */
export function splitByMetric(columns: PointColumns): SeriesParts {
  const { rowCount, keys, keyIndex } = columns;
  const counts = new Int32Array(keys.length);
  for (let row = 0; row < rowCount; row += 1) {
    const key = keyIndex[row] ?? -1;
    if (key >= 0 && key < counts.length) counts[key] = (counts[key] ?? 0) + 1;
  }
  const scaler = new EpochScaler();
  const makers = keys.map((key, at) => {
    const count = counts[at] ?? 0;
    return count === 0 ? undefined : new PartMaker(key, count);
  });
  for (let row = 0; row < rowCount; row += 1) {
    const step = columns.steps[row] ?? Number.NaN;
    const epoch = columns.epochs[row] ?? Number.NaN;
    scaler.add(step, epoch);
    makers[keyIndex[row] ?? -1]?.push(
      columns.values[row] ?? Number.NaN,
      step,
      epoch,
      columns.timestampsMs[row] ?? Number.NaN,
    );
  }
  const parts = makers.flatMap((maker) => (maker === undefined ? [] : [maker.finish()]));
  return { rowCount, parts, epochs: scaler.spans };
}

class PartMaker {
  readonly #key: string;
  readonly #values: Float64Array<ArrayBuffer>;
  readonly #steps: Float64Array<ArrayBuffer>;
  readonly #epochs: Float64Array<ArrayBuffer>;
  readonly #timesMs: Float64Array<ArrayBuffer>;
  readonly #step = new Extremes();
  readonly #epoch = new Extremes();
  readonly #timeMs = new Extremes();
  #length = 0;
  #nonFiniteCount = 0;

  constructor(key: string, count: number) {
    this.#key = key;
    const buffer = new ArrayBuffer(COLUMNS * count * Float64Array.BYTES_PER_ELEMENT);
    const column = (at: number): Float64Array<ArrayBuffer> =>
      new Float64Array(buffer, at * count * Float64Array.BYTES_PER_ELEMENT, count);
    this.#values = column(0);
    this.#steps = column(1);
    this.#epochs = column(2);
    this.#timesMs = column(3);
  }

  push(value: number, step: number, epoch: number, timeMs: number): void {
    const at = this.#length++;
    this.#values[at] = value;
    this.#steps[at] = step;
    this.#epochs[at] = epoch;
    this.#timesMs[at] = timeMs;
    if (!Number.isFinite(value)) this.#nonFiniteCount += 1;
    this.#step.add(step);
    this.#epoch.add(epoch);
    this.#timeMs.add(timeMs);
  }

  finish(): SeriesPart {
    return {
      key: this.#key,
      values: this.#values,
      steps: this.#steps,
      epochs: this.#epochs,
      timesMs: this.#timesMs,
      nonFiniteCount: this.#nonFiniteCount,
      step: plain(this.#step),
      epoch: plain(this.#epoch),
      timeMs: plain(this.#timeMs),
    };
  }
}

function plain({ min, max }: PointRange): PointRange {
  return { min, max };
}
