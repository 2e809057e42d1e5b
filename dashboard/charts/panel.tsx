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
import { PALETTE_SIZE, seriesColor } from '../theme/palette.ts';
import { cachedOnAxis, curveOf } from './chart-data.ts';
import { pannedRange, zoomedRange } from './chart-range.ts';
import type { ChartView } from './chart-view.ts';
import { colorIndex, legendName, type MetricGroup } from './group.ts';
import { Legend, type ShownCurve } from './legend.tsx';
import { MetricChart, type ChartBand } from './metric-chart.ts';
import { countNonFinite, type XRange } from './reduce.ts';

/** Where a curve begins on the axes of time and epochs. */
export type CurveOrigin = { readonly startMs: number; readonly scale: EpochScale };

/** What all panels of a run have in common at one moment. */
export type PanelContext = {
  /** Changes when points arrived. */
  readonly revision: number;
  readonly originOf: (key: string) => CurveOrigin;
  /** From the first to the last x of all panels, so that they line up. */
  readonly extent: XRange;
};

type PanelProps = {
  readonly group: MetricGroup;
  readonly series: { readonly get: (key: string) => SampleSeries | undefined };
  readonly view: ChartView;
  readonly context: ReadonlySignal<PanelContext>;
  /** What a curve is called in the legend; by its metric unless given. */
  readonly nameOf?: (key: string) => string;
  /** Index of the colour of a curve in the palette; by its metric unless given. */
  readonly colorOf?: (key: string) => number;
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
  const unplaced = useSignal(0);
  useOnScreen(host, setterOf(isOnScreen), '300px');
  const curves = useCurves(props, isOnScreen);
  const range = useComputed(() => view.zoom.value ?? context.value.extent);
  useDrawing(props, { host, curves, range, isOnScreen, unplaced });
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
        <Badges curves={curves} range={range} unplaced={unplaced} axis={view.axis.value} />
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
      />
      <div
        ref={host}
        class="chart"
        tabIndex={0}
        role="img"
        aria-label={describe(group.title, curves.value)}
        onKeyDown={(event) => {
          if (zoomByKey(event.key, view, context.value.extent)) event.preventDefault();
        }}
      />
    </section>
  );
}

/** The curves of the group, made anew while they are on screen, whenever points arrive or another view of them is asked for. */
function useCurves(
  props: PanelProps,
  isOnScreen: ReadonlySignal<boolean>,
): ReadonlySignal<readonly ShownCurve[]> {
  const { group, series, view, context } = props;
  const keys = useSignal(group.keys);
  // At once, not in an effect: a busy page runs those late. Nothing that is rendered here reads it.
  if (keys.peek().join('|') !== group.keys.join('|')) keys.value = group.keys;
  const curves = useSignal<readonly ShownCurve[]>([]);
  useSignalEffect(() => {
    if (!isOnScreen.value) return;
    const { originOf, extent } = context.value;
    const axis = view.axis.value;
    const smoothing = view.smoothing.value;
    const hidden = view.hidden.value;
    const colored = keys.value.map((key, position) => {
      const index = props.colorOf?.(key) ?? colorIndex(key, position, PALETTE_SIZE);
      return { key, color: seriesColor(index) };
    });
    drawing.add(curves, () => {
      curves.value = colored.flatMap(({ key, color }): ShownCurve[] => {
        const one = series.get(key);
        if (one === undefined) return [];
        const isHidden = hidden.has(key);
        const { startMs, scale } = originOf(key);
        const points = cachedOnAxis(one, axis, startMs, scale);
        const curve = curveOf(key, color, points, isHidden ? 0 : smoothing, extent);
        return [{ ...curve, isHidden, standsFor: one.standsFor }];
      });
    });
  });
  useEffect(() => () => drawing.drop(curves), []);
  return curves;
}

/** Draws the curves into `host`, each time in a turn of its own. */
function useDrawing(
  { view, bands }: PanelProps,
  drawn: {
    readonly host: RefObject<HTMLElement | null>;
    readonly curves: ReadonlySignal<readonly ShownCurve[]>;
    readonly range: ReadonlySignal<XRange>;
    readonly isOnScreen: ReadonlySignal<boolean>;
    readonly unplaced: Signal<number>;
  },
): void {
  const { host, curves, range, isOnScreen, unplaced } = drawn;
  const chart = useRef<MetricChart | undefined>(undefined);
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const made = new MetricChart(element, view.syncKey, {
      onZoom: setterOf(view.zoom),
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
  }, [view]);
  useSignalEffect(() => {
    const model = {
      curves: curves.value.filter((curve) => !curve.isHidden),
      range: range.value,
      axis: view.axis.value,
      isLog: view.isLog.value,
      bands: bands?.value,
    };
    if (!isOnScreen.value) return;
    drawing.add(chart, () => {
      untracked(() => chart.current?.draw(model));
      unplaced.value = chart.current?.unplacedCount ?? 0;
    });
  });
}

/** What the curves do not show. */
function Badges(props: {
  readonly curves: ReadonlySignal<readonly ShownCurve[]>;
  readonly range: ReadonlySignal<XRange>;
  readonly unplaced: ReadonlySignal<number>;
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
      count: props.unplaced.value,
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

/** Zooms or moves as a key says. False: the key says nothing. */
function zoomByKey(key: string, { zoom }: ChartView, extent: XRange): boolean {
  const range = zoom.value ?? extent;
  if (key === '+' || key === '=') zoom.value = zoomedRange(range, extent, ZOOM_STEP);
  else if (key === '-') zoom.value = zoomedRange(range, extent, 1 / ZOOM_STEP);
  else if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const share = key === 'ArrowLeft' ? -PAN_STEP : PAN_STEP;
    zoom.value = zoom.value && pannedRange(zoom.value, extent, share);
  } else if (key === '0' || key === 'Escape') zoom.value = undefined;
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
