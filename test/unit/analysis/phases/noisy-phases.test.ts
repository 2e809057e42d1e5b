/** Trainings of a hundred batches, whose noise is larger than what they learn from one step to the next. */
import { expect, test } from 'vitest';
import { findPhases, loadSeriesKernel, type FoundPhase } from 'quark-sdk/analysis';
import type { RoleSeries } from '../../../../src/analysis/signals/roles/loss-roles.ts';
import { byStep, noiseFrom, roles } from '../../../support/loss-curves.ts';

const kernel = await loadSeriesKernel();
const phasesOf = (series: RoleSeries): readonly FoundPhase[] => findPhases(series, {}, kernel);
const named = (series: RoleSeries): readonly string[] =>
  phasesOf(series).map(({ end, phaseName, start }) => `${phaseName} ${start}-${end}`);
const names = (series: RoleSeries): readonly string[] =>
  phasesOf(series).map(({ phaseName }) => phaseName);

/** A slow start, a steep middle, a long tail; the loss of a batch is the mean of squares of few normal numbers. */
const ofBatches = (length: number, seed: number): RoleSeries => {
  const course = (share: number): number => 0.15 + 2.2 / (1 + Math.exp(14 * (share - 0.3)));
  const next = noiseFrom(seed);
  const values = Float64Array.from({ length }, (_, i) => {
    const level = course(i / (length - 1));
    const draws = Array.from({ length: 4 }, () => next() ** 2);
    const noisy = draws.reduce((sum, draw) => sum + draw, 0) / (4 / 3);
    const share = Math.min(1, 0.5 / level);
    return level * (1 - share + share * noisy);
  });
  return roles({ trainLoss: byStep('train/loss', values) });
};

test('losses of small batches, calm at the start and far from normal at the end, diverge nowhere', () => {
  for (let seed = 1; seed <= 12; seed++) {
    const found = named(ofBatches(260 + 20 * seed, seed));
    expect(found.join(), `seed ${seed}`).toMatch(
      /^initialization_adaptation [^,]+,(stagnation [^,]+,)?rapid_learning [^,]+,st[^,]+(,st[^,]+)?$/,
    );
  }
});

test('nor do a hundred of them, which are no epochs', () => {
  const diverged = Array.from({ length: 40 }, (_, seed) => names(ofBatches(80 + 3 * seed, seed)));
  expect(diverged.filter((found) => found.includes('divergence')).length).toBeLessThan(3);
  const risen = Array.from({ length: 20 }, (_, seed) => {
    const { trainLoss } = ofBatches(120, seed);
    const values = trainLoss?.values.map((value, i) => (i < 80 ? value : 3 * value + 8));
    return phasesOf(roles({ trainLoss: byStep('train/loss', values ?? []) })).at(-1);
  });
  for (const last of risen) expect(last).toMatchObject({ phaseName: 'divergence', end: 119 });
});

test('what is thrown up at once and stays there diverges, however it wavers', () => {
  for (let seed = 1; seed <= 4; seed++) {
    const next = noiseFrom(seed);
    const thrown = Float64Array.from({ length: 120 }, (_, i) =>
      i < 6 ? 2.8 + 0.1 * i : 8.5 + 1.7 * next(),
    );
    const last = phasesOf(roles({ trainLoss: byStep('train/loss', thrown) })).at(-1);
    expect(last).toMatchObject({ phaseName: 'divergence', end: 119 });
  }
});

test('a fall that the noise of batches hides is seen in the validation', () => {
  const next = noiseFrom(7);
  const trainLoss = byStep(
    'train/loss',
    Float64Array.from({ length: 120 }, () => 2 + 0.3 * next()),
  );
  const of = (fall: number): readonly string[] => {
    const val = Float64Array.from({ length: 10 }, (_, i) => 2.1 - fall * i);
    const found = byStep('val/loss', val);
    const steps = found.steps.map((step) => 12 * step + 11);
    return names(roles({ trainLoss, valLoss: { ...found, steps } }));
  };
  expect(of(0)).toContain('stagnation');
  expect(of(0.02)).not.toContain('stagnation');
});

/** Sixty batches: calm before anything is learnt, then wavering more and more about a level that falls. */
const wakingUp = (seed: number, level: (i: number) => number): RoleSeries => {
  const next = noiseFrom(seed);
  const values = Float64Array.from(
    { length: 60 },
    (_, i) => level(i) * Math.exp((i < 20 ? 0.012 : 0.14) * next()),
  );
  return roles({ trainLoss: byStep('train/loss', values) });
};

test('what wavers more than it did at the start neither diverges nor stands still while it falls', () => {
  const found = Array.from({ length: 40 }, (_, seed) =>
    names(wakingUp(seed, (i) => (i < 12 ? 1.38 : 1.38 * Math.exp(-0.02 * (i - 12))))),
  );
  const count = (name: string): number => found.filter((one) => one.includes(name)).length;
  expect(count('divergence')).toBeLessThan(2);
  expect(count('stagnation')).toBeLessThan(4);
  expect(count('rapid_learning')).toBeGreaterThan(30);
});

test('a fall that does not slow down is rapid learning up to its end', () => {
  for (let seed = 1; seed <= 10; seed++) {
    const next = noiseFrom(seed);
    const falling = (to: number, noise: number, length: number): RoleSeries =>
      roles({
        trainLoss: byStep(
          'train/loss',
          Float64Array.from(
            { length },
            (_, i) => 2 - ((2 - to) * i) / (length - 1) + noise * next(),
          ),
        ),
      });
    for (const [noise, length] of [
      [0.05, 100],
      [0.05, 5000],
      [0.002, 60],
    ] as const) {
      const last = phasesOf(falling(1.2, noise, length)).findLast(
        ({ phaseName }) => phaseName === 'rapid_learning',
      );
      expect(last?.end, `${String(length)} values`).toBeGreaterThan(0.8 * length);
      // A tenth of its level is no such fall.
      expect(names(falling(1.85, noise, length))).not.toContain('rapid_learning');
    }
  }
});
