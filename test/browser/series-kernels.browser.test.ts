// The series kernels in web workers: shared memory and transfer, workers that fail among many calls, abort.
import { afterEach, describe, expect, test, vi } from 'vitest';
import workerSource from 'virtual:quark-inline-series-worker';
import {
  createSeriesKernels,
  type SeriesKernels,
  type SeriesKernelsConfig,
} from '../../src/kernel/series/series-kernels.ts';
import { TestClock } from '../support/clock.ts';
import { normal } from '../support/tensors.ts';

/** Of a loaded machine. */
const PATIENCE = { timeout: 60_000 };

/** Calls with these scales make the worker throw, and hang. */
const trap = `self.addEventListener('message', (event) => {
  const call = JSON.stringify(event.data.argumentList?.[0] ?? null);
  if (call.includes('"scale":666')) {
    event.stopImmediatePropagation();
    setTimeout(() => { throw new Error('out of order'); });
  }
  if (call.includes('"scale":667')) for (;;);
});\n`;

const spawn = (): Worker =>
  new Worker(URL.createObjectURL(new Blob([trap, workerSource], { type: 'text/javascript' })), {
    type: 'module',
  });

const open = new Set<SeriesKernels>();

async function make(config: SeriesKernelsConfig = {}): Promise<SeriesKernels> {
  const kernels = await createSeriesKernels({ inlineBytes: 0, workers: 2, ...config });
  open.add(kernels);
  return kernels;
}

afterEach(async () => {
  await Promise.all(Array.from(open, (kernels) => kernels.close()));
  open.clear();
});

const data = Float64Array.from(normal(50_000, 3, 2));
const parts = Array.from({ length: 24 }, (_, i) => data.subarray(i, 2000 * (i + 1)));

describe.each([
  ['shared memory', true],
  ['transfer', false],
])('web workers over series, %s', (_name, sharedMemory) => {
  test('give the same bits, however many they are', async () => {
    const results = await Promise.all(
      [0, 1, 2, 4].map(async (workers) => {
        const kernels = await make({ workers, sharedMemory });
        return Promise.all(parts.map((values) => kernels.quantiles(values, [0, 0.1, 0.5, 1])));
      }),
    );
    for (const other of results) expect(other).toEqual(results[0]);
  });

  test('that fail among many calls fail their own alone, and all memory comes home', async () => {
    const kernels = await make({ sharedMemory, spawn });
    const settled = await Promise.allSettled(
      parts.map(async (values, i) =>
        i % 8 === 3
          ? kernels.medianAbsoluteDeviation(values, { scale: 666 })
          : kernels.median(values),
      ),
    );
    settled.forEach((call, i) => {
      if (i % 8 === 3)
        expect(call).toMatchObject({ status: 'rejected', reason: { code: 'kernel_failed' } });
      else
        expect(call).toEqual({
          status: 'fulfilled',
          value: kernels.inline.median(parts[i] ?? data),
        });
    });
    await vi.waitFor(
      () =>
        expect(kernels.diagnostics()).toMatchObject({
          diedWorkerCount: 3,
          pendingBytes: 0,
          queuedCount: 0,
          runningCount: 0,
        }),
      PATIENCE,
    );
  });

  test('are given up on when a call goes on after its abort', async () => {
    const clock = new TestClock();
    const kernels = await make({ sharedMemory, spawn, workers: 1, clock });
    const controller = new AbortController();
    const { signal } = controller;
    const running = kernels.medianAbsoluteDeviation(data, { scale: 667, signal });
    const queued = kernels.median(data, { signal });
    const after = kernels.median(data);
    await vi.waitFor(() => expect(kernels.diagnostics().runningCount).toBe(1), PATIENCE);
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: 'aborted' });
    await expect(queued).rejects.toMatchObject({ code: 'aborted' });
    clock.advance(250);
    expect(await after).toBe(kernels.inline.median(data));
    expect(kernels.diagnostics()).toMatchObject({ diedWorkerCount: 0, pendingBytes: 0 });
    clock.advance(30_000);
    expect(kernels.diagnostics()).toMatchObject({ workerCount: 0, keptBytes: 0 });
  });
});
