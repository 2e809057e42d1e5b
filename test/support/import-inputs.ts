/** A valid input of every format, small, for campaigns of mutations. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import Database from 'libsql';
import {
  exportMetricsArrow,
  exportQuark,
  exportTableArrow,
  exportTableCsv,
  exportTableJsonLines,
  exportTableParquet,
  exportTensorBoard,
} from '../../src/exchange.ts';
import { TABLES } from '../../src/records/tables.ts';
import type { RunReader } from '../../src/read/run-reader.ts';
import { pickleBytes } from '../fixtures/pickles.ts';
import type { Files } from './mutations.ts';
import { bytesOf, recordRun, validBatch } from './recorded-run.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures/', import.meta.url));
const T = 1_700_000_000_000;

const fixture = (path: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(readFileSync(join(FIXTURES, path)));

/** Inputs by the format that has to claim them. */
export async function importInputs(): Promise<
  readonly (readonly [format: string, files: Files])[]
> {
  const run = await recordRun(
    ['metrics', 'events', 'parameter_distributions'].map((name) => {
      const table = TABLES.get(name);
      if (table === undefined) throw new Error(name);
      return [name, fc.sample(validBatch(table, 20), { numRuns: 2, seed: 5 })] as const;
    }),
  );
  return [...texts(), ...(await binaries(run))];
}

function texts(): (readonly [string, Files])[] {
  const rows = Array.from({ length: 12 }, (_, step) => ({
    step,
    epoch: step / 4,
    loss: 3 / (step + 1),
    lr: 1e-3,
  }));
  return [
    [
      'hugging_face_trainer',
      {
        'run/trainer_state.json': JSON.stringify({
          best_metric: null,
          global_step: 12,
          log_history: [
            ...rows,
            { step: 12, epoch: 3, eval_loss: 0.5, eval_runtime: 1 },
            { step: 12, train_runtime: 9, train_loss: 1 },
          ],
        }).replace('1e-7', 'NaN'),
      },
    ],
    [
      'csv',
      {
        'a/metrics.csv': `epoch,step,train_loss,val_loss\n${rows.map(({ step, loss }) => `${step >> 2},${step},${loss},${step % 4 === 3 ? loss : ''}`).join('\n')}\n`,
        'a/hparams.yaml': 'lr: 0.1\nopt: {name: sgd, betas: [0.9, 0.99]}\n',
      },
    ],
    ['csv', { 'b.csv': '"step";"loss"\r\n1;"0,5"\r\n2;nan\r\n1;inf\r\n"3";"a\nb"\r\n' }],
    ['json_lines', { 'log.jsonl': rows.map((row) => JSON.stringify(row)).join('\n') }],
    [
      'json',
      {
        'history.json': JSON.stringify({
          loss: rows.map(({ loss }) => loss),
          val_loss: rows.map(({ lr }) => lr),
        }),
      },
    ],
    ['json', { 'rows.json': JSON.stringify(rows) }],
    [
      'text_log',
      {
        'train.log': `  lr ........ 0.1\n${rows.map(({ step, loss }) => ` [2024-01-02 03:04:05] iteration ${step * 10}/    1000 | consumed samples:    ${step} | learning rate: 1.5E-04 | lm loss: ${loss} | grad norm: nan |`).join('\n')}\n`,
      },
    ],
    [
      'text_log',
      {
        'out.txt':
          'Epoch 1/2\n938/938 [====] - 3s 3ms/step - loss: 0.5 - val_loss: 0.25\nstep=1 loss=0.5 acc: 0.25\nstep=2 loss=tensor(0.4) acc: nan\n',
      },
    ],
    [
      'text_log',
      {
        'xgb.log': `${rows.map(({ step, loss }) => `[${step}]\ttrain-rmse:${loss}+0.1\teval-ndcg@5-:${loss}`).join('\n')}\nStopping. Best iteration:\n[3]\ttrain-rmse:0.1\n[1]\ttraining's l2: 0.5\tcv_agg's valid l2: 0.4 + 0.1\n0:\tlearn: 0.6\ttest: 0.5\tbest: 0.5 (0)\ttotal: 1ms\n`,
      },
    ],
    [
      'text_log',
      {
        'ppo.log': rows
          .map(
            ({ step, loss }) =>
              `----------------------------\n| rollout/        |        |\n|    ep_rew_mean  | ${loss}    |\n| total_timesteps | ${step}   |\n----------------------------\nepoch  train_loss  valid_loss  accuracy\n${step}  ${loss}  No log  0.5\n`,
          )
          .join(''),
      },
    ],
    [
      'notebook',
      {
        'a.ipynb': JSON.stringify({
          cells: [
            {
              cell_type: 'code',
              outputs: [
                {
                  output_type: 'stream',
                  name: 'stdout',
                  text: rows.map(
                    ({ loss }, i) => `Epoch ${i + 1}/12\n9/9 [==] - 1s - loss: ${loss}\n`,
                  ),
                },
                {
                  output_type: 'display_data',
                  data: {
                    'text/html': `<table><tr><th>Step</th><th>Training Loss</th></tr>${rows.map(({ loss, step }) => `<tr><td>${step}</td><td>${loss}</td></tr>`).join('')}</table>`,
                  },
                },
                { output_type: 'error', ename: 'E', evalue: 'x', traceback: ['a'] },
              ],
            },
          ],
          metadata: { kernelspec: { display_name: 'Python 3' } },
          nbformat: 4,
        }),
      },
    ],
    [
      'catboost',
      {
        'catboost_info/catboost_training.json': `{"meta":{"test_sets":["test"],"test_metrics":[{"name":"Logloss"}],"learn_metrics":[{"name":"Logloss"}],"learn_sets":["learn"]},"iterations":[${rows.map(({ loss, step }) => `{"learn":[${loss}],"iteration":${step},"test":[${loss}]}`).join(',')}]}`,
        'catboost_info/learn_error.tsv': 'iter\tLogloss\n0\t0.5\n',
      },
    ],
    ['catboost', { 'learn_error.tsv': 'iter\tLogloss\n0\t0.5\n1\t0.4\n' }],
    [
      'monitor',
      {
        'm/0.monitor.csv':
          '#{"t_start": 1609459200.5, "env_id": "x"}\nr,l,t\n1.5,10,0.5\n2.5,20,1.5\n',
        'm/1.monitor.csv': '#{"t_start": 1609459200.5, "env_id": "x"}\nr,l,t\n1.5,10,0.7\n',
      },
    ],
    ['pickle', { 'history.pkl': pickleBytes('plain 4') }],
    ['pickle', { 'old.pkl': pickleBytes('arrays 0') }],
    [
      'ray',
      {
        'r/result.json': rows
          .map(({ loss, step }) =>
            JSON.stringify({
              a: { loss },
              training_iteration: step,
              trial_id: 'x',
              timesteps_total: step * 10,
            }),
          )
          .join('\n'),
        'r/params.json': '{"lr": 0.1}',
      },
    ],
    [
      'mlflow',
      {
        'mlruns/1/meta.yaml': "experiment_id: '1'\nname: digits\n",
        'mlruns/1/r/meta.yaml': `run_id: r\nrun_name: x\nstart_time: ${T}\nstatus: 3\n`,
        'mlruns/1/r/metrics/loss': `${T} 2.5 0\n${T} nan 10\n${T} 1.5 20\n`,
        'mlruns/1/r/params/lr': '0.1',
        'mlruns/1/r/tags/mlflow.runName': 'x',
      },
    ],
    [
      'dvclive',
      {
        'dvclive/plots/metrics/loss.tsv': `timestamp\tstep\tloss\n${T}\t0\t2.5\n${T}\t1\tnan\n`,
        'dvclive/metrics.json': '{\n    "loss": 1.5,\n    "step": 2\n}',
        'dvclive/params.yaml': 'lr: 0.1\n',
      },
    ],
    [
      'sacred',
      {
        's/run.json':
          '{"experiment": {"name": "digits"}, "start_time": "2024-01-02T03:04:05", "heartbeat": null, "status": "FAILED"}',
        's/config.json': '{"lr": 0.1}',
        's/metrics.json':
          '{"loss": {"steps": [1, 2], "timestamps": ["2024-01-02T03:04:06", "x"], "values": [2.5, NaN]}}',
      },
    ],
    [
      'track',
      {
        'track.json':
          '[{"dtype": "project", "uid": "p", "name": "p", "trials": [{"dtype": "trial", "uid": "u", "name": "first", "parameters": {"lr": 0.1}, "metrics": {"loss": {"0": 2.5, "1": NaN}}, "chronos": {"runtime": 12.5}, "errors": ["boom"], "status": {"value": 302, "name": "Completed"}}], "groups": []}]',
      },
    ],
    [
      'quark_profiler',
      {
        'out/profile.yaml':
          '# Quark Profiling Results\n\nmemory_usage:\n- step: "Start"\n  timestamp: 1709395200.125\n  relative_time_secs: 0.0\n  cpu_memory_mb: 150.5\n',
      },
    ],
    [
      'text_log',
      {
        'log_rank0.txt': rows
          .map(
            ({ step, loss }) =>
              `[2024-01-02 03:04:05 swin](main.py 1): INFO Train: [${step >> 2}/3][${step % 4}/4]\teta 0:01:00 lr 0.1\t loss ${loss} (1.0)\n| epoch   1 |   ${step}/ 12 batches | lr 0.1 | loss ${loss} | ppl 9\nepoch 001:  ${step} / 12 loss=${loss}, num_updates=${step}\nTest: [ 1/2]\tLoss 1.0 (${loss})\nround ${step} => loss is ${loss}`,
          )
          .join('\n'),
      },
    ],
    [
      'json',
      {
        'progress.json': JSON.stringify({
          train_losses: rows.map(({ loss }) => -loss),
          dice_per_class_or_region: rows.map(({ loss }) => [loss, loss / 2]),
          epoch_end_timestamps: rows.map(({ step }) => T / 1000 + step),
        }),
      },
    ],
    [
      'comet',
      {
        'w/p/e/metrics.jsonl': rows
          .map(({ step, loss }) =>
            JSON.stringify({
              metricName: 'loss',
              metricValue: String(loss),
              timestamp: T + step,
              step,
              epoch: null,
              runContext: 'train',
            }),
          )
          .join('\n'),
        'w/p/e/metadata.json': '{"experimentKey": "k", "experimentName": "e", "projectName": "p"}',
        'w/p/e/parameters.json': '[{"name": "lr", "valueCurrent": "0.1"}]',
      },
    ],
    [
      'clearml',
      {
        'scalars.json': JSON.stringify({
          loss: { train: { x: rows.map(({ step }) => step), y: rows.map(({ loss }) => loss) } },
        }),
      },
    ],
    [
      'aim',
      {
        'aim.csv': `,idx,step,value,epoch,time,run.hash,run.lr,metric.name,metric.context.subset\n${rows.map(({ step, loss }) => `${step},${step},${step},${loss},0,2024-01-02 03:04:05,abc,"0.1",loss,train`).join('\n')}\n`,
      },
    ],
    [
      'wandb',
      {
        'wandb/run-20240102_030405-a1/files/config.yaml': 'lr:\n  value: 0.1\n',
        'wandb/run-20240102_030405-a1/files/wandb-summary.json': '{"loss": 0.5, "_step": 2}',
        'wandb/run-20240102_030405-a1/files/output.log': 'step=1 loss=2\nstep=2 loss=1\n',
      },
    ],
    [
      'wandb_legacy',
      {
        'wandb/wandb-history.jsonl': rows
          .map(
            ({ step, loss }) =>
              `{"_step": ${step}, "_timestamp": ${T / 1000 + step}, "loss": ${loss}}`,
          )
          .join('\n'),
        'wandb/wandb-summary.json': '{"loss": 0.5}',
        'wandb/wandb-metadata.json': '{"host": "h", "program": "train.py"}',
        'wandb/config.yaml': 'lr:\n  desc: null\n  value: 0.1\n',
      },
    ],
  ];
}

async function binaries(run: RunReader): Promise<(readonly [string, Files])[]> {
  const events = readdirSync(join(FIXTURES, 'tensorboard')).filter((name) => !name.includes('.'));
  const table = async (name: 'metrics' | 'events' | 'parameter_distributions') =>
    [name, await bytesOf(exportTableParquet(run, name))] as const;
  const count = Array.from({ length: 40 }, (_, i) => i);
  return [
    ...events.map((name): readonly [string, Files] => [
      'tensorboard',
      {
        [`${name}/events.out.tfevents.1700000000.host`]: fixture(
          `tensorboard/${name}/events.out.tfevents.1700000000.host`,
        ),
      },
    ]),
    ['tensorboard', { 'own/events.out.tfevents.1.x': await bytesOf(exportTensorBoard(run)) }],
    ['wandb', { 'run-abc123.wandb': fixture('wandb/run-abc123.wandb') }],
    ['trackio', { 'demo.db': trackio() }],
    ['quark_arrow', { 'metrics.arrow': await bytesOf(exportMetricsArrow(run)) }],
    ['quark_arrow', { 'x/events.arrow': await bytesOf(exportTableArrow(run, 'events')) }],
    [
      'quark_arrow',
      {
        'x/parameter_distributions.arrow': await bytesOf(
          exportTableArrow(run, 'parameter_distributions'),
        ),
      },
    ],
    ['csv', { 'own.csv': await bytesOf(exportTableCsv(run, 'metrics')) }],
    ['json_lines', { 'own.jsonl': await bytesOf(exportTableJsonLines(run, 'metrics')) }],
    [
      'parquet',
      Object.fromEntries(
        (await Promise.all([table('metrics'), table('events')])).map(([name, bytes]) => [
          `p/${name}.parquet`,
          bytes,
        ]),
      ),
    ],
    [
      'parquet',
      { 'p/parameter_distributions.parquet': (await table('parameter_distributions'))[1] },
    ],
    ...(['UNCOMPRESSED', 'SNAPPY', 'GZIP'] as const).map((codec): readonly [string, Files] => [
      'parquet',
      {
        [`${codec}.parquet`]: new Uint8Array(
          parquetWriteBuffer({
            codec,
            compressors: { GZIP: (bytes) => new Uint8Array(gzipSync(bytes)) },
            columnData: [
              { name: 'step', data: count, type: 'INT32', encoding: 'DELTA_BINARY_PACKED' },
              {
                name: 'loss',
                data: count.map((i) => i / 7),
                type: 'DOUBLE',
                encoding: 'BYTE_STREAM_SPLIT',
              },
              {
                name: 'mode',
                data: count.map((i) => `m${i % 3}`),
                type: 'STRING',
                encoding: 'DELTA_BYTE_ARRAY',
              },
              { name: 'acc', data: count.map((i) => (i % 4 === 0 ? null : i / 3)), type: 'DOUBLE' },
            ],
          }),
        ),
      },
    ]),
    ['parquet', { 'n/RUN-1_part_0.parquet': neptune() }],
    ['quark', { 'run.quark': await bytesOf(exportQuark(run)) }],
  ];
}

/** A part of Neptune's exporter. */
function neptune(): Uint8Array<ArrayBuffer> {
  const count = Array.from({ length: 20 }, (_, i) => i);
  return new Uint8Array(
    parquetWriteBuffer({
      columnData: [
        { name: 'project_id', data: count.map(() => 'team/vision'), type: 'STRING' },
        { name: 'run_id', data: count.map(() => 'RUN-1'), type: 'STRING' },
        { name: 'attribute_path', data: count.map((i) => `a/m${i % 2}`), type: 'STRING' },
        {
          name: 'attribute_type',
          data: count.map((i) => (i < 18 ? 'float_series' : 'float')),
          type: 'STRING',
        },
        { name: 'step', data: count, type: 'INT32' },
        { name: 'float_value', data: count.map((i) => i / 7), type: 'DOUBLE' },
      ],
    }),
  );
}

function trackio(): Uint8Array<ArrayBuffer> {
  const folder = mkdtempSync(join(tmpdir(), 'quark-inputs-'));
  try {
    const path = join(folder, 'demo.db');
    const database = new Database(path);
    database.exec(
      'PRAGMA journal_mode = delete; PRAGMA page_size = 512; CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT); CREATE TABLE configs (id INTEGER PRIMARY KEY, run_name TEXT, config TEXT, created_at TEXT);',
    );
    const insert = database.prepare(
      'INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?)',
    );
    for (let i = 0; i < 30; i++)
      insert.run([
        `2026-01-02T03:04:${10 + i}`,
        `run${i % 2}`,
        i,
        `{"loss": ${1 / (i + 1)}, "note": "${'x'.repeat(i * 3)}"}`,
      ]);
    database.exec(
      `INSERT INTO configs (run_name, config, created_at) VALUES ('run0', '{"lr": 0.1}', '2026')`,
    );
    database.close();
    return new Uint8Array(readFileSync(path));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
