import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test, vi } from 'vitest';
import workerSource from 'virtual:quark-inline-worker';
import type { KernelsConfig } from '../../../src/kernel/workers/config.ts';
import type { HistogramOptions, TensorStatsOptions } from '../../../src/kernel/kernel.ts';
import { jsKernel } from '../../../src/kernel/tensor/js-kernel.ts';
import { createKernels, type Kernels } from '../../../src/kernel/tensor/kernels.ts';
import {
  JOB_CALL,
  RING_JOB_NUMBERS,
  RING_SLOTS,
  SLOT_AT_WORKER,
} from '../../../src/kernel/workers/ring/ring-memory.ts';
import { TestClock } from '../../support/clock.ts';
import { expectHistogramOf, expectWithinBounds } from '../../support/kernel-reference.ts';
import { normal } from '../../support/tensors.ts';

/** Of a loaded machine. */
const PATIENCE = { timeout: 60_000 };

/** Calls with these epsilons make the worker exit, and hang. */
const EXIT = 666;
const HANG = 667;
const TRAP = `
import { parentPort } from 'node:worker_threads';
parentPort.on('message', (message) => {
  const call = JSON.stringify(message.argumentList?.[0] ?? null);
  if (call.includes('"epsilon":${EXIT}')) process.exit(7);
  if (call.includes('"epsilon":${HANG}')) for (;;);
});
const { compareExchange } = Atomics;
Atomics.compareExchange = (array, slot, from, to) => {
  const found = compareExchange(array, slot, from, to);
  if (found !== from || to < ${SLOT_AT_WORKER} || array.length < ${RING_SLOTS}) return found;
  const job = array.byteOffset + ${RING_SLOTS * 4} + slot * ${RING_JOB_NUMBERS * 8};
  const [epsilon] = new Float64Array(array.buffer, job + ${(JOB_CALL + 4) * 8}, 1);
  if (epsilon === ${EXIT}) process.exit(7);
  if (epsilon === ${HANG}) for (;;);
  return found;
};
`;

function start(text: string): Worker {
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(text)}`));
}

const spawnTrapped = (): Worker => start(TRAP + workerSource);
const open = new Set<Kernels>();

async function make(config: KernelsConfig = {}): Promise<Kernels> {
  const kernels = await createKernels({ inlineBytes: 0, workers: 2, ...config });
  open.add(kernels);
  return kernels;
}

afterEach(async () => {
  for (const kernels of open) await kernels.close(); // oxlint-disable-line no-await-in-loop -- a few at most
  open.clear();
});

const data = Float32Array.from(normal(50_000, 3, 2));
/** A way, whether it shares memory, and the bytes that `data` takes on it. */
const paths = [
  ['a ring', true, 200_144],
  ['messages', false, 262_144],
] as const;

/** Once every buffer has come home. */
async function expectAllGivenBack(kernels: Kernels): Promise<void> {
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

describe.each(paths)('kernels over %s', (_name, sharedMemory, roomBytes) => {
  test('use a worker, and give its memory back', async () => {
    const kernels = await make({ sharedMemory });
    const pending = kernels.tensorStats(data);
    expect(kernels.diagnostics()).toMatchObject({
      isMemoryShared: sharedMemory,
      pendingBytes: roomBytes,
      handOver: { way: sharedMemory ? 'ring' : 'message', fromBytes: 0 },
    });
    expectWithinBounds(await pending, data);
    expect(kernels.diagnostics()).toMatchObject({
      kernel: 'wasm',
      workerMode: 'inline-source',
      workerCount: 1,
    });
    await expectAllGivenBack(kernels);
    expect(kernels.diagnostics().keptBytes).toBe(roomBytes);
    await kernels.tensorStats(data);
    expect(kernels.diagnostics().keptBytes).toBe(roomBytes);
  });

  test('answer for the data as it was when they were called', async () => {
    const kernels = await make({ sharedMemory });
    const own = data.slice();
    const pending = kernels.tensorStats(own);
    own.fill(0);
    expectWithinBounds(await pending, data);
  });

  test('run many calls at once, each with its own answer', async () => {
    const kernels = await make({ sharedMemory, chunkBytes: 65_536 });
    const calls = Array.from({ length: 200 }, (_, i) => data.subarray(i, 97 * i + 1));
    const found = await Promise.all(
      calls.map((part) => kernels.tensorStats(part, { epsilon: 0.1 })),
    );
    found.forEach((stats, i) => {
      const wanted = jsKernel.tensorStats(calls[i] ?? data, { epsilon: 0.1 });
      expect(stats.nearZeroCount, `call ${i}`).toBe(wanted.nearZeroCount);
      expect(stats.max).toBe(wanted.max);
      expect(stats.mean).toBeCloseTo(wanted.mean, 5);
    });
    await expectAllGivenBack(kernels);
    expect(kernels.diagnostics().workerCount).toBeLessThanOrEqual(2);
  });

  test('a worker that dies costs its own call at most, and is replaced', async () => {
    const kernels = await make({ sharedMemory, spawn: spawnTrapped });
    const [doomed, ...others] = await Promise.allSettled([
      kernels.tensorStats(data, { epsilon: EXIT }),
      ...Array.from({ length: 6 }, () => kernels.tensorStats(data)),
    ]);
    // What lies in shared memory is still there.
    if (sharedMemory)
      expect(doomed).toMatchObject({ status: 'fulfilled', value: { epsilon: EXIT } });
    else
      expect(doomed).toMatchObject({
        status: 'rejected',
        reason: { code: 'kernel_failed', details: { reason: 'the worker exited with code 7' } },
      });
    for (const other of others) expect(other.status).toBe('fulfilled');
    expectWithinBounds(await kernels.tensorStats(data), data);
    expect(kernels.diagnostics()).toMatchObject({
      diedWorkerCount: 1,
      workerMode: 'custom',
      workerFailures: [],
    });
    await expectAllGivenBack(kernels);
  });

  test('workers that die in the middle of many calls cost those alone', async () => {
    const kernels = await make({ sharedMemory, spawn: spawnTrapped, chunkBytes: 65_536 });
    const settled = await Promise.allSettled(
      Array.from({ length: 24 }, (_, i) =>
        kernels.tensorStats(data, { epsilon: i % 8 === 3 ? EXIT : 0.1 }),
      ),
    );
    const wanted = await (
      await make({ workers: 0, chunkBytes: 65_536 })
    ).tensorStats(data, {
      epsilon: 0.1,
    });
    settled.forEach((call, i) => {
      if (i % 8 === 3 && sharedMemory)
        expect(call).toMatchObject({ status: 'fulfilled', value: { mean: wanted.mean } });
      else if (i % 8 === 3) expect(call).toMatchObject({ reason: { code: 'kernel_failed' } });
      else expect(call).toEqual({ status: 'fulfilled', value: wanted });
    });
    await expectAllGivenBack(kernels);
    expect(kernels.diagnostics().diedWorkerCount).toBeGreaterThanOrEqual(3);
  });

  test('a worker that hangs is given up on and replaced', async () => {
    const clock = new TestClock();
    const kernels = await make({
      sharedMemory,
      spawn: spawnTrapped,
      workers: 1,
      callTimeoutMs: 500,
      clock,
    });
    const hung = kernels.tensorStats(data, { epsilon: HANG });
    await vi.waitFor(() => expect(kernels.diagnostics().runningCount).toBe(1), PATIENCE);
    clock.advance(500);
    if (sharedMemory)
      expect(await hung).toMatchObject({ elementCount: data.length, epsilon: HANG });
    else
      await expect(hung).rejects.toMatchObject({
        code: 'kernel_failed',
        details: { reason: 'the worker did not answer within 500 ms' },
      });
    expectWithinBounds(await kernels.tensorStats(data), data);
    await expectAllGivenBack(kernels);
  });

  test('an abort takes a call out of the queue', async () => {
    const kernels = await make({ sharedMemory, workers: 1 });
    const controller = new AbortController();
    const first = kernels.tensorStats(data);
    const second = kernels.tensorStats(data, { signal: controller.signal });
    const third = kernels.tensorStats(data);
    expect(kernels.diagnostics().queuedCount).toBe(3);
    controller.abort('enough');
    expect(kernels.diagnostics().queuedCount).toBe(2);
    await expect(second).rejects.toMatchObject({ code: 'aborted', cause: 'enough' });
    expectWithinBounds(await first, data);
    expectWithinBounds(await third, data);
    await expectAllGivenBack(kernels);
  });

  test('an abort ends the wait for a call that is running, and a worker that goes on with it', async () => {
    const clock = new TestClock();
    const kernels = await make({ sharedMemory, spawn: spawnTrapped, workers: 1, clock });
    const controller = new AbortController();
    const hung = kernels.tensorStats(data, { epsilon: HANG, signal: controller.signal });
    await vi.waitFor(() => expect(kernels.diagnostics().runningCount).toBe(1), PATIENCE);
    controller.abort();
    await expect(hung).rejects.toMatchObject({ code: 'aborted' });
    expect(kernels.diagnostics().pendingBytes).toBe(roomBytes);
    clock.advance(249);
    expect(kernels.diagnostics().pendingBytes).toBe(roomBytes);
    const next = kernels.tensorStats(data);
    clock.advance(1);
    expectWithinBounds(await next, data);
    await expectAllGivenBack(kernels);
    expect(kernels.diagnostics()).toMatchObject({ diedWorkerCount: 0, workerCount: 1 });
  });

  test('close fails what is running and waiting, and every later call', async () => {
    const kernels = await make({ sharedMemory, spawn: spawnTrapped, workers: 1 });
    const calls = [
      kernels.tensorStats(data, { epsilon: HANG }),
      kernels.tensorStats(data),
      kernels.histogram(data),
    ];
    const settled = Promise.allSettled(calls);
    await vi.waitFor(() => expect(kernels.diagnostics().runningCount).toBe(1), PATIENCE);
    await kernels.close();
    await kernels.close();
    for (const call of await settled) {
      expect(call).toMatchObject({
        status: 'rejected',
        reason: { code: 'kernel_failed', details: { reason: 'closed' } },
      });
    }
    await expect(kernels.tensorStats(data)).rejects.toMatchObject({ code: 'kernel_failed' });
    await expectAllGivenBack(kernels);
    await vi.waitFor(
      () => expect(kernels.diagnostics()).toMatchObject({ keptBytes: 0, workerCount: 0 }),
      PATIENCE,
    );
    expect(kernels.diagnostics().diedWorkerCount).toBe(0); // ended, not died
  });

  test('end idle workers and let their memory go', async () => {
    const clock = new TestClock();
    const kernels = await make({ sharedMemory, idleMs: 1000, clock });
    await kernels.tensorStats(data);
    await expectAllGivenBack(kernels);
    clock.advance(999);
    expect(kernels.diagnostics()).toMatchObject({ workerCount: 1, keptBytes: roomBytes });
    clock.advance(1);
    expect(kernels.diagnostics()).toMatchObject({ workerCount: 0, keptBytes: 0 });
    expectWithinBounds(await kernels.tensorStats(data), data);
  });
});

test('small tensors never leave the calling thread', async () => {
  const kernels = await make({ inlineBytes: 4096 });
  const small = data.subarray(0, 1024);
  expectWithinBounds(await kernels.tensorStats(small), small);
  expectHistogramOf(await kernels.histogram(small.subarray(0, 204)), small.subarray(0, 204));
  await kernels.tensorStats(new Float64Array(204));
  expect(kernels.diagnostics()).toMatchObject({ workerMode: 'pending', workerCount: 0 });
  await kernels.histogram(small.subarray(0, 205));
  expect(kernels.diagnostics()).toMatchObject({ workerMode: 'inline-source', workerCount: 1 });
});

test('chunks give the same bits on any number of workers and on none', async () => {
  const large = Float32Array.from(normal(300_000, -1, 5));
  const results = await Promise.all(
    [0, 1, 2, 4].map(async (workers) => {
      const kernels = await make({ workers, chunkBytes: 65_536 });
      return [
        await kernels.tensorStats(large, { threshold: 3 }),
        await kernels.histogram(large, { bins: 50 }),
      ];
    }),
  );
  const [first, ...others] = results;
  for (const other of others) expect(other).toEqual(first);
});

test('copies wait below the limit; beyond it the calling thread does the work', async () => {
  const kernels = await make({ maxPendingBytes: 600_000 });
  const calls = Array.from({ length: 5 }, () => kernels.histogram(data, { bins: 8 }));
  expect(kernels.diagnostics()).toMatchObject({ pendingBytes: 400_576, overflowCallCount: 3 });
  for (const found of await Promise.all(calls)) expectHistogramOf(found, data);
});

test('borrowed shared memory is not copied', async () => {
  const kernels = await make();
  const shared = new Float32Array(new SharedArrayBuffer(data.byteLength + 8), 8, data.length);
  shared.set(data);
  const pending = kernels.tensorStats(shared, { borrow: true });
  expect(kernels.diagnostics().pendingBytes).toBe(0);
  expectWithinBounds(await pending, data);
  expect(kernels.diagnostics().workerCount).toBe(1);
});

test('without any worker everything runs here, and the reasons are kept', async () => {
  const broken = await make({
    spawn: () => {
      throw new Error('no worker today');
    },
  });
  expectWithinBounds(await broken.tensorStats(data), data);
  expect(broken.diagnostics()).toMatchObject({
    workerMode: 'none',
    workerFailures: ['custom: no worker today'],
  });
  const byUrl = await make({ workerMode: 'url' });
  expectHistogramOf(await byUrl.histogram(data), data);
  expect(byUrl.diagnostics().workerFailures).toEqual([
    'url: No worker: this build has no worker file.',
  ]);
  const none = await make({ workerMode: 'none' });
  expectWithinBounds(await none.tensorStats(data), data);
  expect(none.diagnostics()).toMatchObject({
    workerMode: 'none',
    workerFailures: [],
    pendingBytes: 0,
  });
});

test('a machine that gives one worker only is not asked for more without end', async () => {
  let made = 0;
  const kernels = await make({
    workers: 4,
    chunkBytes: 8192,
    spawn: () => {
      made += 1;
      if (made > 1) throw new Error('no more');
      return start(workerSource);
    },
  });
  for (const stats of await Promise.all([1, 2, 3].map(() => kernels.tensorStats(data)))) {
    expectWithinBounds(stats, data);
  }
  expect(kernels.diagnostics()).toMatchObject({ workerMode: 'custom', workerCount: 1 });
  expect(kernels.diagnostics().workerFailures.length).toBeLessThanOrEqual(5);
});

test('a worker that never answers does not hold anything up for longer than its time', async () => {
  const clock = new TestClock();
  const kernels = await make({
    spawn: () => start('setInterval(() => 0, 1000);'),
    startTimeoutMs: 300,
    clock,
  });
  const pending = kernels.tensorStats(data);
  await vi.waitFor(() => {
    clock.advance(300);
    expect(kernels.diagnostics().workerMode).toBe('none');
  }, PATIENCE);
  expectWithinBounds(await pending, data);
  expect(kernels.diagnostics().workerFailures.join()).toContain('did not start within 300 ms');
});

test('a Worker that some library has made of the one of Node is not taken for one of the web', async () => {
  vi.stubGlobal('Worker', Worker);
  try {
    const kernels = await make();
    expectWithinBounds(await kernels.tensorStats(data), data);
    expect(kernels.diagnostics()).toMatchObject({
      isMemoryShared: true,
      workerMode: 'inline-source',
    });
  } finally {
    vi.unstubAllGlobals();
  }
});

test('a worker keeps the process alive only while it works', async () => {
  const asked: string[] = [];
  const kernels = await make({
    spawn: () => {
      const worker = start(workerSource);
      vi.spyOn(worker, 'ref').mockImplementation(() => void asked.push('alive'));
      vi.spyOn(worker, 'unref').mockImplementation(() => void asked.push('free'));
      return worker;
    },
  });
  await kernels.tensorStats(data);
  // Made; started; the call.
  expect(asked).toEqual(['free', 'alive', 'free', 'alive', 'free']);
});

test('a signal shared by many calls raises no warning, and one already aborted stops a call', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  const kernels = await make();
  const controller = new AbortController();
  const { signal } = controller;
  const calls = Array.from({ length: 40 }, () => kernels.tensorStats(data, { signal }));
  controller.abort();
  for (const call of await Promise.allSettled(calls))
    expect(call).toMatchObject({ reason: { code: 'aborted' } });
  await expect(kernels.tensorStats(data, { signal })).rejects.toMatchObject({ code: 'aborted' });
  await expectAllGivenBack(kernels);
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});

test.each([
  ['workers', { workers: -1 }],
  ['workers', { workers: 65 }],
  ['inlineBytes', { inlineBytes: 1.5 }],
  ['chunkBytes', { chunkBytes: 1000 }],
  ['maxPendingBytes', { maxPendingBytes: -1 }],
  ['idleMs', { idleMs: 0 }],
  ['workerMode', { workerMode: 'both' }],
  ['kernel', { kernel: 'gpu' }],
  ['spawn', { spawn: 'worker.js' }],
  ['sharedMemory', { sharedMemory: 1 }],
  ['relaxedSimd', { relaxedSimd: 'yes' }],
  ['config.inlineByte', { inlineByte: 1 }],
])('refuses a wrong %s', async (field, config) => {
  await expect(createKernels(config as KernelsConfig)).rejects.toMatchObject({
    code: 'invalid_input',
    details: { field },
  });
});

test.each([
  ['signal', { signal: 'stop' }],
  ['borrow', { borrow: 1 }],
  ['options.abort', { abort: true }],
])('refuses a wrong %s of a call', async (field, options) => {
  const kernels = await make();
  const wrong = { code: 'invalid_input', details: { field } };
  await expect(kernels.tensorStats(data, options as TensorStatsOptions)).rejects.toMatchObject(
    wrong,
  );
  await expect(kernels.histogram(data, options as HistogramOptions)).rejects.toMatchObject(wrong);
  expect(kernels.diagnostics().pendingBytes).toBe(0);
});

test('memory is let go also when there are no workers left to end', async () => {
  const clock = new TestClock();
  const kernels = await make({ spawn: spawnTrapped, workers: 1, clock });
  await kernels.tensorStats(data, { epsilon: EXIT });
  await expectAllGivenBack(kernels);
  expect(kernels.diagnostics()).toMatchObject({ workerCount: 0, keptBytes: 200_144 });
  clock.advance(30_000);
  expect(kernels.diagnostics().keptBytes).toBe(0);
});

describe('workers run WebAssembly that the calling thread compiled', () => {
  // Data for which the two implementations round differently.
  const telling = Float32Array.from(normal(50_000, 1e4, 1));
  const plain = jsKernel.tensorStats(telling);

  test('whatever runs on the calling thread itself', async () => {
    const wasm = await make({ workerMode: 'inline-source' });
    const there = await wasm.tensorStats(telling);
    expect(there).toEqual(wasm.inline.tensorStats(telling));
    expect(there).not.toEqual(plain);
    const js = await make({ kernel: 'js', workerMode: 'inline-source' });
    expect(js.inline).toBe(jsKernel);
    expect(await js.tensorStats(telling)).toEqual(there);
    expect(wasm.diagnostics().workerFailures).toEqual([]);
    expect(js.diagnostics().workerFailures).toEqual([]);
  });

  test('compiled once, and not before it is needed', async () => {
    const compile = vi.spyOn(WebAssembly, 'compile');
    const js = await make({ kernel: 'js', chunkBytes: 8192 });
    expect(compile).not.toHaveBeenCalled();
    await Promise.all(Array.from({ length: 40 }, () => js.tensorStats(telling)));
    await vi.waitFor(() => expect(js.diagnostics().workerCount).toBe(2), PATIENCE);
    expect(compile).toHaveBeenCalledTimes(1);
    compile.mockRestore();
  });

  test('and plain JavaScript where it could not, for a reason that is kept', async () => {
    const compile = vi
      .spyOn(WebAssembly, 'compile')
      .mockRejectedValue(new WebAssembly.CompileError('forbidden by policy'));
    const kernels = await make({ workerMode: 'inline-source', chunkBytes: 65_536 });
    expect(await kernels.tensorStats(telling.subarray(0, 10_000))).toEqual(
      jsKernel.tensorStats(telling.subarray(0, 10_000)),
    );
    await kernels.tensorStats(telling);
    compile.mockRestore();
    expect(kernels.diagnostics()).toMatchObject({
      workerMode: 'inline-source',
      workerFailures: ['without WebAssembly: forbidden by policy'],
      diedWorkerCount: 0,
    });
  });

  test('and plain JavaScript where the module cannot be sent or used', async () => {
    const unsendable = await make({
      spawn: () => {
        const worker = start(workerSource);
        const post = worker.postMessage.bind(worker);
        vi.spyOn(worker, 'postMessage').mockImplementation((message: unknown, transfer) => {
          const [first] = (message as { argumentList: { value: unknown }[] }).argumentList;
          if (Array.isArray(first?.value)) throw new Error('not from here');
          post(message, transfer);
        });
        return worker;
      },
    });
    expect(await unsendable.tensorStats(telling)).toEqual(plain);
    expect(unsendable.diagnostics()).toMatchObject({
      workerMode: 'custom',
      workerFailures: ['custom: without WebAssembly: the module could not be sent: not from here'],
      diedWorkerCount: 0,
    });
    const unusable = await make({
      spawn: () =>
        start(
          `WebAssembly.Instance = function () { throw new Error('no memory'); };\n${workerSource}`,
        ),
    });
    expect(await unusable.tensorStats(telling)).toEqual(plain);
    expect(unusable.diagnostics().workerFailures).toEqual([
      'custom: without WebAssembly: no memory',
    ]);
  });
});

test('where WebAssembly cannot run, the plain kernel does, and the reason is kept', async () => {
  const compile = vi
    .spyOn(WebAssembly, 'compile')
    .mockRejectedValue(new WebAssembly.CompileError('forbidden by policy'));
  const kernels = await make({ workers: 0 });
  compile.mockRestore();
  expect(kernels.diagnostics()).toMatchObject({ kernel: 'js', wasmFailure: 'forbidden by policy' });
  expectWithinBounds(await kernels.tensorStats(data), data);
});

test('where memory cannot be shared, it is transferred', async () => {
  vi.stubGlobal('SharedArrayBuffer', undefined);
  try {
    const kernels = await make();
    expect(kernels.diagnostics().isMemoryShared).toBe(false);
    await expect(make({ sharedMemory: true })).rejects.toMatchObject({
      details: { field: 'sharedMemory' },
    });
    expectWithinBounds(await kernels.tensorStats(data), data);
  } finally {
    vi.unstubAllGlobals();
  }
});

test('the plain kernel can be asked for, and an option left undefined means its default', async () => {
  const kernels = await make({
    kernel: 'js',
    workers: 0,
    idleMs: undefined,
  } as unknown as KernelsConfig);
  expect(kernels.inline).toBe(jsKernel);
  expect(kernels.diagnostics()).toMatchObject({ kernel: 'js', wasmFailure: null });
});

test('two tensors: copied before the call returns, in chunks, and refused as other calls are', async () => {
  const kernels = await createKernels({ inlineBytes: 0, workers: 2, chunkBytes: 8192 });
  try {
    const first = Float32Array.from({ length: 10_000 }, (_, i) => Math.sin(i));
    const second = Float32Array.from({ length: 10_000 }, (_, i) => Math.cos(i));
    const wanted = kernels.inline.tensorPairStats(first, second);
    const pending = kernels.tensorPairStats(first, second);
    first.fill(0);
    second.fill(0);
    const found = await pending;
    expect(found).toMatchObject({ elementCount: 10_000, finiteCount: 10_000 });
    expect(found.differenceNorm).toBeCloseTo(wanted.differenceNorm, 9);
    expect(found.cosine).toBeCloseTo(wanted.cosine, 11);
    expect(kernels.diagnostics().pendingBytes).toBe(0);
    await expect(
      kernels.tensorPairStats(first, second, { signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({ code: 'aborted' });
    const borrowed: object = { borrow: true };
    await expect(kernels.tensorPairStats(first, second, borrowed)).rejects.toMatchObject({
      code: 'invalid_input',
      details: { field: 'options.borrow' },
    });
  } finally {
    await kernels.close();
  }
  await expect(
    kernels.tensorPairStats(new Float32Array(1), new Float32Array(1)),
  ).rejects.toMatchObject({ code: 'kernel_failed' });
});
