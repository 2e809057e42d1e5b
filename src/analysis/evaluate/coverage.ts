/** What a score rests on: which questions were asked of a run, on what data, and which could not be asked and why. */
import {
  HEALTH_SCORE_KEYS,
  type AlertCategory,
  type HealthScoreKey,
} from '../../records/literals.ts';
import type { Dict } from '../../schema/record.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import { rulesWith, type RuleProblem } from '../own/own-rules.ts';
import { NEEDS, type DataFound, type NeedName } from '../signals/needs.ts';
import type { RoleCandidate } from '../signals/roles/role-types.ts';
import type { Rule, RuleNeeds } from '../signals/rule-types.ts';
import type { Signals } from '../signals/signals.ts';
import { sayNames, sayOption } from '../text/sentences.ts';
import type { AnalyzerSettings } from './analyzer-config.ts';
import type { Found } from './find-all.ts';
import { MIN_LEARNING_VALUES, type Learning } from './learning.ts';

/** A question that was asked of a run. */
export type CoverageQuestion = {
  readonly ruleId: string;
  readonly category: AlertCategory;
  /** What is looked for, in a sentence. */
  readonly question: string;
  /** The data that it was asked of, such as `train/loss (200 values)`. */
  readonly on: readonly string[];
};

/** A question that could not be asked. */
export type OpenQuestion = Omit<CoverageQuestion, 'on'> & {
  /** What is missing, as a clause: `the run has no training loss`. */
  readonly why: string;
};

/** What the score of a category, or of the run, rests on. */
export type ScoreCoverage = {
  readonly scoreKey: HealthScoreKey;
  readonly askedCount: number;
  readonly openCount: number;
  /** The data that decide; empty where there are none. */
  readonly decidedBy: readonly string[];
  /** What is missing for a score, as a clause; null where nothing is. */
  readonly missing: string | null;
};

/** What was judged of a run, and what was not. */
export type Coverage = {
  readonly asked: readonly CoverageQuestion[];
  readonly open: readonly OpenQuestion[];
  /** In the order of the scores: overall, optimization, representation, generalization, runtime. */
  readonly scores: readonly ScoreCoverage[];
  /**
   * What is missing for a verdict on the run, with the metric that is likeliest meant and the option that says so; null where nothing is
   * missing.
   */
  readonly headline: string | null;
};

/** The data that decide a category: without any of them nothing is known of it, whatever else was asked. */
const DECIDING: Readonly<Record<AlertCategory, readonly NeedName[]>> = {
  optimization: ['train_loss', 'val_loss', 'accuracy', 'reward'],
  representation: ['activations', 'gradients', 'parameters'],
  generalization: ['loss_pair', 'accuracy_pair'],
  runtime: ['step_times', 'data_times', 'memory'],
};

const OPTIONS = { loss: '--loss', accuracy: '--accuracy', reward: '--reward' } as const;

/** Holds what the rules need against what the run has. */
export function coverageOf(
  columns: RunColumns,
  signals: Signals,
  { disabledRules, model, rules, thresholds }: AnalyzerSettings,
  problems: readonly RuleProblem[],
  learning: Learning,
): Coverage {
  const known = new Map<NeedName, readonly DataFound[]>();
  const find = (name: NeedName): readonly DataFound[] => {
    const found =
      known.get(name) ??
      (name === 'model' && model !== undefined
        ? [{ name: 'model', count: 1 }]
        : NEEDS[name].find(columns, signals));
    known.set(name, found);
    return found;
  };
  const asked: CoverageQuestion[] = [];
  const open: OpenQuestion[] = [];
  const decided = new Map<AlertCategory, Set<string>>();
  const unjudged = new Map(problems.map(({ message, ruleId }) => [ruleId, message]));
  for (const rule of rulesWith(rules)) {
    const { category, detects: question, id: ruleId } = rule;
    const about = { ruleId, category, question };
    if (disabledRules.has(ruleId)) {
      open.push({ ...about, why: 'the rule is disabled' });
      continue;
    }
    const answer = unjudged.get(ruleId) ?? ask(rule, find, thresholds);
    if (typeof answer === 'string') {
      open.push({ ...about, why: answer });
      continue;
    }
    asked.push({ ...about, on: answer.on.map(sayData) });
    const names = decided.get(category) ?? new Set();
    for (const one of answer.deciding) names.add(sayData(one));
    decided.set(category, names);
  }
  // What neither has to fall nor to rise decides nothing, however many values it has.
  if (learning === 'unknown') decided.delete('optimization');
  return summed(asked, open, decided, sayMissing(columns, signals, find, learning));
}

type Answer = {
  readonly on: readonly DataFound[];
  /** Those that decide the category of the rule. */
  readonly deciding: readonly DataFound[];
};

/** What a rule can be asked of; else what is missing. */
function ask(
  { category, needs }: Rule,
  find: (name: NeedName) => readonly DataFound[],
  thresholds: AnalyzerSettings['thresholds'],
): Answer | string {
  if (needs === undefined) return { on: [], deciding: [] };
  const least = leastOf(needs, thresholds);
  const present = needs.anyOf.flatMap((name) => find(name).map((found) => ({ name, found })));
  const enough = present.filter(({ found }) => found.count >= least);
  if (enough.length > 0)
    return {
      on: unique(enough.map(({ found }) => found)),
      deciding: unique(
        enough
          .filter(
            ({ found, name }) =>
              DECIDING[category].includes(name) && found.count >= MIN_LEARNING_VALUES,
          )
          .map(({ found }) => found),
      ),
    };
  const [few] = present;
  if (few !== undefined)
    return `${few.found.name} has ${few.found.count} values, and it takes ${least}`;
  return `the run has no ${sayAlternatives(needs.anyOf.map((name) => NEEDS[name].noun))}`;
}

/** How many values a rule needs of its data. */
function leastOf({ points = 1 }: RuleNeeds, thresholds: AnalyzerSettings['thresholds']): number {
  return typeof points === 'number' ? points : (Reflect.get(thresholds, points) as number); // checked with the configuration
}

/**
 * The coverage as it is once it is known what was found. A rule under whose name something is said was asked. What has not learned has nothing
 * that could hold for other samples: whether it does was not assessed.
 */
export function coverageOfFound(
  coverage: Coverage,
  found: readonly Found[],
  hasLearned: boolean,
): Coverage {
  const on = new Map<string, readonly string[]>();
  for (const { finding, rule } of found)
    on.set(rule.id, [...new Set(finding.observations.map(({ source }) => source))]);
  const late = coverage.open.filter(({ ruleId }) => on.has(ruleId));
  const asked = [
    ...coverage.asked,
    ...late.map(({ category, question, ruleId }) => ({
      ruleId,
      category,
      question,
      on: on.get(ruleId) ?? [],
    })),
  ];
  const scores = coverage.scores.map((one): ScoreCoverage => {
    const count = late.filter(
      ({ category }) => one.scoreKey === 'overall' || category === one.scoreKey,
    ).length;
    const isMoot = one.scoreKey === 'generalization' && !hasLearned && one.missing === null;
    return {
      ...one,
      askedCount: one.askedCount + count,
      openCount: one.openCount - count,
      ...(isMoot ? { decidedBy: [], missing: NOTHING_LEARNED } : {}),
    };
  });
  const open = coverage.open.filter(({ ruleId }) => !on.has(ruleId));
  return { ...coverage, asked, open, scores };
}

const NOTHING_LEARNED = 'the run shows no learning that could hold for other samples';

function summed(
  asked: readonly CoverageQuestion[],
  open: readonly OpenQuestion[],
  decided: ReadonlyMap<AlertCategory, ReadonlySet<string>>,
  missingOfRun: string,
): Coverage {
  const ofRun = [...(decided.get('optimization') ?? [])];
  const headline = ofRun.length > 0 ? null : `Not assessed: ${missingOfRun}`;
  const scores = HEALTH_SCORE_KEYS.map((scoreKey): ScoreCoverage => {
    const isOwn = ({ category }: { readonly category: AlertCategory }): boolean =>
      scoreKey === 'overall' || category === scoreKey;
    const decidedBy = scoreKey === 'overall' ? ofRun : [...(decided.get(scoreKey) ?? [])];
    return {
      scoreKey,
      askedCount: asked.filter(isOwn).length,
      openCount: open.filter(isOwn).length,
      decidedBy,
      missing: decidedBy.length > 0 ? null : missingOf(scoreKey, missingOfRun),
    };
  });
  return { asked, open, scores, headline };
}

function missingOf(scoreKey: HealthScoreKey, missingOfRun: string): string {
  if (scoreKey === 'overall' || scoreKey === 'optimization') return missingOfRun;
  const nouns = DECIDING[scoreKey].map((name) => NEEDS[name].noun);
  return `the run has no ${sayAlternatives(nouns)}`;
}

/** What is missing for a verdict on the run, as a clause. */
function sayMissing(
  { metrics }: RunColumns,
  signals: Signals,
  find: (name: NeedName) => readonly DataFound[],
  learning: Learning,
): string {
  if (metrics.size === 0) return 'no metric was recorded';
  const isFinite = [...metrics.values()].some(({ values }) => values.some(Number.isFinite));
  if (!isFinite)
    return metrics.size === 1
      ? 'the one metric has no finite value'
      : `none of ${metrics.size} metrics has a finite value`;
  const [some] = DECIDING.optimization.flatMap((name) => find(name));
  if (some !== undefined)
    return some.count < MIN_LEARNING_VALUES
      ? `${sayData(some)}: it takes ${MIN_LEARNING_VALUES} to judge a training`
      : learning === 'unknown'
        ? `${some.name} ${signals.isAdversarial ? 'is of networks that are trained against each other' : 'goes below zero'}, where a loss that does not fall says nothing of what was learned; name a metric that does: --loss KEY`
        : `no rule that is on asks of ${some.name}`;
  const [likeliest] = likely(signals.roles.candidates, metrics);
  const among = metrics.size === 1 ? 'in the one metric' : `among ${metrics.size} metrics`;
  const none = `no training loss was found ${among}`;
  return likeliest === undefined
    ? `${none}; say which one it is: --loss KEY`
    : `${none}; the likeliest is ${likeliest.key}: ${sayOption(OPTIONS[likeliest.role], likeliest.key)}`;
}

/** Losses first, and only what has a finite value. */
function likely(
  candidates: readonly RoleCandidate[],
  metrics: RunColumns['metrics'],
): readonly RoleCandidate[] {
  const usable = candidates.filter(
    ({ key }) => metrics.get(key)?.values.some(Number.isFinite) === true,
  );
  return [...usable.filter(({ role }) => role === 'loss'), ...usable];
}

function sayData({ count, name }: DataFound): string {
  return `${name} (${count} ${count === 1 ? 'value' : 'values'})`;
}

function sayAlternatives(nouns: readonly string[]): string {
  const last = nouns.at(-1) ?? '';
  return nouns.length < 2 ? last : `${nouns.slice(0, -1).join(', no ')} and no ${last}`;
}

function unique(found: readonly DataFound[]): readonly DataFound[] {
  return [...new Map(found.map((one) => [one.name, one])).values()];
}

/** The questions that were asked and those that were not, in a sentence. */
export function sayCoverage({ asked, open }: Pick<Coverage, 'asked' | 'open'>): string {
  const all = asked.length + open.length;
  const reasons = [...new Set(open.map(({ why }) => why))];
  const why = open.length === 0 ? '' : ` Not asked: ${sayNames(reasons, 3)}.`;
  return `${asked.length} of ${all} questions were asked.${why}`;
}

/** Coverage as a plain dictionary with snake_case names. */
export function coverageDict({ asked, headline, open, scores }: Coverage): Dict {
  return {
    headline,
    scores: scores.map(({ askedCount, decidedBy, missing, openCount, scoreKey }) => ({
      score_key: scoreKey,
      asked_count: askedCount,
      open_count: openCount,
      decided_by: [...decidedBy],
      missing,
    })),
    asked: asked.map(({ category, on, question, ruleId }) => ({
      rule_id: ruleId,
      category,
      question,
      on: [...on],
    })),
    open: open.map(({ category, question, ruleId, why }) => ({
      rule_id: ruleId,
      category,
      question,
      why,
    })),
  };
}
