/** What a run can be told by in a table, a scatter or on parallel axes: a setting, or a statistic of a metric. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { metricSummariesOf } from '../../records/metric-summaries.ts';
import { canonicalText, flatSettings } from '../compare/config-diff.ts';
import { inOrderOfInterest } from '../compare/metric-order.ts';
import type { MetricDirection } from '../compare/diff-records.ts';
import { directionOf } from '../signals/roles/direction.ts';

/** What is remembered of a metric of a run. */
export const METRIC_STATISTICS = ['last', 'best', 'min', 'max'] as const;

/** One of {@link METRIC_STATISTICS}. */
export type MetricStatistic = (typeof METRIC_STATISTICS)[number];

/** What quantities are read from; a `RunRecord` has all of it. */
export type DescribedRun = {
  readonly id: string;
  readonly config: JsonObject;
  readonly metricSummaries: JsonObject;
};

/** A setting or a metric as one value a run. */
export type RunQuantity = {
  /** `config.` and the path of a setting, or `metrics.`, the key of a metric and one of {@link METRIC_STATISTICS}. */
  readonly id: string;
  readonly kind: 'config' | 'metric';
  /** The path of the setting, or the key of the metric. */
  readonly name: string;
  readonly statistic: MetricStatistic | null;
  /** Which way a metric is better; null where nobody knows, and for settings. */
  readonly direction: MetricDirection | null;
  /** In the order of the runs: numbers as they are, anything else as text; null where a run has none, or one that is not finite. */
  readonly values: readonly (number | string | null)[];
};

/**
 * A setting as one value a run: a column of a table, an axis of a plot.
 *
 * @param path names joined by ".", such as `optimizer.lr`
 *
 * @example
 * ```js
 * import { settingQuantity } from 'quark-sdk/analysis';
 *
 * const runs = [
 *   { id: 'a', config: { optimizer: { lr: 0.1 } }, metricSummaries: {} },
 *   { id: 'b', config: {}, metricSummaries: {} },
 * ];
 * const { id, values } = settingQuantity(runs, 'optimizer.lr');
 * console.log(id, values); // config.optimizer.lr [ 0.1, null ]
 * ```
 */
export function settingQuantity(runs: readonly DescribedRun[], path: string): RunQuantity {
  return {
    id: `config.${path}`,
    kind: 'config',
    name: path,
    statistic: null,
    direction: null,
    values: runs.map(({ config }) => valueOf(flatSettings(config).get(path))),
  };
}

/**
 * A metric as one value a run, from the summaries in the run records: no samples are read.
 *
 * @param statistic one of {@link METRIC_STATISTICS}; `best` is null where nobody knows which way the metric is better
 *
 * @example
 * ```js
 * import { createMemoryStore, listRuns, MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { metricQuantity } from 'quark-sdk/analysis';
 *
 * const store = createMemoryStore();
 * for (const lr of [0.1, 0.01])
 *   await TrainingSession.run({ project: 'digits', storage: store, config: { lr } }, (session) => {
 *     new MetricsLogger(session).logColumns('val/loss', [0, 1], [2 * lr, 3 * lr]);
 *   });
 * const runs = (await listRuns(store)).map(({ run }) => run);
 * const { direction, values } = metricQuantity(runs, 'val/loss', 'best');
 * console.log(direction, values); // lower [ 0.02, 0.2 ]
 * ```
 */
export function metricQuantity(
  runs: readonly DescribedRun[],
  metricKey: string,
  statistic: MetricStatistic,
): RunQuantity {
  return {
    id: `metrics.${metricKey}.${statistic}`,
    kind: 'metric',
    name: metricKey,
    statistic,
    direction: directionOf(metricKey),
    values: runs.map(({ metricSummaries }) => {
      const stored = metricSummaries[metricKey];
      const summary =
        stored === undefined ? undefined : metricSummariesOf({ of: stored }).get('of');
      const value = Number(summary?.[statistic] ?? Number.NaN);
      return Number.isFinite(value) ? value : null;
    }),
  };
}

/**
 * A setting or a metric as one value a run, by an id such as `config.optimizer.lr` or `metrics.val/loss.best`; undefined for an id of another
 * form.
 *
 * @example
 * ```js
 * import { createMemoryStore, listRuns, MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { runQuantity } from 'quark-sdk/analysis';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store, config: { lr: 0.1 } }, (session) => {
 *   new MetricsLogger(session).log('val/loss', 0.5, { step: 0 });
 * });
 * const runs = (await listRuns(store)).map(({ run }) => run);
 * for (const id of ['config.lr', 'metrics.val/loss.last']) console.log(runQuantity(runs, id).values); // [ 0.1 ], then [ 0.5 ]
 * ```
 */
export function runQuantity(runs: readonly DescribedRun[], id: string): RunQuantity | undefined {
  if (id.startsWith('config.')) return settingQuantity(runs, id.slice('config.'.length));
  const statistic = METRIC_STATISTICS.find((one) => id.endsWith(`.${one}`));
  if (!id.startsWith('metrics.') || statistic === undefined) return undefined;
  return metricQuantity(runs, id.slice('metrics.'.length, -statistic.length - 1), statistic);
}

/**
 * Paths of settings that are not the same in all runs, in alphabetical order.
 *
 * @example
 * ```js
 * import { varyingSettings } from 'quark-sdk/analysis';
 *
 * const runs = [
 *   { id: 'a', config: { lr: 0.1, epochs: 5 }, metricSummaries: {} },
 *   { id: 'b', config: { lr: 0.01, epochs: 5 }, metricSummaries: {} },
 * ];
 * console.log(varyingSettings(runs)); // [ 'lr' ]
 * ```
 */
export function varyingSettings(runs: readonly DescribedRun[]): readonly string[] {
  const flat = runs.map(({ config }) => flatSettings(config));
  const texts = new Map<string, Set<string | undefined>>();
  for (const settings of flat)
    for (const path of settings.keys()) if (!texts.has(path)) texts.set(path, new Set());
  for (const [path, seen] of texts)
    for (const settings of flat) seen.add(canonicalText(settings.get(path)));
  return [...texts].flatMap(([path, { size }]) => (size > 1 ? [path] : [])).toSorted();
}

/**
 * Keys of metrics that any of the runs has a summary of, in order of interest.
 *
 * @example
 * ```js
 * import { createMemoryStore, listRuns, MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { summarizedMetrics } from 'quark-sdk/analysis';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logMany({ lr: 0.1, 'val/loss': 0.5, 'train/loss': 0.4 }, { step: 0 });
 * });
 * console.log(summarizedMetrics((await listRuns(store)).map(({ run }) => run))); // [ 'train/loss', 'val/loss', 'lr' ]
 * ```
 */
export function summarizedMetrics(
  runs: readonly Pick<DescribedRun, 'metricSummaries'>[],
): readonly string[] {
  const keys = new Set<string>();
  for (const { metricSummaries } of runs)
    for (const key of metricSummariesOf(metricSummaries).keys()) keys.add(key);
  return inOrderOfInterest(keys);
}

function valueOf(value: JsonValue | undefined): number | string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'string' ? value : (canonicalText(value) ?? null);
}
