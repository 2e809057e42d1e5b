/** Cycles of a loss, of any length: found in noise of every colour, and not found where there is none. */
import { describe, expect, test } from 'vitest';
import {
  analyzeColumns,
  createMetricSeries,
  createRunColumns,
  type MetricSeries,
} from 'quark-sdk/analysis';
import { aroundCourse, strongestCycle } from '../../../../src/analysis/signals/cycle.ts';
import { fallingLoss, metric, normal } from '../../../support/analysis-runs.ts';

/** Noise of which each value keeps a share of the one before. */
function noise(length: number, kept: number, seed: number): Float64Array {
  const gauss = normal(seed);
  let last = 0;
  return Float64Array.from({ length }, () => (last = kept * last + gauss()));
}

const cycleOf = (values: Float64Array) => strongestCycle(aroundCourse(values));

describe('strongestCycle', () => {
  test.each([0, 0.5, 0.9, -0.5])('finds none in noise that keeps %s of itself', (kept) => {
    for (let seed = 0; seed < 60; seed++) {
      expect(cycleOf(noise(64, kept, 100 + seed))).toBeUndefined();
      expect(cycleOf(noise(301, kept, 500 + seed))).toBeUndefined();
    }
  });

  test.each([2.5, 5, 12.3, 20])(
    'finds a period of %d in as much noise, on a falling course',
    (period) => {
      const gauss = normal(8);
      const fall = fallingLoss(240, { noise: 0 });
      const values = Float64Array.from(
        { length: 240 },
        (_, i) => fall(i) + 0.3 * Math.sin((2 * Math.PI * i) / period) + 0.15 * gauss(),
      );
      const cycle = cycleOf(values.subarray(80));
      expect(Math.abs((cycle?.period ?? 0) / period - 1)).toBeLessThan(period / 60);
      expect(cycle?.swing).toBeGreaterThan(0.4);
      expect(cycle?.swing).toBeLessThan(0.8);
      // In another unit it is the same, in that unit.
      const scaled = cycleOf(values.subarray(80).map((value) => 1e6 * value));
      expect(scaled?.period).toBe(cycle?.period);
      expect((scaled?.swing ?? 0) / 1e6 / (cycle?.swing ?? 1)).toBeCloseTo(1, 6);
    },
  );

  test('constant, short and empty series, and straight lines, have none', () => {
    const lines = [0, 1, 2, 31, 64].map((length) => Float64Array.from({ length }, (_, i) => 3 - i));
    for (const values of [...lines, new Float64Array(100).fill(2)])
      expect(cycleOf(values)).toBeUndefined();
  });
});

describe('oscillating_loss', () => {
  const gauss = normal(2);
  const swinging = (period: number, size = 0.5) =>
    metric(
      'train/loss',
      240,
      (i) => 0.6 + Math.exp(-i / 30) + size * Math.sin((2 * Math.PI * i) / period) + 0.05 * gauss(),
    );
  const judge = (...metrics: MetricSeries[]) =>
    analyzeColumns(createRunColumns({ metrics }), {}, { nowMs: 0 }).alerts.find(
      ({ ruleId }) => ruleId === 'oscillating_loss',
    );

  test.each([3, 6, 17, 28])('knows a loss that swings every %d values', (period) => {
    expect(judge(swinging(period))?.fact).toMatch(/went up and down by .*every [\d.]+ values/);
  });

  test('small swings, those that settle, and noise are none', () => {
    expect(judge(swinging(8, 0.06))).toBeUndefined();
    const settling = metric(
      'train/loss',
      240,
      (i) => 0.6 + Math.exp(-i / 30) + 3 * Math.exp(-i / 35) * Math.sin(i),
    );
    expect(judge(settling)).toBeUndefined();
    const noisy = metric('train/loss', 240, () => 1 + 0.4 * gauss());
    expect(judge(noisy)).toBeUndefined();
  });

  test('a loss goes where a cyclic learning rate goes', () => {
    const rate = metric(
      'optimizer/lr',
      240,
      (i) => 0.01 * (1 + Math.cos((2 * Math.PI * (i % 20)) / 40)),
    );
    expect(judge(swinging(20))).toBeDefined();
    expect(judge(swinging(20), rate)).toBeUndefined();
    const steady = metric(
      'optimizer/lr',
      240,
      (i) => 0.01 * Math.min(1, i / 20) * 0.5 ** (i / 200),
    );
    expect(judge(swinging(20), steady)).toBeDefined();
  });

  test('what repeats in every epoch is the order of the samples', () => {
    const hardness = (place: number): number => Math.sin((2 * Math.PI * place) / 15);
    const at = Array.from({ length: 240 }, (_, i) => i);
    const series = (epochOf: (i: number) => number) =>
      createMetricSeries('train/loss', {
        steps: at,
        epochs: at.map(epochOf),
        values: at.map((i) => 0.3 + Math.exp(-i / 30) + 0.4 * hardness(i % 15) + 0.02 * gauss()),
      });
    expect(judge(series((i) => Math.floor(i / 15)))).toBeUndefined();
    // The same where epochs are something else.
    expect(judge(series(() => 0))).toBeDefined();
  });
});
