/** The parts of `quark top` that draw and that read keys. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { brailleChart } from '../../../src/cli/top/braille.ts';
import { topScreen } from '../../../src/cli/top/top-screen.ts';
import { afterKey, FIRST_STATE, keysIn, withFoundRuns } from '../../../src/cli/top/top-state.ts';
import { styleFor, textWidth } from '../../../src/cli/support/text.ts';
import type { FoundRun } from '../../../src/workspace.ts';
import { runs } from '../../support/property.ts';

const style = styleFor(
  { isTty: false, columns: undefined, rows: undefined, write: async () => undefined },
  {},
);
const found = (id: string, name: string | null = null): FoundRun => ({
  id,
  project: 'digits',
  name,
  status: 'completed',
  isLive: false,
  startedAtMs: 0,
  endedAtMs: 65_000,
  updatedAtMs: null,
  archivedAtMs: null,
  tags: [],
  groups: [],
  values: { 'metrics.loss.last': 0.25, alerts: 2 },
  steps: {},
});

/** Rows of dots in which a column of characters has one, from the top. */
function dotRows(lines: readonly string[], left: number): readonly number[][] {
  const rows = lines.slice(0, -1).map((line) => Array.from(line.slice(left), (char) => char));
  return Array.from({ length: rows[0]?.length ?? 0 }, (_, column) =>
    rows.flatMap((row, at) => {
      const bits = (row[column]?.codePointAt(0) ?? 0) - 0x2800;
      return [0, 1, 2, 3]
        .filter((y) => (bits & ([0x09, 0x12, 0x24, 0xc0][y] ?? 0)) !== 0)
        .map((y) => at * 4 + y);
    }),
  );
}

describe('brailleChart', () => {
  it('draws a line that falls from the top left to the lower right', () => {
    const lines = brailleChart(
      { positions: [0, 1, 2, 3], values: [3, 2, 1, 0] },
      { width: 13, height: 3, isLog: false },
    );
    expect(lines).toHaveLength(4);
    const columns = dotRows(lines, 3);
    expect(columns[0]?.[0]).toBe(0);
    expect(columns.at(-1)?.at(-1)).toBe(11);
    expect(lines[0]).toMatch(/^3 ┤/);
    expect(lines[2]).toMatch(/^0 ┤/);
    expect(lines[3]).toMatch(/0 +3$/);
  });

  it('shows each spike and joins the columns, whatever the values', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }), {
          minLength: 2,
          maxLength: 400,
        }),
        fc.integer({ min: 12, max: 60 }),
        fc.integer({ min: 1, max: 12 }),
        (values, width, height) => {
          const positions = values.map((_, i) => i);
          const lines = brailleChart({ positions, values }, { width, height, isLog: false });
          expect(lines).toHaveLength(height + 1);
          const all = dotRows(lines, lines[0]?.indexOf('┤') ?? 0).flat();
          if (Math.max(...values) > Math.min(...values)) {
            expect(Math.min(...all)).toBe(0);
            expect(Math.max(...all)).toBe(height * 4 - 1);
          }
        },
      ),
      runs(100),
    );
  });

  it('leaves out what cannot be drawn, and says when nothing can', () => {
    const options = { width: 20, height: 2, isLog: true };
    expect(brailleChart({ positions: [0, 1], values: [Number.NaN, -1] }, options)).toEqual([
      'no values to draw',
    ]);
    expect(brailleChart({ positions: [0, 1, 2], values: [0, 1, 100] }, options)[0]).toMatch(
      /^100 ┤/,
    );
  });
});

describe('keys', () => {
  it('are read from what a terminal sends, several at once', () => {
    expect(keysIn('\u001b[Aj\u001bOC\r\u0003?')).toEqual([
      'up',
      'j',
      'right',
      'enter',
      'ctrl+c',
      '?',
    ]);
    expect(keysIn('\u001b')).toEqual(['escape']);
  });

  it('move within what there is, and never beyond', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('up', 'down', 'left', 'right', 'g', 'enter', 'escape', '?', 'x')),
        fc.nat(5),
        (keys, count) => {
          let state = withFoundRuns(
            FIRST_STATE,
            Array.from({ length: count }, (_, i) => found(`r${i}`)),
            count,
          );
          for (const key of keys) state = afterKey(state, key);
          expect(state.runAt).toBeGreaterThanOrEqual(0);
          expect(state.runAt).toBeLessThan(Math.max(1, count));
          expect(state.isOver).toBe(false);
        },
      ),
      runs(100),
    );
    expect(afterKey(FIRST_STATE, 'q').isOver).toBe(true);
  });

  it('leave the chosen run the chosen one when new runs come', () => {
    const before = afterKey(withFoundRuns(FIRST_STATE, [found('a'), found('b')], 2), 'down');
    const after = withFoundRuns(before, [found('new'), found('a'), found('b')], 3);
    expect(after.runs[after.runAt]?.id).toBe('b');
  });
});

describe('topScreen', () => {
  it('fits any terminal, whatever the names', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 40, max: 200 }),
        fc.integer({ min: 6, max: 60 }),
        fc.array(fc.string({ unit: 'grapheme', maxLength: 80 }), { maxLength: 30 }),
        (columns, rows, names) => {
          const state = withFoundRuns(
            FIRST_STATE,
            names.map((name, i) => found(`run_${i}`, name)),
            names.length,
          );
          const lines = topScreen(state, { columns, rows, style, nowMs: 0 });
          expect(lines.length).toBeLessThanOrEqual(rows);
          for (const line of lines.slice(1))
            expect(textWidth(line)).toBeLessThanOrEqual(Math.max(columns, 70));
        },
      ),
      runs(60),
    );
  });
});
