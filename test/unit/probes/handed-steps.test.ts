/** Probed steps over every way of handing over: the same rows, whatever becomes of the worker. */
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { casesOf, longTest } from '../../support/long.ts';
import workerSource from 'virtual:quark-inline-worker';
import { createKernels, type Kernels } from '../../../src/kernel/tensor/kernels.ts';
import { handOverOf } from '../../../src/kernel/tensor/step-hand-over.ts';
import type { KernelsConfig } from '../../../src/kernel/workers/config.ts';
import { RING_SLOTS, SLOT_AT_WORKER } from '../../../src/kernel/workers/ring/ring-memory.ts';
import { accessKernels } from '../../../src/instruments/probes/shared-kernels.ts';
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

type Mishap = 'exits' | 'hangs' | 'is slow';
const DOES: Readonly<Record<Mishap, string>> = {
  exits: 'process.exit(7)',
  hangs: 'for (;;)',
  'is slow': 'for (const until = performance.now() + 40; performance.now() < until;)',
};

/** Makes a worker that does so at its n-th job, or, where it is slow, from then on; those after it are sound. */
function spawnThat(does: Mishap, job: number, way: 'ring' | 'transfer' = 'ring'): () => Worker {
  const isDue = does === 'is slow' ? `claimed >= ${job}` : `claimed === ${job}`;
  const traps = {
    ring: `
const { compareExchange } = Atomics;
let claimed = 0;
Atomics.compareExchange = (array, slot, from, to) => {
  const found = compareExchange(array, slot, from, to);
  if (found !== from || to < ${SLOT_AT_WORKER} || array.length < ${RING_SLOTS}) return found;
  claimed += 1;
  if (${isDue}) ${DOES[does]};
  return found;
};
`,
    transfer: `
import { parentPort as trapped } from 'node:worker_threads';
let claimed = 0;
trapped.on('message', ({ path, argumentList }) => {
  if (path?.[0] !== 'run' || argumentList[0].value.transferredJobs === 0) return;
  claimed += 1;
  if (${isDue}) ${DOES[does]};
});
`,
  };
  let made = 0;
  return () => {
    const source = (made++ === 0 ? traps[way] : '') + workerSource;
    return new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
  };
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

/** Until the workers have answered everything. */
const rest = (kernels: Kernels) => (): Promise<void> =>
  vi.waitFor(
    () => {
      const { queuedCount, runningCount } = kernels.diagnostics();
      expect(queuedCount + runningCount).toBe(0);
    },
    { ...PATIENCE, interval: 2 },
  );
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

  it.each(casesOf(['exits', 'hangs', 'is slow'] as const, 1))(
    'has them when the worker %s at a job of the ring',
    async (does) => {
      const kernels = await served({ spawn: spawnThat(does, 5) });
      expect((await record(kernels)).plain).toEqual((await inline).plain);
    },
  );

  longTest('has them again of another worker after one that hung', PATIENCE, async () => {
    const kernels = await served({ spawn: spawnThat('hangs', 5), callTimeoutMs: 300 });
    expect((await record(kernels)).plain).toEqual((await inline).plain);
    await vi.waitFor(() => expect(kernels.diagnostics().diedWorkerCount).toBe(1), PATIENCE);
    expect((await record(kernels, rest(kernels))).plain).toEqual((await inline).plain);
    expect(kernels.diagnostics()).toMatchObject({ diedWorkerCount: 1, workerCount: 1 });
  });

  longTest('waits for no worker where one starts ahead', PATIENCE, async () => {
    const kernels = await make({ workers: 1 });
    handOverOf(kernels)?.prepare();
    await vi.waitFor(() => expect(kernels.diagnostics().workerCount).toBe(1), PATIENCE);
    expect((await record(kernels)).plain).toEqual((await inline).plain);
    const [large, small] = [true, false].map((isLarge) => accessKernels(undefined, isLarge));
    const shared = await large?.loaded;
    await vi.waitFor(() => expect(shared?.diagnostics().workerCount).toBe(1), PATIENCE);
    large?.release();
    small?.release();
    const access = accessKernels(undefined, false);
    const other = await access.loaded;
    await vi.waitFor(() => expect(access.isReady).toBe(true), PATIENCE);
    expect(other.diagnostics().workerCount).toBe(0);
    access.release();
  });

  it('has them when there is no room in the ring', async () => {
    const kernels = await served({ maxPendingBytes: 100_000 });
    expect((await record(kernels)).plain).toEqual((await inline).plain);
  });
});

describe('a probed step where memory cannot be shared', () => {
  const transfer = { sharedMemory: false } as const;
  /** The steps that a run handed over, and rows of it that the same run has without workers. */
  async function compare(kernels: Kernels, turn?: () => Promise<void>) {
    const handOver = handOverOf(kernels);
    if (handOver === undefined) throw new Error('no workers');
    const published = vi.spyOn(handOver, 'publish');
    const { plain } = await record(kernels, turn);
    const { lostStepCount } = kernels.diagnostics().handOver;
    return { plain, steps: published.mock.calls.length, lostStepCount };
  }

  it('has the same rows, one buffer a step', PATIENCE, async () => {
    const kernels = await served(transfer);
    expect(kernels.diagnostics().handOver).toMatchObject({ way: 'message', stepWay: 'transfer' });
    const { plain, steps, lostStepCount } = await compare(kernels, rest(kernels));
    expect(plain).toEqual((await inline).plain);
    expect(steps).toBeGreaterThan(STEPS / 2);
    expect(lostStepCount).toBe(0);
    await vi.waitFor(() => expect(kernels.diagnostics().pendingBytes).toBe(0), PATIENCE);
  });

  longTest(
    'has them in a loop that gives the event loop no turn, or turns that are too short',
    async () => {
      const looped = await compare(await served(transfer));
      expect(looped.plain).toEqual((await inline).plain);
      // Both instruments may hand over one step before the loop is known to give no turn.
      expect(looped.steps).toBeLessThanOrEqual(2);
      const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      expect((await compare(await served(transfer), turn)).plain).toEqual((await inline).plain);
      expect((await compare(await make({ workers: 1, ...transfer }), turn)).plain).toEqual(
        (await inline).plain,
      );
    },
  );

  longTest(
    'has them of a worker that is slow, and where there is no memory for a buffer',
    async () => {
      const slow = await served({ ...transfer, spawn: spawnThat('is slow', 3, 'transfer') });
      expect((await compare(slow, rest(slow))).plain).toEqual((await inline).plain);
      const kernels = await make({ ...transfer, workers: 1, maxPendingBytes: 100_000 });
      const { plain, steps } = await compare(kernels, rest(kernels));
      expect(plain).toEqual((await inline).plain);
      expect(steps).toBe(0);
    },
  );

  it.each(casesOf(['exits', 'hangs'] as const, 1))(
    'loses the rows of one step when the worker %s, says so, and goes on with another worker',
    PATIENCE,
    async (does) => {
      const spawn = spawnThat(does, 5, 'transfer');
      const kernels = await served({ ...transfer, spawn, callTimeoutMs: 500 });
      const { plain, lostStepCount } = await compare(kernels, rest(kernels));
      const numbers = (list: readonly string[]): readonly string[] =>
        list.slice(0, -1).map((row) => row.replace(LEFT_OUT, ''));
      const all = numbers((await inline).plain);
      const found = numbers(plain);
      const missing = all.filter((row) => !found.includes(row));
      expect(found.filter((row) => !all.includes(row))).toEqual([]);
      expect(lostStepCount).toBeGreaterThan(0);
      const steps = new Set(missing.map((row) => /"step":(\d+)/.exec(row)?.[1]));
      expect(steps.size).toBeGreaterThan(0);
      expect(steps.size).toBeLessThanOrEqual(lostStepCount);
      expect(plain.at(-1)).toContain('capture_failed');
      await vi.waitFor(() => expect(kernels.diagnostics().diedWorkerCount).toBe(1), PATIENCE);
      expect((await compare(kernels, rest(kernels))).plain).toEqual((await inline).plain);
    },
  );
});
