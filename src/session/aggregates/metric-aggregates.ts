/** What a logger records of a metric that is logged more often than it is worth storing: one sample for many. */
import { checkLiteral } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { RunningMoments } from '../../base/running-moments.ts';
import { checkKey } from '../../base/names.ts';
import { count, numberWhere, optional, positive, readOptions } from '../../base/options.ts';

/** How samples of a metric become fewer; see {@link MetricAggregate}. */
export const AGGREGATE_KINDS = ['value', 'mean', 'ring', 'statistics'] as const;
/** One of {@link AGGREGATE_KINDS}. */
export type AggregateKind = (typeof AGGREGATE_KINDS)[number];

/**
 * What is recorded of a metric instead of each of its samples.
 *
 * - `value`: the first sample, then the first one after each distance, and the last one when the logger is closed.
 * - `mean`: the mean of each window, at the step and time of its last sample.
 * - `statistics`: of each window `<metric>/mean`, `/std` (population), `/min`, `/max` and `/count`, at its last sample.
 * - `ring`: the last `size` samples, each at its own step, when the logger is closed.
 *
 * A window ends by whichever of `every`, `everySteps` and `everyMs` is reached first, and when the logger is closed; with none
 * of them it is the whole run. A mean with NaN or an infinity in it is not finite.
 */
export type MetricAggregate = {
  readonly kind: AggregateKind;
  /** Samples of a window, or from one recorded value to the next. At least 1. */
  readonly every?: number | undefined;
  /** Steps of a window, or from one recorded value to the next. At least 1. */
  readonly everySteps?: number | undefined;
  /** Milliseconds of a window, or from one recorded value to the next. At least 1. */
  readonly everyMs?: number | undefined;
  /** Samples of a ring, 1 to 1,000,000; default 100. */
  readonly size?: number | undefined;
  /** How many samples at the start are left out; default 0. */
  readonly skip?: number | undefined;
};

/** Records a sample under the metric's name with `suffix` behind it. NaN stands for a missing step or epoch. */
type Emit = (suffix: string, sample: Sample) => void;
type Sample = {
  readonly value: number;
  readonly step: number;
  readonly epoch: number;
  readonly timeMs: number;
};

const DEFAULT_RING = 100;
const MAX_RING = 1_000_000;

const RULES = {
  kind: (field: string, value: unknown) => checkLiteral(field, value, AGGREGATE_KINDS),
  every: optional(positive()),
  everySteps: optional(positive()),
  everyMs: optional(positive()),
  size: optional(
    numberWhere(
      (size) => Number.isInteger(size) && size >= 1 && size <= MAX_RING,
      `an integer from 1 to ${MAX_RING}`,
    ),
  ),
  skip: count(0),
};

type Settings = ReturnType<typeof checkAggregate>;

function checkAggregate(field: string, aggregate: MetricAggregate) {
  const settings = readOptions(field, aggregate, RULES);
  const { every, everyMs, everySteps, kind, size } = settings;
  if (kind !== 'ring' && size !== undefined)
    throw invalidInput(`${field}.size`, size, 'given with the kind "ring" only');
  if (kind === 'ring' && (every ?? everySteps ?? everyMs) !== undefined)
    throw invalidInput(`${field}.kind`, kind, 'without every, everySteps and everyMs');
  return settings;
}

/** Checks what a logger is to aggregate. @throws {QuarkError} `invalid_input` naming the metric and the option */
export function checkAggregates(
  field: string,
  aggregates: Readonly<Record<string, MetricAggregate>>,
): ReadonlyMap<string, Settings> {
  // A Map would pass for an object that names no metrics.
  if (typeof aggregates !== 'object' || aggregates === null || Symbol.iterator in aggregates)
    throw invalidInput(field, aggregates, 'an object of metric keys and what is recorded of them');
  return new Map(
    Object.entries(aggregates).map(([key, aggregate]) => {
      if (aggregate === undefined) throw invalidInput(`${field}.${key}`, aggregate, 'an object');
      return [checkKey(field, key), checkAggregate(`${field}.${key}`, aggregate)];
    }),
  );
}

/** Takes the samples of one metric and records what its settings say. */
export class MetricAggregator {
  readonly #settings: Settings;
  readonly #emit: Emit;
  #left: number;
  #window = new RunningMoments();
  /** Samples since the window began, or since a value was recorded. */
  #count = 0;
  #start: Sample | undefined;
  #last: Sample | undefined;
  readonly #ring: Sample[] = [];
  #ringNext = 0;

  constructor(settings: Settings, emit: Emit) {
    this.#settings = settings;
    this.#emit = emit;
    this.#left = settings.skip;
  }

  add(value: number, step: number, epoch: number, timeMs: number): void {
    if (this.#left > 0) {
      this.#left--;
      return;
    }
    const sample = { value, step, epoch, timeMs };
    const { kind, size = DEFAULT_RING } = this.#settings;
    if (kind === 'ring') {
      this.#ring[this.#ringNext] = sample;
      this.#ringNext = (this.#ringNext + 1) % size;
    } else if (kind === 'value') this.#addValue(sample);
    else this.#addToWindow(sample);
  }

  /** Records what is left when the logger is closed. */
  finish(): void {
    const last = this.#last;
    if (this.#settings.kind === 'ring') {
      // In a ring that is full the next position has the oldest; in another it has none.
      const samples = [...this.#ring.slice(this.#ringNext), ...this.#ring.slice(0, this.#ringNext)];
      for (const sample of samples) this.#emit('', sample);
    } else if (last !== undefined) this.#close(last);
  }

  #addValue(sample: Sample): void {
    const isDue =
      this.#start === undefined ||
      this.#count >= (this.#settings.every ?? Infinity) ||
      this.#isApart(sample, this.#start);
    this.#count++;
    this.#last = sample;
    if (!isDue) return;
    this.#start = sample;
    this.#count = 1;
    this.#close(sample);
  }

  #addToWindow(sample: Sample): void {
    const last = this.#last;
    if (last !== undefined && this.#start !== undefined && this.#isApart(sample, this.#start))
      this.#close(last);
    this.#start ??= sample;
    this.#last = sample;
    this.#window.add(sample.value);
    if (++this.#count >= (this.#settings.every ?? Infinity)) this.#close(sample);
  }

  /** Whether a sample is as many steps or milliseconds behind `start` as a window has. */
  #isApart(sample: Sample, start: Sample): boolean {
    const { everyMs = Infinity, everySteps = Infinity } = this.#settings;
    return sample.step - start.step >= everySteps || sample.timeMs - start.timeMs >= everyMs;
  }

  #close(at: Sample): void {
    this.#last = undefined;
    if (this.#settings.kind === 'value') return this.#emit('', at);
    const { count: total, max, mean, min, std } = this.#window;
    this.#window = new RunningMoments();
    this.#start = undefined;
    this.#count = 0;
    if (this.#settings.kind === 'mean') return this.#emit('', { ...at, value: mean });
    const values = { mean, std, min, max, count: total };
    for (const [name, value] of Object.entries(values)) this.#emit(`/${name}`, { ...at, value });
  }
}
