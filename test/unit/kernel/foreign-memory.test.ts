/** Kernels in a memory that is not theirs: the numbers of a copy, nothing written, and a copy wherever there is doubt. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import series from '../../../asconfig.series.json' with { type: 'json' };
import { PAGE_BYTES } from '../../../src/kernel/arena.ts';
import type { Kernel, TensorData } from '../../../src/kernel/kernel.ts';
import { compileKernels } from '../../../src/kernel/tensor/abi.ts';
import { ForeignMemory } from '../../../src/kernel/tensor/foreign-memory.ts';
import { SCRATCH_BYTES } from '../../../src/kernel/tensor/layout.ts';
import { createKernels } from '../../../src/kernel/tensor/kernels.ts';
import { createInstance } from '../../../src/kernel/tensor/wasm-instance.ts';
import { loadWasmKernel } from '../../../src/kernel/tensor/wasm-kernel.ts';
import { enableRelaxedSimd } from '../../support/relaxed-simd.ts';
import { runs } from '../../support/property.ts';
import { anyTensor, normal } from '../../support/tensors.ts';

/** Bytes at the start of a memory that its allocator has given away. */
const TAKEN_BYTES = 4 * PAGE_BYTES;

/** A framework's memory, its scratch memory at an odd address in the midst of bytes of 0xab. */
function framework(pages = 16, shared = false): { memory: WebAssembly.Memory; lent: () => void } {
  const memory = new WebAssembly.Memory({ initial: pages, maximum: 4096, shared });
  new Uint8Array(memory.buffer).fill(0xab);
  const foreign = new ForeignMemory({ memory, allocate: () => PAGE_BYTES + 7 });
  return { memory, lent: () => foreign.lend(memory.buffer) };
}

type Put = <D extends TensorData>(memory: WebAssembly.Memory, data: D, address: number) => D;
/** The same tensor in a memory. */
const put: Put = (memory, data, address) => {
  const { buffer, byteOffset, byteLength } = data;
  new Uint8Array(memory.buffer).set(new Uint8Array(buffer, byteOffset, byteLength), address);
  return Reflect.construct(data.constructor, [memory.buffer, address, data.length]);
};

function numbers(kernel: Kernel, data: TensorData): unknown[] {
  const type = data instanceof Uint16Array ? { type: 'bfloat16' as const } : {};
  const half = data.length >> 1;
  const isFloat = data instanceof Float32Array || data instanceof Float64Array;
  return [
    kernel.tensorStats(data, { epsilon: 1e-3, threshold: 0.7, ...type }),
    kernel.histogram(data, { bins: 8, ...type }),
    isFloat ? kernel.tensorPairStats(data.subarray(0, half), data.subarray(half, 2 * half)) : null,
  ];
}

describe('kernels in the memory of a framework', () => {
  test('leave static data of the series module alone, which has their scratch memory below it', () => {
    expect(series.options.memoryBase).toBeGreaterThanOrEqual(SCRATCH_BYTES);
  });

  for (const relaxedSimd of [false, true]) {
    test(`give the numbers of a copy, of every type, ${relaxedSimd ? 'with' : 'without'} relaxed SIMD`, async () => {
      if (relaxedSimd && !enableRelaxedSimd()) return;
      const kernel = await loadWasmKernel({ relaxedSimd });
      const { memory, lent } = framework();
      lent();
      let callCount = 0;
      fc.assert(
        fc.property(anyTensor, fc.integer({ min: 0, max: 9 }), (data, at) => {
          const there = put(memory, data, TAKEN_BYTES + at * data.BYTES_PER_ELEMENT);
          const found = numbers(kernel, there);
          callCount += found.filter((numbersOrNull) => numbersOrNull !== null).length;
          expect(found).toStrictEqual(numbers(kernel, data));
        }),
        runs(200),
      );
      expect(callCount).toBeGreaterThan(40);
      expect(kernel.inPlace).toStrictEqual({ callCount, failure: null });
    });
  }

  test('give the numbers of a copy of tensors of more than a block, and at the end of the memory', async () => {
    const kernel = await loadWasmKernel();
    const { memory, lent } = framework(64);
    lent();
    const values = Float32Array.from(normal((1 << 18) + 5));
    for (const length of [...Array(68).keys(), 32_769, values.length]) {
      const data = values.subarray(0, length);
      const there = put(memory, data, memory.buffer.byteLength - data.byteLength);
      expect(numbers(kernel, there)).toStrictEqual(numbers(kernel, data));
    }
    for (let length = 0; length < 68; length++) {
      const data = Uint8Array.from({ length }, (_, i) => i * 3);
      const there = put(memory, data, memory.buffer.byteLength - length);
      expect(numbers(kernel, there)).toStrictEqual(numbers(kernel, data));
    }
    expect(kernel.inPlace.failure).toBeNull();
  });

  test('write nothing but what the allocator gave', async () => {
    const kernel = await loadWasmKernel();
    const { memory, lent } = framework();
    lent();
    const data = put(memory, Float32Array.from(normal(5000)), TAKEN_BYTES);
    const before = new Uint8Array(memory.buffer.slice(0));
    numbers(kernel, data);
    expect(kernel.inPlace.callCount).toBe(3);
    const changed: number[] = [];
    for (const [at, byte] of new Uint8Array(memory.buffer).entries())
      if (byte !== before[at]) changed.push(at);
    expect(changed[0]).toBeGreaterThanOrEqual(PAGE_BYTES + 7);
    expect(changed.at(-1)).toBeLessThan(PAGE_BYTES + 20_000);
  });

  test('follow the memory as it grows, and leave views from before alone', async () => {
    const kernel = await loadWasmKernel();
    const { memory, lent } = framework();
    lent();
    const data = Float32Array.from(normal(1000));
    const first = put(memory, data, TAKEN_BYTES);
    const expected = kernel.tensorStats(data);
    expect(kernel.tensorStats(first)).toStrictEqual(expected);
    memory.grow(16);
    expect(first).toHaveLength(0);
    const moved = put(memory, data, memory.buffer.byteLength - data.byteLength);
    expect(kernel.tensorStats(moved)).toStrictEqual(expected);
    expect(kernel.inPlace.callCount).toBe(1); // the new buffer has not been lent
    lent();
    expect(kernel.tensorStats(moved)).toStrictEqual(expected);
    expect(kernel.inPlace).toStrictEqual({ callCount: 2, failure: null });
  });

  test('work in a memory that threads share, once the kernels for it are compiled', async () => {
    const kernel = await loadWasmKernel();
    const { memory, lent } = framework(16, true);
    lent();
    const data = Float32Array.from(normal(3000));
    const there = put(memory, data, TAKEN_BYTES);
    const expected = numbers(kernel, data);
    while (kernel.inPlace.callCount === 0) {
      expect(numbers(kernel, there)).toStrictEqual(expected);
      await new Promise((done) => setTimeout(done, 1));
    }
    expect(numbers(kernel, there)).toStrictEqual(expected);
    const stale = there;
    memory.grow(1);
    const { callCount } = kernel.inPlace;
    expect(numbers(kernel, stale)).toStrictEqual(expected);
    expect(kernel.inPlace.callCount).toBe(callCount);
    lent();
    const moved = put(memory, data, memory.buffer.byteLength - data.byteLength);
    expect(numbers(kernel, moved)).toStrictEqual(expected);
    expect(kernel.inPlace).toStrictEqual({ callCount: callCount + 3, failure: null });
  });

  test('do not begin where the allocator has nothing, or gives what is not there', () => {
    const memory = new WebAssembly.Memory({ initial: 1 });
    for (const address of [0, -16, PAGE_BYTES - 100, Number.NaN, 0.5])
      expect(() => new ForeignMemory({ memory, allocate: () => address })).toThrow(RangeError);
  });

  test('are not used where they would give other numbers, or cannot be made there', async () => {
    const modules = await compileKernels();
    const own = createInstance(modules, 4096);
    const { exports } = own;
    const wrong = {
      ...own,
      exports: { ...exports, stats: { ...exports.stats, float32: () => undefined } },
    };
    const memory = new WebAssembly.Memory({ initial: 16, maximum: 20 });
    const data = new Float32Array(memory.buffer, TAKEN_BYTES, 10);
    const foreign = new ForeignMemory({ memory, allocate: () => PAGE_BYTES });
    expect(foreign.instanceFor(data, modules, wrong)).toMatch('other numbers');
    expect(foreign.instanceFor(data, modules, own)).toMatch('other numbers');
    const unlimited = new WebAssembly.Memory({ initial: 16 });
    new ForeignMemory({ memory: unlimited, allocate: () => PAGE_BYTES }).lend(unlimited.buffer);
    const kernel = await loadWasmKernel();
    const there = put(unlimited, Float32Array.from([1, 2, 3]), TAKEN_BYTES);
    expect(kernel.tensorStats(there)).toMatchObject({ mean: 2, elementCount: 3 });
    expect(kernel.inPlace.callCount).toBe(0);
    expect(kernel.inPlace.failure).toMatch('memory');
  });

  test('give what every other way gives: messages, the ring, and the spot', async () => {
    const { memory, lent } = framework(64);
    lent();
    const ways = await Promise.all([
      createKernels({ workers: 0 }),
      createKernels({ workers: 1, inlineBytes: 0 }),
      createKernels({ workers: 1, inlineBytes: 0, sharedMemory: false }),
    ]);
    for (const length of [0, 1, 67, 5000, (1 << 18) + 3]) {
      const values = Float32Array.from(normal(length));
      values.set([-0, Number.NaN, 1e-45].slice(0, length));
      const data = put(memory, values, TAKEN_BYTES + 4);
      const found = await Promise.all(ways.map((kernels) => kernels.tensorStats(data)));
      const counted = await Promise.all(ways.map((kernels) => kernels.histogram(data)));
      const copied = await ways[0]?.tensorStats(values);
      for (const one of found) expect(one).toStrictEqual(copied);
      for (const one of counted) expect(one).toStrictEqual(counted[0]);
    }
    expect(ways[0]?.diagnostics().inPlace).toMatchObject({ failure: null });
    expect(ways[0]?.diagnostics().inPlace?.callCount).toBeGreaterThan(5);
    for (const kernels of ways) await kernels.close();
  });
});
