import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatTick } from '../../../dashboard/parts/format.ts';
import { linearRange, tickIncrements, ticksBetween } from '../../../dashboard/charts/value-axis.ts';
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
