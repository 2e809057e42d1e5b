import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test, vi } from 'vitest';
import workerSource from 'virtual:quark-inline-series-worker';
import { MEASURED_METHODS } from '../../../src/kernel/series/costs.ts';
import { executeSeriesCall } from '../../../src/kernel/series/host.ts';
import { jsSeriesKernel } from '../../../src/kernel/series/series-kernel.ts';
import {
  createSeriesKernels,
  type SeriesKernels,
  type SeriesKernelsConfig,
} from '../../../src/kernel/series/series-kernels.ts';
import { loadSeriesKernel } from '../../../src/kernel/series/load-kernel.ts';
import { buffersIn } from '../../../src/kernel/workers/worker-host.ts';
import { TestClock } from '../../support/clock.ts';
import { normal } from '../../support/tensors.ts';

/** Of a loaded machine. */
const PATIENCE = { timeout: 60_000 };

/** Calls with these scales make the worker exit, and hang. */
const EXIT = 666;
const HANG = 667;
const TRAP = `
import { parentPort } from 'node:worker_threads';
parentPort.on('message', (message) => {
  const call = JSON.stringify(message.argumentList?.[0] ?? null);
  if (call.includes('"scale":${EXIT}')) process.exit(7);
  if (call.includes('"scale":${HANG}')) for (;;);
});
`;

const start = (text: string): Worker =>
  new Worker(new URL(`data:text/javascript,${encodeURIComponent(text)}`));
const spawnTrapped = (): Worker => start(TRAP + workerSource);
const open = new Set<SeriesKernels>();

async function make(config: SeriesKernelsConfig = {}): Promise<SeriesKernels> {
  const kernels = await createSeriesKernels({ inlineBytes: 0, workers: 2, ...config });
  open.add(kernels);
  return kernels;
}

afterEach(async () => {
  for (const kernels of open) await kernels.close(); // oxlint-disable-line no-await-in-loop -- a few at most
  open.clear();
});

const data = Float64Array.from(normal(50_000, 3, 2));
const paths = [
  ['shared memory', true],
  ['transfer', false],
] as const;

async function expectAllGivenBack(kernels: SeriesKernels): Promise<void> {
  await vi.waitFor(
    () =>
      expect(kernels.diagnostics()).toMatchObject({
        pendingBytes: 0,
        queuedCount: 0,
        runningCount: 0,
      }),
    PATIENCE,
  );
}

describe.each(paths)('series kernels over %s', (_name, sharedMemory) => {
  test('use a worker of their own, and give its memory back', async () => {
    const kernels = await make({ sharedMemory, workerMode: 'inline-source' });
    const pending = kernels.median(data);
    expect(kernels.diagnostics()).toMatchObject({
      isMemoryShared: sharedMemory,
      pendingBytes: 524_288,
    });
    expect(await pending).toBe(kernels.inline.median(data));
    expect(kernels.diagnostics()).toMatchObject({
      kernel: 'wasm',
      workerMode: 'inline-source',
      workerFailures: [],
      workerCount: 1,
    });
    await expectAllGivenBack(kernels);
    expect(kernels.diagnostics().keptBytes).toBe(524_288);
  });

  test('answer for the series and options as they were when they were called', async () => {
    const kernels = await make({ sharedMemory });
    const own = data.slice();
    const probabilities = [0.25, 0.75];
    const options = { scale: 2 };
    const pending = [
      kernels.quantiles(own, probabilities),
      kernels.medianAbsoluteDeviation(own, options),
    ] as const;
    own.fill(0);
    probabilities.fill(0);
    options.scale = 0;
    expect(await Promise.all(pending)).toEqual([
      kernels.inline.quantiles(data, [0.25, 0.75]),
      kernels.inline.medianAbsoluteDeviation(data, { scale: 2 }),
    ]);
  });

  test('take every kind of series, and leave it as it is', async () => {
    const kernels = await make({ sharedMemory });
    const single = Float32Array.from(data);
    const list = Array.from(data);
    const window = new Float64Array([0, ...data, 0]).subarray(1, data.length + 1);
    expect(await kernels.median(single)).toBe(kernels.inline.median(single));
    expect(await kernels.median(list)).toBe(kernels.inline.median(data));
    expect(await kernels.median(window)).toBe(kernels.inline.median(data));
    expect(single).toHaveLength(50_000);
    expect(window.buffer.byteLength).toBe(400_016);
    expect(kernels.diagnostics().workerCount).toBeGreaterThan(0);
  });

  test('take series within objects, and arrays where arrays are wanted', async () => {
    const kernels = await make({ sharedMemory });
    const first = { steps: data.map((_, i) => i), values: data };
    const second = { steps: Array.from(data, (_, i) => 2 * i), values: Array.from(data) };
    const wanted = kernels.inline.alignOnStep(first, second);
    expect(await kernels.alignOnStep(first, second)).toEqual(wanted);
    expect(await kernels.alignOnStep(first, second, {})).toEqual(wanted);
    expect(kernels.diagnostics().workerCount).toBeGreaterThan(0);
    expect(await kernels.changePoints(data.subarray(0, 5000))).toEqual(
      kernels.inline.changePoints(data.subarray(0, 5000)),
    );
    expect(await kernels.m4(data, { buckets: 100 })).toEqual(
      kernels.inline.m4(data, { buckets: 100 }),
    );
  });

  test('a worker that dies fails its own call, and is replaced', async () => {
    const kernels = await make({ sharedMemory, spawn: spawnTrapped });
    const [doomed, ...others] = await Promise.allSettled([
      kernels.medianAbsoluteDeviation(data, { scale: EXIT }),
      ...Array.from({ length: 6 }, () => kernels.median(data)),
    ]);
    expect(doomed).toMatchObject({
      status: 'rejected',
      reason: { code: 'kernel_failed', details: { reason: 'the worker exited with code 7' } },
    });
    for (const other of others)
      expect(other).toEqual({ status: 'fulfilled', value: kernels.inline.median(data) });
    expect(kernels.diagnostics()).toMatchObject({ diedWorkerCount: 1, workerMode: 'custom' });
    await expectAllGivenBack(kernels);
  });

  test('workers that die in the middle of many calls fail those alone, and all memory comes home', async () => {
    const kernels = await make({ sharedMemory, spawn: spawnTrapped });
    const settled = await Promise.allSettled(
      Array.from({ length: 24 }, async (_, i) =>
        i % 8 === 3
          ? kernels.medianAbsoluteDeviation(data, { scale: EXIT })
          : kernels.median(data.subarray(i)),
      ),
    );
    settled.forEach((call, i) => {
      if (i % 8 === 3) expect(call).toMatchObject({ reason: { code: 'kernel_failed' } });
      else
        expect(call).toEqual({
          status: 'fulfilled',
          value: kernels.inline.median(data.subarray(i)),
        });
    });
    await expectAllGivenBack(kernels);
    expect(kernels.diagnostics().diedWorkerCount).toBe(3);
  });

  test('an abort takes a call out of the queue, and gives up on one that is running', async () => {
    const clock = new TestClock();
    const kernels = await make({ sharedMemory, spawn: spawnTrapped, workers: 1, clock });
    const controller = new AbortController();
    const { signal } = controller;
    const running = kernels.medianAbsoluteDeviation(data, { scale: HANG, signal });
    const queued = kernels.median(data, { signal });
    const after = kernels.median(data);
    await vi.waitFor(() => expect(kernels.diagnostics().runningCount).toBe(1), PATIENCE);
    controller.abort('enough');
    await expect(running).rejects.toMatchObject({ code: 'aborted', cause: 'enough' });
    await expect(queued).rejects.toMatchObject({ code: 'aborted', cause: 'enough' });
    expect(kernels.diagnostics()).toMatchObject({ queuedCount: 1, runningCount: 1 });
    clock.advance(250);
    expect(await after).toBe(kernels.inline.median(data));
    await expectAllGivenBack(kernels);
    await expect(kernels.median(data, { signal })).rejects.toMatchObject({ code: 'aborted' });
  });

  test('end idle workers and let their memory go', async () => {
    const clock = new TestClock();
    const kernels = await make({ sharedMemory, idleMs: 1000, clock });
    await kernels.median(data);
    await expectAllGivenBack(kernels);
    clock.advance(999);
    expect(kernels.diagnostics()).toMatchObject({ workerCount: 1, keptBytes: 524_288 });
    clock.advance(1);
    expect(kernels.diagnostics()).toMatchObject({ workerCount: 0, keptBytes: 0 });
    expect(await kernels.median(data)).toBe(kernels.inline.median(data));
  });
});

test('results are the same bits on any number of workers and on none', async () => {
  const calls = Array.from({ length: 24 }, (_, i) => data.subarray(i, 2000 * (i + 1)));
  const results = await Promise.all(
    [0, 1, 2, 4].map(async (workers) => {
      const kernels = await make({ workers });
      return Promise.all(calls.map((values) => kernels.quantiles(values, [0, 0.1, 0.5, 1])));
    }),
  );
  const [first, ...others] = results;
  for (const other of others) expect(other).toEqual(first);
});

test('short series never leave the calling thread', async () => {
  const kernels = await make({ inlineBytes: 256 * 1024 });
  await kernels.median(data.subarray(0, 1000));
  await kernels.median([]);
  expect(kernels.diagnostics()).toMatchObject({ workerMode: 'pending', workerCount: 0 });
  await kernels.median(data);
  expect(kernels.diagnostics().workerCount).toBe(1);
});

test('copies wait below the limit; beyond it the calling thread does the work', async () => {
  const kernels = await make({ maxPendingBytes: 1_100_000 });
  const calls = Array.from({ length: 5 }, () => kernels.median(data));
  expect(kernels.diagnostics()).toMatchObject({ pendingBytes: 1_048_576, overflowCallCount: 3 });
  expect(new Set(await Promise.all(calls))).toEqual(new Set([kernels.inline.median(data)]));
});

test('borrowed shared memory is not copied', async () => {
  const kernels = await make();
  const shared = new Float64Array(new SharedArrayBuffer(data.byteLength + 8), 8, data.length);
  shared.set(data);
  const pending = kernels.quantiles(shared, [0.5], { borrow: true });
  expect(kernels.diagnostics().pendingBytes).toBe(0);
  expect(await pending).toEqual(kernels.inline.quantiles(data, [0.5]));
  expect(kernels.diagnostics().workerCount).toBe(1);
});

test('what the kernel refuses is refused with the same error, here and there', async () => {
  const kernels = await make();
  const wrong: readonly [string, () => Promise<unknown>][] = [
    ['values[49999]', () => kernels.median([...data.subarray(1), 'x' as unknown as number])],
    ['values', () => kernels.median('no' as unknown as number[])],
    ['probabilities[1]', () => kernels.quantiles(data, [0.5, 2])],
    ['probabilities', () => kernels.quantiles(data, 0.5 as unknown as number[])],
    ['options.scale', () => kernels.medianAbsoluteDeviation(data, { scale: -1 })],
    ['options.scales', () => kernels.medianAbsoluteDeviation(data, { scales: 1 } as object)],
    ['options.scale', () => kernels.medianAbsoluteDeviation(data, { scale: (() => 1) as never })],
    ['signal', () => kernels.median(data, { signal: 'stop' as never })],
    ['borrow', () => kernels.median(data, { borrow: 1 as never })],
  ];
  for (const [field, call] of wrong) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other, so that a failure names its case
    await expect(call(), field).rejects.toMatchObject({
      code: 'invalid_input',
      details: { field },
    });
  }
  await expectAllGivenBack(kernels);
  expect(kernels.diagnostics().diedWorkerCount).toBe(0);
});

test.each([
  ['config.chunkBytes', { chunkBytes: 8192 }],
  ['config.relaxedSimd', { relaxedSimd: false }],
  ['config.worker', { worker: 1 }],
  ['workers', { workers: -1 }],
  ['config', null],
])('refuses a wrong %s', async (field, config) => {
  await expect(createSeriesKernels(config as SeriesKernelsConfig)).rejects.toMatchObject({
    code: 'invalid_input',
    details: { field },
  });
});

test('close fails what is running and waiting, and every later call', async () => {
  const kernels = await make({ spawn: spawnTrapped, workers: 1 });
  const settled = Promise.allSettled([
    kernels.medianAbsoluteDeviation(data, { scale: HANG }),
    kernels.median(data),
  ]);
  await vi.waitFor(() => expect(kernels.diagnostics().runningCount).toBe(1), PATIENCE);
  await kernels[Symbol.asyncDispose]();
  for (const call of await settled) {
    expect(call).toMatchObject({
      status: 'rejected',
      reason: { code: 'kernel_failed', details: { reason: 'closed' } },
    });
  }
  await expect(kernels.median([1])).rejects.toMatchObject({ code: 'kernel_failed' });
  await expectAllGivenBack(kernels);
});

test('the plain kernel can be asked for; a thread without workers has one to itself', async () => {
  const kernels = await make({ kernel: 'js', workers: 0 });
  expect(kernels.inline).toBe(jsSeriesKernel);
  expect(await kernels.median(data)).toBe(jsSeriesKernel.median(data));
  expect((await loadSeriesKernel()).kind).toBe('wasm');
  expect(() =>
    executeSeriesCall(jsSeriesKernel, { method: 'kind', args: [] }, data.buffer),
  ).toThrow('has no "kind"');
});

test('every method of the kernel is there, with a promise and a cost', async () => {
  const kernels = await make();
  const methods = Object.entries(jsSeriesKernel).filter(([, value]) => typeof value === 'function');
  expect(MEASURED_METHODS.toSorted()).toEqual(methods.map(([name]) => name).toSorted());
  for (const [name] of methods) expect(kernels).toHaveProperty(name, expect.any(Function));
});

test('the buffers of a result are found wherever they are', () => {
  const inner = new Float64Array(4);
  const shared = new Float64Array(new SharedArrayBuffer(8));
  const result = {
    list: [{ a: inner.subarray(1) }, { a: inner }],
    long: [1, 2],
    none: null,
    shared,
  };
  expect([...buffersIn(result)]).toEqual([inner.buffer]);
  expect([...buffersIn(inner)]).toEqual([inner.buffer]);
  expect(buffersIn(5).size).toBe(0);
});
