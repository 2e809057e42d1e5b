import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Counters } from '../../../src/exchange/import/sink/counters.ts';
import { runs } from '../../support/property.ts';

const NO = Number.NaN;

/** Which rows are back at the beginning, when every such row begins another run. */
function backs(rows: readonly (readonly [step: number, epoch: number])[]): number[] {
  const counters = new Counters();
  return rows.flatMap(([step, epoch], i) => {
    if (!counters.isBack(step, epoch)) return [];
    counters.begin(step, epoch);
    return [i];
  });
}

describe('counters', () => {
  test('that never fall are never back, however they repeat', () => {
    const rising = fc.array(fc.nat(3)).map((deltas) => {
      let step = 0;
      return deltas.map((delta) => (step += delta));
    });
    fc.assert(
      fc.property(rising, (steps) => {
        expect(backs(steps.map((step) => [step, NO]))).toEqual([]);
        expect(backs(steps.map((epoch) => [NO, epoch]))).toEqual([]);
      }),
      runs(300),
    );
  });

  test('that fall to the first, after they have counted, are back', () => {
    expect(
      backs([
        [1, NO],
        [2, NO],
        [1, NO],
        [2, NO],
        [3, NO],
        [1, NO],
      ]),
    ).toEqual([2, 5]);
    expect(
      backs([
        [NO, 0],
        [NO, 1],
        [NO, 0],
        [NO, 1],
      ]),
    ).toEqual([2]);
    // Below the first is back as well, a little back is not.
    expect(
      backs([
        [10, NO],
        [20, NO],
        [30, NO],
        [20, NO],
        [5, NO],
      ]),
    ).toEqual([4]);
  });

  test('that only ever fall have not begun again', () => {
    expect(
      backs([
        [5, NO],
        [4, NO],
        [3, NO],
        [2, NO],
        [1, NO],
      ]),
    ).toEqual([]);
    expect(
      backs([
        [NO, 3],
        [NO, 2],
        [NO, 1],
      ]),
    ).toEqual([]);
  });

  test('of steps that begin again with each epoch go on over the run', () => {
    const counters = new Counters();
    const steps = [0, 1, 2, 0, 1, 2, 0].map((step, i) => {
      expect(counters.isBack(step, Math.floor(i / 3))).toBe(false);
      return step + counters.offset;
    });
    expect(steps).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  /** Steps over the run, of rows of step, epoch and the length of the epoch. */
  function placesOf(
    rows: readonly (readonly [step: number, epoch: number, epochSteps?: number])[],
  ): number[] {
    const counters = new Counters();
    return rows.map(([step, epoch, epochSteps]) => {
      expect(counters.isBack(step, epoch, epochSteps)).toBe(false);
      return step + counters.offset;
    });
  }

  test('of an epoch that begin above the first of all go on, from the highest of the epoch before', () => {
    const rows = [
      [100, 1],
      [200, 1],
      [120, 1],
      [130, 2],
      [NO, 3],
      [60, 3],
      [160, 3],
    ] as const;
    expect(placesOf(rows)).toEqual([100, 200, 120, 330, NO, 390, 490]);
  });

  test('of an epoch whose length is known go on by it, over epochs that are left out, and where each epoch has one', () => {
    const rows = [
      [0, 2, 188],
      [180, 2, 188],
      [20, 3, 188],
      [180, 5, 188],
    ] as const;
    expect(placesOf(rows)).toEqual([0, 180, 208, 3 * 188 + 180]);
    expect(
      placesOf([
        [90, 0, 90],
        [90, 1, 90],
        [90, 2, 90],
      ]),
    ).toEqual([90, 180, 270]);
    // The length is that of the run, the steps are so too.
    expect(
      placesOf([
        [90, 0, 270],
        [180, 1, 270],
        [270, 2, 270],
      ]),
    ).toEqual([90, 180, 270]);
  });

  test('of a run that was gone on with from a checkpoint are where they were before', () => {
    const rows = [
      [50, 0],
      [100, 0],
      [50, 1],
      [100, 1],
      [50, 2],
      [100, 1],
      [50, 2],
      [100, 2],
      [50, 3],
    ] as const;
    expect(placesOf(rows)).toEqual([50, 100, 150, 200, 250, 200, 250, 300, 350]);
  });

  test('of an epoch are back with the first epoch, even if each has one step', () => {
    const counters = new Counters();
    const rows = [0, 1, 2, 0, 1].map((epoch) => {
      const isBack = counters.isBack(90, epoch, 90);
      if (isBack) counters.begin(90, epoch);
      return [isBack, 90 + counters.offset];
    });
    expect(rows).toEqual([
      [false, 90],
      [false, 180],
      [false, 270],
      [true, 90],
      [false, 180],
    ]);
  });

  test('of an epoch never fall on one another', () => {
    const epochs = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(epochs, fc.nat(1), fc.boolean(), (lengths, first, isWritten) => {
        const rows = lengths.flatMap((length, epoch) =>
          Array.from({ length }, (_, i) => [first + i, epoch, isWritten ? length : 0] as const),
        );
        const found = placesOf(rows);
        expect(new Set(found).size).toBe(rows.length);
        expect(found).toEqual(found.toSorted((a, b) => a - b));
      }),
      runs(200),
    );
  });
});
