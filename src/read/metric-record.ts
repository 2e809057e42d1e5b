/** A metric sample as an object. Made on every `log`: it stores what it was given and computes the rest when asked. */
import type { JsonObject } from '../base/json.ts';
import type { MetricContext } from '../base/series-key.ts';
import { metricTable } from '../records/metric.ts';
import { attachDefinition, type Dict, type RecordMethods } from '../schema/record.ts';

/** What all samples of a metric share. */
export type MetricKey = {
  readonly id: number;
  readonly key: string;
  readonly namespace: string | null;
  readonly name: string;
  /** Of the series, as part of `key`; null or missing where it has none. */
  readonly context?: MetricContext | null;
};

/** What few samples carry. */
export type MetricNotes = {
  readonly description: string | null;
  readonly metadata: JsonObject | null;
};

/**
 * A sample of a scalar metric, as `log` and `read` of a logger return it. Immutable.
 *
 * @example
 * ```js
 * import { endRun, MetricsLogger, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * const metrics = new MetricsLogger(session);
 * const sample = metrics.log('loss', 0.5, { step: 7, context: { subset: 'val' } }); // a MetricRecord
 * console.log(sample.metricKey, sample.value, sample.step); // loss {subset=val} 0.5 7
 * console.log(sample.sequence, (await metrics.flush())[0].sequence); // null 0: samples are numbered when they are stored
 * console.log(sample.toDict().metric_key); // loss {subset=val}
 * await endRun(session);
 * ```
 */
export class MetricRecord {
  // Null rather than NaN for what is missing: a field that is sometimes NaN costs an allocation in every record.
  readonly #runId: string;
  readonly #key: MetricKey;
  readonly #value: number;
  readonly #step: number | null;
  readonly #epoch: number | null;
  readonly #timestampMs: number;
  readonly #notes: MetricNotes | null;
  readonly #sequence: number | null;

  static {
    // Records of series without a context are as they were before there were any.
    attachDefinition(this.prototype, metricTable, (record) =>
      record instanceof MetricRecord && record.context !== null ? { context: record.context } : {},
    );
  }

  /** @internal Records come from loggers and readers. */
  constructor(
    runId: string,
    key: MetricKey,
    value: number,
    step: number | null,
    epoch: number | null,
    timestampMs: number,
    notes: MetricNotes | null,
    sequence: number | null,
  ) {
    this.#runId = runId;
    this.#key = key;
    this.#value = value;
    this.#step = step;
    this.#epoch = epoch;
    this.#timestampMs = timestampMs;
    this.#notes = notes;
    this.#sequence = sequence;
  }

  /** The run the sample belongs to. */
  get runId(): string {
    return this.#runId;
  }

  /** Position among the metrics of the run, counted from 0 as they were persisted; null until then. */
  get sequence(): number | null {
    return this.#sequence;
  }

  /** When the sample was made: ISO 8601, UTC. */
  get timestamp(): string {
    return new Date(this.#timestampMs).toISOString();
  }

  /** When the sample was made, in UTC epoch milliseconds. */
  get timestampMs(): number {
    return this.#timestampMs;
  }

  /** The key of the series: namespace and name, joined by "/", and the context, if any: `loss {subset=val}`. */
  get metricKey(): string {
    return this.#key.key;
  }

  /** All segments of the key but the last; null for a bare name. */
  get namespace(): string | null {
    return this.#key.namespace;
  }

  /** Last segment of the key. */
  get metricName(): string {
    return this.#key.name;
  }

  /** What the series is of, besides its metric, such as `{ subset: 'val' }`; null where it has no context. */
  get context(): MetricContext | null {
    return this.#key.context ?? null;
  }

  /** The sample; may be NaN or infinite. */
  get value(): number {
    return this.#value;
  }

  /** Training step, if one was given. */
  get step(): number | null {
    return this.#step;
  }

  /** Training epoch, if one was given. */
  get epoch(): number | null {
    return this.#epoch;
  }

  /** What the metric means, if it was said. */
  get description(): string | null {
    return this.#notes?.description ?? null;
  }

  /** What else is known of the sample, if it was given. */
  get metadata(): JsonObject | null {
    return this.#notes?.metadata ?? null;
  }
}

/** The methods of a {@link MetricRecord} that it shares with all records. */
export interface MetricRecord extends RecordMethods {
  toDict(): Dict;
}
