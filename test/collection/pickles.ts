/** Pickles of curves, as Python wrote them. */
import { pickleBytes } from '../fixtures/pickles.ts';
import { entriesOf } from './entry.ts';

const BOTH = ['training loss: train/loss', 'validation loss: val/loss'];

export const pickles = entriesOf('pickle', [
  ...['plain 0', 'plain 1', 'plain 2', 'plain 3', 'plain 4', 'plain 5'].map((name) => ({
    name: `history.history of Keras, protocol ${name.slice(-1)}`,
    make: () => ({ 'history.pkl': pickleBytes(name) }),
    series: 3,
    values: 9,
    last: { 'train/loss': 0.75, 'val/loss': Number.NaN },
    at: { 'train/loss': 2 },
    says: BOTH,
  })),
  {
    name: 'a history of numbers of NumPy',
    make: () => ({ 'trainHistoryDict.pickle': pickleBytes('scalars 4') }),
    series: 3,
    values: 9,
    last: { 'train/loss': 0.75 },
    says: BOTH,
  },
  {
    name: 'a dictionary of arrays',
    make: () => ({ 'run/history.p': pickleBytes('arrays 5') }),
    series: 3,
    values: 9,
    last: { 'optimizer/lr': 3 },
    says: BOTH,
  },
  {
    name: 'a list of rows',
    make: () => ({ 'log.pkl': pickleBytes('rows 4') }),
    series: 2,
    values: 6,
    at: { 'train/loss': 2 },
    says: BOTH,
  },
  {
    name: 'a list of losses, called as its file',
    make: () => ({ 'train_loss.pkl': pickleBytes('list 4') }),
    series: 1,
    values: 3,
    last: { 'train/loss': 0.75 },
    says: ['training loss: train/loss', 'validation loss: none'],
  },
]);
