/** How the charts of a page are looked at: shared by all panels, so that they zoom and point together. */
import { signal, type Signal } from '@preact/signals';
import { X_AXES, type XAxis } from '../series/series.ts';
import type { XRange } from './reduce.ts';

/** The view that all charts of one page share. */
export type ChartView = {
  readonly axis: Signal<XAxis>;
  /** The axis that the person chose; another one is shown where nothing has a place on it. */
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
  /** Name under which uPlot keeps the crosshairs of these charts together. */
  readonly syncKey: string;
};

/** Largest weight of the smoothing slider. */
export const SMOOTHING_MAX = 0.99;

const STORAGE_KEY = 'quark.charts';
let viewCount = 0;

/** A view with the axis, smoothing and scale that were used last in this browser. */
export function createChartView(): ChartView {
  const kept = remembered();
  viewCount += 1;
  return {
    axis: signal(kept.axis),
    chosenAxis: signal(kept.axis),
    smoothing: signal(kept.smoothing),
    isLog: signal(kept.isLog),
    zoom: signal(undefined),
    cursorX: signal(undefined),
    hidden: signal(new Set<string>()),
    syncKey: `quark-charts-${viewCount}`,
  };
}

/** Goes over to an axis on which there is something to see, and back to the chosen one when it has. */
export function settleAxis(view: ChartView, hasPlaces: (axis: XAxis) => boolean): void {
  const wanted = [view.chosenAxis.value, ...X_AXES].find((axis) => hasPlaces(axis));
  if (wanted === undefined || wanted === view.axis.peek()) return;
  view.axis.value = wanted;
  view.zoom.value = undefined;
}

/** Keeps axis, smoothing and scale for the next visit. */
export function rememberChartView(view: ChartView): void {
  const kept = {
    axis: view.chosenAxis.value,
    smoothing: view.smoothing.value,
    isLog: view.isLog.value,
  };
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(kept));
  } catch {
    // Kept for this visit only.
  }
}

function remembered(): { axis: XAxis; smoothing: number; isLog: boolean } {
  const defaults = { axis: X_AXES[0], smoothing: 0, isLog: false };
  try {
    const found: unknown = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? 'null');
    if (typeof found !== 'object' || found === null) return defaults;
    const axis = 'axis' in found ? X_AXES.find((one) => one === found.axis) : undefined;
    const weight = 'smoothing' in found ? found.smoothing : undefined;
    return {
      axis: axis ?? defaults.axis,
      smoothing: typeof weight === 'number' && weight >= 0 && weight <= SMOOTHING_MAX ? weight : 0,
      isLog: 'isLog' in found && found.isLog === true,
    };
  } catch {
    return defaults;
  }
}
