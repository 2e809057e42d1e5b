/** Which metric is what: the configured keys first, and then names that say it. */
import { invalidInput } from '../../base/errors.ts';
import type { MetricSeries, RunColumns } from '../columns/run-columns.ts';
import { isErrorName, withoutAdversaries } from './roles/loss-names.ts';

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

const TRAIN = /^(?:train|training)\//i;
const VALIDATION = /^(?:val|valid|validation|dev|eval)\//i;
const LOSS = /(?:^|[/_.-])[a-z]*loss(?:_?\d+)?$/i;
const PER_STEP = /_step$/i;
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

/**
 * The training losses: the configured one, or else all of them by their names (`train/cls_loss`, `loss`), those of discriminators left out
 * beside those of generators; or else that of single steps (`train/loss_step`), or an error (`train/mse`).
 */
export function trainLosses(columns: RunColumns, keys: MetricKeys): readonly MetricSeries[] {
  const configured = findMetric(columns, keys.trainLossMetricKeys);
  if (configured !== undefined) return [configured];
  const trained = [...columns.metrics.values()].filter(
    ({ key }) => TRAIN.test(key) || !key.includes('/'),
  );
  const allNamed = trained.filter(({ key }) => LOSS.test(key) && !PER_STEP.test(key));
  const whole = allNamed.filter(({ key }) =>
    /^(?:train\/|training\/)?(?:epoch_|total_)?loss$/i.test(key),
  );
  if (whole.length > 0) return whole.slice(0, 1);
  const kept = new Set(withoutAdversaries(allNamed.map(({ key }) => key)));
  if (kept.size > 0) return allNamed.filter(({ key }) => kept.has(key));
  const ofSteps = trained.filter(({ key }) => LOSS.test(key.replace(PER_STEP, '')));
  if (ofSteps.length > 0) return ofSteps.slice(0, 1);
  return trained.filter(({ key }) => TRAIN.test(key) && isErrorName(key)).slice(0, 1);
}

/** A training series and the validation series it is compared with; smaller is better in both. */
export type SeriesPair = { readonly train: MetricSeries; readonly validation: MetricSeries };

/**
 * Pairs of losses: each validation loss with the training loss of the same name, or with the only training loss. Names
 * that are no losses by name (`train/box_om`) are paired where both fall from first to last.
 */
export function lossPairs(columns: RunColumns, keys: MetricKeys): readonly SeriesPair[] {
  const [primary, ...others] = trainLosses(columns, keys);
  const configured = findMetric(columns, keys.valLossMetricKeys);
  const pairs: SeriesPair[] = [];
  if (primary !== undefined && others.length === 0 && configured !== undefined)
    pairs.push({ train: primary, validation: configured });
  for (const validation of columns.metrics.values()) {
    const { key } = validation;
    if (validation === configured && pairs.length > 0) continue;
    if (!VALIDATION.test(key)) continue;
    const name = key.replace(VALIDATION, '');
    const same = columns.metrics.get(`train/${name}`) ?? columns.metrics.get(`training/${name}`);
    const isLoss = LOSS.test(key);
    if (same !== undefined && (isLoss || bothFall(same, validation)))
      pairs.push({ train: same, validation });
    else if (isLoss && primary !== undefined && others.length === 0)
      pairs.push({ train: primary, validation });
  }
  return pairs;
}

/** The time of a step in milliseconds: the configured key, or a name that says it. */
export function stepTimes(columns: RunColumns, keys: MetricKeys): MetricSeries | undefined {
  const configured = findMetric(columns, keys.stepTimeMetricKeys);
  if (configured !== undefined) return configured;
  return [...columns.metrics.values()].find(({ key }) => STEP_TIME.test(key));
}

function bothFall(a: MetricSeries, b: MetricSeries): boolean {
  if (/acc|precision|recall|f1|map|auc|score|bleu|rouge|lr|rate|time|second/i.test(a.key))
    return false;
  return falls(a) && falls(b);
}

function falls({ values }: MetricSeries): boolean {
  const first = values.find((value) => Number.isFinite(value));
  const last = values.findLast((value) => Number.isFinite(value));
  return first !== undefined && last !== undefined && last < first;
}
