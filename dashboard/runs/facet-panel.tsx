/** The values that runs have of a few facets, with how many runs have each. */
import type { RunFacet } from 'quark-sdk/workspace';
import type { ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { formatCount } from '../parts/format.ts';
import { useLatest } from '../parts/hooks.ts';
import { Waiting } from '../parts/notices.tsx';
import { SHOWN_STATUSES, statusLabel } from '../parts/run-status.tsx';
import { t, tn } from '../parts/t.ts';
import { fullTitle } from './model/columns.ts';
import { FACET_PATHS, toggledFacet, type FacetValue } from './model/facet-text.ts';
import { facets } from './list-state.ts';
import { storedStatus } from './list-tools.tsx';
import type { TableData, TableScope } from './model/table-source.ts';

const FACETS_POLL_MS = 10_000;

/** Each facet counts the runs that the line and all other facets leave. */
export default function FacetPanel(props: {
  readonly data: TableData;
  readonly scope: ReadonlySignal<TableScope>;
}): JSX.Element {
  const { data } = props;
  const scope = props.scope.value;
  const text = JSON.stringify([scope.list, scope.line, [...scope.facets]]);
  const found = useLatest(async () => readFacets(data, scope), FACETS_POLL_MS, [data, text]);
  return (
    <aside class="facets" aria-label={t('Facets')}>
      {found === undefined ? (
        <Waiting label={t('Counting')} />
      ) : (
        found.map((facet) => <Facet key={facet.path} facet={facet} />)
      )}
    </aside>
  );
}

async function readFacets(data: TableData, scope: TableScope): Promise<readonly RunFacet[]> {
  // Facets of which nothing was chosen count alike: they are one question.
  const open = FACET_PATHS.filter((path) => !scope.facets.has(path));
  const chosen = FACET_PATHS.filter((path) => scope.facets.has(path));
  const read = await Promise.all([
    ...(open.length === 0 ? [] : [data.facets(scope, open)]),
    ...chosen.map((path) =>
      data.facets(
        { ...scope, facets: new Map([...scope.facets].filter(([other]) => other !== path)) },
        [path],
      ),
    ),
  ]);
  const byPath = new Map(read.flat().map((facet) => [facet.path, facet]));
  return FACET_PATHS.flatMap((path) => byPath.get(path) ?? []);
}

function Facet({ facet }: { readonly facet: RunFacet }): JSX.Element | null {
  const { path, values, missing, more } = facet;
  const chosen = facets.value.get(path) ?? [];
  const rows: { readonly value: FacetValue; readonly runs: number }[] = [
    ...values,
    ...(missing > 0 && path !== 'project' && path !== 'status'
      ? [{ value: null, runs: missing }]
      : []),
    // What was chosen and no run has any more can be taken back.
    ...chosen
      .filter((value) => value !== null && values.every((one) => one.value !== value))
      .map((value) => ({ value, runs: 0 })),
  ];
  if (rows.length === 0 || (values.length === 0 && chosen.length === 0)) return null;
  const title = fullTitle(path);
  return (
    <fieldset class="facet">
      <legend class="small strong">{title}</legend>
      {rows.map(({ value, runs }) => (
        <label key={String(value)} class="facet-value row gap-8">
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={() => {
              facets.value = toggledFacet(facets.value, path, value);
            }}
          />
          <span class="ellipsis grow" title={String(value)}>
            {facetText(path, value)}
          </span>
          <span class="quiet small">{formatCount(runs)}</span>
        </label>
      ))}
      {more > 0 && (
        <p class="quiet small">{tn(more, '{count} more value', '{count} more values')}</p>
      )}
    </fieldset>
  );
}

function facetText(path: string, value: FacetValue): string {
  if (value === null) return t('none');
  const status = SHOWN_STATUSES.find((one) => storedStatus(one) === value);
  return path === 'status' && status !== undefined ? statusLabel(status) : String(value);
}
