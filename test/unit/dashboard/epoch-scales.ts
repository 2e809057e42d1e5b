import { EpochScaler, type EpochScale } from '../../../dashboard/series/epoch-scale.ts';

/** Steps and epochs of points. */
export type EpochPoints = {
  readonly steps: Float64Array;
  readonly epochs: Float64Array;
  readonly length: number;
};

/** Finds where epochs begin, from every point that has both a step and an epoch. */
export function epochScaleOf(all: readonly EpochPoints[]): EpochScale {
  const scaler = new EpochScaler();
  for (const { steps, epochs, length } of all) {
    for (let at = 0; at < length; at += 1)
      scaler.add(steps[at] ?? Number.NaN, epochs[at] ?? Number.NaN);
  }
  return scaler.scale;
}
