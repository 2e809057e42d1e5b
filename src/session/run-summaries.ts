/**
 * Brings the summaries of metrics into the record of a run: at its end, after a flush of the session, at most once a second, and now and
 * then in between.
 */
import type { Clock } from '../base/clock.ts';
import type { JsonObject } from '../base/json.ts';
import { joinSummaries, type MetricSummaries } from '../records/metric-summaries.ts';
import type { RunRecord } from '../records/run.ts';
import { tolerate } from './storing/housekeeping.ts';
import type { RunEdit } from './session-run.ts';

/** While a run goes on, its record is not written more often for summaries alone. */
const PUBLISH_EVERY_MS = 30_000;

/** A program that flushes after each step must not write the record of its run each time. */
const FLUSHED_EVERY_MS = 1000;

/** Summaries that grow with each batch of rows. */
export type SummarySource = Pick<MetricSummaries, 'rowCount' | 'toJson'>;

/** See the top of this file. */
export class RunSummaries {
  readonly #clock: Clock;
  readonly #change: (edit: RunEdit) => Promise<unknown>;
  readonly #sources = new Set<SummarySource>();
  #publishedRows = 0;
  #publishedAtMs: number;
  #hasPublished = false;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, change: (edit: RunEdit) => Promise<unknown>) {
    this.#clock = clock;
    this.#change = change;
    this.#publishedAtMs = clock.now();
  }

  add(source: SummarySource): void {
    this.#sources.add(source);
  }

  /** Brings a run up to date that goes on, where it is time. */
  appended(): void {
    if (this.#clock.now() - this.#publishedAtMs >= PUBLISH_EVERY_MS)
      void tolerate(() => this.publish());
  }

  /** The same after a flush: at once, or within a second where that was done less than a second ago. */
  async flushed(): Promise<void> {
    const agoMs = this.#clock.now() - this.#publishedAtMs;
    if (!this.#hasPublished || agoMs < 0 || agoMs >= FLUSHED_EVERY_MS) return this.publish();
    this.#cancelTimer ??= this.#clock.after(FLUSHED_EVERY_MS - agoMs, () => {
      void tolerate(() => this.publish());
    });
  }

  /** Brings the stored run up to date, unless it is. */
  async publish(): Promise<void> {
    this.stop();
    if (!this.#hasNew) return;
    this.#hasPublished = true;
    this.#publishedAtMs = this.#clock.now();
    const rows = this.#rowCount;
    const found = this.#found();
    await this.#change((run) => changeTo(run, found));
    this.#publishedRows = Math.max(this.#publishedRows, rows);
  }

  /** Nothing is published later. */
  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** The fields by which a change of the run brings it up to date. */
  changeOf(run: RunRecord): Partial<RunRecord> {
    return changeTo(run, this.#found()) ?? {};
  }

  get #rowCount(): number {
    let sum = 0;
    for (const { rowCount } of this.#sources) sum += rowCount;
    return sum;
  }

  get #hasNew(): boolean {
    return this.#rowCount > this.#publishedRows;
  }

  #found(): JsonObject {
    let found: JsonObject = {};
    for (const source of this.#sources) found = joinSummaries(found, source.toJson());
    return found;
  }
}

function changeTo(run: RunRecord, found: JsonObject): Partial<RunRecord> | undefined {
  const metricSummaries = joinSummaries(run.metricSummaries, found);
  const isNew = JSON.stringify(metricSummaries) !== JSON.stringify(run.metricSummaries);
  return isNew ? { metricSummaries } : undefined;
}
