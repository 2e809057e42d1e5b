/** The columns that runs of the filter have, read when somebody needs them. */
import type { RunColumn } from 'quark-sdk/workspace';
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { NO_FACETS } from './model/facet-text.ts';
import { facets, line } from './list-state.ts';
import type { TableData, TableScope } from './model/table-source.ts';

/** While it is needed, what there is is asked again so often. */
const AGAIN_MS = 30_000;

/** Columns, and the way to have them read. */
export type KnownColumns = {
  readonly all: ReadonlySignal<readonly RunColumn[]>;
  readonly want: () => void;
};

/** See the top of this file. */
export function useColumns(
  data: TableData,
  list: TableScope['list'],
  /** Of all runs of the list, whatever they are filtered by. */
  isOfAll: boolean = false,
): KnownColumns {
  const all = useSignal<readonly RunColumn[]>([]);
  const asked = useRef({ text: '', atMs: 0 });
  const isWanted = useSignal(false);
  const query = isOfAll || data.problemOf(line.value) !== undefined ? '' : line.value;
  const scope = { list, line: query, facets: isOfAll ? NO_FACETS : facets.value };
  const text = JSON.stringify([list, scope.line, [...scope.facets]]);
  const read = (): void => {
    isWanted.value = true;
    if (asked.current.text === text && performance.now() - asked.current.atMs < AGAIN_MS) return;
    asked.current = { text, atMs: performance.now() };
    data.columns(scope).then(
      (found) => {
        if (asked.current.text === text) all.value = found;
      },
      () => {
        // It is asked again with the next need; until then there is nothing to choose from.
        asked.current = { text: '', atMs: 0 };
      },
    );
  };
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    if (isWanted.peek()) latest.current();
  }, [text, data]);
  return useMemo(() => ({ all, want: () => latest.current() }), [all]);
}
