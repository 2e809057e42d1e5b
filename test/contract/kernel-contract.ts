/** What every way to the kernels has to do, as one suite. A test file per way calls it. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  Histogram,
  HistogramOptions,
  TensorData,
  TensorStats,
  TensorStatsOptions,
} from '../../src/kernel/kernel.ts';
import { expectHistogramOf, expectWithinBounds } from '../support/kernel-reference.ts';
import { runs } from '../support/property.ts';
import {
  anyFloat32,
  anyFloat64,
  anyInteger,
  anyTensor,
  normal,
  random,
} from '../support/tensors.ts';
import { describeHalfKernel } from './kernel-half-contract.ts';
import { describeLogHistogram } from './kernel-log-contract.ts';
import { describePairKernel, type PairKernelUnderTest } from './kernel-pair-contract.ts';
import { describeRefusals } from './kernel-refusal-contract.ts';
import { describeUnitKernel, type UnitKernelUnderTest } from './kernel-unit-contract.ts';

/** A way to the kernels, synchronous or not. */
export type KernelUnderTest = PairKernelUnderTest &
  UnitKernelUnderTest & {
    tensorStats(data: TensorData, options?: TensorStatsOptions): TensorStats | Promise<TensorStats>;
    histogram(data: TensorData, options?: HistogramOptions): Histogram | Promise<Histogram>;
    close?(): Promise<void>;
  };

/** Every length up to 67 and both sides of each block size. */
const LENGTHS = [
  ...Array.from({ length: 68 }, (_, i) => i),
  127,
  128,
  129,
  255,
  256,
  257,
  1023,
  1024,
  1025,
  1088,
  2047,
  2048,
  2049,
  2112,
  4097,
];

/** `share`: of the random cases; 1 where a way's own arithmetic is at stake, less for a way that calls one of those. */
export function describeKernel(
  way: string,
  open: () => Promise<KernelUnderTest>,
  share: number = 1,
): void {
  describe(`kernel contract: ${way}`, () => {
    let kernel: KernelUnderTest;
    beforeAll(async () => {
      kernel = await open();
    });
    afterAll(async () => kernel.close?.());

    describe('tensor statistics', () => {
      test.each([
        ['float32', anyFloat32],
        ['float64', anyFloat64],
        ['integers', anyInteger],
      ] as const)('of %s are within the stated bounds', async (_type, arbitrary) => {
        await fc.assert(
          fc.asyncProperty(
            arbitrary,
            fc.constantFrom(0, 1e-8, 0.5, 1e6, 0.1),
            fc.constantFrom(null, 0, 0.95, 1, 1e30),
            async (data, epsilon, threshold) => {
              expectWithinBounds(
                await kernel.tensorStats(data, { epsilon, threshold }),
                data,
                epsilon,
                threshold,
              );
            },
          ),
          runs(75 * share),
        );
      });

      test('of every length around the block sizes', async () => {
        const values = normal(5000, 2, 3);
        for (const length of LENGTHS) {
          for (const data of [
            Float32Array.from(values),
            values,
            Int32Array.from(values),
            Uint8Array.from(values),
          ]) {
            const part = data.subarray(1, 1 + length);
            // oxlint-disable-next-line no-await-in-loop -- one at a time, so that a failure names its length
            expectWithinBounds(await kernel.tensorStats(part), part);
          }
        }
      });

      test('count a non-finite value wherever it lies', async () => {
        const clean = Float32Array.from(normal(96, 5, 1));
        for (const value of [Number.NaN, Infinity, -Infinity]) {
          for (let at = 0; at < clean.length; at++) {
            const data = clean.slice();
            data[at] = value;
            // oxlint-disable-next-line no-await-in-loop -- one at a time, so that a failure names its position
            expectWithinBounds(await kernel.tensorStats(data, { threshold: 4 }), data, 0, 4);
          }
        }
      });

      test('keep the variance of a small spread on a large mean', async () => {
        const wide = normal(20_000, 1e6, 1e-3);
        expectWithinBounds(await kernel.tensorStats(wide), wide);
        const narrow = Float32Array.from(normal(20_000, 1e6, 0.5));
        expectWithinBounds(await kernel.tensorStats(narrow), narrow);
      });

      test('hold when the sampled values are nothing like the rest', async () => {
        const data = Float32Array.from(normal(4096, 0, 1e-3));
        for (let at = 0; at < data.length; at += 64) data.fill(1000, at, at + 4);
        expectWithinBounds(await kernel.tensorStats(data), data);
        data.fill(1e17, 0, 4);
        expectWithinBounds(await kernel.tensorStats(data), data);
      });

      test('hold when the mean moves from block to block, and back to zero', async () => {
        const far = [0, 0, 5, 5, -1e6, -1e6, 1e-3, 0, 1e8, 0, 3, 30, 300];
        const values = normal(far.length * 2048, 0, 1, 7);
        const wide = values.map((x, i) => x + (far[Math.floor(i / 2048)] ?? 0));
        for (const data of [Float32Array.from(wide), wide, Int32Array.from(wide)]) {
          for (let at = 0; at < far.length; at++) {
            const part = data.subarray(at * 2048 + 100);
            // oxlint-disable-next-line no-await-in-loop -- one at a time, so that a failure names its block
            expectWithinBounds(await kernel.tensorStats(part, { threshold: 5 }), part, 0, 5);
          }
        }
      });

      test('tell apart values of hardly any difference from equal ones', async () => {
        for (const value of [0.1, 1, -1e6, 16_777_215, 1e-12, 3e20]) {
          const data = new Float32Array(4100).fill(value);
          // oxlint-disable-next-line no-await-in-loop -- one at a time, so that a failure names its value
          expectWithinBounds(await kernel.tensorStats(data), data);
          data[3000] = Math.fround(value) * (1 + 2 ** -23);
          // oxlint-disable-next-line no-await-in-loop -- the same
          expectWithinBounds(await kernel.tensorStats(data), data);
        }
      });

      test('find extremes of one sign and of zeros', async () => {
        for (const [sign, ...some] of [
          [1, 0.5, 1e-45, 3],
          [-1, 0.5, 1e-45, 3],
          [1, 0, 2],
          [-1, 0, 2],
          [-1, 0],
        ]) {
          const data = new Float32Array(2048 + 77).map(
            (_, i) => (sign ?? 1) * (some[i % some.length] ?? 0),
          );
          const bounds = { epsilon: 1e-45, threshold: 2 };
          // oxlint-disable-next-line no-await-in-loop -- one at a time, so that a failure names its values
          expectWithinBounds(await kernel.tensorStats(data, bounds), data, 1e-45, 2);
        }
      });

      test('of integers round nothing but the results', async () => {
        const next = random(5);
        for (const [data, threshold] of [
          [new Int32Array(5000).map(() => 1e6 + Math.floor(next() * 3)), 1_000_001],
          [new Int32Array(5000).map(() => (next() < 0.001 ? -(2 ** 26) + 1 : 2 ** 26 - 1)), 1],
          [new Int32Array(5000).fill(-(2 ** 31)), 2 ** 31],
          [new Uint8Array(5000).map(() => 254 + Math.floor(next() * 2)), 255],
          [new Uint8Array(5000).fill(255), 256],
          [new Uint8Array(5000).map(() => Math.floor(next() * 2)), 0.5],
        ] as const) {
          // oxlint-disable-next-line no-await-in-loop -- one at a time, so that a failure names its tensor
          const stats = await kernel.tensorStats(data, { epsilon: 1.5, threshold });
          expectWithinBounds(stats, data, 1.5, threshold);
          const big = Array.from(data, BigInt);
          const sum = big.reduce((a, b) => a + b, 0n);
          const squares = big.reduce((a, b) => a + b * b, 0n);
          const size = BigInt(data.length);
          expect(stats.mean).toBeCloseTo(Number(sum) / data.length, 9);
          const variance = Number(squares * size - sum * sum) / data.length ** 2;
          expect(Math.abs(stats.variance - variance)).toBeLessThanOrEqual(2 ** -40 * variance);
        }
      });

      test('survive squares and sums beyond float32', async () => {
        for (const value of [1e-45, 1e-38, 1e-25, 1e18, 1e37, 3.4028234663852886e38]) {
          const data = new Float32Array(1200).map((_, i) => (i % 3 === 0 ? value : -value / 2));
          // oxlint-disable-next-line no-await-in-loop -- one at a time, so that a failure names its value
          expectWithinBounds(await kernel.tensorStats(data), data);
          data.fill(value);
          // oxlint-disable-next-line no-await-in-loop -- the same
          expectWithinBounds(await kernel.tensorStats(data), data);
        }
      });

      test('keep their bounds where values of any size meet what is not finite', async () => {
        const sizes = [1e-44, 1e-38, 1e-18, 1, 1e18, 1e38];
        const centers = [0, 3, -3, 1000];
        const holes: readonly ((at: number) => number | undefined)[] = [
          () => undefined,
          (at) => (at % 3 === 0 ? Number.NaN : undefined),
          (at) => (at % 700 === 5 ? -Infinity : undefined),
          (at) => (at % 64 < 63 ? [Infinity, Number.NaN][at % 2] : undefined),
          () => Number.NaN,
        ];
        const noise = normal(2048, 0, 1, 17);
        const blocks: Float32Array[] = [];
        for (const size of sizes) {
          for (const center of centers) {
            if (center * size > 3e38) continue;
            for (const hole of holes)
              blocks.push(Float32Array.from(noise, (x, at) => hole(at) ?? size * (center + x / 3)));
          }
        }
        for (const block of blocks) {
          expectWithinBounds(await kernel.tensorStats(block, { threshold: 1 }), block, 0, 1);
          const part = block.subarray(5, 1500);
          expectWithinBounds(await kernel.tensorStats(part, { epsilon: 1e-18 }), part, 1e-18);
        }
        // One after the other, in an order that takes each from a different one before it.
        for (let step = 1; step < blocks.length; step += 17) {
          const joined = new Float32Array(12 * 2048);
          for (let i = 0; i < 12; i++)
            joined.set(blocks[(i * step) % blocks.length] ?? [], i * 2048);
          expectWithinBounds(await kernel.tensorStats(joined), joined);
        }
      });

      test('of nothing, and of nothing finite, say so', async () => {
        const empty = await kernel.tensorStats(new Float32Array());
        expect(empty).toMatchObject({ elementCount: 0, finiteCount: 0, l1Norm: 0, l2Norm: 0 });
        for (const name of [
          'mean',
          'variance',
          'std',
          'rms',
          'min',
          'max',
          'nearZeroRatio',
        ] as const) {
          expect(empty[name], name).toBeNaN();
        }
        const none = await kernel.tensorStats(new Float32Array(100).fill(Number.NaN), {
          threshold: 1,
        });
        expect(none).toMatchObject({
          elementCount: 100,
          finiteCount: 0,
          nanCount: 100,
          saturatedCount: 0,
        });
        expect(none.max).toBeNaN();
      });

      test('compare with bounds that float32 does not hold as float64 would', async () => {
        // 0.1 and 0.95 lie between two float32 values; the nearest ones are above and below.
        const data = new Float32Array(128).fill(0.1, 0, 64).fill(0.95, 64);
        const stats = await kernel.tensorStats(data, { epsilon: 0.1, threshold: 0.95 });
        expect(stats.nearZeroCount).toBe(Math.fround(0.1) <= 0.1 ? 64 : 0);
        expect(stats.saturatedCount).toBe(Math.fround(0.95) >= 0.95 ? 64 : 0);
      });

      test('are the same bits every time', async () => {
        const data = Float32Array.from(normal(100_000));
        const first = await kernel.tensorStats(data);
        expect(await kernel.tensorStats(data)).toEqual(first);
      });
    });

    describeHalfKernel(() => kernel, share);
    describePairKernel(() => kernel, share);
    describeUnitKernel(() => kernel, share);
    describeLogHistogram(() => kernel, share);
    describeRefusals(() => kernel);

    describe('histogram', () => {
      test('counts every value where it belongs', async () => {
        await fc.assert(
          fc.asyncProperty(
            anyTensor,
            fc.constantFrom(1, 2, 7, 32, 64, 1000),
            async (data, bins) => {
              const found = await kernel.histogram(data, { bins });
              expectHistogramOf(found, data);
              expect(found.counts).toHaveLength(bins);
              expect(found.underflowCount + found.overflowCount).toBe(0);
            },
          ),
          runs(75 * share),
        );
      });

      test('counts what lies outside a given range beside the bins', async () => {
        await fc.assert(
          fc.asyncProperty(
            anyTensor,
            fc.constantFrom(
              { min: -1, max: 1 },
              { min: 0, max: 1e-3 },
              { min: 0.25, max: 7 },
              { min: -1e6, max: 1e6 },
            ),
            async (data, range) => {
              expectHistogramOf(await kernel.histogram(data, { bins: 16, range }), data);
            },
          ),
          runs(100 * share),
        );
      });

      test('puts both ends of the range into bins', async () => {
        const found = await kernel.histogram(Float32Array.of(0, 0.5, 1, 1, 1.0000001, -1e-45), {
          bins: 2,
          range: { min: 0, max: 1 },
        });
        expect([...found.counts]).toEqual([1, 3]);
        expect(found).toMatchObject({ underflowCount: 1, overflowCount: 1, zeroCount: 1 });
      });

      test('makes a range around equal values, and around none', async () => {
        const equal = await kernel.histogram(new Float32Array(300).fill(7), { bins: 4 });
        expect(equal).toMatchObject({ min: 6.5, max: 7.5 });
        expect([...equal.counts]).toEqual([0, 0, 300, 0]);
        const huge = await kernel.histogram(new Float32Array(300).fill(1e30), { bins: 4 });
        expectHistogramOf(huge, new Float32Array(300).fill(1e30));
        const none = await kernel.histogram(Float32Array.of(Number.NaN, Infinity), { bins: 4 });
        expect(none).toMatchObject({ min: 0, max: 1, nanCount: 1, positiveInfinityCount: 1 });
        expect([...none.counts]).toEqual([0, 0, 0, 0]);
      });

      test('takes the whole range of float64', async () => {
        const data = Float64Array.of(-Number.MAX_VALUE, -1, 0, 1, Number.MAX_VALUE);
        const found = await kernel.histogram(data, { bins: 3 });
        expect(found).toMatchObject({
          min: -(2 ** 1022),
          max: 2 ** 1022,
          underflowCount: 1,
          overflowCount: 1,
        });
        expect([...found.counts]).toEqual([0, 3, 0]);
      });
    });

    test('leaves the tensor as it was', async () => {
      const data = Float32Array.from(normal(70_000));
      const before = data.slice();
      await Promise.all([kernel.tensorStats(data), kernel.histogram(data)]);
      expect(data.byteLength).toBe(before.byteLength);
      expect(data).toEqual(before);
    });
  });
}
