import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { onAxis, type AxisSeries } from '../../../dashboard/charts/plot/axis.ts';
import { placedOn } from '../../../dashboard/charts/chart-data.ts';
import { onMetric } from '../../../dashboard/charts/metric-axis.ts';
import { markGroups, markX, placedBands, placedMarks } from '../../../dashboard/charts/marks.ts';
import { SampleSeries } from '../../../dashboard/series/series.ts';
import { runs } from '../../support/property.ts';

const NO_EPOCHS = { firstStep: new Map<number, number>(), stepsPerEpoch: 1 };

function seriesOf(points: readonly (readonly [step: number, value: number])[]): SampleSeries {
  const series = new SampleSeries('x');
  for (const [step, value] of points) series.push(value, step, Number.NaN, 1000 * step);
  return series;
}
const steps = (points: readonly (readonly [number, number])[]): AxisSeries =>
  onAxis(seriesOf(points), 'step', 0, NO_EPOCHS);
const joined = (
  of: readonly (readonly [number, number])[],
  by: readonly (readonly [number, number])[],
): number[][] => {
  const { xs, ys } = onMetric(steps(of), steps(by));
  return Array.from(xs, (x, at) => [x, ys[at] ?? Number.NaN]);
};

describe('a metric over another one', () => {
  it('is aligned by step, and between two steps in proportion', () => {
    const tokens = [
      [0, 0],
      [10, 1000],
      [20, 4000],
    ] as const;
    expect(
      joined(
        [
          [0, 5],
          [5, 4],
          [10, 3],
          [15, 2],
          [20, 1],
        ],
        tokens,
      ),
    ).toEqual([
      [0, 5],
      [500, 4],
      [1000, 3],
      [2500, 2],
      [4000, 1],
    ]);
  });

  it('leaves out points outside of the steps at which the other is known, and counts them', () => {
    const found = onMetric(
      steps([
        [0, 1],
        [5, 2],
        [9, 3],
      ]),
      steps([
        [5, 50],
        [6, 60],
      ]),
    );
    expect([...found.xs]).toEqual([50]);
    expect(found.missingCount).toBe(2);
  });

  it('passes over values of the other that are not finite', () => {
    expect(
      joined(
        [[1, 7]],
        [
          [0, 10],
          [1, Number.NaN],
          [2, 30],
        ],
      ),
    ).toEqual([[20, 7]]);
  });

  it('comes by ascending value of the other, and knows the rows of its points', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 30 }),
        fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 51, maxLength: 51 }),
        (written, by) => {
          const of = written.map((step): [number, number] => [step, step * 10]);
          const series = seriesOf(of);
          const found = onMetric(
            onAxis(series, 'step', 0, NO_EPOCHS),
            steps(by.map((value, step) => [step, value])),
          );
          expect(found.xs).toHaveLength(written.length);
          for (const [at, x] of found.xs.entries()) {
            expect(x).toBeGreaterThanOrEqual(found.xs[at - 1] ?? Number.NEGATIVE_INFINITY);
            const row = found.rows?.[at] ?? -1;
            expect(series.values[row]).toBe(found.ys[at]);
            expect(by[series.steps[row] ?? -1]).toBe(x);
          }
        },
      ),
      runs(200),
    );
  });

  it('is computed again only when either has grown', () => {
    const series = seriesOf([
      [0, 1],
      [1, 2],
    ]);
    const by = seriesOf([
      [0, 10],
      [1, 20],
    ]);
    const source = { series, by, startMs: 0, scale: NO_EPOCHS };
    const first = placedOn('metric:tokens', source);
    expect(placedOn('metric:tokens', source)).toBe(first);
    by.push(30, 2, Number.NaN, 0);
    series.push(3, 2, Number.NaN, 0);
    expect([...(placedOn('metric:tokens', source)?.xs ?? [])]).toEqual([10, 20, 30]);
    expect(placedOn('metric:tokens', { ...source, by: undefined })).toBeUndefined();
  });
});

describe('the clock', () => {
  it('counts seconds since 1970, and times since the run began', () => {
    const series = seriesOf([
      [10, 1],
      [11, 2],
    ]);
    expect([...onAxis(series, 'wall', 5000, NO_EPOCHS).xs]).toEqual([10, 11]);
    expect([...onAxis(series, 'time', 5000, NO_EPOCHS).xs]).toEqual([5, 6]);
  });
});

describe('marks', () => {
  const series = seriesOf([
    [0, 5],
    [100, 4],
    [200, 3],
  ]);
  const on = (axis: 'step' | 'time'): { points: AxisSeries; series: SampleSeries }[] => [
    { points: onAxis(series, axis, 0, NO_EPOCHS), series },
  ];

  it('are where their step is on any axis', () => {
    const mark = { kind: 'alert', text: 'x', step: 90 } as const;
    expect(markX(mark, 'step', on('step'), 0)).toBe(90);
    // The point of step 100 is the nearest.
    expect(markX(mark, 'time', on('time'), 0)).toBe(100);
    expect(markX({ ...mark, timeMs: 90_500 }, 'time', on('time'), 500)).toBe(90);
    expect(markX({ kind: 'note', text: 'x', timeMs: 99_000 }, 'step', on('step'), 0)).toBe(100);
    expect(markX({ kind: 'note', text: 'x' }, 'step', on('step'), 0)).toBeUndefined();
    expect(markX({ kind: 'note', text: 'x', x: 7 }, 'time', [], 0)).toBe(7);
  });

  it('and bands are hidden by kind, with their curve, and where the axis has no position for them', () => {
    const view = (axis: 'step' | 'time', hiddenMarks: readonly ('alert' | 'phase')[] = []) => ({
      settings: { axis, hiddenMarks },
      curves: on(axis),
      startMs: 0,
    });
    const marks = [
      { kind: 'alert' as const, text: 'a', step: 90, of: 'run' },
      { kind: 'note' as const, text: 'b', step: 90 },
      { kind: 'note' as const, text: 'nowhere' },
    ];
    const texts = (hidden: ReadonlySet<string>, hiddenMarks: readonly ('alert' | 'phase')[]) =>
      placedMarks(marks, hidden, view('step', hiddenMarks)).map(({ mark }) => mark.text);
    expect(texts(new Set(), [])).toEqual(['a', 'b']);
    expect(texts(new Set(['run']), [])).toEqual(['b']);
    expect(texts(new Set(), ['alert'])).toEqual(['b']);
    const band = { start: 90, end: 199, axis: 'step' as const, color: 'red', label: 'x' };
    const phase = { ...band, kind: 'phase' as const };
    expect(placedBands([phase], view('step'))).toEqual([phase]);
    // The points of steps 100 and 200 are the nearest.
    expect(placedBands([phase], view('time'))).toMatchObject([{ start: 100, end: 200 }]);
    expect(placedBands([band, phase], view('step', ['phase']))).toEqual([band]);
    // The epochs of these points are not known; a band without an axis is where it says, whatever is shown.
    expect(placedBands([{ ...phase, axis: 'epoch' }], view('step'))).toEqual([]);
    const here = { start: 1, end: 2, color: 'red', label: '' };
    expect(placedBands([here], view('time', ['phase']))).toEqual([here]);
  });

  it('that are close to each other are one, of the kind that matters most', () => {
    const frame = {
      left: 50,
      top: 10,
      width: 100,
      height: 100,
      x: { min: 0, max: 100, isLog: false },
      y: { min: 0, max: 1, isLog: false },
    };
    const placed = [90, 10, 12, 200].map((x, at) => ({
      x,
      mark: { kind: at === 2 ? ('alert' as const) : ('event' as const), text: String(x) },
    }));
    const groups = markGroups(placed, frame);
    expect(groups.map(({ left, kind, marks }) => [left, kind, marks.length])).toEqual([
      [60, 'alert', 2],
      [140, 'event', 1],
    ]);
  });
});
