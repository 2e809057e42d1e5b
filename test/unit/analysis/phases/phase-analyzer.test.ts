import { expect, test } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
import { analyzePhases, evidenceOf, loadRunColumns, PhaseAnalyzer } from 'quark-sdk/analysis';
import { stepLoss } from '../../../support/loss-curves.ts';

const VALUES = [2.3, 1.8, 1.2, 0.8, 0.6, 0.55, 0.52, 0.5, 0.499, 0.498];

async function recorded(
  values: ArrayLike<number>,
  cuts: readonly number[] = [],
): Promise<{ session: TrainingSession; metrics: MetricsLogger }> {
  const session = await TrainingSession.startRun({
    project: 'phases',
    storage: createMemoryStore(),
  });
  const metrics = new MetricsLogger(session);
  for (let i = 0; i < values.length; i++) {
    metrics.log('train/loss', values[i] ?? 0, { step: i * 10 });
    if (cuts.includes(i)) await metrics.flush();
  }
  return { session, metrics };
}

test('finds, stores and reads the phases of a session', async () => {
  const { session } = await recorded(VALUES);
  const analyzer = new PhaseAnalyzer(session);
  const result = await analyzer.analyze();
  expect(result.phases.map((phase) => [phase.phaseName, phase.stepStart, phase.stepEnd])).toEqual([
    ['initialization_adaptation', 0, 19],
    ['rapid_learning', 20, 49],
    ['stabilization', 50, 79],
    ['stagnation', 80, 90],
  ]);
  expect(result.phases.map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3]);
  const [, rapid] = result.phases;
  expect(rapid?.displayName).toBe('Rapid learning');
  const [evidence] = evidenceOf(rapid ?? { evidence: [] });
  expect(evidence).toMatchObject({
    source: 'train/loss',
    thresholdValue: 0.18,
    stepStart: 20,
    stepEnd: 49,
    metadata: { axis: 'step' },
  });
  expect(evidence?.observedValue).toBeCloseTo(2 / 3, 12);
  expect(await analyzer.readPhases()).toEqual(result.phases);
  expect((await analyzer.readPhases({ phaseName: 'stagnation' })).length).toBe(1);
  expect((await analyzer.readPhases({ step: 49 })).map(({ phaseName }) => phaseName)).toEqual([
    'rapid_learning',
  ]);
  expect(
    (await analyzer.readPhases({ stepMin: 50, limit: 1 })).map((one) => one.stepStart),
  ).toEqual([80]);
  expect((await analyzer.readPhases({ stepMax: 19 })).length).toBe(1);
  await expect(analyzer.readPhases({ phaseName: 'warmup' as never })).rejects.toThrow(/phaseName/);
  expect(result.toDict()['phases']).toHaveLength(4);
});

test('replaces what was found before, or appends to it', async () => {
  const { metrics, session } = await recorded(VALUES);
  const analyzer = new PhaseAnalyzer(session);
  await analyzer.analyze();
  for (let i = 0; i < 6; i++) metrics.log('train/loss', 2 + i, { step: 100 + i * 10 });
  const again = await analyzer.analyze();
  expect(again.phases.at(-1)).toMatchObject({
    phaseName: 'divergence',
    stepStart: 100,
    stepEnd: 150,
  });
  expect(await analyzer.readPhases()).toEqual(again.phases);
  const more = await analyzer.analyze({ replaceExisting: false });
  expect((await analyzer.readPhases()).length).toBe(again.phases.length + more.phases.length);
  const appending = new PhaseAnalyzer(session, { replaceExistingOutputs: false });
  await appending.analyze();
  expect((await analyzer.readPhases()).length).toBe(again.phases.length + 2 * more.phases.length);
  await analyzer.analyze({ persist: false });
  expect((await analyzer.readPhases()).length).toBe(again.phases.length + 2 * more.phases.length);
});

test('the same however the run was cut, in the session and from its store', async () => {
  const values = stepLoss(3000, (share) => 0.5 + 2 * Math.exp(-20 * share));
  const outlines = await Promise.all(
    [[], [0, 1, 2], [700, 701, 2500]].map(async (cuts) => {
      const { session } = await recorded(values, cuts);
      const { phases } = await new PhaseAnalyzer(session.context).analyze();
      await session.endRun();
      const reader = await openRun(session.store, session.runId);
      const later = await new PhaseAnalyzer(reader).analyze({ persist: false });
      const inMemory = await analyzePhases(await loadRunColumns(reader));
      for (const one of [later, inMemory])
        expect(one.phases.map(({ summary }) => summary)).toEqual(
          phases.map(({ summary }) => summary),
        );
      return phases.map(({ summary }) => summary);
    }),
  );
  expect(outlines[1]).toEqual(outlines[0]);
  expect(outlines[2]).toEqual(outlines[0]);
});

test('keys of the project, and settings that do not exist', async () => {
  const session = await TrainingSession.startRun({ project: 'keys', storage: createMemoryStore() });
  const metrics = new MetricsLogger(session);
  VALUES.forEach((value, epoch) => {
    metrics.log('objective/train_ce', value, { epoch });
    metrics.log('train/loss', 1, { epoch });
  });
  const config = { trainLossMetricKeys: ['objective/train_ce'] };
  const { phases } = await new PhaseAnalyzer(session, config).analyze();
  expect(phases.map((phase) => [phase.stepStart, phase.stepEnd])).toEqual([
    [0, 1],
    [2, 4],
    [5, 7],
    [8, 9],
  ]);
  expect(phases[0]?.summary).toContain('objective/train_ce');
  expect(() => new PhaseAnalyzer(session, { trainLossMetricKeys: 'loss' as never })).toThrow(
    /trainLossMetricKeys.*list of metric keys/,
  );
  expect(() => new PhaseAnalyzer(session, { tresholds: {} } as never)).toThrow(/tresholds/);
  expect(
    () => new PhaseAnalyzer(session, { thresholds: { overfittingMinGap: Number.NaN } }),
  ).toThrow(/overfittingMinGap/);
});

test('a run without losses has no phases', async () => {
  const session = await TrainingSession.startRun({ project: 'none', storage: createMemoryStore() });
  const analyzer = new PhaseAnalyzer(session);
  expect((await analyzer.analyze()).phases).toEqual([]);
  expect(await analyzer.readPhases()).toEqual([]);
});
