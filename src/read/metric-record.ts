/** A metric sample as an object. Made on every `log`, so it holds what it was given and works the rest out when asked. */
import type { JsonObject } from '../base/json.ts';
import { metricTable } from '../records/metric.ts';
import { attachDefinition, type Dict, type RecordMethods } from '../schema/record.ts';

/** What all samples of a metric share. */
export type MetricKey = {
  readonly id: number;
  readonly key: string;
  readonly namespace: string | null;
  readonly name: string;
};

/** A sample of a scalar metric. Immutable. */
export class MetricRecord {
  readonly #runId: string;
  readonly #key: MetricKey;
  readonly #value: number;
  readonly #step: number;
  readonly #epoch: number;
  readonly #timestampMs: number;
  readonly #description: string | null;
  readonly #metadata: JsonObject | null;
  readonly #sequence: number;

  /** @internal NaN stands for a missing step, epoch or sequence number. */
  constructor(
    runId: string,
    key: MetricKey,
    value: number,
    step: number,
    epoch: number,
    timestampMs: number,
    description: string | null,
    metadata: JsonObject | null,
    sequence: number,
  ) {
    this.#runId = runId;
    this.#key = key;
    this.#value = value;
    this.#step = step;
    this.#epoch = epoch;
    this.#timestampMs = timestampMs;
    this.#description = description;
    this.#metadata = metadata;
    this.#sequence = sequence;
  }

  /** The run the sample belongs to. */
  get runId(): string {
    return this.#runId;
  }

  /** Position among the metrics of the run, counted from 0 as they were persisted; null until then. */
  get sequence(): number | null {
    return orNull(this.#sequence);
  }

  /** When the sample was made: ISO 8601, UTC. */
  get timestamp(): string {
    return new Date(this.#timestampMs).toISOString();
  }

  /** When the sample was made, in UTC epoch milliseconds. */
  get timestampMs(): number {
    return this.#timestampMs;
  }

  /** Namespace and name, joined by "/". */
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

  /** The sample; may be NaN or infinite. */
  get value(): number {
    return this.#value;
  }

  /** Training step, if one was given. */
  get step(): number | null {
    return orNull(this.#step);
  }

  /** Training epoch, if one was given. */
  get epoch(): number | null {
    return orNull(this.#epoch);
  }

  /** What the metric means, if it was said. */
  get description(): string | null {
    return this.#description;
  }

  /** Context of the sample, if any was given. */
  get metadata(): JsonObject | null {
    return this.#metadata;
  }
}

/** The methods of a {@link MetricRecord} that it shares with all records. */
export interface MetricRecord extends RecordMethods {
  toDict(): Dict;
}

attachDefinition(MetricRecord.prototype, metricTable);

function orNull(value: number): number | null {
  return value === value ? value : null;
}
