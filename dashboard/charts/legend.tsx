/** The legend of a chart. */
import type { JSX } from 'preact';
import { formatMetric } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { toggled } from '../parts/signals.ts';
import { t } from '../parts/t.ts';
import type { SampleSeries } from '../series/series.ts';
import { CurveSwatch, Swatch } from './curve-style.tsx';
import type { CurveStyle } from '../theme/curve-styles.ts';
import type { ChartCurve } from './chart-data.ts';
import type { ChartState } from './chart-state.ts';
import type { ChartView } from './chart-view.ts';
import { legendName } from './group.ts';
import type { CurveSpread } from './plot/curve-paths.ts';
import { indexAt } from './tooltip-rows.ts';

/** A curve of a panel, which may be switched off. */
export type ShownCurve = ChartCurve & {
  readonly style: CurveStyle;
  readonly isHidden: boolean;
  readonly series: SampleSeries;
  /** The band around a curve that is the mean of others. */
  readonly spread?: CurveSpread | undefined;
};

/** What a curve is called in its chart. */
export function curveName({ props }: Pick<ChartState, 'props'>, key: string): string {
  return props.nameOf?.(key) ?? legendName(key, props.group.title);
}

/** Names, colours and values: at the pointer, else the last ones. Pressing a name hides its curve; with Alt, or by S, the others. */
export function Legend({ chart }: { readonly chart: ChartState }): JSX.Element {
  const { curves, props, range, settings } = chart;
  const { onStyle, ownerOf = (key: string): string => key, view } = props;
  const cursor = view.cursor.value;
  const x = cursor?.axis === settings.value.axis ? cursor.x : undefined;
  return (
    <div class="legend">
      {curves.value.map((curve) => {
        const { key, points } = curve;
        const shown = curveName(chart, key);
        // The whole name of a metric; a run is known by its name, not by its id.
        const name = key.endsWith(shown) ? key : shown;
        const at = x === undefined ? points.xs.length - 1 : indexAt(points.xs, x, range.value);
        const item = (
          <LegendItem
            key={key}
            curve={curve}
            at={at}
            shown={shown}
            title={legendHint(name, curve.isHidden)}
            hasSwatch={onStyle === undefined}
            onToggle={() => {
              view.hidden.value = toggled(view.hidden.value, ownerOf(key));
            }}
            onSolo={() =>
              showOnly(
                view,
                curves.peek().map((one) => ownerOf(one.key)),
                ownerOf(key),
              )
            }
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
              aria-label={t('Show {name}', { name })}
              title={t('Show {name}', { name })}
            >
              <Icon name="forward" />
            </a>
          </span>
        );
      })}
    </div>
  );
}

function legendHint(name: string, isHidden: boolean): string {
  return isHidden
    ? t('Show {name}. With Alt, or S: show it alone', { name })
    : t('Hide {name}. With Alt, or S: show it alone', { name });
}

/** Hides all of these but one; all are shown where that one is alone already. */
function showOnly({ hidden }: ChartView, keys: readonly string[], key: string): void {
  const others = keys.filter((one) => one !== key);
  const isAlone = !hidden.peek().has(key) && others.every((one) => hidden.peek().has(one));
  const next = new Set(hidden.peek());
  for (const one of keys) next.delete(one);
  if (!isAlone) for (const one of others) next.add(one);
  hidden.value = next;
}

function LegendItem(props: {
  readonly curve: ShownCurve;
  /** Index of the point whose value is shown. */
  readonly at: number;
  readonly shown: string;
  readonly hasSwatch: boolean;
  readonly title: string;
  readonly onToggle: () => void;
  readonly onSolo: () => void;
}): JSX.Element {
  const { curve, at } = props;
  const { key, color, style, points, isHidden } = curve;
  const value = points.ys[at];
  const smoothed = curve.smoothed?.values[at];
  return (
    <button
      type="button"
      class="legend-item"
      aria-pressed={!isHidden}
      title={props.title}
      onClick={(event) => (event.altKey ? props.onSolo() : props.onToggle())}
      onKeyDown={(event) => {
        if (event.key.toLowerCase() !== 's' || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        props.onSolo();
      }}
    >
      {props.hasSwatch && <Swatch color={color} dash={style.dash} />}
      <LegendName text={props.shown} />
      <span
        class={`legend-value${value !== undefined && !Number.isFinite(value) ? ' is-bad' : ''}`}
      >
        {value === undefined ? '–' : formatMetric(key, value)}
      </span>
      {smoothed !== undefined && isWorthShowing(smoothed, value) && (
        <span class="legend-smoothed quiet" title={t('Smoothed')}>
          ~{formatMetric(key, smoothed)}
        </span>
      )}
    </button>
  );
}

/** Letters at the end of a name that are never cut: the ends of names differ. */
const END_CHARS = 10;

/** A name that is cut in its middle where there is no room for it. */
export function LegendName({ text }: { readonly text: string }): JSX.Element {
  const letters = Array.from(text);
  const at = letters.length > 2 * END_CHARS ? letters.length - END_CHARS : letters.length;
  return (
    <span class="legend-name">
      <span class="legend-start ellipsis">{letters.slice(0, at).join('')}</span>
      <span>{letters.slice(at).join('')}</span>
    </span>
  );
}

/** A smoothed value that reads the same as the value itself is only noise in the legend. */
export function isWorthShowing(smoothed: number, value: number | undefined): boolean {
  return Number.isFinite(smoothed) && smoothed.toPrecision(3) !== value?.toPrecision(3);
}
