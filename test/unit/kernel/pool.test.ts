import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { compileKernels } from '../../../src/kernel/tensor/abi.ts';
import {
  executeCall,
  type KernelResult,
  type TensorJob,
} from '../../../src/kernel/tensor/calls.ts';
import { jsKernel } from '../../../src/kernel/tensor/js-kernel.ts';
import { WorkerPool } from '../../../src/kernel/workers/pool.ts';
import { workerWays } from '../../../src/kernel/workers/spawn.ts';
import { Staging } from '../../../src/kernel/workers/staging.ts';
import { TENSOR_WORKER } from '../../../src/kernel/tensor/tensor-worker.ts';

const view = { type: 'float64', byteOffset: 0, length: 10 } as const;

test.each([1, 0])(
  'an error of a kernel keeps its code and details (with %i workers)',
  async (size) => {
    const pool = new WorkerPool<TensorJob, KernelResult>({
      size,
      ways: workerWays(TENSOR_WORKER, 'auto', undefined),
      modules: compileKernels,
      runHere: (job, buffer) => executeCall(jsKernel, job.call, { ...job.view, buffer }),
      clock: systemClock,
      startTimeoutMs: 10_000,
      callTimeoutMs: 10_000,
      idleMs: 10_000,
      onIdle: () => undefined,
    });
    const bad: TensorJob = { call: { op: 'histogram', options: { bins: 0 } }, view };
    const run = pool.run(bad, new ArrayBuffer(80));
    await expect(run.result).rejects.toMatchObject({
      name: 'QuarkError',
      code: 'invalid_input',
      details: { field: 'bins', value: '0' },
    });
    expect((await run.done)?.byteLength).toBe(80);
    expect(pool.state()).toMatchObject({ diedCount: 0, workerCount: size });
    await expect(
      pool.run({ call: { op: 'tensorStats', options: {} }, view }, new ArrayBuffer(80)).result,
    ).resolves.toMatchObject({ zeroCount: 10 });
    pool.close();
  },
);

test('staging buffers are used again and stay below the limit', () => {
  const staging = new Staging({ isShared: false, limitBytes: 256 * 1024 });
  const first = staging.acquire(70_000);
  expect(first.byteLength).toBe(131_072);
  expect(staging.hasRoom(131_072)).toBe(true);
  expect(staging.hasRoom(131_073)).toBe(false);
  staging.release(131_072, first);
  expect(staging.acquire(100_000)).toBe(first);
  staging.release(131_072, first);
  // Another size: the kept buffer makes room.
  staging.acquire(200_000);
  expect(staging).toMatchObject({ usedBytes: 262_144, freeBytes: 0 });
  staging.release(262_144, undefined);
  expect(staging).toMatchObject({ usedBytes: 0, freeBytes: 0 });
});
