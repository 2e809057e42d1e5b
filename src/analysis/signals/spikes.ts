/** Spikes of a series of any length, at a cost that is linear and small. */
import { jsCurve } from '../../kernel/series/curve/curve-js.ts';
import { NORMAL_MAD_SCALE } from '../../kernel/series/order/order.ts';
import type { PlacedColumns } from '../columns/run-columns.ts';
import { say } from '../text/sentences.ts';
import { positionAt, sayPosition } from './positions.ts';
import type { Profile } from './profile.ts';
import { medianInPlace } from './quickselect.ts';

/** Longer series are downsampled to the largest value of each of so many spans: a spike stands out of these too. */
const MAX_POINTS = 16_384;

/** Fewest values that have a level around a spike. */
export const MIN_SPIKE_VALUES = 24;

/** A spike of a profile. */
export type ProfileSpike = {
  /** Row in the series of the peak, and of the first value that is back (or the last one there is). */
  readonly peakRow: number;
  readonly endRow: number;
  readonly peak: number;
  readonly level: number;
  readonly heightInSpreads: number;
  readonly isRecovered: boolean;
};

/** How high a spike is, and where. */
export function sayJump({ level, peak, peakRow }: ProfileSpike, series: PlacedColumns): string {
  return `from ${say(level)} to ${say(peak)} at ${sayPosition(positionAt(series, peakRow))}`;
}

/**
 * Spikes upwards. Where all values are positive their logarithms are used, because noise grows with the level.
 *
 * @param threshold height in local spreads
 * @param ratio least height as a multiple of the level, for positive values
 * @param window values of the local level
 */
export function spikesOf(
  profile: Profile,
  {
    ratio,
    threshold,
    window = 101,
  }: { readonly threshold: number; readonly ratio: number; readonly window?: number },
): readonly ProfileSpike[] {
  const { rows, values } = profile;
  if (values.length < MIN_SPIKE_VALUES) return [];
  const isPositive = values.every((value) => value > 0);
  const size = Math.ceil(values.length / MAX_POINTS);
  const at = new Int32Array(Math.ceil(values.length / size));
  const shown = new Float64Array(at.length);
  for (let i = 0; i < at.length; i++) {
    let best = i * size;
    const end = Math.min(values.length, best + size);
    for (let row = best + 1; row < end; row++)
      if ((values[row] ?? 0) > (values[best] ?? 0)) best = row;
    at[i] = best;
    const value = values[best] ?? Number.NaN;
    shown[i] = isPositive ? Math.log(value) : value;
  }
  const least = isPositive ? Math.log(ratio) : 0;
  if (!hasCandidate(shown, 0.6 * threshold, least)) return [];
  const found = jsCurve.spikes(shown, {
    direction: 'up',
    threshold,
    window,
    minPeriods: 16,
    minRelativeHeight: 0,
    ...(isPositive ? { minHeight: least } : {}),
    maxLength: Math.max(3, Math.round(shown.length / 50)),
  });
  return found.map(({ end, heightInSpreads, isRecovered, level, peak }) => ({
    peakRow: rows[at[peak] ?? 0] ?? 0,
    endRow: rows[at[Math.min(end, at.length - 1)] ?? 0] ?? 0,
    peak: values[at[peak] ?? 0] ?? Number.NaN,
    level: isPositive ? Math.exp(level) : level,
    heightInSpreads,
    isRecovered,
  }));
}

/** Values that a rough level comes from. */
const CHUNK = 50;

/**
 * Whether any value stands far out of the fifty before its own fifty, or of its own: what a spike would do, with room to
 * spare. Nearly all series have none, and the exact search costs a hundred times as much.
 */
function hasCandidate(values: Float64Array, threshold: number, least: number): boolean {
  const scratch = new Float64Array(CHUNK);
  let levelBefore = Number.NaN;
  let spreadBefore = Number.NaN;
  for (let start = 0; start < values.length; start += CHUNK) {
    const chunk = values.subarray(start, start + CHUNK);
    scratch.set(chunk);
    const level = medianInPlace(scratch, 0, chunk.length);
    for (let i = 0; i < chunk.length; i++) scratch[i] = Math.abs((chunk[i] ?? 0) - level);
    const spread = medianInPlace(scratch, 0, chunk.length) * NORMAL_MAD_SCALE;
    const own = Math.min(level, Number.isNaN(levelBefore) ? level : levelBefore);
    const size = Math.min(spread, Number.isNaN(spreadBefore) ? spread : spreadBefore);
    const limit = own + Math.max(least * 0.6, threshold * size);
    for (let i = 0; i < chunk.length; i++) if ((chunk[i] ?? 0) > limit) return true;
    levelBefore = level;
    spreadBefore = spread;
  }
  return false;
}
