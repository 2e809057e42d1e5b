/** The quantities that runs can be put on an axis by. */
import type { RunRecord } from 'quark-sdk';
import {
  METRIC_STATISTICS,
  runQuantity,
  summarizedMetrics,
  varyingSettings,
  type MetricStatistic,
  type RunQuantity,
} from 'quark-sdk/analysis';
import { isMachineMetric, lossKey } from '../charts/group.ts';
import { t } from '../parts/t.ts';

/** Settings and metrics that are offered. */
const MAX_OFFERED = 400;

/** What can be chosen for axes. */
export type Quantities = {
  readonly records: readonly RunRecord[];
  /** Ids of settings that differ. */
  readonly settings: readonly string[];
  /** Keys of metrics, those of the machine last. */
  readonly metrics: readonly string[];
};

/** What runs differ in, and what they measured. */
export function quantitiesOf(records: readonly RunRecord[]): Quantities {
  const metrics = summarizedMetrics(records);
  return {
    records,
    settings: varyingSettings(records)
      .slice(0, MAX_OFFERED)
      .map((path) => `config.${path}`),
    metrics: [
      ...metrics.filter((key) => !isMachineMetric(key)),
      ...metrics.filter(isMachineMetric),
    ].slice(0, MAX_OFFERED),
  };
}

/** What a quantity is called. */
export function quantityName({ name, statistic }: RunQuantity): string {
  return statistic === null ? name : `${name} · ${statisticWord(statistic)}`;
}

function statisticWord(statistic: MetricStatistic): string {
  switch (statistic) {
    case 'last':
      return t('last');
    case 'best':
      return t('best');
    case 'min':
      return t('min');
    case 'max':
      return t('max');
  }
}

/** The id of the statistic of a metric that says most: the best value where the name says which that is, else the last. */
export function metricId(records: readonly RunRecord[], key: string): string {
  const best = runQuantity(records, `metrics.${key}.best`);
  const hasBest = best?.values.some((value) => value !== null) === true;
  return `metrics.${key}.${hasBest ? 'best' : 'last'}`;
}

/** The metric that runs are judged by unless somebody chooses another: a validation loss, else a loss, else the first. */
export function usualTarget({ metrics, records }: Quantities): string | undefined {
  const key = metrics.find((one) => /^val.*loss$/i.test(one)) ?? lossKey(metrics) ?? metrics[0];
  return key === undefined ? undefined : metricId(records, key);
}

/** The quantity of an id that is chosen; where that has no value, of `fallback`. */
export function chosenQuantity(
  { records }: Quantities,
  id: string,
  fallback: string | undefined,
): RunQuantity | undefined {
  const found = id === '' ? undefined : runQuantity(records, id);
  if (found?.values.some((value) => value !== null) === true) return found;
  return fallback === undefined ? undefined : runQuantity(records, fallback);
}

/** Ids of all statistics of a metric. */
export function statisticsOf(key: string): readonly string[] {
  return METRIC_STATISTICS.map((statistic) => `metrics.${key}.${statistic}`);
}
