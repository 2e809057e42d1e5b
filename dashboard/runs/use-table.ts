/** The table of what is asked for now: made anew when filter, order or columns change, and read again every so often. */
import { useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import type { Store } from 'quark-sdk';
import { changeNotice } from '../changes/page-changes.ts';
import { isGrowing } from '../dropped/dropped-files.ts';
import { usePolling, type Polling } from '../parts/hooks.ts';
import { CURVE_PREFIX, valuePaths, sortPathOf, type ColumnLayout } from './model/columns.ts';
import { facets, groupPath, line, order } from './list-state.ts';
import { TableModel, type TableRequest } from './model/table-model.ts';
import type { TableData, TableScope } from './model/table-source.ts';

const POLL_MS = 2000;
/** While files are imported into the store. */
const GROWING_POLL_MS = 300;
/** Lines that are read before the table has told how many are seen. */
const LINES_AT_FIRST = 40;
/** Stores give means of so many columns. */
const MAX_NUMBERS = 16;

/** What the table on screen tells of itself, and is told. */
export type VisibleTable = {
  /** The first line that is seen, and the one after the last. */
  first: number;
  end: number;
  /** Whether somebody points at the rows or goes through them: they are not to move. */
  isHeld: boolean;
  /** So many lines have come in above what is seen. */
  shift: (lines: number) => void;
  /** The table is another one: shows its beginning. */
  toTop: () => void;
};

/** See {@link useTable}. */
export type TableReading = {
  /** The table to show: the one before, until the first rows of the next one are there. */
  readonly model: ReadonlySignal<TableModel | undefined>;
  readonly scope: ReadonlySignal<TableScope>;
  readonly polling: Polling;
  readonly seen: VisibleTable;
  readonly now: ReadonlySignal<number>;
  /** Shows the order as it is now. */
  readonly release: () => void;
};

/** Reads the table of a store. */
export function useTable(
  store: Store,
  data: TableData,
  list: TableScope['list'],
  layout: ReadonlySignal<ColumnLayout>,
): TableReading {
  const scope = useComputed<TableScope>(() => ({
    list,
    line: data.problemOf(line.value) === undefined ? line.value : lastLine.current,
    facets: facets.value,
  }));
  const lastLine = useRef('');
  lastLine.current = scope.value.line;
  const request = useComputed(() => requestOf(scope.value, layout.value));
  const text = requestText(request.value);
  const next = useMemo(() => new TableModel(data, request.peek()), [data, text]);
  const model = useSignal<TableModel | undefined>(undefined);
  const now = useSignal(Date.now());
  const seen = useRef<VisibleTable>({
    first: 0,
    end: LINES_AT_FIRST,
    isHeld: false,
    shift: () => undefined,
    toTop: () => undefined,
  }).current;
  const isReleased = useRef(false);
  const lastNotice = useRef(changeNotice.peek());
  const polling = usePolling(
    async () => {
      const before = model.peek();
      if (before === next) {
        // What the reader has changed is shown at once.
        const isOwn = lastNotice.current !== changeNotice.peek() || isReleased.current;
        lastNotice.current = changeNotice.peek();
        isReleased.current = false;
        await refreshShown(next, seen, seen.isHeld && !isOwn);
      } else {
        const isOnlyWider =
          before !== undefined && rowsText(before.request) === rowsText(next.request);
        await next.refresh(
          isOnlyWider ? seen.first : 0,
          isOnlyWider ? seen.end : LINES_AT_FIRST,
          false,
        );
        if (before !== undefined && !isOnlyWider) seen.toTop();
        model.value = next;
      }
      now.value = Date.now();
    },
    () => (isGrowing(store) ? GROWING_POLL_MS : POLL_MS),
    [next],
  );
  const release = (): void => {
    isReleased.current = true;
    polling.retry();
  };
  return { model, scope, polling, seen, now, release };
}

/** Reads what is seen again. Rows that are seen stay where they are on screen when others come in above them. */
async function refreshShown(model: TableModel, seen: VisibleTable, isHeld: boolean): Promise<void> {
  const { first } = seen;
  const top = model.at(first);
  await model.refresh(first, seen.end, isHeld);
  if (first === 0 || top?.kind !== 'row' || top.row === undefined) return;
  const after = model.lineOf(top.row.id);
  if (after !== undefined && after !== first) seen.shift(after - first);
}

function requestOf(scope: TableScope, layout: ColumnLayout): TableRequest {
  return {
    scope,
    order: order.value.map(({ by, isDescending }) => ({ by, isDescending })),
    columns: valuePaths(layout),
    groupPath: groupPath.value,
    numbers: groupPath.value === '' ? [] : meanPaths(layout),
  };
}

/** Columns whose mean is shown of a group. */
export function meanPaths(layout: ColumnLayout): readonly string[] {
  return layout
    .map(({ path }) => (path.startsWith(CURVE_PREFIX) ? sortPathOf(path) : path))
    .filter(
      (path) =>
        /^(metrics|config|summary|metadata)\./.test(path) ||
        ['loss', 'durationMs', 'health', 'alerts'].includes(path),
    )
    .slice(0, MAX_NUMBERS);
}

function rowsText({ scope, order: keys, groupPath: path }: TableRequest): string {
  return JSON.stringify([scope.list, scope.line, [...scope.facets], keys, path]);
}

function requestText(request: TableRequest): string {
  return `${rowsText(request)}${JSON.stringify([request.columns, request.numbers])}`;
}
