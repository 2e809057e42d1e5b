/** A rule without code: `{ metric: 'val/loss', above: 2, for: '5 epochs' }`. */
import { checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import type { AlertCategory, AlertSeverity } from '../../records/literals.ts';
import {
  COMMON_FIELDS,
  CONDITION_NAMES,
  CONDITIONS,
  type ConditionName,
} from './declared-fields.ts';

/**
 * A rule over one metric, or over all whose names fit a pattern, without code: plain data that a `quark.config.json` may have. It
 * has exactly one condition: `above`, `below`, `changesBy`, `zScore`, `stallsFor` or `absentFor`.
 */
export type DeclaredRule = {
  /** Lowercase letters, digits, "_", ".", "/" and "-". Default: made of the metric and the condition. */
  readonly id?: string;
  /** Key of the metric; `*` stands for any characters, `?` for one. */
  readonly metric: string;
  /** Default `warning`. */
  readonly severity?: AlertSeverity;
  /** Which health score it lowers. Default `optimization`. */
  readonly category?: AlertCategory;
  /** Default: the metric and the condition. */
  readonly title?: string;
  /** What to try first, as a sentence. */
  readonly advice?: string;
  /** Values above this number. */
  readonly above?: number;
  /** Values below this number. */
  readonly below?: number;
  /** With `above` and `below`: how long at least, such as `5 epochs`. Default: one value is enough. */
  readonly for?: string;
  /** Two values that differ by at least so much: a number, or a share of the earlier one such as `20 %`. */
  readonly changesBy?: number | string;
  /** With `changesBy`: how far apart the values are at most. Default: neighbours. */
  readonly within?: string;
  /** A value that is so many standard deviations away from the mean of the values before it. */
  readonly zScore?: number;
  /** With `zScore`: how many values before it count. Default `50 values`. */
  readonly over?: string;
  /** No movement for so long. */
  readonly stallsFor?: string;
  /** With `stallsFor`: movement that does not count, in the unit of the metric. Default 0. */
  readonly tolerance?: number;
  /** With `changesBy` and `zScore`: which changes count; with `stallsFor`: which way is better. Default: both. */
  readonly direction?: 'up' | 'down';
  /** No value for so long at the end of the run, while other metrics went on. */
  readonly absentFor?: string;
};

/** A rule without code that was checked, with its id and its condition. */
export type CheckedDeclaration = DeclaredRule & {
  readonly id: string;
  readonly condition: ConditionName;
};

/** @throws {QuarkError} `invalid_input` naming the field, its value and the rule for it */
export function checkDeclaredRule(field: string, given: DeclaredRule): CheckedDeclaration {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw invalidInput(field, given, 'an object');
  const named = CONDITION_NAMES.filter((name) => Object.hasOwn(given, name));
  const [condition] = named;
  if (condition === undefined || named.length > 1)
    throw invalidInput(
      field,
      named.length > 1 ? named.join(' and ') : Object.keys(given).join(', '),
      `a rule with exactly one of ${CONDITION_NAMES.join(', ')}`,
    );
  const { field: own, more } = CONDITIONS[condition];
  const fields = { ...COMMON_FIELDS, [condition]: own, ...more };
  checkOptionNames(field, given, Object.keys(fields));
  for (const [name, { check }] of Object.entries(fields)) {
    if (name === 'metric' || Object.hasOwn(given, name))
      check(`${field}.${name}`, Reflect.get(given, name));
  }
  return Object.freeze({ ...given, condition, id: given.id ?? idOf(given, condition) });
}

/** Characters of the metric in an id. */
const MAX_ID_CHARS = 180;

/** An id of the metric and the condition, the same each time. */
function idOf(given: DeclaredRule, condition: ConditionName): string {
  const words = condition.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const metric = given.metric
    .toLowerCase()
    .replaceAll('*', 'any')
    .replaceAll('?', 'x')
    .replace(/^[^a-z]+/, '')
    .slice(0, MAX_ID_CHARS);
  return `${metric === '' ? 'metric' : metric}.${words}`;
}
