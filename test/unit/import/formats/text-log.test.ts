import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TEXT_LOG_PATTERNS } from '../../../../src/exchange/import/text/known-patterns.ts';
import { LogReader } from '../../../../src/exchange/import/messages/log-patterns.ts';
import { importText } from '../../../support/imported.ts';
import { damaged } from '../../../support/mutations.ts';
import { runs as settings } from '../../../support/property.ts';

const megatron = (step: number, loss: string): string =>
  ` [2024-01-02 03:04:0${step % 10}] iteration ${String(step).padStart(8)}/    1000 | consumed samples:    ${step * 4} | elapsed time per iteration (ms): 2152.2 | learning rate: 1.5E-04 |${loss} loss scale: 8388608.0 | number of skipped iterations:  ${loss === '' ? 10 : 0} | number of nan iterations:   0 |\n`;

const MEGATRON = `++ export X=1
------------------------ arguments ------------------------
  adam_eps ........................................ 1e-08
  bert_load ....................................... None
  fp16 ............................................ True
[Rank 7] (after 20 iterations) memory (MB) | allocated: 21633.0859375 | max allocated: 24432.0
${megatron(10, '')}${megatron(20, ' lm loss: 1.203115E+01 | grad norm: nan |')} validation loss at iteration 20 | lm loss value: 8.017406E+00 | lm loss PPL: 3.033300E+03 |
  adam_eps ........................................ 1e-06
0: ${megatron(10, ' lm loss: 9.5E+00 |').trimStart()}${megatron(20, ' lm loss: 9.0E+00 |')} validation loss at iteration 20 on test set | lm loss value: 7.5E+00 |
`;

const KERAS = `Epoch 1/2
  5/938 [..............................] - ETA: 10:00 - loss: 8.0
\r  1/938 [..............................] - ETA: 10:00 - loss: 2.5\b\b\b\r938/938 [==============================] - 3s 3ms/step - loss: 0.5 - val_loss: 0.25
Epoch 00001: val_loss improved from inf to 0.25000, saving model to x.h5
Epoch 2/2
 12/938 [>.............................] - ETA: 2s - loss: 9.0
\u001b[1m938/938\u001b[0m \u001b[32m━━━━\u001b[0m\u001b[37m\u001b[0m \u001b[1m3s\u001b[0m 3ms/step - loss: 0.25 - val_loss: nan
`;

const PAIRS = `*** Epoch 1/50 ***
Train: loss=1.5, acc=0.25
  Val: loss=1.25, acc=0.5
 best:      1.2001,     0.5709, 0 epochs since improved
*** Epoch 2/50 ***
Train: loss=1, acc=0.75
  Val: loss=nan, acc=1
Restoring model to state after epoch 47.
`;

describe('a text log', () => {
  test('of Megatron-LM: skipped iterations, validation on lines of its own, arguments, two runs in one file', async () => {
    const { report, runs } = await importText({ 'slurm/job.out': MEGATRON });
    expect(report.problems).toEqual([]);
    expect(runs.map(({ name }) => name)).toEqual(['job', 'job#2']);
    const [first, second] = runs;
    expect(first?.metrics).toMatchObject({
      'train/loss': [[20, null, 12.03115]],
      'train/grad_norm': [[20, null, Number.NaN]],
      'optimizer/lr': [
        [10, null, 1.5e-4],
        [20, null, 1.5e-4],
      ],
      number_of_skipped_iterations: [
        [10, null, 10],
        [20, null, 0],
      ],
      'val/loss': [[20, null, 8.017406]],
      'val/perplexity': [[20, null, 3033.3]],
    });
    expect(Object.keys(first?.metrics ?? {}).some((key) => key.includes('allocated'))).toBe(false);
    expect(first?.times['train/loss']).toEqual([Date.UTC(2024, 0, 2, 3, 4, 0)]);
    expect(first?.reader.run.config).toEqual({ adam_eps: 1e-8, bert_load: null, fp16: true });
    expect(second?.metrics['train/loss']).toEqual([
      [10, null, 9.5],
      [20, null, 9],
    ]);
    expect(second?.metrics['test/loss']).toEqual([[20, null, 7.5]]);
    expect(second?.reader.run.config).toEqual({ adam_eps: 1e-6 });
  });

  test('of Keras: progress bars at their end only, whatever the terminal was told', async () => {
    const { runs } = await importText({ 'train.log': KERAS });
    expect(runs[0]?.metrics).toEqual({
      'train/loss': [
        [null, 1, 0.5],
        [null, 2, 0.25],
      ],
      'val/loss': [
        [null, 1, 0.25],
        [null, 2, Number.NaN],
      ],
    });
  });

  test('of pairs below a line that names the epoch', async () => {
    const { runs } = await importText({ 'results/training_log.txt': PAIRS });
    expect(runs[0]?.name).toBe('results');
    expect(runs[0]?.metrics).toEqual({
      'train/loss': [
        [null, 1, 1.5],
        [null, 2, 1],
      ],
      'train/accuracy': [
        [null, 1, 0.25],
        [null, 2, 0.75],
      ],
      'val/loss': [
        [null, 1, 1.25],
        [null, 2, Number.NaN],
      ],
      'val/accuracy': [
        [null, 1, 0.5],
        [null, 2, 1],
      ],
    });
  });

  test.each([
    [
      'pytorch-CycleGAN',
      (epoch: number, step: number) =>
        `(epoch: ${epoch}, iters: ${step}, time: 2.4, data: 0.1) loss: 0.5`,
      [20, 40, 60, 80],
    ],
    [
      'mmdetection',
      (epoch: number, step: number) =>
        `2021-01-02 03:04:05,123 - mmdet - INFO - Epoch [${epoch}][${step}/45]\tlr: 0.1, eta: 0:30:12, loss: 0.5`,
      [20, 40, 65, 85],
    ],
    [
      'mmengine',
      (epoch: number, step: number) => `Epoch(train)  [${epoch}][ ${step}/45]  lr: 0.1  loss: 0.5`,
      [20, 40, 65, 85],
    ],
    [
      'the ImageNet example',
      (epoch: number, step: number) => `Epoch: [${epoch}][ ${step}/45]\tLoss 0.5 (0.6)`,
      [20, 40, 65, 85],
    ],
    [
      'brackets behind the epoch',
      (epoch: number, step: number) => `Epoch ${epoch} [  ${step}/45] loss=0.5 (1.1s)`,
      [20, 40, 65, 85],
    ],
    [
      'batches',
      (epoch: number, step: number) => `[Epoch ${epoch}/9] [Batch ${step}/45] [loss: 0.5]`,
      [20, 40, 65, 85],
    ],
    [
      'steps of many',
      (epoch: number, step: number) => `Epoch [${epoch}/9], Step [${step}/45], Loss: 0.5`,
      [20, 40, 65, 85],
    ],
    [
      'batches below the epoch',
      (epoch: number, step: number) => `Epoch ${epoch}\nBatch ${step}: loss=0.5`,
      [20, 40, 60, 80],
    ],
  ])('of counters within epochs, as of %s: steps of the run', async (_, line, expected) => {
    const rows = [
      [2, 20],
      [2, 40],
      [3, 20],
      [3, 40],
    ] as const;
    const text = `${rows.map(([epoch, step]) => line(epoch, step)).join('\n')}\n`;
    const { runs } = await importText({ 'train.log': text });
    expect(runs).toHaveLength(1);
    const loss = Object.entries(runs[0]?.metrics ?? {}).find(([key]) => /loss/i.test(key))?.[1];
    expect(loss).toEqual(expected.map((step, i) => [step, i < 2 ? 2 : 3, 0.5]));
    expect(Object.keys(runs[0]?.metrics ?? {}).join()).not.toMatch(/iter|batch|step/i);
  });

  test.each([
    ['s:5 trl:3.5 lr:0.01 norm:0.5', 'llm_c_log', 5, Number.NaN, { trl: 3.5, lr: 0.01, norm: 0.5 }],
    ['s:5 tel:3.5', 'llm_c_log', 5, Number.NaN, { tel: 3.5 }],
    [
      'step    3/19560 | loss 11.009 (+nanz)| norm 15.3 (+nanz)| lr 9.3e-07 | 1200.00 ms | 45.0% bf16 MFU | 436907 tok/s',
      'llm_c',
      3,
      Number.NaN,
      { loss: 11.009, norm: 15.3, lr: 9.3e-7 },
    ],
    [
      'step:125/1390 val_loss:4.5 train_time:27000ms step_avg:nanms',
      'modded_nanogpt',
      125,
      Number.NaN,
      { val_loss: 4.5, train_time: 27000, step_avg: Number.NaN },
    ],
    [
      'step 250: train loss 4.2874, val loss 4.2823',
      'nanogpt_validation',
      250,
      Number.NaN,
      { train_loss_estimate: 4.2874, val_loss: 4.2823 },
    ],
    [
      'iter 10: loss 4.2664, time 37162.84ms, mfu -100.00%',
      'nanogpt',
      10,
      Number.NaN,
      { loss: 4.2664, time: 37162.84, mfu: -100 },
    ],
    [
      "{'loss': 2.5, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.25}",
      'python_dict',
      Number.NaN,
      0.25,
      { loss: 2.5, grad_norm: Number.NaN, learning_rate: 5e-5 },
    ],
    ['Train Epoch: 3 [640/60000 (1%)]\tLoss: 2.25', 'pytorch_mnist', 640, 3, { train_loss: 2.25 }],
    [
      'Epoch: [2][ 10/391]\tTime  0.5 ( 0.25)\tLoss 6.9 (6.95)\tAcc@1 12.5 ( 0.1)',
      'pytorch_imagenet',
      10,
      2,
      { Time: 0.5, Loss: 6.9, 'Acc@1': 12.5 },
    ],
    ['Epoch [1/10], Step [100/600], Loss: 0.25', 'pairs', 100, 1, { Loss: 0.25 }],
    [
      '[2024-01-02 03:04:05] Epoch 3 - Train Loss: 0.5 | Val Loss: 0.25 | lr=1e-4',
      'pairs',
      Number.NaN,
      3,
      { 'Train Loss': 0.5, 'Val Loss': 0.25, lr: 1e-4 },
    ],
    [
      'INFO epoch=3 step=40 loss=inf time=12:30:01 date: 2024-01-02 v: 1.2.3',
      'pairs',
      40,
      3,
      { loss: Infinity },
    ],
  ])('reads %j', (line, name, step, epoch, values) => {
    const row = new LogReader().read(line);
    expect([row?.pattern, row?.step, row?.epoch, Object.fromEntries(row?.values ?? [])]).toEqual([
      name,
      step,
      epoch,
      values,
    ]);
  });

  test('understands the patterns of the user, before its own', async () => {
    const text =
      'round 7 => L(0.5) A(0.25)\nround 8 => L(0.25) A(nan)\nT=2024-01-02T03:04:05Z r9 val q:1 w:2\n';
    const patterns = [
      {
        name: 'mine',
        pattern: /^round (?<step>\d+) => L\((?<loss>[^)]+)\) A\((?<acc>[^)]+)\)/,
        namespace: 'val',
      },
      {
        name: 'pairs of mine',
        pattern: /^T=(?<time>\S+) r(?<step>\d+) (?<phase>val)/,
        pairs: /(?<key>\w):(?<value>\d)/,
      },
    ];
    const { runs } = await importText({ 'odd.name': text }, { patterns });
    expect(runs[0]?.metrics).toEqual({
      'val/loss': [
        [7, null, 0.5],
        [8, null, 0.25],
      ],
      'val/accuracy': [
        [7, null, 0.25],
        [8, null, Number.NaN],
      ],
      'val/q': [[9, null, 1]],
      'val/w': [[9, null, 2]],
    });
    expect(runs[0]?.times['val/q']).toEqual([Date.UTC(2024, 0, 2, 3, 4, 5)]);
    expect((await importText({ 'odd.name': text })).report.unknownFiles).toEqual(['odd.name']);
  });

  test('is told from settings, code and prose', async () => {
    const others = {
      'config.yaml': 'epoch: 5\nlr: 0.01\n',
      'train.py': 'for epoch in range(3):\n  step = 0\n  loss = 0.5\n',
      notes: 'We trained for 5 epochs.\nThe loss was fine.\n',
      'README.md': '# Epoch 3\nloss: 0.5\n',
    };
    const { report } = await importText(others);
    expect(report.unknownFiles.toSorted()).toEqual(Object.keys(others).toSorted());
  });

  test('ends soon on lines made to take long', () => {
    const reader = new LogReader();
    const parts = [
      'a',
      'a ',
      '1',
      '1.',
      'a: ',
      'a=1',
      ' ',
      '|',
      'a|',
      'step ',
      'epoch ',
      'iteration 1',
      "{'a",
      '-',
      '/',
      '[',
      'a.a',
      '1e',
      ' 1/1 ',
      '- a',
      'loss: ',
      '\r',
      '\u001b[',
    ];
    for (const part of parts) {
      for (const head of [
        '',
        'epoch 1 ',
        's:1 ',
        'iteration 1/1 |',
        '1/1 - 1s ',
        "{'",
        'Epoch: [1][1/1]',
      ])
        expect(() => reader.read(head + part.repeat(100_000 / part.length))).not.toThrow();
    }
  }, 120_000);

  test('every known pattern has a name of its own', () => {
    expect(new Set(TEXT_LOG_PATTERNS.map(({ name }) => name)).size).toBe(TEXT_LOG_PATTERNS.length);
  });

  test('whatever is damaged in it, an import ends', async () => {
    await fc.assert(
      fc.asyncProperty(
        damaged([{ 'a.out': MEGATRON }, { 'b.log': KERAS }, { 'c.txt': PAIRS }]),
        async (files) => {
          expect(await importText(files)).toHaveProperty('report');
        },
      ),
      settings(800),
    );
  }, 240_000);
});
