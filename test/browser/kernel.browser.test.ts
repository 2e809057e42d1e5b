// The kernels where they are used: real web workers, shared memory and transfer, and a page without either.
import { afterEach, describe, expect, test } from 'vitest';
import workerSource from 'virtual:quark-inline-worker';
import type { KernelsConfig } from '../../src/kernel/workers/config.ts';
import { createKernels, type Kernels } from '../../src/kernel/tensor/kernels.ts';
import { loadWasmKernel } from '../../src/kernel/tensor/wasm-kernel.ts';
import { describeKernel } from '../contract/kernel-contract.ts';
import { TestClock } from '../support/clock.ts';
import { expectWithinBounds } from '../support/kernel-reference.ts';
import { normal } from '../support/tensors.ts';

const open = new Set<Kernels>();

async function make(config: KernelsConfig = {}): Promise<Kernels> {
  const kernels = await createKernels({ inlineBytes: 0, workers: 2, ...config });
  open.add(kernels);
  return kernels;
}

afterEach(async () => {
  await Promise.all(Array.from(open, (kernels) => kernels.close()));
  open.clear();
});

describeKernel('WebAssembly in a page', () => loadWasmKernel(), 0.3);
describeKernel(
  'WebAssembly in a page, without relaxed SIMD',
  () => loadWasmKernel({ relaxedSimd: false }),
  0.3,
);
describeKernel(
  'web workers, shared memory',
  () => createKernels({ inlineBytes: 0, chunkBytes: 8192, workers: 2 }),
  0.2,
);
describeKernel(
  'web workers, transfer',
  () => createKernels({ inlineBytes: 0, chunkBytes: 8192, workers: 2, sharedMemory: false }),
  0.2,
);

const data = Float32Array.from(normal(50_000, 3, 2));

describe('web workers', () => {
  test('are made from the text the package carries, and share memory', async () => {
    const kernels = await make();
    expectWithinBounds(await kernels.tensorStats(data), data);
    expect(kernels.diagnostics()).toMatchObject({
      kernel: 'wasm',
      workerMode: 'inline-source',
      isMemoryShared: true,
      workerCount: 1,
      pendingBytes: 0,
    });
  });

  test('hand transferred memory back, and the tensor keeps its own', async () => {
    const kernels = await make({ sharedMemory: false });
    expectWithinBounds(await kernels.tensorStats(data), data);
    expect(data.byteLength).toBe(200_000);
    expect(kernels.diagnostics()).toMatchObject({
      isMemoryShared: false,
      pendingBytes: 0,
      keptBytes: 262_144,
    });
  });

  test('that throw fail their own call and are replaced', async () => {
    const trap = `self.addEventListener('message', (event) => {
      if (JSON.stringify(event.data.argumentList?.[0] ?? null).includes('"epsilon":666')) {
        event.stopImmediatePropagation();
        setTimeout(() => { throw new Error('out of order'); });
      }
    });\n`;
    const kernels = await make({
      sharedMemory: false,
      spawn: () =>
        new Worker(
          URL.createObjectURL(new Blob([trap, workerSource], { type: 'text/javascript' })),
          { type: 'module' },
        ),
    });
    await expect(kernels.tensorStats(data, { epsilon: 666 })).rejects.toMatchObject({
      code: 'kernel_failed',
    });
    expectWithinBounds(await kernels.tensorStats(data), data);
    expect(kernels.diagnostics()).toMatchObject({
      diedWorkerCount: 1,
      workerMode: 'custom',
      pendingBytes: 0,
    });
  });

  test('that hang at the ring cost no call, and are replaced', async () => {
    // The first worker hangs at its first job, and any later one works.
    const trap = `const { compareExchange } = Atomics;
    Atomics.compareExchange = (array, slot, from, to) => {
      const found = compareExchange(array, slot, from, to);
      if (found === from && to >= 16) for (;;);
      return found;
    };\n`;
    let made = 0;
    const clock = new TestClock();
    const kernels = await make({
      workers: 1,
      callTimeoutMs: 500,
      clock,
      spawn: () => {
        made += 1;
        const parts = made === 1 ? [trap, workerSource] : [workerSource];
        return new Worker(URL.createObjectURL(new Blob(parts, { type: 'text/javascript' })), {
          type: 'module',
        });
      },
    });
    const hung = kernels.tensorStats(data);
    expect(kernels.diagnostics().handOver.way).toBe('ring');
    await expect.poll(() => kernels.diagnostics().runningCount, { timeout: 60_000 }).toBe(1);
    clock.advance(500);
    expectWithinBounds(await hung, data);
    expectWithinBounds(await kernels.tensorStats(data), data);
    expect(made).toBe(2);
  });

  test('whose script cannot be fetched leave the work to the page', async () => {
    const kernels = await make({
      spawn: () => new Worker('/no-such-worker.js', { type: 'module' }),
      startTimeoutMs: 2000,
    });
    expectWithinBounds(await kernels.tensorStats(data), data);
    expect(kernels.diagnostics().workerMode).toBe('none');
    expect(kernels.diagnostics().workerFailures).toHaveLength(1);
  });

  test('that end themselves without a word are given up on', async () => {
    const clock = new TestClock();
    const kernels = await make({
      spawn: () =>
        new Worker(URL.createObjectURL(new Blob(['self.close();'], { type: 'text/javascript' })), {
          type: 'module',
        }),
      startTimeoutMs: 100,
      clock,
    });
    const pending = kernels.tensorStats(data);
    await expect
      .poll(() => {
        clock.advance(100);
        return kernels.diagnostics().workerMode;
      })
      .toBe('none');
    expectWithinBounds(await pending, data);
  });
});
