import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Arena, PAGE_BYTES } from '../../../src/kernel/arena.ts';
import { MAX_HISTOGRAM_BINS } from '../../../src/kernel/tensor/checks.ts';
import { jsKernel } from '../../../src/kernel/tensor/js-kernel.ts';
import { loadWasmKernel } from '../../../src/kernel/tensor/wasm-kernel.ts';
import { runs } from '../../support/property.ts';
import { anyTensor, normal } from '../../support/tensors.ts';

describe('the WebAssembly kernel', () => {
  test('counts histograms exactly as its plain twin does', async () => {
    const kernel = await loadWasmKernel();
    fc.assert(
      fc.property(
        anyTensor,
        fc.integer({ min: 1, max: 300 }),
        fc.option(fc.constantFrom({ min: -0.3, max: 0.7 }, { min: 1e-9, max: 3 }), {
          nil: undefined,
        }),
        (data, bins, range) => {
          const options = range === undefined ? { bins } : { bins, range };
          expect(kernel.histogram(data, options)).toEqual(jsKernel.histogram(data, options));
        },
      ),
      runs(300),
    );
  });

  test('counts magnitudes exactly as its plain twin does', async () => {
    const kernel = await loadWasmKernel();
    fc.assert(
      fc.property(
        anyTensor,
        fc.integer({ min: -126, max: 126 }),
        fc.integer({ min: 1, max: 200 }),
        fc.constantFrom(1, 2, 4, 8, 16, 32, 64),
        (data, first, octaves, binsPerOctave) => {
          const magnitudes = { min: 2 ** first, max: 2 ** Math.min(127, first + octaves) };
          const options = { scale: 'log_magnitude', magnitudes, binsPerOctave } as const;
          expect(kernel.histogram(data, options)).toEqual(jsKernel.histogram(data, options));
        },
      ),
      runs(300),
    );
  });

  test('gives back the memory that a call has grown', async () => {
    const kernel = await loadWasmKernel({ retainBytes: 512 * 1024 });
    const before = kernel.memoryBytes;
    const data = Float32Array.from(normal(5000));
    const wanted = jsKernel.histogram(data, { bins: MAX_HISTOGRAM_BINS });
    for (let i = 0; i < 3; i++) {
      expect(kernel.histogram(data, { bins: MAX_HISTOGRAM_BINS })).toEqual(wanted);
      expect(kernel.memoryBytes).toBe(before);
    }
  });

  test('holds no more memory for a large tensor than for a small one', async () => {
    const kernel = await loadWasmKernel();
    const before = kernel.memoryBytes;
    kernel.tensorStats(new Float32Array(8 * 1024 * 1024));
    expect(kernel.memoryBytes).toBe(before);
    expect(before).toBeLessThanOrEqual(16 * PAGE_BYTES);
  });

  test('reads shared memory', async () => {
    const kernel = await loadWasmKernel();
    const data = new Float32Array(new SharedArrayBuffer(400)).fill(2);
    expect(kernel.tensorStats(data)).toMatchObject({ mean: 2, variance: 0, elementCount: 100 });
  });
});

describe('Arena', () => {
  test('hands out aligned places that do not overlap, and takes them back', () => {
    const arena = new Arena(new WebAssembly.Memory({ initial: 1 }), 100, PAGE_BYTES);
    const first = arena.allocate(5);
    const mark = arena.mark();
    const second = arena.allocate(17);
    const third = arena.allocate(1);
    expect([first, second, third]).toEqual([112, 128, 160]);
    arena.release(mark);
    expect(arena.allocate(1)).toBe(second);
  });

  test('sees its memory after growth', () => {
    const arena = new Arena(new WebAssembly.Memory({ initial: 1 }), 0, 4 * PAGE_BYTES);
    const before = arena.bytes();
    const at = arena.allocate(2 * PAGE_BYTES);
    expect(before.byteLength).toBe(0);
    expect(arena.bytes().byteLength).toBe(2 * PAGE_BYTES);
    arena.bytes()[at] = 7;
    expect(new Uint8Array(arena.slots(at, 1).buffer)[at]).toBe(7);
  });

  test('stops at its limit with an error, and stays usable', () => {
    const arena = new Arena(new WebAssembly.Memory({ initial: 1 }), 0, 2 * PAGE_BYTES);
    expect(() => arena.allocate(3 * PAGE_BYTES)).toThrow(
      expect.objectContaining({
        code: 'kernel_failed',
        details: { neededBytes: 196_608, limitBytes: 131_072 },
      }),
    );
    expect(arena.allocate(PAGE_BYTES)).toBe(0);
    const full = new Arena(new WebAssembly.Memory({ initial: 1, maximum: 1 }), 0, 2 * PAGE_BYTES);
    expect(() => full.allocate(2 * PAGE_BYTES)).toThrow(
      expect.objectContaining({ code: 'kernel_failed' }),
    );
  });
});
