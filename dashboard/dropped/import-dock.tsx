/** What happens to files that were dropped: how far, what could not be read, and what is to become of the runs. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Button, ButtonLink, IconButton } from '../parts/controls.tsx';
import { countText, formatBytes, formatCount } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { ProgressBar, errorText } from '../parts/notices.tsx';
import { adding, toggling } from '../parts/signals.ts';
import { hrefOf } from '../route/route.ts';
import { chooseSource } from '../sources/sources.ts';
import {
  cancelImport,
  dropState,
  keepDropped,
  forgetDropped,
  type DropState,
} from './dropped-files.ts';
import './style.css';
import { t } from '../parts/t.ts';

/** Problems that are listed at first. */
const LISTED = 50;
const LISTED_MORE = 200;

/** Fixed in a corner of every page while there is something to tell. */
export function ImportDock(): JSX.Element | null {
  const state = dropState.value;
  const isSmall = useSignal(false);
  if (state === undefined) return null;
  const isBusy = state.phase !== 'idle';
  return (
    <aside
      class={`dock floating${isSmall.value ? ' is-small' : ''}`}
      aria-label={t('Dropped files')}
    >
      <header class="dock-head row spread gap-10">
        <h2>
          <span role="status">{titleOf(state)}</span>
        </h2>
        <IconButton
          icon={isSmall.value ? 'expand' : 'shrink'}
          label={isSmall.value ? t('Show more of the import') : t('Show less of the import')}
          aria-expanded={!isSmall.value}
          onClick={toggling(isSmall)}
        />
      </header>
      {isBusy && <Progress state={state} />}
      {!isSmall.value && (
        <>
          {state.error !== undefined && (
            <p class="row gap-8 medium is-bad breakable" role="alert">
              <Icon name="warning" /> {errorText(state.error)}
            </p>
          )}
          <Problems state={state} />
          <Actions state={state} isBusy={isBusy} />
        </>
      )}
    </aside>
  );
}

function titleOf(state: DropState): string {
  const runs = countText(state.runIds.length, 'run');
  switch (state.phase) {
    case 'collecting':
      return t('Looking through the files');
    case 'importing':
      return state.runIds.length === 0
        ? t('Reading the files')
        : t('Reading the files: {runs} so far', { runs });
    case 'keeping':
      return t('Keeping {runs}', { runs });
    case 'idle':
      if (state.keptCount !== undefined && state.runIds.length > 0)
        return t('{runs} kept in this browser', { runs });
      if (state.wasCancelled) return t('Cancelled: {runs}', { runs });
      return state.runIds.length === 0
        ? t('Nothing in these files could be read as a run')
        : t('{runs} from {files}', { runs, files: countText(state.fileCount, 'file') });
  }
}

function Progress({ state }: { readonly state: DropState }): JSX.Element {
  const { progress } = state;
  const share =
    progress === undefined || progress.bytesTotal === 0
      ? undefined
      : progress.bytesRead / progress.bytesTotal;
  return (
    <div class="stack gap-5">
      <ProgressBar label={t('Import')} share={share} />
      {progress !== undefined && (
        <p class="row gap-12 quiet small nowrap" title={progress.file}>
          <span>
            {t('{read} of {size}', {
              read: formatBytes(progress.bytesRead),
              size: formatBytes(progress.bytesTotal),
            })}
          </span>
          <span class="dock-path path ellipsis">{progress.file}</span>
        </p>
      )}
    </div>
  );
}

function Problems({ state }: { readonly state: DropState }): JSX.Element | null {
  const shownCount = useSignal(LISTED);
  const { problems, unlistedProblemCount, unknown: described, unknownFiles } = state;
  const count = problems.length + unlistedProblemCount;
  if (count === 0 && unknownFiles.length === 0) return null;
  const shown = problems.slice(0, shownCount.value);
  const unknown = described.slice(0, shownCount.value);
  const isCut = shown.length < problems.length || unknown.length < described.length;
  return (
    <details class="dock-problems small">
      <summary class="row gap-8">
        <Icon name="warning" />{' '}
        {[
          count > 0 && countText(count, 'problem'),
          unknownFiles.length > 0 &&
            t('{files} of no known format', {
              files: countText(unknownFiles.length, 'file'),
            }),
        ]
          .filter(Boolean)
          .join(', ')}
      </summary>
      <ul class="ruled" tabIndex={0} aria-label={t('What could not be read')}>
        {shown.map(({ file, place, reason }, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- the list only grows at its end
          <li key={at}>
            <span class="problem-file quiet">
              {file}
              {place !== null && <span class="muted"> {place}</span>}
            </span>
            <span>{reason}</span>
          </li>
        ))}
        {unlistedProblemCount > 0 && (
          <li>
            <span>
              {t('and {count} more of the same import', {
                count: formatCount(unlistedProblemCount),
              })}
            </span>
          </li>
        )}
        {unknown.map(({ advice, file, seen }) => (
          <li key={`unknown ${file}`}>
            <span class="problem-file quiet">{file}</span>
            <span>{t('No known format: {seen}. {advice}', { seen, advice })}</span>
          </li>
        ))}
      </ul>
      {isCut && (
        <Button isSmall onClick={adding(shownCount, LISTED_MORE)}>
          {t('Show more')}
        </Button>
      )}
    </details>
  );
}

function Actions(props: { readonly state: DropState; readonly isBusy: boolean }): JSX.Element {
  const { runIds, keptCount } = props.state;
  const only = runIds.length === 1 ? runIds[0] : undefined;
  if (props.isBusy || runIds.length === 0 || keptCount !== undefined)
    return (
      <div class="row wrap gap-8">
        <Button isSmall onClick={props.isBusy ? () => void cancelImport() : forgetDropped}>
          {props.isBusy ? t('Cancel') : t('Close')}
        </Button>
      </div>
    );
  return (
    <>
      <div class="row wrap gap-8">
        <ButtonLink
          isSmall
          href={hrefOf(only === undefined ? { kind: 'runs' } : { kind: 'run', runId: only })}
          onClick={() => chooseSource('files')}
        >
          {only === undefined ? t('Show the runs') : t('Show the run')}
        </ButtonLink>
        <Button isSmall isPrimary onClick={() => void keepDropped()}>
          {t('Keep in this browser')}
        </Button>
        <Button isSmall onClick={forgetDropped}>
          {t('Discard')}
        </Button>
      </div>
      <p class="quiet small">
        {t('In memory only, until you keep them. Nothing leaves this machine.')}
      </p>
    </>
  );
}
