import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { centeredScroll, rowWindow } from '../../../dashboard/parts/row-window.ts';
import { partsOfLine, withoutHidden } from '../../../dashboard/run/console/line-parts.ts';
import { levelCounts, matchingLines } from '../../../dashboard/run/console/matching.ts';
import { columnsOfLines } from '../../../dashboard/worker/console-columns.ts';
import { runs } from '../../support/property.ts';

describe('the rows that are drawn', () => {
  const view = fc.record({
    rowCount: fc.nat(200_000),
    rowHeight: fc.integer({ min: 1, max: 40 }),
    scrollTop: fc.double({ min: -100, max: 5e6, noNaN: true }),
    height: fc.nat(2000),
    around: fc.nat(20),
  });

  it('are all that is on screen, and not many more', () => {
    fc.assert(
      fc.property(view, (one) => {
        const { first, end } = rowWindow(one);
        const { around, height, rowCount, rowHeight } = one;
        const most = Math.max(0, rowCount * rowHeight - height);
        const top = Math.min(Math.max(0, one.scrollTop), most);
        expect(first).toBeGreaterThanOrEqual(0);
        expect(end).toBeLessThanOrEqual(rowCount);
        expect(first * rowHeight).toBeLessThanOrEqual(top);
        expect(end * rowHeight).toBeGreaterThanOrEqual(
          Math.min(top + height, rowCount * rowHeight),
        );
        expect(end - first).toBeLessThanOrEqual(height / rowHeight + 2 + 2 * around);
      }),
      runs(500),
    );
  });

  it('have a row in the middle that is gone to', () => {
    fc.assert(
      fc.property(view, fc.nat(), (one, some) => {
        if (one.rowCount === 0) return;
        const row = some % one.rowCount;
        const { first, end } = rowWindow({
          ...one,
          around: 1,
          scrollTop: centeredScroll(one, row),
        });
        expect(row).toBeGreaterThanOrEqual(first);
        expect(row).toBeLessThan(end);
      }),
      runs(500),
    );
  });
});

describe('a line in parts', () => {
  const red = {
    color: 'red',
    background: null,
    isBold: false,
    isDim: false,
    isItalic: false,
    isUnderlined: false,
  };

  it('has its colours, and what was searched for', () => {
    const parts = partsOfLine('epoch 1: LOSS 0.5', [{ ...red, start: 6, end: 13 }], 'loss');
    expect(parts.map(({ isFound, span, text }) => [text, span?.color, isFound])).toEqual([
      ['epoch ', undefined, false],
      ['1: ', 'red', false],
      ['LOSS', 'red', true],
      [' 0.5', undefined, false],
    ]);
  });

  it('says all of its text once, in order', () => {
    const spans = fc
      .uniqueArray(fc.nat(30), { maxLength: 8 })
      .map((cuts) => cuts.toSorted((a, b) => a - b))
      .map((cuts) =>
        cuts
          .slice(1)
          .flatMap((end, at) => (at % 2 === 0 ? [{ ...red, start: cuts[at] ?? 0, end }] : [])),
      );
    fc.assert(
      fc.property(
        fc.string({ maxLength: 30 }),
        spans,
        fc.string({ maxLength: 2 }),
        (text, some, search) => {
          const inside = some.filter(({ end }) => end <= text.length);
          const parts = partsOfLine(text, inside, search);
          expect(parts.map((part) => part.text).join('')).toBe(withoutHidden(text));
        },
      ),
      runs(300),
    );
  });

  it('is cut where it is long, and shows what would not be seen', () => {
    expect(partsOfLine('x'.repeat(5000), [], '')[0]?.text.length).toBe(1000);
    expect(withoutHidden('a\u0007b\u202ec\td')).toBe('a\\u0007b\\u202ec\td');
  });
});

describe('lines that match', () => {
  const columns = columnsOfLines(
    ['Loss 1', 'warning', 'loss 2', 'other'].map((text, at) => ({
      timeMs: at,
      source: 'console',
      level: at === 1 ? 'warn' : at === 3 ? null : 'log',
      text,
      spans: [],
    })),
  );
  const { signal } = new AbortController();

  it('are found by level and by text, whatever the case', async () => {
    expect(await matchingLines(columns, new Set(), ' ', signal)).toBeUndefined();
    expect([...((await matchingLines(columns, new Set(), 'LOSS', signal)) ?? [])]).toEqual([0, 2]);
    expect([
      ...((await matchingLines(columns, new Set(['warn', 'none']), '', signal)) ?? []),
    ]).toEqual([1, 3]);
    expect([...((await matchingLines(columns, new Set(['warn']), 'loss', signal)) ?? [])]).toEqual(
      [],
    );
    expect(levelCounts(columns).get('log')).toBe(2);
    expect(levelCounts(columns).get('none')).toBe(1);
  });
});
