/** The values that the cells of the table are made of: by the summary of a run, or by its curve at a step. */
import type { RunRecord } from 'quark-sdk';
import { metricQuantity, type MetricStatistic } from 'quark-sdk/analysis';
import { lowerBound } from '../../charts/plot/axis.ts';
import { cachedOnAxis } from '../../charts/chart-data.ts';
import type { CompareFeed } from '../compare-feed.ts';
import type { ComparedColumn } from '../comparison-state.ts';

/** Of each column one value a run, by the summaries of the runs. */
export function summarySamples(
  columns: readonly ComparedColumn[],
  records: ReadonlyMap<string, RunRecord>,
  metric: string,
  statistic: MetricStatistic,
): readonly (readonly number[])[] {
  return columns.map(({ runIds }) => {
    const own = runIds.flatMap((runId) => records.get(runId) ?? []);
    return metricQuantity(own, metric, statistic).values.flatMap((value) =>
      typeof value === 'number' ? [value] : [],
    );
  });
}

/** The same by the curves, at the last point that is not after a step. */
export function stepSamples(
  columns: readonly ComparedColumn[],
  feed: CompareFeed,
  metric: string,
  step: number,
): readonly (readonly number[])[] {
  return columns.map(({ runIds }) =>
    runIds.flatMap((runId) => {
      const series = feed.get(runId, metric);
      if (series === undefined) return [];
      const { scale } = feed.originOf(runId, metric);
      const { xs, ys } = cachedOnAxis(series, 'step', 0, scale);
      const value = ys[lowerBound(xs, step + 0.5) - 1];
      // A run that ended long before says nothing of this step.
      return value === undefined || (xs.at(-1) ?? 0) < step ? [] : [value];
    }),
  );
}
