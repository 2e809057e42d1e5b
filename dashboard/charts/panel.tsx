/** One chart with its title, legend and warnings. */
import {
  untracked,
  useComputed,
  useSignal,
  useSignalEffect,
  type ReadonlySignal,
} from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { PALETTE_SIZE, seriesColor } from '../theme/palette.ts';
import { nearestIndex } from './axis.ts';
import { pannedRange, zoomedRange } from './chart-range.ts';
import type { ChartView } from './chart-view.ts';
import { formatCount, formatMetric, formatValue } from '../parts/format.ts';
import { colorIndex, legendName, type MetricGroup } from './group.ts';
import { countNonFinite, type XRange } from './reduce.ts';
import type { EpochScale } from '../series/epoch-scale.ts';
import type { SampleSeries, Standing } from '../series/series.ts';
import { drawing } from '../parts/turns.ts';
import { Icon } from '../parts/icons.tsx';
import { cachedOnAxis, curveOf, type Curve } from './chart-data.ts';
import { MetricChart, type ChartBand } from './metric-chart.ts';

/** What places a curve on the axes of time and epochs. */
export type CurvePlace = { readonly startMs: number; readonly scale: EpochScale };

/** What all panels of a run have in common at one moment. */
export type PanelContext = {
  /** Changes when points arrived. */
  readonly revision: number;
  /** Where the times and epochs of a curve begin. */
  readonly placeOf: (key: string) => CurvePlace;
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
  /** Place of a curve in the palette; by its metric unless given. */
  readonly colorOf?: (key: string) => number;
  /** Stretches of the x axis that are coloured. */
  readonly bands?: ReadonlySignal<readonly ChartBand[]>;
  /** Where a curve comes from, if that is a page. */
  readonly hrefOf?: (key: string) => string;
};

type ShownCurve = Curve & { readonly isHidden: boolean; readonly standsFor: Standing | undefined };

const ZOOM_STEP = 0.6;
const PAN_STEP = 0.25;

/** A chart of the metrics of one group. */
export function Panel(props: PanelProps): JSX.Element {
  const { group, series, view, context } = props;
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<MetricChart | undefined>(undefined);
  const isWide = useSignal(false);
  const isOnScreen = useSignal(false);
  const unplaced = useSignal(0);
  const keys = useSignal(group.keys);
  // At once, not in an effect: a busy page runs those late. Nothing that is rendered here reads it.
  if (keys.peek().join('|') !== group.keys.join('|')) keys.value = group.keys;

  const curves = useSignal<readonly ShownCurve[]>([]);
  useSignalEffect(() => {
    if (!isOnScreen.value) return;
    const { placeOf, extent } = context.value;
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
        const { startMs, scale } = placeOf(key);
        const points = cachedOnAxis(one, axis, startMs, scale);
        const curve = curveOf(key, color, points, isHidden ? 0 : smoothing, extent);
        return [{ ...curve, isHidden, standsFor: one.standsFor }];
      });
    });
  });
  useEffect(
    () => () => {
      drawing.drop(curves);
      drawing.drop(chart);
    },
    [],
  );
  const range = useComputed(() => view.zoom.value ?? context.value.extent);
  const nonFinite = useComputed(() =>
    curves.value.reduce(
      (sum, { shape, standsFor }) =>
        sum + (standsFor?.nonFiniteCount ?? countNonFinite(shape, range.value)),
      0,
    ),
  );

  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const made = new MetricChart(element, view.syncKey, {
      onZoom: (zoom) => {
        view.zoom.value = zoom;
      },
      onCursor: (x) => {
        if (x === undefined || element.matches(':hover')) view.cursorX.value = x;
      },
    });
    chart.current = made;
    const observer = new IntersectionObserver(
      (entries) => {
        isOnScreen.value = entries.at(-1)?.isIntersecting ?? true;
      },
      { rootMargin: '300px' },
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
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
      bands: props.bands?.value,
    };
    if (!isOnScreen.value) return;
    drawing.add(chart, () => {
      untracked(() => chart.current?.draw(model));
      unplaced.value = chart.current?.unplacedCount ?? 0;
    });
  });

  const onKeyDown = (event: KeyboardEvent): void => {
    const { extent } = context.value;
    const zoom = view.zoom.value ?? extent;
    if (event.key === '+' || event.key === '=')
      view.zoom.value = zoomedRange(zoom, extent, ZOOM_STEP);
    else if (event.key === '-') view.zoom.value = zoomedRange(zoom, extent, 1 / ZOOM_STEP);
    else if (event.key === 'ArrowLeft')
      view.zoom.value = panned(view.zoom.value, extent, -PAN_STEP);
    else if (event.key === 'ArrowRight')
      view.zoom.value = panned(view.zoom.value, extent, PAN_STEP);
    else if (event.key === '0' || event.key === 'Escape') view.zoom.value = undefined;
    else return;
    event.preventDefault();
  };

  const repeated = curves.value.reduce((sum, { points }) => sum + points.repeatedCount, 0);
  const missing = curves.value.reduce((sum, { points }) => sum + points.missingCount, 0);
  return (
    <section class="panel" data-wide={isWide.value} data-group={group.id} aria-label={group.title}>
      <header class="panel-head">
        <h3 title={group.title}>{group.title}</h3>
        {nonFinite.value > 0 && (
          <span
            class="badge badge-warning"
            data-testid="non-finite"
            title="Values that are NaN or infinite. They break the line and are marked on the chart: a cross for NaN, a triangle for an infinity."
          >
            <Icon name="warning" />
            {formatCount(nonFinite.value)} not finite
          </span>
        )}
        {unplaced.value > 0 && (
          <span class="badge" title="A logarithmic scale has no place for zero and below.">
            {formatCount(unplaced.value)} ≤ 0
          </span>
        )}
        {repeated > 0 && (
          <span
            class="badge"
            title="Steps written more than once, as after a resume. The chart shows what was written last."
          >
            {formatCount(repeated)} repeated
          </span>
        )}
        {missing > 0 && (
          <span class="badge" title={`Points without a value for the ${view.axis.value} axis.`}>
            {formatCount(missing)} without {view.axis.value}
          </span>
        )}
        <button
          type="button"
          class="icon-button panel-expand"
          aria-label={isWide.value ? 'Make this chart smaller' : 'Make this chart larger'}
          aria-pressed={isWide.value}
          onClick={() => {
            isWide.value = !isWide.value;
          }}
        >
          <Icon name={isWide.value ? 'shrink' : 'expand'} />
        </button>
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
        onKeyDown={onKeyDown}
      />
    </section>
  );
}

function panned(zoom: XRange | undefined, extent: XRange, share: number): XRange | undefined {
  return zoom === undefined ? undefined : pannedRange(zoom, extent, share);
}

function describe(title: string, curves: readonly ShownCurve[]): string {
  const parts = curves.map((curve) => {
    const last = curve.points.ys.at(-1);
    const count = curve.standsFor?.sampleCount ?? curve.points.ys.length;
    return `${curve.key}: ${formatCount(count)} points, last ${last === undefined ? 'none' : formatValue(last)}`;
  });
  return `Chart of ${title}. ${parts.join('; ')}. Plus and minus zoom, arrows move, 0 shows all.`;
}

/** Names, colours and values: at the pointer, else the last ones. Pressing a name hides its curve. */
function Legend(props: {
  readonly curves: ReadonlySignal<readonly ShownCurve[]>;
  readonly view: ChartView;
  readonly nameOf: (key: string) => string;
  readonly hrefOf: ((key: string) => string) | undefined;
}): JSX.Element {
  const { view } = props;
  const x = view.cursorX.value;
  return (
    <div class="legend">
      {props.curves.value.map((curve) => {
        const { key, color, points, isHidden } = curve;
        const at = x === undefined ? points.ys.length - 1 : nearestIndex(points.xs, x);
        const value = points.ys[at];
        const smoothed = curve.smoothed?.[at];
        const shown = props.nameOf(key);
        // The whole name of a metric; a run is known by its name, not by its id.
        const name = key.endsWith(shown) ? key : shown;
        const item = (
          <button
            key={key}
            type="button"
            class="legend-item"
            aria-pressed={!isHidden}
            title={isHidden ? `Show ${name}` : `Hide ${name}`}
            onClick={() => {
              const hidden = new Set(view.hidden.value);
              if (!hidden.delete(key)) hidden.add(key);
              view.hidden.value = hidden;
            }}
          >
            <span class="swatch" style={{ background: color }} />
            <span class="legend-name">{shown}</span>
            <span
              class={`legend-value${value !== undefined && !Number.isFinite(value) ? ' is-bad' : ''}`}
            >
              {value === undefined ? '–' : formatMetric(key, value)}
            </span>
            {smoothed !== undefined && isWorthShowing(smoothed, value) && (
              <span class="legend-smoothed" title="Smoothed">
                ~{formatMetric(key, smoothed)}
              </span>
            )}
          </button>
        );
        const href = props.hrefOf?.(key);
        if (href === undefined) return item;
        return (
          <span key={key} class="legend-run">
            {item}
            <a
              class="icon-button legend-link"
              href={href}
              aria-label={`Show ${name}`}
              title={`Show ${name}`}
            >
              <Icon name="forward" />
            </a>
          </span>
        );
      })}
    </div>
  );
}

/** A smoothed value that reads the same as the value itself is only noise in the legend. */
function isWorthShowing(smoothed: number, value: number | undefined): boolean {
  return Number.isFinite(smoothed) && smoothed.toPrecision(3) !== value?.toPrecision(3);
}
