/** The analyzer over a stored run. */
import { checkFlag, checkLiteral, checkOptionNames, checkCount } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import { invalidInput } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { checkPosition } from '../../read/filters.ts';
import { readRecords } from '../../read/records.ts';
import { RunReader } from '../../read/run-reader.ts';
import { alertTable, type AlertRecord } from '../../records/alert.ts';
import { healthScoreTable, type HealthScoreRecord } from '../../records/health-score.ts';
import {
  ALERT_CATEGORIES,
  ALERT_SEVERITIES,
  HEALTH_SCORE_KEYS,
  type AlertCategory,
  type AlertSeverity,
  type HealthScoreKey,
} from '../../records/literals.ts';
import type { RecordOf } from '../../schema/record.ts';
import type { TableColumns, TableDefinition } from '../../schema/table.ts';
import { handleOf, writeFor } from '../../session/run-handle.ts';
import type { Store } from '../../store/store.ts';
import { checkColumnsOf, loadRunColumns, type AnalyzableRun } from '../columns/load-run-columns.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import {
  checkAnalyzerConfig,
  type AnalyzerEngineConfig,
  type AnalyzerSettings,
} from '../evaluate/analyzer-config.ts';
import { analyzeWith, resultOf, type AnalyzerResult } from '../evaluate/analyze-columns.ts';
import { storeRecords } from '../evaluate/store-records.ts';
import { AlertWatch } from '../watch/alert-watch.ts';
import { checkWatchOptions, type WatchOptions } from '../watch/watch-options.ts';

/** Options of {@link AnalyzerEngine.analyze}. */
export type AnalyzeRunOptions = {
  /** Whether earlier alerts and scores of the run are replaced. Default: the setting `replaceExistingOutputs`. */
  readonly replaceExisting?: boolean;
  /** Whether the result is stored. Default true. */
  readonly persist?: boolean;
  /**
   * The run as `loadRunColumns` read it, so that several analyses read it once; what was recorded since is not looked at. Default: the run
   * is read now.
   */
  readonly columns?: RunColumns | undefined;
};

/** Which alerts to read. All conditions are joined by "and". */
export type AlertFilter = {
  readonly ruleId?: string | undefined;
  readonly category?: AlertCategory | undefined;
  readonly severity?: AlertSeverity | undefined;
  /** Alerts whose range of steps holds this step. */
  readonly step?: number | undefined;
  /** Alerts that end at or after this step. */
  readonly stepMin?: number | undefined;
  /** Alerts that begin at or before this step. */
  readonly stepMax?: number | undefined;
  /** The most recent only, still in order. */
  readonly limit?: number | undefined;
};

/** Which health scores to read. All conditions are joined by "and". */
export type HealthScoreFilter = {
  readonly scoreKey?: HealthScoreKey | undefined;
  readonly category?: HealthScoreKey | undefined;
  /** The most recent only, still in order. */
  readonly limit?: number | undefined;
};

/** Turns what was recorded of a run into alerts and health scores, and keeps them with the run. */
export class AnalyzerEngine {
  readonly #source: AnalyzableRun;
  readonly #store: Store;
  readonly #runId: string;
  readonly #settings: AnalyzerSettings;

  /**
   * @param session a session, a context made by one, or a run opened with `openRun`
   * @throws {QuarkError} `invalid_input` naming the setting
   */
  constructor(session: AnalyzableRun, config: AnalyzerEngineConfig = {}) {
    const place =
      session instanceof RunReader
        ? { store: session.store, runId: session.run.id }
        : handleOf(session);
    this.#source = session;
    this.#store = place.store;
    this.#runId = place.runId;
    this.#settings = checkAnalyzerConfig(config);
  }

  /**
   * Analyses what the run has so far; what the session has buffered is made durable first, unless `columns` are given. A run that has ended can be
   * analysed too, as long as its store is open.
   *
   * Without strict mode the result of a session's run is returned also when it cannot be stored; `recordingStatus()` has the
   * failure, and the records have `sequence: null`. What cannot be read cannot be analysed: then it rejects, in both modes.
   *
   * @throws {QuarkError} `invalid_input` naming the option
   * @throws {SessionStoreError} when the run cannot be read; in strict mode, and for a run opened with `openRun`, also when the
   * result cannot be stored: `read_only` among others; pass `persist: false` for a store that cannot be written
   */
  async analyze(options: AnalyzeRunOptions = {}): Promise<AnalyzerResult> {
    checkOptionNames('options', options, ['replaceExisting', 'persist', 'columns']);
    const replaces = checkFlag(
      'options.replaceExisting',
      options.replaceExisting ?? this.#settings.replaceExistingOutputs,
    );
    const persists = checkFlag('options.persist', options.persist ?? true);
    const columns =
      options.columns === undefined
        ? await loadRunColumns(this.#source)
        : checkColumnsOf(options.columns, this.#runId);
    const nowMs =
      this.#source instanceof RunReader ? systemClock.now() : handleOf(this.#source).clock.now();
    const result = analyzeWith(columns, this.#settings, {
      nowMs,
      createId: (prefix) => createId(prefix, nowMs),
    });
    if (!persists) return result;
    const keep = { store: this.#store, runId: this.#runId, replaces, nowMs };
    let kept = result;
    const write = async (): Promise<void> => {
      const alerts = await storeRecords(alertTable, result.alerts, keep);
      const scores = await storeRecords(healthScoreTable, result.healthScores, keep);
      kept = resultOf(result.runId, result.generatedAt, alerts, scores);
    };
    await (this.#source instanceof RunReader ? write() : writeFor(handleOf(this.#source), write));
    return kept;
  }

  /**
   * Asks the rules while the run goes on, after each flush and in a worker, and tells of what they find as `alert` events of
   * the run, by callbacks and by actions. A flush that is awaited, and the end of the run, wait until that was told. Where no
   * worker can be had, the calling thread asks, a few rules at a time; `status` of the watch says so. A rule that judges a trend
   * has to find the same in three looks, with at least a twentieth more values each; rules that can only judge a whole run wait
   * for {@link analyze}, which also finds what only later values show.
   *
   * A loop that never waits for more than promises that are kept already (as `await loss.data()` on the cpu backend of tfjs)
   * lets nothing else have its turn, and is looked at when it ends: await `session.flush()` or `tf.nextFrame()` now and then.
   *
   * A run of another process (opened with `openRun`) is looked at every `pollMs`; then there are no events, and `stop` does
   * nothing.
   *
   * @throws {QuarkError} `invalid_input` naming the option; `invalid_run_state` when the session's run has ended
   */
  watch(options: WatchOptions = {}): AlertWatch {
    const settings = checkWatchOptions(options);
    const handle = this.#source instanceof RunReader ? undefined : handleOf(this.#source);
    const run = { store: this.#store, runId: this.#runId, handle };
    return new AlertWatch(run, this.#settings, settings);
  }

  /**
   * Alerts of the run in the order they were persisted, as the last analyses left them.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async readAlerts(filter: AlertFilter = {}): Promise<readonly AlertRecord[]> {
    const { category, ruleId, severity, step, stepMax, stepMin } = filter;
    checkOptionNames('filter', filter, [
      'ruleId',
      'category',
      'severity',
      'step',
      'stepMin',
      'stepMax',
      'limit',
    ]);
    if (ruleId !== undefined && typeof ruleId !== 'string')
      throw invalidInput('ruleId', ruleId, 'text');
    if (category !== undefined) checkLiteral('category', category, ALERT_CATEGORIES);
    if (severity !== undefined) checkLiteral('severity', severity, ALERT_SEVERITIES);
    for (const [name, value] of Object.entries({ step, stepMin, stepMax }))
      if (value !== undefined) checkCount(name, value);
    const { limit } = checkPosition(filter.limit === undefined ? {} : { limit: filter.limit }, []);
    const records = await this.#read(alertTable, { ruleId, category, severity });
    const hasRange = step !== undefined || stepMin !== undefined || stepMax !== undefined;
    const first = Math.max(step ?? 0, stepMin ?? 0);
    const last = Math.min(step ?? Number.POSITIVE_INFINITY, stepMax ?? Number.POSITIVE_INFINITY);
    const wanted = records.filter(({ stepEnd, stepStart }) => {
      if (!hasRange) return true;
      const start = stepStart ?? stepEnd;
      const end = stepEnd ?? stepStart;
      return start !== null && end !== null && start <= last && end >= first;
    });
    return wanted.slice(Math.max(0, wanted.length - limit));
  }

  /**
   * Health scores of the run in the order they were persisted.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async readHealthScores(filter: HealthScoreFilter = {}): Promise<readonly HealthScoreRecord[]> {
    checkOptionNames('filter', filter, ['scoreKey', 'category', 'limit']);
    const { category, scoreKey } = filter;
    if (scoreKey !== undefined) checkLiteral('scoreKey', scoreKey, HEALTH_SCORE_KEYS);
    if (category !== undefined) checkLiteral('category', category, HEALTH_SCORE_KEYS);
    const { limit } = checkPosition(filter.limit === undefined ? {} : { limit: filter.limit }, []);
    const records = await this.#read(healthScoreTable, { scoreKey, category });
    return records.slice(Math.max(0, records.length - limit));
  }

  async #read<C extends TableColumns>(
    table: TableDefinition<C>,
    conditions: { readonly [column: string]: string | undefined },
  ): Promise<readonly RecordOf<C>[]> {
    const source = { store: this.#store, runId: this.#runId };
    const columns = Object.keys(conditions);
    return (await readRecords(source, table, conditions, { columns })).records;
  }
}
