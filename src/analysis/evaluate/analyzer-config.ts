/** Settings of the analyzer, checked once. */
import { checkLiteral, checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { asGiven, flag, numberWhere, orDefault, readOptions } from '../../base/options.ts';
import { checkRoles, type AskedRoles } from '../../records/run-roles.ts';
import { DEFAULT_METRIC_KEYS, metricKeyList, type MetricKeys } from '../signals/metric-keys.ts';
import type { DeclaredRule } from '../own/declared-rule.ts';
import {
  checkOwnRules,
  NO_OWN_RULES,
  ownThresholds,
  rulesWith,
  type OwnRules,
} from '../own/own-rules.ts';
import {
  DEFAULT_ANALYZER_THRESHOLDS,
  type AnalyzerThresholds,
  type RuleId,
} from '../rules/rules.ts';
import type { OwnRule, Rule } from '../signals/rule-types.ts';

/** Every {@link Compatibility}. */
export const COMPATIBILITIES = ['scale_free', 'abiotic-quark', 'reference'] as const;

/**
 * What makes the six rules of abiotic-quark, the Python SDK whose contract Quark keeps, fire. `scale_free`: its absolute limits
 * and a scale-free test that agrees; overfitting is judged without a unit. `abiotic-quark`: its limits alone. `reference` is the
 * former name of `abiotic-quark`, and means the same.
 */
export type Compatibility = (typeof COMPATIBILITIES)[number];

/** The id of a rule of Quark, or of one's own. */
export type AnyRuleId = RuleId | (string & {});

/** Settings of the analyzer; all may be left out. */
export type AnalyzerEngineConfig = Partial<MetricKeys> & {
  /** Numbers to change, the others have their defaults. Those of one's own rules are set by their names, too. */
  readonly thresholds?: Partial<AnalyzerThresholds> & {
    readonly [own: string]: number | undefined;
  };
  /**
   * Rules of one's own, beside those of Quark: what `defineRule` gives, and rules without code such as
   * `{ metric: 'val/loss', above: 2, for: '5 epochs' }`. Default none. A rule that throws or returns nonsense is in the `problems`
   * of the result; the others are asked all the same.
   */
  readonly rules?: readonly (Rule | OwnRule | DeclaredRule)[];
  /** Whether `analyze` replaces what it found before. Default true. */
  readonly replaceExistingOutputs?: boolean;
  /** Default `scale_free`. */
  readonly compatibility?: Compatibility;
  /** Rules that are not asked. Default none. */
  readonly disabledRules?: readonly AnyRuleId[];
  /**
   * The model, for `static_model_lint`: what `model.toJSON(null, false)` or `model.getConfig()` of a tfjs model gives, or
   * a list of layers with `type`, `name`, `units`, `activation`, ... Default: `model` in the configuration of the run, or
   * that configuration itself where it has `layers`.
   */
  readonly model?: unknown;
  /**
   * Metrics that play a role, by their keys; null for none. These go before what the run remembers, and before what is found by names. An
   * analysis is refused where the run has no such metric. Default: none.
   */
  readonly roles?: AskedRoles;
};

/** Settings with every default filled in. */
export type AnalyzerSettings = MetricKeys & {
  readonly thresholds: AnalyzerThresholds;
  readonly replaceExistingOutputs: boolean;
  readonly compatibility: Exclude<Compatibility, 'reference'>;
  readonly disabledRules: ReadonlySet<string>;
  readonly rules: OwnRules;
  readonly model: unknown;
  readonly roles: AskedRoles;
};

/** Defaults of {@link AnalyzerEngineConfig}. */
export const DEFAULT_ANALYZER_ENGINE_CONFIG: Required<AnalyzerEngineConfig> = Object.freeze({
  ...DEFAULT_METRIC_KEYS,
  thresholds: DEFAULT_ANALYZER_THRESHOLDS,
  replaceExistingOutputs: true,
  compatibility: 'scale_free',
  disabledRules: Object.freeze([]),
  rules: Object.freeze([]),
  model: undefined,
  roles: Object.freeze({}),
});

/** Each list of keys with its default. */
const keyRules = Object.fromEntries(
  Object.entries(DEFAULT_METRIC_KEYS).map(([name, keys]) => [name, metricKeyList(keys)]),
) as { readonly [K in keyof MetricKeys]: ReturnType<typeof metricKeyList> }; // Object.fromEntries forgets the names

/**
 * @param name what errors call the configuration
 * @throws {QuarkError} `invalid_input` naming the setting
 */
export function checkAnalyzerConfig(
  config: AnalyzerEngineConfig = {},
  name = 'config',
): AnalyzerSettings {
  const settings = readOptions(name, config, {
    ...keyRules,
    rules: checkOwnRules,
    thresholds: asGiven,
    replaceExistingOutputs: orDefault(flag(), true),
    compatibility: checkCompatibility,
    disabledRules: asGiven,
    model: asGiven,
    roles: checkRoles,
  });
  const { disabledRules, rules, thresholds } = settings;
  return {
    ...settings,
    thresholds: checkThresholds(`${name}.thresholds`, thresholds, rules),
    disabledRules: checkRuleIds(`${name}.disabledRules`, disabledRules, rules),
  };
}

function checkThresholds(
  field: string,
  given: NonNullable<AnalyzerEngineConfig['thresholds']> = {},
  own: OwnRules = NO_OWN_RULES,
): AnalyzerThresholds {
  const defaults = { ...DEFAULT_ANALYZER_THRESHOLDS, ...ownThresholds(own) };
  checkOptionNames(field, given, Object.keys(defaults));
  const check = numberWhere(
    (value) => Number.isFinite(value) && value >= 0,
    'a number of at least 0',
  );
  for (const [name, value] of Object.entries(given)) check(`${field}.${name}`, value);
  return { ...defaults, ...given };
}

function checkCompatibility(field: string, given: unknown): AnalyzerSettings['compatibility'] {
  const checked = checkLiteral(field, given ?? 'scale_free', COMPATIBILITIES);
  return checked === 'reference' ? 'abiotic-quark' : checked;
}

/** Ids of rules of Quark and of one's own. @throws {QuarkError} `invalid_input` naming the one that does not exist */
export function checkRuleIds(field: string, asked: unknown, own: OwnRules): ReadonlySet<string> {
  const given = asked ?? [];
  if (!Array.isArray(given)) throw invalidInput(field, given, 'a list of rule ids');
  const known = rulesWith(own).map(({ id }) => id);
  for (const id of given) checkLiteral(field, id, known);
  return new Set(given);
}
