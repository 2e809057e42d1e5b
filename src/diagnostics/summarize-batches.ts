/** Everything that batches tell, from their records alone: no session is needed. */
import { checkPositive } from '../base/assert.ts';
import { jsKernel } from '../kernel/js-kernel.ts';
import type { BatchDiagnosticRecord } from '../records/batch-diagnostic.ts';
import { checkDiagnosticsConfig, type OutlierSettings } from './config.ts';
import type { DataDiagnosticsSummary } from './findings.ts';
import { findHard, summarizeExposureOf, summarizeLosses, type Numerics } from './summarize.ts';

const DEFAULT_HARD_BATCHES = 10;

/** Options of {@link summarizeBatches}: when a batch stands out, as in the config of `DataDiagnostics`. */
export type SummarizeBatchesOptions = Partial<OutlierSettings> & {
  /** Most hard batches to name; default 10; null: all of them. */
  readonly hardBatchLimit?: number | null | undefined;
};

/**
 * Losses, exposure and hard batches of recorded batches, as `DataDiagnostics.summarize` tells them of its own run.
 *
 * @param batches what `readBatchDiagnostics(reader)` found
 * @throws {QuarkError} `invalid_input` naming the option
 */
export async function summarizeBatches(
  batches: readonly BatchDiagnosticRecord[],
  options: SummarizeBatchesOptions = {},
): Promise<DataDiagnosticsSummary> {
  const { hardBatchLimit, ...outliers } = options;
  const settings = checkDiagnosticsConfig(outliers);
  const most = checkLimit('hardBatchLimit', hardBatchLimit);
  const numerics = await loadNumerics();
  const lossSummary = summarizeLosses(batches, numerics, settings);
  const exposure = summarizeExposureOf(batches);
  const hardBatches = findHard(batches, numerics, settings).slice(0, most);
  return {
    batchCount: batches.length,
    lossSummary,
    exposure,
    hardBatches,
    toDict: () => ({
      batch_count: batches.length,
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
  numerics ??= import('../kernel/series/series-kernels.ts').then(async ({ loadSeriesKernel }) => ({
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
