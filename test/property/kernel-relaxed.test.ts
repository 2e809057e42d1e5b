/** The kernels with relaxed SIMD beside those without: the same bounds, and the same counts where rounding has no part in them. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Kernel } from '../../src/kernel/kernel.ts';
import { createKernels } from '../../src/kernel/tensor/kernels.ts';
import { loadWasmKernel } from '../../src/kernel/tensor/wasm-kernel.ts';
import { expectWithinBounds } from '../support/kernel-reference.ts';
import { runs } from '../support/property.ts';
import { enableRelaxedSimd } from '../support/relaxed-simd.ts';
import { anyFloat32, anyFloat64, anyTensor, normal } from '../support/tensors.ts';

const hasRelaxed = enableRelaxedSimd();

describe.skipIf(!hasRelaxed)('relaxed SIMD', () => {
  let relaxed: Kernel;
  let fixed: Kernel;

  beforeAll(async () => {
    relaxed = await loadWasmKernel();
    fixed = await loadWasmKernel({ relaxedSimd: false });
  });

  test('statistics are within the stated bounds, the same bits each time', () => {
    fc.assert(
      fc.property(anyTensor, (data) => {
        const found = relaxed.tensorStats(data, { epsilon: 0.1, threshold: 2 });
        expectWithinBounds(found, data, 0.1, 2);
        expect(relaxed.tensorStats(data, { epsilon: 0.1, threshold: 2 })).toEqual(found);
      }),
      runs(300),
    );
  });

  test('histograms are the same to the last count', () => {
    fc.assert(
      fc.property(anyTensor, fc.integer({ min: 1, max: 300 }), (data, bins) => {
        expect(relaxed.histogram(data, { bins })).toEqual(fixed.histogram(data, { bins }));
        const range = { min: -1, max: 1 };
        expect(relaxed.histogram(data, { bins, range })).toEqual(
          fixed.histogram(data, { bins, range }),
        );
      }),
      runs(300),
    );
  });

  test('pairs agree within twice their bounds', () => {
    const agree = (a: number, b: number, scale: number): void => {
      if (Number.isFinite(a) && Number.isFinite(b))
        expect(Math.abs(a - b)).toBeLessThanOrEqual(2e-12 * scale);
      else expect(a).toBe(b);
    };
    fc.assert(
      fc.property(fc.oneof(anyFloat32, anyFloat64), (values) => {
        const data = values instanceof Float32Array ? values : Float64Array.from(values);
        const moved = data.map((x, i) => x * (1 + (i % 7)));
        const a = relaxed.tensorPairStats(data, moved);
        const b = fixed.tensorPairStats(data, moved);
        expect(a.finiteCount).toBe(b.finiteCount);
        agree(a.firstNorm, b.firstNorm, b.firstNorm);
        agree(a.secondNorm, b.secondNorm, b.secondNorm);
        agree(a.differenceNorm, b.differenceNorm, b.differenceNorm);
        agree(a.dot, b.dot, b.firstNorm * b.secondNorm);
      }),
      runs(300),
    );
  });

  test('it is in use, here and in workers, and can be declined', async () => {
    // Data whose sums of squares round differently when products are not rounded before they are added.
    const data = Float64Array.from(normal(50_000, 1e4, 1));
    const here = relaxed.tensorStats(data);
    const there = fixed.tensorStats(data);
    expect(here).not.toEqual(there);
    for (const [relaxedSimd, simd, wanted] of [
      [true, 'relaxed', here],
      [false, 'fixed', there],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- two
      const kernels = await createKernels({ inlineBytes: 0, relaxedSimd });
      expect(kernels.diagnostics().simd).toBe(simd);
      expect(kernels.inline.tensorStats(data)).toEqual(wanted);
      // oxlint-disable-next-line no-await-in-loop -- two
      expect(await kernels.tensorStats(data)).toEqual(wanted);
      expect(kernels.diagnostics().workerCount).toBe(1);
      await kernels.close(); // oxlint-disable-line no-await-in-loop -- two
    }
  });
});
