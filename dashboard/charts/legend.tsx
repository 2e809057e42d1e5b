/** The legend of a chart. */
import type { ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { formatMetric } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { toggled } from '../parts/signals.ts';
import type { Standing } from '../series/series.ts';
import { CurveSwatch, Swatch } from './curve-style.tsx';
import type { CurveStyle } from '../theme/curve-styles.ts';
import { nearestIndex, type AxisSeries } from './axis.ts';
import type { XRange } from './reduce.ts';
import type { ChartCurve } from './chart-data.ts';
import type { ChartView } from './chart-view.ts';

/** A curve of a panel, which may be switched off. */
export type ShownCurve = ChartCurve & {
  readonly style: CurveStyle;
  readonly isHidden: boolean;
  /** The samples that a downsampled curve stands for. */
  readonly standsFor: Standing | undefined;
};

/** Names, colours and values: at the pointer, else the last ones. Pressing a name hides its curve. */
export function Legend(props: {
  readonly curves: ReadonlySignal<readonly ShownCurve[]>;
  readonly view: ChartView;
  readonly nameOf: (key: string) => string;
  readonly hrefOf: ((key: string) => string) | undefined;
  readonly onStyle: ((key: string, style: CurveStyle) => void) | undefined;
  /** What the chart shows of the x axis. */
  readonly range: ReadonlySignal<XRange>;
}): JSX.Element {
  const { view, onStyle } = props;
  const x = view.cursorX.value;
  return (
    <div class="legend">
      {props.curves.value.map((curve) => {
        const { key } = curve;
        const shown = props.nameOf(key);
        // The whole name of a metric; a run is known by its name, not by its id.
        const name = key.endsWith(shown) ? key : shown;
        const at = indexAt(curve.points, x, props.range.value);
        const item = (
          <LegendItem
            key={key}
            curve={curve}
            at={at}
            shown={shown}
            hasSwatch={onStyle === undefined}
            title={`${curve.isHidden ? 'Show' : 'Hide'} ${name}`}
            onToggle={() => {
              view.hidden.value = toggled(view.hidden.value, key);
            }}
          />
        );
        const href = props.hrefOf?.(key);
        if (href === undefined) return item;
        return (
          <span key={key} class="legend-run inline">
            {onStyle !== undefined && (
              <CurveSwatch
                name={shown}
                style={curve.style}
                onChange={(style) => onStyle(key, style)}
              />
            )}
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

function LegendItem(props: {
  readonly curve: ShownCurve;
  /** Index of the point whose value is shown. */
  readonly at: number;
  readonly shown: string;
  readonly hasSwatch: boolean;
  readonly title: string;
  readonly onToggle: () => void;
}): JSX.Element {
  const { curve, at } = props;
  const { key, color, style, points, isHidden } = curve;
  const value = points.ys[at];
  const smoothed = curve.smoothed?.[at];
  return (
    <button
      type="button"
      class="legend-item"
      aria-pressed={!isHidden}
      title={props.title}
      onClick={props.onToggle}
    >
      {props.hasSwatch && <Swatch color={color} dash={style.dash} />}
      <span class="legend-name ellipsis">{props.shown}</span>
      <span
        class={`legend-value${value !== undefined && !Number.isFinite(value) ? ' is-bad' : ''}`}
      >
        {value === undefined ? '–' : formatMetric(key, value)}
      </span>
      {smoothed !== undefined && isWorthShowing(smoothed, value) && (
        <span class="legend-smoothed quiet" title="Smoothed">
          ~{formatMetric(key, smoothed)}
        </span>
      )}
    </button>
  );
}

/** How far beyond the first or last point of a curve the pointer may be and be told its value, as a share of what is shown. */
const REACH = 0.01;

/** Index of the point at `x`, without it that of the last one; -1 before the first and beyond the last point of the curve. */
function indexAt({ xs }: AxisSeries, x: number | undefined, range: XRange): number {
  if (x === undefined) return xs.length - 1;
  const reach = (range.max - range.min) * REACH;
  const first = xs[0] ?? Number.POSITIVE_INFINITY;
  const last = xs.at(-1) ?? Number.NEGATIVE_INFINITY;
  return x < first - reach || x > last + reach ? -1 : nearestIndex(xs, x);
}

/** A smoothed value that reads the same as the value itself is only noise in the legend. */
function isWorthShowing(smoothed: number, value: number | undefined): boolean {
  return Number.isFinite(smoothed) && smoothed.toPrecision(3) !== value?.toPrecision(3);
}
