/** Folders of trackers and what their tools export. */
import { readFileSync } from 'node:fs';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { curve, lines } from './curves.ts';
import { entriesOf, type CollectionEntry } from './entry.ts';

const LOSS = curve(30, { from: 2.3, to: 0.3 });
const VAL = curve(30, { from: 2.4, to: 0.35, seed: 3 });
const T = 1_700_000_000_000;
const at = (values: readonly number[], i: number): number => values[i] ?? 0;
const last = (values: readonly number[]): number => values.at(-1) ?? 0;
const BOTH = ['training loss: train/loss', 'validation loss: val/loss'];
const WANDB = new Uint8Array(
  readFileSync(new URL('../fixtures/wandb/run-abc123.wandb', import.meta.url)),
);

function neptune(run: string, from: number, to: number): Uint8Array<ArrayBuffer> {
  const rows = Array.from({ length: to - from }, (_, j) => from + j).flatMap((i) => [
    { path: 'train/loss', step: i, value: at(LOSS, i) },
    { path: 'val/loss', step: i, value: at(VAL, i) },
  ]);
  return new Uint8Array(
    parquetWriteBuffer({
      columnData: [
        { name: 'project_id', data: rows.map(() => 'team/vision'), type: 'STRING' },
        { name: 'run_id', data: rows.map(() => run), type: 'STRING' },
        { name: 'attribute_path', data: rows.map(({ path }) => path), type: 'STRING' },
        { name: 'attribute_type', data: rows.map(() => 'float_series'), type: 'STRING' },
        { name: 'step', data: rows.map(({ step }) => step), type: 'DOUBLE' },
        { name: 'float_value', data: rows.map(({ value }) => value), type: 'DOUBLE' },
      ],
    }),
  );
}

function cometRows(context: string | null): string {
  const row = (name: string, i: number, value: number, side: string | null): string =>
    JSON.stringify({
      metricName: name,
      metricValue: String(value),
      timestamp: T + i * 1000,
      step: i,
      epoch: null,
      runContext: side,
    });
  return lines(
    30,
    (i) =>
      `${row(context === null ? 'train_loss' : 'loss', i, at(LOSS, i), context)}\n${row(context === null ? 'val_loss' : 'loss', i, at(VAL, i), context === null ? null : 'validate')}`,
  );
}

const steps = LOSS.map((_, i) => i);
const aimRows = (hash: string, side: string, values: readonly number[]): string =>
  values
    .map((value, i) => `${i},${i},${i},${value},0,2024-01-02 03:04:05,${hash},0.1,loss,${side}`)
    .join('\n');
const AIM_HEAD = ',idx,step,value,epoch,time,run.hash,run.lr,metric.name,metric.context.subset';

const wandbFiles = (folder: string): Record<string, string> => ({
  [`${folder}/files/config.yaml`]: 'wandb_version: 1\n\nlr:\n  desc: null\n  value: 0.1\n',
  [`${folder}/files/wandb-summary.json`]: `{"loss": ${last(LOSS)}, "_step": 29, "_timestamp": 1700000020}`,
  [`${folder}/files/wandb-metadata.json`]: '{"host": "node-1"}',
  [`${folder}/files/output.log`]: lines(30, (i) => `step=${i} loss=${at(LOSS, i)}`),
  [`${folder}/files/requirements.txt`]: 'numpy==1.26.0\n',
  [`${folder}/logs/debug.log`]: '2024-01-02 03:04:05,123 INFO step=1 loss=3\n',
  [`${folder}/logs/debug-internal.log`]:
    '{"level":"INFO","step":1,"loss":2}\n{"step":2,"loss":1}\n',
});

export const exported: readonly CollectionEntry[] = [
  ...entriesOf('parquet', [
    {
      name: "Neptune's exporter, a run of two parts",
      make: () => ({
        'exports/data/vision_ab12/RUN-1_part_0.parquet': neptune('RUN-1', 0, 20),
        'exports/data/vision_ab12/RUN-1_part_1.parquet': neptune('RUN-1', 20, 30),
      }),
      series: 2,
      values: 60,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
      at: { 'train/loss': 29 },
      says: BOTH,
    },
    {
      name: "Neptune's exporter, a project of three runs",
      make: () => ({
        'data/p/A_part_0.parquet': neptune('A', 0, 30),
        'data/p/B_part_0.parquet': neptune('B', 0, 30),
        'data/p/C_part_0.parquet': neptune('C', 0, 30),
      }),
      runs: 3,
      series: 6,
      values: 180,
      last: { 'val/loss': last(VAL) },
      says: BOTH,
    },
    {
      name: 'a table of pandas',
      make: () => ({
        'history.parquet': new Uint8Array(
          parquetWriteBuffer({
            columnData: [
              { name: 'step', data: steps, type: 'INT32' },
              { name: 'train_loss', data: LOSS, type: 'DOUBLE' },
              { name: 'val_loss', data: VAL, type: 'DOUBLE' },
            ],
          }),
        ),
      }),
      series: 2,
      values: 60,
      last: { 'train/loss': last(LOSS) },
      says: BOTH,
    },
  ]),
  ...entriesOf('comet', [
    {
      name: 'cometx download, sides as contexts',
      make: () => ({
        'team/digits/calm_river_1/metrics.jsonl': cometRows('train'),
        'team/digits/calm_river_1/metadata.json': `{"experimentKey": "k1", "experimentName": "calm river", "projectName": "digits", "startTimeMillis": ${T}}`,
        'team/digits/calm_river_1/parameters.json': '[{"name": "lr", "valueCurrent": "0.1"}]',
      }),
      series: 2,
      values: 60,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
      at: { 'train/loss': 29 },
      says: BOTH,
    },
    {
      name: 'cometx download, sides in names, alone',
      make: () => ({ 'metrics.jsonl': cometRows(null) }),
      series: 2,
      values: 60,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
      says: BOTH,
    },
    {
      name: 'cometx download, two experiments',
      make: () => ({
        'team/digits/a/metrics.jsonl': cometRows('train'),
        'team/digits/b/metrics.jsonl': cometRows('train'),
      }),
      runs: 2,
      series: 4,
      values: 120,
      says: BOTH,
    },
  ]),
  ...entriesOf('clearml', [
    {
      name: 'reported scalars, a graph of two lines',
      make: () => ({
        'task/scalars.json': JSON.stringify({
          loss: {
            train: { name: 'train', x: steps, y: LOSS },
            val: { name: 'val', x: steps, y: VAL },
          },
          ':monitor:gpu': { gpu_0_mem_usage: { x: steps, y: steps } },
        }),
      }),
      series: 3,
      values: 90,
      says: [],
    },
    {
      name: 'reported scalars, graphs of one line each',
      make: () => ({
        'scalars.json': JSON.stringify({
          train_loss: { train_loss: { x: steps, y: LOSS } },
          val_loss: { val_loss: { x: steps, y: VAL } },
        }),
      }),
      series: 2,
      values: 60,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
      at: { 'train/loss': 29 },
      says: BOTH,
    },
  ]),
  ...entriesOf('aim', [
    {
      name: 'a data frame with contexts',
      make: () => ({
        'metrics.csv': `${AIM_HEAD}\n${aimRows('abc', 'train', LOSS)}\n${aimRows('abc', 'val', VAL)}\n`,
      }),
      series: 2,
      values: 60,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
      at: { 'train/loss': 29 },
      says: BOTH,
    },
    {
      name: 'a data frame of two runs',
      make: () => ({
        'aim.csv': `${AIM_HEAD}\n${aimRows('abc', 'train', LOSS)}\n${aimRows('def', 'train', VAL)}\n`,
      }),
      runs: 2,
      series: 2,
      values: 60,
      last: { 'train/loss': last(VAL) },
      says: ['training loss: train/loss'],
    },
  ]),
  ...entriesOf('wandb', [
    {
      name: 'a folder of three runs, with all that W&B puts there',
      make: () => {
        const files: Record<string, string | Uint8Array<ArrayBuffer>> = {
          'wandb/debug.log': '2024-01-02 INFO step=1 loss=3\n',
        };
        for (const id of ['a1', 'b2', 'c3']) {
          Object.assign(files, wandbFiles(`wandb/run-20240102_030405-${id}`));
          files[`wandb/run-20240102_030405-${id}/run-${id}.wandb`] = WANDB;
        }
        return files;
      },
      runs: 3,
      series: 3 * 7,
      values: 3 * 25,
      problems: [/image-file/, /image-file/, /image-file/],
      says: [],
    },
    {
      name: 'a run without its .wandb file',
      make: () => wandbFiles('wandb/offline-run-20240102_030405-a1'),
      series: 2,
      values: 31,
      last: { 'train/loss': last(LOSS), 'summary/loss': last(LOSS) },
      says: ['training loss: train/loss'],
    },
  ]),
  ...entriesOf('mlflow', [
    {
      name: 'two runs of an experiment',
      make: () => ({
        'mlruns/1/meta.yaml': "experiment_id: '1'\nname: digits\n",
        ...Object.fromEntries(
          ['a', 'b'].flatMap((run) => [
            [
              `mlruns/1/${run}/meta.yaml`,
              `run_id: ${run}\nrun_name: ${run}\nstart_time: ${T}\nstatus: 3\n`,
            ],
            [
              `mlruns/1/${run}/metrics/train_loss`,
              lines(30, (i) => `${T + i * 1000} ${at(LOSS, i)} ${i}`),
            ],
            [
              `mlruns/1/${run}/metrics/val_loss`,
              lines(30, (i) => `${T + i * 1000} ${at(VAL, i)} ${i}`),
            ],
          ]),
        ),
      }),
      runs: 2,
      series: 4,
      values: 120,
      last: { 'train/loss': last(LOSS) },
      says: BOTH,
    },
    {
      name: 'metrics in folders, every step 0',
      make: () => ({
        'mlruns/1/meta.yaml': "experiment_id: '1'\nname: digits\n",
        'mlruns/1/r/meta.yaml': `run_id: r\nrun_name: x\nstart_time: ${T}\nstatus: 3\n`,
        'mlruns/1/r/metrics/train/loss': lines(30, (i) => `${T + i * 1000} ${at(LOSS, i)} 0`),
      }),
      series: 1,
      values: 30,
      last: { 'train/loss': last(LOSS) },
      at: { 'train/loss': 29 },
      says: ['training loss: train/loss'],
    },
  ]),
  ...entriesOf('csv', [
    {
      name: "a series that Neptune's client fetched",
      make: () => ({
        'charts/val_loss.csv': `,step,value,timestamp\n${lines(30, (i) => `${i},${i}.0,${at(VAL, i)},2024-01-02 03:04:05.123`)}`,
      }),
      series: 1,
      values: 30,
      last: { 'val/loss': last(VAL) },
      at: { 'val/loss': 29 },
      says: ['validation loss: val/loss'],
    },
    {
      name: "W&B's export of a chart",
      make: () => ({
        'wandb_export.csv': `"Step","run-a - train/loss","run-a - train/loss__MIN","run-a - train/loss__MAX"\n${lines(30, (i) => `"${i}","${at(LOSS, i)}","${at(LOSS, i)}","${at(LOSS, i)}"`)}`,
      }),
      series: 3,
      values: 90,
      says: [],
    },
    {
      name: 'Keras CSVLogger, appended by a second fit',
      make: () => ({
        'training.csv': `epoch,loss,val_loss\n${lines(30, (i) => `${i},${at(LOSS, i)},${at(VAL, i)}`)}${lines(30, (i) => `${i},${at(LOSS, i)},${at(VAL, i)}`)}`,
      }),
      runs: 2,
      series: 4,
      values: 120,
      last: { 'train/loss': last(LOSS) },
      says: BOTH,
    },
    {
      name: 'Lightning, two versions beside each other',
      make: () => ({
        'lightning_logs/version_0/metrics.csv': `epoch,step,train_loss_step,train_loss_epoch,val_loss\n${lines(30, (i) => `${i},${i * 10 + 9},${at(LOSS, i)},,\n${i},${i * 10 + 9},,${at(LOSS, i)},${at(VAL, i)}`)}`,
        'lightning_logs/version_0/hparams.yaml': 'lr: 0.1\n',
        'lightning_logs/version_1/metrics.csv': `epoch,step,train_loss\n${lines(30, (i) => `${i},${i * 10 + 9},${at(LOSS, i)}`)}`,
        'lightning_logs/version_1/hparams.yaml': 'lr: 0.01\n',
      }),
      runs: 2,
      series: 4,
      values: 120,
      last: { 'train/loss': last(LOSS) },
      says: ['training loss: train/loss'],
    },
    {
      name: 'a long table with a column that names the metric',
      make: () => ({
        'long.csv': `step,metric,value\n${lines(30, (i) => `${i},train/loss,${at(LOSS, i)}\n${i},val/loss,${at(VAL, i)}`)}`,
      }),
      series: 2,
      values: 60,
      last: { 'val/loss': last(VAL) },
      says: BOTH,
    },
    {
      name: 'tabs, a phase in a column',
      make: () => ({
        'log.tsv': `epoch\tphase\tloss\n${lines(30, (i) => `${i}\ttrain\t${at(LOSS, i)}\n${i}\tval\t${at(VAL, i)}`)}`,
      }),
      series: 2,
      values: 60,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
      says: BOTH,
    },
  ]),
];
