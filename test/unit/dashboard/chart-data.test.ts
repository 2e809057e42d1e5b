import { describe, expect, it } from 'vitest';
import { onAxis, type AxisSeries } from '../../../dashboard/charts/plot/axis.ts';
import { countNonFinite, reduceSeries } from '../../../dashboard/charts/reduce.ts';
import { SeriesPyramid } from 'quark-sdk/kernels';
import { smoothedNow } from '../../../dashboard/charts/smoothing/smooth-client.ts';
import { SampleSeries } from '../../../dashboard/series/series.ts';
import {
  arePrepared,
  cachedOnAxis,
  chartData,
  curveOf,
} from '../../../dashboard/charts/chart-data.ts';

const span = (min: number, max: number): Parameters<typeof chartData>[1] => ({
  range: { min, max },
  pixelCount: 100,
  logX: false,
  logY: false,
});
const NO_EPOCHS = { firstStep: new Map<number, number>(), stepsPerEpoch: 1 };

function shaped(xs: Float64Array, ys: Float64Array): SeriesPyramid {
  const shape = new SeriesPyramid();
  shape.extendTo(ys, xs);
  return shape;
}

function seriesOf(ys: readonly number[], firstStep = 0): SampleSeries {
  const series = new SampleSeries('x');
  for (const [at, y] of ys.entries()) series.push(y, firstStep + at, Number.NaN, 1000 + at);
  return series;
}
const points = (ys: readonly number[], firstStep = 0): AxisSeries =>
  onAxis(seriesOf(ys, firstStep), 'step', 0, NO_EPOCHS);
const curve = (ys: readonly number[], amount = 0): ReturnType<typeof curveOf> => {
  const smoothing = { kind: 'exponential', amount } as const;
  const query = { points: points(ys), smoothing, extent: ys.length - 1 };
  return curveOf('x', '#000', query.points, amount === 0 ? undefined : smoothedNow(query));
};

describe('what a chart draws', () => {
  it('is the points of each curve, and the smoothed line in front of those that are smoothed', () => {
    const data = chartData([curve([1, 3]), curve([5, 5], 0.5)], span(0, 1));
    expect(data.curves.map((one) => one.points)).toEqual([
      { xs: [0, 1], ys: [1, 3] },
      { xs: [0, 1], ys: [5, 5] },
    ]);
    expect(data.curves.map(({ lineKind }) => lineKind)).toEqual(['points', 'smoothed']);
    expect(data.curves[1]?.line).toEqual({ xs: [0, 1], ys: [5, 5] });
  });

  it('is prepared in turns, however many points it has', () => {
    const many = [points(Array.from({ length: 500_000 }, (_, at) => at % 97)), points([1, 2, 3])];
    const turns = [arePrepared(many), arePrepared(many), arePrepared(many)];
    expect(turns).toEqual([false, true, true]);
    expect(curveOf('x', '#000', many[0] ?? points([]), undefined).shape.length).toBe(500_000);
    expect(arePrepared([])).toBe(true);
  });

  it('lists points that no line goes through', () => {
    const data = chartData([curve([1, Number.NaN, 2, Number.NaN, 3, 4])], span(0, 5));
    expect(data.lonely).toEqual([
      { curve: 0, x: 0, y: 1 },
      { curve: 0, x: 2, y: 2 },
    ]);
    expect(data.marks.map(({ mark }) => mark.x)).toEqual([1, 3]);
  });

  it('leaves out of a logarithmic axis what has no place there, and counts it once', () => {
    const data = chartData([curve([1, 0, -2, 10], 0.5)], { ...span(0, 3), logY: true });
    expect(data.curves[0]?.points.ys).toEqual([1, null, null, 10]);
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
    const now = (): ReturnType<typeof curveOf> =>
      curveOf('x', '#000', cachedOnAxis(series, 'step', 0, NO_EPOCHS), undefined);
    const drawn = (): readonly (number | null)[] =>
      chartData([now()], { ...span(0, 2000), pixelCount: 50 }).curves[0]?.points.ys ?? [];
    const before = now().shape;
    series.push(99, 1000, Number.NaN, 2000);
    expect(now().shape).toBe(before);
    expect(drawn()).toContain(99);
    series.push(-99, 1000, Number.NaN, 2000);
    expect(now().shape).not.toBe(before);
    expect(drawn()).toContain(-99);
    expect(drawn()).not.toContain(99);
    series.push(-50, 3, Number.NaN, 2000);
    expect(drawn()).toContain(-50);
  });
});

describe('a curve with more points than pixels', () => {
  const ys = Array.from(
    { length: 10_000 },
    (_, at) => Math.sin(at / 700) + (at % 2 === 0 ? 1 : -1),
  );
  ys[4_321] = 50;

  it('is an envelope with the mean of each pixel, and says how many points it stands for', () => {
    const [drawn] = chartData([curve(ys)], span(0, 9_999)).curves;
    expect(drawn?.reducedFrom).toBe(10_000);
    expect(drawn?.lineKind).toBe('mean');
    expect(drawn?.line?.ys).toHaveLength(100);
    for (const [pixel, mean] of (drawn?.line?.ys ?? []).entries()) {
      const part = ys.slice(pixel * 100, (pixel + 1) * 100);
      expect(mean).toBeCloseTo(part.reduce((sum, y) => sum + y, 0) / part.length, 1);
    }
    // The one point far away is in the envelope.
    expect(Math.max(...(drawn?.points.ys ?? []).map((y) => y ?? 0))).toBe(50);
  });

  it('is its points again once somebody has zoomed in', () => {
    const [drawn] = chartData([curve(ys)], span(100, 300)).curves;
    expect(drawn).toMatchObject({ reducedFrom: undefined, lineKind: 'points', line: undefined });
  });

  it('has no mean where nothing is finite', () => {
    const broken = ys.map((y, at) => (at >= 5_000 && at < 6_000 ? Number.NaN : y));
    const [drawn] = chartData([curve(broken)], span(0, 9_999)).curves;
    expect(drawn?.line?.ys.slice(51, 59)).toEqual(new Array(8).fill(null));
  });

  it('has as many points a decade on a logarithmic axis', () => {
    const xs = Float64Array.from({ length: 100_000 }, (_, at) => at + 1);
    const shape = shaped(
      xs,
      xs.map((x) => x % 97),
    );
    const { xs: drawn } = reduceSeries(shape, { min: 1, max: 100_000 }, 300, true);
    const decades = [1, 10, 100, 1000, 10_000].map(
      (from) => drawn.filter((x) => x >= from && x < 10 * from).length,
    );
    // All points of the first decade; of later ones as many as the pixels of a decade take.
    expect(decades[0]).toBe(9);
    for (const count of decades.slice(1)) expect(count).toBeGreaterThan(70);
    expect(drawn).toEqual(drawn.toSorted((a, b) => a - b));
    expect(new Set(drawn).size).toBe(drawn.length);
  });
});
