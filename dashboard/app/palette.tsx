/** The command palette: everything that can be done and opened, found by typing. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { findRuns, type Store } from 'quark-sdk';
import { pageActions, type PageAction } from '../parts/actions.ts';
import { shortId } from '../parts/format.ts';
import { usePromise } from '../parts/hooks.ts';
import { setterOf } from '../parts/signals.ts';
import { t, tn } from '../parts/t.ts';
import { hrefOf } from '../route/route.ts';
import { keyWords } from './key-words.ts';
import { matchEntries } from './palette-match.ts';

const SHOWN_RUNS = 8;

/** The palette, open from the start. */
export default function Palette(props: {
  /** Where runs are looked for; undefined while no store is open. */
  readonly store: (() => Promise<Store>) | undefined;
  readonly onClose: () => void;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const text = useSignal('');
  const at = useSignal(0);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const runs = useRunsNamed(text.value, props.store);
  const entries = [...matchEntries(pageActions.value, text.value), ...runs];
  const chosen = Math.min(at.value, entries.length - 1);
  const run = (action: PageAction | undefined): void => {
    if (action === undefined) return;
    dialog.current?.close();
    action.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = movedTo(event.key, chosen, entries.length);
    if (next !== undefined) at.value = next;
    else if (event.key === 'Enter') run(entries[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette floating"
      aria-label={t('Actions and runs')}
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <PaletteText
        text={text.value}
        listId={`${id}-list`}
        chosenId={entries.length === 0 ? undefined : `${id}-${chosen}`}
        onText={(next) => {
          text.value = next;
          at.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      <PaletteList id={id} entries={entries} chosen={chosen} onChoose={setterOf(at)} onRun={run} />
      <p class="palette-foot quiet" role="status">
        {entries.length === 0
          ? t('Nothing has this name.')
          : tn(entries.length, '{count} entry', '{count} entries')}
      </p>
    </dialog>
  );
}

function PaletteText(props: {
  readonly text: string;
  readonly listId: string;
  readonly chosenId: string | undefined;
  readonly onText: (text: string) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}): JSX.Element {
  return (
    <input
      type="text"
      class="palette-text"
      role="combobox"
      aria-expanded="true"
      aria-controls={props.listId}
      aria-activedescendant={props.chosenId}
      aria-label={t('Find an action or a run')}
      placeholder={t('Find an action or a run')}
      autocomplete="off"
      spellcheck={false}
      value={props.text}
      onInput={(event) => props.onText(event.currentTarget.value)}
      onKeyDown={props.onKeyDown}
    />
  );
}

function PaletteList(props: {
  readonly id: string;
  readonly entries: readonly PageAction[];
  readonly chosen: number;
  readonly onChoose: (index: number) => void;
  readonly onRun: (action: PageAction) => void;
}): JSX.Element {
  const { id, entries, chosen, onChoose, onRun } = props;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen, entries[chosen]?.id]);
  return (
    <div ref={list} id={`${id}-list`} class="palette-list" role="listbox" aria-label={t('Found')}>
      {entries.map((entry, index) => (
        <PaletteEntry
          key={entry.id}
          id={`${id}-${index}`}
          entry={entry}
          isChosen={index === chosen}
          onChoose={() => onChoose(index)}
          onRun={() => onRun(entry)}
        />
      ))}
    </div>
  );
}

function PaletteEntry(props: {
  readonly id: string;
  readonly entry: PageAction;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly onRun: () => void;
}): JSX.Element {
  const { entry } = props;
  return (
    <div
      id={props.id}
      class="palette-entry row gap-10"
      role="option"
      aria-selected={props.isChosen}
      onMouseMove={props.onChoose}
      onClick={props.onRun}
    >
      <span class="grow breakable">{entry.title}</span>
      <span class="quiet">{entry.section}</span>
      {entry.keys !== undefined && <kbd>{keyWords(entry.keys)}</kbd>}
    </div>
  );
}

/** Where a key moves the choice; undefined: it does not. */
function movedTo(key: string, at: number, count: number): number | undefined {
  if (count === 0) return undefined;
  if (key === 'ArrowDown') return (at + 1) % count;
  if (key === 'ArrowUp') return (at + count - 1) % count;
  if (key === 'PageDown') return Math.min(count - 1, at + 8);
  return key === 'PageUp' ? Math.max(0, at - 8) : undefined;
}

/** Runs whose name or id has the text in it, as actions that open them. */
function useRunsNamed(
  text: string,
  store: (() => Promise<Store>) | undefined,
): readonly PageAction[] {
  const { found } = usePromise(
    store === undefined || text.trim() === '' ? undefined : text.trim(),
    async (wanted) => {
      if (store === undefined) return [];
      const opened = await store();
      // A pattern has no way to write `%` itself: any one character stands for it.
      const pattern = `%${wanted.replaceAll('%', '_')}%`;
      return findRuns(
        opened,
        {
          or: [
            { name: { ilike: pattern } },
            { id: { ilike: pattern } },
            { project: { ilike: pattern } },
          ],
        },
        { limit: SHOWN_RUNS },
      );
    },
  );
  if (text.trim() === '' || found === undefined) return [];
  return found.value.map(({ run }) => ({
    id: `run ${run.id}`,
    title: `${run.name ?? run.projectId} ${shortId(run.id)}`,
    section: t('Run'),
    run: () => {
      location.hash = hrefOf({ kind: 'run', runId: run.id });
    },
  }));
}
