/** Training and validation in the first epoch, in which training has seen none of its samples before either. */
import type { RunColumns } from '../columns/run-columns.ts';
import type { SeriesPair } from './roles/role-types.ts';
import { noiseOf } from './profile.ts';
import type { Signals } from './signals.ts';
import { median } from './statistics.ts';

/** Fewest training values of the first epoch. */
const MIN_VALUES = 8;
/** Validation over training, in the first epoch and ever after, from which they are not of one kind. */
const FACTOR = 1.5;
/** The difference in standard errors of the training level. */
const ERRORS = 6;
/** Lead of the accuracy of training, where both are known. */
const MIN_LEAD = 0.15;
/** Fewest validations. */
const MIN_VALIDATIONS = 3;

/** Validation that parted from training at once. */
export type EarlyParting = {
  /** Level of the second half of the first epoch: of batches that were just as new to the model as those of the validation. */
  readonly train: number;
  readonly validation: number;
};

/**
 * Whether validation is far worse than training in the first epoch already, and stays so: what was not seen before cannot have been learned by
 * heart, so that the two are different data, or go through different models. Undefined where an epoch may be more than one pass over the
 * samples, or holds too few values.
 */
export function partsAtOnce(
  { train, validation }: SeriesPair,
  columns: RunColumns,
  signals: Signals,
): EarlyParting | undefined {
  const { epochs, values } = train;
  const first = epochs[0] ?? Number.NaN;
  const end = epochs.findIndex((epoch) => epoch !== first);
  const isSigned = [train, validation].some((series) => signals.profile(series).isSigned);
  if (isSigned || train.x !== 'step' || Number.isNaN(first) || validation.epochs[0] !== first)
    return undefined;
  const count = end < 0 ? values.length : end;
  if (count < MIN_VALUES || validation.values.length < MIN_VALIDATIONS) return undefined;
  const late = values.subarray(count >> 1, count);
  const level = median(late);
  const error = spread(late) / Math.sqrt(late.length);
  const own = validation.values[0] ?? Number.NaN;
  if (!(level > 0) || !(own >= FACTOR * level) || !(own - level > ERRORS * error)) return undefined;
  const course = signals.course(train);
  const stays = validation.values.every((value) => value >= FACTOR * (course?.end ?? Number.NaN));
  const leads = leadOf(signals, first);
  if (!stays || leads < MIN_LEAD) return undefined;
  // Last, as it goes through all samples of the epoch.
  const isRepeated = hasRepeats(columns, train.steps[count - 1] ?? 0);
  return isRepeated ? undefined : { train: level, validation: own };
}

/** Standard deviation of values that may fall while they are noisy. */
function spread(values: Float64Array): number {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length;
  return Math.max(noiseOf(values), Math.sqrt(variance));
}

/** Accuracy of training in the second half of an epoch less that of the validation after it; NaN where one is not known. */
function leadOf({ trainAccuracy, valAccuracy }: Signals, epoch: number): number {
  const held = valAccuracy?.values[0] ?? Number.NaN;
  const own = (trainAccuracy?.values ?? new Float64Array(0)).filter(
    (_, row) => trainAccuracy?.epochs[row] === epoch,
  );
  return median(own.subarray(own.length >> 1)) - held;
}

/** Whether some sample came twice up to a step, as far as samples are named. */
function hasRepeats(columns: RunColumns, lastStep: number): boolean {
  const { sampleIndex, sampleOffsets, steps } = columns.batches;
  const seen = new Set<number>();
  for (let row = 0; row < steps.length && !((steps[row] ?? 0) > lastStep); row++)
    for (let i = sampleOffsets[row] ?? 0; i < (sampleOffsets[row + 1] ?? 0); i++) {
      const sample = sampleIndex[i] ?? -1;
      if (seen.has(sample)) return true;
      seen.add(sample);
    }
  return false;
}
