/** What the lines of the table are given: what their cells read, and what can be done with their runs. */
import type { Signal } from '@preact/signals';
import { useSignal } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import type { Store } from 'quark-sdk';
import type { FoundRun } from 'quark-sdk/workspace';
import type { ChangeTarget } from '../changes/run-acts.ts';
import { deletionRefusal, editRefusal } from '../changes/rights.ts';
import { makeChanges } from '../changes/page-changes.ts';
import { shortId } from '../parts/format.ts';
import type { MenuItem } from '../parts/menu.tsx';
import { t } from '../parts/t.ts';
import { nameOf } from './cells.tsx';
import type { CurveCache } from './model/curve-cache.ts';
import type { ListDialog } from './list-actions.ts';
import { selection } from './list-state.ts';
import type { LineContext } from './run-line.tsx';
import { NO_SELECTION, toggledRun, withRange } from './model/selection.ts';
import type { TableReading } from './use-table.ts';

/** Runs that are picked are known by their names from when they were seen. */
export type ListContext = LineContext & {
  /** What changes are made of; a run that was never seen is called by its id. */
  readonly targetsOf: (ids: Iterable<string>) => readonly ChangeTarget[];
  readonly store: Store;
  /** Picks all runs of the filter. */
  readonly pickAll: () => void;
  /** Picks all runs of the filter, or none where some are picked. */
  readonly onPickAll: () => void;
  readonly startRename: (runId: string) => void;
};

/** Dialogs about one run. */
type RowDialog = 'note' | 'tag' | 'group';

type ContextProps = {
  readonly store: Store;
  readonly curves: CurveCache;
  readonly table: TableReading;
  readonly dialog: Signal<ListDialog | undefined>;
  readonly pickAll: () => void;
};

/** See the top of this file. */
export function useLineContext(props: ContextProps): ListContext {
  const { store, curves } = props;
  const renamed = useSignal<string | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const mayEdit = editRefusal(store) === undefined;
  const mayDelete = deletionRefusal(store) === undefined;
  return useMemo(() => {
    const names = new RunNames(store);
    const mayEditRow = (row: FoundRun): boolean =>
      mayEdit && editRefusal(store, row.project) === undefined;
    const startRename = (runId: string): void => {
      if (mayEdit) renamed.value = runId;
    };
    const open = (kind: RowDialog, row: FoundRun): void => {
      const { notes } = row.values;
      const known = { note: typeof notes === 'string' ? notes : '', group: row.groups.join(', ') };
      const text = kind === 'tag' ? '' : known[kind];
      props.dialog.value = { kind, targets: [names.targetOf(row)], text };
    };
    return {
      store,
      now: props.table.now,
      curves,
      renamed,
      mayEdit,
      mayEditRow,
      mayDelete,
      targetOf: (row) => names.targetOf(row),
      targetsOf: (ids) => names.targetsOf(ids),
      startRename,
      pickAll: () => latest.current.pickAll(),
      onPickAll: () => {
        if (selection.peek().ids.size > 0) selection.value = NO_SELECTION;
        else latest.current.pickAll();
      },
      onNotes: (row) => open('note', row),
      onRename: (row, given) => {
        renamed.value = undefined;
        rename(latest.current.table, row, names.targetOf(row), given);
      },
      onPick: (row, isRange) => {
        names.targetOf(row);
        const { anchor } = selection.peek();
        if (isRange && anchor !== undefined) void pickRange(latest.current.table, anchor, row.id);
        else selection.value = toggledRun(selection.peek(), row.id);
      },
      menuOf: (row) => (mayEditRow(row) ? menuOf(row, startRename, open) : []),
    };
  }, [store, curves, mayEdit, mayDelete]);
}

/** What runs are called that were seen once. */
class RunNames {
  readonly #store: Store;
  readonly #names = new Map<string, string>();

  constructor(store: Store) {
    this.#store = store;
  }

  targetOf(row: FoundRun): ChangeTarget {
    const name = `${nameOf(row)} ${shortId(row.id)}`;
    this.#names.set(row.id, name);
    return { store: this.#store, runId: row.id, name };
  }

  targetsOf(ids: Iterable<string>): readonly ChangeTarget[] {
    return Array.from(ids, (runId) => ({
      store: this.#store,
      runId,
      name: this.#names.get(runId) ?? shortId(runId),
    }));
  }
}

function menuOf(
  row: FoundRun,
  startRename: (runId: string) => void,
  open: (kind: RowDialog, row: FoundRun) => void,
): readonly MenuItem[] {
  return [
    { label: t('Rename'), icon: 'pencil', act: () => startRename(row.id) },
    { label: t('Groups'), icon: 'rows', act: () => open('group', row) },
    { label: t('Tags'), icon: 'tag', act: () => open('tag', row) },
    { label: t('Notes'), icon: 'note', act: () => open('note', row) },
  ];
}

/** Gives a run the name that was typed; nothing for one that was left as it was. */
function rename(
  table: TableReading,
  row: FoundRun,
  target: ChangeTarget,
  given: string | undefined,
): void {
  const name = given?.trim();
  if (name === undefined || name === (row.name ?? '')) return;
  const wanted = name === '' ? null : name;
  // It is there before the store has answered; the next reading shows what the store has.
  table.model.peek()?.patch(row.id, (one) => ({ ...one, name: wanted }));
  void import('../changes/run-edits.ts').then(({ renaming }) =>
    makeChanges([renaming(target, wanted ?? undefined)]),
  );
}

/** Picks the runs between two, which may not have been read yet. */
async function pickRange(table: TableReading, from: string, to: string): Promise<void> {
  const model = table.model.peek();
  const [start, end] = [model?.lineOf(from), model?.lineOf(to)];
  if (model === undefined || start === undefined || end === undefined) {
    selection.value = toggledRun(selection.peek(), to);
    return;
  }
  try {
    const rows = await model.runsIn(Math.min(start, end), Math.max(start, end) + 1);
    selection.value = withRange(
      selection.peek(),
      to,
      rows.map(({ id }) => id),
    );
  } catch (error) {
    table.polling.error.value = error;
  }
}
