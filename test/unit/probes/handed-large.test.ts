/** Tensors that are too large to be reduced on the training thread, over every way: the same numbers. */
import { afterAll, expect, it, vi } from 'vitest';
import type { KernelAccess } from '../../../src/instruments/probes/shared-kernels.ts';
import { ProbeWork } from '../../../src/instruments/probes/probe-work.ts';
import { createKernels, type Kernels } from '../../../src/kernel/tensor/kernels.ts';
import { handOverOf } from '../../../src/kernel/tensor/step-hand-over.ts';
import type { KernelsConfig } from '../../../src/kernel/workers/config.ts';
import { ArraySource } from '../../support/array-source.ts';
import { normal } from '../../support/tensors.ts';

const PATIENCE = { timeout: 60_000 };
const open: Kernels[] = [];
afterAll(() => Promise.all(open.map((kernels) => kernels.close())));

/** More than are reduced at once, and more than one probe copies. */
const SHAPES = [
  [600, 700],
  [2, 3, 499, 401],
  [2100, 1000],
] as const;
const source = new ArraySource([], []);
const tensors = SHAPES.map((shape, i) =>
  [1, 2].map((half) => {
    const length = shape.reduce((a, b) => a * b, 1);
    const values = Float32Array.from(normal(length, 0.1, half, i * 2 + half));
    for (let at = half; at < length; at += 4999) values[at] = at % 2 === 0 ? Number.NaN : 0;
    // A unit that is dead.
    const end = i === 0 ? length : 0;
    for (let at = 5; at < end; at += 700) values[at] = 0;
    return source.ref(values, shape);
  }),
);

/** What is found of them, and how much of it was handed over in the step. */
async function find(config: KernelsConfig) {
  const kernels = await createKernels({ inlineBytes: 0, ...config });
  open.push(kernels);
  const steps = handOverOf(kernels);
  const access: KernelAccess = {
    inline: kernels.inline,
    steps,
    isLoaded: true,
    isReady: true,
    loaded: Promise.resolve(kernels),
    release: () => undefined,
  };
  const probe = async () => {
    const found: unknown[] = [];
    const work = new ProbeWork(access, source, () => 0);
    for (const [now, before] of tensors) {
      if (now === undefined || before === undefined) throw new Error('no tensors');
      const at = found.push(null, null, null) - 3;
      const histogram = { bins: 32, maxValues: 50_000 };
      const request = { epsilon: 1e-6, threshold: 0.9, unitAxis: 1, histogram };
      work.summarize(now, request, (summary) => (found[at] = summary));
      work.change(
        now,
        before,
        { ...request, unitAxis: null },
        (change) => (found[at + 1] = change),
      );
      work.cosine(now, before, (cosine) => (found[at + 2] = cosine));
    }
    const rest = work.finish();
    const handedBytes = kernels.diagnostics().pendingBytes;
    await rest;
    await work.settle();
    work.poll();
    expect(work.isComplete).toBe(true);
    return { found, handedBytes };
  };
  if (steps === undefined) return probe();
  // Until a worker is there, and a buffer has room for the step.
  return vi.waitFor(async () => {
    const done = await probe();
    expect(done.handedBytes).toBeGreaterThan(8 << 20);
    return done;
  }, PATIENCE);
}

const here = find({ workers: 0 });

it.each([{ sharedMemory: true }, { sharedMemory: false }])('%o', PATIENCE, async (config) => {
  const { found, handedBytes } = await find({ workers: 1, ...config });
  expect(found).toStrictEqual((await here).found);
  expect((await here).handedBytes).toBe(0);
  // What is beyond that is read in slices, later.
  expect(handedBytes).toBeLessThan(40 << 20);
});
