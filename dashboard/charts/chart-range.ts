/** Moving the visible part of an axis. */
import type { XRange } from './reduce.ts';

/** `range` zoomed by `factor` (below 1 is closer) around its middle, inside of `full`. */
export function zoomedRange(range: XRange, full: XRange, factor: number): XRange | undefined {
  const middle = (range.min + range.max) / 2;
  const half = ((range.max - range.min) / 2) * factor;
  const min = Math.max(full.min, middle - half);
  const max = Math.min(full.max, middle + half);
  return min <= full.min && max >= full.max ? undefined : { min, max };
}

/** `range` moved by `share` of its width (negative is left), inside of `full`. */
export function pannedRange(range: XRange, full: XRange, share: number): XRange {
  const width = range.max - range.min;
  const shift = Math.max(full.min - range.min, Math.min(full.max - range.max, width * share));
  return { min: range.min + shift, max: range.max + shift };
}

/** Room on both sides of a range that is zoomed to, as a share of it. */
const ROOM = 0.5;

/** A range with room around it, inside of `full`; undefined where that is empty. */
export function widenedRange(range: XRange, full: XRange): XRange | undefined {
  const room = Math.max(1, (range.max - range.min) * ROOM);
  const min = Math.max(full.min, range.min - room);
  const max = Math.min(full.max, range.max + room);
  return min < max ? { min, max } : undefined;
}
