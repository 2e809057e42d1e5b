import { expect, test, vi } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, startRun } from 'quark-sdk';
import {
  analyzeColumns,
  AnalyzerEngine,
  createRunColumns,
  DEFAULT_ANALYZER_THRESHOLDS,
  evidenceOf,
  loadRunColumns,
  PhaseAnalyzer,
  RULE_IDS,
  type AnalyzerResult,
} from 'quark-sdk/analysis';
import { fallingLoss, layer, metric } from '../../../support/analysis-runs.ts';

const project = 'analysis';
const NOW = Date.UTC(2026, 0, 2);

/** Section 10 of the reference. */
const REFERENCE_THRESHOLDS = {
  explodingGradientWarningNorm: 10,
  explodingGradientErrorNorm: 25,
  explodingGradientCriticalNorm: 50,
  vanishingGradientNorm: 1e-4,
  vanishingGradientWarningRatio: 0.5,
  vanishingGradientErrorRatio: 0.75,
  vanishingGradientCriticalRatio: 0.9,
  vanishingGradientMinSamples: 4,
  stagnantLayerGradientNorm: 1e-4,
  stagnantLayerWarningProbes: 2,
  stagnantLayerErrorProbes: 4,
  stagnantLayerCriticalProbes: 6,
  activationCollapseWarningDeadUnitRatio: 0.8,
  activationCollapseErrorDeadUnitRatio: 0.92,
  activationCollapseCriticalDeadUnitRatio: 0.98,
  activationCollapseWarningSaturationRatio: 0.9,
  activationCollapseErrorSaturationRatio: 0.97,
  activationCollapseCriticalSaturationRatio: 0.995,
  activationCollapseWarningStd: 0.05,
  activationCollapseErrorStd: 0.01,
  activationCollapseCriticalStd: 0.001,
  overfittingWarningGap: 0.2,
  overfittingErrorGap: 0.4,
  overfittingCriticalGap: 0.7,
  overfittingMinPoints: 3,
  runtimeWarningStepTimeMs: 250,
  runtimeErrorStepTimeMs: 500,
  runtimeCriticalStepTimeMs: 1000,
  runtimeWarningDataFraction: 0.4,
  runtimeErrorDataFraction: 0.6,
  runtimeCriticalDataFraction: 0.75,
  runtimeWarningJitterRatio: 0.25,
  runtimeErrorJitterRatio: 0.5,
  runtimeCriticalJitterRatio: 0.75,
};

test('the thresholds of the reference have its names and defaults', () => {
  expect(DEFAULT_ANALYZER_THRESHOLDS).toMatchObject(REFERENCE_THRESHOLDS);
  expect(RULE_IDS).toEqual(
    expect.arrayContaining([
      'exploding_gradients',
      'vanishing_gradients',
      'stagnant_layers',
      'activation_collapse',
      'overfitting_onset',
      'runtime_bottleneck_risk',
    ]),
  );
});

/** Twenty epochs: training falls, validation turns. */
async function overfittingSession(storage = createMemoryStore()) {
  const session = await startRun({ project, storage });
  const metrics = new MetricsLogger(session);
  for (let epoch = 0; epoch < 20; epoch++) {
    metrics.log('train/loss', 2 * 0.8 ** epoch, { step: epoch * 100, epoch });
    metrics.log('val/loss', 0.6 + (epoch - 6) ** 2 * 0.01, { step: epoch * 100, epoch });
  }
  return { session, storage };
}

test('alerts and scores are kept with the run, with evidence and in two sentences', async () => {
  const { session, storage } = await overfittingSession();
  const engine = new AnalyzerEngine(session);
  const result = await engine.analyze();
  const [alert] = result.alerts;
  expect(alert).toMatchObject({
    runId: session.runId,
    ruleId: 'overfitting_onset',
    category: 'generalization',
    severity: 'critical',
    stepStart: 600,
    stepEnd: 1900,
    sequence: 0,
  });
  expect(alert?.fact).toContain('step 600');
  expect(alert?.summary).toBe(`${alert?.fact} ${alert?.inference}`);
  expect(evidenceOf(alert ?? { evidence: [] })[0]).toMatchObject({
    kind: 'metric',
    source: 'val/loss',
    thresholdValue: 0.2,
    stepStart: 600,
    stepEnd: 1900,
    metadata: { train_metric_key: 'train/loss' },
  });
  expect(
    result.healthScores.map(({ score, scoreKey, status }) => [scoreKey, score, status]),
  ).toEqual([
    ['overall', 48.5, 'degraded'],
    ['optimization', 100, 'healthy'],
    ['representation', null, 'not_assessed'],
    ['generalization', 35.6, 'degraded'],
    ['runtime', null, 'not_assessed'],
  ]);
  expect(result.coverage.headline).toBeNull();
  expect(result.healthScores[2]?.summary).toBe(
    'Representation was not assessed: the run has no probed activations, no probed gradients and no probed parameters',
  );
  expect(result.healthScores[3]?.contributingAlertIds).toEqual([alert?.id]);
  expect(await engine.readAlerts()).toEqual(result.alerts);
  expect(await engine.readHealthScores()).toEqual(result.healthScores);
  expect(result.toDict()).toMatchObject({
    run_id: session.runId,
    alerts: [
      { rule_id: 'overfitting_onset', evidence: [{ observed_value: expect.any(Number) }, {}] },
    ],
    health_scores: [{ score_key: 'overall' }, {}, {}, {}, {}],
  });
  await session.endRun();
  // A run that has ended, opened by somebody else.
  const later = new AnalyzerEngine(await openRun(storage, session.runId));
  const again = await later.analyze({ persist: false });
  expect(again.alerts.map(({ fact }) => fact)).toEqual(result.alerts.map(({ fact }) => fact));
  expect(await later.readAlerts()).toEqual(result.alerts);
});

test('several analyses share what was read once; columns of another run are refused', async () => {
  const { session, storage } = await overfittingSession();
  const columns = await loadRunColumns(session);
  const reads = vi.spyOn(storage, 'readSegments');
  const engine = new AnalyzerEngine(session);
  const phases = new PhaseAnalyzer(session);
  const shared = await engine.analyze({ columns, persist: false });
  const sharedPhases = await phases.analyze({ columns, persist: false });
  expect(reads).not.toHaveBeenCalled();
  const words = ({ alerts, healthScores }: AnalyzerResult) => [
    alerts.map(({ fact }) => fact),
    healthScores.map(({ score }) => score),
  ];
  expect(shared.alerts).not.toEqual([]);
  expect(words(shared)).toEqual(words(await engine.analyze({ columns })));
  expect(words(shared)).toEqual(words(await engine.analyze({ persist: false })));
  expect(await engine.readAlerts()).toHaveLength(shared.alerts.length);
  expect(sharedPhases.phases.map(({ summary }) => summary)).toEqual(
    (await phases.analyze({ persist: false })).phases.map(({ summary }) => summary),
  );
  const other = createRunColumns({ run: { runId: 'run_other' } });
  for (const analyzer of [engine, phases])
    await expect(analyzer.analyze({ columns: other })).rejects.toMatchObject({
      code: 'invalid_input',
      details: { field: 'options.columns' },
    });
  await session.close();
});

test('results are replaced, or appended when asked', async () => {
  const { session } = await overfittingSession();
  const engine = new AnalyzerEngine(session);
  await engine.analyze();
  const second = await engine.analyze();
  expect(await engine.readAlerts()).toEqual(second.alerts);
  await engine.analyze({ replaceExisting: false });
  expect((await engine.readAlerts()).length).toBe(2);
  expect((await engine.readHealthScores({ scoreKey: 'overall' })).length).toBe(2);
  const appending = new AnalyzerEngine(session, { replaceExistingOutputs: false });
  await appending.analyze();
  expect((await engine.readAlerts()).length).toBe(3);
  // Nothing to tell any more: what was told is taken back.
  const silent = new AnalyzerEngine(session, { disabledRules: [...RULE_IDS] });
  await silent.analyze();
  expect(await engine.readAlerts()).toEqual([]);
  const scores = await engine.readHealthScores();
  expect(scores.map(({ score, status }) => [score, status])).toEqual(
    Array.from({ length: 5 }, () => [null, 'not_assessed']),
  );
  expect(scores[0]?.summary).toBe(
    'The run was not assessed: no rule that is on asks of train/loss',
  );
  await session.close();
});

test('alerts are read by rule, category, severity, step and number', async () => {
  const { session } = await overfittingSession();
  const engine = new AnalyzerEngine(session);
  await engine.analyze();
  await engine.analyze({ replaceExisting: false });
  const count = async (filter: Parameters<typeof engine.readAlerts>[0]) =>
    (await engine.readAlerts(filter)).length;
  expect(await count({ ruleId: 'overfitting_onset' })).toBe(2);
  expect(await count({ ruleId: 'exploding_gradients' })).toBe(0);
  expect(await count({ category: 'generalization', severity: 'critical' })).toBe(2);
  expect(await count({ category: 'runtime' })).toBe(0);
  expect(await count({ severity: 'info' })).toBe(0);
  expect(await count({ step: 600 })).toBe(2);
  expect(await count({ step: 599 })).toBe(0);
  expect(await count({ stepMin: 1900 })).toBe(2);
  expect(await count({ stepMin: 1901 })).toBe(0);
  expect(await count({ stepMax: 599 })).toBe(0);
  expect(await count({ stepMax: 600 })).toBe(2);
  const [, last] = await engine.readAlerts();
  expect(await engine.readAlerts({ limit: 1 })).toEqual([last]);
  await expect(engine.readAlerts({ severity: 'bad' as never })).rejects.toThrow('severity');
  await expect(engine.readAlerts({ rule: 'x' } as never)).rejects.toThrow('filter.rule');
  await expect(engine.readHealthScores({ scoreKey: 'x' as never })).rejects.toThrow('scoreKey');
  await session.close();
});

test.each([
  ['an unknown setting', { threshold: {} }, 'config.threshold'],
  [
    'an unknown threshold',
    { thresholds: { overfittingGap: 1 } },
    'config.thresholds.overfittingGap',
  ],
  [
    'a threshold that is no number',
    { thresholds: { overfittingWarningGap: '1' } },
    'overfittingWarningGap',
  ],
  ['a negative threshold', { thresholds: { overfittingWarningGap: -1 } }, 'overfittingWarningGap'],
  ['an unknown rule', { disabledRules: ['overfitting'] }, 'config.disabledRules'],
  ['an unknown compatibility', { compatibility: 'old' }, 'config.compatibility'],
  ['keys that are no list', { trainLossMetricKeys: 'a' }, 'config.trainLossMetricKeys'],
])('settings are refused by name: %s', (_what, config, field) => {
  expect(() => analyzeColumns(createRunColumns({}), config as never)).toThrow(field);
});

test('what is no run is refused', () => {
  expect(() => new AnalyzerEngine({} as never)).toThrow('session must be');
});

test('configured keys are used', () => {
  const columns = createRunColumns({
    metrics: [
      metric('objective/ce', 20, (i) => 2 * 0.8 ** i),
      metric('held_out/ce', 20, (i) => 0.6 + (i - 6) ** 2 * 0.01),
    ],
  });
  const rules = (config = {}) =>
    analyzeColumns(columns, config, { nowMs: NOW }).alerts.map(({ ruleId }) => ruleId);
  expect(rules()).toEqual([]);
  expect(
    rules({ trainLossMetricKeys: ['objective/ce'], valLossMetricKeys: ['held_out/ce'] }),
  ).toEqual(['overfitting_onset']);
});

test('an empty run is not healthy: that nothing was recorded is what was found', () => {
  const { alerts, coverage, healthScores } = analyzeColumns(
    createRunColumns({}),
    {},
    { nowMs: NOW },
  );
  expect(alerts.map(({ ruleId, severity }) => [ruleId, severity])).toEqual([
    ['nothing_recorded', 'warning'],
  ]);
  expect(coverage.headline).toBe('Not assessed: no metric was recorded');
  expect(healthScores.map(({ score, status }) => [score, status])).toEqual([
    [null, 'not_assessed'],
    [null, 'not_assessed'],
    [null, 'not_assessed'],
    [null, 'not_assessed'],
    [80, 'watch'],
  ]);
});

test('the limits of the reference count by themselves where that is asked for', () => {
  const steps = [0, 10, 20, 30, 40, 50];
  const columns = createRunColumns({
    metrics: [
      metric('train/loss', 60, fallingLoss(60)),
      metric('val/loss', 6, (i) => 1 - 0.05 * i, 10),
      metric('system/runtime/step_time_ms', 60, (i) => 600 + (i % 3)),
    ],
    layers: [
      layer('a', 'gradient', steps, { norm: () => 12, elementCount: () => 1e6 }),
      layer('b', 'gradient', steps, { norm: () => 5e-5, elementCount: () => 4 }),
      layer('c', 'gradient', steps, { norm: () => 5e-5, elementCount: () => 4 }),
      layer('a', 'activation', steps, {
        deadUnitRatio: () => 0.85,
        std: () => 0.4,
        persistentDeadUnitCount: () => 0,
        unitCount: () => 10,
      }),
      layer('b', 'activation', steps, { std: () => 0.4 }),
    ],
  });
  const found = (compatibility: 'reference' | 'scale_free') =>
    Object.fromEntries(
      analyzeColumns(columns, { compatibility }, { nowMs: NOW }).alerts.map(
        ({ ruleId, severity }) => [ruleId, severity],
      ),
    );
  expect(found('reference')).toMatchObject({
    exploding_gradients: 'warning',
    vanishing_gradients: 'warning',
    stagnant_layers: 'critical',
    activation_collapse: 'warning',
    overfitting_onset: 'error',
    runtime_bottleneck_risk: 'error',
  });
  expect(found('scale_free')).toEqual({});
});
