/** Jupyter notebooks, as Jupyter, Colab and Kaggle save them. */
import { curve, lines } from './curves.ts';
import { entriesOf } from './entry.ts';

const LOSS = curve(12, { from: 2.3, to: 0.12 });
const VAL = curve(12, { from: 2.2, to: 0.2, seed: 11 });
const ACCURACY = curve(12, { from: 0.2, to: 0.96 });
const BOTH = ['training loss: train/loss', 'validation loss: val/loss'];
const LAST = LOSS.at(-1) ?? 0;
const LAST_VAL = VAL.at(-1) ?? 0;

/** Texts are saved as lists of lines with their ends. */
const saved = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
const printed = (text: string, name = 'stdout'): object => ({
  name,
  output_type: 'stream',
  text: saved(text),
});
const shown = (html: string, plain = '<IPython.core.display.HTML object>'): object => ({
  data: { 'text/html': saved(html), 'text/plain': [plain] },
  metadata: {},
  output_type: 'display_data',
});
const result = (plain: string, html?: string): object => ({
  data: { ...(html === undefined ? {} : { 'text/html': saved(html) }), 'text/plain': saved(plain) },
  execution_count: 3,
  metadata: {},
  output_type: 'execute_result',
});
const picture = {
  data: { 'image/png': 'iVBORw0KGgo='.repeat(2000), 'text/plain': ['<Figure size 640x480>'] },
  metadata: {},
  output_type: 'display_data',
};
const error = (ename: string, evalue: string): object => ({
  ename,
  evalue,
  output_type: 'error',
  traceback: ['\u001b[0;31m---------------\u001b[0m', `\u001b[0;31m${ename}\u001b[0m: ${evalue}`],
});

/** A notebook of a cell of text, one of imports, then cells with these outputs. */
function notebook(...cells: readonly (readonly object[])[]): string {
  return JSON.stringify(
    {
      cells: [
        { cell_type: 'markdown', metadata: {}, source: ['# Epoch 1: loss: 0.5'] },
        {
          cell_type: 'code',
          execution_count: 1,
          metadata: {},
          outputs: [],
          source: ['import keras'],
        },
        ...cells.map((outputs, i) => ({
          cell_type: 'code',
          execution_count: i + 2,
          metadata: {},
          outputs,
          source: ['print("step 1 loss: 9.5")\n', 'model.fit(x, y)'],
        })),
      ],
      metadata: {
        kernelspec: { display_name: 'Python 3', language: 'python', name: 'python3' },
        language_info: { name: 'python', version: '3.10.12' },
      },
      nbformat: 4,
      nbformat_minor: 5,
    },
    null,
    1,
  );
}

const epochs = (from: number, to: number, total = to): string =>
  Array.from({ length: to - from }, (_, j) => {
    const i = from + j;
    return `Epoch ${i + 1}/${total}\n  1/938 [..............................] - ETA: 3:05 - loss: 2.4\b\b\b\b\b\b\r469/938 [==============>...............] - ETA: 1s - loss: 1.1\b\b\b\b\r938/938 [==============================] - 3s 3ms/step - loss: ${LOSS[i]} - accuracy: ${ACCURACY[i]} - val_loss: ${VAL[i]} - val_accuracy: ${ACCURACY[i]}\n`;
  }).join('');

function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = (tag: string, row: readonly (string | number)[]): string =>
    row.map((cell) => `      <${tag}>${cell}</${tag}>\n`).join('');
  return `<table border="1" class="dataframe">\n  <thead>\n <tr style="text-align: left;">\n${cells('th', header)}    </tr>\n  </thead>\n  <tbody>\n${rows.map((row) => `    <tr>\n${cells('td', row)}    </tr>\n`).join('')}  </tbody>\n</table><p>`;
}

const trainer = (
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): object =>
  shown(
    `\n    <div>\n      \n      <progress value='600' max='600' style='width:300px; height:20px; vertical-align: middle;'></progress>\n      [600/600 02:33, Epoch 3/3]\n    </div>\n    ${table(header, rows)}`,
  );

const fastai = (from: number, to: number): object =>
  shown(
    table(
      ['epoch', 'train_loss', 'valid_loss', 'accuracy', 'time'],
      LOSS.slice(from, to).map((loss, j) => [
        j,
        loss,
        VAL[from + j] ?? 0,
        ACCURACY[from + j] ?? 0,
        '00:12',
      ]),
    ),
  );

export const notebooks = entriesOf('notebook', [
  {
    name: 'Keras with a bar, then an evaluation and pictures',
    make: () => ({
      'mnist.ipynb': notebook(
        [printed(epochs(0, 12))],
        [picture],
        [
          printed(
            '313/313 [==============================] - 0s 1ms/step - loss: 0.25 - accuracy: 0.9\n',
          ),
          result('[0.25, 0.9]'),
        ],
      ),
    }),
    series: 6,
    values: 50,
    last: { 'train/loss': LAST, 'val/loss': LAST_VAL, 'test/loss': 0.25 },
    at: { 'train/loss': 12 },
    says: BOTH,
  },
  {
    name: 'Keras, an evaluation in the cell of the training',
    make: () => ({
      'a.ipynb': notebook([
        printed(
          `${epochs(0, 12)}313/313 - 0s - loss: 0.25 - accuracy: 0.9 - 300ms/epoch - 1ms/step\n`,
        ),
      ]),
    }),
    series: 6,
    values: 50,
    last: { 'train/loss': LAST, 'test/loss': 0.25 },
    says: BOTH,
  },
  {
    name: 'Keras, a cell that goes on with initial_epoch',
    make: () => ({
      'a.ipynb': notebook([printed(epochs(0, 6, 6))], [printed(epochs(6, 12))]),
    }),
    series: 4,
    values: 48,
    last: { 'train/loss': LAST },
    at: { 'train/loss': 12 },
    says: BOTH,
  },
  {
    name: 'Keras, a cell that trains again is another run',
    make: () => ({
      'a.ipynb': notebook([printed(epochs(0, 6))], [printed(epochs(0, 12))]),
    }),
    runs: 2,
    series: 8,
    values: 72,
    last: { 'train/loss': LAST },
    at: { 'train/loss': 12 },
    says: BOTH,
  },
  {
    name: 'Keras, two cells of one epoch each are two runs',
    make: () => ({
      'a.ipynb': notebook([printed(epochs(0, 1))], [printed(epochs(0, 1))]),
    }),
    runs: 2,
    series: 8,
    values: 8,
    says: ['training loss: train/loss', 'validation loss: val/loss'],
  },
  {
    name: 'Keras, stopped by hand, then gone on with',
    make: () => ({
      'a.ipynb': notebook(
        [printed(epochs(0, 6, 20)), error('KeyboardInterrupt', '')],
        [printed(epochs(6, 12))],
      ),
    }),
    series: 4,
    values: 48,
    at: { 'train/loss': 12 },
    says: [...BOTH, 'status: completed'],
  },
  {
    name: 'Keras, out of memory in the fifth epoch',
    make: () => ({
      'a.ipynb': notebook([
        printed(epochs(0, 4, 20)),
        error('ResourceExhaustedError', 'OOM when allocating tensor'),
      ]),
    }),
    series: 4,
    values: 16,
    says: ['status: failed'],
  },
  {
    name: 'the Trainer of Hugging Face, evaluated at steps',
    make: () => ({
      'bert.ipynb': notebook([
        printed('The following columns do not have a corresponding argument\n', 'stderr'),
        trainer(
          ['Step', 'Training Loss', 'Validation Loss', 'Accuracy'],
          LOSS.map((loss, i) => [(i + 1) * 50, loss.toFixed(6), VAL[i] ?? 0, ACCURACY[i] ?? 0]),
        ),
        result('TrainOutput(global_step=600, training_loss=0.4, metrics={})'),
      ]),
    }),
    series: 3,
    values: 36,
    last: { 'train/loss': LAST, 'val/loss': LAST_VAL, 'val/accuracy': ACCURACY.at(-1) ?? 0 },
    at: { 'train/loss': 600 },
    says: BOTH,
  },
  {
    name: 'the Trainer of Hugging Face by epochs, with epochs that have no log yet',
    make: () => ({
      'bert.ipynb': notebook([
        trainer(
          ['Epoch', 'Training Loss', 'Validation Loss', 'F1 Score'],
          [
            [1, 'No log', VAL[0] ?? 0, 0.5],
            [2, LOSS[1] ?? 0, VAL[1] ?? 0, 0.6],
            [3, LOSS[2] ?? 0, VAL[2] ?? 0, 0.7],
          ],
        ),
      ]),
    }),
    series: 3,
    values: 8,
    last: { 'val/f1_score': 0.7 },
    at: { 'train/loss': 3 },
    says: BOTH,
  },
  {
    name: 'the Trainer of Hugging Face, only the training loss',
    make: () => ({
      'llama.ipynb': notebook([
        trainer(
          ['Step', 'Training Loss'],
          LOSS.map((loss, i) => [i + 1, loss]),
        ),
      ]),
    }),
    series: 1,
    values: 12,
    last: { 'train/loss': LAST },
    says: ['training loss: train/loss', 'validation loss: none'],
  },
  {
    name: 'GRPO of TRL: rewards beside the loss',
    make: () => ({
      'grpo.ipynb': notebook([
        trainer(
          ['Step', 'Training Loss', 'reward', 'reward_std', 'kl'],
          LOSS.map((loss, i) => [i + 1, (loss / 1e4).toFixed(6), i / 10, 0.3, 0.001]),
        ),
      ]),
    }),
    series: 4,
    values: 48,
    last: { reward: 1.1 },
    says: ['training loss: train/loss', 'validation loss: none', 'reward: reward'],
  },
  {
    name: 'fastai, a table for each of two phases of fine_tune',
    make: () => ({
      'lesson1.ipynb': notebook([fastai(0, 1), fastai(0, 12)]),
    }),
    runs: 2,
    series: 6,
    values: 39,
    last: { 'train/loss': LAST, 'val/loss': LAST_VAL },
    at: { 'train/loss': 11 },
    says: BOTH,
  },
  {
    name: 'plain prints of PyTorch, in chunks that end anywhere',
    make: () => {
      const text = lines(12, (i) => `Epoch ${i + 1}: train loss=${LOSS[i]}, val loss=${VAL[i]}`);
      return {
        'loop.ipynb': notebook([
          printed(text.slice(0, 77)),
          printed('warning: x\n', 'stderr'),
          printed(text.slice(77)),
        ]),
      };
    },
    series: 2,
    values: 24,
    last: { 'train/loss': LAST, 'val/loss': LAST_VAL },
    at: { 'train/loss': 12 },
    says: BOTH,
  },
  {
    name: 'XGBoost, LightGBM and CatBoost, a cell each',
    make: () => ({
      'tabular.ipynb': notebook(
        [printed(lines(12, (i) => `[${i}]\ttrain-rmse:${LOSS[i]}\teval-rmse:${VAL[i]}`))],
        [
          printed(
            lines(12, (i) => `[${i + 1}]\ttraining's rmse: ${LOSS[i]}\tvalid_1's rmse: ${VAL[i]}`),
          ),
        ],
        [
          printed(
            lines(
              12,
              (i) =>
                `${i}:\tlearn: ${LOSS[i]}\ttest: ${VAL[i]}\tbest: ${VAL[i]} (${i})\ttotal: 3ms\tremaining: 1s`,
            ),
          ),
        ],
      ),
    }),
    runs: 3,
    series: 6,
    values: 72,
    says: ['training loss: learn/objective', 'validation loss: test/objective'],
  },
  {
    name: 'a data frame of the history, shown after the training, is not read again',
    make: () => ({
      'a.ipynb': notebook(
        [printed(epochs(0, 12))],
        [
          result(
            '    epoch   loss\n0      0   2.3\n1      1   1.9\n',
            table(
              ['epoch', 'loss'],
              [
                [0, 2.3],
                [1, 1.9],
              ],
            ),
          ),
        ],
      ),
    }),
    series: 4,
    values: 48,
    last: { 'train/loss': LAST },
    says: BOTH,
  },
  {
    name: 'version 3 of the format, with worksheets',
    make: () => ({
      'old.ipynb': JSON.stringify({
        metadata: { name: 'old' },
        nbformat: 3,
        nbformat_minor: 0,
        worksheets: [
          {
            cells: [
              {
                cell_type: 'code',
                input: ['fit()'],
                outputs: [{ output_type: 'stream', stream: 'stdout', text: saved(epochs(0, 12)) }],
              },
            ],
          },
        ],
      }),
    }),
    series: 4,
    values: 48,
    last: { 'train/loss': LAST },
    says: BOTH,
  },
  {
    name: 'Lightning and tqdm on stderr with a table of validation on stdout',
    make: () => ({
      'pl.ipynb': notebook([
        printed('Epoch 9: 100%|██████████| 938/938 [00:12<00:00, 75.3it/s, v_num=0]\n', 'stderr'),
        printed(lines(12, (i) => `Epoch: ${i} | train_loss: ${LOSS[i]} | val_loss: ${VAL[i]}`)),
      ]),
    }),
    series: 2,
    values: 24,
    last: { 'val/loss': LAST_VAL },
    says: BOTH,
  },
]);
