/** From series to what one chart draws: on the axis, smoothed, reduced to pixels, aligned. Pure. */
import type { ChartAxis } from 'quark-sdk/workspace';
import { SeriesPyramid } from 'quark-sdk/kernels';
import { getOrMake } from '../parts/maps.ts';
import { AxisTrack, type AxisSeries } from './plot/axis.ts';
import { bucketMeans } from './plot/bucket-means.ts';
import { isPlainAxis } from './plot/chart-settings.ts';
import type { EpochScale } from '../series/epoch-scale.ts';
import type { LinePoints } from './plot/curve-paths.ts';
import { reduceSeries, type NonFiniteMark, type XRange } from './reduce.ts';
import type { SampleSeries, XAxis } from '../series/series.ts';
import { onMetric } from './metric-axis.ts';
import { POINTS_PER_TURN, type SmoothedCurve } from './smoothing/smooth-client.ts';

/** One metric on the axis of its chart, at full length. */
export type ChartCurve = {
  readonly key: string;
  readonly color: string;
  readonly points: AxisSeries;
  /** The points, ready to be drawn at any zoom. */
  readonly shape: SeriesPyramid;
  /** Whether every sample is among the points: a mean of some of them would be no mean. */
  readonly hasAll: boolean;
  /** Undefined without smoothing, and until a long curve has been smoothed; shorter than the points while more are being smoothed. */
  readonly smoothed: SmoothedCurve | undefined;
};

/** What is drawn of one curve. */
export type DrawnCurve = {
  /** Its points; of each pixel the first, lowest, highest and last. */
  readonly points: LinePoints;
  /** The line in front of them: smoothed, or the mean of each pixel. Undefined where the points are the line. */
  readonly line: LinePoints | undefined;
  readonly lineKind: 'smoothed' | 'mean' | 'points';
  /** Points of it in the part of the axis that is shown, where only the lowest and highest of each pixel are drawn of them. */
  readonly reducedFrom: number | undefined;
};

/** What one chart draws. */
export type ChartData = {
  readonly curves: readonly DrawnCurve[];
  readonly marks: readonly { readonly curve: number; readonly mark: NonFiniteMark }[];
  /** Points with a gap on both sides: no line goes through them. */
  readonly lonely: readonly { readonly curve: number; readonly x: number; readonly y: number }[];
  /** Points at or below zero, which a logarithmic axis of values cannot show. */
  readonly unplacedCount: number;
};

/** Points a pixel from which the mean of each pixel says more than a line through its lowest and highest. */
const REDUCED_FROM = 8;

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

/** What of a set of series an axis needs. */
export type AxisSource = {
  readonly series: SampleSeries;
  /** The metric that the axis goes by, where it goes by one. */
  readonly by: SampleSeries | undefined;
  readonly startMs: number;
  readonly scale: EpochScale;
};

type Joined = { readonly points: AxisSeries; readonly by: AxisSeries; readonly joined: AxisSeries };
const joinedCache = new WeakMap<SampleSeries, Map<ChartAxis, Joined>>();

/** The series on any axis; undefined where the axis goes by a metric that is not there. */
export function placedOn(axis: ChartAxis, source: AxisSource): AxisSeries | undefined {
  const { by, scale, series, startMs } = source;
  if (isPlainAxis(axis)) return cachedOnAxis(series, axis, startMs, scale);
  if (by === undefined) return undefined;
  const points = cachedOnAxis(series, 'step', startMs, scale);
  const other = cachedOnAxis(by, 'step', startMs, scale);
  const byAxis = getOrMake(joinedCache, series, () => new Map<ChartAxis, Joined>());
  const known = byAxis.get(axis);
  if (known?.points === points && known.by === other) return known.joined;
  const joined = onMetric(points, other);
  byAxis.set(axis, { points, by: other, joined });
  return joined;
}

function shapeSoFar(points: AxisSeries): SeriesPyramid {
  return getOrMake(shapes, points, () => new SeriesPyramid());
}

function shapeOf(points: AxisSeries): SeriesPyramid {
  const shape = shapeSoFar(points);
  if (shape.length < points.ys.length) shape.extendTo(points.ys, points.xs);
  return shape;
}

/** Prepares curves for drawing, as many points as fit into one turn of the event loop. Returns whether all of them are prepared. */
export function arePrepared(curves: readonly AxisSeries[]): boolean {
  let rest = POINTS_PER_TURN;
  for (const points of curves) {
    const { xs, ys } = points;
    const shape = shapeSoFar(points);
    const end = Math.min(ys.length, shape.length + rest);
    rest -= end - shape.length;
    if (end > shape.length) shape.extendTo(ys.subarray(0, end), xs.subarray(0, end));
    if (end < ys.length) return false;
  }
  return true;
}

/** A metric on the chart's axis. */
export function curveOf(
  key: string,
  color: string,
  points: AxisSeries,
  smoothed: SmoothedCurve | undefined,
): ChartCurve {
  return { key, color, points, shape: shapeOf(points), hasAll: true, smoothed };
}

/** A part of the axis on the screen. */
export type ChartSpan = {
  readonly range: XRange;
  readonly pixelCount: number;
  readonly logX: boolean;
  readonly logY: boolean;
};

/** What to draw of `curves` in a part of the axis. */
export function chartData(curves: readonly ChartCurve[], span: ChartSpan): ChartData {
  const marks: { curve: number; mark: NonFiniteMark }[] = [];
  const lonely: { curve: number; x: number; y: number }[] = [];
  let unplacedCount = 0;
  const drawn = curves.map((curve, index): DrawnCurve => {
    const found = reduceSeries(curve.shape, span.range, span.pixelCount, span.logX);
    for (const mark of found.marks) marks.push({ curve: index, mark });
    const points = { xs: found.xs, ys: onScale(found.ys, span.logY) };
    for (const [at, y] of points.ys.entries()) {
      if (y === null && found.ys[at] !== null) unplacedCount += 1;
      if (y !== null && isLonely(points.ys, at))
        lonely.push({ curve: index, x: found.xs[at] ?? 0, y });
    }
    const isReduced = curve.hasAll && found.inRangeCount > REDUCED_FROM * span.pixelCount;
    return {
      points,
      ...lineOf(curve, span, isReduced ? found.starts : undefined),
      reducedFrom: isReduced ? found.inRangeCount : undefined,
    };
  });
  return { curves: drawn, marks, lonely, unplacedCount };
}

/** The line in front of a curve that is smoothed, or downsampled to spans that begin at `starts`. */
function lineOf(
  { shape, smoothed }: ChartCurve,
  { range, pixelCount, logX, logY }: ChartSpan,
  starts: readonly number[] | undefined,
): Pick<DrawnCurve, 'line' | 'lineKind'> {
  if (smoothed !== undefined) {
    const { xs, ys } = reduceSeries(smoothed.shape, range, pixelCount, logX);
    return { line: { xs, ys: onScale(ys, logY) }, lineKind: 'smoothed' };
  }
  if (starts === undefined) return { line: undefined, lineKind: 'points' };
  const { xs, ys } = bucketMeans(shape, starts);
  return { line: { xs, ys: onScale(ys, logY) }, lineKind: 'mean' };
}

function isLonely(ys: LinePoints['ys'], at: number): boolean {
  return typeof ys[at - 1] !== 'number' && typeof ys[at + 1] !== 'number';
}

/** A logarithmic axis has no position for zero and below. */
function onScale(ys: LinePoints['ys'], isLog: boolean): LinePoints['ys'] {
  return isLog ? ys.map((y) => (y !== null && y > 0 ? y : null)) : ys;
}
