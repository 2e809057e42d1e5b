/** Rules that were written elsewhere: their declarations and what they return, checked. */
import { checkLiteral, checkOptionNames } from '../../base/assert.ts';
import { invalidInput, messageOf, QuarkError, show } from '../../base/errors.ts';
import { checkType } from '../../base/names.ts';
import { literal, orDefault, readOptions, text } from '../../base/options.ts';
import { ALERT_CATEGORIES, ALERT_SEVERITIES } from '../../records/literals.ts';
import type { RunPosition } from './positions.ts';
import {
  LIVE_CADENCES,
  type Finding,
  type Observation,
  type OwnFinding,
  type OwnRule,
  type Rule,
  type RuleContext,
  type Threshold,
} from './rule-types.ts';

const THRESHOLD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const FINDING_NAMES = [
  'severity',
  'title',
  'fact',
  'confidence',
  'cause',
  'advice',
  'inference',
  'from',
  'to',
  'observations',
];
/** Findings of one rule; more of them say nothing that fewer do not. */
const MAX_FINDINGS = 100;

/** A rule with its defaults. @throws {QuarkError} `invalid_input` naming the part that is wrong */
export function checkOwnRule<I extends string, T extends string>(
  field: string,
  given: OwnRule<I, T>,
): Rule<I, T> {
  const { category, live, thresholds, evaluate, ...texts } = readOptions(field, given, {
    id: (name: string, id: I): I => {
      checkType(name, id);
      return id;
    },
    category: literal(ALERT_CATEGORIES, 'optimization'),
    detects: orDefault(text(), `What the rule ${given.id} was written for.`),
    source: orDefault(text(), 'not a rule of Quark'),
    cause: orDefault(text(), 'the rule that says so names no cause'),
    advice: orDefault(text(), 'read what the rule was written for'),
    live: literal(LIVE_CADENCES, 'at_once'),
    thresholds: checkThresholds,
    evaluate: (name: string, value: unknown) => {
      if (typeof value !== 'function')
        throw invalidInput(name, value, 'a function that returns a list of findings');
      return given.evaluate;
    },
  });
  return Object.freeze({
    ...texts,
    category,
    live,
    // The names are those that were given, and each was checked.
    thresholds: thresholds as Rule<I, T>['thresholds'],
    evaluate: (context: RuleContext<T>) => checkFindings(texts.id, evaluate(context)),
  });
}

function checkThresholds(
  field: string,
  given: Readonly<Record<string, Threshold>> = {},
): Readonly<Record<string, Threshold>> {
  checkOptionNames(field, given, Object.keys(given));
  for (const [name, threshold] of Object.entries(given)) {
    if (!THRESHOLD_NAME.test(name))
      throw invalidInput(
        `${field}.${name}`,
        name,
        'named by a letter, then letters, digits or "_"',
      );
    checkOptionNames(`${field}.${name}`, threshold, ['value', 'doc', 'live']);
    const { doc, value } = threshold;
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
      throw invalidInput(`${field}.${name}.value`, value, 'a number of at least 0');
    text(undefined, 'a sentence on what the number means')(`${field}.${name}.doc`, doc);
  }
  return given;
}

/** The findings of a rule. @throws {QuarkError} `rule_failed` naming the rule and what is wrong with them */
function checkFindings(ruleId: string, given: unknown): readonly Finding[] {
  try {
    if (given instanceof Promise) {
      // What nobody waits for must not end the process either.
      given.catch(() => undefined);
      throw invalidInput('what evaluate returns', 'a promise', 'a list of findings, at once');
    }
    if (!Array.isArray(given))
      throw invalidInput('what evaluate returns', given, 'a list of findings');
    if (given.length > MAX_FINDINGS)
      throw invalidInput('what evaluate returns', given.length, `at most ${MAX_FINDINGS} findings`);
    return given.map((one: OwnFinding, at) => checkFinding(`finding ${at + 1}`, one));
  } catch (error) {
    throw invalidResult(ruleId, error);
  }
}

function checkFinding(field: string, given: OwnFinding): Finding {
  checkOptionNames(field, given, FINDING_NAMES);
  const sentence = text();
  const { confidence = 1, observations = [] } = given;
  checkLiteral(`${field}.severity`, given.severity, ALERT_SEVERITIES);
  if (typeof confidence !== 'number' || !(confidence >= 0 && confidence <= 1))
    throw invalidInput(`${field}.confidence`, confidence, 'a number from 0 to 1');
  for (const name of ['cause', 'advice', 'inference'] as const)
    if (given[name] !== undefined) sentence(`${field}.${name}`, given[name]);
  for (const name of ['from', 'to'] as const) checkPosition(`${field}.${name}`, given[name]);
  if (!Array.isArray(observations))
    throw invalidInput(`${field}.observations`, observations, 'a list of observations');
  observations.forEach((one: Observation, at) => {
    const name = `${field}.observations[${at}]`;
    if (typeof one !== 'object' || one === null) throw invalidInput(name, one, 'an object');
    for (const part of ['kind', 'source', 'summary'] as const)
      sentence(`${name}.${part}`, one[part]);
    checkPosition(`${name}.from`, one.from);
    checkPosition(`${name}.to`, one.to);
  });
  return {
    ...given,
    title: sentence(`${field}.title`, given.title),
    fact: sentence(`${field}.fact`, given.fact),
    confidence,
    from: given.from ?? observations[0]?.from,
    to: given.to ?? observations[0]?.to,
    observations,
  };
}

function checkPosition(field: string, given: RunPosition | undefined): void {
  if (given === undefined) return;
  checkOptionNames(field, given, ['step', 'epoch']);
  for (const value of [given.step, given.epoch])
    if (value !== null && value !== undefined && (!Number.isSafeInteger(value) || value < 0))
      throw invalidInput(field, value, 'a step and an epoch, each a non-negative integer or null');
}

/** Why a rule could not be judged. */
export type RuleFailure = 'threw' | 'invalid_result' | 'no_data' | 'refused';

/** The error of a rule that returned nonsense. */
function invalidResult(ruleId: string, cause: unknown): QuarkError {
  return new QuarkError(
    'rule_failed',
    `The rule ${show(ruleId)} returned what is no finding: ${messageOf(cause)}`,
    { details: { ruleId, reason: 'invalid_result' }, cause },
  );
}
