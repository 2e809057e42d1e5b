/** What the diagnostics find, as records. They are computed from what is stored, and not stored themselves. */
import { count, f64, f64List, jsonObject, nullable, text, textList } from '../../schema/column.ts';
import {
  defineRecord,
  type Dict,
  type RecordDefinition,
  type RecordOf,
} from '../../schema/record.ts';

const lossColumns = {
  batchCount: count('Batches.'),
  nonFiniteCount: count('Batches whose loss is NaN or infinite; they take part in nothing below.'),
  mean: nullable(f64('Mean loss.')),
  std: nullable(f64('Population standard deviation.')),
  min: nullable(f64('Smallest loss.')),
  firstQuartile: nullable(f64('Loss that a quarter of the batches stay below.')),
  median: nullable(f64('Median loss.')),
  thirdQuartile: nullable(f64('Loss that three quarters of the batches stay below.')),
  max: nullable(f64('Largest loss.')),
  hardBatchThreshold: nullable(f64('Loss at the percentile from which batches count as hard.')),
};

/** How the losses of batches are spread. */
export const lossSummaryRecord: RecordDefinition<typeof lossColumns> = defineRecord(
  'loss_summary',
  'How the losses of batches are spread.',
  lossColumns,
);

/** How the losses of batches are spread. */
export type LossSummary = RecordOf<typeof lossColumns>;

const exposureColumns = {
  batchCount: count('Batches.'),
  sampleCount: count('Samples in the batches whose size is known.'),
  stepStart: nullable(count('First step.')),
  stepEnd: nullable(count('Last step.')),
  classCounts: jsonObject('Samples a class.'),
  classShares: jsonObject('Share of each class among the samples whose class is known.'),
  majorityClass: nullable(text('Class with most samples.')),
  minorityClass: nullable(text('Class with fewest samples.')),
  imbalanceRatio: nullable(f64('Samples of the majority class for each of the minority class.')),
  uniqueSampleCount: count('Different sample ids.'),
  repeatedSampleCount: count('Sample ids that were seen more than once.'),
  maxSampleExposure: count('How often the sample was seen that was seen most.'),
  mostSeenSampleIds: textList('Up to ten sample ids that were seen most, the most seen first.'),
  sequenceCount: count('Sequences whose length is known.'),
  sequenceLengthMin: nullable(count('Shortest sequence.')),
  sequenceLengthMean: nullable(f64('Mean length of the sequences.')),
  sequenceLengthMax: nullable(count('Longest sequence.')),
};

/** Which classes, samples and sequences the model has been shown. */
export const exposureSummaryRecord: RecordDefinition<typeof exposureColumns> = defineRecord(
  'exposure_summary',
  'Which classes, samples and sequences the model has been shown.',
  exposureColumns,
);

/** Which classes, samples and sequences the model has been shown. */
export type ExposureSummary = RecordOf<typeof exposureColumns>;

/** Why a batch counts as hard. */
export const HARD_BATCH_REASONS = [
  'non_finite_loss',
  'loss_percentile',
  'loss_z_score',
  'loss_iqr',
  'sequence_length_z_score',
  'sequence_length_iqr',
] as const;

/** One of {@link HARD_BATCH_REASONS}. */
export type HardBatchReason = (typeof HARD_BATCH_REASONS)[number];

const hardBatchColumns = {
  sequence: nullable(count('Sequence number of the batch among the batch diagnostics of its run.')),
  step: nullable(count('Training step.')),
  epoch: nullable(count('Training epoch.')),
  loss: f64('Loss of the batch.'),
  zScore: nullable(f64('Distance of the loss from the mean, in standard deviations.')),
  reasons: textList('Why the batch counts as hard: see HARD_BATCH_REASONS.'),
  batchSize: nullable(count('Number of samples.')),
  sampleIds: nullable(textList('Identifiers of the samples.')),
  classCounts: nullable(jsonObject('Number of samples a class.')),
  sequenceLengths: nullable(f64List('Length of each sequence.')),
  metadata: nullable(jsonObject('Context of the batch.')),
};

/** A batch that stands out, and why. */
export const hardBatchFindingRecord: RecordDefinition<typeof hardBatchColumns> = defineRecord(
  'hard_batch_finding',
  'A batch that stands out, and why.',
  hardBatchColumns,
);

/** A batch that stands out, and why. */
export type HardBatchFinding = RecordOf<typeof hardBatchColumns>;

/** Summary of a range of batches. */
export type DataDiagnosticsSummary = {
  /** Batches in the range. */
  readonly batchCount: number;
  /** Null without batches. */
  readonly lossSummary: LossSummary | null;
  readonly exposure: ExposureSummary;
  /** Hardest first. */
  readonly hardBatches: readonly HardBatchFinding[];
  /** The summary as a plain dictionary with snake_case names. */
  toDict(): Dict;
};
