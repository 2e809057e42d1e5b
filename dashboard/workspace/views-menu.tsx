/** Saved views: switch, save, rename, delete, default, and files. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { SavedView, SavedViewHeader } from 'quark-sdk/workspace';
import { saveBlob, downloadName } from '../charts/save/save-file.ts';
import { Button } from '../parts/controls.tsx';
import { t } from '../parts/t.ts';
import { PageDialog } from './dialog.tsx';
import type { WorkspaceState } from './workspace-state.ts';

/** A longer file is no view. */
const MAX_FILE_BYTES = 1024 * 1024;

/** The choice of a view, with the button of all that is done with views. */
export function ViewChoice(props: {
  readonly state: WorkspaceState;
  readonly onMore: () => void;
}): JSX.Element {
  const { state } = props;
  const { isChanged, name, saved, views } = state;
  return (
    <span class="row gap-6 view-choice">
      <select
        class="input"
        aria-label={t('Saved view')}
        value={name.value}
        onChange={(event) => void state.choose(event.currentTarget.value)}
      >
        <option value="">{t('By the names of metrics')}</option>
        {views.value.map((view) => (
          <option key={view.id} value={view.name}>
            {labelOf(view)}
          </option>
        ))}
      </select>
      {isChanged.value && (
        <>
          <span class="quiet small nowrap">{t('changed')}</span>
          {saved.value !== undefined && (
            <Button isSmall onClick={() => void state.update()}>
              {t('Save')}
            </Button>
          )}
          <Button isSmall onClick={() => state.reset()}>
            {t('Reset')}
          </Button>
        </>
      )}
      <Button isSmall aria-haspopup="dialog" onClick={props.onMore}>
        {t('Views…')}
      </Button>
    </span>
  );
}

/** The name of a view, with whether the project opens with it, or only its user sees it. */
function labelOf({ isDefault, name, visibility }: SavedViewHeader): string {
  if (visibility === 'private') return t('{name} (only for you)', { name });
  return isDefault ? `${name} ★` : name;
}

type ViewsProps = {
  readonly state: WorkspaceState;
  /** Why views cannot be saved here; undefined where they can. */
  readonly refusal: string | undefined;
};

/** All that is done with views. */
export function ViewsDialog(props: ViewsProps & { readonly onClose: () => void }): JSX.Element {
  const { onClose, refusal, state } = props;
  const { problem, saved } = state;
  return (
    <PageDialog title={t('Views of {project}', { project: state.project })} onClose={onClose}>
      {refusal !== undefined && <p class="quiet">{refusal}</p>}
      <NameForm {...props} />
      {saved.value !== undefined && <SavedButtons {...props} saved={saved.value} />}
      <ViewFiles state={state} />
      {problem.value !== undefined && (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
    </PageDialog>
  );
}

/** Another name: for a new view, or for the one that is shown. */
function NameForm({ refusal, state }: ViewsProps): JSX.Element {
  const { saved } = state;
  const name = useSignal(saved.value?.name ?? '');
  const isPrivate = useSignal(false);
  const wanted = name.value.trim();
  const isTaken = state.views.value.some((one) => one.name === wanted);
  const canName = refusal === undefined && wanted !== '' && !isTaken;
  return (
    <form
      class="row wrap gap-8"
      onSubmit={(event) => {
        event.preventDefault();
        if (canName) void state.saveAs(wanted, isPrivate.value);
      }}
    >
      <input
        class="input"
        aria-label={t('Name of the view')}
        placeholder={t('Name of the view')}
        value={name.value}
        maxLength={200}
        onInput={(event) => {
          name.value = event.currentTarget.value;
        }}
      />
      <label
        class="row gap-6 small"
        title={t(
          'On a service with users, only you and its admins see the new view. In a storage without a service, everybody who opens it does.',
        )}
      >
        <input
          type="checkbox"
          checked={isPrivate.value}
          disabled={refusal !== undefined}
          onChange={(event) => {
            isPrivate.value = event.currentTarget.checked;
          }}
        />
        {t('Only for me')}
      </label>
      <Button isSmall isPrimary type="submit" disabled={!canName}>
        {t('Save as new')}
      </Button>
      <Button
        isSmall
        disabled={!canName || saved.value === undefined}
        onClick={() => void state.rename(wanted)}
      >
        {t('Rename')}
      </Button>
    </form>
  );
}

function SavedButtons({
  refusal,
  saved,
  state,
}: ViewsProps & { readonly saved: SavedView }): JSX.Element {
  return (
    <div class="row wrap gap-8">
      <Button
        isSmall
        disabled={refusal !== undefined || !state.isChanged.value}
        onClick={() => void state.update()}
      >
        {t('Save changes')}
      </Button>
      <Button
        isSmall
        disabled={refusal !== undefined || saved.visibility === 'private'}
        aria-pressed={saved.isDefault}
        onClick={() => void state.makeDefault(!saved.isDefault)}
      >
        {saved.isDefault ? t('No default any more') : t('Make it the default')}
      </Button>
      <Button isSmall disabled={refusal !== undefined} onClick={() => void state.remove()}>
        {t('Delete')}
      </Button>
    </div>
  );
}

function ViewFiles({ state }: Pick<ViewsProps, 'state'>): JSX.Element {
  const file = useRef<HTMLInputElement>(null);
  return (
    <div class="row wrap gap-8">
      <Button
        isSmall
        onClick={() =>
          saveBlob(
            downloadName([state.project, state.name.value, 'view'], 'json'),
            new Blob([state.exported()], { type: 'application/json' }),
          )
        }
      >
        {t('Export as a file')}
      </Button>
      <Button isSmall onClick={() => file.current?.click()}>
        {t('Import a file')}
      </Button>
      <input
        ref={file}
        class="sr-only"
        type="file"
        accept=".json,application/json"
        tabIndex={-1}
        aria-label={t('File of a view')}
        onChange={(event) => {
          const [given] = event.currentTarget.files ?? [];
          if (given !== undefined) void readFile(state, given);
          event.currentTarget.value = '';
        }}
      />
    </div>
  );
}

async function readFile(state: WorkspaceState, file: File): Promise<void> {
  if (file.size > MAX_FILE_BYTES) {
    state.problem.value = t('This file is too large for a view.');
    return;
  }
  state.imported(await file.text());
}
