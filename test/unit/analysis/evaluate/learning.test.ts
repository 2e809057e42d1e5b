/** Of a run that shows no learning nobody says that it is healthy, or that it generalizes. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  analyzeColumns,
  createMetricSeries,
  createRunColumns,
  type MetricSeries,
} from 'quark-sdk/analysis';
import { metric, normal } from '../../../support/analysis-runs.ts';
import { runs } from '../../../support/property.ts';

const judge = (metrics: readonly MetricSeries[], isContinued = false) => {
  const columns = createRunColumns({ metrics, run: { status: 'completed', isContinued } });
  const { alerts, coverage, healthScores } = analyzeColumns(columns, {}, { nowMs: 0 });
  const scores = Object.fromEntries(healthScores.map((one) => [one.scoreKey, one]));
  return { alerts, coverage, scores, ids: alerts.map(({ ruleId }) => ruleId) };
};

const epochs = (key: string, values: readonly number[]): MetricSeries =>
  createMetricSeries(key, { epochs: values.map((_, i) => i + 1), values });

/** A classifier of ten classes that answers at random. */
const atChance = (count: number): readonly MetricSeries[] => {
  const gauss = normal(count);
  const around = (level: number, size: number): number[] =>
    Array.from({ length: count }, () => level + size * gauss());
  return [
    epochs('loss', around(Math.LN10, 0.0006)),
    epochs('accuracy', around(0.1, 0.002)),
    epochs('val_loss', around(Math.LN10, 0.0007)),
    epochs('val_accuracy', around(0.1, 0.003)),
  ];
};

test('a classifier at the level of chance is not healthy, and its generalization is not assessed', () => {
  for (const count of [5, 6, 8, 10, 20, 60]) {
    const { ids, scores } = judge(atChance(count));
    expect([count, ids]).toEqual([count, ['loss_not_decreasing']]);
    expect([count, scores['overall']?.status]).not.toEqual([count, 'healthy']);
    expect(scores['generalization']).toMatchObject({
      score: null,
      status: 'not_assessed',
      summary:
        'Generalization was not assessed: the run shows no learning that could hold for other samples',
    });
  }
});

test('three values are judged by nobody: no rule that takes more was asked', () => {
  const { coverage, scores } = judge([epochs('loss', [2.3, 2.1, 1.9])]);
  expect(scores['overall']?.score).toBeNull();
  expect(coverage.headline).toBe('Not assessed: loss (3 values): it takes 5 to judge a training');
  const open = coverage.open.map(({ ruleId }) => ruleId);
  for (const id of ['loss_spike', 'plateau', 'loss_divergence', 'loss_not_decreasing'])
    expect(open).toContain(id);
});

test('what falls or rises by more than its noise has learned', () => {
  const falls = [2.3, 1.1, 0.9, 0.95, 0.8];
  const gauss = normal(5);
  const cases: readonly (readonly MetricSeries[])[] = [
    [epochs('loss', falls)],
    [epochs('loss', [0.7, 0.7, 0.69, 0.7, 0.7]), epochs('accuracy', [0.5, 0.6, 0.66, 0.7, 0.72])],
    // A warm-up throws the loss up: one value has nearly all of the variance.
    [epochs('loss', [12, 22.5, 12.6, 9.7, 8.4, 8.2, 8.1, 8, 7.9, 7.8, 7.7, 7.6, 7.5])],
    [metric('loss', 300, (i) => 2 - i / 300 + 0.2 * gauss())],
    [metric('rollout/ep_rew_mean', 60, (i) => i - 30 + 3 * gauss())],
  ];
  for (const metrics of cases) {
    const { ids, scores } = judge(metrics);
    expect(ids).not.toContain('loss_not_decreasing');
    expect([ids, scores['overall']?.status]).toEqual([ids, 'healthy']);
  }
});

const normals = normal(6);

test('a run that goes on from another may have nothing left to learn; a reward that only wanders shows nothing', () => {
  const flat = metric('loss', 60, () => 2 + 0.3 * normals());
  expect(judge([flat]).ids).toEqual(['loss_not_decreasing']);
  expect(judge([flat], true).ids).toEqual([]);
  const reward = metric('rollout/ep_rew_mean', 60, () => 20 + 3 * normals());
  expect(judge([reward])).toMatchObject({
    ids: ['loss_not_decreasing'],
    scores: { overall: { status: 'watch' } },
  });
});

test('a rule that is off makes no remark, and keeps no score down', () => {
  const columns = createRunColumns({
    metrics: [metric('loss', 60, () => 2 + 0.3 * normals())],
    run: { status: 'completed' },
  });
  const config = { disabledRules: ['loss_not_decreasing', 'plateau'] } as const;
  expect(analyzeColumns(columns, config, { nowMs: 0 }).alerts).toEqual([]);
});

test('noise without a fall is hardly ever taken for learning, whatever its size', () => {
  let count = 0;
  let learned = 0;
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2 ** 31 - 1 }),
      fc.constantFrom(12, 40, 200, 900),
      fc.constantFrom(0.001, 0.03, 0.3),
      (seed, length, noise) => {
        const gauss = normal(seed);
        const { scores } = judge([metric('loss', length, () => 3 * (1 + noise * gauss()))]);
        count++;
        if (scores['overall']?.status === 'healthy') learned++;
      },
    ),
    runs(200),
  );
  expect(learned / count).toBeLessThan(0.02);
});

test('losses of networks that are trained against each other are judged by nobody, whatever they are called', () => {
  const gauss = normal(7);
  for (const [one, other] of [
    ['loss_d', 'loss_g'],
    ['D_loss', 'G_loss'],
    ['disc_loss', 'gen_loss'],
    ['train/critic_loss', 'train/generator_loss'],
  ] as const) {
    const metrics = [
      metric(one, 300, (i) => 0.3 + 0.9 * Math.exp(-i / 60) + 0.05 * gauss()),
      metric(other, 300, (i) => 1.2 + i / 60 + 0.5 * gauss()),
    ];
    const { coverage, ids, scores } = judge(metrics);
    expect(ids).toEqual([]);
    expect(scores['overall']).toMatchObject({ score: null, status: 'not_assessed' });
    expect(coverage.headline).toContain(
      `${other} is of networks that are trained against each other`,
    );
    // A measure of what they make is judged.
    const distance = metric('val/loss', 30, (i) => 1 / (i + 1), 10);
    expect(judge([...metrics, distance]).scores['overall']?.status).toBe('healthy');
  }
});

test('a reward that loses all that it had gained is an error, as its last phase is a divergence', () => {
  const gauss = normal(8);
  const metrics = [
    metric('rollout/ep_rew_mean', 60, (i) => (i < 25 ? 20 + 8 * i : 220 - 10 * (i - 25)) + gauss()),
    metric('train/loss', 60, (i) => 8 + i + gauss()),
  ];
  expect(judge(metrics).alerts).toMatchObject([{ ruleId: 'reward_decline', severity: 'error' }]);
});
