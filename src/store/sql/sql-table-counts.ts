/** What is counted of runs in SQL: their columns, and how often values are there. */
import {
  MAX_COLUMN_RUNS,
  MAX_EXAMPLE_VALUES,
  type AnswerOf,
  type FoundColumn,
  type RunFacet,
} from '../../records/run-question.ts';
import type { FactValue } from '../../records/shapes/run-condition.ts';
import { foundColumn, listColumns } from '../find/columns.ts';
import { facetOf } from '../find/groups.ts';
import {
  numberCell,
  placeholders,
  sql,
  textCell,
  type SqlRow,
  type SqlValue,
  type SqlWork,
} from './sql-database.ts';
import { factOfCells } from './sql-facts.ts';
import {
  countFoundRuns,
  liveCondition,
  mayHaveSeveral,
  newest,
  ofFoundRuns,
  statusExpression,
  type FoundRuns,
} from './sql-orders.ts';

/** Paths of a statement. */
const IDS_AT_ONCE = 500;
/** Different values of a path that are read and put in order here. */
const MAX_READ_GROUPS = 2_000;
const TEXT = 1;

/** Which paths the newest of these runs have values under. */
export function* sqlColumns(found: FoundRuns, limit: number): SqlWork<AnswerOf<'columns'>> {
  const { space } = found;
  const total = yield* countFoundRuns(found);
  const newestOf = newest(found, MAX_COLUMN_RUNS);
  const newestIds = yield sql(newestOf.text, ...newestOf.params);
  const ids = padded(newestIds.map((row) => textCell(row, 0)));
  const ofThese = `space = ? AND run_id IN (${placeholders(ids)})`;
  const runsOfPaths = yield sql(
    `SELECT text(path), kind, count(*) FROM
       (SELECT DISTINCT run_id, path, kind FROM run_facts WHERE ${ofThese}) AS having_one
     GROUP BY path, kind ORDER BY path, kind`,
    space,
    ...ids,
  );
  const valuesOfPaths = yield sql(
    `SELECT text(path), kind, count(number) FROM
       (SELECT DISTINCT path, kind, number FROM run_facts WHERE ${ofThese}) AS one_of_each
     GROUP BY path, kind ORDER BY path, kind`,
    space,
    ...ids,
  );
  const counted = runsOfPaths.map((row, i) => [...row, valuesOfPaths[i]?.[2] ?? 0]);
  const all = new Map<string, FoundColumn>();
  for (const row of counted) {
    const path = textCell(row, 0);
    const [kind, runs, distinct] = [numberCell(row, 1), numberCell(row, 2), numberCell(row, 3)];
    const column = foundColumn(path, all.get(path), {
      kind: KINDS[kind] ?? 'number',
      runs,
      distinct: kind === 3 ? 1 : distinct,
    });
    if (column !== undefined) all.set(path, column);
  }
  const few = [...all]
    .filter(([, { distinct }]) => distinct <= MAX_EXAMPLE_VALUES)
    .map(([path]) => path);
  const examples = yield* valuesOfFew(space, ids, few);
  const status = yield* sqlFacet(found, 'status', 10, total);
  const statuses = new Map(status.values.map(({ value, runs }) => [value, runs]));
  if (all.has('status')) examples.set('status', statuses);
  return {
    kind: 'columns',
    columns: listColumns(all, examples, limit),
    total,
    looked: Math.min(total, MAX_COLUMN_RUNS),
  };
}

/** How often each value of these paths is there, among the runs of these ids. */
function* valuesOfFew(
  space: string,
  ids: readonly string[],
  few: readonly string[],
): SqlWork<Map<string, Map<FactValue, number>>> {
  const ofThese = `space = ? AND run_id IN (${placeholders(ids)})`;
  const examples = new Map<string, Map<FactValue, number>>();
  for (let at = 0; at < few.length; at += IDS_AT_ONCE) {
    const some = few.slice(at, at + IDS_AT_ONCE);
    const values = yield sql(
      `SELECT text(path), kind, number, text(body), count(*) FROM run_facts
       WHERE ${ofThese} AND path IN (${placeholders(some)})
       GROUP BY path, kind, number, body`,
      space,
      ...ids,
      ...some,
    );
    for (const row of values) {
      const value = factOfCells(row, 1);
      if (value === undefined) continue;
      const counts = examples.get(textCell(row, 0)) ?? new Map<FactValue, number>();
      counts.set(value ?? Number.NaN, numberCell(row, 4));
      examples.set(textCell(row, 0), counts);
    }
  }
  return examples;
}

/** As many ids as a statement of few forms takes: the last one again and again. A planner takes a list of ids for what it is. */
function padded(ids: readonly string[]): readonly string[] {
  const last = ids.at(-1) ?? '';
  const size = ID_LISTS.find((one) => one >= ids.length) ?? ids.length;
  return [...ids, ...Array.from({ length: size - ids.length }, () => last)];
}

const ID_LISTS = [16, 128, 512, MAX_COLUMN_RUNS] as const;

const KINDS = ['number', 'text', 'flag', 'number'] as const;

/** How often each value of a path is there. @param total runs that are found */
export function* sqlFacet(
  found: FoundRuns,
  path: string,
  limit: number,
  total: number,
): SqlWork<RunFacet> {
  const { condition, nowMs, space } = found;
  const counts = new Map<FactValue, number>();
  if (path === 'status') {
    const live = liveCondition(space, nowMs);
    const values = yield sql(
      `SELECT text(status), count(*) FROM (SELECT ${statusExpression('r')} AS status
         FROM (SELECT id, status FROM runs WHERE ${condition.text}) AS r
         LEFT JOIN (${live.text}) AS live ON live.run_id = r.id) AS effective GROUP BY status`,
      ...condition.params,
      ...live.params,
    );
    for (const row of values) counts.set(textCell(row, 0), numberCell(row, 1));
    return facetOf(path, counts, 0, limit);
  }
  const of = ofFoundRuns(found);
  const among = `FROM run_facts WHERE space = ? AND path = ? ${of.text}`;
  const params: readonly SqlValue[] = [space, path, ...of.params];
  const several = mayHaveSeveral(path);
  // From an index alone: of texts it has a number, and one run of each number says the text.
  const groups = yield sql(
    `SELECT kind, number, runs, text(one_run) FROM
       (SELECT kind, number, ${several ? 'count(DISTINCT run_id)' : 'count(*)'} AS runs, min(run_id) AS one_run
        ${among} GROUP BY kind, number LIMIT ${MAX_READ_GROUPS + 1}) AS counted`,
    ...params,
  );
  const values =
    groups.length > MAX_READ_GROUPS
      ? yield* mostFrequent(found, path, limit)
      : yield* withTexts(space, path, groups);
  let ofAll = 0;
  for (const { runs, value } of values.list) {
    counts.set(value, (counts.get(value) ?? 0) + runs);
    ofAll += runs;
  }
  // A run with several values is counted for each.
  const having = several || values.more > 0 ? yield* countHaving(among, params) : ofAll;
  const facet = facetOf(path, counts, total - having, limit);
  return { ...facet, more: facet.more + values.more };
}

type Counted = {
  readonly list: readonly { readonly value: FactValue; readonly runs: number }[];
  /** Values that are not in the list. */
  readonly more: number;
};

/** Groups of kind, number, count and one run as values. */
function* withTexts(space: string, path: string, groups: readonly SqlRow[]): SqlWork<Counted> {
  const texts = yield* textsByNumber(
    space,
    path,
    groups.filter((row) => row[0] === TEXT).map((row) => textCell(row, 3)),
  );
  const list = groups.flatMap((row) => {
    const value =
      row[0] === TEXT ? texts.get(numberCell(row, 1)) : factOfCells([...row.slice(0, 2), null], 0);
    return value === undefined ? [] : [{ value: value ?? Number.NaN, runs: numberCell(row, 2) }];
  });
  return { list, more: 0 };
}

/** The texts of a path of some runs, by their numbers. */
export function* textsByNumber(
  space: string,
  path: string,
  runIds: readonly string[],
): SqlWork<ReadonlyMap<number, string>> {
  const texts = new Map<number, string>();
  for (let at = 0; at < runIds.length; at += IDS_AT_ONCE) {
    const some = runIds.slice(at, at + IDS_AT_ONCE);
    const rows = yield sql(
      `SELECT number, text(body) FROM run_facts
       WHERE space = ? AND path = ? AND kind = ${TEXT} AND run_id IN (${placeholders(some)})`,
      space,
      path,
      ...some,
    );
    for (const row of rows) texts.set(numberCell(row, 0), textCell(row, 1));
  }
  return texts;
}

/** The most frequent values of a path that has very many. */
function* mostFrequent(found: FoundRuns, path: string, limit: number): SqlWork<Counted> {
  const of = ofFoundRuns(found);
  const rows = yield sql(
    `SELECT kind, number, text(body), runs, count(*) OVER ()
     FROM (SELECT kind, number, body, count(DISTINCT run_id) AS runs
       FROM run_facts WHERE space = ? AND path = ? ${of.text} GROUP BY kind, number, body) AS counted
     ORDER BY runs DESC, kind, CASE WHEN kind = ${TEXT} THEN NULL ELSE number END, body COLLATE "C" LIMIT ?`,
    found.space,
    path,
    ...of.params,
    limit,
  );
  const list = rows.flatMap((row) => {
    const value = factOfCells(row, 0);
    return value === undefined ? [] : [{ value: value ?? Number.NaN, runs: numberCell(row, 3) }];
  });
  const [first] = rows;
  return { list, more: first === undefined ? 0 : numberCell(first, 4) - list.length };
}

function* countHaving(among: string, params: readonly SqlValue[]): SqlWork<number> {
  const [row = []] = yield sql(
    `SELECT count(*) FROM (SELECT DISTINCT run_id ${among}) AS having_one`,
    ...params,
  );
  return numberCell(row, 0);
}
