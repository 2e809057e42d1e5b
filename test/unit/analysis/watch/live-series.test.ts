import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMetricSeries } from 'quark-sdk/analysis';
import { LiveSeries, MAX_LIVE_BLOCKS } from '../../../../src/analysis/watch/live-series.ts';
import { runs } from '../../../support/property.ts';

const piece = (from: number, values: readonly number[]) =>
  createMetricSeries('a', { steps: values.map((_, i) => from + i), values: [...values] });

test('a short series is kept as it is, what is repeated is passed over', () => {
  const live = new LiveSeries('a', 8, 1.5);
  live.add(piece(0, [5, 4, 3]));
  live.add(piece(1, [9, 9, 2]));
  expect([...live.snapshot().values]).toEqual([5, 4, 3, 2]);
  expect([...live.snapshot().steps]).toEqual([0, 1, 2, 3]);
  expect([live.count, live.passedOver]).toEqual([4, 2]);
});

test('a long series stays bounded, in order, and within its values; non-finite ones are not lost', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5000 }),
      fc.integer({ min: 1, max: 97 }),
      fc.option(fc.nat(4999)),
      (count, size, broken) => {
        const values = Array.from({ length: count }, (_, i) =>
          i === broken ? Number.NaN : 10 - i / 1000,
        );
        const live = new LiveSeries('a', 8, 1.5);
        for (let from = 0; from < count; from += size)
          live.add(piece(from, values.slice(from, from + size)));
        const { steps, values: kept } = live.snapshot();
        expect(kept.length).toBeLessThanOrEqual(MAX_LIVE_BLOCKS + 9);
        expect([...steps]).toEqual([...new Set(steps)].toSorted((a, b) => a - b));
        const finite = kept.filter((value) => !Number.isNaN(value));
        expect(finite.every((value, i) => i === 0 || value < (finite[i - 1] ?? 0))).toBe(true);
        expect(kept.some((value) => Number.isNaN(value))).toBe(broken !== null && broken < count);
        expect(live.count).toBe(count);
        if (count > 0 && broken !== count - 1) expect(steps.at(-1)).toBe(count - 1);
      },
    ),
    runs(60),
  );
});
