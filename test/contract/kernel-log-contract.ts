/** What every way to the kernels has to do with bins of magnitudes and with samples, as one suite. Called by the kernel contract. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Histogram, HistogramOptions, TensorData } from '../../src/kernel/kernel.ts';
import { sampleTensor } from '../../src/kernel/tensor/sampling.ts';
import {
  expectHistogramOf,
  expectLogHistogramOf,
  magnitudeEdgesOf,
  valuesOf,
} from '../support/kernel-reference.ts';
import { runs } from '../support/property.ts';
import { anyTensor, normal, random } from '../support/tensors.ts';

/** A way to histograms, synchronous or not. */
export type HistogramKernelUnderTest = {
  histogram(data: TensorData, options?: HistogramOptions): Histogram | Promise<Histogram>;
};

const DEFAULT_MAGNITUDES = { min: 2 ** -40, max: 2 ** 24 };
const scale = 'log_magnitude';

export function describeLogHistogram(kernel: () => HistogramKernelUnderTest, share: number): void {
  describe('histogram of magnitudes', () => {
    const shapes = fc.constantFrom<readonly [min: number, max: number, binsPerOctave: number]>(
      [2 ** -40, 2 ** 24, 1],
      [2 ** -10, 2 ** 4, 4],
      [0.5, 1, 64],
      [2 ** -126, 2 ** 127, 2],
      [1, 2, 1],
      [2 ** -126, 2 ** -125, 8],
    );

    test('counts every value where it belongs', async () => {
      await fc.assert(
        fc.asyncProperty(anyTensor, shapes, async (data, [min, max, binsPerOctave]) => {
          const options = { scale, magnitudes: { min, max }, binsPerOctave } as const;
          const found = await kernel().histogram(data, options);
          expectLogHistogramOf(found, data, { min, max }, binsPerOctave);
        }),
        runs(100 * share),
      );
    });

    test('counts values on both sides of every edge, and on it', async () => {
      for (const [min, max, binsPerOctave] of [
        [2 ** -40, 2 ** 24, 1],
        [2 ** -3, 2 ** 3, 8],
        [2 ** -126, 2 ** -120, 64],
      ] as const) {
        const edges = magnitudeEdgesOf(min, max, binsPerOctave);
        const wide = edges.flatMap((x) => [x * (1 - 2 ** -53), x, x * (1 + 2 ** -52)]);
        const narrow = edges.flatMap((x) => [x * (1 - 2 ** -24), x, x * (1 + 2 ** -23)]);
        const bothSigns = (list: number[]): number[] => list.flatMap((x) => [x, -x]);
        for (const data of [
          Float64Array.from([0, -0, 5e-324, ...bothSigns(wide)]),
          Float32Array.from([0, -0, 1e-45, -1e-45, ...bothSigns(narrow)]),
        ]) {
          for (const part of [data, data.subarray(1), data.subarray(3, 10)]) {
            const options = { scale, magnitudes: { min, max }, binsPerOctave } as const;
            const found = await kernel().histogram(part, options);
            expectLogHistogramOf(found, part, { min, max }, binsPerOctave);
          }
        }
      }
    });

    test('of every length around the block sizes, with what is not finite in every place', async () => {
      const values = normal(700, 0, 1e-3);
      for (const length of [...Array.from({ length: 68 }, (_, i) => i), 255, 256, 257, 519, 699]) {
        for (const all of [Float32Array.from(values), values]) {
          const data = all.slice(1, 1 + length);
          if (length > 0) {
            data[(length * 7) % length] = [Number.NaN, Infinity, -Infinity][length % 3] ?? 0;
            data[(length * 31 + 5) % length] = -Number.NaN;
          }
          const found = await kernel().histogram(data, { scale });
          expectLogHistogramOf(found, data, DEFAULT_MAGNITUDES, 1);
        }
      }
      for (let at = 0; at < 40; at++) {
        for (const value of [Number.NaN, Infinity, -Infinity]) {
          const data = Float32Array.from(values.subarray(0, 40));
          data[at] = value;
          expectLogHistogramOf(
            await kernel().histogram(data, { scale }),
            data,
            DEFAULT_MAGNITUDES,
            1,
          );
        }
      }
    });

    test('of 16-bit floats and integers', async () => {
      const bits = new Uint16Array(65_536).map((_, i) => i);
      for (const type of ['float16', 'bfloat16'] as const) {
        const found = await kernel().histogram(bits, { scale, type, binsPerOctave: 2 });
        expectLogHistogramOf(found, valuesOf(bits, type), DEFAULT_MAGNITUDES, 2);
      }
      const next = random(3);
      const words = new Int32Array(9000).map(() => Math.floor((next() - 0.5) * 2 ** 32));
      words.set([0, 1, -1, 2 ** 24, -(2 ** 24), 2 ** 24 + 1, -(2 ** 24) - 1, -(2 ** 31)]);
      expectLogHistogramOf(
        await kernel().histogram(words, { scale }),
        words,
        DEFAULT_MAGNITUDES,
        1,
      );
      const bytes = new Uint8Array(9001).map((_, i) => i);
      const magnitudes = { min: 2, max: 128 };
      expectLogHistogramOf(
        await kernel().histogram(bytes, { scale, magnitudes }),
        bytes,
        magnitudes,
        1,
      );
    });
  });

  describe('histogram of a sample', () => {
    test('counts the sample, whichever way it is computed', async () => {
      for (const all of [normal(50_000), Float32Array.from(normal(50_000))]) {
        const sample = sampleTensor(all, 9000);
        const found = await kernel().histogram(all, { bins: 8, maxHistogramValues: 9000 });
        expect(found).toMatchObject({ elementCount: 50_000, sampledCount: 9000 });
        expectHistogramOf({ ...found, elementCount: 9000 }, sample);
        const log = await kernel().histogram(all, { scale, maxHistogramValues: 9000 });
        expect(log).toMatchObject({ elementCount: 50_000, sampledCount: 9000 });
        expectLogHistogramOf({ ...log, elementCount: 9000 }, sample, DEFAULT_MAGNITUDES, 1);
      }
    });

    test('counts all there is when that is no more', async () => {
      const data = normal(3000);
      for (const maxHistogramValues of [3000, 3001, 1e9, null]) {
        const found = await kernel().histogram(data, { maxHistogramValues });
        expect(found).toMatchObject({ elementCount: 3000, sampledCount: 3000 });
        expectHistogramOf(found, data);
      }
    });

    test('counts what is not finite in the sample only', async () => {
      const data = new Float32Array(10_000).fill(Number.NaN);
      const found = await kernel().histogram(data, { maxHistogramValues: 100, bins: 4 });
      expect(found).toMatchObject({ elementCount: 10_000, sampledCount: 100, nanCount: 100 });
    });
  });

  test('histogram options that do not go together are refused', async () => {
    const asked = async (options: unknown): Promise<unknown> =>
      kernel().histogram(new Float32Array(4), options as HistogramOptions);
    for (const [field, options] of [
      ['scale', { scale: 'log' }],
      ['options.bins', { scale, bins: 4 }],
      ['options.range', { scale, range: { min: 0, max: 1 } }],
      ['options.magnitudes', { magnitudes: { min: 1, max: 2 } }],
      ['options.binsPerOctave', { binsPerOctave: 2 }],
      ['magnitudes', { scale, magnitudes: 3 }],
      ['magnitudes.min', { scale, magnitudes: { min: 3, max: 8 } }],
      ['magnitudes.min', { scale, magnitudes: { min: 0, max: 8 } }],
      ['magnitudes.min', { scale, magnitudes: { min: 2 ** -127, max: 8 } }],
      ['magnitudes.max', { scale, magnitudes: { min: 1, max: 1 } }],
      ['magnitudes.max', { scale, magnitudes: { min: 1, max: 2 ** 128 } }],
      ['magnitudes.max', { scale, magnitudes: { min: 1, max: Number.NaN } }],
      ['binsPerOctave', { scale, binsPerOctave: 3 }],
      ['binsPerOctave', { scale, binsPerOctave: 128 }],
      ['binsPerOctave', { scale, binsPerOctave: 0.5 }],
      ['maxHistogramValues', { maxHistogramValues: 0 }],
      ['maxHistogramValues', { maxHistogramValues: 1.5 }],
      ['maxHistogramValues', { maxHistogramValues: '10' }],
    ] as const) {
      await expect(asked(options)).rejects.toMatchObject({
        code: 'invalid_input',
        details: { field },
      });
    }
  });
}
