import { expect, test } from 'vitest';
import { liveProgressText } from '../../../dashboard/run/header/progress-text.ts';

const nothing = {
  steps: null,
  totalSteps: null,
  epoch: null,
  totalEpochs: null,
  share: null,
  stepMs: null,
  remainingMs: null,
  lastTimeMs: null,
};

test.each([
  [{ share: 0.2, epoch: 2, totalEpochs: 10, remainingMs: 41_200 }, 'epoch 3 of 10, 42 s left'],
  [{ share: 0.2, epoch: 2, totalEpochs: 10, remainingMs: 3_600_000 }, 'epoch 3 of 10, 1h 00m left'],
  [{ share: 0.5, steps: 2500, totalSteps: 5000, remainingMs: 1 }, 'step 2,500 of 5,000, 1 s left'],
  [{ share: 0.5, steps: 2500, totalSteps: 5000, remainingMs: null }, 'step 2,500 of 5,000'],
  // The last epoch is over, and the run goes on: a test at the end.
  [{ share: 1, epoch: 10, totalEpochs: 10, remainingMs: 0 }, 'epoch 10 of 10'],
  [{ share: null, steps: 7, remainingMs: null }, undefined],
])('%o reads as %s', (known, text) => {
  expect(liveProgressText({ ...nothing, ...known })).toBe(text);
});
