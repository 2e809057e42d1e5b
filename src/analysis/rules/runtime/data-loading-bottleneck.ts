import { ladder } from '../../signals/ladder.ts';
import { observe } from '../../signals/observe.ts';
import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import { longestRun, median } from '../../signals/statistics.ts';
import { dataShares } from '../../signals/step-durations.ts';
import { sayShare } from '../../text/sentences.ts';

/** Steps that the share at a step is the median of. */
const WINDOW = 5;

const SHARE = ladder('Share of a step that is spent waiting for data', {
  dataLoadingWarningShare: 0.4,
  dataLoadingErrorShare: 0.6,
  dataLoadingCriticalShare: 0.75,
});

export const dataLoadingBottleneck = defineRule({
  id: 'data_loading_bottleneck',
  category: 'runtime',
  needs: { anyOf: ['data_times'], points: 'dataLoadingMinSteps' },
  detects: 'A span of training in which the loading of data takes most of the step time.',
  source: 'abiotic-quark (data fractions), SageMaker Debugger (IOBottleneck)',
  cause: 'batches are loaded and prepared while the device waits',
  advice: 'prepare batches ahead (prefetch, workers, caching), or make them cheaper to prepare',
  live: 'trend',
  thresholds: {
    ...SHARE.thresholds,
    dataLoadingMinSteps: { value: 10, doc: 'Fewest steps in a row.' },
    dataLoadingMinShareOfRun: { value: 0.1, doc: 'Least share of the known steps that wait.' },
  },
  measure({ columns, signals, thresholds: t }) {
    const subject = dataShares(columns, signals);
    if (subject === undefined) return [];
    const { series, values } = subject;
    const waiting = values.filter((share) => share >= t.dataLoadingWarningShare).length;
    if (waiting < t.dataLoadingMinSteps / 2) return [];
    // One fast step between slow ones does not end the span.
    const typical = values.map((_, row) =>
      median(values.subarray(Math.max(0, row - WINDOW + 1), row + 1)),
    );
    const { length, start } = longestRun(
      values.length,
      (row) => (typical[row] ?? 0) >= t.dataLoadingWarningShare,
    );
    if (length < Math.max(t.dataLoadingMinSteps, t.dataLoadingMinShareOfRun * values.length))
      return [];
    const rows = [start, start + length - 1] as const;
    const share = median(values.subarray(start, start + length));
    return [{ subject, rows, length, share, span: spanOfRows(series, ...rows) }];
  },
  finding: {
    levels: SHARE.levels('share'),
    title: 'Steps wait for data',
    fact: ({ share, span }) =>
      `Steps spent ${sayShare(share)} of their time waiting for data ${saySpan(span)}.`,
    confidence: 0.92,
    evidence: ({ length, rows, share, subject }, t) => [
      observe(subject, rows, `Median share ${sayShare(share)} in ${length} known steps.`, {
        observed: share,
        threshold: t.dataLoadingWarningShare,
      }),
    ],
  },
});
