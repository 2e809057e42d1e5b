/** Probes that come before the kernels have loaded: the numbers are those of the kernels, and none is lost for it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HookEngine } from '../../../src/instruments/probes/hook-engine.ts';
import { ProbeWork } from '../../../src/instruments/probes/probe-work.ts';
import {
  accessKernels,
  type KernelAccess,
} from '../../../src/instruments/probes/shared-kernels.ts';
import type { TensorData } from '../../../src/kernel/kernel.ts';
import { createKernels } from '../../../src/kernel/tensor/kernels.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { ArraySource, layer } from '../../support/array-source.ts';
import { TestClock } from '../../support/clock.ts';
import { anyTensor, normal } from '../../support/tensors.ts';

const request = { epsilon: 1e-6, threshold: 0.9, unitAxis: 1, histogram: null };
const counted = { ...request, unitAxis: null, histogram: { bins: 7, maxValues: 1000 } };

/** Everything that probes ask of some tensors, by name. */
async function numbersOf(kernels: KernelAccess, tensors: readonly TensorData[]) {
  const source = new ArraySource([layer('a')]);
  const work = new ProbeWork(kernels, source, () => 0);
  const found = new Map<string, unknown>();
  const add = (name: string) => (value: unknown) => found.set(name, value);
  tensors.forEach((data, i) => {
    const own = data.slice();
    const tensor = source.ref(own, [1, own.length]);
    work.summarize(tensor, request, add(`summary ${i}`));
    work.summarize(tensor, counted, add(`histogram ${i}`));
    const before = source.ref(own.slice().reverse());
    work.change(tensor, before, counted, add(`change ${i}`));
    work.cosine(tensor, before, add(`cosine ${i}`));
  });
  const early = found.size;
  await work.finish();
  const names = [...found.keys()].toSorted();
  return { early, numbers: names.map((name) => [name, found.get(name)]) };
}

test('have the numbers of the kernels to the last bit, whatever the tensor', async () => {
  const given = accessKernels(await createKernels({ workers: 0 }), false);
  const small = anyTensor.filter(({ length }) => length > 0 && length <= 2048);
  const several = fc.array(small, { minLength: 8, maxLength: 16 });
  await fc.assert(
    fc.asyncProperty(several, async (tensors) => {
      const unloaded = accessKernels(undefined, false);
      try {
        const first = await numbersOf(unloaded, tensors);
        const later = await numbersOf(given, tensors);
        expect(first.early).toBe(0);
        expect(later.early).toBe(later.numbers.length);
        expect(first.numbers).toStrictEqual(later.numbers);
      } finally {
        unloaded.release();
      }
    }),
    { numRuns: 12, seed: 7 },
  );
});

/** Steps of a small model without a turn of the event loop, and what becomes of them. */
async function steps(count: number, length: number) {
  const clock = new TestClock(1_700_000_000_000);
  const session = await TrainingSession.startRun({
    project: 'first',
    storage: createMemoryStore(),
    handleSignals: false,
    clock,
  });
  const source = new ArraySource([layer('a')]);
  const hooks = new HookEngine(session, source);
  for (let step = 0; step < count; step++) {
    hooks.beginStep(step);
    source.show(0, 'forward', source.ref(Float32Array.from(normal(length, 0, 1, step))));
    hooks.endStep();
  }
  const held = source.retained;
  const { probedSteps, skippedProbes } = hooks.status;
  const rows = await hooks.read();
  await session.endRun();
  return { held, left: source.retained, probedSteps, skippedProbes, rows };
}

test('of a small model wait for the kernels together, and each has its row in the order of the steps', async () => {
  const { held, left, rows, probedSteps, skippedProbes } = await steps(40, 300);
  expect({ held, left, probedSteps, skippedProbes }).toStrictEqual({
    held: 40,
    left: 0,
    probedSteps: 40,
    skippedProbes: 0,
  });
  expect(rows.map(({ step }) => step)).toStrictEqual(Array.from({ length: 40 }, (_, i) => i));
});

test('wait up to a megabyte of tensors; what comes then is left out and counted', async () => {
  const { held, rows, probedSteps, skippedProbes } = await steps(20, 100_000);
  // The third brings them above it.
  expect({ held, probedSteps, skippedProbes }).toStrictEqual({
    held: 3,
    probedSteps: 3,
    skippedProbes: 17,
  });
  expect(rows.map(({ step }) => step)).toStrictEqual([0, 1, 2]);
});
