/** Hook engine and parameter diagnostics over plain arrays: what they write, leave out, hold and give back. */
import { describe, expect, it, vi } from 'vitest';
import { createKernels } from '../../../src/kernel/tensor/kernels.ts';
import { HookEngine, ParameterDiagnostics } from '../../../src/probes.ts';
import type { DeviceResult, TensorSummary } from '../../../src/instruments/probes/model-source.ts';
import { openRun } from '../../../src/read/run-reader.ts';
import type { EventRecord } from '../../../src/records/event.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { ArraySource, layer, parameter } from '../../support/array-source.ts';
import { TestClock } from '../../support/clock.ts';
import { normal } from '../../support/tensors.ts';

const clock = new TestClock(Date.UTC(2026, 0, 1));

const open = (): Promise<TrainingSession> =>
  TrainingSession.startRun({
    project: 'p',
    storage: createMemoryStore(),
    handleSignals: false,
    clock,
  });

async function events(
  session: TrainingSession,
  eventType: string,
): Promise<readonly EventRecord[]> {
  await session.flush();
  return (await openRun(session.store, session.runId)).readEvents({ eventType });
}

/** As after a turn of the event loop: until then nothing is computed. */
const loaded = createKernels({ workers: 0 });

const f32 = (...values: number[]): Float32Array => Float32Array.from(values);

describe('HookEngine', () => {
  it('writes every field of a record', async () => {
    const session = await open();
    const source = new ArraySource([layer('a', { activation: 'tanh' }), layer('b')]);
    const hooks = new HookEngine(session, source, {
      deadUnitEpsilon: 0.1,
      saturationThreshold: 0.9,
      deadUnitProbes: 2,
    });
    for (const step of [3, 4]) {
      hooks.beginStep(step, { epoch: 1, metadata: { split: 'train' } });
      source.show(0, 'forward', source.ref(f32(0, 1, 0.1, -1, 0, Number.NaN), [3, 2]));
      source.show(0, 'backward', source.ref(f32(3, 4), [1, 2]));
      hooks.endStep();
    }
    const records = await hooks.flush();
    expect(records.map((record) => record.sequence)).toStrictEqual([0, 1, 2, 3]);
    expect(records[0]?.toDict()).toStrictEqual({
      run_id: session.runId,
      sequence: 0,
      timestamp: '2026-01-01T00:00:00.000Z',
      module_name: 'a',
      module_type: 'Dense',
      summary_type: 'activation',
      hook_direction: 'forward',
      step: 3,
      epoch: 1,
      call_index: 0,
      element_count: 6,
      tensor_shape: [3, 2],
      mean: expect.closeTo(0.02, 7),
      std: expect.closeTo(Math.sqrt(0.4016), 6),
      norm: expect.closeTo(Math.sqrt(2.01), 6),
      variance: expect.closeTo(0.4016, 6),
      dead_unit_ratio: 0.4, // 0.1 in float32 is more than 0.1
      saturation_ratio: 0.4,
      non_finite_count: 1,
      dead_unit_count: 0,
      persistent_dead_unit_count: 0,
      zero_output_ratio: 0.4,
      dead_unit_share: 0,
      metadata: { split: 'train' },
    });
    expect(records[1]).toMatchObject({
      summaryType: 'gradient',
      hookDirection: 'backward',
      norm: 5,
      deadUnitRatio: null,
      saturationRatio: null,
      deadUnitCount: null,
    });
    expect(await hooks.read({ step: 4, hookDirection: 'forward' })).toHaveLength(1);
    expect(await hooks.read({ moduleName: 'b' })).toHaveLength(0);
    expect(await hooks.read({ moduleType: 'Dense', limit: 1 })).toMatchObject([{ sequence: 3 }]);
    await session.endRun();
    expect(source.layerWatches.size).toBe(0);
    expect(() => hooks.beginStep(9)).toThrow(expect.objectContaining({ code: 'writer_closed' }));
    expect(await hooks.read()).toHaveLength(4);
  });

  it('keeps the last of several gradients of one output, as a gradient of a gradient has them', async () => {
    const session = await open();
    const source = new ArraySource([layer('a')]);
    const hooks = new HookEngine(session, source);
    hooks.step(0, {}, () => {
      source.show(0, 'forward', source.ref(f32(1)));
      source.show(0, 'backward', source.ref(f32(7)));
      source.show(0, 'backward', source.ref(f32(3, 4)));
    });
    expect((await hooks.read()).map(({ norm }) => norm)).toStrictEqual([1, 5]);
    await session.endRun();
  });

  it('counts units that stay dead', async () => {
    const session = await open();
    const source = new ArraySource([layer('a')]);
    const hooks = new HookEngine(session, source);
    const batches = [f32(0, 0, 1, 0), f32(0, 0, 0, 0), f32(0, 1, 0, 0), f32(0, 0, 0, 0)];
    batches.forEach((data, step) => {
      hooks.step(step, {}, () => source.show(0, 'forward', source.ref(data, [2, 2])));
    });
    const records = await hooks.read();
    expect(
      records.map(({ deadUnitCount, persistentDeadUnitCount }) => [
        deadUnitCount,
        persistentDeadUnitCount,
      ]),
    ).toStrictEqual([
      [1, 0],
      [2, 0],
      [1, 0],
      [2, 1],
    ]);
    await session.endRun();
  });

  it('gives large tensors to the workers, in slices, and the same numbers', async () => {
    const session = await open();
    const source = new ArraySource([layer('big'), layer('small')]);
    const kernels = await createKernels({ workers: 0 });
    const hooks = new HookEngine(session, source, { kernels });
    const values = Float32Array.from(normal(700_001, 0.5, 2));
    hooks.beginStep(0);
    source.show(0, 'forward', source.ref(values));
    source.show(1, 'forward', source.ref(f32(1, 2)));
    hooks.endStep();
    expect(source.retained).toBe(1);
    expect(hooks.beginStep(1)).toBe(false);
    hooks.endStep();
    expect(hooks.status).toMatchObject({ probedSteps: 1, skippedProbes: 1 });
    const records = await hooks.read();
    expect(source.retained).toBe(0);
    expect(records.map(({ moduleName }) => moduleName)).toStrictEqual(['big', 'small']);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
    expect(records[0]?.mean).toBeCloseTo(mean, 5);
    expect((records[0]?.norm ?? 0) / norm).toBeCloseTo(1, 6);
    expect(hooks.beginStep(2)).toBe(true);
    hooks.endStep();
    await session.endRun();
    await kernels.close();
  });

  it('records only what is wanted, and nothing that contradicts itself, whatever a source shows', async () => {
    const session = await open();
    const source = new ArraySource(
      [layer('a'), layer('b', { type: 'Conv2D' })],
      [parameter('a/w'), parameter('a/b', { role: 'bias' })],
      [f32(1, 2), f32(3, 4)],
    );
    const hooks = new HookEngine(session, source, {
      captureBackward: false,
      filters: { includeTypes: ['Dense'] },
      kernels: await loaded,
    });
    const parameters = new ParameterDiagnostics(session, source, {
      includeParameterRoles: ['weight'],
      kernels: await loaded,
    });
    hooks.beginStep(0);
    for (const watch of source.layerWatches) {
      for (const [at, direction, isTraining, shape] of [
        [0, 'forward', true, [1, 2]],
        [1, 'forward', true, [1, 2]],
        [0, 'backward', true, [1, 2]],
        [0, 'forward', false, [1, 2]],
        [0, 'forward', true, [3, 2]],
        [9, 'forward', true, [1, 2]],
      ] as const) {
        const callIndex = watch.beginCall(at);
        watch.capture(
          { layer: at, direction, callIndex, outputIndex: 0, isTraining },
          source.ref(f32(1, 2), shape),
        );
      }
    }
    hooks.endStep();
    for (const watch of source.parameterWatches)
      watch.changed(1, { gradient: source.ref(f32(1, 1)), before: source.ref(f32(1, 1)) });
    expect(source.retained).toBe(0);
    parameters.snapshot(0);
    expect(await hooks.read()).toMatchObject([{ moduleName: 'a', hookDirection: 'forward' }]);
    expect(await parameters.readSummaries()).toMatchObject([{ parameterName: 'a/w' }]);
    const [warning] = await events(session, 'probe_warning');
    expect(warning?.payload['message']).toContain('a tensor of shape [3, 2] came with 2 elements');
    await session.endRun();
  });

  it('counts dead units of a validation by themselves', async () => {
    const session = await open();
    const source = new ArraySource([layer('a')]);
    const hooks = new HookEngine(session, source, { captureEvaluation: true, deadUnitProbes: 2 });
    const halfDead = source.ref(f32(0, 1, 0, 2), [2, 2]);
    for (let step = 0; step < 2; step++) {
      hooks.beginStep(step);
      source.show(0, 'forward', halfDead);
      source.show(0, 'forward', source.ref(f32(0, 0, 0, 0), [2, 2]), false);
      hooks.endStep();
    }
    expect(
      (await hooks.read()).map((r) => [r.step, r.deadUnitCount, r.persistentDeadUnitCount]),
    ).toStrictEqual([
      [0, 1, 0],
      [0, 2, null],
      [1, 1, 1],
      [1, 2, null],
    ]);
    await session.endRun();
  });

  it('goes on by itself, bit by bit, in a loop that gives the event loop no turn', async () => {
    const session = await open();
    const source = new ArraySource([layer('a')]);
    const hooks = new HookEngine(session, source);
    const values = Float32Array.from(normal(900_001, 0.5, 2));
    const probed: number[] = [];
    for (let step = 0; step < 60; step++) {
      if (hooks.beginStep(step)) probed.push(step);
      source.show(0, 'forward', source.ref(values, [1, values.length]));
      hooks.endStep();
      clock.advance(20);
    }
    expect(probed.length).toBeGreaterThan(2);
    // Not all at once: some of the steps that were due found the one before under way.
    expect(hooks.status.skippedProbes).toBe(60 - probed.length);
    expect(hooks.status.skippedProbes).toBeGreaterThan(probed.length);
    expect(source.retained).toBe(1);
    const records = await hooks.read();
    expect(records.map(({ step }) => step)).toStrictEqual(probed);
    expect(source.retained).toBe(0);
    const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
    for (const record of records) expect((record.norm ?? 0) / norm).toBeCloseTo(1, 6);
    expect(hooks.status.troubles).toStrictEqual(new Map());
    await session.endRun();
  });

  it('leaves a probe to the workers while the event loop turns', async () => {
    const session = await open();
    const source = new ArraySource([layer('a')]);
    const kernels = await createKernels({ workers: 0 });
    vi.spyOn(kernels, 'tensorStats').mockReturnValue(new Promise(() => undefined));
    const inline = vi.spyOn(kernels.inline, 'tensorStats');
    const hooks = new HookEngine(session, source, { kernels });
    for (let step = 0; step < 20; step++) {
      hooks.beginStep(step);
      source.show(0, 'forward', source.ref(new Float32Array(300_000)));
      hooks.endStep();
      clock.advance(20);
      await new Promise(setImmediate);
    }
    expect(hooks.status).toMatchObject({ probedSteps: 1, skippedProbes: 19 });
    expect(inline).not.toHaveBeenCalled();
    clock.advance(30_000);
    await hooks.close();
    expect([...hooks.status.troubles.keys()]).toStrictEqual(['timed_out']);
    expect(source.retained).toBe(0);
    await session.endRun();
    await kernels.close();
  });

  it('gives up a probe whose numbers never come, and goes on', async () => {
    const session = await open();
    const source = new ArraySource([layer('a')]);
    const hooks = new HookEngine(session, source, { probeTimeoutMs: 1000 });
    const summary: TensorSummary = {
      elementCount: 2,
      nonFiniteCount: 0,
      mean: 1,
      variance: 0,
      std: 0,
      l2Norm: 1,
      min: 1,
      max: 1,
      nearZeroRatio: 0,
      saturatedRatio: null,
      deadUnits: null,
      histogram: null,
    };
    const probe = (step: number): boolean => {
      const isProbed = hooks.beginStep(step);
      source.show(0, 'forward', source.onDevice([2]));
      hooks.endStep();
      return isProbed;
    };
    source.readBack = () => new Promise(() => undefined);
    expect(probe(0)).toBe(true);
    expect(probe(1)).toBe(false);
    clock.advance(1001);
    await hooks.flush();
    source.readBack = (): Promise<readonly DeviceResult[]> =>
      Promise.resolve([{ summary, beforeNorm: null, cosine: null }]);
    expect(probe(2)).toBe(true);
    expect(await hooks.read()).toMatchObject([{ step: 2, norm: 1 }]);
    source.readBack = () => Promise.reject(new Error('context lost'));
    expect(probe(3)).toBe(true);
    await hooks.flush();
    expect(hooks.status.skippedProbes).toBe(1);
    const warnings = await events(session, 'probe_warning');
    expect(warnings.map(({ payload }) => payload['reason'])).toStrictEqual([
      'timed_out',
      'capture_failed',
    ]);
    expect(warnings[1]?.payload['message']).toContain('context lost');
    await session.endRun();
  });

  it('gives up what a failed step had captured', async () => {
    const session = await open();
    const source = new ArraySource([layer('a')]);
    const hooks = new HookEngine(session, source);
    const show = (): void => source.show(0, 'forward', source.ref(f32(1)));
    expect(() =>
      hooks.step(0, {}, () => {
        show();
        throw new Error('diverged');
      }),
    ).toThrow('diverged');
    await expect(
      hooks.step(1, {}, async () => {
        show();
        await Promise.reject(new Error('later'));
      }),
    ).rejects.toThrow('later');
    expect(await hooks.step(2, { epoch: 0 }, async (isProbed) => (show(), isProbed))).toBe(true);
    expect((await hooks.read()).map(({ step }) => step)).toStrictEqual([2]);
    await session.endRun();
  });

  it('chooses its cadence within the budget and records the choice', async () => {
    const session = await open();
    const source = new ArraySource([layer('a')]);
    let now = 0;
    const hooks = new HookEngine(session, source, {
      overheadBudget: 0.1,
      now: () => now,
      kernels: await loaded,
    });
    const probed: number[] = [];
    for (let step = 0; step < 200; step++) {
      const isProbed = hooks.beginStep(step);
      now += 1;
      if (isProbed) {
        now += 0.45;
        probed.push(step);
        source.show(0, 'forward', source.ref(f32(1)));
      }
      hooks.endStep();
    }
    expect(hooks.status.everyNSteps).toBe(5);
    expect(probed.slice(-3)).toStrictEqual([185, 190, 195]);
    expect(
      (await events(session, 'probe_cadence_chosen')).map(({ payload }) => payload),
    ).toStrictEqual([
      {
        instrument: 'hook_engine',
        every_n_steps: 5,
        probe_ms: expect.closeTo(0.45, 6),
        step_ms: expect.closeTo(1, 6),
        overhead_budget: 0.1,
      },
    ]);
    await session.endRun();
  });
});

describe('the overhead budget', () => {
  it('counts what a probe costs after its step', async () => {
    const session = await open();
    const source = new ArraySource([layer('big')]);
    let now = 0;
    const kernels = await createKernels({ workers: 0 });
    const hooks = new HookEngine(session, source, {
      overheadBudget: 0.1,
      kernels,
      now: () => now,
    });
    const big = source.ref(new Float32Array(300_000), [1, 300_000]);
    const slow = {
      ...big,
      retain: () => ({
        ...big,
        // Each look at it, slice by slice, takes 2 ms.
        get data() {
          now += 2;
          return big.data;
        },
        release: () => undefined,
      }),
    };
    for (let step = 0; step < 40; step++) {
      if (hooks.beginStep(step)) source.show(0, 'forward', slow);
      now += 10;
      hooks.endStep();
      await hooks.flush();
    }
    const [choice] = await events(session, 'probe_cadence_chosen');
    const probeMs = Number(choice?.payload['probe_ms']);
    expect(probeMs).toBeGreaterThanOrEqual(6);
    expect(choice?.payload).toMatchObject({
      step_ms: 10,
      every_n_steps: Math.ceil(probeMs / (0.1 * 10)),
    });
    await session.endRun();
    await kernels.close();
  });
});

describe('ParameterDiagnostics', () => {
  const trained = (): ArraySource =>
    new ArraySource(
      [],
      [parameter('a/kernel'), parameter('a/bias', { role: 'bias', optimizerGroup: null })],
      [f32(3, 4), f32(0, 0)],
    );

  it('writes every field of a record', async () => {
    const session = await open();
    const source = trained();
    const parameters = new ParameterDiagnostics(session, source, {
      captureDistributions: true,
      distributionTypes: ['update', 'value'],
      histogramBins: 2,
    });
    source.change(0, f32(1, 0), f32(3, 3.5));
    parameters.snapshot(0, { epoch: 2, metadata: { lr: 0.5 } });
    source.change(0, f32(0, -2), f32(3, 3.5));
    parameters.snapshot(1);
    const { summaries, distributions } = await parameters.flush();
    expect(summaries[0]?.toDict()).toStrictEqual({
      run_id: session.runId,
      sequence: 0,
      timestamp: expect.any(String),
      module_name: 'a',
      parameter_name: 'a/kernel',
      parameter_role: 'weight',
      step: 0,
      epoch: 2,
      shape: [2],
      dtype: 'float32',
      element_count: 2,
      value_mean: 3.25,
      value_std: 0.25,
      value_norm_before: 5,
      value_norm: expect.closeTo(Math.hypot(3, 3.5), 6),
      value_min: 3,
      value_max: 3.5,
      gradient_mean: 0.5,
      gradient_std: 0.5,
      gradient_norm: 1,
      gradient_min: 0,
      gradient_max: 1,
      update_mean: -0.25,
      update_std: 0.25,
      update_norm: 0.5,
      update_min: -0.5,
      update_max: 0,
      near_zero_ratio: 0,
      update_ratio: 0.1,
      value_non_finite_count: 0,
      gradient_non_finite_count: 0,
      update_non_finite_count: 0,
      gradient_cosine: null,
      optimizer_group: 'sgd',
      metadata: { lr: 0.5 },
    });
    expect(summaries[1]).toMatchObject({
      parameterName: 'a/bias',
      nearZeroRatio: 1,
      gradientNorm: null,
      updateNorm: null,
      updateRatio: null,
    });
    expect(summaries[2]).toMatchObject({ step: 1, gradientCosine: 0, updateRatio: 0 });
    expect(distributions[1]?.toDict()).toMatchObject({
      distribution_type: 'update',
      bin_edges: [-0.5, -0.25, 0],
      counts: [1, 1],
      sample_count: 2,
      total_count: 2,
    });
    expect(
      await parameters.readSummaries({ parameterName: 'a/kernel', latestOnly: true }),
    ).toMatchObject([{ step: 1 }]);
    expect(
      await parameters.readDistributions({ distributionType: 'value', latestOnly: true }),
    ).toMatchObject([
      { step: 1, parameterName: 'a/kernel' },
      { step: 1, parameterName: 'a/bias' },
    ]);
    expect(
      await parameters.readSummaries({ latestOnly: true, limit: 1, moduleName: 'a' }),
    ).toMatchObject([{ step: 1, parameterName: 'a/bias' }]);
    await expect(parameters.readSummaries({ layer: 'a' } as never)).rejects.toThrow('filter.layer');
    await session.endRun();
    expect(source.retained).toBe(0);
    expect(source.parameterWatches.size).toBe(0);
  });

  it('holds nothing on steps that are not looked at, whatever the pace', async () => {
    const session = await open();
    const source = trained();
    const parameters = new ParameterDiagnostics(session, source, {
      schedule: { everyNSteps: 4 },
      captureGradientCosine: false,
      kernels: await loaded,
    });
    const wanted: boolean[] = [];
    for (let step = 0; step < 9; step++) {
      wanted.push(source.change(0, f32(1, 1), f32(1, 2)));
      expect(parameters.snapshot(step)).toBe(step % 4 === 0);
      expect(source.retained).toBe(0);
    }
    expect(wanted).toStrictEqual([true, false, false, false, true, false, false, false, true]);
    // Every second step, as in gradient accumulation: 12 is due, and foreseen from 10.
    source.change(0, f32(1, 1), f32(1, 2));
    parameters.snapshot(10);
    expect(source.change(0, f32(1, 1), f32(1, 2))).toBe(true);
    expect(parameters.snapshot(12)).toBe(true);
    // One that could not be foreseen: from then on every step is held.
    expect(source.change(0, f32(1, 1), f32(1, 2))).toBe(false);
    parameters.snapshot(20);
    expect(source.change(0, f32(1, 1), f32(1, 2))).toBe(true);
    const records = await parameters.readSummaries({ parameterName: 'a/kernel' });
    expect(records.map(({ step, gradientNorm }) => [step, gradientNorm !== null])).toStrictEqual([
      [0, true],
      [4, true],
      [8, true],
      [12, true],
      [20, false],
    ]);
    await session.endRun();
    expect(source.retained).toBe(0);
  });

  it('gives the same numbers for tensors too large for the spot', async () => {
    const session = await open();
    const length = 300_000;
    const before = Float32Array.from(normal(length, 0, 1, 1));
    const gradient = Float32Array.from(normal(length, 0, 1, 2));
    const after = before.map((value, i) => value - 0.1 * (gradient[i] ?? 0));
    const source = new ArraySource([], [parameter('big', { shape: [length] })], [before]);
    const kernels = await createKernels({ workers: 0 });
    const parameters = new ParameterDiagnostics(session, source, {
      kernels,
      captureDistributions: true,
      distributionTypes: ['update'],
      histogramBins: 4,
      maxHistogramValues: 1000,
    });
    source.change(0, gradient, after);
    parameters.snapshot(0);
    await parameters.flush();
    source.change(0, gradient, after);
    parameters.snapshot(1);
    const [first, second] = await parameters.readSummaries();
    const update = after.map((value, i) => value - (before[i] ?? 0));
    const norm = (data: Float32Array): number => Math.sqrt(data.reduce((sum, x) => sum + x * x, 0));
    expect((first?.updateNorm ?? 0) / norm(update)).toBeCloseTo(1, 6);
    expect((first?.gradientNorm ?? 0) / norm(gradient)).toBeCloseTo(1, 6);
    expect(first?.updateRatio).toBeCloseTo(norm(update) / norm(before), 6);
    expect(second?.gradientCosine).toBeCloseTo(1, 9);
    expect(second?.updateNorm).toBe(0);
    const [histogram] = await parameters.readDistributions();
    expect(histogram?.sampleCount).toBe(1000);
    expect(histogram?.totalCount).toBe(length);
    await session.endRun();
    expect(source.retained).toBe(0);
    await kernels.close();
  });
});
