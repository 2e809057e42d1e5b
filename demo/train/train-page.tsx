/** The training page: settings, progress and guesses on one side, the recorded curves on the other. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { listRuns, type RunSummary, type Store } from 'quark-sdk';
import { hrefOf, numberSettingOf } from '../../dashboard/route/route.ts';
import { chooseSource } from '../../dashboard/sources/sources.ts';
import { widenedRange } from '../../dashboard/charts/chart-range.ts';
import type { TrainPageProps } from '../../dashboard/app/train-page.ts';
import { createChartView } from '../../dashboard/charts/chart-view.ts';
import { formatAgo, formatCount, formatDuration, shortId } from '../../dashboard/parts/format.ts';
import { ChartGrid } from '../../dashboard/charts/chart-grid.tsx';
import { Icon } from '../../dashboard/parts/icons.tsx';
import { ErrorNotice, textOf } from '../../dashboard/parts/parts.tsx';
import { keepPolling } from '../../dashboard/parts/polling.ts';
import { useRunWatch } from '../../dashboard/run/feed/run-watch.ts';
import { DEMO_PROJECT, isDemoRun } from './demo-run.ts';
import type { DigitsTrainingConfig } from './digits.ts';
import { isMachineMetric } from '../../dashboard/charts/group.ts';
import { GuessGrid } from './guess-grid.tsx';
import { RecordingCost } from './recording-cost.tsx';
import { RecordingNotice } from './recording-notice.tsx';
import { SyncIndicator } from './sync-indicator.tsx';
import { TrainForm } from './train-form.tsx';
import { WatchedAlerts } from './watched-alerts.tsx';
import { stopTraining, train } from './trainer.ts';
import {
  isTraining,
  recordingProblem,
  runIdOf,
  training,
  type TrainingProgress,
} from './training-state.ts';

const WATCH_POLL_MS = 500;
const LIST_POLL_MS = 2000;

/** Trains a network in this tab and shows what is recorded of it. */
export default function TrainPage({ store, resumeRunId }: TrainPageProps): JSX.Element {
  const state = training.value;
  const begin = (start: DigitsTrainingConfig | { readonly resumeRunId: string }): void => {
    void train({
      store,
      start,
      leaseTtlMs: numberSettingOf(location.search, 'leaseTtlMs'),
      backend: new URLSearchParams(location.search).get('backend') ?? undefined,
    });
  };
  useEffect(() => {
    if (resumeRunId === undefined) return;
    // The address named what to do; once it is begun, a reload must not begin it again.
    history.replaceState(undefined, '', hrefOf({ kind: 'train', resumeRunId: undefined }));
    begin({ resumeRunId });
  }, [resumeRunId]);
  const runId = runIdOf(state);
  return (
    <div class="page train-page">
      <header class="page-head">
        <h1>Train in this tab</h1>
        <p class="page-sub">
          A small convolutional network learns 1,797 handwritten digits. Everything it reports is
          recorded in this browser, and read back from there for the curves.{' '}
          <a class="link" href="./DIGITS.md">
            About the data
          </a>
        </p>
      </header>
      <div class="train-columns">
        <div class="train-side">
          <TrainForm isBusy={isTraining(state)} onStart={begin} onStop={stopTraining} />
          <div class="train-progress">
            <Progress />
            <RecordingNotice />
            <SyncIndicator />
          </div>
          {!isTraining(state) && (
            <Resumable store={store} onResume={(id) => begin({ resumeRunId: id })} />
          )}
          <GuessGrid />
        </div>
        <div class="train-main">
          {runId === undefined ? (
            <Placeholder />
          ) : (
            <LiveRun key={runId} store={store} runId={runId} />
          )}
        </div>
      </div>
    </div>
  );
}

function Placeholder(): JSX.Element {
  return (
    <div class="train-placeholder">
      <svg viewBox="0 0 240 120" aria-hidden="true">
        <path class="ghost-grid" d="M0 20H240M0 60H240M0 100H240" />
        <path class="ghost-a" d="M4 12C30 70 60 88 110 95S200 102 236 103" />
        <path class="ghost-b" d="M4 30C40 76 70 84 116 88S200 93 236 94" />
      </svg>
      <p>The curves grow here while the network trains.</p>
    </div>
  );
}

function Progress(): JSX.Element | null {
  const state = training.value;
  switch (state.kind) {
    case 'idle':
      return null;
    case 'preparing':
      return (
        <div class="progress" role="status">
          <div class="progress-bar is-waiting">
            <span />
          </div>
          <p>{state.what}</p>
        </div>
      );
    case 'failed':
      return (
        <div class="strip strip-error" role="alert">
          <Icon name="warning" /> {textOf(state.error)}
        </div>
      );
    case 'training':
      return (
        <ProgressBar
          progress={state.progress}
          outcome={state.isStopping ? 'stopping' : 'training'}
        />
      );
    case 'ended':
      return <ProgressBar progress={state.progress} outcome={state.outcome} />;
  }
}

function ProgressBar(props: {
  readonly progress: TrainingProgress;
  readonly outcome: 'training' | 'stopping' | 'completed' | 'interrupted';
}): JSX.Element {
  const { progress, outcome } = props;
  const total = progress.batchesPerEpoch * progress.epochs;
  const share = total === 0 ? 0 : Math.min(1, progress.batchesDone / total);
  return (
    <div class={`progress progress-${outcome}`} data-outcome={outcome}>
      <div
        class="progress-bar"
        role="progressbar"
        aria-label="Training"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
      >
        <span style={{ transform: `scaleX(${share})` }} />
      </div>
      <p class="progress-line">
        <span>
          Epoch {Math.min(progress.epoch + (outcome === 'training' ? 1 : 0), progress.epochs)} of{' '}
          {progress.epochs}
        </span>
        <span>{progressNote(progress, outcome)}</span>
      </p>
      <p class="progress-line quiet">
        <span>
          Batch {formatCount(progress.batchesDone)} of {formatCount(total)}
        </span>
        <span>{progress.backend}</span>
      </p>
    </div>
  );
}

function progressNote(
  { etaMs }: TrainingProgress,
  outcome: 'training' | 'stopping' | 'completed' | 'interrupted',
): string {
  switch (outcome) {
    case 'training':
      return etaMs === undefined ? 'Estimating' : `${formatDuration(etaMs)} left`;
    case 'stopping':
      return 'Stopping';
    case 'completed':
      return 'Completed';
    case 'interrupted':
      return 'Stopped';
  }
}

/** The curves of the run, read from the store like those of any other run. */
function LiveRun({ store, runId }: { readonly store: Store; readonly runId: string }): JSX.Element {
  const watch = useRunWatch(store, runId, WATCH_POLL_MS);
  const view = useMemo(() => createChartView(), [runId]);
  const feed = watch.feed.value;
  void watch.nowMs.value;
  // While nothing can be stored there may be no run to read yet: the notice beside it says why.
  const isAwaited = recordingProblem.value?.kind === 'stopped';
  const error = feed === undefined && !isAwaited ? watch.error.value : undefined;
  return (
    <section aria-label="Recorded curves" data-run={runId}>
      <header class="train-run">
        <p>
          Recording as <span class="mono">{shortId(runId)}</span>
        </p>
        <span class="train-links">
          <a
            class="link"
            href={hrefOf({ kind: 'run', runId })}
            onClick={() => chooseSource('browser')}
          >
            Open the run
          </a>
          <a
            class="link"
            href={hrefOf({ kind: 'run', runId, view: 'layers' })}
            onClick={() => chooseSource('browser')}
          >
            Its layers
          </a>
          <a
            class="link"
            href={hrefOf({ kind: 'run', runId, view: 'analysis' })}
            onClick={() => chooseSource('browser')}
          >
            Its analysis
          </a>
        </span>
      </header>
      {feed !== undefined && (
        <RecordingCost feed={feed} isLive={feed.isLive} metricsRevision={watch.revision} />
      )}
      <WatchedAlerts
        isLive={feed?.isLive ?? true}
        onShow={(range) => {
          view.chosenAxis.value = 'step';
          view.axis.value = 'step';
          view.zoom.value = widenedRange(range, feed?.series.extent('step', 0) ?? range);
        }}
      />
      {error !== undefined ? (
        <ErrorNotice title="The curves cannot be read" error={error} onRetry={watch.retry} />
      ) : feed === undefined || feed.series.keys.length === 0 ? (
        <Placeholder />
      ) : (
        <ChartGrid
          series={feed.series}
          revision={watch.revision}
          startMs={Date.parse(feed.run.startedAt)}
          view={view}
          isWanted={isOfTraining}
        />
      )}
    </section>
  );
}

function isOfTraining(key: string): boolean {
  return !isMachineMetric(key);
}

/** Runs of this page that were cut off, each with a way to go on. */
function Resumable(props: {
  readonly store: Store;
  readonly onResume: (runId: string) => void;
}): JSX.Element | null {
  const { store } = props;
  const runs = useSignal<readonly RunSummary[]>([]);
  useEffect(
    () =>
      keepPolling(
        async () => {
          const found = await listRuns(store, { project: DEMO_PROJECT, statuses: ['interrupted'] });
          runs.value = found.filter(({ run }) => isDemoRun(run));
        },
        () => LIST_POLL_MS,
        () => {
          runs.value = [];
        },
      ),
    [store],
  );
  return <ResumeList runs={runs} onResume={props.onResume} />;
}

const SHOWN_RESUMABLE = 3;

function ResumeList(props: {
  readonly runs: ReadonlySignal<readonly RunSummary[]>;
  readonly onResume: (runId: string) => void;
}): JSX.Element | null {
  const list = useRef<HTMLElement>(null);
  const runs = props.runs.value;
  if (runs.length === 0) return null;
  return (
    <section ref={list} class="resumable" aria-label="Interrupted runs">
      <h2>Interrupted</h2>
      <ul>
        {runs.slice(0, SHOWN_RESUMABLE).map(({ run }) => (
          <li key={run.id} data-run={run.id}>
            <a
              class="mono"
              href={hrefOf({ kind: 'run', runId: run.id })}
              onClick={() => chooseSource('browser')}
            >
              {shortId(run.id)}
            </a>
            <span class="quiet">{formatAgo(Date.parse(run.startedAt), Date.now())}</span>
            <button
              type="button"
              class="button button-small"
              onClick={() => props.onResume(run.id)}
            >
              Resume
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
