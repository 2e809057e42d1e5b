import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { importText } from '../../../support/imported.ts';
import { damaged, type Files } from '../../../support/mutations.ts';
import { runs as settings } from '../../../support/property.ts';

const T = 1_700_000_000_000;
const RUN = 'mlruns/12/0123456789abcdef0123456789abcdef';
const STORE: Files = {
  'mlruns/12/meta.yaml': `artifact_location: file:///x/mlruns/12\nexperiment_id: '12'\nlifecycle_stage: active\nname: digits\n`,
  [`${RUN}/meta.yaml`]: `artifact_uri: file:///x\nend_time: ${T + 5000}\nentry_point_name: ''\nexperiment_id: '12'\nlifecycle_stage: active\nrun_id: 0123456789abcdef0123456789abcdef\nrun_name: quick-fox-1\nrun_uuid: 0123456789abcdef0123456789abcdef\nsource_type: 4\nstart_time: ${T}\nstatus: 4\ntags: []\nuser_id: me\n`,
  [`${RUN}/metrics/loss`]: `${T + 1} 2.5 0\n${T + 2} nan 10\n${T + 3} 1.5 10\n`,
  [`${RUN}/metrics/val/deep/loss`]: `${T + 1} 3 0\n${T + 2} 2 0\n${T + 3} Infinity 0\n`,
  [`${RUN}/metrics/once`]: `${T + 1} 7 0\n`,
  [`${RUN}/params/lr`]: '0.001',
  [`${RUN}/params/layers`]: '[64, 32]',
  [`${RUN}/params/version`]: '007',
  [`${RUN}/params/none`]: 'None',
  [`${RUN}/tags/mlflow.source.name`]: 'train.py\n',
};

describe('an MLflow file store', () => {
  test('gives runs with metrics in nested folders, parameters, tags, times and status', async () => {
    const { report, runs } = await importText({
      ...STORE,
      [`${RUN}/artifacts/model.bin`]: '\u0000',
      [`${RUN}/artifacts/eval/metrics.csv`]: 'step,loss\n1,2\n2,3\n',
    });
    expect(report.problems).toEqual([
      { file: `${RUN}/artifacts`, place: null, reason: 'Artifacts are left out: 2 of them.' },
    ]);
    expect(report.unknownFiles).toEqual([]);
    // A table among the artifacts is no run.
    expect(report.runs).toHaveLength(1);
    expect(report.runs).toMatchObject([
      { name: 'quick-fox-1', project: 'digits', format: 'mlflow' },
    ]);
    const [run] = runs;
    expect(run?.metrics).toEqual({
      'train/loss': [
        [0, null, 2.5],
        [10, null, Number.NaN],
        [10, null, 1.5],
      ],
      // All steps are 0: whoever logged gave none, and the order is what counts.
      'val/deep/loss': [
        [0, null, 3],
        [1, null, 2],
        [2, null, Infinity],
      ],
      once: [[0, null, 7]],
    });
    expect(run?.times['train/loss']).toEqual([T + 1, T + 2, T + 3]);
    expect(run?.reader.run).toMatchObject({
      status: 'failed',
      startedAt: new Date(T).toISOString(),
      config: { lr: 0.001, layers: '[64, 32]', version: '007', none: null },
      environment: { mlflow: { user_id: 'me', tags: { 'mlflow.source.name': 'train.py' } } },
    });
  });

  test('may be one run alone, without the experiment, or metrics without anything', async () => {
    const one = await importText({
      'meta.yaml': 'run_id: abc\nstatus: FINISHED\n',
      'metrics/loss': `${T} 1 1\n`,
      'params/lr': '1',
    });
    expect(one.report.runs).toMatchObject([{ name: 'abc', rowCount: 1 }]);
    const bare = await importText({
      'x/metrics/loss': `${T} 1 1\n${T} 2 2\n`,
      'x/metrics/acc': `${T} 0.5 1\n`,
    });
    expect(bare.report.runs).toMatchObject([{ name: 'x', rowCount: 3 }]);
  });

  test('reports lines that are no samples, and reads the others', async () => {
    const { report, runs } = await importText({
      ...STORE,
      [`${RUN}/metrics/loss`]: `${T} 1 1\nx\n${T} abc 2\n${T} 3 99999999999999999999\n${T} 4`,
    });
    expect(report.problems.map(({ place }) => place)).toEqual(['line 2', 'line 3', null]);
    expect(runs[0]?.metrics['train/loss']?.map(([, , value]) => value)).toEqual([1, 3, 4]);
  });

  test('of many runs: each by itself', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [
        [`mlruns/0/run${i}/meta.yaml`, `run_id: run${i}\n`],
        [`mlruns/0/run${i}/metrics/loss`, `${T} ${i} 0\n`],
      ]).flat(),
    );
    const { runs } = await importText({
      'mlruns/0/meta.yaml': "experiment_id: '0'\nname: Default\n",
      ...many,
    });
    expect(runs.map(({ metrics }) => metrics['train/loss']?.[0]?.[2])).toEqual(
      Array.from({ length: 20 }, (_, i) => i),
    );
  });

  test('whatever is damaged in it, an import ends', async () => {
    await fc.assert(
      fc.asyncProperty(damaged([STORE]), async (files) => {
        expect(await importText(files)).toHaveProperty('report');
      }),
      settings(800),
    );
  }, 240_000);
});
