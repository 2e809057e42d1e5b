/** Settings of the analyzer, checked once. */
import { checkLiteral, checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { asGiven, flag, numberWhere, orDefault, readOptions } from '../../base/options.ts';
import { DEFAULT_METRIC_KEYS, metricKeyList, type MetricKeys } from '../signals/metric-keys.ts';
import {
  DEFAULT_ANALYZER_THRESHOLDS,
  RULE_IDS,
  type AnalyzerThresholds,
  type RuleId,
} from '../rules/rules.ts';

/** Every {@link Compatibility}. */
export const COMPATIBILITIES = ['scale_free', 'abiotic-quark', 'reference'] as const;

/**
 * What makes the six rules of abiotic-quark, the Python SDK whose contract Quark keeps, fire. `scale_free`: its absolute limits
 * and a scale-free test that agrees; overfitting is judged without a unit. `abiotic-quark`: its limits alone. `reference` is the
 * former name of `abiotic-quark`, and means the same.
 */
export type Compatibility = (typeof COMPATIBILITIES)[number];

/** Settings of the analyzer; all may be left out. */
export type AnalyzerEngineConfig = Partial<MetricKeys> & {
  /** Numbers to change, the others keep their defaults. */
  readonly thresholds?: Partial<AnalyzerThresholds>;
  /** Whether `analyze` replaces what it found before. Default true. */
  readonly replaceExistingOutputs?: boolean;
  /** Default `scale_free`. */
  readonly compatibility?: Compatibility;
  /** Rules that are not asked. Default none. */
  readonly disabledRules?: readonly RuleId[];
  /**
   * The model, for `static_model_lint`: what `model.toJSON(null, false)` or `model.getConfig()` of a tfjs model gives, or
   * a list of layers with `type`, `name`, `units`, `activation`, ... Default: `model` in the configuration of the run, or
   * that configuration itself where it has `layers`.
   */
  readonly model?: unknown;
};

/** Settings with every default filled in. */
export type AnalyzerSettings = MetricKeys & {
  readonly thresholds: AnalyzerThresholds;
  readonly replaceExistingOutputs: boolean;
  readonly compatibility: Exclude<Compatibility, 'reference'>;
  readonly disabledRules: ReadonlySet<string>;
  readonly model: unknown;
};

/** Defaults of {@link AnalyzerEngineConfig}. */
export const DEFAULT_ANALYZER_ENGINE_CONFIG: Required<AnalyzerEngineConfig> = Object.freeze({
  ...DEFAULT_METRIC_KEYS,
  thresholds: DEFAULT_ANALYZER_THRESHOLDS,
  replaceExistingOutputs: true,
  compatibility: 'scale_free',
  disabledRules: Object.freeze([]),
  model: undefined,
});

/** Each list of keys with its default. */
const keyRules = Object.fromEntries(
  Object.entries(DEFAULT_METRIC_KEYS).map(([name, keys]) => [name, metricKeyList(keys)]),
) as { readonly [K in keyof MetricKeys]: ReturnType<typeof metricKeyList> }; // Object.fromEntries forgets the names

/** @throws {QuarkError} `invalid_input` naming the setting */
export function checkAnalyzerConfig(config: AnalyzerEngineConfig = {}): AnalyzerSettings {
  return readOptions('config', config, {
    ...keyRules,
    thresholds: checkThresholds,
    replaceExistingOutputs: orDefault(flag(), true),
    compatibility: checkCompatibility,
    disabledRules: checkRules,
    model: asGiven,
  });
}

function checkThresholds(
  field: string,
  given: Partial<AnalyzerThresholds> = {},
): AnalyzerThresholds {
  checkOptionNames(field, given, Object.keys(DEFAULT_ANALYZER_THRESHOLDS));
  const check = numberWhere(
    (value) => Number.isFinite(value) && value >= 0,
    'a number of at least 0',
  );
  for (const [name, value] of Object.entries(given)) check(`${field}.${name}`, value);
  return { ...DEFAULT_ANALYZER_THRESHOLDS, ...given };
}

function checkCompatibility(field: string, given: unknown): AnalyzerSettings['compatibility'] {
  const checked = checkLiteral(field, given ?? 'scale_free', COMPATIBILITIES);
  return checked === 'reference' ? 'abiotic-quark' : checked;
}

function checkRules(field: string, asked: unknown): ReadonlySet<string> {
  const given = asked ?? [];
  if (!Array.isArray(given)) throw invalidInput(field, given, 'a list of rule ids');
  for (const id of given) checkLiteral(field, id, RULE_IDS);
  return new Set(given);
}
