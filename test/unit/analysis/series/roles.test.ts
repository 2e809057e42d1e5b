import { expect, test } from 'vitest';
import { findRoles } from '../../../../src/analysis/signals/roles/roles.ts';
import { byStep } from '../../../support/loss-curves.ts';

const rolesOf = (series: Record<string, readonly number[]>, asked = {}) =>
  findRoles(
    new Map(Object.entries(series).map(([key, values]) => [key, byStep(key, values)])),
    asked,
  );

test('a role says what it was made of, how sure it is, and in which unit', () => {
  const { candidates, reward, trainAccuracy, trainLoss, valLoss } = rolesOf({
    'train/loss': [2, 1],
    'val/a_loss': [2, -1],
    'val/b_loss': [2, 1],
    'train/accuracy': [10, 52.4],
    'rollout/ep_rew_mean': [1, 2],
    'aux/loss': [1, 1],
  });
  expect(trainLoss).toMatchObject({ keys: ['train/loss'], sureness: 'named', unit: 'nonnegative' });
  expect(valLoss).toMatchObject({ keys: ['val/a_loss', 'val/b_loss'], sureness: 'inferred' });
  expect(trainAccuracy?.unit).toBe('percent');
  expect(reward?.keys).toEqual(['rollout/ep_rew_mean']);
  expect(candidates.map(({ key, role }) => [key, role])).toEqual([['aux/loss', 'loss']]);
});

test('what somebody asks for goes before what is found', () => {
  const { trainLoss } = rolesOf({ 'train/loss': [2, 1], x: [1, -1] }, { trainLoss: 'x' });
  expect(trainLoss).toMatchObject({ keys: ['x'], sureness: 'asked', unit: 'signed' });
});
