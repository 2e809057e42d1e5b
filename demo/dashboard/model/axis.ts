/** Puts a series on an x axis: ascending x, the latest value where a step was written again, nothing else changed. */
import type { MetricSeries, XAxis } from './series.ts';

/** A series ready to be reduced and drawn. Arrays may be views of the series: read only. */
export type AxisSeries = {
  /** Ascending. */
  readonly xs: Float64Array;
  readonly ys: Float64Array;
  /** Points left out because they have no x on this axis. */
  readonly missingCount: number;
  /** Points left out because the same step was written again later. */
  readonly repeatedCount: number;
  /** Whether every point is there, in the order in which it was written. */
  readonly isAsWritten: boolean;
};

/** First step of each epoch and how many steps an epoch has: what places a step within its epoch. */
export type EpochScale = {
  readonly firstStep: ReadonlyMap<number, number>;
  /** Largest number of steps seen in one epoch, at least 1. */
  readonly stepsPerEpoch: number;
};

/** Finds where epochs begin, from every point that has both a step and an epoch. */
export function epochScaleOf(all: readonly MetricSeries[]): EpochScale {
  const firstStep = new Map<number, number>();
  const lastStep = new Map<number, number>();
  for (const series of all) {
    const { steps, epochs } = series;
    for (let at = 0; at < series.length; at += 1) {
      const step = steps[at] ?? Number.NaN;
      const epoch = epochs[at] ?? Number.NaN;
      if (Number.isNaN(step) || Number.isNaN(epoch)) continue;
      const first = firstStep.get(epoch);
      if (first === undefined || step < first) firstStep.set(epoch, step);
      const last = lastStep.get(epoch);
      if (last === undefined || step > last) lastStep.set(epoch, step);
    }
  }
  let stepsPerEpoch = 1;
  for (const [epoch, first] of firstStep) {
    stepsPerEpoch = Math.max(stepsPerEpoch, (lastStep.get(epoch) ?? first) - first + 1);
  }
  return { firstStep, stepsPerEpoch };
}

/**
 * The points of `series` by `axis`: steps as they are, time in seconds since `startMs`, epochs with the fraction that
 * the step stands for.
 */
export function onAxis(
  series: MetricSeries,
  axis: XAxis,
  startMs: number,
  scale: EpochScale,
): AxisSeries {
  switch (axis) {
    case 'step':
      return ordered(series.steps, series.values, true);
    case 'time': {
      const { timesMs } = series;
      const seconds = new Float64Array(timesMs.length);
      for (let at = 0; at < seconds.length; at += 1) {
        seconds[at] = ((timesMs[at] ?? Number.NaN) - startMs) / 1000;
      }
      return ordered(seconds, series.values, false);
    }
    case 'epoch': {
      const { steps, epochs } = series;
      const positions = new Float64Array(epochs.length);
      for (let at = 0; at < positions.length; at += 1) {
        const epoch = epochs[at] ?? Number.NaN;
        const step = steps[at] ?? Number.NaN;
        const first = scale.firstStep.get(epoch);
        positions[at] =
          Number.isNaN(step) || first === undefined
            ? epoch
            : epoch + Math.min(1, (step - first) / scale.stepsPerEpoch);
      }
      return ordered(positions, series.values, true);
    }
  }
}

function ordered(xs: Float64Array, ys: Float64Array, latestOnly: boolean): AxisSeries {
  const needed = inspect(xs);
  if (needed === 'nothing') return { xs, ys, missingCount: 0, repeatedCount: 0, isAsWritten: true };
  const rows: number[] = [];
  for (let at = 0; at < xs.length; at += 1) if (!Number.isNaN(xs[at])) rows.push(at);
  const missingCount = xs.length - rows.length;
  // Array sort is stable: among equal x the order of writing stays.
  rows.sort((a, b) => (xs[a] ?? 0) - (xs[b] ?? 0));
  const outX = new Float64Array(rows.length);
  const outY = new Float64Array(rows.length);
  let length = 0;
  for (const row of rows) {
    const x = xs[row] ?? Number.NaN;
    if (latestOnly && length > 0 && outX[length - 1] === x) length -= 1;
    outX[length] = x;
    outY[length] = ys[row] ?? Number.NaN;
    length += 1;
  }
  return {
    xs: outX.subarray(0, length),
    ys: outY.subarray(0, length),
    missingCount,
    repeatedCount: rows.length - length,
    isAsWritten: false,
  };
}

/** Strictly ascending columns, the usual case, are used in place. */
function inspect(xs: Float64Array): 'nothing' | 'ordering' {
  let before = Number.NEGATIVE_INFINITY;
  for (const x of xs) {
    if (!(x > before)) return 'ordering';
    before = x;
  }
  return 'nothing';
}

/** Index of the point nearest to `x`, or -1 in an empty series. `xs` ascends. */
export function nearestIndex(xs: Float64Array, x: number): number {
  if (xs.length === 0) return -1;
  const after = lowerBound(xs, x);
  if (after === 0) return 0;
  if (after === xs.length) return xs.length - 1;
  return x - (xs[after - 1] ?? 0) <= (xs[after] ?? 0) - x ? after - 1 : after;
}

/** Index of the first element that is not below `x`. */
export function lowerBound(xs: Float64Array, x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((xs[middle] ?? 0) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}
