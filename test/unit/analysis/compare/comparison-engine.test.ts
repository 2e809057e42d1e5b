import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMemoryStore, MetricsLogger, TrainingSession, type Store } from 'quark-sdk';
import {
  AnalyzerEngine,
  compareColumnGroups,
  compareColumns,
  ComparisonEngine,
  createMetricSeries,
  createRunColumns,
  LAYER_NUMBERS,
  PhaseAnalyzer,
  type LayerNumber,
  type LayerSeries,
  type RunColumns,
} from 'quark-sdk/analysis';
import { byEpoch, byStep, noiseFrom, stepLoss } from '../../../support/loss-curves.ts';
import { runs } from '../../../support/property.ts';

async function recorded(
  store: Store,
  curves: Readonly<Record<string, readonly number[]>>,
  config: Record<string, string | number> = {},
): Promise<TrainingSession> {
  const session = await TrainingSession.startRun({ project: 'compare', storage: store, config });
  const metrics = new MetricsLogger(session);
  for (const [key, values] of Object.entries(curves))
    values.forEach((value, i) => metrics.log(key, value, { step: i * 10 }));
  await metrics.flush();
  return session;
}

const run = (
  curves: Readonly<Record<string, ArrayLike<number>>>,
  config: Record<string, string | number> = {},
  runId = 'run',
): RunColumns =>
  createRunColumns({
    run: { config, runId },
    metrics: Object.entries(curves).map(([key, values]) => byStep(key, values)),
  });

describe('two stored runs', () => {
  test('metrics, target, alerts, phases, configuration', async () => {
    const store = createMemoryStore();
    const good = {
      'val/accuracy': [0.2, 0.5, 0.7, 0.82, 0.85, 0.84],
      'train/loss': [2, 1, 0.6, 0.4, 0.3, 0.25],
    };
    const slow = {
      'system/runtime/step_time_ms': Array.from({ length: 40 }, (_, i) => 1000 + i),
      'system/runtime/data_time_ms': Array.from({ length: 40 }, (_, i) => 900 + i),
    };
    const bad = {
      ...slow,
      'val/accuracy': [0.2, 0.3, 0.5, 0.6, 0.7, 0.81],
      'train/loss': [2, 1, 0.6, 2, 6, 20],
    };
    const candidate = await recorded(store, good, { lr: 0.1, seed: 1 });
    const baseline = await recorded(store, bad, { lr: 0.5, seed: 1, decay: 0.9 });
    const config = {
      metricTargets: [{ metricKey: 'val/accuracy', targetValue: 0.8, direction: 'at_least' }],
    } as const;
    const result = await new ComparisonEngine(candidate, config).compareToBaseline(baseline.runId);
    expect(result.mode).toBe('baseline');
    expect(result.primary.runId).toBe(candidate.runId);
    expect(result.reference.runId).toBe(baseline.runId);
    const [loss, accuracy] = result.metricDiffs;
    expect(result.metricDiffs.map(({ metricKey, presence }) => [metricKey, presence])).toEqual([
      ['train/loss', 'both'],
      ['val/accuracy', 'both'],
      ['system/runtime/data_time_ms', 'reference'],
      ['system/runtime/step_time_ms', 'reference'],
    ]);
    expect(accuracy).toMatchObject({
      presence: 'both',
      direction: 'higher',
      axis: 'step',
      commonCount: 6,
      primaryFirst: 0.2,
      firstDelta: 0,
      primaryLast: 0.84,
      referenceLast: 0.81,
      primaryBest: 0.85,
      referenceBest: 0.81,
      primaryBestStep: 40,
      referenceBestStep: 50,
      targetValue: 0.8,
      targetDirection: 'at_least',
      primaryTimeToTargetStep: 30,
      referenceTimeToTargetStep: 50,
      timeToTargetStepDelta: -20,
      firstDifferentStep: 10,
      partingStep: 10,
    });
    expect(accuracy?.primaryArea).toBeCloseTo(10 * (0.1 + 0.5 + 0.7 + 0.82 + 0.85 + 0.42), 10);
    expect(accuracy?.primaryMean).toBeCloseTo((accuracy?.primaryArea ?? 0) / 50, 12);
    expect(loss).toMatchObject({
      direction: 'lower',
      lastDelta: -19.75,
      bestDelta: 0.25 - 0.6,
      partingStep: 30,
    });
    expect(result.firstPartingStep).toBe(30);
    expect(result.alertDiff.resolvedRuleIds).toContain('runtime_bottleneck_risk');
    expect(result.alertDiff.newRuleIds).toEqual([]);
    const divergence = result.phaseDiffs.find(({ phaseName }) => phaseName === 'divergence');
    expect(divergence).toMatchObject({
      presence: 'reference',
      referenceStepStart: 30,
      primaryStepCount: 0,
    });
    expect(
      result.configDiffs.map((diff) => [
        diff.path,
        diff.presence,
        diff.primaryValue,
        diff.referenceValue,
      ]),
    ).toEqual([
      ['decay', 'reference', null, 0.9],
      ['lr', 'both', 0.1, 0.5],
    ]);
    expect(result.comparability).toMatchObject({ isComparable: true, reasons: [] });
    const dict = result.toDict();
    expect(Object.keys(dict)).toEqual(
      expect.arrayContaining([
        'schema_version',
        'generated_at',
        'mode',
        'primary',
        'reference',
        'metric_diffs',
        'alert_diff',
        'phase_diffs',
        'layer_summary_diffs',
      ]),
    );
    expect(JSON.stringify(dict)).toContain('"primary_time_to_target_step":30');
  });

  test('targets as session, as context, as id; pairwise and in one call', async () => {
    const store = createMemoryStore();
    const one = await recorded(store, { 'train/loss': [3, 2, 1] });
    const two = await recorded(store, { 'train/loss': [3, 2.5, 2] });
    const engine = new ComparisonEngine(one.context);
    const results = [
      await engine.compare(two),
      await engine.compare(two.context),
      await engine.compare(two.runId),
      await ComparisonEngine.compareRuns(one, two),
    ];
    for (const result of results) {
      expect(result.mode).toBe('pairwise');
      expect(result.metricDiffs[0]?.lastDelta).toBe(-1);
    }
    expect((await ComparisonEngine.compareRuns(one, two, { baseline: true })).mode).toBe(
      'baseline',
    );
    await expect(engine.compare('run_unknown')).rejects.toThrow(/run_unknown/);
    await expect(engine.compare(two, { base: true } as never)).rejects.toThrow(/base/);
    expect(
      () =>
        new ComparisonEngine(one, {
          metricTargets: [{ metricKey: 'a', targetValue: 1, direction: 'up' as never }],
        }),
    ).toThrow(/direction/);
    expect(() => new ComparisonEngine(one, { confidenceLevel: 95 })).toThrow(/confidenceLevel/);
  });

  test('alerts of a watch are no analysis: not every rule was asked', async () => {
    const store = createMemoryStore();
    const values = {
      'train/loss': [2, 1, Number.NaN],
      'system/runtime/step_time_ms': Array.from({ length: 40 }, (_, i) => 1000 + i),
      'system/runtime/data_time_ms': Array.from({ length: 40 }, (_, i) => 900 + i),
    };
    const one = await recorded(store, values);
    const two = await recorded(store, values);
    const watch = new AnalyzerEngine(one).watch({ workerMode: 'none' });
    await watch.close();
    expect(watch.alerts.map(({ ruleId }) => ruleId)).toEqual(['non_finite']);
    const { alertDiff, comparability, primary } = await ComparisonEngine.compareRuns(one, two);
    expect(primary.alertsAreStored).toBe(false);
    expect(alertDiff).toMatchObject({ newRuleIds: [], resolvedRuleIds: [] });
    expect(alertDiff.sharedRuleIds).toContain('runtime_bottleneck_risk');
    expect(comparability.notes).toContain(
      'In the primary run train/loss ended in NaN or infinity: the last finite values are compared.',
    );
  });

  test('alerts and phases that are stored are the ones compared', async () => {
    const store = createMemoryStore();
    const values = {
      'train/loss': [2, 1, 0.6, 2, 6, 20, 60, 100],
      'system/runtime/step_time_ms': Array.from({ length: 40 }, (_, i) => 1000 + i),
      'system/runtime/data_time_ms': Array.from({ length: 40 }, (_, i) => 900 + i),
    };
    const one = await recorded(store, values);
    const two = await recorded(store, values);
    await new AnalyzerEngine(one, { disabledRules: ['runtime_bottleneck_risk'] }).analyze();
    await new PhaseAnalyzer(one, { thresholds: { initializationPoints: 1 } }).analyze();
    const { alertDiff, phaseDiffs, primary, reference } = await ComparisonEngine.compareRuns(
      one,
      two,
    );
    expect([primary.alertsAreStored, primary.phasesAreStored]).toEqual([true, true]);
    expect([reference.alertsAreStored, reference.phasesAreStored]).toEqual([false, false]);
    expect(alertDiff.resolvedRuleIds).toContain('runtime_bottleneck_risk');
    const [first] = phaseDiffs;
    expect([first?.primaryStepEnd, first?.referenceStepEnd]).toEqual([9, 19]);
  });
});

describe('two runs in memory', () => {
  test('runs that are not comparable say why', async () => {
    const loss = { 'train/loss': [3, 2, 1] };
    const reasonsOf = async (a: RunColumns, b: RunColumns): Promise<readonly string[]> =>
      (await compareColumns(a, b)).comparability.reasons;
    expect(await reasonsOf(run(loss), run({}))).toEqual(['The reference run has no metrics.']);
    expect(await reasonsOf(run(loss), run({ 'val/loss': [1, 2] }))).toEqual([
      'No metric has a finite value in both runs.',
    ]);
    expect(
      await reasonsOf(run(loss, { dataset: 'mnist' }), run(loss, { dataset: 'cifar' })),
    ).toEqual([
      'dataset is "mnist" in one and "cifar" in the other: their losses do not mean the same.',
    ]);
    const late = createRunColumns({ metrics: [byStep('train/loss', [3, 2, 1], 1, 1000)] });
    const early = createRunColumns({ metrics: [byEpoch('train/loss', [3, 2, 1])] });
    expect(await reasonsOf(late, early)).toEqual([
      'The runs have no step and no epoch in common: none of their metrics overlap.',
    ]);
    expect(await reasonsOf(run(loss), run(loss))).toEqual([]);
  });

  test('by epoch where steps differ', async () => {
    const series = (every: number, values: readonly number[]): RunColumns =>
      createRunColumns({
        metrics: [
          createMetricSeries('val/loss', {
            steps: values.map((_, i) => (i + 1) * every),
            epochs: values.map((_, i) => i + 1),
            values,
          }),
        ],
      });
    const { comparability, metricDiffs } = await compareColumns(
      series(937, [3, 2, 1]),
      series(100, [3, 2, 2]),
    );
    expect(metricDiffs[0]).toMatchObject({
      axis: 'epoch',
      commonCount: 3,
      firstDifferentStep: 3,
      lastDelta: -1,
    });
    expect(comparability.notes).toContain('Metrics whose steps differ were compared by epoch.');
  });

  test('where noisy runs part, and runs that never do', async () => {
    const base = (share: number): number => 0.5 + 2 * Math.exp(-10 * share);
    const one = run({ 'train/loss': stepLoss(4000, base, 0.05, 1) });
    const same = run({ 'train/loss': stepLoss(4000, base, 0.05, 2) });
    const other = run({
      'train/loss': stepLoss(4000, (share) => base(share) + (share > 0.5 ? 0.4 : 0), 0.05, 3),
    });
    const [together] = (await compareColumns(one, same)).metricDiffs;
    expect(together).toMatchObject({ firstDifferentStep: 0, partingStep: null });
    expect(together?.lastPValue).toBeGreaterThan(0.01);
    const [apart] = (await compareColumns(one, other)).metricDiffs;
    expect(apart?.partingStep).toBeGreaterThan(1900);
    expect(apart?.partingStep).toBeLessThan(2100);
    expect(apart?.lastPValue).toBeLessThan(1e-6);
    expect(apart?.rejoiningStep).toBeNull();
  });

  test('a parting step is none of the epochs that other losses were compared by', async () => {
    const both = (at: number): RunColumns => {
      const curve = (n: number): number[] =>
        Array.from({ length: n }, (_, i) => 1 / (i + 1) + (i >= n / 2 ? at : 0));
      return createRunColumns({
        metrics: [byStep('train/loss', curve(8)), byEpoch('val/loss', curve(4))],
      });
    };
    const { firstPartingStep, metricDiffs } = await compareColumns(both(0), both(1));
    expect(metricDiffs.map(({ axis, partingStep }) => [axis, partingStep])).toEqual([
      ['step', 4],
      ['epoch', 2],
    ]);
    expect(firstPartingStep).toBe(4);
  });

  test('a slower run that arrives at the same loss parts early and comes back', async () => {
    const falling = (rate: number) => (share: number) => 0.5 + 2 * Math.exp(-rate * share);
    for (const count of [150, 4000]) {
      const fast = run({ 'train/loss': stepLoss(count, falling(30), 0.03, 1) });
      const slow = run({ 'train/loss': stepLoss(count, falling(10), 0.03, 2) });
      const { metricDiffs, firstPartingStep } = await compareColumns(fast, slow);
      const [diff] = metricDiffs;
      expect(diff?.partingStep).toBeLessThan(0.04 * count);
      expect(diff?.rejoiningStep).toBeGreaterThan(0.3 * count);
      expect(diff?.rejoiningStep).toBeLessThan(0.75 * count);
      expect(firstPartingStep).toBe(diff?.partingStep);
    }
  });

  test('curves that cross part where they cross', async () => {
    const one = run({ 'val/loss': [3, 2, 1, 1, 1] });
    const two = run({ 'val/loss': [3, 3, 2, 0.5, 0.5] });
    const [diff] = (await compareColumns(one, two)).metricDiffs;
    expect(diff).toMatchObject({ firstDifferentStep: 1, partingStep: 3 });
  });

  test('layers: means over the probes of passes that train', async () => {
    const layer = (
      moduleName: string,
      norm: readonly number[],
      isEvaluation = false,
    ): LayerSeries => {
      const unknown = new Float64Array(norm.length).fill(Number.NaN);
      const steps = Float64Array.from(norm, (_, i) => i);
      // Names of the list are the keys of the object.
      const numbers = Object.fromEntries(LAYER_NUMBERS.map((name) => [name, unknown])) as Record<
        LayerNumber,
        Float64Array
      >;
      return {
        ...numbers,
        moduleName,
        moduleType: 'Dense',
        summaryType: 'gradient',
        callIndex: 0,
        isEvaluation,
        x: 'step',
        steps,
        epochs: unknown,
        timesMs: unknown,
        norm: Float64Array.from(norm),
      };
    };
    const of = (layers: readonly LayerSeries[]): RunColumns => createRunColumns({ layers });
    const { layerSummaryDiffs } = await compareColumns(
      of([layer('a', [1, 2, 3]), layer('a', [100], true), layer('b', [5])]),
      of([layer('c', [7]), layer('a', [1, Number.NaN])]),
    );
    expect(layerSummaryDiffs.map((diff) => [diff.moduleName, diff.presence])).toEqual([
      ['a', 'both'],
      ['b', 'primary'],
      ['c', 'reference'],
    ]);
    expect(layerSummaryDiffs[0]).toMatchObject({ primaryCount: 3, referenceCount: 2 });
    expect(layerSummaryDiffs[0]?.statistics).toMatchObject({
      norm: { primary: 2, reference: 1, delta: 1 },
      mean: { primary: null, reference: null, delta: null },
    });
  });

  test('the other way round everything changes its sign, and a run does not differ from itself', () => {
    const curve = fc.array(fc.double({ min: -10, max: 10, noNaN: true }), {
      minLength: 1,
      maxLength: 60,
    });
    return fc.assert(
      fc.asyncProperty(curve, curve, async (a, b) => {
        const [one, two] = [run({ 'val/loss': a }), run({ 'val/loss': b })];
        const there = (await compareColumns(one, two)).metricDiffs[0];
        const back = (await compareColumns(two, one)).metricDiffs[0];
        for (const name of [
          'firstDelta',
          'lastDelta',
          'bestDelta',
          'areaDelta',
          'meanDelta',
        ] as const)
          expect((there?.[name] ?? 0) + (back?.[name] ?? 0)).toBe(0);
        expect([there?.firstDifferentStep, there?.partingStep]).toEqual([
          back?.firstDifferentStep,
          back?.partingStep,
        ]);
        const own = (await compareColumns(one, one)).metricDiffs[0];
        expect(own).toMatchObject({
          lastDelta: 0,
          bestDelta: 0,
          areaDelta: 0,
          firstDifferentStep: null,
          partingStep: null,
        });
      }),
      runs(40),
    );
  });
});

describe('many runs', () => {
  const seeds = (lr: number, level: number, count: number, from: number): readonly RunColumns[] =>
    Array.from({ length: count }, (_, i) => {
      const next = noiseFrom(from + i);
      const arrived = level + 0.02 * next();
      return run(
        { 'val/loss': Array.from({ length: 30 }, (__, k) => arrived + 2 * Math.exp(-k)) },
        { lr, seed: from + i },
        `run-${from + i}`,
      );
    });

  test('seeds of two settings: intervals, and a difference that is real', async () => {
    const result = await compareColumnGroups([
      ...seeds(0.1, 0.5, 5, 1),
      ...seeds(0.3, 0.8, 5, 100),
    ]);
    expect(result.groups.map(({ name, runIds }) => [name, runIds.length])).toEqual([
      ['lr=0.1', 5],
      ['lr=0.3', 5],
    ]);
    const [metric] = result.metrics;
    expect(metric).toMatchObject({ metricKey: 'val/loss', direction: 'lower', best: 0 });
    const [first] = metric?.groups ?? [];
    expect(first?.low).toBeLessThan(0.5);
    expect(first?.high).toBeGreaterThan(0.5);
    expect((first?.high ?? 0) - (first?.low ?? 0)).toBeLessThan(0.1);
    expect(metric?.differences).toHaveLength(1);
    expect(metric?.differences[0]).toMatchObject({ first: 0, second: 1, isSignificant: true });
    expect(metric?.differences[0]?.high).toBeLessThan(-0.2);
    expect(result.toDict()['metrics']).toHaveLength(1);
  });

  test('groups of stored runs, by id', async () => {
    const store = createMemoryStore();
    const sessions = await Promise.all(
      [1, 2, 3].map((seed) =>
        recorded(store, { 'val/loss': [2, 1 + seed / 10] }, { lr: seed === 3 ? 0.3 : 0.1, seed }),
      ),
    );
    const [first, ...others] = sessions;
    if (first === undefined) throw new Error('no session');
    const result = await new ComparisonEngine(first).compareGroups(
      others.map(({ runId }) => runId),
    );
    expect(result.groups.map(({ runIds, settings }) => [settings, runIds.length])).toEqual([
      [{ lr: 0.1 }, 2],
      [{ lr: 0.3 }, 1],
    ]);
    expect(result.metrics[0]?.groups.map(({ mean }) => mean)).toEqual([
      expect.closeTo(1.15, 12),
      expect.closeTo(1.3, 12),
    ]);
  });

  test('a run given twice is no second seed', async () => {
    const store = createMemoryStore();
    const [one, two] = [
      await recorded(store, { 'val/loss': [2, 1] }),
      await recorded(store, { 'val/loss': [2, 1] }),
    ];
    const engine = new ComparisonEngine(one);
    await expect(engine.compareGroups([two, two.runId])).rejects.toThrow(/others\[1\].*twice/u);
    await expect(engine.compareGroups([one.runId])).rejects.toThrow(/others\[0\]/u);
  });

  test('what follows from the settings is not tested, and runs that broke or stopped are named', async () => {
    const of = (lr: number, seed: number, last: number): RunColumns =>
      run(
        { 'val/loss': [2, 1, 0.5 + 0.01 * seed, last], lr: [lr, lr] },
        { lr, seed },
        `r${lr}-${seed}`,
      );
    const live = of(0.3, 3, 0.7);
    const { metrics, notes, toDict } = await compareColumnGroups([
      of(0.1, 1, 0.51),
      of(0.1, 2, Number.NaN),
      of(0.3, 1, 0.72),
      { ...live, run: { ...live.run, isLive: true } },
    ]);
    const [loss, rate] = metrics;
    // The better mean is of a setting that breaks.
    expect(loss?.best).toBe(1);
    expect(loss?.groups[0]).toMatchObject({ count: 2, mean: expect.closeTo(0.515, 12) });
    expect(loss?.differences[0]?.isSignificant).not.toBeNull();
    expect(rate?.metricKey).toBe('lr');
    expect(rate?.differences[0]).toEqual({
      first: 0,
      second: 1,
      difference: expect.closeTo(-0.2, 12),
      low: Number.NaN,
      high: Number.NaN,
      pValue: Number.NaN,
      adjustedPValue: Number.NaN,
      isSignificant: null,
    });
    expect(notes).toEqual([
      'Within groups lr does not vary: it follows from the settings, and there is nothing to test.',
      '1 of the 2 runs of lr=0.1 ended in NaN or infinity (val/loss): the last finite values stand for them.',
      '1 of the 2 runs of lr=0.3 did not end as completed, or not yet: what they have reached stands for them.',
    ]);
    expect(JSON.stringify(toDict())).toContain('"p_value":null');
  });

  test('a single run of a setting says nothing of its seeds', async () => {
    const result = await compareColumnGroups([
      ...seeds(0.1, 0.5, 3, 1),
      ...seeds(0.3, 0.8, 1, 100),
    ]);
    expect(result.metrics[0]?.differences[0]).toMatchObject({
      isSignificant: null,
      pValue: Number.NaN,
    });
    expect(result.notes.join()).toContain('1 of 2 groups have one run');
  });

  test('equal settings are found different no more often than the level says', async () => {
    let found = 0;
    for (let i = 0; i < 200; i++) {
      const both = [...seeds(0.1, 0.5, 4, i * 1000), ...seeds(0.3, 0.5, 4, i * 1000 + 500)];
      const { metrics } = await compareColumnGroups(both);
      if (metrics[0]?.differences[0]?.isSignificant === true) found++;
    }
    // Binomial with 200 trials of 0.05: 20 or more happen once in 500.
    expect(found).toBeLessThan(20);
  });
});
