/** The training page: settings, progress and guesses on one side, the recorded curves on the other. */
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { listRuns, type Store } from 'quark-sdk';
import type { TrainPageProps } from '../../dashboard/app/train-page.ts';
import { widenedRange } from '../../dashboard/charts/plot/chart-range.ts';
import {
  ALL_PANELS,
  createChartView,
  linkPanels,
  zoomTo,
} from '../../dashboard/charts/chart-view.ts';
import { isTrainingMetric } from '../../dashboard/charts/group.ts';
import { Button } from '../../dashboard/parts/controls.tsx';
import { formatAgo, formatCount, formatDuration, shortId } from '../../dashboard/parts/format.ts';
import { useLatest } from '../../dashboard/parts/hooks.ts';
import { Icon } from '../../dashboard/parts/icons.tsx';
import { ErrorNotice, ProgressBar, errorText } from '../../dashboard/parts/notices.tsx';
import { hrefOf, numberSettingOf } from '../../dashboard/route/route.ts';
import { useRunWatch } from '../../dashboard/run/feed/run-watch.ts';
import { Curves } from '../../dashboard/run/metrics/curves.tsx';
import { chooseSource } from '../../dashboard/sources/sources.ts';
import { DEMO_PROJECT, isDemoRun } from './demo-run.ts';
import type { DigitsTrainingConfig } from './digits.ts';
import { GuessGrid } from './guess-grid.tsx';
import { RecordingCost } from './recording-cost.tsx';
import { RecordingNotice } from './recording-notice.tsx';
import { SyncIndicator } from './sync-indicator.tsx';
import { TrainForm } from './train-form.tsx';
import { stopTraining, train } from './trainer.ts';
import {
  isTraining,
  recordingProblem,
  trainedRunId,
  training,
  type TrainingProgress,
} from './training-state.ts';
import { WatchedAlerts } from './watched-alerts.tsx';
import './style.css';
import { t } from '../../dashboard/parts/t.ts';

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
  const runId = trainedRunId(state);
  return (
    <div class="page train-page">
      <header class="page-head">
        <h1>{t('Train in this tab')}</h1>
        <p class="page-sub">
          {t(
            'A small convolutional network learns to read 1,797 handwritten digits. What it records is stored in this browser, and the curves are drawn from there.',
          )}{' '}
          <a class="link" href="./DIGITS.md">
            {t('About the data')}
          </a>
        </p>
      </header>
      <div class="train-columns">
        <div class="train-side column">
          <TrainForm isBusy={isTraining(state)} onStart={begin} onStop={stopTraining} />
          <div class="train-progress stack">
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
      <p>{t('The curves grow here while the network trains.')}</p>
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
          <ProgressBar label={state.what} share={undefined} />
          <p>{state.what}</p>
        </div>
      );
    case 'failed':
      return (
        <div class="strip strip-error tone-bad" role="alert">
          <Icon name="warning" /> {errorText(state.error)}
        </div>
      );
    case 'training':
      return <Batches of={state.progress} outcome={state.isStopping ? 'stopping' : 'training'} />;
    case 'ended':
      return <Batches of={state.progress} outcome={state.outcome} />;
  }
}

type Outcome = 'training' | 'stopping' | 'completed' | 'interrupted';

/** How many epochs and batches are done. */
function Batches(props: { readonly of: TrainingProgress; readonly outcome: Outcome }): JSX.Element {
  const { of: progress, outcome } = props;
  const total = progress.batchesPerEpoch * progress.epochs;
  const share = total === 0 ? 0 : Math.min(1, progress.batchesDone / total);
  const epoch = Math.min(progress.epoch + (outcome === 'training' ? 1 : 0), progress.epochs);
  return (
    <div class={`progress progress-${outcome}`} data-outcome={outcome}>
      <ProgressBar label={t('Training')} share={share} />
      <p class="row spread gap-12">
        <span>{t('Epoch {epoch} of {epochs}', { epoch, epochs: progress.epochs })}</span>
        <span>{progressNote(progress, outcome)}</span>
      </p>
      <p class="row spread gap-12 quiet">
        <span>
          {t('Batch {batch} of {batches}', {
            batch: formatCount(progress.batchesDone),
            batches: formatCount(total),
          })}
        </span>
        <span>{progress.backend}</span>
      </p>
    </div>
  );
}

function progressNote({ etaMs }: TrainingProgress, outcome: Outcome): string {
  switch (outcome) {
    case 'training':
      return etaMs === undefined
        ? t('Estimating')
        : t('{span} left', { span: formatDuration(etaMs) });
    case 'stopping':
      return t('Stopping');
    case 'completed':
      return t('Completed');
    case 'interrupted':
      return t('Stopped');
  }
}

/** Pages of a run, by the id of their tab. */
const LINKS = [
  {
    get label() {
      return t('Open the run');
    },
  },
  {
    get label() {
      return t('Its layers');
    },
    view: 'layers',
  },
  {
    get label() {
      return t('Its analysis');
    },
    view: 'analysis',
  },
];

/** The curves of the run, read from the store like those of any other run. */
function LiveRun({ store, runId }: { readonly store: Store; readonly runId: string }): JSX.Element {
  const watch = useRunWatch(store, runId, WATCH_POLL_MS);
  const charts = useMemo(() => createChartView(), [runId]);
  const feed = watch.feed.value;
  void watch.nowMs.value;
  // While nothing can be stored there may be no run to read yet: the notice beside it says why.
  const isAwaited = recordingProblem.value?.kind === 'stopped';
  const error = feed === undefined && !isAwaited ? watch.error.value : undefined;
  return (
    <section aria-label={t('Recorded curves')} data-run={runId}>
      <header class="train-run row wrap spread muted medium">
        <p>
          {t('Recording as')} <span class="mono">{shortId(runId)}</span>
        </p>
        <span class="row wrap gap-18">
          {LINKS.map(({ label, view }) => (
            <RunLink key={label} class="link" runId={runId} view={view}>
              {label}
            </RunLink>
          ))}
        </span>
      </header>
      {feed !== undefined && <RecordingCost feed={feed} watch={watch} />}
      <WatchedAlerts
        isLive={feed?.isLive ?? true}
        onShow={(range) => {
          charts.chosenAxis.value = 'step';
          charts.axis.value = 'step';
          // The alert is about a span of the run: every chart shows that span.
          linkPanels(charts, true);
          const extent = feed?.series.extent('step', 0) ?? range;
          zoomTo(charts, ALL_PANELS, widenedRange(range, extent));
        }}
      />
      {error !== undefined && (
        <ErrorNotice title={t('The curves cannot be read')} error={error} onRetry={watch.retry} />
      )}
      {error === undefined && feed === undefined && <Placeholder />}
      {feed !== undefined && (
        <Curves feed={feed} watch={watch} charts={charts} isWanted={isTrainingMetric}>
          <Placeholder />
        </Curves>
      )}
    </section>
  );
}

/** A link to a run in this browser. */
function RunLink(props: {
  readonly class: string;
  readonly runId: string;
  readonly view?: string | undefined;
  readonly children: string;
}): JSX.Element {
  const { runId, view } = props;
  return (
    <a
      class={props.class}
      href={hrefOf({ kind: 'run', runId, view })}
      onClick={() => chooseSource('browser')}
    >
      {props.children}
    </a>
  );
}

const SHOWN_RESUMABLE = 3;

/** Runs of this page that were cut off, each with a way to go on. */
function Resumable(props: {
  readonly store: Store;
  readonly onResume: (runId: string) => void;
}): JSX.Element | null {
  const { store } = props;
  const found = useLatest(
    () => listRuns(store, { project: DEMO_PROJECT, statuses: ['interrupted'] }),
    LIST_POLL_MS,
    [store],
  );
  const runs = (found ?? []).filter(({ run }) => isDemoRun(run));
  if (runs.length === 0) return null;
  return (
    <section class="resumable" aria-label={t('Interrupted runs')}>
      <h2>{t('Interrupted')}</h2>
      <ul class="ruled">
        {runs.slice(0, SHOWN_RESUMABLE).map(({ run }) => (
          <li key={run.id} class="row gap-12 medium" data-run={run.id}>
            <RunLink class="mono" runId={run.id}>
              {shortId(run.id)}
            </RunLink>
            <span class="quiet">{formatAgo(Date.parse(run.startedAt), Date.now())}</span>
            <Button isSmall class="push" onClick={() => props.onResume(run.id)}>
              {t('Resume')}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
