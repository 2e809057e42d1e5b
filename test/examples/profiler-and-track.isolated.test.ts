/**
 * The examples of the documents on AMD Quark's profiler and on Track's chronos, aggregators and ETA, in their order, written as one
 * would here.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { importRuns, bytesInput } from '../../src/exchange.ts';
import {
  createMemoryStore,
  MetricsLogger,
  openRun,
  startRun,
  TrainingSession,
  type Store,
} from '../../src/index.ts';
import {
  Profiler,
  profilerOf,
  ProfileStep,
  profileYaml,
  readProfiles,
  readProgress,
  readTimers,
  Timers,
  type Profile,
} from '../../src/profiler.ts';

/** A program of a GPU that is not installed. */
const MISSING_PROGRAM = 'no-such-smi';

let folder = '';
let store: Store;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-seeds-'));
  store = createMemoryStore();
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const names = (profile: Profile | undefined): string[] =>
  (profile?.checkpoints ?? []).map(({ name }) => name);
const loadModel = async (): Promise<{ weights: Float32Array }> => ({
  weights: new Float32Array(1000),
});
const quantize = async ({ weights }: { weights: Float32Array }): Promise<Int8Array> =>
  Int8Array.from(weights, (x) => Math.round(127 * x));

describe("AMD Quark's profiler", () => {
  test('quick start: QUARK_PROFILING=1, and results in quark_profile.yaml', async () => {
    vi.stubEnv('QUARK_PROFILING', '1');
    const runId = await TrainingSession.run(
      { project: 'seed', storage: store },
      async (session) => {
        await quantize(await loadModel());
        return session.runId;
      },
    );
    vi.unstubAllEnvs();
    const [profile] = await readProfiles(await openRun(store, runId));
    writeFileSync(join(folder, 'quark_profile.yaml'), profileYaml(profile ?? expect.fail()));
    expect(names(profile)).toEqual(['Start', 'End']);
  });

  test('checkpoints of one’s own: constants of steps, and any name', async () => {
    const profiler = new Profiler(undefined, { captureGpu: false });
    const model = await profiler.scope(ProfileStep.MODEL_LOADING, loadModel);
    profiler.scope('Custom Data Preprocessing', () => model.weights.fill(0.5));
    expect(names(await profiler.close())).toEqual([
      'Start',
      'Model Loading Start',
      'Model Loading End',
      'Custom Data Preprocessing Start',
      'Custom Data Preprocessing End',
      'End',
    ]);
  });

  test('the three patterns: a scope, a decorated function, several steps of one’s own', async () => {
    const profiler = new Profiler(undefined, { captureGpu: false });
    const quantized = await profiler.scope(ProfileStep.MODEL_QUANTIZATION, async () =>
      quantize(await loadModel()),
    );
    const calibrate = profiler.profiled(ProfileStep.CALIBRATION, (data: Int8Array) => data.length);
    const validate = profiler.profiled('Custom Validation', (size: number) => size === 1000);
    expect(validate(calibrate(quantized))).toBe(true);
    for (const step of [
      'Custom Data Validation',
      'Custom Feature Engineering',
      'Custom Post-processing',
    ])
      profiler.scope(step, () => undefined);
    const { scopes } = await profiler.close();
    expect(scopes.map(({ name }) => name)).toEqual([
      'Model Quantization',
      'Calibration',
      'Custom Validation',
      'Custom Data Validation',
      'Custom Feature Engineering',
      'Custom Post-processing',
    ]);
  });

  test('the whole workflow of a model, with steps that come by themselves, written as YAML', async () => {
    const session = await startRun({ project: 'seed', storage: store, profile: true });
    const profiler = profilerOf(session) ?? expect.fail();
    const model = await profiler.scope(ProfileStep.MODEL_LOADING, loadModel);
    await profiler.scope(ProfileStep.DATASET_LOADING, async () => [1, 2, 3]);
    await profiler.scope(ProfileStep.MODEL_QUANTIZATION, () => quantize(model));
    profiler.scope(ProfileStep.EXPORT_ONNX, () =>
      writeFileSync(join(folder, 'model.onnx'), model.weights),
    );
    // By itself: the import.
    const report =
      '# Quark Profiling Results\n\nmemory_usage:\n- step: "Start"\n  timestamp: 1709395200.0\n';
    await importRuns([bytesInput('other.yaml', report)], createMemoryStore());
    await session.endRun();
    const [profile] = await readProfiles(await openRun(store, session.runId));
    const yaml = profileYaml(profile ?? expect.fail());
    for (const key of [
      'memory_usage:',
      'relative_time_secs:',
      'cpu_memory_mb:',
      'total_quantization_time_seconds:',
      'peak_memory_mb:',
    ])
      expect(yaml).toContain(key);
    expect(yaml).toContain('- step: "Export ONNX End"');
    expect(yaml).toContain('- step: "Import Start"');
  });

  test('a checkpoint metric and a summary metric of one’s own', async () => {
    const path = join(folder, 'output_model.onnx');
    const gpuMemory = (): number | null => {
      // Such a program may be missing: then there is no number.
      const { status, stdout } = spawnSync(MISSING_PROGRAM, ['--memory'], { encoding: 'utf8' });
      return status === 0 ? Number(stdout) : null;
    };
    const profiler = new Profiler(undefined, {
      captureGpu: false,
      metrics: [
        {
          name: 'gpu_memory_mb',
          unit: 'MiB',
          kind: 'checkpoint',
          definition: 'GPU memory usage in MB.',
          collect: gpuMemory,
        },
        {
          name: 'model_size_mb',
          unit: 'MiB',
          kind: 'summary',
          definition: 'Size of the quantized model file in MB.',
          collect: () => statSync(path).size / 2 ** 20,
        },
        {
          name: 'grown_mb',
          unit: 'MiB',
          kind: 'checkpoint',
          collect: ({ baseline, values }) =>
            ((values['rss_bytes'] ?? 0) - (baseline['rss_bytes'] ?? 0)) / 2 ** 20,
        },
      ],
    });
    profiler.checkpoint('GPU Operation');
    writeFileSync(path, new Uint8Array(1 << 19));
    const { checkpoints, summary } = await profiler.close();
    expect(checkpoints[1]?.values).not.toHaveProperty('gpu_memory_mb');
    expect(checkpoints[1]?.values).toHaveProperty('grown_mb');
    expect(summary['model_size_mb']).toBe(0.5);
  });
});

describe('Track', () => {
  test('times what is in a block, and keeps mean, deviation, extremes and count', async () => {
    const session = await startRun({
      project: 'paper_78997',
      storage: store,
      config: { batch_size: 256, lr: 0.01, momentum: 0.99 },
    });
    const timers = new Timers(session, { skip: 1 });
    const metrics = new MetricsLogger(session);
    const dataset = Array.from({ length: 8 }, (_, i) => i);
    for (let epoch = 0; epoch < 2; epoch++) {
      let loss = 0;
      for (const batch of dataset) {
        using _ = timers.start('batch_time');
        loss += batch;
      }
      metrics.log('epoch_loss', loss, { step: epoch });
    }
    await session.endRun();
    const [batch] = await readTimers(await openRun(store, session.runId));
    expect(batch).toMatchObject({ name: 'batch_time', count: 15, skipped: 1 });
    expect(batch?.minMs).toBeLessThanOrEqual(batch?.meanMs ?? 0);
    expect(batch?.maxMs).toBeGreaterThanOrEqual(batch?.meanMs ?? Infinity);
  });

  test('a long computation on a device is waited for', async () => {
    const timers = new Timers();
    let isDone = false;
    await timers.timeDevice(
      'long_compute',
      () => 'queued',
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        isDone = true;
      },
    );
    expect(isDone).toBe(true);
    expect(timers.statistics('long_compute').count).toBe(1);
  });

  test('aggregators: the last value, the last ones, statistics, the whole history', async () => {
    const session = await startRun({ project: 'paper_78997', storage: store });
    const metrics = new MetricsLogger(session, {
      aggregate: {
        last: { kind: 'value' },
        ring: { kind: 'ring', size: 3 },
        stat: { kind: 'statistics', skip: 10 },
      },
    });
    for (let step = 0; step < 20; step++)
      metrics.logMany({ last: step, ring: step, stat: step, series: step }, { step });
    await session.endRun();
    const reader = await openRun(store, session.runId);
    const values = async (metricKey: string): Promise<number[]> =>
      (await reader.readMetrics({ metricKey })).map(({ value }) => value);
    expect(await values('last')).toEqual([0, 19]);
    expect(await values('ring')).toEqual([17, 18, 19]);
    expect(await values('series')).toHaveLength(20);
    expect(await values('stat/mean')).toEqual([14.5]);
    expect(await values('stat/count')).toEqual([10]);
  });

  test('the time that is left', async () => {
    const session = await startRun({ project: 'paper_78997', storage: store });
    await session.setTotal({ epochs: 10, stepsPerEpoch: 1000 });
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 2000; step++)
      metrics.log('loss', 1, { step, timestamp: 1_700_000_000_000 + 500 * step });
    await session.endRun();
    const progress = await readProgress(await openRun(store, session.runId));
    expect(progress).toMatchObject({ share: 0.2, stepMs: 500, remainingMs: 4_000_000 });
  });
});
