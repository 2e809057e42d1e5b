import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsKernel } from '../../../src/kernel/tensor/js-kernel.ts';
import { createKernels } from '../../../src/kernel/tensor/kernels.ts';
import { sampleTensor } from '../../../src/kernel/tensor/sampling.ts';
import { runs } from '../../support/property.ts';
import { normal } from '../../support/tensors.ts';

const places = (length: number): Float64Array => Float64Array.from({ length }, (_, i) => i);

test('a sample has one value of each of so many equal parts', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 3000 }), (n, most) => {
      const data = places(n);
      const sample = sampleTensor(data, most);
      if (n <= most) {
        expect(sample).toBe(data);
        return;
      }
      expect(sample).toHaveLength(most);
      sample.forEach((place, part) => {
        expect(place).toBeGreaterThanOrEqual(Math.floor((part * n) / most));
        expect(place).toBeLessThan(Math.min(n, Math.ceil(((part + 1) * n) / most)));
      });
    }),
    runs(200),
  );
});

test('a sample stands for the whole: every place in a part is taken as often', () => {
  // Parts of ten elements: how often each of the ten is taken, of 20,000 parts. Six standard deviations of a fair draw are 254.
  const sample = sampleTensor(places(200_000), 20_000);
  const taken = new Float64Array(10);
  sample.forEach((place) => {
    taken[place % 10] = (taken[place % 10] ?? 0) + 1;
  });
  for (const count of taken) expect(Math.abs(count - 2000)).toBeLessThan(254);
  // Where one part was taken says nothing about the next.
  let product = 0;
  for (let i = 1; i < sample.length; i++)
    product += (((sample[i - 1] ?? 0) % 10) - 4.5) * (((sample[i] ?? 0) % 10) - 4.5);
  expect(Math.abs(product / sample.length / 8.25)).toBeLessThan(6 / Math.sqrt(20_000));
});

test('elements that lie across two parts stand the same chance as others', () => {
  // 1.6 elements a part: of five in a row, two lie across. All are to be taken 5,000 times of 40,000.
  const sample = sampleTensor(places(64_000), 40_000);
  const taken = new Float64Array(8);
  sample.forEach((place) => {
    taken[place % 8] = (taken[place % 8] ?? 0) + 1;
  });
  for (const count of taken) expect(Math.abs(count - 5000)).toBeLessThan(6 * Math.sqrt(5000));
});

test('a sample is the same every time, of every type', () => {
  const data = places(1000).map((x) => x % 250);
  const wanted = [...sampleTensor(data, 40)];
  // Histograms recorded by an earlier version stay comparable as long as these are the places.
  expect(wanted.slice(0, 6)).toEqual([14, 30, 67, 89, 108, 148]);
  for (const typed of [
    Float32Array.from(data),
    Int32Array.from(data),
    Uint8Array.from(data),
    Uint16Array.from(data),
  ]) {
    const sample = sampleTensor(typed, 40);
    expect(sample.constructor).toBe(typed.constructor);
    expect([...sample]).toEqual(wanted);
  }
});

test('a sample does not depend on where it is counted, nor on chunks', async () => {
  const data = Float32Array.from(normal(60_000));
  const wanted = jsKernel.histogram(data, { maxHistogramValues: 20_000, bins: 12 });
  for (const config of [
    { workers: 0 },
    { workers: 0, chunkBytes: 8192 },
    { workers: 1, inlineBytes: 0, chunkBytes: 8192 },
    { workers: 3, inlineBytes: 0, chunkBytes: 16_384, sharedMemory: false },
  ]) {
    const kernels = await createKernels(config);
    try {
      const found = await kernels.histogram(data, { maxHistogramValues: 20_000, bins: 12 });
      expect(found).toEqual(wanted);
    } finally {
      await kernels.close();
    }
  }
});
