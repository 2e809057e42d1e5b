/** Paths of the facts of runs: which statistic of which metric they are about, and which are about the machine. */

/** What a run remembers of a metric. */
export const FACT_STATISTICS = ['last', 'lastStep', 'min', 'max', 'best', 'bestStep'] as const;
/** One of {@link FACT_STATISTICS}. */
export type FactStatistic = (typeof FACT_STATISTICS)[number];

const METRICS = 'metrics.';

/** The key and the statistic of a path such as `metrics.val/loss.best`; undefined for another path. */
export function metricOfPath(
  path: string,
): { readonly key: string; readonly statistic: FactStatistic } | undefined {
  const cut = path.lastIndexOf('.');
  const statistic = FACT_STATISTICS.find((one) => one === path.slice(cut + 1));
  if (!path.startsWith(METRICS) || statistic === undefined || cut < METRICS.length)
    return undefined;
  return { key: path.slice(METRICS.length, cut), statistic };
}

/** The path of a statistic of a metric. */
export function pathOfMetric(key: string, statistic: FactStatistic): string {
  return `${METRICS}${key}.${statistic}`;
}

/** The path of the step at which a value was; undefined where nothing says it. */
export function stepPathOf(path: string): string | undefined {
  const metric = metricOfPath(path);
  if (metric?.statistic === 'last') return pathOfMetric(metric.key, 'lastStep');
  return metric?.statistic === 'best' ? pathOfMetric(metric.key, 'bestStep') : undefined;
}

const MACHINE =
  /^(?:metrics|config|summary|metadata)\.(?:system|machine|hardware|gpu|cpu|ram|disk|network)(?:[./_]|\d)/iu;

/** Whether a path is about the machine rather than the model. */
export function isMachinePath(path: string): boolean {
  return MACHINE.test(path);
}

/**
 * The metric that stands for a run in lists: `train/loss`, else `loss`, else the first key that ends in `/loss`, else the first that ends in
 * `loss`; undefined where there is none.
 *
 * @example
 * ```js
 * import { lossMetric } from 'quark-sdk/workspace';
 *
 * console.log(lossMetric(['lr', 'val/loss', 'train/loss'])); // train/loss
 * console.log(lossMetric(['lr'])); // undefined
 * ```
 */
export function lossMetric(keys: readonly string[]): string | undefined {
  return (
    keys.find((key) => key === 'train/loss') ??
    keys.find((key) => key === 'loss') ??
    keys.find((key) => key.endsWith('/loss')) ??
    keys.find((key) => key.endsWith('loss'))
  );
}
