/** What the rules of a space would do now. Nothing is changed. */
import { checkNotAborted } from '../base/assert.ts';
import { DAY_MS, systemClock, type Clock } from '../base/clock.ts';
import { asGiven, optional, orDefault, readOptions } from '../base/options.ts';
import type { RunStatus } from '../records/literals.ts';
import { checkStore } from '../store/whole-store.ts';
import { compareText } from '../store/run-rules.ts';
import type { Store } from '../store/store.ts';
import {
  checkRetention,
  describeRule,
  type BestRuns,
  type RetentionAct,
  type RetentionRule,
  type RetentionSettings,
} from './rules.ts';
import type { RowsLeft } from './thin.ts';
import { factsOf, RunMeasures, type Exemption, type JudgedRun } from './run-facts.ts';

/** One thing that a rule would do. */
export type RetentionStep = {
  readonly act: RetentionAct;
  readonly runId: string;
  readonly projectName: string;
  /** The status, or `interrupted` for a run without a live session that says that it is running. */
  readonly status: RunStatus;
  /** When it ended, or changed last; UTC epoch milliseconds. */
  readonly endedAtMs: number;
  /** Bytes of its segments and payloads. */
  readonly bytes: number;
  /** The value by which it was ranked, where the rule ranks. */
  readonly value?: number | undefined;
  /** Index of the rule. */
  readonly rule: number;
  /** The rule as a sentence. */
  readonly because: string;
  /** Where it thins: rows of the metrics now, and how many stay at most. */
  readonly rows?: RowsLeft | undefined;
  /** Where it thins: samples of each metric that stay at most. */
  readonly pointsPerMetric?: number | undefined;
  /** The run as it was judged: one that has changed since is left alone. */
  readonly revision: number;
};

/** What the rules would do, in the order in which it is done. */
export type RetentionPlan = {
  /** The rules as sentences, in order. */
  readonly rules: readonly string[];
  readonly steps: readonly RetentionStep[];
  /** Bytes of the runs that would be deleted. */
  readonly deletedBytes: number;
  /** How many runs no rule touches, by the reason. */
  readonly exempt: Readonly<Record<Exemption, number>>;
};

/** Options of {@link planRetention}. */
export type PlanOptions = {
  readonly clock?: Pick<Clock, 'now'> | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * What the rules would do now. A run has at most one step: that of the first rule that deletes it, or else of the first that archives
 * it; and, where nothing deletes it, one that thins it, by the rule that leaves the fewest samples. Thinning comes first. Rules rank and count the runs that the rules before them leave.
 *
 * @throws {QuarkError} `invalid_input` with field, value and rule
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { planRetention } from 'quark-sdk/node';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * const { rules, steps } = await planRetention(store, { rules: [{ act: 'delete', olderThanDays: 0 }] }); // changes nothing
 * console.log(rules); // [ 'delete runs older than 0 days' ]
 * console.log(steps.map(({ act, projectName }) => [act, projectName])); // [ [ 'delete', 'digits' ] ]
 * ```
 */
export async function planRetention(
  store: Store,
  given: RetentionSettings,
  options: PlanOptions = {},
): Promise<RetentionPlan> {
  checkStore(store);
  const { rules, keepTags } = checkRetention(given);
  const { clock, signal } = readOptions('options', options, {
    clock: orDefault(asGiven, systemClock),
    signal: optional(asGiven),
  });
  const nowMs = clock.now();
  const live = new Set((await store.listLeases()).map(({ runId }) => runId));
  const tags = new Set(keepTags);
  const all = (await store.listRuns()).map((stored) =>
    factsOf(stored, live.has(stored.id), tags, nowMs),
  );
  const planner = new Planner(new RunMeasures(store, signal), nowMs, signal);
  const touched = all.filter(({ isExempt }) => isExempt === undefined);
  const steps = await planner.plan(touched, all, rules);
  const count = (reason: Exemption): number =>
    all.filter(({ isExempt }) => isExempt === reason).length;
  return {
    rules: rules.map(describeRule),
    steps,
    deletedBytes: steps.reduce((sum, { act, bytes }) => sum + (act === 'delete' ? bytes : 0), 0),
    exempt: {
      running: count('running'),
      'lately running': count('lately running'),
      tagged: count('tagged'),
      unreadable: count('unreadable'),
    },
  };
}

type Chosen = { readonly facts: JudgedRun; readonly value?: number | undefined };

class Planner {
  readonly #measures: RunMeasures;
  readonly #nowMs: number;
  readonly #signal: AbortSignal | undefined;

  constructor(measures: RunMeasures, nowMs: number, signal: AbortSignal | undefined) {
    this.#measures = measures;
    this.#nowMs = nowMs;
    this.#signal = signal;
  }

  async plan(
    runs: readonly JudgedRun[],
    all: readonly JudgedRun[],
    rules: readonly RetentionRule[],
  ): Promise<readonly RetentionStep[]> {
    const steps = new Map<string, RetentionStep>();
    const thinning = new Map<string, RetentionStep>();
    const isLeft = ({ stored }: JudgedRun): boolean => steps.get(stored.id)?.act !== 'delete';
    for (const [index, rule] of rules.entries()) {
      const chosen = await this.#choose(runs.filter(isLeft), all.filter(isLeft), rule);
      for (const { facts, value } of chosen) {
        const { id } = facts.stored;
        if (rule.act === 'thin') {
          const step = await this.#thinningStep(thinning.get(id), { facts, value }, rule, index);
          if (step !== undefined) thinning.set(id, step);
          continue;
        }
        if (rule.act === 'archive' && (steps.has(id) || isArchived(facts))) continue;
        steps.set(id, await this.#stepOf(facts, value, rule, index));
      }
    }
    const left = [...thinning.values()].filter(({ runId }) => steps.get(runId)?.act !== 'delete');
    return [...left.sort(compareSteps), ...[...steps.values()].sort(compareSteps)];
  }

  /** Undefined where another rule leaves as few samples, or no metric has more. */
  async #thinningStep(
    before: RetentionStep | undefined,
    { facts, value }: Chosen,
    rule: RetentionRule,
    index: number,
  ): Promise<RetentionStep | undefined> {
    const points = rule.pointsPerMetric ?? Number.POSITIVE_INFINITY;
    if ((before?.pointsPerMetric ?? Number.POSITIVE_INFINITY) <= points) return undefined;
    const rows = await this.#measures.downsampled(facts.stored.id, points);
    if (rows === undefined) return undefined;
    const step = await this.#stepOf(facts, value, rule, index);
    return { ...step, rows, pointsPerMetric: points };
  }

  async #stepOf(
    { endedAtMs, status, stored }: JudgedRun,
    value: number | undefined,
    rule: RetentionRule,
    index: number,
  ): Promise<RetentionStep> {
    return {
      act: rule.act,
      runId: stored.id,
      projectName: stored.projectName,
      status,
      endedAtMs,
      bytes: await this.#measures.bytes(stored.id),
      ...(value === undefined ? {} : { value }),
      rule: index,
      because: describeRule(rule),
      revision: stored.revision,
    };
  }

  /** The runs that a rule acts on. */
  async #choose(
    runs: readonly JudgedRun[],
    all: readonly JudgedRun[],
    rule: RetentionRule,
  ): Promise<readonly Chosen[]> {
    const matching: JudgedRun[] = [];
    for (const facts of runs) {
      checkNotAborted(this.#signal);
      if (await this.#matches(facts, rule)) matching.push(facts);
    }
    const { keepBest, keepBytes } = rule;
    if (keepBest === undefined && keepBytes === undefined)
      return matching.map((facts) => ({ facts }));
    const chosen: Chosen[] = [];
    for (const [project, some] of byProject(matching)) {
      if (keepBest !== undefined) chosen.push(...(await this.#beyondBest(some, keepBest)));
      else if (keepBytes !== undefined) {
        const whole = all.filter(({ stored }) => stored.projectName === project);
        chosen.push(...(await this.#beyondBytes(whole, some, keepBytes)));
      }
    }
    return chosen;
  }

  async #matches(facts: JudgedRun, rule: RetentionRule): Promise<boolean> {
    const { endedAtMs, status, stored } = facts;
    const { largerThanBytes, olderThanDays, project, statuses, tags } = rule;
    if (project !== undefined && stored.projectName !== project) return false;
    if (statuses !== undefined && !statuses.some((one) => one === status)) return false;
    if (olderThanDays !== undefined && this.#nowMs - endedAtMs <= olderThanDays * DAY_MS)
      return false;
    if (tags !== undefined && !tags.every((tag) => stored.tags.includes(tag))) return false;
    return (
      largerThanBytes === undefined || (await this.#measures.bytes(stored.id)) > largerThanBytes
    );
  }

  /** Those that come after the best. Of equal values the later run stays. A run without a value is not judged. */
  async #beyondBest(runs: readonly JudgedRun[], best: BestRuns): Promise<readonly Chosen[]> {
    const judged: { readonly facts: JudgedRun; readonly value: number }[] = [];
    for (const facts of runs) {
      checkNotAborted(this.#signal);
      const value = await this.#measures.best(facts.stored.id, best);
      if (value !== undefined) judged.push({ facts, value });
    }
    const sign = best.goal === 'max' ? -1 : 1;
    return judged
      .sort(
        (a, b) =>
          sign * (a.value - b.value) ||
          b.facts.endedAtMs - a.facts.endedAtMs ||
          compareText(a.facts.stored.id, b.facts.stored.id),
      )
      .slice(best.count);
  }

  /** The oldest of the matching ones, until what is left of the project has at most so many bytes. */
  async #beyondBytes(
    project: readonly JudgedRun[],
    matching: readonly JudgedRun[],
    keepBytes: number,
  ): Promise<readonly Chosen[]> {
    let total = 0;
    for (const { stored } of project) total += await this.#measures.bytes(stored.id);
    const chosen: Chosen[] = [];
    const oldestFirst = [...matching].sort(
      (a, b) => a.endedAtMs - b.endedAtMs || compareText(a.stored.id, b.stored.id),
    );
    for (const facts of oldestFirst) {
      if (total <= keepBytes) break;
      total -= await this.#measures.bytes(facts.stored.id);
      chosen.push({ facts });
    }
    return chosen;
  }
}

function compareSteps(a: RetentionStep, b: RetentionStep): number {
  return a.rule - b.rule || a.endedAtMs - b.endedAtMs || compareText(a.runId, b.runId);
}

function byProject(runs: readonly JudgedRun[]): ReadonlyMap<string, readonly JudgedRun[]> {
  const groups = new Map<string, JudgedRun[]>();
  for (const facts of runs) {
    const group = groups.get(facts.stored.projectName) ?? [];
    group.push(facts);
    groups.set(facts.stored.projectName, group);
  }
  return groups;
}

function isArchived({ stored }: JudgedRun): boolean {
  return 'archivedAtMs' in stored && stored.archivedAtMs !== undefined;
}
