/** What every implementation of the curve kernels has to do, as one suite. */
import { beforeAll, describe, expect, test } from 'vitest';
import { isQuarkError } from '../../../src/base/errors.ts';
import type { CurveKernel } from '../../../src/kernel/series/curve/curve.ts';
import { normal } from '../../support/tensors.ts';

function expectRefused(call: () => unknown, field: string): void {
  try {
    call();
  } catch (error) {
    expect(isQuarkError(error, 'invalid_input') && error.details['field']).toBe(field);
    return;
  }
  expect.fail(`nothing was refused, instead of ${field}`);
}

/** Equal but for rounding. */
function expectClose(found: ArrayLike<number>, wanted: readonly number[]): void {
  const round = (x: number): string => x.toPrecision(14);
  expect(Array.from(found, round)).toEqual(wanted.map(round));
}

export function describeCurve(name: string, open: () => Promise<CurveKernel>): void {
  describe(name, () => {
    let kernel: CurveKernel;
    beforeAll(async () => {
      kernel = await open();
    });
    describe('smoothExponential', () => {
      describeExponential(() => kernel);
    });
    describe('smoothRobust', () => {
      describeRobust(() => kernel);
    });
    describe('theilSen', () => {
      describeTheilSen(() => kernel);
    });
    describe('spikes', () => {
      describeSpikes(() => kernel);
    });
    describe('areaUnderCurve', () => {
      describeArea(() => kernel);
    });
    describe('alignOnStep', () => {
      describeAlign(() => kernel);
    });
  });
}

function describeExponential(kernel: () => CurveKernel): void {
  test('starts corrected, as TensorBoard does', () => {
    // weight 0.5: 1; (0.5 * 1 + 2) / 1.5; (0.25 * 1 + 0.5 * 2 + 4) / 1.75.
    const found = kernel().smoothExponential([1, 2, 4], { weight: 0.5 });
    expectClose(found, [1, 2.5 / 1.5, 5.25 / 1.75]);
  });

  test('starts at the first value where it is not corrected', () => {
    const found = kernel().smoothExponential([1, 2, 4], { alpha: 0.5, adjust: false });
    expect(Array.from(found)).toEqual([1, 1.5, 2.75]);
  });

  test('takes span and half-life for what pandas takes them', () => {
    const values = normal(40, 0, 1, 3);
    expect(kernel().smoothExponential(values, { span: 9 })).toEqual(
      kernel().smoothExponential(values, { alpha: 0.2 }),
    );
    expect(kernel().smoothExponential(values, { halfLife: 1 })).toEqual(
      kernel().smoothExponential(values, { weight: 0.5 }),
    );
  });

  test('skips what is not finite: a gap, or the result before it', () => {
    const values = [Number.NaN, 1, Infinity, 2, -Infinity];
    const [nan, mean] = [Number.NaN, 2.5 / 1.5];
    const smooth = (fillGaps: boolean): Float64Array =>
      kernel().smoothExponential(values, { weight: 0.5, fillGaps });
    expectClose(smooth(false), [nan, 1, nan, mean, nan]);
    expectClose(smooth(true), [nan, 1, 1, mean, mean]);
  });

  test('forgets by distance, and nothing at a step back', () => {
    const smooth = (positions: number[]): Float64Array =>
      kernel().smoothExponential([1, 3], { halfLife: 2, positions });
    expectClose(smooth([0, 2]), [1, (0.5 + 3) / 1.5]);
    expectClose(smooth([5, 5]), [1, 2]);
    expectClose(smooth([600, 500]), [1, 2]);
    expectClose(smooth([0, 1e300]), [1, 3]);
    expectClose(smooth([0, Number.NaN]), [1, Number.NaN]);
  });

  test('leaves a constant as it is, and huge values finite', () => {
    for (const value of [0.1, -1e6, 5e-324, 1e308, -Number.MAX_VALUE]) {
      const found = kernel().smoothExponential(new Float64Array(50).fill(value), { weight: 0.9 });
      expect(found.every((x) => x === value)).toBe(true);
    }
    const both = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? 1 : -1) * Number.MAX_VALUE);
    const found = kernel().smoothExponential(both, { weight: 0.9 });
    expect(found.every((x) => Number.isFinite(x))).toBe(true);
    expect(Math.abs((found[49] ?? 0) / Number.MAX_VALUE)).toBeLessThan(0.06);
  });

  test('refuses more than one way to forget, and values out of range', () => {
    const smooth = (options: object) => () => kernel().smoothExponential([1, 2], options);
    expectRefused(smooth({ alpha: 0.5, span: 3 }), 'options');
    expectRefused(smooth({ alpha: 0 }), 'options.alpha');
    expectRefused(smooth({ weight: 1 }), 'options.weight');
    expectRefused(smooth({ halfLife: Number.NaN }), 'options.halfLife');
    expectRefused(smooth({ span: 0.5 }), 'options.span');
    expectRefused(smooth({ adjust: 1 }), 'options.adjust');
    expectRefused(smooth({ positions: [1] }), 'options.positions');
    expectRefused(smooth({ wieght: 0.5 }), 'options.wieght');
  });
}

function describeRobust(kernel: () => CurveKernel): void {
  test('takes the median of a window that is cut off at the ends', () => {
    const found = kernel().smoothRobust([9, 1, 2, 100, 3, 4], { window: 3 });
    expect(Array.from(found)).toEqual([5, 2, 2, 3, 4, 3.5]);
  });

  test('looks back only where it is told to', () => {
    const found = kernel().smoothRobust([9, 1, 2, 100, 3], { window: 3, center: false });
    expect(Array.from(found)).toEqual([9, 5, 2, 2, 3]);
  });

  test('an even window has one more before than after', () => {
    expect(Array.from(kernel().smoothRobust([1, 5, 7], { window: 2 }))).toEqual([1, 3, 6]);
  });

  test('does not see what is not finite', () => {
    const values = [1, Number.NaN, 3, Infinity, Number.NaN, Number.NaN, 7];
    expect(Array.from(kernel().smoothRobust(values, { window: 3 }))).toEqual([
      1,
      Number.NaN,
      3,
      Number.NaN,
      Number.NaN,
      Number.NaN,
      7,
    ]);
    expect(Array.from(kernel().smoothRobust(values, { window: 3, fillGaps: true }))).toEqual([
      1,
      2,
      3,
      3,
      Number.NaN,
      7,
      7,
    ]);
  });

  test('windows of one value, and far wider than the series', () => {
    expect(Array.from(kernel().smoothRobust([3, 1, 2], { window: 1 }))).toEqual([3, 1, 2]);
    expect(Array.from(kernel().smoothRobust([3, 1, 2], { window: 2 ** 22 }))).toEqual([2, 2, 2]);
    expect(kernel().smoothRobust([], { window: 5 })).toEqual(new Float64Array(0));
  });

  test('refuses windows out of range', () => {
    const smooth = (options: object) => () => kernel().smoothRobust([1, 2], options);
    for (const window of [0, 1.5, 2 ** 22 + 1, Number.NaN, '5'])
      expectRefused(smooth({ window }), 'options.window');
    expectRefused(smooth({ center: 'yes' }), 'options.center');
  });
}

function describeTheilSen(kernel: () => CurveKernel): void {
  test('is the line through points on a line, whatever a quarter of them are', () => {
    const values = Array.from({ length: 200 }, (_, i) => (i % 4 === 0 ? 1e6 * i : 5 - 0.25 * i));
    expect(kernel().theilSen(values)).toMatchObject({ slope: -0.25, intercept: 5, count: 200 });
  });

  test('takes points in any order and leaves out pairs at one position', () => {
    const positions = [3, 1, 2, 2, Number.NaN, 9];
    const values = [6, 2, 4, 100, 7, Infinity];
    // Slopes: 2, 2, 98, 2, -94, and none at position 2.
    expect(kernel().theilSen(values, { positions })).toMatchObject({
      slope: 2,
      intercept: 0,
      count: 4,
      pairCount: 5,
    });
  });

  test('has no slope without two positions', () => {
    for (const values of [[], [1], [Number.NaN, 2], [Infinity, Number.NaN]])
      expect(kernel().theilSen(values, { confidence: 0.9 })).toMatchObject({
        slope: Number.NaN,
        intercept: Number.NaN,
        pairCount: 0,
        interval: { low: Number.NaN, high: Number.NaN },
        trend: { s: 0, tau: Number.NaN, z: Number.NaN, pValue: Number.NaN },
      });
    const { slope, pairCount } = kernel().theilSen([1, 2, 3], { positions: [4, 4, 4] });
    expect([slope, pairCount]).toEqual([Number.NaN, 0]);
  });

  test('a constant has slope 0 and no trend to test', () => {
    expect(kernel().theilSen([7, 7, 7, 7])).toMatchObject({
      slope: 0,
      intercept: 7,
      trend: { s: 0, tau: Number.NaN, z: Number.NaN, pValue: Number.NaN },
    });
  });

  test('tests the trend as Mann and Kendall do', () => {
    // S = 28 - 2 * 3, variance 8 * 7 * 21 / 18.
    const { trend } = kernel().theilSen([1, 3, 2, 4, 6, 5, 8, 7]);
    expect(trend.s).toBe(22);
    expect(trend.tau).toBeCloseTo(22 / 28, 14);
    expect(trend.z).toBeCloseTo(21 / Math.sqrt(196 / 3), 13);
    // 2 (1 - Phi(2.5980762113533160)), to 12 places.
    expect(trend.pValue).toBeCloseTo(0.009374768459, 11);
  });

  test('the confidence interval holds the slope in nineteen of twenty series', () => {
    let hits = 0;
    for (let seed = 1; seed <= 200; seed++) {
      const values = normal(60, 0, 1, seed).map((x, i) => 0.05 * i + x);
      const { interval, slope } = kernel().theilSen(values, { confidence: 0.95 });
      if (interval === null) expect.fail('no interval');
      expect(interval.low <= slope && slope <= interval.high).toBe(true);
      if (interval.low <= 0.05 && 0.05 <= interval.high) hits += 1;
    }
    expect(hits).toBeGreaterThan(180);
    expect(hits).toBeLessThan(200);
  });

  test('does not mind the unit, however large or small', () => {
    const values = normal(500, 1, 1, 5).map((x) => Math.fround(x));
    const { slope } = kernel().theilSen(values);
    for (const unit of [2 ** -900, 2 ** -20, 2 ** 500, 2 ** 1000])
      expect(kernel().theilSen(values.map((x) => x * unit)).slope).toBe(slope * unit);
    const positions = values.map((_, i) => i * 2 ** -600);
    expect(kernel().theilSen(values, { positions }).slope).toBe(slope * 2 ** 600);
    expect(
      kernel().theilSen(
        values.map((x) => x * 2 ** 600),
        { positions },
      ).slope,
    ).toBe(Math.sign(slope) * Infinity);
  });

  test('refuses a confidence that is none', () => {
    for (const confidence of [0, 1, 95, Number.NaN])
      expectRefused(() => kernel().theilSen([1, 2], { confidence }), 'options.confidence');
  });
}

function describeSpikes(kernel: () => CurveKernel): void {
  const noisy = (): Float64Array => normal(1000, 2, 0.1, 11);

  test('finds none in noise, a trend, a step down or a constant', () => {
    expect(kernel().spikes(noisy())).toEqual([]);
    expect(kernel().spikes(noisy().map((x, i) => x + 0.01 * i))).toEqual([]);
    expect(kernel().spikes(noisy().map((x, i) => (i < 500 ? x + 5 : x)))).toEqual([]);
    expect(kernel().spikes(new Float64Array(500).fill(3))).toEqual([]);
    expect(kernel().spikes([])).toEqual([]);
    expect(kernel().spikes(new Float64Array(50).fill(Number.NaN))).toEqual([]);
  });

  test('says where a spike begins, peaks and is over', () => {
    const values = noisy();
    values.set([6, 9, Number.NaN, 7, 5], 400);
    const [spike, ...others] = kernel().spikes(values);
    expect(others).toEqual([]);
    expect(spike).toMatchObject({
      direction: 'up',
      start: 400,
      peak: 401,
      end: 405,
      isRecovered: true,
    });
    expect(spike?.level).toBeCloseTo(2, 1);
    expect(spike?.spread).toBeCloseTo(0.1, 1);
    expect(spike?.heightInSpreads).toBeGreaterThan(40);
  });

  test('finds the same spikes whatever the unit, and those that were there before', () => {
    const values = noisy();
    for (const at of [100, 500, 505, 900]) values[at] = 8;
    const starts = (of: Float64Array): number[] =>
      kernel()
        .spikes(of)
        .map(({ start }) => start);
    expect(starts(values)).toEqual([100, 500, 505, 900]);
    expect(starts(values.map((x) => x * 1e-12))).toEqual([100, 500, 505, 900]);
    expect(kernel().spikes(values).slice(0, 3)).toEqual(kernel().spikes(values.subarray(0, 800)));
  });

  test('what does not come back is one spike and then a new level', () => {
    const values = noisy().map((x, i) => (i < 300 ? x : x + 10));
    expect(kernel().spikes(values)).toMatchObject([{ start: 300, end: 401, isRecovered: false }]);
    expect(kernel().spikes(values.subarray(0, 350))).toMatchObject([
      { start: 300, end: 350, isRecovered: false },
    ]);
  });

  test('looks down, and both ways', () => {
    const values = noisy();
    values[200] = -4;
    values[300] = 9;
    const of = (direction: 'up' | 'down' | 'both'): unknown[] =>
      kernel()
        .spikes(values, { direction })
        .map((spike) => [spike.direction, spike.start]);
    expect(of('up')).toEqual([['up', 300]]);
    expect(of('down')).toEqual([['down', 200]]);
    expect(of('both')).toEqual([
      ['down', 200],
      ['up', 300],
    ]);
  });

  test('a series that hardly changes has a spread, a constant has none', () => {
    const values = new Float64Array(200).fill(1);
    values[150] = 3;
    values[170] = 3;
    const [first, second] = kernel().spikes(values);
    expect(first).toMatchObject({ start: 150, end: 151, spread: 0, heightInSpreads: Infinity });
    expect(second?.spread).toBeCloseTo((1.2533141373155 * 2) / 101, 12);
  });

  test('does not take a small rise of a calm series for a spike', () => {
    const values = normal(400, 100, 0.01, 2);
    values[300] = 105;
    expect(kernel().spikes(values)).toEqual([]);
    expect(kernel().spikes(values, { minRelativeHeight: 0.04 })).toHaveLength(1);
    expect(kernel().spikes(values, { minRelativeHeight: 0, minHeight: 6 })).toEqual([]);
  });

  test('refuses options that make no sense', () => {
    const find = (options: object) => () => kernel().spikes([1, 2], options);
    expectRefused(find({ window: 1 }), 'options.window');
    expectRefused(find({ minPeriods: 102 }), 'options.minPeriods');
    expectRefused(find({ threshold: 0 }), 'options.threshold');
    expectRefused(find({ threshold: 2, recovery: 3 }), 'options.recovery');
    expectRefused(find({ minHeight: -1 }), 'options.minHeight');
    expectRefused(find({ maxLength: 0 }), 'options.maxLength');
    expectRefused(find({ direction: 'sideways' }), 'options.direction');
  });
}

function describeArea(kernel: () => CurveKernel): void {
  test('adds trapezoids between finite points', () => {
    expect(kernel().areaUnderCurve([0, 2, Number.NaN, 4])).toEqual({
      area: 1 + 6,
      span: 3,
      mean: 7 / 3,
      count: 3,
    });
  });

  test('takes points in any order, the last of those at one position', () => {
    const positions = [4, 0, 2, 2];
    expect(kernel().areaUnderCurve([4, 0, 50, 2], { positions })).toMatchObject({
      area: 8,
      count: 3,
    });
  });

  test('cuts lines at the ends and goes not beyond the points', () => {
    const positions = [0, 10];
    expect(kernel().areaUnderCurve([0, 10], { positions, from: 2, to: 4 })).toEqual({
      area: 6,
      span: 2,
      mean: 3,
      count: 0,
    });
    expect(kernel().areaUnderCurve([1, 1], { positions, from: -5, to: 5 })).toMatchObject({
      area: 5,
      span: 5,
      count: 1,
    });
    expect(kernel().areaUnderCurve([1, 1], { positions, from: 11 })).toMatchObject({
      area: 0,
      span: 0,
      mean: Number.NaN,
    });
  });

  test('of a single position is 0, and its mean is the value', () => {
    expect(kernel().areaUnderCurve([7])).toEqual({ area: 0, span: 0, mean: 7, count: 1 });
    expect(kernel().areaUnderCurve([0, 10], { from: 0.5, to: 0.5 }).mean).toBe(5);
    expect(kernel().areaUnderCurve([])).toEqual({ area: 0, span: 0, mean: Number.NaN, count: 0 });
  });

  test('refuses an end before the start', () => {
    expectRefused(() => kernel().areaUnderCurve([1], { from: 2, to: 1 }), 'options.to');
    expectRefused(() => kernel().areaUnderCurve([1], { from: Number.NaN }), 'options.from');
  });
}

function describeAlign(kernel: () => CurveKernel): void {
  const train = { steps: [1, 2, 3, 4, 5, 6], values: [6, 5, 4, 3, 2, 1] };
  const validation = { steps: [2.5, 5], values: [20, 10] };

  test('puts sparse validation beside training', () => {
    expect(kernel().alignOnStep(train, validation)).toMatchObject({
      steps: Float64Array.of(5),
      first: Float64Array.of(2),
      second: Float64Array.of(10),
      firstIndex: Int32Array.of(4),
      secondIndex: Int32Array.of(1),
    });
    const { steps, second } = kernel().alignOnStep(train, validation, {
      join: 'left',
      fill: 'previous',
    });
    expect(Array.from(steps)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(Array.from(second)).toEqual([Number.NaN, Number.NaN, 20, 20, 10, 10]);
  });

  test('fills from the nearest within the tolerance, the earlier of two', () => {
    const second = kernel().alignOnStep(train, validation, {
      join: 'left',
      fill: 'nearest',
      tolerance: 1.2,
    }).secondIndex;
    expect(Array.from(second)).toEqual([-1, 0, 0, 1, 1, 1]);
    const between = kernel().alignOnStep(
      { steps: [5], values: [0] },
      { steps: [4, 6], values: [1, 2] },
      { join: 'left', fill: 'nearest' },
    );
    expect(Array.from(between.second)).toEqual([1]);
  });

  test('a restart replaces what it repeats', () => {
    const restarted = { steps: [1, 2, 3, 2, 3], values: [1, 2, 3, 20, Number.NaN] };
    const { steps, first, firstIndex } = kernel().alignOnStep(restarted, train, { join: 'left' });
    expect(Array.from(steps)).toEqual([1, 2, 3]);
    expect(Array.from(first)).toEqual([1, 20, 3]);
    expect(Array.from(firstIndex)).toEqual([0, 3, 2]);
  });

  test('answers for no steps', () => {
    const none = { steps: [], values: [] };
    for (const join of ['inner', 'outer', 'left'] as const)
      expect(kernel().alignOnStep(none, none, { join }).steps).toEqual(new Float64Array(0));
    expect(kernel().alignOnStep(none, train, { join: 'outer', fill: 'nearest' })).toMatchObject({
      firstIndex: new Int32Array(6).fill(-1),
    });
  });

  test('refuses series that are none', () => {
    const short = { steps: [1], values: [1, 2] };
    expectRefused(() => kernel().alignOnStep(short, train), 'first.steps');
    expectRefused(() => kernel().alignOnStep(train, short), 'second.steps');
    expectRefused(() => kernel().alignOnStep(train, train, { tolerance: -1 }), 'options.tolerance');
  });
}
