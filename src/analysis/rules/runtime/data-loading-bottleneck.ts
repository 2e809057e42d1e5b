import { placeAt, sayRange } from '../../signals/positions.ts';
import { defineRule, sayShare, severityAbove, type Finding } from '../../signals/rule.ts';
import { dataShares } from '../../signals/step-durations.ts';
import { longestRun, median } from '../../signals/statistics.ts';

/** Steps that the share at a step is the median of. */
const WINDOW = 5;

export const dataLoadingBottleneck = defineRule({
  id: 'data_loading_bottleneck',
  category: 'runtime',
  detects: 'A stretch of training in which steps wait for their data for most of their time.',
  source: 'the reference (data fractions), SageMaker Debugger (IOBottleneck)',
  cause: 'batches are loaded and prepared while the device waits',
  advice: 'prepare batches ahead (prefetch, workers, caching), or make them cheaper to prepare',
  thresholds: {
    dataLoadingWarningShare: {
      value: 0.4,
      doc: 'Share of a step waiting for data, for a warning.',
    },
    dataLoadingErrorShare: { value: 0.6, doc: 'The same, for an error.' },
    dataLoadingCriticalShare: { value: 0.75, doc: 'The same, critical.' },
    dataLoadingMinSteps: { value: 10, doc: 'Fewest steps in a row.' },
    dataLoadingMinShareOfRun: { value: 0.1, doc: 'Least share of the known steps that wait.' },
  },
  evaluate({ columns, signals, thresholds: t }) {
    const shares = dataShares(columns, signals);
    if (shares === undefined) return [];
    const { series, values } = shares;
    let waiting = 0;
    for (const share of values) if (share >= t.dataLoadingWarningShare) waiting++;
    if (waiting < t.dataLoadingMinSteps / 2) return [];
    // One fast step between slow ones does not end the stretch.
    const typical = values.map((_, row) =>
      median(values.subarray(Math.max(0, row - WINDOW + 1), row + 1)),
    );
    const run = longestRun(
      values.length,
      (row) => (typical[row] ?? 0) >= t.dataLoadingWarningShare,
    );
    if (
      run.length < t.dataLoadingMinSteps ||
      run.length < t.dataLoadingMinShareOfRun * values.length
    )
      return [];
    const share = median(values.subarray(run.start, run.start + run.length));
    const from = placeAt(series, run.start);
    const to = placeAt(series, run.start + run.length - 1);
    const finding: Finding = {
      severity:
        severityAbove(
          share,
          t.dataLoadingWarningShare,
          t.dataLoadingErrorShare,
          t.dataLoadingCriticalShare,
        ) ?? 'warning',
      title: 'Steps wait for data',
      fact: `Steps spent ${sayShare(share)} of their time waiting for data ${sayRange(from, to)}.`,
      confidence: 0.92,
      from,
      to,
      observations: [
        {
          kind: shares.kind,
          source: shares.source,
          summary: `Median share ${sayShare(share)} in ${run.length} known steps.`,
          observed: share,
          threshold: t.dataLoadingWarningShare,
          from,
          to,
        },
      ],
    };
    return [finding];
  },
});
