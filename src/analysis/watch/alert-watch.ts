/**
 * The rules while a run goes on. Each look reads what was appended since the one before and folds it into bounded state; now and
 * then it asks the rules over that, a few at a time. Its cost does not depend on how long the run is: see `bench/analysis.mjs`.
 */
import { systemClock, type Clock } from '../../base/clock.ts';
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { messageOf } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { checkPosition } from '../../read/filters.ts';
import { readLayerColumns } from '../../read/layer-summaries.ts';
import { readMetricColumns } from '../../read/metric-columns.ts';
import { readParameterColumns } from '../../read/parameter-records.ts';
import { openRun } from '../../read/run-reader.ts';
import { alertTable, type AlertRecord } from '../../records/alert.ts';
import type { RunHandle } from '../../session/run-handle.ts';
import type { Store } from '../../store/store.ts';
import { runInfo } from '../columns/empty-columns.ts';
import { batchColumns, layerSeries, parameterSeries } from '../columns/grouped-series.ts';
import { readBatchTable, readTelemetryTable } from '../columns/load-run-columns.ts';
import type { RunInfo } from '../columns/run-columns.ts';
import { alertOf, type Found } from '../rules/analyze-columns.ts';
import type { AnalyzerSettings } from '../rules/analyzer-config.ts';
import { keepRecords } from '../rules/keep-records.ts';
import { CoolDown, LiveRules } from './live-rules.ts';
import { LiveColumns } from './live-columns.ts';
import { isFor, type WatchAction, type WatchSettings } from './watch-options.ts';

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
  /** Why the last look or action failed; null after a success. */
  readonly lastError: Error | null;
};

const TABLES: ReadonlySet<string> = new Set([
  'metrics',
  'layer_summaries',
  'parameter_summaries',
  'telemetry',
  'batch_diagnostics',
]);
type Table = 'metrics' | 'layers' | 'parameters' | 'telemetry' | 'batches';
/** Longest time that a webhook may take. */
const WEBHOOK_TIMEOUT_MS = 10_000;

/** Watches one run until it is closed, or the session ends. Made by `AnalyzerEngine.watch`. */
export class AlertWatch implements AsyncDisposable {
  readonly #run: WatchedRun;
  readonly #clock: Clock;
  readonly #analyzer: AnalyzerSettings;
  readonly #settings: WatchSettings;
  readonly #live: LiveColumns;
  readonly #rules: LiveRules;
  readonly #coolDown: CoolDown;
  readonly #next: Record<Table, number> = {
    metrics: 0,
    layers: 0,
    parameters: 0,
    telemetry: 0,
    batches: 0,
  };
  readonly #undo: (() => void)[] = [];
  readonly #pending = new Set<Promise<void>>();
  #info: RunInfo | undefined;
  #dirty = new Set<string>(TABLES);
  #cancelLook: (() => void) | undefined;
  #cancelSilence: (() => void) | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<readonly AlertRecord[]> = Promise.resolve([]);
  #alerts: readonly AlertRecord[] = [];
  #looks = 0;
  #rows = 0;
  #failedActions = 0;
  #lastError: Error | null = null;
  #isClosed = false;

  /** @internal Use `AnalyzerEngine.watch`. */
  constructor(run: WatchedRun, analyzer: AnalyzerSettings, settings: WatchSettings) {
    this.#run = run;
    this.#clock = run.handle?.clock ?? systemClock;
    this.#analyzer = analyzer;
    this.#settings = settings;
    const { lossSpikeMinRatio, lossSpikeScore } = analyzer.thresholds;
    this.#live = new LiveColumns({ threshold: lossSpikeScore, ratio: lossSpikeMinRatio });
    this.#rules = new LiveRules(analyzer);
    this.#coolDown = new CoolDown(settings.cooldownMs);
    const { handle } = run;
    if (handle === undefined) {
      this.#poll();
      return;
    }
    this.#undo.push(
      handle.onAppended((table) => this.#appended(table)),
      handle.attach({
        // A flush of the session is over when what it wrote was looked at.
        drain: () => this.check().then(() => undefined),
        drainNow: () => undefined,
        close: () => this.close(),
      }),
    );
    this.#appended('metrics');
  }

  /** Alerts so far, in the order in which they came. */
  get alerts(): readonly AlertRecord[] {
    return this.#alerts;
  }

  /** How often was looked, and what failed. */
  get status(): WatchStatus {
    return {
      looks: this.#looks,
      evaluations: this.#rules.evaluations,
      rows: this.#rows,
      failedActions: this.#failedActions,
      lastError: this.#lastError,
    };
  }

  /** Looks at what was stored since the last time, now; returns the alerts that this brought. Never rejects. */
  check(): Promise<readonly AlertRecord[]> {
    // One after the other: each begins where the one before ended.
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  /** Looks once more and stops watching. Waits for actions that are under way. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelLook?.();
    this.#cancelSilence?.();
    for (const undo of this.#undo.splice(0)) undo();
    // When the session ends, its writers close at the same time: what they still hold is looked at, too.
    await this.#run.handle?.flush().catch((error: unknown) => this.#fail(error));
    for (const table of TABLES) this.#dirty.add(table);
    await this.check();
    await Promise.all(this.#pending);
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  #appended(table: string): void {
    if (!TABLES.has(table)) return;
    this.#dirty.add(table);
    if (this.#cancelLook !== undefined || this.#isClosed) return;
    const waitMs = this.#lookedAtMs + this.#settings.minIntervalMs - this.#clock.now();
    this.#cancelLook = this.#clock.after(Math.max(0, waitMs), () => {
      this.#cancelLook = undefined;
      void this.check();
    });
  }

  #poll(): void {
    this.#undo.push(() => this.#cancelLook?.());
    this.#cancelLook = this.#clock.after(this.#settings.pollMs, () => {
      for (const table of TABLES) this.#dirty.add(table);
      void this.check().finally(() => {
        if (!this.#isClosed) this.#poll();
      });
    });
  }

  /** A run that falls silent is not flushed any more: somebody has to look. */
  #watchSilence(): void {
    this.#cancelSilence?.();
    if (this.#isClosed) return;
    this.#cancelSilence = this.#clock.after(this.#analyzer.thresholds.stalledRunMs + 1000, () => {
      this.#dirty.add('silence');
      void this.check();
    });
  }

  async #look(): Promise<readonly AlertRecord[]> {
    this.#lookedAtMs = this.#clock.now();
    try {
      const isSilent = this.#dirty.delete('silence');
      const probes = await this.#read();
      const nowMs = this.#clock.now();
      const found = await this.#rules.look(
        this.#live,
        await this.#runInfo(),
        nowMs,
        probes > 0 || isSilent,
      );
      const told = found.filter(({ finding, rule }) =>
        this.#coolDown.admits(rule.id, finding.severity, nowMs),
      );
      this.#lastError = null;
      this.#watchSilence();
      if (told.length === 0) return [];
      return await this.#tell(told, nowMs);
    } catch (error) {
      // Watching never breaks what it watches; the next look tries again.
      this.#fail(error);
      return [];
    }
  }

  /** Reads what is new; returns how many rows of probes there were. */
  async #read(): Promise<number> {
    const { runId, store } = this.#run;
    const dirty = this.#dirty;
    this.#dirty = new Set();
    this.#looks++;
    const next = this.#next;
    let probes = 0;
    const note = (
      table: Table,
      { lastSequence, rowCount }: { readonly lastSequence: number; readonly rowCount: number },
    ): void => {
      next[table] = lastSequence + 1;
      this.#rows += rowCount;
    };
    try {
      if (dirty.has('metrics')) {
        const columns = await readMetricColumns(store, runId, { sequenceMin: next.metrics });
        note('metrics', columns);
        this.#live.addMetrics(columns);
      }
      if (dirty.has('layer_summaries')) {
        const columns = await readLayerColumns(store, runId, { sequenceMin: next.layers });
        note('layers', columns);
        probes += columns.rowCount;
        this.#live.addLayers(layerSeries(columns));
      }
      if (dirty.has('parameter_summaries')) {
        const columns = await readParameterColumns(store, runId, { sequenceMin: next.parameters });
        note('parameters', columns);
        probes += columns.rowCount;
        this.#live.addParameters(parameterSeries(columns));
      }
      if (dirty.has('telemetry')) {
        const table = await readTelemetryTable(
          store,
          runId,
          checkPosition({ sequenceMin: next.telemetry }, []),
        );
        note('telemetry', table);
        this.#live.addTelemetry(table.columns);
      }
      if (dirty.has('batch_diagnostics')) {
        const table = await readBatchTable(
          store,
          runId,
          checkPosition({ sequenceMin: next.batches }, []),
        );
        note('batches', table);
        this.#live.addBatches(batchColumns(table));
      }
    } catch (error) {
      for (const table of dirty) this.#dirty.add(table);
      throw error;
    }
    return probes;
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
        alerts = await keepRecords(alertTable, alerts, { store, runId, replaces: false, nowMs });
      } catch (error) {
        // A full disk is no reason to say nothing, or not to stop.
        this.#fail(error);
      }
    this.#alerts = [...this.#alerts, ...alerts];
    for (const alert of alerts) {
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
      await this.#act(() => this.#settings.onAlert(alert));
      for (const action of this.#settings.actions)
        if (isFor(action, alert)) this.#start(() => this.#do(action, alert));
    }
    return alerts;
  }

  /** Begins an action; nobody but `close` waits for it. */
  #start(action: () => void | Promise<void>): void {
    const running = this.#act(action).finally(() => this.#pending.delete(running));
    this.#pending.add(running);
  }

  async #act(action: () => void | Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#failedActions++;
      this.#fail(error);
      if (this.#failedActions > 1) return;
      this.#run.handle?.notify({
        eventType: 'alert_action_failed',
        severity: 'warning',
        step: null,
        epoch: null,
        payload: { message: messageOf(error) },
      });
    }
  }

  async #do(action: WatchAction, alert: AlertRecord): Promise<void> {
    const { handle, runId } = this.#run;
    switch (action.kind) {
      case 'log':
        handle?.notify({
          eventType: 'user_log',
          severity: alert.severity === 'critical' ? 'error' : alert.severity,
          step: alert.stepEnd,
          epoch: null,
          payload: {
            message: alert.summary,
            identifier:
              alert.severity === 'info'
                ? 'Info'
                : alert.severity === 'warning'
                  ? 'Warning'
                  : 'Error',
          },
        });
        return;
      case 'callback':
        await action.callback(alert);
        return;
      case 'stop':
        handle?.requestStop(alert.title);
        return;
      case 'webhook': {
        const response = await this.#settings.fetch(action.url, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...action.headers },
          body: JSON.stringify({ run_id: runId, alert: alert.toDict() }),
          signal: AbortSignal.timeout(WEBHOOK_TIMEOUT_MS),
        });
        if (!response.ok) throw new Error(`The webhook answered with status ${response.status}.`);
      }
    }
  }

  #fail(error: unknown): void {
    this.#lastError = error instanceof Error ? error : new Error(messageOf(error));
  }
}
