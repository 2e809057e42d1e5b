/** Rules beside percent, losses around zero, and rewards. */
import { describe, expect, test } from 'vitest';
import {
  analyzeColumns,
  analyzePhases,
  createRunColumns,
  findRoles,
  type MetricSeries,
} from 'quark-sdk/analysis';
import { metric, normal } from '../../../support/analysis-runs.ts';

const alertsOf = (...metrics: readonly MetricSeries[]) =>
  analyzeColumns(createRunColumns({ metrics }), {}, { nowMs: 0 }).alerts;
const idsOf = (...metrics: readonly MetricSeries[]): readonly string[] =>
  alertsOf(...metrics).map(({ ruleId, severity }) => `${severity} ${ruleId}`);
/** What is more than a remark. */
const alarms = (...metrics: readonly MetricSeries[]): readonly string[] =>
  idsOf(...metrics).filter((id) => !id.startsWith('info'));
const SEEDS = Array.from({ length: 12 }, (_, i) => i + 1);

describe('accuracies in percent', () => {
  test('a dead network of 10 % is not solved', () => {
    const gauss = normal(3);
    const loss = metric('train/loss', 300, () => Math.LN10 + 0.002 * gauss());
    const accuracy = metric('train/accuracy', 300, () => 10 + 0.3 * gauss());
    expect(idsOf(loss, accuracy)).toContain('error loss_not_decreasing');
  });

  test('a validation of 52.4 is no leak', () => {
    const gauss = normal(4);
    const train = metric('train/acc', 50, (i) => 30 + 0.8 * i + gauss());
    const val = metric('val/acc', 50, (i) => 52.4 + 0.4 * i + gauss());
    const loss = metric('train/loss', 50, (i) => 2 - 0.02 * i);
    expect(idsOf(loss, train, val)).not.toContain('warning suspicious_validation');
    const leak = metric('val/acc', 50, () => 99);
    const found = alertsOf(loss, train, leak).find(
      ({ ruleId }) => ruleId === 'suspicious_validation',
    );
    expect(found?.fact).toMatch(
      /^val\/acc is 99 % at step 0 already, with 3\d\.\d % in training\.$/,
    );
  });

  test('counts of right answers are no accuracy', () => {
    const counts = metric('train/accuracy', 100, () => 4200);
    const { candidates, trainAccuracy } = findRoles(new Map([[counts.key, counts]]));
    expect(trainAccuracy).toBeNull();
    expect(candidates).toEqual([
      { key: counts.key, role: 'accuracy', why: 'its name is that of an accuracy' },
    ]);
  });
});

describe('losses around zero', () => {
  test.each([
    ['a policy gradient', (gauss: () => number) => () => 0.02 * gauss()],
    [
      'GRPO, whose penalty grows',
      (gauss: () => number) => (i: number) => 0.0001 * i - 0.002 + 0.003 * gauss(),
    ],
    ['an entropy', (gauss: () => number) => (i: number) => -1.4 + 0.002 * i + 0.02 * gauss()],
    [
      'a likelihood',
      (gauss: () => number) => (i: number) => 3 - 8 * (1 - Math.exp(-i / 80)) + 0.1 * gauss(),
    ],
    [
      'a bound that goes up and down',
      (gauss: () => number) => (i: number) =>
        -2 - 3 * Math.exp(-i / 90) * Math.cos(i / 40) + 0.1 * gauss(),
    ],
  ])('%s raises no alarm', (_name, course) => {
    for (const seed of SEEDS)
      for (const count of [60, 400]) {
        const found = alertsOf(metric('train/loss', count, course(normal(seed))));
        expect(
          found.filter(({ severity }) => severity === 'critical' || severity === 'error'),
        ).toEqual([]);
      }
  });

  test('networks against each other are not said to diverge', () => {
    for (const seed of SEEDS) {
      const gauss = normal(seed);
      const critic = metric('train/D_loss', 400, (i) => -6 * Math.exp(-i / 150) + 0.3 * gauss());
      const generator = metric('train/G_loss', 400, (i) => 4 * Math.sin(i / 60) + 0.3 * gauss());
      expect(idsOf(critic, generator).filter((id) => /critical|error/u.test(id))).toEqual([]);
    }
  });

  test('a blow-up is found all the same', () => {
    const gauss = normal(2);
    const blowUp = metric(
      'train/loss',
      400,
      (i) => -0.5 + 0.05 * gauss() + (i > 250 ? 0.5 * (i - 250) : 0),
    );
    expect(idsOf(blowUp)).toContain('critical loss_divergence');
  });
});

describe('a reward', () => {
  const rewards = (key: string, level: (t: number) => number, noise: number, seed: number) => {
    const gauss = normal(seed);
    return metric(key, 400, (i) => level(i / 400) + noise * gauss());
  };
  const loss = (seed: number): MetricSeries =>
    rewards('train/policy_loss', () => 0, 0.05, seed + 100);

  test.each([
    ['rising', (t: number) => 200 * t],
    ['resting after a rise', (t: number) => 200 * Math.min(1, 3 * t)],
    ['that does nothing', () => 20],
    ['that dips and comes back', (t: number) => 200 * t - (t > 0.5 && t < 0.6 ? 100 : 0)],
  ])('%s is fine, however noisy', (_name, level) => {
    for (const seed of SEEDS)
      expect(alarms(rewards('rollout/ep_rew_mean', level, 30, seed), loss(seed))).toEqual([]);
  });

  test('falling from the start is an error, falling back a warning', () => {
    for (const seed of SEEDS) {
      const down = rewards('rollout/ep_rew_mean', (t) => -200 * t, 20, seed);
      expect(alarms(down, loss(seed))).toEqual(['error reward_decline']);
      const back = rewards(
        'episode_return',
        (t) => (t < 0.5 ? 400 * t : 400 * (0.85 - 0.7 * t) - 100 * t),
        10,
        seed,
      );
      expect(idsOf(back, loss(seed))[0]).toMatch(/reward_decline$/u);
    }
  });

  test('where it fell to is said of the last fifth, in which it may fall on', () => {
    const series = rewards('episode_return', (t) => 200 - 400 * Math.max(0, t - 0.5), 1, 1);
    const [alert] = alertsOf(series, loss(1));
    expect(alert?.fact).toMatch(/ to about \S+ or less in the last fifth of the run/u);
    const said = Number(/ to about (\S+) or less/u.exec(alert?.fact ?? '')?.[1]);
    expect(said).toBeGreaterThan(series.values.at(-1) ?? Number.NaN);
    expect(said).toBeLessThan(90);
  });

  test('is what phases are found in', async () => {
    const up = rewards('rollout/ep_rew_mean', (t) => 200 * Math.min(1, 3 * t), 5, 1);
    const { phases } = await analyzePhases(
      createRunColumns({ metrics: [up, loss(1)] }),
      {},
      { nowMs: 0 },
    );
    expect(phases.map(({ phaseName }) => phaseName)).toContain('rapid_learning');
    const text = phases.map(({ summary }) => summary).join(' ');
    expect(text).toMatch(/rollout\/ep_rew_mean rose from/u);
    expect(text).not.toMatch(/policy_loss/u);
  });
});
