/** What every way to the kernels has to do with 16-bit floats, as one suite. Called by the kernel contract. */
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { expectHistogramOf, expectWithinBounds, valuesOf } from '../support/kernel-reference.ts';
import { runs } from '../support/property.ts';
import { random } from '../support/tensors.ts';
import type { KernelUnderTest } from './kernel-contract.ts';

export function describeHalfKernel(
  kernel: () => Pick<KernelUnderTest, 'tensorStats' | 'histogram'>,
  share: number,
): void {
  describe('16-bit floats', () => {
    const patterns = fc
      .record({
        type: fc.constantFrom('float16', 'bfloat16'),
        length: fc.oneof(
          fc.integer({ min: 0, max: 67 }),
          fc.constantFrom(2047, 2048, 2049, 2055, 4111),
        ),
        // All patterns, finite values of either sign, subnormals and zeros, values around 1.
        base: fc.constantFrom([0, 0xffff], [0, 0x7bff], [0x8000, 0x83ff], [0x3c00, 0x3fff]),
        seed: fc.integer(),
        skip: fc.integer({ min: 0, max: 5 }),
      })
      .map(({ type, length, base, seed, skip }) => {
        const next = random(seed);
        const [from = 0, to = 0] = base;
        const bits = new Uint16Array(length + skip).map(() =>
          Math.floor(from + next() * (to - from + 1)),
        );
        return { type, bits: bits.subarray(skip) } as const;
      });

    test('have the statistics of their values', async () => {
      await fc.assert(
        fc.asyncProperty(patterns, async ({ type, bits }) => {
          const values = valuesOf(bits, type);
          const bounds = { type, epsilon: 1e-6, threshold: 1.5 };
          expectWithinBounds(await kernel().tensorStats(bits, bounds), values, 1e-6, 1.5);
        }),
        runs(100 * share),
      );
    });

    test('have the histogram of their values', async () => {
      await fc.assert(
        fc.asyncProperty(
          patterns,
          fc.constantFrom({}, { range: { min: -1, max: 1.25 } }),
          async ({ type, bits }, options) => {
            const found = await kernel().histogram(bits, { bins: 16, type, ...options });
            expectHistogramOf(found, valuesOf(bits, type));
          },
        ),
        runs(60 * share),
      );
    });

    test('in chunks are those of the whole', async () => {
      const bits = new Uint16Array(30_000).map((_, i) => (i * 7919) & 0x7bff);
      for (const type of ['float16', 'bfloat16'] as const) {
        const values = valuesOf(bits, type);
        // oxlint-disable-next-line no-await-in-loop -- a failure names its type
        expectWithinBounds(await kernel().tensorStats(bits, { type }), values);
        // oxlint-disable-next-line no-await-in-loop -- the same
        expectHistogramOf(await kernel().histogram(bits, { type, bins: 9 }), values);
      }
    });
  });
}
