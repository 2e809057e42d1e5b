/** Room for the chart of one metric, which is there while somebody is near it. */
import { useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { ChartView } from '../../charts/chart-view.ts';
import type { MetricGroup } from '../../charts/group.ts';
import { isPlainAxis } from '../../charts/plot/chart-settings.ts';
import { Panel } from '../../charts/panel.tsx';
import type { PanelContext } from '../../charts/chart-state.ts';
import { useOnScreen } from '../../parts/hooks.ts';
import { hrefOf } from '../../route/route.ts';
import { SeriesSet, type SampleSeries } from '../../series/series.ts';
import type { ComparedColumn, ComparisonState } from '../comparison-state.ts';
import { styleOfRun } from '../run-styles.ts';
import { GroupCurves, type GroupCurve } from './group-curves.ts';

const NO_EPOCHS = new SeriesSet().epochScale;

/** What charts of metrics have in common. */
export type SlotProps = {
  readonly state: ComparisonState;
  readonly columns: readonly ComparedColumn[];
  readonly view: ChartView;
  /** Called with true when the metric has to be read, and with false when it has not. */
  readonly onNear: (metric: string, isNear: boolean) => void;
};

/** The chart, or room for it. */
export function MetricSlot(props: SlotProps & { readonly metric: string }): JSX.Element {
  const { metric, onNear } = props;
  const frame = useRef<HTMLDivElement>(null);
  const isNear = useSignal(false);
  const height = useRef(0);
  useOnScreen(
    frame,
    (now) => {
      if (!now) height.current = frame.current?.offsetHeight ?? 0;
      isNear.value = now;
    },
    '500px',
  );
  useEffect(() => {
    if (!isNear.value) return undefined;
    onNear(metric, true);
    return () => onNear(metric, false);
  }, [metric, isNear.value]);
  return (
    <div
      ref={frame}
      class="metric-slot"
      style={isNear.value || height.current === 0 ? undefined : { height: `${height.current}px` }}
    >
      {isNear.value && <MetricPanel {...props} />}
    </div>
  );
}

function MetricPanel(props: SlotProps & { readonly metric: string }): JSX.Element {
  const { columns, metric, state, view } = props;
  const { feed, grouping } = state;
  void state.curvesRevision.value;
  const curves = useMemo(() => new GroupCurves(feed), [feed]);
  const isGrouped = grouping.value !== undefined;
  const members = new Map(columns.map(({ key, runIds }) => [key, runIds]));
  const groupOf = (key: string): GroupCurve | undefined =>
    curves.get(key, {
      metric,
      runIds: members.get(key) ?? [],
      axis: isPlainAxis(view.axis.value) ? view.axis.value : 'step',
      kind: state.band.value,
    });
  const series = {
    get: (key: string): SampleSeries | undefined =>
      isGrouped ? groupOf(key)?.series : feed.get(key, metric),
  };
  const names = new Map(columns.map(({ key, name }) => [key, name]));
  const context = useContext(state, metric);
  const keys = columns.map(({ key }) => key).filter((key) => series.get(key) !== undefined);
  const group: MetricGroup = { id: metric, title: metric, keys };
  return (
    <Panel
      key={isGrouped ? `${grouping.value} ${state.band.value} ${view.axis.value}` : 'runs'}
      group={group}
      series={series}
      spreadOf={(key) => (isGrouped ? groupOf(key)?.band : undefined)}
      axisMetricOf={(runId, name) => feed.get(runId, name)}
      view={view}
      context={context}
      nameOf={(key) => names.get(key) ?? key}
      styleOf={styleOfRun}
      {...(isGrouped ? {} : { hrefOf: (runId: string) => hrefOf({ kind: 'run', runId }) })}
    />
  );
}

function useContext(state: ComparisonState, metric: string): ReadonlySignal<PanelContext> {
  const { curvesRevision, feed, grouping } = state;
  return useComputed((): PanelContext => {
    const isGrouped = grouping.value !== undefined;
    return {
      revision: curvesRevision.value,
      originOf: (runId) =>
        isGrouped ? { startMs: 0, scale: NO_EPOCHS } : feed.originOf(runId, metric),
      extentOf: (axis, keys) => feed.extent(axis, keys === undefined ? undefined : metric),
    };
  });
}
