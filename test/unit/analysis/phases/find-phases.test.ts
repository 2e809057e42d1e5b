import { describe, expect, test } from 'vitest';
import { findPhases, loadSeriesKernel, type FoundPhase } from 'quark-sdk/analysis';
import type { RoleSeries } from '../../../../src/analysis/signals/roles/loss-roles.ts';
import { byEpoch, byStep, noiseFrom, roles, stepLoss } from '../../../support/loss-curves.ts';

const kernel = await loadSeriesKernel();
const phasesOf = (series: RoleSeries): readonly FoundPhase[] => findPhases(series, {}, kernel);
const named = (series: RoleSeries): readonly string[] =>
  phasesOf(series).map(({ end, phaseName, start }) => `${phaseName} ${start}-${end}`);
const names = (series: RoleSeries): readonly string[] =>
  phasesOf(series).map(({ phaseName }) => phaseName);
const losses = (train: readonly number[], val?: readonly number[]): RoleSeries =>
  roles({
    trainLoss: byEpoch('train/loss', train),
    valLoss: val === undefined ? null : byEpoch('val/loss', val),
  });
/** Falls to about 0.5 within the first fifth of the run. */
const falling = (share: number): number => 0.5 + 2 * Math.exp(-20 * share);
const steps = (length: number, curve: (share: number) => number, noise = 0.05): RoleSeries =>
  roles({ trainLoss: byStep('train/loss', stepLoss(length, curve, noise)) });

describe('epoch by epoch', () => {
  test('learns fast, settles, stands still', () => {
    const values = [2.3, 1.8, 1.2, 0.8, 0.6, 0.55, 0.52, 0.5, 0.499, 0.498];
    expect(named(losses(values))).toEqual([
      'initialization_adaptation 0-1',
      'rapid_learning 2-4',
      'stabilization 5-7',
      'stagnation 8-9',
    ]);
  });

  test('thresholds mean what they say', () => {
    const values = [1, 0.99, 0.84, 0.72, 0.62, 0.53, 0.46];
    expect(names(losses(values))).toEqual(['initialization_adaptation', 'stabilization']);
    const eager = findPhases(losses(values), { rapidLearningMinRelativeChange: 0.12 }, kernel);
    expect(eager.map(({ phaseName }) => phaseName)).toEqual([
      'initialization_adaptation',
      'rapid_learning',
    ]);
    const late = findPhases(losses(values), { initializationPoints: 4 }, kernel);
    expect(late[0]).toMatchObject({ phaseName: 'initialization_adaptation', start: 0, end: 3 });
    expect(() => findPhases(losses(values), { initializationPoints: 0 }, kernel)).toThrow(
      /initializationPoints.*positive integer/,
    );
    expect(() => findPhases(losses(values), { overfittingMinGap: -1 }, kernel)).toThrow(
      /overfittingMinGap/,
    );
  });

  test('diverges, by rising and by turning into NaN', () => {
    expect(named(losses([1, 0.6, 0.4, 0.3, 0.35, 0.6, 1.2])).at(-1)).toBe('divergence 4-6');
    const [, , nan] = phasesOf(losses([1, 0.6, 0.4, 0.3, Number.NaN, Number.NaN]));
    expect(nan).toMatchObject({ phaseName: 'divergence', start: 4, end: 5 });
    expect(nan?.summary).toContain('not finite from epoch 4');
  });

  test('a share that is said beside two levels is the share between them', () => {
    let said = 0;
    for (const low of [0.1, 0.02, 0.004, 0.0001])
      for (const { summary } of phasesOf(
        losses([2.3, 1.5, 0.8, 0.3, low, 4 * low, 5 * low, 5.1 * low, 5.2 * low, 5.2 * low]),
      )) {
        const [, share, before, after] = /by ([\d.]+) %, from ([-\d.e]+) to ([-\d.e]+)/.exec(
          summary,
        ) ?? [Number.NaN, Number.NaN, Number.NaN, Number.NaN];
        if (Number.isNaN(share)) continue;
        said++;
        const real = Math.abs(Number(before) - Number(after)) / Number(before);
        expect(Math.abs(Number(share) / 100 - real), summary).toBeLessThan(0.05 * real + 0.01);
      }
    expect(said).toBeGreaterThan(6);
  });

  test('a loss that stands still for long and falls once more', () => {
    const twice = Array.from({ length: 60 }, (_, i) =>
      i < 30 ? 1.5 + 0.8 * Math.exp(-i) : 0.2 + 1.3 * Math.exp(-(i - 29) / 2),
    );
    expect(names(losses(twice))).toEqual([
      'initialization_adaptation',
      'rapid_learning',
      'stagnation',
      'rapid_learning',
      'stabilization',
    ]);
  });

  test('a spike that comes back is no phase', () => {
    const calm = [1, 0.6, 0.4, 0.3, 0.29, 0.28, 0.27, 0.26, 0.25, 0.24];
    const spiky = calm.with(4, 3);
    expect(names(losses(spiky))).toEqual(names(losses(calm)));
  });

  test('overfits from the first validation that is worse', () => {
    const train = [1, 0.8, 0.6, 0.45, 0.35, 0.28, 0.22, 0.18, 0.15, 0.12];
    const val = [1.05, 0.9, 0.75, 0.7, 0.68, 0.7, 0.74, 0.78, 0.83, 0.9];
    const found = phasesOf(losses(train, val)).at(-1);
    expect(found).toMatchObject({ phaseName: 'overfitting_onset', start: 5, end: 9 });
    expect(found?.evidence.map(({ source, thresholdValue }) => [source, thresholdValue])).toEqual([
      ['val/loss', 0.015],
      ['val/loss', 0.12],
      ['train/loss', 0.015],
    ]);
    for (const { observedValue, thresholdValue } of found?.evidence ?? [])
      expect(observedValue).toBeGreaterThan(thresholdValue ?? Infinity);
  });

  test('no overfitting without a gap, or while training rises as well', () => {
    const val = [1.05, 0.9, 0.75, 0.7, 0.68, 0.7, 0.74, 0.78, 0.83, 0.9];
    const above = [2, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4, 1.3, 1.2, 1.1];
    const below = above.map((value) => value - 1);
    expect(names(losses(above, val))).not.toContain('overfitting_onset');
    expect(names(losses(below, val))).toContain('overfitting_onset');
    const rising = val.map((value) => value * 0.5);
    expect(names(losses(rising, val))).not.toContain('overfitting_onset');
    // Training was the harder task, and is overtaken.
    const overtaken = [1.4, 1.2, 1.05, 1, 0.96, 0.94, 0.92, 0.91, 0.9, 0.89];
    const found = phasesOf(losses(overtaken, val)).at(-1);
    expect(found).toMatchObject({ phaseName: 'overfitting_onset', start: 5 });
    expect(found?.evidence[1]?.summary).toContain('have parted by');
  });

  test('divergence begins at a quarter above the best', () => {
    const to = (level: number): RoleSeries => losses([1, 0.9, 0.8, 0.8, 0.9, level, level, level]);
    expect(names(to(0.98))).not.toContain('divergence');
    expect(named(to(1.01)).at(-1)).toBe('divergence 4-7');
    const strict = findPhases(to(1.01), { divergenceFromBestRatio: 0.3 }, kernel);
    expect(strict.map(({ phaseName }) => phaseName)).not.toContain('divergence');
  });

  test('a solved task converges, others stand still', () => {
    const solved = [2.3, 1.2, 0.5, 0.2, 0.08, 0.03, 0.02, 0.0199, 0.0199, 0.0199, 0.0199, 0.0199];
    expect(names(losses(solved)).at(-1)).toBe('stabilization');
    const lifted = solved.map((value) => value + 1);
    expect(names(losses(lifted)).at(-1)).toBe('stagnation');
    const sure = roles({
      trainLoss: byEpoch('train/loss', lifted),
      valAccuracy: byEpoch(
        'val/accuracy',
        solved.map((value) => 0.99 - value / 3),
      ),
    });
    expect(names(sure).at(-1)).toBe('stabilization');
  });

  test('a loss that crosses zero', () => {
    const values = [1, 0.5, 0.1, -0.3, -0.6, -0.7, -0.75, -0.77, -0.775, -0.776, -0.776];
    expect(names(losses(values))).toEqual([
      'initialization_adaptation',
      'rapid_learning',
      'stabilization',
      'stagnation',
    ]);
  });

  test('a validation that is worse once, or as much as it wavers, is no overfitting', () => {
    const train = [1.4, 1, 0.7, 0.5, 0.4, 0.34, 0.3, 0.27, 0.24, 0.22, 0.2, 0.19];
    const of = (...val: number[]): readonly string[] => names(losses(train, val));
    const once = [1.4, 1, 0.8, 0.65, 0.55, 0.5, 0.46, 0.58, 0.44, 0.42, 0.41, 0.4];
    expect(of(...once)).not.toContain('overfitting_onset');
    const wavers = [1.4, 1, 0.75, 0.5, 0.6, 0.52, 0.58, 0.59, 0.51, 0.62, 0.54, 0.58];
    expect(of(...wavers)).not.toContain('overfitting_onset');
    const rises = [1.4, 1, 0.75, 0.5, 0.51, 0.56, 0.58, 0.62, 0.61, 0.66, 0.7, 0.74];
    expect(of(...rises).at(-1)).toBe('overfitting_onset');
  });

  test('accuracies alone, as shares and as percentages', () => {
    const train = [0.1, 0.3, 0.55, 0.75, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98];
    const val = [0.1, 0.28, 0.5, 0.68, 0.74, 0.75, 0.74, 0.73, 0.72, 0.71];
    const of = (factor: number): RoleSeries =>
      roles({
        trainAccuracy: byEpoch(
          'train/accuracy',
          train.map((value) => value * factor),
        ),
        valAccuracy: byEpoch(
          'val/accuracy',
          val.map((value) => value * factor),
        ),
      });
    expect(names(of(1))).toEqual([
      'initialization_adaptation',
      'rapid_learning',
      'stabilization',
      'overfitting_onset',
    ]);
    expect(named(of(100))).toEqual(named(of(1)));
  });
});

describe('step by step', () => {
  test.each([1000, 20_000])('%i steps that fall and settle', (length) => {
    const found = phasesOf(steps(length, falling));
    expect(found.slice(0, 3).map(({ phaseName }) => phaseName)).toEqual([
      'initialization_adaptation',
      'rapid_learning',
      'stabilization',
    ]);
    const [first, rapid] = found;
    expect((first?.end ?? 0) / length).toBeLessThan(0.04);
    expect((rapid?.end ?? 0) / length).toBeGreaterThan(0.08);
    expect((rapid?.end ?? 0) / length).toBeLessThan(0.25);
  });

  test('a sea of spikes is no divergence', () => {
    const values = stepLoss(5000, falling);
    const spiky = values.map((value, i) => (i > 50 && i % 97 === 0 ? value * 20 : value));
    const of = (list: Float64Array): readonly string[] =>
      names(roles({ trainLoss: byStep('train/loss', list) }));
    expect(of(spiky).slice(0, 3)).toEqual(of(values).slice(0, 3));
    expect(of(spiky)).not.toContain('divergence');
  });

  test('what goes up and down in turns does not diverge', () => {
    for (let seed = 1; seed <= 4; seed++) {
      const next = noiseFrom(seed);
      const turns = Float64Array.from({ length: 3000 }, (_, i) => {
        return 1 + 0.3 * Math.sin(i / 40) + 0.2 * next();
      });
      expect(names(roles({ trainLoss: byStep('train/loss', turns) }))).not.toContain('divergence');
    }
  });

  test('stuck at chance, for good and for a while', () => {
    expect(names(steps(5000, () => 2.3))).toEqual(['initialization_adaptation', 'stagnation']);
    const late = phasesOf(
      steps(5000, (share) => (share < 0.4 ? 2.3 : 0.3 + 2 * Math.exp(-20 * (share - 0.4)))),
    );
    expect(late.slice(0, 3).map(({ phaseName }) => phaseName)).toEqual([
      'initialization_adaptation',
      'stagnation',
      'rapid_learning',
    ]);
    expect(late[2]?.start).toBeGreaterThan(1950);
    expect(late[2]?.start).toBeLessThan(2100);
  });

  test('staircases at epochs and at drops of the learning rate are no learning anew', () => {
    const stairs = (share: number): number =>
      share < 0.33
        ? 0.5 + 2 * Math.exp(-30 * share) - 0.2 * share
        : share < 0.66
          ? 0.42 - 0.2 * share
          : 0.3 - 0.2 * share;
    const found = names(steps(6000, stairs, 0.03));
    expect(found.filter((name) => name === 'rapid_learning')).toHaveLength(1);
    expect(found).not.toContain('divergence');
  });

  test.each([
    ['at once', (share: number) => (share < 0.7 ? falling(share) : 6)],
    ['slowly', (share: number) => (share < 0.7 ? falling(share) : 0.5 + 3 * (share - 0.7))],
    ['into NaN', (share: number) => (share < 0.7 ? falling(share) : Number.NaN)],
  ])('diverges %s', (_, curve) => {
    const last = phasesOf(steps(10_000, curve)).at(-1);
    expect(last).toMatchObject({ phaseName: 'divergence', end: 9999 });
    expect(last?.start).toBeGreaterThan(6900);
    expect(last?.start).toBeLessThan(7200);
    expect(last?.confidence).toBeGreaterThan(0.8);
  });

  test('a divergence that comes back is a phase, a short excursion is none', () => {
    const hill = (from: number, to: number) => (share: number) =>
      share > from && share < to ? 4 : falling(share);
    expect(
      named(steps(10_000, hill(0.4, 0.6))).some((one) => /divergence 40\d\d-59\d\d/.test(one)),
    ).toBe(true);
    expect(names(steps(10_000, hill(0.4, 0.43)))).not.toContain('divergence');
  });

  test('a plateau and a bump while the learning rate warms up belong to the start', () => {
    const plateau = (share: number): number =>
      share < 0.05 ? 2.3 : 0.5 + 1.8 * Math.exp(-20 * (share - 0.05));
    const bump = (share: number): number =>
      share < 0.03 ? 2.3 + 40 * share : 0.5 + 3 * Math.exp(-20 * (share - 0.03));
    for (const curve of [plateau, bump]) {
      const [first, second] = phasesOf(steps(10_000, curve));
      expect([first?.phaseName, second?.phaseName]).toEqual([
        'initialization_adaptation',
        'rapid_learning',
      ]);
      expect(first?.end).toBeGreaterThan(290);
      expect(first?.end).toBeLessThan(900);
    }
  });

  test('validation is far sparser than training', () => {
    const val = Array.from(
      { length: 11 },
      (_, i) => 0.8 + 1.5 * Math.exp(-i) + 0.05 * Math.max(0, i - 5),
    );
    const found = phasesOf(
      roles({
        trainLoss: byStep(
          'train/loss',
          stepLoss(10_000, (share) => 0.1 + 2 * Math.exp(-5 * share)),
        ),
        valLoss: byStep('val/loss', val, 1000),
      }),
    ).at(-1);
    expect(found).toMatchObject({ phaseName: 'overfitting_onset', start: 6000, end: 10_000 });
  });

  test('validation by epoch beside training by step', () => {
    const train = byStep(
      'train/loss',
      stepLoss(10_000, (share) => 0.1 + 2 * Math.exp(-5 * share)),
    );
    const withEpochs = { ...train, epochs: train.steps.map((step) => Math.floor(step / 1000)) };
    const val = Array.from(
      { length: 10 },
      (_, i) => 0.8 + 1.5 * Math.exp(-i) + 0.05 * Math.max(0, i - 4),
    );
    const found = phasesOf(roles({ trainLoss: withEpochs, valLoss: byEpoch('val/loss', val) }));
    expect(found.at(-1)).toMatchObject({
      phaseName: 'overfitting_onset',
      start: 5999,
      axis: 'step',
    });
  });
});

describe('what there is hardly anything of', () => {
  test.each([
    ['nothing', [], []],
    ['one value', [2], ['initialization_adaptation 0-0']],
    ['two values', [2, 1], ['initialization_adaptation 0-1']],
    ['a constant', [2, 2, 2, 2, 2], ['initialization_adaptation 0-1', 'stagnation 2-4']],
    ['zero', [0, 0, 0, 0, 0], ['initialization_adaptation 0-1', 'stagnation 2-4']],
    ['NaN only', [Number.NaN, Number.NaN], ['divergence 0-1']],
    [
      'one value and an infinity',
      [2, Infinity],
      ['initialization_adaptation 0-0', 'divergence 1-1'],
    ],
  ])('%s', (_, values, expected) => {
    expect(named(losses(values))).toEqual(expected);
  });

  test('a column of NaN beside a loss says nothing', () => {
    const train = [1, 0.6, 0.4, 0.3, 0.25, 0.22, 0.2, 0.19];
    expect(
      named(
        losses(
          train,
          train.map(() => Number.NaN),
        ),
      ),
    ).toEqual(named(losses(train)));
  });

  test('no series at all', () => {
    expect(phasesOf(roles({}))).toEqual([]);
  });
});
