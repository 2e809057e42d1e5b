import { describe, expect, it } from 'vitest';
import { onAxis, type AxisSeries } from '../../../dashboard/charts/axis.ts';
import { sparkPath } from '../../../dashboard/runs/preview.ts';
import { countNonFinite } from '../../../dashboard/charts/reduce.ts';
import { SampleSeries } from '../../../dashboard/series/series.ts';
import { cachedOnAxis, chartData, curveOf } from '../../../dashboard/charts/chart-data.ts';

const NO_EPOCHS = { firstStep: new Map<number, number>(), stepsPerEpoch: 1 };

function seriesOf(ys: readonly number[], firstStep = 0): SampleSeries {
  const series = new SampleSeries('x');
  for (const [at, y] of ys.entries()) series.push(y, firstStep + at, Number.NaN, 1000 + at);
  return series;
}
const points = (ys: readonly number[], firstStep = 0): AxisSeries =>
  onAxis(seriesOf(ys, firstStep), 'step', 0, NO_EPOCHS);
const curve = (ys: readonly number[], smoothing = 0): ReturnType<typeof curveOf> =>
  curveOf('x', '#000', points(ys), smoothing, { min: 0, max: ys.length - 1 });

describe('what a chart draws', () => {
  it('has a raw column for each curve, then the smoothed ones', () => {
    const data = chartData([curve([1, 3]), curve([5, 5], 0.5)], { min: 0, max: 1 }, 100, false);
    expect(data.xs).toEqual([0, 1]);
    expect(data.columns.slice(0, 2)).toEqual([
      [1, 3],
      [5, 5],
    ]);
    expect(data.columns).toHaveLength(3);
    expect(data.drawnCounts).toEqual([2, 2]);
  });

  it('lists points that no line goes through', () => {
    const data = chartData(
      [curve([1, Number.NaN, 2, Number.NaN, 3, 4])],
      { min: 0, max: 5 },
      100,
      false,
    );
    expect(data.lonely).toEqual([
      { curve: 0, x: 0, y: 1 },
      { curve: 0, x: 2, y: 2 },
    ]);
    expect(data.marks.map(({ mark }) => mark.x)).toEqual([1, 3]);
  });

  it('leaves out of a logarithmic axis what has no place there, and counts it once', () => {
    const data = chartData([curve([1, 0, -2, 10], 0.5)], { min: 0, max: 3 }, 100, true);
    expect(data.columns[0]).toEqual([1, null, null, 10]);
    expect(data.unplacedCount).toBe(2);
  });

  it('counts non-finite points in the visible range', () => {
    const all = curve([Number.NaN, 1, Number.POSITIVE_INFINITY, Number.NaN]).shape;
    expect(countNonFinite(all, { min: 0, max: 3 })).toBe(3);
    expect(countNonFinite(all, { min: 1, max: 2 })).toBe(1);
  });

  it('computes an axis once for each length', () => {
    const series = seriesOf([1, 2]);
    const first = cachedOnAxis(series, 'time', 1000, NO_EPOCHS);
    expect(cachedOnAxis(series, 'time', 1000, NO_EPOCHS)).toBe(first);
    series.push(3, 2, Number.NaN, 3000);
    const second = cachedOnAxis(series, 'time', 1000, NO_EPOCHS);
    expect([...second.xs]).toEqual([0, 0.001, 2]);
  });

  it('goes on with what it knew of a series that grew, and starts anew where its order changed', () => {
    const series = seriesOf(Array.from({ length: 1000 }, (_, i) => i % 7));
    const extent = { min: 0, max: 2000 };
    const now = (): ReturnType<typeof curveOf> =>
      curveOf('x', '#000', cachedOnAxis(series, 'step', 0, NO_EPOCHS), 0, extent);
    const drawn = (): ReturnType<typeof chartData> => chartData([now()], extent, 50, false);
    const before = now().shape;
    series.push(99, 1000, Number.NaN, 2000);
    expect(now().shape).toBe(before);
    expect(drawn().columns[0]).toContain(99);
    series.push(-99, 1000, Number.NaN, 2000);
    expect(now().shape).not.toBe(before);
    expect(drawn().columns[0]).toContain(-99);
    expect(drawn().columns[0]).not.toContain(99);
    series.push(-50, 3, Number.NaN, 2000);
    expect(drawn().columns[0]).toContain(-50);
  });
});

describe('the small curve of a row', () => {
  it('runs over the whole box, and lifts the pen at a gap', () => {
    const path = sparkPath(seriesOf([4, 2, Number.NaN, 0, 1]));
    expect(path).toBe('M0.0 1.5L30.0 14.0M90.0 26.5L120.0 20.3');
  });

  it('is empty for less than two points', () => {
    expect(sparkPath(seriesOf([1]))).toBe('');
    expect(sparkPath(seriesOf([]))).toBe('');
  });
});
