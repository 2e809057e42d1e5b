/** The processors of a process, given to work in workers by priority. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { compileKernels } from '../../../src/kernel/tensor/abi.ts';
import {
  executeCall,
  type KernelResult,
  type TensorJob,
} from '../../../src/kernel/tensor/calls.ts';
import { jsKernel } from '../../../src/kernel/tensor/js-kernel.ts';
import { TENSOR_WORKER } from '../../../src/kernel/tensor/tensor-worker.ts';
import { WorkerPool } from '../../../src/kernel/workers/pool.ts';
import { WorkerSlots } from '../../../src/kernel/workers/slots.ts';
import { workerWays } from '../../../src/kernel/workers/spawn.ts';
import { runs } from '../../support/property.ts';

const WORK_KINDS = ['watch', 'merge', 'analysis'] as const;
type WorkKind = (typeof WORK_KINDS)[number];

/** Somebody who asks, begins as soon as it may, and notes that in `begun`. */
function worker(slots: WorkerSlots, kind: WorkKind, begun: string[]): { end: () => void } {
  const state: { free: (() => void) | undefined; end: () => void } = {
    free: undefined,
    end: () => {
      state.free?.();
      slots.forget(begin);
    },
  };
  const begin = (): void => {
    state.free = kind === 'analysis' ? slots.beginAnalysis(begin) : slots.begin();
    if (state.free !== undefined) begun.push(kind);
  };
  begin();
  return state;
}

describe('the slots of a process', () => {
  it('let what is urgent begin at once, and analyses in turn', () => {
    const slots = new WorkerSlots(2);
    const begun: string[] = [];
    const first = worker(slots, 'analysis', begun);
    const second = worker(slots, 'analysis', begun);
    worker(slots, 'analysis', begun);
    worker(slots, 'analysis', begun);
    const watch = worker(slots, 'watch', begun);
    worker(slots, 'merge', begun).end();
    expect(begun).toEqual(['analysis', 'analysis', 'watch', 'merge']);
    expect(slots.state().waiting).toBe(2);
    first.end();
    // Two are running: the watch and an analysis.
    expect(begun).toHaveLength(4);
    watch.end();
    expect(begun).toHaveLength(5);
    second.end();
    expect(begun).toHaveLength(6);
    expect(slots.state()).toEqual({ running: 2, analyses: 2, waiting: 0 });
  });

  it('let one analysis run, however long a watch goes on', () => {
    const slots = new WorkerSlots(1);
    const begun: string[] = [];
    worker(slots, 'watch', begun);
    worker(slots, 'watch', begun);
    worker(slots, 'analysis', begun);
    expect(begun).toEqual(['watch', 'watch', 'analysis']);
  });

  it('leave nobody waiting for ever, and never run more than there are processors of what can wait', () => {
    const step = fc.record({ kind: fc.constantFrom(...WORK_KINDS), ends: fc.nat(20) });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 60 }),
        (count, steps) => {
          const slots = new WorkerSlots(count);
          const begun: string[] = [];
          const alive: { end: () => void }[] = [];
          for (const { ends, kind } of steps) {
            alive.push(worker(slots, kind, begun));
            expect(slots.state().analyses).toBeLessThanOrEqual(count);
            if (ends < alive.length) alive.splice(ends, 1)[0]?.end();
          }
          for (const one of alive) one.end();
          expect(slots.state()).toEqual({ running: 0, analyses: 0, waiting: 0 });
        },
      ),
      runs(200),
    );
  });

  it('are asked by a pool before each call, and freed by calls that fail', async () => {
    const slots = new WorkerSlots(1);
    const pool = new WorkerPool<TensorJob, KernelResult>({
      size: 2,
      ways: workerWays(TENSOR_WORKER, 'auto', undefined),
      modules: compileKernels,
      runHere: (job, buffer) => executeCall(jsKernel, job.call, { ...job.view, buffer }),
      clock: systemClock,
      startTimeoutMs: 20_000,
      callTimeoutMs: 20_000,
      idleMs: 10_000,
      onIdle: () => undefined,
      slots,
    });
    const view = { type: 'float64', byteOffset: 0, length: 10 } as const;
    const bad: TensorJob = { call: { op: 'histogram', options: { bins: 0 } }, view };
    const good: TensorJob = { call: { op: 'tensorStats', options: {} }, view };
    const other = slots.beginAnalysis(() => undefined);
    const waiting = pool.run(good, new ArrayBuffer(80));
    await expect.poll(() => slots.state().waiting).toBe(1);
    expect(pool.state().runningCount).toBe(0);
    other?.();
    await expect(waiting.result).resolves.toMatchObject({ zeroCount: 10 });
    const all = [bad, good, bad, good].map((job) => pool.run(job, new ArrayBuffer(80)).result);
    const ends = await Promise.allSettled(all);
    expect(ends.map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    await expect.poll(() => slots.state().analyses).toBe(0);
    pool.close();
  });
});
