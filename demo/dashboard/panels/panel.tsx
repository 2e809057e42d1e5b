/** One chart with its title, legend and warnings. */
import { useComputed, useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { PALETTE_SIZE, seriesColor } from '../../app/palette.ts';
import { nearestIndex, type EpochScale } from '../model/axis.ts';
import { pannedRange, zoomedRange } from '../model/chart-range.ts';
import type { ChartView } from '../model/chart-view.ts';
import { formatCount, formatMetric, formatValue } from '../model/format.ts';
import { colorIndex, legendName, type MetricGroup } from '../model/group.ts';
import { countNonFinite, type XRange } from '../model/reduce.ts';
import type { SeriesSet } from '../model/series.ts';
import { Icon } from '../views/icons.tsx';
import { cachedOnAxis, curveOf, type Curve } from './chart-data.ts';
import { MetricChart } from './metric-chart.ts';

/** What all panels of a run have in common at one moment. */
export type PanelContext = {
  /** Changes when points arrived. */
  readonly revision: number;
  readonly startMs: number;
  readonly scale: EpochScale;
  /** From the first to the last x of all panels, so that they line up. */
  readonly extent: XRange;
};

type PanelProps = {
  readonly group: MetricGroup;
  readonly series: SeriesSet;
  readonly view: ChartView;
  readonly context: ReadonlySignal<PanelContext>;
};

const ZOOM_STEP = 0.6;
const PAN_STEP = 0.25;

/** A chart of the metrics of one group. */
export function Panel({ group, series, view, context }: PanelProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<MetricChart | undefined>(undefined);
  const isWide = useSignal(false);
  const isOnScreen = useSignal(true);
  const unplaced = useSignal(0);
  const keyText = group.keys.join('|');
  const keys = useMemo(() => group.keys, [keyText]);

  const curves = useComputed((): readonly (Curve & { readonly isHidden: boolean })[] => {
    const { startMs, scale, extent } = context.value;
    return keys.flatMap((key, position) => {
      const one = series.get(key);
      if (one === undefined) return [];
      const isHidden = view.hidden.value.has(key);
      const points = cachedOnAxis(one, view.axis.value, startMs, scale);
      const color = seriesColor(colorIndex(key, position, PALETTE_SIZE));
      const smoothing = isHidden ? 0 : view.smoothing.value;
      return [{ ...curveOf(key, color, points, smoothing, extent), isHidden }];
    });
  });
  const range = useComputed(() => view.zoom.value ?? context.value.extent);
  const nonFinite = useComputed(() =>
    curves.value.reduce((sum, curve) => sum + countNonFinite(curve.shape, range.value), 0),
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
      { rootMargin: '200px' },
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
    };
    if (!isOnScreen.value) return undefined;
    const frame = requestAnimationFrame(() => {
      chart.current?.draw(model);
      unplaced.value = chart.current?.unplacedCount ?? 0;
    });
    return () => cancelAnimationFrame(frame);
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
      <Legend curves={curves} view={view} grouped={group.title} />
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

function describe(title: string, curves: readonly Curve[]): string {
  const parts = curves.map((curve) => {
    const last = curve.points.ys.at(-1);
    return `${curve.key}: ${formatCount(curve.points.ys.length)} points, last ${last === undefined ? 'none' : formatValue(last)}`;
  });
  return `Chart of ${title}. ${parts.join('; ')}. Plus and minus zoom, arrows move, 0 shows all.`;
}

/** Names, colours and values: at the pointer, else the last ones. Pressing a name hides its curve. */
function Legend(props: {
  readonly curves: ReadonlySignal<readonly (Curve & { readonly isHidden: boolean })[]>;
  readonly view: ChartView;
  readonly grouped: string;
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
        return (
          <button
            key={key}
            type="button"
            class="legend-item"
            aria-pressed={!isHidden}
            title={isHidden ? `Show ${key}` : `Hide ${key}`}
            onClick={() => {
              const hidden = new Set(view.hidden.value);
              if (!hidden.delete(key)) hidden.add(key);
              view.hidden.value = hidden;
            }}
          >
            <span class="swatch" style={{ background: color }} />
            <span class="legend-name">{legendName(key, props.grouped)}</span>
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
      })}
    </div>
  );
}

/** A smoothed value that reads the same as the value itself is only noise in the legend. */
function isWorthShowing(smoothed: number, value: number | undefined): boolean {
  return Number.isFinite(smoothed) && smoothed.toPrecision(3) !== value?.toPrecision(3);
}
