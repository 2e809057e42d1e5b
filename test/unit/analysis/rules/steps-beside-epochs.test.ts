/** A training loss by step beside a validation loss by epoch is one pair. */
import { describe, expect, test } from 'vitest';
import { analyzeColumns, createRunColumns, type MetricSeries } from 'quark-sdk/analysis';
import { metric } from '../../../support/analysis-runs.ts';

const EPOCHS = 12;
const STEPS = 50;
const none = (length: number): Float64Array => new Float64Array(length).fill(Number.NaN);

/** Training by step; `epochs` says which epoch each belongs to, or nothing. */
function training(epochs: boolean, times: boolean): MetricSeries {
  const count = EPOCHS * STEPS;
  const made = metric('train/loss', count, (i) => 2 * Math.exp(-i / 120) + 0.02 * (i % 3));
  return {
    ...made,
    x: 'step',
    epochs: epochs
      ? Float64Array.from({ length: count }, (_, i) => Math.floor(i / STEPS))
      : none(count),
    timesMs: times ? Float64Array.from({ length: count }, (_, i) => 1e12 + i * 10) : none(count),
  };
}

/** Validation at the end of each epoch, best in the fourth. */
function validation(rises: boolean): MetricSeries {
  const made = metric('val/loss', EPOCHS, (i) =>
    i < 4 || !rises ? 2 - 0.4 * Math.min(i, 4) : 0.8 + 0.2 * (i - 3),
  );
  return {
    ...made,
    x: 'epoch',
    steps: none(EPOCHS),
    epochs: Float64Array.from({ length: EPOCHS }, (_, i) => i),
    timesMs: Float64Array.from({ length: EPOCHS }, (_, i) => 1e12 + (i + 1) * STEPS * 10 - 1),
  };
}

/** Rules that claim that something is wrong: remarks come from phases, too. */
const rulesOf = (...metrics: readonly MetricSeries[]): readonly string[] =>
  analyzeColumns(createRunColumns({ metrics }))
    .alerts.filter(({ severity }) => severity !== 'info')
    .map(({ ruleId }) => ruleId);

describe.each([
  ['by the epoch of each step', true, false],
  ['by the time they were recorded', false, true],
])('%s', (_, epochs, times) => {
  test('overfitting is found where validation rises, and not where it does not', () => {
    expect(rulesOf(training(epochs, times), validation(true))).toContain('overfitting_onset');
    expect(rulesOf(training(epochs, times), validation(false))).not.toContain('overfitting_onset');
  });
});

test('without anything that both have, no rule compares them', () => {
  const bare = { ...validation(true), timesMs: none(EPOCHS) };
  expect(rulesOf(training(false, false), bare)).not.toContain('overfitting_onset');
});
