/** What every way to the kernels has to do with the units of a tensor, as one suite. Called by the kernel contract. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type {
  TensorData,
  TensorUnitStats,
  TensorUnitStatsOptions,
} from '../../src/kernel/kernel.ts';
import { expectUnitsWithinBounds, valuesOf } from '../support/kernel-reference.ts';
import { runs } from '../support/property.ts';
import { normal, random } from '../support/tensors.ts';

/** A way to the statistics of units, synchronous or not. */
export type UnitKernelUnderTest = {
  tensorUnitStats(
    data: TensorData,
    options: TensorUnitStatsOptions,
  ): TensorUnitStats | Promise<TensorUnitStats>;
};

/** Values of a rectified layer with a few dead units, and some that are not finite. */
function activations(length: number, seed: number): Float64Array {
  const next = random(seed);
  const special = [Number.NaN, Infinity, -Infinity, -0, 1e-45, 3e38, -3e38, 1e-30];
  return Float64Array.from({ length }, () => {
    const odds = next();
    if (odds < 0.02) return special[Math.floor(next() * special.length)] ?? 0;
    return odds < 0.5 ? 0 : (next() - 0.3) * 10 ** Math.floor(next() * 5);
  });
}

export function describeUnitKernel(kernel: () => UnitKernelUnderTest, share: number): void {
  describe('units', () => {
    const anyUnits = fc.record({
      units: fc.oneof(
        fc.integer({ min: 1, max: 67 }),
        fc.constantFrom(127, 128, 129, 512, 513, 1023, 2031, 2032, 2033, 5000),
      ),
      innerSize: fc.oneof(
        fc.constant(1),
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom(49, 700),
      ),
      outer: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constantFrom(63, 64, 65, 200)),
      epsilon: fc.constantFrom(0, 1e-8, 0.1, 1e30),
      seed: fc.integer(),
      skip: fc.integer({ min: 0, max: 3 }),
    });

    test('of float32 and float64 tensors are within the stated bounds', async () => {
      await fc.assert(
        fc.asyncProperty(anyUnits, async ({ units, outer, epsilon, seed, skip, ...any }) => {
          // Many times the size of a block, and no more: the reference takes its time.
          const innerSize = Math.min(any.innerSize, Math.ceil(100_000 / units));
          const row = units * innerSize;
          const length = row * Math.min(outer, Math.ceil(30_000 / row));
          const values = activations(length + skip, seed);
          for (const data of [values, Float32Array.from(values)]) {
            const options = { units, innerSize, epsilon };
            const part = data.subarray(skip);
            expectUnitsWithinBounds(await kernel().tensorUnitStats(part, options), part, options);
          }
        }),
        runs(60 * share),
      );
    });

    test('of other types are those of their values', async () => {
      const next = random(11);
      for (const [units, innerSize, outer] of [
        [7, 1, 90],
        [3000, 1, 3],
        [5, 9, 11],
        [2, 6000, 2],
      ] as const) {
        const length = units * innerSize * outer;
        const options = { units, innerSize, epsilon: 1.5 };
        const words = new Int32Array(length).map(() => Math.floor((next() - 0.5) * 2 ** 32));
        const bytes = new Uint8Array(length).map(() => Math.floor(next() * 5));
        for (const data of [words, bytes])
          expectUnitsWithinBounds(await kernel().tensorUnitStats(data, options), data, options);
        const bits = new Uint16Array(length).map(() => Math.floor(next() * 65_536));
        for (const type of ['float16', 'bfloat16'] as const) {
          const found = await kernel().tensorUnitStats(bits, { ...options, type });
          expectUnitsWithinBounds(found, valuesOf(bits, type), options);
        }
      }
    });

    test('of every number around the vector sizes, with what is not finite in every place', async () => {
      for (let units = 1; units <= 67; units++) {
        for (const innerSize of [1, 2, 3, 4, 5, 8, 11]) {
          const data = Float32Array.from(normal(units * innerSize * 3, 1, 2, units));
          data[(units * 13) % data.length] = Number.NaN;
          data[(units * 29) % data.length] = Infinity;
          for (const tensor of [data, Float64Array.from(data)]) {
            const options = { units, innerSize, epsilon: 0.5 };
            expectUnitsWithinBounds(
              await kernel().tensorUnitStats(tensor, options),
              tensor,
              options,
            );
          }
        }
      }
    });

    test('find the units that are dead, and say nothing of those without a finite value', async () => {
      // [batch, 4]: alive, dead, tiny, NaN
      const row = [1, 0, 1e-9, Number.NaN];
      const data = Float32Array.from({ length: 400 }, (_, i) => row[i % 4] ?? 0);
      const strict = await kernel().tensorUnitStats(data, { units: 4 });
      expect([...strict.inactiveRatios]).toEqual([0, 1, 0, Number.NaN]);
      expect(strict.deadUnitCount).toBe(1);
      const loose = await kernel().tensorUnitStats(data, { units: 4, epsilon: 1e-8 });
      expect([...loose.inactiveRatios]).toEqual([0, 1, 1, Number.NaN]);
      expect(loose.deadUnitCount).toBe(2);
      // The same as [4, 100]: channels first, of one image.
      const turned = Float32Array.from({ length: 400 }, (_, i) => row[Math.floor(i / 100)] ?? 0);
      const first = await kernel().tensorUnitStats(turned, { units: 4, innerSize: 100 });
      expect(first).toEqual(strict);
    });

    test('keep the digits of long sums', async () => {
      const data = normal(300_000, 1e6, 1e-3);
      for (const options of [{ units: 1 }, { units: 3 }, { units: 2, innerSize: 75_000 }]) {
        expectUnitsWithinBounds(await kernel().tensorUnitStats(data, options), data, options);
        const narrow = Float32Array.from(data);
        expectUnitsWithinBounds(await kernel().tensorUnitStats(narrow, options), narrow, options);
      }
    });

    test('of nothing', async () => {
      const found = await kernel().tensorUnitStats(new Float32Array(), { units: 3, innerSize: 5 });
      expectUnitsWithinBounds(found, new Float32Array(), { units: 3, innerSize: 5 });
    });

    test('that do not fit the tensor are refused', async () => {
      const asked = async (options: unknown): Promise<unknown> =>
        kernel().tensorUnitStats(new Float32Array(12), options as TensorUnitStatsOptions);
      for (const [field, options] of [
        ['options', undefined],
        ['units', {}],
        ['units', { units: 0 }],
        ['units', { units: 1.5 }],
        ['units', { units: 2 ** 24 + 1 }],
        ['units', { units: 5 }],
        ['units', { units: 3, innerSize: 8 }],
        ['innerSize', { units: 3, innerSize: 0 }],
        ['epsilon', { units: 3, epsilon: -1 }],
        ['epsilon', { units: 3, epsilon: Infinity }],
        ['options.eps', { units: 3, eps: 1 }],
        ['type', { units: 3, type: 'float16' }],
      ] as const) {
        await expect(asked(options)).rejects.toMatchObject({
          code: 'invalid_input',
          details: { field },
        });
      }
    });
  });
}
