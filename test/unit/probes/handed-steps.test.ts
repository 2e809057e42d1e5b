/** Probed steps over every way of handing over: the same rows, whatever becomes of the worker. */
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import workerSource from 'virtual:quark-inline-worker';
import { createKernels, type Kernels } from '../../../src/kernel/tensor/kernels.ts';
import { handOverOf } from '../../../src/kernel/tensor/step-hand-over.ts';
import type { KernelsConfig } from '../../../src/kernel/workers/config.ts';
import { RING_SLOTS, SLOT_AT_WORKER } from '../../../src/kernel/workers/ring/ring-memory.ts';
import { HookEngine } from '../../../src/instruments/probes/hook-engine.ts';
import { ParameterDiagnostics } from '../../../src/instruments/probes/parameter-diagnostics.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { ArraySource, layer, parameter } from '../../support/array-source.ts';
import { TestClock } from '../../support/clock.ts';
import { normal } from '../../support/tensors.ts';

/** Of a loaded machine. */
const PATIENCE = { timeout: 60_000 };
const open = new Set<Kernels>();

afterEach(async () => {
  for (const kernels of open) await kernels.close(); // oxlint-disable-line no-await-in-loop -- one or two
  open.clear();
});

/** A worker that does so at its n-th job. */
function spawnThat(does: 'exits' | 'hangs', job: number): () => Worker {
  const trap = `
const { compareExchange } = Atomics;
let claimed = 0;
Atomics.compareExchange = (array, slot, from, to) => {
  const found = compareExchange(array, slot, from, to);
  if (found !== from || to < ${SLOT_AT_WORKER} || array.length < ${RING_SLOTS}) return found;
  claimed += 1;
  if (claimed === ${job}) ${does === 'exits' ? 'process.exit(7)' : 'for (;;)'};
  return found;
};
`;
  return () =>
    new Worker(new URL(`data:text/javascript,${encodeURIComponent(trap + workerSource)}`));
}

async function make(config: KernelsConfig): Promise<Kernels> {
  const kernels = await createKernels({ inlineBytes: 0, ...config });
  open.add(kernels);
  return kernels;
}

/** With a worker in the ring already, as in a training that has gone on for a while. */
async function served(config: KernelsConfig = {}): Promise<Kernels> {
  const kernels = await make({ workers: 1, sharedMemory: true, ...config });
  await vi.waitFor(() => {
    const parts = handOverOf(kernels)?.open(() => undefined);
    const tensor = (): { readonly data: Float32Array; readonly source: object } => ({
      data: new Float32Array(8),
      source: {},
    });
    if (parts?.cosine(tensor(), tensor(), () => undefined) !== true)
      throw new Error('no worker yet');
    parts.drop();
  }, PATIENCE);
  return kernels;
}

const STEPS = 12;
/** What depends on the probes before. */
const LEFT_OUT = /"(?:sequence|persistent_dead_unit_count|gradient_cosine)":[^,]*,/g;
const shapes: readonly (readonly number[])[] = [
  [32, 64],
  [1000, 150],
  [3, 5, 7, 2],
];

/** Everything that is recorded of some steps, without a turn of the event loop between them. */
async function record(
  given: Kernels | undefined,
  turn: () => Promise<void> | undefined = () => undefined,
) {
  const kernels = given === undefined ? {} : { kernels: given };
  const clock = new TestClock(1_700_000_000_000);
  const session = await TrainingSession.startRun({
    project: 'handed',
    storage: createMemoryStore(),
    handleSignals: false,
    clock,
  });
  const values = shapes.map((shape, i) =>
    Float32Array.from(
      normal(
        shape.reduce((a, b) => a * b),
        0.1,
        1,
        i,
      ),
    ),
  );
  const source = new ArraySource(
    shapes.map((_, i) => layer(`layer${i}`, { activation: 'tanh' })),
    shapes.map((shape, i) => parameter(`layer${i}/w`, { shape })),
    values,
  );
  const hooks = new HookEngine(session, source, kernels);
  const parameters = new ParameterDiagnostics(session, source, {
    ...kernels,
    captureDistributions: true,
    distributionTypes: ['value', 'gradient', 'update'],
    maxHistogramValues: 20_000,
  });
  for (let step = 0; step < STEPS; step++) {
    hooks.beginStep(step);
    shapes.forEach((shape, i) => {
      const seen = Float32Array.from(values[i] ?? [], (x) => (x > 1 ? Number.NaN : Math.max(0, x)));
      if (step % 3 === 0) seen.fill(0);
      source.show(i, 'forward', source.ref(seen, shape));
      source.show(
        i,
        'backward',
        source.ref(
          seen.map((x) => -x * step),
          shape,
        ),
      );
      // Sources use their arrays again; what is retained stays.
      if (given !== undefined) seen.fill(7);
    });
    hooks.endStep();
    values.forEach((value, i) => {
      const before = value.slice();
      const after = given === undefined ? value.slice() : value;
      for (let k = step; k < value.length; k += 2) after[k] = (value[k] ?? 0) * 0.9;
      values[i] = after;
      const gradient = before.map((x) => x + step);
      const shape = shapes[i] ?? [];
      for (const watch of source.parameterWatches)
        watch.changed(i, {
          gradient: source.ref(gradient, shape),
          before: source.ref(before, shape),
        });
    });
    parameters.snapshot(step);
    clock.advance(1);
    await turn(); // oxlint-disable-line no-await-in-loop -- one step after the other
  }
  const layers = await hooks.read();
  const { summaries, distributions } = await parameters.read();
  const status = [hooks, parameters].map(({ status: { skippedProbes, troubles } }) => [
    skippedProbes,
    [...troubles.keys()],
    source.retained,
  ]);
  await session.endRun();
  const plain = [...layers, ...summaries, ...distributions, status].map((row) =>
    JSON.stringify(row, (name, value: unknown) => (name === 'run_id' ? undefined : value)),
  );
  return { plain, rows: layers.length };
}

const inline = (async () => record(await make({ workers: 0 })))();

describe('a probed step', () => {
  it('has the same rows when a worker computes it, with one copy of each tensor', async () => {
    const kernels = await served();
    const handOver = handOverOf(kernels);
    if (handOver === undefined) throw new Error('no worker in the ring');
    const opened = vi.spyOn(handOver, 'open');
    const { plain, rows } = await record(kernels);
    expect(rows).toBe(STEPS * shapes.length * 2);
    expect(plain).toEqual((await inline).plain);
    // A late worker leaves its parts to this thread, with the same numbers.
    expect(opened.mock.results.some(({ value }) => value !== undefined)).toBe(true);
    expect(kernels.diagnostics().pendingBytes).toBe(0);
  });

  it('has them while the event loop turns, and where no worker serves the ring yet', async () => {
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    expect((await record(await served(), turn)).plain).toEqual((await inline).plain);
    expect((await record(await make({ workers: 1 }), turn)).plain).toEqual((await inline).plain);
  });

  it('has them while the kernels load, of which it waits for none', async () => {
    const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));
    const { plain, rows } = await record(undefined, turn);
    // Probes that are due while one is under way are left out.
    const numbers = (list: readonly string[]): readonly string[] =>
      list.slice(0, -1).map((row) => row.replace(LEFT_OUT, ''));
    const all = new Set(numbers((await inline).plain));
    expect(numbers(plain).filter((row) => !all.has(row))).toEqual([]);
    expect(rows).toBeGreaterThan(0);
  });

  it('has them over messages', async () => {
    const kernels = await make({ workers: 1, sharedMemory: false });
    expect((await record(kernels)).plain).toEqual((await inline).plain);
  });

  it.each([
    ['exits', 5],
    ['hangs', 5],
  ] as const)('has them when the worker %s at job %i', async (does, job) => {
    const kernels = await served({ spawn: spawnThat(does, job) });
    expect((await record(kernels)).plain).toEqual((await inline).plain);
  });

  it('has them when there is no room in the ring', async () => {
    const kernels = await served({ maxPendingBytes: 100_000 });
    expect((await record(kernels)).plain).toEqual((await inline).plain);
  });
});
