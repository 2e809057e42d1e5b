/** What happens to files that were dropped: how far, what could not be read, and what is to become of the runs. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { hrefOf } from '../route/route.ts';
import { chooseSource } from '../sources/sources.ts';
import { formatBytes, formatCount } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { textOf } from '../parts/parts.tsx';
import { cancelImport, dropState, keepDropped, letGo, type DropState } from './dropped-files.ts';

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
    <aside class={`dock${isSmall.value ? ' is-small' : ''}`} aria-label="Dropped files">
      <header class="dock-head">
        <h2>
          <span role="status">{titleOf(state)}</span>
        </h2>
        <button
          type="button"
          class="icon-button"
          aria-expanded={!isSmall.value}
          aria-label={isSmall.value ? 'Show more of the import' : 'Show less of the import'}
          onClick={() => {
            isSmall.value = !isSmall.value;
          }}
        >
          <Icon name={isSmall.value ? 'expand' : 'shrink'} />
        </button>
      </header>
      {isBusy && <Progress state={state} />}
      {!isSmall.value && (
        <>
          {state.error !== undefined && (
            <p class="dock-error breakable" role="alert">
              <Icon name="warning" /> {textOf(state.error)}
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
  const runs = `${formatCount(state.runIds.length)} ${state.runIds.length === 1 ? 'run' : 'runs'}`;
  switch (state.phase) {
    case 'collecting':
      return 'Looking through the files';
    case 'importing':
      return state.runIds.length === 0 ? 'Reading the files' : `Reading the files: ${runs} so far`;
    case 'keeping':
      return `Keeping ${runs}`;
    case 'idle':
      if (state.keptCount !== undefined && state.runIds.length > 0)
        return `${runs} kept in this browser`;
      if (state.wasCancelled) return `Cancelled: ${runs}`;
      return state.runIds.length === 0
        ? 'Nothing in these files could be read as a run'
        : `${runs} from ${formatCount(state.fileCount)} ${state.fileCount === 1 ? 'file' : 'files'}`;
  }
}

function Progress({ state }: { readonly state: DropState }): JSX.Element {
  const { progress } = state;
  const share =
    progress === undefined || progress.bytesTotal === 0
      ? undefined
      : progress.bytesRead / progress.bytesTotal;
  return (
    <div class="dock-progress">
      <div
        class="bar"
        role="progressbar"
        aria-label="Import"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={share === undefined ? undefined : Math.round(share * 100)}
        data-is-unknown={share === undefined}
      >
        <span style={{ width: `${((share ?? 0) * 100).toFixed(1)}%` }} />
      </div>
      {progress !== undefined && (
        <p class="dock-file" title={progress.file}>
          <span>
            {formatBytes(progress.bytesRead)} of {formatBytes(progress.bytesTotal)}
          </span>
          <span class="dock-path">{progress.file}</span>
        </p>
      )}
    </div>
  );
}

function Problems({ state }: { readonly state: DropState }): JSX.Element | null {
  const shownCount = useSignal(LISTED);
  const { problems, unlistedProblemCount, unknownFiles } = state;
  const count = problems.length + unlistedProblemCount;
  if (count === 0 && unknownFiles.length === 0) return null;
  const shown = problems.slice(0, shownCount.value);
  const unknown = unknownFiles.slice(0, shownCount.value);
  const isCut = shown.length < problems.length || unknown.length < unknownFiles.length;
  return (
    <details class="dock-problems">
      <summary>
        <Icon name="warning" />{' '}
        {[
          ...(count === 0 ? [] : [`${formatCount(count)} ${count === 1 ? 'problem' : 'problems'}`]),
          ...(unknownFiles.length === 0
            ? []
            : [
                `${formatCount(unknownFiles.length)} ${unknownFiles.length === 1 ? 'file' : 'files'} of no known format`,
              ]),
        ].join(', ')}
      </summary>
      <ul tabIndex={0} aria-label="What could not be read">
        {shown.map(({ file, place, reason }, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- the list only grows at its end
          <li key={at}>
            <span class="problem-file">
              {file}
              {place !== null && <span class="problem-place"> {place}</span>}
            </span>
            <span class="problem-reason">{reason}</span>
          </li>
        ))}
        {unlistedProblemCount > 0 && (
          <li>
            <span class="problem-reason">
              and {formatCount(unlistedProblemCount)} more of the same import
            </span>
          </li>
        )}
        {unknown.map((file) => (
          <li key={`unknown ${file}`}>
            <span class="problem-file">{file}</span>
            <span class="problem-reason">No known format of training logs.</span>
          </li>
        ))}
      </ul>
      {isCut && (
        <button
          type="button"
          class="button button-small"
          onClick={() => {
            shownCount.value += LISTED_MORE;
          }}
        >
          Show more
        </button>
      )}
    </details>
  );
}

function Actions(props: { readonly state: DropState; readonly isBusy: boolean }): JSX.Element {
  const { runIds, keptCount } = props.state;
  if (props.isBusy) {
    return (
      <div class="dock-actions">
        <button type="button" class="button button-small" onClick={() => void cancelImport()}>
          Cancel
        </button>
      </div>
    );
  }
  if (runIds.length === 0 || keptCount !== undefined) {
    return (
      <div class="dock-actions">
        <button type="button" class="button button-small" onClick={letGo}>
          Close
        </button>
      </div>
    );
  }
  return (
    <>
      <div class="dock-actions">
        <a
          class="button button-small"
          href={
            runIds.length === 1
              ? hrefOf({ kind: 'run', runId: runIds[0] ?? '' })
              : hrefOf({ kind: 'runs' })
          }
          onClick={() => chooseSource('files')}
        >
          {runIds.length === 1 ? 'Show the run' : 'Show the runs'}
        </a>
        <button
          type="button"
          class="button button-small button-primary"
          onClick={() => void keepDropped()}
        >
          Keep in this browser
        </button>
        <button type="button" class="button button-small" onClick={letGo}>
          Let go
        </button>
      </div>
      <p class="dock-note quiet">
        In memory only, until you keep them. Nothing leaves this machine.
      </p>
    </>
  );
}
