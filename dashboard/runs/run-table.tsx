/** The table of runs. */
import type { ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { RunSummary, Store } from 'quark-sdk';
import { deletionRefusal } from '../changes/rights.ts';
import { Button } from '../parts/controls.tsx';
import { importOf, runNames } from '../parts/run-name.ts';
import { toggled } from '../parts/signals.ts';
import { picked, query, sort, toggleTag } from './list-state.ts';
import type { PreviewCache } from './preview.ts';
import type { SortColumn } from './run-filter.ts';
import { RunRow } from './run-row.tsx';

const COLUMNS: readonly { column?: SortColumn; label: string; className: string }[] = [
  { column: 'status', label: 'Status', className: 'col-status' },
  { column: 'project', label: 'Run', className: 'col-run' },
  { label: 'Tags', className: 'col-tags' },
  { column: 'loss', label: 'Loss', className: 'col-loss' },
  { column: 'started', label: 'Started', className: 'col-started' },
  { column: 'duration', label: 'Duration', className: 'col-duration' },
];

/** Keys that go up and down the rows. */
const SHIFTS: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

/** The runs that are shown, in their order, a row each. */
export function RunTable(props: {
  readonly store: Store;
  readonly shown: ReadonlySignal<readonly RunSummary[]>;
  readonly previews: PreviewCache;
  readonly now: ReadonlySignal<number>;
}): JSX.Element {
  const table = useRef<HTMLTableElement>(null);
  const { store } = props;
  const shown = props.shown.value;
  const mayDelete = deletionRefusal(store) === undefined;
  const imported = runNames(
    shown.map(({ run }) => run).filter((run) => importOf(run) !== undefined),
  );
  const onKeyDown = (event: KeyboardEvent): void => {
    const shift = SHIFTS[event.key];
    if (shift === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const links = [...(table.current?.querySelectorAll<HTMLElement>('.run-row .run-link') ?? [])];
    const row = event.target instanceof HTMLElement ? event.target.closest('.run-row') : null;
    const at = links.findIndex((link) => link.closest('.run-row') === row);
    const next = links[Math.max(0, Math.min(links.length - 1, at + shift))];
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
  };
  return (
    <div class="run-table card">
      <table ref={table} class="runs" onKeyDown={onKeyDown}>
        <TableHead mayDelete={mayDelete} />
        <tbody>
          {shown.map((summary) => (
            <RunRow
              key={summary.run.id}
              deletesFrom={mayDelete ? store : undefined}
              summary={summary}
              previews={props.previews}
              now={props.now}
              onTag={toggleTag}
              name={imported.get(summary.run.id) ?? summary.run.name ?? summary.run.projectName}
              isPicked={picked.value.has(summary.run.id)}
              onPick={() => {
                picked.value = toggled(picked.value, summary.run.id);
              }}
            />
          ))}
        </tbody>
      </table>
      {shown.length === 0 && (
        <div class="nothing">
          <p>No run matches these filters.</p>
          <Button
            onClick={() => {
              query.value = { text: '', statuses: new Set(), tags: new Set() };
            }}
          >
            Clear filters
          </Button>
        </div>
      )}
    </div>
  );
}

function TableHead({ mayDelete }: { readonly mayDelete: boolean }): JSX.Element {
  return (
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
        {mayDelete && (
          <th scope="col" class="col-actions">
            <span class="sr-only">Actions</span>
          </th>
        )}
      </tr>
    </thead>
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
