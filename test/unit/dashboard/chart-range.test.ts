import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  pannedRange,
  pinchedRange,
  widenedRange,
  zoomedRange,
} from '../../../dashboard/charts/plot/chart-range.ts';
import { shareOf, valueAtShare } from '../../../dashboard/charts/plot/plot-frame.ts';
import { runs } from '../../support/property.ts';

const full = { min: 0, max: 100 };

describe('zoom', () => {
  it('zooms around the middle and stays inside', () => {
    expect(zoomedRange(full, full, 0.5)).toEqual({ min: 25, max: 75 });
    expect(zoomedRange({ min: 0, max: 20 }, full, 2)).toEqual({ min: 0, max: 30 });
    expect(zoomedRange({ min: 25, max: 75 }, full, 2)).toBeUndefined();
  });
  it('gives a range room, inside of what there is', () => {
    expect(widenedRange({ min: 40, max: 60 }, full)).toEqual({ min: 30, max: 70 });
    expect(widenedRange({ min: 90, max: 98 }, full)).toEqual({ min: 86, max: 100 });
    expect(widenedRange({ min: 7, max: 7 }, full)).toEqual({ min: 6, max: 8 });
    expect(widenedRange({ min: 7, max: 7 }, { min: 7, max: 7 })).toBeUndefined();
  });
  it('pans by a share of the width and stops at the ends', () => {
    expect(pannedRange({ min: 20, max: 40 }, full, 0.5)).toEqual({ min: 30, max: 50 });
    expect(pannedRange({ min: 20, max: 40 }, full, -5)).toEqual({ min: 0, max: 20 });
    expect(pannedRange({ min: 70, max: 90 }, full, 5)).toEqual({ min: 80, max: 100 });
  });
  it('pans a logarithmic axis by its logarithms', () => {
    const moved = pannedRange({ min: 1, max: 10 }, { min: 1, max: 1000 }, 1, true);
    expect(moved.min).toBeCloseTo(10, 9);
    expect(moved.max).toBeCloseTo(100, 9);
  });

  const cases = {
    isLog: fc.boolean(),
    from: fc.double({ min: 0.1, max: 0.6, noNaN: true }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    factor: fc.double({ min: 0.1, max: 0.9, noNaN: true }),
  };

  it('leaves what is at the pointer where it is', () => {
    fc.assert(
      fc.property(fc.record(cases), ({ isLog, from, share, factor }) => {
        const all = { min: 1, max: 1e4 };
        const span = { ...all, isLog };
        const range = { min: valueAtShare(span, from), max: valueAtShare(span, from + 0.3) };
        const zoomed = zoomedRange(range, all, factor, share, isLog) ?? all;
        const at = valueAtShare({ ...range, isLog }, share);
        expect(shareOf({ ...zoomed, isLog }, at)).toBeCloseTo(share, 6);
        const width = shareOf(span, zoomed.max) - shareOf(span, zoomed.min);
        expect(width).toBeCloseTo(0.3 * factor, 6);
      }),
      runs(200),
    );
  });

  it('keeps what is below two fingers below them', () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.double({ min: 0.3, max: 0.45, noNaN: true }),
        fc.double({ min: 0.55, max: 0.7, noNaN: true }),
        fc.double({ min: 0.05, max: 0.3, noNaN: true }),
        fc.double({ min: 0.7, max: 0.95, noNaN: true }),
        (isLog, a, b, p, q) => {
          const all = { min: 1, max: 1e6 };
          const range = { min: 100, max: 10_000 };
          const pinched = pinchedRange(range, all, { before: [a, b], now: [p, q] }, isLog) ?? all;
          for (const [before, now] of [
            [a, p],
            [b, q],
          ] as const)
            expect(
              shareOf({ ...pinched, isLog }, valueAtShare({ ...range, isLog }, before)),
            ).toBeCloseTo(now, 6);
        },
      ),
      runs(200),
    );
  });

  it('of two fingers side by side only moves', () => {
    const moved = pinchedRange({ min: 40, max: 60 }, full, {
      before: [0.5, 0.5],
      now: [0.25, 0.25],
    });
    expect(moved).toEqual({ min: 45, max: 65 });
  });

  it('ends where positions are not told apart any more, and never leaves what there is', () => {
    let range = { min: 999_999, max: 1_000_001 };
    const all = { min: 0, max: 2e6 };
    for (let at = 0; at < 400; at += 1) range = zoomedRange(range, all, 0.5, 0.3) ?? all;
    expect(range.max).toBeGreaterThan(range.min);
    for (let at = 0; at < 400; at += 1) range = zoomedRange(range, all, 2, 0.3) ?? all;
    expect(range).toEqual(all);
  });
});
