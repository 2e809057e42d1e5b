/** Every program in examples/ runs, and records what it says. */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  modelBytes,
  nodeMessage,
  tensorMessage,
  valueInfoMessage,
} from '../../src/adapters/onnx/file/onnx-writer.ts';
import { ByteWriter } from '../../src/codecs/protobuf/writer.ts';
import {
  readBatchDiagnostics,
  readLayerSummaries,
  readParameterDistributions,
  readParameterSummaries,
} from '../../src/read/tables.ts';
import { readProfiles, readTimers } from '../../src/profiler.ts';
import { listRuns, openRun, openStorage, type RunReader } from '../../src/index.ts';

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-examples-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program once more for each `time`. */
async function start(name: string, time = ''): Promise<void> {
  await import(/* @vite-ignore */ new URL(`../../examples/${name}?${time}`, import.meta.url).href);
}

async function runExample(
  name: string,
  look: (reader: RunReader, printed: string) => Promise<void>,
): Promise<number> {
  const storageDir = join(folder, name);
  vi.stubEnv('QUARK_STORAGE_DIR', storageDir);
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  // TensorFlow.js recommends another package there.
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  await start(name);
  const store = await openStorage(storageDir, { create: false });
  try {
    const [summary] = await listRuns(store);
    expect(summary?.effectiveStatus).toBe('completed');
    await look(await openRun(store, summary?.run.id ?? ''), log.mock.calls.flat().join('\n'));
    return (await listRuns(store)).length;
  } finally {
    await store.close();
  }
}

describe('examples', () => {
  const looks: Readonly<Record<string, (reader: RunReader, printed: string) => Promise<void>>> = {
    'custom-importer.mjs': async (reader, printed) => {
      expect(reader.run.environment).toMatchObject({ import: { format: 'row_log' } });
      expect((await reader.readMetricColumns({ metricKey: 'train/loss' })).rowCount).toBe(50);
      expect(printed).toMatch(/^demo\.rowlog, line 52: It is no row\.$/m);
      expect(printed).toMatch(/^row_log: 50 values, the last is 0\.042$/m);
      expect(printed).toMatch(/^.*importers\[0\]\.detect.*how sure it is, from 0 to 1/m);
    },
    'data-diagnostics.mjs': async (reader, printed) => {
      const { records } = await readBatchDiagnostics(reader);
      expect(records).toHaveLength(200);
      expect(printed).toMatch(/^Class 0 is \d\.\d times as frequent\.$/m);
      expect(printed).toMatch(/^Step 137: loss .*loss_z_score.*, from point-272 on$/m);
    },
    'node-minimal.mjs': async (reader, printed) => {
      expect(reader.run.projectName).toBe('line');
      const losses = await reader.readMetricColumns({ metricKey: 'train/loss' });
      expect(losses.rowCount).toBe(200);
      expect(losses.values[199] ?? 1).toBeLessThan((losses.values[0] ?? 0) / 100);
      expect(printed).toContain(reader.run.id);
    },
    'own-rules.mjs': async (reader, printed) => {
      expect(printed).toContain('rule.id must be a lowercase letter');
      expect(printed).toContain('validation_gap: Validation lies 1.09 above training at the end.');
      expect(printed).toContain('data/queue.below: data/queue is below 2 from step 31 to 39');
      expect(printed).toContain('val/any.stalls_for: val/loss had no lower value than');
      expect(printed).toContain('user_alert: A tenth of the images is black.');
      expect(printed).toContain('data/queue.below is silenced by Ada: The disk was busy.');
      expect(await reader.readEvents({ eventType: 'analysis_rules' })).toHaveLength(1);
    },
    'onnx-activations.mjs': async (reader, printed) => {
      expect(printed).toContain(`Run ${reader.run.id}`);
      expect(printed).toMatch(/^encode \(Gemm\): mean -?[\d.]+/m);
      expect(printed).toMatch(/^decode\/sigmoid \(Sigmoid\): mean 0\.\d+/m);
      expect(await reader.readEvents({ severity: 'warning' })).toStrictEqual([]);
    },
    'onnx-training.mjs': async (reader, printed) => {
      const losses = await reader.readMetricColumns({ metricKey: 'train/loss' });
      expect(losses.rowCount).toBe(60);
      expect(losses.values[59] ?? 1).toBeLessThan((losses.values[0] ?? 0) / 2);
      expect(printed).toContain(reader.run.id);
      expect(await reader.readEvents({ severity: 'warning' })).toStrictEqual([]);
    },
    'plain-network.mjs': async (reader, printed) => {
      const layers = (await readLayerSummaries(reader)).records;
      expect(layers).toHaveLength(120);
      expect(new Set(layers.map(({ moduleName }) => moduleName))).toStrictEqual(
        new Set(['hidden', 'output']),
      );
      const found = (await readParameterSummaries(reader)).records;
      expect(found).toHaveLength(120);
      // Plain gradient descent: the update is the rate times the gradient.
      for (const { updateNorm, gradientNorm, valueNonFiniteCount } of found) {
        expect(updateNorm).toBeCloseTo(0.2 * (gradientNorm ?? 0), 9);
        expect(valueNonFiniteCount).toBe(0);
      }
      const losses = await reader.readMetricColumns({ metricKey: 'train/loss' });
      expect(losses.values[299] ?? 1).toBeLessThan(losses.values[0] ?? 0);
      expect(printed).toContain('30 gradients of the hidden layer');
    },
    'profile.mjs': async (reader, printed) => {
      const [profile] = await readProfiles(reader);
      expect(profile?.scopes.filter(({ name }) => name === 'Epoch')).toHaveLength(6);
      expect(printed).toContain('array_buffer_bytes grows with each Epoch: Model Evaluation');
      expect(printed).toMatch(/^peak in Epoch/m);
      const folderOfRun = join(folder, 'profile.mjs');
      expect(readdirSync(folderOfRun)).toEqual(
        expect.arrayContaining(['quark_profile.yaml', 'trace.json']),
      );
    },
    'timers.mjs': async (reader, printed) => {
      const samples = async (metricKey: string) =>
        (await reader.readMetricColumns({ metricKey })).rowCount;
      expect(await samples('train/loss')).toBe(10);
      expect(await samples('train/batch_size')).toBe(10);
      expect(await samples('train/gradient_norm/mean')).toBe(2);
      expect(await samples('train/lr')).toBe(5);
      expect(printed).toMatch(/^999 batches, /m);
      expect(printed).toMatch(/^6[67] % done$/m);
      expect((await readTimers(reader)).map(({ name }) => name)).toEqual([
        'batch',
        'epoch',
        'evaluate',
      ]);
    },
    'tfjs-loop.mjs': async (reader, printed) => {
      const layers = (await readLayerSummaries(reader)).records;
      expect(layers).toHaveLength(60);
      const { store, run } = reader;
      expect((await readParameterSummaries({ store, runId: run.id })).records).toHaveLength(48);
      expect((await readParameterDistributions({ store, runId: run.id })).records).toHaveLength(48);
      expect(printed).toContain(run.id);
    },
    'tfjs-node.mjs': async (reader, printed) => {
      expect(await reader.metricKeys()).toEqual(
        expect.arrayContaining(['train/loss', 'val/accuracy']),
      );
      expect((await reader.readMetricColumns({ metricKey: 'train/loss' })).rowCount).toBe(50);
      expect(printed).toContain(reader.run.id);
    },
  };

  it.each(Object.entries(looks))(
    '%s',
    async (name, look) => {
      expect(await runExample(name, look)).toBe(1);
    },
    60_000,
  );

  it('resume.mjs, which is stopped and started again', async () => {
    const storageDir = join(folder, 'resume.mjs');
    vi.stubEnv('QUARK_STORAGE_DIR', storageDir);
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    await start('resume.mjs', 'first');
    const store = await openStorage(storageDir, { create: false });
    const [stopped] = await listRuns(store);
    expect(stopped?.effectiveStatus).toBe('failed');
    await start('resume.mjs', 'second');
    const runs = await listRuns(store);
    expect(runs).toHaveLength(1);
    expect(runs[0]?.run).toMatchObject({ status: 'completed', resumeCount: 1 });
    const reader = await openRun(store, runs[0]?.run.id ?? '');
    const { steps } = await reader.readMetricColumns({ metricKey: 'train/loss' });
    expect(steps).toEqual(Float64Array.from({ length: 100 }, (_, i) => i));
    expect(log.mock.calls.flat().join('\n')).toContain('goes on at step 60');
    await store.close();
  });

  it('tfjs-resume.mjs, which kills itself and is started again: one curve', async () => {
    const storageDir = join(folder, 'tfjs-resume.mjs');
    const program = fileURLToPath(new URL('../../examples/tfjs-resume.mjs', import.meta.url));
    const started = (): SpawnSyncReturns<string> =>
      spawnSync(process.execPath, [program], {
        encoding: 'utf8',
        env: { ...process.env, QUARK_STORAGE_DIR: storageDir },
      });
    expect(started().signal).toBe('SIGKILL');
    const second = started();
    expect(second).toMatchObject({ status: 0, signal: null });
    expect(second.stdout).toMatch(/^run_\w+: went on after epoch 2, step 29$/m);
    const store = await openStorage(storageDir, { create: false });
    const [summary, ...others] = await listRuns(store);
    expect(others).toStrictEqual([]);
    expect(summary?.run).toMatchObject({ status: 'completed', resumeCount: 1 });
    const reader = await openRun(store, summary?.run.id ?? '');
    const { epochs, steps, values } = await reader.readMetricColumns({ metricKey: 'train/loss' });
    // The epoch that was cut off after its fifth batch is trained again, with new steps.
    expect([...steps]).toStrictEqual(Array.from({ length: 65 }, (_, i) => i));
    expect([...new Set(epochs)]).toStrictEqual([0, 1, 2, 3, 4, 5]);
    expect(values[35]).toBe(values[30]);
    expect(values[64] ?? 1).toBeLessThan(values[0] ?? 0);
    await store.close();
  });

  it('from-d9d.mjs, which is cut off and goes on from the state of its tracker', async () => {
    const storageDir = join(folder, 'from-d9d.mjs');
    vi.stubEnv('QUARK_STORAGE_DIR', storageDir);
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    await start('from-d9d.mjs');
    const printed = log.mock.calls.flat().join('\n');
    expect(printed).toMatch(/^r: 100 steps, resumed 1 time$/m);
    expect(printed).toMatch(/^3\d rows were overtaken$/m);
    const store = await openStorage(storageDir, { create: false });
    const [summary, ...others] = await listRuns(store);
    expect(others).toStrictEqual([]);
    expect(summary?.run).toMatchObject({
      status: 'completed',
      description: 'two stages, one loop',
      config: { run: { lr: 0.01 }, params: { task: 'x' } },
    });
    const reader = await openRun(store, summary?.run.id ?? '');
    expect(await reader.metricKeys()).toStrictEqual([
      'loss {stage=train}',
      'metrics/acc/0 {split=a, stage=train}',
    ]);
    for (const metricKey of await reader.metricKeys()) {
      const { steps, values } = await reader.readMetricColumns({ metricKey });
      expect([...steps]).toStrictEqual(Array.from({ length: 100 }, (_, i) => i));
      expect(new Set(values).size).toBe(100);
    }
    await store.close();
    expect(readdirSync(join(storageDir, 'logs'))).toHaveLength(1);
  });

  it('from-track.mjs, whose report is that of the overview', async () => {
    vi.stubEnv('QUARK_STORAGE_DIR', join(folder, 'from-track.mjs'));
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    await start('from-track.mjs');
    const [report = '', backend, socket] = log.mock.calls.flat().map(String);
    expect(JSON.parse(report)).toMatchObject({
      revision: 1,
      name: 'final_trial_2',
      description: 'almost graduating',
      tags: ['workers=8', 'hpo=byopt'],
      parameters: { batch_size: 256, lr: 0.01, momentum: 0.99 },
      chronos: { batch_time: { count: 99 } },
      status: 'completed',
    });
    expect(backend).toBe("0 runs in a backend of one's own");
    expect(socket).toContain('whose HTTP protocol stands for a socket');
  });

  it.each([
    ['one', 'loss: 20 samples'],
    ['all', 'loss {rank=0}: 20 samples\nloss {rank=1}: 20 samples\nloss {rank=2}: 20 samples'],
  ])('many-processes.mjs, %s of three writes', (mode, lines) => {
    const program = fileURLToPath(new URL('../../examples/many-processes.mjs', import.meta.url));
    const { status, stdout } = spawnSync(process.execPath, [program, mode], {
      encoding: 'utf8',
      env: { ...process.env, QUARK_STORAGE_DIR: join(folder, `many-processes-${mode}`) },
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${lines}\\nrun_\\w+: completed\\n$`));
  });

  it('own-store.mjs, which records into a store of its own', async () => {
    vi.stubEnv('QUARK_STORAGE_DIR', join(folder, 'own-store.mjs'));
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    await start('own-store.mjs');
    expect(log.mock.calls.flat().join('\n')).toMatch(/^run_\w+: 50 samples in .*journal\.jsonl$/);
  });

  it("onnx-activations.mjs with a model of the user's own, which takes whole numbers", async () => {
    const graph = new ByteWriter()
      .part(1, nodeMessage('Gather', ['table', 'ids'], ['rows']))
      .part(1, nodeMessage('Sigmoid', ['rows'], ['y'], {}, 'sigmoid'))
      .text(2, 'words')
      .part(5, tensorMessage('table', new Float32Array(30), [10, 3]))
      .part(11, valueInfoMessage('ids', 'int64', ['batch', 'words']))
      .part(12, valueInfoMessage('y'));
    const model = join(folder, 'words.onnx');
    writeFileSync(model, modelBytes(graph, 17, 8));
    vi.stubEnv('QUARK_ONNX_MODEL', model);
    vi.stubEnv('QUARK_STORAGE_DIR', join(folder, 'words'));
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    await start('onnx-activations.mjs', 'words');
    expect(log.mock.calls.flat().join('\n')).toMatch(/^sigmoid \(Sigmoid\): mean 0\.5,/m);
  });

  it('has a test for each', () => {
    expect(
      readdirSync(new URL('../../examples', import.meta.url))
        .filter((name) => name.endsWith('.mjs'))
        .sort(),
    ).toStrictEqual(
      [
        ...Object.keys(looks),
        'from-d9d.mjs',
        'from-track.mjs',
        'many-processes.mjs',
        'own-store.mjs',
        'resume.mjs',
        'tfjs-resume.mjs',
      ].sort(),
    );
  });
});
