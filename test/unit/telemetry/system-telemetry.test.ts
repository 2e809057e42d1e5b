import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  createMemoryStore,
  EventLogger,
  MetricsLogger,
  startRun,
  type Store,
  type TrainingSession,
} from 'quark-sdk';
import type { SystemTelemetryConfig } from '../../../src/instruments/telemetry/config.ts';
import { parseNvidiaLine, watchNvidia } from '../../../src/instruments/telemetry/nvidia-watch.ts';
import { TELEMETRY_METRIC_KEYS } from '../../../src/instruments/telemetry/scalars.ts';
import { SystemTelemetry } from '../../../src/instruments/telemetry/system-telemetry.ts';
import { runs } from '../../support/property.ts';

/** Of a loaded machine. */
const PATIENCE = { timeout: 60_000 };

const stores: Store[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const store of stores.splice(0)) await store.close();
});

async function start(): Promise<TrainingSession> {
  const storage = createMemoryStore();
  stores.push(storage);
  return startRun({ project: 'telemetry', storage });
}

async function startTelemetry(
  config: SystemTelemetryConfig = {},
): Promise<{ session: TrainingSession; telemetry: SystemTelemetry }> {
  const session = await start();
  return { session, telemetry: new SystemTelemetry(session, { captureGpu: false, ...config }) };
}

describe('steps', () => {
  test('a scope divides a step into data and compute time', async () => {
    const { session, telemetry } = await startTelemetry();
    const spin = (ms: number): void => {
      for (const end = performance.now() + ms; performance.now() < end;);
    };
    const record = await telemetry.step(3, { epoch: 1, metadata: { split: 'train' } }, (scope) => {
      spin(6);
      scope.markDataReady();
      spin(3);
      scope.markDataReady(); // the first call counts
      return 'result';
    });
    expect(record).toBe('result');
    const [read] = await telemetry.read();
    expect(read).toMatchObject({
      boundary: 'step',
      step: 3,
      epoch: 1,
      metadata: { split: 'train' },
      overflowOccurred: false,
    });
    const { stepTimeMs, dataTimeMs, computeTimeMs } = read ?? {};
    expect(dataTimeMs).toBeGreaterThanOrEqual(6);
    expect(computeTimeMs).toBeGreaterThanOrEqual(3);
    expect(stepTimeMs).toBeCloseTo((dataTimeMs ?? 0) + (computeTimeMs ?? 0), 6);
    await session.close();
  });

  test('a step that throws is recorded, and its error goes on', async () => {
    const { session, telemetry } = await startTelemetry();
    await expect(
      telemetry.step(0, {}, () => {
        throw new Error('loss is not a number');
      }),
    ).rejects.toThrow('loss is not a number');
    const [record] = await telemetry.read();
    expect(record).toMatchObject({ step: 0, dataTimeMs: null, computeTimeMs: null });
    await session.close();
  });

  test('a step that fails because the run was ended fails with its own error', async () => {
    const { session, telemetry } = await startTelemetry();
    await expect(
      telemetry.step(0, {}, async () => {
        await session.endRun('interrupted');
        throw new Error('the training was told to stop');
      }),
    ).rejects.toThrow('the training was told to stop');
  });

  test('finishing twice records once', async () => {
    const { session, telemetry } = await startTelemetry();
    const scope = telemetry.startStep(1);
    expect(scope.finish()).not.toBeNull();
    expect(scope.finish()).toBeNull();
    expect(await telemetry.read()).toHaveLength(1);
    await session.close();
  });

  test('the cadence leaves steps out, but no overflow and no skipped step', async () => {
    const { session, telemetry } = await startTelemetry({ sampleEveryNSteps: 4 });
    for (let step = 0; step < 10; step++) {
      const record = telemetry.recordStep(step, {
        stepTimeMs: 10,
        overflowOccurred: step % 2 === 1,
        skippedStep: step === 5,
      });
      expect(record === null).toBe(step % 4 !== 0);
    }
    const records = await telemetry.read();
    expect(
      records.map(({ step, overflowCount, skippedStepCount }) => [
        step,
        overflowCount,
        skippedStepCount,
      ]),
    ).toEqual([
      [0, 0, 0],
      [4, 2, 0],
      [8, 4, 1],
    ]);
    await session.close();
  });
});

describe('samples', () => {
  test('Node tells of its processor, memory and process', async () => {
    const { session, telemetry } = await startTelemetry({
      tf: { memory: () => ({ numTensors: 12, numBytes: 4800 }) },
    });
    const record = telemetry.sample();
    expect(record).toMatchObject({
      boundary: 'time',
      step: null,
      tensorCount: 12,
      tensorBytes: 4800,
      gpuName: null,
      longTaskMs: null,
    });
    expect(record.ramTotalBytes).toBeGreaterThan(record.ramUsedBytes ?? Infinity);
    expect(record.ramUsagePercent).toBeCloseTo(
      (100 * (record.ramUsedBytes ?? 0)) / (record.ramTotalBytes ?? 1),
      6,
    );
    expect(record.processRssBytes).toBeGreaterThan(record.heapUsedBytes ?? Infinity);
    if (process.platform === 'linux') expect(record.diskWriteBytes).not.toBeNull();
    // The load is known once some time has passed.
    await vi.waitFor(() => expect(telemetry.sample().cpuUsagePercent).not.toBeNull(), PATIENCE);
    await session.close();
  });

  test('what is not captured is null', async () => {
    const { session, telemetry } = await startTelemetry({ captureCpu: false });
    const { cpuUsagePercent, ramUsedBytes, heapUsedBytes, diskReadBytes } = telemetry.sample({
      step: 2,
    });
    expect([cpuUsagePercent, ramUsedBytes, heapUsedBytes, diskReadBytes]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    expect(await telemetry.read({ boundary: 'step' })).toHaveLength(1);
    expect(await telemetry.read({ boundary: 'time' })).toHaveLength(0);
    await session.close();
  });

  test('what cannot be told now is null, with one warning', async () => {
    const tf = {
      memory: (): never => {
        throw new Error('Backend name webgl has not been initialized.');
      },
    };
    const { session, telemetry } = await startTelemetry({ tf });
    const usage = vi.spyOn(process, 'memoryUsage').mockImplementation(() => {
      throw new Error('EMFILE: too many open files');
    });
    const record = telemetry.recordStep(1, { stepTimeMs: 5 });
    usage.mockRestore();
    expect(record).toMatchObject({ stepTimeMs: 5, tensorCount: null, processRssBytes: null });
    const events = new EventLogger(session);
    await session.flush();
    const warnings = await events.read({ eventType: 'telemetry_warning' });
    expect(warnings.map(({ payload }) => payload?.['message'])).toStrictEqual([
      'TensorFlow.js could not be asked, and its fields are null: Backend name webgl has not been initialized.',
    ]);
    await session.close();
  });

  test('a step noted by a callback is recorded as any other, and takes nothing over from the one before', async () => {
    const { session, telemetry } = await startTelemetry();
    const times = { stepTimeMs: 20, dataTimeMs: 5, computeTimeMs: 15 };
    telemetry.sample({ timestamp: 5.75, metadata: { split: 'train' } });
    telemetry.recordStep(3, { epoch: 1, stepTimeMs: 9, dataTimeMs: 4, overflowOccurred: true });
    telemetry.noteStep(4, 1, 15, 5);
    telemetry.recordStep(4, { epoch: 1, ...times });
    const [sampled, , noted, recorded] = await telemetry.read();
    expect(sampled).toMatchObject({
      boundary: 'time',
      step: null,
      timestamp: '1970-01-01T00:00:00.005Z',
    });
    expect(noted).toMatchObject({
      ...times,
      step: 4,
      overflowOccurred: false,
      overflowCount: 1,
      metadata: null,
    });
    expect({ ...noted, timestamp: '', sequence: 0 }).toEqual({
      ...recorded,
      timestamp: '',
      sequence: 0,
    });
    expect(() => telemetry.noteStep(5, 1, Number.NaN)).toThrow('stepTimeMs');
    await session.close();
    expect(() => telemetry.noteStep(5, 1, 15)).toThrow('telemetry');
  });

  test('numbers are metrics as well, unless that is switched off', async () => {
    for (const emitScalarMetrics of [true, false]) {
      const { session, telemetry } = await startTelemetry({ emitScalarMetrics });
      telemetry.recordStep(5, { stepTimeMs: 20, dataTimeMs: 5, computeTimeMs: 15 });
      await telemetry.close();
      const metrics = new MetricsLogger(session);
      const records = await metrics.read();
      const values = Object.fromEntries(records.map(({ metricKey, value }) => [metricKey, value]));
      if (emitScalarMetrics) {
        expect(values).toMatchObject({
          'system/runtime/step_time_ms': 20,
          'system/runtime/data_time_ms': 5,
          'system/runtime/compute_time_ms': 15,
          'system/runtime/overflow_count': 0,
        });
        expect(records.every(({ step }) => step === 5)).toBe(true);
        for (const key of Object.keys(values))
          expect(Object.values<string>(TELEMETRY_METRIC_KEYS)).toContain(key);
      } else expect(values).toEqual({});
      await session.close();
    }
  });
});

describe('an NVIDIA GPU', () => {
  test.skipIf(process.platform === 'win32')(
    'is read from nvidia-smi, in the background',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'quark-smi-'));
      const program = join(folder, 'nvidia-smi');
      writeFileSync(
        program,
        '#!/bin/sh\nwhile true; do echo "0, NVIDIA A100-SXM4-40GB, 37, 1024, 40960, 41, 93.5"; sleep 0.05; done\n',
      );
      chmodSync(program, 0o755);
      vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH'] ?? ''}`);
      const { session, telemetry } = await startTelemetry({ captureGpu: true });
      await vi.waitFor(
        () =>
          expect(telemetry.sample()).toMatchObject({
            gpuIndex: 0,
            gpuName: 'NVIDIA A100-SXM4-40GB',
            gpuUtilizationPercent: 37,
            gpuMemoryUsedBytes: 2 ** 30,
            gpuMemoryUsagePercent: 2.5,
            gpuTemperatureCelsius: 41,
            gpuPowerWatts: 93.5,
          }),
        PATIENCE,
      );
      await telemetry.close();
      await session.close();
      rmSync(folder, { recursive: true });
    },
  );

  test('without nvidia-smi there is none, and nothing fails', async () => {
    vi.stubEnv('PATH', tmpdir());
    const { session, telemetry } = await startTelemetry({ captureGpu: true });
    expect(telemetry.sample()).toMatchObject({ gpuIndex: null, gpuName: null });
    await session.close();
  });

  test('where Node may start no programs there is none', () => {
    const process = {
      platform: 'linux',
      memoryUsage: () => ({ rss: 1, heapUsed: 1 }),
      getBuiltinModule: () => ({
        spawn: () => {
          throw new Error('Access to this API has been restricted');
        },
      }),
    };
    const watch = watchNvidia(process, null);
    expect(watch.read()).toEqual({});
    watch.close();
  });

  test('what a card does not tell is null, and no line breaks the parser', () => {
    expect(parseNvidiaLine('1, Tesla K80, [N/A], 10, [Not Supported], 33, [N/A]')).toEqual({
      gpuIndex: 1,
      gpuName: 'Tesla K80',
      gpuUtilizationPercent: null,
      gpuMemoryUsedBytes: 10 * 2 ** 20,
      gpuMemoryTotalBytes: null,
      gpuMemoryUsagePercent: null,
      gpuTemperatureCelsius: 33,
      gpuPowerWatts: null,
    });
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (line) => {
        const { gpuIndex } = parseNvidiaLine(line) ?? { gpuIndex: 0 };
        expect(Number.isInteger(gpuIndex)).toBe(true);
      }),
      runs(200),
    );
  });
});

describe('bad input', () => {
  test('is refused by name before anything is recorded', async () => {
    const session = await start();
    const make = (config: object) => () => new SystemTelemetry(session, config);
    expect(make({ sampleEveryNSteps: 0 })).toThrow(/sampleEveryNSteps.*positive integer/);
    expect(make({ captureCpu: 'yes' })).toThrow(/captureCpu/);
    expect(make({ gpuIndex: -1 })).toThrow(/gpuIndex/);
    expect(make({ sampleEvery: 2 })).toThrow(/sampleEvery/);
    expect(make({ tf: {} })).toThrow(/tf.*TensorFlow/);
    const telemetry = new SystemTelemetry(session, { captureGpu: false });
    const record = (step: number, options: object) => () => telemetry.recordStep(step, options);
    expect(record(-1, {})).toThrow(/step.*non-negative/);
    expect(record(1, { stepTimeMs: -2 })).toThrow(/stepTimeMs/);
    expect(record(1, { dataTimeMs: Number.NaN })).toThrow(/dataTimeMs/);
    expect(record(1, { overflowOccurred: 1 })).toThrow(/overflowOccurred/);
    expect(record(1, { metadata: [] })).toThrow(/metadata/);
    expect(() => telemetry.startStep(1.5)).toThrow(/step/);
    expect(() => telemetry.sample({ epoch: -1 })).toThrow(/epoch/);
    await expect(telemetry.read({ boundary: 'steps' as 'step' })).rejects.toThrow(/boundary/);
    expect(await telemetry.read()).toHaveLength(0);
    await telemetry.close();
    expect(() => telemetry.sample()).toThrow(/closed/);
    await session.close();
  });

  test('a run that has ended refuses, and nothing is left watching', async () => {
    const session = await start();
    await session.endRun();
    const getBuiltinModule = vi.spyOn(process, 'getBuiltinModule');
    expect(() => new SystemTelemetry(session, { emitScalarMetrics: false })).toThrow(/ended/);
    expect(getBuiltinModule).not.toHaveBeenCalled();
    getBuiltinModule.mockRestore();
  });

  test('a session that ends closes its telemetry', async () => {
    const { session, telemetry } = await startTelemetry();
    telemetry.recordStep(0, { stepTimeMs: 1 });
    await session.close();
    expect(() => telemetry.recordStep(1)).toThrow(/closed|ended/);
  });
});
