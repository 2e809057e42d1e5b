import { describe, expect, it } from 'vitest';
import { smooth } from '../../../demo/dashboard/model/smooth.ts';

describe('smooth', () => {
  it('changes nothing at weight 0', () => {
    expect([...smooth(Float64Array.of(3, 1, 2), 0)]).toEqual([3, 1, 2]);
  });

  it('starts at the first value and keeps a constant constant', () => {
    expect(smooth(Float64Array.of(8, 1), 0.9)[0]).toBeCloseTo(8, 12);
    for (const y of smooth(new Float64Array(50).fill(4), 0.95)) expect(y).toBeCloseTo(4, 12);
  });

  it('is the weighted mean of what came before', () => {
    // weights of 2 and 4 at 0.5: 0.25 and 0.5, normalised to 1/3 and 2/3
    expect(smooth(Float64Array.of(2, 4), 0.5)[1]).toBeCloseTo(2 / 3 + 8 / 3, 12);
  });

  it('leaves non-finite values where they are and out of the mean', () => {
    const out = smooth(Float64Array.of(2, Number.NaN, 2, Number.POSITIVE_INFINITY, 2), 0.9);
    expect(out[1]).toBeNaN();
    expect(out[3]).toBe(Number.POSITIVE_INFINITY);
    expect(out[2]).toBeCloseTo(2, 12);
    expect(out[4]).toBeCloseTo(2, 12);
  });
});
