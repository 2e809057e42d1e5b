/** What a page says of a run that was deleted. */
import type { ComponentChildren, JSX } from 'preact';
import { isQuarkError, type Store } from 'quark-sdk';
import { formatAgo, shortId } from '../parts/format.ts';
import { usePromise } from '../parts/hooks.ts';
import { Warning } from '../parts/notices.tsx';
import { t } from '../parts/t.ts';
import { deletionRefusal } from './rights.ts';
import { RestoreButton } from './run-actions.tsx';

/** What a store goes on knowing of a deleted run. */
export type DeletedRunInfo = NonNullable<Awaited<ReturnType<Store['findDeletedRun']>>>;

/** What became of a run that is not there: undefined while that is asked, null when it was not deleted. */
export function useTombstone(
  store: Store,
  runId: string,
  error: unknown,
): DeletedRunInfo | null | undefined {
  const isMissing = isQuarkError(error, 'run_not_found');
  const asked = usePromise(
    isMissing ? runId : undefined,
    async (id) => (await store.findDeletedRun(id)) ?? null,
  );
  // Why it cannot be asked is no news beside the run that is not there.
  return !isMissing || asked.error !== undefined ? null : asked.found?.value;
}

/** By whom and when it was deleted, and until when it can be restored. */
export function deletedText(
  tombstone: DeletedRunInfo,
  nowMs: number,
  subject: string = t('This run'),
): string {
  const { by, deletedAtMs } = tombstone;
  const ago = formatAgo(deletedAtMs, nowMs);
  const who =
    by === undefined
      ? t('{subject} was deleted {ago}.', { subject, ago })
      : t('{subject} was deleted by {by} {ago}.', { subject, by, ago });
  return `${who} ${untilText(tombstone, nowMs)}`;
}

/** Until when a deleted run can be restored. */
export function untilText({ purgeAtMs, purgedAtMs }: DeletedRunInfo, nowMs: number): string {
  if (purgedAtMs !== undefined) return t('Its bytes have been removed: it cannot be restored.');
  if (purgeAtMs <= nowMs) return t('Its bytes may be removed at any moment.');
  return t('It can be restored until {instant}.', { instant: instantText(purgeAtMs) });
}

/** A day and a minute, as this browser writes them. */
export function instantText(atMs: number): string {
  return new Date(atMs).toLocaleString([], {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  });
}

/** A line above a run that was deleted while its page was open. */
export function DeletedLine(props: {
  readonly store: Store;
  readonly tombstone: DeletedRunInfo | null;
  readonly name: string;
}): JSX.Element {
  const { store, tombstone } = props;
  return (
    <Warning>
      <span class="grow">
        {tombstone === null ? t('This run is no longer here.') : deletedText(tombstone, Date.now())}{' '}
        {t('What is shown was read before.')}
      </span>
      {tombstone !== null && <Restore store={store} tombstone={tombstone} name={props.name} />}
    </Warning>
  );
}

/** The way back, where there is one and the page may go it. */
export function Restore(props: {
  readonly store: Store;
  readonly tombstone: DeletedRunInfo;
  readonly name: string;
  /** Shown in its stead, where the run could be restored by others. */
  readonly refusal?: ComponentChildren;
}): JSX.Element | null {
  const { store, tombstone, name } = props;
  if (tombstone.purgedAtMs !== undefined) return null;
  if (deletionRefusal(store) !== undefined) return <>{props.refusal}</>;
  return <RestoreButton target={{ store, runId: tombstone.id, name }} />;
}

/** What a deleted run is called: its project, and the end of its id. */
export function deletedName({ id, projectName }: DeletedRunInfo): string {
  return `${projectName} ${shortId(id)}`;
}
