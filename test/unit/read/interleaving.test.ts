/** Rows that lie metric by metric are put in the order of their sequence numbers, with a sort and without one. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  evenSpans,
  interleavingOf,
  type EvenSpan,
} from '../../../src/read/columns/interleaving.ts';
import { runs } from '../../support/property.ts';

/** Spans of all rows, or null. */
function spansOf(chunks: readonly Float64Array[]): readonly EvenSpan[] | null {
  const all: EvenSpan[] = [];
  let start = 0;
  for (const sequences of chunks) {
    const spans = evenSpans(sequences, start);
    if (spans === null) return null;
    all.push(...spans);
    start += sequences.length;
  }
  return all;
}

/** Rows of `lanes` metrics in turn, each lane cut into parts, all of them in any order. */
const inTurns = fc
  .record({
    lanes: fc.integer({ min: 1, max: 7 }),
    rows: fc.integer({ min: 1, max: 900 }),
    first: fc.constantFrom(0, 5, 2 ** 33),
    cuts: fc.array(fc.nat(899), { maxLength: 6 }),
    seed: fc.nat(1e6),
  })
  .map(({ cuts, first, lanes, rows, seed }) => {
    const parts = Array.from({ length: lanes }, (_, lane) => {
      const own = Array.from({ length: rows }, (_row, row) => first + row * lanes + lane);
      const ends = [...cuts, rows].toSorted((a, b) => a - b);
      return ends.map((end, i) => own.slice(ends[i - 1] ?? 0, end));
    }).flat();
    let s = seed + 1;
    const keyed = parts.map((part) => ({ part, key: (s = (s * 16807) % 2147483647) }));
    return keyed.toSorted((a, b) => a.key - b.key).map(({ part }) => Float64Array.from(part));
  });

test('rows of metrics in turn, cut and shuffled in any way, come out one after the other', () => {
  let found = 0;
  fc.assert(
    fc.property(inTurns, (chunks) => {
      const stage = Float64Array.from(chunks.flatMap((chunk) => [...chunk]));
      const spans = spansOf(chunks);
      const rows = spans === null ? null : interleavingOf(spans, stage.length);
      if (rows === null) return;
      found++;
      const target = new Float64Array(stage.length + 3).fill(-1);
      rows.put(target, 2, stage);
      expect([...target]).toEqual([-1, -1, ...stage.toSorted(), -1]);
      const texts: string[] = ['x'];
      rows.putValues(texts, 1, Array.from(stage, String));
      expect(texts).toEqual(['x', ...Array.from(stage.toSorted(), String)]);
      expect(rows.firstSequence).toBe(stage.toSorted()[0]);
    }),
    runs(300),
  );
  expect(found).toBeGreaterThan(10);
});

test('numbers with gaps, twice, with fractions or of several strides are left to a sort', () => {
  const judged = (...chunks: number[][]): boolean => {
    const spans = spansOf(chunks.map((chunk) => Float64Array.from(chunk)));
    const rowCount = chunks.reduce((sum, { length }) => sum + length, 0);
    return spans !== null && interleavingOf(spans, rowCount) !== null;
  };
  expect(judged([0, 2, 4], [1, 3, 5])).toBe(true);
  expect(judged([3, 4, 5], [0, 1, 2])).toBe(true);
  expect(judged([7])).toBe(true);
  // A gap, of which there are as many rows as numbers.
  expect(judged([0, 2, 4], [1, 3, 6])).toBe(false);
  expect(judged([0, 2, 4], [0, 2, 4])).toBe(false);
  expect(judged([0, 2, 4], [2, 4], [5])).toBe(false);
  expect(judged([0, 2, 4], [1, 1, 1])).toBe(false);
  expect(judged([0, 1.5, 3], [1, 2, 2.5])).toBe(false);
  expect(judged([0, 1, 2], [3, 5], [4, 6])).toBe(false);
  expect(judged([4, 2, 0], [5, 3, 1])).toBe(false);
  expect(judged([0, 2, Number.NaN])).toBe(false);
});
