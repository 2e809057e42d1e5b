/** The rules while a run goes on: when they are evaluated, and when a finding counts. */
import type { PlacedColumns, RunColumns, RunInfo } from '../columns/run-columns.ts';
import { findStepwise, type Found } from '../evaluate/find-all.ts';
import type { AnalyzerSettings } from '../evaluate/analyzer-config.ts';
import { gradSpike } from '../rules/optimization/grad-spike.ts';
import { lossSpike } from '../rules/optimization/loss-spike.ts';
import { rulesWith, type RuleProblem } from '../own/own-rules.ts';
import { RULE_IDS, RULES } from '../rules/rules.ts';
import { batchEvidence } from '../signals/batch-evidence.ts';
import { findMetric, rolesOf } from '../signals/metric-keys.ts';
import { sayPosition, type RunPosition } from '../signals/positions.ts';
import { findingOf, type FindingTemplate } from '../signals/rule.ts';
import { type Rule, type ThresholdValues } from '../signals/rule-types.ts';
import { say } from '../text/sentences.ts';
import type { LiveColumns } from './live-columns.ts';
import type { LiveSpike } from './live-series.ts';

/** Evaluations in a row that have to agree before a finding counts, by the cadence of the rule. */
const CONFIRMATIONS = { at_once: 1, trend: 3, whole_run: Number.POSITIVE_INFINITY } as const;
/** Rules that are evaluated before everything else gets a turn: some tenths of a millisecond. */
const RULES_A_TURN = 4;
/** The rules are evaluated when a run has a twentieth more values than the time before. */
const GROWTH = 1.05;
/** Fewest values of a metric before its course is judged. */
const MIN_VALUES = 100;

/** What has to be known from one evaluation to the next, besides what was folded: enough for another worker to go on. */
export type RuleMemory = {
  /** Size of the run when the rules were evaluated last. */
  readonly extentOf: number;
  /** How many evaluations in a row have found something, by rule. */
  readonly streaks: ReadonlyMap<string, number>;
};

/** Rules over a run that goes on. */
export class LiveRules {
  readonly #settings: AnalyzerSettings;
  readonly #rules: readonly Rule[];
  readonly #hasOwn: boolean;
  /** For when only the rules of one's own are asked. */
  readonly #ownSettings: AnalyzerSettings;
  readonly #isOff: ReadonlySet<string>;
  readonly #streaks: Map<string, number>;
  readonly #turn: (() => Promise<void>) | undefined;
  #extentOf: number;
  /** Values that the run had when the rules were evaluated last. */
  #valuesJudged = 0;
  /** Values that the run had when the rules of one's own were evaluated last. */
  #valuesOfOwn = 0;
  /** Times that the rules were evaluated. */
  evaluations = 0;
  /** Rules that the last evaluation could not judge. */
  problems: readonly RuleProblem[] = [];

  /** @param turn lets everything else have its turn between rules; left out where there is nothing else */
  constructor(
    settings: AnalyzerSettings,
    memory: RuleMemory | undefined,
    turn?: () => Promise<void>,
  ) {
    this.#streaks = new Map(memory?.streaks);
    this.#extentOf = memory?.extentOf ?? 0;
    this.#turn = turn;
    this.#isOff = settings.disabledRules;
    this.#rules = rulesWith(settings.rules);
    const atTheEnd = this.#rules.filter(({ live }) => live === 'whole_run').map(({ id }) => id);
    const disabledRules = new Set([...settings.disabledRules, ...atTheEnd]);
    this.#settings = {
      ...settings,
      thresholds: liveThresholds(settings.thresholds, this.#rules),
      disabledRules,
    };
    this.#hasOwn = this.#rules.length > RULES.length;
    this.#ownSettings = {
      ...this.#settings,
      disabledRules: new Set([...disabledRules, ...RULE_IDS]),
    };
  }

  /** What it knows; a copy. */
  get memory(): RuleMemory {
    return { extentOf: this.#extentOf, streaks: new Map(this.#streaks) };
  }

  /**
   * The findings that count now. The rules are evaluated when there is a twentieth more than last time, when numbers broke, or when
   * `isUrgent` (probes have come): a few at a time, so that nothing waits for all of them.
   */
  async evaluate(
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
    // Evaluated again with nothing new, they would find the same.
    isBroken &&= values !== this.#valuesJudged;
    const isGrown = size >= MIN_VALUES && size >= GROWTH * this.#extentOf;
    // A rule of one's own has something to say about few values, too.
    const isOwnTurn = this.#hasOwn && values >= Math.max(1, GROWTH * this.#valuesOfOwn);
    const asksAll = isGrown || isBroken || isUrgent;
    if (!asksAll && !isOwnTurn) return spikes;
    this.evaluations++;
    if (asksAll) this.#valuesJudged = values;
    const settings = asksAll ? this.#settings : this.#ownSettings;
    const found = await this.#findAll(live.snapshot(run), settings, nowMs);
    const names = new Set<string>(found.map(({ rule }) => rule.id));
    for (const rule of this.#rules) {
      const { id } = rule;
      const isOwn = !RULES.includes(rule);
      if (!isOwn && !asksAll) continue;
      if (!names.has(id)) this.#streaks.delete(id);
      // Between two evaluations there must be something new.
      else if (isOwn ? isOwnTurn : isGrown) this.#streaks.set(id, (this.#streaks.get(id) ?? 0) + 1);
    }
    if (isGrown) this.#extentOf = size;
    if (isOwnTurn) this.#valuesOfOwn = values;
    const counting = found.filter(
      ({ rule }) =>
        rule.live === 'at_once' || (this.#streaks.get(rule.id) ?? 0) >= CONFIRMATIONS[rule.live],
    );
    return [...counting, ...spikes];
  }

  async #findAll(
    columns: RunColumns,
    settings: AnalyzerSettings,
    nowMs: number,
  ): Promise<readonly Found[]> {
    const problems: RuleProblem[] = [];
    const steps = findStepwise(columns, settings, nowMs, (problem) => problems.push(problem));
    this.problems = problems;
    for (let count = 0; ; count++) {
      if (count % RULES_A_TURN === 0) await this.#turn?.();
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }

  #spikes(live: LiveColumns, run: RunInfo): readonly Found[] {
    const pending = [...live.metrics.values()]
      .map((series) => ({ key: series.key, spikes: series.takeSpikes() }))
      .filter(({ spikes }) => spikes.length > 0);
    if (pending.length === 0) return [];
    const columns = live.snapshot(run);
    const losses = new Set(rolesOf(columns, this.#settings).trainLosses.map(({ key }) => key));
    const norm = findMetric(columns, this.#settings.gradientNormMetricKeys)?.key;
    return pending.flatMap(({ key, spikes }) => {
      const isLoss = losses.has(key);
      const rule = this.#rules.find(({ id }) => id === (isLoss ? lossSpike : gradSpike).id);
      if (rule === undefined || this.#isOff.has(rule.id) || (!isLoss && key !== norm)) return [];
      const values = columns.metrics.get(key)?.values ?? new Float64Array(0);
      const gained =
        (values.find((value) => Number.isFinite(value)) ?? 0) -
        values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
      return spikes.flatMap((spike) => {
        const measured = { ...spike, key, isLoss, gained, columns };
        const finding = findingOf(LIVE_SPIKE, measured, this.#settings.thresholds);
        return finding === undefined ? [] : [{ rule, finding }];
      });
    });
  }
}

/** Thresholds within the bounds that they have while a run goes on. */
function liveThresholds(
  thresholds: AnalyzerSettings['thresholds'],
  rules: readonly Rule[],
): AnalyzerSettings['thresholds'] {
  const bounds = new Map(rules.flatMap((rule) => Object.entries(rule.thresholds)));
  const bounded = Object.entries(thresholds).map(([name, value]) => {
    const { atLeast = value, atMost = value } = bounds.get(name)?.live ?? {};
    return [name, Math.max(atLeast, Math.min(atMost, value))];
  });
  // Object.fromEntries forgets which names it was given.
  return Object.fromEntries(bounded) as AnalyzerSettings['thresholds'];
}

/** A spike that a metric has come back from. */
type MeasuredSpike = LiveSpike & {
  readonly key: string;
  /** Whether it is one of a loss, and not of the norm of all gradients. */
  readonly isLoss: boolean;
  /** What the metric has gained so far. */
  readonly gained: number;
  readonly columns: RunColumns;
};

type SpikeLimits =
  | 'lossSpikeScore'
  | 'lossSpikeMinShare'
  | 'lossSpikeSevereShare'
  | 'gradSpikeScore'
  | 'gradSpikeMinRatio';

function isHigh(
  { gained, isLoss, level, peak }: MeasuredSpike,
  t: ThresholdValues<SpikeLimits>,
): boolean {
  return isLoss
    ? !(peak.value - level < t.lossSpikeMinShare * gained)
    : !(peak.value < t.gradSpikeMinRatio * level);
}

const LIVE_SPIKE: FindingTemplate<MeasuredSpike, SpikeLimits> = {
  levels: {
    warning: (spike, t) =>
      isHigh(spike, t) &&
      spike.isLoss &&
      spike.peak.value - spike.level >= t.lossSpikeSevereShare * spike.gained,
    info: isHigh,
  },
  title: ({ key }) => `A spike of ${key}`,
  fact: ({ end, key, level, peak }) => {
    const back = sayPosition(positionOf(end));
    return `${key} jumped from ${say(level)} to ${say(peak.value)} at ${sayPosition(positionOf(peak))} and was back at ${back}.`;
  },
  confidence: 0.75,
  evidence: ({ columns, end, heightInSpreads, isLoss, key, peak }, t) => [
    {
      kind: 'metric',
      source: key,
      summary: `${say(heightInSpreads)} local deviations above the level.`,
      observed: heightInSpreads,
      threshold: isLoss ? t.lossSpikeScore : t.gradSpikeScore,
      from: positionOf(peak),
      to: positionOf(end),
    },
    ...batchEvidence(columns, seriesOf(peak), 1),
  ],
};

/** The value before and the peak, as rows of a series. */
function seriesOf({ after, epoch, step, timeMs }: LiveSpike['peak']): PlacedColumns {
  return {
    x: 'step',
    steps: Float64Array.of(Number.isNaN(step) ? Number.NaN : after, step),
    epochs: Float64Array.of(Number.NaN, epoch),
    timesMs: Float64Array.of(Number.NaN, timeMs),
  };
}

function positionOf({
  epoch,
  step,
}: {
  readonly epoch: number;
  readonly step: number;
}): RunPosition {
  return {
    step: Number.isNaN(step) ? null : step,
    epoch: Number.isNaN(epoch) ? null : epoch,
  };
}
