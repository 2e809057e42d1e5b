/** Which metric is what: the configured keys first, and then names that say it. */
import { invalidInput } from '../../base/errors.ts';
import type { AskedRoles } from '../../records/run-roles.ts';
import type { MetricSeries, RunColumns } from '../columns/run-columns.ts';
import type { RoleKeys } from './roles/role-keys.ts';
import { findRoleSet, type RoleSet } from './roles/roles.ts';

/** Keys that the analyzer looks for, in order of preference. */
export type MetricKeys = {
  readonly stepTimeMetricKeys: readonly string[];
  readonly dataTimeMetricKeys: readonly string[];
  readonly computeTimeMetricKeys: readonly string[];
  readonly trainLossMetricKeys: readonly string[];
  readonly valLossMetricKeys: readonly string[];
  readonly trainAccuracyMetricKeys: readonly string[];
  readonly valAccuracyMetricKeys: readonly string[];
  readonly gradientNormMetricKeys: readonly string[];
  readonly learningRateMetricKeys: readonly string[];
  readonly trainEvalLossMetricKeys: readonly string[];
};

/** Defaults of {@link MetricKeys}; the first three and the losses and accuracies are those of abiotic-quark. */
export const DEFAULT_METRIC_KEYS: MetricKeys = Object.freeze({
  stepTimeMetricKeys: Object.freeze(['system/runtime/step_time_ms', 'system/step_time_ms']),
  dataTimeMetricKeys: Object.freeze(['system/runtime/data_time_ms', 'system/data_time_ms']),
  computeTimeMetricKeys: Object.freeze([
    'system/runtime/compute_time_ms',
    'system/compute_time_ms',
  ]),
  trainLossMetricKeys: Object.freeze(['train/loss', 'training/loss']),
  valLossMetricKeys: Object.freeze(['val/loss', 'validation/loss']),
  trainAccuracyMetricKeys: Object.freeze(['train/accuracy', 'training/accuracy', 'train/acc']),
  valAccuracyMetricKeys: Object.freeze(['val/accuracy', 'validation/accuracy', 'val/acc']),
  gradientNormMetricKeys: Object.freeze([
    'train/grad_norm',
    'train/gradient_norm',
    'optimizer/grad_norm',
    'grad_norm',
  ]),
  learningRateMetricKeys: Object.freeze(['optimizer/lr', 'train/lr', 'lr', 'learning_rate']),
  trainEvalLossMetricKeys: Object.freeze(['train_eval/loss', 'eval_mode/train/loss']),
});

const STEP_TIME =
  /(?:^|[/_.-])(?:(?:step|iter(?:ation)?)_time|time_per_(?:step|iter(?:ation)?))_ms$/i;

/** The rule of an option that is a list of keys. */
export const metricKeyList =
  (fallback: readonly string[]) =>
  (field: string, given: readonly string[] | undefined): readonly string[] => {
    const keys = given ?? fallback;
    if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string' && key !== ''))
      throw invalidInput(field, keys, 'a list of metric keys');
    return keys;
  };

/** The first of the keys that the run has a value for. */
export function findMetric(columns: RunColumns, keys: readonly string[]): MetricSeries | undefined {
  for (const key of keys) {
    const series = columns.metrics.get(key);
    if (series !== undefined && series.values.length > 0) return series;
  }
  return undefined;
}

/** The time of a step in milliseconds: the configured key, or a name that says it. */
export function stepTimes(columns: RunColumns, keys: MetricKeys): MetricSeries | undefined {
  const configured = findMetric(columns, keys.stepTimeMetricKeys);
  if (configured !== undefined) return configured;
  return [...columns.metrics.values()].find(({ key }) => STEP_TIME.test(key));
}

/** Keys that are tried, and roles that somebody gave. */
export type RoleSettings = MetricKeys & { readonly roles?: AskedRoles | undefined };

/** Roles by the settings of the analyzer, which go before what the run remembers. */
export function rolesOf({ metrics, run }: RunColumns, keys: RoleSettings): RoleSet {
  return findRoleSet(metrics, { ...run.roles, ...keys.roles }, roleKeysOf(keys));
}

/** The keys that roles are looked for under first. */
export function roleKeysOf(keys: MetricKeys): RoleKeys {
  return {
    trainLoss: keys.trainLossMetricKeys,
    valLoss: keys.valLossMetricKeys,
    trainAccuracy: keys.trainAccuracyMetricKeys,
    valAccuracy: keys.valAccuracyMetricKeys,
  };
}
