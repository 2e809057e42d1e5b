/** What one chart shows and where it stands: its curves, its range, and the drawing that follows them. */
import type { ChartAxis, ChartSettings } from 'quark-sdk/workspace';
import {
  untracked,
  useComputed,
  useSignal,
  useSignalEffect,
  type ReadonlySignal,
  type Signal,
} from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useOnScreen } from '../parts/hooks.ts';
import { setterOf } from '../parts/signals.ts';
import { drawing } from '../parts/turns.ts';
import type { EpochScale } from '../series/epoch-scale.ts';
import type { SampleSeries, XAxis } from '../series/series.ts';
import { PALETTE_SIZE, type CurveStyle } from '../theme/curve-styles.ts';
import { seriesColor } from '../theme/palette.ts';
import { arePrepared, curveOf, placedOn } from './chart-data.ts';
import { isPlainAxis, metricOfAxis } from './plot/chart-settings.ts';
import type { CurveSpread } from './plot/curve-paths.ts';
import { ALL_PANELS, viewSettings, zoomOf, zoomTo, type ChartView } from './chart-view.ts';
import { colorIndex, type MetricGroup } from './group.ts';
import type { ShownCurve } from './legend.tsx';
import { MetricChart, type ChartBand, type Drawing } from './metric-chart.ts';
import { placedBands, type ChartMark } from './marks.ts';
import type { XRange } from './reduce.ts';
import { pageSmoother } from './smoothing/smooth-client.ts';

/** Where a curve begins on the axes of time and epochs. */
export type CurveOrigin = { readonly startMs: number; readonly scale: EpochScale };

/** What all panels of a run have in common at one moment. */
export type PanelContext = {
  /** Changes when points arrived. */
  readonly revision: number;
  readonly originOf: (key: string) => CurveOrigin;
  /** From the first to the last x on an axis, of these curves or of all panels; undefined where no point has one. */
  readonly extentOf: (axis: XAxis, keys?: readonly string[]) => XRange | undefined;
};

/** Charts that show the same part of the x axis. */
export type ChartLink = {
  /** The name that their range has. */
  readonly id: string;
  /** Their metrics, which say from where to where all of it is; undefined: those of all panels. */
  readonly keys: readonly string[] | undefined;
};

const LINKED: ChartLink = { id: ALL_PANELS, keys: undefined };

/** What a chart shows, and how. */
export type ChartProps = {
  readonly group: MetricGroup;
  readonly series: {
    /** Curves by their keys; a mean of several is made for the axis that it is drawn on. */
    readonly get: (key: string, axis: ChartAxis) => SampleSeries | undefined;
    /** Called with the metrics that are on the screen. */
    readonly lookAt?: (keys: readonly string[]) => void;
  };
  /** What a curve is hidden with, such as all curves of a run; unless given, each is hidden by itself. */
  readonly ownerOf?: (key: string) => string;
  /** The metric that an axis goes by, for a curve; that of `series` unless given. */
  readonly axisMetricOf?: (key: string, metric: string) => SampleSeries | undefined;
  readonly view: ChartView;
  /** What is chosen for this chart; what is chosen for all of the view unless given. */
  readonly settings?: ReadonlySignal<ChartSettings>;
  /** With which charts it shares its range, undefined with none; unless given, with all of the view where that says so. */
  readonly link?: ReadonlySignal<ChartLink | undefined>;
  readonly context: ReadonlySignal<PanelContext>;
  /** What a curve is called in the legend; by its metric unless given. */
  readonly nameOf?: (key: string) => string;
  /** Colour and dashes of a curve; by its metric unless given. */
  readonly styleOf?: (key: string) => CurveStyle;
  /** Called with the style that somebody chose for a curve; without it none can be chosen. */
  readonly onStyle?: (key: string, style: CurveStyle) => void;
  /** The band around a curve that is the mean of others. */
  readonly spreadOf?: (key: string, axis: ChartAxis) => CurveSpread | undefined;
  /** Spans of the x axis that are coloured. */
  readonly bands?: ReadonlySignal<readonly ChartBand[]>;
  /** What happened at steps: alerts, phases, events, notes. */
  readonly marks?: ReadonlySignal<readonly ChartMark[]>;
  /** Where a curve comes from, if that is a page. */
  readonly hrefOf?: (key: string) => string;
};

/** Where somebody points at a chart. */
export type ChartPointer = {
  readonly x: number;
  /** From the top of the chart, in pixels; undefined with the keyboard. */
  readonly top: number | undefined;
};

/** A chart while it is on the page. */
export type ChartState = {
  readonly props: ChartProps;
  readonly settings: ReadonlySignal<ChartSettings>;
  /** What it is drawn into. */
  readonly host: RefObject<HTMLDivElement | null>;
  readonly curves: ReadonlySignal<readonly ShownCurve[]>;
  /** All that there is of the x axis. */
  readonly extent: ReadonlySignal<XRange>;
  /** What is shown of it. */
  readonly range: ReadonlySignal<XRange>;
  /** What was drawn last. */
  readonly drawn: ReadonlySignal<Drawing | undefined>;
  /** Where somebody points at this chart; undefined where nobody does. */
  readonly pointer: Signal<ChartPointer | undefined>;
  /** What was shown before, the latest last. */
  readonly past: Signal<readonly (XRange | undefined)[]>;
  /** Shows a part, or with undefined all. `joins`: it belongs to the change before. */
  readonly zoom: (range: XRange | undefined, joins?: boolean) => void;
  /** Shows what was shown before the last change. */
  readonly zoomBack: () => void;
  /** Points at an x in this chart and in those that point together. */
  readonly pointAt: (x: number | undefined) => void;
};

/** Changes of the range that can be taken back. */
const MOST_PAST = 50;

/** Makes and draws a chart for as long as the component is there. */
export function useChart(props: ChartProps): ChartState {
  const { group, view, context } = props;
  const host = useRef<HTMLDivElement>(null);
  const isOnScreen = useSignal(false);
  const drawn = useSignal<Drawing | undefined>(undefined);
  const pointer = useSignal<ChartPointer | undefined>(undefined);
  const past = useSignal<readonly (XRange | undefined)[]>([]);
  const given = useSignal(props.settings);
  given.value = props.settings;
  const settings = useComputed(() => {
    const chosen = given.value?.value ?? viewSettings(view);
    // Times of day have no zero.
    return chosen.axis === 'wall' ? { ...chosen, logX: false } : chosen;
  });
  useOnScreen(host, setterOf(isOnScreen), '300px');
  const keys = useKeys(group.keys);
  /** Where the curves begin and end on the axis of a metric, which is known once they are there. */
  const measured = useSignal<XRange | undefined>(undefined);
  const givenLink = useSignal(props.link);
  givenLink.value = props.link;
  const link = useComputed(() => {
    if (givenLink.value !== undefined) return givenLink.value.value;
    return view.isLinked.value ? LINKED : undefined;
  });
  const extent = useComputed((): XRange => {
    const { axis } = settings.value;
    const found = isPlainAxis(axis)
      ? context.value.extentOf(axis, link.value === undefined ? keys.value : link.value.keys)
      : measured.value;
    return found ?? { min: 0, max: 1 };
  });
  const curves = useCurves(props, { keys, settings, extent, isOnScreen, measured });
  const range = useComputed(() => zoomOf(view, link.value?.id ?? group.id) ?? extent.value);
  const zoom: ChartState['zoom'] = (next, joins = false) => {
    const id = link.peek()?.id ?? group.id;
    const before = zoomOf(view, id);
    if (before === next) return;
    if (!joins) past.value = [...past.peek(), before].slice(-MOST_PAST);
    zoomTo(view, id, next);
  };
  const zoomBack = (): void => {
    if (past.peek().length === 0) return;
    const before = past.peek().at(-1);
    past.value = past.peek().slice(0, -1);
    zoomTo(view, link.peek()?.id ?? group.id, before);
  };
  const state = { props, settings, host, curves, extent, range, drawn, pointer, past };
  const pointAt = useDrawing(state, drawn, isOnScreen, zoom);
  return { ...state, zoom, zoomBack, pointAt };
}

/** The keys of the curves, as a signal that changes when they do. */
function useKeys(wanted: readonly string[]): ReadonlySignal<readonly string[]> {
  const keys = useSignal(wanted);
  // At once, not in an effect: a busy page runs those late. Nothing that is rendered here reads it.
  if (keys.peek().join('|') !== wanted.join('|')) keys.value = wanted;
  return keys;
}

type CurveInputs = {
  readonly keys: ReadonlySignal<readonly string[]>;
  readonly settings: ReadonlySignal<ChartSettings>;
  readonly extent: ReadonlySignal<XRange>;
  readonly isOnScreen: ReadonlySignal<boolean>;
  readonly measured: Signal<XRange | undefined>;
};

/** The curves of the group, made anew while they are on screen, whenever points arrive or another view of them is asked for. */
function useCurves(props: ChartProps, inputs: CurveInputs): ReadonlySignal<readonly ShownCurve[]> {
  const { series, view, context } = props;
  const { extent, isOnScreen, keys, measured } = inputs;
  const curves = useSignal<readonly ShownCurve[]>([]);
  const task = useTask(curves);
  const asker = { owner: curves, onReady: task.again };
  useSignalEffect(() => {
    if (!isOnScreen.value) return;
    const { originOf } = context.value;
    const width = extent.value;
    const { axis, smoothing } = inputs.settings.value;
    const metric = metricOfAxis(axis);
    const hidden = view.hidden.value;
    series.lookAt?.(metric === undefined ? keys.value : [...keys.value, metric]);
    const colored = keys.value.map((key, position) => {
      const style = props.styleOf?.(key) ?? {
        color: colorIndex(key, position, PALETTE_SIZE),
        dash: 0,
      };
      return { key, style, color: seriesColor(style.color) };
    });
    const byOf = (key: string): SampleSeries | undefined => {
      if (metric === undefined) return undefined;
      return props.axisMetricOf === undefined
        ? series.get(metric, 'step')
        : props.axisMetricOf(key, metric);
    };
    const findSources = () =>
      colored.flatMap((one) => {
        const found = series.get(one.key, axis);
        if (found === undefined) return [];
        const origin = originOf(one.key);
        const points = placedOn(axis, { series: found, by: byOf(one.key), ...origin });
        return points === undefined ? [] : [{ ...one, series: found, points }];
      });
    /** Found once: preparing and smoothing them takes several turns. */
    let sources: ReturnType<typeof findSources> | undefined;
    const make = (): void => {
      sources ??= findSources();
      if (!arePrepared(sources.map(({ points }) => points))) {
        task.again();
        return;
      }
      const made = sources.map(({ color, key, points, series: one, style }): ShownCurve => {
        const isHidden = hidden.has(props.ownerOf?.(key) ?? key);
        const query = { series: one, axis, points, smoothing, extent: width.max - width.min };
        const smoothed = isHidden ? undefined : pageSmoother.smoothed(query, asker);
        const curve = curveOf(key, color, points, smoothed);
        const hasAll = one.standsFor === undefined;
        const spread = props.spreadOf?.(key, axis);
        return { ...curve, hasAll, style, isHidden, series: one, spread };
      });
      if (metric !== undefined) measure(measured, made);
      curves.value = made;
    };
    task.become(make);
  });
  return curves;
}

/** A task in the queue of drawings, for as long as the component is there: `become` runs it soon, `again` runs the last one once more. */
function useTask(owner: object): { become(task: () => void): void; readonly again: () => void } {
  const latest = useRef<() => void>(undefined);
  useEffect(
    () => () => {
      latest.current = undefined;
      drawing.drop(owner);
    },
    [],
  );
  const again = (): void => {
    if (latest.current !== undefined) drawing.add(owner, latest.current);
  };
  const become = (task: () => void): void => {
    latest.current = task;
    again();
  };
  return { become, again };
}

function measure(measured: Signal<XRange | undefined>, curves: readonly ShownCurve[]): void {
  const min = Math.min(...curves.map(({ points }) => points.xs[0] ?? Number.POSITIVE_INFINITY));
  const max = Math.max(...curves.map(({ points }) => points.xs.at(-1) ?? Number.NEGATIVE_INFINITY));
  const known = measured.peek();
  if (min > max || (known?.min === min && known.max === max)) return;
  measured.value = { min, max };
}

type Drawable = Pick<ChartState, 'props' | 'settings' | 'host' | 'curves' | 'range' | 'pointer'>;

/** Draws the curves, each time in a turn of its own. Gives what points at an x. */
function useDrawing(
  { props, settings, host, curves, range, pointer }: Drawable,
  drawn: Signal<Drawing | undefined>,
  isOnScreen: ReadonlySignal<boolean>,
  zoom: ChartState['zoom'],
): ChartState['pointAt'] {
  const { view, bands, group } = props;
  const chart = useRef<MetricChart | undefined>(undefined);
  const latest = useRef(zoom);
  latest.current = zoom;
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const made = new MetricChart(element, view.syncKey, {
      onZoom: (zoomed) => latest.current(zoomed),
      onDrawn: setterOf(drawn),
      onCursor: (x, top) => {
        if (element.matches(':hover') && x !== undefined) pointer.value = { x, top };
        else if (x === undefined) pointer.value = undefined;
        if (x === undefined || pointer.peek() !== undefined)
          view.cursor.value = x === undefined ? undefined : { x, axis: settings.peek().axis };
      },
    });
    chart.current = made;
    return () => {
      drawing.drop(chart);
      made.destroy();
      chart.current = undefined;
    };
  }, [view, group.id]);
  useSignalEffect(() => {
    const { startMs } = props.context.value.originOf(curves.value[0]?.key ?? '');
    const model = {
      curves: curves.value.filter((curve) => !curve.isHidden),
      range: range.value,
      settings: settings.value,
      bands: placedBands(bands?.value ?? [], {
        settings: settings.value,
        curves: curves.value,
        startMs,
      }),
    };
    if (!isOnScreen.value) return;
    drawing.add(chart, () => {
      untracked(() => chart.current?.draw(model));
      drawing.endTurn();
    });
  });
  return (x) => {
    const wanted = x === undefined ? undefined : { x, top: undefined };
    pointer.value = wanted;
    chart.current?.pointAt(x);
    // The mouse may lie over the chart all the while: what was pointed at last counts.
    pointer.value = wanted;
  };
}
