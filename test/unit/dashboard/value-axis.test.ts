import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatTick } from '../../../dashboard/parts/format.ts';
import {
  innerRange,
  linearRange,
  tickIncrements,
  ticksBetween,
} from '../../../dashboard/charts/plot/value-axis.ts';
import { runs } from '../../support/property.ts';

describe('the value axis', () => {
  it('leaves room, but none below a zero', () => {
    expect(linearRange(0, 100)).toEqual([0, 107]);
    expect(linearRange(-50, 50)).toEqual([-57, 57]);
    expect(linearRange(2, 2)).toEqual([1.8, 2.2]);
    expect(linearRange(0, 0)).toEqual([-0.5, 0.5]);
    expect(linearRange(null, null)).toEqual([0, 1]);
  });

  it('has short numbers at its ticks', () => {
    expect(ticksBetween(-0.05, 0.32, 0.1)).toEqual([0, 0.1, 0.2, 0.3]);
    expect(ticksBetween(-2e38, 3.4e38, 1e38)).toEqual([-2e38, -1e38, 0, 1e38, 2e38, 3e38]);
    expect(ticksBetween(0, 5e-40, 2.5e-40)).toEqual([0, 2.5e-40, 5e-40]);
    expect(ticksBetween(0, 1, 0)).toEqual([]);
  });

  it('has labels that fit beside it', () => {
    expect(formatTick(2.5e38)).toBe('2.5e38');
    expect(formatTick(-1e301)).toBe('−1e301');
    expect(formatTick(2e9)).toBe('2G');
  });

  it('leaves outliers out, and says how far they go', () => {
    const healthy = Array.from({ length: 11 }, (_, run) =>
      Array.from({ length: 300 }, (_value, step) => (2 + run / 10) * Math.exp(-step / 80) + 0.3),
    );
    const diverged = Array.from({ length: 300 }, (_, step) =>
      step < 150 ? 1 : 1e3 * 1.05 ** (step - 150),
    );
    const range = innerRange([...healthy, diverged], false);
    expect(range?.lowest).toBeCloseTo(0.35, 1);
    expect(range?.highest).toBe(Math.max(...diverged));
    expect(range?.max).toBeCloseTo(3.3);
    expect(range?.min).toBe(range?.lowest);
    expect(innerRange(healthy, false)).toBeUndefined();
    expect(innerRange([[1, 1, 1, null, 900]], false)).toBeUndefined();
    expect(innerRange([], true)).toBeUndefined();
  });

  it('never leaves out the middle half of the values', () => {
    const values = fc.array(fc.double({ min: 1e-9, max: 1e9, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(values, fc.boolean(), (list, isLog) => {
        const range = innerRange([list], isLog);
        if (range === undefined) return;
        const inside = list.filter((value) => value >= range.min && value <= range.max).length;
        expect(inside * 2).toBeGreaterThanOrEqual(list.length);
        expect(inside).toBeLessThan(list.length);
        expect([range.lowest, range.highest]).toEqual([Math.min(...list), Math.max(...list)]);
      }),
      runs(300),
    );
  });

  it('has ticks for values of any size', () => {
    const value = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(value, value, (a, b) => {
        const [min, max] = linearRange(Math.min(a, b), Math.max(a, b));
        expect(Number.isFinite(max - min)).toBe(true);
        expect(max).toBeGreaterThan(min);
        const increments = tickIncrements(min, max);
        expect(increments.length).toBeGreaterThan(0);
        expect(increments.toSorted((x, y) => x - y)).toEqual(increments);
        const step = increments.find((increment) => (max - min) / increment <= 10);
        const ticks = ticksBetween(min, max, step ?? 0);
        // Numbers next to the smallest there are have no fractions left.
        if (max - min > 1e-300) expect(ticks.length).toBeGreaterThan(0);
        expect(ticks.length).toBeLessThanOrEqual(11);
      }),
      runs(500),
    );
  });
});
