/** Lines as programs print them, by their sources. */
import { expect, test } from 'vitest';
import { importText, type Sample } from '../../../support/imported.ts';

async function metricsOf(
  path: string,
  text: string,
): Promise<Readonly<Record<string, readonly Sample[]>>> {
  const { report, runs } = await importText({ [path]: text });
  expect(report.problems).toEqual([]);
  expect(runs).toHaveLength(1);
  return runs[0]?.metrics ?? {};
}

const TIMM = `Train: 0 [   0/1251 (  0%)]  Loss: 6.94 (6.94)  Time: 9.107s,   28.11/s  (9.107s,   28.11/s)  LR: 1.000e-06  Data: 2.204 (2.204)
Train: 0 [  50/1251 (  4%)]  Loss: 6.93 (6.95)  Time: 0.312s,  820.51/s  (0.490s,  522.45/s)  LR: 1.000e-06  Data: 0.012 (0.060)
Test: [   0/195]  Time: 1.204 (1.204)  Loss:  6.9101 (6.9101)  Acc@1:  0.3906 ( 0.3906)  Acc@5:  1.1719 ( 1.1719)
Test: [ 195/195]  Time: 0.041 (0.182)  Loss:  6.8912 (6.9012)  Acc@1:  0.5000 ( 0.4120)  Acc@5:  1.5000 ( 1.3020)
Test (EMA): [ 195/195]  Time: 0.041 (0.182)  Loss:  6.8912 (6.9040)  Acc@1:  0.5000 ( 0.1000)  Acc@5:  1.5000 ( 0.5000)
Current checkpoints:
 ('./output/train/checkpoint-0.pth.tar', 0.412)
Train: 1 [   0/1251 (  0%)]  Loss: 6.80 (6.80)  Time: 9.107s,   28.11/s  (9.107s,   28.11/s)  LR: 2.000e-06  Data: 2.204 (2.204)
Test: [ 195/195]  Time: 0.041 (0.182)  Loss:  6.1000 (6.2000)  Acc@1:  3.0000 ( 2.5000)  Acc@5:  9.0000 ( 8.0000)
*** Best metric: 2.5 (epoch 1)
`;

test('timm: steps of the run, means of the whole evaluation, those of the average apart', async () => {
  const metrics = await metricsOf('train.log', TIMM);
  expect(metrics).toMatchObject({
    'train/loss': [
      [0, 0, 6.94],
      [50, 0, 6.93],
      [1251, 1, 6.8],
    ],
    'val/loss': [
      [50, 0, 6.9012],
      [1251, 1, 6.2],
    ],
    'val/accuracy': [
      [50, 0, 0.412],
      [1251, 1, 2.5],
    ],
    'val/ema/Loss': [[50, 0, 6.904]],
    'optimizer/lr': [
      [0, 0, 1e-6],
      [50, 0, 1e-6],
      [1251, 1, 2e-6],
    ],
  });
});

test('Swin: the prefix of its logger, bars of its evaluation, the result once', async () => {
  const head = '[2021-06-01 12:00:00 swin_tiny_patch4_window7_224](main.py 227): INFO';
  const text = [0, 1]
    .flatMap((epoch) => [
      `${head} Train: [${epoch}/300][0/1251]\teta 1 day, 2:03:04 lr 0.000001\t wd 0.0500\ttime 2.5000 (2.5000)\tloss 6.9${epoch} (6.9000)\tgrad_norm 1.5000 (1.5000)\tloss_scale 65536.0000 (65536.0000)\tmem 8888MB`,
      `${head} Train: [${epoch}/300][10/1251]\teta 0:10:00 lr 0.000002\t wd 0.0500\ttime 0.5000 (0.5000)\tloss 6.8${epoch} (6.9000)\tgrad_norm inf (inf)\tloss_scale 65536.0000 (65536.0000)\tmem 8888MB`,
      `${head} EPOCH ${epoch} training takes 0:10:01`,
      `${head} Test: [0/98]\tTime 1.200 (1.200)\tLoss 5.5000 (5.5000)\tAcc@1 10.000 (10.000)\tAcc@5 20.000 (20.000)\tMem 8888MB`,
      `${head} Test: [90/98]\tTime 0.200 (0.300)\tLoss 5.1000 (5.2000)\tAcc@1 11.000 (12.500)\tAcc@5 25.000 (26.000)\tMem 8888MB`,
      `${head}  * Acc@1 12.${epoch}00 Acc@5 26.100`,
      `${head} Accuracy of the network on the 50000 test images: 12.${epoch}%`,
      `${head} Max accuracy: 12.${epoch}0%`,
    ])
    .join('\n');
  const metrics = await metricsOf('log_rank0.txt', text);
  expect(metrics).toMatchObject({
    'train/loss': [
      [0, 0, 6.9],
      [10, 0, 6.8],
      [1251, 1, 6.91],
      [1261, 1, 6.81],
    ],
    'val/loss': [
      [10, 0, 5.2],
      [1261, 1, 5.2],
    ],
    'val/accuracy': [
      [10, 0, 12],
      [1261, 1, 12.1],
    ],
    'train/grad_norm': [
      [0, 0, 1.5],
      [10, 0, Infinity],
      [1251, 1, 1.5],
      [1261, 1, Infinity],
    ],
  });
  expect(Object.keys(metrics).join()).not.toMatch(/eta/);
});

test('DeiT on a terminal: the MetricLogger of torchvision', async () => {
  const text = [0, 1]
    .flatMap((epoch) => [
      `Epoch: [${epoch}]  [   0/1251]  eta: 1:02:03  lr: 0.000001  loss: 6.9${epoch}10 (6.9110)  time: 2.9801  data: 1.2010  max mem: 8000`,
      `Epoch: [${epoch}]  [  10/1251]  eta: 0:10:03  lr: 0.000001  loss: 6.8${epoch}10 (6.9000)  time: 0.4801  data: 0.0010  max mem: 8000`,
      `Epoch: [${epoch}] Total time: 0:10:11 (0.4889 s / it)`,
      `Averaged stats: lr: 0.000001  loss: 6.9${epoch}10 (6.9000)`,
      'Test:  [  0/261]  eta: 0:20:00  loss: 5.9010 (5.9010)  acc1: 1.5625 (1.5625)  acc5: 4.6875 (4.6875)  time: 4.5  data: 3.9  max mem: 8000',
      `Test:  [260/261]  eta: 0:00:00  loss: 5.1010 (5.5010)  acc1: 3.5625 (2.5625)  acc5: 9.6875 (8.6875)  time: 0.5  data: 0.0  max mem: 8000`,
      'Test: Total time: 0:01:00 (0.2310 s / it)',
      `* Acc@1 2.56${epoch} Acc@5 8.688 loss 5.501`,
      `Accuracy of the network on the 50000 test images: 2.6%`,
      'Max accuracy: 2.56%',
    ])
    .join('\n');
  const metrics = await metricsOf('out.log', text);
  expect(metrics).toMatchObject({
    'train/loss': [
      [0, 0, 6.901],
      [10, 0, 6.801],
      [1251, 1, 6.911],
      [1261, 1, 6.811],
    ],
    'val/loss': [
      [10, 0, 5.501],
      [1261, 1, 5.501],
    ],
    'val/accuracy': [
      [10, 0, 2.56],
      [1261, 1, 2.561],
    ],
  });
});

test("DeiT's log.txt, lines of JSON, and timm's summary.csv", async () => {
  const { report, runs } = await importText({
    'deit/log.txt': [0, 1]
      .map((epoch) =>
        JSON.stringify({
          train_lr: 1e-6,
          train_loss: 6.9 - epoch,
          test_loss: 6.8 - epoch,
          test_acc1: 1.5,
          test_acc5: 4.5,
          epoch,
          n_parameters: 22_050_664,
        }),
      )
      .join('\n'),
    'timm/summary.csv':
      'epoch,train_loss,eval_loss,eval_top1,eval_top5,lr\n0,6.9,6.8,0.5,1.5,1e-06\n1,5.9,5.8,5.5,9.5,2e-06\n',
  });
  expect(report.problems).toEqual([]);
  const [deit, summary] = runs;
  expect(deit?.metrics).toMatchObject({
    'train/loss': [
      [null, 0, 6.9],
      [null, 1, 5.9],
    ],
    'test/loss': [
      [null, 0, 6.8],
      [null, 1, 5.8],
    ],
    'test/accuracy': expect.anything(),
  });
  expect(summary?.metrics).toMatchObject({
    'train/loss': [
      [null, 0, 6.9],
      [null, 1, 5.9],
    ],
    'val/loss': [
      [null, 0, 6.8],
      [null, 1, 5.8],
    ],
    'val/accuracy': [
      [null, 0, 0.5],
      [null, 1, 5.5],
    ],
  });
});

test.each([
  ['as it is', ''],
  ['behind a logger', 'scGPT - INFO - '],
  ['behind a rank', '[RANK 0]: '],
])("PyTorch's word language model, %s", async (_, prefix) => {
  const rule = `${prefix}${'-'.repeat(89)}\n`;
  const text = [1, 2]
    .map(
      (epoch) =>
        `${prefix}| epoch   ${epoch} |   200/ 1000 batches | lr 20.00 | ms/batch 12.34 | loss  5.5${epoch} | ppl   244.69\n${prefix}| epoch   ${epoch} |   400/ 1000 batches | lr 20.00 | ms/batch 12.34 | loss  5.4${epoch} | ppl   221.41\n${rule}${prefix}| end of epoch   ${epoch} | time: 40.08s | valid loss  5.1${epoch} | valid ppl   164.02\n${rule}`,
    )
    .join('');
  const metrics = await metricsOf(
    'lm.log',
    `${text}${prefix}| End of training | test loss  5.05 | test ppl   156.02\n`,
  );
  expect(metrics).toEqual({
    'optimizer/lr': [200, 400, 1200, 1400].map((step) => [step, step > 999 ? 2 : 1, 20]),
    'ms/batch': [200, 400, 1200, 1400].map((step) => [step, step > 999 ? 2 : 1, 12.34]),
    'train/loss': [
      [200, 1, 5.51],
      [400, 1, 5.41],
      [1200, 2, 5.52],
      [1400, 2, 5.42],
    ],
    ppl: [
      [200, 1, 244.69],
      [400, 1, 221.41],
      [1200, 2, 244.69],
      [1400, 2, 221.41],
    ],
    time: [
      [400, 1, 40.08],
      [1400, 2, 40.08],
    ],
    'val/loss': [
      [400, 1, 5.11],
      [1400, 2, 5.12],
    ],
    'val/ppl': [
      [400, 1, 164.02],
      [1400, 2, 164.02],
    ],
    'test/loss': [[1400, 2, 5.05]],
    'test/ppl': [[1400, 2, 156.02]],
  });
});

const FAIRSEQ = `2020-06-28 19:15:09 | INFO | fairseq_cli.train | task: translation (TranslationTask)
2020-06-28 19:15:09 | INFO | train_inner | epoch 001:    100 / 1000 loss=12.1, nll_loss=11.9, ppl=3821.9, wps=1000, ups=3.4, wpb=3000, bsz=100, num_updates=100, lr=1.25e-05, gnorm=2.1, train_wall=30, wall=35
2020-06-28 19:16:09 | INFO | train_inner | epoch 001:    200 / 1000 loss=11.1, nll_loss=10.9, ppl=1910.1, wps=1000, ups=3.4, wpb=3000, bsz=100, num_updates=200, lr=2.5e-05, gnorm=2.0, train_wall=30, wall=65
2020-06-28 19:17:09 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 10.5 | nll_loss 10.1 | ppl 1097.5 | wps 4000 | wpb 300 | bsz 10 | num_updates 200
2020-06-28 19:17:10 | INFO | train | epoch 001 | loss 11.6 | nll_loss 11.4 | ppl 2702.4 | wps 1000 | ups 3.4 | wpb 3000 | bsz 100 | num_updates 200 | lr 2.5e-05 | gnorm 2.05 | train_wall 60 | wall 66
`;

test("fairseq's text: num_updates is the step, the mean of an epoch is another metric", async () => {
  const metrics = await metricsOf('train.log', FAIRSEQ);
  expect(metrics).toMatchObject({
    'train/loss': [
      [100, 1, 12.1],
      [200, 1, 11.1],
    ],
    'val/loss': [[200, 1, 10.5]],
    train_loss: [[200, 1, 11.6]],
    'optimizer/lr': [
      [100, 1, 1.25e-5],
      [200, 1, 2.5e-5],
    ],
  });
  expect(Object.keys(metrics).join()).not.toContain('num_updates');
});

test("fairseq's JSON lines behind a logger, and by themselves", async () => {
  const rows = [
    { epoch: 1, update: 0.1, loss: '12.1', ppl: '3821.9', num_updates: '100', lr: '1.25e-05' },
    { epoch: 1, update: 0.2, loss: '11.1', ppl: '1910.1', num_updates: '200', lr: '2.5e-05' },
    { epoch: 1, valid_loss: '10.5', valid_ppl: '1097.5', valid_num_updates: '200' },
  ].map((row) => JSON.stringify(row));
  const expected = {
    'train/loss': [
      [100, 1, 12.1],
      [200, 1, 11.1],
    ],
    'val/loss': [[200, 1, 10.5]],
  };
  const logged = rows.map((row) => `2020-06-28 19:15:09 | INFO | train_inner | ${row}`).join('\n');
  expect(await metricsOf('a/train.log', logged)).toMatchObject(expected);
  expect(await metricsOf('b/train.log', rows.join('\n'))).toMatchObject(expected);
});

test('nnU-Net, version 2: values below the epoch, dice of each class', async () => {
  const lines = (epoch: number): string =>
    [
      `Epoch ${epoch} `,
      `Current learning rate: 0.0${1 + epoch} `,
      `train_loss -0.${epoch}148 `,
      `val_loss -0.4${epoch}28 `,
      epoch === 0 ? 'Pseudo dice [0.5, 0.25] ' : 'Pseudo dice [np.float32(0.75), np.float32(nan)] ',
      'Epoch time: 120.5 s ',
      `Yayy! New best EMA pseudo Dice: 0.5${epoch} `,
    ]
      .map((line) => `2023-05-09 11:22:3${epoch}.123456: ${line}`)
      .join('\n');
  const metrics = await metricsOf('fold_0/training_log_2023_5_9.txt', `${lines(0)}\n${lines(1)}\n`);
  expect(metrics).toEqual({
    'optimizer/lr': [
      [null, 0, 0.01],
      [null, 1, 0.02],
    ],
    'train/loss': [
      [null, 0, -0.0148],
      [null, 1, -0.1148],
    ],
    'val/loss': [
      [null, 0, -0.4028],
      [null, 1, -0.4128],
    ],
    'val/dice/0': [
      [null, 0, 0.5],
      [null, 1, 0.75],
    ],
    'val/dice/1': [
      [null, 0, 0.25],
      [null, 1, Number.NaN],
    ],
    epoch_time: [
      [null, 0, 120.5],
      [null, 1, 120.5],
    ],
    'val/best_dice': [
      [null, 0, 0.5],
      [null, 1, 0.51],
    ],
  });
});

test('nnU-Net, version 1', async () => {
  const lines = (epoch: number): string =>
    `\nepoch:  ${epoch} \n2020-06-03 10:33:41.123456: train loss : -0.${epoch}500 \n2020-06-03 10:33:42.123456: validation loss: -0.6${epoch}00 \n2020-06-03 10:33:43.1: Average global foreground Dice: [0.8, 0.7] \n2020-06-03 10:33:43.1: (interpret this as an estimate for the Dice of the different classes. This is not exact.) \n2020-06-03 10:33:43.1: lr: 0.00999 \n2020-06-03 10:33:43.1: This epoch took 81.5 s\n`;
  const metrics = await metricsOf('training_log.txt', `Starting... \n${lines(0)}${lines(1)}`);
  expect(metrics).toMatchObject({
    'train/loss': [
      [null, 0, -0.05],
      [null, 1, -0.15],
    ],
    'val/loss': [
      [null, 0, -0.6],
      [null, 1, -0.61],
    ],
    'val/dice/1': [
      [null, 0, 0.7],
      [null, 1, 0.7],
    ],
    'optimizer/lr': [
      [null, 0, 0.00999],
      [null, 1, 0.00999],
    ],
  });
});

test("the lists of nnU-Net's logger as JSON: classes one by one, the ends of epochs as times", async () => {
  const { report, runs } = await importText({
    'fold_0/progress.json': JSON.stringify({
      mean_fg_dice: [0.5, 0.6],
      dice_per_class_or_region: [
        [0.5, 0.25],
        [0.75, 0.5],
      ],
      train_losses: [-0.1, -0.2],
      val_losses: [-0.3, -0.4],
      lrs: [0.01, 0.009, 0.008],
      epoch_start_timestamps: [1700000000.5, 1700000100.5, 1700000200.5],
      epoch_end_timestamps: [1700000099.5, 1700000199.5],
    }),
  });
  expect(report.problems).toEqual([]);
  expect(runs[0]?.metrics).toMatchObject({
    'train/loss': [
      [null, 0, -0.1],
      [null, 1, -0.2],
    ],
    'val/loss': [
      [null, 0, -0.3],
      [null, 1, -0.4],
    ],
    'dice_per_class_or_region/1': [
      [null, 0, 0.25],
      [null, 1, 0.5],
    ],
  });
  expect(Object.keys(runs[0]?.metrics ?? {}).join()).not.toContain('timestamps');
  expect(runs[0]?.times['train/loss']).toEqual([1700000099500, 1700000199500]);
});

test('bars of tqdm and Keras are one value an epoch, whatever was printed on the way', async () => {
  const bar = (epoch: number, share: number, loss: number, more = ''): string =>
    `Epoch ${epoch}: ${String(share).padStart(3)}%|${'█'.repeat(share / 10)}| ${share * 4}/400 [00:0${share / 25}<00:00, 74.53it/s, loss=${loss}${more}]`;
  const lightning = [0, 1]
    .flatMap((epoch) => [
      bar(epoch, 25, 4 - epoch),
      bar(epoch, 100, 3 - epoch),
      'Validation DataLoader 0: 100%|██████████| 10/10 [00:00<00:00, 99.1it/s]',
      bar(epoch, 100, 3 - epoch, `, val_loss=${2 - epoch}`),
    ])
    .join('\n');
  const keras = [1, 2]
    .flatMap((epoch) => [
      `Epoch ${epoch}/2`,
      `  1/400 ━━━━━━━━━━━━━━━━━━━━ 12:25 794ms/step - accuracy: 0.0625 - loss: 9.0`,
      `200/400 ━━━━━━━━━━━━━━━━━━━━ 1s 4ms/step - accuracy: 0.25 - loss: 8.0`,
      `400/400 ━━━━━━━━━━━━━━━━━━━━ 3s 4ms/step - accuracy: 0.5 - loss: ${4 - epoch}.0`,
      `400/400 ━━━━━━━━━━━━━━━━━━━━ 4s 5ms/step - accuracy: 0.5 - loss: ${4 - epoch}.0 - val_accuracy: 0.5 - val_loss: ${3 - epoch}.0`,
    ])
    .join('\n');
  const { report, runs } = await importText({ 'a/lightning.log': lightning, 'b/keras.log': keras });
  expect(report.problems).toEqual([]);
  expect(runs.map(({ metrics }) => [metrics['train/loss'], metrics['val/loss']])).toEqual([
    [
      [
        [null, 0, 3],
        [null, 1, 2],
      ],
      [
        [null, 0, 2],
        [null, 1, 1],
      ],
    ],
    [
      [
        [null, 1, 3],
        [null, 2, 2],
      ],
      [
        [null, 1, 2],
        [null, 2, 1],
      ],
    ],
  ]);
});

test('a bar of another fit is another value, one of another length is of an evaluation', async () => {
  const line = (count: number, loss: number): string =>
    `${count}/${count} [====] - 1s 2ms/step - loss: ${loss}\n`;
  const { runs } = await importText({
    'k.log': `Epoch 1/1\n${line(40, 3)}${line(8, 2.5)}Epoch 1/1\n${line(40, 2)}`,
  });
  const valuesOf = (key: string): unknown =>
    runs.flatMap(({ metrics }) => metrics[key]?.map(([, , value]) => value) ?? []);
  expect([valuesOf('train/loss'), valuesOf('test/loss')]).toEqual([[3, 2], [2.5]]);
});
