/** One uPlot chart. It knows pixels; which points to draw is decided in `chart-data.ts`. */
import uPlot from 'uplot';
import { formatElapsed, formatTick } from '../parts/format.ts';
import type { NonFiniteKind, XRange } from './reduce.ts';
import type { XAxis } from '../series/series.ts';
import { linearRange, tickIncrements, ticksBetween } from './value-axis.ts';
import { chartData, type ChartData, type Curve } from './chart-data.ts';

/** Everything one drawing needs. */
export type ChartModel = {
  readonly curves: readonly Curve[];
  /** The visible part of the x axis. */
  readonly range: XRange;
  readonly axis: XAxis;
  readonly isLog: boolean;
  /** Stretches of the x axis that are coloured behind the curves. */
  readonly bands?: readonly ChartBand[] | undefined;
};

/** A stretch of the x axis, both ends included. */
export type ChartBand = {
  readonly start: number;
  readonly end: number;
  readonly color: string;
  /** Shown where there is room for it. */
  readonly label: string;
  /** Drawn stronger than the others. */
  readonly isMarked?: boolean;
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
/** Only the first of a stretch of marks gets a line through the chart. */
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

  constructor(host: HTMLElement, syncKey: string, events: ChartEvents) {
    this.#host = host;
    this.#events = events;
    this.#syncKey = syncKey;
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(host);
  }

  /** Points that a logarithmic axis has no place for. */
  get unplacedCount(): number {
    return this.#data?.unplacedCount ?? 0;
  }

  /** Draws the model. Colours are read from the style sheet, so a changed theme needs `reset` first. */
  draw(model: ChartModel): void {
    this.#model = model;
    const width = this.#host.clientWidth;
    const height = this.#host.clientHeight;
    if (width === 0 || height === 0) return;
    this.#data = chartData(model.curves, model.range, width, model.isLog);
    this.#host.dataset['drawn'] = String(Math.max(0, ...this.#data.drawnCounts));
    const shape = [
      model.axis,
      model.isLog,
      ...model.curves.map((curve) => `${curve.key} ${curve.color} ${curve.smoothed !== undefined}`),
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
    const style = getComputedStyle(this.#host);
    const color = (name: string): string => style.getPropertyValue(name).trim();
    const font = `11px ${style.fontFamily}`;
    const ink = color('--ink-3');
    const grid = { stroke: color('--chart-grid'), width: 1 };
    const hasSmoothed = model.curves.some((curve) => curve.smoothed !== undefined);
    const raw = model.curves.map((curve, index): uPlot.Series => ({
      label: curve.key,
      stroke: curve.color,
      width: hasSmoothed ? 1 : 1.6,
      alpha: hasSmoothed ? FAINT_ALPHA : 1,
      points: {
        show: () => (this.#data?.drawnCounts[index] ?? 0) * DOT_SPACING_PX < width,
        size: 5,
        width: 1,
        fill: curve.color,
      },
    }));
    const smoothed = model.curves
      .filter((curve) => curve.smoothed !== undefined)
      .map((curve): uPlot.Series => ({
        label: `${curve.key} smoothed`,
        stroke: curve.color,
        width: 2,
        points: { show: false },
      }));
    return {
      width,
      height,
      padding: [10, 12, 0, 0],
      legend: { show: false },
      series: [{}, ...raw, ...smoothed],
      scales: {
        x: { time: false, range: () => this.#xRange() },
        y: model.isLog
          ? { distr: 3, range: (_plot, min, max) => logRange(min, max) }
          : { range: (_plot, min, max) => linearRange(min, max) },
      },
      axes: [
        {
          stroke: ink,
          font,
          size: 30,
          gap: 6,
          space: 70,
          grid: { show: false },
          ticks: { ...grid, size: 4 },
          ...(model.axis === 'time'
            ? { incrs: ELAPSED_INCREMENTS }
            : { incrs: model.axis === 'step' ? STEP_INCREMENTS : EPOCH_INCREMENTS }),
          values: (_plot, ticks) => ticks.map((tick, at) => xTick(model.axis, tick, at === 0)),
        },
        {
          stroke: ink,
          font,
          size: 54,
          gap: 6,
          space: 34,
          grid,
          ticks: { show: false },
          // uPlot's own increments end at 1e32, and a loss that explodes does not.
          ...(model.isLog
            ? {}
            : {
                incrs: (_plot: uPlot, _axis: number, min: number, max: number): number[] =>
                  tickIncrements(min, max),
                splits: (
                  _plot: uPlot,
                  _axis: number,
                  min: number,
                  max: number,
                  increment: number,
                ): number[] => ticksBetween(min, max, increment),
              }),
          values: (_plot, ticks) => ticks.map((tick) => (tick === null ? '' : formatTick(tick))),
        },
      ],
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: DRAG_MIN_PX },
        sync: { key: this.#syncKey, scales: ['x', null], setSeries: false },
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

  #xRange(): [number, number] {
    const { min, max } = this.#model?.range ?? { min: 0, max: 1 };
    return max > min ? [min, max] : [min - 0.5, max + 0.5];
  }

  #selected(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < DRAG_MIN_PX) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.#events.onZoom({ min: plot.posToVal(left, 'x'), max: plot.posToVal(left + width, 'x') });
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
      ctx.fillStyle = model.curves[curve]?.color ?? '';
      ctx.beginPath();
      ctx.arc(
        plot.valToPos(x, 'x', true),
        plot.valToPos(y, 'y', true),
        2.2 * ratio,
        0,
        2 * Math.PI,
      );
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
      drawMark(ctx, bbox, left, mark.kind, model.curves[curve]?.color ?? '', ratio, isFirst);
    }
    ctx.restore();
  }
}

/** A cross at the foot for NaN, a triangle at the edge the value left through for an infinity, on a thin line. */
function drawMark(
  ctx: CanvasRenderingContext2D,
  bbox: uPlot.BBox,
  left: number,
  kind: NonFiniteKind,
  color: string,
  ratio: number,
  hasLine: boolean,
): void {
  const foot = bbox.top + bbox.height;
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  if (hasLine) {
    ctx.globalAlpha = 0.35;
    ctx.lineWidth = ratio;
    ctx.setLineDash([3 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, foot);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
  }
  ctx.beginPath();
  if (kind === 'nan') {
    const middle = foot - 7 * ratio;
    const arm = 3 * ratio;
    ctx.lineWidth = 1.6 * ratio;
    ctx.moveTo(left - arm, middle - arm);
    ctx.lineTo(left + arm, middle + arm);
    ctx.moveTo(left - arm, middle + arm);
    ctx.lineTo(left + arm, middle - arm);
    ctx.stroke();
    return;
  }
  const isUp = kind === 'positive_infinity';
  const tip = isUp ? bbox.top + 2 * ratio : foot - 2 * ratio;
  const base = tip + (isUp ? 7 : -7) * ratio;
  ctx.moveTo(left, tip);
  ctx.lineTo(left - 4 * ratio, base);
  ctx.lineTo(left + 4 * ratio, base);
  ctx.closePath();
  ctx.fill();
}

/** A number of the x axis; the first one says what is counted. */
function xTick(axis: XAxis, tick: number, isFirst: boolean): string {
  if (axis === 'time') return formatElapsed(tick);
  return isFirst ? `${axis} ${formatTick(tick)}` : formatTick(tick);
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
const EPOCH_INCREMENTS = [0.1, 0.2, 0.5, ...STEP_INCREMENTS];
const ELAPSED_INCREMENTS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600,
  43_200, 86_400, 172_800, 604_800,
];

function logRange(min: number | null, max: number | null): [number, number] {
  if (min === null || max === null || !(min > 0) || !(max > 0)) return [0.1, 10];
  const room = Math.max((Math.log10(max) - Math.log10(min)) * 0.06, 0.05);
  return [10 ** (Math.log10(min) - room), 10 ** (Math.log10(max) + room)];
}
