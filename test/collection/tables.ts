/** Tables and rows of JSON, as programs and spreadsheets write them. */
import { curve, lines } from './curves.ts';
import { entriesOf } from './entry.ts';

const LOSS = curve(40, { from: 2.3, to: 0.3 });
const VAL = curve(4, { from: 2.0, to: 0.35, seed: 3 });
const LAST = LOSS.at(-1) ?? 0;
const LAST_VAL = VAL.at(-1) ?? 0;
const BOTH = ['training loss: train/loss', 'validation loss: val/loss'];

const lightning = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, j) => {
    const i = from + j;
    const validation =
      i % 10 === 9 ? `${Math.floor(i / 10)},${i * 50 + 49},,${VAL[(i - 9) / 10]}\n` : '';
    return `${Math.floor(i / 10)},${i * 50 + 49},${LOSS[i]},\n${validation}`;
  }).join('');

export const tables = [
  ...entriesOf('csv', [
    {
      name: 'Lightning metrics.csv with hparams.yaml',
      make: () => ({
        'lightning_logs/version_0/metrics.csv': `epoch,step,train_loss,val_loss\n${lightning(0, 40)}`,
        'lightning_logs/version_0/hparams.yaml': 'lr: 0.001\nbatch_size: 64\n',
      }),
      series: 2,
      values: 44,
      last: { 'train/loss': LAST, 'val/loss': LAST_VAL },
      at: { 'train/loss': 1999 },
      says: BOTH,
    },
    {
      name: 'a spreadsheet with semicolons and decimal commas',
      make: () => ({
        'export.csv': `Epoch;train_loss;val_loss\r\n${lines(4, (i) => `${i};${String(LOSS[i]).replace('.', ',')};${String(VAL[i]).replace('.', ',')}\r`)}`,
      }),
      series: 2,
      values: 8,
      last: { 'val/loss': LAST_VAL },
      says: BOTH,
    },
    {
      name: 'Ultralytics results.csv, padded with blanks',
      make: () => ({
        'runs/detect/train/results.csv': `                  epoch,         train/box_loss,         train/cls_loss,           val/box_loss,           val/cls_loss,      metrics/mAP50(B)\n${lines(
          40,
          (i) =>
            `${i + 1},${LOSS[i]},${LOSS[i]},${LOSS[i]},${LOSS[i]},${(i / 50).toFixed(3)}`
              .split(',')
              .map((cell) => cell.padStart(23))
              .join(','),
        )}`,
        'runs/detect/train/args.yaml': 'task: detect\nlr0: 0.01\n',
      }),
      series: 5,
      values: 200,
      says: [
        'training loss: train/box_loss + train/cls_loss',
        'validation loss: val/box_loss + val/cls_loss',
      ],
    },
  ]),
  ...entriesOf('json_lines', [
    {
      name: 'detectron2 metrics.json',
      make: () => ({
        'output/metrics.json': lines(40, (i) =>
          JSON.stringify({
            data_time: 0.01,
            iteration: i * 20 + 19,
            lr: 0.001,
            total_loss: LOSS[i],
          }),
        ),
      }),
      series: 3,
      values: 120,
      last: { 'train/loss': LAST },
      at: { 'train/loss': 799 },
      says: ['training loss: train/loss'],
    },
    {
      name: 'rows with bare NaN, cut off in the last',
      make: () => ({
        'log.jsonl': `${lines(40, (i) => `{"step": ${i}, "train_loss": ${i === 20 ? 'NaN' : LOSS[i]}}`)}{"step": 40, "train_lo`,
      }),
      series: 1,
      values: 40,
      last: { 'train/loss': LAST },
      problems: [/JSON/],
      says: ['training loss: train/loss'],
    },
  ]),
  ...entriesOf('json', [
    {
      name: 'records of a data frame',
      make: () => ({
        'log.json': JSON.stringify(
          VAL.map((loss, i) => ({ epoch: i, train_loss: LOSS[i], val_loss: loss })),
        ),
      }),
      series: 2,
      values: 8,
      last: { 'val/loss': LAST_VAL },
      at: { 'val/loss': 3 },
      says: BOTH,
    },
  ]),
];
