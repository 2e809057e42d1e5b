/** Keras: what `fit` prints at each verbosity, and `History.history` as JSON. */
import { curve, overfitted } from './curves.ts';
import { entriesOf } from './entry.ts';

const LOSS = curve(12, { from: 2.3, to: 0.12 });
const ACCURACY = curve(12, { from: 0.2, to: 0.96 });
const VAL = curve(12, { from: 2.2, to: 0.2, seed: 11 });
const VAL_ACCURACY = curve(12, { from: 0.25, to: 0.94, seed: 12 });
const WORSE = overfitted(24, { from: 2.2, to: 0.5, seed: 13 });
const BETTER = curve(24, { from: 2.3, to: 0.02, seed: 14 });

const metricsAt = (i: number, separator = ' - '): string =>
  [
    `loss: ${LOSS[i]}`,
    `accuracy: ${ACCURACY[i]}`,
    `val_loss: ${VAL[i]}`,
    `val_accuracy: ${VAL_ACCURACY[i]}`,
  ].join(separator);

const LAST = {
  'train/loss': LOSS.at(-1) ?? 0,
  'train/accuracy': ACCURACY.at(-1) ?? 0,
  'val/loss': VAL.at(-1) ?? 0,
  'val/accuracy': VAL_ACCURACY.at(-1) ?? 0,
};
const BOTH_LOSSES = ['training loss: train/loss', 'validation loss: val/loss'];

/** Epochs as Keras 2 prints them at `verbose=1`: a bar that is written over. */
function bars(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) =>
    [
      `Epoch ${i + 1}/${count}`,
      `  1/938 [..............................] - ETA: 3:05 - loss: 2.4 - accuracy: 0.09\b\b\b\b\b\r469/938 [==============>...............] - ETA: 1s - loss: 1.1 - accuracy: 0.5\b\b\b\r938/938 [==============================] - 3s 3ms/step - ${line(i)}`,
    ].join('\n'),
  ).join('\n');
}

export const keras = [
  ...entriesOf('text_log', [
    {
      name: 'Keras 2, verbose=1, a bar that is written over',
      make: () => ({ 'train.log': `${bars(12, (i) => metricsAt(i))}\n` }),
      series: 4,
      values: 48,
      last: LAST,
      at: { 'train/loss': 12 },
      says: BOTH_LOSSES,
    },
    {
      name: 'Keras 2, verbose=2, with CRLF',
      make: () => ({
        'train.log': LOSS.map(
          (_, i) => `Epoch ${i + 1}/12\r\n938/938 - 3s - ${metricsAt(i)}\r\n`,
        ).join(''),
      }),
      series: 4,
      values: 48,
      last: LAST,
      says: BOTH_LOSSES,
    },
    {
      name: 'Keras 3, verbose=1, with colours',
      make: () => ({
        'keras3.log': LOSS.map(
          (_, i) =>
            `Epoch ${i + 1}/12\n\u001b[1m938/938\u001b[0m \u001b[32m━━━━━━━━━━━━━━━━━━━━\u001b[0m\u001b[37m\u001b[0m \u001b[1m3s\u001b[0m 3ms/step - ${metricsAt(i)}\n`,
        ).join(''),
      }),
      series: 4,
      values: 48,
      last: LAST,
      says: BOTH_LOSSES,
    },
    {
      name: 'Keras, two calls of fit in one file',
      make: () => ({
        'train.log': `${bars(12, (i) => metricsAt(i))}\n${bars(12, (i) => metricsAt(i))}\n`,
      }),
      runs: 2,
      series: 8,
      values: 96,
      last: LAST,
      says: BOTH_LOSSES,
    },
    {
      name: 'Keras, cut off within an epoch',
      make: () => ({
        'train.log': `${bars(12, (i) => metricsAt(i))}\nEpoch 13/20\n 45/938 [>.............................] - ETA: 2s - loss: 0.1 - acc`,
      }),
      series: 4,
      values: 48,
      last: LAST,
      says: BOTH_LOSSES,
    },
    {
      name: 'Keras, a training that overfits',
      make: () => ({
        'train.log': `${bars(24, (i) => `loss: ${BETTER[i]} - val_loss: ${WORSE[i]}`)}\n`,
      }),
      series: 2,
      values: 48,
      last: { 'val/loss': WORSE.at(-1) ?? 0 },
      says: [...BOTH_LOSSES, /overfitting/i],
    },
  ]),
  ...entriesOf('json', [
    {
      name: 'History.history of Keras',
      make: () => ({
        'history.json': JSON.stringify({
          loss: LOSS,
          accuracy: ACCURACY,
          val_loss: VAL,
          val_accuracy: VAL_ACCURACY,
        }),
      }),
      series: 4,
      values: 48,
      last: LAST,
      at: { 'train/loss': 11 },
      says: BOTH_LOSSES,
    },
    {
      name: 'a history with NaN, as Python writes it',
      make: () => ({
        'history.json': `{"loss": [2.5, 1.5, NaN, NaN, NaN], "val_loss": [2.25, 1.75, NaN, NaN, NaN]}`,
      }),
      series: 2,
      values: 10,
      says: ['training loss: train/loss', /NaN|not finite|non-finite/i],
    },
  ]),
  ...entriesOf('csv', [
    {
      name: 'CSVLogger of Keras',
      make: () => ({
        'training.log': `epoch,accuracy,loss,val_accuracy,val_loss\n${LOSS.map((loss, i) => `${i},${ACCURACY[i]},${loss},${VAL_ACCURACY[i]},${VAL[i]}`).join('\n')}\n`,
      }),
      series: 4,
      values: 48,
      last: LAST,
      says: BOTH_LOSSES,
    },
    {
      name: 'CSVLogger of Keras with append=True, gone on with at epoch 6',
      make: () => ({
        'training.csv': `epoch,loss,val_loss\n${LOSS.slice(0, 6)
          .map((loss, i) => `${i},${loss},${VAL[i]}`)
          .join('\n')}\n${LOSS.slice(6)
          .map((loss, i) => `${i + 6},${loss},${VAL[i + 6]}`)
          .join('\n')}\n`,
      }),
      series: 2,
      values: 24,
      last: { 'train/loss': LAST['train/loss'] },
      at: { 'train/loss': 11 },
      says: BOTH_LOSSES,
    },
  ]),
];
