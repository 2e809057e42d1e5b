/** The inside of a panel: the legend, and the chart with its keys. */
import type { JSX } from 'preact';
import { formatCount, formatValue } from '../parts/format.ts';
import { pannedRange, zoomedRange } from './chart-range.ts';
import type { ChartState } from './chart-state.ts';
import { zoomOf, zoomTo, type ChartView } from './chart-view.ts';
import { legendName } from './group.ts';
import { Legend, type ShownCurve } from './legend.tsx';
import type { XRange } from './reduce.ts';

const ZOOM_STEP = 0.6;
const PAN_STEP = 0.25;

/** Legend and plot of a chart. */
export function ChartBody({ chart }: { readonly chart: ChartState }): JSX.Element {
  const { curves, extent, host, props, range } = chart;
  const { group, view } = props;
  return (
    <>
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
    </>
  );
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
