/** Which rules are asked while a run goes on, and when their answer counts. */
import { ALERT_SEVERITIES, type AlertSeverity } from '../../records/literals.ts';
import { findStepwise, type Found } from '../evaluate/analyze-columns.ts';
import type { AnalyzerSettings } from '../evaluate/analyzer-config.ts';
import { RULES, type RuleId } from '../rules/rules.ts';
import { say, type Finding } from '../signals/rule.ts';
import { sayPlace, type Place } from '../signals/positions.ts';
import type { PlacedColumns, RunColumns, RunInfo } from '../columns/run-columns.ts';
import { batchEvidence } from '../signals/batch-evidence.ts';
import type { LiveColumns } from './live-columns.ts';
import type { LiveSeries, LiveSpike } from './live-series.ts';
import { findMetric, trainLosses } from '../signals/metric-keys.ts';

/** Whose answer counts at once: it does not become another one when more comes. */
const IMMEDIATE: ReadonlySet<string> = new Set<RuleId>([
  'non_finite',
  'static_model_lint',
  'input_not_normalised',
  'unchanged_parameters',
  'dying_relu',
  'stalled_run',
]);
/** Who is asked at the end only: they judge a whole run, or single values, which are watched here in another way. */
const AT_THE_END: ReadonlySet<string> = new Set<RuleId>([
  'plateau',
  'loss_spike',
  'grad_spike',
  'step_time_outlier',
]);
/** Rules that are asked before everything else gets a turn: some tenths of a millisecond. */
const RULES_A_TURN = 4;
/** Looks in a row that have to agree, with at least a twentieth more values each. */
const CONFIRMATIONS = 3;
const GROWTH = 1.05;
/** Fewest values of a metric before its course is judged. */
const MIN_VALUES = 100;
/** Nobody knows yet how long the run will be: a loss that is said not to fall must hardly have had the chance to. */
const LIVE_VISIBLE_FALL = 0.02;
const LIVE_MIN_POINTS = 200;

/** What the rules have to know from one look to the next, besides what was folded: enough for somebody else to go on. */
export type RuleMemory = {
  /** Size of the run when the rules were asked last. */
  readonly lookedAt: number;
  /** How many looks in a row have found something, by rule. */
  readonly streaks: ReadonlyMap<string, number>;
};

/** Rules over a run that goes on. */
export class LiveRules {
  readonly #settings: AnalyzerSettings;
  readonly #isOff: ReadonlySet<string>;
  readonly #streaks: Map<string, number>;
  readonly #turn: (() => Promise<void>) | undefined;
  #lookedAt: number;
  /** Values that the run had when the rules were asked last. */
  #valuesAsked = 0;
  /** Times that the rules were asked. */
  evaluations = 0;

  /** @param turn lets everything else have its turn between rules; left out where there is nothing else */
  constructor(
    settings: AnalyzerSettings,
    memory: RuleMemory | undefined,
    turn?: () => Promise<void>,
  ) {
    this.#streaks = new Map(memory?.streaks);
    this.#lookedAt = memory?.lookedAt ?? 0;
    this.#turn = turn;
    this.#isOff = settings.disabledRules;
    const disabledRules = new Set([...settings.disabledRules, ...AT_THE_END]);
    const { lossNotDecreasingMinPoints, lossNotDecreasingVisibleFall } = settings.thresholds;
    const thresholds = {
      ...settings.thresholds,
      lossNotDecreasingVisibleFall: Math.min(LIVE_VISIBLE_FALL, lossNotDecreasingVisibleFall),
      lossNotDecreasingMinPoints: Math.max(LIVE_MIN_POINTS, lossNotDecreasingMinPoints),
    };
    this.#settings = { ...settings, thresholds, disabledRules };
  }

  /** What it knows; a copy. */
  get memory(): RuleMemory {
    return { lookedAt: this.#lookedAt, streaks: new Map(this.#streaks) };
  }

  /**
   * What is to be told now. The rules are asked when there is a twentieth more than last time, when numbers broke, or when
   * `isUrgent` (probes have come): a few at a time, so that nothing waits for all of them.
   */
  async look(
    live: LiveColumns,
    run: RunInfo,
    nowMs: number,
    isUrgent: boolean,
  ): Promise<readonly Found[]> {
    const spikes = this.#spikes(live, run);
    // Probes are rare, and each of them says more than a value.
    let size = 4 * live.probes;
    let isBroken = false;
    let values = 0;
    for (const series of live.metrics.values()) {
      size = Math.max(size, series.count);
      values += series.count;
      isBroken ||= series.isBroken;
    }
    // Asked again with nothing new, they would find the same.
    isBroken &&= values !== this.#valuesAsked;
    const isGrown = size >= MIN_VALUES && size >= GROWTH * this.#lookedAt;
    if (!isGrown && !isBroken && !isUrgent) return spikes;
    this.evaluations++;
    this.#valuesAsked = values;
    const found = await this.#ask(live.snapshot(run), nowMs);
    const names = new Set<string>(found.map(({ rule }) => rule.id));
    for (const { id } of RULES) {
      if (!names.has(id)) this.#streaks.delete(id);
      // Between two looks there must be something new to look at.
      else if (isGrown) this.#streaks.set(id, (this.#streaks.get(id) ?? 0) + 1);
    }
    if (isGrown) this.#lookedAt = size;
    const told = found.filter(
      ({ rule }) => IMMEDIATE.has(rule.id) || (this.#streaks.get(rule.id) ?? 0) >= CONFIRMATIONS,
    );
    return [...told, ...spikes];
  }

  async #ask(columns: RunColumns, nowMs: number): Promise<readonly Found[]> {
    const steps = findStepwise(columns, this.#settings, nowMs);
    for (let asked = 0; ; asked++) {
      if (asked % RULES_A_TURN === 0) await this.#turn?.();
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }

  #spikes(live: LiveColumns, run: RunInfo): readonly Found[] {
    const found: Found[] = [];
    const pending = [...live.metrics.values()]
      .map((series) => [series, series.takeSpikes()] as const)
      .filter(([, spikes]) => spikes.length > 0);
    if (pending.length === 0) return found;
    const columns = live.snapshot(run);
    const losses = new Set(trainLosses(columns, this.#settings).map(({ key }) => key));
    const norm = findMetric(columns, this.#settings.gradientNormMetricKeys)?.key;
    for (const [series, spikes] of pending) {
      const isLoss = losses.has(series.key);
      const id: RuleId = isLoss ? 'loss_spike' : 'grad_spike';
      if ((!isLoss && series.key !== norm) || this.#isOff.has(id)) continue;
      const rule = RULES.find((one) => one.id === id);
      const values = columns.metrics.get(series.key)?.values ?? new Float64Array(0);
      const gained =
        (values.find((value) => Number.isFinite(value)) ?? 0) -
        values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
      for (const spike of spikes) {
        const finding = this.#judge(series, spike, isLoss, gained, columns);
        if (rule !== undefined && finding !== undefined) found.push({ rule, finding });
      }
    }
    return found;
  }

  #judge(
    series: LiveSeries,
    spike: LiveSpike,
    isLoss: boolean,
    gained: number,
    columns: RunColumns,
  ): Finding | undefined {
    const { end, heightInSpreads, level, peak } = spike;
    const t = this.#settings.thresholds;
    const height = peak.value - level;
    if (isLoss ? height < t.lossSpikeMinShare * gained : peak.value < t.gradSpikeMinRatio * level)
      return undefined;
    const severity: AlertSeverity =
      isLoss && height >= t.lossSpikeSevereShare * gained ? 'warning' : 'info';
    const from = place(peak);
    const to = place(end);
    return {
      severity,
      title: `A spike of ${series.key}`,
      fact: `${series.key} jumped from ${say(level)} to ${say(peak.value)} at ${sayPlace(from)} and was back at ${sayPlace(to)}.`,
      confidence: 0.75,
      from,
      to,
      observations: [
        {
          kind: 'metric',
          source: series.key,
          summary: `${say(heightInSpreads)} local deviations above the level.`,
          observed: heightInSpreads,
          threshold: isLoss ? t.lossSpikeScore : t.gradSpikeScore,
          from,
          to,
        },
        ...batchEvidence(columns, seriesOf(peak), 1),
      ],
    };
  }
}

/** The value before and the peak, as rows of a series. */
function seriesOf({ after, epoch, step, timeMs }: LiveSpike['peak']): PlacedColumns {
  return {
    x: 'step',
    steps: Float64Array.of(Number.isNaN(step) ? Number.NaN : after, step),
    epochs: Float64Array.of(Number.NaN, epoch),
    timesMs: Float64Array.of(Number.NaN, timeMs),
  };
}

function place({ epoch, step }: { readonly epoch: number; readonly step: number }): Place {
  return {
    step: Number.isNaN(step) ? null : step,
    epoch: Number.isNaN(epoch) ? null : epoch,
  };
}

/** Lets an alert of a rule through once, and again after a while, or when it gets worse. */
export class CoolDown {
  readonly #cooldownMs: number;
  readonly #told = new Map<string, { readonly atMs: number; readonly severity: AlertSeverity }>();

  constructor(cooldownMs: number) {
    this.#cooldownMs = cooldownMs;
  }

  admits(ruleId: string, severity: AlertSeverity, nowMs: number): boolean {
    const before = this.#told.get(ruleId);
    const isWorse =
      before !== undefined &&
      ALERT_SEVERITIES.indexOf(severity) > ALERT_SEVERITIES.indexOf(before.severity);
    if (before !== undefined && !isWorse && nowMs - before.atMs < this.#cooldownMs) return false;
    this.#told.set(ruleId, { atMs: nowMs, severity });
    return true;
  }
}
