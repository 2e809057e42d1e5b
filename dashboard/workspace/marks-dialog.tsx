/** What is marked at its step in the charts of a run, and notes there. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { chartSettings, type StepNote } from 'quark-sdk/workspace';
import { Button } from '../parts/controls.tsx';
import { formatCount } from '../parts/format.ts';
import { errorText } from '../parts/notices.tsx';
import { t } from '../parts/t.ts';
import { PageDialog } from './dialog.tsx';
import { MarkSwitches } from './mark-switches.tsx';
import type { WorkspaceState } from './workspace-state.ts';

/** Notes at steps, and writing them. */
export type NoteAccess = {
  readonly notes: readonly StepNote[];
  /** Why none can be written here; undefined where they can. */
  readonly refusal: string | undefined;
  readonly add: (step: number, text: string) => Promise<void>;
  readonly remove: (id: string) => Promise<void>;
};

/** Switches of the kinds, the notes, and a new one. */
export function MarksDialog(props: {
  readonly state: WorkspaceState;
  /** Undefined where the charts are of several runs: their notes are on the page of each. */
  readonly access: NoteAccess | undefined;
  readonly onClose: () => void;
}): JSX.Element {
  const { access, onClose, state } = props;
  return (
    <PageDialog title={access === undefined ? t('Marks') : t('Marks and notes')} onClose={onClose}>
      <fieldset class="row wrap gap-12">
        <legend class="quiet small">{t('Marked in the charts')}</legend>
        <MarkSwitches
          hidden={chartSettings([state.choices.value]).hiddenMarks}
          onChange={(hiddenMarks) => state.edit((view) => ({ ...view, hiddenMarks }))}
        />
      </fieldset>
      {access !== undefined && <NoteList access={access} />}
    </PageDialog>
  );
}

function NoteList({ access }: { readonly access: NoteAccess }): JSX.Element {
  return (
    <>
      {access.refusal === undefined ? (
        <NewNote access={access} />
      ) : (
        <p class="quiet">{access.refusal}</p>
      )}
      <ul class="note-list">
        {access.notes.map((note) => (
          <li key={note.id} class="row gap-8">
            <span class="quiet small nowrap">
              {t('step {step}', { step: formatCount(note.step) })}
            </span>
            <span class="breakable">{note.text}</span>
            {access.refusal === undefined && (
              <Button isSmall class="push" onClick={() => void access.remove(note.id)}>
                {t('Remove')}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function NewNote({ access }: { readonly access: NoteAccess }): JSX.Element {
  const step = useSignal('');
  const text = useSignal('');
  const problem = useSignal<string | undefined>(undefined);
  const canAdd = /^\d{1,15}$/.test(step.value) && text.value.trim() !== '';
  const add = async (): Promise<void> => {
    try {
      await access.add(Number(step.value), text.value.trim());
      problem.value = undefined;
      text.value = '';
    } catch (error) {
      problem.value = errorText(error);
    }
  };
  return (
    <form
      class="row wrap gap-8"
      onSubmit={(event) => {
        event.preventDefault();
        if (canAdd) void add();
      }}
    >
      <input
        class="input note-step"
        inputMode="numeric"
        aria-label={t('Step')}
        placeholder={t('Step')}
        value={step.value}
        onInput={(event) => {
          step.value = event.currentTarget.value.trim();
        }}
      />
      <input
        class="input"
        aria-label={t('Note')}
        placeholder={t('What happened there')}
        maxLength={500}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
      <Button isSmall type="submit" disabled={!canAdd}>
        {t('Add a note')}
      </Button>
      {problem.value !== undefined && (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
    </form>
  );
}
