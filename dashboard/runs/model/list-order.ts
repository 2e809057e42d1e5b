/** What the table is sorted by: several columns, the first one counts first. */
import type { AddressText } from '../../parts/address-text.ts';
import { startsDescending } from './columns.ts';

/** A column that is sorted by. */
export type OrderKey = { readonly by: string; readonly isDescending: boolean };

/** Stores sort by so many columns. */
export const MAX_ORDER_KEYS = 4;

/** Before anybody sorts: newest first. */
export const NEWEST_FIRST: readonly OrderKey[] = [{ by: 'startedAt', isDescending: true }];

/**
 * The order after a click on the head of a column: it is sorted by that column alone, the other way round if it was so before.
 *
 * @param adds the others stay before it, as with the shift key; a third click takes the column out again
 */
export function sortedBy(
  order: readonly OrderKey[],
  by: string,
  adds: boolean = false,
): readonly OrderKey[] {
  const first = startsDescending(by);
  const known = order.find((one) => one.by === by);
  if (!adds) {
    const isOnly = known !== undefined && order.length === 1;
    return [{ by, isDescending: isOnly ? !known.isDescending : first }];
  }
  if (known === undefined)
    return order.length < MAX_ORDER_KEYS ? [...order, { by, isDescending: first }] : order;
  if (known.isDescending === first)
    return order.map((one) => (one === known ? { by, isDescending: !first } : one));
  const rest = order.filter((one) => one !== known);
  return rest.length === 0 ? NEWEST_FIRST : rest;
}

/** `loss,-startedAt`: "-" for the largest first. */
export const ORDER: AddressText<readonly OrderKey[]> = {
  write: (order) => {
    const text = orderText(order);
    return text === orderText(NEWEST_FIRST) ? undefined : text;
  },
  read: (text) => {
    const keys = (text ?? '').split(',', MAX_ORDER_KEYS).flatMap((part): readonly OrderKey[] => {
      const by = part.replace(/^-/, '').replaceAll('%2c', ',').replaceAll('%25', '%');
      return by === '' ? [] : [{ by, isDescending: part.startsWith('-') }];
    });
    return keys.length === 0 ? NEWEST_FIRST : keys;
  },
};

function orderText(order: readonly OrderKey[]): string {
  return order
    .map(
      ({ by, isDescending }) =>
        `${isDescending ? '-' : ''}${by.replaceAll('%', '%25').replaceAll(',', '%2c')}`,
    )
    .join();
}
