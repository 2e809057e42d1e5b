/** One run: its curves while they grow, what happened, and what it was made of. */
import type { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { isQuarkError, type Store } from 'quark-sdk';
import { hrefOf } from '../route/route.ts';
import { createChartView } from '../charts/chart-view.ts';
import { formatCount, formatDuration, formatValue, shortId } from '../parts/format.ts';
import { groupMetrics } from '../charts/group.ts';
import { importOf } from '../parts/run-name.ts';
import type { RunFeed } from '../series/run-feed.ts';
import { runSpanMs, shownStatus } from '../parts/run-filter.ts';
import { Icon } from '../parts/icons.tsx';
import { CopyButton, ErrorNotice, StatusChip } from '../parts/parts.tsx';
import { isBeingImported } from '../dropped/dropped-files.ts';
import { RunFacts } from './run-facts.tsx';
import { RunTabs, tabOf, TabView } from './run-tabs.tsx';
import { useRunWatch } from './feed/run-watch.ts';

/** The page of one run. */
export function RunPage(props: {
  readonly store: Store;
  readonly runId: string;
  /** The tab that is shown, by its id. */
  readonly view: string | undefined;
  /** Where to go on with an interrupted run of the training page, if this is one. */
  readonly resumeHref: (feed: RunFeed) => string | undefined;
  readonly otherSource: ComponentChildren;
}): JSX.Element {
  const { store, runId } = props;
  const watch = useRunWatch(store, runId);
  const charts = useMemo(() => createChartView(), [runId]);
  const tab = tabOf(props.view);
  const feed = watch.feed.value;
  if (feed === undefined) {
    if (watch.error.value === undefined) return <RunSkeleton />;
    const isMissing = isQuarkError(watch.error.value, 'run_not_found');
    return (
      <ErrorNotice
        title={isMissing ? 'This run is not here' : 'This run cannot be read'}
        error={isMissing ? `There is no run ${runId} in ${store.uri}.` : watch.error.value}
        {...(isMissing ? {} : { onRetry: watch.retry })}
      >
        <a class="button" href={hrefOf({ kind: 'runs' })}>
          All runs
        </a>
        {isMissing && props.otherSource}
      </ErrorNotice>
    );
  }
  void watch.nowMs.value;
  const { run } = feed;
  const status = isBeingImported(run) ? 'importing' : shownStatus({ effectiveStatus: feed.status });
  const resumeHref = props.resumeHref(feed);
  return (
    <div class="page run-page">
      <header class="page-head run-head">
        <a class="crumb" href={hrefOf({ kind: 'runs' })}>
          <Icon name="back" /> Runs
        </a>
        <div class="run-title">
          <h1>{importOf(run)?.name ?? run.projectName}</h1>
          <CopyButton text={run.id} label="Copy the run id">
            <span class="run-id">{shortId(run.id)}</span>
          </CopyButton>
          <StatusChip status={status} />
          <span class="tags">
            {run.tags.map((tag) => (
              <span key={tag} class="tag">
                {tag}
              </span>
            ))}
          </span>
          {resumeHref !== undefined && (
            <a class="button button-primary run-resume" href={resumeHref}>
              <Icon name="play" /> Resume
            </a>
          )}
        </div>
      </header>
      {watch.error.value !== undefined && (
        <p class="strip strip-warning" role="status">
          <Icon name="warning" /> New points cannot be read just now. What is shown is what was read
          before; trying again.
        </p>
      )}
      {feed.problem !== null && (
        <p class="strip strip-error" role="status">
          <Icon name="warning" /> {feed.problem} Its metrics and events are shown as they are.
        </p>
      )}
      {feed.damage.length > 0 && <Damage damage={feed.damage} />}
      <Tiles feed={feed} nowMs={watch.nowMs.value} />
      <RunTabs runId={runId} shown={tab} />
      <div class="run-columns">
        <div class="run-main">
          <TabView tab={tab} of={{ feed, watch, charts }} />
        </div>
        <RunFacts run={run} />
      </div>
    </div>
  );
}

/** The last value of the metrics that matter most. */
function Tiles({ feed, nowMs }: { readonly feed: RunFeed; readonly nowMs: number }): JSX.Element {
  const keys = groupMetrics(feed.series.keys)
    .filter((group) => group.id === 'loss' || group.id === 'accuracy')
    .flatMap((group) => group.keys.filter((key) => !key.includes('epoch_')))
    .slice(0, 4);
  const { step, epoch } = feed.position;
  const summary = { run: feed.run, isLive: feed.isLive, effectiveStatus: feed.status };
  return (
    <dl class="tiles">
      {keys.map((key) => {
        const value = feed.series.get(key)?.last?.value;
        const isBad = value !== undefined && !Number.isFinite(value);
        return (
          <div key={key} class={`tile${isBad ? ' is-bad' : ''}`}>
            <dt>{key}</dt>
            <dd>{value === undefined ? '–' : formatValue(value)}</dd>
          </div>
        );
      })}
      <div class="tile">
        <dt>step</dt>
        <dd>{Number.isNaN(step) ? '–' : formatCount(step)}</dd>
      </div>
      {!Number.isNaN(epoch) && (
        <div class="tile">
          <dt>epoch</dt>
          <dd>{formatCount(epoch)}</dd>
        </div>
      )}
      <div class="tile">
        <dt>{feed.isLive ? 'running for' : 'took'}</dt>
        <dd>{spanText(feed, runSpanMs(summary, nowMs, feed.lastActivityMs))}</dd>
      </div>
    </dl>
  );
}

/** Files without times say nothing of how long a run took. */
function spanText(feed: RunFeed, spanMs: number): string {
  return spanMs === 0 && importOf(feed.run) !== undefined ? '–' : formatDuration(spanMs);
}

function Damage({ damage }: { readonly damage: RunFeed['damage'] }): JSX.Element {
  return (
    <details class="strip strip-error">
      <summary>
        <Icon name="warning" /> {damage.length} damaged{' '}
        {damage.length === 1 ? 'segment was' : 'segments were'} left out. Everything else of the run
        is shown.
      </summary>
      <ul>
        {damage.map(({ identity, reason }) => (
          <li key={`${identity.table} ${identity.writerId} ${identity.batchNumber}`}>
            {identity.table}, writer {identity.writerId}, batch {identity.batchNumber}: {reason}
          </li>
        ))}
      </ul>
    </details>
  );
}

function RunSkeleton(): JSX.Element {
  return (
    <div class="page run-page" aria-busy="true" aria-label="Reading the run">
      <header class="page-head run-head">
        <a class="crumb" href={hrefOf({ kind: 'runs' })}>
          <Icon name="back" /> Runs
        </a>
        <div class="run-title">
          <span class="skeleton" style={{ width: '220px', height: '32px' }} />
        </div>
      </header>
      <div class="tiles">
        {Array.from({ length: 6 }, (_, index) => (
          <div key={index} class="tile">
            <span class="skeleton" style={{ width: '70px' }} />
            <span class="skeleton" style={{ width: '90px', height: '24px' }} />
          </div>
        ))}
      </div>
      <div class="run-columns">
        <div class="run-main">
          <div class="toolbar">
            <span class="skeleton" style={{ width: '168px', height: '32px' }} />
          </div>
          <div class="chart-grid">
            {Array.from({ length: 4 }, (_, index) => (
              <div key={index} class="panel panel-skeleton">
                <span class="skeleton" style={{ width: '120px' }} />
              </div>
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}
