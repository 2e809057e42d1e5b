/** Every metric of the chosen runs, a chart each, in the sections, views and settings that the charts of a run have. */
import {
  useComputed,
  useSignal,
  useSignalEffect,
  type ReadonlySignal,
  type Signal,
} from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { writingRefusal } from '../../changes/write-rights.ts';
import { useChartAddress } from '../../charts/chart-address.ts';
import type { PanelContext } from '../../charts/chart-state.ts';
import {
  createChartView,
  rememberChartView,
  settleAxis,
  type ChartView,
} from '../../charts/chart-view.ts';
import { isGrowing } from '../../dropped/dropped-files.ts';
import { usePolling } from '../../parts/hooks.ts';
import { ErrorNotice, Waiting, Warning } from '../../parts/notices.tsx';
import { t } from '../../parts/t.ts';
import { hrefOf } from '../../route/route.ts';
import type { WorkspaceKind } from '../../workspace/workspace-state.ts';
import { Workspace } from '../../workspace/workspace.tsx';
import { MAX_COMPARED, MAX_GROUPED } from '../compare-feed.ts';
import {
  comparedColumns,
  type ComparedColumn,
  type ComparisonState,
  type ComparisonTabProps,
} from '../comparison-state.ts';
import { BandChoice, bandText, GroupChoice } from '../group-controls.tsx';
import { giveStyles } from '../run-styles.ts';
import { ComparedCurves } from './compared-curves.ts';
import { comparedCurve, curveKeys } from './curve-keys.ts';
import { useComparedMarks } from './compared-marks.ts';
import { RunLegend } from './run-legend.tsx';
import './style.css';

const LIVE_POLL_MS = 2000;
const ENDED_POLL_MS = 10_000;
const GROWING_POLL_MS = 300;
/** How often curves are drawn while long runs are read. */
const SHOW_EVERY_MS = 200;
/** Charts that come on screen within this time are read together. */
const GATHER_MS = 80;

/** Of several runs, the loss of training and that of validation have a chart each. */
const OF_COMPARISONS: WorkspaceKind = {
  id: 'comparison',
  empty: { name: 'view', sections: [], joinsSplits: false },
};

/** The tab. */
export default function ChartsView({ state }: ComparisonTabProps): JSX.Element {
  const { feed, runs } = state;
  const view = useMemo(() => createChartView(), []);
  useChartAddress(view);
  useSignalEffect(() => rememberChartView(view));
  const columns = comparedColumns(state).slice(0, MAX_COMPARED);
  const isGrouped = state.grouping.value !== undefined;
  const shown = columns.map(({ key }) => key).join();
  useEffect(() => giveStyles(columns.map(({ key }) => key)), [shown]);
  useEffect(
    () => feed.show(runs.runIds, isGrouped ? MAX_GROUPED : MAX_COMPARED),
    [feed, isGrouped],
  );
  const curves = useMemo(() => new ComparedCurves(state), [state]);
  const looked = useLooked(state, curves);
  const { error, isRead, retry } = useReading(state, looked);
  useSignalEffect(() => {
    void state.curvesRevision.value;
    settleAxis(view, (axis) => feed.separates(axis));
  });
  const metrics = useMetrics(state);
  if (error.value !== undefined && !isRead.value)
    return (
      <ErrorNotice title={t('The curves cannot be read')} error={error.value} onRetry={retry} />
    );
  if (metrics.value.length === 0) {
    if (!isRead.value) return <Waiting label={t('Reading the curves')} />;
    return <p class="quiet nothing">{t('These runs have no metrics.')}</p>;
  }
  return (
    <section class="comparison" aria-label={t('Charts')}>
      {error.value !== undefined && (
        <Warning>
          {t('New points cannot be read just now. What is shown was read before; trying again.')}
        </Warning>
      )}
      <div class="compare-controls row wrap gap-12">
        <GroupChoice state={state} />
        <BandChoice state={state} />
      </div>
      {isGrouped && <p class="quiet small band-text">{bandText(state.band.value)}</p>}
      <CapNote state={state} isGrouped={isGrouped} />
      <RunLegend state={state} columns={columns} view={view} />
      <ComparedCharts
        state={state}
        columns={columns}
        curves={curves}
        view={view}
        metrics={metrics}
        onNear={looked.onNear}
      />
    </section>
  );
}

/** The metrics of the runs: the same list as long as none comes. */
function useMetrics({ curvesRevision, feed }: ComparisonState): ReadonlySignal<readonly string[]> {
  const text = useComputed(() => {
    void curvesRevision.value;
    return JSON.stringify(feed.metrics.map(({ key }) => key));
  });
  return useComputed((): readonly string[] => JSON.parse(text.value));
}

type ChartsProps = {
  readonly state: ComparisonState;
  readonly columns: readonly ComparedColumn[];
  readonly curves: ComparedCurves;
  readonly view: ChartView;
  readonly metrics: ReadonlySignal<readonly string[]>;
  readonly onNear: Looked['onNear'];
};

/** The charts: each has a curve of each run, or of each group of runs. */
function ComparedCharts(props: ChartsProps): JSX.Element {
  const { columns, curves, metrics, onNear, state, view } = props;
  const { band, curvesRevision, grouping, recordsRevision, runs, store } = state;
  curves.show(columns);
  const isGrouped = grouping.value !== undefined;
  const owners = columns.map(({ key }) => key);
  const several = useMemo(
    () => ({ keysOf: (keys: readonly string[]) => curveKeys(keys, owners), onNear }),
    [curves, owners.join()],
  );
  const context = useComputed((): PanelContext => {
    // Another band or other groups, and the runs of a group, are other curves.
    void [band.value, grouping.value, recordsRevision.value];
    return {
      revision: curvesRevision.value,
      originOf: (key) => curves.originOf(key),
      extentOf: (axis, keys) => curves.extentOf(axis, keys),
    };
  });
  const { bands, marks } = useComparedMarks(state, columns, view);
  return (
    <div class="compare-charts">
      <Workspace
        store={store}
        project={runs.summaries[0]?.run.projectName ?? ''}
        kind={OF_COMPARISONS}
        charts={view}
        series={curves}
        several={several}
        keys={metrics}
        context={context}
        search={state.search}
        drawing={{
          bands,
          marks,
          axisMetricOf: (key, metric) => curves.axisMetricOf(key, metric),
          nameOf: (key) => curves.nameOf(key),
          ownerOf: (key) => comparedCurve(key).owner,
          spreadOf: (key, axis) => curves.spreadOf(key, axis),
          styleOf: (key) => curves.styleOf(key),
          ...(isGrouped
            ? {}
            : { hrefOf: (key) => hrefOf({ kind: 'run', runId: comparedCurve(key).owner }) }),
        }}
        refusal={writingRefusal(store, t('save views'), runs.summaries[0]?.run.projectName)}
      />
    </div>
  );
}

type Looked = {
  readonly metrics: Signal<ReadonlySet<string>>;
  readonly onNear: (chart: object, keys: readonly string[] | undefined) => void;
};

/** The metrics of charts that somebody is near. Those that come at the same time are one change. */
function useLooked(state: ComparisonState, curves: ComparedCurves): Looked {
  const metrics = useSignal<ReadonlySet<string>>(new Set());
  const near = useRef(new Map<object, readonly string[]>());
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const onNear = useMemo(
    () =>
      (chart: object, keys: readonly string[] | undefined): void => {
        if (keys === undefined) near.current.delete(chart);
        else near.current.set(chart, keys);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => {
          metrics.value = new Set(curves.metricsOf([...near.current.values()].flat()));
          state.feed.want(metrics.value);
        }, GATHER_MS);
      },
    [state, curves],
  );
  return { metrics, onNear };
}

function useReading(state: ComparisonState, looked: Looked): ReturnType<typeof usePolling> {
  const { curvesRevision, feed, runs, store } = state;
  return usePolling(
    async () => {
      let shownAtMs = performance.now();
      const hasNew = await feed.poll(() => {
        if (performance.now() - shownAtMs < SHOW_EVERY_MS) return;
        shownAtMs = performance.now();
        curvesRevision.value += 1;
      });
      if (hasNew) curvesRevision.value += 1;
    },
    () => {
      if (isGrowing(store)) return GROWING_POLL_MS;
      return runs.isLive ? LIVE_POLL_MS : ENDED_POLL_MS;
    },
    [state, looked.metrics.value, state.grouping.value === undefined],
  );
}

/** Runs and groups beyond those that a chart can show. */
function CapNote(props: {
  readonly state: ComparisonState;
  readonly isGrouped: boolean;
}): JSX.Element | null {
  const { isGrouped, state } = props;
  const total = state.runs.summaries.length;
  const all = comparedColumns(state).length;
  const lines = [
    ...(isGrouped && total > MAX_GROUPED
      ? [t('Means are of the first {most} of {count} runs.', { most: MAX_GROUPED, count: total })]
      : []),
    ...(isGrouped && all > MAX_COMPARED
      ? [t('Curves of the first {most} of {count} groups.', { most: MAX_COMPARED, count: all })]
      : []),
    ...(!isGrouped && all > MAX_COMPARED
      ? [
          t(
            'Curves of the first {most} of {count} runs: more cannot be told apart. Group them, or see all of them on parallel axes and in the scatter.',
            { most: MAX_COMPARED, count: all },
          ),
        ]
      : []),
  ];
  if (lines.length === 0) return null;
  return <p class="quiet small cap-note">{lines.join(' ')}</p>;
}
