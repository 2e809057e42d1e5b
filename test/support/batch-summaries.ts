/** What batches tell, worked out from records one by one: the plain way, to compare the other with. */
import type { JsonObject } from '../../src/base/json.ts';
import type { Kernel } from '../../src/kernel/kernel.ts';
import type { SeriesKernel } from '../../src/kernel/series/series-kernel.ts';
import type { BatchDiagnosticRecord } from '../../src/records/batch-diagnostic.ts';
import type { OutlierSettings } from '../../src/instruments/diagnostics/config.ts';
import {
  exposureSummaryRecord,
  hardBatchFindingRecord,
  lossSummaryRecord,
  type ExposureSummary,
  type HardBatchFinding,
  type HardBatchReason,
  type LossSummary,
} from '../../src/instruments/diagnostics/findings.ts';
import { compareClasses } from '../../src/instruments/diagnostics/labels.ts';

/** The numeric routines that are used. */
export type Numerics = {
  readonly tensor: Pick<Kernel, 'tensorStats'>;
  readonly series: Pick<SeriesKernel, 'quantiles' | 'outliers'>;
};

type Batches = readonly BatchDiagnosticRecord[];

const QUARTILES = [0.25, 0.5, 0.75] as const;
const MOST_SEEN = 10;

/** How the losses are spread; null without batches. */
export function summarizeLosses(
  batches: Batches,
  { tensor, series }: Numerics,
  settings: OutlierSettings,
): LossSummary | null {
  if (batches.length === 0) return null;
  const losses = Float64Array.from(batches, ({ loss }) => loss);
  const stats = tensor.tensorStats(losses);
  const quantiles = series.quantiles(losses, [...QUARTILES, settings.hardBatchPercentile]);
  const [firstQuartile, median, thirdQuartile, hardBatchThreshold] = [...quantiles].map(orNull);
  return lossSummaryRecord.wrap({
    batchCount: batches.length,
    nonFiniteCount: batches.length - stats.finiteCount,
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
export function findHard(
  batches: Batches,
  { tensor, series }: Numerics,
  settings: OutlierSettings,
): HardBatchFinding[] {
  const reasons = batches.map(({ loss }): HardBatchReason[] =>
    Number.isFinite(loss) ? [] : ['non_finite_loss'],
  );
  const losses = Float64Array.from(batches, ({ loss }) => loss);
  const stats = tensor.tensorStats(losses);
  const mark = (values: Float64Array, z: HardBatchReason, iqr: HardBatchReason): void => {
    for (const [method, threshold, reason] of [
      ['z_score', settings.outlierZScoreThreshold, z],
      ['iqr_fence', settings.outlierIqrMultiplier, iqr],
    ] as const) {
      const options = { method, threshold, side: 'upper', minCount: 2 } as const;
      for (const at of series.outliers(values, options).indices) reasons[at]?.push(reason);
    }
  };
  if (stats.finiteCount >= settings.minBatchesForOutlierDetection) {
    const [median = Number.NaN, threshold = Number.NaN] = series.quantiles(losses, [
      0.5,
      settings.hardBatchPercentile,
    ]);
    losses.forEach((loss, at) => {
      // Of losses that are all the same none is hard.
      if (Number.isFinite(loss) && loss >= threshold && loss > median)
        reasons[at]?.push('loss_percentile');
    });
    mark(losses, 'loss_z_score', 'loss_iqr');
  }
  const lengths = Float64Array.from(batches, ({ sequenceLengths }) => longest(sequenceLengths));
  const known = lengths.reduce((count, length) => count + (Number.isNaN(length) ? 0 : 1), 0);
  if (known >= settings.minBatchesForOutlierDetection)
    mark(lengths, 'sequence_length_z_score', 'sequence_length_iqr');
  return batches
    .flatMap((batch, at) => {
      const found = reasons[at] ?? [];
      if (found.length === 0) return [];
      const zScore = stats.std > 0 ? (batch.loss - stats.mean) / stats.std : Number.NaN;
      return [toFinding(batch, found, Number.isFinite(zScore) ? zScore : null)];
    })
    .toSorted((a, b) => hardness(b) - hardness(a) || (a.sequence ?? 0) - (b.sequence ?? 0));
}

/** Which classes, samples and sequences the batches showed. */
export function summarizeExposureOf(batches: Batches): ExposureSummary {
  const classes = new Map<string, number>();
  const seen = new Map<string, number>();
  let sampleCount = 0;
  let stepStart: number | null = null;
  let stepEnd: number | null = null;
  let sequenceCount = 0;
  let lengthSum = 0;
  let shortest = Infinity;
  let longestLength = 0;
  for (const batch of batches) {
    sampleCount += batch.batchSize ?? 0;
    if (batch.step !== null) {
      stepStart = Math.min(stepStart ?? batch.step, batch.step);
      stepEnd = Math.max(stepEnd ?? batch.step, batch.step);
    }
    for (const [label, count] of Object.entries(batch.classCounts ?? {}))
      if (typeof count === 'number') classes.set(label, (classes.get(label) ?? 0) + count);
    for (const id of batch.sampleIds ?? []) seen.set(id, (seen.get(id) ?? 0) + 1);
    for (const length of batch.sequenceLengths ?? []) {
      sequenceCount++;
      lengthSum += length;
      shortest = Math.min(shortest, length);
      longestLength = Math.max(longestLength, length);
    }
  }
  const bySize = [...classes].toSorted(([a, m], [b, n]) => n - m || compareClasses(a, b));
  const [majority] = bySize;
  const minority = bySize.at(-1);
  const labelled = bySize.reduce((sum, [, count]) => sum + count, 0);
  const mostSeen = [...seen].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return exposureSummaryRecord.wrap({
    batchCount: batches.length,
    sampleCount,
    stepStart,
    stepEnd,
    classCounts: inClassOrder(bySize, (count) => count),
    classShares: inClassOrder(bySize, (count) => (labelled === 0 ? 0 : count / labelled)),
    majorityClass: majority?.[0] ?? null,
    minorityClass: minority?.[0] ?? null,
    imbalanceRatio:
      majority === undefined || minority === undefined || minority[1] === 0
        ? null
        : majority[1] / minority[1],
    uniqueSampleCount: seen.size,
    repeatedSampleCount: mostSeen.filter(([, count]) => count > 1).length,
    maxSampleExposure: mostSeen[0]?.[1] ?? 0,
    mostSeenSampleIds: mostSeen.slice(0, MOST_SEEN).map(([id]) => id),
    sequenceCount,
    sequenceLengthMin: sequenceCount === 0 ? null : shortest,
    sequenceLengthMean: sequenceCount === 0 ? null : lengthSum / sequenceCount,
    sequenceLengthMax: sequenceCount === 0 ? null : longestLength,
  });
}

function toFinding(
  batch: BatchDiagnosticRecord,
  reasons: readonly HardBatchReason[],
  zScore: number | null,
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

function hardness({ loss }: HardBatchFinding): number {
  return Number.isFinite(loss) ? loss : Number.MAX_VALUE;
}

function longest(lengths: readonly number[] | null): number {
  if (lengths === null || lengths.length === 0) return Number.NaN;
  return lengths.reduce((most, length) => Math.max(most, length), 0);
}

function inClassOrder(
  counts: readonly (readonly [string, number])[],
  value: (count: number) => number,
): JsonObject {
  return Object.fromEntries(
    counts
      .toSorted(([a], [b]) => compareClasses(a, b))
      .map(([label, count]) => [label, value(count)]),
  );
}

function orNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
