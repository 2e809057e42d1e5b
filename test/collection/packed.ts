/** Logs as people send them: packed. */
import { gzip, tar, zip } from '../support/archives.ts';
import { curve, lines } from './curves.ts';
import type { CollectionEntry } from './entry.ts';

const LOSS = curve(20, { from: 2.3, to: 0.3 });
const VAL = curve(20, { from: 2.4, to: 0.35, seed: 3 });
const BOTH = ['training loss: train/loss', 'validation loss: val/loss'];
const CSV = `epoch,train_loss,val_loss\n${lines(20, (i) => `${i},${LOSS[i]},${VAL[i]}`)}`;
const LOG = lines(20, (i) => `[${i}]\ttrain-rmse:${LOSS[i]}\teval-rmse:${VAL[i]}`);
const LAST = { 'train/loss': LOSS.at(-1) ?? 0, 'val/loss': VAL.at(-1) ?? 0 };
/** Text as PowerShell writes it. */
const utf16 = (text: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(`\ufeff${text.replaceAll('\n', '\r\n')}`, 'utf16le'));
const curves = { series: 2, values: 40, last: LAST, says: BOTH };

export const packed: readonly CollectionEntry[] = [
  {
    name: 'packed: a CSV in gzip',
    format: 'csv',
    make: () => ({ 'metrics.csv.gz': gzip(CSV) }),
    ...curves,
  },
  {
    name: 'packed: a folder in a ZIP, with its settings',
    format: 'csv',
    make: () => ({
      'version_0.zip': zip({
        'version_0/metrics.csv': CSV,
        'version_0/hparams.yaml': 'lr: 0.1\n',
        '__MACOSX/version_0/._metrics.csv': '\u0000\u0005',
      }),
    }),
    ...curves,
  },
  {
    name: 'packed: a log in a tar.gz',
    format: 'text_log',
    make: () => ({ 'logs.tar.gz': gzip(tar({ 'logs/xgb.log': LOG })) }),
    series: 2,
    values: 40,
    says: ['training loss: train/rmse', 'validation loss: val/rmse'],
  },
  {
    name: 'packed: three runs in a ZIP',
    format: 'csv',
    make: () => ({ 'runs.zip': zip({ 'a/metrics.csv': CSV, 'b/metrics.csv': CSV, 'c.csv': CSV }) }),
    runs: 3,
    series: 6,
    values: 120,
    last: LAST,
    says: BOTH,
  },
  {
    name: 'packed: a log in UTF-16, as PowerShell redirects it',
    format: 'text_log',
    make: () => ({ 'train.log': utf16(LOG) }),
    series: 2,
    values: 40,
    says: ['training loss: train/rmse', 'validation loss: val/rmse'],
  },
  {
    name: 'packed: a CSV in UTF-16 within gzip',
    format: 'csv',
    make: () => ({ 'metrics.csv.gz': gzip(utf16(CSV)) }),
    ...curves,
  },
  {
    name: 'packed: a CSV in gzip of several members, as logs that are rotated and joined',
    format: 'csv',
    make: () => ({
      'metrics.csv.gz': new Uint8Array(
        Buffer.concat([gzip(CSV.slice(0, 100)), gzip(''), gzip(CSV.slice(100))]),
      ),
    }),
    ...curves,
  },
  {
    name: 'packed: a log in gzip that is cut off',
    format: 'text_log',
    make: () => ({ 'train.log.gz': gzip(LOG.repeat(1)).slice(0, -4) }),
    series: 2,
    values: 40,
    problems: [/cut off or damaged/],
    says: ['training loss: train/rmse', 'validation loss: val/rmse'],
  },
];
