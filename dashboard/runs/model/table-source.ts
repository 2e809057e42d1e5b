/** What the table of runs reads of a store: rows of a filter in an order, and what is known of all runs of the filter. */
import { hasTimes, listRuns, type Store } from 'quark-sdk';
import {
  completeRunQuery,
  findRunColumns,
  findRunFacets,
  findRunGroups,
  findRunIds,
  findRunRows,
  parseRunQuery,
  type FoundGroup,
  type FoundRun,
  type QueryCompletion,
  type RunColumn,
  type RunFacet,
  type RunOrder,
  type RunTableScope,
} from 'quark-sdk/workspace';
import { lossKey } from '../../charts/group.ts';
import { importOf, runNames } from '../../parts/run-name.ts';
import { offeredSmallCurves, type ReadSmallCurves } from '../../series/small-curves.ts';
import { LOSS_PATH } from './columns.ts';
import { NO_FACETS, type ChosenFacets, type FacetValue } from './facet-text.ts';
import { MAX_ORDER_KEYS, type OrderKey } from './list-order.ts';

/** Which runs. */
export type TableScope = {
  readonly list: 'active' | 'archived';
  /** A query that can be read. */
  readonly line: string;
  readonly facets: ChosenFacets;
  /** A group that the runs are in: the path, and the value that they have there. */
  readonly within?: { readonly path: string; readonly value: FacetValue } | undefined;
};

/** Why a query line is none, and where. */
export type LineProblem = {
  readonly message: string;
  readonly from: number;
  readonly to: number;
};

/** Reads what the table shows. */
export type TableData = {
  rows(
    scope: TableScope,
    order: readonly OrderKey[],
    columns: readonly string[],
    offset: number,
    limit: number,
  ): Promise<{ readonly rows: readonly FoundRun[]; readonly total: number }>;
  /** Some runs, in no order; those that are gone are left out. */
  rowsOf(ids: readonly string[], columns: readonly string[]): Promise<readonly FoundRun[]>;
  /** All runs of a filter. */
  ids(scope: TableScope): Promise<readonly string[]>;
  columns(scope: TableScope): Promise<readonly RunColumn[]>;
  facets(scope: TableScope, by: readonly string[]): Promise<readonly RunFacet[]>;
  groups(
    scope: TableScope,
    path: string,
    numbers: readonly string[],
  ): Promise<{ readonly groups: readonly FoundGroup[]; readonly total: number }>;
  readonly curves: ReadSmallCurves;
  /** Undefined for a line that is a query. */
  problemOf(text: string): LineProblem | undefined;
  complete(text: string, caret: number, columns: readonly RunColumn[]): QueryCompletion;
};

/** So many runs are picked at once, at most. */
const MAX_PICKED = 100_000;
/** Runs that a condition names: it has a limit in characters. */
const IDS_AT_ONCE = 60;

/** What is known of dropped runs besides: their names beside each other, and whether they have times. */
async function withImports(store: Store, rows: readonly FoundRun[]): Promise<readonly FoundRun[]> {
  const runs = (await listRuns(store, { archived: 'any' })).map(({ run }) => run);
  const names = runNames(runs);
  const byId = new Map(runs.map((run) => [run.id, run]));
  return rows.map((row) => {
    const run = byId.get(row.id);
    const about = run === undefined ? undefined : importOf(run);
    if (run === undefined || about === undefined) return row;
    return {
      ...row,
      name: names.get(row.id) ?? row.name,
      startedAtMs: hasTimes(run) ? row.startedAtMs : 0,
      values: { ...row.values, importComplete: about.isComplete },
    };
  });
}

/**
 * The table's data of a store.
 *
 * @param isOfFiles whether its runs are those of dropped files
 */
export function tableData(store: Store, isOfFiles: boolean = false): TableData {
  const columnsOf = rememberedColumns(store);
  let loss: Promise<string> | undefined;
  const pathOf = async (path: string): Promise<string> => {
    if (path !== LOSS_PATH) return path;
    loss ??= lossPath(store, columnsOf);
    return loss;
  };
  return {
    rows: async (scope, order, columns, offset, limit) => {
      const asked = await Promise.all(columns.map(pathOf));
      const { rows, total } = await findRunRows(store, {
        ...scopeOf(scope),
        orderBy: await ordersOf(order, pathOf),
        columns: [...new Set(asked)],
        offset,
        limit,
      });
      const at = columns.indexOf(LOSS_PATH);
      const under = asked[at];
      const named = isOfFiles ? await withImports(store, rows) : rows;
      return {
        total,
        rows: under === undefined ? named : named.map((row) => withLoss(row, under)),
      };
    },
    rowsOf: (ids, columns) => rowsById(store, ids, columns),
    ids: async (scope) => (await findRunIds(store, { ...scopeOf(scope), limit: MAX_PICKED })).ids,
    columns: columnsOf,
    facets: (scope, by) => findRunFacets(store, { ...scopeOf(scope), by }),
    groups: async (scope, path, numbers) => {
      const of = await Promise.all(numbers.map(pathOf));
      const { groups, total } = await findRunGroups(store, {
        ...scopeOf(scope),
        by: [await pathOf(path)],
        of,
      });
      const named = groups.map((group) => ({
        ...group,
        of: group.of.map((one, at) => ({ ...one, path: numbers[at] ?? one.path })),
      }));
      return { groups: named, total };
    },
    curves:
      offeredSmallCurves(store) ??
      (async (runIds, metric) =>
        (await import('./curve-reading.ts')).readSmallCurves(store, runIds, metric)),
    problemOf: (text) => {
      const read = parseRunQuery(text);
      return read.kind === 'error' ? read : undefined;
    },
    complete: completeRunQuery,
  };
}

async function rowsById(
  store: Store,
  ids: readonly string[],
  columns: readonly string[],
): Promise<readonly FoundRun[]> {
  const found: FoundRun[] = [];
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const where = { id: ids.slice(at, at + IDS_AT_ONCE) };
    const read = await findRunRows(store, { where, list: 'any', columns, limit: IDS_AT_ONCE });
    found.push(...read.rows);
  }
  return found;
}

/** Runs without a name are called after their project, and are sorted so. */
async function ordersOf(
  order: readonly OrderKey[],
  pathOf: (path: string) => Promise<string>,
): Promise<readonly RunOrder[]> {
  const orders = await Promise.all(
    order.map(async ({ by, isDescending }): Promise<readonly RunOrder[]> => {
      const direction = isDescending ? 'descending' : 'ascending';
      const own = { by: await pathOf(by), direction } as const;
      return by === 'name' ? [own, { by: 'project', direction }] : [own];
    }),
  );
  return orders.flat().slice(0, MAX_ORDER_KEYS);
}

function withLoss(row: FoundRun, path: string): FoundRun {
  const [value, step] = [row.values[path], row.steps[path]];
  return {
    ...row,
    values: value === undefined ? row.values : { ...row.values, [LOSS_PATH]: value },
    steps: step === undefined ? row.steps : { ...row.steps, [LOSS_PATH]: step },
  };
}

/** How long the columns of an unfiltered list are reused, in milliseconds: an order by loss, the query line and the choice of columns need the same ones. */
const COLUMNS_FOR_MS = 30_000;

type ReadColumns = TableData['columns'];

/** Reads columns; those of whole lists once in {@link COLUMNS_FOR_MS}. A read that fails is not remembered. */
function rememberedColumns(store: Store): ReadColumns {
  const known = new Map<
    string,
    { readonly read: ReturnType<ReadColumns>; readonly atMs: number }
  >();
  return async (scope) => {
    const asked = scopeOf(scope);
    const found = known.get(scope.list);
    if (asked.where === undefined && found !== undefined) {
      if (performance.now() - found.atMs < COLUMNS_FOR_MS) return found.read;
    }
    const read = findRunColumns(store, asked).then(({ columns }) => columns);
    if (asked.where === undefined) {
      known.set(scope.list, { read, atMs: performance.now() });
      read.catch(() => known.delete(scope.list));
    }
    return read;
  };
}

/** The last value of the loss that most runs have: of the list, or of all runs where that has no metrics. */
async function lossPath(store: Store, columnsOf: ReadColumns): Promise<string> {
  const active = await columnsOf({ list: 'active', line: '', facets: NO_FACETS });
  const columns = active.some(({ kind }) => kind === 'metric')
    ? active
    : (await findRunColumns(store, { list: 'any' })).columns;
  const keysByRuns = new Map<number, string[]>();
  for (const { kind, path, runs } of columns) {
    if (kind !== 'metric') continue;
    const keys = keysByRuns.get(runs) ?? [];
    keysByRuns.set(runs, [...keys, path.replace(/^metrics\./, '')]);
  }
  const counts = [...keysByRuns.keys()].toSorted((a, b) => b - a);
  const losses = counts.map((runs) => lossKey(keysByRuns.get(runs) ?? []));
  return `metrics.${losses.find((key) => key !== undefined) ?? 'loss'}.last`;
}

function scopeOf({ list, line, facets, within }: TableScope): RunTableScope {
  const terms = [
    ...(line.trim() === '' ? [] : [`(${line})`]),
    ...Array.from(facets, ([path, values]) => facetTerm(path, values)),
    ...(within === undefined ? [] : [valueTerm(within.path, within.value)]),
  ];
  return { list, ...(terms.length === 0 ? {} : { where: terms.join(' and ') }) };
}

/** A run has all of the chosen tags, and one of the chosen values of anything else. */
function facetTerm(path: string, values: readonly FacetValue[]): string {
  const terms = values.map((value) => valueTerm(path, value));
  return `(${terms.join(path === 'tags' ? ' and ' : ' or ')})`;
}

/** A condition of the query line: runs with a value, or without one. */
export function valueTerm(path: string, value: FacetValue): string {
  const name = quoted(path);
  if (value === null) return `not has ${name}`;
  return `${name} = ${typeof value === 'string' ? quoted(value) : String(value)}`;
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, (sign) => `\\${sign}`)}"`;
}
