/** Which way a metric is better, by its name. */
import { expect, test } from 'vitest';
import { directionOf } from '../../../../src/analysis/signals/roles/direction.ts';

test('a time is better when shorter; counters and rates in the section "time" of Stable-Baselines say nothing', () => {
  expect(['step_time', 'time', 'train/time', 'eval/latency'].map(directionOf)).toEqual(
    Array(4).fill('lower'),
  );
  expect(['time/fps', 'time/iterations', 'time/time_elapsed'].map(directionOf)).toEqual(
    Array(3).fill(null),
  );
  expect(
    ['Loss/train', 'Acc/val', 'rollout/ep_rew_mean', 'train/cross_entropy_loss'].map(directionOf),
  ).toEqual(['lower', 'higher', 'higher', 'lower']);
  const neither = ['train/entropy_loss', 'policy_loss', 'Loss_G', 'd_loss', 'gen/loss', 'kl_loss'];
  expect(neither.map(directionOf)).toEqual(neither.map(() => null));
});

test.each([
  ['lower', 'train_losses valLoss learn/objective val/ppl fid min_loss train/step_time_ms'],
  [
    'higher',
    'valAcc test_acc1 rollout/ep_rew_mean val/f_1 best/val_accuracy train/samples_per_second val/mAP50',
  ],
  [null, 'loss_scale val/loss_std rewards/margins lr grad_norm epoch'],
])('the words of roles say it, too: %s', (direction, keys) => {
  for (const key of keys.split(' ')) expect(directionOf(key), key).toBe(direction);
});
