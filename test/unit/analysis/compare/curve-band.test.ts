import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bandOfCurves, type CurvePoints } from 'quark-sdk/analysis';
import { runs } from '../../../support/property.ts';

const curve = (...points: readonly (readonly [number, number])[]): CurvePoints => ({
  positions: Float64Array.from(points, ([x]) => x),
  values: Float64Array.from(points, ([, y]) => y),
});

describe('a band', () => {
  it('has the mean of the curves that are there, and what its kind says around it', () => {
    const curves = [curve([0, 1], [10, 3]), curve([0, 3], [5, 5], [20, 5])];
    const range = bandOfCurves(curves, { kind: 'range' });
    expect([...range.positions]).toEqual([0, 5, 10, 20]);
    // The first curve is a straight line in between, and does not count after its end.
    expect([...range.mean]).toEqual([2, 3.5, 4, 5]);
    expect([...range.counts]).toEqual([2, 2, 2, 1]);
    expect([...range.low]).toEqual([1, 2, 3, 5]);
    expect([...range.high]).toEqual([3, 5, 5, 5]);
    const deviation = bandOfCurves(curves, { kind: 'deviation' });
    expect(deviation.high[0]).toBeCloseTo(2 + Math.SQRT2, 12);
    expect(deviation.low[3]).toBeNaN();
    // Student's quantile of one degree of freedom is 12.7062.
    const interval = bandOfCurves(curves);
    expect(interval.high[0]).toBeCloseTo(2 + 12.7062, 3);
    expect(bandOfCurves(curves, { confidenceLevel: 0.5 }).high[0]).toBeCloseTo(3, 6);
  });

  it('leaves out what is not finite, and takes the last of equal positions', () => {
    const { mean, positions } = bandOfCurves([curve([0, 1], [0, 2], [1, Number.NaN], [2, 4])]);
    expect([...positions]).toEqual([0, 2]);
    expect([...mean]).toEqual([2, 4]);
    expect(bandOfCurves([]).positions).toHaveLength(0);
    expect(bandOfCurves([curve()]).positions).toHaveLength(0);
  });

  it('of long curves is of means over equal parts', () => {
    const long = curve(...Array.from({ length: 5000 }, (_, i) => [i, i] as const));
    const { mean, positions } = bandOfCurves([long], { maxPositions: 100 });
    expect(positions).toHaveLength(100);
    for (const [i, value] of mean.entries()) expect(value).toBeCloseTo(positions[i] ?? 0, -1.5);
  });

  it('lies around its mean, within the lowest and the highest curve', () => {
    const points = fc
      .uniqueArray(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 40 })
      .chain((positions) =>
        fc
          .array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), {
            minLength: positions.length,
            maxLength: positions.length,
          })
          .map((values) => ({
            positions: Float64Array.from(positions).toSorted(),
            values: Float64Array.from(values),
          })),
      );
    fc.assert(
      fc.property(
        fc.array(points, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(10, 1000),
        (curves, maxPositions) => {
          const range = bandOfCurves(curves, { kind: 'range', maxPositions });
          const interval = bandOfCurves(curves, { maxPositions });
          expect([...interval.mean]).toEqual([...range.mean]);
          for (const [i, mean] of range.mean.entries()) {
            const room = 1e-9 * (1 + Math.abs(mean));
            expect(range.low[i] ?? 0).toBeLessThanOrEqual(mean + room);
            expect(range.high[i] ?? 0).toBeGreaterThanOrEqual(mean - room);
            if ((range.counts[i] ?? 0) > 1)
              expect((interval.high[i] ?? 0) + (interval.low[i] ?? 0)).toBeCloseTo(2 * mean, 3);
          }
        },
      ),
      runs(100),
    );
  });

  it('refuses options and curves that make no sense', () => {
    expect(() => bandOfCurves([], { maxPositions: 0 })).toThrow('maxPositions');
    expect(() => bandOfCurves([], { confidenceLevel: 1 })).toThrow('confidenceLevel');
    // @ts-expect-error -- a caller without types
    expect(() => bandOfCurves([], { kind: 'box' })).toThrow('kind');
    const broken = { positions: new Float64Array(2), values: new Float64Array(1) };
    expect(() => bandOfCurves([broken])).toThrow('curves[0].values');
  });
});
