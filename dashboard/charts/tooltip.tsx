/** The tooltip at the pointer: the values of the curves at one position, and dots where they are. */
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { formatCount, formatElapsed, formatMetric } from '../parts/format.ts';
import { t, tn } from '../parts/t.ts';
import { Swatch } from './curve-style.tsx';
import type { ChartPointer, ChartState } from './chart-state.ts';
import { curveName, isWorthShowing, LegendName } from './legend.tsx';
import type { Drawing } from './metric-chart.ts';
import { axisPosition, wallText } from './plot/axis-ticks.ts';
import { placeTooltip, type Spot } from './plot/place-tooltip.ts';
import { leftOf, topOf } from './plot/plot-frame.ts';
import { tooltipRows, type TooltipRow, type TooltipRows } from './tooltip-rows.ts';

/** Curves that are told; of more those nearest to the pointer. */
const MOST_ROWS = 8;
/** Between the tooltip and the edge of the window. */
const EDGE_PX = 6;

/** What is told while somebody points at the chart; nothing otherwise. */
export function Tooltip({ chart }: { readonly chart: ChartState }): JSX.Element | null {
  const { curves, drawn, pointer } = chart;
  const found = useComputed(() => {
    if (pointer.value === undefined || drawn.value === undefined) return undefined;
    const shown = curves.value.filter(({ isHidden }) => !isHidden);
    const rows = tooltipRows(shown, drawn.value.frame, pointer.value, MOST_ROWS);
    return rows.rows.length === 0 ? undefined : rows;
  });
  if (found.value === undefined || pointer.value === undefined || drawn.value === undefined)
    return null;
  return (
    <>
      <Dots rows={found.value.rows} drawing={drawn.value} />
      <TooltipBox chart={chart} found={found.value} pointer={pointer.value} drawing={drawn.value} />
    </>
  );
}

function Dots(props: {
  readonly rows: readonly TooltipRow[];
  readonly drawing: Drawing;
}): JSX.Element {
  const { frame } = props.drawing;
  return (
    <div class="tooltip-dots" aria-hidden="true">
      {props.rows
        .filter(({ top }) => top >= frame.top && top <= frame.top + frame.height)
        .map(({ curve, top, x }) => (
          <span
            key={curve.key}
            style={{
              transform: `translate(${leftOf(frame, x)}px, ${top}px)`,
              borderColor: curve.color,
            }}
          />
        ))}
    </div>
  );
}

function TooltipBox(props: {
  readonly chart: ChartState;
  readonly found: TooltipRows;
  readonly pointer: ChartPointer;
  readonly drawing: Drawing;
}): JSX.Element {
  const { chart, drawing, found, pointer } = props;
  const box = useRef<HTMLDivElement>(null);
  const before = useRef<Spot | undefined>(undefined);
  useLayoutEffect(() => {
    const { current } = box;
    const host = chart.host.current;
    if (current === null || host === null) return;
    const at = host.getBoundingClientRect();
    const { frame } = drawing;
    const spot = placeTooltip({
      pointer: {
        left: leftOf(frame, pointer.x),
        top: pointer.top ?? found.rows[0]?.top ?? frame.top,
      },
      width: current.offsetWidth,
      height: current.offsetHeight,
      bounds: {
        left: EDGE_PX - at.left,
        top: EDGE_PX - at.top,
        right: document.documentElement.clientWidth - EDGE_PX - at.left,
        bottom: innerHeight - EDGE_PX - at.top,
      },
      curves: spotsOf(drawing),
      before: before.current,
    });
    before.current = spot;
    current.style.transform = `translate(${Math.round(spot.left)}px, ${Math.round(spot.top)}px)`;
  });
  const { axis } = drawing.model.settings;
  return (
    <div ref={box} class="chart-tooltip floating" role="presentation">
      <p class="tooltip-head">{headText(found, pointer, chart)}</p>
      {bandText(drawing, pointer) !== '' && <p class="quiet">{bandText(drawing, pointer)}</p>}
      <table>
        <tbody>
          {found.rows.map((row) => (
            <Row key={row.curve.key} row={row} name={curveName(chart, row.curve.key)} />
          ))}
        </tbody>
      </table>
      {found.hiddenCount > 0 && (
        <p class="quiet">{tn(found.hiddenCount, '{count} more curve', '{count} more curves')}</p>
      )}
      {axis !== 'step' && <p class="quiet">{stepText(found)}</p>}
    </div>
  );
}

function Row({ row, name }: { readonly row: TooltipRow; readonly name: string }): JSX.Element {
  const { curve, pixel, smoothed, value } = row;
  const isBad = !Number.isFinite(value);
  return (
    <tr>
      <td class="tooltip-name">
        <Swatch color={curve.color} dash={curve.style.dash} />
        <LegendName text={name} />
      </td>
      <td class={isBad ? 'tooltip-value is-bad' : 'tooltip-value'}>
        {formatMetric(curve.key, value)}
      </td>
      <td class="quiet tooltip-note">
        {smoothed !== undefined && isWorthShowing(smoothed, value) && (
          <span>~{formatMetric(curve.key, smoothed)}</span>
        )}
        {pixel !== undefined && (
          <span>
            {t('{min} to {max} of {count}', {
              min: formatMetric(curve.key, pixel.min),
              max: formatMetric(curve.key, pixel.max),
              count: formatCount(pixel.count),
            })}
          </span>
        )}
      </td>
    </tr>
  );
}

/** `step 1,200 · 0:42`, or the position on another axis. */
function headText({ rows }: TooltipRows, { x }: ChartPointer, chart: ChartState): string {
  const { axis } = chart.settings.value;
  const nearest = nearestRow(rows, x);
  const at = axisPosition(nearest?.x ?? x, axis);
  if (nearest === undefined || axis !== 'step') return at;
  const { startMs } = chart.props.context.value.originOf(nearest.curve.key);
  const timeMs = sampleOf(nearest)?.timeMs ?? Number.NaN;
  if (Number.isNaN(timeMs)) return at;
  return `${at} · ${formatElapsed((timeMs - startMs) / 1000)} · ${wallText(timeMs / 1000)}`;
}

/** The bands that the pointer is in, such as the phase of the training. */
function bandText({ model }: Drawing, { x }: ChartPointer): string {
  return (model.bands ?? [])
    .filter(({ end, label, start }) => label !== '' && start <= x && x < end)
    .map(({ label }) => label)
    .join(' · ');
}

/** The step of the point that is told, on axes that show none. */
function stepText({ rows }: TooltipRows): string {
  const step = rows[0] === undefined ? undefined : sampleOf(rows[0])?.step;
  return step === undefined || Number.isNaN(step) ? '' : axisPosition(step, 'step');
}

function nearestRow(rows: readonly TooltipRow[], x: number): TooltipRow | undefined {
  return rows.toSorted((a, b) => Math.abs(a.x - x) - Math.abs(b.x - x))[0];
}

/** Step and time of the point that a row tells. */
export function sampleOf({
  curve,
  x,
}: Pick<TooltipRow, 'curve' | 'x'>): { step: number; timeMs: number } | undefined {
  const { points, series } = curve;
  const index = points.xs.indexOf(x);
  const row = points.rows?.[index] ?? index;
  const step = series.steps[row];
  const timeMs = series.timesMs[row];
  return step === undefined || timeMs === undefined ? undefined : { step, timeMs };
}

/** Where the curves are, a spot for each few pixels. */
function spotsOf({ data, frame }: Drawing): readonly Spot[] {
  return data.curves.flatMap(({ line, points }) => {
    const { xs, ys } = line ?? points;
    const every = Math.max(1, Math.floor(xs.length / 200));
    return ys.flatMap((y, at): Spot[] => {
      if (y === null || at % every !== 0) return [];
      return [{ left: leftOf(frame, xs[at] ?? 0), top: topOf(frame, y) }];
    });
  });
}

/** What the tooltip tells, as a sentence for those who do not see it. */
export function spokenTooltip(chart: ChartState): string {
  const { curves, drawn, pointer } = chart;
  if (pointer.value === undefined || drawn.value === undefined) return '';
  const found = tooltipRows(curves.value, drawn.value.frame, pointer.value, MOST_ROWS);
  const values = found.rows.map(
    ({ curve, value }) => `${curveName(chart, curve.key)} ${formatMetric(curve.key, value)}`,
  );
  const band = bandText(drawn.value, pointer.value);
  return [headText(found, pointer.value, chart), ...(band === '' ? [] : [band]), ...values].join(
    ', ',
  );
}
