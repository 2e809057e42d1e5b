/** One run: its curves while they grow, what happened, and what it was made of. */
import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { isQuarkError, type RunReader, type Store } from 'quark-sdk';
import { hrefOf } from '../route/route.ts';
import {
  deletedText,
  DeletedLine,
  Restore,
  deletedName,
  useTombstone,
  type DeletedRunInfo,
} from '../changes/deleted-run.tsx';
import { deletionRefusal } from '../changes/rights.ts';
import { createChartView } from '../charts/chart-view.ts';
import { groupMetrics } from '../charts/group.ts';
import { storedText } from '../parts/browser-storage.ts';
import { Button, ButtonLink } from '../parts/controls.tsx';
import { formatCount, formatValue } from '../parts/format.ts';
import { t, tn } from '../parts/t.ts';
import { Icon } from '../parts/icons.tsx';
import { Crumb, ErrorNotice, Tiles, Warning } from '../parts/notices.tsx';
import { runSpanMs, spanText } from '../parts/run-status.tsx';
import type { RunFeed } from '../series/run-feed.ts';
import type { RunTab } from './feed/tab.ts';
import { useRunWatch } from './feed/run-watch.ts';
import { RunHead, headName, type HeadProps } from './header/run-head.tsx';
import { FactColumn } from './facts/run-facts.tsx';
import { RunTabs, tabOf, TabView } from './run-tabs.tsx';
import './style.css';

const storedFacts = storedText('quark.facts-shown');
/** Whether the column beside the charts is shown: without it, the charts have its width. */
const areFactsShown = signal(storedFacts.get() !== 'hidden');

/** The page of one run. */
export default function RunDetail(props: {
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
  const tombstone = useTombstone(store, runId, watch.error.value);
  const feed = watch.feed.value;
  if (feed === undefined) {
    if (watch.error.value === undefined || tombstone === undefined)
      return <RunSkeleton runId={runId} view={props.view} />;
    if (tombstone !== null) return <DeletedRun store={store} tombstone={tombstone} />;
    const isMissing = isQuarkError(watch.error.value, 'run_not_found');
    return (
      <ErrorNotice
        isPage
        title={isMissing ? t('This run is not here') : t('This run cannot be read')}
        error={
          isMissing
            ? t('There is no run {id} in {store}.', { id: runId, store: store.uri })
            : watch.error.value
        }
        {...(isMissing ? {} : { onRetry: watch.retry })}
      >
        <ButtonLink href={hrefOf({ kind: 'runs' })}>{t('All runs')}</ButtonLink>
        {isMissing && props.otherSource}
      </ErrorNotice>
    );
  }
  void watch.nowMs.value;
  return (
    <div class="page run-page">
      <RunHead feed={feed} watch={watch} resumeHref={props.resumeHref(feed)} />
      <Problems feed={feed} watch={watch} tombstone={tombstone} />
      <LastValues feed={feed} nowMs={watch.nowMs.value} />
      <RunBar run={feed.reader} tab={tab} />
      <div class="run-columns" data-facts={areFactsShown.value ? 'shown' : 'hidden'}>
        <div class="run-main">
          <TabView tab={tab} of={{ feed, watch, charts }} />
        </div>
        {areFactsShown.value && <FactColumn feed={feed} nowMs={watch.nowMs.value} />}
      </div>
    </div>
  );
}

/** The tabs, and the switch of the column beside them. */
function RunBar({ run, tab }: { readonly run: RunReader; readonly tab: RunTab }): JSX.Element {
  return (
    <div class="run-bar row">
      <RunTabs runId={run.run.id} shown={tab} run={run} />
      <Button
        isSmall
        class="push"
        aria-expanded={areFactsShown.value}
        title={t('Settings, environment and history of this run, beside the charts')}
        onClick={() => {
          areFactsShown.value = !areFactsShown.value;
          storedFacts.set(areFactsShown.value ? undefined : 'hidden');
        }}
      >
        {areFactsShown.value ? t('Hide details') : t('Show details')}
      </Button>
    </div>
  );
}

/** Shown of a run that had been deleted before its page was opened. */
function DeletedRun(props: {
  readonly store: Store;
  readonly tombstone: DeletedRunInfo;
}): JSX.Element {
  const { store, tombstone } = props;
  const name = deletedName(tombstone);
  return (
    <ErrorNotice
      isPage
      title={t('This run was deleted')}
      error={deletedText(tombstone, Date.now(), name)}
    >
      <Restore
        store={store}
        tombstone={tombstone}
        name={name}
        refusal={<p class="quiet">{deletionRefusal(store)}</p>}
      />
      <ButtonLink isSmall href={hrefOf({ kind: 'runs' })}>
        {t('All runs')}
      </ButtonLink>
    </ErrorNotice>
  );
}

/** What is wrong with what is shown. */
function Problems({
  feed,
  watch,
  tombstone,
}: HeadProps & { readonly tombstone: DeletedRunInfo | null | undefined }): JSX.Element {
  void watch.nowMs.value;
  const { damage, problem, run, reader } = feed;
  const isMissing = isQuarkError(watch.error.value, 'run_not_found');
  return (
    <>
      {isMissing && tombstone !== undefined && (
        <DeletedLine store={reader.store} tombstone={tombstone} name={headName(run)} />
      )}
      {watch.error.value !== undefined && !isMissing && (
        <Warning>
          {t('New points cannot be read just now. What is shown was read before; trying again.')}
        </Warning>
      )}
      {problem !== null && (
        <Warning isError>
          {problem} {t('Its metrics and events are shown as they are.')}
        </Warning>
      )}
      {damage.length > 0 && <Damage damage={damage} />}
    </>
  );
}

/** The last value of the metrics that matter most. */
function LastValues(props: { readonly feed: RunFeed; readonly nowMs: number }): JSX.Element {
  const { feed, nowMs } = props;
  const keys = groupMetrics(feed.series.keys)
    .filter((group) => group.id === 'loss' || group.id === 'accuracy')
    .flatMap((group) => group.keys.filter((key) => !key.includes('epoch_')))
    .slice(0, 4);
  useEffect(() => feed.series.lookAt(keys), [feed, keys.join('|')]);
  const { step, epoch } = feed.position;
  const summary = { run: feed.run, isLive: feed.isLive, effectiveStatus: feed.status };
  const spanMs = runSpanMs(summary, nowMs, feed.lastActivityMs);
  return (
    <Tiles
      tiles={[
        ...keys.map((key) => {
          const value = feed.series.get(key)?.last?.value ?? null;
          const isBad = value !== null && !Number.isFinite(value);
          return { name: key, text: value === null ? '–' : formatValue(value), isBad };
        }),
        { name: t('step'), text: Number.isNaN(step) ? '–' : formatCount(step) },
        ...(Number.isNaN(epoch) ? [] : [{ name: t('epoch'), text: formatCount(epoch) }]),
        { name: feed.isLive ? t('running for') : t('took'), text: spanText(feed.run, spanMs) },
      ]}
    />
  );
}

function Damage({ damage }: { readonly damage: RunFeed['damage'] }): JSX.Element {
  return (
    <details class="strip strip-error tone-bad">
      <summary>
        <Icon name="warning" />{' '}
        {tn(
          damage.length,
          '{count} damaged segment was left out. Everything else of the run is shown.',
          '{count} damaged segments were left out. Everything else of the run is shown.',
          { count: formatCount(damage.length) },
        )}
      </summary>
      <ul>
        {damage.map(({ identity, reason }) => (
          <li key={`${identity.table} ${identity.writerId} ${identity.batchNumber}`}>
            {t('{table}, writer {writer}, batch {batch}: {reason}', {
              table: identity.table,
              writer: identity.writerId,
              batch: identity.batchNumber,
              reason,
            })}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** As high as what will be there, so that nothing moves when it arrives. */
function RunSkeleton(props: {
  readonly runId: string;
  readonly view: string | undefined;
}): JSX.Element {
  return (
    <div class="page run-page" role="group" aria-busy="true" aria-label={t('Reading the run')}>
      <header class="page-head run-head">
        <Crumb />
        <div class="run-title row wrap">
          <span class="skeleton" style={{ width: '220px', height: '32px' }} />
        </div>
      </header>
      <div class="tiles card">
        {Array.from({ length: 6 }, (_, index) => (
          <div key={index} class="tile">
            <span class="skeleton" style={{ width: '70px' }} />
            <span class="skeleton" style={{ width: '90px', height: '24px' }} />
          </div>
        ))}
      </div>
      <div class="run-bar row">
        <RunTabs runId={props.runId} shown={tabOf(props.view)} />
      </div>
      <div class="run-columns" data-facts={areFactsShown.value ? 'shown' : 'hidden'}>
        <div class="run-main">
          <div class="toolbar">
            <span class="skeleton" style={{ width: '168px', height: '32px' }} />
          </div>
          <div class="chart-grid">
            {Array.from({ length: 4 }, (_, index) => (
              <div key={index} class="panel card panel-skeleton">
                <span class="skeleton" style={{ width: '120px' }} />
              </div>
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}
