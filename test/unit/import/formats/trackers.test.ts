/** Formats of trackers that write folders or files of their own: DVCLive, Sacred, Track, AMD Quark's profiler, W&B's old files. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readProfiles } from 'quark-sdk/profiler';
import { importText } from '../../../support/imported.ts';
import { damaged, type Files } from '../../../support/mutations.ts';
import { runs as settings } from '../../../support/property.ts';

const T = 1_700_000_000_000;
const NAN = Number.NaN;

const DVCLIVE: Files = {
  'exp/dvclive/plots/metrics/train/loss.tsv': `timestamp\tstep\tloss\n${T}\t0\t2.5\n${T + 1}\t1\tnan\ntimestamp\tstep\tloss\n${T + 2}\t1\t1.5\nx\n`,
  'exp/dvclive/plots/metrics/acc.tsv': 'step\tacc\n0\t0.5\n1\t\n2\tinf\n',
  'exp/dvclive/metrics.json':
    '{\n    "train": {\n        "loss": 1.5\n    },\n    "acc": 0.5,\n    "test": {"f1": NaN},\n    "step": 2\n}',
  'exp/dvclive/params.yaml': 'lr: 0.1\nopt:\n  name: sgd\n',
};

const SACRED: Files = {
  'runs/7/run.json': `{"experiment": {"name": "digits", "repositories": []}, "host": {"hostname": "h"}, "start_time": "2024-01-02T03:04:05.500000", "stop_time": "2024-01-02T03:05:05", "heartbeat": null, "status": "FAILED", "result": 0.75, "fail_trace": ["Traceback", "Error: x"]}`,
  'runs/7/config.json': '{"lr": 0.1, "seed": 42}',
  'runs/7/metrics.json':
    '{"training.loss": {"steps": [10, 20, null], "timestamps": ["2024-01-02T03:04:06", "2024-01-02T03:04:07", "x"], "values": [2.5, {"dtype": "float64", "value": 1.5}, NaN]}, "odd": {"steps": [1], "values": ["a"]}, "none": 3}',
  'runs/7/cout.txt': 'hello\n',
};

const TRACK: Files = {
  'track.json': `[{"dtype": "project", "uid": "p", "name": "p", "trials": [
    {"dtype": "trial", "uid": "u_0", "name": "first", "tags": {"workers": 8, "gpu": null}, "group_id": "g1", "parameters": {"lr": 0.1, "optimizer": {"name": "sgd"}},
     "metadata": {"gpu": "V100"}, "metrics": {"epoch_loss": {"0": 2.5, "1": NaN, "1": 1.5}, "accuracy": [0.5, 0.75, [9, 0.875], "x"]},
     "chronos": {"runtime": 12.5, "batch": {"dtype": "statstream", "sum": 4.0, "sum_sqr": 10.0, "first_obs": 1.0, "min": 1.0, "max": 10.0, "current_count": 4, "current_obs": 3.0, "drop_obs": 1},
                 "empty": {"dtype": "statstream", "sum": 0, "sum_sqr": 0, "first_obs": 0, "min": Infinity, "max": -Infinity, "current_count": 0, "drop_obs": 1}},
     "errors": ["boom"], "status": {"value": 302, "name": "Completed"}},
    {"dtype": "trial", "uid": "u_1", "metrics": {}, "status": {"value": 201, "name": "Interrupted"}}, 7],
   "groups": [{"dtype": "trial_group", "uid": "g1", "name": "idea", "trials": ["u_0"]}]}, {"no": 1}]`,
};

const PROFILE: Files = {
  'out/profile.yaml': `# Quark Profiling Results

memory_usage:
- step: "Start"
  timestamp: 1709395200.125
  relative_time_secs: 0.0
  cpu_memory_mb: 150.5
- step: "Load "big" model Start"
  timestamp: 1709395201.5
  relative_time_secs: 1.375
  cpu_memory_mb: 2048.0
  gpu_memory_mb: 1024.5

# Summary Metrics
total_quantization_time_seconds: 1.5
gpu_peak_memory_mb: 1024.5
`,
};

const WANDB: Files = {
  'wandb/run-20240102_030405-abc123/wandb-history.jsonl': `{"loss": 2.5, "epoch": 0, "_runtime": 1.5, "_timestamp": ${T / 1000}, "_step": 0, "hist": {"_type": "histogram", "values": [1], "bins": [0, 1]}}\n{"loss": "NaN", "nested": {"a": "Infinity"}, "epoch": 0.5, "_timestamp": ${T / 1000 + 1}, "_step": 1}\n`,
  'wandb/run-20240102_030405-abc123/wandb-events.jsonl': `{"system.cpu": 12.5, "_wandb": true, "_timestamp": ${T / 1000}, "_runtime": 1}\n`,
  'wandb/run-20240102_030405-abc123/wandb-summary.json': `{"loss": NaN, "best": {"acc": 0.5}, "_step": 1, "_timestamp": ${T / 1000 + 1}}`,
  'wandb/run-20240102_030405-abc123/wandb-metadata.json':
    '{"os": "Linux", "git": {"commit": "f00"}}',
  'wandb/run-20240102_030405-abc123/config.yaml':
    'wandb_version: 1\n\n_wandb:\n  desc: null\n  value:\n    cli_version: 0.8\nlr:\n  desc: null\n  value: 0.001\nlayers:\n  desc: null\n  value:\n  - 1\n  - 2\n',
};

describe('DVCLive', () => {
  test('gives a run: tables, what only the summary has, parameters', async () => {
    const { report, runs } = await importText(DVCLIVE);
    expect(report.unknownFiles).toEqual([]);
    expect(report.problems.map(({ place }) => place)).toEqual(['line 6']);
    expect(report.runs).toMatchObject([{ name: 'exp', format: 'dvclive' }]);
    expect(runs[0]?.metrics).toEqual({
      'train/loss': [
        [0, null, 2.5],
        [1, null, NAN],
        [1, null, 1.5],
      ],
      'train/accuracy': [
        [0, null, 0.5],
        [2, null, Infinity],
      ],
      'test/f1': [[2, null, NAN]],
    });
    expect(runs[0]?.times['train/loss']).toEqual([T, T + 1, T + 2]);
    expect(runs[0]?.reader.run.config).toEqual({ lr: 0.1, opt: { name: 'sgd' } });
  });

  test('of before version 1 has its tables in scalars', async () => {
    const { report } = await importText({
      'dvclive/scalars/loss.tsv': 'timestamp\tstep\tloss\n1\t0\t2\n',
    });
    expect(report.runs).toMatchObject([{ format: 'dvclive', rowCount: 1 }]);
  });
});

describe('Sacred', () => {
  test('gives a run with metrics, settings, the end it came to and what it printed', async () => {
    const { report, runs } = await importText(SACRED);
    expect(report.unknownFiles).toEqual([]);
    expect(report.problems.map(({ place }) => place)).toEqual(['metric "odd"', 'metric "none"']);
    const [run] = runs;
    expect(report.runs).toMatchObject([{ name: 'digits 7', project: 'digits', format: 'sacred' }]);
    expect(run?.metrics).toEqual({
      'train/loss': [
        [10, null, 2.5],
        [20, null, 1.5],
        [21, null, NAN],
      ],
      'summary/result': [[0, null, 0.75]],
    });
    expect(run?.times['train/loss']?.[1]).toBe(Date.UTC(2024, 0, 2, 3, 4, 7));
    expect(run?.reader.run).toMatchObject({
      status: 'failed',
      config: { lr: 0.1, seed: 42 },
      environment: { sacred: { host: { hostname: 'h' } } },
    });
    const events = await run?.reader.readEvents();
    expect(events?.map(({ eventType, payload }) => [eventType, payload])).toEqual([
      ['run_failed', { trace: ['Traceback', 'Error: x'] }],
    ]);
  });
});

describe('Track', () => {
  test('gives a run for each trial', async () => {
    const { report, runs } = await importText(TRACK);
    expect(report.problems.map(({ place }) => place)).toEqual([
      '[0].trials[0].metrics.accuracy',
      '[0].trials[2]',
      '[1]',
    ]);
    expect(report.runs.map(({ name, project }) => [name, project])).toEqual([
      ['first', 'p'],
      ['u_1', 'p'],
    ]);
    const [first, second] = runs;
    expect(first?.metrics).toMatchObject({
      epoch_loss: [
        [0, null, 2.5],
        // A step that was logged again after the file was read back is there twice: the last counts.
        [1, null, 1.5],
      ],
      'train/accuracy': [
        [0, null, 0.5],
        [1, null, 0.75],
        [9, null, 0.875],
      ],
      'chronos/runtime': [[0, null, 12.5]],
      'chronos/batch/count': [[0, null, 3]],
      'chronos/batch/total': [[0, null, 7]],
      'chronos/batch/max': [[0, null, 10]],
    });
    expect(first?.metrics['chronos/batch/avg']?.[0]?.[2]).toBeCloseTo(7 / 3, 12);
    expect(first?.metrics['chronos/batch/sd']?.[0]?.[2]).toBeCloseTo(1.2472191289246473, 12);
    expect(first?.metrics['chronos/empty/min']).toBeUndefined();
    expect(first?.reader.run).toMatchObject({
      status: 'completed',
      config: { lr: 0.1, optimizer: { name: 'sgd' } },
      tags: ['track', 'idea', 'workers=8', 'gpu'],
    });
    expect(second?.reader.run.status).toBe('interrupted');
  });
});

describe('what Track prints', () => {
  const report = (chronos: object): Files => ({
    'report.json': JSON.stringify({
      revision: 1,
      name: 'final_trial_2',
      description: 'almost graduating',
      version: 'a8c3',
      tags: { workers: 8, hpo: 'byopt' },
      parameters: { batch_size: 32, lr: 0.1 },
      metadata: {},
      metrics: { epoch_loss: { 0: 2.25, 1: 2.5 } },
      chronos,
      errors: [],
      status: { value: 302, name: 'Completed' },
    }),
  });

  test('is a run, with the short form of its chronos', async () => {
    const { report: done, runs } = await importText(
      report({
        runtime: 3142.5,
        batch_time: { avg: 0.5, min: 0.25, max: 445.5, sd: 12.5, count: 3751, unit: 's' },
      }),
    );
    expect(done.problems).toEqual([]);
    expect(runs).toHaveLength(1);
    expect(runs[0]?.name).toBe('final_trial_2');
    expect(runs[0]?.reader.run).toMatchObject({
      config: { batch_size: 32, lr: 0.1 },
      tags: ['track', 'workers=8', 'hpo=byopt'],
    });
    expect(runs[0]?.reader.effectiveStatus).toBe('completed');
    expect(runs[0]?.metrics).toEqual({
      epoch_loss: [
        [0, null, 2.25],
        [1, null, 2.5],
      ],
      'chronos/runtime': [[0, null, 3142.5]],
      'chronos/batch_time/count': [[0, null, 3751]],
      'chronos/batch_time/avg': [[0, null, 0.5]],
      'chronos/batch_time/sd': [[0, null, 12.5]],
      'chronos/batch_time/min': [[0, null, 0.25]],
      'chronos/batch_time/max': [[0, null, 445.5]],
      'chronos/batch_time/total': [[0, null, 1875.5]],
    });
  });

  test('without a unit has the sum under the name count; of nothing there is no extreme', async () => {
    const { runs } = await importText(
      report({
        step: { avg: 0.5, min: 0.25, max: 1, sd: 0.1, count: 6 },
        never: { avg: 0, min: 'Infinity', max: '-Infinity', sd: 0, count: 0, unit: 's' },
      }),
    );
    const { metrics } = runs[0] ?? expect.fail();
    expect(metrics['chronos/step/count']).toEqual([[0, null, 12]]);
    expect(metrics['chronos/step/total']).toEqual([[0, null, 6]]);
    expect(metrics['chronos/never/count']).toEqual([[0, null, 0]]);
    expect(metrics).not.toHaveProperty('chronos/never/min');
  });
});

describe('a profile that was imported', () => {
  const fixture = (name: string): string =>
    readFileSync(
      fileURLToPath(new URL(`../../../fixtures/quark-profiler/${name}.yaml`, import.meta.url)),
      'utf8',
    );

  test.each(['full', 'docs_key_variant'])('has its scopes, in bytes: %s', async (name) => {
    const { runs } = await importText({ [`${name}.yaml`]: fixture(name) });
    const [profile] = await readProfiles(runs[0]?.reader ?? expect.fail());
    expect(profile?.scopes).toMatchObject([{ name: 'Model Loading', depth: 0 }]);
    expect(profile?.scopes[0]?.endMs).toBeCloseTo(5666.78, 6);
    expect(profile?.scopes[0]?.peaks).toMatchObject({ rss_bytes: 2048 * 2 ** 20 });
    expect(profile?.summary).toMatchObject({
      total_seconds: 45.7781,
      rss_peak_bytes: Math.round(2051.33 * 2 ** 20),
      gpu_peak_bytes: Math.round(1024.5 * 2 ** 20),
    });
    expect(profile?.endedMs).toBeCloseTo(45_778.1, 6);
  });

  test('of a program that crashed has no end', async () => {
    const { runs } = await importText({ 'crash.yaml': fixture('crashed_no_summary') });
    const [profile] = await readProfiles(runs[0]?.reader ?? expect.fail());
    expect(profile?.endedMs).toBeNull();
    expect(profile?.checkpoints.length).toBeGreaterThan(0);
  });
});

describe("AMD Quark's profiler", () => {
  test('gives checkpoints and the summary, also where a name has quotes in it', async () => {
    const { report, runs } = await importText(PROFILE);
    expect(report.problems.map(({ place }) => place)).toEqual(['line 8']);
    expect(runs[0]?.metrics).toMatchObject({
      'profiler/cpu_memory_mb': [
        [0, null, 150.5],
        [1, null, 2048],
      ],
      'profiler/gpu_memory_mb': [[1, null, 1024.5]],
      // Under the name that the program writes, not that of its documentation.
      'summary/peak_gpu_memory_mb': [[1, null, 1024.5]],
    });
    expect(runs[0]?.times['profiler/cpu_memory_mb']).toEqual([
      1_709_395_200_125, 1_709_395_201_500,
    ]);
    const events = await runs[0]?.reader.readEvents();
    expect(events?.map(({ payload }) => payload)).toMatchObject([
      { name: 'Start' },
      { name: 'Load "big" model Start', values: { rss_bytes: 2 ** 31 } },
      { summary: { total_seconds: 1.5 } },
    ]);
    expect(runs[0]?.reader.run.status).toBe('completed');
  });

  test('without a summary is of a program that was cut off', async () => {
    const text = String(PROFILE['out/profile.yaml']).split('# Summary')[0] ?? '';
    const { runs } = await importText({ 'profile.yaml': text });
    expect(runs[0]?.reader.run.status).toBe('interrupted');
  });
});

describe("W&B's old files", () => {
  test('give a run: history, measures of the machine, summary, settings', async () => {
    const { report, runs } = await importText(WANDB);
    expect(report.problems).toEqual([]);
    expect(report.unknownFiles).toEqual([]);
    expect(report.runs).toMatchObject([{ name: 'abc123', format: 'wandb_legacy' }]);
    expect(runs[0]?.metrics).toEqual({
      'train/loss': [
        [0, 0, 2.5],
        [1, 0, NAN],
      ],
      runtime: [[0, 0, 1.5]],
      'nested/a': [[1, 0, Infinity]],
      'train/epoch': [[1, 0, 0.5]],
      'system.cpu': [[0, null, 12.5]],
      'summary/loss': [[1, null, NAN]],
      'summary/best/acc': [[1, null, 0.5]],
    });
    expect(runs[0]?.times['train/loss']).toEqual([T, T + 1000]);
    expect(runs[0]?.reader.run).toMatchObject({
      config: { lr: 0.001, layers: [1, 2] },
      environment: { wandb: { os: 'Linux', git: { commit: 'f00' } } },
      startedAt: new Date(Math.min(T, Date.UTC(2024, 0, 2, 3, 4, 5))).toISOString(),
    });
  });
});

const formats = fileURLToPath(new URL('../../../../../shared/data/formats/', import.meta.url));

describe.skipIf(!existsSync(formats))(
  'examples of other projects (skipped where ../shared is missing)',
  () => {
    test.each([
      ['amd_quark_profiler/cpu_only.yaml', 'quark_profiler', 0],
      ['amd_quark_profiler/crashed_no_summary.yaml', 'quark_profiler', 0],
      ['amd_quark_profiler/docs_key_variant.yaml', 'quark_profiler', 0],
      ['amd_quark_profiler/full.yaml', 'quark_profiler', 0],
      ['amd_quark_profiler/unescaped_quote_INVALID.yaml', 'quark_profiler', 1],
      ['track/example_store.json', 'track', 0],
      ['track/example_store_nonfinite.json', 'track', 0],
    ])('%s', async (path, format, problems) => {
      const { report } = await importText({
        [path]: new Uint8Array(readFileSync(`${formats}${path}`)),
      });
      expect(report.runs).toMatchObject([{ format }]);
      expect(report.problems).toHaveLength(problems);
      expect(report.runs[0]?.rowCount).toBeGreaterThan(0);
    });
  },
);

test('whatever is damaged in any of them, an import ends', async () => {
  await fc.assert(
    fc.asyncProperty(damaged([DVCLIVE, SACRED, TRACK, PROFILE, WANDB]), async (files) => {
      expect(await importText(files)).toHaveProperty('report');
    }),
    settings(1500),
  );
}, 240_000);
