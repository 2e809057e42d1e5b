/** What a run was judged with goes with the result and with the run. */
import { expect, test } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, startRun, type Store } from 'quark-sdk';
import {
  AnalyzerEngine,
  analyzePhases,
  ComparisonEngine,
  createRunColumns,
  PhaseAnalyzer,
  report,
  sayJudgedWith,
  type AnalyzerEngineConfig,
} from 'quark-sdk/analysis';
import { metric } from '../../../support/analysis-runs.ts';

const STRICT: AnalyzerEngineConfig = {
  thresholds: { lossSpikeScore: 12 },
  disabledRules: ['plateau'],
};

/** A loss with one spike. */
async function recorded(storage: Store, run = 'a') {
  const session = await startRun({ project: run, storage });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 200; step++)
    metrics.log('train/loss', 1 / (step + 1) + (step === 120 ? 4 : 0) + (step % 3) / 100, { step });
  await session.endRun('completed');
  return session;
}

test('a result says which settings were not the defaults, and the run remembers it', async () => {
  const storage = createMemoryStore();
  const { runId } = await recorded(storage);
  const reader = await openRun(storage, runId);
  const usual = await new AnalyzerEngine(reader).analyze({ persist: false });
  expect(usual.toDict()).not.toHaveProperty('judged_with');
  expect(sayJudgedWith(usual.judgedWith)).toBe('');
  expect(await new AnalyzerEngine(reader).readJudgedWith()).toBeNull();

  const result = await new AnalyzerEngine(reader, STRICT).analyze();
  expect(sayJudgedWith(result.judgedWith)).toBe(
    'lossSpikeScore 12 instead of 8, without the rule plateau',
  );
  expect(result.toDict()).toMatchObject({
    judged_with: { thresholds: { lossSpikeScore: 12 }, disabled_rules: ['plateau'] },
  });
  expect(await new AnalyzerEngine(reader).readJudgedWith()).toEqual(result.judgedWith);
});

test('each stored verdict is told by its own settings, and the same ones are stored once', async () => {
  const storage = createMemoryStore();
  const { runId } = await recorded(storage);
  const reader = await openRun(storage, runId);
  const engines = [STRICT, STRICT, {}].map((config) => new AnalyzerEngine(reader, config));
  for (const engine of engines) {
    const { judgedWith } = await engine.analyze();
    expect(await new AnalyzerEngine(reader).readJudgedWith()).toEqual(judgedWith);
  }
  const events = await reader.readEvents({ eventType: 'analysis_settings' });
  expect(events.map(({ payload }) => payload)).toEqual([
    { thresholds: { lossSpikeScore: 12 }, disabled_rules: ['plateau'] },
    {},
  ]);
});

test('reports and comparisons use what was stored with the settings that are asked for, and say so', async () => {
  const storage = createMemoryStore();
  const first = await recorded(storage, 'a');
  const second = await recorded(storage, 'b');
  const [a, b] = [await openRun(storage, first.runId), await openRun(storage, second.runId)];
  await new AnalyzerEngine(a, STRICT).analyze();
  await new AnalyzerEngine(b).analyze();
  const stored = await new ComparisonEngine(a).compare(b);
  expect(stored.primary.alertsAreStored).toBe(true);
  expect(stored.comparability.notes).toContain(
    'Alerts were found with different settings. First run: lossSpikeScore 12 instead of 8, without the rule plateau. Second run: the defaults.',
  );
  const asked = await new ComparisonEngine(a, { analyzer: STRICT }).compare(b);
  expect([asked.primary.alertsAreStored, asked.reference.alertsAreStored]).toEqual([true, false]);
  expect(asked.comparability.notes.join(' ')).not.toContain('different settings');
  expect((await report(a)).markdown).toContain('lossSpikeScore 12 instead of 8');
  expect((await report(b)).markdown).not.toContain('lossSpikeScore');
  const again = await report(a, { analyzer: { thresholds: { lossSpikeScore: 9 } } });
  expect(again.markdown).toContain('lossSpikeScore 9 instead of 8');
});

test('roles of a configuration count for the compared runs that have such a metric', async () => {
  const storage = createMemoryStore();
  const { runId } = await recorded(storage);
  const a = await openRun(storage, runId);
  const config = { analyzer: { roles: { valLoss: 'holdout/nll' } } };
  const result = await new ComparisonEngine(a, config).compare(
    (await recorded(storage, 'b')).runId,
  );
  expect(result.comparability.isComparable).toBe(true);
});

test('phases are found with the thresholds of the analyzer', async () => {
  const columns = createRunColumns({
    metrics: [
      metric('train/loss', 40, (i) => (i < 5 ? 2 - i * 0.3 : 0.5)),
      metric('train/accuracy', 40, (i) => (i < 5 ? 0.5 + i * 0.07 : 0.85)),
    ],
  });
  const lastOf = async (analyzer: AnalyzerEngineConfig) =>
    (await analyzePhases(columns, { analyzer })).phases.at(-1)?.phaseName;
  expect(await lastOf({})).toBe('stagnation');
  expect(await lastOf({ thresholds: { lossNotDecreasingKnownAccuracy: 0.8 } })).toBe(
    'stabilization',
  );
  await expect(analyzePhases(columns, { analyzer: { thresholds: { nope: 1 } } })).rejects.toThrow(
    'config.analyzer.thresholds',
  );
});

test('stored phases are found anew for other settings', async () => {
  const storage = createMemoryStore();
  const { runId } = await recorded(storage);
  const reader = await openRun(storage, runId);
  const phases = { thresholds: { stagnationMaxRelativeChange: 0.05 } };
  await new PhaseAnalyzer(reader, phases).analyze();
  const other = (await recorded(storage, 'b')).runId;
  const { primary } = await new ComparisonEngine(reader, { phases }).compare(other);
  expect(primary.phasesAreStored).toBe(true);
  const anew = await new ComparisonEngine(reader, {
    phases: { thresholds: { stagnationMaxRelativeChange: 0.06 } },
  }).compare(other);
  expect(anew.primary.phasesAreStored).toBe(false);
});
