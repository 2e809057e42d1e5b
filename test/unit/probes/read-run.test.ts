import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryStore, openRun, TrainingSession, type Store } from 'quark-sdk';
import {
  DataDiagnostics,
  readBatchDiagnostics,
  readLayerColumns,
  readLayerSummaries,
  readParameterColumns,
  readParameterDistributions,
  readParameterSummaries,
  readTelemetry,
  summarizeBatches,
  SystemTelemetry,
} from 'quark-sdk/probes';
import {
  distributionRow,
  layerRow,
  parameterRow,
  writeProbeRows,
} from '../../support/probe-rows.ts';
import { runs } from '../../support/property.ts';

async function started(): Promise<{ store: Store; session: TrainingSession }> {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({
    project: 'read',
    config: {},
    storage: store,
    handleSignals: false,
  });
  return { store, session };
}

describe('reading what probes recorded', () => {
  it('gives the same as columns and as records, whatever is in them', async () => {
    const number = fc.oneof(fc.double(), fc.constant(null), fc.constant(Number.NaN));
    const row = fc.record({
      moduleName: fc.constantFrom('conv', 'dense', 'out'),
      summaryType: fc.constantFrom('activation' as const, 'gradient' as const),
      step: fc.oneof(fc.nat(50), fc.constant(null)),
      mean: number,
      norm: number,
      nonFiniteCount: fc.oneof(fc.nat(3), fc.constant(null)),
      metadata: fc.constantFrom(null, { pass: 'evaluation' }, { note: 'evaluation' }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(row, { maxLength: 8 }), { maxLength: 4 }),
        fc.constantFrom({}, { moduleName: 'dense' }, { sequenceMin: 5 }, { limit: 3 }),
        async (batches, filter) => {
          const { store, session } = await started();
          for (const rows of batches)
            await writeProbeRows(session, { layers: rows.map((given) => layerRow(given)) });
          const reader = await openRun(store, session.runId);
          const { records } = await readLayerSummaries(reader, filter);
          const columns = await readLayerColumns(reader, filter);
          expect(columns.rowCount).toBe(records.length);
          for (const [at, record] of records.entries()) {
            const { texts, numbers } = columns;
            expect(texts.moduleName.values[texts.moduleName.index[at] ?? -1]).toBe(
              record.moduleName,
            );
            expect(texts.summaryType.values[texts.summaryType.index[at] ?? -1]).toBe(
              record.summaryType,
            );
            for (const name of ['step', 'mean', 'norm', 'nonFiniteCount'] as const)
              expect(numbers[name][at]).toBe(record[name] ?? Number.NaN);
            expect(numbers.timestamp[at]).toBe(Date.parse(record.timestamp));
            expect(columns.isEvaluation[at]).toBe(record.metadata?.['pass'] === undefined ? 0 : 1);
            expect(columns.sequences[at]).toBe(record.sequence);
          }
          expect(columns.lastSequence).toBe(
            records.at(-1)?.sequence ?? ('sequenceMin' in filter ? 4 : -1),
          );
          await session.endRun();
        },
      ),
      runs(40),
    );
  });

  it('reads parameters, histograms and telemetry, and what came since', async () => {
    const { store, session } = await started();
    const place = { moduleName: 'dense', parameterName: 'dense/kernel' };
    await writeProbeRows(session, {
      parameters: [1, 2].map((step) =>
        parameterRow({ ...place, step, updateRatio: step === 1 ? null : 0.5 }),
      ),
      distributions: [distributionRow({ ...place, step: 1, distributionType: 'update' })],
    });
    const telemetry = new SystemTelemetry(session, { emitScalarMetrics: false });
    telemetry.recordStep(3, { stepTimeMs: 12 });
    await telemetry.close();
    const reader = await openRun(store, session.runId);
    const columns = await readParameterColumns(reader);
    expect([...columns.numbers.step]).toEqual([1, 2]);
    expect([...columns.numbers.updateRatio]).toEqual([Number.NaN, 0.5]);
    expect(columns.texts.parameterName).toEqual({
      values: ['dense/kernel'],
      index: Int32Array.of(0, 0),
    });
    expect(
      (await readParameterColumns(reader, { sequenceMin: columns.lastSequence + 1 })).rowCount,
    ).toBe(0);
    const latest = await readParameterSummaries(reader, { latestOnly: true });
    expect(latest.records.map(({ step }) => step)).toEqual([2]);
    const { records } = await readParameterDistributions(reader, { distributionType: 'update' });
    expect(records.map(({ counts }) => [...counts])).toEqual([[1, 3]]);
    expect((await readTelemetry(reader)).records.map(({ stepTimeMs }) => stepTimeMs)).toEqual([12]);
    await session.endRun();
  });

  it('summarizes batches without a session as the session itself does', async () => {
    const { store, session } = await started();
    const diagnostics = new DataDiagnostics(session);
    for (let step = 0; step < 40; step++)
      diagnostics.logBatch(step === 20 ? 50 : 1 + (step % 5) / 10, { step, labels: [step % 3] });
    const expected = await diagnostics.summarize({ hardBatchLimit: 3 });
    const reader = await openRun(store, session.runId);
    const { records } = await readBatchDiagnostics(reader);
    const found = await summarizeBatches(records, { hardBatchLimit: 3 });
    expect(found.toDict()).toEqual(expected.toDict());
    expect(found.hardBatches[0]).toMatchObject({ step: 20, loss: 50 });
    expect((await summarizeBatches([])).lossSummary).toBeNull();
    await session.endRun();
  });

  it('names what is no run, no filter, no option', async () => {
    const { store, session } = await started();
    const reader = await openRun(store, session.runId);
    // @ts-expect-error a store is no run
    expect(() => readLayerColumns(store)).toThrow(/reader/);
    // @ts-expect-error no such filter
    await expect(readLayerColumns(reader, { layer: 'a' })).rejects.toThrow(/layer/);
    // @ts-expect-error columns are not of the latest only
    await expect(readParameterColumns(reader, { latestOnly: true })).rejects.toThrow(/latestOnly/);
    // @ts-expect-error no such option
    await expect(summarizeBatches([], { percentile: 1 })).rejects.toThrow(/percentile/);
    await expect(summarizeBatches([], { hardBatchLimit: 0 })).rejects.toThrow(/hardBatchLimit/);
    await session.endRun();
  });
});
