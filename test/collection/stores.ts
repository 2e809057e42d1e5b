/** Files of trackers and stores that are no text: made by writers of their formats. */
import { parquetWriteBuffer } from 'hyparquet-writer';
import type { RunReader } from '../../src/index.ts';
import { exportMetricsArrow, exportQuark, exportTensorBoard } from '../../src/exchange.ts';
import {
  bytesOf as joined,
  crc32cByBits,
  event,
  field,
  record,
  scalar,
  u32,
  version,
} from '../support/event-file.ts';
import { importText } from '../support/imported.ts';
import { bytesOf } from '../support/recorded-run.ts';
import { curve, lines } from './curves.ts';
import { entriesOf, type CollectionEntry } from './entry.ts';
import { trackioDatabase } from './trackio-database.ts';

const LOSS = curve(30, { from: 2.3, to: 0.3 });
const VAL = curve(30, { from: 2.4, to: 0.35, seed: 3 });
const RETURN = curve(30, { from: 20, to: 480, digits: 1 });
const T = 1_700_000_000_000;
const BOTH = ['training loss: train/loss', 'validation loss: val/loss'];
const EVENTS = 'events.out.tfevents.1700000000.host';
/** What the tables in 64 bits have. */
const LAST = { 'train/loss': LOSS.at(-1) ?? 0, 'val/loss': VAL.at(-1) ?? 0 };
const curves = { series: 2, values: 60, last: LAST, says: BOTH };

/** An event file with curves, by their tags. */
function events(tags: Readonly<Record<string, readonly number[]>>): Uint8Array<ArrayBuffer> {
  return joined(
    version(),
    ...Array.from({ length: 30 }, (_, step) =>
      record(event(step, ...Object.entries(tags).map(([tag, of]) => scalar(tag, of[step] ?? 0)))),
    ),
  );
}

/** A log of W&B: a header, then a chunk of its own for each record, with the CRC-32 of its type and data. */
function wandbFile(): Uint8Array<ArrayBuffer> {
  const item = (key: string, value = 0): Uint8Array<ArrayBuffer> =>
    field.bytes(1, field.text(1, key), field.text(16, String(value)));
  const records = LOSS.map((loss, step) =>
    field.bytes(
      2,
      item('train/loss', loss),
      item('val/loss', VAL[step]),
      field.bytes(2, field.varint(1, step)),
    ),
  );
  const chunks = records.map((data) => {
    const crc = crc32cByBits(joined([1], data), 0xedb88320);
    return joined(u32(crc), [data.length & 255, data.length >> 8, 1], data);
  });
  return joined([0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0], ...chunks);
}

/** A run with the two curves, to be exported. */
async function recorded(): Promise<RunReader> {
  const { runs } = await importText({
    'digits.csv': `step,train_loss,val_loss\n${lines(30, (i) => `${i},${LOSS[i]},${VAL[i]}`)}`,
  });
  const [run] = runs;
  if (run === undefined) throw new Error('The table is no run.');
  return run.reader;
}

const eventFiles = entriesOf('tensorboard', [
  {
    name: "PyTorch's SummaryWriter, both losses in one file",
    make: () => ({
      [`runs/Nov03_host/${EVENTS}`]: events({ 'Loss/train': LOSS, 'Loss/val': VAL }),
    }),
    series: 2,
    values: 60,
    says: ['training loss: train/loss', 'validation loss: val/loss'],
  },
  {
    name: 'Keras, with folders for training and validation',
    make: () => ({
      [`logs/train/${EVENTS}`]: events({ epoch_loss: LOSS }),
      [`logs/validation/${EVENTS}`]: events({ epoch_loss: VAL }),
    }),
    series: 2,
    values: 60,
    says: BOTH,
  },
  {
    name: 'Lightning, with hparams.yaml',
    make: () => ({
      [`lightning_logs/version_0/${EVENTS}`]: events({ train_loss: LOSS, val_loss: VAL }),
      'lightning_logs/version_0/hparams.yaml': 'lr: 0.1\nlayers: [64, 32]\n',
    }),
    series: 2,
    values: 60,
    says: BOTH,
  },
  {
    name: "Quark's own export",
    make: async () => ({ [`own/${EVENTS}`]: await bytesOf(exportTensorBoard(await recorded())) }),
    series: 2,
    values: 60,
    says: BOTH,
  },
]);

/** Event files that tell again what the files of the other program tell: their values arrive once. */
const besideOthers = [
  ...entriesOf('catboost', [
    {
      name: 'the tables and the event files of learn and test',
      make: () => ({
        'catboost_info/learn_error.tsv': `iter\tLogloss\n${lines(30, (i) => `${i}\t${LOSS[i]}`)}`,
        'catboost_info/test_error.tsv': `iter\tLogloss\n${lines(30, (i) => `${i}\t${VAL[i]}`)}`,
        [`catboost_info/learn/${EVENTS}`]: events({ Logloss: LOSS }),
        [`catboost_info/test/${EVENTS}`]: events({ Logloss: VAL }),
      }),
      series: 2,
      values: 60,
      last: { 'learn/Logloss': LAST['train/loss'], 'test/Logloss': LAST['val/loss'] },
      says: ['training loss: learn/Logloss', 'validation loss: test/Logloss'],
    },
  ]),
  ...entriesOf('ray', [
    {
      name: 'a trial with result.json, progress.csv and an event file',
      make: () => ({
        'tune/trial_1/result.json': lines(30, (i) =>
          JSON.stringify({
            episode_reward_mean: RETURN[i],
            training_iteration: i + 1,
            timesteps_total: (i + 1) * 1000,
            trial_id: 'a1',
          }),
        ),
        'tune/trial_1/params.json': '{"lr": 0.1}',
        'tune/trial_1/progress.csv': `episode_reward_mean,training_iteration\n${lines(30, (i) => `${RETURN[i]},${i + 1}`)}`,
        [`tune/trial_1/${EVENTS}`]: events({ 'ray/tune/episode_reward_mean': RETURN }),
      }),
      series: 2, // the steps that Ray counts are one
      values: 60,
      last: { episode_reward_mean: RETURN.at(-1) ?? 0 },
      says: ['training loss: none', 'reward: episode_reward_mean'],
    },
  ]),
];

const tablesOfStores = [
  ...entriesOf('parquet', [
    {
      name: 'a table of steps and two losses',
      make: () => ({
        'history.parquet': new Uint8Array(
          parquetWriteBuffer({
            columnData: [
              { name: 'step', data: LOSS.map((_, i) => i), type: 'INT32' },
              { name: 'train/loss', data: LOSS, type: 'DOUBLE' },
              { name: 'val/loss', data: VAL, type: 'DOUBLE' },
            ],
          }),
        ),
      }),
      ...curves,
    },
  ]),
  ...entriesOf('trackio', [
    {
      name: 'the database of a project',
      make: () => ({
        'trackio/digits.db': trackioDatabase(
          LOSS.map((loss, step) => ({ train: { loss }, val: { loss: VAL[step] } })),
        ),
      }),
      ...curves,
    },
  ]),
];

const own = [
  ...entriesOf('quark', [
    {
      name: 'a run in one file',
      make: async () => ({ 'digits.quark': await bytesOf(exportQuark(await recorded())) }),
      ...curves,
    },
  ]),
  ...entriesOf('quark_arrow', [
    {
      name: 'the metrics of a run',
      make: async () => ({ 'metrics.arrow': await bytesOf(exportMetricsArrow(await recorded())) }),
      ...curves,
    },
  ]),
  ...entriesOf('quark_profiler', [
    {
      name: 'memory and time of the parts of a program',
      make: () => ({
        'out/profile.yaml': `# Quark Profiling Results\n\nmemory_usage:\n${lines(
          30,
          (i) =>
            `- step: "batch ${i}"\n  timestamp: ${T / 1000 + i}.125\n  relative_time_secs: ${i}.0\n  cpu_memory_mb: ${150.5 + i}`,
        )}`,
      }),
      series: 2,
      values: 60,
      says: ['training loss: none', 'validation loss: none', 'health overall: not_assessed'],
    },
  ]),
];

const otherTrackers = [
  ...entriesOf('track', [
    {
      name: 'a project with a trial that was completed',
      make: () => ({
        'track.json': JSON.stringify([
          {
            dtype: 'project',
            uid: 'p',
            name: 'digits',
            trials: [
              {
                dtype: 'trial',
                uid: 'u',
                name: 'first',
                parameters: { lr: 0.1 },
                metrics: {
                  train_loss: Object.fromEntries(LOSS.entries()),
                  val_loss: Object.fromEntries(VAL.entries()),
                },
                status: { value: 302, name: 'Completed' },
              },
            ],
            groups: [],
          },
        ]),
      }),
      ...curves,
    },
  ]),
  ...entriesOf('wandb', [
    {
      name: 'the .wandb file of a run',
      make: () => ({ 'wandb/run-1/run-abc123.wandb': wandbFile() }),
      ...curves,
    },
  ]),
];

export const stores: readonly CollectionEntry[] = [
  ...eventFiles,
  ...besideOthers,
  ...tablesOfStores,
  ...own,
  ...otherTrackers,
];
