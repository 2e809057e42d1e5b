import { observe } from '../../signals/observe.ts';
import { positionAt, sayPosition } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import { median, robustDeviation, sampleRows } from '../../signals/statistics.ts';
import { stepDurations } from '../../signals/step-durations.ts';
import { say, sayShare } from '../../text/sentences.ts';

/** Times that the typical one comes from, at most. */
const MAX_TIMES = 16_384;

export const stepTimeOutlier = defineRule({
  id: 'step_time_outlier',
  category: 'runtime',
  needs: { anyOf: ['step_times'], points: 'stepTimeOutlierMinCount' },
  detects:
    'Single steps that take many times as long as the others, and together cost a good part of the time.',
  source: 'SageMaker Debugger (StepOutlier: 3 deviations, 10 outliers), with a robust deviation',
  cause:
    'something stops the training now and then: validation or saving inside the step, garbage collection, other work on the machine',
  advice: 'compare the steps named here with what else happens at these times',
  live: 'whole_run',
  thresholds: {
    stepTimeOutlierScore: { value: 8, doc: 'Distance from the median in robust deviations.' },
    stepTimeOutlierRatio: { value: 3, doc: 'Least multiple of the median.' },
    stepTimeOutlierMinMs: {
      value: 50,
      doc: 'Least time beyond the median, in milliseconds: a long task; shorter stops are the scheduling of the system.',
    },
    stepTimeOutlierMinCount: { value: 10, doc: 'Fewest such steps.' },
    stepTimeOutlierMinLost: {
      value: 0.1,
      doc: 'Least share of all time that they take beyond the typical step.',
    },
  },
  measure({ columns, signals, thresholds: t }) {
    const subject = stepDurations(columns, signals);
    if (subject === undefined) return [];
    const { values } = subject;
    const known = Float64Array.from(
      sampleRows(values.length, MAX_TIMES),
      (row) => values[row] ?? Number.NaN,
    );
    const typical = median(known);
    const limit = Math.max(
      t.stepTimeOutlierRatio * typical,
      typical + t.stepTimeOutlierScore * robustDeviation(known),
      typical + t.stepTimeOutlierMinMs,
    );
    let lost = 0;
    let total = 0;
    const rows: number[] = [];
    for (let row = 0; row < values.length; row++) {
      const value = values[row] ?? Number.NaN;
      if (value - value !== 0) continue;
      total += value;
      // The first steps compile and allocate.
      if (value <= limit || row < 3) continue;
      lost += value - typical;
      rows.push(row);
    }
    const share = total > 0 ? lost / total : 0;
    if (rows.length < t.stepTimeOutlierMinCount || share < t.stepTimeOutlierMinLost) return [];
    const longest = rows.reduce((a, b) => ((values[b] ?? 0) > (values[a] ?? 0) ? b : a));
    return [{ subject, rows, share, limit, typical, longest }];
  },
  finding: {
    levels: { warning: ({ share }) => share >= 0.3, info: () => true },
    title: 'Some steps take very long',
    fact: ({ limit, longest, rows, share, subject: { series, values }, typical }) => {
      const worst = `${say(values[longest] ?? 0)} ms at ${sayPosition(positionAt(series, longest))}`;
      return `${rows.length} of ${values.length} steps took more than ${say(limit)} ms where ${say(typical)} ms are typical, the longest ${worst}; they cost ${sayShare(share)} of the time.`;
    },
    confidence: 0.85,
    evidence: ({ rows, share, subject }, t) => [
      observe(
        subject,
        [rows[0] ?? 0, rows.at(-1) ?? 0],
        `${rows.length} outliers cost ${sayShare(share)} of the time.`,
        {
          observed: share,
          threshold: t.stepTimeOutlierMinLost,
          metadata: {
            steps: rows.slice(0, 20).map((row) => positionAt(subject.series, row).step),
          },
        },
      ),
    ],
  },
});
