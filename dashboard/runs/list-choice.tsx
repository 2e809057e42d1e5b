/** Which of the lists is shown, and why nothing in it can be changed from here. */
import type { JSX } from 'preact';
import type { Store } from 'quark-sdk';
import { deletionRefusal } from '../changes/rights.ts';
import { Segmented } from '../parts/controls.tsx';
import { setterOf } from '../parts/signals.ts';
import { listName, type ListName } from './list-state.ts';

const LISTS: readonly {
  readonly value: ListName;
  readonly label: string;
  readonly hint: string;
}[] = [
  { value: 'recorded', label: 'Runs', hint: 'Runs that are neither archived nor deleted' },
  { value: 'archived', label: 'Archived', hint: 'Runs that were put out of the way' },
  { value: 'deleted', label: 'Deleted', hint: 'Runs that can be restored for a time' },
];

/** A bar of the lists. */
export function ListChoice(): JSX.Element {
  return (
    <Segmented
      label="Which runs are listed"
      options={LISTS}
      value={listName.value}
      onChange={setterOf(listName)}
    />
  );
}

/** Said above a list whose runs cannot be restored from here. */
export function ListRefusal({ store }: { readonly store: Store }): JSX.Element | null {
  const refusal = deletionRefusal(store);
  return refusal === undefined ? null : <p class="page-sub">{refusal}</p>;
}
