/** Programs that train language and translation models, and home-made loops: what they print. */
import { curve, lines } from './curves.ts';
import { entriesOf, type CollectionEntry } from './entry.ts';

const LOSS = curve(40, { from: 9.2, to: 3.1 });
const VAL = curve(8, { from: 8.5, to: 3.4, seed: 3 });
const at = (values: readonly number[], i: number): number => values[i] ?? 0;
const last = (values: readonly number[]): number => values.at(-1) ?? 0;
const BOTH = ['training loss: train/loss', 'validation loss: val/loss'];
const ppl = (loss: number): string => Math.exp(loss).toFixed(2);

const wordModel = (prefix: string, more = ''): string =>
  lines(8, (epoch) =>
    [0, 1, 2, 3, 4]
      .map((i) => {
        const loss = at(LOSS, epoch * 5 + i);
        return `${prefix}| epoch ${String(epoch + 1).padStart(3)} | ${String((i + 1) * 200).padStart(5)}/ 1200 batches | lr 20.00 | ms/batch 12.34 | loss ${loss} | ppl ${ppl(loss)}${more}`;
      })
      .concat(
        `${prefix}${'-'.repeat(89)}`,
        `${prefix}| end of epoch ${String(epoch + 1).padStart(3)} | time: 40.08s | valid loss ${at(VAL, epoch)} | valid ppl ${ppl(at(VAL, epoch))}`,
        `${prefix}${'-'.repeat(89)}`,
      )
      .join('\n'),
  );

const fairseq = (
  inner: (epoch: number, updates: number, loss: number) => string,
  valid: (epoch: number, updates: number) => string,
): string =>
  lines(8, (epoch) =>
    [1, 2, 3, 4, 5]
      .map((i) => inner(epoch + 1, epoch * 500 + i * 100, at(LOSS, epoch * 5 + i - 1)))
      .concat(valid(epoch + 1, epoch * 500 + 500))
      .join('\n'),
  );
const stamp = '2024-01-02 03:04:05 | INFO | ';

/** Lines of a home-made loop that no pattern of ours reads. */
const odd = (line: (i: number) => string): string => `loading\n${lines(40, line)}done\n`;

export const languageLogs: readonly CollectionEntry[] = [
  ...entriesOf('text_log', [
    ...(['', 'scGPT - INFO - ', '[RANK 0]: ', '2024-01-02 03:04:05,123 INFO '] as const).map(
      (prefix) => ({
        name: `PyTorch's word language model${prefix === '' ? '' : `, behind "${prefix.trim()}"`}`,
        make: () => ({ 'lm.log': wordModel(prefix) }),
        series: 7,
        values: 40 * 4 + 8 * 3,
        last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
        at: { 'train/loss': 7 * 1200 + 1000, 'val/loss': 7 * 1200 + 1000 },
        says: BOTH,
      }),
    ),
    {
      name: "PyTorch's word language model, with more columns, and the test at its end",
      make: () => ({
        'log.txt': `${wordModel('', ' | bpc    5.123')}| End of training | test loss ${last(VAL)} | test ppl ${ppl(last(VAL))}\n`,
      }),
      series: 10,
      values: 40 * 5 + 8 * 3 + 2,
      last: { 'train/loss': last(LOSS), 'test/loss': last(VAL) },
      says: BOTH,
    },
    {
      name: 'the transformer tutorial, counted by the accuracy of classes',
      make: () => ({
        'text-classification.log': lines(
          20,
          (i) =>
            `| epoch ${i + 1} |   500/ 1782 batches | accuracy    0.${600 + i}\n${'-'.repeat(59)}\n| end of epoch ${i + 1} | time: 28.79s | valid accuracy    0.${700 + i} \n${'-'.repeat(59)}`,
        ),
      }),
      series: 3,
      values: 60,
      last: { 'train/accuracy': 0.619, 'val/accuracy': 0.719 },
      says: ['training accuracy: train/accuracy', 'validation accuracy: val/accuracy'],
    },
    {
      name: "fairseq's simple format",
      make: () => ({
        'train.log': fairseq(
          (epoch, updates, loss) =>
            `${stamp}train_inner | epoch ${String(epoch).padStart(3, '0')}:    100 / 500 loss=${loss}, nll_loss=${loss}, ppl=${ppl(loss)}, wps=1000, ups=3.4, wpb=3000, bsz=100, num_updates=${updates}, lr=0.0005, gnorm=2.1, train_wall=30, wall=35`,
          (epoch, updates) =>
            `${stamp}valid | epoch ${String(epoch).padStart(3, '0')} | valid on 'valid' subset | loss ${at(VAL, epoch - 1)} | nll_loss ${at(VAL, epoch - 1)} | ppl ${ppl(at(VAL, epoch - 1))} | num_updates ${updates} | best_loss ${at(VAL, epoch - 1)}\n${stamp}train | epoch ${String(epoch).padStart(3, '0')} | loss 5.5 | nll_loss 5.4 | num_updates ${updates} | lr 0.0005`,
        ),
      }),
      series: 11 + 4 + 3,
      values: 40 * 11 + 8 * 4 + 8 * 3,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
      at: { 'train/loss': 4000, 'val/loss': 4000 },
      says: BOTH,
    },
    {
      name: 'fairseq of before 0.9',
      make: () => ({
        'train.out': fairseq(
          (epoch, updates, loss) =>
            `| epoch ${String(epoch).padStart(3, '0')}:    100 / 500 loss=${loss}, nll_loss=${loss}, ppl=${ppl(loss)}, num_updates=${updates}, lr=0.0005`,
          (epoch, updates) =>
            `| epoch ${String(epoch).padStart(3, '0')} | valid on 'valid' subset | loss ${at(VAL, epoch - 1)} | ppl ${ppl(at(VAL, epoch - 1))} | num_updates ${updates}`,
        ),
      }),
      series: 4 + 2,
      values: 40 * 4 + 8 * 2,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
      says: BOTH,
    },
    {
      name: "fairseq's JSON behind its logger",
      make: () => ({
        'hydra_train.log': fairseq(
          (epoch, updates, loss) =>
            `[2024-01-02 03:04:05,123][train_inner][INFO] - ${JSON.stringify({ epoch, update: updates / 500, loss: String(loss), ppl: ppl(loss), num_updates: String(updates), lr: '0.0005' })}`,
          (epoch, updates) =>
            `[2024-01-02 03:04:05,123][valid][INFO] - ${JSON.stringify({ epoch, valid_loss: String(at(VAL, epoch - 1)), valid_num_updates: String(updates) })}`,
        ),
      }),
      series: 3 + 1,
      values: 40 * 3 + 8,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
      at: { 'train/loss': 4000 },
      says: BOTH,
    },
    {
      name: 'key=value behind a logger',
      make: () => ({
        'run.log': lines(
          40,
          (i) =>
            `2024-01-02 03:04:05,123 INFO trainer step=${i * 10} loss=${at(LOSS, i)} lr=5e-4 tokens/s=12000`,
        ),
      }),
      series: 3,
      values: 120,
      last: { 'train/loss': last(LOSS) },
      at: { 'train/loss': 390 },
      says: ['training loss: train/loss'],
    },
    {
      name: 'key: value in brackets',
      make: () => ({
        'run.out': lines(
          40,
          (i) =>
            `[Epoch ${Math.floor(i / 10)}/4] [Batch ${i % 10}/10] [loss: ${at(LOSS, i)}] [acc: 0.5]`,
        ),
      }),
      series: 2,
      values: 80,
      last: { 'train/loss': last(LOSS) },
      at: { 'train/loss': 39 },
      says: ['training loss: train/loss'],
    },
    {
      name: 'train and validation on one line an epoch',
      make: () => ({
        'log.txt': lines(
          8,
          (i) =>
            `Epoch: ${String(i + 1).padStart(3)} | Train Loss: ${at(LOSS, i * 5)} | Val Loss: ${at(VAL, i)} | Val PPL: ${ppl(at(VAL, i))}`,
        ),
      }),
      series: 3,
      values: 24,
      last: { 'val/loss': last(VAL) },
      at: { 'train/loss': 8 },
      says: BOTH,
    },
    {
      name: 'train_loss and val_loss with equals signs, an epoch in front',
      make: () => ({
        'log.out': lines(
          8,
          (i) => `epoch ${i}: train_loss=${at(LOSS, i * 5)}, val_loss=${at(VAL, i)}`,
        ),
      }),
      series: 2,
      values: 16,
      last: { 'val/loss': last(VAL) },
      says: BOTH,
    },
    {
      name: "dictionaries of Python, with other programs' lines between them",
      make: () => ({
        'out.txt': lines(
          40,
          (i) =>
            `Saving model checkpoint\n{'loss': ${at(LOSS, i)}, 'learning_rate': 5e-05, 'epoch': ${i}}`,
        ),
      }),
      series: 2,
      values: 80,
      last: { 'train/loss': last(LOSS) },
      says: ['training loss: train/loss'],
    },
    {
      name: 'nanoGPT, iterations only',
      make: () => ({
        'gpt.log': lines(40, (i) => `iter ${i}: loss ${at(LOSS, i)}, time 135.42ms, mfu 12.31%`),
      }),
      series: 3,
      values: 120,
      last: { 'train/loss': last(LOSS) },
      says: ['training loss: train/loss'],
    },
    {
      name: 'a home-made loop beside lines that are read: the losses that are lost are told',
      make: () => ({
        'half.log': lines(
          40,
          (i) => `step=${i} lr=0.1 gain=2\nround ${i} => loss is ${at(LOSS, i)}`,
        ),
      }),
      series: 2,
      values: 80,
      problems: [
        /40 lines have a number beside the name of a loss and were not read, and no loss was read.*--pattern 'round\\s\+\(\?<step>/,
      ],
      says: ['training loss: none'],
    },
    {
      name: 'a few sentences about losses are no lost lines',
      make: () => ({
        'told.log': `loss_weight: 0.5\nlabel smoothing loss 0.1\n${lines(40, (i) => `step=${i} loss=${at(LOSS, i)}`)}best loss: 0.25\nfinal loss: 1\n`,
      }),
      series: 3,
      values: 42,
      last: { 'train/loss': last(LOSS) },
      says: ['training loss: train/loss'],
    },
  ]),
  ...entriesOf('json_lines', [
    {
      name: "fairseq's JSON by itself",
      make: () => ({
        'train.log': fairseq(
          (epoch, updates, loss) =>
            JSON.stringify({
              epoch,
              update: updates / 500,
              loss: String(loss),
              num_updates: String(updates),
            }),
          (epoch, updates) =>
            JSON.stringify({
              epoch,
              valid_loss: String(at(VAL, epoch - 1)),
              valid_num_updates: String(updates),
            }),
        ),
      }),
      series: 3,
      values: 40 * 2 + 8,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
      at: { 'train/loss': 4000, 'val/loss': 4000 },
      says: BOTH,
    },
    {
      name: 'LLaMA-Factory, trainer_log.jsonl',
      make: () => ({
        'saves/lora/trainer_log.jsonl': lines(40, (i) =>
          JSON.stringify({
            current_steps: i * 10,
            total_steps: 400,
            loss: at(LOSS, i),
            lr: 5e-5,
            epoch: i / 10,
            percentage: i,
            elapsed_time: '0:00:10',
            remaining_time: '0:10:00',
          }),
        ),
      }),
      series: 5,
      values: 196,
      last: { 'train/loss': last(LOSS) },
      at: { 'train/loss': 390 },
      says: ['training loss: train/loss'],
    },
    {
      name: 'MMEngine, scalars.json with modes',
      make: () => ({
        'vis_data/scalars.json': lines(40, (i) =>
          JSON.stringify({ lr: 0.02, loss: at(LOSS, i), iter: i * 50, step: i * 50 }),
        ),
      }),
      series: 3,
      values: 120,
      last: { 'train/loss': last(LOSS) },
      says: ['training loss: train/loss'],
    },
    {
      name: 'what people write: train and val nested',
      make: () => ({
        'metrics.jsonl': lines(8, (i) =>
          JSON.stringify({ step: i, train: { loss: at(LOSS, i * 5) }, val: { loss: at(VAL, i) } }),
        ),
      }),
      series: 2,
      values: 16,
      last: { 'val/loss': last(VAL) },
      says: BOTH,
    },
    {
      name: 'NaN and null, as Python writes them',
      make: () => ({
        'log.jsonl': lines(
          40,
          (i) =>
            `{"step": ${i}, "loss": ${at(LOSS, i)}, "grad_norm": ${i === 5 ? 'NaN' : '1.5'}, "note": null}`,
        ),
      }),
      series: 2,
      values: 80,
      says: ['training loss: train/loss'],
    },
  ]),
  ...entriesOf('hugging_face_trainer', [
    {
      name: 'a run that was gone on with, checkpoints',
      make: () => ({
        'out/checkpoint-400/trainer_state.json': JSON.stringify({
          global_step: 400,
          log_history: LOSS.map((loss, i) => ({
            step: (i + 1) * 10,
            epoch: (i + 1) / 10,
            loss,
            learning_rate: 5e-5,
          })),
        }),
      }),
      series: 3,
      values: 120,
      last: { 'train/loss': last(LOSS) },
      at: { 'train/loss': 400 },
      says: ['training loss: train/loss'],
    },
    {
      name: 'evaluations of two sets',
      make: () => ({
        'out/trainer_state.json': JSON.stringify({
          global_step: 400,
          log_history: LOSS.flatMap((loss, i) => [
            { step: (i + 1) * 10, epoch: i + 1, loss },
            ...(i % 5 === 4
              ? [
                  {
                    step: (i + 1) * 10,
                    epoch: i + 1,
                    eval_loss: at(VAL, (i - 4) / 5),
                    eval_runtime: 1.5,
                  },
                ]
              : []),
          ]),
        }),
      }),
      series: 4,
      values: 40 * 2 + 8 * 3,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL) },
      says: BOTH,
    },
  ]),
];

/** Logs of which nothing is read: what is said of them, and the pattern that reads them. */
export const UNREAD_LOGS: readonly {
  readonly name: string;
  readonly text: string;
  readonly values: number;
}[] = [
  { name: 'an arrow', text: odd((i) => `round ${i} => loss is ${at(LOSS, i)}`), values: 40 },
  { name: 'braces', text: odd((i) => `<${i}> {loss ${at(LOSS, i)}; acc 0.5}`), values: 80 },
  {
    name: 'a tilde and a clock',
    text: odd((i) => `12:0${i % 10}:59 tick ${i} loss ~ ${at(LOSS, i)} (best so 0.1)`),
    values: 40,
  },
  {
    name: 'words',
    text: odd((i) => `after ${i} rounds the train loss was ${at(LOSS, i)} with lr of 0.1`),
    values: 80,
  },
  { name: 'bars', text: odd((i) => `| ${i} | nll | ${at(LOSS, i)} |`), values: 40 },
  {
    name: 'a fraction',
    text: odd((i) => `[${i + 1}/40] perplexity -> ${ppl(at(LOSS, i))}`),
    values: 40,
  },
];
