/** The rules of one's own that a configuration has, beside those of Quark. */
import { invalidInput, messageOf } from '../../base/errors.ts';
import { USER_ALERT } from '../../records/user-alert.ts';
import { RULE_IDS, RULES } from '../rules/rules.ts';
import { checkOwnRule, type RuleFailure } from '../signals/check-rule.ts';
import type {
  Finding,
  OwnRule,
  Rule,
  RuleContext,
  ThresholdValues,
} from '../signals/rule-types.ts';
import { checkDeclaredRule, type CheckedDeclaration, type DeclaredRule } from './declared-rule.ts';
import { ruleOfDeclaration } from './rule-of-declaration.ts';

/** Most rules of one's own. */
export const MAX_RULES = 1000;

/** Rules of one's own, checked: with functions, and without. */
export type OwnRules = {
  readonly coded: readonly Rule[];
  readonly declared: readonly CheckedDeclaration[];
};

/** None. */
export const NO_OWN_RULES: OwnRules = Object.freeze({ coded: [], declared: [] });

/** A rule that could not be judged, or not fully. */
export type RuleProblem = {
  readonly ruleId: string;
  /**
   * `threw`: its function threw; `invalid_result`: it returned no list of findings; `no_data`: what it reads is not in the run;
   * `refused`: a rule that is stored with the run is no rule.
   */
  readonly reason: RuleFailure;
  /** What happened, in a sentence. */
  readonly message: string;
};

/** @throws {QuarkError} `invalid_input` naming the rule and the part of it that is wrong */
export function checkOwnRules(
  field: string,
  given: readonly (Rule | OwnRule | DeclaredRule)[] = [],
): OwnRules {
  if (!Array.isArray(given)) throw invalidInput(field, given, 'a list of rules');
  if (given.length > MAX_RULES)
    throw invalidInput(field, given.length, `a list of at most ${MAX_RULES} rules`);
  const coded: Rule[] = [];
  const declared: CheckedDeclaration[] = [];
  const taken = new Set<string>([...RULE_IDS, USER_ALERT]);
  const thresholds = new Map(
    RULES.flatMap((rule) => Object.keys(rule.thresholds).map((name) => [name, rule.id])),
  );
  given.forEach((one: Rule | OwnRule | DeclaredRule, at) => {
    const name = `${field}[${at}]`;
    let id: string;
    if (isCode(one)) {
      const rule = checkOwnRule(name, one);
      coded.push(rule);
      ({ id } = rule);
      for (const threshold of Object.keys(rule.thresholds)) {
        const other = thresholds.get(threshold);
        if (other !== undefined)
          throw invalidInput(
            `${name}.thresholds.${threshold}`,
            threshold,
            `a name of its own: the rule ${other} has a threshold of that name`,
          );
        thresholds.set(threshold, id);
      }
    } else {
      const rule = checkDeclaredRule(name, one);
      declared.push(rule);
      ({ id } = rule);
    }
    if (taken.has(id))
      throw invalidInput(
        `${name}.id`,
        id,
        'an id that no other rule has, of Quark or in this list',
      );
    taken.add(id);
  });
  return given.length === 0 ? NO_OWN_RULES : Object.freeze({ coded, declared });
}

function isCode(one: Rule | OwnRule | DeclaredRule): one is Rule | OwnRule {
  return typeof one === 'object' && one !== null && 'evaluate' in one;
}

const lists = new WeakMap<OwnRules, readonly Rule[]>();

/** Every rule that is asked: those of Quark, then one's own. */
export function rulesWith(own: OwnRules): readonly Rule[] {
  let list = lists.get(own);
  if (list === undefined) {
    list = [...RULES, ...own.coded, ...own.declared.map(ruleOfDeclaration)];
    lists.set(own, list);
  }
  return list;
}

/** The ids that alerts can have. */
export function alertIds(own: OwnRules): readonly string[] {
  return [...rulesWith(own).map(({ id }) => id), USER_ALERT];
}

/** Defaults of the thresholds of one's own rules. */
export function ownThresholds({ coded }: OwnRules): ThresholdValues<string> {
  return Object.fromEntries(
    coded.flatMap(({ thresholds }) =>
      Object.entries(thresholds).map(([name, { value }]) => [name, value]),
    ),
  );
}

/**
 * What a rule finds. One of Quark's own that throws is a bug and passes its error on; a rule of somebody else is named as a problem, and
 * the other rules are asked all the same.
 */
export function askRule(
  rule: Rule,
  context: Omit<RuleContext<string>, 'unjudged'>,
  report: (problem: RuleProblem) => void,
): readonly Finding[] {
  const ruleId = rule.id;
  const asked = {
    ...context,
    unjudged: (why: string) =>
      report({ ruleId, reason: 'no_data', message: `${ruleId} could not be judged: ${why}` }),
  };
  if (RULES.includes(rule)) return rule.evaluate(asked);
  try {
    return rule.evaluate(asked);
  } catch (error) {
    report(problemOf(ruleId, error));
    return [];
  }
}

function problemOf(ruleId: string, error: unknown): RuleProblem {
  const details: unknown =
    typeof error === 'object' && error !== null && 'details' in error ? error.details : undefined;
  const isResult =
    typeof details === 'object' &&
    details !== null &&
    'reason' in details &&
    details.reason === 'invalid_result';
  return isResult
    ? { ruleId, reason: 'invalid_result', message: messageOf(error) }
    : { ruleId, reason: 'threw', message: `The rule ${ruleId} threw: ${messageOf(error)}` };
}
