import fc from 'fast-check';
import { expect, test } from 'vitest';
import { coalesceRanges, rangesContain } from '../../../src/store/batch-ranges.ts';
import type { BatchRange } from '../../../src/store/store.ts';
import { runs } from '../../support/property.ts';

const range: fc.Arbitrary<BatchRange> = fc
  .tuple(fc.constantFrom('a', 'b'), fc.nat({ max: 30 }), fc.nat({ max: 6 }))
  .map(([writerId, batchStart, length]) => ({
    writerId,
    batchStart,
    batchLast: batchStart + length,
  }));

function batchesIn(ranges: readonly BatchRange[]): string[] {
  const names = new Set<string>();
  for (const { writerId, batchStart, batchLast } of ranges) {
    for (let batch = batchStart; batch <= batchLast; batch++) names.add(`${writerId} ${batch}`);
  }
  return [...names].toSorted();
}

test('coalesced ranges hold the same batches, apart from each other and in order', () => {
  fc.assert(
    fc.property(fc.array(range), (ranges) => {
      const joined = coalesceRanges(ranges);
      expect(batchesIn(joined)).toEqual(batchesIn(ranges));
      joined.slice(1).forEach((next, i) => {
        const before = joined[i];
        if (before?.writerId === next.writerId)
          expect(next.batchStart).toBeGreaterThan(before.batchLast + 1);
        else expect(before?.writerId).toBe('a');
      });
    }),
    runs(300),
  );
});

test('a batch is held by the range around it, of its own writer', () => {
  fc.assert(
    fc.property(
      fc.array(range),
      fc.constantFrom('a', 'b'),
      fc.nat({ max: 40 }),
      (ranges, writerId, batchNumber) => {
        expect(rangesContain(ranges, { writerId, batchNumber })).toBe(
          batchesIn(ranges).includes(`${writerId} ${batchNumber}`),
        );
      },
    ),
    runs(300),
  );
});
