/** One uPlot chart. It knows pixels; which points to draw is decided in `chart-data.ts`. */
import uPlot from 'uplot';
import { formatElapsed, formatTicks } from '../parts/format.ts';
import { dashOf } from '../theme/curve-styles.ts';
import type { NonFiniteKind, XRange } from './reduce.ts';
import type { XAxis } from '../series/series.ts';
import {
  innerRange,
  linearRange,
  tickIncrements,
  ticksBetween,
  type InnerRange,
} from './value-axis.ts';
import { chartData, type ChartData } from './chart-data.ts';
import type { ShownCurve } from './legend.tsx';

/** Everything one drawing needs. */
export type ChartModel = {
  readonly curves: readonly ShownCurve[];
  /** The visible part of the x axis. */
  readonly range: XRange;
  readonly axis: XAxis;
  readonly isLog: boolean;
  /** Whether the value axis leaves outliers out. */
  readonly skipsOutliers: boolean;
  /** Spans of the x axis that are coloured behind the curves. */
  readonly bands?: readonly ChartBand[] | undefined;
};

/** A span of the x axis, both ends included. */
export type ChartBand = {
  readonly start: number;
  readonly end: number;
  readonly color: string;
  /** Shown where there is room for it. */
  readonly label: string;
  /** Drawn stronger than the others. */
  readonly isMarked?: boolean;
};

/** What a drawing does not show. */
export type NotShown = {
  /** Points at or below zero, which a logarithmic axis cannot show. */
  readonly unplacedCount: number;
  /** Set where the axis leaves outliers out. */
  readonly outliers: InnerRange | undefined;
};

/** What the person does on the chart. */
export type ChartEvents = {
  readonly onZoom: (range: XRange | undefined) => void;
  readonly onCursor: (x: number | undefined) => void;
};

/** Shortest drag, in pixels, that is a zoom. */
const DRAG_MIN_PX = 6;
/** Curves with at least this many pixels a point show their points. */
const DOT_SPACING_PX = 14;
/** Marks nearer to each other than this are drawn as one. */
const MARK_SPACING_PX = 7;
/** Of marks nearer to each other than this, only the first gets a line through the chart. */
const LINE_SPACING_PX = 24;
const FAINT_ALPHA = 0.28;
const BAND_ALPHA = 0.11;
const BAND_MARKED_ALPHA = 0.16;

/** A chart in `host`, as large as `host` is. */
export class MetricChart {
  readonly #host: HTMLElement;
  readonly #events: ChartEvents;
  readonly #syncKey: string;
  readonly #observer: ResizeObserver;
  #plot: uPlot | undefined;
  #shape = '';
  #model: ChartModel | undefined;
  #data: ChartData | undefined;
  #outliers: InnerRange | undefined;

  constructor(host: HTMLElement, syncKey: string, events: ChartEvents) {
    this.#host = host;
    this.#events = events;
    this.#syncKey = syncKey;
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(host);
  }

  /** What the last drawing left out. */
  get notShown(): NotShown {
    return { unplacedCount: this.#data?.unplacedCount ?? 0, outliers: this.#outliers };
  }

  /** Draws the model. Colours are read from the style sheet, so a changed theme needs `reset` first. */
  draw(model: ChartModel): void {
    this.#model = model;
    const width = this.#host.clientWidth;
    const height = this.#host.clientHeight;
    if (width === 0 || height === 0) return;
    this.#data = chartData(model.curves, model.range, width, model.isLog);
    this.#outliers = model.skipsOutliers ? innerRange(this.#data.columns, model.isLog) : undefined;
    this.#host.dataset['drawn'] = String(Math.max(0, ...this.#data.drawnCounts));
    const shape = [
      model.axis,
      model.isLog,
      ...model.curves.map(
        ({ key, color, style, smoothed }) =>
          `${key} ${color} ${style.dash} ${smoothed !== undefined}`,
      ),
    ].join('|');
    const columns: uPlot.AlignedData = [this.#data.xs, ...this.#data.columns];
    if (this.#plot === undefined || shape !== this.#shape) {
      this.#shape = shape;
      this.#plot?.destroy();
      this.#plot = new uPlot(this.#options(model, width, height), columns, this.#host);
    } else {
      this.#plot.setData(columns, true);
    }
  }

  /** Forgets the chart, so that the next drawing starts anew. */
  reset(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
  }

  destroy(): void {
    this.#observer.disconnect();
    this.reset();
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#host;
    if (this.#model === undefined || width === 0 || height === 0) return;
    if (this.#plot?.width === width && this.#plot.height === height) return;
    this.#plot?.setSize({ width, height });
    this.draw(this.#model);
  }

  #options(model: ChartModel, width: number, height: number): uPlot.Options {
    const color = colorsOf(this.#host);
    return {
      width,
      height,
      padding: [10, 12, 0, 0],
      legend: { show: false },
      series: [{}, ...this.#series(model.curves, width)],
      scales: {
        x: { time: false, range: () => this.#xRange() },
        y: model.isLog
          ? { distr: 3, range: (_plot, min, max) => logRange(...this.#inner(min, max)) }
          : { range: (_plot, min, max) => linearRange(...this.#inner(min, max)) },
      },
      axes: axesOf(model, color, `11px ${getComputedStyle(this.#host).fontFamily}`),
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: DRAG_MIN_PX },
        sync: {
          key: this.#syncKey,
          scales: ['x', null],
          setSeries: false,
          // Charts point together; what is dragged is a range of this one.
          filters: {
            pub: () => true,
            sub: (type) => type === 'mousemove' || type === 'mouseleave',
          },
        },
        points: { size: 7, width: 1.5, fill: color('--surface') },
        dataIdx: (plot, seriesIndex, closest) => nearestRow(plot, seriesIndex, closest),
        bind: {
          dblclick: () => () => {
            this.#events.onZoom(undefined);
            return null;
          },
        },
      },
      hooks: {
        setSelect: [(plot) => this.#selected(plot)],
        setCursor: [(plot) => this.#moved(plot)],
        drawClear: [(plot) => this.#drawBands(plot)],
        draw: [(plot) => this.#drawBandLabels(plot), (plot) => this.#drawExtras(plot)],
      },
    };
  }

  /** A line for each curve, and a stronger one for each smoothed curve. */
  #series(curves: readonly ShownCurve[], width: number): uPlot.Series[] {
    const smoothed = curves.filter((curve) => curve.smoothed !== undefined);
    const raw = curves.map((curve, index): uPlot.Series => ({
      label: curve.key,
      stroke: curve.color,
      width: smoothed.length > 0 ? 1 : 1.6,
      ...dashed(curve.style.dash),
      alpha: smoothed.length > 0 ? FAINT_ALPHA : 1,
      points: {
        show: () => (this.#data?.drawnCounts[index] ?? 0) * DOT_SPACING_PX < width,
        size: 5,
        width: 1,
        fill: curve.color,
      },
    }));
    return [
      ...raw,
      ...smoothed.map((curve): uPlot.Series => ({
        label: `${curve.key} smoothed`,
        stroke: curve.color,
        width: 2,
        ...dashed(curve.style.dash),
        points: { show: false },
      })),
    ];
  }

  /** The range of the values without those that are left out. */
  #inner(min: number | null, max: number | null): [number | null, number | null] {
    return this.#outliers === undefined ? [min, max] : [this.#outliers.min, this.#outliers.max];
  }

  #xRange(): [number, number] {
    const { min, max } = this.#model?.range ?? { min: 0, max: 1 };
    return max > min ? [min, max] : [min - 0.5, max + 0.5];
  }

  #selected(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < DRAG_MIN_PX) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    // A drag may begin a pixel beside the plot.
    const [least, most] = this.#xRange();
    this.#events.onZoom({
      min: Math.max(least, plot.posToVal(left, 'x')),
      max: Math.min(most, plot.posToVal(left + width, 'x')),
    });
  }

  #moved(plot: uPlot): void {
    const left = plot.cursor.left ?? -1;
    this.#events.onCursor(left < 0 ? undefined : plot.posToVal(left, 'x'));
  }

  /** Bands that are in sight, with where they begin and end on the canvas. */
  #bandsInSight(plot: uPlot): { band: ChartBand; from: number; to: number }[] {
    const { left, width } = plot.bbox;
    return (this.#model?.bands ?? []).flatMap((band) => {
      const from = Math.max(left, plot.valToPos(band.start, 'x', true));
      const to = Math.min(
        left + width,
        Math.max(plot.valToPos(band.end, 'x', true), from + 2 * devicePixelRatio),
      );
      return to <= left || from >= left + width ? [] : [{ band, from, to }];
    });
  }

  /** Below grid and curves. */
  #drawBands(plot: uPlot): void {
    const { ctx, bbox } = plot;
    ctx.save();
    for (const { band, from, to } of this.#bandsInSight(plot)) {
      ctx.fillStyle = band.color;
      ctx.globalAlpha = band.isMarked === true ? BAND_MARKED_ALPHA : BAND_ALPHA;
      ctx.fillRect(from, bbox.top, to - from, bbox.height);
      ctx.globalAlpha = 1;
      ctx.fillRect(from, bbox.top, to - from, 2 * devicePixelRatio);
    }
    ctx.restore();
  }

  /** Above the grid, which would cross them out. */
  #drawBandLabels(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = `${11 * ratio}px ${getComputedStyle(this.#host).fontFamily}`;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'top';
    for (const { band, from, to } of this.#bandsInSight(plot)) {
      ctx.fillStyle = band.color;
      if (ctx.measureText(band.label).width + 10 * ratio <= to - from)
        ctx.fillText(band.label, from + 5 * ratio, bbox.top + 6 * ratio);
    }
    ctx.restore();
  }

  #drawExtras(plot: uPlot): void {
    const model = this.#model;
    const data = this.#data;
    if (model === undefined || data === undefined) return;
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    for (const { curve, x, y } of data.lonely) {
      const [left, top] = [plot.valToPos(x, 'x', true), plot.valToPos(y, 'y', true)];
      ctx.fillStyle = model.curves[curve]?.color ?? '';
      ctx.beginPath();
      ctx.arc(left, top, 2.2 * ratio, 0, 2 * Math.PI);
      ctx.fill();
    }
    const drawnTo = new Map<string, number>();
    const lineAt = new Map<number, number>();
    for (const { curve, mark } of data.marks) {
      const left = plot.valToPos(mark.x, 'x', true);
      if (left < bbox.left || left > bbox.left + bbox.width) continue;
      const lane = `${curve} ${mark.kind}`;
      if (left - (drawnTo.get(lane) ?? Number.NEGATIVE_INFINITY) < MARK_SPACING_PX * ratio)
        continue;
      drawnTo.set(lane, left);
      const isFirst =
        left - (lineAt.get(curve) ?? Number.NEGATIVE_INFINITY) > LINE_SPACING_PX * ratio;
      lineAt.set(curve, left);
      ctx.strokeStyle = model.curves[curve]?.color ?? '';
      ctx.fillStyle = ctx.strokeStyle;
      if (isFirst) drawLine(ctx, bbox, left);
      drawMark(ctx, bbox, left, mark.kind);
    }
    ctx.restore();
  }
}

/** A thin dashed line from top to foot. */
function drawLine(ctx: CanvasRenderingContext2D, bbox: uPlot.BBox, left: number): void {
  ctx.save();
  ctx.globalAlpha = 0.35;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.stroke(new Path2D(`M${left} ${bbox.top}V${bbox.top + bbox.height}`));
  ctx.restore();
}

/** In CSS pixels, from the middle of the cross and from the tip of the triangle. */
const CROSS = 'M-3 -3L3 3M-3 3L3 -3';
const TRIANGLE = 'M0 0L-4 7L4 7Z';

/** A cross at the foot for NaN, a triangle at the edge the value left through for an infinity. */
function drawMark(
  ctx: CanvasRenderingContext2D,
  bbox: uPlot.BBox,
  left: number,
  kind: NonFiniteKind,
): void {
  const ratio = devicePixelRatio;
  const isUp = kind === 'positive_infinity';
  const inset = (kind === 'nan' ? 7 : 2) * ratio;
  ctx.save();
  ctx.translate(left, isUp ? bbox.top + inset : bbox.top + bbox.height - inset);
  ctx.scale(ratio, isUp || kind === 'nan' ? ratio : -ratio);
  ctx.lineWidth = 1.6;
  if (kind === 'nan') ctx.stroke(new Path2D(CROSS));
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- a canvas, not an array
  else ctx.fill(new Path2D(TRIANGLE));
  ctx.restore();
}

/** Reads colours of the style sheet. */
function colorsOf(element: HTMLElement): (name: string) => string {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(name).trim();
}

function axesOf(
  { axis, isLog }: ChartModel,
  color: (name: string) => string,
  font: string,
): uPlot.Axis[] {
  const grid = { stroke: color('--chart-grid'), width: 1 };
  const shared = { stroke: color('--ink-3'), font, gap: 6 };
  return [
    {
      ...shared,
      size: 30,
      space: 70,
      grid: { show: false },
      ticks: { ...grid, size: 4 },
      incrs: INCREMENTS[axis],
      values: (_plot, ticks) => xTicks(axis, ticks),
    },
    {
      ...shared,
      size: 54,
      space: 34,
      grid,
      ticks: { show: false },
      ...(isLog ? {} : LINEAR_TICKS),
      values: (_plot, ticks) => [...formatTicks(ticks, isLog)],
    },
  ];
}

/** uPlot's own increments end at 1e32, and a loss that explodes does not. */
const LINEAR_TICKS: Pick<uPlot.Axis, 'incrs' | 'splits'> = {
  incrs: (_plot, _axis, min, max) => tickIncrements(min, max),
  splits: (_plot, _axis, min, max, increment) => ticksBetween(min, max, increment),
};

/** The numbers of the x axis; the first one says what is counted. */
function xTicks(axis: XAxis, ticks: readonly number[]): string[] {
  if (axis === 'time') return ticks.map((tick) => formatElapsed(tick));
  return formatTicks(ticks).map((text, at) => (at === 0 ? `${axis} ${text}` : text));
}

/** The nearest row in which this series has a value: rows of the other curves in between do not count. */
function nearestRow(plot: uPlot, seriesIndex: number, closest: number): number | null {
  const column = plot.data[seriesIndex];
  if (column === undefined || typeof column[closest] === 'number') return closest;
  const xs = plot.data[0];
  const at = xs[closest] ?? 0;
  let below = closest;
  while (below >= 0 && column[below] === undefined) below -= 1;
  let above = closest;
  while (above < column.length && column[above] === undefined) above += 1;
  const distance = (row: number): number => Math.abs((xs[row] ?? Number.POSITIVE_INFINITY) - at);
  const nearest = distance(below) <= distance(above) ? below : above;
  return typeof column[nearest] === 'number' ? nearest : null;
}

const STEP_INCREMENTS = [1, 2, 5]
  .flatMap((digit) => Array.from({ length: 13 }, (_, power) => digit * 10 ** power))
  .toSorted((a, b) => a - b);
/** Distances that ticks of an x axis may have. */
const INCREMENTS: Readonly<Record<XAxis, number[]>> = {
  step: STEP_INCREMENTS,
  epoch: [0.1, 0.2, 0.5, ...STEP_INCREMENTS],
  time: [
    0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600,
    43_200, 86_400, 172_800, 604_800,
  ],
};

/** Options of a line with these dashes. */
function dashed(dash: number): Pick<uPlot.Series, 'dash'> {
  const pattern = dashOf(dash);
  return pattern.length === 0 ? {} : { dash: [...pattern] };
}

function logRange(min: number | null, max: number | null): [number, number] {
  if (min === null || max === null || !(min > 0) || !(max > 0)) return [0.1, 10];
  const room = Math.max((Math.log10(max) - Math.log10(min)) * 0.06, 0.05);
  return [10 ** (Math.log10(min) - room), 10 ** (Math.log10(max) + room)];
}
