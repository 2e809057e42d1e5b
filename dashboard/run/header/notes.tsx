/** Notes on a run, as Markdown: read, and changed where they stand, with what will be seen beside what is typed. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { changedNotes } from './notes-conflict.ts';
import { makeChanges } from '../../changes/page-changes.ts';
import { noting } from '../../changes/run-edits.ts';
import type { ChangeTarget } from '../../changes/run-acts.ts';
import { Button, Segmented } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { Markdown } from '../../parts/markdown/markdown.tsx';
import { Warning } from '../../parts/notices.tsx';
import { setting, toggling } from '../../parts/signals.ts';
import { t } from '../../parts/t.ts';

/** What a store takes. */
const MAX_CHARS = 65_536;
/** Longer notes are folded at first. */
const FOLD_CHARS = 400;
const FOLD_LINES = 6;

type NotesProps = {
  readonly target: ChangeTarget;
  readonly notes: string | null;
  readonly canEdit: boolean;
  readonly isEditing: Signal<boolean>;
};

/** The notes; nothing for a run without them that is not being written about. */
export function RunNotes(props: NotesProps): JSX.Element | null {
  const { canEdit, isEditing, notes, target } = props;
  const isWhole = useSignal(false);
  if (isEditing.value && canEdit)
    return (
      <NotesForm key={target.runId} target={target} notes={notes ?? ''} isEditing={isEditing} />
    );
  if (notes === null) return null;
  const isLong = notes.length > FOLD_CHARS || notes.split('\n', FOLD_LINES + 1).length > FOLD_LINES;
  return (
    <section class="run-notes card" aria-label={t('Notes')}>
      <h2 class="sr-only">{t('Notes')}</h2>
      <div class={isLong && !isWhole.value ? 'notes-folded' : ''}>
        <Markdown text={notes} topLevel={2} />
      </div>
      {(isLong || canEdit) && (
        <div class="row gap-6">
          {isLong && (
            <Button isSmall aria-expanded={isWhole.value} onClick={toggling(isWhole)}>
              {isWhole.value ? t('Show less') : t('Show all of the notes')}
            </Button>
          )}
          {canEdit && (
            <Button isSmall onClick={toggling(isEditing)}>
              {t('Edit notes')}
            </Button>
          )}
        </div>
      )}
    </section>
  );
}

function NotesForm(props: SavedNotes): JSX.Element {
  const { isEditing, notes, target } = props;
  const text = useSignal(notes);
  const shown = useSignal<'write' | 'preview'>('write');
  const { before, isBusy, save, theirs } = useSaving({ isEditing, notes, target }, text);
  const left = MAX_CHARS - text.value.length;
  return (
    <form
      class="run-notes card"
      aria-label={t('Notes')}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void save();
        if (event.key === 'Escape' && text.value === before.current) isEditing.value = false;
      }}
    >
      <Segmented
        label={t('Notes')}
        options={[
          { value: 'write', label: t('Write') },
          { value: 'preview', label: t('Preview') },
        ]}
        value={shown.value}
        onChange={(value) => {
          shown.value = value;
        }}
      />
      {theirs.value === undefined ? (
        notes !== before.current && (
          <Warning>{t('Somebody has changed the notes since you began.')}</Warning>
        )
      ) : (
        <TheirNotes
          text={theirs.value}
          onTake={() => {
            text.value = theirs.peek() ?? '';
          }}
        />
      )}
      {shown.value === 'write' ? (
        <NotesField text={text} />
      ) : (
        <div class="notes-preview">
          <Markdown text={text.value} topLevel={2} />
        </div>
      )}
      <NotesFoot left={left} isBusy={isBusy.value} onCancel={setting(isEditing, false)} />
    </form>
  );
}

type SavedNotes = Omit<NotesProps, 'canEdit' | 'notes'> & { readonly notes: string };

/** Saves what was written, and asks first where somebody else has written meanwhile. */
function useSaving(
  { isEditing, notes, target }: SavedNotes,
  text: Signal<string>,
): {
  readonly before: { readonly current: string };
  readonly isBusy: Signal<boolean>;
  readonly theirs: Signal<string | undefined>;
  readonly save: () => Promise<void>;
} {
  const isBusy = useSignal(false);
  /** What the notes were when the form was opened: somebody else may change them meanwhile. */
  const before = useRef(notes);
  /** What somebody else wrote meanwhile, as it was when this was last asked about. */
  const theirs = useSignal<string | undefined>(undefined);
  const save = async (): Promise<void> => {
    isBusy.value = true;
    const asked = theirs.peek();
    const found = await changedNotes(target, asked ?? before.current);
    if (found !== undefined) {
      theirs.value = found;
      isBusy.value = false;
      return;
    }
    const said = text.value.trim();
    await makeChanges([noting(target, said === '' ? undefined : said)]);
    isEditing.value = false;
  };
  return { before, isBusy, save, theirs };
}

/** What somebody else wrote meanwhile: nothing was saved yet. */
function TheirNotes(props: { readonly text: string; readonly onTake: () => void }): JSX.Element {
  return (
    <Warning>
      <p>
        {t(
          'Not saved: somebody has changed the notes since you began. “Save” now puts yours over these.',
        )}
      </p>
      <pre
        class="code notes-theirs"
        tabIndex={0}
        aria-label={t('Notes of somebody else')}
        role="region"
      >
        {props.text === '' ? t('(no notes)') : props.text}
      </pre>
      <Button isSmall onClick={props.onTake}>
        {t('Go on from these')}
      </Button>
    </Warning>
  );
}

function NotesField({ text }: { readonly text: Signal<string> }): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <textarea
      ref={field}
      class="input notes-field code"
      aria-label={t('Notes as Markdown')}
      maxLength={MAX_CHARS}
      rows={10}
      dir="auto"
      value={text.value}
      onInput={(event) => {
        text.value = event.currentTarget.value;
      }}
    />
  );
}

function NotesFoot(props: {
  /** Characters that may be added. */
  readonly left: number;
  readonly isBusy: boolean;
  readonly onCancel: () => void;
}): JSX.Element {
  const { isBusy, left, onCancel } = props;
  return (
    <div class="row wrap gap-6">
      <Button isSmall isPrimary type="submit" disabled={isBusy}>
        {t('Save')}
      </Button>
      <Button isSmall onClick={onCancel}>
        {t('Cancel')}
      </Button>
      <span class="quiet small">
        {left < 2000
          ? t('{count} characters left', { count: formatCount(left) })
          : t('Markdown; Ctrl and Enter save')}
      </span>
    </div>
  );
}
