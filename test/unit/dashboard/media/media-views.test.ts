import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boxesOf, maskKeyOf } from '../../../../dashboard/media/image/boxes.ts';
import { wavePeaks } from '../../../../dashboard/media/audio/wave-peaks.ts';
import {
  ridgesOf,
  signedExp,
  signedLog,
  stepDistribution,
} from '../../../../dashboard/media/distribution/distributions.ts';
import { histogramGrid } from '../../../../dashboard/media/distribution/histogram-grid.ts';
import { confusionView, topConfusions } from '../../../../dashboard/media/evaluation/confusion.ts';
import { curveGroups } from '../../../../dashboard/media/evaluation/curve-groups.ts';
import { itemNear, positionsOf, evenlySpread } from '../../../../dashboard/media/media-steps.ts';
import { orderedRows } from '../../../../dashboard/media/table/table-rows.ts';
import { diffLists, diffTexts } from '../../../../dashboard/media/text/diff.ts';
import { jsKernel } from '../../../../src/kernel/tensor/js-kernel.ts';
import { runs } from '../../../support/property.ts';

const at = (
  step: number | null,
  epoch: number | null = null,
): { step: number | null; epoch: number | null } => ({ step, epoch });

describe('the item at a step', () => {
  it('is the one of the step, else the nearest, of two the earlier', () => {
    const items = [at(0), at(10), at(20)];
    expect(itemNear(items, 10)).toBe(items[1]);
    expect(itemNear(items, 14)).toBe(items[1]);
    expect(itemNear(items, 15)).toBe(items[1]);
    expect(itemNear(items, 16)).toBe(items[2]);
    expect(itemNear(items, undefined)).toBe(items[2]);
    expect(itemNear([], 3)).toBeUndefined();
  });

  it('is the last of several at one step', () => {
    const items = [at(5), at(5), at(9)];
    expect(itemNear(items, 5)).toBe(items[1]);
    expect(itemNear(items, 4)).toBe(items[1]);
  });

  it('has a step, else its epoch, as its position', () => {
    expect(positionsOf([at(3), at(null, 1), at(null), at(3, 7)])).toEqual([0, 1, 3]);
  });

  it('is never further away than any other', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50)), fc.nat(60), (steps, wanted) => {
        const items = steps.toSorted((a, b) => a - b).map((step) => at(step));
        const found = itemNear(items, wanted)?.step;
        const least = Math.min(...steps.map((step) => Math.abs(step - wanted)));
        expect(found === undefined || found === null ? Infinity : Math.abs(found - wanted)).toBe(
          least,
        );
      }),
      runs(300),
    );
  });

  it('is among some of many, with both ends', () => {
    const all = Array.from({ length: 1000 }, (_, i) => i);
    const some = evenlySpread(all, 7);
    expect(some).toHaveLength(7);
    expect([some[0], some.at(-1)]).toEqual([0, 999]);
    expect(evenlySpread([1, 2], 7)).toEqual([1, 2]);
  });
});

describe('a diff', () => {
  it('rebuilds both sides, and is as short as can be', () => {
    const list = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 14 });
    fc.assert(
      fc.property(list, list, (before, after) => {
        const parts = diffLists(before, after);
        const side = (left: string): string[] =>
          parts.filter(({ kind }) => kind === 'same' || kind === left).map(({ text }) => text);
        expect(side('removed')).toEqual(before);
        expect(side('added')).toEqual(after);
        const same = parts.filter(({ kind }) => kind === 'same').length;
        expect(same).toBe(longestCommon(before, after));
      }),
      runs(600),
    );
  });

  it('of lists that differ much tells them apart as a whole', () => {
    const before = Array.from({ length: 4000 }, (_, i) => `a${i}`);
    const after = Array.from({ length: 4000 }, (_, i) => `b${i}`);
    const parts = diffLists(before, after);
    expect(parts).toHaveLength(8000);
    expect(parts.filter(({ kind }) => kind === 'removed')).toHaveLength(4000);
  });

  it('shows the words of a line that changed', () => {
    const lines = diffTexts('one\ntwo words here\nend', 'one\ntwo other here\nend');
    expect(lines.map(({ kind }) => kind)).toEqual(['same', 'removed', 'added', 'same']);
    const changed = lines.flatMap(({ words }) => words.filter((word) => word.isChanged));
    expect(changed.map(({ text }) => text)).toEqual(['words', 'other']);
  });
});

/** Length of the longest common subsequence, by its definition. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  const row = Array.from({ length: b.length + 1 }, () => 0);
  for (const one of a) {
    let corner = 0;
    for (const [j, other] of b.entries()) {
      const above = row[j + 1] ?? 0;
      row[j + 1] = one === other ? corner + 1 : Math.max(above, row[j] ?? 0);
      corner = above;
    }
  }
  return row.at(-1) ?? 0;
}

describe('rows of a table', () => {
  const table = {
    columns: ['n', 'name'],
    rows: [
      [2, 'b'],
      [null, 'A'],
      [10, 'c10'],
      [10, 'c9'],
      ['x', null],
    ],
  };

  it('are sorted as numbers, then texts, what is missing last in both directions', () => {
    expect([...orderedRows(table, '', { column: 0, isDescending: false })]).toEqual([
      0, 2, 3, 4, 1,
    ]);
    expect([...orderedRows(table, '', { column: 0, isDescending: true })]).toEqual([4, 2, 3, 0, 1]);
    expect([...orderedRows(table, '', { column: 1, isDescending: false })]).toEqual([
      1, 0, 3, 2, 4,
    ]);
  });

  it('are those with all words, in any cell', () => {
    expect([...orderedRows(table, 'C 10', undefined)]).toEqual([2, 3]);
    expect([...orderedRows(table, 'nothing', undefined)]).toEqual([]);
  });
});

describe('a confusion matrix', () => {
  const matrix = {
    classes: ['a', 'b', 'c'],
    counts: [
      [8, 2, 0],
      [5, 5, 0],
      [0, 0, 0],
    ],
  };

  it('is shown as shares of rows and of columns, which add up to one', () => {
    expect(Array.from(confusionView(matrix, 'row', false).values.subarray(0, 6))).toEqual([
      0.8, 0.2, 0, 0.5, 0.5, 0,
    ]);
    expect(confusionView(matrix, 'row', false).values[8]).toBeNaN();
    const columns = confusionView(matrix, 'column', false).values;
    expect((columns[0] ?? 0) + (columns[3] ?? 0)).toBeCloseTo(1, 12);
    expect([...confusionView(matrix, 'counts', false).values]).toEqual(matrix.counts.flat());
  });

  it('has the classes with most errors first when asked, rows and columns alike', () => {
    const view = confusionView(matrix, 'counts', true);
    expect(view.classes).toEqual(['b', 'a', 'c']);
    expect([...view.values]).toEqual([5, 5, 0, 2, 8, 0, 0, 0, 0]);
    expect([...view.errors]).toEqual([5, 2, 0]);
    expect(topConfusions(view, 1)).toEqual([{ from: 'b', to: 'a', count: 5 }]);
  });
});

describe('curves', () => {
  it('of classes share a chart, others have their own', () => {
    expect(curveGroups(['roc', 'val/roc/cat', 'val/roc/dog', 'test/roc'])).toEqual([
      { title: 'roc', keys: ['roc'] },
      { title: 'val/roc', keys: ['val/roc/cat', 'val/roc/dog'] },
      { title: 'test/roc', keys: ['test/roc'] },
    ]);
  });
});

describe('the outline of a sound', () => {
  it('has the extremes of every span, of all channels', () => {
    const { highs, lows } = wavePeaks(
      [
        [0, 0.5, -0.25, 0.125],
        [0, 0, -1, 0],
      ],
      2,
    );
    expect([...highs]).toEqual([0.5, 0.125]);
    expect([...lows]).toEqual([0, -1]);
    expect(wavePeaks([[0.5]], 10).highs).toHaveLength(1);
    expect(wavePeaks([], 10).highs).toHaveLength(0);
  });

  it('leaves out no sample', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 1, maxLength: 80 }),
        fc.integer({ min: 1, max: 90 }),
        (samples, count) => {
          const { highs, lows } = wavePeaks([samples], count);
          expect(Math.max(...highs)).toBe(Math.fround(Math.max(...samples)));
          expect(Math.min(...lows)).toBe(Math.fround(Math.min(...samples)));
        },
      ),
      runs(200),
    );
  });
});

describe('distributions', () => {
  it('have all of their values in the bins that are shown', () => {
    const histogram = jsKernel.histogram(Float64Array.from([-3, 0, 0, 1, 5, 5]), {
      scale: 'log_magnitude',
      binsPerOctave: 4,
    });
    const { binEdges, counts } = stepDistribution(7, histogram);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(6);
    expect(binEdges).toHaveLength(counts.length + 1);
    expect(binEdges[0]).toBeLessThanOrEqual(-3);
    expect(binEdges.at(-1)).toBeGreaterThanOrEqual(5);
  });

  it('have an axis that is logarithmic on both sides of zero and comes back', () => {
    for (const value of [-1000, -0.5, 0, 2 ** -30, 3])
      expect(signedExp(signedLog(value))).toBeCloseTo(value, 9);
    expect(signedLog(1e-3)).toBeGreaterThan(signedLog(1e-4));
    expect(signedLog(-1e-3)).toBeLessThan(signedLog(-1e-4));
  });

  it('are ridges whose peaks are where the values are', () => {
    const grid = histogramGrid([{ step: 1, binEdges: [0, 1, 2], counts: [0, 9] }], 4, 10);
    if (grid === undefined) throw new Error('no grid');
    const [ridge] = ridgesOf(grid, { width: 100, height: 60, peak: 20 });
    const heights = ridge?.points.map(([, y]) => y) ?? [];
    expect(Math.min(...heights)).toBe(heights[3]);
    expect(heights[1]).toBe(60);
  });
});

describe('boxes of an image', () => {
  it('are those that are whole; anything else is left out', () => {
    const box = { x: 1, y: 2, width: 3, height: -4, label: 'a'.repeat(100), score: 0.5 };
    const found = boxesOf({
      user: { boxes: [box, 7, null, { x: 1 }, { ...box, x: 'no' }], mask: 'm' },
    });
    expect(found).toEqual([{ ...box, height: 0, label: 'a'.repeat(60) }]);
    expect(boxesOf({ user: { boxes: 'none' } })).toEqual([]);
    expect(boxesOf({ user: null })).toEqual([]);
    expect(maskKeyOf({ user: { mask: 'm' } })).toBe('m');
    expect(maskKeyOf({ user: { mask: 4 } })).toBeUndefined();
  });
});
