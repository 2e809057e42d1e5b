/** The parts of a run's page, each with an address of its own. */
import type { JSX } from 'preact';
import { hrefOf, type RunView as RunViewName } from '../route/route.ts';
import type { ChartView } from '../charts/chart-view.ts';
import { isMachineMetric } from '../charts/group.ts';
import type { RunFeed } from '../series/run-feed.ts';
import { ChartGrid } from '../charts/chart-grid.tsx';
import { EventList } from './metrics/event-list.tsx';
import { HowTo } from '../parts/how-to.tsx';
import { LazyView } from '../parts/lazy-view.tsx';
import type { RunWatch } from './run-page.tsx';

const TABS: readonly { readonly view: RunViewName | undefined; readonly label: string }[] = [
  { view: undefined, label: 'Metrics' },
  { view: 'analysis', label: 'Analysis' },
  { view: 'layers', label: 'Layers' },
  { view: 'machine', label: 'Machine' },
  { view: 'batches', label: 'Batches' },
];

/** Links to the parts. */
export function RunTabs(props: {
  readonly runId: string;
  readonly view: RunViewName | undefined;
}): JSX.Element {
  return (
    <nav class="run-tabs" aria-label="Parts of this run">
      {TABS.map(({ view, label }) => (
        <a
          key={label}
          href={hrefOf({ kind: 'run', runId: props.runId, view })}
          aria-current={view === props.view ? 'page' : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  );
}

/** The part that the address names. */
export function RunView(props: {
  readonly feed: RunFeed;
  readonly watch: RunWatch;
  readonly view: RunViewName | undefined;
  readonly charts: ChartView;
}): JSX.Element {
  const { feed, watch } = props;
  // The feed is the same object however much it holds: what shows it looks at the clock that it comes with.
  const nowMs = watch.nowMs.value;
  switch (props.view) {
    case undefined:
      return (
        <>
          <Curves key="metrics" {...props} isWanted={isOfTraining}>
            <div class="nothing">
              <p>
                {feed.isLive
                  ? 'No metrics yet. Curves appear with the first flush.'
                  : 'This run recorded no metrics.'}
              </p>
            </div>
          </Curves>
          <EventList events={feed.events} count={feed.events.length} />
        </>
      );
    case 'analysis':
      return (
        <LazyView
          key="analysis"
          load={loadAnalysis}
          of={{ feed, revision: watch.revision, nowMs }}
        />
      );
    case 'layers':
      return (
        <LazyView
          key="layers"
          load={loadLayers}
          of={{
            run: feed.reader,
            isLive: feed.isLive,
            metrics: feed.series,
            metricsRevision: watch.revision,
          }}
        />
      );
    case 'batches':
      return (
        <LazyView key="batches" load={loadBatches} of={{ feed, isLive: feed.isLive, nowMs }} />
      );
    case 'machine':
      return (
        <Curves key="machine" {...props} isWanted={isMachineMetric}>
          <HowTo
            title={feed.isLive ? 'No telemetry yet' : 'The machine was not watched'}
            text="Processor, memory, GPU, heap and step times, as far as the platform tells them."
            code={`const telemetry = new SystemTelemetry(session, { tf, sampleEveryNSteps: 10 });
await telemetry.step(step, {}, () => trainOnBatch(batch));`}
          />
        </Curves>
      );
  }
}

const loadAnalysis = async () => (await import('./analysis/analysis-view.tsx')).AnalysisView;
const loadLayers = async () => (await import('./layers/layers-view.tsx')).LayersView;
const loadBatches = async () => (await import('./batches/batches-view.tsx')).BatchesView;

function isOfTraining(key: string): boolean {
  return !isMachineMetric(key);
}

/** The charts of some metrics; what is inside where there are none. */
function Curves(props: {
  readonly feed: RunFeed;
  readonly watch: RunWatch;
  readonly charts: ChartView;
  readonly isWanted: (key: string) => boolean;
  readonly children: JSX.Element;
}): JSX.Element {
  const { feed, isWanted } = props;
  void props.watch.revision.value;
  if (!feed.series.keys.some((key) => isWanted(key))) return props.children;
  return (
    <ChartGrid
      series={feed.series}
      revision={props.watch.revision}
      startMs={Date.parse(feed.run.startedAt)}
      view={props.charts}
      isWanted={isWanted}
      readShare={feed.readShare}
    />
  );
}
