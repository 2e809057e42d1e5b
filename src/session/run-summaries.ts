/** Brings the summaries of metrics into the record of a run: at its end, after a flush of the session, and now and then in between. */
import type { Clock } from '../base/clock.ts';
import type { JsonObject } from '../base/json.ts';
import { joinSummaries, type MetricSummaries } from '../records/metric-summaries.ts';
import type { RunRecord } from '../records/run.ts';
import { tolerate } from './storing/housekeeping.ts';
import type { RunEdit } from './session-run.ts';

/** While a run goes on, its record is not written more often for summaries alone. */
const PUBLISH_EVERY_MS = 30_000;

/** Summaries that grow with each batch of rows. */
export type SummarySource = Pick<MetricSummaries, 'rowCount' | 'toJson'>;

/** See the top of this file. */
export class RunSummaries {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #change: (edit: RunEdit) => Promise<unknown>;
  readonly #sources = new Set<SummarySource>();
  #publishedRows = 0;
  #publishedAtMs: number;

  constructor(clock: Pick<Clock, 'now'>, change: (edit: RunEdit) => Promise<unknown>) {
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

  /** Brings the stored run up to date, unless it is. */
  async publish(): Promise<void> {
    if (!this.#hasNew) return;
    this.#publishedAtMs = this.#clock.now();
    const rows = this.#rowCount;
    const found = this.#found();
    await this.#change((run) => changeTo(run, found));
    this.#publishedRows = Math.max(this.#publishedRows, rows);
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
