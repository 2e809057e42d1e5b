/** The list of runs: what there is, how it went, and the way to each. */
import { signal, useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { listRuns, type RunSummary, type Store } from 'quark-sdk';
import { PreviewCache } from './preview.ts';
import {
  countStatuses,
  filterRuns,
  SHOWN_STATUSES,
  sortRuns,
  type RunQuery,
  type RunSort,
  type ShownStatus,
  type SortColumn,
} from '../parts/run-filter.ts';
import { hrefOf } from '../route/route.ts';
import type { SourceId } from '../sources/sources.ts';
import { isGrowing, isImporting } from '../dropped/dropped-files.ts';
import { FilePickers } from '../dropped/file-pickers.tsx';
import { Comparison } from '../compare/compare-view.tsx';
import { importOf, runNames } from '../parts/run-name.ts';
import { EmptyRuns } from './empty-runs.tsx';
import { Icon } from '../parts/icons.tsx';
import { ErrorNotice, statusLabel } from '../parts/parts.tsx';
import { keepPolling } from '../parts/polling.ts';
import { RunRow } from './run-row.tsx';

const POLL_MS = 2000;
/** While files are imported into the store. */
const GROWING_POLL_MS = 300;
const PAGE_SIZE = 100;
/** Dropped runs that are in the chart above the list before anybody picks some. */
const COMPARED_AT_FIRST = 12;

/** Outlives the view: whoever comes back from a run finds the list as it was left. */
const query = signal<RunQuery>({ text: '', statuses: new Set(), tags: new Set() });
/** Runs that were picked to be compared. */
const picked = signal<ReadonlySet<string>>(new Set());
const sort = signal<RunSort>({ column: 'started', descending: true });

const COLUMNS: readonly { column?: SortColumn; label: string; className: string }[] = [
  { column: 'status', label: 'Status', className: 'col-status' },
  { column: 'project', label: 'Run', className: 'col-run' },
  { label: 'Tags', className: 'col-tags' },
  { column: 'loss', label: 'Loss', className: 'col-loss' },
  { column: 'started', label: 'Started', className: 'col-started' },
  { column: 'duration', label: 'Duration', className: 'col-duration' },
];

/** Runs of a store, with filters. */
export function RunList(props: {
  readonly store: Store;
  readonly sourceId: SourceId;
}): JSX.Element {
  const { store } = props;
  const runs = useSignal<readonly RunSummary[] | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const hasMore = useSignal(false);
  const limit = useSignal(PAGE_SIZE);
  const now = useSignal(Date.now());
  const attempt = useSignal(0);
  const previews = useMemo(() => new PreviewCache(store), [store]);

  useEffect(
    () =>
      keepPolling(
        async () => {
          const found = await listRuns(store, { limit: limit.peek() + 1 });
          hasMore.value = found.length > limit.peek();
          runs.value = found.slice(0, limit.peek());
          now.value = Date.now();
          error.value = undefined;
        },
        () => (isGrowing(store) ? GROWING_POLL_MS : POLL_MS),
        (failure) => {
          error.value = failure;
        },
      ),
    [store, attempt.value, limit.value],
  );

  const shown = useComputed(() => {
    if (sort.value.column === 'loss') void previews.version.value;
    const matching = filterRuns(runs.value ?? [], query.value);
    return sortRuns(matching, sort.value, now.value, (runId) => previews.lossOf(runId));
  });

  const retry = (): void => {
    error.value = undefined;
    attempt.value += 1;
  };
  if (runs.value === undefined) {
    return error.value === undefined ? (
      <ListSkeleton />
    ) : (
      <ErrorNotice title="The runs cannot be read" error={error.value} onRetry={retry} />
    );
  }
  if (runs.value.length === 0) {
    return props.sourceId === 'files' && isImporting.value ? (
      <ListSkeleton />
    ) : (
      <EmptyRuns sourceId={props.sourceId} />
    );
  }
  // Who drops several runs wants to see them beside each other; elsewhere one asks for it.
  // Picks of another place are kept, and are none of these.
  const chosen = pickedOf(runs.value);
  const compared =
    props.sourceId === 'files' && runs.value.length > 1
      ? (chosen.length > 1 ? chosen : shown.value)
          .slice(0, COMPARED_AT_FIRST)
          .map(({ run }) => run.id)
      : [];
  return (
    <div class="page">
      <header class="page-head">
        <div class="list-title">
          <h1>{props.sourceId === 'files' ? 'Dropped files' : 'Runs'}</h1>
          <FilePickers isSmall />
        </div>
        <p class="page-sub">
          {shown.value.length === runs.value.length
            ? `${runs.value.length}${hasMore.value ? '+' : ''} ${props.sourceId === 'files' ? 'runs' : 'recorded'}`
            : `${shown.value.length} of ${hasMore.value ? 'the newest ' : ''}${runs.value.length} shown`}
        </p>
      </header>
      {error.value !== undefined && (
        <p class="strip strip-warning" role="status">
          <Icon name="warning" /> The list may be out of date: it could not be read just now. Trying
          again.
        </p>
      )}
      {compared.length > 1 && <Comparison store={store} runIds={compared} />}
      <Filters runs={runs} />
      <RunTable shown={shown} previews={previews} now={now} />
      <CompareBar runs={runs.value} />
      {hasMore.value && (
        <button
          type="button"
          class="button more"
          onClick={() => {
            limit.value += PAGE_SIZE;
          }}
        >
          Show more
        </button>
      )}
    </div>
  );
}

/** What to do with the runs that are picked. */
function CompareBar(props: { readonly runs: readonly RunSummary[] }): JSX.Element | null {
  const chosen = pickedOf(props.runs);
  if (chosen.length === 0) return null;
  return (
    <div class="compare-bar" role="region" aria-label="Picked runs">
      <span>
        {chosen.length} {chosen.length === 1 ? 'run' : 'runs'} picked
      </span>
      <a
        class="button button-small button-primary"
        href={hrefOf({ kind: 'compare', runIds: chosen.map(({ run }) => run.id) })}
      >
        Compare
      </a>
      <button
        type="button"
        class="button button-small"
        onClick={() => {
          picked.value = new Set();
        }}
      >
        Clear
      </button>
    </div>
  );
}

function pickedOf(runs: readonly RunSummary[]): readonly RunSummary[] {
  return runs.filter(({ run }) => picked.value.has(run.id));
}

function Filters(props: {
  readonly runs: ReadonlySignal<readonly RunSummary[] | undefined>;
}): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const counts = countStatuses(props.runs.value ?? []);
  const { text, statuses, tags } = query.value;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const inField =
        event.target instanceof HTMLElement && event.target.closest('input, textarea, select');
      if (event.key !== '/' || inField !== null || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <div class="filters">
      <label class="search">
        <Icon name="search" />
        <input
          ref={input}
          type="search"
          placeholder="Filter by project, tag, id"
          aria-label="Filter runs by text"
          value={text}
          onInput={(event) => {
            query.value = { ...query.value, text: event.currentTarget.value };
          }}
          onKeyDown={(event) => {
            if (event.key !== 'ArrowDown') return;
            event.preventDefault();
            document.querySelector<HTMLElement>('.run-row a')?.focus();
          }}
        />
        <kbd aria-hidden="true">/</kbd>
      </label>
      <div class="chips" role="group" aria-label="Filter by status">
        {SHOWN_STATUSES.map((status) => (
          <button
            key={status}
            type="button"
            class={`chip chip-${status}`}
            aria-pressed={statuses.has(status)}
            onClick={() => {
              query.value = { ...query.value, statuses: toggled<ShownStatus>(statuses, status) };
            }}
          >
            {statusLabel(status)}
            <span class="chip-count">{counts.get(status) ?? 0}</span>
          </button>
        ))}
      </div>
      {[...tags].map((tag) => (
        <button
          key={tag}
          type="button"
          class="chip"
          aria-pressed="true"
          aria-label={`Stop filtering by tag ${tag}`}
          onClick={() => toggleTag(tag)}
        >
          {tag} <Icon name="close" />
        </button>
      ))}
    </div>
  );
}

function toggled<T>(set: ReadonlySet<T>, item: T): ReadonlySet<T> {
  const next = new Set(set);
  if (!next.delete(item)) next.add(item);
  return next;
}

function toggleTag(tag: string): void {
  query.value = { ...query.value, tags: toggled(query.value.tags, tag) };
}

function RunTable(props: {
  readonly shown: ReadonlySignal<readonly RunSummary[]>;
  readonly previews: PreviewCache;
  readonly now: ReadonlySignal<number>;
}): JSX.Element {
  const table = useRef<HTMLTableElement>(null);
  const imported = runNames(
    props.shown.value.map(({ run }) => run).filter((run) => importOf(run) !== undefined),
  );
  const onKeyDown = (event: KeyboardEvent): void => {
    const shift =
      event.key === 'ArrowDown' || event.key === 'j'
        ? 1
        : event.key === 'ArrowUp' || event.key === 'k'
          ? -1
          : 0;
    if (shift === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const links = [...(table.current?.querySelectorAll<HTMLElement>('.run-row .run-link') ?? [])];
    const row = event.target instanceof HTMLElement ? event.target.closest('.run-row') : null;
    const at = links.findIndex((link) => link.closest('.run-row') === row);
    const next = links[Math.max(0, Math.min(links.length - 1, at + shift))];
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
  };
  return (
    <div class="table-frame">
      <table ref={table} class="runs" onKeyDown={onKeyDown}>
        <thead>
          <tr>
            <th scope="col" class="col-pick">
              <span class="sr-only">Pick to compare</span>
            </th>
            {COLUMNS.map(({ column, label, className }) => (
              <th key={label} scope="col" class={className} aria-sort={ariaSort(column)}>
                {column === undefined ? (
                  label
                ) : (
                  <button type="button" class="sort" onClick={() => sortBy(column)}>
                    {label}
                    <span class="sort-mark" aria-hidden="true">
                      {sort.value.column === column ? (sort.value.descending ? '↓' : '↑') : ''}
                    </span>
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.shown.value.map((summary) => (
            <RunRow
              key={summary.run.id}
              summary={summary}
              previews={props.previews}
              now={props.now}
              onTag={toggleTag}
              name={imported.get(summary.run.id) ?? summary.run.projectName}
              isPicked={picked.value.has(summary.run.id)}
              onPick={() => {
                picked.value = toggled(picked.value, summary.run.id);
              }}
            />
          ))}
        </tbody>
      </table>
      {props.shown.value.length === 0 && (
        <div class="nothing">
          <p>No run matches these filters.</p>
          <button
            type="button"
            class="button"
            onClick={() => {
              query.value = { text: '', statuses: new Set(), tags: new Set() };
            }}
          >
            Clear filters
          </button>
        </div>
      )}
    </div>
  );
}

function ariaSort(column: SortColumn | undefined): 'ascending' | 'descending' | 'none' | undefined {
  if (column === undefined) return undefined;
  if (sort.value.column !== column) return 'none';
  return sort.value.descending ? 'descending' : 'ascending';
}

function sortBy(column: SortColumn): void {
  const { column: before, descending } = sort.value;
  const startsDescending = column === 'started' || column === 'duration';
  sort.value = { column, descending: before === column ? !descending : startsDescending };
}

function ListSkeleton(): JSX.Element {
  return (
    <div class="page" aria-busy="true" aria-label="Reading the runs">
      <header class="page-head">
        <h1>Runs</h1>
      </header>
      <div class="table-frame skeleton-rows">
        {Array.from({ length: 7 }, (_, row) => (
          <div key={row} class="skeleton-row">
            <span class="skeleton" style={{ width: '92px' }} />
            <span class="skeleton" style={{ width: `${150 + ((row * 37) % 90)}px` }} />
            <span class="skeleton" style={{ width: '120px' }} />
            <span class="skeleton" style={{ width: '64px' }} />
          </div>
        ))}
      </div>
    </div>
  );
}
