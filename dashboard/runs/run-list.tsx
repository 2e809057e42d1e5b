/** The list of runs: what there is, how it went, and the way to each. */
import { useComputed, useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Store } from 'quark-sdk';
import { isImporting } from '../dropped/dropped-files.ts';
import { FilePickers } from '../dropped/file-pickers.tsx';
import { Button } from '../parts/controls.tsx';
import { formatCount } from '../parts/format.ts';
import { LazyView } from '../parts/lazy-view.tsx';
import { ErrorNotice, Warning } from '../parts/notices.tsx';
import { t, tn } from '../parts/t.ts';
import { whenQuiet } from '../parts/turns.ts';
import { galleryProblems, source, type SourceId } from '../sources/sources.ts';
import { BulkBar } from './bulk-bar.tsx';
import { differingPaths, withAhead, type ColumnLayout } from './model/columns.ts';
import { CurveCache } from './model/curve-cache.ts';
import { DeletedList } from './deleted-list.tsx';
import { EmptyRuns } from './empty-runs.tsx';
import { ListChoice, ListRefusal } from './list-choice.tsx';
import {
  clearFilters,
  layout,
  listName,
  selection,
  showsDifferences,
  showsFacets,
  useListAddress,
} from './list-state.ts';
import { ListTools, loadFacets } from './list-tools.tsx';
import { useColumns, type KnownColumns } from './use-columns.ts';
import { useLineContext, type ListContext } from './use-line-context.ts';
import { tableData, type TableData } from './model/table-source.ts';
import { pickedShare, TableView, type TableHandle } from './table-view.tsx';
import type { TableModel } from './model/table-model.ts';
import { useTable, type TableReading } from './use-table.ts';
import { pickAll, useListActions, type ListDialog } from './list-actions.ts';
import './style.css';

/** Dropped runs that are in the chart above the list before anybody picks some. */
const COMPARED_AT_FIRST = 12;

type ComparisonProps = { readonly store: Store; readonly runIds: readonly string[] };

/** Charts are loaded where there are any. */
const loadComparison = async (): Promise<{ default: ComponentType<ComparisonProps> }> => {
  const { Comparison } = await import('../compare/one-chart.tsx');
  return { default: Comparison };
};

const loadDialogs = (): Promise<typeof import('./list-dialogs.tsx')> =>
  import('./list-dialogs.tsx');

type ListProps = {
  readonly store: Store;
  readonly sourceId: SourceId;
  /** Called when the first runs are there. */
  readonly onShown?: () => void;
};

/** Runs of a store, with filters: those that are there, the archived ones, or what is left of those that were deleted. */
export function RunList({ store, sourceId, onShown }: ListProps): JSX.Element {
  useListAddress();
  // Nothing is archived or deleted in dropped files and galleries.
  const name = hasOneList(sourceId) ? 'recorded' : listName.value;
  if (name === 'deleted') return <DeletedList store={store} />;
  return (
    <Listed
      key={name}
      store={store}
      sourceId={sourceId}
      isArchive={name === 'archived'}
      {...(onShown === undefined ? {} : { onShown })}
    />
  );
}

function hasOneList(sourceId: SourceId): boolean {
  return sourceId === 'files' || sourceId === 'gallery';
}

function Listed(props: ListProps & { readonly isArchive: boolean }): JSX.Element {
  const { store, sourceId, isArchive } = props;
  const data = useMemo(() => tableData(store, sourceId === 'files'), [store, sourceId]);
  const curves = useMemo(() => new CurveCache((ids, metric) => data.curves(ids, metric)), [data]);
  const list = isArchive ? 'archived' : 'active';
  const columns = useColumns(data, list);
  const known = useColumns(data, list, true);
  const shownLayout = useComputed(() =>
    showsDifferences.value
      ? withAhead(layout.value, differingPaths(columns.all.value))
      : layout.value,
  );
  const table = useTable(store, data, list, shownLayout);
  const isShown = table.model.value !== undefined;
  useEffect(() => {
    if (!isShown) return;
    props.onShown?.();
    // The first order by loss and the first query need them, and a store takes a while to count them.
    void whenQuiet().then(known.want);
  }, [isShown]);
  const dialog = useSignal<ListDialog | undefined>(undefined);
  const handle = useRef<TableHandle | null>(null);
  const context = useLineContext({
    store,
    curves,
    table,
    dialog,
    pickAll: () => {
      pickAll(data, table.scope.peek()).catch((failure: unknown) => {
        table.polling.error.value = failure;
      });
    },
  });
  useListActions({ data, table, handle, dialog, context });
  useEffect(() => {
    if (showsDifferences.value) columns.want();
  }, [showsDifferences.value]);
  const { error, retry } = table.polling;
  const model = table.model.value;
  if (model === undefined) {
    if (error.value === undefined) return <ListSkeleton />;
    return (
      <ErrorNotice
        isPage
        title={t('The runs cannot be read')}
        error={error.value}
        onRetry={retry}
      />
    );
  }
  // Of what the table shows: while a cleared filter is being read, no runs were found and not recorded.
  const { scope } = model.request;
  const isFiltered = scope.line !== '' || scope.facets.size > 0;
  if (model.runCount === 0 && !isFiltered && !isArchive)
    return sourceId === 'files' && isImporting.value ? (
      <ListSkeleton />
    ) : (
      <EmptyRuns sourceId={sourceId} />
    );
  return (
    <Page
      {...props}
      model={model}
      data={data}
      columns={columns}
      known={known}
      table={table}
      dialog={dialog}
      handle={handle}
      context={context}
      layout={shownLayout}
      isFiltered={isFiltered}
    />
  );
}

function Page(
  props: ListProps & {
    readonly isArchive: boolean;
    readonly model: TableModel;
    readonly data: TableData;
    readonly columns: KnownColumns;
    readonly known: KnownColumns;
    readonly table: TableReading;
    readonly dialog: Signal<ListDialog | undefined>;
    readonly handle: { current: TableHandle | null };
    readonly context: ListContext;
    readonly layout: ReadonlySignal<ColumnLayout>;
    readonly isFiltered: boolean;
  },
): JSX.Element {
  const { store, sourceId, model, data, table, dialog, handle, context } = props;
  return (
    <div class={`page list-page${sourceId === 'files' ? ' has-charts' : ''}`}>
      <ListHead {...props} />
      <Notices table={table} model={model} />
      {sourceId === 'gallery' && <LeftOut problems={galleryProblems.value} />}
      {sourceId === 'files' && <DroppedComparison store={store} model={model} />}
      <ListTools
        data={data}
        columns={props.columns}
        known={props.known}
        scope={table.scope}
        onDown={() => handle.current?.move(0)}
        onExport={() => {
          dialog.value = { kind: 'export', targets: [], scope: table.scope.value };
        }}
      />
      <div class="list-body">
        {showsFacets.value && <LazyView load={loadFacets} of={{ data, scope: table.scope }} />}
        {model.runCount === 0 ? (
          <NothingFound isFiltered={props.isFiltered} />
        ) : (
          <TableView
            model={model}
            layout={props.layout.value}
            context={context}
            seen={table.seen}
            handle={handle}
            isAllPicked={pickedShare(selection.value.ids.size, model.runCount)}
            onPickAll={context.onPickAll}
          />
        )}
      </div>
      <BulkBar context={context} dialog={dialog} total={model.runCount} />
      {dialog.value !== undefined && (
        <LazyView
          load={loadDialogs}
          of={{ store, data, dialog, layout: props.layout, order: model.request.order }}
        />
      )}
    </div>
  );
}

function ListHead(
  props: ListProps & {
    readonly isArchive: boolean;
    readonly model: TableModel;
    readonly isFiltered: boolean;
  },
): JSX.Element {
  const { isArchive, model, store } = props;
  const isOfFiles = props.sourceId === 'files';
  const count = model.runCount ?? 0;
  const { all, shown } = model.groupCounts;
  return (
    <header class="page-head">
      <div class="row wrap spread gap-10">
        <h1>
          {isOfFiles
            ? t('Dropped files')
            : props.sourceId === 'gallery'
              ? (source.value?.title ?? t('Gallery'))
              : isArchive
                ? t('Archived runs')
                : t('Runs')}
        </h1>
        <span class="row wrap gap-10">
          {!hasOneList(props.sourceId) && <ListChoice />}
          <FilePickers isSmall />
        </span>
      </div>
      <p class="page-sub" role="status">
        {props.isFiltered
          ? tn(count, '{runs} run matches', '{runs} runs match', { runs: formatCount(count) })
          : isArchive
            ? tn(count, '{runs} archived', '{runs} archived', { runs: formatCount(count) })
            : hasOneList(props.sourceId)
              ? tn(count, '{runs} run', '{runs} runs', { runs: formatCount(count) })
              : tn(count, '{runs} recorded', '{runs} recorded', { runs: formatCount(count) })}
        {model.isGrouped &&
          ` · ${tn(all, '{groups} group', '{groups} groups', { groups: formatCount(all) })}`}
        {props.sourceId === 'gallery' &&
          ` · ${t('A gallery is only read: nobody can change a run here.')}`}
        {model.isGrouped && shown < all && ` (${t('the first {shown}', { shown })})`}
      </p>
      {isArchive && <ListRefusal store={store} />}
    </header>
  );
}

function Notices(props: { readonly table: TableReading; readonly model: TableModel }): JSX.Element {
  const { table, model } = props;
  return (
    <>
      {table.polling.error.value !== undefined && (
        <Warning>
          {t('The list may be out of date: it could not be read just now. Trying again.')}
        </Warning>
      )}
      {model.failure !== undefined && <Warning>{model.failure}</Warning>}
      {model.isWaiting && (
        <p class="strip tone-accent list-waiting" role="status">
          {t('Runs have come or changed their order.')}
          <Button isSmall onClick={table.release}>
            {t('Show')}
          </Button>
        </p>
      )}
    </>
  );
}

function LeftOut({ problems }: { readonly problems: readonly string[] }): JSX.Element | null {
  const [first] = problems;
  if (first === undefined) return null;
  return (
    <Warning>
      {tn(
        problems.length,
        'An entry of the gallery was left out: {reason}',
        '{runs} entries of the gallery were left out. The first: {reason}',
        { runs: formatCount(problems.length), reason: first },
      )}
    </Warning>
  );
}

/** Who drops several runs wants to see them beside each other; elsewhere one asks for it. */
function DroppedComparison(props: {
  readonly store: Store;
  readonly model: TableModel;
}): JSX.Element | null {
  const { store, model } = props;
  const picked = [...selection.value.ids].filter((id) => model.lineOf(id) !== undefined);
  const count = Math.min(COMPARED_AT_FIRST, model.sections.value.total);
  const first = Array.from({ length: count }, (_, at) => model.at(at)).flatMap((found) =>
    found?.kind === 'row' && found.row !== undefined ? [found.row.id] : [],
  );
  const compared = picked.length > 1 ? picked.slice(0, COMPARED_AT_FIRST) : first;
  const ids = compared.join();
  const of = useMemo(() => ({ store, runIds: ids.split(',') }), [store, ids]);
  return compared.length > 1 ? <LazyView load={loadComparison} of={of} /> : null;
}

function NothingFound({ isFiltered }: { readonly isFiltered: boolean }): JSX.Element {
  return (
    <div class="card nothing">
      {isFiltered ? (
        <>
          <p>{t('No run matches these filters.')}</p>
          <Button onClick={clearFilters}>{t('Clear filters')}</Button>
        </>
      ) : (
        <p>{t('Nothing is archived. An archived run stays as it is, out of the way.')}</p>
      )}
    </div>
  );
}

function ListSkeleton(): JSX.Element {
  return (
    <div class="page" role="group" aria-busy="true" aria-label={t('Reading the runs')}>
      <header class="page-head">
        <h1>{t('Runs')}</h1>
      </header>
      <div class="card ruled skeleton-rows">
        {Array.from({ length: 7 }, (_, row) => (
          <div key={row} class="skeleton-row row spread">
            {[92, 150 + ((row * 37) % 90), 120, 64].map((width) => (
              <span key={width} class="skeleton" style={{ width: `${width}px` }} />
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}
