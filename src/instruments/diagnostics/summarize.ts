/** From losses and sequence lengths to summaries and hard batches. Pure functions of columns; a row of one is a batch. */
import type { Kernel } from '../../kernel/kernel.ts';
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import type { BatchDiagnosticRecord } from '../../records/batch-diagnostic.ts';
import type { OutlierSettings } from './config.ts';
import {
  HARD_BATCH_REASONS,
  hardBatchFindingRecord,
  lossSummaryRecord,
  type HardBatchFinding,
  type HardBatchReason,
  type LossSummary,
} from './findings.ts';

/** The numeric routines that are used. */
export type Numerics = {
  readonly tensor: Pick<Kernel, 'tensorStats'>;
  readonly series: Pick<SeriesKernel, 'quantiles' | 'outliers'>;
};

/** Batches in the order they were persisted. */
export type LossColumns = {
  readonly losses: Float64Array;
  /** Longest sequence of each batch; NaN where none is known. */
  readonly lengths: Float64Array;
  /** Sequence number of each batch in its table. */
  readonly sequences: Float64Array;
};

/** A batch that stands out, by its row. */
export type HardRow = {
  readonly row: number;
  readonly reasons: readonly HardBatchReason[];
  readonly zScore: number | null;
};

const QUARTILES = [0.25, 0.5, 0.75] as const;

/** How the losses are spread; null without batches. */
export function summarizeLosses(
  losses: Float64Array,
  { tensor, series }: Numerics,
  settings: OutlierSettings,
): LossSummary | null {
  if (losses.length === 0) return null;
  const stats = tensor.tensorStats(losses);
  const quantiles = series.quantiles(losses, [...QUARTILES, settings.hardBatchPercentile]);
  const [firstQuartile, median, thirdQuartile, hardBatchThreshold] = [...quantiles].map(orNull);
  return lossSummaryRecord.wrap({
    batchCount: losses.length,
    nonFiniteCount: losses.length - stats.finiteCount,
    mean: orNull(stats.mean),
    std: orNull(stats.std),
    min: orNull(stats.min),
    firstQuartile: firstQuartile ?? null,
    median: median ?? null,
    thirdQuartile: thirdQuartile ?? null,
    max: orNull(stats.max),
    hardBatchThreshold: hardBatchThreshold ?? null,
  });
}

/**
 * Batches that stand out: those with a loss that is not finite first, then by loss, highest first; of equal ones the earliest.
 * The length of a batch's sequences is that of its longest, which the others are padded to.
 */
export function findHardRows(
  { losses, lengths, sequences }: LossColumns,
  { tensor, series }: Numerics,
  settings: OutlierSettings,
): HardRow[] {
  // One bit a reason: most batches have none, and there may be millions.
  const reasons = Uint8Array.from(losses, (loss) =>
    Number.isFinite(loss) ? 0 : bitOf('non_finite_loss'),
  );
  const note = (row: number, reason: HardBatchReason): void => {
    reasons[row] = (reasons[row] ?? 0) | bitOf(reason);
  };
  const mark = (values: Float64Array, z: HardBatchReason, iqr: HardBatchReason): void => {
    for (const [method, threshold, reason] of [
      ['z_score', settings.outlierZScoreThreshold, z],
      ['iqr_fence', settings.outlierIqrMultiplier, iqr],
    ] as const) {
      const options = { method, threshold, side: 'upper', minCount: 2 } as const;
      for (const at of series.outliers(values, options).indices) note(at, reason);
    }
  };
  const stats = tensor.tensorStats(losses);
  if (stats.finiteCount >= settings.minBatchesForOutlierDetection) {
    const [median = Number.NaN, threshold = Number.NaN] = series.quantiles(losses, [
      0.5,
      settings.hardBatchPercentile,
    ]);
    losses.forEach((loss, at) => {
      // Of losses that are all the same none is hard.
      if (Number.isFinite(loss) && loss >= threshold && loss > median) note(at, 'loss_percentile');
    });
    mark(losses, 'loss_z_score', 'loss_iqr');
  }
  const known = lengths.reduce((count, length) => count + (Number.isNaN(length) ? 0 : 1), 0);
  if (known >= settings.minBatchesForOutlierDetection)
    mark(lengths, 'sequence_length_z_score', 'sequence_length_iqr');
  const lossOf = (row: number): number => losses[row] ?? Number.NaN;
  const rows = Array.from(losses.keys()).filter((row) => reasons[row] !== 0);
  rows.sort(
    (a, b) =>
      hardness(lossOf(b)) - hardness(lossOf(a)) || (sequences[a] ?? 0) - (sequences[b] ?? 0),
  );
  return rows.map((row) => {
    const zScore = stats.std > 0 ? (lossOf(row) - stats.mean) / stats.std : Number.NaN;
    return {
      row,
      reasons: HARD_BATCH_REASONS.filter((reason) => ((reasons[row] ?? 0) & bitOf(reason)) !== 0),
      zScore: orNull(zScore),
    };
  });
}

/** A batch that stands out, as the diagnostics return it. */
export function toFinding(
  batch: BatchDiagnosticRecord,
  { reasons, zScore }: HardRow,
): HardBatchFinding {
  const { sequence, step, epoch, loss, batchSize, sampleIds } = batch;
  const { classCounts, sequenceLengths, metadata } = batch;
  return hardBatchFindingRecord.wrap({
    sequence,
    step,
    epoch,
    loss,
    zScore,
    reasons,
    batchSize,
    sampleIds,
    classCounts,
    sequenceLengths,
    metadata,
  });
}

/** The length of a batch; NaN where it is not known. */
export function longestOf(lengths: ArrayLike<number> | null | undefined): number {
  if (lengths === null || lengths === undefined || lengths.length === 0) return Number.NaN;
  let most = 0;
  for (let i = 0; i < lengths.length; i++) most = Math.max(most, lengths[i] ?? 0);
  return most;
}

function bitOf(reason: HardBatchReason): number {
  return 1 << HARD_BATCH_REASONS.indexOf(reason);
}

function hardness(loss: number): number {
  return Number.isFinite(loss) ? loss : Number.MAX_VALUE;
}

function orNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
