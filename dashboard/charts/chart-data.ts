/** From series to what one chart draws: on the axis, smoothed, reduced to pixels, aligned. Pure. */
import { SeriesPyramid } from 'quark-sdk/kernels';
import { getOrMake } from '../parts/maps.ts';
import { AxisTrack, type AxisSeries } from './axis.ts';
import type { EpochScale } from '../series/epoch-scale.ts';
import { alignSeries, reduceSeries, type NonFiniteMark, type XRange } from './reduce.ts';
import type { SampleSeries, XAxis } from '../series/series.ts';
import { smooth } from './smooth.ts';

/** One metric on the axis of its chart, at full length. */
export type ChartCurve = {
  readonly key: string;
  readonly color: string;
  readonly points: AxisSeries;
  /** The points, ready to be drawn at any zoom. */
  readonly shape: SeriesPyramid;
  /** Same length as `points`; undefined without smoothing. */
  readonly smoothed: Float64Array | undefined;
  readonly smoothedShape: SeriesPyramid | undefined;
};

/** What one chart draws: columns for uPlot, and what uPlot does not know. */
export type ChartData = {
  readonly xs: number[];
  /** For each curve its raw column, then for each smoothed curve its smoothed one. */
  readonly columns: (number | null | undefined)[][];
  readonly marks: readonly { readonly curve: number; readonly mark: NonFiniteMark }[];
  /** Points with a gap on both sides: no line goes through them. */
  readonly lonely: readonly { readonly curve: number; readonly x: number; readonly y: number }[];
  /** Points drawn of each curve. */
  readonly drawnCounts: readonly number[];
  /** Points at or below zero, which a logarithmic axis cannot show. */
  readonly unplacedCount: number;
};

type Cached = { readonly track: AxisTrack; length: number; points: AxisSeries };
const axisCache = new WeakMap<SampleSeries, Map<XAxis, Cached>>();
const shapes = new WeakMap<AxisSeries, SeriesPyramid>();

/** The series on an axis. Computed once for each length, from what is new since. */
export function cachedOnAxis(
  series: SampleSeries,
  axis: XAxis,
  startMs: number,
  scale: EpochScale,
): AxisSeries {
  const byAxis = getOrMake(axisCache, series, () => new Map<XAxis, Cached>());
  const known = byAxis.get(axis);
  const isSame =
    known?.track.startMs === startMs && (axis !== 'epoch' || known.track.scale === scale);
  if (known === undefined || !isSame) {
    const track = new AxisTrack(series, axis, startMs, scale);
    const points = track.update();
    byAxis.set(axis, { track, length: series.length, points });
    return points;
  }
  if (known.length === series.length) return known.points;
  const points = known.track.update();
  const shape = shapes.get(known.points);
  // A live page draws what it drew before and a little more.
  if (shape !== undefined && points.stableCount >= shape.length) {
    shape.extendTo(points.ys, points.xs);
    shapes.set(points, shape);
  }
  known.length = series.length;
  known.points = points;
  return points;
}

function shapeOf(points: AxisSeries): SeriesPyramid {
  return getOrMake(shapes, points, () => newShape(points.xs, points.ys));
}

function newShape(xs: Float64Array, ys: Float64Array): SeriesPyramid {
  const shape = new SeriesPyramid();
  shape.extendTo(ys, xs);
  return shape;
}

/** A metric on the chart's axis, smoothed over an axis of this length. */
export function curveOf(
  key: string,
  color: string,
  points: AxisSeries,
  smoothing: number,
  extent: XRange,
): ChartCurve {
  const smoothed =
    smoothing > 0 ? smooth(points.xs, points.ys, smoothing, extent.max - extent.min) : undefined;
  return {
    key,
    color,
    points,
    shape: shapeOf(points),
    smoothed,
    smoothedShape: smoothed === undefined ? undefined : newShape(points.xs, smoothed),
  };
}

/** What to draw of `curves` in `range` on `pixelCount` pixels. */
export function chartData(
  curves: readonly ChartCurve[],
  range: XRange,
  pixelCount: number,
  isLog: boolean,
): ChartData {
  const marks: { curve: number; mark: NonFiniteMark }[] = [];
  const lonely: { curve: number; x: number; y: number }[] = [];
  let unplacedCount = 0;
  const placed = (ys: readonly (number | null)[], counts: boolean): (number | null)[] =>
    ys.map((y) => {
      if (!isLog || y === null || y > 0) return y;
      if (counts) unplacedCount += 1;
      return null;
    });
  const raw = curves.map(({ shape }, curve) => {
    const reduced = reduceSeries(shape, range, pixelCount);
    for (const mark of reduced.marks) marks.push({ curve, mark });
    const ys = placed(reduced.ys, true);
    for (const [at, y] of ys.entries()) {
      if (y === null || typeof ys[at - 1] === 'number' || typeof ys[at + 1] === 'number') continue;
      lonely.push({ curve, x: reduced.xs[at] ?? 0, y });
    }
    return { xs: reduced.xs, ys };
  });
  const smoothed = curves.flatMap(({ smoothedShape }) => {
    if (smoothedShape === undefined) return [];
    const reduced = reduceSeries(smoothedShape, range, pixelCount);
    return [{ xs: reduced.xs, ys: placed(reduced.ys, false) }];
  });
  const rows = alignSeries([...raw, ...smoothed]);
  return {
    xs: rows.xs,
    columns: rows.columns,
    marks,
    lonely,
    drawnCounts: raw.map(({ ys }) => ys.length),
    unplacedCount,
  };
}
