import { describe, expect, it } from 'vitest';
import {
  formatAgo,
  formatCount,
  formatDuration,
  formatElapsed,
  formatTick,
  formatValue,
  shortId,
} from '../../../dashboard/parts/format.ts';

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
