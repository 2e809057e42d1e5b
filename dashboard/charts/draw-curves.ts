/** Draws curves, bands and marks of values that are not finite on a canvas. */
import { dashOf } from '../theme/curve-styles.ts';
import type { ChartData, DrawnCurve } from './chart-data.ts';
import type { ShownCurve } from './legend.tsx';
import type { ChartBand } from './metric-chart.ts';
import { traceEnvelope, traceLine, traceSpread, type PathSink } from './plot/curve-paths.ts';
import { leftOf, topOf, type PlotFrame } from './plot/plot-frame.ts';
import type { NonFiniteKind } from './reduce.ts';

/** Curves with at least this many pixels a point show their points. */
const DOT_SPACING_PX = 14;
const DOT_RADIUS = 2.2;
/** Marks nearer to each other than this are drawn as one. */
const MARK_SPACING_PX = 7;
/** Of marks nearer to each other than this, only the first gets a line through the chart. */
const LINE_SPACING_PX = 24;
/** How faint the points of a curve are behind its line. */
export const FAINT_ALPHA = 0.28;
/** How faint the band around a mean is. */
export const SPREAD_ALPHA = 0.17;
/** Points of a line that are stroked at once. */
const POINTS_A_STROKE = 128;
const BAND_ALPHA = 0.11;
const BAND_MARKED_ALPHA = 0.16;

/** How the parts of a curve are drawn. */
export type CurveLook = {
  /** What lies behind the line: the points as a line or as an envelope, faint. */
  readonly behind: 'line' | 'envelope' | undefined;
  /** The width of the line in front. */
  readonly width: number;
  readonly hasDots: boolean;
};

/** How a curve is to be drawn on so many pixels. */
export function lookOf({ line, points, reducedFrom }: DrawnCurve, width: number): CurveLook {
  return {
    behind: line === undefined ? undefined : reducedFrom === undefined ? 'line' : 'envelope',
    width: line === undefined ? 1.6 : 2,
    hasDots: points.ys.length * DOT_SPACING_PX < width,
  };
}

/** Draws all curves, in CSS pixels. */
export function drawCurves(
  ctx: CanvasRenderingContext2D,
  frame: PlotFrame,
  data: ChartData,
  curves: readonly ShownCurve[],
): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(frame.left, frame.top, frame.width, frame.height);
  ctx.clip();
  ctx.lineJoin = 'round';
  for (const { color, spread } of curves) {
    if (spread === undefined) continue;
    const path = new Path2D();
    traceSpread(frame, spread, path);
    ctx.fillStyle = color;
    ctx.globalAlpha = SPREAD_ALPHA;
    fillPath(ctx, path);
    ctx.globalAlpha = 1;
  }
  // Lines are in front of what lies behind any curve.
  for (const part of ['behind', 'front'] as const)
    for (const [at, drawn] of data.curves.entries()) {
      const curve = curves[at];
      if (curve === undefined) continue;
      ctx.strokeStyle = curve.color;
      ctx.fillStyle = curve.color;
      if (part === 'behind') drawBehind(ctx, frame, drawn);
      else drawFront(ctx, frame, drawn, dashOf(curve.style.dash));
    }
  for (const { curve, x, y } of data.lonely) {
    ctx.fillStyle = curves[curve]?.color ?? '';
    drawDot(ctx, leftOf(frame, x), topOf(frame, y));
  }
  ctx.restore();
}

function drawBehind(ctx: CanvasRenderingContext2D, frame: PlotFrame, drawn: DrawnCurve): void {
  const { behind } = lookOf(drawn, frame.width);
  if (behind === undefined) return;
  const path = new Path2D();
  ctx.globalAlpha = FAINT_ALPHA;
  ctx.lineWidth = 1;
  if (behind === 'line') traceLine(frame, drawn.points, path);
  else {
    traceEnvelope(frame, drawn.points, path);
    fillPath(ctx, path);
  }
  ctx.stroke(path);
  ctx.globalAlpha = 1;
}

function drawFront(
  ctx: CanvasRenderingContext2D,
  frame: PlotFrame,
  drawn: DrawnCurve,
  dash: readonly number[],
): void {
  const parts = lookOf(drawn, frame.width);
  ctx.lineWidth = parts.width;
  ctx.setLineDash([...dash]);
  // Dashes go on from one end of a line to the other.
  const path = new StrokedLine(ctx, dash.length > 0 ? Number.POSITIVE_INFINITY : POINTS_A_STROKE);
  traceLine(frame, drawn.line ?? drawn.points, path);
  path.finish();
  ctx.setLineDash([]);
  if (!parts.hasDots) return;
  ctx.globalAlpha = parts.behind === undefined ? 1 : FAINT_ALPHA;
  for (const [at, y] of drawn.points.ys.entries())
    if (y !== null) drawDot(ctx, leftOf(frame, drawn.points.xs[at] ?? 0), topOf(frame, y));
  ctx.globalAlpha = 1;
}

/** A line that is stroked a part at a time, as it is traced: what a stroke costs grows faster than its length. */
class StrokedLine implements PathSink {
  readonly #ctx: CanvasRenderingContext2D;
  readonly #most: number;
  #path = new Path2D();
  #count = 0;
  #before: readonly [number, number] = [0, 0];
  #last: readonly [number, number] = [0, 0];

  constructor(ctx: CanvasRenderingContext2D, most: number) {
    this.#ctx = ctx;
    this.#most = most;
  }

  moveTo(x: number, y: number): void {
    this.#path.moveTo(x, y);
    this.#last = [x, y];
    this.#count += 1;
  }

  lineTo(x: number, y: number): void {
    if (this.#count >= this.#most) {
      this.finish();
      // The segment before once more: the corner between two parts is one of the second.
      this.#path.moveTo(...this.#before);
      this.#path.lineTo(...this.#last);
    }
    this.#path.lineTo(x, y);
    this.#before = this.#last;
    this.#last = [x, y];
    this.#count += 1;
  }

  closePath(): void {
    this.#path.closePath();
  }

  /** Draws what has not been drawn. */
  finish(): void {
    this.#ctx.stroke(this.#path);
    this.#path = new Path2D();
    this.#count = 0;
  }
}

function drawDot(ctx: CanvasRenderingContext2D, left: number, top: number): void {
  ctx.beginPath();
  ctx.arc(left, top, DOT_RADIUS, 0, 2 * Math.PI);
  fillPath(ctx);
}

function fillPath(ctx: CanvasRenderingContext2D, path?: Path2D): void {
  // oxlint-disable unicorn/no-array-fill-with-reference-type -- a canvas, not an array
  if (path === undefined) ctx.fill();
  else ctx.fill(path);
  // oxlint-enable unicorn/no-array-fill-with-reference-type
}

/** Bands that are in sight, with where they begin and end. */
export function bandsInSight(
  frame: PlotFrame,
  bands: readonly ChartBand[],
): { band: ChartBand; from: number; to: number }[] {
  const { left, width } = frame;
  return bands.flatMap((band) => {
    const from = Math.max(left, leftOf(frame, band.start));
    const to = Math.min(left + width, Math.max(leftOf(frame, band.end), from + 2));
    return to <= left || from >= left + width ? [] : [{ band, from, to }];
  });
}

/** Below grid and curves. */
export function drawBands(
  ctx: CanvasRenderingContext2D,
  frame: PlotFrame,
  bands: readonly ChartBand[],
): void {
  ctx.save();
  for (const { band, from, to } of bandsInSight(frame, bands)) {
    ctx.fillStyle = band.color;
    ctx.globalAlpha = band.isMarked === true ? BAND_MARKED_ALPHA : BAND_ALPHA;
    ctx.fillRect(from, frame.top, to - from, frame.height);
    ctx.globalAlpha = 1;
    ctx.fillRect(from, frame.top, to - from, 2);
  }
  ctx.restore();
}

/** Above the grid, which would cross them out. */
export function drawBandLabels(
  ctx: CanvasRenderingContext2D,
  frame: PlotFrame,
  bands: readonly ChartBand[],
  fontFamily: string,
): void {
  ctx.save();
  ctx.font = `11px ${fontFamily}`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'top';
  for (const { band, from, to } of bandsInSight(frame, bands)) {
    ctx.fillStyle = band.color;
    if (ctx.measureText(band.label).width + 10 <= to - from)
      ctx.fillText(band.label, from + 5, frame.top + 6);
  }
  ctx.restore();
}

/** Marks of values that are not finite, as they are drawn: those too near to each other are one. */
export function marksInSight(
  frame: PlotFrame,
  data: ChartData,
): { curve: number; kind: NonFiniteKind; left: number; hasLine: boolean }[] {
  const drawnTo = new Map<string, number>();
  const lineAt = new Map<number, number>();
  return data.marks.flatMap(({ curve, mark: { kind, x } }) => {
    const left = leftOf(frame, x);
    if (!(left >= frame.left && left <= frame.left + frame.width)) return [];
    const lane = `${curve} ${kind}`;
    if (left - (drawnTo.get(lane) ?? Number.NEGATIVE_INFINITY) < MARK_SPACING_PX) return [];
    drawnTo.set(lane, left);
    const hasLine = left - (lineAt.get(curve) ?? Number.NEGATIVE_INFINITY) > LINE_SPACING_PX;
    lineAt.set(curve, left);
    return [{ curve, kind, left, hasLine }];
  });
}

/** Draws the marks of values that are not finite: a cross at the foot for NaN, a triangle at the edge an infinity left through. */
export function drawMarks(
  ctx: CanvasRenderingContext2D,
  frame: PlotFrame,
  data: ChartData,
  curves: readonly ShownCurve[],
): void {
  ctx.save();
  for (const { curve, hasLine, kind, left } of marksInSight(frame, data)) {
    ctx.strokeStyle = curves[curve]?.color ?? '';
    ctx.fillStyle = ctx.strokeStyle;
    if (hasLine) {
      ctx.globalAlpha = 0.35;
      ctx.lineWidth = 1;
      ctx.setLineDash([3, 3]);
      ctx.stroke(new Path2D(`M${left} ${frame.top}V${frame.top + frame.height}`));
      ctx.setLineDash([]);
      ctx.globalAlpha = 1;
    }
    ctx.lineWidth = 1.6;
    const path = new Path2D(markPath(frame, kind, left));
    if (kind === 'nan') ctx.stroke(path);
    else fillPath(ctx, path);
  }
  ctx.restore();
}

/** A mark as a path: to be stroked for NaN, to be filled for an infinity. */
export function markPath({ height, top }: PlotFrame, kind: NonFiniteKind, left: number): string {
  const foot = top + height;
  switch (kind) {
    case 'nan':
      return `M${left - 3} ${foot - 10}l6 6M${left - 3} ${foot - 4}l6 -6`;
    case 'positive_infinity':
      return `M${left} ${top + 2}l-4 7h8Z`;
    case 'negative_infinity':
      return `M${left} ${foot - 2}l-4 -7h8Z`;
  }
}
