/** Tables of columns that programs print while they train. */
import { curve, lines } from './curves.ts';
import { entriesOf } from './entry.ts';

const LOSS = curve(20, { from: 2.3, to: 0.3 });
const VAL = curve(20, { from: 2.4, to: 0.35, seed: 3 });
const BOTH = ['training loss: train/loss', 'validation loss: val/loss'];
const LAST = LOSS.at(-1) ?? 0;
const padded = (cells: readonly (string | number)[], width: number): string =>
  cells.map((cell) => String(cell).padEnd(width)).join('');

export const textTables = entriesOf('text_log', [
  {
    name: 'fastai in a terminal',
    make: () => ({
      'fastai.log': `${padded(['epoch', 'train_loss', 'valid_loss', 'accuracy', 'time'], 12)}\n${lines(20, (i) => padded([i, LOSS[i] ?? 0, VAL[i] ?? 0, '0.5', '00:12'], 12))}`,
    }),
    series: 3,
    values: 60,
    last: { 'train/loss': LAST, 'val/accuracy': 0.5 },
    at: { 'train/loss': 19 },
    says: BOTH,
  },
  {
    name: 'skorch, with a rule under the header and colours in the cells',
    make: () => ({
      'skorch.log': `  epoch    train_loss    valid_acc    valid_loss     dur\n-------  ------------  -----------  ------------  ------\n${lines(20, (i) => `      ${i + 1}        \u001b[36m${LOSS[i]}\u001b[0m       \u001b[32m0.6000\u001b[0m        \u001b[35m${VAL[i]}\u001b[0m  0.0283`)}`,
    }),
    series: 4,
    values: 80,
    last: { 'train/loss': LAST, 'val/loss': VAL.at(-1) ?? 0 },
    at: { 'val/loss': 20 },
    says: BOTH,
  },
  {
    name: 'gradient boosting of scikit-learn',
    make: () => ({
      'gb.out': `      Iter       Train Loss   Remaining Time \n${lines(20, (i) => `${String(i + 1).padStart(10)}${String(LOSS[i]).padStart(17)}${`${20 - i}.15s`.padStart(17)}`)}`,
    }),
    series: 1,
    values: 20,
    last: { 'train/loss': LAST },
    at: { 'train/loss': 20 },
    says: ['training loss: train/loss', 'validation loss: none'],
  },
  {
    name: 'a table of Hugging Face that was copied as text',
    make: () => ({
      'copied.txt': `trained on one GPU\nStep  Training Loss  Validation Loss\n${lines(20, (i) => `${(i + 1) * 10}  ${i === 0 ? 'No log' : LOSS[i]}  ${VAL[i]}`)}`,
    }),
    series: 2,
    values: 39,
    last: { 'train/loss': LAST },
    at: { 'train/loss': 200 },
    says: BOTH,
  },
]);
