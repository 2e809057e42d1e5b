/** What must hold of the kernels whatever the data is, apart from their results, which the kernel contract checks. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Kernel, TensorData } from '../../src/kernel/kernel.ts';
import { jsKernel } from '../../src/kernel/tensor/js-kernel.ts';
import { histogramOf } from '../../src/kernel/tensor/reductions.ts';
import { slicedStats } from '../../src/kernel/tensor/summaries.ts';
import { createKernels } from '../../src/kernel/tensor/kernels.ts';
import { loadWasmKernel } from '../../src/kernel/tensor/wasm-kernel.ts';
import { widenBfloat16, widenFloat16 } from '../../src/kernel/tensor/half.ts';
import { expectWithinBounds, valuesOf } from '../support/kernel-reference.ts';
import { runs } from '../support/property.ts';
import { anyFloat32, anyFloat64, anyTensor, normal } from '../support/tensors.ts';

let kernel: Kernel;

beforeAll(async () => {
  kernel = await loadWasmKernel();
});

/** Any bits at all, as float32: each exponent as likely as every other. */
const anyBits32 = fc
  .array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 200, size: 'max' })
  .map((words) => new Float32Array(Int32Array.from(words).buffer));

test('a histogram is the same where its range is known from the statistics, to the last bit', () => {
  const most = fc.integer({ min: 1, max: 300 });
  fc.assert(
    fc.property(anyTensor, fc.integer({ min: 1, max: 40 }), most, (data, bins, maxValues) => {
      const dtype = data instanceof Uint16Array ? 'bfloat16' : '';
      const wanted = { bins, maxValues };
      for (const one of [kernel, jsKernel]) {
        const stats = slicedStats(one, data, dtype, { epsilon: 1, threshold: null });
        const own = histogramOf(one, data, dtype, wanted);
        expect(histogramOf(one, data, dtype, wanted, stats)).toStrictEqual(own);
      }
    }),
    runs(300),
  );
});

describe('tensor statistics', () => {
  test('of any bits are within the stated bounds', () => {
    fc.assert(
      fc.property(anyBits32, (data) =>
        expectWithinBounds(
          kernel.tensorStats(data, { epsilon: 1, threshold: 1e10 }),
          data,
          1,
          1e10,
        ),
      ),
      runs(300),
    );
  });

  // Each block is done as the one before made likely: every kind has to follow every other.
  test('of blocks of changing kinds are within the stated bounds', () => {
    const kinds: readonly ((x: number, i: number) => number)[] = [
      (x) => x,
      (x) => Math.max(0, x),
      (x) => -Math.abs(x),
      (x) => x + 20,
      (x) => x - 20,
      (x) => Math.abs(x) + 1,
      (x, i) => (i % 3 === 0 ? 0 : x),
      (x, i) => (i % 5 === 0 ? -0 : x),
      (x, i) => (i === 700 ? -1e-9 : Math.abs(x)),
      (x, i) => (i % 600 === 599 ? Number.NaN : x),
      (x, i) => (i === 3 ? -Infinity : Math.abs(x)),
      () => 0,
      () => -0.5,
    ];
    const noise = normal(2048);
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...kinds), { minLength: 2, maxLength: 8 }),
        fc.constantFrom(0, 1e-8, 0.3),
        fc.constantFrom(0.5, 2.5, 20, 1e30),
        (blocks, epsilon, threshold) => {
          const data = Float32Array.from(blocks.flatMap((kind) => Array.from(noise, kind)));
          const found = kernel.tensorStats(data, { epsilon, threshold });
          expectWithinBounds(found, data, epsilon, threshold);
        },
      ),
      runs(100),
    );
  });

  test('do not depend on where the tensor lies in memory, bit for bit', () => {
    fc.assert(
      fc.property(anyTensor, fc.integer({ min: 1, max: 9 }), (data, by) => {
        const size = data.BYTES_PER_ELEMENT;
        const bytes = new Uint8Array(data.byteLength + by * size);
        bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), by * size);
        const moved = Reflect.construct(data.constructor, [
          bytes.buffer,
          by * size,
          data.length,
        ]) as TensorData;
        expect(kernel.tensorStats(moved)).toEqual(kernel.tensorStats(data));
        expect(kernel.histogram(moved)).toEqual(kernel.histogram(data));
      }),
      runs(150),
    );
  });

  test('of a negated tensor are those of the tensor, turned round', () => {
    fc.assert(
      fc.property(fc.oneof(anyFloat32, anyFloat64), (data) => {
        const there = kernel.tensorStats(data, { epsilon: 0.1, threshold: 1 });
        const back = kernel.tensorStats(
          data.map((x) => -x),
          { epsilon: 0.1, threshold: 1 },
        );
        expect(back).toEqual({
          ...there,
          mean: -there.mean + 0,
          min: -there.max + 0,
          max: -there.min + 0,
          positiveInfinityCount: there.negativeInfinityCount,
          negativeInfinityCount: there.positiveInfinityCount,
        });
      }),
      runs(150),
    );
  });

  test('of a large float32 tensor with hardly any spread', () => {
    const data = Float32Array.from(normal(200_000, 1e6, 1e-3));
    expectWithinBounds(kernel.tensorStats(data), data);
  });
});

test('every 16-bit pattern is widened to the value it stands for', () => {
  const all = new Uint16Array(65_536).map((_, i) => i);
  expect(widenFloat16(all)).toEqual(valuesOf(all, 'float16'));
  expect(widenBfloat16(all)).toEqual(valuesOf(all, 'bfloat16'));
  for (const type of ['float16', 'bfloat16'] as const) {
    const wanted = valuesOf(all, type);
    // Some lanes of a vector, and the elements after the last whole one.
    for (const length of [1, 8]) {
      const bits = new Uint16Array(length);
      wanted.forEach((value, pattern) => {
        bits.fill(pattern);
        const found = kernel.tensorStats(bits, { type });
        const count = Number.isFinite(value) ? length : 0;
        if (
          found.finiteCount !== count ||
          (count > 0 && !(found.min === value + 0 && found.max === value + 0))
        )
          expect.fail(`${type} ${pattern.toString(16)}: ${found.min} instead of ${value}`);
        if (found.nanCount !== (Number.isNaN(value) ? length : 0))
          expect.fail(`${type} ${pattern.toString(16)} is NaN or not`);
      });
    }
  }
});

test('calls of every kind at once answer as one after the other', async () => {
  const kernels = await createKernels({ inlineBytes: 4096, chunkBytes: 8192, workers: 2 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(anyTensor, fc.boolean()), { minLength: 1, maxLength: 12 }),
      async (calls) => {
        const run = ([data, isHistogram]: readonly [TensorData, boolean]): Promise<unknown> =>
          isHistogram
            ? kernels.histogram(data, { bins: 5 })
            : kernels.tensorStats(data, { threshold: 1 });
        const together = await Promise.all(calls.map(run));
        for (const [i, call] of calls.entries()) {
          // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
          expect(await run(call)).toEqual(together[i]);
        }
      },
    ),
    runs(30),
  );
  expect(kernels.diagnostics()).toMatchObject({
    queuedCount: 0,
    runningCount: 0,
    overflowCallCount: 0,
  });
  await kernels.close();
});
