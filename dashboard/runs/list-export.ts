/** Saves the table as CSV, and runs as one file. */
import type { FoundRun, RunValue } from 'quark-sdk/workspace';
import { openRun, type Store } from 'quark-sdk';
import { csvBlob, type CsvCell } from '../charts/save/save-csv.ts';
import { downloadName, saveBlob } from '../charts/save/save-file.ts';
import { formatBytes, formatCount } from '../parts/format.ts';
import { t } from '../parts/t.ts';
import { CURVE_PREFIX, fullTitle, sortPathOf, type ColumnLayout } from './model/columns.ts';
import { NO_FACETS } from './model/facet-text.ts';
import type { OrderKey } from './model/list-order.ts';
import type { TableData, TableScope } from './model/table-source.ts';

/** Rows of a request. */
const ROWS_A_READ = 1000;
/** The page holds the file in memory. */
const MAX_FILE_BYTES = 1 << 30;

/** The paths of the columns of a file: the id first, numbers instead of curves. */
export function csvPaths(layout: ColumnLayout): readonly string[] {
  const paths = layout.map(({ path }) => (path.startsWith(CURVE_PREFIX) ? sortPathOf(path) : path));
  return ['id', ...new Set([...paths, 'project'].filter((path) => path !== 'id'))];
}

/** One run as cells. Instants are ISO 8601, lists are joined by "; ". */
export function csvCells(row: FoundRun, paths: readonly string[]): readonly CsvCell[] {
  return paths.map((path) => {
    switch (path) {
      case 'id':
        return row.id;
      case 'name':
        return row.name ?? '';
      case 'project':
        return row.project;
      case 'status':
        return row.status;
      case 'startedAt':
        return instantCell(row.startedAtMs);
      case 'endedAt':
        return instantCell(row.endedAtMs);
      case 'updatedAt':
        return instantCell(row.updatedAtMs);
      case 'tags':
        return row.tags.join('; ');
      case 'groups':
        return row.groups.join('; ');
      default:
        return valueCell(row.values[path]);
    }
  });
}

function instantCell(atMs: number | null): string {
  return atMs === null ? '' : new Date(atMs).toISOString();
}

function valueCell(value: RunValue | undefined): CsvCell {
  if (value === undefined || typeof value === 'number' || typeof value === 'string') return value;
  return typeof value === 'boolean' ? String(value) : value.join('; ');
}

/** Saves the shown columns of all runs of the filter, or of some. */
export async function exportTable(asked: {
  readonly data: TableData;
  readonly scope: TableScope | undefined;
  /** Ids of some runs; none stands for all of the filter. */
  readonly ids: readonly string[];
  readonly layout: ColumnLayout;
  readonly order: readonly OrderKey[];
  readonly signal: AbortSignal;
  readonly tell: (text: string) => void;
}): Promise<void> {
  const { data, layout, order, signal, tell } = asked;
  const paths = csvPaths(layout);
  const wanted = new Set(asked.ids);
  const scope = asked.scope ?? { list: 'active', line: '', facets: NO_FACETS };
  const rows: FoundRun[] = [];
  for (let offset = 0; ; offset += ROWS_A_READ) {
    const read = await data.rows(scope, order, paths, offset, ROWS_A_READ);
    signal.throwIfAborted();
    rows.push(...read.rows.filter(({ id }) => wanted.size === 0 || wanted.has(id)));
    tell(
      t('{count} of {total} runs', {
        count: formatCount(rows.length),
        total: formatCount(read.total),
      }),
    );
    const isAll = offset + read.rows.length >= read.total || read.rows.length === 0;
    if (isAll || (wanted.size > 0 && rows.length === wanted.size)) break;
  }
  const file = await csvBlob(paths.map(fullTitle), cellsOf(rows, paths));
  signal.throwIfAborted();
  saveBlob(downloadName(['runs'], 'csv'), file);
}

function* cellsOf(
  rows: readonly FoundRun[],
  paths: readonly string[],
): Generator<readonly CsvCell[]> {
  for (const row of rows) yield csvCells(row, paths);
}

/** Saves everything of some runs as one `.quark` file. */
export async function exportRuns(asked: {
  readonly store: Store;
  readonly ids: readonly string[];
  readonly signal: AbortSignal;
  readonly tell: (text: string) => void;
}): Promise<void> {
  const { store, ids, signal, tell } = asked;
  const { exportQuark } = await import('quark-sdk/exchange');
  const readers = [];
  for (const id of ids) readers.push(await openRun(store, id));
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const part of exportQuark(readers, { signal })) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MAX_FILE_BYTES)
      throw new Error(
        t(
          'These runs are larger than 1 GB. On the command line, "quark export RUN" writes a file of any size.',
        ),
      );
    tell(formatBytes(bytes));
  }
  saveBlob(
    downloadName(ids.length === 1 ? [ids[0] ?? 'run'] : ['runs', String(ids.length)], 'quark'),
    new Blob(parts),
  );
}
