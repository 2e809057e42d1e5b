/** What must hold of the kernels for drawing whatever the data is, apart from their results, which the contract checks. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { DrawKernel } from '../../../src/kernel/series/draw/draw.ts';
import { jsDraw } from '../../../src/kernel/series/draw/draw-js.ts';
import { loadWasmSeriesKernel } from '../../../src/kernel/series/series-kernel.ts';
import { anyPlaces, noise } from '../../support/draw-reference.ts';
import { hardSeries } from '../../support/hard-series.ts';
import { runs } from '../../support/property.ts';

let kernel: DrawKernel;

beforeAll(async () => {
  kernel = await loadWasmSeriesKernel();
});

/** Series longer than any piece that is worked on at once: hard ones, one after another. */
const long = fc
  .tuple(fc.array(hardSeries, { minLength: 1, maxLength: 4 }), fc.constantFrom(1, 3, 9))
  .map(([parts, times]) =>
    Float64Array.from(
      Array.from({ length: times }, () => parts.flatMap((part) => [...part])).flat(),
    ),
  );

describe('drawing', () => {
  test('is the same in WebAssembly and in plain JavaScript, to the index', () => {
    fc.assert(
      fc.property(
        long,
        fc.integer(),
        fc.boolean(),
        fc.oneof(fc.integer({ min: 2, max: 30 }), fc.integer({ min: 2, max: 6000 })),
        fc.constantFrom(0, 2, 4, 33),
        (values, seed, isPlaced, parts, minMaxRatio) => {
          const positions = fc.sample(anyPlaces(values.length), { seed, numRuns: 1 })[0];
          const by = isPlaced && positions !== undefined ? { positions } : {};
          const cut = { buckets: parts, ...by };
          expect(kernel.m4(values, cut)).toEqual(jsDraw.m4(values, cut));
          expect(kernel.minMax(values, cut)).toEqual(jsDraw.minMax(values, cut));
          const pick = { points: parts, minMaxRatio, ...by };
          expect(kernel.lttb(values, pick)).toEqual(jsDraw.lttb(values, pick));
        },
      ),
      runs(120),
    );
  });

  test('loses no spike: the extremes of every bucket are among what is kept', () => {
    fc.assert(
      fc.property(long, fc.integer({ min: 1, max: 200 }), (values, buckets) => {
        const finite = values.filter(Number.isFinite);
        for (const { indices } of [
          kernel.m4(values, { buckets }),
          kernel.minMax(values, { buckets }),
        ]) {
          const kept = Array.from(indices, (i) => values[i] ?? 0);
          // -0 and 0 are equal, and either may be kept.
          expect(Math.min(...kept) + 0).toBe(finite.reduce((a, b) => Math.min(a, b), Infinity) + 0);
          expect(Math.max(...kept) + 0).toBe(
            finite.reduce((a, b) => Math.max(a, b), -Infinity) + 0,
          );
        }
      }),
      runs(60),
    );
  });

  test('counts every value that is not finite once', () => {
    fc.assert(
      fc.property(long, fc.integer({ min: 2, max: 300 }), (values, parts) => {
        const bad = values.filter((value) => !Number.isFinite(value)).length;
        for (const { nonFiniteCounts } of [
          kernel.m4(values, { buckets: parts }),
          kernel.minMax(values, { buckets: parts }),
          kernel.lttb(values, { points: parts }),
        ])
          expect(nonFiniteCounts.reduce((sum, count) => sum + count, 0)).toBe(bad);
      }),
      runs(60),
    );
  });

  test('does not depend on where the series lies in memory, nor on what was there before', () => {
    const values = noise(50_000, 8);
    const moved = new Float64Array(50_003).subarray(3);
    moved.set(values);
    const options = { buckets: 333 };
    const first = kernel.m4(values, options);
    kernel.lttb(noise(70_000, 1), { points: 5 });
    expect(kernel.m4(moved, options)).toEqual(first);
    expect(kernel.m4(values, options)).toEqual(first);
  });
});
