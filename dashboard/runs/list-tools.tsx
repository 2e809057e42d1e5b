/** The tools above the table: the query, statuses, facets, columns, groups, differences, export. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Button, Chip } from '../parts/controls.tsx';
import { formatCount } from '../parts/format.ts';
import { useLatest } from '../parts/hooks.ts';
import { Icon } from '../parts/icons.tsx';
import { LazyView } from '../parts/lazy-view.tsx';
import { SHOWN_STATUSES, statusLabel, type ShownStatus } from '../parts/run-status.tsx';
import { toggling } from '../parts/signals.ts';
import { t, tn } from '../parts/t.ts';
import { differingPaths, fullTitle, sortPathOf } from './model/columns.ts';
import { toggledFacet, type FacetValue } from './model/facet-text.ts';
import { facets, groupPath, layout, order, showsDifferences, showsFacets } from './list-state.ts';
import { isNarrow } from './narrow.ts';
import { QueryLine } from './query-line.tsx';
import type { TableData, TableScope } from './model/table-source.ts';
import type { KnownColumns } from './use-columns.ts';

/** Loads the panel of facets. */
export const loadFacets = (): Promise<typeof import('./facet-panel.tsx')> =>
  import('./facet-panel.tsx');
const loadPicker = (): Promise<typeof import('./column-picker.tsx')> =>
  import('./column-picker.tsx');

const COUNTS_POLL_MS = 10_000;

/** What a status of the list is called in the store. */
export function storedStatus(status: ShownStatus): string {
  return status === 'live' ? 'running' : status;
}

type ToolsProps = {
  readonly data: TableData;
  /** Of the runs of the filter. */
  readonly columns: KnownColumns;
  /** Of all runs of the list: what a query may be about. */
  readonly known: KnownColumns;
  readonly scope: ReadonlySignal<TableScope>;
  readonly onDown: () => void;
  readonly onExport: () => void;
};

/** On a phone the tools are one line that scrolls: browsers leave a button alone that is seen in part. */
function showFocused({ target }: FocusEvent): void {
  if (target instanceof Element) target.scrollIntoView({ inline: 'nearest', block: 'nearest' });
}

/** See the top of this file. */
export function ListTools(props: ToolsProps): JSX.Element {
  const { data, columns } = props;
  const isPicking = useSignal(false);
  return (
    <div class="list-tools">
      <div class="row wrap gap-8">
        <QueryLine
          data={data}
          columns={props.known.all}
          wantColumns={props.known.want}
          onDown={props.onDown}
        />
        <span class="row wrap gap-6 tool-buttons" onFocusIn={showFocused}>
          <Button
            isSmall
            class={showsFacets.value ? 'is-on' : ''}
            aria-pressed={showsFacets.value}
            onClick={toggling(showsFacets)}
          >
            <Icon name="filter" /> {t('Facets')}
          </Button>
          <Button
            isSmall
            aria-expanded={isPicking.value}
            onClick={() => {
              columns.want();
              isPicking.value = true;
            }}
          >
            <Icon name="columns" /> {t('Columns')}
          </Button>
          <GroupChoice columns={columns} />
          {isNarrow.value && <SortChoice />}
          <DiffersButton columns={columns} />
          <Button isSmall onClick={props.onExport}>
            <Icon name="save" /> {t('Export')}
          </Button>
        </span>
      </div>
      <StatusChips data={data} scope={props.scope} />
      {isPicking.value && (
        <LazyView
          load={loadPicker}
          of={{
            columns: columns.all,
            onClose: () => {
              isPicking.value = false;
            },
          }}
        />
      )}
    </div>
  );
}

function DiffersButton({ columns }: { readonly columns: KnownColumns }): JSX.Element {
  const count = differingPaths(columns.all.value).length;
  return (
    <Button
      isSmall
      class={showsDifferences.value ? 'is-on' : ''}
      aria-pressed={showsDifferences.value}
      title={t('Show the configuration in which these runs differ')}
      onClick={toggling(showsDifferences)}
    >
      {t('What differs')}
      {showsDifferences.value && <span class="chip-count">{formatCount(count)}</span>}
    </Button>
  );
}

/** Filters by status, and what else was chosen of facets. */
function StatusChips(props: {
  readonly data: TableData;
  readonly scope: ReadonlySignal<TableScope>;
}): JSX.Element {
  const { list, line } = props.scope.value;
  const others = [...facets.value].filter(([path]) => path !== 'status');
  const text = JSON.stringify([list, line, others]);
  const found = useLatest(
    async () => {
      const scope = { list, line, facets: new Map(others) };
      const [statuses] = await props.data.facets(scope, ['status']);
      return new Map(statuses?.values.map(({ value, runs }) => [value, runs]));
    },
    COUNTS_POLL_MS,
    [props.data, text],
  );
  return (
    <div class="row wrap gap-6 list-chips">
      <div class="row wrap gap-6" role="group" aria-label={t('Filter by status')}>
        {SHOWN_STATUSES.map((status) => {
          const value = storedStatus(status);
          return (
            <Chip
              key={status}
              class="chip-small"
              isOn={facets.value.get('status')?.includes(value) === true}
              count={found === undefined ? '' : formatCount(found.get(value) ?? 0)}
              onClick={() => {
                facets.value = toggledFacet(facets.value, 'status', value);
              }}
            >
              {statusLabel(status)}
            </Chip>
          );
        })}
      </div>
      {others.flatMap(([path, values]) =>
        values.map((value) => (
          <ChosenChip key={`${path} ${String(value)}`} path={path} value={value} />
        )),
      )}
    </div>
  );
}

function ChosenChip({
  path,
  value,
}: {
  readonly path: string;
  readonly value: FacetValue;
}): JSX.Element {
  const name = value === null ? t('none') : String(value);
  const facet = fullTitle(path);
  const label =
    path === 'tags'
      ? t('Stop filtering by tag {name}', { name })
      : t('Stop filtering by {facet} {name}', { facet, name });
  return (
    <Chip
      isOn
      class="chip-small"
      aria-label={label}
      onClick={() => {
        facets.value = toggledFacet(facets.value, path, value);
      }}
    >
      <span class="ellipsis">{path === 'tags' ? name : `${facet}: ${name}`}</span>{' '}
      <Icon name="close" />
    </Chip>
  );
}

/** Paths that are offered to group by before the columns are known. */
const GROUPS_AT_FIRST = ['project', 'status', 'groups', 'tags', 'jobType', 'host'];

function GroupChoice({ columns }: { readonly columns: KnownColumns }): JSX.Element {
  const known = columns.all.value
    .filter(({ kind, distinct, runs }) => kind !== 'metric' && distinct > 1 && distinct < runs)
    .map(({ path }) => path);
  const chosen = groupPath.value;
  const paths = [...new Set([...(chosen === '' ? [] : [chosen]), ...GROUPS_AT_FIRST, ...known])];
  return (
    <select
      class={`input tool-select${chosen === '' ? '' : ' is-on'}`}
      aria-label={t('Group by')}
      value={chosen}
      onFocus={columns.want}
      onPointerDown={columns.want}
      onChange={(event) => {
        groupPath.value = event.currentTarget.value;
      }}
    >
      <option value="">{t('No groups')}</option>
      {paths.map((path) => (
        <option key={path} value={path}>
          {t('By {name}', { name: fullTitle(path) })}
        </option>
      ))}
    </select>
  );
}

/** The order, where there are no heads of columns to click. */
function SortChoice(): JSX.Element {
  const [first] = order.value;
  const paths = [
    ...new Set([...layout.value.map(({ path }) => sortPathOf(path)), first?.by ?? '']),
  ];
  const valueOf = (by: string, isDescending: boolean): string => `${isDescending ? '-' : '+'}${by}`;
  return (
    <select
      class="input tool-select"
      aria-label={t('Sort by')}
      value={valueOf(first?.by ?? '', first?.isDescending === true)}
      onChange={(event) => {
        const { value } = event.currentTarget;
        order.value = [{ by: value.slice(1), isDescending: value.startsWith('-') }];
      }}
    >
      {paths.flatMap((path) => [
        <option key={`+${path}`} value={valueOf(path, false)}>
          {t('{name}, ascending', { name: fullTitle(path) })}
        </option>,
        <option key={`-${path}`} value={valueOf(path, true)}>
          {t('{name}, descending', { name: fullTitle(path) })}
        </option>,
      ])}
    </select>
  );
}

/** How many runs are picked, in words. */
export function pickedText(count: number): string {
  return tn(count, '{runs} run picked', '{runs} runs picked', { runs: formatCount(count) });
}
