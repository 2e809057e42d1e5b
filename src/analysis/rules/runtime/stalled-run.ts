import { axisOf, type MetricSeries, type RunColumns } from '../../columns/run-columns.ts';
import { placeAt, sayPlace, type Place } from '../../signals/positions.ts';
import { defineRule, say, sayShare, type Finding } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { median } from '../../signals/statistics.ts';

export const stalledRun = defineRule({
  id: 'stalled_run',
  category: 'runtime',
  detects:
    'A run that is said to go on but records nothing any more, and a validation or training series that ends long before the others.',
  source: 'SageMaker Debugger (StalledTraining: 1,800 s)',
  cause: 'the training hangs, or the process was stopped',
  advice: 'look at the process and at its last messages, and resume from the last checkpoint',
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
  evaluate({ columns, nowMs, signals, thresholds: t }) {
    const silent = silence(columns, nowMs, t.stalledRunMs, t.stalledRunIntervals);
    if (silent !== undefined) return [silent];
    return stopped(signals, t);
  },
});

function silence(
  columns: RunColumns,
  nowMs: number,
  limitMs: number,
  intervals: number,
): Finding | undefined {
  if (columns.run.status !== 'running') return undefined;
  let last: { readonly series: MetricSeries; readonly timeMs: number } | undefined;
  let longest = 0;
  for (const series of columns.metrics.values()) {
    const { timesMs } = series;
    for (let row = 1; row < timesMs.length; row++)
      longest = Math.max(longest, Math.min(limitMs, (timesMs[row] ?? 0) - (timesMs[row - 1] ?? 0)));
    const timeMs = timesMs.reduce((a, b) => (b > a ? b : a), Number.NEGATIVE_INFINITY);
    if (last === undefined || timeMs > last.timeMs) last = { series, timeMs };
  }
  const timeMs = last?.timeMs ?? columns.run.startedAtMs;
  const silentMs = nowMs - timeMs;
  if (!(silentMs > Math.max(limitMs, intervals * longest))) return undefined;
  const at: Place =
    last === undefined
      ? { step: null, epoch: null }
      : placeAt(last.series, last.series.steps.length - 1);
  return {
    severity: 'error',
    title: 'The run is silent',
    fact: `Nothing was recorded for ${say(silentMs / 60_000)} minutes${last === undefined ? '' : ` after ${sayPlace(at)}`}, though the run has not ended.`,
    confidence: columns.run.isLive ? 0.8 : 0.95,
    ...(columns.run.isLive
      ? {}
      : { cause: 'the process is gone: no session holds the run any more' }),
    from: at,
    to: at,
    observations: [
      {
        kind: 'metric',
        source: last?.series.key ?? 'run',
        summary: `Last record ${say(silentMs / 60_000)} minutes ago.`,
        observed: silentMs,
        threshold: Math.max(limitMs, intervals * longest),
        from: at,
        to: at,
      },
    ],
  };
}

/** Of the losses and accuracies of training and validation, those that end long before the last of them. */
function stopped(
  signals: Signals,
  t: {
    readonly stalledSeriesIntervals: number;
    readonly stalledSeriesMinPoints: number;
    readonly stalledSeriesMinShare: number;
  },
): readonly Finding[] {
  const watched = new Set(
    [
      ...signals.trainLosses,
      ...signals.lossPairs.map(({ validation }) => validation),
      signals.trainAccuracy,
      signals.valAccuracy,
    ].filter((series) => series !== undefined),
  );
  for (const series of watched) {
    const others = [...watched].filter((other) => other.x === series.x && other !== series);
    const end = Math.max(...others.map((other) => axisOf(other).at(-1) ?? 0));
    const places = axisOf(series);
    const { length } = places;
    const last = places.at(-1) ?? Number.NaN;
    if (length < t.stalledSeriesMinPoints || others.length === 0) continue;
    const distances = distancesOf(places);
    const longest = distances.reduce((a, b) => Math.max(a, b), 0);
    const missing = end - last;
    const share = missing / (end - (places[0] ?? 0));
    if (!(missing > t.stalledSeriesIntervals * longest) || share < t.stalledSeriesMinShare)
      continue;
    const at = placeAt(series, length - 1);
    return [
      {
        severity: 'info',
        title: `${series.key} has stopped`,
        fact: `${series.key} ends at ${sayPlace(at)}, ${sayShare(share)} of the run before the others, though it came every ${say(median(distances))} before.`,
        confidence: 0.8,
        cause: 'it is no longer computed or recorded',
        advice: 'check the part of the program that records it',
        from: at,
        to: at,
        observations: [
          {
            kind: 'metric',
            source: series.key,
            summary: `${say(missing / longest)} times its longest distance without a value.`,
            observed: missing / longest,
            threshold: t.stalledSeriesIntervals,
            from: at,
            to: at,
          },
        ],
      },
    ];
  }
  return [];
}

/** Distances that are looked at, at most: the last ones. */
const MAX_DISTANCES = 10_000;

function distancesOf(places: Float64Array): Float64Array {
  const last = places.subarray(-MAX_DISTANCES - 1);
  const distances = new Float64Array(Math.max(0, last.length - 1));
  for (let i = 0; i < distances.length; i++) distances[i] = (last[i + 1] ?? 0) - (last[i] ?? 0);
  return distances;
}
