/** A chart of a report, frozen or live: the chart that runs have, with its legend, zoom and tooltip. */
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { ReportCurve } from 'quark-sdk/workspace';
import type { PanelContext } from '../charts/chart-state.ts';
import { createChartView } from '../charts/chart-view.ts';
import type { MetricGroup } from '../charts/group.ts';
import { Panel } from '../charts/panel.tsx';
import { t } from '../parts/t.ts';
import { NO_EPOCHS } from '../series/epoch-scale.ts';
import { SeriesSet } from '../series/series.ts';
import { CURVE_STYLES, type CurveStyle } from '../theme/curve-styles.ts';

const ORIGIN = { startMs: 0, scale: NO_EPOCHS };
const FIRST_STYLE: CurveStyle = { color: 0, dash: 0 };

/** The curves of a block by step. Runs may have one name: a curve is told by its position in the query. */
export function ReportChart(props: {
  readonly title: string;
  readonly curves: readonly ReportCurve[];
}): JSX.Element {
  const { curves, title } = props;
  const view = useMemo(createChartView, []);
  const series = useMemo(() => seriesOf(curves), [curves]);
  const revision = useSignal(0);
  const shown = useSignal(series);
  useEffect(() => {
    shown.value = series;
    revision.value += 1;
  }, [series]);
  const context = useComputed((): PanelContext => ({
    revision: revision.value,
    originOf: () => ORIGIN,
    extentOf: (axis) => shown.value.extent(axis, 0),
  }));
  const keys = curves.map((_, at) => String(at));
  const group = useMemo((): MetricGroup => ({ id: title, title, keys }), [title, keys.length]);
  if (curves.length === 0)
    return <p class="nothing">{t('No run of the query has values of this metric.')}</p>;
  return (
    <Panel
      group={group}
      series={series}
      view={view}
      context={context}
      nameOf={(key) => curves[Number(key)]?.label ?? key}
      styleOf={(key) => CURVE_STYLES[Number(key) % CURVE_STYLES.length] ?? FIRST_STYLE}
    />
  );
}

function seriesOf(curves: readonly ReportCurve[]): SeriesSet {
  const set = new SeriesSet();
  for (const [at, { steps, values }] of curves.entries())
    for (const [point, value] of values.entries())
      set.push(String(at), value, steps[point] ?? Number.NaN, Number.NaN, Number.NaN);
  return set;
}
