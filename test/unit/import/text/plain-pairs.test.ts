/** Lines of plain prints: names and numbers without a sign between them are read, sentences never. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainLine } from '../../../../src/exchange/import/text/plain-pairs.ts';
import { importText, type Sample } from '../../../support/imported.ts';
import { runs as settings } from '../../../support/property.ts';

const lossAt = (i: number): number => 2.5 - i / 8;

type Print = {
  /** The first line. */
  readonly line: (i: number) => string;
  readonly metrics: Readonly<Record<string, (i: number) => Sample>>;
};

const PRINTS: readonly Print[] = [
  {
    line: (i) => `step ${i}: loss ${lossAt(i)}, lr 0.001`,
    metrics: {
      'train/loss': (i) => [i, null, lossAt(i)],
      'optimizer/lr': (i) => [i, null, 0.001],
    },
  },
  {
    line: (i) => `epoch ${i} train_loss ${lossAt(i)} val_loss ${lossAt(i) + 1}`,
    metrics: {
      'train/loss': (i) => [null, i, lossAt(i)],
      'val/loss': (i) => [null, i, lossAt(i) + 1],
    },
  },
  {
    line: (i) => `Epoch ${i + 1} - loss ${lossAt(i)}`,
    metrics: { 'train/loss': (i) => [null, i + 1, lossAt(i)] },
  },
  {
    line: (i) => `iter ${100 * i} | loss ${lossAt(i)} | step time 120ms | 3.5 tok/s`,
    metrics: {
      'train/loss': (i) => [100 * i, null, lossAt(i)],
      step_time: (i) => [100 * i, null, 120],
    },
  },
  {
    line: (i) => `[1, ${String(2000 * (i + 1)).padStart(5)}] loss: ${lossAt(i)}`,
    metrics: { 'train/loss': (i) => [2000 * (i + 1), 1, lossAt(i)] },
  },
  {
    line: (i) =>
      `2024-01-02 03:04:0${i},123 - INFO - Epoch ${i}/9 | Train loss ${lossAt(i)} | Val acc 5${i}% | Time 3.2s`,
    metrics: {
      'train/loss': (i) => [null, i, lossAt(i)],
      'val/accuracy': (i) => [null, i, 50 + i],
    },
  },
  {
    line: (i) => `[${i}/8] train_loss: ${lossAt(i)} - val_loss: ${lossAt(i) + 1}`,
    metrics: {
      'train/loss': (i) => [i, null, lossAt(i)],
      'val/loss': (i) => [i, null, lossAt(i) + 1],
    },
  },
  {
    line: (i) => `${10 * i}: loss ${lossAt(i)}`,
    metrics: { 'train/loss': (i) => [10 * i, null, lossAt(i)] },
  },
  {
    line: (i) =>
      `Epoch ${i} loss: tensor(${lossAt(i)}, device='cuda:0', grad_fn=<NllLossBackward0>)`,
    metrics: { 'train/loss': (i) => [null, i, lossAt(i)] },
  },
  {
    line: (i) => `Episode: ${i}, Reward: ${lossAt(i)}, Epsilon: 0.5`,
    metrics: { Reward: (i) => [i, null, lossAt(i)] },
  },
];

test('plain prints are read without a pattern', async () => {
  for (const { line, metrics } of PRINTS) {
    const rows = Array.from({ length: 8 }, (_, i) => i);
    const { report, runs } = await importText({
      'train.log': `Files already downloaded\n${rows.map(line).join('\n')}\nFinished Training\n`,
    });
    expect([line(0), report.problems]).toEqual([line(0), []]);
    expect([line(0), runs[0]?.metrics]).toMatchObject([
      line(0),
      Object.fromEntries(Object.entries(metrics).map(([key, at]) => [key, rows.map(at)])),
    ]);
  }
});

test('the tutorials of PyTorch: steps over all epochs, and the test beside the training', async () => {
  const { runs } = await importText({
    'quickstart.log': [1, 2]
      .map(
        (epoch) =>
          `Epoch ${epoch}\n-------------------\nloss: 2.5  [   64/  128]\nloss: 1.5  [  128/  128]\nTest Error: \n Accuracy: 4${epoch}.5%, Avg loss: 2.${epoch} \n\n`,
      )
      .join(''),
    'gan.log': [0, 1]
      .map((i) => `[0/5][${i}/2]\tLoss_D: 1.5\tLoss_G: 2.5\tD(x): 0.75\tD(G(z)): 0.25 / 0.125\n`)
      .join(''),
  });
  expect(runs[0]?.metrics).toEqual({
    'train/loss': [
      [64, 1, 2.5],
      [128, 1, 1.5],
      [192, 2, 2.5],
      [256, 2, 1.5],
    ],
    'test/accuracy': [
      [128, 1, 41.5],
      [256, 2, 42.5],
    ],
    'test/loss': [
      [128, 1, 2.1],
      [256, 2, 2.2],
    ],
  });
  expect(Object.keys(runs[1]?.metrics ?? {})).toEqual(['Loss_D', 'Loss_G', 'D_x', 'D_G_z']);
});

const WORDS = [
  'the',
  'was',
  'reduces',
  'after',
  'about',
  'we',
  'model',
  'better',
  'than',
  'GPU',
  'saw',
  'takes',
  'points',
  'out',
  'only',
  'see',
  'with',
  'and',
  'improved',
  'from',
  'Figure',
  'section',
  'kg',
  'v',
] as const;
const PARTS = fc.oneof(
  fc.constantFrom(
    'loss',
    'val_loss',
    'accuracy',
    'train loss',
    'epoch',
    'step',
    'batch',
    'lr',
    ',',
    ':',
    '-',
    '|',
    '(',
    ')',
  ),
  fc.integer({ min: 0, max: 5000 }).map(String),
  fc.double({ min: -10, max: 10, noNaN: true }).map((value) => value.toFixed(3)),
);

test('a line with one word that is neither a counter nor a measure is a sentence, and nothing is read of it', () => {
  fc.assert(
    fc.property(
      fc.array(PARTS, { minLength: 2, maxLength: 12 }),
      fc.constantFrom(...WORDS),
      fc.nat(),
      (parts, word, at) => {
        const where = at % (parts.length + 1);
        const text = [...parts.slice(0, where), word, ...parts.slice(where)].join(' ');
        expect([text, plainLine(text)]).toEqual([text, undefined]);
      },
    ),
    settings(2000),
  );
});

test('what is read of a plain line is what stands in it', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('epoch', 'Step', 'iter'),
      fc.nat(100_000),
      fc.uniqueArray(fc.constantFrom('loss', 'val_loss', 'lr', 'acc', 'grad_norm'), {
        minLength: 1,
      }),
      fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 5, maxLength: 5 }),
      fc.constantFrom(' ', ', ', ' | ', ' - '),
      (counter, at, names, values, sign) => {
        const pairs = names.map((name, i) => [name, String(values[i])] as const);
        const line = [`${counter} ${at}`, ...pairs.map(([name, value]) => `${name} ${value}`)];
        const read = plainLine(line.join(sign));
        expect(read?.pairs).toEqual(pairs);
        expect(counter === 'epoch' ? read?.epoch : read?.step).toBe(at);
      },
    ),
    settings(500),
  );
});

test('sentences with numbers beside a loss stay unread', () => {
  for (const line of [
    'At epoch 5 the loss was 0.3',
    'Epoch 3 loss 2.5 is the best so far',
    'Step 5 reduces loss 10 times',
    'loss 2.5 at step 3',
    'epoch 3 of training, see issue 45',
    'Epoch 3: 12 images, loss 5 kg',
    'epoch 1 epoch 2 loss 3',
    'loss 0.5',
    'step 3',
    'epoch 3 loss 1.2.3',
    'epoch 3 loss 2024-01-02',
  ])
    expect([line, plainLine(line)]).toEqual([line, undefined]);
});

test('sentences with a sign in front of a number are read by nobody, either', async () => {
  const text = [
    'Note for step 5: the loss: 3 is odd.',
    'Epoch 3 of the Jurassic: 145 million years',
    'In epoch 3 we saw: 12 cats',
  ].join('\n');
  const { runs } = await importText({ 'train.log': `${text}\n`.repeat(10) });
  expect(runs).toEqual([]);
});

test('both sides in one line, each behind its word', async () => {
  const { runs } = await importText({
    'train.log': [0, 1, 2]
      .map((i) => `epoch ${i} - train: loss=${3 - i} acc=0.5 - val: loss=${4 - i} acc=0.25\n`)
      .join(''),
  });
  expect(runs[0]?.metrics).toEqual({
    'train/loss': [0, 1, 2].map((i) => [null, i, 3 - i]),
    'train/accuracy': [0, 1, 2].map((i) => [null, i, 0.5]),
    'val/loss': [0, 1, 2].map((i) => [null, i, 4 - i]),
    'val/accuracy': [0, 1, 2].map((i) => [null, i, 0.25]),
  });
});
