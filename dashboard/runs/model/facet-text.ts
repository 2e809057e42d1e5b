/** Values that were chosen of facets, as a text in an address. */
import { decodedName, type AddressText } from '../../parts/address-text.ts';

/** A value of a facet; null stands for runs without one. */
export type FacetValue = string | number | boolean | null;

/** The values that were chosen, by the path that they are of. A run has to have one of each path. */
export type ChosenFacets = ReadonlyMap<string, readonly FacetValue[]>;

/** Nothing was chosen. */
export const NO_FACETS: ChosenFacets = new Map();

/** The paths that facets are offered of. */
export const FACET_PATHS = ['project', 'status', 'tags', 'groups', 'jobType'] as const;

/** Chooses a value, or no longer. */
export function toggledFacet(chosen: ChosenFacets, path: string, value: FacetValue): ChosenFacets {
  const before = chosen.get(path) ?? [];
  const values = before.includes(value)
    ? before.filter((one) => one !== value)
    : [...before, value];
  const next = new Map(chosen);
  if (values.length === 0) next.delete(path);
  else next.set(path, values);
  return next;
}

/** `status:failed,completed tags:baseline`; `-` for runs without, `=3` and `=true` for numbers and flags. */
export const FACETS: AddressText<ChosenFacets> = {
  write: (chosen) =>
    chosen.size === 0
      ? undefined
      : Array.from(
          chosen,
          ([path, values]) => `${encodeURIComponent(path)}:${values.map(valueText).join()}`,
        ).join(' '),
  read: (text) => {
    const chosen = new Map<string, readonly FacetValue[]>();
    for (const part of (text ?? '').split(' ')) {
      const [path = '', list = ''] = part.split(':');
      if (path !== '' && list !== '') chosen.set(decodedName(path), list.split(',').map(valueOf));
    }
    return chosen;
  },
};

function valueText(value: FacetValue): string {
  if (value === null) return '-';
  if (typeof value !== 'string') return `=${String(value)}`;
  const text = encodeURIComponent(value);
  return /^[-=']/.test(text) || text === '' ? `'${text}` : text;
}

function valueOf(text: string): FacetValue {
  if (text === '-') return null;
  if (text === '=true' || text === '=false') return text === '=true';
  if (text.startsWith('=') && Number.isFinite(Number(text.slice(1)))) return Number(text.slice(1));
  return decodedName(text.replace(/^'/, ''));
}
