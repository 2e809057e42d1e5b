/** The runs that were deleted, until when they can be restored, and the way back. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Store } from 'quark-sdk';
import { instantText, Restore, deletedName, type DeletedRunInfo } from '../changes/deleted-run.tsx';
import { deletionRefusal } from '../changes/rights.ts';
import { Button } from '../parts/controls.tsx';
import { countText, formatAgo, shortId } from '../parts/format.ts';
import { usePolling } from '../parts/hooks.ts';
import { ErrorNotice, Waiting, Warning } from '../parts/notices.tsx';
import { adding } from '../parts/signals.ts';
import { ListChoice, ListRefusal } from './list-choice.tsx';
import { t } from '../parts/t.ts';

const POLL_MS = 5000;
const PAGE_SIZE = 100;

/** All of a store. */
export function DeletedList({ store }: { readonly store: Store }): JSX.Element {
  const all = useSignal<readonly DeletedRunInfo[] | undefined>(undefined);
  const now = useSignal(Date.now());
  const { error, retry } = usePolling(
    async () => {
      all.value = await store.listDeletedRuns();
      now.value = Date.now();
    },
    () => POLL_MS,
    [store],
  );
  if (all.value === undefined) {
    if (error.value === undefined) return <Waiting label={t('Reading the deleted runs')} />;
    return (
      <ErrorNotice
        isPage
        title={t('The deleted runs cannot be read')}
        error={error.value}
        onRetry={retry}
      >
        <ListChoice />
      </ErrorNotice>
    );
  }
  const restorable = all.value.filter(({ purgedAtMs }) => purgedAtMs === undefined);
  const goneCount = all.value.length - restorable.length;
  return (
    <div class="page">
      <header class="page-head">
        <div class="row wrap spread gap-10">
          <h1>{t('Deleted runs')}</h1>
          <ListChoice />
        </div>
        <p class="page-sub">{countsText(restorable.length, goneCount)}</p>
        <ListRefusal store={store} />
      </header>
      {error.value !== undefined && (
        <Warning>
          {t('The list may be out of date: it could not be read just now. Trying again.')}
        </Warning>
      )}
      {restorable.length === 0 ? (
        <div class="card nothing">
          <p>{t('No deleted run can be restored.')}</p>
        </div>
      ) : (
        <DeletedTable store={store} runs={restorable} nowMs={now.value} />
      )}
    </div>
  );
}

function countsText(restorable: number, gone: number): string {
  const runs = countText(restorable, 'run');
  return gone === 0
    ? t('{runs} can be restored', { runs })
    : t('{runs} can be restored; of {gone} the bytes have been removed', {
        runs,
        gone: countText(gone, 'run'),
      });
}

function DeletedTable(props: {
  readonly store: Store;
  readonly runs: readonly DeletedRunInfo[];
  readonly nowMs: number;
}): JSX.Element {
  const { store, runs, nowMs } = props;
  const shownCount = useSignal(PAGE_SIZE);
  const mayRestore = deletionRefusal(store) === undefined;
  return (
    <>
      <div class="run-table card">
        <table class="runs deleted-runs">
          <thead>
            <tr>
              <th scope="col">{t('Run')}</th>
              <th scope="col">{t('Deleted')}</th>
              <th scope="col">{t('Can be restored until')}</th>
              {mayRestore && (
                <th scope="col">
                  <span class="sr-only">{t('Actions')}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {runs.slice(0, shownCount.value).map((one) => (
              <tr key={one.id} class="run-row" data-run={one.id}>
                <td class="breakable">
                  <span class="run-project">{one.projectName}</span>{' '}
                  <span class="run-id quiet code">{shortId(one.id)}</span>
                </td>
                <td class="muted breakable" title={new Date(one.deletedAtMs).toLocaleString()}>
                  <span class="narrow-label">{t('Deleted')} </span>
                  {formatAgo(one.deletedAtMs, nowMs)}
                  {one.by !== undefined && ` ${t('by {user}', { user: one.by })}`}
                </td>
                <td class="muted">
                  <span class="narrow-label">{t('Until')} </span>
                  {one.purgeAtMs <= nowMs ? t('its bytes are removed') : instantText(one.purgeAtMs)}
                </td>
                {mayRestore && (
                  <td class="col-restore">
                    <Restore store={store} tombstone={one} name={deletedName(one)} />
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {runs.length > shownCount.value && (
        <Button class="more" onClick={adding(shownCount, PAGE_SIZE)}>
          {t('Show more')}
        </Button>
      )}
    </>
  );
}
