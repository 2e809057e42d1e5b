/** Programs that train vision models and segmentation networks, and what they print. */
import { curve, lines, overfitted } from './curves.ts';
import { entriesOf, type CollectionEntry } from './entry.ts';

const LOSS = curve(40, { from: 6.9, to: 1.2 });
const VAL = curve(8, { from: 6.5, to: 1.4, seed: 3 });
const TOP = curve(8, { from: 2, to: 75, seed: 5, digits: 3 });
const DICE = curve(20, { from: 0.2, to: 0.85, seed: 6 });
const SEGMENTED = curve(20, { from: -0.05, to: -0.85, seed: 8 });
const SEGMENTED_VAL = curve(20, { from: -0.04, to: -0.8, seed: 9 });
const at = (values: readonly number[], i: number): number => values[i] ?? 0;
const last = (values: readonly number[]): number => values.at(-1) ?? 0;
const BOTH = ['training loss: train/loss', 'validation loss: val/loss'];

/** Eight epochs of five lines, and what follows each of them. */
function epochs(
  line: (epoch: number, step: number, loss: number) => string,
  end: (epoch: number) => string,
): string {
  return lines(8, (epoch) =>
    [0, 1, 2, 3, 4]
      .map((i) => line(epoch, i * 50, at(LOSS, epoch * 5 + i)))
      .concat(end(epoch))
      .join('\n'),
  );
}

const timm = (prefix: string, isPadded: boolean): string =>
  epochs(
    (epoch, step, loss) =>
      `${prefix}Train: ${epoch} [${String(step).padStart(4)}/251 (${String(Math.round(step / 2.5)).padStart(3)}%)]  Loss: ${isPadded ? loss.toFixed(6).padStart(9) : loss} (${loss.toFixed(2)})  Time: 0.312s,  820.51/s  (0.490s,  522.45/s)  LR: 5.000e-04  Data: 0.012 (0.060)`,
    (epoch) =>
      [
        `${prefix}Test: [   0/48]  Time: 1.204 (1.204)  Loss:  9.0000 (9.0000)  Acc@1:  0.3906 ( 0.3906)  Acc@5:  1.1719 ( 1.1719)`,
        `${prefix}Test: [  48/48]  Time: 0.041 (0.182)  Loss:  1.0000 (${at(VAL, epoch)})  Acc@1:  9.0000 (${at(TOP, epoch)})  Acc@5: 50.0000 (80.0000)`,
      ].join('\n'),
  );

const swin = (name: string): string => {
  const head = `[2024-01-02 03:04:05 ${name}](main.py 227): INFO`;
  return epochs(
    (epoch, step, loss) =>
      `${head} Train: [${epoch}/8][${step}/250]\teta 0:10:00 lr 0.000500\t wd 0.0500\ttime 0.5000 (0.5000)\tloss ${loss} (${loss})\tgrad_norm 1.5000 (1.5000)\tloss_scale 65536.0000 (65536.0000)\tmem 8888MB`,
    (epoch) =>
      `${head} Test: [0/98]\tTime 1.200 (1.200)\tLoss ${at(VAL, epoch)} (${at(VAL, epoch)})\tAcc@1 10.000 (10.000)\tAcc@5 20.000 (20.000)\tMem 8888MB\n${head}  * Acc@1 ${at(TOP, epoch)} Acc@5 90.000\n${head} Accuracy of the network on the 50000 test images: 75.0%`,
  );
};

const metricLogger = (accuracy: string, summary: (epoch: number) => string): string =>
  epochs(
    (epoch, step, loss) =>
      `Epoch: [${epoch}]  [${String(step).padStart(3)}/250]  eta: 0:10:03  lr: 0.000500  loss: ${loss} (${loss})  time: 0.4801  data: 0.0010  max mem: 8000`,
    (epoch) =>
      `Epoch: [${epoch}] Total time: 0:10:11 (0.4889 s / it)\nTest:  [ 0/26]  eta: 0:00:20  loss: 9.5010 (9.5010)  ${accuracy}: 1.5625 (1.5625)  time: 4.5  data: 3.9  max mem: 8000\nTest:  [25/26]  eta: 0:00:00  loss: 5.5010 (${at(VAL, epoch)})  ${accuracy}: 1.5625 (${at(TOP, epoch)})  time: 4.5  data: 3.9  max mem: 8000\nTest: Total time: 0:01:00 (0.2310 s / it)\n${summary(epoch)}`,
  );

const imagenet = epochs(
  (epoch, step, loss) =>
    `Epoch: [${epoch}][${String(step).padStart(3)}/250]\tTime  0.5 ( 0.5)\tData  0.0 ( 0.1)\tLoss ${loss} (${loss})\tAcc@1   9.38 (  9.38)\tAcc@5  20.00 ( 20.00)`,
  (epoch) =>
    `Test: [ 0/26]\tTime  0.5 ( 0.5)\tLoss 9.0000e+00 (9.0000e+00)\tAcc@1   1.00 (  1.00)\tAcc@5  50.00 ( 50.00)\n * Acc@1 ${at(TOP, epoch)} Acc@5 90.000`,
);

const nnunet2 = (prefix: (epoch: number) => string): string =>
  lines(20, (i) =>
    [
      `Epoch ${i}`,
      'Current learning rate: 0.01',
      `train_loss ${at(SEGMENTED, i)}`,
      `val_loss ${at(SEGMENTED_VAL, i)}`,
      `Pseudo dice [${at(DICE, i)}, ${at(DICE, i)}]`,
      'Epoch time: 120.5 s',
      '',
    ]
      .map((line) => `${prefix(i)}${line} `)
      .join('\n'),
  );
const timed = (i: number): string => `2024-01-02 03:${String(i + 10)}:05.123456: `;

export const vision: readonly CollectionEntry[] = [
  ...entriesOf('text_log', [
    {
      name: 'timm, train.py',
      make: () => ({ 'output/train/20240102-resnet50-224/train.log': timm('', false) }),
      series: 7,
      values: 40 * 4 + 8 * 3,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL), 'val/accuracy': last(TOP) },
      at: { 'train/loss': 7 * 251 + 200, 'val/loss': 7 * 251 + 200 },
      says: BOTH,
    },
    {
      name: 'timm of before 0.6, padded, behind a logger of a cluster',
      make: () => ({ 'job-1234.out': timm('0: INFO:train:', true) }),
      series: 7,
      values: 40 * 4 + 8 * 3,
      last: { 'train/loss': last(LOSS), 'val/accuracy': last(TOP) },
      says: BOTH,
    },
    {
      name: 'timm with an average of the weights',
      make: () => ({
        'train.log': timm('', false).replaceAll('Test: [  48/48]', 'Test (EMA): [  48/48]'),
      }),
      series: 4 + 3 + 3,
      values: 40 * 4 + 8 * 6,
      last: { 'train/loss': last(LOSS), 'val/loss': 9, 'val/ema/Loss': last(VAL) },
      says: ['training loss: train/loss'],
    },
    {
      name: 'Swin Transformer',
      make: () => ({ 'output/swin_tiny/default/log_rank0.txt': swin('swin_tiny') }),
      series: 7 + 3,
      values: 40 * 7 + 8 * 3,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL), 'val/accuracy': last(TOP) },
      at: { 'train/loss': 7 * 250 + 200 },
      says: BOTH,
    },
    {
      name: 'DeiT on a terminal',
      make: () => ({
        'deit.out': metricLogger(
          'acc1',
          (epoch) => `* Acc@1 ${at(TOP, epoch)} Acc@5 90.000 loss ${at(VAL, epoch)}`,
        ),
      }),
      series: 5 + 3,
      values: 40 * 5 + 8 * 3,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL), 'val/accuracy': last(TOP) },
      says: BOTH,
    },
    {
      name: "torchvision's references",
      make: () => ({
        'classification.log': metricLogger(
          'acc1',
          (epoch) => `Test:  Acc@1 ${at(TOP, epoch)} Acc@5 90.000`,
        ),
      }),
      series: 5 + 3,
      values: 40 * 5 + 8 * 3,
      last: { 'train/loss': last(LOSS), 'val/loss': last(VAL), 'val/accuracy': last(TOP) },
      says: BOTH,
    },
    {
      name: 'MAE, pre-training without evaluation',
      make: () => ({
        'pretrain.log': epochs(
          (epoch, step, loss) =>
            `[03:04:05.123456] Epoch: [${epoch}]  [${String(step).padStart(3)}/250]  eta: 0:10:03  lr: 0.000500  loss: ${loss} (${loss})  time: 0.4801  data: 0.0010  max mem: 8000`,
          (epoch) =>
            `[03:04:05.123456] Averaged stats: lr: 0.000500  loss: ${at(LOSS, epoch * 5 + 4)}`,
        ),
      }),
      series: 5,
      values: 200,
      last: { 'train/loss': last(LOSS) },
      says: ['training loss: train/loss', 'validation loss: none'],
    },
    {
      name: 'the ImageNet example of PyTorch, with its evaluation',
      make: () => ({ 'imagenet.log': imagenet }),
      series: 5 + 3,
      values: 40 * 5 + 8 * 3,
      last: { 'train/loss': last(LOSS), 'val/accuracy': last(TOP) },
      at: { 'train/loss': 7 * 250 + 200 },
      says: BOTH,
    },
    {
      name: 'nnU-Net, version 2, its log',
      make: () => ({
        'nnUNetTrainer__nnUNetPlans__3d_fullres/fold_0/training_log_2024_1_2.txt': nnunet2(timed),
      }),
      series: 6,
      values: 20 * 6,
      last: {
        'train/loss': last(SEGMENTED),
        'val/loss': last(SEGMENTED_VAL),
        'val/dice/1': last(DICE),
      },
      at: { 'train/loss': 19 },
      says: BOTH,
    },
    {
      name: 'nnU-Net, version 2, on a terminal',
      make: () => ({ 'nnunet.out': nnunet2(() => '') }),
      series: 6,
      values: 20 * 6,
      last: { 'train/loss': last(SEGMENTED), 'val/loss': last(SEGMENTED_VAL) },
      says: BOTH,
    },
    {
      name: 'nnU-Net, version 1',
      make: () => ({
        'fold_0/training_log_2020_6_3.txt': `Starting... \n${lines(
          20,
          (i) =>
            `\nepoch:  ${i} \n${timed(i)}train loss : ${at(SEGMENTED, i)} \n${timed(i)}validation loss: ${at(SEGMENTED_VAL, i)} \n${timed(i)}Average global foreground Dice: [${at(DICE, i)}, ${at(DICE, i)}] \n${timed(i)}(interpret this as an estimate for the Dice of the different classes. This is not exact.) \n${timed(i)}lr: 0.00999 \n${timed(i)}This epoch took 81.5 s`,
        )}`,
      }),
      series: 6,
      values: 20 * 6,
      last: { 'train/loss': last(SEGMENTED), 'val/loss': last(SEGMENTED_VAL) },
      says: BOTH,
    },
    {
      name: 'MMDetection, steps within epochs',
      make: () => ({
        '20240102_030405.log': epochs(
          (epoch, step, loss) =>
            `2024-01-02 03:04:05,123 - mmdet - INFO - Epoch [${epoch + 1}][${step + 50}/250]\tlr: 2.000e-02, eta: 0:30:12, time: 0.5, memory: 4000, loss_cls: ${loss}, loss: ${loss}`,
          () => '2024-01-02 03:04:05,123 - mmdet - INFO - Saving checkpoint',
        ),
      }),
      series: 5,
      values: 200,
      last: { 'train/loss': last(LOSS) },
      says: ['training loss: train/loss'],
    },
    {
      name: 'CycleGAN, counters in brackets',
      make: () => ({
        'loss_log.txt': `================ Training Loss ================\n${epochs(
          (epoch, step, loss) =>
            `(epoch: ${epoch + 1}, iters: ${step + 50}, time: 0.243, data: 0.120) D_A: ${loss} G_A: ${loss}`,
          () => '',
        )}`,
      }),
      series: 4,
      values: 160,
      says: [],
    },
    {
      name: 'Keras 3 in a file, each state of the bar on a line',
      make: () => ({
        'keras.out': lines(
          20,
          (i) =>
            `Epoch ${i + 1}/20\n  1/400 ━━━━━━━━━━━━━━━━━━━━ 12:25 794ms/step - loss: 9.0\n200/400 ━━━━━━━━━━━━━━━━━━━━ 1s 4ms/step - loss: 8.0\n400/400 ━━━━━━━━━━━━━━━━━━━━ 3s 4ms/step - loss: ${at(LOSS, i)}\n400/400 ━━━━━━━━━━━━━━━━━━━━ 4s 5ms/step - loss: ${at(LOSS, i)} - val_loss: ${at(LOSS, i + 2)}`,
        ),
      }),
      series: 2,
      values: 40,
      last: { 'train/loss': at(LOSS, 19), 'val/loss': at(LOSS, 21) },
      says: BOTH,
    },
    {
      name: 'Lightning, bars of tqdm that are printed again after the validation',
      make: () => ({
        'lightning.out': lines(
          20,
          (i) =>
            `Epoch ${i}:  50%|█████     | 200/400 [00:05<00:05, 74.53it/s, loss=9.5, v_num=0]\nEpoch ${i}: 100%|██████████| 400/400 [00:10<00:00, 74.53it/s, loss=${at(LOSS, i)}, v_num=0]\nValidation DataLoader 0: 100%|██████████| 40/40 [00:01<00:00, 99.1it/s]\nEpoch ${i}: 100%|██████████| 400/400 [00:11<00:00, 70.00it/s, loss=${at(LOSS, i)}, v_num=0, val_loss=${at(LOSS, i + 1)}]`,
        ),
      }),
      series: 2,
      values: 40,
      last: { 'train/loss': at(LOSS, 19), 'val/loss': at(LOSS, 20) },
      at: { 'train/loss': 19 },
      says: BOTH,
    },
    {
      name: 'a loop with tqdm, states written over each other',
      make: () => ({
        'loop.log': lines(
          20,
          (i) =>
            `Epoch ${i}:   0%|          | 0/400 [00:00<?, ?it/s]\rEpoch ${i}:  50%|█████     | 200/400 [00:05<00:05, 74.53it/s, loss=9.5]\rEpoch ${i}: 100%|██████████| 400/400 [00:10<00:00, 74.53it/s, loss=${at(LOSS, i)}]`,
        ),
      }),
      series: 1,
      values: 20,
      last: { 'train/loss': at(LOSS, 19) },
      says: ['training loss: train/loss'],
    },
    {
      name: 'the MNIST example of PyTorch',
      make: () => ({
        'mnist.log': lines(
          8,
          (epoch) =>
            `Train Epoch: ${epoch + 1} [0/60000 (0%)]\tLoss: ${at(LOSS, epoch)}\nTrain Epoch: ${epoch + 1} [640/60000 (1%)]\tLoss: ${at(LOSS, epoch + 1)}\n\nTest set: Average loss: ${at(VAL, epoch)}, Accuracy: 9000/10000 (90%)\n`,
        ),
      }),
      series: 3,
      values: 32,
      last: { 'train/loss': at(LOSS, 8), 'test/loss': last(VAL) },
      says: ['training loss: train/loss'],
    },
    {
      name: 'a table with train and validation below the epoch',
      make: () => ({
        'training_log.txt': lines(
          20,
          (i) =>
            `Epoch [ ${i}/20] | Time: 53.2s\n  Train Loss: ${at(LOSS, i)} | Train Acc: 89.23%\n  Val Loss: ${at(LOSS, i + 1)} | Val Acc: 91.45%`,
        ),
      }),
      series: 5,
      values: 100,
      last: { 'train/loss': at(LOSS, 19), 'val/loss': at(LOSS, 20) },
      says: BOTH,
    },
  ]),
  ...entriesOf('csv', [
    {
      name: 'summary.csv of timm',
      make: () => ({
        'output/train/x/summary.csv': `epoch,train_loss,eval_loss,eval_top1,eval_top5,lr\n${lines(8, (i) => `${i},${at(LOSS, i * 5)},${at(VAL, i)},${at(TOP, i)},90.0,0.0005`)}`,
      }),
      series: 5,
      values: 40,
      last: { 'train/loss': at(LOSS, 35), 'val/loss': last(VAL), 'val/accuracy': last(TOP) },
      at: { 'val/loss': 7 },
      says: BOTH,
    },
    {
      name: 'summary.csv of timm, with args.yaml beside it',
      make: () => ({
        'x/summary.csv': `epoch,train_loss,eval_loss,eval_top1,eval_top5\n${lines(8, (i) => `${i},${at(LOSS, i * 5)},${at(VAL, i)},${at(TOP, i)},90.0`)}`,
        'x/args.yaml': 'lr: 0.0005\nmodel: resnet50\n',
      }),
      series: 4,
      values: 32,
      says: BOTH,
    },
    {
      name: "TensorBoard's download of one series",
      make: () => ({
        'run-train-tag-loss.csv': `Wall time,Step,Value\n${lines(40, (i) => `${1_700_000_000 + i}.5,${i * 10},${at(LOSS, i)}`)}`,
      }),
      series: 1,
      values: 40,
      last: { 'train/loss': last(LOSS) },
      at: { 'train/loss': 390 },
      says: ['training loss: train/loss'],
    },
  ]),
  ...entriesOf('json_lines', [
    {
      name: "DeiT's log.txt",
      make: () => ({
        'deit_small/log.txt': lines(8, (epoch) =>
          JSON.stringify({
            train_lr: 1e-6,
            train_loss: at(LOSS, epoch * 5),
            test_loss: at(VAL, epoch),
            test_acc1: at(TOP, epoch),
            test_acc5: 90,
            epoch,
            n_parameters: 22_050_664,
          }),
        ),
      }),
      series: 6,
      values: 48,
      last: { 'train/loss': at(LOSS, 35), 'test/loss': last(VAL), 'test/accuracy': last(TOP) },
      at: { 'train/loss': 7 },
      says: ['training loss: train/loss'],
    },
    {
      name: "MAE's log.txt, pre-training",
      make: () => ({
        'mae/log.txt': lines(40, (epoch) =>
          JSON.stringify({ train_lr: 1e-6, train_loss: at(LOSS, epoch), epoch }),
        ),
      }),
      series: 2,
      values: 80,
      last: { 'train/loss': last(LOSS) },
      says: ['training loss: train/loss'],
    },
    {
      name: "DETR's log.txt, lists of 12 in it",
      make: () => ({
        'detr/log.txt': lines(8, (epoch) =>
          JSON.stringify({
            train_loss: at(LOSS, epoch * 5),
            test_loss: at(VAL, epoch),
            test_coco_eval_bbox: Array.from({ length: 12 }, (_, i) => i / 20),
            epoch,
          }),
        ),
      }),
      series: 14,
      values: 8 * 14,
      last: { 'train/loss': at(LOSS, 35) },
      says: ['training loss: train/loss'],
    },
  ]),
  ...entriesOf('json', [
    {
      name: "the lists of nnU-Net's logger",
      make: () => ({
        'fold_0/progress.json': JSON.stringify({
          mean_fg_dice: DICE,
          ema_fg_dice: DICE,
          dice_per_class_or_region: DICE.map((dice) => [dice, dice]),
          train_losses: SEGMENTED,
          val_losses: SEGMENTED_VAL,
          lrs: DICE.map(() => 0.01),
          epoch_start_timestamps: DICE.map((_, i) => 1_700_000_000 + i * 100),
          epoch_end_timestamps: DICE.map((_, i) => 1_700_000_099 + i * 100),
        }),
      }),
      series: 7,
      values: 140,
      last: { 'train/loss': last(SEGMENTED), 'val/loss': last(SEGMENTED_VAL) },
      at: { 'train/loss': 19 },
      says: BOTH,
    },
    {
      name: 'the history of a Keras training that overfits',
      make: () => ({
        'history.json': JSON.stringify({
          loss: curve(30, { from: 2.3, to: 0.05, seed: 31 }),
          val_loss: overfitted(30, { from: 2.3, to: 0.4, seed: 32 }),
        }),
      }),
      series: 2,
      values: 60,
      says: [...BOTH, /overfitting/i],
    },
  ]),
];
