/** The list of runs: what there is, how it went, and the way to each. */
import { useComputed, useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { listRuns, type RunSummary, type Store } from 'quark-sdk';
import { isGrowing, isImporting } from '../dropped/dropped-files.ts';
import { FilePickers } from '../dropped/file-pickers.tsx';
import { Button, ButtonLink } from '../parts/controls.tsx';
import { countText } from '../parts/format.ts';
import { usePolling, type Polling } from '../parts/hooks.ts';
import { LazyView } from '../parts/lazy-view.tsx';
import { ErrorNotice, Warning } from '../parts/notices.tsx';
import { adding, setting } from '../parts/signals.ts';
import { hrefOf } from '../route/route.ts';
import type { SourceId } from '../sources/sources.ts';
import { EmptyRuns } from './empty-runs.tsx';
import { DeletedList } from './deleted-list.tsx';
import { Filters } from './filters.tsx';
import { ListChoice, ListRefusal } from './list-choice.tsx';
import { listName, picked, query, sort, useListAddress } from './list-state.ts';
import { PreviewCache } from './preview.ts';
import { filterRuns, sortRuns } from './run-filter.ts';
import { RunTable } from './run-table.tsx';
import './style.css';

const POLL_MS = 2000;
/** While files are imported into the store. */
const GROWING_POLL_MS = 300;
const PAGE_SIZE = 100;
/** Dropped runs that are in the chart above the list before anybody picks some. */
const COMPARED_AT_FIRST = 12;

type ComparisonProps = { readonly store: Store; readonly runIds: readonly string[] };

/** Charts are loaded where there are any. */
const loadComparison = async (): Promise<{ default: ComponentType<ComparisonProps> }> => {
  const { Comparison } = await import('../compare/compare-view.tsx');
  return { default: Comparison };
};

type Runs = {
  /** Undefined until they were read. */
  readonly all: ReadonlySignal<readonly RunSummary[] | undefined>;
  readonly hasMore: ReadonlySignal<boolean>;
  readonly limit: Signal<number>;
  readonly now: ReadonlySignal<number>;
  readonly polling: Polling;
};

/** Reads the newest runs of a store again and again. */
function useRuns(store: Store, archived: boolean): Runs {
  const all = useSignal<readonly RunSummary[] | undefined>(undefined);
  const hasMore = useSignal(false);
  const limit = useSignal(PAGE_SIZE);
  const now = useSignal(Date.now());
  const polling = usePolling(
    async () => {
      const found = await listRuns(store, { archived, limit: limit.peek() + 1 });
      hasMore.value = found.length > limit.peek();
      all.value = found.slice(0, limit.peek());
      now.value = Date.now();
    },
    () => (isGrowing(store) ? GROWING_POLL_MS : POLL_MS),
    [store, limit.value],
  );
  return { all, hasMore, limit, now, polling };
}

type ListProps = { readonly store: Store; readonly sourceId: SourceId };

/** Runs of a store, with filters: those that are there, the archived ones, or what is left of those that were deleted. */
export function RunList({ store, sourceId }: ListProps): JSX.Element {
  useListAddress();
  // Nothing is archived or deleted in dropped files.
  const name = sourceId === 'files' ? 'recorded' : listName.value;
  if (name === 'deleted') return <DeletedList store={store} />;
  return <Reading key={name} store={store} sourceId={sourceId} isArchive={name === 'archived'} />;
}

function Reading(props: ListProps & { readonly isArchive: boolean }): JSX.Element {
  const { store, sourceId, isArchive } = props;
  const runs = useRuns(store, isArchive);
  const { error, retry } = runs.polling;
  const all = runs.all.value;
  if (all === undefined) {
    if (error.value === undefined) return <ListSkeleton />;
    return (
      <ErrorNotice isPage title="The runs cannot be read" error={error.value} onRetry={retry} />
    );
  }
  if (all.length > 0 || isArchive)
    return <List store={store} sourceId={sourceId} isArchive={isArchive} runs={runs} all={all} />;
  return sourceId === 'files' && isImporting.value ? (
    <ListSkeleton />
  ) : (
    <EmptyRuns sourceId={sourceId} />
  );
}

function List(
  props: ListProps & {
    readonly isArchive: boolean;
    readonly runs: Runs;
    readonly all: readonly RunSummary[];
  },
): JSX.Element {
  const { store, all, isArchive } = props;
  const { hasMore, limit, now, polling } = props.runs;
  const isOfFiles = props.sourceId === 'files';
  const previews = useMemo(() => new PreviewCache(store), [store]);
  const shown = useComputed(() => {
    if (sort.value.column === 'loss') void previews.version.value;
    const matching = filterRuns(props.runs.all.value ?? [], query.value);
    return sortRuns(matching, sort.value, now.value, (runId) => previews.lossOf(runId));
  });
  const chosen = pickedOf(all);
  // Who drops several runs wants to see them beside each other; elsewhere one asks for it.
  const compared = chosen.length > 1 ? chosen : shown.value;
  return (
    <div class="page">
      <header class="page-head">
        <div class="row wrap spread gap-10">
          <h1>{isOfFiles ? 'Dropped files' : isArchive ? 'Archived runs' : 'Runs'}</h1>
          <span class="row wrap gap-10">
            {!isOfFiles && <ListChoice />}
            <FilePickers isSmall />
          </span>
        </div>
        <p class="page-sub">
          {shown.value.length === all.length
            ? `${all.length}${hasMore.value ? '+' : ''} ${isOfFiles ? 'runs' : isArchive ? 'archived' : 'recorded'}`
            : `${shown.value.length} of ${hasMore.value ? 'the newest ' : ''}${all.length} shown`}
        </p>
        {isArchive && <ListRefusal store={store} />}
      </header>
      {polling.error.value !== undefined && (
        <Warning>The list may be out of date: it could not be read just now. Trying again.</Warning>
      )}
      {isOfFiles && all.length > 1 && compared.length > 1 && (
        <LazyView
          load={loadComparison}
          of={{ store, runIds: compared.slice(0, COMPARED_AT_FIRST).map(({ run }) => run.id) }}
        />
      )}
      {all.length === 0 ? (
        <div class="card nothing">
          <p>Nothing is archived. An archived run stays as it is, out of the way.</p>
        </div>
      ) : (
        <>
          <Filters runs={all} />
          <RunTable store={store} shown={shown} previews={previews} now={now} />
        </>
      )}
      <CompareBar chosen={chosen} />
      {hasMore.value && (
        <Button class="more" onClick={adding(limit, PAGE_SIZE)}>
          Show more
        </Button>
      )}
    </div>
  );
}

/** What to do with the runs that are picked. */
function CompareBar({ chosen }: { readonly chosen: readonly RunSummary[] }): JSX.Element | null {
  if (chosen.length === 0) return null;
  return (
    <div class="compare-bar floating row gap-12" role="region" aria-label="Picked runs">
      <span>{countText(chosen.length, 'run')} picked</span>
      <ButtonLink
        isSmall
        isPrimary
        href={hrefOf({ kind: 'compare', runIds: chosen.map(({ run }) => run.id) })}
      >
        Compare
      </ButtonLink>
      <Button isSmall onClick={setting(picked, new Set())}>
        Clear
      </Button>
    </div>
  );
}

/** Picks of another source stay, and are none of these. */
function pickedOf(runs: readonly RunSummary[]): readonly RunSummary[] {
  return runs.filter(({ run }) => picked.value.has(run.id));
}

function ListSkeleton(): JSX.Element {
  return (
    <div class="page" role="group" aria-busy="true" aria-label="Reading the runs">
      <header class="page-head">
        <h1>Runs</h1>
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
