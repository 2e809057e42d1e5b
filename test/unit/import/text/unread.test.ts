/** Logs whose losses are not read: they say so, and the pattern that they propose reads them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UNREAD_LOGS } from '../../../collection/language-logs.ts';
import { importText } from '../../../support/imported.ts';
import { runs as settings } from '../../../support/property.ts';

const ODD = Array.from(
  { length: 5 },
  (_, i) => `[worker-3] round ${i + 1} => train loss is ${2 - i / 4} // lr ${i / 8}\n`,
).join('');

test('losses that no pattern reads are counted, with the first line and the pattern that reads them', async () => {
  const { report, runs } = await importText({ 'train.log': `starting\n${ODD}done\n` });
  expect(runs).toEqual([]);
  expect(report.unread).toEqual([
    {
      file: 'train.log',
      lineCount: 5,
      firstLine: '[worker-3] round 1 => train loss is 2 // lr 0',
      firstLineNumber: 2,
      readCount: 0,
      patterns: [expect.stringContaining('(?<train_loss>')],
    },
  ]);
  expect(report.problems).toEqual([
    {
      file: 'train.log',
      place: 'line 2',
      reason: expect.stringMatching(
        /^5 lines have a number beside the name of a loss and were not read, and no loss was read from this file\. The first is ".*"\. This reads them, given to quark import, analyze or report: --pattern '.*'$/,
      ),
    },
  ]);
  const again = await importText(
    { 'train.log': `starting\n${ODD}done\n` },
    { pattern: report.unread[0]?.patterns ?? [] },
  );
  expect(again.report.problems).toEqual([]);
  expect(again.runs[0]?.metrics).toEqual({
    'train/loss': [0, 1, 2, 3, 4].map((i) => [i + 1, null, 2 - i / 4]),
    'optimizer/lr': [0, 1, 2, 3, 4].map((i) => [i + 1, null, i / 8]),
  });
});

test('beside lines that were read: a pattern for the others, which leaves the first as they are', async () => {
  const text = Array.from(
    { length: 4 },
    (_, i) => `step=${i} loss=${4 - i}\nheld-out after ${i} steps >> loss ~ ${5 - i}\n`,
  ).join('');
  const first = await importText({ 'a.log': text });
  expect(first.report.unread).toMatchObject([{ lineCount: 4, readCount: 4, firstLineNumber: 2 }]);
  const { report, runs } = await importText(
    { 'a.log': text },
    { pattern: String.raw`held-out after (?<step>\d+) steps >> loss ~ (?<val_loss>\S+)` },
  );
  expect(report.unread).toEqual([]);
  expect(runs[0]?.metrics).toEqual({
    'train/loss': [0, 1, 2, 3].map((i) => [i, null, 4 - i]),
    'val/loss': [0, 1, 2, 3].map((i) => [i, null, 5 - i]),
  });
});

test('two counts one after the other are of epochs and of their steps, in the pattern that is proposed, too', async () => {
  const text = [0, 1]
    .flatMap((epoch) =>
      [0, 1].map(
        (i) => `[${epoch}/2][${i}/2] now Loss_D: 0.${epoch + 1} Loss_G: ${i + 2}.5 again\n`,
      ),
    )
    .join('');
  const { report } = await importText({ 'gan.log': text });
  expect(report.unread[0]?.readCount).toBe(0);
  const { runs } = await importText(
    { 'gan.log': text },
    { pattern: report.unread[0]?.patterns ?? [] },
  );
  expect(runs).toHaveLength(1);
  expect(runs[0]?.metrics).toMatchObject({
    loss_g: [
      [0, 0, 2.5],
      [1, 0, 3.5],
      [2, 1, 2.5],
      [3, 1, 3.5],
    ],
  });
});

test('sentences about a loss, settings and scales are no lost lines', async () => {
  const { report } = await importText({
    'a.log': `loss_weight: 0.5\nlabel smoothing loss 0.1\nbest loss: 0.25\nGradient overflow. Skipping step, loss scaler 0 reducing loss scale to 32768.0\nstep=1 loss=2\nstep=2 loss=1\nfinal loss: 1\n`,
  });
  expect(report.problems).toEqual([]);
  expect(report.unread).toEqual([]);
});

test('a pattern with pairs, phases and the steps of an epoch', async () => {
  const text = [1, 2]
    .map((epoch) => `<${epoch}> valid 5/10 {loss ${epoch}; acc 0.${epoch}}`)
    .join('\n');
  const { runs } = await importText(
    { 'x.txt': text },
    {
      pattern: [
        String.raw`<(?<epoch>\d+)> (?<phase>\w+) (?<step>\d+)/(?<epoch_steps>\d+) \{loss (?<loss>[^;]+); acc (?<acc>[^}]+)`,
      ],
    },
  );
  expect(runs[0]?.metrics).toEqual({
    'val/loss': [
      [5, 1, 1],
      [15, 2, 2],
    ],
    'val/accuracy': [
      [5, 1, 0.1],
      [15, 2, 0.2],
    ],
  });
  const pairs = await importText(
    { 'x.txt': 'a 1, b 2\na 3, b 4\n' },
    { pattern: String.raw`(?<key>[ab]) (?<value>\d)` },
  );
  expect(pairs.runs[0]?.metrics).toEqual({
    a: [
      [0, null, 1],
      [1, null, 3],
    ],
    b: [
      [0, null, 2],
      [1, null, 4],
    ],
  });
});

test.each([
  ['', 'not empty'],
  ['(?<step>\\d+)', 'a named group for a value'],
  ['loss', 'a named group for a value'],
  ['(?<loss>.+)(?=x)', 'without lookahead'],
  ['(?<loss', 'groups that begin with'],
])('the pattern %j is refused before anything is read', async (pattern, rule) => {
  await expect(importText({ 'a.log': ODD }, { pattern })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining(rule),
  });
});

test('a pattern that would try all ways one after another ends soon', async () => {
  const line = `loss ${'a'.repeat(5000)}\n`;
  const { report } = await importText(
    { 'a.log': line.repeat(20) },
    { pattern: '(a+)+(?<loss>b)$' },
  );
  expect(report.runs).toEqual([]);
});

test.each(UNREAD_LOGS)(
  'a log with $name: the pattern that is proposed reads all of it',
  async ({ text, values }) => {
    const first = await importText({ 'train.log': text });
    expect(first.report.unread).toMatchObject([{ readCount: 0, lineCount: 40 }]);
    const { report, runs } = await importText(
      { 'train.log': text },
      { pattern: first.report.unread[0]?.patterns ?? [] },
    );
    expect(report.problems).toEqual([]);
    expect(runs).toHaveLength(1);
    expect(report.runs[0]?.rowCount).toBe(values);
  },
);

describe('for log lines of any shape', () => {
  const word = fc.constantFrom('worker', 'INFO', 'at', 'gpu', 'stage', 'trainer', 'phase');
  const blank = fc.constantFrom(' ', '  ', '\t');
  const sign = fc.constantFrom('=>', '->', '~', '::', '>>', '|', '//', 'is', ';', '·');
  const lossName = fc.constantFrom('loss', 'Loss', 'train_loss', 'val loss', 'nll', 'perplexity');
  const other = fc.constantFrom('acc', 'lr', 'grad_norm', 'dice');
  const counter = fc.constantFrom('round', 'step', 'epoch', 'iter', 'batch', 'tick');
  const shape = fc.record({
    head: fc.array(word, { maxLength: 2 }),
    counter: fc.option(counter, { nil: undefined }),
    counterSign: fc.constantFrom(' ', ' #', ': ', '='),
    blank,
    loss: lossName,
    lossSign: sign,
    other: fc.option(other, { nil: undefined }),
    otherSign: sign,
    end: fc.constantFrom('', ' done', ' (ok)', ' [x]'),
  });
  const value = fc.oneof(
    fc.double({ min: 0.001, max: 1000, noNaN: true }).map((x) => x.toFixed(4)),
    fc.double({ min: 1e-9, max: 1e-6, noNaN: true }).map((x) => x.toExponential(3)),
    fc.constantFrom('nan', '-0.5', '12'),
  );

  test('the losses arrive, read at once or with the pattern that is proposed', async () => {
    let proposed = 0;
    await fc.assert(
      fc.asyncProperty(
        shape,
        fc.array(value, { minLength: 3, maxLength: 6 }),
        async (made, values) => {
          const text = values
            .map((one, i) => {
              const counted =
                made.counter === undefined
                  ? ''
                  : `${made.counter}${made.counterSign}${i + 1}${made.blank}`;
              const beside =
                made.other === undefined
                  ? ''
                  : `${made.blank}${made.other} ${made.otherSign} 0.${i + 1}`;
              return `${made.head.join(' ')}${made.head.length > 0 ? made.blank : ''}${counted}${made.loss} ${made.lossSign} ${one}${beside}${made.end}\n`;
            })
            .join('');
          let { report, runs } = await importText({ 'train.log': text });
          const patterns = report.unread[0]?.patterns ?? [];
          if (patterns.length > 0) {
            proposed++;
            ({ report, runs } = await importText({ 'train.log': text }, { pattern: patterns }));
          }
          const expected = values.map(Number);
          const found = runs.flatMap(({ metrics }) =>
            Object.entries(metrics)
              .filter(([key]) => /loss|nll|perplexity/i.test(key))
              .map(([, samples]) => samples.map(([, , sample]) => sample)),
          );
          expect(report.unread, text).toEqual([]);
          expect(found, text).toEqual([expected]);
        },
      ),
      settings(400),
    );
    expect(proposed).toBeGreaterThan(50);
  });
});
