/** The inside of a panel: the legend, and the chart with its tooltip, its marks, its keys and its gestures. */
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { IconButton } from '../parts/controls.tsx';
import { formatCount, formatValue } from '../parts/format.ts';
import { t, tn } from '../parts/t.ts';
import { pannedRange, zoomedRange } from './plot/chart-range.ts';
import type { ChartState } from './chart-state.ts';
import { curveName, Legend } from './legend.tsx';
import { followGestures } from './plot/gestures.ts';
import { MarkLayer } from './mark-layer.tsx';
import { shareOf } from './plot/plot-frame.ts';
import { nextPointX } from './tooltip-rows.ts';
import { spokenTooltip, Tooltip } from './tooltip.tsx';
import 'uplot/dist/uPlot.min.css';
import './charts.css';

const ZOOM_STEP = 0.6;
const PAN_STEP = 0.25;

/** Legend and plot of a chart. */
export function ChartBody({ chart }: { readonly chart: ChartState }): JSX.Element {
  const { drawn, extent, host, pointer, props } = chart;
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    return followGestures(element, {
      frame: () => drawn.peek()?.frame,
      full: () => extent.peek(),
      zoom: chart.zoom,
      point: chart.pointAt,
    });
  }, [props.view, props.group.id]);
  return (
    <>
      <Legend chart={chart} />
      <div class="chart-frame">
        <div
          ref={host}
          class="chart"
          tabIndex={0}
          role="img"
          aria-label={describe(chart)}
          onKeyDown={(event) => {
            if (event.ctrlKey || event.metaKey || event.altKey) return;
            if (actByKey(chart, event.key, event.shiftKey)) event.preventDefault();
          }}
          onBlur={() => {
            if (pointer.peek()?.top === undefined) chart.pointAt(undefined);
          }}
        />
        <MarkLayer chart={chart} />
        <Tooltip chart={chart} />
        <ZoomButtons chart={chart} />
        <Spoken chart={chart} />
      </div>
    </>
  );
}

/** The way back from a zoom, on the chart while there is one. */
function ZoomButtons({ chart }: { readonly chart: ChartState }): JSX.Element | null {
  const { extent, past, range } = chart;
  const isAll = range.value.min <= extent.value.min && range.value.max >= extent.value.max;
  if (isAll) return null;
  return (
    <div class="zoom-buttons">
      {past.value.length > 0 && (
        <IconButton
          icon="undo"
          label={t('Zoom back')}
          title={t('Zoom back: what was shown before (Backspace)')}
          onClick={chart.zoomBack}
        />
      )}
      <IconButton
        icon="expand"
        label={t('Reset zoom')}
        title={t('Reset zoom (0, double click)')}
        onClick={() => chart.zoom(undefined)}
      />
    </div>
  );
}

/** Tells the values at the position that the keyboard has gone to. */
function Spoken({ chart }: { readonly chart: ChartState }): JSX.Element {
  const { pointer } = chart;
  const isByKey = pointer.value !== undefined && pointer.value.top === undefined;
  return (
    <span class="sr-only" role="status">
      {isByKey ? spokenTooltip(chart) : ''}
    </span>
  );
}

/** Does what a key says. False: the key says nothing. */
function actByKey(chart: ChartState, key: string, isShift: boolean): boolean {
  const { drawn, extent, pointer } = chart;
  const frame = drawn.peek()?.frame;
  if (frame === undefined) return false;
  const { isLog } = frame.x;
  const at = pointer.peek()?.x;
  const share = at === undefined ? 0.5 : shareOf(frame.x, at);
  const zoom = (factor: number): void =>
    chart.zoom(zoomedRange(frame.x, extent.peek(), factor, share, isLog));
  switch (key) {
    case '+':
    case '=':
      zoom(ZOOM_STEP);
      return true;
    case '-':
      zoom(1 / ZOOM_STEP);
      return true;
    case '0':
      chart.zoom(undefined);
      return true;
    case 'Backspace':
      chart.zoomBack();
      return true;
    case 'ArrowLeft':
    case 'ArrowRight': {
      const direction = key === 'ArrowLeft' ? -1 : 1;
      if (isShift) chart.zoom(pannedRange(frame.x, extent.peek(), direction * PAN_STEP, isLog));
      else movePointer(chart, direction);
      return true;
    }
    case 'Home':
    case 'End':
      chart.pointAt(key === 'Home' ? frame.x.min : frame.x.max);
      return true;
    case 'Escape':
      if (at === undefined) chart.zoom(undefined);
      else chart.pointAt(undefined);
      return true;
    default:
      return false;
  }
}

/** To the next point of any curve; from outside, to the end that is nearer. */
function movePointer(chart: ChartState, direction: 1 | -1): void {
  const frame = chart.drawn.peek()?.frame;
  if (frame === undefined) return;
  const from = chart.pointer.peek()?.x;
  const end = direction === 1 ? frame.x.min : frame.x.max;
  const next = from === undefined ? end : nextPointX(chart.curves.peek(), frame, from, direction);
  if (next !== undefined) chart.pointAt(next);
}

function describe(chart: ChartState): string {
  const { title } = chart.props.group;
  const parts = chart.curves.value.map(({ key: id, points, series }) => {
    // The whole name of a metric; a curve of a run is known by the name of the run.
    const key = chart.props.ownerOf === undefined ? id : curveName(chart, id);
    const last = points.ys.at(-1);
    const count = series.standsFor?.sampleCount ?? points.ys.length;
    const values = { key, count: formatCount(count) };
    return last === undefined
      ? t('{key}: no points', values)
      : `${key}: ${tn(count, '1 point', '{points} points', { points: formatCount(count) })}, ${t('last {value}', { value: formatValue(last) })}`;
  });
  const keys = t(
    'Left and right tell the values, with Shift they move, plus and minus zoom, 0 shows all, Backspace goes back.',
  );
  return `${t('Chart of {title}.', { title })} ${parts.join('; ')}. ${keys}`;
}
