import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  firstSeen,
  MAX_TABLE_PX,
  tableWindow,
  scrollTopAfter,
  scrollTopOf,
  type TableSpan,
} from '../../../dashboard/runs/model/table-window.ts';
import { runs } from '../../support/property.ts';

const view: fc.Arbitrary<TableSpan> = fc
  .record({
    total: fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 2_000_000 })),
    rowHeight: fc.integer({ min: 20, max: 100 }),
    viewport: fc.integer({ min: 0, max: 2000 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ total, rowHeight, viewport, share }) => {
    const room = Math.max(0, Math.min(total * rowHeight, MAX_TABLE_PX) - viewport);
    return { total, rowHeight, viewport, scrollTop: share * room };
  });

describe('the rows on screen', () => {
  it('cover what is seen, inside of the table, and are few', () => {
    fc.assert(
      fc.property(view, (given) => {
        const { first, end, top, height } = tableWindow(given);
        const { total, rowHeight, viewport, scrollTop } = given;
        expect(height).toBeLessThanOrEqual(MAX_TABLE_PX);
        expect(first).toBeGreaterThanOrEqual(0);
        expect(end).toBeLessThanOrEqual(total);
        expect(end - first).toBeLessThanOrEqual(Math.ceil(viewport / rowHeight) + 18);
        if (total === 0) return;
        // Rounding of fractions of a pixel.
        const slack = 1e-6 * MAX_TABLE_PX;
        expect(top).toBeLessThanOrEqual(scrollTop + slack);
        expect(top + (end - first) * rowHeight).toBeGreaterThanOrEqual(
          Math.min(height, scrollTop + viewport) - slack,
        );
        expect(top + (end - first) * rowHeight).toBeLessThanOrEqual(height + slack);
      }),
      runs(1000),
    );
  });

  it('begin with the first row and end with the last one', () => {
    fc.assert(
      fc.property(view, (given) => {
        const { total, rowHeight, viewport } = given;
        const room = Math.max(0, Math.min(total * rowHeight, MAX_TABLE_PX) - viewport);
        expect(tableWindow({ ...given, scrollTop: 0 })).toMatchObject({ first: 0, top: 0 });
        expect(tableWindow({ ...given, scrollTop: room }).end).toBe(total);
        // Beyond both ends, as browsers bounce.
        expect(tableWindow({ ...given, scrollTop: -50 }).first).toBe(0);
        expect(tableWindow({ ...given, scrollTop: room + 500 }).end).toBe(total);
      }),
      runs(500),
    );
  });

  it('follow a row that is asked for', () => {
    fc.assert(
      fc.property(view, fc.double({ min: 0, max: 0.999, noNaN: true }), (given, share) => {
        fc.pre(given.total > 0 && given.viewport >= given.rowHeight);
        const row = Math.floor(share * given.total);
        const scrollTop = scrollTopOf(row, given);
        const { first, end } = tableWindow({ ...given, scrollTop });
        expect(first).toBeLessThanOrEqual(row);
        expect(end).toBeGreaterThan(row);
        // What is seen already does not move.
        expect(scrollTopOf(row, { ...given, scrollTop })).toBeCloseTo(scrollTop, 3);
      }),
      runs(1000),
    );
  });

  it('stay on screen when others come in above', () => {
    const before: TableSpan = { total: 1000, rowHeight: 44, viewport: 600, scrollTop: 4400 };
    expect(firstSeen(before)).toBe(100);
    const after = { ...before, total: 1003 };
    expect(firstSeen({ ...after, scrollTop: scrollTopAfter(3, before) })).toBe(103);
  });

  it('are reached one by one near the ends of a table that is higher than a browser draws', () => {
    const given: TableSpan = { total: 1_000_000, rowHeight: 44, viewport: 600, scrollTop: 0 };
    for (const scrollTop of [0, 44, 4400, 39_996])
      expect(firstSeen({ ...given, scrollTop })).toBe(Math.floor(scrollTop / 44));
    const room = MAX_TABLE_PX - given.viewport;
    expect(tableWindow({ ...given, scrollTop: room - 44 }).end).toBe(1_000_000);
  });
});
