/** What must hold of roles, and of what is judged by them, whatever metrics are called and in which unit they are. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  analyzeColumns,
  analyzePhases,
  createMetricSeries,
  createRunColumns,
  findRoles,
  type MetricSeries,
} from 'quark-sdk/analysis';
import { normal } from '../support/analysis-runs.ts';
import { runs } from '../support/property.ts';

const TRAIN = ['train', 'training', 'Train', 'TRAIN', 'tr', 'learn', 'fit', 'in_sample'];
const VAL = [
  'val',
  'valid',
  'validation',
  'Validation',
  'vl',
  'eval',
  'evaluation',
  'dev',
  'holdout',
  'held_out',
];
const TEST = ['test', 'testing', 'Test'];
const PLACES = ['prefix', 'suffix', 'middle'] as const;

const convention = fc.record({
  train: fc.constantFrom(...TRAIN),
  val: fc.constantFrom(...VAL),
  test: fc.constantFrom(...TEST),
  separator: fc.constantFrom('/', '_', '.', '-'),
  place: fc.constantFrom(...PLACES),
});
type Convention = typeof convention extends fc.Arbitrary<infer C> ? C : never;
type Side = 'train' | 'val' | 'test';
type Metric = readonly [side: Side, measure: string];

const MEASURES = ['loss', 'box_loss', 'cls_loss', 'logloss', 'mse', 'accuracy', 'auc', 'f1'];
const metricSet = fc
  .uniqueArray(
    fc.tuple(fc.constantFrom<Side>('train', 'val', 'test'), fc.constantFrom(...MEASURES)),
    {
      minLength: 1,
      maxLength: 10,
      selector: (metric) => metric.join(),
    },
  )
  .map((list): readonly Metric[] => list);

const nameOf = ([side, measure]: Metric, { place, separator, ...words }: Convention): string => {
  const word = words[side];
  if (place === 'prefix') return `${word}${separator}${measure}`;
  return place === 'suffix'
    ? `${measure}${separator}${word}`
    : `metrics${separator}${word}${separator}${measure}`;
};

const steps = Float64Array.from({ length: 40 }, (_, i) => i);
const seriesOf = (key: string, at: number): MetricSeries =>
  createMetricSeries(key, { steps, values: steps.map((i) => 0.9 - 0.01 * i - 0.001 * at) });

/** Roles as the metrics that play them, whatever these are called. */
function rolesOf(metrics: readonly Metric[], how: Convention): unknown {
  const byKey = new Map(metrics.map((metric, i) => [nameOf(metric, how), { metric, i }]));
  const roles = findRoles(new Map([...byKey].map(([key, { i }]) => [key, seriesOf(key, i)])));
  return (['trainLoss', 'valLoss', 'trainAccuracy', 'valAccuracy', 'reward'] as const).map((role) =>
    (roles[role]?.keys ?? []).map((key) => byKey.get(key)?.metric.join(' ')),
  );
}

/** The names that have rules of their own: of these nobody has to ask what they pair with. */
const REFERENCE: Convention = {
  train: 'training',
  val: 'valid',
  test: 'testing',
  separator: '_',
  place: 'prefix',
};

test('other words for training and validation, put elsewhere, play the same roles', () => {
  fc.assert(
    fc.property(metricSet, convention, (metrics, how) => {
      expect(rolesOf(metrics, how)).toEqual(rolesOf(metrics, REFERENCE));
    }),
    runs(300),
  );
});

const signed = fc.record({
  kind: fc.constantFrom('policy', 'nll', 'drift', 'blow-up', 'wander'),
  count: fc.integer({ min: 20, max: 700 }),
  seed: fc.integer({ min: 1, max: 1e6 }),
});

/** Losses around zero or below it: values at each step, and some of validation. */
function signedLoss({
  count,
  kind,
  seed,
}: typeof signed extends fc.Arbitrary<infer S> ? S : never): Float64Array {
  const gauss = normal(seed);
  let level = 0;
  return Float64Array.from({ length: count }, (_, i) => {
    const t = i / count;
    level += 0.05 * gauss();
    if (kind === 'policy') return -0.5 + 0.05 * gauss();
    if (kind === 'nll') return 1 - 4 * t + 0.1 * gauss();
    if (kind === 'drift') return -0.2 - 0.5 * t + 0.3 * gauss();
    return kind === 'blow-up' ? -1 + 0.05 * gauss() + (t > 0.7 ? 40 * (t - 0.7) : 0) : -3 + level;
  });
}

async function saidOf(values: Float64Array): Promise<unknown> {
  const at = values.map((_, i) => i);
  const every = 5;
  const heldOut = values.filter((_, i) => i % every === 0);
  const columns = createRunColumns({
    metrics: [
      createMetricSeries('train/loss', { steps: at, values }),
      createMetricSeries('val/loss', {
        steps: heldOut.map((_, i) => i * every),
        values: heldOut,
      }),
    ],
  });
  const { alerts } = analyzeColumns(columns, {}, { nowMs: 0 });
  const { phases } = await analyzePhases(columns, {}, { nowMs: 0 });
  return {
    alerts: alerts.map(({ ruleId, severity, stepEnd, stepStart }) => [
      ruleId,
      severity,
      stepStart,
      stepEnd,
    ]),
    phases: phases.map(({ phaseName, stepStart }) => [phaseName, stepStart]),
  };
}

/** What is below zero stays there. */
const SHIFTS = [0, -0.25, -8, -64] as const;
const FACTORS = [1, 0.125, 4, 64] as const;

test('what is said of a loss below zero knows neither its unit nor its zero', async () => {
  await fc.assert(
    fc.asyncProperty(
      signed,
      fc.constantFrom(...SHIFTS),
      fc.constantFrom(...FACTORS),
      async (one, shift, factor) => {
        // On a grid, so that no rounding tells one unit from another.
        const values = signedLoss(one).map((value) => Math.round(value * 4096) / 4096);
        const lowest = values.reduce((a, b) => Math.max(a, b), -Infinity);
        const low = values.map((value) => value - Math.ceil(Math.max(0, lowest)) - 1);
        const moved = low.map((value) => factor * (value + shift));
        expect(await saidOf(moved)).toEqual(await saidOf(low));
      },
    ),
    runs(60),
  );
});

const accuracies = fc.record({
  start: fc.double({ min: 0, max: 0.5, noNaN: true }),
  end: fc.double({ min: 0.02, max: 1, noNaN: true }),
  lead: fc.double({ min: -0.3, max: 0.3, noNaN: true }),
  count: fc.integer({ min: 30, max: 300 }),
  seed: fc.integer({ min: 1, max: 1e6 }),
});

test('an accuracy says the same in percent as in shares', () => {
  fc.assert(
    fc.property(accuracies, ({ count, end, lead, seed, start }) => {
      const gauss = normal(seed);
      const at = Float64Array.from({ length: count }, (_, i) => i);
      const share = (extra: number): Float64Array =>
        at.map((i) =>
          Math.min(1, Math.max(0, start + (end - start) * (i / count) + extra + 0.01 * gauss())),
        );
      const [train, val] = [share(0), share(lead)];
      const loss = at.map((i) => 2 - (i / count) * end + 0.02 * gauss());
      const factsIn = (factor: number): unknown => {
        const metric = (key: string, values: Float64Array): MetricSeries =>
          createMetricSeries(key, { steps: at, values });
        const columns = createRunColumns({
          metrics: [
            metric('train/loss', loss),
            metric(
              'train/accuracy',
              train.map((value) => factor * value),
            ),
            metric(
              'val/accuracy',
              val.map((value) => factor * value),
            ),
          ],
        });
        const { alerts, healthScores } = analyzeColumns(columns, {}, { nowMs: 0 });
        return {
          alerts: alerts.map(({ fact, ruleId, severity }) => [ruleId, severity, fact]),
          scores: healthScores.map(({ score }) => score),
        };
      };
      // Dividing by 100 again must not round.
      fc.pre(Math.max(...train, ...val) > 0.02);
      const [shares, percent] = [factsIn(1), factsIn(100)];
      expect(percent).toEqual(shares);
    }),
    runs(60),
  );
});
