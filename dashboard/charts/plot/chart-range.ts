/** Moving the visible part of an axis. */
import { shareOf, valueAtShare, type AxisRange, type ScaleSpan } from './plot-frame.ts';

/** Closest zoom, as a share of all there is: nearer, positions of 64 bits are not told apart. */
const CLOSEST = 1e-9;

/**
 * `range` zoomed by `factor` (below 1 is closer), inside of `full`. What is at `share` of the width (0 is the left end) stays where it
 * is. On a logarithmic axis widths are those of logarithms. Undefined: that is all there is.
 */
export function zoomedRange(
  range: AxisRange,
  full: AxisRange,
  factor: number,
  share: number = 0.5,
  isLog: boolean = false,
): AxisRange | undefined {
  const from = share * (1 - factor);
  return inside({ ...range, isLog }, from, from + factor, full);
}

/** `range` moved by `share` of its width (negative is left), inside of `full`; on a logarithmic axis by a share of its logarithms. */
export function pannedRange(
  range: AxisRange,
  full: AxisRange,
  share: number,
  isLog: boolean = false,
): AxisRange {
  const span = { ...range, isLog };
  // How far it can be moved, in its own widths.
  const least = Math.min(0, shareOf(span, full.min));
  const most = Math.max(0, shareOf(span, full.max) - 1);
  const shift = Math.max(least, Math.min(most, share));
  return { min: valueAtShare(span, shift), max: valueAtShare(span, shift + 1) };
}

/** Two positions on the width of a chart, as shares of it. */
export type TwoShares = readonly [number, number];

/**
 * `range` zoomed and moved by two fingers: what was below them at `before` is below them at `now`. Two fingers side by side only move it.
 */
export function pinchedRange(
  range: AxisRange,
  full: AxisRange,
  fingers: { readonly before: TwoShares; readonly now: TwoShares },
  isLog: boolean = false,
): AxisRange | undefined {
  const [a, b] = fingers.before;
  const [p, q] = fingers.now;
  const isApart = Math.abs(a - b) > 1e-3 && Math.abs(p - q) > 1e-3;
  const factor = isApart ? Math.abs((b - a) / (q - p)) : 1;
  const middle = (a + b) / 2;
  const from = middle - ((p + q) / 2) * factor;
  return inside({ ...range, isLog }, from, from + factor, full);
}

/** The part from one share to another of a span, inside of `full`; undefined where that is all. */
function inside(span: ScaleSpan, from: number, to: number, full: AxisRange): AxisRange | undefined {
  const width = Math.max(to - from, CLOSEST);
  const begin = to - from < width ? (from + to - width) / 2 : from;
  const min = Math.max(full.min, valueAtShare(span, begin));
  const max = Math.min(full.max, valueAtShare(span, begin + width));
  if (min <= full.min && max >= full.max) return undefined;
  return max > min ? { min, max } : { min: span.min, max: span.max };
}

/** Room on both sides of a range that is zoomed to, as a share of it. */
const ROOM = 0.5;

/** A range with room around it, inside of `full`; undefined where that is empty. */
export function widenedRange(range: AxisRange, full: AxisRange): AxisRange | undefined {
  const room = Math.max(1, (range.max - range.min) * ROOM);
  const min = Math.max(full.min, range.min - room);
  const max = Math.min(full.max, range.max + room);
  return min < max ? { min, max } : undefined;
}
