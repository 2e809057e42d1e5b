/** One metric of several runs in one chart. */
import { useComputed, useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { isQuarkError, type Store } from 'quark-sdk';
import { ChartToolbar } from '../charts/chart-toolbar.tsx';
import { useChartAddress } from '../charts/chart-address.ts';
import { isPlainAxis, metricOfAxis } from '../charts/plot/chart-settings.ts';
import { plainText } from '../parts/address-text.ts';
import { useAddressed } from '../parts/addressed.ts';
import { createChartView, settleAxis, showAll, type ChartView } from '../charts/chart-view.ts';
import type { MetricGroup } from '../charts/group.ts';
import type { PanelContext } from '../charts/chart-state.ts';
import { Panel } from '../charts/panel.tsx';
import { isGrowing } from '../dropped/dropped-files.ts';
import { usePolling } from '../parts/hooks.ts';
import { ErrorNotice, errorText, Warning } from '../parts/notices.tsx';
import { hrefOf } from '../route/route.ts';
import type { XAxis } from '../series/series.ts';
import { CompareFeed, MAX_COMPARED } from './compare-feed.ts';
import { chooseStyle, giveStyles, styleOfRun } from './run-styles.ts';
import './style.css';
import { t } from '../parts/t.ts';

const POLL_MS = 3000;
const GROWING_POLL_MS = 300;
/** How often curves are drawn while long runs are read. */
const SHOW_EVERY_MS = 200;
/** A list that is longer is cut: nobody picks from ten thousand metrics. */
const MAX_LISTED_METRICS = 1000;

type ComparisonProps = { readonly store: Store; readonly runIds: readonly string[] };

/** One metric of several runs in one chart, with its controls. */
export function Comparison({ store, runIds }: ComparisonProps): JSX.Element {
  const text = runIds.join();
  const feed = useMemo(() => new CompareFeed(store), [store]);
  const view = useMemo(() => createChartView(), []);
  const revision = useSignal(0);
  const wanted = useSignal('');
  useAddressed('metric', wanted, plainText(), 'push');
  useChartAddress(view);
  useMemo(() => giveStyles(runIds.slice(0, MAX_COMPARED)), [text]);
  useEffect(() => feed.show(runIds), [feed, text]);
  const axisMetric = useChosenMetrics(feed, view, wanted.value);
  const { error, isRead, retry } = usePolling(
    async () => {
      let shownAtMs = performance.now();
      const hasNew = await feed.poll(() => {
        if (performance.now() - shownAtMs < SHOW_EVERY_MS) return;
        shownAtMs = performance.now();
        revision.value += 1;
      });
      if (hasNew) revision.value += 1;
    },
    () => (isGrowing(store) ? GROWING_POLL_MS : POLL_MS),
    [feed, text, wanted.value, axisMetric],
  );
  void revision.value;
  if (error.value !== undefined && !isRead.value)
    return (
      <ErrorNotice title={t('The runs cannot be compared')} error={error.value} onRetry={retry} />
    );
  if (feed.metric === undefined)
    return (
      <div class="nothing" aria-busy={!isRead.value}>
        <p>{emptyText(feed, isRead.value)}</p>
        <Remarks feed={feed} asked={runIds.length} revision={revision} />
      </div>
    );
  return (
    <section class="comparison" aria-label={t('Comparison')}>
      <h2 class="sr-only">{t('Curves')}</h2>
      {error.value !== undefined && (
        <Warning>
          {t('New points cannot be read just now. What is shown was read before; trying again.')}
        </Warning>
      )}
      <MetricChoice
        feed={feed}
        onChoose={(metric) => {
          wanted.value = metric;
          showAll(view);
        }}
      />
      <ChartToolbar view={view} isSingle metrics={feed.metrics.map(({ key }) => key)} />
      <ComparedCurves feed={feed} metric={feed.metric} view={view} revision={revision} />
      <Remarks feed={feed} asked={runIds.length} revision={revision} {...axisOf(view)} />
    </section>
  );
}

/** Has the metric read that is wanted, and beside it that of the axis. Gives that of the axis; undefined on other axes. */
function useChosenMetrics(feed: CompareFeed, view: ChartView, wanted: string): string | undefined {
  useEffect(() => feed.choose(wanted === '' ? undefined : wanted), [feed, wanted]);
  const axisMetric = metricOfAxis(view.axis.value);
  const { metric } = feed;
  useEffect(() => {
    if (axisMetric !== undefined && metric !== undefined) feed.want(new Set([metric, axisMetric]));
  }, [feed, wanted, axisMetric, metric]);
  return axisMetric;
}

/** The axis of the chart, where it is not that of a metric. */
function axisOf({ axis }: ChartView): { axis?: XAxis } {
  return isPlainAxis(axis.value) ? { axis: axis.value } : {};
}

const AXIS_WORDS: Readonly<Record<XAxis, () => string>> = {
  step: () => t('steps'),
  time: () => t('times'),
  epoch: () => t('epochs'),
  wall: () => t('times'),
};

function emptyText(feed: CompareFeed, isRead: boolean): string {
  if (!isRead) return t('Reading the runs…');
  return feed.runIds.length === 0
    ? t('None of these runs is here.')
    : t('These runs have no metrics.');
}

function MetricChoice(props: {
  readonly feed: CompareFeed;
  readonly onChoose: (metric: string) => void;
}): JSX.Element {
  const { feed } = props;
  const { length: total } = feed.runIds;
  const metrics = feed.metrics.slice(0, MAX_LISTED_METRICS);
  return (
    <label class="metric-choice inline gap-10 muted">
      <span>{t('Metric')}</span>
      <select
        class="input"
        value={feed.metric}
        onChange={(event) => props.onChoose(event.currentTarget.value)}
      >
        {metrics.map(({ key, runCount }) => (
          <option key={key} value={key}>
            {runCount === total
              ? key
              : t('{key} ({count} of {total} runs)', { key, count: runCount, total })}
          </option>
        ))}
      </select>
    </label>
  );
}

function ComparedCurves(props: {
  readonly feed: CompareFeed;
  readonly metric: string;
  readonly view: ChartView;
  readonly revision: ReadonlySignal<number>;
}): JSX.Element {
  const { feed, metric, view } = props;
  const context = useComputed((): PanelContext => ({
    revision: props.revision.value,
    originOf: (runId) => feed.originOf(runId),
    extentOf: (axis) => feed.extent(axis),
  }));
  useSignalEffect(() => {
    void props.revision.value;
    settleAxis(view, (axis) => feed.separates(axis));
  });
  // The feed is one object all along: without this, runs that come later would be drawn with the next metric only.
  void props.revision.value;
  const shown = feed.runIds.filter((runId) => feed.get(runId) !== undefined);
  const group: MetricGroup = { id: 'compare', title: metric, keys: shown };
  return (
    <div class="chart-grid single-chart">
      <Panel
        group={group}
        series={{ get: (runId) => feed.get(runId) }}
        axisMetricOf={(runId, name) => feed.get(runId, name)}
        view={view}
        context={context}
        nameOf={(runId) => feed.nameOf(runId)}
        styleOf={styleOfRun}
        onStyle={chooseStyle}
        hrefOf={(runId) => hrefOf({ kind: 'run', runId })}
      />
    </div>
  );
}

/** What the chart does not show. */
function Remarks(props: {
  readonly feed: CompareFeed;
  readonly asked: number;
  readonly revision: ReadonlySignal<number>;
  /** The axis of the chart, if there is one. */
  readonly axis?: XAxis;
}): JSX.Element | null {
  void props.revision.value;
  const { asked, axis, feed } = props;
  const without = feed.runIds.filter((runId) => feed.get(runId) === undefined);
  const lines: string[] = [];
  if (asked > MAX_COMPARED)
    lines.push(
      t('Only the first {most} of {count} runs are shown.', { most: MAX_COMPARED, count: asked }),
    );
  if (feed.metric !== undefined && without.length > 0)
    lines.push(
      t('Without {metric}: {runs}.', {
        metric: feed.metric,
        runs: without.map((runId) => feed.nameOf(runId)).join(', '),
      }),
    );
  const notSeparated =
    axis === undefined ? [] : feed.runIds.filter((runId) => feed.isOneLine(runId, axis));
  if (axis !== undefined && notSeparated.length > 0)
    lines.push(
      t('Without {axis}, so not to be seen on this axis: {runs}.', {
        axis: AXIS_WORDS[axis](),
        runs: notSeparated.map((runId) => feed.nameOf(runId)).join(', '),
      }),
    );
  for (const [runId, error] of feed.failures)
    lines.push(
      isQuarkError(error, 'run_not_found')
        ? t('There is no run {id} here.', { id: runId })
        : `${runId}: ${errorText(error)}`,
    );
  if (lines.length === 0) return null;
  return (
    <ul class="remarks quiet medium">
      {lines.map((line) => (
        <li key={line} class="breakable">
          {line}
        </li>
      ))}
    </ul>
  );
}
