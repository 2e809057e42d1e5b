/** One chart with its title, legend and warnings. */
import {
  untracked,
  useComputed,
  useSignal,
  useSignalEffect,
  type ReadonlySignal,
  type Signal,
} from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { IconButton } from '../parts/controls.tsx';
import { formatCount, formatValue } from '../parts/format.ts';
import { useOnScreen } from '../parts/hooks.ts';
import { Icon } from '../parts/icons.tsx';
import { setterOf, toggling } from '../parts/signals.ts';
import { drawing } from '../parts/turns.ts';
import type { EpochScale } from '../series/epoch-scale.ts';
import type { SampleSeries } from '../series/series.ts';
import { PALETTE_SIZE, type CurveStyle } from '../theme/curve-styles.ts';
import { seriesColor } from '../theme/palette.ts';
import { cachedOnAxis, curveOf } from './chart-data.ts';
import { pannedRange, zoomedRange } from './chart-range.ts';
import { zoomOf, zoomTo, type ChartView } from './chart-view.ts';
import { colorIndex, legendName, type MetricGroup } from './group.ts';
import { Legend, type ShownCurve } from './legend.tsx';
import { MetricChart, type ChartBand, type NotShown } from './metric-chart.ts';
import type { InnerRange } from './value-axis.ts';
import { countNonFinite, type XRange } from './reduce.ts';

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

type PanelProps = {
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

const ZOOM_STEP = 0.6;
const PAN_STEP = 0.25;

/** A chart of the metrics of one group. */
export function Panel(props: PanelProps): JSX.Element {
  const { group, view, context } = props;
  const host = useRef<HTMLDivElement>(null);
  const isWide = useSignal(false);
  const isOnScreen = useSignal(false);
  const notShown = useSignal<NotShown>({ unplacedCount: 0, outliers: undefined });
  useOnScreen(host, setterOf(isOnScreen), '300px');
  const keys = useKeys(group.keys);
  const extent = useComputed(() => extentOf(view, context.value, keys.value));
  const curves = useCurves(props, keys, extent, isOnScreen);
  const range = useComputed(() => zoomOf(view, group.id) ?? extent.value);
  useDrawing(props, { host, curves, range, isOnScreen, notShown });
  return (
    <section
      class="panel card"
      data-wide={isWide.value}
      data-group={group.id}
      aria-label={group.title}
    >
      <header class="panel-head row gap-8">
        <h3 class="ellipsis" title={group.title}>
          {group.title}
        </h3>
        <Badges curves={curves} range={range} notShown={notShown} axis={view.axis.value} />
        <IconButton
          class="push"
          icon={isWide.value ? 'shrink' : 'expand'}
          label={isWide.value ? 'Make this chart smaller' : 'Make this chart larger'}
          aria-pressed={isWide.value}
          onClick={toggling(isWide)}
        />
      </header>
      <Legend
        curves={curves}
        view={view}
        nameOf={props.nameOf ?? ((key) => legendName(key, group.title))}
        hrefOf={props.hrefOf}
        onStyle={props.onStyle}
        range={range}
      />
      <div
        ref={host}
        class="chart"
        tabIndex={0}
        role="img"
        aria-label={describe(group.title, curves.value)}
        onKeyDown={(event) => {
          if (zoomByKey(event.key, view, group.id, extent.value)) event.preventDefault();
        }}
      />
    </section>
  );
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
  props: PanelProps,
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
  { view, bands, group }: PanelProps,
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

/** What the curves do not show. */
function Badges(props: {
  readonly curves: ReadonlySignal<readonly ShownCurve[]>;
  readonly range: ReadonlySignal<XRange>;
  readonly notShown: ReadonlySignal<NotShown>;
  readonly axis: string;
}): JSX.Element {
  const { curves, range, axis } = props;
  const sum = (of: (curve: ShownCurve) => number): number =>
    curves.value.reduce((total, curve) => total + of(curve), 0);
  const nonFinite = useComputed(() =>
    sum(({ shape, standsFor }) => standsFor?.nonFiniteCount ?? countNonFinite(shape, range.value)),
  );
  const badges = [
    {
      count: props.notShown.value.unplacedCount,
      what: '≤ 0',
      hint: 'A logarithmic scale has no position for zero and below.',
    },
    {
      count: sum(({ points }) => points.repeatedCount),
      what: 'repeated',
      hint: 'Steps written more than once, as after a resume. The chart shows what was written last.',
    },
    {
      count: sum(({ points }) => points.missingCount),
      what: `without ${axis}`,
      hint: `Points without a value for the ${axis} axis.`,
    },
  ];
  return (
    <>
      <OutlierBadge notShown={props.notShown} />
      {nonFinite.value > 0 && (
        <span
          class="badge tone-paused"
          data-testid="non-finite"
          title="Values that are NaN or infinite. They break the line and are marked on the chart: a cross for NaN, a triangle for an infinity."
        >
          <Icon name="warning" />
          {formatCount(nonFinite.value)} not finite
        </span>
      )}
      {badges
        .filter(({ count }) => count > 0)
        .map(({ count, what, hint }) => (
          <span key={what} class="badge" title={hint}>
            {formatCount(count)} {what}
          </span>
        ))}
    </>
  );
}

function OutlierBadge(props: { readonly notShown: ReadonlySignal<NotShown> }): JSX.Element | null {
  const { outliers } = props.notShown.value;
  if (outliers === undefined) return null;
  return (
    <span
      class="badge tone-paused"
      data-testid="outliers"
      title="The axis of values leaves out outliers: values more than three times the width of the middle half of all values away from it. Switch “Ignore outliers” off to see them."
    >
      {outlierText(outliers)}
    </span>
  );
}

/** How far the values go that are cut off. */
function outlierText({ min, max, lowest, highest }: InnerRange): string {
  const parts = [
    ...(lowest < min ? [`down to ${formatValue(lowest)}`] : []),
    ...(highest > max ? [`up to ${formatValue(highest)}`] : []),
  ];
  return `outliers ${parts.join(' and ')} cut off`;
}

/** Zooms or moves as a key says. False: the key says nothing. */
function zoomByKey(key: string, view: ChartView, panelId: string, extent: XRange): boolean {
  const zoom = zoomOf(view, panelId);
  const range = zoom ?? extent;
  if (key === '+' || key === '=') zoomTo(view, panelId, zoomedRange(range, extent, ZOOM_STEP));
  else if (key === '-') zoomTo(view, panelId, zoomedRange(range, extent, 1 / ZOOM_STEP));
  else if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const share = key === 'ArrowLeft' ? -PAN_STEP : PAN_STEP;
    zoomTo(view, panelId, zoom && pannedRange(zoom, extent, share));
  } else if (key === '0' || key === 'Escape') zoomTo(view, panelId, undefined);
  else return false;
  return true;
}

function describe(title: string, curves: readonly ShownCurve[]): string {
  const parts = curves.map((curve) => {
    const last = curve.points.ys.at(-1);
    const count = curve.standsFor?.sampleCount ?? curve.points.ys.length;
    return `${curve.key}: ${formatCount(count)} points, last ${last === undefined ? 'none' : formatValue(last)}`;
  });
  return `Chart of ${title}. ${parts.join('; ')}. Plus and minus zoom, arrows move, 0 shows all.`;
}
