import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatAgo,
  formatCount,
  formatDuration,
  formatElapsed,
  formatTick,
  formatTicks,
  formatValue,
  shortId,
} from '../../../dashboard/parts/format.ts';
import {
  linearRange,
  tickIncrements,
  ticksBetween,
} from '../../../dashboard/charts/plot/value-axis.ts';
import { runs } from '../../support/property.ts';

describe('formatting', () => {
  it.each([
    [0, '0'],
    [-0, '0'],
    [0.031_254_7, '0.03125'],
    [-0.5, '−0.5'],
    [0.000_000_321, '3.21e-7'],
    [1797, '1,797'],
    [12_345.678, '12,345.7'],
    [25_000_000, '2.5e7'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, '+∞'],
    [Number.NEGATIVE_INFINITY, '−∞'],
  ])('writes the value %d as %s', (value, text) => {
    expect(formatValue(value)).toBe(text);
  });

  it.each([
    [0, '0'],
    [0.5, '0.5'],
    [0.0002, '2e-4'],
    [0.001, '0.001'],
    [1500, '1500'],
    [20_000, '20k'],
    [1_250_000, '1.25M'],
    [-3_000_000_000, '−3G'],
  ])('writes the tick %d as %s', (value, text) => {
    expect(formatTick(value)).toBe(text);
  });

  it.each([
    [[0.0004, 0.0006, 0.0008, 0.001], '0.0004 0.0006 0.0008 0.0010'],
    [[0, 0.5, 1, 1.5], '0 0.5 1.0 1.5'],
    [[2e-7, 4e-7, 1e-6], '2e-7 4e-7 1e-6'],
    [[0, 5000, 10_000], '0 5k 10k'],
    [[0, 500_000, 1_000_000], '0 0.5M 1.0M'],
    [[-20, -10, 0, 10], '−20 −10 0 10'],
    [[1e38, 2e38], '1e38 2e38'],
    [[], ''],
  ])('writes the ticks %j in one notation', (ticks, text) => {
    expect(formatTicks(ticks).join(' ')).toBe(text);
  });

  it('writes ticks of a logarithmic axis in one notation', () => {
    expect(formatTicks([0.01, null, 0.1, 1, 10], true)).toEqual(['0.01', '', '0.1', '1', '10']);
    expect(formatTicks([1e-4, 1e-3, 0.01, 1], true)).toEqual(['1e-4', '1e-3', '1e-2', '1e0']);
  });

  it('writes no two ticks of an axis alike', () => {
    const value = fc.double({ min: -1e12, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(value, value, (a, b) => {
        const [min, max] = linearRange(Math.min(a, b), Math.max(a, b));
        const step = tickIncrements(min, max).find((one) => (max - min) / one <= 10) ?? 0;
        const ticks = ticksBetween(min, max, step);
        const texts = formatTicks(ticks);
        expect(new Set(texts).size).toBe(ticks.length);
        // The last letter of all but zero: the same unit.
        const units = texts.filter((text) => text !== '0').map((text) => /[kMG]?$/.exec(text)?.[0]);
        expect(new Set(units).size).toBeLessThanOrEqual(1);
      }),
      runs(500),
    );
  });

  it.each([
    [340, '340 ms'],
    [4200, '4.2 s'],
    [59_400, '59 s'],
    [59_600, '1m 00s'],
    [192_000, '3m 12s'],
    [7_500_000, '2h 05m'],
    [273_600_000, '3d 4h'],
    [-5, '0 ms'],
    [Number.NaN, '–'],
  ])('writes the span %d ms as %s', (span, text) => {
    expect(formatDuration(span)).toBe(text);
  });

  it('writes elapsed time by its size', () => {
    expect([0, 2.5, 45, 90, 7500, -3].map(formatElapsed)).toEqual([
      '0s',
      '2.5s',
      '45s',
      '1:30',
      '2:05:00',
      '−3s',
    ]);
  });

  it('says how long ago, and the date once that says more', () => {
    const now = Date.UTC(2026, 5, 15, 12);
    const ago = (seconds: number): string => formatAgo(now - seconds * 1000, now);
    expect([2, 42, 300, 7200, 200_000].map(ago)).toEqual([
      'just now',
      '42 s ago',
      '5 min ago',
      '2 h ago',
      '2 d ago',
    ]);
    expect(ago(86_400 * 30)).toBe('2026-05-16');
    expect(formatAgo(Number.NaN, now)).toBe('–');
  });

  it('groups thousands and shortens ids to their random end', () => {
    expect(formatCount(1_234_567.4)).toBe('1,234,567');
    expect(shortId('run_0123456789abcdef')).toBe('89abcdef');
    expect(shortId('short')).toBe('short');
  });
});
