/** Moving the visible part of an axis. */
import type { XRange } from './reduce.ts';

/** `range` zoomed by `factor` (below 1 is closer) around its middle, kept inside `full`. */
export function zoomedRange(range: XRange, full: XRange, factor: number): XRange | undefined {
  const middle = (range.min + range.max) / 2;
  const half = ((range.max - range.min) / 2) * factor;
  const min = Math.max(full.min, middle - half);
  const max = Math.min(full.max, middle + half);
  return min <= full.min && max >= full.max ? undefined : { min, max };
}

/** `range` moved by `share` of its width (negative is left), kept inside `full`. */
export function pannedRange(range: XRange, full: XRange, share: number): XRange {
  const width = range.max - range.min;
  const shift = Math.max(full.min - range.min, Math.min(full.max - range.max, width * share));
  return { min: range.min + shift, max: range.max + shift };
}
