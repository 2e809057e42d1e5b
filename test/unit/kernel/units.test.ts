import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsKernel } from '../../../src/kernel/tensor/js-kernel.ts';
import { createKernels } from '../../../src/kernel/tensor/kernels.ts';
import { inactiveUnits, mergeTensorUnitStats } from '../../../src/kernel/tensor/unit-results.ts';
import { loadWasmKernel } from '../../../src/kernel/tensor/wasm-kernel.ts';
import { expectUnitsWithinBounds } from '../../support/kernel-reference.ts';
import { runs } from '../../support/property.ts';
import { normal, random } from '../../support/tensors.ts';

const data = Float64Array.from(normal(12_000), (x, i) => {
  if (i % 7 === 3 || i % 30 === 0) return 0;
  return i % 911 === 0 ? Number.NaN : x;
});

describe('merging units', () => {
  test('of parts gives those of the whole', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 2, 6, 30),
        fc.constantFrom(1, 2, 10),
        fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 5 }),
        (units, innerSize, cuts) => {
          const row = units * innerSize;
          const rows = data.length / row;
          const at = [0, ...cuts.filter((cut) => cut < rows).toSorted((a, b) => a - b), rows];
          const options = { units, innerSize, epsilon: 1e-3 };
          const parts = at.slice(1).map((end, i) => {
            const part = data.subarray((at[i] ?? 0) * row, end * row);
            return jsKernel.tensorUnitStats(part, options);
          });
          expectUnitsWithinBounds(mergeTensorUnitStats(parts), data, options);
        },
      ),
      runs(60),
    );
  });

  test('leaves the parts as they are, and takes units that had nothing finite before', () => {
    const nothing = jsKernel.tensorUnitStats(Float32Array.of(Number.NaN, 1), { units: 2 });
    const before = structuredClone(nothing);
    const something = jsKernel.tensorUnitStats(Float32Array.of(-4, 3), { units: 2 });
    const merged = mergeTensorUnitStats([nothing, something, nothing]);
    expect([...merged.means]).toEqual([-4, expect.closeTo(5 / 3, 14)]);
    expect([...merged.maxMagnitudes]).toEqual([4, 3]);
    expect([...merged.finiteCounts]).toEqual([1, 3]);
    expect(nothing).toEqual(before);
    expect(mergeTensorUnitStats([nothing])).toEqual(nothing);
  });

  test('refuses nothing and what does not fit together', () => {
    const two = jsKernel.tensorUnitStats(Float32Array.of(1, 2), { units: 2 });
    expect(() => mergeTensorUnitStats([])).toThrow(/one part or more/);
    expect(() =>
      mergeTensorUnitStats([two, jsKernel.tensorUnitStats(Float32Array.of(1), { units: 1 })]),
    ).toThrow(/units/);
    expect(() =>
      mergeTensorUnitStats([
        two,
        jsKernel.tensorUnitStats(Float32Array.of(1, 2), { units: 2, epsilon: 1 }),
      ]),
    ).toThrow(/epsilon/);
  });
});

test('inactive units are found by their share', () => {
  // Shares of zeros: 1, 0.5, 0 and none.
  const rows = Float32Array.of(0, 0, 1, Number.NaN, 0, 1, 1, Number.NaN);
  const stats = jsKernel.tensorUnitStats(rows, { units: 4 });
  expect([...inactiveUnits(stats)]).toEqual([0]);
  expect([...inactiveUnits(stats, 0.5)]).toEqual([0, 1]);
  expect([...inactiveUnits(stats, 0)]).toEqual([0, 1, 2]);
  for (const bad of [-0.1, 1.1, Number.NaN, '1' as unknown as number])
    expect(() => inactiveUnits(stats, bad)).toThrow(/minRatio/);
});

test('both kernels agree on counts and magnitudes, and nearly on means', async () => {
  const wasm = await loadWasmKernel();
  const next = random(9);
  for (const [units, innerSize] of [
    [1, 1],
    [64, 1],
    [1000, 1],
    [10, 49],
  ] as const) {
    const tensor = Float32Array.from({ length: units * innerSize * 20 }, () =>
      next() < 0.3 ? 0 : next() - 0.5,
    );
    const options = { units, innerSize, epsilon: 0.01 };
    const { means, ...exact } = wasm.tensorUnitStats(tensor, options);
    const { means: wanted, ...rest } = jsKernel.tensorUnitStats(tensor, options);
    expect(exact).toEqual(rest);
    means.forEach((mean, unit) => expect(mean).toBeCloseTo(wanted[unit] ?? 0, 13));
  }
});

test('more units than are kept at a time, in no more memory than before', async () => {
  const wasm = await loadWasmKernel();
  wasm.tensorUnitStats(new Float32Array(4096 * 2), { units: 4096 });
  const before = wasm.memoryBytes;
  const units = 300_000;
  const tensor = Float32Array.from({ length: 2 * units }, (_, i) => (i % 3 === 0 ? 0 : i));
  const found = wasm.tensorUnitStats(tensor, { units });
  expect(wasm.memoryBytes).toBe(before);
  expect(found.deadUnitCount).toBe(units / 3);
  expect(found.means[7]).toBe((7 + units + 7) / 2);
  expect(found.means[units - 1]).toBe((units - 1 + 2 * units - 1) / 2);
});

test('the number of workers changes nothing, bit for bit', async () => {
  const tensor = Float32Array.from(normal(90_000, 1, 2));
  const options = { units: 30, epsilon: 0.1 };
  const found = await Promise.all(
    [1, 2, 3].map(async (workers) => {
      const kernels = await createKernels({ workers, inlineBytes: 0, chunkBytes: 16_384 });
      const stats = await kernels.tensorUnitStats(tensor, options);
      await kernels.close();
      return stats;
    }),
  );
  expect(found[1]).toEqual(found[0]);
  expect(found[2]).toEqual(found[0]);
  const here = await createKernels({ workers: 0, chunkBytes: 16_384 });
  expect(await here.tensorUnitStats(tensor, options)).toEqual(found[0]);
  await here.close();
});
