/** Folders of trackers. */
import { curve, lines } from './curves.ts';
import { entriesOf } from './entry.ts';

const LOSS = curve(30, { from: 2.3, to: 0.3 });
const VAL = curve(30, { from: 2.4, to: 0.35, seed: 3 });
const LAST = LOSS.at(-1) ?? 0;
const T = 1_700_000_000_000;

export const trackers = [
  ...entriesOf('mlflow', [
    {
      name: 'an mlruns folder',
      make: () => ({
        'mlruns/1/meta.yaml': "experiment_id: '1'\nname: digits\n",
        'mlruns/1/r/meta.yaml': `run_id: r\nrun_name: first\nstart_time: ${T}\nstatus: 3\n`,
        'mlruns/1/r/metrics/train_loss': lines(30, (i) => `${T + i * 1000} ${LOSS[i]} ${i}`),
        'mlruns/1/r/metrics/val_loss': lines(30, (i) => `${T + i * 1000} ${VAL[i]} ${i}`),
        'mlruns/1/r/params/lr': '0.1',
      }),
      series: 2,
      values: 60,
      last: { 'train/loss': LAST },
      says: ['training loss: train/loss', 'validation loss: val/loss'],
    },
  ]),
  ...entriesOf('dvclive', [
    {
      name: 'plots/metrics with metrics.json',
      make: () => ({
        'dvclive/plots/metrics/train/loss.tsv': `step\tloss\n${lines(30, (i) => `${i}\t${LOSS[i]}`)}`,
        'dvclive/metrics.json': `{\n    "train": {\n        "loss": ${LAST}\n    },\n    "step": 29\n}`,
        'dvclive/params.yaml': 'lr: 0.1\n',
      }),
      series: 1,
      values: 30,
      last: { 'train/loss': LAST },
      says: ['training loss: train/loss'],
    },
  ]),
  ...entriesOf('sacred', [
    {
      name: 'a FileStorageObserver folder of a run that failed',
      make: () => ({
        'runs/7/run.json':
          '{"experiment": {"name": "digits"}, "start_time": "2024-01-02T03:04:05", "heartbeat": null, "status": "FAILED"}',
        'runs/7/config.json': '{"lr": 0.1}',
        'runs/7/metrics.json': JSON.stringify({
          'training.loss': { steps: LOSS.map((_, i) => i), timestamps: [], values: LOSS },
        }),
      }),
      series: 1,
      values: 30,
      last: { 'train/loss': LAST },
      says: ['training loss: train/loss'],
    },
  ]),
  ...entriesOf('wandb_legacy', [
    {
      name: 'wandb-history.jsonl',
      make: () => ({
        'wandb/run/wandb-history.jsonl': lines(30, (i) =>
          JSON.stringify({ _step: i, _timestamp: T / 1000 + i, 'train/loss': LOSS[i] }),
        ),
        'wandb/run/config.yaml': 'lr:\n  desc: null\n  value: 0.1\n',
      }),
      series: 1,
      values: 30,
      last: { 'train/loss': LAST },
      says: ['training loss: train/loss'],
    },
  ]),
];
