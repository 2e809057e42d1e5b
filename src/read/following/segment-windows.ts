/** Segments in windows: readers of a long table get the next so many rows, not all that is there. */
import type { SegmentManifest } from '../../store/store.ts';

/** Rows after which a window ends at the next segment where it can. */
export const FOLLOWED_ROWS = 50_000;

/**
 * How many of these segments make a window: at least `rows` rows, and none of the rest with a row that belongs before their last. Merged
 * segments lie across each other and may have to be read together, however many they are.
 */
export function segmentsInWindow(
  segments: readonly Pick<SegmentManifest, 'rowCount' | 'firstSequence' | 'lastSequence'>[],
  rows: number,
): number {
  let count = 0;
  let last = -1;
  for (const [at, segment] of segments.entries()) {
    // Segments come in the order of their first rows: what is true of the next one is true of all that follow.
    if (count >= rows && segment.firstSequence > last) return at;
    count += segment.rowCount;
    last = Math.max(last, segment.lastSequence);
  }
  return segments.length;
}
