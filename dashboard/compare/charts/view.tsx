/** Every metric of the chosen runs, a chart each. */
import { useSignal, useSignalEffect, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { ChartToolbar } from '../../charts/chart-toolbar.tsx';
import { isPlainAxis, metricOfAxis } from '../../charts/plot/chart-settings.ts';
import { useChartAddress } from '../../charts/chart-address.ts';
import {
  createChartView,
  rememberChartView,
  settleAxis,
  type ChartView,
} from '../../charts/chart-view.ts';
import { isGrowing } from '../../dropped/dropped-files.ts';
import { formatCount } from '../../parts/format.ts';
import { usePolling } from '../../parts/hooks.ts';
import { ErrorNotice, Waiting, Warning } from '../../parts/notices.tsx';
import { toggled } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import { MAX_COMPARED, MAX_GROUPED } from '../compare-feed.ts';
import {
  comparedColumns,
  type ComparisonState,
  type ComparisonTabProps,
} from '../comparison-state.ts';
import { BandChoice, bandText, GroupChoice, hasText, SearchField } from '../group-controls.tsx';
import { giveStyles } from '../run-styles.ts';
import { MetricSlot, type SlotProps } from './metric-slot.tsx';
import { RunLegend } from './run-legend.tsx';
import { metricSections, type MetricSection } from './sections.ts';
import './style.css';

const LIVE_POLL_MS = 2000;
const ENDED_POLL_MS = 10_000;
const GROWING_POLL_MS = 300;
/** How often curves are drawn while long runs are read. */
const SHOW_EVERY_MS = 200;
/** Charts that come on screen within this time are read together. */
const GATHER_MS = 80;

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
  const looked = useLooked(state, view);
  const { error, isRead, retry } = useReading(state, looked);
  useSignalEffect(() => {
    void state.curvesRevision.value;
    settleAxis(view, (axis) => feed.separates(axis));
  });
  void state.curvesRevision.value;
  const metrics = feed.metrics.map(({ key }) => key);
  if (error.value !== undefined && !isRead.value)
    return (
      <ErrorNotice title={t('The curves cannot be read')} error={error.value} onRetry={retry} />
    );
  if (metrics.length === 0) {
    if (!isRead.value) return <Waiting label={t('Reading the curves')} />;
    return <p class="quiet nothing">{t('These runs have no metrics.')}</p>;
  }
  return (
    <section class="comparison" aria-label={t('Charts')}>
      <h2 class="sr-only">{t('Charts')}</h2>
      {error.value !== undefined && (
        <Warning>
          {t('New points cannot be read just now. What is shown was read before; trying again.')}
        </Warning>
      )}
      <div class="compare-controls row wrap gap-12">
        <GroupChoice state={state} />
        <BandChoice state={state} />
        <SearchField state={state} label={t('Search metrics')} />
      </div>
      {isGrouped && <p class="quiet small band-text">{bandText(state.band.value)}</p>}
      <CapNote state={state} isGrouped={isGrouped} />
      <RunLegend state={state} columns={columns} view={view} />
      <ChartToolbar view={view} metrics={isGrouped ? [] : metrics} />
      <Sections
        metrics={metrics.filter((metric) => hasText(metric, state.search.value))}
        slot={{ state, columns, view, onNear: looked.set }}
      />
    </section>
  );
}

type Looked = {
  readonly metrics: Signal<ReadonlySet<string>>;
  readonly set: (metric: string, isNear: boolean) => void;
};

/** The metrics of charts that somebody is near. Those that come at the same time are one change. */
function useLooked(state: ComparisonState, view: ChartView): Looked {
  const metrics = useSignal<ReadonlySet<string>>(new Set());
  const near = useRef(new Set<string>());
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const tell = (): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const axis = metricOfAxis(view.axis.peek());
      metrics.value = new Set(axis === undefined ? near.current : [...near.current, axis]);
      state.feed.want(metrics.value);
    }, GATHER_MS);
  };
  useSignalEffect(() => {
    // A group has no values of another metric to go by.
    if (state.grouping.value !== undefined && !isPlainAxis(view.axis.value)) {
      view.axis.value = 'step';
      view.chosenAxis.value = 'step';
    }
    tell();
  });
  return {
    metrics,
    set: (metric, isNear) => {
      if (isNear) near.current.add(metric);
      else near.current.delete(metric);
      tell();
    },
  };
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

function Sections(props: {
  readonly metrics: readonly string[];
  readonly slot: SlotProps;
}): JSX.Element {
  const { metrics, slot } = props;
  const toggledIds = useSignal<ReadonlySet<string>>(new Set());
  const sections = metricSections(metrics);
  if (sections.length === 0)
    return <p class="quiet nothing">{t('No metric has this in its name.')}</p>;
  return (
    <>
      {sections.map((section) => (
        <Section
          key={section.id}
          section={section}
          slot={slot}
          isOpen={section.isMachine === toggledIds.value.has(section.id)}
          onToggle={() => {
            toggledIds.value = toggled(toggledIds.value, section.id);
          }}
        />
      ))}
    </>
  );
}

function Section(props: {
  readonly section: MetricSection;
  readonly slot: SlotProps;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}): JSX.Element {
  const { isOpen, onToggle, section, slot } = props;
  const name = section.id === '' ? t('Training and validation') : section.id;
  return (
    <section class="chart-section" aria-label={name}>
      <h3>
        <button type="button" class="section-toggle" aria-expanded={isOpen} onClick={onToggle}>
          <span class="section-arrow" aria-hidden="true" />
          {name}
          <span class="quiet">
            {' '}
            {formatCount(section.metrics.length)}
            <span class="sr-only"> {tn(section.metrics.length, 'chart', 'charts')}</span>
          </span>
        </button>
      </h3>
      {isOpen && (
        <div class="chart-grid compare-grid">
          {section.metrics.map((metric) => (
            <MetricSlot key={metric} metric={metric} {...slot} />
          ))}
        </div>
      )}
    </section>
  );
}
