/**
 * Retention rules: which runs are archived, deleted or downsampled by themselves. A rule is settings (JSON or YAML), and is shown as a sentence:
 *
 *     { "act": "delete", "statuses": ["failed"], "olderThanDays": 90 }
 *     delete failed runs older than 90 days
 *
 *     { "act": "archive", "project": "digits", "keepBest": { "count": 20, "metric": "val/loss" } }
 *     of runs of "digits", keep the best 20 by val/loss (lowest) and archive the others
 *
 *     { "act": "thin", "olderThanDays": 90, "pointsPerMetric": 1000 }
 *     thin runs older than 90 days to 1,000 points a metric
 */
import { checkCount, checkLiteral, checkPositive } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import { checkKey, checkLabel } from '../base/names.ts';
import { literal, numberWhere, optional, orDefault, readOptions } from '../base/options.ts';
import { parseYaml } from '../codecs/yaml/yaml.ts';
import { MIN_POINTS } from './thin.ts';
import { TERMINAL_RUN_STATUSES, type TerminalRunStatus } from '../records/literals.ts';

/** What a rule does to a run. */
export const RETENTION_ACTS = ['archive', 'delete', 'thin'] as const;
/**
 * What a rule does to a run: `archive` leaves it out of listings, `delete` makes a tombstone of it, which can be undone for a time,
 * `thin` leaves so many samples of each metric, for good.
 */
export type RetentionAct = (typeof RETENTION_ACTS)[number];

/** Which of the runs that a rule is about it leaves alone. Ranks are made in each project by itself. */
export type BestRuns = {
  /** How many runs stay, 1 or more. */
  readonly count: number;
  /** Full key of the metric that ranks them. A run without a finite value of it is not judged, and never acted on. */
  readonly metric: string;
  /** Whether the lowest or the greatest value of a run is its best. Default `min`. */
  readonly goal?: 'min' | 'max' | undefined;
};

/** One rule. All conditions are joined by "and". */
export type RetentionRule = {
  readonly act: RetentionAct;
  /** Name of a project. Default: all projects. */
  readonly project?: string | undefined;
  /** Statuses. Default: all but `running`, which no rule touches. */
  readonly statuses?: readonly TerminalRunStatus[] | undefined;
  /** Runs that ended, or changed last, more than so many days ago. */
  readonly olderThanDays?: number | undefined;
  /** With `thin`, and only then: samples of each metric that stay at most, 20 to 10,000,000. `olderThanDays` must be given, too. */
  readonly pointsPerMetric?: number | undefined;
  /** Runs with all of these tags. */
  readonly tags?: readonly string[] | undefined;
  /** Runs whose segments and payloads have more bytes. */
  readonly largerThanBytes?: number | undefined;
  /** Only runs that are not among the best. */
  readonly keepBest?: BestRuns | undefined;
  /** Only until the runs of a project have at most so many bytes together, those that no rule touches included; the oldest first. With `delete` only. */
  readonly keepBytes?: number | undefined;
};

/** The rules of a space. */
export type RetentionSettings = {
  /** Rules, in the order in which they are applied. At most 100. */
  readonly rules: readonly RetentionRule[];
  /** Runs with one of these tags are never touched. Default `keep`. */
  readonly keepTags?: readonly string[] | undefined;
  /** How long a deleted run can be undone, in days, 0 or more. Default 30. */
  readonly undoDays?: number | undefined;
};

/** Settings whose defaults are filled in. */
export type CheckedSettings = {
  readonly rules: readonly RetentionRule[];
  readonly keepTags: readonly string[];
  readonly undoDays: number;
};

const MAX_RULES = 100;
const MAX_DAYS = 36_500;
const MAX_POINTS = 10_000_000;
const MAX_YAML_DEPTH = 16;

/**
 * Checks rules of retention that a program or a file gives, and fills in the defaults.
 *
 * @throws {QuarkError} `invalid_input` with field (`rules[2].keepBest.count`), value and rule
 * @example
 * ```js
 * import { checkRetention } from 'quark-sdk/node';
 *
 * const { undoDays } = checkRetention({ rules: [{ act: 'delete', olderThanDays: 90, statuses: ['failed'] }] });
 * console.log(undoDays); // 30
 * try {
 *   checkRetention({ rules: [{ act: 'delete', olderThanDays: -1 }] });
 * } catch (error) {
 *   console.log(error.details.field); // rules[0].olderThanDays
 * }
 * ```
 */
export function checkRetention(given: unknown): CheckedSettings {
  if (!isMapping(given)) throw invalidInput('settings', given, 'a mapping with the field rules');
  const settings = readOptions(
    'settings',
    asSettings(given),
    {
      rules: listOf(MAX_RULES, checkRule),
      keepTags: orDefault(listOf(MAX_RULES, checkLabel), ['keep']),
      undoDays: orDefault(days, 30),
    },
    '',
  );
  return settings;
}

/**
 * Reads rules of retention from a text of JSON or YAML, checks them, and fills in the defaults.
 *
 * @throws {QuarkError} `invalid_input` with field, value and rule, also for a text that is neither
 *
 * @example
 * ```js
 * import { parseRetention } from 'quark-sdk/node';
 *
 * const { keepTags, rules } = parseRetention('keepTags: [paper]\nrules:\n  - act: archive\n    olderThanDays: 90\n');
 * console.log(keepTags, rules[0].act, rules[0].olderThanDays); // [ 'paper' ] archive 90
 * ```
 */
export function parseRetention(content: string): CheckedSettings {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    const { problems, value: document } = parseYaml(content, MAX_YAML_DEPTH);
    const [problem] = problems;
    if (problem !== undefined)
      throw invalidInput(
        'settings',
        content,
        `JSON or YAML (line ${problem.line}: ${problem.reason})`,
      );
    value = document;
  }
  return checkRetention(value);
}

type Rule<T> = (field: string, value: unknown) => T;

function checkRule(field: string, given: unknown): RetentionRule {
  if (!isMapping(given)) throw invalidInput(field, given, 'a mapping with the field act');
  const rule = readOptions(
    field,
    given as RetentionRule,
    {
      act: (name: string, value: unknown) => checkLiteral(name, value, RETENTION_ACTS),
      project: optional(checkLabel),
      statuses: optional(
        listOf(3, (name, value) => checkLiteral(name, value, TERMINAL_RUN_STATUSES)),
      ),
      olderThanDays: optional(days),
      pointsPerMetric: optional(points),
      tags: optional(listOf(MAX_RULES, checkLabel)),
      largerThanBytes: optional(checkCount),
      keepBest: optional(checkBest),
      keepBytes: optional(checkCount),
    },
    `${field}.`,
  );
  if (rule.keepBest !== undefined && rule.keepBytes !== undefined)
    throw invalidInput(`${field}.keepBytes`, rule.keepBytes, 'left out where keepBest is given');
  if (rule.keepBytes !== undefined && rule.act !== 'delete')
    throw invalidInput(`${field}.keepBytes`, rule.keepBytes, 'left out where act is not delete');
  checkThinning(field, rule);
  const hasCondition =
    rule.olderThanDays !== undefined ||
    rule.statuses !== undefined ||
    rule.tags !== undefined ||
    rule.largerThanBytes !== undefined ||
    rule.keepBest !== undefined ||
    rule.keepBytes !== undefined;
  if (!hasCondition)
    throw invalidInput(
      field,
      given,
      'a rule with at least one of statuses, olderThanDays, tags, largerThanBytes, keepBest and keepBytes, so that it is not about every run',
    );
  return withoutUndefined(rule);
}

function checkBest(field: string, given: unknown): BestRuns {
  if (!isMapping(given)) throw invalidInput(field, given, 'a mapping with count and metric');
  return readOptions(
    field,
    given as BestRuns,
    { count: checkPositive, metric: checkKey, goal: literal(['min', 'max'], 'min' as const) },
    `${field}.`,
  );
}

const days: Rule<number> = numberWhere(
  (value) => value >= 0 && value <= MAX_DAYS,
  `a number of days from 0 to ${MAX_DAYS}`,
);

const points: Rule<number> = numberWhere(
  (value) => Number.isInteger(value) && value >= MIN_POINTS && value <= MAX_POINTS,
  `an integer from ${MIN_POINTS} to ${MAX_POINTS}`,
);

function checkThinning(
  field: string,
  { act, olderThanDays, pointsPerMetric }: RetentionRule,
): void {
  const isThin = act === 'thin';
  if (isThin && pointsPerMetric === undefined)
    throw invalidInput(`${field}.pointsPerMetric`, pointsPerMetric, 'given where act is thin');
  if (!isThin && pointsPerMetric !== undefined)
    throw invalidInput(
      `${field}.pointsPerMetric`,
      pointsPerMetric,
      'left out where act is not thin',
    );
  if (isThin && olderThanDays === undefined)
    throw invalidInput(`${field}.olderThanDays`, olderThanDays, 'given where act is thin');
}

function listOf<T>(most: number, check: Rule<T>): Rule<readonly T[]> {
  return (field, value) => {
    if (!Array.isArray(value) || value.length === 0 || value.length > most)
      throw invalidInput(field, value, `a list of 1 to ${most} entries`);
    return value.map((entry: unknown, i) => check(`${field}[${i}]`, entry));
  };
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asSettings(given: Readonly<Record<string, unknown>>): RetentionSettings {
  return given as RetentionSettings;
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

/**
 * A rule of retention as a sentence for people, without a full stop.
 *
 * @example
 * ```js
 * import { describeRule } from 'quark-sdk/node';
 *
 * console.log(describeRule({ act: 'archive', project: 'digits', olderThanDays: 90 })); // archive runs of "digits" older than 90 days
 * ```
 */
export function describeRule(rule: RetentionRule): string {
  const { act, keepBest, keepBytes, pointsPerMetric } = rule;
  const to = pointsPerMetric === undefined ? '' : ` to ${grouped(pointsPerMetric)} points a metric`;
  const which = describeRuns(rule);
  if (keepBest !== undefined) {
    const { count, goal, metric } = keepBest;
    const order = goal === 'max' ? 'greatest' : 'lowest';
    return `of ${which}, keep the best ${grouped(count)} by ${metric} (${order}) and ${act} the others${to}`;
  }
  if (keepBytes !== undefined)
    return `${act} ${which}, the oldest first, until a project has at most ${grouped(keepBytes)} bytes`;
  return `${act} ${which}${to}`;
}

function describeRuns({
  largerThanBytes,
  olderThanDays,
  project,
  statuses,
  tags,
}: RetentionRule): string {
  const parts = [statuses === undefined ? 'runs' : `${statuses.join(' or ')} runs`];
  if (project !== undefined) parts.push(`of "${project}"`);
  if (olderThanDays !== undefined)
    parts.push(`older than ${grouped(olderThanDays)} ${olderThanDays === 1 ? 'day' : 'days'}`);
  if (largerThanBytes !== undefined) parts.push(`with more than ${grouped(largerThanBytes)} bytes`);
  if (tags !== undefined) parts.push(`tagged ${tags.join(' and ')}`);
  return parts.join(' ');
}

/** `1,000` */
function grouped(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 });
}
