/** How far each batch stands out of those trained on around the same time: the course of the training drops out. */
import { NORMAL_MAD_SCALE } from '../../kernel/series/order/order.ts';
import { medianInPlace } from '../signals/quickselect.ts';

/** Batches that a level and a spread come from, and how many share one. */
const WINDOW = 51;
const SHARED = 8;

/** Columns of one length. */
export type LocalScores = {
  /** Median loss of the 51 batches around. */
  readonly levels: Float64Array;
  /** Standard deviation of these losses, from the median distance; 0 where more than half are equal. */
  readonly spreads: Float64Array;
  /** Distance from the level in spreads; of a spread of 0 infinite, or 0. */
  readonly scores: Float64Array;
};

/** Scores of losses, all of them finite, in the order of training. Time is linear. */
export function localScores(losses: Float64Array): LocalScores {
  const { length } = losses;
  const levels = new Float64Array(length);
  const spreads = new Float64Array(length);
  const scores = new Float64Array(length);
  const size = Math.min(WINDOW, length);
  const scratch = new Float64Array(size);
  for (let start = 0; start < length; start += SHARED) {
    const end = Math.min(length, start + SHARED);
    const from = Math.max(0, Math.min(length - size, ((start + end) >> 1) - (size >> 1)));
    const window = losses.subarray(from, from + size);
    scratch.set(window);
    const level = medianInPlace(scratch);
    for (let i = 0; i < size; i++) scratch[i] = Math.abs((window[i] ?? 0) - level);
    const spread = NORMAL_MAD_SCALE * medianInPlace(scratch);
    for (let i = start; i < end; i++) {
      const height = (losses[i] ?? 0) - level;
      levels[i] = level;
      spreads[i] = spread;
      scores[i] = height === 0 ? 0 : height / spread;
    }
  }
  return { levels, spreads, scores };
}
