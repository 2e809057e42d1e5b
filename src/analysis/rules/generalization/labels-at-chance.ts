/** Whether what is learned of the training samples holds for no other sample at all: then labels do not belong to their samples. */
import type { BatchColumns, MetricSeries, RunColumns } from '../../columns/run-columns.ts';
import { chanceLoss, targetVariance } from '../../signals/chance-level.ts';
import { classTotals, samplesOfEpoch } from '../../signals/class-totals.ts';
import { modelOutline } from '../../signals/model/model-outline.ts';
import { levelOf, noiseOf } from '../../signals/profile.ts';
import type { Signals } from '../../signals/signals.ts';
import { compare } from '../../signals/train-beside-validation.ts';

/** Share of the loss of chance from which a validation is no better. */
const AT_CHANCE = 0.95;
/** Share of the loss of chance, or of the start, that training has lost when it has learned its samples. */
const LEARNED = 0.15;
/** Fewest validations. */
const MIN_POINTS = 4;
/** Samples of an epoch below which a network may well learn nothing that holds for others, with the right labels. */
const MIN_SAMPLES = 50;
/** Accuracy above that of the most frequent class which is luck of a small validation. */
const LUCK = 0.12;
/** Entropy of the classes, as a share of that of equal ones, below which another mix of classes in validation is worse than chance. */
const EQUAL_ENOUGH = 0.5;
/** Mean absolute deviation of normal targets, in standard deviations. */
const MEAN_DEVIATION = 0.8;

const SQUARED = /^(?:meansquarederror|mse)$/;
const ABSOLUTE = /^(?:meanabsoluteerror|mae|absolutedifference)$/;

/** A validation that never got better than chance, beside a training that did. */
export type UnrelatedLabels = {
  readonly train: MetricSeries;
  readonly validation: MetricSeries;
  /** Loss of a model that has learned nothing. */
  readonly chance: number;
  /** Lowest validation loss, and the training loss at the end. */
  readonly lowest: number;
  readonly lastTrain: number;
};

export function unrelatedLabels(
  columns: RunColumns,
  model: unknown,
  signals: Signals,
): UnrelatedLabels | undefined {
  const classes = chanceLoss(columns, model);
  const chance = classes > 0 ? classes : chanceOfNumbers(columns, model);
  if (!(chance > 0) || samplesSeen(columns.batches) < MIN_SAMPLES) return undefined;
  if (classes > 0 && isUnequal(columns.batches, classes)) return undefined;
  if (guessesRight(columns.batches, signals, classes)) return undefined;
  for (const pair of signals.lossPairs) {
    const { train, validation } = compare(pair, signals);
    const lowest = validation.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    const lastTrain = train.at(-1) ?? Number.NaN;
    const isClear = chance - lastTrain > Math.max(LEARNED * chance, 2 * noiseOf(train));
    if (validation.length >= MIN_POINTS && lowest >= AT_CHANCE * chance && isClear)
      return { ...pair, chance, lowest, lastTrain };
  }
  return undefined;
}

/**
 * Samples of the first epoch. Batches whose classes are the same to the last sample count once: that is the same batch again and again, or
 * a few samples that fill each of them, which a network learns by heart with the right labels.
 */
function samplesSeen(batches: BatchColumns): number {
  const { batchSizes, classCounts, classIndex, classOffsets, epochs, rowCount } = batches;
  const classesOf = (row: number): string => {
    const at = [classOffsets[row] ?? 0, classOffsets[row + 1] ?? 0] as const;
    return `${classIndex.subarray(...at).join()}:${classCounts.subarray(...at).join()}`;
  };
  const first = classesOf(0);
  let row = 1;
  while (row < rowCount && epochs[row] === epochs[0] && classesOf(row) === first) row++;
  const isRepeated = first !== ':' && row > 1 && (row === rowCount || epochs[row] !== epochs[0]);
  return isRepeated ? (batchSizes[0] ?? 0) : samplesOfEpoch(batches);
}

/**
 * Whether one class is so frequent that the chance of training says nothing of validation: with other shares, as where it is balanced, an
 * answer that is right for training costs more there, and the labels are those of the samples.
 */
function isUnequal(batches: BatchColumns, entropy: number): boolean {
  const seen = classTotals(batches).counts.filter((count) => count > 0).length;
  return seen > 0 && entropy < EQUAL_ENOUGH * Math.log(seen);
}

/** Whether validation answers more than luck explains, beside that of the most frequent class. */
function guessesRight(batches: BatchColumns, signals: Signals, classes: number): boolean {
  const { valAccuracy } = signals;
  if (valAccuracy === undefined || !(classes > 0)) return false;
  const profile = signals.profile(valAccuracy);
  if (profile.levels.length === 0) return false;
  const { counts, total } = classTotals(batches);
  const most = total > 0 ? Math.max(...counts) / total : Math.exp(-classes);
  return levelOf(profile, 0.5, 1) > most + LUCK;
}

/** Loss of the mean answer, by the spread of the targets that batches tell; NaN for other losses. */
function chanceOfNumbers(columns: RunColumns, model: unknown): number {
  const loss = modelOutline(columns, model)?.loss ?? '';
  if (!SQUARED.test(loss) && !ABSOLUTE.test(loss)) return Number.NaN;
  const variance = targetVariance(columns.batches);
  return SQUARED.test(loss) ? variance : MEAN_DEVIATION * Math.sqrt(variance);
}
