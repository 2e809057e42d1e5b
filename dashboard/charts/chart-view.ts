/** Axis, smoothing and zoom of the charts of a page: shared by all panels, so that they zoom and point together. */
import { signal, type Signal } from '@preact/signals';
import { storedText } from '../parts/browser-storage.ts';
import { X_AXES, type XAxis } from '../series/series.ts';
import type { XRange } from './reduce.ts';

/** The view that all charts of one page share. */
export type ChartView = {
  readonly axis: Signal<XAxis>;
  /** The axis that the person chose; another one is shown where no point has a position on it. */
  readonly chosenAxis: Signal<XAxis>;
  /** Weight of the smoothing, 0 (off) to 0.99. */
  readonly smoothing: Signal<number>;
  readonly isLog: Signal<boolean>;
  /** The zoomed part of the x axis; undefined shows all of it. */
  readonly zoom: Signal<XRange | undefined>;
  /** Where the pointer is on the x axis. */
  readonly cursorX: Signal<number | undefined>;
  /** Metrics that were switched off in the legend. */
  readonly hidden: Signal<ReadonlySet<string>>;
  /** Name under which uPlot synchronises the crosshairs of these charts. */
  readonly syncKey: string;
};

/** Largest weight of the smoothing slider. */
export const SMOOTHING_MAX = 0.99;

const stored = storedText('quark.charts');
let viewCount = 0;

/** A view with the axis, smoothing and scale that were used last in this browser. */
export function createChartView(): ChartView {
  const { axis, smoothing, isLog } = remembered();
  viewCount += 1;
  return {
    axis: signal(axis),
    chosenAxis: signal(axis),
    smoothing: signal(smoothing),
    isLog: signal(isLog),
    zoom: signal(undefined),
    cursorX: signal(undefined),
    hidden: signal(new Set<string>()),
    syncKey: `quark-charts-${viewCount}`,
  };
}

/** Goes over to an axis on which there is something to see, and back to the chosen one when it has. */
export function settleAxis(view: ChartView, hasPoints: (axis: XAxis) => boolean): void {
  const wanted = [view.chosenAxis.value, ...X_AXES].find((axis) => hasPoints(axis));
  if (wanted === undefined || wanted === view.axis.peek()) return;
  view.axis.value = wanted;
  view.zoom.value = undefined;
}

/** Stores axis, smoothing and scale for the next visit. */
export function rememberChartView({ chosenAxis, smoothing, isLog }: ChartView): void {
  const choice = { axis: chosenAxis.value, smoothing: smoothing.value, isLog: isLog.value };
  stored.set(JSON.stringify(choice));
}

function remembered(): { axis: XAxis; smoothing: number; isLog: boolean } {
  const { axis, smoothing, isLog } = storedFields();
  return {
    axis: X_AXES.find((one) => one === axis) ?? X_AXES[0],
    smoothing:
      typeof smoothing === 'number' && smoothing >= 0 && smoothing <= SMOOTHING_MAX ? smoothing : 0,
    isLog: isLog === true,
  };
}

function storedFields(): Readonly<Partial<Record<'axis' | 'smoothing' | 'isLog', unknown>>> {
  try {
    const found: unknown = JSON.parse(stored.get() ?? 'null');
    return typeof found === 'object' && found !== null ? found : {};
  } catch {
    return {};
  }
}
