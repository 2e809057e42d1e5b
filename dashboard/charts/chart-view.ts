/** Axis, smoothing and scales of the charts of a page, which all panels share, and the range of each panel. */
import {
  DEFAULT_CHART_SETTINGS,
  MAX_SMOOTHING,
  type ChartAxis,
  type ChartSettings,
  type SmoothingKind,
} from 'quark-sdk/workspace';
import { signal, type Signal } from '@preact/signals';
import { storedText } from '../parts/browser-storage.ts';
import { X_AXES, type XAxis } from '../series/series.ts';
import { isPlainAxis } from './plot/chart-settings.ts';
import type { XRange } from './reduce.ts';

/** The view that all charts of one page share. */
export type ChartView = {
  readonly axis: Signal<ChartAxis>;
  /** The axis that the person chose; another one is shown where no point has a position on it. */
  readonly chosenAxis: Signal<ChartAxis>;
  /** Whether somebody chose the axis on this page, and wants to see it even where it separates no points. */
  readonly insists: Signal<boolean>;
  /** Weight of the smoothing, 0 (off) to 0.99. */
  readonly smoothing: Signal<number>;
  readonly smoothingKind: Signal<SmoothingKind>;
  readonly isLog: Signal<boolean>;
  /** Whether the horizontal axis is logarithmic. */
  readonly isLogX: Signal<boolean>;
  /** Whether the value axis leaves outliers out. */
  readonly skipsOutliers: Signal<boolean>;
  /** Whether all panels show the same part of the x axis; otherwise each shows its own. */
  readonly isLinked: Signal<boolean>;
  /** The zoomed parts of the x axis, by panel; under {@link ALL_PANELS} that of linked panels. A panel that is not here shows all. */
  readonly zooms: Signal<ReadonlyMap<string, XRange>>;
  /** Where the pointer is, on the axis of the chart that it is over. */
  readonly cursor: Signal<{ readonly x: number; readonly axis: ChartAxis } | undefined>;
  /** Metrics that were switched off in the legend. */
  readonly hidden: Signal<ReadonlySet<string>>;
  /** Name under which uPlot synchronises the crosshairs of these charts. */
  readonly syncKey: string;
};

/** Stands for all panels where they are linked. */
export const ALL_PANELS = '*';

/** The zoomed part of a panel, or of the panels that are linked under this name; undefined: all is shown. */
export function zoomOf(view: ChartView, id: string): XRange | undefined {
  return view.zooms.value.get(id);
}

/** Zooms a panel, or all that are linked under this name; undefined shows all. */
export function zoomTo(view: ChartView, id: string, range: XRange | undefined): void {
  const zooms = new Map(view.zooms.peek());
  zooms.delete(id);
  // The last one is the one that linking takes over.
  if (range !== undefined) zooms.set(id, range);
  view.zooms.value = zooms;
}

/** Shows all of every panel. */
export function showAll({ zooms }: ChartView): void {
  if (zooms.peek().size > 0) zooms.value = new Map();
}

/** Links the panels, by the range that was chosen last, or gives each its own again. */
export function linkPanels(view: ChartView, isLinked: boolean): void {
  const last = [...view.zooms.peek().values()].at(-1);
  view.isLinked.value = isLinked;
  view.zooms.value = new Map(isLinked && last !== undefined ? [[ALL_PANELS, last]] : []);
}

/** What is chosen for all charts of the view. */
export function viewSettings(view: ChartView): ChartSettings {
  return {
    axis: view.axis.value,
    logX: view.isLogX.value,
    logY: view.isLog.value,
    smoothing: { kind: view.smoothingKind.value, amount: view.smoothing.value },
    skipsOutliers: view.skipsOutliers.value,
    yMin: undefined,
    yMax: undefined,
    isLinked: view.isLinked.value,
    hiddenMarks: DEFAULT_CHART_SETTINGS.hiddenMarks,
  };
}

const stored = storedText('quark.charts');
let viewCount = 0;

/** A view with the axis, smoothing and scale that were used last in this browser. */
export function createChartView(): ChartView {
  const { axis, smoothing, isLog } = remembered();
  viewCount += 1;
  return {
    axis: signal(axis),
    chosenAxis: signal(axis),
    insists: signal(false),
    smoothing: signal(smoothing),
    smoothingKind: signal('exponential'),
    isLog: signal(isLog),
    isLogX: signal(false),
    skipsOutliers: signal(false),
    isLinked: signal(false),
    zooms: signal(new Map<string, XRange>()),
    cursor: signal(undefined),
    hidden: signal(new Set<string>()),
    syncKey: `quark-charts-${viewCount}`,
  };
}

/** Goes over to an axis that separates the points, and back to the chosen one once that does. */
export function settleAxis(view: ChartView, separates: (axis: XAxis) => boolean): void {
  const { value: chosen } = view.chosenAxis;
  if (view.insists.value) return;
  if (!isPlainAxis(chosen)) {
    view.axis.value = chosen;
    return;
  }
  const wanted = [chosen, ...X_AXES].find((axis) => separates(axis));
  if (wanted === undefined || wanted === view.axis.peek()) return;
  view.axis.value = wanted;
  showAll(view);
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
      typeof smoothing === 'number' && smoothing >= 0 && smoothing <= MAX_SMOOTHING ? smoothing : 0,
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
