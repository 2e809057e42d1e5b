import { axisOf, type MetricSeries, type RunColumns } from '../../columns/run-columns.ts';
import { observe, ofMetric } from '../../signals/observe.ts';
import { positionAt, sayPosition } from '../../signals/positions.ts';
import { defineRuleOfKinds } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { median } from '../../signals/statistics.ts';
import { say, sayShare } from '../../text/sentences.ts';

export const stalledRun = defineRuleOfKinds({
  id: 'stalled_run',
  category: 'runtime',
  needs: { anyOf: ['metrics'] },
  detects:
    'A run that is said to go on but records nothing any more, and a validation or training series that ends long before the others.',
  source: 'SageMaker Debugger (StalledTraining: 1,800 s)',
  cause: 'the training hangs, or the process was stopped',
  advice: 'look at the process and at its last messages, and resume from the last checkpoint',
  live: 'at_once',
  thresholds: {
    stalledRunMs: { value: 1_800_000, doc: 'Silence of a running run, in milliseconds.' },
    stalledRunIntervals: {
      value: 20,
      doc: 'The same, in multiples of the longest silence before; the larger of both counts.',
    },
    stalledSeriesIntervals: {
      value: 5,
      doc: 'Missing points of a series, in multiples of its longest distance, from which it has stopped.',
    },
    stalledSeriesMinPoints: { value: 5, doc: 'Fewest points of a series that can stop.' },
    stalledSeriesMinShare: { value: 0.2, doc: 'Least share of the run that is missing.' },
  },
  measure({ columns, nowMs, signals, thresholds: t }): readonly (Silence | Stop)[] {
    const silence = silenceOf(columns, nowMs, t.stalledRunMs, t.stalledRunIntervals);
    if (silence !== undefined) return [silence];
    const watched = watchedSeries(signals);
    return watched
      .filter(({ values }) => values.length >= t.stalledSeriesMinPoints)
      .flatMap((series) => stopOf(series, watched) ?? [])
      .filter(
        ({ longest, missing, share }) =>
          missing > t.stalledSeriesIntervals * longest && share >= t.stalledSeriesMinShare,
      )
      .slice(0, 1)
      .map((stop) => ({ ...stop, usual: median(distancesOf(axisOf(stop.series))) }));
  },
  findings: {
    silent: {
      levels: 'error',
      title: 'The run is silent',
      fact: ({ last, silentMs }) => {
        const after = last === undefined ? '' : ` after ${sayPosition(lastPosition(last))}`;
        return `Nothing was recorded for ${say(silentMs / 60_000)} minutes${after}, though the run has not ended.`;
      },
      confidence: ({ isLive }) => (isLive ? 0.8 : 0.95),
      cause: ({ isLive }) =>
        isLive ? undefined : 'the process is gone: no session has a lease of the run any more',
      evidence: ({ last, limitMs, silentMs }) => {
        const at = last === undefined ? NOWHERE : lastPosition(last);
        return [
          {
            kind: 'metric',
            source: last?.key ?? 'run',
            summary: `Last record ${say(silentMs / 60_000)} minutes ago.`,
            observed: silentMs,
            threshold: limitMs,
            from: at,
            to: at,
          },
        ];
      },
    },
    stopped: {
      levels: 'info',
      title: ({ series }) => `${series.key} has stopped`,
      fact: ({ series, share, usual }) =>
        `${series.key} ends at ${sayPosition(lastPosition(series))}, ${sayShare(share)} of the run before the others, though a value had come every ${usual === 1 ? series.x : `${say(usual)} ${series.x}s`}.`,
      confidence: 0.8,
      cause: 'it is no longer computed or recorded',
      advice: 'check the part of the program that records it',
      evidence: ({ longest, missing, series }, t) => {
        const row = series.steps.length - 1;
        const ratio = missing / longest;
        return [
          observe(
            ofMetric(series),
            [row, row],
            `${say(ratio)} times its longest distance without a value.`,
            { observed: ratio, threshold: t.stalledSeriesIntervals },
          ),
        ];
      },
    },
  },
});

const NOWHERE = { step: null, epoch: null } as const;

/** A run that goes on and records nothing. */
type Silence = {
  readonly kind: 'silent';
  /** The metric that was recorded last. */
  readonly last: MetricSeries | undefined;
  readonly silentMs: number;
  readonly limitMs: number;
  readonly isLive: boolean;
};

/** A series that ends before the others. Distances are on its axis. */
type Stop = {
  readonly kind: 'stopped';
  readonly series: MetricSeries;
  /** Distance from its end to that of the others, and as a share of the run. */
  readonly missing: number;
  readonly share: number;
  /** The longest and the usual distance between its values. */
  readonly longest: number;
  readonly usual: number;
};

function silenceOf(
  { metrics, run }: RunColumns,
  nowMs: number,
  limitMs: number,
  intervals: number,
): Silence | undefined {
  if (run.status !== 'running') return undefined;
  let last: { readonly series: MetricSeries; readonly timeMs: number } | undefined;
  let longest = 0;
  for (const series of metrics.values()) {
    const { timesMs } = series;
    for (let row = 1; row < timesMs.length; row++)
      longest = Math.max(longest, Math.min(limitMs, (timesMs[row] ?? 0) - (timesMs[row - 1] ?? 0)));
    const timeMs = timesMs.reduce((a, b) => (b > a ? b : a), Number.NEGATIVE_INFINITY);
    if (last === undefined || timeMs > last.timeMs) last = { series, timeMs };
  }
  const silentMs = nowMs - (last?.timeMs ?? run.startedAtMs);
  const limit = Math.max(limitMs, intervals * longest);
  if (!(silentMs > limit)) return undefined;
  return { kind: 'silent', last: last?.series, silentMs, limitMs: limit, isLive: run.isLive };
}

function lastPosition(series: MetricSeries) {
  return positionAt(series, series.steps.length - 1);
}

/** The losses and accuracies of training and validation. */
function watchedSeries(signals: Signals): readonly MetricSeries[] {
  const watched = [
    ...signals.trainLosses,
    ...signals.lossPairs.map(({ validation }) => validation),
    signals.trainAccuracy,
    signals.valAccuracy,
  ];
  return [...new Set(watched.filter((series) => series !== undefined))];
}

/** How far a series ends before the last of the others; undefined without others. */
function stopOf(
  series: MetricSeries,
  watched: readonly MetricSeries[],
): Omit<Stop, 'usual'> | undefined {
  const others = watched.filter((other) => other.x === series.x && other !== series);
  if (others.length === 0) return undefined;
  const end = Math.max(...others.map((other) => axisOf(other).at(-1) ?? 0));
  const positions = axisOf(series);
  const missing = end - (positions.at(-1) ?? Number.NaN);
  return {
    kind: 'stopped',
    series,
    missing,
    share: missing / (end - (positions[0] ?? 0)),
    longest: distancesOf(positions).reduce((a, b) => Math.max(a, b), 0),
  };
}

/** Distances that are compared, at most: the last ones. */
const MAX_DISTANCES = 10_000;

function distancesOf(positions: Float64Array): Float64Array {
  const last = positions.subarray(-MAX_DISTANCES - 1);
  const distances = new Float64Array(Math.max(0, last.length - 1));
  for (let i = 0; i < distances.length; i++) distances[i] = (last[i + 1] ?? 0) - (last[i] ?? 0);
  return distances;
}
