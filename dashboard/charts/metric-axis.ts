/** A metric over the values of another one, such as a loss over tokens: both are known by their steps. */
import { lowerBound, OrderedPoints, type AxisSeries } from './plot/axis.ts';

/**
 * Puts each point of `points` at the value that the metric `by` had at its step. Both are on the axis of steps. Between two steps at
 * which `by` has a value its value is interpolated; before its first and after its last it is not known, and the point is left out.
 * Values of `by` that are not finite do not count.
 *
 * The points come by ascending value of `by`. Where that falls again and again, the line goes through the points from left to right, not in
 * the order of training.
 */
export function onMetric(points: AxisSeries, by: AxisSeries): AxisSeries {
  const known = finiteOnly(by);
  const positions = Float64Array.from(points.xs, (step) => valueAt(known, step));
  const ordered = new OrderedPoints(false);
  const missing = ordered.add(positions, points.ys, 0, positions.length);
  const rows = ordered.rows.map((row) => points.rows?.[row] ?? row);
  return {
    xs: ordered.xs,
    ys: ordered.ys,
    missingCount: points.missingCount + missing,
    repeatedCount: points.repeatedCount,
    isAsWritten: false,
    rows,
    stableCount: 0,
  };
}

type Known = { readonly xs: Float64Array; readonly ys: Float64Array };

function finiteOnly({ xs, ys }: AxisSeries): Known {
  if (ys.every((y) => Number.isFinite(y))) return { xs, ys };
  return {
    xs: xs.filter((_x, at) => Number.isFinite(ys[at])),
    ys: ys.filter((y) => Number.isFinite(y)),
  };
}

/** The value at a step; NaN outside of the steps that are known. */
function valueAt({ xs, ys }: Known, step: number): number {
  const after = lowerBound(xs, step);
  const x = xs[after];
  const y = ys[after];
  if (x === undefined || y === undefined) return Number.NaN;
  if (x === step) return y;
  const before = xs[after - 1];
  const from = ys[after - 1];
  if (before === undefined || from === undefined) return Number.NaN;
  return from + (y - from) * ((step - before) / (x - before));
}
