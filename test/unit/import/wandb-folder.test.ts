/** Folders that W&B writes: a run each, whatever lies in them. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { importText } from '../../support/imported.ts';

const FIXTURE = new Uint8Array(
  readFileSync(new URL('../../fixtures/wandb/run-abc123.wandb', import.meta.url)),
);

function runFolder(name: string, id: string): Record<string, string | Uint8Array<ArrayBuffer>> {
  const folder = `wandb/${name}-${id}`;
  return {
    [`${folder}/files/config.yaml`]:
      'wandb_version: 1\n\nlr:\n  desc: null\n  value: 0.1\nwidth:\n  value: 64\n_wandb:\n  value: {}\n',
    [`${folder}/files/wandb-summary.json`]: '{"loss": 0.5, "_step": 20, "_timestamp": 1700000020}',
    [`${folder}/files/wandb-metadata.json`]:
      '{"host": "node-1", "startedAt": "2024-01-02T03:04:05Z"}',
    [`${folder}/files/output.log`]: 'step=10 loss=1.5\nstep=20 loss=0.5\n',
    [`${folder}/files/requirements.txt`]: 'numpy==1.26.0\ntorch==2.2.0\n',
    [`${folder}/files/media/table.json`]: '[{"step": 1, "loss": 2}]',
    [`${folder}/logs/debug.log`]:
      '2024-01-02 03:04:05,123 INFO MainThread:1 [wandb_init.py] step=1 loss=3\n',
    [`${folder}/logs/debug-internal.log`]:
      '{"time":"2024-01-02T03:04:05Z","level":"INFO","step":1,"loss":2}\n{"step":2}\n',
  };
}

test('three runs are three runs: the .wandb file of each, and the files beside it', async () => {
  const names = ['run-20240102_030405', 'run-20240102_040405', 'offline-run-20240102_050405'];
  const files: Record<string, string | Uint8Array<ArrayBuffer>> = {
    'wandb/debug.log': '2024-01-02 INFO step=1 loss=3\n',
    'wandb/debug-internal.log': '{"step": 1, "loss": 2}\n{"step": 2, "loss": 1}\n',
  };
  for (const [i, name] of names.entries()) {
    Object.assign(files, runFolder(name, `abc12${i}`));
    files[`wandb/${name}-abc12${i}/run-abc12${i}.wandb`] = FIXTURE;
  }
  const { report, runs } = await importText(files);
  expect(report.unknownFiles).toEqual([]);
  expect(report.runs.map(({ format }) => format)).toEqual(['wandb', 'wandb', 'wandb']);
  expect(report.problems.every(({ reason }) => reason.includes('image-file'))).toBe(true);
  for (const { metrics, reader } of runs) {
    expect(metrics['train/loss']?.map(([step, , value]) => [step, value])).toEqual([
      [0, 4],
      [1, 2],
      [2, Number.NaN],
      [3, 1],
    ]);
    expect(reader.run.config).toMatchObject({ width: 64, model: { depth: 3 } });
  }
});

test('without its .wandb file a run has its settings, its summary, and what was printed', async () => {
  const { report, runs } = await importText(runFolder('run-20240102_030405', 'xyz'));
  expect([report.unknownFiles, report.problems]).toEqual([
    [expect.stringContaining('table')].slice(1),
    [],
  ]);
  const run = runs.find(({ name }) => name === 'xyz');
  expect(run?.metrics).toEqual({
    'train/loss': [
      [10, null, 1.5],
      [20, null, 0.5],
    ],
    'summary/loss': [[20, null, 0.5]],
  });
  expect(run?.reader.run).toMatchObject({
    config: { lr: 0.1, width: 64 },
    environment: { wandb: { host: 'node-1' } },
  });
});
