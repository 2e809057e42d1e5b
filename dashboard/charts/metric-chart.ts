/** One chart on the page: uPlot has the axes, the crosshair and the drag; curves are drawn by `draw-curves.ts`. */
import type { ChartMarkKind, ChartSettings } from 'quark-sdk/workspace';
import uPlot from 'uplot';
import { chartData, type ChartData } from './chart-data.ts';
import { axesOf } from './plot/axis-ticks.ts';
import { drawBandLabels, drawBands, drawCurves, drawMarks } from './draw-curves.ts';
import type { ShownCurve } from './legend.tsx';
import type { PlotFrame } from './plot/plot-frame.ts';
import type { XRange } from './reduce.ts';
import {
  innerRange,
  linearRange,
  withSpreads,
  logRange,
  valueExtent,
  type InnerRange,
} from './plot/value-axis.ts';

/** Everything one drawing needs. */
export type ChartModel = {
  readonly curves: readonly ShownCurve[];
  /** The visible part of the x axis. */
  readonly range: XRange;
  readonly settings: ChartSettings;
  /** Spans of the x axis that are coloured behind the curves. */
  readonly bands?: readonly ChartBand[] | undefined;
};

/** A span of the x axis, both ends included. */
export type ChartBand = {
  readonly start: number;
  readonly end: number;
  /** What its ends are; unless given, positions on the axis that is shown. */
  readonly axis?: 'epoch' | 'step';
  /** With which marks it is hidden; unless given, with none. */
  readonly kind?: ChartMarkKind;
  readonly color: string;
  /** Shown where there is room for it. */
  readonly label: string;
  /** Drawn stronger than the others. */
  readonly isMarked?: boolean;
};

/** What was drawn last, and where. */
export type Drawing = {
  readonly model: ChartModel;
  readonly data: ChartData;
  /** The plot, in CSS pixels from the upper left of the chart. */
  readonly frame: PlotFrame;
  /** Set where the axis leaves outliers out. */
  readonly outliers: InnerRange | undefined;
};

/** What the person does on the chart. */
export type ChartEvents = {
  readonly onZoom: (range: XRange | undefined) => void;
  /** Where the pointer is on the x axis, and from the top of the chart in pixels; undefined where it has left. */
  readonly onCursor: (x: number | undefined, top: number | undefined) => void;
  readonly onDrawn: (drawing: Drawing) => void;
};

/** Shortest drag, in pixels, that is a zoom. */
const DRAG_MIN_PX = 6;
/** What uPlot is given: a curve that draws nothing. */
const NO_CURVE: uPlot.Series = { paths: () => null, points: { show: false } };

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
  #values: readonly [number, number] = [0, 1];

  constructor(host: HTMLElement, syncKey: string, events: ChartEvents) {
    this.#host = host;
    this.#events = events;
    this.#syncKey = syncKey;
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(host);
  }

  /** Draws the model. Colours are read from the style sheet, so a changed theme needs `reset` first. */
  draw(model: ChartModel): void {
    this.#model = model;
    const width = this.#host.clientWidth;
    const height = this.#host.clientHeight;
    if (width === 0 || height === 0) return;
    const { axis, logX, logY } = model.settings;
    const range = this.#xRange();
    this.#data = chartData(model.curves, {
      range: { min: range[0], max: range[1] },
      pixelCount: width,
      logX,
      logY,
    });
    this.#measure(model);
    const { curves } = this.#data;
    this.#host.dataset['drawn'] = String(
      Math.max(0, ...curves.map(({ points }) => points.ys.length)),
    );
    const theme = model.curves.map(({ color }) => color).join();
    const shape = `${axis}|${logX}|${logY}|${theme}`;
    const columns: uPlot.AlignedData = [[...range], [null, null]];
    if (this.#plot === undefined || shape !== this.#shape) {
      this.#shape = shape;
      this.#plot?.destroy();
      this.#plot = new uPlot(this.#options(model, width, height), columns, this.#host);
    } else {
      this.#plot.setData(columns, true);
    }
    this.#tell();
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

  /** Points at an x, as the pointer would, in this chart and in those that point together; undefined points nowhere. */
  pointAt(x: number | undefined): void {
    const plot = this.#plot;
    if (plot === undefined) return;
    const left = x === undefined ? -10 : plot.valToPos(x, 'x');
    plot.setCursor({ left, top: x === undefined ? -10 : plot.over.clientHeight / 2 });
  }

  #measure({ curves, range, settings }: ChartModel): void {
    const lines = (this.#data?.curves ?? []).flatMap(({ line, points }) =>
      line === undefined ? [points.ys] : [points.ys, line.ys],
    );
    this.#outliers = settings.skipsOutliers ? innerRange(lines, settings.logY) : undefined;
    const seen =
      this.#outliers ??
      withSpreads(
        valueExtent(lines),
        curves.flatMap(({ spread }) => spread ?? []),
        range,
      );
    const [low, high] = settings.logY
      ? logRange(seen.min, seen.max)
      : linearRange(seen.min, seen.max);
    const from = settings.yMin ?? low;
    const to = settings.yMax ?? high;
    const isRange = from < to && !(settings.logY && from <= 0);
    this.#values = isRange ? [from, to] : [low, high];
  }

  #tell(): void {
    const drawing = this.drawing;
    if (drawing !== undefined) this.#events.onDrawn(drawing);
  }

  /** What was drawn last; undefined before that. */
  get drawing(): Drawing | undefined {
    const frame = this.#frame();
    if (this.#model === undefined || this.#data === undefined || frame === undefined)
      return undefined;
    return { model: this.#model, data: this.#data, frame, outliers: this.#outliers };
  }

  #frame(): PlotFrame | undefined {
    const plot = this.#plot;
    const settings = this.#model?.settings;
    if (plot === undefined || settings === undefined) return undefined;
    const { height, left, top, width } = plot.bbox;
    const ratio = devicePixelRatio;
    const [xMin, xMax] = this.#xRange();
    const [yMin, yMax] = this.#values;
    return {
      left: left / ratio,
      top: top / ratio,
      width: width / ratio,
      height: height / ratio,
      x: { min: xMin, max: xMax, isLog: settings.logX },
      y: { min: yMin, max: yMax, isLog: settings.logY },
    };
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#host;
    if (this.#model === undefined || width === 0 || height === 0) return;
    if (this.#plot?.width === width && this.#plot.height === height) return;
    this.#plot?.setSize({ width, height });
    this.draw(this.#model);
  }

  #options({ settings }: ChartModel, width: number, height: number): uPlot.Options {
    const { fontFamily } = getComputedStyle(this.#host);
    const color = colorsOf(this.#host);
    return {
      width,
      height,
      padding: [10, 12, 0, 0],
      legend: { show: false },
      series: [{}, NO_CURVE],
      scales: {
        x: { time: false, range: () => this.#xRange(), ...(settings.logX ? { distr: 3 } : {}) },
        y: { range: () => [...this.#values], ...(settings.logY ? { distr: 3 } : {}) },
      },
      axes: axesOf(settings, color, `11px ${fontFamily}`),
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: DRAG_MIN_PX },
        sync: {
          // Charts of different axes have nothing to point at together.
          key: `${this.#syncKey} ${settings.axis}`,
          scales: ['x', null],
          setSeries: false,
          // Charts point together; what is dragged is a range of this one.
          filters: {
            pub: () => true,
            sub: (type) => type === 'mousemove' || type === 'mouseleave',
          },
        },
        points: { show: false },
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
        drawClear: [(plot) => this.#draw(plot, 'below')],
        draw: [(plot) => this.#draw(plot, 'above')],
      },
    };
  }

  #draw({ ctx }: uPlot, part: 'below' | 'above'): void {
    const drawing = this.drawing;
    if (drawing === undefined) return;
    const { data, frame, model } = drawing;
    const bands = model.bands ?? [];
    ctx.save();
    ctx.scale(devicePixelRatio, devicePixelRatio);
    if (part === 'below') drawBands(ctx, frame, bands);
    else {
      drawCurves(ctx, frame, data, model.curves);
      drawBandLabels(ctx, frame, bands, getComputedStyle(this.#host).fontFamily);
      drawMarks(ctx, frame, data, model.curves);
    }
    ctx.restore();
  }

  #xRange(): [number, number] {
    const { min, max } = this.#model?.range ?? { min: 0, max: 1 };
    if (this.#model?.settings.logX === true) return positiveRange(this.#model);
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
    const { left = -1, top = -1 } = plot.cursor;
    const isAway = left < 0;
    this.#events.onCursor(
      isAway ? undefined : plot.posToVal(left, 'x'),
      isAway ? undefined : top + plot.bbox.top / devicePixelRatio,
    );
  }
}

/** The part of a range that a logarithmic axis has: it begins at the first point above zero. */
function positiveRange({ curves, range }: ChartModel): [number, number] {
  const firsts = curves.flatMap(({ points }) => points.xs.find((x) => x > 0) ?? []);
  const min = range.min > 0 ? range.min : Math.min(...firsts);
  if (!Number.isFinite(min)) return [0.1, 10];
  return range.max > min ? [min, range.max] : [min / 2, min * 2];
}

/** Reads colours of the style sheet. */
export function colorsOf(element: Element): (name: string) => string {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(name).trim();
}
