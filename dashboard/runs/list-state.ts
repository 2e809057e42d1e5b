/** Filters, order, columns and picks of the list. They outlive it: a user who comes back from a run finds the list unchanged. */
import { effect, signal, type Signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { choiceText, FLAG, plainText } from '../parts/address-text.ts';
import { useAddressed } from '../parts/addressed.ts';
import { storedText, type StoredText } from '../parts/browser-storage.ts';
import { INITIAL_LAYOUT, LAYOUT, layoutOf, type ColumnLayout } from './model/columns.ts';
import { FACETS, NO_FACETS, toggledFacet, type ChosenFacets } from './model/facet-text.ts';
import { NEWEST_FIRST, ORDER, type OrderKey } from './model/list-order.ts';
import { NO_SELECTION, type PickedRuns } from './model/selection.ts';

/** The query line as it was typed. */
export const line: Signal<string> = signal('');

/** The values that were chosen of facets. */
export const facets: Signal<ChosenFacets> = signal(NO_FACETS);

/** The runs that were picked. */
export const selection: Signal<PickedRuns> = signal(NO_SELECTION);

/** What the list is sorted by. */
export const order: Signal<readonly OrderKey[]> = signal(NEWEST_FIRST);

/** The columns of the list. */
export const layout: Signal<ColumnLayout> = signal(remembered('') ?? INITIAL_LAYOUT);

/** The path by whose values runs are grouped; empty for none. */
export const groupPath: Signal<string> = signal('');

/** Whether the configuration that varies among the runs is shown before the other columns. */
export const showsDifferences: Signal<boolean> = signal(false);

/** Whether the panel of facets is open. */
export const showsFacets: Signal<boolean> = signal(false);

/** Lists of runs that can be shown. */
export type ListName = 'recorded' | 'archived' | 'deleted';

/** The list that is shown. Dropped files have the first one only. */
export const listName: Signal<ListName> = signal('recorded');

/** Filters by a tag, or no longer. */
export function toggleTag(tag: string): void {
  facets.value = toggledFacet(facets.value, 'tags', tag);
}

/** Shows all runs again. */
export function clearFilters(): void {
  line.value = '';
  facets.value = NO_FACETS;
}

/** The project that all shown runs are of, as far as that was chosen; columns are remembered for each. */
function chosenProject(chosen: ChosenFacets): string {
  const projects = chosen.get('project') ?? [];
  const [first] = projects;
  return projects.length === 1 && typeof first === 'string' ? first : '';
}

function memoryOf(project: string): StoredText {
  return storedText(`quark.columns${project === '' ? '' : `.${project}`}`);
}

function remembered(project: string): ColumnLayout | undefined {
  const text = memoryOf(project).get();
  return text === undefined ? undefined : layoutOf(text);
}

/** Stores the columns of each project when they change. Call it once. */
function rememberColumns(): void {
  let first = true;
  effect(() => {
    const text = LAYOUT.write(layout.value);
    if (!first) memoryOf(chosenProject(facets.peek())).set(text);
    first = false;
  });
}

rememberColumns();

/** Puts filters, order, columns and list into the address, and takes them from there. */
export function useListAddress(): void {
  useAddressed('filter', line, plainText());
  useAddressed('only', facets, FACETS);
  useAddressed('sort', order, ORDER);
  useAddressed('group', groupPath, plainText());
  useAddressed('differs', showsDifferences, FLAG);
  useAddressed('list', listName, choiceText(['recorded', 'archived', 'deleted']), 'push');
  const project = chosenProject(facets.value);
  const before = useRef(project);
  if (before.current !== project) {
    before.current = project;
    layout.value = remembered(project) ?? layout.peek();
  }
  useAddressed('columns', layout, LAYOUT);
}
