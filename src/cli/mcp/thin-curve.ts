/** A curve with as few points as a model can read. */
import type { JsonValue, RecordedSeries } from '../../index.ts';
import { jsSeriesKernel } from '../../kernels.ts';
import { shownNumber } from './tool.ts';

/** Where a curve is looked at. */
export type CurveSpan = {
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** Points at most, but for values that are not finite. */
  readonly points: number;
};

/**
 * A series as pairs of position and value: the lowest and the highest value of each of `points / 2` spans, the first and the last
 * value. Values that are not finite stand with their names.
 */
export function thinCurve(series: RecordedSeries, { from, to, points }: CurveSpan): JsonValue {
  const axis = series.steps ?? series.epochs;
  const inSpan: number[] = [];
  for (let i = 0; i < series.values.length; i += 1) {
    const at = axis?.[i] ?? i;
    if (!(at < (from ?? -Infinity)) && !(at > (to ?? Infinity))) inSpan.push(i);
  }
  const values = Float64Array.from(inSpan, (i) => series.values[i] ?? Number.NaN);
  const { indices, nonFiniteIndices } = jsSeriesKernel.minMax(values, {
    buckets: Math.max(1, Math.floor(points / 2) - 1),
  });
  const ends = values.length === 0 ? [] : [0, values.length - 1];
  const chosen = [...new Set([...indices, ...nonFiniteIndices, ...ends])].toSorted((a, b) => a - b);
  const isAll = chosen.length === values.length;
  return {
    metric: series.key,
    axis: series.steps !== null ? 'step' : series.epochs !== null ? 'epoch' : 'index',
    samples: values.length,
    ...(isAll ? {} : { downsampled: 'lowest and highest value of equal spans' }),
    points: chosen.map((k) => {
      const i = inSpan[k] ?? 0;
      return [shownNumber(axis?.[i] ?? i), shownNumber(values[k] ?? Number.NaN)];
    }),
  };
}
