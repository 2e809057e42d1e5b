/** Losses, exposure and hard batches from records alone: no session is needed. */
import { checkPositive } from '../../base/assert.ts';
import { jsKernel } from '../../kernel/tensor/js-kernel.ts';
import type { BatchDiagnosticRecord } from '../../records/batch-diagnostic.ts';
import { checkDiagnosticsConfig, type OutlierSettings } from './config.ts';
import { Exposure } from './exposure.ts';
import type { DataDiagnosticsSummary, HardBatchFinding } from './findings.ts';
import {
  findHardRows,
  longestOf,
  summarizeLosses,
  toFinding,
  type LossColumns,
  type HardRow,
  type Numerics,
} from './summarize.ts';

const DEFAULT_HARD_BATCHES = 10;

/** Options of {@link summarizeBatches}: when a batch stands out, as in the config of `DataDiagnostics`. */
export type SummarizeBatchesOptions = Partial<OutlierSettings> & {
  /** Most hard batches to name; default 10; null: all of them. */
  readonly hardBatchLimit?: number | null | undefined;
};

/**
 * Losses, exposure and hard batches of recorded batches, as `DataDiagnostics.summarize` returns them for its own run.
 *
 * @param batches what `readBatchDiagnostics(reader)` found
 * @throws {QuarkError} `invalid_input` naming the option
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { DataDiagnostics, readBatchDiagnostics, summarizeBatches } from 'quark-sdk/probes';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   const data = new DataDiagnostics(session);
 *   for (let step = 0; step < 20; step++) data.logBatch(step === 13 ? 9 : 1 / (step + 1), { step, labels: [3, 7] });
 *   return session.runId;
 * });
 * const { records } = await readBatchDiagnostics({ store, runId });
 * const { batchCount, hardBatches } = await summarizeBatches(records, { hardBatchLimit: 1 });
 * console.log(batchCount, hardBatches[0].step);
 * ```
 */
export async function summarizeBatches(
  batches: readonly BatchDiagnosticRecord[],
  options: SummarizeBatchesOptions = {},
): Promise<DataDiagnosticsSummary> {
  const { hardBatchLimit, ...outliers } = options;
  const settings = checkDiagnosticsConfig(outliers);
  const most = checkLimit('hardBatchLimit', hardBatchLimit);
  const numerics = await loadNumerics();
  const exposure = new Exposure();
  for (const batch of batches) exposure.add(batch);
  return batchSummaryOf(
    {
      losses: Float64Array.from(batches, ({ loss }) => loss),
      lengths: Float64Array.from(batches, ({ sequenceLengths }) => longestOf(sequenceLengths)),
      sequences: Float64Array.from(batches, ({ sequence }) => sequence ?? 0),
    },
    exposure,
    numerics,
    settings,
    async (hard) =>
      hard.slice(0, most).flatMap((found) => {
        const batch = batches[found.row];
        return batch === undefined ? [] : [toFinding(batch, found)];
      }),
  );
}

/** Losses, exposure and hard batches, which `findingsOf` looks up. */
export async function batchSummaryOf(
  columns: LossColumns,
  exposed: Exposure,
  numerics: Numerics,
  settings: OutlierSettings,
  findingsOf: (hard: readonly HardRow[]) => Promise<readonly HardBatchFinding[]>,
): Promise<DataDiagnosticsSummary> {
  const batchCount = columns.losses.length;
  const lossSummary = summarizeLosses(columns.losses, numerics, settings);
  const exposure = exposed.summary();
  const hardBatches = await findingsOf(findHardRows(columns, numerics, settings));
  return {
    batchCount,
    lossSummary,
    exposure,
    hardBatches,
    toDict: () => ({
      batch_count: batchCount,
      loss_summary: lossSummary?.toDict() ?? null,
      exposure: exposure.toDict(),
      hard_batches: hardBatches.map((finding) => finding.toDict()),
    }),
  };
}

let numerics: Promise<Numerics> | undefined;

/**
 * Kernels for a value a batch: too few for the tensor kernels to be worth their loading. Those over series are fetched
 * when they are first needed, so that a page that only records does without them.
 */
export function loadNumerics(): Promise<Numerics> {
  numerics ??= import('../../kernel/series/load-kernel.ts').then(async ({ loadSeriesKernel }) => ({
    tensor: jsKernel,
    series: await loadSeriesKernel(),
  }));
  return numerics;
}

/** @throws {QuarkError} `invalid_input` */
export function checkLimit(field: string, limit: number | null | undefined): number {
  if (limit === null) return Number.POSITIVE_INFINITY;
  return limit === undefined ? DEFAULT_HARD_BATCHES : checkPositive(field, limit);
}
