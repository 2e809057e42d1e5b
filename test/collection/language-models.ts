/** Programs that train language models, and what they print. */
import { curve, lines } from './curves.ts';
import { entriesOf } from './entry.ts';

const LOSS = curve(60, { from: 10.9, to: 3.2, digits: 4 });
const VAL = curve(6, { from: 9.5, to: 3.4, digits: 4, seed: 3 });
const LAST = LOSS.at(-1) ?? 0;
const LAST_VAL = VAL.at(-1) ?? 0;

export const languageModels = [
  ...entriesOf('text_log', [
    {
      name: 'nanoGPT',
      make: () => ({
        'out.log': `tokens per iteration will be: 491,520\nfound vocab_size = 65\n${lines(60, (i) => `${i % 10 === 0 ? `step ${i * 10}: train loss ${VAL[i / 10]}, val loss ${VAL[i / 10]}\n` : ''}iter ${i * 10}: loss ${LOSS[i]}, time 135.42ms, mfu 12.31%`)}`,
      }),
      series: 5,
      values: 60 * 3 + 12,
      last: { 'train/loss': LAST, 'val/loss': LAST_VAL },
      at: { 'train/loss': 590 },
      says: ['training loss: train/loss', 'validation loss: val/loss'],
    },
    {
      name: 'llm.c main.log',
      make: () => ({
        'main.log': lines(
          60,
          (i) =>
            `${i % 10 === 0 ? `s:${i} tel:${VAL[i / 10]}\n` : ''}s:${i} trl:${LOSS[i]} lr:0.000600 norm:1.25`,
        ),
      }),
      series: 4,
      values: 60 * 3 + 6,
      last: { 'train/loss': LAST, 'val/loss': LAST_VAL },
      says: ['training loss: train/loss', 'validation loss: val/loss'],
    },
    {
      name: 'modded-nanogpt',
      make: () => ({
        'speedrun.txt': lines(
          6,
          (i) =>
            `step:${i * 125}/625 val_loss:${VAL[i]} train_time:${i * 27000}ms step_avg:${i === 0 ? 'nan' : 216.5}ms`,
        ),
      }),
      series: 3,
      values: 18,
      last: { 'val/loss': LAST_VAL },
      at: { 'val/loss': 625 },
      says: ['validation loss: val/loss'],
    },
    {
      name: 'Megatron-LM with its arguments',
      make: () => ({
        'megatron.log': `  lr ........................................ 0.00015\n  hidden_size ............................... 1024\n${lines(60, (i) => ` iteration ${String((i + 1) * 100).padStart(8)}/   50000 | consumed samples: ${String((i + 1) * 800).padStart(12)} | elapsed time per iteration (ms): 451.2 | learning rate: 1.500E-04 | global batch size:     8 | lm loss: ${(LOSS[i] ?? 0).toExponential(6).toUpperCase()} | loss scale: 65536.0 | grad norm: 1.234 | number of skipped iterations:   0 | number of nan iterations:   0 |`)}`,
      }),
      series: 9,
      values: 60 * 9,
      last: { 'train/loss': LAST },
      at: { 'train/loss': 6000 },
      says: ['training loss: train/loss'],
    },
    {
      name: "lines of Trainer's dictionaries, fractions of epochs",
      make: () => ({
        'train.out': lines(
          60,
          (i) =>
            `{'loss': ${LOSS[i]}, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': ${((i + 1) / 20).toFixed(2)}}${(i + 1) % 20 === 0 ? `\n{'eval_loss': ${VAL[Math.floor(i / 10)]}, 'eval_runtime': 1.5, 'epoch': ${((i + 1) / 20).toFixed(1)}}` : ''}`,
        ),
      }),
      series: 6,
      values: 60 * 3 + 3 * 2 + 60 - 3,
      last: { 'train/loss': LAST },
      says: ['training loss: train/loss', 'validation loss: val/loss'],
    },
  ]),
  ...entriesOf('hugging_face_trainer', [
    {
      name: 'trainer_state.json with evaluations',
      make: () => ({
        'checkpoint-600/trainer_state.json': JSON.stringify({
          best_metric: null,
          global_step: 600,
          log_history: [
            ...LOSS.map((loss, i) => ({ epoch: (i + 1) / 20, step: (i + 1) * 10, loss })),
            ...VAL.map((loss, i) => ({ epoch: (i + 1) / 2, step: (i + 1) * 100, eval_loss: loss })),
          ],
        }),
      }),
      series: 3,
      values: 60 + 6 + 66,
      last: { 'train/loss': LAST, 'val/loss': LAST_VAL },
      at: { 'train/loss': 600 },
      says: ['training loss: train/loss', 'validation loss: val/loss'],
    },
  ]),
];
