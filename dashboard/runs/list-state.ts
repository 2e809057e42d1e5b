/** Filters, picks and order of the list. They outlive it: a user who comes back from a run finds the list unchanged. */
import { signal, type Signal } from '@preact/signals';
import { choiceText } from '../parts/address-text.ts';
import { useAddressed } from '../parts/addressed.ts';
import { toggled } from '../parts/signals.ts';
import { QUERY, SORT } from './list-text.ts';
import type { RunQuery, RunSort } from './run-filter.ts';

/** What the list is filtered by. */
export const query: Signal<RunQuery> = signal({ text: '', statuses: new Set(), tags: new Set() });

/** Ids of the runs that were picked to be compared. */
export const picked: Signal<ReadonlySet<string>> = signal(new Set<string>());

/** What the list is sorted by. */
export const sort: Signal<RunSort> = signal({ column: 'started', descending: true });

/** Lists of runs that can be shown. */
export type ListName = 'recorded' | 'archived' | 'deleted';

/** The list that is shown. Dropped files have the first one only. */
export const listName: Signal<ListName> = signal('recorded');

/** Filters by a tag, or no longer. */
export function toggleTag(tag: string): void {
  query.value = { ...query.value, tags: toggled(query.value.tags, tag) };
}

/** Puts filters, order and list into the address, and takes them from there. */
export function useListAddress(): void {
  useAddressed('filter', query, QUERY);
  useAddressed('sort', sort, SORT);
  useAddressed('list', listName, choiceText(['recorded', 'archived', 'deleted']), 'push');
}
