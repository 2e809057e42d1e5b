/** Summaries of batches from their columns, against those worked out from records one by one. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkDiagnosticsConfig } from '../../src/instruments/diagnostics/config.ts';
import {
  DataDiagnostics,
  type BatchRangeFilter,
} from '../../src/instruments/diagnostics/data-diagnostics.ts';
import {
  loadNumerics,
  summarizeBatches,
} from '../../src/instruments/diagnostics/summarize-batches.ts';
import type { BatchDiagnosticRecord } from '../../src/records/batch-diagnostic.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { findHard, summarizeExposureOf, summarizeLosses } from '../support/batch-summaries.ts';
import { runs } from '../support/property.ts';

const optional = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(values, { nil: undefined });

const batch = fc.record({
  loss: fc.oneof(
    { weight: 8, arbitrary: fc.double({ min: -5, max: 5, noNaN: true }) },
    { weight: 4, arbitrary: fc.constantFrom(0, 1, 1, 2, -0) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(NaN, Infinity, -Infinity, 1e300, Number.MAX_VALUE, 100),
    },
  ),
  step: optional(fc.nat(60)),
  epoch: optional(fc.nat(4)),
  batchSize: optional(fc.nat(64)),
  labels: optional(fc.array(fc.constantFrom('a', 'b', 3, 10, '__proto__'), { maxLength: 8 })),
  sampleIds: optional(fc.array(fc.constantFrom('x', 'y', 'z', 'ä', 1, 2), { maxLength: 6 })),
  sequenceLengths: optional(
    fc.array(fc.oneof(fc.nat(20), fc.constant(5000)), { minLength: 0, maxLength: 4 }),
  ),
  metadata: optional(fc.constantFrom(null, { loader: 'train' }, { a: [1, { b: null }] })),
});

const range = fc.oneof(
  fc.constant<BatchRangeFilter>({}),
  fc.record({ stepMin: fc.nat(40) }),
  fc.record({ stepMax: fc.nat(60), epochMin: fc.nat(2) }),
  fc.record({ epoch: fc.nat(4) }),
);

const config = fc.record({
  outlierZScoreThreshold: fc.constantFrom(0.5, 2.5),
  outlierIqrMultiplier: fc.constantFrom(0.1, 1.5),
  hardBatchPercentile: fc.constantFrom(0, 0.5, 0.9, 1),
  minBatchesForOutlierDetection: fc.constantFrom(1, 5),
  /** Rows at which a segment is written. */
  batchSize: fc.constantFrom(1, 3, 1000),
});

async function plainly(
  batches: readonly BatchDiagnosticRecord[],
  settings: Parameters<typeof checkDiagnosticsConfig>[0],
  limit: number,
): Promise<object> {
  const numerics = await loadNumerics();
  const checked = checkDiagnosticsConfig(settings);
  return {
    batch_count: batches.length,
    loss_summary: summarizeLosses(batches, numerics, checked)?.toDict() ?? null,
    exposure: summarizeExposureOf(batches).toDict(),
    hard_batches: findHard(batches, numerics, checked)
      .slice(0, limit)
      .map((finding) => finding.toDict()),
  };
}

test('columns tell the same as records', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(batch, { maxLength: 80 }),
      config,
      range,
      fc.constantFrom(1, 10, null),
      async (batches, settings, filter, limit) => {
        const storage = createMemoryStore();
        const session = await TrainingSession.startRun({
          project: 'p',
          storage,
          handleSignals: false,
        });
        const diagnostics = new DataDiagnostics(session, settings);
        for (const { loss, ...options } of batches) {
          diagnostics.logBatch(loss, options);
          // Segments of their own, not those the writer joins.
          if (settings.batchSize === 3) await diagnostics.flush();
        }
        const records = await diagnostics.read(filter);
        const wanted = await plainly(records, settings, limit ?? records.length);
        const found = await diagnostics.summarize({ ...filter, hardBatchLimit: limit });
        expect(found.toDict()).toStrictEqual(wanted);
        expect(found.hardBatches).toStrictEqual(
          await diagnostics.findHardBatches({ ...filter, limit }),
        );
        expect((await diagnostics.summarizeExposure(filter)).toDict()).toStrictEqual(
          found.exposure.toDict(),
        );
        const { batchSize: _batchSize, ...outliers } = settings;
        const given = await summarizeBatches(records, { ...outliers, hardBatchLimit: limit });
        expect(given.toDict()).toStrictEqual(wanted);
        await session.endRun();
      },
    ),
    runs(40),
  );
});
