/** Rows whose positions are unusual: what decides arrives, at positions that mean what they say, where the rules look for it. */
import { expect, test } from 'vitest';
import { findRoles, loadRunColumns } from 'quark-sdk/analysis';
import { lines } from '../../collection/curves.ts';
import { importText, type ImportedForTest } from '../../support/imported.ts';
import type { Files } from '../../support/mutations.ts';

const loss = (i: number): string => (2 / (i + 1)).toFixed(4);
const val = (i: number): string => (2.2 / (i + 1)).toFixed(4);
const T = 1_700_000_000;

/** Of each run: the points of the training and the validation loss, and the first and last step, or else epoch, of the first. */
type Expected = readonly (readonly [train: number, val: number, from: number, to: number])[];

type Case = readonly [name: string, files: Files, expected: Expected];

const WITHOUT_STEPS: readonly Case[] = [
  [
    'CSV without steps',
    { 'a.csv': `train_loss,val_loss\n${lines(20, (i) => `${loss(i)},${val(i)}`)}` },
    [[20, 20, 0, 19]],
  ],
  [
    'JSON lines without steps',
    { 'a.jsonl': lines(20, (i) => `{"train_loss": ${loss(i)}, "val_loss": ${val(i)}}`) },
    [[20, 20, 0, 19]],
  ],
  [
    'JSON lines of training, with validation now and then',
    {
      'a.jsonl': lines(40, (i) =>
        i % 4 === 3 ? `{"val_loss": ${val(i)}}` : `{"train_loss": ${loss(i)}}`,
      ),
    },
    [[30, 10, 0, 29]],
  ],
  [
    'lists of JSON',
    {
      'history.json': JSON.stringify({
        train_loss: Array.from({ length: 20 }, (_, i) => Number(loss(i))),
        val_loss: Array.from({ length: 20 }, (_, i) => Number(val(i))),
      }),
    },
    [[20, 20, 0, 19]],
  ],
];

const table = (count: number, from = 0): string =>
  lines(count, (i) => `${from + i},${loss(from + i)},${val(from + i)}`);

const RESTARTS: readonly Case[] = [
  [
    'a CSV that begins again is two runs',
    { 'a.csv': `step,train_loss,val_loss\n${table(12)}${table(9)}` },
    [
      [12, 12, 0, 11],
      [9, 9, 0, 8],
    ],
  ],
  [
    'a text log that begins again is two runs',
    {
      'a.log': [12, 9]
        .map((count) => lines(count, (i) => `step=${i} train_loss=${loss(i)} val_loss=${val(i)}`))
        .join(''),
    },
    [
      [12, 12, 0, 11],
      [9, 9, 0, 8],
    ],
  ],
  [
    'JSON lines that go back to a checkpoint are one run',
    {
      'a.jsonl': [
        [0, 12],
        [8, 12],
      ]
        .map(([from = 0, count = 0]) =>
          lines(
            count,
            (i) =>
              `{"step": ${from + i}, "train_loss": ${loss(from + i)}, "val_loss": ${val(from + i)}}`,
          ),
        )
        .join(''),
    },
    [[24, 24, 0, 19]],
  ],
  [
    'epochs that begin again are two runs',
    {
      'a.log': [10, 6]
        .map((count) =>
          lines(count, (i) => `Epoch ${i + 1}: train_loss=${loss(i)} val_loss=${val(i)}`),
        )
        .join(''),
    },
    [
      [10, 10, 1, 10],
      [6, 6, 1, 6],
    ],
  ],
];

const APPENDED: readonly Case[] = [
  [
    'a CSV with its header again, gone on with',
    { 'a.csv': `epoch,loss,val_loss\n${table(8)}epoch,loss,val_loss\n${table(7, 8)}` },
    [[15, 15, 0, 14]],
  ],
  [
    'a CSV with its header again, begun again',
    { 'a.csv': `epoch,loss,val_loss\n${table(8)}epoch,loss,val_loss\n${table(7)}` },
    [
      [8, 8, 0, 7],
      [7, 7, 0, 6],
    ],
  ],
  [
    "Trainer's log_history of a run that was gone on with",
    {
      'trainer_state.json': JSON.stringify({
        global_step: 200,
        log_history: Array.from({ length: 20 }, (_, i) => [
          { step: (i + 1) * 10, epoch: (i + 1) / 10, loss: Number(loss(i)) },
          { step: (i + 1) * 10, epoch: (i + 1) / 10, eval_loss: Number(val(i)) },
        ]).flat(),
      }),
    },
    [[20, 20, 10, 200]],
  ],
];

const COUNTERS: readonly Case[] = [
  [
    'epoch and a step within it',
    {
      'a.csv': `epoch,step,train_loss,val_loss\n${lines(40, (i) => `${Math.floor(i / 10)},${i % 10},${loss(i)},${i % 10 === 9 ? val(i) : ''}`)}`,
    },
    [[40, 4, 0, 39]],
  ],
  [
    'epoch and a step over the run',
    {
      'a.csv': `epoch,step,train_loss,val_loss\n${lines(40, (i) => `${Math.floor(i / 10)},${i * 5},${loss(i)},${i % 10 === 9 ? val(i) : ''}`)}`,
    },
    [[40, 4, 0, 195]],
  ],
  [
    'steps of training, epochs of validation',
    {
      'a.jsonl': lines(44, (i) => {
        const lap = Math.floor(i / 11);
        return i % 11 === 10
          ? `{"epoch": ${lap}, "val_loss": ${val(lap)}}`
          : `{"epoch": ${lap}, "step": ${i - lap}, "train_loss": ${loss(i)}}`;
      }),
    },
    [[40, 4, 0, 39]],
  ],
  [
    'tokens, samples and times beside the step',
    {
      'a.jsonl': lines(
        20,
        (i) =>
          `{"step": ${i * 100}, "tokens": ${i * 52_428_800}, "samples": ${i * 3200}, "time": ${T + i}, "train/loss": ${loss(i)}, "val/loss": ${val(i)}}`,
      ),
    },
    [[20, 20, 0, 1900]],
  ],
  [
    'iterations in epochs of a text log, with validation behind each',
    {
      'a.log': [0, 1, 2]
        .map(
          (epoch) =>
            `${lines(10, (i) => `Epoch [${epoch}][${i}/10] loss: ${loss(epoch * 10 + i)}`)}Epoch [${epoch}] val_loss: ${val(epoch * 10)}\n`,
        )
        .join(''),
    },
    [[30, 3, 0, 29]],
  ],
];

/** Several of these in one. */
const MIXED: readonly Case[] = [
  [
    'train by step, validation by epoch, without the other counter',
    {
      'a.jsonl': lines(44, (i) => {
        const lap = Math.floor(i / 11);
        return i % 11 === 10
          ? `{"epoch": ${lap}, "val_loss": ${val(lap)}}`
          : `{"step": ${i - lap}, "train_loss": ${loss(i)}}`;
      }),
    },
    [[40, 4, 0, 39]],
  ],
  [
    'local iter and global_step in one row',
    {
      'a.csv': `epoch,iter,global_step,train_loss,val_loss\n${lines(40, (i) => `${Math.floor(i / 10)},${i % 10},${i * 2},${loss(i)},${i % 10 === 9 ? val(i) : ''}`)}`,
    },
    [[40, 4, 0, 78]],
  ],
  [
    'Lightning: rows of training and of validation, apart',
    {
      'metrics.csv': `epoch,step,train_loss,val_loss\n${lines(44, (i) => {
        const lap = Math.floor(i / 11);
        const step = i - lap;
        return i % 11 === 10 ? `${lap},${step - 1},,${val(step)}` : `${lap},${step},${loss(step)},`;
      })}`,
    },
    [[40, 4, 0, 39]],
  ],
  [
    'a log of steps that is begun again from step 1 with validation at other steps',
    {
      'a.log': [12, 9]
        .map((count) =>
          lines(count * 2, (i) =>
            i % 2 === 0
              ? `step ${i / 2 + 1}: loss ${loss(i)}, lr=0.1, train_loss=${loss(i)}`
              : `eval at step ${(i - 1) / 2 + 1}: val_loss=${val(i)}`,
          ),
        )
        .join(''),
    },
    [
      [12, 12, 1, 12],
      [9, 9, 1, 9],
    ],
  ],
  [
    'JSON of two appended histories in lines',
    {
      'a.jsonl': [8, 6]
        .map((n) =>
          lines(n, (i) => `{"epoch": ${i + 1}, "loss": ${loss(i)}, "val_loss": ${val(i)}}`),
        )
        .join(''),
    },
    [
      [8, 8, 1, 8],
      [6, 6, 1, 6],
    ],
  ],
  [
    'JSON: a list of rows without steps',
    {
      'rows.json': JSON.stringify(
        Array.from({ length: 9 }, (_, i) => ({ loss: Number(loss(i)), val_loss: Number(val(i)) })),
      ),
    },
    [[9, 9, 0, 8]],
  ],
  [
    'a list of rows of two trainings',
    {
      'rows.json': JSON.stringify(
        [8, 6].flatMap((n) =>
          Array.from({ length: n }, (_, i) => ({
            epoch: i,
            loss: Number(loss(i)),
            val_loss: Number(val(i)),
          })),
        ),
      ),
    },
    [
      [8, 8, 0, 7],
      [6, 6, 0, 5],
    ],
  ],
  [
    'nanoGPT',
    {
      'a.log': lines(40, (i) =>
        i % 10 === 0
          ? `step ${i * 10}: train loss ${loss(i)}, val loss ${val(i)}`
          : `iter ${i * 10}: loss ${loss(i)}, time 12.1ms, mfu 10.0%`,
      ),
    },
    [[36, 4, 10, 390]],
  ],
  [
    'batches in epochs without their number, mean of the epoch behind',
    {
      'a.log': [1, 2, 3]
        .map(
          (e) =>
            `Epoch ${e}/3\n${lines(10, (i) => `batch ${i} loss=${loss(e * 10 + i)}`)}train_loss=${loss(e * 10)} val_loss=${val(e * 10)}\n`,
        )
        .join(''),
    },
    [[30, 3, 0, 29]],
  ],
];

test.each([...WITHOUT_STEPS, ...RESTARTS, ...APPENDED, ...COUNTERS, ...MIXED])(
  '%s',
  async (_, files, expected) => {
    const { report, runs } = await importText(files);
    expect([report.problems, report.unknownFiles]).toEqual([[], []]);
    expect(await Promise.all(runs.map(decides))).toEqual(expected);
  },
);

test('lines of a text log with neither step nor epoch are read by the pattern that is proposed', async () => {
  const files = { 'a.log': lines(20, (i) => `train loss: ${loss(i)} val loss: ${val(i)}`) };
  const { report } = await importText(files);
  const { runs } = await importText(files, { pattern: report.unread[0]?.patterns });
  expect(await Promise.all(runs.map(decides))).toEqual([[20, 20, 0, 19]]);
});

/** What rules find of the losses of a run, at the positions that they read. */
async function decides({ metrics, reader }: ImportedForTest): Promise<Expected[number]> {
  const roles = findRoles((await loadRunColumns(reader)).metrics);
  const samples = metrics[roles.trainLoss?.series.key ?? ''] ?? [];
  const positions = samples.map(([step, epoch]) => step ?? epoch ?? Number.NaN);
  return [
    samples.length,
    metrics[roles.valLoss?.series.key ?? '']?.length ?? 0,
    Math.min(...positions),
    Math.max(...positions),
  ];
}
