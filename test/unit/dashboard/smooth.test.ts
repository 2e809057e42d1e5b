import { describe, expect, it } from 'vitest';
import { smooth } from '../../../dashboard/charts/smooth.ts';

/** Points one unit of the screen apart: each counts `weight` as much as the one after it. */
const evenly = (ys: readonly number[], weight: number): number[] => {
  const xs = Float64Array.from(ys, (_, at) => at);
  return [...smooth(xs, Float64Array.from(ys), weight, 500)];
};

describe('smooth', () => {
  it('changes nothing at weight 0', () => {
    expect(evenly([3, 1, 2], 0)).toEqual([3, 1, 2]);
  });

  it('starts at the first value, and keeps a constant exactly', () => {
    expect(evenly([8, 1], 0.9)[0]).toBe(8);
    expect(evenly(new Array<number>(500).fill(0.001), 0.8)).toEqual(new Array(500).fill(0.001));
  });

  it('is the weighted mean of what came before', () => {
    expect(evenly([2, 4], 0.5)[1]).toBeCloseTo((0.5 * 2 + 4) / 1.5, 12);
    expect(evenly([2, 4, 6], 0.5)[2]).toBeCloseTo((0.25 * 2 + 0.5 * 4 + 6) / 1.75, 12);
  });

  it('leaves points alone that lie far apart, and joins those that lie near', () => {
    const ys = Float64Array.of(1, 2, 3);
    const far = smooth(Float64Array.of(0, 250, 500), ys, 0.9, 500);
    for (const [at, y] of far.entries()) expect(y).toBeCloseTo(ys[at] ?? 0, 9);
    const near = smooth(Float64Array.of(0, 0.001, 0.002), ys, 0.9, 500);
    expect(near[2]).toBeCloseTo(2, 3);
  });

  it('smooths alike however many points the same curve has', () => {
    const jump = (count: number): number => {
      const xs = Float64Array.from({ length: count }, (_, at) => (at / count) * 1000);
      const ys = xs.map((x) => (x < 500 ? 0 : 1));
      const out = smooth(xs, ys, 0.95, 1000);
      return out[Math.floor(count * 0.51)] ?? Number.NaN;
    };
    expect(jump(100_000)).toBeCloseTo(jump(10_000), 2);
  });

  it('leaves non-finite values where they are and out of the mean', () => {
    const out = evenly([2, Number.NaN, 2, Number.POSITIVE_INFINITY, 2], 0.9);
    expect(out).toEqual([2, Number.NaN, 2, Number.POSITIVE_INFINITY, 2]);
  });

  it('bears an axis without length', () => {
    expect([...smooth(Float64Array.of(5), Float64Array.of(7), 0.9, 0)]).toEqual([7]);
  });
});
