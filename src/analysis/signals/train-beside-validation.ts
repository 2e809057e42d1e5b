/** A validation series and, beside each of its values, how far training was. */
import { positionsOn } from '../columns/align-axis.ts';
import type { SeriesPair } from './roles/role-types.ts';
import { rowBefore } from './positions.ts';
import { hasMargin } from './profile.ts';
import type { Signals } from './signals.ts';
import { median } from './statistics.ts';

/** Values of a validation series and, beside each, the training level since the one before. */
export type Compared = {
  readonly validation: Float64Array;
  readonly train: Float64Array;
  /** Row of the validation series. */
  readonly rows: Int32Array;
};

/**
 * Both series at the positions of validation, one by step and the other by epoch where need be: of training the median since the
 * validation before, or where the loss is one of margins the mean. Validation is a mean over samples: beside it, the median of batches most
 * of which cost nothing would be zero. Of a long validation
 * series its blocks are compared, at the position of the last value of each.
 */
export function compare({ train, validation }: SeriesPair, signals: Signals): Compared {
  const { blockSize, levels, rows } = signals.profile(validation);
  const positions = positionsOn(validation, train);
  if (positions === undefined || levels.length === 0) return NOTHING;
  const middle = hasMargin(signals.profile(train)) ? meanOf : median;
  const comparedRows: number[] = [];
  const compared: number[] = [];
  const trainLevels: number[] = [];
  let at = 0;
  let last = Number.NaN;
  for (let block = 0; block < levels.length; block++) {
    const row = rows[Math.min(rows.length, (block + 1) * blockSize) - 1] ?? 0;
    const start = at;
    at = Math.max(at, rowBefore(train, positions[row] ?? 0) + 1);
    const level =
      at > start
        ? middle(train.values.subarray(Math.max(start, at - MAX_LEVEL_VALUES), at))
        : Number.NaN;
    if (!Number.isNaN(level)) last = level;
    if (Number.isNaN(last) || train.values.length === 0) continue;
    comparedRows.push(row);
    compared.push(levels[block] ?? Number.NaN);
    trainLevels.push(last);
  }
  return {
    rows: Int32Array.from(comparedRows),
    validation: Float64Array.from(compared),
    train: Float64Array.from(trainLevels),
  };
}

/** The mean of the finite values. */
function meanOf(values: Float64Array): number {
  const finite = values.filter((value) => Number.isFinite(value));
  return finite.length === 0
    ? Number.NaN
    : finite.reduce((sum, value) => sum + value, 0) / finite.length;
}

const NOTHING: Compared = {
  rows: new Int32Array(0),
  validation: new Float64Array(0),
  train: new Float64Array(0),
};

/** Training values since the last validation that its level comes from, at most. */
const MAX_LEVEL_VALUES = 2048;
