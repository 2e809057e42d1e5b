/** What outliers have to be, whichever twin finds them. */
import { describe, expect, test } from 'vitest';
import type { OutlierKernel, OutlierOptions } from '../../../src/kernel/series/outlier/outlier.ts';
import { drawn } from '../../support/hard-series.ts';

const NONE = [Number.NaN, Infinity, -Infinity];

export function describeOutlier(way: string, open: () => Promise<OutlierKernel>): void {
  describe(`outliers: ${way}`, () => {
    // Median 2.55, distances 0.05 to 0.45 but for the last two of ten; their median is 0.25.
    const heights = [
      2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3, 2.2, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9, 3.0,
    ];

    test('robust z-scores, by hand', async () => {
      const kernel = await open();
      const found = kernel.outliers(heights);
      expect([...found.indices]).toEqual([8, 9]);
      expect(found.baseline?.center).toBe(2.55);
      expect(found.baseline?.spread).toBeCloseTo(0.25 * 1.482602218505602, 12);
      expect(found.scores[0]).toBeCloseTo((8.2 - 2.55) / (0.25 * 1.482602218505602), 9);
      expect(found.method).toBe('robust_z_score');
      expect(found.threshold).toBe(3.5);
    });

    test('z-scores, by hand', async () => {
      const kernel = await open();
      const values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100];
      // As numpy has it.
      const found = kernel.outliers(values, { method: 'z_score' });
      expect(found.baseline).toMatchObject({ count: 10, center: 14.5 });
      expect(found.baseline?.spread).toBeCloseTo(28.605069480775605, 12);
      expect([...found.indices]).toEqual([9]);
      expect(found.scores[0]).toBeCloseTo(85.5 / 28.605069480775605, 12);
      expect(found.upperFences[0]).toBe(found.baseline?.upperFence);
      expect(kernel.outliers(values, { method: 'z_score', threshold: 3 }).indices).toHaveLength(0);
    });

    test('interquartile fences, by hand', async () => {
      const kernel = await open();
      const values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100, -50];
      const found = kernel.outliers(values, { method: 'iqr_fence' });
      // Quartiles 2.5 and 7.5.
      expect(found.baseline).toEqual({
        count: 11,
        center: 5,
        spread: 5,
        lowerFence: -5,
        upperFence: 15,
      });
      expect([...found.indices]).toEqual([9, 10]);
      expect([...found.scores]).toEqual([92.5 / 5, -52.5 / 5]);
    });

    test.each([
      ['both', [9, 10]],
      ['upper', [9]],
      ['lower', [10]],
    ] as const)('side %s', async (side, wanted) => {
      const kernel = await open();
      const values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100, -50];
      for (const method of ['iqr_fence', 'robust_z_score'] as const)
        expect([...kernel.outliers(values, { method, side }).indices]).toEqual(wanted);
    });

    test('where more than half are equal, the mean distance stands in', async () => {
      const kernel = await open();
      const values = [7, 7, 7, 7, 7, 7, 8, 6, 7, 40];
      const found = kernel.outliers(values);
      expect(found.baseline?.spread).toBeCloseTo((35 / 10) * Math.sqrt(Math.PI / 2), 12);
      expect([...found.indices]).toEqual([9]);
    });

    test('equal values have no outliers, and one that differs is one', async () => {
      const kernel = await open();
      for (const method of ['z_score', 'robust_z_score', 'iqr_fence'] as const) {
        const equal = new Float64Array(5000).fill(0.1);
        for (const window of [null, 10, 700]) {
          const found = kernel.outliers(equal, { method, window });
          expect(found.indices).toHaveLength(0);
        }
        equal[4000] = 0.1 + 2 ** -53;
        const moving = kernel.outliers(equal, { method, window: 100 });
        expect(moving.indices[0]).toBe(4000);
        expect(moving.scores[0]).toBe(Infinity);
      }
    });

    test('what is not finite is told apart and judges nothing', async () => {
      const kernel = await open();
      const bad = new Map(NONE.map((value, i) => [3 + 2 * i, value]));
      const values = heights.slice();
      for (const [at, value] of bad) values.splice(at, 0, value);
      for (const window of [null, 12]) {
        for (const method of ['z_score', 'robust_z_score', 'iqr_fence'] as const) {
          const options: OutlierOptions = { method, window, threshold: 2 };
          const found = kernel.outliers(values, options);
          const wanted = kernel.outliers(heights, options);
          expect([...found.nonFiniteIndices]).toEqual([...bad.keys()]);
          expect([...found.indices]).toEqual([...wanted.indices].map((at) => at + bad.size));
          wanted.scores.forEach((score, i) => expect(found.scores[i]).toBeCloseTo(score, 11));
          expect(found.baseline?.count).toBe(wanted.baseline?.count);
          expect(found.indices.length).toBeGreaterThan(0);
        }
      }
      expect([...kernel.outliers(NONE).nonFiniteIndices]).toEqual([0, 1, 2]);
    });

    test('too few values are not judged', async () => {
      const kernel = await open();
      for (const method of ['z_score', 'robust_z_score', 'iqr_fence'] as const) {
        expect(kernel.outliers([], { method })).toMatchObject({ baseline: null });
        expect(kernel.outliers([], { method, window: 3 })).toMatchObject({ baseline: null });
        const few = [1, 1, 1, 1000];
        expect(kernel.outliers(few, { method }).baseline).toBeNull();
        expect(kernel.outliers(few, { method }).indices).toHaveLength(0);
        expect(kernel.outliers(few, { method, minCount: 4 }).baseline?.count).toBe(4);
        expect([...kernel.outliers(few, { method, window: 3 }).indices]).toEqual([3]);
        expect(kernel.outliers(few, { method, window: 4 }).indices).toHaveLength(0);
      }
    });

    test('a spike in a long trend is seen by the window only', async () => {
      const kernel = await open();
      const noise = drawn('normal around 0', 20_000, 2);
      const values = noise.map((x, i) => i + x);
      values[12_345] = 12_345 + 1000;
      for (const method of ['z_score', 'robust_z_score'] as const) {
        expect(kernel.outliers(values, { method, threshold: 8 }).indices).toHaveLength(0);
        expect([...kernel.outliers(values, { method, window: 64, threshold: 8 }).indices]).toEqual([
          12_345,
        ]);
      }
    });

    test('the values are not changed, and any kind of series is taken', async () => {
      const kernel = await open();
      const values = drawn('cauchy', 6000, 1);
      values[5] = Number.NaN;
      const before = values.slice();
      for (const method of ['z_score', 'robust_z_score', 'iqr_fence'] as const) {
        const found = kernel.outliers(values, { method });
        expect(kernel.outliers([...values], { method })).toEqual(found);
        expect(structuredClone(found)).toEqual(found);
      }
      expect(values).toEqual(before);
    });

    test('bad options are refused by name', async () => {
      const kernel = await open();
      const cases: readonly (readonly [unknown, string])[] = [
        [{ method: 'zscore' }, 'options.method'],
        [{ threshold: 0 }, 'options.threshold'],
        [{ threshold: '3' }, 'options.threshold'],
        [{ side: 'left' }, 'options.side'],
        [{ window: 1 }, 'options.window'],
        [{ window: 2.5 }, 'options.window'],
        [{ minCount: 1 }, 'options.minCount'],
        [{ window: 4, minCount: 5 }, 'options.minCount'],
        [{ windows: 4 }, 'options.windows'],
      ];
      const loose = kernel as unknown as { outliers(values: number[], options: unknown): unknown };
      for (const [options, field] of cases) {
        expect(() => loose.outliers([1, 2], options)).toThrow(
          expect.objectContaining({
            code: 'invalid_input',
            details: expect.objectContaining({ field }),
          }),
        );
      }
    });
  });
}
