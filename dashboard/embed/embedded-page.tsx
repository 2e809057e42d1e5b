/** The page within another page: a run and its curves. There is nothing in it that changes a run, so a click that is led astray does nothing. */
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { Store } from 'quark-sdk';
import { createChartView } from '../charts/chart-view.ts';
import { isTrainingMetric } from '../charts/group.ts';
import { dropFiles, dropState } from '../dropped/dropped-files.ts';
import { ButtonLink } from '../parts/controls.tsx';
import { ErrorNotice, Waiting } from '../parts/notices.tsx';
import { shownStatus, StatusChip } from '../parts/run-status.tsx';
import { t } from '../parts/t.ts';
import type { FrameSettings } from '../route/frame-settings.ts';
import { useRunWatch } from '../run/feed/run-watch.ts';
import { headName } from '../run/header/run-head.tsx';
import { Curves } from '../run/metrics/curves.tsx';
import { receiveFile } from './received-file.ts';
import './style.css';

/** What a frame shows. */
export default function EmbeddedPage(props: {
  readonly store: Store;
  /** Undefined where the address names no run. */
  readonly runId: string | undefined;
  readonly of: FrameSettings;
}): JSX.Element {
  const { of, runId, store } = props;
  useEffect(() => {
    if (of.awaitsFile) receiveFile(dropFiles);
  }, []);
  if (runId !== undefined) return <EmbeddedRun key={runId} store={store} runId={runId} of={of} />;
  if (of.awaitsFile) return <AwaitedFile />;
  return (
    <section class="notice">
      <div>
        <h1>{t('There is nothing here')}</h1>
        <p>{t('Within another page, the address of a run is shown.')}</p>
        <OpenLink />
      </div>
    </section>
  );
}

function AwaitedFile(): JSX.Element {
  const state = dropState.value;
  if (state === undefined || state.phase !== 'idle')
    return <Waiting label={t('Reading the run')} />;
  return (
    <ErrorNotice
      isPage
      title={t('This run cannot be read')}
      error={state.error ?? state.problems[0]?.reason ?? t('There is no run in the file.')}
    />
  );
}

function EmbeddedRun(props: {
  readonly store: Store;
  readonly runId: string;
  readonly of: FrameSettings;
}): JSX.Element {
  const { of, runId, store } = props;
  const watch = useRunWatch(store, runId);
  const charts = useMemo(() => createChartView(), [runId]);
  const feed = watch.feed.value;
  if (feed === undefined)
    return watch.error.value === undefined ? (
      <Waiting label={t('Reading the run')} />
    ) : (
      <ErrorNotice
        isPage
        title={t('This run cannot be read')}
        error={watch.error.value}
        onRetry={watch.retry}
      />
    );
  void watch.nowMs.value;
  const { metric } = of;
  return (
    <div class="embedded stack gap-10">
      <header class="row wrap gap-10">
        <h1 class="breakable">{headName(feed.run)}</h1>
        <StatusChip status={shownStatus({ effectiveStatus: feed.status })} />
        {!of.awaitsFile && <OpenLink />}
      </header>
      <Curves
        feed={feed}
        watch={watch}
        charts={charts}
        isWanted={metric === undefined ? isTrainingMetric : (key) => key === metric}
      >
        <p class="nothing">
          {metric === undefined
            ? t('This run recorded no metrics.')
            : t('This run has no metric {metric}.', { metric })}
        </p>
      </Curves>
    </div>
  );
}

/** Leads to the page by itself, in a tab of its own. */
function OpenLink(): JSX.Element {
  const { hash, origin, pathname } = location;
  return (
    <ButtonLink
      isSmall
      class="push"
      href={`${origin}${pathname}${hash}`}
      target="_blank"
      rel="noopener"
    >
      {t('Open in Quark')}
    </ButtonLink>
  );
}
