/**
 * The rules while a run goes on. Each poll hands what was appended since the one before, as stored bytes, to a worker, which
 * folds it into bounded state and now and then evaluates the rules over that. What a poll costs does not depend on how long the
 * run is: see `bench/analysis.mjs`.
 */
import { systemClock, type Clock } from '../../base/clock.ts';
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { errorOf } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { openRun } from '../../read/run-reader.ts';
import { alertTable, type AlertRecord } from '../../records/alert.ts';
import type { RunHandle } from '../../session/run-handle.ts';
import type { WorkerWayName } from '../../kernel/workers/spawn.ts';
import type { SegmentManifest, Store } from '../../store/store.ts';
import { runInfo } from '../columns/empty-columns.ts';
import type { RunInfo } from '../columns/run-columns.ts';
import { alertOf } from '../evaluate/analyze-columns.ts';
import type { Found } from '../evaluate/find-all.ts';
import type { AnalyzerSettings } from '../evaluate/analyzer-config.ts';
import { storeRecords } from '../evaluate/stored-results.ts';
import { countAlertsAgain } from '../evaluate/remember-findings.ts';
import { rulesWith, type RuleProblem } from '../own/own-rules.ts';
import { judgedWithDict, judgedWithOf, SETTINGS_EVENT } from '../evaluate/judged-with.ts';
import { RULES_EVENT, rulesPayload } from '../own/stored-rules.ts';
import { RULES } from '../rules/rules.ts';
import type { Finding, Rule } from '../signals/rule-types.ts';
import { CoolDown } from './cool-down.ts';
import type { LiveAnswer, Load } from './messages.ts';
import { WatchFeed } from './watch-feed.ts';
import { JudgeLost, WatchJudge, type Question } from './watch-judge.ts';
import { AlertActions } from './watch-actions.ts';
import { RaisedAlerts, withoutSilenced } from './raised-alerts.ts';
import type { WatchSettings } from './watch-options.ts';

/** What is watched: a run of this process, or one in a store that somebody else writes. */
export type WatchedRun = {
  readonly store: Store;
  readonly runId: string;
  /** The inside of the session; undefined for a run of another process. */
  readonly handle: RunHandle | undefined;
};

/** What a watch tells about itself. */
export type WatchStatus = {
  /** Times that what was appended was read. */
  readonly looks: number;
  /** Times that the rules were asked. */
  readonly evaluations: number;
  /** Rows read. */
  readonly rows: number;
  /** Actions that failed. */
  readonly failedActions: number;
  /** Why the last poll failed; where it did not, why the last action that failed did. Else null. */
  readonly lastError: Error | null;
  /** Rules of one's own that the last evaluation could not judge. Such a rule that failed is an event `rule_failed`, too, once. */
  readonly ruleProblems: readonly RuleProblem[];
  /** How the worker that judges was made; `pending` until it has answered, `none` when the calling thread judges. */
  readonly workerMode: WorkerWayName;
  /** What stood in the way of each way to a worker that was tried, and what workers died of. */
  readonly workerFailures: readonly string[];
};

/** What a poll found, and when. */
type Judged = { readonly found: readonly Found[]; readonly nowMs: number };

/**
 * Watches one run until it is closed, or the session ends. Made by `AnalyzerEngine.watch`.
 *
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { AnalyzerEngine } from 'quark-sdk/analysis';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const onAlert = ({ ruleId, title }) => console.log(ruleId, title);
 *   const watch = new AnalyzerEngine(session).watch({ onAlert, actions: [{ kind: 'stop', rules: ['non_finite'] }] }); // an AlertWatch
 *   const metrics = new MetricsLogger(session);
 *   for (let step = 0; step < 100 && !session.signal.aborted; step++) {
 *     metrics.log('train/loss', step < 50 ? 1 / (step + 1) : Number.NaN, { step });
 *     if (step % 10 === 9) await session.flush(); // the rules are asked
 *   }
 *   await watch.check();
 *   console.log(watch.alerts.length); // 1
 * });
 * ```
 */
export class AlertWatch implements AsyncDisposable {
  readonly #run: WatchedRun;
  readonly #clock: Clock;
  readonly #analyzer: AnalyzerSettings;
  readonly #settings: WatchSettings;
  readonly #feed: WatchFeed;
  readonly #judge: WatchJudge;
  readonly #coolDown: CoolDown;
  readonly #undo: (() => void)[] = [];
  readonly #actions: AlertActions;
  readonly #raised: RaisedAlerts;
  #info: RunInfo | undefined;
  #isSilent = false;
  #cancelPoll: (() => void) | undefined;
  #cancelSilence: (() => void) | undefined;
  #polledAtMs = Number.NEGATIVE_INFINITY;
  #polling: Promise<readonly AlertRecord[]> = Promise.resolve([]);
  #alerts: readonly AlertRecord[] = [];
  #looks = 0;
  #evaluations = 0;
  #rows = 0;
  #lastError: Error | null = null;
  #problems: readonly RuleProblem[] = [];
  readonly #failedRules = new Set<string>();
  #isClosed = false;
  #isOver = false;

  /** @internal Use `AnalyzerEngine.watch`. */
  constructor(run: WatchedRun, analyzer: AnalyzerSettings, settings: WatchSettings) {
    // Before there is a worker that somebody would have to end.
    run.handle?.checkOpen();
    this.#run = run;
    this.#clock = run.handle?.clock ?? systemClock;
    this.#analyzer = analyzer;
    this.#settings = settings;
    this.#feed = new WatchFeed(run.store, run.runId);
    this.#judge = new WatchJudge(analyzer, settings);
    this.#coolDown = new CoolDown(settings.cooldownMs);
    this.#actions = new AlertActions(run, settings);
    this.#raised = new RaisedAlerts(run);
    const { handle } = run;
    if (handle === undefined) {
      this.#poll();
      return;
    }
    this.#undo.push(
      handle.onAppended((table, segments) => this.#appended(table, segments)),
      handle.attach({
        // A flush of the session is over when what it wrote was judged.
        isLast: true,
        drain: () => this.check().then(() => undefined),
        drainNow: () => undefined,
        close: () => this.close(),
      }),
    );
    if (settings.persist && analyzer.rules.declared.length > 0)
      handle.notify({
        eventType: RULES_EVENT,
        severity: 'info',
        step: null,
        epoch: null,
        payload: rulesPayload(analyzer.rules),
      });
    const used = judgedWithDict(judgedWithOf(analyzer));
    if (settings.persist && Object.keys(used).length > 0)
      handle.notify({
        eventType: SETTINGS_EVENT,
        severity: 'info',
        step: null,
        epoch: null,
        payload: used,
      });
    // What a run that goes on has already.
    this.#appended('metrics', []);
  }

  /** Alerts so far, in the order in which they came. */
  get alerts(): readonly AlertRecord[] {
    return this.#alerts;
  }

  /** How often the run was read, and what failed. */
  get status(): WatchStatus {
    return {
      looks: this.#looks,
      evaluations: this.#evaluations,
      rows: this.#rows,
      failedActions: this.#actions.failures,
      lastError: this.#lastError ?? this.#actions.lastFailure,
      ruleProblems: this.#problems,
      workerMode: this.#judge.way,
      workerFailures: this.#judge.failures,
    };
  }

  /** Reads and judges what was stored since the last time, now; returns the alerts that this brought. Never rejects. */
  check(): Promise<readonly AlertRecord[]> {
    // One after the other: each begins where the one before ended.
    this.#polling = this.#polling.then(() => this.#pollOnce());
    return this.#polling;
  }

  /**
   * Polls once more and stops watching. Waits for webhooks that are under way (ten seconds at most) and for callbacks (two:
   * one of them may have called this). The end of the run does the same.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelPoll?.();
    this.#cancelSilence?.();
    for (const undo of this.#undo.splice(0)) undo();
    // When the session ends, its writers close at the same time: what they have buffered is judged, too.
    await this.#run.handle?.flush().catch((error: unknown) => this.#fail(error));
    this.#feed.markAll();
    await this.check();
    this.#isOver = true;
    await this.#judge.close();
    await this.#actions.settle();
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  #appended(table: string, segments: readonly SegmentManifest[]): void {
    const isRaised = this.#raised.appended(table);
    if (!this.#feed.appended(table, segments) && !isRaised) return;
    if (this.#cancelPoll !== undefined || this.#isClosed) return;
    const waitMs = this.#polledAtMs + this.#settings.minIntervalMs - this.#clock.now();
    this.#cancelPoll = this.#clock.after(Math.max(0, waitMs), () => {
      this.#cancelPoll = undefined;
      void this.check();
    });
  }

  #poll(): void {
    this.#undo.push(() => this.#cancelPoll?.());
    this.#cancelPoll = this.#clock.after(this.#settings.pollMs, () => {
      this.#feed.markAll();
      void this.check().finally(() => {
        if (!this.#isClosed) this.#poll();
      });
    });
  }

  /** A run that falls silent is not flushed any more: a timer has to poll. */
  #watchSilence(): void {
    this.#cancelSilence?.();
    if (this.#isClosed) return;
    this.#cancelSilence = this.#clock.after(this.#analyzer.thresholds.stalledRunMs + 1000, () => {
      this.#isSilent = true;
      void this.check();
    });
  }

  async #pollOnce(): Promise<readonly AlertRecord[]> {
    if (this.#isOver) return [];
    this.#polledAtMs = this.#clock.now();
    try {
      const isSilent = this.#isSilent;
      this.#isSilent = false;
      const { found, nowMs } = await this.#judged(isSilent);
      const told = found.filter(({ finding, rule }) =>
        this.#coolDown.admits(coolDownKey(rule, finding), finding.severity, nowMs),
      );
      this.#watchSilence();
      const raised = await this.#tellRaised(nowMs);
      const alerts = told.length === 0 ? raised : [...raised, ...(await this.#tell(told, nowMs))];
      if (alerts.length > 0) await this.#remember(nowMs);
      return alerts;
    } catch (error) {
      // Watching never breaks what it watches; the next poll tries again.
      this.#fail(error);
      return [];
    }
  }

  /** Hands over what is new and asks about it; once more from the beginning when the worker has died. */
  async #judged(isUrgent: boolean): Promise<Judged> {
    this.#looks++;
    const run = await this.#runInfo();
    for (;;) {
      try {
        return await this.#judgedOnce(run, isUrgent);
      } catch (error) {
        if (!(error instanceof JudgeLost)) throw error;
        this.#feed.rewind();
      }
    }
  }

  async #judgedOnce(run: RunInfo, isUrgent: boolean): Promise<Judged> {
    let rows = 0;
    let failure: unknown;
    // The last load goes with the question: the usual poll is one message.
    let held: Load | undefined;
    const take = async (question?: Question): Promise<LiveAnswer> => {
      const answer = await this.#judge.run(held, question);
      rows += answer.rows;
      if (answer.failure !== null) failure ??= new Error(answer.failure);
      return answer;
    };
    try {
      for await (const load of this.#feed.read()) {
        if (held !== undefined) await take();
        held = load;
      }
    } catch (error) {
      if (error instanceof JudgeLost) throw error;
      failure = error;
    }
    const nowMs = this.#clock.now();
    const answer = await take({ run, nowMs, isUrgent });
    this.#feed.settle();
    this.#rows += rows;
    if (answer.isEvaluated) {
      this.#evaluations++;
      this.#note(answer.problems);
    }
    this.#lastError = null;
    if (failure !== undefined) this.#fail(failure);
    const rules = rulesWith(this.#analyzer.rules);
    const found = answer.found.flatMap(({ finding, ruleId }): Found[] => {
      const rule = rules.find(({ id }) => id === ruleId);
      return rule === undefined ? [] : [{ rule, finding }];
    });
    return { found, nowMs };
  }

  async #runInfo(): Promise<RunInfo> {
    const { handle, runId, store } = this.#run;
    // The configuration does not change while a session holds the run; elsewhere its state may.
    if (this.#info === undefined || handle === undefined) {
      const reader = await openRun(store, runId);
      this.#info = runInfo(reader.run, reader.isLive);
    }
    return this.#info;
  }

  async #tell(found: readonly Found[], nowMs: number): Promise<readonly AlertRecord[]> {
    const { handle, runId, store } = this.#run;
    const timestamp = new Date(nowMs).toISOString();
    let alerts: readonly AlertRecord[] = found.map(({ finding, rule }) =>
      alertOf(rule, finding, { runId, timestamp, id: createId('alr', nowMs) }),
    );
    if (this.#settings.persist && store.isWritable)
      try {
        alerts = await storeRecords(alertTable, alerts, { store, runId, replaces: false, nowMs });
      } catch (error) {
        // A full disk is no reason to say nothing, or not to stop.
        this.#fail(error);
      }
    this.#alerts = [...this.#alerts, ...alerts];
    // What was silenced is stored and listed, and disturbs nobody.
    for (const alert of await this.#audible(alerts, nowMs)) {
      handle?.notify({
        eventType: 'alert',
        severity: alert.severity,
        step: alert.stepEnd,
        epoch: null,
        payload: {
          alert_id: alert.id,
          rule_id: alert.ruleId,
          category: alert.category,
          title: alert.title,
          fact: alert.fact,
          inference: alert.inference,
          step_start: alert.stepStart,
          step_end: alert.stepEnd,
        },
      });
      this.#actions.start(alert);
    }
    return alerts;
  }

  /** Brings the number of alerts in the record of the run up to date. */
  async #remember(nowMs: number): Promise<void> {
    if (!this.#settings.persist || !this.#run.store.isWritable) return;
    try {
      await countAlertsAgain(this.#run, nowMs);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Rules of one's own that failed are an event each, once; what is not in the run yet may come. */
  #note(problems: readonly RuleProblem[]): void {
    this.#problems = problems;
    for (const { message, reason, ruleId } of problems) {
      if (reason === 'no_data' || this.#failedRules.has(ruleId)) continue;
      this.#failedRules.add(ruleId);
      this.#run.handle?.notify({
        eventType: 'rule_failed',
        severity: 'warning',
        step: null,
        epoch: null,
        payload: { rule_id: ruleId, reason, message },
      });
    }
  }

  /** Tells of the alerts that the program raised since the last poll. */
  async #tellRaised(nowMs: number): Promise<readonly AlertRecord[]> {
    try {
      const raised = await this.#raised.take(this.#run.handle !== undefined);
      this.#alerts = [...this.#alerts, ...raised];
      for (const alert of await this.#audible(raised, nowMs)) this.#actions.start(alert);
      return raised;
    } catch (error) {
      this.#fail(error);
      return [];
    }
  }

  async #audible(alerts: readonly AlertRecord[], nowMs: number): Promise<readonly AlertRecord[]> {
    try {
      return await withoutSilenced(this.#run, alerts, nowMs);
    } catch (error) {
      // Silences that cannot be read silence nothing.
      this.#fail(error);
      return alerts;
    }
  }

  #fail(error: unknown): void {
    this.#lastError = errorOf(error);
  }
}

/** Rules of Quark are told of one by one; one's own for each metric that they found something in. */
function coolDownKey(rule: Rule, { observations }: Finding): string {
  return RULES.includes(rule) ? rule.id : `${rule.id} ${observations[0]?.source ?? ''}`;
}
