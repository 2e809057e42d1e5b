/** Which of the lists is shown, and why nothing in it can be changed from here. */
import type { JSX } from 'preact';
import type { Store } from 'quark-sdk';
import { deletionRefusal } from '../changes/rights.ts';
import { Segmented } from '../parts/controls.tsx';
import { setterOf } from '../parts/signals.ts';
import { listName, type ListName } from './list-state.ts';
import { t } from '../parts/t.ts';

const LISTS: readonly {
  readonly value: ListName;
  readonly label: string;
  readonly hint: string;
}[] = [
  {
    value: 'recorded',
    get label() {
      return t('Runs');
    },
    get hint() {
      return t('Runs that are neither archived nor deleted');
    },
  },
  {
    value: 'archived',
    get label() {
      return t('Archived');
    },
    get hint() {
      return t('Runs that were put out of the way');
    },
  },
  {
    value: 'deleted',
    get label() {
      return t('Deleted');
    },
    get hint() {
      return t('Runs that can be restored for a time');
    },
  },
];

/** A bar of the lists. */
export function ListChoice(): JSX.Element {
  return (
    <Segmented
      label={t('Which runs are listed')}
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
