import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Counters } from '../../../src/import/counters.ts';
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
});
