/** `quark.config.json`: rules without code, thresholds, disabled rules and roles, as data. It never runs code. */
import { checkOptionNames } from '../../base/assert.ts';
import { invalidInput, messageOf } from '../../base/errors.ts';
import { checkRoles, ROLE_NAMES, type AskedRoles } from '../../records/run-roles.ts';
import type { JsonSchema } from '../../schema/shape.ts';
import { checkAnalyzerConfig, type AnalyzerEngineConfig } from '../evaluate/analyzer-config.ts';
import { declaredRuleSchema } from '../own/declared-fields.ts';
import type { DeclaredRule } from '../own/declared-rule.ts';
import { MAX_RULES } from '../own/own-rules.ts';
import { describeRules, RULE_IDS, type AnalyzerThresholds } from '../rules/rules.ts';

/** What a `quark.config.json` may say. All may be left out. */
export type QuarkConfig = {
  /** Where an editor finds the JSON Schema: `./node_modules/quark-sdk/quark.config.schema.json`. */
  readonly $schema?: string;
  /** Rules without code. */
  readonly rules?: readonly DeclaredRule[];
  /** Numbers of Quark's rules to change. */
  readonly thresholds?: Partial<AnalyzerThresholds>;
  /** Rules that are not asked, of Quark or of this file. */
  readonly disabledRules?: readonly string[];
  /** Metrics that play a role, by their keys, or null for none; a run that has no such metric is judged by what it has. */
  readonly roles?: AskedRoles;
};

const NAMES = ['$schema', 'rules', 'thresholds', 'disabledRules', 'roles'];
/** Longest text of a configuration. */
const MAX_CHARS = 1_000_000;

/**
 * Checks the content of a `quark.config.json`. Nothing of it is run.
 *
 * @param name what errors call it; default `quark.config.json`
 * @throws {QuarkError} `invalid_input` naming the field, its value and the rule for it
 * @example
 * ```js
 * import { checkQuarkConfig } from 'quark-sdk/analysis';
 *
 * const { rules } = checkQuarkConfig({ rules: [{ metric: 'val/loss', above: 2, for: '5 epochs' }] });
 * console.log(rules[0].metric); // val/loss
 * try {
 *   checkQuarkConfig({ thresholds: { plateauMinShare: -1 } }, 'my.json');
 * } catch (error) {
 *   console.log(error.message);
 * }
 * ```
 */
export function checkQuarkConfig(given: unknown, name = 'quark.config.json'): QuarkConfig {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw invalidInput(name, given, 'an object');
  checkOptionNames(name, given, NAMES);
  const config: QuarkConfig = given;
  const { $schema, disabledRules, roles, rules = [], thresholds } = config;
  if ($schema !== undefined && typeof $schema !== 'string')
    throw invalidInput(`${name}.$schema`, $schema, 'text');
  if (Array.isArray(rules))
    rules.forEach((rule: unknown, at) => {
      if (typeof rule === 'object' && rule !== null && 'evaluate' in rule)
        throw invalidInput(
          `${name}.rules[${at}].evaluate`,
          rule.evaluate,
          'left out: rules with functions are for a program or a quark.config.mjs',
        );
    });
  checkAnalyzerConfig({ rules, ...onlyGiven({ disabledRules, thresholds }) }, name);
  checkRoles(`${name}.roles`, roles);
  return config;
}

/** Those that were given. */
function onlyGiven(parts: {
  readonly disabledRules: QuarkConfig['disabledRules'] | undefined;
  readonly thresholds: QuarkConfig['thresholds'] | undefined;
}): AnalyzerEngineConfig {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
}

/**
 * Reads the text of a `quark.config.json`.
 *
 * @throws {QuarkError} `invalid_input` where it is no JSON, else as {@link checkQuarkConfig}
 * @example
 * ```js
 * import { parseQuarkConfig } from 'quark-sdk/analysis';
 *
 * const { disabledRules, roles } = parseQuarkConfig('{ "disabledRules": ["plateau"], "roles": { "trainLoss": "objective" } }');
 * console.log(disabledRules, roles); // [ 'plateau' ] { trainLoss: 'objective' }
 * ```
 */
export function parseQuarkConfig(text: string, name = 'quark.config.json'): QuarkConfig {
  if (text.length > MAX_CHARS)
    throw invalidInput(
      name,
      `${text.length} characters`,
      `text of at most ${MAX_CHARS} characters`,
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidInput(name, text, `JSON (${messageOf(error)})`);
  }
  return checkQuarkConfig(value, name);
}

/**
 * The configuration as the analyzer takes it: without what is only for the file.
 *
 * @example
 * ```js
 * import { analyzeColumns, analyzerConfigOf, createMetricSeries, createRunColumns, parseQuarkConfig } from 'quark-sdk/analysis';
 *
 * const config = analyzerConfigOf(parseQuarkConfig('{ "disabledRules": ["plateau"], "roles": { "trainLoss": "objective" } }'));
 * const objective = createMetricSeries('objective', { steps: [0, 1, 2], values: [0.9, 0.5, 0.4] });
 * const { judgedWith } = analyzeColumns(createRunColumns({ metrics: [objective] }), config);
 * console.log(judgedWith.disabledRules); // [ 'plateau' ]
 * ```
 */
export function analyzerConfigOf({
  disabledRules,
  roles,
  rules,
  thresholds,
}: QuarkConfig): AnalyzerEngineConfig {
  return {
    rules: rules ?? [],
    ...(roles === undefined ? {} : { roles }),
    ...onlyGiven({ disabledRules, thresholds }),
  };
}

/**
 * The configuration of a project for one of its runs: without roles of metrics that the run does not have. An analysis refuses those.
 *
 * @param keys the metrics of the run
 * @example
 * ```js
 * import { analyzerConfigOf, configForRun } from 'quark-sdk/analysis';
 *
 * const config = analyzerConfigOf({ roles: { trainLoss: 'objective', valLoss: 'holdout/nll' } });
 * console.log(configForRun(config, ['objective', 'lr']).roles); // { trainLoss: 'objective' }
 * ```
 */
export function configForRun(
  config: AnalyzerEngineConfig,
  keys: Iterable<string>,
): AnalyzerEngineConfig {
  const { roles } = config;
  if (roles === undefined) return config;
  const known = new Set(keys);
  const present = Object.entries(roles).filter(
    ([, key]) => typeof key !== 'string' || known.has(key),
  );
  return { ...config, roles: Object.fromEntries(present) };
}

/**
 * The JSON Schema of `quark.config.json`, which the package has as `quark-sdk/quark.config.schema.json`.
 *
 * @example
 * ```js
 * import { quarkConfigSchema } from 'quark-sdk/analysis';
 *
 * const { properties } = quarkConfigSchema();
 * console.log(Object.keys(properties)); // [ '$schema', 'rules', 'thresholds', 'disabledRules', 'roles' ]
 * ```
 */
export function quarkConfigSchema(): JsonSchema {
  const thresholds = describeRules().flatMap((rule) => rule.thresholds);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'quark.config.json',
    description:
      'Rules without code, thresholds, disabled rules and roles for the analysis of training runs.',
    type: 'object',
    additionalProperties: false,
    properties: {
      $schema: { type: 'string' },
      rules: { type: 'array', maxItems: MAX_RULES, items: declaredRuleSchema() },
      thresholds: {
        type: 'object',
        description: 'Numbers of the rules; the others have their defaults.',
        additionalProperties: false,
        properties: Object.fromEntries(
          thresholds.map(({ doc, name, value }) => [
            name,
            { type: 'number', minimum: 0, default: value, description: doc },
          ]),
        ),
      },
      disabledRules: {
        type: 'array',
        description: `Rules that are not asked: of this file, or ${RULE_IDS.join(', ')}.`,
        items: { type: 'string' },
      },
      roles: {
        type: 'object',
        description: 'Metrics that play a role, by their keys; null for none.',
        additionalProperties: false,
        properties: Object.fromEntries(
          ROLE_NAMES.map((role) => [role, { type: ['string', 'null'], minLength: 1 }]),
        ),
      },
    },
  };
}
