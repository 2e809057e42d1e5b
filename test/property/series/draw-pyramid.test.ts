import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsDraw } from '../../../src/kernel/series/draw/draw-js.ts';
import { SeriesPyramid } from '../../../src/kernel/series/draw/draw-pyramid.ts';
import { anyPlaces, noise } from '../../support/draw-reference.ts';
import { hardSeries } from '../../support/hard-series.ts';
import { runs } from '../../support/property.ts';

const series = fc
  .array(hardSeries, { minLength: 1, maxLength: 3 })
  .map((parts) => Float64Array.from(parts.flatMap((part) => [...part])));

/** Places for a series of any length. */
const placed = series.chain((values) =>
  fc.record({
    values: fc.constant(values),
    positions: fc.option(anyPlaces(values.length), { nil: undefined }),
  }),
);

const inPieces = (
  pyramid: SeriesPyramid,
  values: Float64Array,
  positions: Float64Array | undefined,
  cuts: readonly number[],
): void => {
  const edges = [0, ...cuts.map((share) => Math.floor(share * values.length)), values.length];
  for (const [i, to] of edges.sort((a, b) => a - b).entries()) {
    const from = edges[i - 1] ?? 0;
    pyramid.append(values.subarray(from, to), positions?.subarray(from, to));
  }
};

describe('a pyramid', () => {
  test('answers as m4 of all values does, for any part and any way of appending', () => {
    fc.assert(
      fc.property(
        placed,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }),
        fc.tuple(
          fc.double({ min: -0.1, max: 1, noNaN: true }),
          fc.double({ min: 0, max: 1.1, noNaN: true }),
        ),
        fc.integer({ min: 1, max: 80 }),
        ({ values, positions }, cuts, ends, buckets) => {
          const pyramid = new SeriesPyramid();
          inPieces(pyramid, values, positions, cuts);
          const start = positions?.[0] ?? 0;
          const span = (positions?.at(-1) ?? values.length) - start;
          const [from = 0, to = 0] = ends
            .map((share) => start + share * span)
            .sort((a, b) => a - b);
          const by = positions === undefined ? {} : { positions };
          for (const part of [{ buckets }, { buckets, from, to }])
            expect(pyramid.query(part)).toEqual(jsDraw.m4(values, { ...part, ...by }));
        },
      ),
      runs(150),
    );
  });

  test('answers the same whether arrays were copied or referred to, or first one, then the other', () => {
    fc.assert(
      fc.property(
        placed,
        fc.double({ min: 0, max: 1, noNaN: true }),
        ({ values, positions }, share) => {
          const half = Math.floor(share * values.length);
          const whole = new SeriesPyramid();
          whole.append(values, positions);
          const referring = new SeriesPyramid();
          referring.extendTo(values.subarray(0, half), positions?.subarray(0, half));
          const both = new SeriesPyramid();
          both.extendTo(values.subarray(0, half), positions?.subarray(0, half));
          both.append(values.subarray(half), positions?.subarray(half));
          referring.extendTo(values, positions);
          for (const other of [referring, both]) {
            expect(other.query({ buckets: 11 })).toEqual(whole.query({ buckets: 11 }));
            expect(other.values).toEqual(whole.values);
            expect(other.positions).toEqual(whole.positions);
            expect(other.length).toBe(values.length);
          }
        },
      ),
      runs(80),
    );
  });

  test('does not change what lies in a full block when it grows', () => {
    const values = noise(10_000, 1);
    const pyramid = new SeriesPyramid();
    pyramid.append(values.subarray(0, 5000));
    const part = { from: 0, to: 4095, buckets: 16 };
    const before = pyramid.query(part);
    pyramid.append(values.subarray(5000));
    expect(pyramid.query(part)).toEqual(before);
    expect(pyramid.query({ from: 700, to: 709, buckets: 100 }).indices).toEqual(
      Uint32Array.from({ length: 10 }, (_, i) => 700 + i),
    );
  });

  test('looks at blocks, not at all values, and leaves the arrays it was given alone', () => {
    const values = noise(100_000, 2);
    values[77_777] = 9;
    const before = values.slice();
    const pyramid = new SeriesPyramid();
    pyramid.extendTo(values);
    expect(values).toEqual(before);
    // It refers to the array, so what it does not read again it does not see.
    values[50_000] = 99;
    const { indices } = pyramid.query({ buckets: 1 });
    expect([...indices]).toContain(77_777);
    expect([...indices]).not.toContain(50_000);
  });

  test('does not write into an array that it refers to', () => {
    const room = new Float64Array(100);
    const pyramid = new SeriesPyramid();
    pyramid.extendTo(room.subarray(0, 50));
    pyramid.append([7, 8]);
    expect(room).toEqual(new Float64Array(100));
    expect([...pyramid.values.subarray(49)]).toEqual([0, 7, 8]);
  });

  test('holds at most half a byte beside each value, and a bounded number where none is finite', () => {
    const pyramid = new SeriesPyramid();
    for (let i = 0; i < 64; i++) {
      pyramid.append(noise(4001, i));
      expect(pyramid.indexBytes).toBeLessThanOrEqual(0.5 * pyramid.length + 1024);
    }
    const worst = new SeriesPyramid();
    const kinds = [Number.NaN, Infinity, -Infinity, 1, 2];
    worst.append(Float64Array.from({ length: 100_000 }, (_, i) => kinds[i % 5] ?? 0));
    expect(worst.indexBytes).toBeLessThanOrEqual(8 * worst.length);
  });

  test('refuses bad input, and stays as it was', () => {
    const pyramid = new SeriesPyramid();
    pyramid.append([1, 2, 3], [1, 2, 3]);
    const before = pyramid.query({ buckets: 2 });
    const refused: readonly [() => unknown, string][] = [
      [() => pyramid.append([4], [2]), 'positions[0]'],
      [() => pyramid.append([4]), 'positions'],
      [() => pyramid.append([4, 5], [4]), 'positions'],
      [() => pyramid.append([4, 5], [5, 4]), 'positions[1]'],
      [() => pyramid.append([4], [Number.NaN]), 'positions[0]'],
      [() => pyramid.append([4], [Infinity]), 'positions[0]'],
      [() => pyramid.extendTo(Float64Array.of(1, 2), Float64Array.of(1, 2)), 'values'],
      [() => pyramid.extendTo(Float64Array.of(1, 2, 3, 4)), 'positions'],
      [() => pyramid.extendTo(Float64Array.of(1, 2, 3, 4), Float64Array.of(1, 2, 3)), 'positions'],
      [
        () => pyramid.extendTo(Float64Array.of(1, 2, 3, 4), Float64Array.of(1, 2, 3, 2)),
        'positions[3]',
      ],
      [() => pyramid.query({ buckets: 0 }), 'options.buckets'],
      [() => pyramid.query({ buckets: 5, from: 3, to: 2 }), 'options.to'],
    ];
    for (const [work, field] of refused) {
      expect(work).toThrow(expect.objectContaining({ code: 'invalid_input' }));
      expect(work).toThrow(
        expect.objectContaining({ details: expect.objectContaining({ field }) }),
      );
    }
    expect(pyramid.length).toBe(3);
    expect(pyramid.query({ buckets: 2 })).toEqual(before);
    const plain = new SeriesPyramid();
    plain.append([1]);
    expect(() => plain.append([2], [2])).toThrow(
      expect.objectContaining({ code: 'invalid_input' }),
    );
  });

  test('is empty at first', () => {
    const pyramid = new SeriesPyramid();
    pyramid.append([]);
    expect(pyramid.query({ buckets: 3 })).toEqual({
      indices: new Uint32Array(),
      nonFiniteIndices: new Uint32Array(),
      nonFiniteCounts: new Uint32Array(),
      bucketStarts: new Uint32Array(4),
    });
  });
});
