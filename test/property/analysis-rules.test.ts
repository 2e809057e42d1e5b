/** What must hold of the rules whatever a run looks like. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  analyzeColumns,
  createMetricSeries,
  createRunColumns,
  type AnalyzerResult,
  type MetricSeries,
  type RunColumns,
} from 'quark-sdk/analysis';
import { normal } from '../support/analysis-runs.ts';
import { runs } from '../support/property.ts';

type Course = {
  readonly kind: 'exponential' | 'power' | 'warm-up' | 'staircase' | 'cosine' | 'solved';
  readonly count: number;
  readonly noise: number;
  readonly floorShare: number;
  readonly seed: number;
};

const healthy: fc.Arbitrary<Course> = fc.record({
  kind: fc.constantFrom('exponential', 'power', 'warm-up', 'staircase', 'cosine', 'solved'),
  count: fc.oneof(fc.integer({ min: 5, max: 200 }), fc.integer({ min: 200, max: 6000 })),
  noise: fc.constantFrom(0, 0.01, 0.05, 0.15, 0.3),
  floorShare: fc.constantFrom(0.02, 0.1, 0.3, 0.6),
  seed: fc.integer({ min: 1, max: 1e6 }),
});

/** A loss between 1 and `floorShare` as healthy runs have it. Noise is that of a batch: relative, and mostly upwards near zero. */
function lossOf({ count, floorShare, kind, noise, seed }: Course): number[] {
  const gauss = normal(seed);
  const share = (i: number): number => {
    const t = i / Math.max(1, count - 1);
    switch (kind) {
      case 'exponential':
        return Math.exp(-5 * t);
      case 'power':
        return (1 + 30 * t) ** -0.7;
      case 'warm-up':
        return t < 0.03 ? 1 : Math.exp(-4 * (t - 0.03));
      case 'staircase':
        return 0.45 ** Math.floor(4 * t) * (1 - 0.2 * ((4 * t) % 1));
      case 'cosine':
        return 0.7 * Math.exp(-6 * t) + 0.3 * (0.5 + 0.5 * Math.cos(Math.PI * t));
      case 'solved':
        return Math.exp(-12 * t);
    }
  };
  const floor = kind === 'solved' ? 1e-4 : floorShare;
  return Array.from(
    { length: count },
    (_, i) => (floor + (1 - floor) * share(i)) * Math.exp(noise * gauss() - (noise * noise) / 2),
  );
}

function stepsOf(values: readonly number[], stride = 1): number[] {
  return values.map((_, i) => i * stride);
}

function loss(key: string, values: readonly number[], stride = 1): MetricSeries {
  return createMetricSeries(key, { steps: stepsOf(values, stride), values: [...values] });
}

function analyze(columns: RunColumns): AnalyzerResult {
  return analyzeColumns(columns, {}, { nowMs: 0 });
}

/** Alerts by what does not depend on units and places. */
function shapeOf(columns: RunColumns): unknown {
  const { alerts, healthScores } = analyze(columns);
  return [
    alerts.map(({ category, ruleId, severity }) => [ruleId, category, severity]),
    healthScores.map(({ score }) => score),
  ];
}

test('healthy losses raise no alarm', () => {
  fc.assert(
    fc.property(healthy, (course) => {
      const values = lossOf(course);
      const validation = values.filter((_, i) => i % 10 === 0).map((value) => value * 1.1);
      const columns = createRunColumns({
        metrics: [loss('train/loss', values), loss('val/loss', validation, 10)],
      });
      const alarms = analyze(columns).alerts.filter(({ severity }) => severity !== 'info');
      expect(alarms.map(({ fact, ruleId }) => [ruleId, fact])).toEqual([]);
    }),
    runs(300),
  );
});

/** Any course, bad ones among them. */
const anyCourse = fc
  .record({
    course: healthy,
    fault: fc.constantFrom('none', 'diverges', 'overfits', 'flat', 'nan', 'spike', 'swings'),
  })
  .map(({ course, fault }) => {
    const values = lossOf(course);
    const { length } = values;
    const validation = values.filter((_, i) => i % 5 === 0);
    const gauss = normal(course.seed + 1);
    if (fault === 'diverges')
      values.forEach((value, i) => (values[i] = value + 3 * Math.max(0, i / length - 0.7)));
    if (fault === 'overfits')
      validation.forEach(
        (value, i) => (validation[i] = value + Math.max(0, i / validation.length - 0.4)),
      );
    if (fault === 'flat') values.forEach((_, i) => (values[i] = 1 + 0.02 * gauss()));
    if (fault === 'nan') values.fill(Number.NaN, Math.floor(length * 0.8));
    if (fault === 'spike' && length > 40) values[Math.floor(length * 0.6)] = 5;
    if (fault === 'swings') values.forEach((value, i) => (values[i] = value + (i % 2) * 0.6));
    return { values, validation };
  });

const metricsOf = (
  { validation, values }: { values: number[]; validation: number[] },
  factor = 1,
  stride = 1,
) => [
  loss(
    'train/loss',
    values.map((value) => value * factor),
    stride,
  ),
  loss(
    'val/loss',
    validation.map((value) => value * factor),
    5 * stride,
  ),
];

test('losses times a constant raise the same alerts', () => {
  fc.assert(
    fc.property(anyCourse, fc.integer({ min: -30, max: 30 }), (course, exponent) => {
      const scaled = createRunColumns({ metrics: metricsOf(course, 2 ** exponent) });
      expect(shapeOf(scaled)).toEqual(shapeOf(createRunColumns({ metrics: metricsOf(course) })));
    }),
    runs(100),
  );
});

test('steps times a factor raise the same alerts, at those steps', () => {
  fc.assert(
    fc.property(anyCourse, fc.integer({ min: 2, max: 1000 }), (course, stride) => {
      const near = analyze(createRunColumns({ metrics: metricsOf(course) }));
      const far = analyze(createRunColumns({ metrics: metricsOf(course, 1, stride) }));
      const places = ({ alerts }: AnalyzerResult, factor: number) =>
        alerts.map(({ ruleId, severity, stepEnd, stepStart }) => [
          ruleId,
          severity,
          stepStart === null ? null : stepStart * factor,
          stepEnd === null ? null : stepEnd * factor,
        ]);
      expect(places(far, 1)).toEqual(places(near, stride));
    }),
    runs(100),
  );
});

test('other metrics, and rows that come late, change nothing', () => {
  fc.assert(
    fc.property(anyCourse, fc.array(fc.nat(), { maxLength: 30 }), (course, late) => {
      const before = shapeOf(createRunColumns({ metrics: metricsOf(course) }));
      const other = loss(
        'custom/score',
        course.values.map((value) => -value),
      );
      expect(shapeOf(createRunColumns({ metrics: [other, ...metricsOf(course)] }))).toEqual(before);
      const rows = course.values.map((value, step) => ({ value, step }));
      for (const at of late) rows.push(...rows.splice(at % rows.length, 1));
      const shuffled = createMetricSeries('train/loss', {
        steps: rows.map(({ step }) => step),
        values: rows.map(({ value }) => value),
      });
      const [, validation] = metricsOf(course);
      const metrics = validation === undefined ? [shuffled] : [shuffled, validation];
      expect(shapeOf(createRunColumns({ metrics }))).toEqual(before);
    }),
    runs(100),
  );
});

test.each<[string, number[], string[]]>([
  ['empty', [], []],
  ['one value', [1], []],
  ['two values', [2, 1], []],
  ['two values that rise', [1, 2], []],
  ['a constant', Array.from({ length: 50 }, () => 1), ['loss_not_decreasing']],
  ['a constant zero', Array.from({ length: 50 }, () => 0), ['loss_not_decreasing']],
  ['all NaN', Array.from({ length: 50 }, () => Number.NaN), ['non_finite']],
  ['one NaN alone', [Number.NaN], ['non_finite']],
  ['all infinite', Array.from({ length: 50 }, () => Infinity), ['non_finite']],
  // Their differences leave the range of float64: nothing is claimed.
  [
    'the largest numbers',
    Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? 1 : -1) * 1.7e308),
    [],
  ],
  ['the smallest numbers', Array.from({ length: 50 }, (_, i) => 5e-324 * (50 - i)), []],
])('%s has a defined answer', (_name, values, expected) => {
  const { alerts } = analyze(createRunColumns({ metrics: [loss('train/loss', values)] }));
  const claims = alerts.filter(({ severity }) => severity !== 'info');
  expect(claims.map(({ ruleId }) => ruleId)).toEqual(expected);
});

test('anything at all has an answer that can be stored', () => {
  const anything = fc.array(
    fc.oneof(fc.double(), fc.constantFrom(Number.NaN, Infinity, -Infinity, 0, -0, 5e-324)),
    { maxLength: 300 },
  );
  fc.assert(
    fc.property(anything, anything, anything, (train, validation, norm) => {
      const columns = createRunColumns({
        metrics: [
          loss('train/loss', train),
          loss('val/loss', validation, 2),
          loss('train/grad_norm', norm),
          loss('system/runtime/step_time_ms', norm.map(Math.abs)),
          loss('train/accuracy', validation),
        ],
      });
      for (const { evidence, summary } of analyze(columns).alerts) {
        expect(JSON.parse(JSON.stringify(evidence))).toEqual(evidence);
        expect(summary).not.toMatch(/undefined|\[object/);
      }
    }),
    runs(300),
  );
});
