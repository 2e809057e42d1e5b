/** What the analyzers say of a run: its health, its phases over the loss, and what was found. */
import { useComputed, useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { PhaseName } from 'quark-sdk';
import { seriesColor } from '../../theme/palette.ts';
import { analyzeInWorker } from '../../dropped/analysis.ts';
import { widenedRange } from '../../charts/chart-range.ts';
import { createChartView, type ChartView } from '../../charts/chart-view.ts';
import { formatCount } from '../../parts/format.ts';
import { groupMetrics } from '../../charts/group.ts';
import type { XRange } from '../../charts/reduce.ts';
import type { RunAnalysis } from '../../worker/run-analysis.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import type { ChartBand } from '../../charts/metric-chart.ts';
import { Panel, type PanelContext } from '../../charts/panel.tsx';
import { AlertList } from './alert-list.tsx';
import { Icon } from '../../parts/icons.tsx';
import { ErrorNotice, textOf } from '../../parts/parts.tsx';
import type { TabProps } from '../feed/tab.ts';
import { askingStamp, useAsked } from '../feed/use-asked.ts';

/** The "Analysis" tab. */
export default function AnalysisView({ feed, watch }: TabProps): JSX.Element {
  const { store } = feed.reader;
  const { answer, error, retry } = useAsked(
    () => analyzeInWorker(store, feed.run.id),
    feed,
    askingStamp(feed, watch.nowMs.value),
  );
  if (answer.value === undefined) {
    if (error.value === undefined)
      return <div class="heat-waiting" aria-busy="true" aria-label="Analysing the run" />;
    return <ErrorNotice title="This run cannot be analysed" error={error.value} onRetry={retry} />;
  }
  return (
    <>
      {error.value !== undefined && (
        <p class="strip strip-warning" role="status">
          <Icon name="warning" /> It could not be analysed again: {textOf(error.value)}
        </p>
      )}
      <Findings feed={feed} analysis={answer.value} revision={watch.revision} />
    </>
  );
}

function Findings(props: {
  readonly feed: RunFeed;
  readonly analysis: RunAnalysis;
  readonly revision: ReadonlySignal<number>;
}): JSX.Element {
  const { feed, analysis } = props;
  const marked = useSignal<XRange | undefined>(undefined);
  const view = useMemo(() => {
    const made = createChartView();
    made.smoothing.value = 0;
    return made;
  }, [feed]);
  view.axis.value = analysis.phaseAxis;
  const show = (range: XRange): void => {
    marked.value = range;
    const extent = feed.series.extent(analysis.phaseAxis, 0) ?? range;
    view.zoom.value = widenedRange(range, extent);
    document.querySelector('.analysis-chart')?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <section class="analysis" aria-label="Analysis">
      <Health analysis={analysis} />
      <PhaseChart {...props} view={view} marked={marked} onShow={show} />
      <Alerts analysis={analysis} onShow={show} />
    </section>
  );
}

function Health({ analysis }: { readonly analysis: RunAnalysis }): JSX.Element {
  return (
    <dl class="health" aria-label="Health">
      {analysis.healthScores.map(({ scoreKey, score, status, summary }) => (
        <div key={scoreKey} class={`health-score is-${status}`} title={summary}>
          <dt>{scoreKey}</dt>
          <dd>
            <strong>{Math.round(score)}</strong>
            <span class="health-status">{status}</span>
            <span class="health-bar" aria-hidden="true">
              <span style={{ width: `${score}%` }} />
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function PhaseChart(props: {
  readonly feed: RunFeed;
  readonly analysis: RunAnalysis;
  readonly revision: ReadonlySignal<number>;
  readonly view: ChartView;
  readonly marked: Signal<XRange | undefined>;
  readonly onShow: (range: XRange) => void;
}): JSX.Element {
  const { feed, analysis, view, marked } = props;
  const { phases, phaseAxis } = analysis;
  void props.revision.value;
  const groups = groupMetrics(feed.series.keys);
  const group = groups.find(({ id }) => id === 'loss') ?? groups[0];
  const context = useComputed((): PanelContext => {
    const place = { startMs: Date.parse(feed.run.startedAt), scale: feed.series.epochScale };
    const extent = feed.series.extent(view.axis.value, place.startMs) ?? { min: 0, max: 1 };
    return { revision: props.revision.value, placeOf: () => place, extent };
  });
  const shown = useSignal(phases);
  shown.value = phases;
  const bands = useComputed((): readonly ChartBand[] => [
    ...shown.value.map(({ phaseName, displayName, stepStart, stepEnd }, at) => ({
      start: stepStart,
      // To the next one: between two steps there is nothing.
      end: shown.value[at + 1]?.stepStart ?? stepEnd,
      color: phaseColor(phaseName),
      label: displayName,
    })),
    ...(marked.value === undefined
      ? []
      : [
          {
            start: marked.value.min,
            end: marked.value.max,
            color: seriesColor(0),
            label: '',
            isMarked: true,
          },
        ]),
  ]);
  return (
    <section class="analysis-chart" aria-label="Phases">
      <header class="section-head">
        <h2>Phases</h2>
        {(view.zoom.value !== undefined || marked.value !== undefined) && (
          <button
            type="button"
            class="button button-small"
            onClick={() => {
              view.zoom.value = undefined;
              marked.value = undefined;
            }}
          >
            Show all
          </button>
        )}
      </header>
      {phases.length === 0 ? (
        <p class="quiet">
          No phases: they are told from losses or accuracies, of which there are not enough.
        </p>
      ) : (
        <ol class="phases">
          {phases.map(({ id, phaseName, displayName, stepStart, stepEnd, summary }) => (
            <li key={id}>
              <button
                type="button"
                class="phase"
                title={summary}
                onClick={() => props.onShow({ min: stepStart, max: stepEnd })}
              >
                <span class="phase-mark" style={{ background: phaseColor(phaseName) }} />
                {displayName}
                <span class="quiet">
                  {phaseAxis} {formatCount(stepStart)}–{formatCount(stepEnd)}
                </span>
              </button>
            </li>
          ))}
        </ol>
      )}
      {group !== undefined && (
        <div class="chart-grid compare-grid">
          <Panel group={group} series={feed.series} view={view} context={context} bands={bands} />
        </div>
      )}
    </section>
  );
}

/** Each phase has a colour of its own in the palette of curves; divergence that of alarm. */
const PHASE_COLORS: Readonly<Record<PhaseName, number>> = {
  initialization_adaptation: 7,
  rapid_learning: 2,
  stabilization: 0,
  stagnation: 4,
  overfitting_onset: 1,
  divergence: 5,
};

function phaseColor(name: PhaseName): string {
  return seriesColor(PHASE_COLORS[name]);
}

function Alerts(props: {
  readonly analysis: RunAnalysis;
  readonly onShow: (range: XRange) => void;
}): JSX.Element {
  const { alerts, phaseAxis } = props.analysis;
  return (
    <section class="alerts" aria-label="Alerts">
      <header class="section-head">
        <h2>Alerts</h2>
        <span class="quiet">{alerts.length === 0 ? '' : formatCount(alerts.length)}</span>
      </header>
      {alerts.length === 0 ? (
        <p class="quiet">Nothing was found that needs looking at.</p>
      ) : (
        <AlertList alerts={alerts} axis={phaseAxis} onShow={props.onShow} />
      )}
    </section>
  );
}
