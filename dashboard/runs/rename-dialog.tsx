/** Renames the picked runs by a pattern, and shows before what their names become. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { FoundRun } from 'quark-sdk/workspace';
import { makeChanges } from '../changes/page-changes.ts';
import type { ChangeTarget } from '../changes/run-acts.ts';
import { renaming } from '../changes/run-edits.ts';
import { Button } from '../parts/controls.tsx';
import { errorText } from '../parts/notices.tsx';
import { t, tn } from '../parts/t.ts';
import { DialogFrame } from './dialog-frame.tsx';
import { patternFields, renamingBy, type Renaming } from './model/rename-pattern.ts';
import type { TableData } from './model/table-source.ts';

/** Names that are shown before they are given. */
const SHOWN = 6;

/** See the top of this file. */
export function RenameDialog(props: {
  readonly data: TableData;
  readonly targets: readonly ChangeTarget[];
  readonly onClose: () => void;
}): JSX.Element {
  const { data, targets, onClose } = props;
  const find = useSignal('');
  const write = useSignal('{name}');
  const { rows, failure } = useRows(data, targets, patternFields(write.value).join('\n'));
  const made = renamingBy({ find: find.value, write: write.value }, rows.value);
  const apply = (): void => {
    onClose();
    const byId = new Map(targets.map((target) => [target.runId, target]));
    void makeChanges(
      made.changes.flatMap(({ runId, after }) => {
        const target = byId.get(runId);
        return target === undefined ? [] : [renaming(target, after)];
      }),
    );
  };
  return (
    <DialogFrame
      title={tn(targets.length, 'Rename {count} run', 'Rename {count} runs')}
      onClose={onClose}
    >
      <form
        class="stack gap-10"
        onSubmit={(event) => {
          event.preventDefault();
          if (made.changes.length > 0) apply();
        }}
      >
        <PatternField
          label={t('Find in the name')}
          example={t('empty: the whole name')}
          text={find}
        />
        <PatternField label={t('Put there')} example="{name}-{config.lr}-{n}" text={write} />
        <p class="quiet small">
          {t(
            'In braces: {fields}. {n} numbers the runs, the oldest first.',
            // What stands in braces is text here.
            { fields: '{name}, {n}, {id}, {project}, {config.lr}, {val/loss.best}', n: '{n}' },
          )}
        </p>
        <Preview made={made} failure={failure.value} />
        <div class="row wrap gap-10 question-answers">
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button isPrimary type="submit" disabled={made.changes.length === 0}>
            {t('Rename')}
          </Button>
        </div>
      </form>
    </DialogFrame>
  );
}

/** The runs with the values of these paths, one a line. */
function useRows(
  data: TableData,
  targets: readonly ChangeTarget[],
  fields: string,
): {
  readonly rows: Signal<readonly FoundRun[]>;
  readonly failure: Signal<string | undefined>;
} {
  const rows = useSignal<readonly FoundRun[]>([]);
  const failure = useSignal<string | undefined>(undefined);
  useEffect(() => {
    let isLatest = true;
    const ids = targets.map(({ runId }) => runId);
    data.rowsOf(ids, fields === '' ? [] : fields.split('\n')).then(
      (read) => {
        if (!isLatest) return;
        rows.value = read;
        failure.value = undefined;
      },
      (error: unknown) => {
        if (isLatest) failure.value = errorText(error);
      },
    );
    return () => {
      isLatest = false;
    };
  }, [data, targets, fields]);
  return { rows, failure };
}

function PatternField(props: {
  readonly label: string;
  readonly example: string;
  readonly text: Signal<string>;
}): JSX.Element {
  const { text } = props;
  return (
    <label class="stack gap-6">
      <span class="quiet small">{props.label}</span>
      <input
        class="input code"
        placeholder={props.example}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

function Preview(props: {
  readonly made: Renaming;
  readonly failure: string | undefined;
}): JSX.Element {
  const { changes, refused, repeated } = props.made;
  if (props.failure !== undefined) return <p class="is-bad">{props.failure}</p>;
  return (
    <div class="stack gap-6 rename-preview">
      <p role="status">{tn(changes.length, '{count} name changes', '{count} names change')}</p>
      <ul class="plain-list small">
        {changes.slice(0, SHOWN).map(({ runId, before, after }) => (
          <li key={runId} class="breakable">
            <span class="quiet">{before}</span> → <span class="strong">{after}</span>
          </li>
        ))}
      </ul>
      {refused > 0 && (
        <p class="is-bad small">
          {tn(
            refused,
            '{count} run would have no name that can be stored, and keeps its own.',
            '{count} runs would have no name that can be stored, and keep their own.',
          )}
        </p>
      )}
      {repeated > 0 && (
        <p class="quiet small">
          {tn(repeated, '{count} name is given twice.', '{count} names are given twice or more.')}
        </p>
      )}
    </div>
  );
}
