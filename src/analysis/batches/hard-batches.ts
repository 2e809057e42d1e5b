/** Data diagnostics joined with the rest: hard batches, the samples and classes they have in common, spikes and their batches. */
import { numberWhere, orDefault, positive, readOptions } from '../../base/options.ts';
import { classesOf, samplesOf } from '../columns/batch-columns.ts';
import type { BatchColumns, RunColumns } from '../columns/run-columns.ts';
import { storedName, type Dict } from '../../schema/record.ts';
import { checkAnalyzerConfig, type AnalyzerEngineConfig } from '../evaluate/analyzer-config.ts';
import { spikesOfLoss } from '../rules/optimization/loss-spike.ts';
import { Signals } from '../signals/signals.ts';
import { firstAt } from '../columns/sorted-search.ts';
import { batchOfRow } from '../columns/batch-of-row.ts';
import { findHardClasses, type HardClass } from './hard-classes.ts';
import { findHardSamples, type HardSample } from './hard-samples.ts';
import { localScores, type LocalScores } from './local-scores.ts';

/** Options of {@link findHardBatches}. */
export type HardBatchOptions = {
  /** Probability with which a run without hard samples names one all the same, and the same for classes. Default 0.01. */
  readonly significance?: number;
  /** Least distance of a sample's loss from the others', in standard deviations of a sample. Default 5. */
  readonly minDeviations?: number;
  /** Least loss of a class as a multiple of that of the others. Default 2. */
  readonly minClassRatio?: number;
  /** Least distance of a batch's loss from those around it, in standard deviations. Default 8. */
  readonly minBatchDeviations?: number;
  /** Most batches, and most samples, that are listed. Default 100. */
  readonly limit?: number;
  /** What counts as the training loss, and as a spike of it. Default: as the analyzer has it. */
  readonly analyzer?: AnalyzerEngineConfig;
};

/** A batch that stands out of those trained on around the same time. */
export type HardBatch = {
  /** Row in the columns. */
  readonly row: number;
  /** Step and epoch; null where it has none. */
  readonly step: number | null;
  readonly epoch: number | null;
  readonly loss: number;
  /** Median loss of the 51 batches around; null for a batch without a finite loss. */
  readonly usualLoss: number | null;
  /** Distance from it in standard deviations; null where they cannot be told. */
  readonly deviations: number | null;
  readonly sampleIds: readonly string[];
  readonly classCounts: Readonly<Record<string, number>>;
  /** Hard samples among its samples. */
  readonly hardSampleIds: readonly string[];
};

/** A spike of a training loss, and the batch that was trained on. */
export type TracedSpike = {
  readonly metricKey: string;
  /** Step of the peak; null where it has none. */
  readonly step: number | null;
  readonly peak: number;
  readonly level: number;
  /** Null where no batch of that step was recorded. */
  readonly batch: HardBatch | null;
};

/** What was found; see {@link findHardBatches}. */
export type HardBatches = {
  readonly batchCount: number;
  /** Samples that were in at least two batches, so that something can be said of them. */
  readonly testedSampleCount: number;
  /** Whether samples meet others from batch to batch; where they do not, no single one can be told. Null without repeated samples. */
  readonly isShuffled: boolean | null;
  /** Batches without a finite loss first, then those that stand out most. */
  readonly batches: readonly HardBatch[];
  readonly samples: readonly HardSample[];
  readonly classes: readonly HardClass[];
  readonly spikes: readonly TracedSpike[];
  /** The result as a plain dictionary with snake_case names. */
  readonly toDict: () => Dict;
};

/**
 * Batches that stand out of those around them, samples and classes that batches of high loss have in common more than chance has it, and the
 * batches behind spikes of the loss. Chance is what a loader does that draws or shuffles: each occurrence of a sample is in a batch of any rank.
 *
 * A sample is named when its batches rank too high for that, and its own loss, estimated from theirs, is an outlier among samples and
 * at least what the loss was before training: mislabelled, damaged, or of a kind that the model cannot learn. It takes batches whose loss is the
 * mean over their samples, and some repetition: of N batches a run, a bad sample in each of them hides the others. About 10 epochs name single
 * samples among a thousand; one epoch cannot. Time is linear in batches and samples.
 *
 * @throws {QuarkError} `invalid_input` naming the option
 * @example
 * ```js
 * import { createBatchColumns, createRunColumns, findHardBatches } from 'quark-sdk/analysis';
 *
 * const rows = Array.from({ length: 200 }, (_, step) => ({ step, loss: step === 120 ? 8 : 1 + 0.01 * (step % 7), sampleIds: [step] }));
 * const { batchCount, batches } = findHardBatches(createRunColumns({ batches: createBatchColumns(rows) }));
 * console.log(batchCount, batches[0].step, batches[0].loss); // 200 120 8
 * ```
 */
export function findHardBatches(columns: RunColumns, options: HardBatchOptions = {}): HardBatches {
  const {
    analyzer: settings,
    limit,
    ...limits
  } = readOptions('options', options, {
    significance: orDefault(
      numberWhere((value) => value > 0 && value < 1, 'between 0 and 1'),
      0.01,
    ),
    minDeviations: aboveZero(5),
    minClassRatio: aboveZero(2),
    minBatchDeviations: aboveZero(8),
    limit: orDefault(positive(), 100),
    analyzer: (_field, value: AnalyzerEngineConfig | undefined) => checkAnalyzerConfig(value ?? {}),
  });
  const { batches } = columns;
  const rows = Int32Array.from(batches.losses.keys()).filter((row) =>
    Number.isFinite(batches.losses[row]),
  );
  const scores = localScores(Float64Array.from(rows, (row) => batches.losses[row] ?? 0));
  const { isShuffled, samples, testedCount } = findHardSamples(batches, rows, scores, limits);
  const hardIds = new Set(samples.map(({ sampleId }) => sampleId));
  const describe = (row: number): HardBatch => batchAt(batches, rows, scores, row, hardIds);
  const found: Omit<HardBatches, 'toDict'> = {
    batchCount: batches.rowCount,
    testedSampleCount: testedCount,
    isShuffled,
    batches: hardRows(batches, rows, scores, limits.minBatchDeviations)
      .slice(0, limit)
      .map(describe),
    samples: samples.slice(0, limit),
    classes: findHardClasses(batches, rows, scores, limits),
    spikes: tracedSpikes(columns, settings, describe),
  };
  return Object.freeze({ ...found, toDict: () => dictOf(found) });
}

function dictOf(value: object): Dict {
  const converted = (one: unknown): unknown => {
    if (Array.isArray(one)) return one.map(converted);
    return typeof one === 'object' && one !== null ? dictOf(one) : one;
  };
  return Object.fromEntries(
    // The names of classes are the user's.
    Object.entries(value).map(([name, one]) => [
      storedName(name),
      name === 'classCounts' ? one : converted(one),
    ]),
  );
}

const aboveZero = (fallback: number) =>
  orDefault(
    numberWhere((value) => value > 0 && value < Infinity, 'a finite number above 0'),
    fallback,
  );

/** Rows without a finite loss in their order, then those that stand out, furthest first. */
function hardRows(
  { losses, rowCount }: BatchColumns,
  rows: Int32Array,
  { scores }: LocalScores,
  least: number,
): readonly number[] {
  const broken = Array.from({ length: rowCount }, (_, row) => row).filter(
    (row) => !Number.isFinite(losses[row]),
  );
  const high = Array.from(scores.keys())
    .filter((i) => (scores[i] ?? 0) >= least)
    .toSorted((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  return [...broken, ...high.map((i) => rows[i] ?? 0)];
}

function batchAt(
  batches: BatchColumns,
  rows: Int32Array,
  { levels, scores }: LocalScores,
  row: number,
  hardIds: ReadonlySet<string>,
): HardBatch {
  const at = firstAt(rows, row);
  const i = rows[at] === row ? at : -1;
  const sampleIds = samplesOf(batches, row);
  return {
    row,
    step: orNull(batches.steps[row]),
    epoch: orNull(batches.epochs[row]),
    loss: batches.losses[row] ?? Number.NaN,
    usualLoss: i < 0 ? null : orNull(levels[i]),
    deviations: i < 0 ? null : orNull(scores[i]),
    sampleIds,
    classCounts: Object.fromEntries(classesOf(batches, row)),
    hardSampleIds: sampleIds.filter((id) => hardIds.has(id)),
  };
}

function tracedSpikes(
  columns: RunColumns,
  settings: ReturnType<typeof checkAnalyzerConfig>,
  describe: (row: number) => HardBatch,
): readonly TracedSpike[] {
  const signals = new Signals(columns, settings);
  return signals.trainLosses.flatMap((series): TracedSpike[] => {
    const course = signals.course(series);
    if (course === undefined) return [];
    return spikesOfLoss(course, settings.thresholds).map(({ level, peak, peakRow }) => {
      const row = batchOfRow(columns.batches, series, peakRow);
      return {
        metricKey: series.key,
        step: orNull(series.steps[peakRow]),
        peak,
        level,
        batch: row < 0 ? null : describe(row),
      };
    });
  });
}

function orNull(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value;
}
