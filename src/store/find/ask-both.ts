/**
 * Questions about the runs of two stores of which one has most runs: the other is asked for those that are not there. Rows, ids and counts of
 * values are put together from two answers; for columns and groups somebody has to read the records.
 */
import {
  conditionText,
  MAX_CONDITION_CHARS,
  type FactValue,
  type RunCondition,
} from '../../records/shapes/run-condition.ts';
import {
  checkTableQuestion,
  cursorText,
  MAX_FACET_VALUES,
  MAX_FOUND_IDS,
  MAX_FOUND_RUNS,
  MAX_ROW_COLUMNS,
  type AnswerOf,
  type FoundRun,
  type OrderPosition,
  type RunQuestionOrder,
  type RunQuestionScope,
  type SortKey,
  type TableAnswer,
  type TableQuestion,
} from '../../records/run-question.ts';
import { whereOf } from '../run-facts.ts';
import type { Store } from '../store.ts';
import { comparePositions } from './answers.ts';
import { askRunsOf } from './ask-runs.ts';
import { facetOf } from './groups.ts';

type Question<K extends TableQuestion['kind']> = Extract<TableQuestion, { readonly kind: K }>;

/** See {@link askBoth}. */
export type BothStores = {
  readonly here: Store;
  /** The other store, where it answers. */
  readonly tryThere: <T>(work: (store: Store) => Promise<T>) => Promise<T | undefined>;
  /** Ids of runs that are not to be looked for there: they are here, or were deleted here. */
  readonly known: () => Promise<ReadonlySet<string>>;
};

/**
 * Answers a question about the runs of both stores; undefined where the records have to be read, as runs that are only there match and
 * the two answers cannot be put together. Whether a session is at work on a run is what the store of the run says.
 *
 * @throws {QuarkError} `invalid_input`
 */
export async function askBoth(
  { here, known, tryThere }: BothStores,
  question: TableQuestion,
): Promise<TableAnswer | undefined> {
  checkTableQuestion(question);
  const { where, projectName, archived } = question;
  const scope: RunQuestionScope = {
    ...(where === undefined ? {} : { where }),
    ...(projectName === undefined ? {} : { projectName }),
    ...(archived === undefined ? {} : { archived }),
  };
  const listed = await tryThere((store) =>
    askRunsOf(store, { ...scope, kind: 'ids', limit: MAX_FOUND_IDS }),
  );
  const all = listed?.kind === 'ids' ? listed : { ids: [], total: 0 };
  const mine = await known();
  const strangers = all.ids.filter((id) => !mine.has(id));
  if (strangers.length === 0) return askRunsOf(here, question);
  if (all.total > all.ids.length) return undefined;
  const among = amongIds(scope, strangers);
  if (among === undefined) return undefined;
  const ask = async (wanted: TableQuestion): Promise<readonly TableAnswer[] | undefined> => {
    const there = await tryThere((store) => askRunsOf(store, { ...wanted, where: among }));
    return [await askRunsOf(here, wanted), ...(there === undefined ? [] : [there])];
  };
  switch (question.kind) {
    case 'rows':
      return joinRows(question, ask);
    case 'ids':
      return joinIds(question, ask);
    case 'facets':
      return joinFacets(question, ask);
    case 'columns':
    case 'groups':
      return undefined;
  }
}

type Ask = (question: TableQuestion) => Promise<readonly TableAnswer[] | undefined>;

/** The condition of a scope, and one of these ids; undefined where that is longer than a condition may be. */
function amongIds(scope: RunQuestionScope, ids: readonly string[]): string | undefined {
  const these: RunCondition = { kind: 'in', path: 'id', values: ids };
  const given = whereOf(scope);
  const text = conditionText(given === undefined ? these : { kind: 'and', of: [given, these] });
  return text.length > MAX_CONDITION_CHARS ? undefined : text;
}

async function joinRows(question: Question<'rows'>, ask: Ask): Promise<TableAnswer | undefined> {
  const { columns, limit, offset, orderBy } = question;
  const asked = [...new Set([...columns, ...orderBy.map(({ path }) => path)])];
  const end = offset + limit;
  if (asked.length > MAX_ROW_COLUMNS || end > MAX_FOUND_RUNS) return undefined;
  const answers = await ask({ ...question, columns: asked, offset: 0, limit: end });
  const pages = answers?.filter(isRows);
  if (pages === undefined) return undefined;
  const rows = pages
    .flatMap((page) => page.rows)
    .map((row) => ({ row, position: positionOf(row, orderBy) }))
    .sort((a, b) => comparePositions(a.position, b.position, orderBy));
  const last = rows[end - 1];
  const hasMore = rows.length > end || pages.some(({ cursor }) => cursor !== null);
  return {
    kind: 'rows',
    rows: rows.slice(offset, end).map(({ row }) => withColumns(row, columns)),
    total: pages.reduce((sum, { total }) => sum + total, 0),
    cursor: last === undefined || !hasMore ? null : cursorText(last.position),
  };
}

function isRows(answer: TableAnswer): answer is AnswerOf<'rows'> {
  return answer.kind === 'rows';
}

/** Where a row is: of several values of a path the first counts. */
function positionOf(row: FoundRun, orderBy: readonly RunQuestionOrder[]): OrderPosition {
  const keys = orderBy.map(({ path }): SortKey => {
    const value = Object.hasOwn(row.values, path) ? row.values[path] : undefined;
    return (typeof value === 'object' ? value[0] : value) ?? null;
  });
  return { keys, startedAtMs: row.startedAtMs, id: row.id };
}

function withColumns(row: FoundRun, columns: readonly string[]): FoundRun {
  const only = <T>(values: { readonly [path: string]: T }): { readonly [path: string]: T } =>
    Object.fromEntries(Object.entries(values).filter(([path]) => columns.includes(path)));
  return { ...row, values: only(row.values), steps: only(row.steps) };
}

async function joinIds(question: Question<'ids'>, ask: Ask): Promise<TableAnswer | undefined> {
  // Ids alone do not say which run is newer.
  const orderBy = [{ path: 'startedAt', isDescending: true }];
  const limit = Math.min(question.limit, MAX_FOUND_RUNS);
  const { kind: _, limit: wanted, ...scope } = question;
  const page = {
    ...scope,
    kind: 'rows',
    orderBy,
    columns: [],
    limit,
    offset: 0,
    after: '',
  } as const;
  const found = await joinRows(page, ask);
  if (found?.kind !== 'rows' || (found.cursor !== null && wanted > limit)) return undefined;
  return { kind: 'ids', ids: found.rows.map(({ id }) => id), total: found.total };
}

async function joinFacets(
  question: Question<'facets'>,
  ask: Ask,
): Promise<TableAnswer | undefined> {
  const answers = await ask({ ...question, limit: MAX_FACET_VALUES });
  const all = answers?.flatMap((one) => (one.kind === 'facets' ? [one.facets] : [])) ?? [];
  if (answers === undefined || all.flat().some(({ more }) => more > 0)) return undefined;
  const facets = question.by.map((path, at) => {
    const counts = new Map<FactValue, number>();
    let missing = 0;
    for (const one of all) {
      missing += one[at]?.missing ?? 0;
      for (const { runs, value } of one[at]?.values ?? [])
        counts.set(value, (counts.get(value) ?? 0) + runs);
    }
    return facetOf(path, counts, missing, question.limit);
  });
  return { kind: 'facets', facets };
}
