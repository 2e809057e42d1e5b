/** What must not change a comparison, and what cutting a run into other segments must not change for anybody. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, startRun, type RunReader } from 'quark-sdk';
import {
  AnalyzerEngine,
  compareColumns,
  ComparisonEngine,
  createMetricSeries,
  createRunColumns,
  PhaseAnalyzer,
  type MetricSeries,
  type RunColumns,
  type RunComparisonResult,
} from 'quark-sdk/analysis';
import { fallingLoss, normal } from '../support/analysis-runs.ts';
import { runs } from '../support/property.ts';

type Pair = { readonly count: number; readonly seed: number; readonly gap: number };

const pair: fc.Arbitrary<Pair> = fc.record({
  count: fc.oneof(fc.integer({ min: 3, max: 150 }), fc.integer({ min: 200, max: 2500 })),
  seed: fc.integer({ min: 1, max: 1e6 }),
  gap: fc.constantFrom(0, 0.3, 2),
});

/** Losses of two runs that part halfway by `gap`. */
function curvesOf({ count, gap, seed }: Pair): readonly [number[], number[]] {
  const first = Array.from({ length: count }, (_, i) => fallingLoss(count, { seed })(i));
  const noise = normal(seed + 1);
  const second = first.map((value, i) =>
    i < count / 2 ? value : value * (1 + 0.02 * noise()) + gap,
  );
  return [first, second];
}

type Shape = {
  readonly factor?: number;
  readonly stride?: number;
  readonly late?: readonly number[];
};

function series(
  key: string,
  values: readonly number[],
  { factor = 1, late = [], stride = 1 }: Shape = {},
): MetricSeries {
  const rows = values.map((value, i) => ({ value: value * factor, step: i * stride }));
  for (const at of late) rows.push(...rows.splice(at % rows.length, 1));
  return createMetricSeries(key, {
    steps: rows.map(({ step }) => step),
    values: rows.map(({ value }) => value),
  });
}

function run(
  values: readonly number[],
  shape?: Shape,
  others: readonly MetricSeries[] = [],
): RunColumns {
  return createRunColumns({ metrics: [series('train/loss', values, shape), ...others] });
}

/** What a comparison says of the loss, without units and places. */
function shapeOf({ alertDiff, metricDiffs, phaseDiffs }: RunComparisonResult): unknown {
  const loss = metricDiffs.find(({ metricKey }) => metricKey === 'train/loss');
  const ratio = (a: number | null | undefined, b: number | null | undefined): number | null =>
    a === null || a === undefined || b === null || b === undefined ? null : Math.fround(a / b);
  return {
    alerts: JSON.stringify(alertDiff.toDict()).replaceAll(/"step_start":\d+/gu, ''),
    phases: phaseDiffs.map(({ phaseName, presence }) => [phaseName, presence]),
    counts: [loss?.commonCount, loss?.primaryCount, loss?.referenceCount],
    ratios: [
      ratio(loss?.lastDelta, loss?.primaryFirst),
      ratio(loss?.bestDelta, loss?.primaryFirst),
      ratio(loss?.meanDelta, loss?.primaryFirst),
    ],
    direction: loss?.direction,
  };
}

const compare = (a: RunColumns, b: RunColumns): Promise<RunComparisonResult> =>
  compareColumns(a, b);

test('the unit of the loss does not change a comparison', async () => {
  await fc.assert(
    fc.asyncProperty(pair, fc.integer({ min: -20, max: 20 }), async (given, exponent) => {
      const [a, b] = curvesOf(given);
      const factor = 2 ** exponent;
      const plain = await compare(run(a), run(b));
      const scaled = await compare(run(a, { factor }), run(b, { factor }));
      expect(shapeOf(scaled)).toEqual(shapeOf(plain));
      expect(scaled.firstPartingStep).toBe(plain.firstPartingStep);
    }),
    runs(15),
  );
});

test('the numbering of steps moves the places of a comparison and nothing else', async () => {
  await fc.assert(
    fc.asyncProperty(pair, fc.integer({ min: 2, max: 500 }), async (given, stride) => {
      const [a, b] = curvesOf(given);
      const near = await compare(run(a), run(b));
      const far = await compare(run(a, { stride }), run(b, { stride }));
      expect(shapeOf(far)).toEqual(shapeOf(near));
      const step = near.firstPartingStep;
      expect(far.firstPartingStep).toBe(step === null ? null : step * stride);
    }),
    runs(15),
  );
});

test('other metrics, and rows that come late, do not change a comparison', async () => {
  await fc.assert(
    fc.asyncProperty(pair, fc.array(fc.nat(), { maxLength: 20 }), async (given, late) => {
      const [a, b] = curvesOf(given);
      const before = shapeOf(await compare(run(a), run(b)));
      const other = series(
        'custom/score',
        b.map((value) => -value),
      );
      expect(shapeOf(await compare(run(a, {}, [other]), run(b)))).toEqual(before);
      expect(shapeOf(await compare(run(a, { late }), run(b, { late })))).toEqual(before);
    }),
    runs(15),
  );
});

const DEGENERATE: readonly (readonly [string, readonly number[]])[] = [
  ['empty', []],
  ['one value', [1]],
  ['two values', [2, 1]],
  ['a constant', [1, 1, 1, 1, 1]],
  ['all NaN', [Number.NaN, Number.NaN, Number.NaN]],
];

test.each(DEGENERATE)(
  'a comparison with %s has a defined answer, both ways',
  async (_name, values) => {
    const usual = [2, 1.5, 1.2, 1, 0.9];
    for (const [a, b] of [
      [values, usual],
      [usual, values],
      [values, values],
    ] as const) {
      const result = await compare(run(a), run(b));
      const text = JSON.stringify(result.toDict()).replaceAll('ended in NaN or infinity', '');
      expect(text).not.toMatch(/NaN|Infinity|undefined/);
      const loss = result.metricDiffs.find(({ metricKey }) => metricKey === 'train/loss');
      const finite = (list: readonly number[]) => list.filter((value) => Number.isFinite(value));
      const [own, their] = [finite(a), finite(b)];
      if (own.length === 0 && their.length === 0) {
        expect([loss?.lastDelta ?? null, result.firstPartingStep]).toEqual([null, null]);
        continue;
      }
      const presence = own.length === 0 ? 'reference' : their.length === 0 ? 'primary' : 'both';
      expect(loss).toMatchObject({
        presence,
        primaryLast: own.at(-1) ?? null,
        referenceLast: their.at(-1) ?? null,
        lastDelta: presence === 'both' ? (own.at(-1) ?? 0) - (their.at(-1) ?? 0) : null,
      });
      if (a === b) expect(result.firstPartingStep).toBeNull();
    }
  },
);

/** The losses of two runs in a store, flushed after each of the cuts. */
async function stored(
  curves: readonly (readonly number[])[],
  cuts: readonly number[],
): Promise<readonly RunReader[]> {
  const store = createMemoryStore();
  const readers: RunReader[] = [];
  for (const values of curves) {
    const session = await startRun({ project: 'cuts', storage: store });
    const metrics = new MetricsLogger(session);
    for (const [step, value] of values.entries()) {
      metrics.log('train/loss', value, { step });
      if (step % 7 === 0) metrics.log('val/loss', value * 1.1, { step });
      if (cuts.includes(step)) await session.flush();
    }
    await session.endRun();
    readers.push(await openRun(store, session.runId));
  }
  return readers;
}

test('how a run is cut into segments changes nothing, for rules, phases and comparisons', async () => {
  await fc.assert(
    fc.asyncProperty(
      pair,
      fc.array(fc.nat({ max: 300 }), { maxLength: 12 }),
      async (given, cuts) => {
        const curves = curvesOf({ ...given, count: Math.min(300, given.count) });
        const judged = await Promise.all(
          [[], cuts].map(async (places) => {
            const [first, second] = await stored(curves, places);
            if (first === undefined || second === undefined) throw new Error('two runs');
            const { alerts, healthScores } = await new AnalyzerEngine(second).analyze({
              persist: false,
            });
            const { phases } = await new PhaseAnalyzer(second).analyze({ persist: false });
            const compared = await new ComparisonEngine(first).compare(second);
            return [
              alerts.map(({ fact, ruleId, severity, stepEnd, stepStart }) => [
                ruleId,
                severity,
                fact,
                stepStart,
                stepEnd,
              ]),
              healthScores.map(({ score }) => score),
              phases.map(({ phaseName, stepEnd, stepStart }) => [phaseName, stepStart, stepEnd]),
              compared.metricDiffs.map((diff) => diff.toDict()),
              compared.firstPartingStep,
            ];
          }),
        );
        expect(judged[1]).toEqual(judged[0]);
      },
    ),
    runs(3),
  );
});
