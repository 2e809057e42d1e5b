import { describe, expect, it } from 'vitest';
import { lowerBound, nearestIndex, onAxis } from '../../../dashboard/charts/plot/axis.ts';
import { NO_EPOCHS } from '../../../dashboard/series/epoch-scale.ts';
import { epochScaleOf } from './epoch-scales.ts';
import { SampleSeries, SeriesSet } from '../../../dashboard/series/series.ts';

function seriesOf(
  points: readonly { y: number; step?: number; epoch?: number; at?: number }[],
): SampleSeries {
  const series = new SampleSeries('train/loss');
  for (const { y, step, epoch, at } of points) {
    series.push(y, step ?? Number.NaN, epoch ?? Number.NaN, at ?? 0);
  }
  return series;
}

describe('SeriesSet', () => {
  const readOf = (...all: (readonly [key: string, values: number[], steps: number[]])[]) => ({
    rowCount: all.reduce((sum, [, values]) => sum + values.length, 0),
    series: all.map(([key, values, steps]) => ({
      key,
      values: Float64Array.from(values),
      steps: Float64Array.from(steps),
      epochs: null,
      timesMs: new Float64Array(values.length).fill(5),
    })),
  });

  it('adds what each read brings behind what is there', () => {
    const set = new SeriesSet();
    set.take(readOf(['a', [1, 3], [0, 1]], ['b', [2], [0]]));
    expect(set.keys).toEqual(['a', 'b']);
    set.take(readOf(['c', [4], [2]], ['a', [5], [1]]));
    expect([...(set.get('a')?.values ?? [])]).toEqual([1, 3, 5]);
    expect([...(set.get('a')?.steps ?? [])]).toEqual([0, 1, 1]);
    expect(set.get('b')?.last).toEqual({ value: 2, step: 0, epoch: Number.NaN, timeMs: 5 });
    expect(set.pointCount).toBe(5);
    expect(set.keys).toEqual(['a', 'b', 'c']);
  });

  it('grows past its first capacity without losing points, and counts what is not finite', () => {
    const series = new SampleSeries('x');
    for (let at = 0; at < 5000; at += 1)
      series.push(at % 1000 === 999 ? Number.NaN : at, at, 0, at);
    expect(series.length).toBe(5000);
    expect(series.values[4321]).toBe(4321);
    expect(series.nonFiniteCount).toBe(5);
  });
});

describe('onAxis', () => {
  it('uses ascending steps in place', () => {
    const series = seriesOf([
      { y: 5, step: 1 },
      { y: 6, step: 4 },
    ]);
    const points = onAxis(series, 'step', 0, NO_EPOCHS);
    expect(points.xs.buffer).toBe(series.steps.buffer);
    expect([...points.ys]).toEqual([5, 6]);
  });

  it('orders late steps, and shows the latest value of a step that was written again', () => {
    const series = seriesOf([
      { y: 1, step: 0 },
      { y: 2, step: 1 },
      { y: 3, step: 2 },
      { y: 20, step: 1 },
      { y: 30, step: 2 },
      { y: 40, step: 3 },
    ]);
    const points = onAxis(series, 'step', 0, NO_EPOCHS);
    expect([...points.xs]).toEqual([0, 1, 2, 3]);
    expect([...points.ys]).toEqual([1, 20, 30, 40]);
    expect(points.repeatedCount).toBe(2);
  });

  it('leaves out points without a step and counts them', () => {
    const points = onAxis(
      seriesOf([
        { y: 1, epoch: 0 },
        { y: 2, step: 3 },
      ]),
      'step',
      0,
      NO_EPOCHS,
    );
    expect([...points.xs]).toEqual([3]);
    expect(points.missingCount).toBe(1);
  });

  it('counts time in seconds from the start, keeping points of the same instant', () => {
    const points = onAxis(
      seriesOf([
        { y: 1, at: 2000 },
        { y: 2, at: 2000 },
        { y: 3, at: 3500 },
      ]),
      'time',
      1000,
      NO_EPOCHS,
    );
    expect([...points.xs]).toEqual([1, 1, 2.5]);
    expect([...points.ys]).toEqual([1, 2, 3]);
  });

  it('spreads the steps of an epoch over it, measured by all series', () => {
    const batches = seriesOf(
      Array.from({ length: 8 }, (_, step) => ({ y: step, step, epoch: Math.floor(step / 4) })),
    );
    const perEpoch = seriesOf([
      { y: 9, step: 3, epoch: 0 },
      { y: 8, step: 7, epoch: 1 },
    ]);
    const scale = epochScaleOf([batches, perEpoch]);
    expect(scale.stepsPerEpoch).toBe(4);
    expect([...onAxis(batches, 'epoch', 0, scale).xs]).toEqual([
      0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75,
    ]);
    expect([...onAxis(perEpoch, 'epoch', 0, scale).xs]).toEqual([0.75, 1.75]);
  });

  it('takes epochs as they are where there are no steps', () => {
    const series = seriesOf([
      { y: 1, epoch: 0 },
      { y: 2, epoch: 1 },
    ]);
    expect([...onAxis(series, 'epoch', 0, epochScaleOf([series])).xs]).toEqual([0, 1]);
  });
});

describe('searching', () => {
  it('finds the nearest point, the left one of two equally near', () => {
    const xs = Float64Array.of(0, 10, 20);
    expect(nearestIndex(xs, -5)).toBe(0);
    expect(nearestIndex(xs, 5)).toBe(0);
    expect(nearestIndex(xs, 5.1)).toBe(1);
    expect(nearestIndex(xs, 99)).toBe(2);
    expect(nearestIndex(new Float64Array(), 1)).toBe(-1);
    expect(lowerBound(xs, 10)).toBe(1);
    expect(lowerBound(xs, 21)).toBe(3);
  });
});
