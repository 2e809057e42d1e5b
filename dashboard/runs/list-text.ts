/** Filters and order of the list, as texts in an address. */
import { decodedName, type AddressText } from '../parts/address-text.ts';
import { SHOWN_STATUSES, type ShownStatus } from '../parts/run-status.tsx';
import { SORT_COLUMNS, type RunQuery, type RunSort } from './run-filter.ts';

const NEWEST_FIRST: RunSort = { column: 'started', descending: true };

/** `loss`, or `-loss` for the largest first. */
export const SORT: AddressText<RunSort> = {
  write: (order) =>
    order.column === NEWEST_FIRST.column && order.descending === NEWEST_FIRST.descending
      ? undefined
      : `${order.descending ? '-' : ''}${order.column}`,
  read: (text) => {
    const column = SORT_COLUMNS.find((one) => one === text?.replace(/^-/, ''));
    return column === undefined ? NEWEST_FIRST : { column, descending: text?.[0] === '-' };
  },
};

/** Words as they were typed, then `status:` and `tag:` with a name each. */
export const QUERY: AddressText<RunQuery> = {
  write: ({ text, statuses, tags }) => {
    const parts = [
      ...(text === '' ? [] : [text]),
      ...Array.from(statuses, (status) => `status:${status}`),
      ...Array.from(tags, (tag) => `tag:${encodeURIComponent(tag)}`),
    ];
    return parts.length === 0 ? undefined : parts.join(' ');
  },
  read: (text) => {
    const statuses = new Set<ShownStatus>();
    const tags = new Set<string>();
    const words = (text ?? '').split(' ').filter((word) => {
      const [, kind, name = ''] = /^(status|tag):(.+)$/.exec(word) ?? [];
      const status = SHOWN_STATUSES.find((one) => one === name);
      if (kind === 'status' && status !== undefined) statuses.add(status);
      else if (kind === 'tag') tags.add(decodedName(name));
      else return true;
      return false;
    });
    return { text: words.join(' '), statuses, tags };
  },
};
