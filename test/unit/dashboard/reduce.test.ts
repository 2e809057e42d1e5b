import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeriesPyramid } from 'quark-sdk/analysis';
import { nonFiniteKind, reduceSeries } from '../../../dashboard/charts/reduce.ts';
import { runs } from '../../support/property.ts';

const shaped = (xs: Float64Array, ys: Float64Array): SeriesPyramid => {
  const shape = new SeriesPyramid();
  shape.extendTo(ys, xs);
  return shape;
};
const columns = (points: readonly (readonly [number, number])[]): SeriesPyramid =>
  shaped(
    Float64Array.from(points, ([x]) => x),
    Float64Array.from(points, ([, y]) => y),
  );
const steps = (ys: readonly number[]): SeriesPyramid => columns(ys.map((y, x) => [x, y]));

describe('reduceSeries', () => {
  it('gives back every point of a series that is shorter than the screen', () => {
    const shape = steps([3, 1, 2]);
    expect(reduceSeries(shape, { min: 0, max: 2 }, 100)).toMatchObject({
      xs: [0, 1, 2],
      ys: [3, 1, 2],
      marks: [],
    });
  });

  it('keeps a spike of one point among a million, up and down', () => {
    const xs = Float64Array.from({ length: 1_000_000 }, (_, x) => x);
    const ys = new Float64Array(xs.length).fill(1);
    ys[654_321] = 50;
    ys[111_111] = -7;
    const reduced = reduceSeries(shaped(xs, ys), { min: 0, max: 999_999 }, 500);
    expect(reduced.xs.length).toBeLessThanOrEqual(9 * 502);
    expect(reduced.ys[reduced.xs.indexOf(654_321)]).toBe(50);
    expect(reduced.ys[reduced.xs.indexOf(111_111)]).toBe(-7);
  });

  it('breaks the line at values that are not finite, and says where and what they are', () => {
    const shape = steps([1, Number.NaN, 2, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 3]);
    const reduced = reduceSeries(shape, { min: 0, max: 5 }, 100);
    expect(reduced.ys).toEqual([1, null, 2, null, 3]);
    expect(reduced.marks).toEqual([
      { x: 1, kind: 'nan', count: 1 },
      { x: 3, kind: 'positive_infinity', count: 1 },
      { x: 4, kind: 'negative_infinity', count: 1 },
    ]);
  });

  it('breaks the line inside a bucket too', () => {
    const values = Array.from({ length: 1000 }, (_, x) => x);
    values[505] = Number.NaN;
    const shape = steps(values);
    const reduced = reduceSeries(shape, { min: 0, max: 999 }, 10);
    const gap = reduced.ys.indexOf(null);
    expect(gap).toBeGreaterThan(0);
    expect(reduced.xs[gap - 1]).toBeLessThan(505);
    expect(reduced.xs[gap + 1]).toBeGreaterThan(505);
    expect(reduced.ys.filter((y) => y === null)).toHaveLength(1);
  });

  it('takes one point beyond each edge, so that a zoomed line reaches the edge', () => {
    const shape = steps([0, 1, 2, 3, 4, 5, 6]);
    expect(reduceSeries(shape, { min: 2.5, max: 4 }, 100).xs).toEqual([2, 3, 4, 5]);
  });

  it('gives nothing for an empty series', () => {
    const reduced = reduceSeries(new SeriesPyramid(), { min: 0, max: 1 }, 10);
    expect(reduced).toMatchObject({ xs: [], ys: [], marks: [] });
  });

  it('keeps extremes, order, gaps and the bound for any series', () => {
    const value = fc.oneof(
      { weight: 12, arbitrary: fc.double({ noNaN: true, min: -1e6, max: 1e6 }) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
      },
    );
    const gaps = fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), value), { maxLength: 400 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 40 }), (raw, buckets) => {
        let x = 0;
        const points = raw.map(([gap, y]): [number, number] => [(x += gap), y]);
        const shape = columns(points);
        const range = { min: points[0]?.[0] ?? 0, max: points.at(-1)?.[0] ?? 1 };
        const reduced = reduceSeries(shape, range, buckets);
        expect(reduced.xs.length).toBeLessThanOrEqual(9 * (buckets + 2));
        const finite = points.map(([, y]) => y).filter((y) => Number.isFinite(y));
        const drawn = reduced.ys.filter((y) => y !== null);
        if (finite.length > 0) {
          expect(Math.min(...drawn)).toBe(Math.min(...finite));
          expect(Math.max(...drawn)).toBe(Math.max(...finite));
        }
        expect(reduced.xs).toEqual(reduced.xs.toSorted((a, b) => a - b));
        // Every non-finite point is accounted for, and no two drawn points with one between them are joined.
        const bad = points.filter(([, y]) => nonFiniteKind(y) !== undefined);
        expect(reduced.marks.reduce((sum, { count }) => sum + count, 0)).toBe(bad.length);
        for (const [at, y] of reduced.ys.entries()) {
          const next = reduced.ys[at + 1];
          if (typeof y !== 'number' || typeof next !== 'number') continue;
          const from = reduced.xs[at] ?? 0;
          const to = reduced.xs[at + 1] ?? 0;
          expect(bad.some(([badX]) => badX > from && badX < to)).toBe(false);
        }
      }),
      runs(200),
    );
  });
});
