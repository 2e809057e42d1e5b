/** The analyzer over a stored run. */
import { inSpan } from '../../base/profiling.ts';
import { ProfileStep } from '../../base/profile-steps.ts';
import { literal, optional, readOptions, text } from '../../base/options.ts';
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
import { checkRoles, type AskedRoles } from '../../records/run-roles.ts';
import { handleOf, writeFor } from '../../session/run-handle.ts';
import { readSilences } from '../../read/silences.ts';
import { readEventsOf } from '../alerts/read-events.ts';
import {
  silenceRun,
  unsilenceRun,
  type AlertSelection,
  type SilenceOptions,
} from './silence-run.ts';
import type { Silence } from '../../records/shapes/silence.ts';
import { storeAlerts } from './store-alerts.ts';
import { storeRules, storeSettings } from './store-event.ts';
import type { AnalyzableRun } from '../columns/load-run-columns.ts';
import {
  checkAnalyzerConfig,
  type AnalyzerEngineConfig,
  type AnalyzerSettings,
} from '../evaluate/analyzer-config.ts';
import { resultOf, type AnalyzerResult } from '../evaluate/analyze-columns.ts';
import {
  checkAnalysisOptions,
  limitRule,
  readResults,
  stepRules,
  analyzedRunOf,
  storeRecords,
  withinSteps,
  type AnalysisOptions,
  type StepFilter,
  type AnalyzedRun,
} from '../evaluate/stored-results.ts';
import { alertIds } from '../own/own-rules.ts';
import { jobRunOfColumns, jobRunOfReader, openForJob } from '../worker/job-runs.ts';
import { runAnalysis } from '../worker/run-analysis.ts';
import { rememberFindings } from '../evaluate/remember-findings.ts';
import { rememberRoles, replaceRoles } from '../evaluate/remember-roles.ts';
import {
  judgedWithDict,
  readJudgedWith,
  SETTINGS_EVENT,
  settingsAt,
  type JudgedWith,
} from '../evaluate/judged-with.ts';
import { AlertWatch } from '../watch/alert-watch.ts';
import { checkWatchOptions, type WatchOptions } from '../watch/watch-options.ts';

/** Options of {@link AnalyzerEngine.analyze}. */
export type AnalyzeRunOptions = AnalysisOptions;

/** Which alerts to read. All conditions are joined by "and". */
export type AlertFilter = StepFilter & {
  readonly ruleId?: string | undefined;
  readonly category?: AlertCategory | undefined;
  readonly severity?: AlertSeverity | undefined;
};

/** Which health scores to read. All conditions are joined by "and". */
export type HealthScoreFilter = {
  readonly scoreKey?: HealthScoreKey | undefined;
  readonly category?: HealthScoreKey | undefined;
  /** The most recent only, still in order. */
  readonly limit?: number | undefined;
};

/**
 * Turns what was recorded of a run into alerts and health scores, and stores them with the run.
 *
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { AnalyzerEngine } from 'quark-sdk/analysis';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const metrics = new MetricsLogger(session);
 *   for (let step = 0; step < 100; step++) metrics.log('train/loss', step < 60 ? 1 / (step + 1) : Number.NaN, { step });
 *   const engine = new AnalyzerEngine(session, { thresholds: { plateauMinPoints: 30 } });
 *   const { alerts, healthScores } = await engine.analyze();
 *   console.log(alerts[0].ruleId, alerts[0].severity); // non_finite critical
 *   console.log(healthScores[0].scoreKey, healthScores[0].status); // overall critical
 *   await engine.silence({ ruleId: 'non_finite', reason: 'Known: the rate was too high.', by: 'Ada' });
 * });
 * ```
 */
export class AnalyzerEngine {
  readonly #source: AnalyzableRun;
  readonly #run: AnalyzedRun;
  readonly #settings: AnalyzerSettings;

  /**
   * @param session a session, a context made by one, or a run opened with `openRun`
   * @throws {QuarkError} `invalid_input` naming the setting
   */
  constructor(session: AnalyzableRun, config: AnalyzerEngineConfig = {}) {
    this.#source = session;
    this.#run = analyzedRunOf(session);
    this.#settings = checkAnalyzerConfig(config);
  }

  /**
   * Analyses what the run has so far; what the session has buffered is made durable first, unless `columns` are given. A run that has ended can be
   * analysed too, as long as its store is open.
   *
   * Roles of the settings are remembered with the run, in its environment, when the result is stored: later analyses and pages use them.
   * The overall score and the number of alerts that nobody has silenced are in the record of the run: `findings`.
   * Thresholds and disabled rules are stored, too, to be read: see {@link readJudgedWith}. Later analyses use their own.
   *
   * Without strict mode the result of a session's run is returned also when it cannot be stored; `recordingStatus()` has the
   * failure, and the records have `sequence: null`. What cannot be read cannot be analysed: then it rejects, in both modes.
   *
   * @throws {QuarkError} `invalid_input` naming the option
   * @throws {SessionStoreError} when the run cannot be read; in strict mode, and for a run opened with `openRun`, also when the
   * result cannot be stored: `read_only` among others; pass `persist: false` for a store that cannot be written
   */
  analyze(options: AnalyzeRunOptions = {}): Promise<AnalyzerResult> {
    return inSpan(ProfileStep.ANALYSIS, () => this.#analyze(options));
  }

  async #analyze(options: AnalyzeRunOptions): Promise<AnalyzerResult> {
    const run = this.#run;
    const { replaceExistingOutputs } = this.#settings;
    const checked = checkAnalysisOptions(options, replaceExistingOutputs, run.runId);
    const { store, run: ofRun } =
      checked.columns === undefined
        ? jobRunOfReader(await openForJob(this.#source))
        : jobRunOfColumns(this.#source, checked.columns);
    const nowMs = run.clock.now();
    // What is about to be stored with the run takes over from what is.
    const { rules } = this.#settings;
    const remembers = checked.persist && rules.declared.length > 0;
    const job = {
      kind: 'alerts',
      runs: [ofRun],
      settings: this.#settings,
      nowMs,
      onlyGivenRules: remembers,
    } as const;
    const result = await runAnalysis(job, [store], checked);
    if (!checked.persist) return result;
    const destination = { ...run, replaces: checked.replaceExisting, nowMs };
    const handle = this.#source instanceof RunReader ? undefined : handleOf(this.#source);
    let stored = result;
    const { roles } = this.#settings;
    const write = async (): Promise<void> => {
      await rememberRoles(run.store, run.runId, roles, nowMs);
      await storeSettings(run, SETTINGS_EVENT, judgedWithDict(result.judgedWith), nowMs);
      const alerts = await storeAlerts(result.alerts, destination);
      if (remembers) await storeRules(run, rules);
      const healthScores = await storeRecords(healthScoreTable, result.healthScores, destination);
      const isAbsolute = this.#settings.compatibility === 'abiotic-quark';
      stored = resultOf({ ...result, alerts, healthScores, isAbsolute });
      await rememberFindings({ ...run, handle }, result, nowMs);
    };
    await (handle === undefined ? write() : writeFor(handle, write));
    return stored;
  }

  /**
   * Evaluates the rules while the run goes on, after each flush and in a worker, and reports what they find as `alert` events of
   * the run, by callbacks and by actions. A flush that is awaited, and the end of the run, wait until that was reported. Where no
   * worker can be had, the calling thread asks, a few rules at a time; `status` of the watch says so. A rule that judges a trend
   * has to find the same in three evaluations in a row, with at least a twentieth more values each; rules that can only judge a whole run wait
   * for {@link analyze}, which also finds what only later values show.
   *
   * A loop that never waits for more than promises that are settled already (as `await loss.data()` on the cpu backend of tfjs)
   * lets nothing else have its turn, and is judged when it ends: await `session.flush()` or `tf.nextFrame()` now and then.
   *
   * A run of another process (opened with `openRun`) is polled every `pollMs`; then there are no events, and `stop` does
   * nothing.
   *
   * @throws {QuarkError} `invalid_input` naming the option; `invalid_run_state` when the session's run has ended
   */
  watch(options: WatchOptions = {}): AlertWatch {
    const settings = checkWatchOptions(options, alertIds(this.#settings.rules));
    const handle = this.#source instanceof RunReader ? undefined : handleOf(this.#source);
    const { runId, store } = this.#run;
    const run = { store, runId, handle };
    return new AlertWatch(run, this.#settings, settings);
  }

  /**
   * Says which metrics play which roles, for all later analyses, reports and pages of the run. It replaces what the run remembers: a role
   * that is left out is found by the names of the metrics again, and null says that no metric plays it.
   *
   * @throws {QuarkError} `invalid_input` naming the role, also for a metric that the run does not have
   * @throws {SessionStoreError} when it cannot be stored
   * @example
   * ```js
   * import { MetricsLogger, startRun } from 'quark-sdk';
   * import { AnalyzerEngine } from 'quark-sdk/analysis';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * new MetricsLogger(session).logColumns('holdout/nll', [0, 1, 2], [0.9, 0.5, 0.4]);
   * const engine = new AnalyzerEngine(session);
   * await engine.rememberRoles({ valLoss: 'holdout/nll', reward: null });
   * console.log((await engine.analyze()).roles.valLoss?.keys); // [ 'holdout/nll' ]
   * await session.endRun();
   * ```
   */
  async rememberRoles(roles: AskedRoles): Promise<void> {
    const checked = checkRoles('roles', roles);
    await replaceRoles(await openForJob(this.#source), checked, this.#run.clock.now());
  }

  /**
   * Silences alerts, or acknowledges them, with a reason: all of a rule, or only those about a layer or a metric. What was said is an
   * event of the run and survives every analysis. A silenced alert is listed and named in the report; it lowers no score and
   * starts no action of a watch, from the next analysis on.
   *
   * @throws {QuarkError} `invalid_input` naming the option
   * @throws {SessionStoreError} when it cannot be stored
   * @example
   * ```js
   * import { startRun } from 'quark-sdk';
   * import { AnalyzerEngine } from 'quark-sdk/analysis';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * const engine = new AnalyzerEngine(session);
   * await engine.silence({ ruleId: 'plateau', metricKey: 'val/loss', reason: 'The rate is lowered by hand.', by: 'Ada' });
   * console.log((await engine.readSilences()).length); // 1
   * await session.endRun();
   * ```
   */
  silence(options: SilenceOptions): Promise<Silence> {
    return silenceRun(this.#run, options);
  }

  /**
   * Takes back what {@link silence} said of the same rule, layer and metric.
   *
   * @throws {QuarkError} `invalid_input` naming the option
   * @throws {SessionStoreError} when it cannot be stored
   */
  unsilence(options: AlertSelection): Promise<void> {
    return unsilenceRun(this.#run, options);
  }

  /** What was said of alerts of the run and was not taken back, in the order in which it was said; those that have ended included. */
  readSilences(): Promise<readonly Silence[]> {
    return readSilences(this.#run);
  }

  /**
   * What the alerts and scores that are stored were found with: thresholds that are not the defaults, rules that were not asked, roles.
   * Null where no analysis is stored.
   */
  async readJudgedWith(): Promise<JudgedWith | null> {
    const scores = await readResults(this.#run, healthScoreTable, {});
    const last = scores.at(-1);
    if (last === undefined) return null;
    const events = await readEventsOf(this.#run, SETTINGS_EVENT);
    return readJudgedWith(settingsAt(events, SETTINGS_EVENT, Date.parse(last.timestamp)));
  }

  /**
   * Alerts of the run in the order they were persisted, as the last analyses left them.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async readAlerts(filter: AlertFilter = {}): Promise<readonly AlertRecord[]> {
    const { category, ruleId, severity, ...steps } = readOptions(
      'filter',
      filter,
      {
        ruleId: optional(text(undefined, 'text', () => true)),
        category: optional(literal(ALERT_CATEGORIES)),
        severity: optional(literal(ALERT_SEVERITIES)),
        ...stepRules,
      },
      '',
    );
    return withinSteps(
      await readResults(this.#run, alertTable, { ruleId, category, severity }),
      steps,
    );
  }

  /**
   * Health scores of the run in the order they were persisted.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async readHealthScores(filter: HealthScoreFilter = {}): Promise<readonly HealthScoreRecord[]> {
    const scoreKey = optional(literal(HEALTH_SCORE_KEYS));
    const rules = { scoreKey, category: scoreKey, limit: limitRule };
    const { limit, ...conditions } = readOptions('filter', filter, rules, '');
    const records = await readResults(this.#run, healthScoreTable, conditions);
    return records.slice(Math.max(0, records.length - limit));
  }
}
