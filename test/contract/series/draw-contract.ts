/** What every implementation of the kernels for drawing has to do, as one suite. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { BucketOptions, DrawKernel } from '../../../src/kernel/series/draw/draw.ts';
import {
  anyPlaces,
  exactChoices,
  noise,
  referenceBuckets,
  referenceGaps,
  referenceReduction,
} from '../../support/draw-reference.ts';
import { runs } from '../../support/property.ts';
import { hardSeries } from '../../support/hard-series.ts';

const { NaN: nan } = Number;
const inf = Infinity;

export function describeDraw(name: string, load: () => Promise<DrawKernel>): void {
  describe(`drawing: ${name}`, () => {
    let kernel: DrawKernel;
    beforeAll(async () => {
      kernel = await load();
    });

    const expectBuckets = (values: Float64Array, options: BucketOptions): void => {
      const buckets = referenceBuckets(values.length, options);
      for (const kept of ['m4', 'minMax'] as const) {
        const { bucketStarts, ...found } = kernel[kept](values, options);
        expect(found).toEqual(referenceReduction(values, buckets, kept));
        expect(bucketStarts).toHaveLength(options.buckets + 1);
        for (const [b, rows] of buckets.entries()) {
          expect((bucketStarts[b + 1] ?? 0) - (bucketStarts[b] ?? 0)).toBe(rows.length);
          if (rows.length > 0) expect(bucketStarts[b]).toBe(rows[0]);
        }
      }
    };

    describe('m4 and minMax', () => {
      test('keep what they should of every length, in fewer and in more buckets than values', () => {
        for (let length = 0; length <= 67; length++) {
          for (const buckets of [1, 2, 3, 7, length, length + 1, 100].filter((some) => some > 0)) {
            expectBuckets(noise(length, length), { buckets });
          }
        }
      });

      test('find an extreme wherever it is, around every size of block', () => {
        for (const length of [63, 64, 65, 127, 128, 129, 200]) {
          for (let at = 0; at < length; at++) {
            const values = noise(length, 1);
            values[at] = at % 2 === 0 ? 1e9 : -1e9;
            expectBuckets(values, { buckets: 1 });
          }
        }
      });

      test('keep what they should of buckets longer than the memory they work in', () => {
        for (const length of [16_383, 16_384, 16_385, 16_448, 50_001]) {
          const values = noise(length, 3);
          const low = length >> 1;
          values[low] = -5;
          values[length - 2] = 7;
          const found = kernel.m4(values, { buckets: 1 });
          expect([...found.indices]).toEqual([0, low, length - 2, length - 1]);
          const three = kernel.minMax(values, { buckets: 3 });
          expect([...three.indices]).toContain(low);
          expect([...three.indices]).toContain(length - 2);
          expect(found.nonFiniteIndices).toHaveLength(0);
        }
      });

      test('keep the earliest of equal extremes, and take -0 for 0', () => {
        const equal = new Float64Array(300).fill(4);
        expect([...kernel.minMax(equal, { buckets: 2 }).indices]).toEqual([0, 150]);
        const zeros = Float64Array.from({ length: 200 }, (_, i) => (i % 3 === 0 ? 0 : -0));
        expect([...kernel.m4(zeros, { buckets: 1 }).indices]).toEqual([0, 199]);
        const tied = new Float64Array(300).fill(0);
        for (const at of [70, 71, 140, 250]) tied[at] = -1;
        for (const at of [90, 99, 188]) tied[at] = 1;
        expect([...kernel.minMax(tied, { buckets: 1 }).indices]).toEqual([70, 90]);
      });

      test('tell of values that are not finite, wherever they are', () => {
        for (let at = 0; at < 67; at++) {
          for (const bad of [nan, inf, -inf]) {
            const values = noise(67, at);
            values[at] = bad;
            for (const buckets of [1, 5]) expectBuckets(values, { buckets });
          }
        }
      });

      test('say how many of each kind lie between two kept values', () => {
        const values = [nan, 5, nan, inf, nan, 9, -inf, 1, 3, nan, nan];
        expect(kernel.m4(values, { buckets: 1 })).toEqual({
          indices: Uint32Array.of(1, 5, 7, 8),
          nonFiniteIndices: Uint32Array.of(0, 2, 3, 6, 9),
          nonFiniteCounts: Uint32Array.of(1, 2, 1, 1, 2),
          bucketStarts: Uint32Array.of(0, 11),
        });
        expect(kernel.minMax([nan, nan], { buckets: 1 })).toEqual({
          indices: new Uint32Array(),
          nonFiniteIndices: Uint32Array.of(0),
          nonFiniteCounts: Uint32Array.of(2),
          bucketStarts: Uint32Array.of(0, 2),
        });
      });

      test('take the largest numbers there are for what they are', () => {
        const most = Number.MAX_VALUE;
        const values = Float64Array.from({ length: 130 }, (_, i) => (i % 2 === 0 ? most : -most));
        expect([...kernel.m4(values, { buckets: 1 }).indices]).toEqual([0, 1, 129]);
        const least = Float64Array.from({ length: 130 }, (_, i) => (i === 77 ? 5e-324 : 0));
        expect([...kernel.m4(least, { buckets: 1 }).indices]).toEqual([0, 77, 129]);
      });

      test('cut equally wide buckets where there are positions, with gaps and repeated ones', () => {
        const positions = [0, 0, 0, 1, 1, 50, 50, 99, 100];
        const values = Float64Array.of(3, 1, 2, 8, 9, 5, 4, 7, 6);
        expect([...kernel.m4(values, { buckets: 4, positions }).bucketStarts]).toEqual([
          0, 5, 5, 7, 9,
        ]);
        expectBuckets(values, { buckets: 4, positions });
        expectBuckets(values, { buckets: 4, positions, from: 1, to: 50 });
        expectBuckets(values, { buckets: 3, from: 2, to: 6.5 });
        expectBuckets(values, { buckets: 2, positions: new Float64Array(9).fill(5) });
        expectBuckets(values, { buckets: 3, positions, from: 200, to: 300 });
      });

      test('of any values and places are what the definition says', () => {
        fc.assert(
          fc.property(
            hardSeries.map((values) => values.subarray(0, 400)),
            fc.option(anyPlaces(400), { nil: undefined }),
            fc.integer({ min: 1, max: 60 }),
            fc.option(
              fc.tuple(
                fc.double({ min: 0, max: 1, noNaN: true }),
                fc.double({ min: 0, max: 1, noNaN: true }),
              ),
              {
                nil: undefined,
              },
            ),
            (values, places, buckets, part) => {
              const positions = places?.subarray(0, values.length);
              const span = positions?.at(-1) ?? values.length;
              const ends = part?.map((share) => share * span).sort((a, b) => a - b);
              expectBuckets(values, {
                buckets,
                ...(positions === undefined ? {} : { positions }),
                ...(ends === undefined ? {} : { from: ends[0] ?? 0, to: ends[1] ?? 0 }),
              });
            },
          ),
          runs(150),
        );
      });

      test('do not depend on the kind of array, and leave it as it was', () => {
        const wide = noise(1000, 9);
        wide[5] = nan;
        const narrow = Float32Array.from(wide);
        const before = [...narrow];
        const positions = narrow.map((_, i) => i >> 1);
        const options = { buckets: 7, positions };
        const expected = kernel.m4(Float64Array.from(narrow), options);
        expect(kernel.m4(narrow, options)).toEqual(expected);
        expect(kernel.m4([...narrow], { buckets: 7, positions: [...positions] })).toEqual(expected);
        expect([...narrow]).toEqual(before);
        expect(structuredClone(expected)).toEqual(expected);
      });
    });

    describe('lttb', () => {
      test('picks the largest triangles, exactly, and the earliest of equal ones', () => {
        for (let length = 3; length <= 67; length++) {
          for (const points of [3, 4, 7, length - 1]) {
            if (points < 3 || points >= length) continue;
            // Few different values, so that triangles are often equal.
            const values = noise(length, length + points).map((value) => Math.round(value * 3));
            const { indices } = kernel.lttb(values, { points });
            expect(indices).toHaveLength(points);
            expect([indices[0], indices.at(-1)]).toEqual([0, length - 1]);
            for (const [b, { rows, areas, largest }] of exactChoices(
              values,
              undefined,
              indices,
            ).entries())
              expect(indices[b + 1]).toBe(rows[areas.indexOf(largest)]);
          }
        }
      });

      test('picks the earliest of equal triangles, however far apart they are', () => {
        const equal = new Float64Array(300).fill(0.1);
        expect([...kernel.lttb(equal, { points: 3 }).indices]).toEqual([0, 1, 299]);
        const spikes = new Float64Array(300);
        for (const at of [140, 141, 180, 270]) spikes[at] = 4;
        expect([...kernel.lttb(spikes, { points: 3 }).indices]).toEqual([0, 140, 299]);
      });

      test('is exact around a large mean and uneven positions too', () => {
        const values = noise(3000, 2).map((value) => 1e6 + Math.round(value * 1024) / 2 ** 20);
        const positions = values.map((_, i) => 1.7e12 + 7 * i + (i % 7));
        for (const options of [{ points: 40 }, { points: 40, positions }]) {
          const { indices } = kernel.lttb(values, options);
          const choices = exactChoices(
            values,
            'positions' in options ? positions : undefined,
            indices,
          );
          for (const [b, { rows, areas, largest }] of choices.entries())
            expect(indices[b + 1]).toBe(rows[areas.indexOf(largest)]);
        }
      });

      test('of any finite values picks within the stated bound', () => {
        fc.assert(
          fc.property(
            fc.array(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), {
              minLength: 4,
              maxLength: 150,
              size: 'max',
            }),
            fc.option(anyPlaces(150), { nil: undefined }),
            fc.integer({ min: 3, max: 20 }),
            (list, places, points) => {
              const positions = places?.subarray(0, list.length);
              const { indices } = kernel.lttb(list, {
                points,
                ...(positions === undefined ? {} : { positions }),
              });
              if (points >= list.length) {
                expect([...indices]).toEqual(list.map((_, i) => i));
                return;
              }
              const bound = BigInt(Math.ceil(4 + list.length / points));
              for (const [b, { rows, areas, largest, box }] of exactChoices(
                list,
                positions,
                indices,
              ).entries()) {
                const area = areas[rows.indexOf(indices[b + 1] ?? -1)];
                expect(area).toBeDefined();
                // 1e-15 of the box for each of `bound`.
                expect((largest - (area ?? 0n)) * 10n ** 15n).toBeLessThanOrEqual(box * bound);
              }
            },
          ),
          runs(100),
        );
      });

      test('works on the finite values, and tells of the others', () => {
        fc.assert(
          fc.property(
            hardSeries.map((values) => values.subarray(0, 200)),
            fc.integer({ min: 2, max: 12 }),
            (values, points) => {
              const found = kernel.lttb(values, { points });
              const rows = [...values.keys()].filter((i) => Number.isFinite(values[i]));
              const clean = kernel.lttb(
                rows.map((i) => values[i] ?? 0),
                { points, positions: rows },
              );
              expect([...found.indices]).toEqual([...clean.indices].map((i) => rows[i]));
              expect(found.indices).toHaveLength(Math.min(points, rows.length));
              expect(found).toEqual({
                ...referenceGaps(values, found.indices),
                indices: found.indices,
              });
            },
          ),
          runs(150),
        );
      });

      test('finds values that are not finite in every bucket and at both ends', () => {
        for (let at = 0; at < 40; at++) {
          for (const bad of [nan, inf, -inf]) {
            const values = noise(40, 5);
            values[at] = bad;
            const { indices, nonFiniteIndices } = kernel.lttb(values, { points: 8 });
            expect([...nonFiniteIndices]).toEqual([at]);
            expect([...indices]).not.toContain(at);
            expect(indices).toHaveLength(8);
          }
        }
      });

      test('keeps both ends for two points, and everything where there is nothing to leave out', () => {
        expect([...kernel.lttb([4, 9, 1, 5], { points: 2 }).indices]).toEqual([0, 3]);
        expect([...kernel.lttb([nan, 9, 1, 5, inf], { points: 2 }).indices]).toEqual([1, 3]);
        expect([...kernel.lttb([7], { points: 2 }).indices]).toEqual([0]);
        expect([...kernel.lttb([], { points: 3 }).indices]).toEqual([]);
        expect([...kernel.lttb([3, 2, 1], { points: 3 }).indices]).toEqual([0, 1, 2]);
      });

      test('does not rank areas that overflow, and returns as many points all the same', () => {
        const values = noise(500, 4).map((value) => value * Number.MAX_VALUE);
        const { indices, nonFiniteIndices } = kernel.lttb(values, { points: 20 });
        expect(new Set(indices).size).toBe(20);
        expect(nonFiniteIndices).toHaveLength(0);
      });

      test('after a preselection chooses among extremes, and keeps spikes', () => {
        const values = noise(20_000, 6);
        values[777] = 50;
        values[19_000] = -40;
        const positions = values.map((_, i) => i + (i > 10_000 ? 5000 : 0));
        for (const options of [{}, { positions }]) {
          const all = { points: 100, minMaxRatio: 4, ...options };
          const { indices } = kernel.lttb(values, all);
          expect(indices).toHaveLength(100);
          expect([...indices]).toEqual(expect.arrayContaining([0, 777, 19_000, 19_999]));
          const extremes = kernel.minMax(values, { buckets: 200, ...options }).indices;
          for (const index of indices.subarray(1, -1)) expect(extremes).toContain(index);
        }
        const bad = values.slice();
        bad[0] = bad[500] = nan;
        bad[19_999] = inf;
        const found = kernel.lttb(bad, { points: 100, minMaxRatio: 4 });
        expect([found.indices[0], found.indices.at(-1)]).toEqual([1, 19_998]);
        expect(found).toEqual({ ...referenceGaps(bad, found.indices), indices: found.indices });
        const none = new Float64Array(1000).fill(nan);
        expect(kernel.lttb(none, { points: 10, minMaxRatio: 2 })).toEqual({
          indices: new Uint32Array(),
          nonFiniteIndices: Uint32Array.of(0),
          nonFiniteCounts: Uint32Array.of(1000),
        });
      });
    });

    test('bad input is refused, by name, value and rule', () => {
      const four = [1, 2, 3, 4];
      const refuse = (work: () => unknown, field: string): void => {
        try {
          work();
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_input', details: { field } });
          return;
        }
        expect.fail(`nothing was thrown for ${field}`);
      };
      for (const buckets of [0, -1, 1.5, nan, 2 ** 24 + 1])
        refuse(() => kernel.m4(four, { buckets }), 'options.buckets');
      refuse(() => kernel.minMax(four, { buckets: 1, positions: [1, 2, 3] }), 'options.positions');
      refuse(
        () => kernel.m4(four, { buckets: 1, positions: [1, 2, 1, 3] }),
        'options.positions[2]',
      );
      refuse(
        () => kernel.m4(four, { buckets: 1, positions: [1, 2, 3, inf] }),
        'options.positions[3]',
      );
      refuse(() => kernel.m4([1], { buckets: 1, positions: [nan] }), 'options.positions[0]');
      refuse(
        () => kernel.m4(four, { buckets: 1, positions: [-inf, 2, 3, 4] }),
        'options.positions[0]',
      );
      refuse(() => kernel.m4(four, { buckets: 1, from: nan }), 'options.from');
      refuse(() => kernel.m4(four, { buckets: 1, from: 3, to: 2 }), 'options.to');
      refuse(() => kernel.m4(four, { buckets: 1, from: -1.7e308, to: 1.7e308 }), 'options.to');
      refuse(() => kernel.lttb(four, { points: 1 }), 'options.points');
      refuse(() => kernel.lttb(four, { points: 3, minMaxRatio: 1 }), 'options.minMaxRatio');
      refuse(
        () => kernel.lttb(four, { points: 3, positions: [4, 3, 2, 1] }),
        'options.positions[1]',
      );
      // A misspelt option is no default.
      const misspelt: object = { bucket: 3, buckets: 3 };
      refuse(() => kernel.m4(four, misspelt as BucketOptions), 'options.bucket');
      for (let at = 1; at < 40; at++) {
        const positions = Array.from({ length: 40 }, (_, i) => (i === at ? i - 2 : i));
        refuse(() => kernel.m4(positions, { buckets: 9, positions }), `options.positions[${at}]`);
      }
      const long = new Float64Array(40_000).map((_, i) => i);
      for (const at of [1, 16_383, 16_384, 16_385, 39_999]) {
        for (const bad of [-1, nan]) {
          const positions = long.slice();
          positions[at] = bad;
          refuse(() => kernel.m4(long, { buckets: 9, positions }), `options.positions[${at}]`);
        }
      }
    });
  });
}
