import { segmentName } from '../records/shapes/manifest.ts';
import { RunNotFoundError } from '../base/errors.ts';
import { loadPart } from '../base/runtime.ts';
import type { EventRecord } from '../records/event.ts';
import type { RunStatus } from '../records/literals.ts';
import type { RunRecord } from '../records/run.ts';
import { generationOf } from '../records/shapes/run.ts';
import { TABLES } from '../records/tables.ts';
import type { DamageReport } from '../segment/open-segment.ts';
import type { Store } from '../store/store.ts';
import { readMetricColumns, type MetricColumns, type MetricFilter } from './metric-columns.ts';
import type { MetricRecord } from './metric-record.ts';
import { readMetrics } from './metric-records.ts';
import { readSeries, type SeriesQuery, type SeriesRead } from './metric-series.ts';
import type { ArtifactRecord } from '../records/artifact.ts';
import { readArtifacts, type ArtifactFilter } from './artifacts.ts';
import { readEvents, type EventFilter } from './events.ts';
import type { FollowedRows, FollowedTable } from './follow-rows.ts';
import { checkFollowOptions, type FollowOptions } from './following/follow-options.ts';
import { RunFollowing, type FollowHooks } from './following/run-following.ts';
import { loadStored, type RunSummary } from './runs.ts';
import { checkStore } from '../store/whole-store.ts';

/**
 * Reads one run, whether it goes on or has ended, and never changes it; made by {@link openRun}.
 *
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId); // a RunReader
 * const { steps, values } = await reader.readMetricColumns({ metricKey: 'train/loss' });
 * console.log(steps, values); // Float64Array(3) [ 0, 1, 2 ] Float64Array(3) [ 0.9, 0.5, 0.4 ]
 * const events = await reader.readEvents({ eventType: 'run_ended' });
 * console.log(events.length, reader.damage); // 1 []
 * ```
 */
export class RunReader {
  readonly #store: Store;
  readonly #damage = new Map<string, DamageReport>();
  #summary: RunSummary;

  /** @internal Use {@link openRun}. */
  constructor(store: Store, summary: RunSummary) {
    this.#store = store;
    this.#summary = summary;
  }

  /** The store the run is in. */
  get store(): Store {
    return this.#store;
  }

  /** The run record as of the last `reload`. */
  get run(): RunRecord {
    return this.#summary.run;
  }

  /** Whether a live session has the lease of the run, as of the last `reload`. */
  get isLive(): boolean {
    return this.#summary.isLive;
  }

  /** The status, or `interrupted` for a running run without a live lease. */
  get effectiveStatus(): RunStatus {
    return this.#summary.effectiveStatus;
  }

  /** Why the run record could not be read, or null; see {@link RunSummary}. */
  get problem(): string | null {
    return this.#summary.problem;
  }

  /** Since when the run is archived, in UTC epoch milliseconds, as of the last `reload`; undefined for a run that is not. */
  get archivedAtMs(): number | undefined {
    return this.#summary.archivedAtMs;
  }

  /** Segments that could not be read so far. */
  get damage(): readonly DamageReport[] {
    return [...this.#damage.values()];
  }

  /** Reads the run record again. @throws {RunNotFoundError} */
  async reload(): Promise<void> {
    this.#summary = await loadSummary(this.#store, this.run.id);
  }

  /**
   * How many rows of the run are superseded: sessions wrote them after another session had taken the run over. No reading has them;
   * `store.listSegments({ runId, table, superseded: true })` lists them among the others.
   */
  async supersededRows(): Promise<number> {
    const { id: runId } = this.run;
    const stored = await this.#store.findRun(runId);
    if (generationOf(stored ?? {}) === 1) return 0;
    let rows = 0;
    for (const table of TABLES.keys())
      for (const one of await this.#store.listSegments({ runId, table, superseded: true }))
        if (one.superseded === true) rows += one.rowCount;
    return rows;
  }

  /** All metric keys of the run, in alphabetical order. */
  async metricKeys(): Promise<readonly string[]> {
    const manifests = await this.#store.listSegments({ runId: this.run.id, table: 'metrics' });
    if (manifests.some((manifest) => manifest.keys === null))
      return [...(await this.readMetricColumns()).keys].toSorted();
    return [...new Set(manifests.flatMap((manifest) => manifest.keys ?? []))].toSorted();
  }

  /** Metric samples as columns. @throws {QuarkError} `invalid_input` naming the filter */
  async readMetricColumns(filter: MetricFilter = {}): Promise<MetricColumns> {
    const columns = await readMetricColumns(this, filter);
    this.#note(columns.damage);
    return columns;
  }

  /**
   * Metric samples as one series a metric: what charts and other readers of whole metrics need.
   *
   * @throws {QuarkError} `invalid_input` naming the option
   */
  async readSeries(query: SeriesQuery = {}): Promise<SeriesRead> {
    const read = await readSeries(this, query);
    this.#note(read.damage);
    return read;
  }

  /** Metric samples as records. @throws {QuarkError} `invalid_input` naming the filter */
  async readMetrics(filter: MetricFilter = {}): Promise<readonly MetricRecord[]> {
    const { records, damage } = await readMetrics(this, filter);
    this.#note(damage);
    return records;
  }

  /** Events. @throws {QuarkError} `invalid_input` naming the filter */
  async readEvents(filter: EventFilter = {}): Promise<readonly EventRecord[]> {
    const { records, damage } = await readEvents(this, filter);
    this.#note(damage);
    return records;
  }

  /** Artifacts, without their payloads. @throws {QuarkError} `invalid_input` naming the filter */
  async readArtifacts(filter: ArtifactFilter = {}): Promise<readonly ArtifactRecord[]> {
    const { records, damage } = await readArtifacts(this, filter);
    this.#note(damage);
    return records;
  }

  /**
   * Delivers rows of a table as they become durable: each once, in the order they were persisted, also while segments are merged and
   * other sessions record. `onRows` is awaited before more is read. Without it, `for await` takes the rows.
   *
   * @example
   * ```js
   * import { MetricsLogger, openRun, startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'demo', storageDir: 'quark-runs' });
   * const run = await openRun(session.store, session.runId);
   * const following = run.follow({ table: 'metrics', from: 'start', pollMs: 50 }, ({ steps, values }) => {
   *   console.log(`${values.length} points, up to step ${steps.at(-1)}`);
   * });
   * const metrics = new MetricsLogger(session);
   * for (let step = 0; step < 10; step++) metrics.log('train/loss', 1 / (step + 1), { step });
   * await session.endRun('completed');
   * const { reason, status } = await following.done;
   * console.log(`${reason}: ${status}`);
   * await session.close();
   * ```
   *
   * @throws {QuarkError} `invalid_input` naming the option
   */
  follow<T extends FollowedTable>(
    options: FollowOptions<T>,
    onRows?: (rows: FollowedRows<T>) => unknown,
  ): RunFollowing<FollowedRows<T>> {
    const settings = { ...checkFollowOptions(options, onRows), table: options.table };
    const open = async (hooks: FollowHooks) => {
      const { followRows } = await loadPart(
        'Following a run',
        async () => import('./follow-rows.ts'),
      );
      return followRows(this.#store, this.run.id, settings, hooks);
    };
    return new RunFollowing(open, options.signal, onRows);
  }

  #note(damage: readonly DamageReport[]): void {
    for (const report of damage) this.#damage.set(segmentName(report.identity), report);
  }
}

/**
 * Opens a run for reading, whether it goes on or has ended.
 *
 * @throws {QuarkError} `invalid_input`
 * @throws {RunNotFoundError}
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).log('train/loss', 0.5, { step: 0 });
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * console.log(reader.effectiveStatus, reader.isLive); // completed false
 * for (const { metricKey, step, value } of await reader.readMetrics()) console.log(metricKey, step, value); // train/loss 0 0.5
 * ```
 */
export async function openRun(store: Store, runId: string): Promise<RunReader> {
  checkStore(store);
  return new RunReader(store, await loadSummary(store, runId));
}

async function loadSummary(store: Store, runId: string): Promise<RunSummary> {
  const found = await loadStored(store, runId);
  if (found === undefined) throw new RunNotFoundError(runId, store.uri);
  return found.summary;
}
