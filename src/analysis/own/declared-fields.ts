/**
 * The fields of a rule without code. Each is declared once: its check, and its part of the JSON Schema of `quark.config.json`,
 * come from the same declaration.
 */
import { invalidInput } from '../../base/errors.ts';
import type { OptionRule } from '../../base/options.ts';
import { ALERT_CATEGORIES, ALERT_SEVERITIES } from '../../records/literals.ts';
import type { JsonSchema } from '../../schema/shape.ts';
import { SPAN_PATTERN, SPAN_RULE } from './span-text.ts';

/** A field of a configuration. */
export type ConfigField<T> = {
  readonly schema: JsonSchema;
  readonly check: OptionRule<unknown, T>;
};

function textField(doc: string, pattern: string, rule: string, most = 512): ConfigField<string> {
  const expression = new RegExp(pattern, 'u');
  return {
    schema: { type: 'string', pattern, maxLength: most, description: doc },
    check: (field, value) => {
      // A schema counts characters, and so does this.
      if (typeof value !== 'string' || !expression.test(value) || Array.from(value).length > most)
        throw invalidInput(field, value, rule);
      return value;
    },
  };
}

function numberField(doc: string, bound?: 'positive' | 'not_negative'): ConfigField<number> {
  const limit =
    bound === 'positive' ? { exclusiveMinimum: 0 } : bound === undefined ? {} : { minimum: 0 };
  const rule =
    bound === 'positive'
      ? 'a number above 0'
      : bound === undefined
        ? 'a finite number'
        : 'a number of at least 0';
  return {
    schema: { type: 'number', ...limit, description: doc },
    check: (field, value) => {
      const isNumber = typeof value === 'number' && Number.isFinite(value);
      const isWithin =
        isNumber && (bound === 'positive' ? value > 0 : bound === undefined || value >= 0);
      if (!isNumber || !isWithin) throw invalidInput(field, value, rule);
      return value;
    },
  };
}

function choiceField<const L extends string>(doc: string, known: readonly L[]): ConfigField<L> {
  return {
    schema: { enum: known, description: doc },
    check: (field, value) => {
      const found = known.find((one) => one === value);
      if (found === undefined)
        throw invalidInput(field, value, `one of ${known.map((one) => `"${one}"`).join(', ')}`);
      return found;
    },
  };
}

const spanField = (doc: string): ConfigField<string> => textField(doc, SPAN_PATTERN, SPAN_RULE, 40);

const SHARE_PATTERN = '^(?=.*[1-9])[0-9]{1,6}([.][0-9]{1,6})? ?%$';

function amountField(doc: string): ConfigField<number | string> {
  const share = new RegExp(SHARE_PATTERN, 'u');
  return {
    schema: {
      anyOf: [
        { type: 'number', exclusiveMinimum: 0 },
        { type: 'string', pattern: SHARE_PATTERN },
      ],
      description: doc,
    },
    check: (field, value) => {
      if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
      if (typeof value === 'string' && share.test(value)) return value;
      throw invalidInput(field, value, 'a number above 0, or a share such as "20 %"');
    },
  };
}

/** The longest sentence of a title or an advice. */
const SENTENCE = 500;

/** Fields that every rule without code may have. `metric` is needed. */
export const COMMON_FIELDS = {
  id: textField(
    'Name of the rule. Default: made of the metric and the condition.',
    '^[a-z][a-z0-9_./-]*$',
    'a lowercase letter followed by lowercase letters, digits, "_", ".", "/" or "-"',
    200,
  ),
  metric: textField(
    'Key of the metric, such as val/loss; * stands for any characters, ? for one.',
    '^[A-Za-z0-9*?._/-]+$',
    'the key of a metric, of letters, digits, ".", "_", "-" and "/"; "*" stands for any characters, "?" for one',
  ),
  severity: choiceField('How serious it is. Default warning.', ALERT_SEVERITIES),
  category: choiceField('Which health score it lowers. Default optimization.', ALERT_CATEGORIES),
  title: textField(
    'The finding in a few words. Default: the metric and the condition.',
    '\\S',
    'text that is not blank',
    SENTENCE,
  ),
  advice: textField(
    'What to try first, as a sentence. Default: none.',
    '\\S',
    'text that is not blank',
    SENTENCE,
  ),
};

const LIMIT = {
  for: spanField('How long at least, such as "5 epochs". Default: one value is enough.'),
};

/** The conditions, each with the fields that say more about it. A rule has exactly one. */
export const CONDITIONS = {
  above: {
    field: numberField('Values are above this number.'),
    more: LIMIT,
  },
  below: {
    field: numberField('Values are below this number.'),
    more: LIMIT,
  },
  changesBy: {
    field: amountField(
      'Two values differ by at least so much: a number, or a share of the earlier one such as "20 %".',
    ),
    more: {
      within: spanField('The values are at most so far apart. Default: "1 value", neighbours.'),
      direction: choiceField('Which changes count. Default: both.', ['up', 'down']),
    },
  },
  zScore: {
    field: numberField(
      'A value is so many standard deviations away from the mean of the values before it.',
      'positive',
    ),
    more: {
      over: textField(
        'How many values before it count, such as "50 values". Default "50 values"; at least 10 are needed.',
        '^[1-9][0-9]{1,6} values$',
        'a number of at least 10 with the unit "values", such as "50 values"',
        20,
      ),
      direction: choiceField('Which values count. Default: both.', ['up', 'down']),
    },
  },
  stallsFor: {
    field: spanField('The metric does not move so long, such as "10 epochs".'),
    more: {
      tolerance: numberField(
        'Movement that does not count, in the unit of the metric. Default 0.',
        'not_negative',
      ),
      direction: choiceField(
        'Which way is better: then only a new best value counts as movement. Default: any movement counts.',
        ['up', 'down'],
      ),
    },
  },
  absentFor: {
    field: textField(
      'No value came at the end of the run for so long, while others did; also where none ever came.',
      SPAN_PATTERN.replace('value|', ''),
      'a number and a unit, such as "5 epochs", "200 steps" or "3 minutes" (also seconds, hours, days)',
      40,
    ),
    more: {},
  },
} as const;

/** What a rule without code watches for. */
export type ConditionName = keyof typeof CONDITIONS;

/** Every {@link ConditionName}. */
export const CONDITION_NAMES = Object.keys(CONDITIONS) as readonly ConditionName[]; // Object.keys forgets the names

/** The JSON Schema of a rule without code: one alternative a condition. */
export function declaredRuleSchema(): JsonSchema {
  const schemasOf = (fields: Readonly<Record<string, ConfigField<unknown>>>) =>
    Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]));
  return {
    type: 'object',
    oneOf: CONDITION_NAMES.map((name) => ({
      title: name,
      type: 'object',
      required: ['metric', name],
      additionalProperties: false,
      properties: {
        ...schemasOf(COMMON_FIELDS),
        ...schemasOf({ [name]: CONDITIONS[name].field, ...CONDITIONS[name].more }),
      },
    })),
  };
}
