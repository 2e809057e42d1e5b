/** What the end of a run has brought. */
import { levelOf } from './profile.ts';
import type { Signals } from './signals.ts';

/** Falls of a loss, the noise of its levels, and these. */
type Progress = {
  readonly gained: number;
  readonly late: number;
  readonly noise: number;
  readonly levels: Float64Array;
};

/** Fewest levels. */
const MIN_LEVELS = 5;

/**
 * How far the loss, of validation where there are enough of it, as it is less noisy, fell from its start to its end, and from some levels in the
 * middle to its end. Undefined without a loss, and with too few values.
 */
export function lateProgress(
  signals: Signals,
  [from, to]: readonly [from: number, to: number],
): Progress | undefined {
  const profile = [signals.lossPairs[0]?.validation, signals.trainLosses[0]]
    .flatMap((series) => (series === undefined ? [] : [signals.profile(series)]))
    .find(({ levels }) => levels.length >= MIN_LEVELS);
  if (profile === undefined) return undefined;
  const end = levelOf(profile, 0.9, 1);
  return {
    gained: levelOf(profile, 0, 0.05) - end,
    late: levelOf(profile, from, to) - end,
    noise: profile.levelNoise,
    levels: profile.levels,
  };
}

/** Whether the second half of a run brings at least a share of what was gained; true where nobody can tell. */
export function stillImproves(signals: Signals, share: number): boolean {
  const progress = lateProgress(signals, [0.4, 0.6]);
  if (progress === undefined) return true;
  const { gained, late, noise } = progress;
  return late > Math.max(share * Math.max(0, gained), 2 * noise);
}
