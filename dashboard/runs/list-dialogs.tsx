/** The dialogs over the list: names, groups, tags, notes, export. */
import { useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { Store } from 'quark-sdk';
import { makeChanges } from '../changes/page-changes.ts';
import { addingNote, settingGroups, noting, tagging, untagging } from '../changes/run-edits.ts';
import { Button } from '../parts/controls.tsx';
import { errorText } from '../parts/notices.tsx';
import { t, tn } from '../parts/t.ts';
import { DialogFrame } from './dialog-frame.tsx';
import { RenameDialog } from './rename-dialog.tsx';
import type { ColumnLayout } from './model/columns.ts';
import { exportRuns, exportTable } from './list-export.ts';
import type { ListDialog } from './list-actions.ts';
import type { OrderKey } from './model/list-order.ts';
import type { TableData } from './model/table-source.ts';

type DialogProps = {
  readonly store: Store;
  readonly data: TableData;
  readonly dialog: Signal<ListDialog | undefined>;
  readonly layout: ReadonlySignal<ColumnLayout>;
  readonly order: readonly OrderKey[];
};

/** The one that is asked for. */
export default function ListDialogs(props: DialogProps): JSX.Element | null {
  const asked = props.dialog.value;
  if (asked === undefined) return null;
  if (asked.kind === 'export') return <ExportDialog {...props} asked={asked} />;
  if (asked.kind !== 'rename') return <WordsDialog {...props} asked={asked} />;
  const close = (): void => {
    props.dialog.value = undefined;
  };
  return <RenameDialog data={props.data} targets={asked.targets} onClose={close} />;
}

function titleOfDialog({ kind, targets }: ListDialog): string {
  const [first, another] = targets;
  const name = first?.name ?? '';
  const count = targets.length;
  if (kind === 'tag')
    return another === undefined
      ? t('Tag {name}', { name })
      : tn(count, 'Tag {count} run', 'Tag {count} runs');
  if (kind === 'untag')
    return another === undefined
      ? t('Remove tags of {name}', { name })
      : tn(count, 'Remove tags of {count} run', 'Remove tags of {count} runs');
  if (kind === 'group')
    return another === undefined
      ? t('Groups of {name}', { name })
      : tn(count, 'Set the groups of {count} run', 'Set the groups of {count} runs');
  return another === undefined
    ? t('Notes of {name}', { name })
    : tn(count, 'Add a note to {count} run', 'Add a note to {count} runs');
}

/** Makes the changes that a dialog asks for. */
function applyWords({ kind, targets }: ListDialog, text: string): void {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  const isOne = targets.length === 1;
  if (kind === 'group') {
    void makeChanges(targets.map((target) => settingGroups(target, words)));
    return;
  }
  if (kind === 'note' && (isOne || text.trim() !== ''))
    void makeChanges(
      targets.map((target) =>
        isOne ? noting(target, text === '' ? undefined : text) : addingNote(target, text),
      ),
    );
  else if (kind !== 'note' && words.length > 0)
    void makeChanges(
      targets.map((target) => (kind === 'tag' ? tagging(target, words) : untagging(target, words))),
    );
}

/** Tags, separated by commas, or a note. */
function WordsDialog(props: DialogProps & { readonly asked: ListDialog }): JSX.Element {
  const { asked, dialog } = props;
  const { kind, targets } = asked;
  const text = useSignal(targets.length === 1 ? (asked.text ?? '') : '');
  const close = (): void => {
    dialog.value = undefined;
  };
  const apply = (): void => {
    close();
    applyWords(asked, text.value);
  };
  return (
    <DialogFrame title={titleOfDialog(asked)} onClose={close}>
      <form
        class="stack gap-10"
        onSubmit={(event) => {
          event.preventDefault();
          apply();
        }}
      >
        {kind === 'note' ? (
          <NoteField text={text} onSave={apply} />
        ) : (
          <input
            class="input"
            aria-label={
              kind === 'group'
                ? t('Groups, separated by commas; none removes them')
                : t('Tags, separated by commas')
            }
            placeholder={kind === 'group' ? 'sweep-1' : t('baseline, workers=8')}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
        )}
        <div class="row wrap gap-10 question-answers">
          <Button onClick={close}>{t('Cancel')}</Button>
          <Button isPrimary type="submit">
            {kind === 'tag' ? t('Tag') : kind === 'untag' ? t('Untag') : t('Save')}
          </Button>
        </div>
      </form>
    </DialogFrame>
  );
}

function NoteField(props: {
  readonly text: Signal<string>;
  readonly onSave: () => void;
}): JSX.Element {
  const { text } = props;
  return (
    <textarea
      class="input note-field"
      rows={8}
      aria-label={t('Notes, as Markdown')}
      placeholder={t('Notes, as Markdown')}
      value={text.value}
      onInput={(event) => {
        text.value = event.currentTarget.value;
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) props.onSave();
      }}
    />
  );
}

/** A way to write a file, told when to stop, that says how far it is. */
type Write = (signal: AbortSignal, tell: (text: string) => void) => Promise<void>;

type Said = { readonly text: string; readonly isBad?: boolean };

function ExportDialog(props: DialogProps & { readonly asked: ListDialog }): JSX.Element {
  const { asked, dialog, data, store } = props;
  const ids = asked.targets.map(({ runId }) => runId);
  const said = useSignal<Said | undefined>(undefined);
  const stop = useRef(new AbortController());
  const close = (): void => {
    stop.current.abort();
    dialog.value = undefined;
  };
  const save = (write: Write) => (): void => {
    const { signal } = stop.current;
    write(signal, (text) => {
      said.value = { text };
    }).then(
      () => {
        said.value = { text: t('Saved.') };
      },
      (error: unknown) => {
        if (!signal.aborted) said.value = { text: errorText(error), isBad: true };
      },
    );
  };
  const { scope } = asked;
  const { order } = props;
  const layout = props.layout.peek();
  return (
    <DialogFrame
      title={
        ids.length === 0
          ? t('Export all runs of the filter')
          : tn(ids.length, 'Export {count} run', 'Export {count} runs')
      }
      onClose={close}
    >
      <ExportWays
        count={ids.length}
        said={said.value}
        onTable={save((signal, tell) =>
          exportTable({ data, scope, ids, layout, order, signal, tell }),
        )}
        onRuns={save((signal, tell) => exportRuns({ store, ids, signal, tell }))}
      />
      <div class="row wrap gap-10 question-answers">
        <Button onClick={close}>{t('Close')}</Button>
      </div>
    </DialogFrame>
  );
}

function ExportWays(props: {
  readonly count: number;
  readonly said: Said | undefined;
  readonly onTable: () => void;
  readonly onRuns: () => void;
}): JSX.Element {
  const { count, said } = props;
  return (
    <div class="stack gap-10 export-ways">
      <Button onClick={props.onTable}>{t('Table as CSV')}</Button>
      <p class="quiet small">{t('The shown columns, a line for each run.')}</p>
      <Button disabled={count === 0} onClick={props.onRuns}>
        {t('Runs as a .quark file')}
      </Button>
      <p class="quiet small">
        {count === 0
          ? t('Pick runs for a file with everything that they recorded.')
          : t(
              'Everything that these runs recorded, with artifacts. Quark reads it into any store.',
            )}
      </p>
      <p class="quiet small">
        {t(
          'Parquet, Arrow, TensorBoard and MLflow: "quark export RUN --format parquet" on the command line.',
        )}
      </p>
      <p role="status" class={said?.isBad === true ? 'is-bad' : ''}>
        {said?.text}
      </p>
    </div>
  );
}
