/** What one chart shows and where it stands: its curves, its range, and the drawing that follows them. */
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
import type { SampleSeries } from '../series/series.ts';
import { PALETTE_SIZE, type CurveStyle } from '../theme/curve-styles.ts';
import { seriesColor } from '../theme/palette.ts';
import { cachedOnAxis, curveOf } from './chart-data.ts';
import { zoomOf, zoomTo, type ChartView } from './chart-view.ts';
import { colorIndex, type MetricGroup } from './group.ts';
import type { ShownCurve } from './legend.tsx';
import { MetricChart, type ChartBand, type NotShown } from './metric-chart.ts';
import type { XRange } from './reduce.ts';

/** Where a curve begins on the axes of time and epochs. */
export type CurveOrigin = { readonly startMs: number; readonly scale: EpochScale };

/** What all panels of a run have in common at one moment. */
export type PanelContext = {
  /** Changes when points arrived. */
  readonly revision: number;
  readonly originOf: (key: string) => CurveOrigin;
  /** From the first to the last x of all panels: what linked panels show. */
  readonly extent: XRange;
  /** From the first to the last x of these curves; undefined where they have no point. By default that of all panels. */
  readonly extentOf?: (keys: readonly string[]) => XRange | undefined;
};

/** What a chart shows, and how. */
export type ChartProps = {
  readonly group: MetricGroup;
  readonly series: { readonly get: (key: string) => SampleSeries | undefined };
  readonly view: ChartView;
  readonly context: ReadonlySignal<PanelContext>;
  /** What a curve is called in the legend; by its metric unless given. */
  readonly nameOf?: (key: string) => string;
  /** Colour and dashes of a curve; by its metric unless given. */
  readonly styleOf?: (key: string) => CurveStyle;
  /** Called with the style that somebody chose for a curve; without it none can be chosen. */
  readonly onStyle?: (key: string, style: CurveStyle) => void;
  /** Spans of the x axis that are coloured. */
  readonly bands?: ReadonlySignal<readonly ChartBand[]>;
  /** Where a curve comes from, if that is a page. */
  readonly hrefOf?: (key: string) => string;
};

/** A chart while it is on the page. */
export type ChartState = {
  readonly props: ChartProps;
  /** What it is drawn into. */
  readonly host: RefObject<HTMLDivElement | null>;
  readonly curves: ReadonlySignal<readonly ShownCurve[]>;
  /** All that there is of the x axis. */
  readonly extent: ReadonlySignal<XRange>;
  /** What is shown of it. */
  readonly range: ReadonlySignal<XRange>;
  /** What the last drawing left out. */
  readonly notShown: ReadonlySignal<NotShown>;
};

/** Makes and draws a chart for as long as the component is there. */
export function useChart(props: ChartProps): ChartState {
  const { group, view, context } = props;
  const host = useRef<HTMLDivElement>(null);
  const isOnScreen = useSignal(false);
  const notShown = useSignal<NotShown>({ unplacedCount: 0, outliers: undefined });
  useOnScreen(host, setterOf(isOnScreen), '300px');
  const keys = useKeys(group.keys);
  const extent = useComputed(() => extentOf(view, context.value, keys.value));
  const curves = useCurves(props, keys, extent, isOnScreen);
  const range = useComputed(() => zoomOf(view, group.id) ?? extent.value);
  useDrawing(props, { host, curves, range, isOnScreen, notShown });
  return { props, host, curves, extent, range, notShown };
}

/** Where a panel begins and ends that is not zoomed: where its own curves do, or all panels if they are linked. */
function extentOf(view: ChartView, context: PanelContext, keys: readonly string[]): XRange {
  return (view.isLinked.value ? undefined : context.extentOf?.(keys)) ?? context.extent;
}

/** The keys of the curves, as a signal that changes when they do. */
function useKeys(wanted: readonly string[]): ReadonlySignal<readonly string[]> {
  const keys = useSignal(wanted);
  // At once, not in an effect: a busy page runs those late. Nothing that is rendered here reads it.
  if (keys.peek().join('|') !== wanted.join('|')) keys.value = wanted;
  return keys;
}

/** The curves of the group, made anew while they are on screen, whenever points arrive or another view of them is asked for. */
function useCurves(
  props: ChartProps,
  keys: ReadonlySignal<readonly string[]>,
  extent: ReadonlySignal<XRange>,
  isOnScreen: ReadonlySignal<boolean>,
): ReadonlySignal<readonly ShownCurve[]> {
  const { series, view, context } = props;
  const curves = useSignal<readonly ShownCurve[]>([]);
  useSignalEffect(() => {
    if (!isOnScreen.value) return;
    const { originOf } = context.value;
    const width = extent.value;
    const axis = view.axis.value;
    const smoothing = view.smoothing.value;
    const hidden = view.hidden.value;
    const colored = keys.value.map((key, position) => {
      const style = props.styleOf?.(key) ?? {
        color: colorIndex(key, position, PALETTE_SIZE),
        dash: 0,
      };
      return { key, style, color: seriesColor(style.color) };
    });
    drawing.add(curves, () => {
      curves.value = colored.flatMap(({ key, style, color }): ShownCurve[] => {
        const one = series.get(key);
        if (one === undefined) return [];
        const isHidden = hidden.has(key);
        const { startMs, scale } = originOf(key);
        const points = cachedOnAxis(one, axis, startMs, scale);
        const curve = curveOf(key, color, points, isHidden ? 0 : smoothing, width);
        return [{ ...curve, style, isHidden, standsFor: one.standsFor }];
      });
    });
  });
  useEffect(() => () => drawing.drop(curves), []);
  return curves;
}

/** Draws the curves into `host`, each time in a turn of its own. */
function useDrawing(
  { view, bands, group }: ChartProps,
  drawn: {
    readonly host: RefObject<HTMLElement | null>;
    readonly curves: ReadonlySignal<readonly ShownCurve[]>;
    readonly range: ReadonlySignal<XRange>;
    readonly isOnScreen: ReadonlySignal<boolean>;
    readonly notShown: Signal<NotShown>;
  },
): void {
  const { host, curves, range, isOnScreen, notShown } = drawn;
  const chart = useRef<MetricChart | undefined>(undefined);
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const made = new MetricChart(element, view.syncKey, {
      onZoom: (zoomed) => zoomTo(view, group.id, zoomed),
      onCursor: (x) => {
        if (x === undefined || element.matches(':hover')) view.cursorX.value = x;
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
    const model = {
      curves: curves.value.filter((curve) => !curve.isHidden),
      range: range.value,
      axis: view.axis.value,
      isLog: view.isLog.value,
      skipsOutliers: view.skipsOutliers.value,
      bands: bands?.value,
    };
    if (!isOnScreen.value) return;
    drawing.add(chart, () => {
      untracked(() => chart.current?.draw(model));
      notShown.value = chart.current?.notShown ?? notShown.peek();
    });
  });
}
