import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  holm,
  meanInterval,
  studentQuantile,
  studentTwoSided,
  welchTest,
} from '../../../../src/analysis/signals/student-t.ts';
import { runs } from '../../../support/property.ts';

test('probabilities of tables', () => {
  // Two-sided 5 % points of printed tables, and the closed forms of 1 and 2 degrees of freedom.
  for (const [df, t] of [
    [1, 12.7062],
    [2, 4.30265],
    [5, 2.57058],
    [10, 2.22814],
    [30, 2.04227],
    [120, 1.97993],
  ] as const)
    expect(studentTwoSided(t, df)).toBeCloseTo(0.05, 5);
  for (const t of [0, 0.3, 1, 7, 1e6]) {
    expect(studentTwoSided(t, 1)).toBeCloseTo(1 - (2 / Math.PI) * Math.atan(t), 12);
    expect(studentTwoSided(t, 2)).toBeCloseTo(1 - t / Math.sqrt(2 + t * t), 12);
  }
  expect(studentTwoSided(1.959963984540054, 1e9)).toBeCloseTo(0.05, 8);
  expect(studentTwoSided(Infinity, 3)).toBe(0);
  expect(studentTwoSided(Number.NaN, 3)).toBeNaN();
});

test('the quantile is the inverse', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.01, max: 0.999, noNaN: true }),
      fc.double({ min: 1, max: 1e6, noNaN: true }),
      (confidence, df) => {
        expect(1 - studentTwoSided(studentQuantile(confidence, df), df)).toBeCloseTo(confidence, 9);
      },
    ),
    runs(200),
  );
});

test('an interval by hand, and one of a single value', () => {
  const { high, low, mean, std } = meanInterval([1, 2, 3, 4, 5], 0.95);
  expect([mean, std]).toEqual([3, Math.sqrt(2.5)]);
  expect(high - mean).toBeCloseTo((2.776445105 * Math.sqrt(2.5)) / Math.sqrt(5), 8);
  expect(mean - low).toBeCloseTo(high - mean, 12);
  expect(meanInterval([7], 0.95)).toMatchObject({ count: 1, mean: 7, low: Number.NaN });
});

test("Welch's test by hand", () => {
  // Means 20 and 22, variances 4 and 16 of 5 values each: t = -2 / sqrt(0.8 + 3.2), df = 16 / (0.16 + 2.56).
  const spread = (mean: number, variance: number): number[] =>
    [-2, -1, 0, 1, 2].map((step) => mean + step * Math.sqrt(variance / 2.5));
  const test1 = welchTest(spread(20, 4), spread(22, 16), 0.95);
  expect(test1?.t).toBeCloseTo(-1, 12);
  expect(test1?.degreesOfFreedom).toBeCloseTo(16 / 2.72, 10);
  expect(test1?.pValue).toBeCloseTo(studentTwoSided(1, 16 / 2.72), 12);
  expect(welchTest([1], [1, 2], 0.95)).toBeUndefined();
  // Without noise there is nothing to test by, and what rounding makes of 0.1 is no noise.
  expect(welchTest([1, 1], [1, 1], 0.95)).toBeUndefined();
  expect(welchTest([1, 1], [2, 2], 0.95)).toBeUndefined();
  expect(welchTest([0.1 + 0.2, 0.3], [0.4, 0.4], 0.95)).toBeUndefined();
  expect(welchTest([0, 0], [1e-9, 2e-9], 0.95)?.pValue).toBeGreaterThan(0.1);
});

test("Holm's correction", () => {
  expect(holm([0.01, 0.04, 0.03])).toEqual([0.03, 0.06, 0.06]);
  expect(holm([0.6, 0.9])).toEqual([1, 1]);
  expect(holm([])).toEqual([]);
});
