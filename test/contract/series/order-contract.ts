/** What order statistics have to do, whichever twin computes them. */
import { describe, expect, test } from 'vitest';
import {
  NORMAL_MAD_SCALE,
  type OrderKernel,
  QUANTILE_METHODS,
} from '../../../src/kernel/series/order/order.ts';
import { drawn } from '../../support/hard-series.ts';

export function describeOrder(way: string, open: () => Promise<OrderKernel>): void {
  describe(`order statistics: ${way}`, () => {
    // Checked against numpy 2.4: numpy.quantile([3, 1, 4, 1, 5, 9, 2, 6], p, method=...).
    test.each([
      ['linear', [1, 1.35, 1.75, 3.5, 5.25, 6.9, 9]],
      ['lower', [1, 1, 1, 3, 5, 6, 9]],
      ['higher', [1, 2, 2, 4, 6, 9, 9]],
      ['nearest', [1, 1, 2, 4, 5, 6, 9]],
    ] as const)('quantiles, %s, are those of numpy', async (method, wanted) => {
      const kernel = await open();
      const found = kernel.quantiles(
        [3, 1, 4, 1, 5, 9, 2, 6],
        [0, 0.19285714285714287, 0.25, 0.5, 0.75, 0.9, 1],
        { method },
      );
      wanted.forEach((value, i) => expect(found[i]).toBeCloseTo(value, 12));
    });

    test('quantiles come in the order they are asked for, and as often', async () => {
      const kernel = await open();
      const values = Float64Array.from({ length: 101 }, (_, i) => 100 - i);
      expect([...kernel.quantiles(values, [1, 0, 0.37, 1, 0.37])]).toEqual([100, 0, 37, 100, 37]);
      expect(kernel.quantiles(values, [])).toEqual(new Float64Array(0));
    });

    test('what is not finite is skipped, and nothing is left of nothing', async () => {
      const kernel = await open();
      const none = [[], [Number.NaN], [Infinity, -Infinity, Number.NaN]];
      for (const values of none) {
        expect(kernel.quantiles(values, [0, 0.5])).toEqual(Float64Array.of(Number.NaN, Number.NaN));
        expect(kernel.median(values)).toBeNaN();
        expect(kernel.interquartileRange(values)).toBeNaN();
        expect(kernel.medianAbsoluteDeviation(values)).toEqual({
          median: Number.NaN,
          mad: Number.NaN,
          scale: 1,
        });
      }
      const some = [Number.NaN, 3, Infinity, 1, 2, -Infinity, 4, 5, Number.NaN];
      expect([...kernel.quantiles(some, [0, 0.25, 1])]).toEqual([1, 2, 5]);
      expect(kernel.interquartileRange(some)).toBe(2);
      expect(kernel.medianAbsoluteDeviation(some)).toEqual({ median: 3, mad: 1, scale: 1 });
    });

    test('the median absolute deviation of normal values, scaled, is near the standard deviation', async () => {
      const kernel = await open();
      const values = drawn('normal around 0', 100_000, 3).map((x) => 7 + 2 * x);
      const { median, mad, scale } = kernel.medianAbsoluteDeviation(values, {
        scale: NORMAL_MAD_SCALE,
      });
      expect(scale).toBe(NORMAL_MAD_SCALE);
      expect(median).toBeCloseTo(7, 1);
      expect(Math.abs(mad - 2)).toBeLessThan(0.03);
    });

    test('distances that overflow do not', async () => {
      const kernel = await open();
      const max = Number.MAX_VALUE;
      expect(kernel.medianAbsoluteDeviation([-max, -max, -max, 0, max])).toEqual({
        median: -max,
        mad: 0,
        scale: 1,
      });
      expect(kernel.medianAbsoluteDeviation([-max, max, max, -max, 0, 0, 0]).mad).toBe(max);
      expect(kernel.medianAbsoluteDeviation([-max, max, max, -max / 2, max]).mad).toBe(0);
      expect([...kernel.quantiles([-max, max], [0, 0.5, 1])]).toEqual([-max, 0, max]);
      const quarter = kernel.quantiles([-max, max], [0.25])[0] ?? 0;
      expect(Math.abs(quarter / max + 0.5)).toBeLessThan(2 ** -51);
      expect(kernel.interquartileRange([-max, -max, max, max])).toBe(Infinity);
    });

    test('a zero has no sign', async () => {
      const kernel = await open();
      for (const length of [1, 5, 300, 5000]) {
        const zeros = Float64Array.from({ length }, (_, i) => (i % 2 === 0 ? -0 : 0));
        expect([...kernel.quantiles(zeros, [0, 0.3, 1])]).toEqual([0, 0, 0]);
        expect(kernel.medianAbsoluteDeviation(zeros)).toEqual({ median: 0, mad: 0, scale: 1 });
      }
    });

    test('float32 and plain arrays are the same series', async () => {
      const kernel = await open();
      const values = Float32Array.from(drawn('cauchy', 5000, 9));
      const wanted = kernel.quantiles(Float64Array.from(values), [0.01, 0.5, 0.9]);
      expect(kernel.quantiles(values, [0.01, 0.5, 0.9])).toEqual(wanted);
      expect(kernel.quantiles([...values], [0.01, 0.5, 0.9])).toEqual(wanted);
    });

    test('the values are not changed', async () => {
      const kernel = await open();
      const values = drawn('cauchy', 5000, 10);
      values[17] = Number.NaN;
      const before = values.slice();
      kernel.quantiles(values, [0.1, 0.2]);
      kernel.medianAbsoluteDeviation(values);
      expect(values).toEqual(before);
    });

    test('a series whose memory is gone is refused, instead of taken for an empty one', async () => {
      const kernel = await open();
      for (const Type of [Float64Array, Float32Array]) {
        const values = new Type(4);
        structuredClone(values.buffer, { transfer: [values.buffer] });
        expect(() => kernel.median(values)).toThrow(
          expect.objectContaining({
            code: 'invalid_input',
            details: expect.objectContaining({ field: 'values' }),
          }),
        );
        expect(kernel.median(new Type(0))).toBeNaN();
      }
    });

    test('bad arguments are refused by name', async () => {
      const kernel = await open();
      const loose = kernel as unknown as { quantiles(...given: unknown[]): unknown };
      const cases: readonly (readonly [() => unknown, string])[] = [
        [() => kernel.quantiles([1], [0.5, 1.5]), 'probabilities[1]'],
        [() => kernel.quantiles([1], [Number.NaN]), 'probabilities[0]'],
        [() => loose.quantiles([1], 0.5), 'probabilities'],
        [() => kernel.quantiles([1], new Array(65_537).fill(0.5)), 'probabilities'],
        [() => loose.quantiles('abc', [0.5]), 'values'],
        [() => loose.quantiles([1, '2'], [0.5]), 'values[1]'],
        [() => loose.quantiles([1], [0.5], { method: 'middle' }), 'options.method'],
        [() => loose.quantiles([1], [0.5], { methods: 'lower' }), 'options.methods'],
        [() => kernel.medianAbsoluteDeviation([1], { scale: 0 }), 'options.scale'],
        [() => kernel.medianAbsoluteDeviation([1], { scale: Infinity }), 'options.scale'],
      ];
      for (const [call, field] of cases) {
        expect(call).toThrow(
          expect.objectContaining({
            code: 'invalid_input',
            details: expect.objectContaining({ field }),
          }),
        );
      }
      expect(QUANTILE_METHODS).toContain('linear');
    });
  });
}
