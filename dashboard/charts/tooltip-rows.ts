/** What a tooltip tells: the values of the curves at one position of the x axis. */
import { nearestIndex } from './plot/axis.ts';
import type { ShownCurve } from './legend.tsx';
import type { XRange } from './reduce.ts';
import { topOf, xAt, leftOf, type PlotFrame } from './plot/plot-frame.ts';

/** One curve in the tooltip. */
export type TooltipRow = {
  readonly curve: ShownCurve;
  readonly value: number;
  readonly smoothed: number | undefined;
  /** Lowest and highest of the points that are drawn as one pixel, and how many they are; undefined where the pixel is one point. */
  readonly pixel:
    | { readonly min: number; readonly max: number; readonly count: number }
    | undefined;
  /** The point that is told, on the axis, and where it is drawn. */
  readonly x: number;
  readonly top: number;
};

/** What is told at a position. */
export type TooltipRows = {
  /** By value, the largest first; values that are not numbers last. */
  readonly rows: readonly TooltipRow[];
  /** Curves that have a value there and are not told. */
  readonly hiddenCount: number;
};

/** How far beyond the first or last point of a curve the pointer may be and be told its value, as a share of what is shown. */
const REACH = 0.01;

/** Index of the point of a curve at `x`; -1 where it has none there. */
export function indexAt(xs: Float64Array, x: number, range: XRange): number {
  const reach = (range.max - range.min) * REACH;
  const first = xs[0] ?? Number.POSITIVE_INFINITY;
  const last = xs.at(-1) ?? Number.NEGATIVE_INFINITY;
  return x < first - reach || x > last + reach ? -1 : nearestIndex(xs, x);
}

/** The values at `x`. Of more than `most` curves those are told that are nearest to `top`, where the pointer is. */
export function tooltipRows(
  curves: readonly ShownCurve[],
  frame: PlotFrame,
  at: { readonly x: number; readonly top: number | undefined },
  most: number,
): TooltipRows {
  const found = curves.flatMap((curve) => {
    const index = curve.isHidden ? -1 : indexAt(curve.points.xs, at.x, frame.x);
    const value = curve.points.ys[index];
    if (value === undefined) return [];
    const smoothed = curve.smoothed?.values[index];
    const top = topOf(frame, smoothed ?? value);
    return [{ curve, value, smoothed, x: curve.points.xs[index] ?? at.x, top }];
  });
  const { top } = at;
  const distance = (row: { readonly top: number }): number =>
    top === undefined || !Number.isFinite(row.top) ? Number.MAX_VALUE : Math.abs(row.top - top);
  const nearest = found.toSorted((a, b) => distance(a) - distance(b)).slice(0, most);
  const rank = ({ smoothed, value }: { value: number; smoothed: number | undefined }): number => {
    const told = smoothed ?? value;
    return Number.isNaN(told) ? Number.NEGATIVE_INFINITY : told;
  };
  return {
    rows: nearest
      .toSorted((a, b) => rank(b) - rank(a))
      .map((row) => ({ ...row, pixel: pixelOf(row.curve, frame, row.x) })),
    hiddenCount: found.length - nearest.length,
  };
}

/** What one pixel of a curve stands for. */
function pixelOf({ shape }: ShownCurve, frame: PlotFrame, x: number): TooltipRow['pixel'] {
  const left = Math.floor(leftOf(frame, x));
  const [from, to] = [xAt(frame, left), xAt(frame, left + 1)];
  if (!(to > from)) return undefined;
  const { bucketStarts, indices } = shape.query({ from, to, buckets: 1 });
  const count = (bucketStarts[1] ?? 0) - (bucketStarts[0] ?? 0);
  if (count <= 1 || indices.length === 0) return undefined;
  const values = Array.from(indices, (index) => shape.values[index] ?? Number.NaN);
  return { min: Math.min(...values), max: Math.max(...values), count };
}

/** The next position that some curve has a point at, in a direction; undefined where there is none. At least a pixel further. */
export function nextPointX(
  curves: readonly ShownCurve[],
  frame: PlotFrame,
  x: number,
  direction: 1 | -1,
): number | undefined {
  const left = leftOf(frame, x);
  const least = xAt(frame, left + direction);
  const found = curves.flatMap(({ isHidden, points: { xs } }) => {
    if (isHidden || xs.length === 0) return [];
    const nearest = nearestIndex(xs, least);
    const isBeyond = ((xs[nearest] ?? 0) - least) * direction >= 0;
    return xs[isBeyond ? nearest : nearest + direction] ?? [];
  });
  const inSight = found.filter((one) => one >= frame.x.min && one <= frame.x.max);
  if (inSight.length === 0) return undefined;
  return direction === 1 ? Math.min(...inSight) : Math.max(...inSight);
}
