/** What can be done with the list by keys and by the palette. */
import type { Signal } from '@preact/signals';
import type { Store } from 'quark-sdk';
import type { FoundRun } from 'quark-sdk/workspace';
import { actingOn, deleteOrAsk, type ChangeTarget } from '../changes/run-acts.ts';
import { makeChanges } from '../changes/page-changes.ts';
import { useActions, type PageAction } from '../parts/actions.ts';
import { toggling } from '../parts/signals.ts';
import { t } from '../parts/t.ts';
import { hrefOf } from '../route/route.ts';
import { clearFilters, listName, selection, showsDifferences, showsFacets } from './list-state.ts';
import { withAll } from './model/selection.ts';
import type { TableHandle } from './table-view.tsx';
import type { TableData, TableScope } from './model/table-source.ts';
import type { ListContext } from './use-line-context.ts';
import type { TableReading } from './use-table.ts';

/** A dialog over the list. */
export type ListDialog = {
  readonly kind: 'rename' | 'group' | 'tag' | 'untag' | 'note' | 'export';
  /** The runs that it is about; of an export, none stands for all of the filter. */
  readonly targets: readonly ChangeTarget[];
  /** What the field begins with. */
  readonly text?: string;
  readonly scope?: TableScope;
};

/** More runs than these are not compared: each is a curve. */
export const MAX_COMPARED_PICKS = 200;

/** The address of a comparison of runs. */
export function compareHref(ids: ReadonlySet<string>): string {
  return hrefOf({ kind: 'compare', runIds: [...ids].slice(0, MAX_COMPARED_PICKS) });
}

/** Picks all runs of the filter. @throws what reading throws */
export async function pickAll(data: TableData, scope: TableScope): Promise<void> {
  selection.value = withAll(selection.peek(), await data.ids(scope));
}

/** Archives or restores runs. */
export function archive(targets: readonly ChangeTarget[]): void {
  const isArchive = listName.peek() === 'archived';
  void makeChanges(
    targets.map((target) =>
      isArchive ? actingOn('restore', target, 'archive') : actingOn('archive', target),
    ),
  );
}

/** Deletes runs; asks first where some go on. */
export async function deletePicked(
  store: Pick<Store, 'listLeases'>,
  targets: readonly ChangeTarget[],
): Promise<void> {
  let liveCount = 0;
  try {
    const live = new Set((await store.listLeases()).map(({ runId }) => runId));
    liveCount = targets.filter(({ runId }) => live.has(runId)).length;
  } catch {
    // Who goes on is not known: the change says what is wrong with the store.
  }
  deleteOrAsk(targets, liveCount);
}

type ActionProps = {
  readonly data: TableData;
  readonly table: TableReading;
  readonly handle: { readonly current: TableHandle | null };
  readonly dialog: Signal<ListDialog | undefined>;
  readonly context: ListContext;
};

/** Offers the actions of the list. */
export function useListActions(props: ActionProps): void {
  useActions(() => [
    ...goingActions(props),
    ...pickingActions(props),
    ...viewActions(props),
    ...changingActions(props),
  ]);
}

function goingActions({ handle }: ActionProps): readonly PageAction[] {
  const section = t('Runs');
  return [
    {
      id: 'runs.search',
      title: t('Search runs'),
      section,
      keys: '/',
      run: () => document.getElementById('runs-query')?.focus(),
    },
    {
      id: 'runs.next',
      title: t('Next run'),
      section,
      keys: 'j',
      run: () => handle.current?.move(1),
    },
    {
      id: 'runs.previous',
      title: t('Previous run'),
      section,
      keys: 'k',
      run: () => handle.current?.move(-1),
    },
  ];
}

function pickingActions(props: ActionProps): readonly PageAction[] {
  const { context } = props;
  const section = t('Runs');
  const picking = (isRange: boolean) => () => {
    const row = activeRow(props);
    if (row !== undefined) context.onPick(row, isRange);
  };
  return [
    {
      id: 'runs.pick',
      title: t('Pick the run, or no longer'),
      section,
      keys: 'x',
      run: picking(false),
    },
    {
      id: 'runs.pick-range',
      title: t('Pick all runs up to this one'),
      section,
      keys: 'shift+x',
      run: picking(true),
    },
    {
      id: 'runs.pick-all',
      title: t('Pick all runs of the filter, or none'),
      section,
      keys: 'shift+a',
      run: context.onPickAll,
    },
    {
      id: 'runs.compare',
      title: t('Compare the picked runs'),
      section,
      keys: 'c',
      run: () => {
        const { ids } = selection.peek();
        if (ids.size > 0) location.hash = compareHref(ids);
      },
    },
  ];
}

function viewActions({ context, dialog, table }: ActionProps): readonly PageAction[] {
  const section = t('Runs');
  return [
    { id: 'runs.clear', title: t('Clear filters'), section, run: clearFilters },
    {
      id: 'runs.differs',
      title: t('What differs'),
      section,
      keys: 'd',
      run: toggling(showsDifferences),
    },
    { id: 'runs.facets', title: t('Facets'), section, keys: 'f', run: toggling(showsFacets) },
    {
      id: 'runs.export',
      title: t('Export the table'),
      section,
      run: () => {
        dialog.value = {
          kind: 'export',
          targets: context.targetsOf(selection.peek().ids),
          scope: table.scope.peek(),
        };
      },
    },
  ];
}

/** Changes of the picked runs, or else of the one that the reader is at. */
function changingActions(props: ActionProps): readonly PageAction[] {
  const { context, dialog } = props;
  const section = t('Runs');
  const withTargets = (run: (given: readonly ChangeTarget[]) => void) => () => {
    const { ids } = selection.peek();
    const row = activeRow(props);
    const given =
      ids.size > 0 ? context.targetsOf(ids) : row === undefined ? [] : [context.targetOf(row)];
    if (given.length > 0) run(given);
  };
  const opening = (kind: 'rename' | 'group' | 'tag' | 'untag' | 'note') =>
    withTargets((targets) => {
      dialog.value = { kind, targets };
    });
  const rename = (): void => {
    const row = activeRow(props);
    if (row !== undefined && context.mayEditRow(row)) context.startRename(row.id);
  };
  const remove = withTargets((given) => void deletePicked(context.store, given));
  return [
    ...(context.mayEdit
      ? [
          { id: 'runs.rename', title: t('Rename the run'), section, keys: 'f2', run: rename },
          {
            id: 'runs.rename-many',
            title: t('Rename runs by a pattern'),
            section,
            run: opening('rename'),
          },
          { id: 'runs.group', title: t('Set the groups of runs'), section, run: opening('group') },
          { id: 'runs.tag', title: t('Tag runs'), section, keys: 'shift+t', run: opening('tag') },
          { id: 'runs.untag', title: t('Remove tags'), section, run: opening('untag') },
          {
            id: 'runs.note',
            title: t('Write a note'),
            section,
            keys: 'shift+n',
            run: opening('note'),
          },
        ]
      : []),
    ...(context.mayDelete
      ? [
          {
            id: 'runs.archive',
            title: t('Archive runs, or restore them'),
            section,
            keys: 'shift+e',
            run: withTargets(archive),
          },
          { id: 'runs.delete', title: t('Delete runs'), section, keys: 'delete', run: remove },
        ]
      : []),
  ];
}

function activeRow({ table, handle }: ActionProps): FoundRun | undefined {
  return rowOf(table, handle.current?.active());
}

function rowOf(table: TableReading, runId: string | undefined): FoundRun | undefined {
  const model = table.model.peek();
  const at = runId === undefined ? undefined : model?.lineOf(runId);
  const found = at === undefined ? undefined : model?.at(at);
  return found?.kind === 'row' ? found.row : undefined;
}
