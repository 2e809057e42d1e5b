/** Which way a metric is better, by its name. */
import { expect, test } from 'vitest';
import { directionOf } from '../../../../src/analysis/compare/metric-diff.ts';

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
