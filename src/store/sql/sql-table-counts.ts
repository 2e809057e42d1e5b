/** What is counted of runs in SQL: their columns, how often values are there, and means by group. */
import {
  MAX_COLUMN_RUNS,
  MAX_EXAMPLE_VALUES,
  type AnswerOf,
  type FoundColumn,
  type RunFacet,
  type TableQuestion,
} from '../../records/run-question.ts';
import type { FactValue } from '../../records/shapes/run-condition.ts';
import { foundColumn, listColumns } from '../find/columns.ts';
import { facetOf, GroupSums } from '../find/groups.ts';
import {
  numberCell,
  placeholders,
  sql,
  textCell,
  type SqlValue,
  type SqlWork,
} from './sql-database.ts';
import { factOfCells } from './sql-facts.ts';
import {
  countFoundRuns,
  keyOfCells,
  liveCondition,
  newest,
  tableSource,
  statusExpression,
  type FoundRuns,
} from './sql-orders.ts';

/** Paths of a statement. */
const IDS_AT_ONCE = 500;

/** Which paths the newest of these runs have values under. */
export function* sqlColumns(found: FoundRuns, limit: number): SqlWork<AnswerOf<'columns'>> {
  const { space } = found;
  const total = yield* countFoundRuns(found);
  const ids = newest(found, MAX_COLUMN_RUNS);
  const chosen = ids.text.replace('text(id)', 'id');
  const counted = yield sql(
    `SELECT text(path), kind, count(DISTINCT run_id), count(DISTINCT number) FROM run_facts
     WHERE space = ? AND run_id IN (${chosen}) GROUP BY path, kind ORDER BY path, kind`,
    space,
    ...ids.params,
  );
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
  const examples = new Map<string, Map<FactValue, number>>();
  for (let at = 0; at < few.length; at += IDS_AT_ONCE) {
    const some = few.slice(at, at + IDS_AT_ONCE);
    const values = yield sql(
      `SELECT text(path), kind, number, text(body), count(*) FROM run_facts
       WHERE space = ? AND path IN (${placeholders(some)}) AND run_id IN (${chosen})
       GROUP BY path, kind, number, body`,
      space,
      ...some,
      ...ids.params,
    );
    for (const row of values) {
      const value = factOfCells(row, 1);
      if (value === undefined) continue;
      const counts = examples.get(textCell(row, 0)) ?? new Map<FactValue, number>();
      counts.set(value ?? Number.NaN, numberCell(row, 4));
      examples.set(textCell(row, 0), counts);
    }
  }
  const status = yield* sqlFacet(found, 'status', 10);
  const statuses = new Map(status.values.map(({ value, runs }) => [value, runs]));
  if (all.has('status')) examples.set('status', statuses);
  return {
    kind: 'columns',
    columns: listColumns(all, examples, limit),
    total,
    looked: Math.min(total, MAX_COLUMN_RUNS),
  };
}

const KINDS = ['number', 'text', 'flag', 'number'] as const;

/** How often each value of a path is there. */
export function* sqlFacet(found: FoundRuns, path: string, limit: number): SqlWork<RunFacet> {
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
  const among = `FROM run_facts WHERE space = ? AND path = ? AND run_id IN (SELECT id FROM runs WHERE ${condition.text})`;
  const params: readonly SqlValue[] = [space, path, ...condition.params];
  const values = yield sql(
    `SELECT kind, number, text(body), count(DISTINCT run_id) ${among}
     GROUP BY kind, number, body ORDER BY 4 DESC, kind, CASE WHEN kind = 1 THEN NULL ELSE number END, body COLLATE "C" LIMIT ?`,
    ...params,
    limit,
  );
  for (const row of values) {
    const value = factOfCells(row, 0);
    if (value !== undefined) counts.set(value ?? Number.NaN, numberCell(row, 3));
  }
  const [all = []] = yield sql(
    `SELECT count(*) FROM (SELECT 1 AS one ${among} GROUP BY kind, number, body) AS counted`,
    ...params,
  );
  const [having = []] = yield sql(`SELECT count(DISTINCT run_id) ${among}`, ...params);
  const missing = (yield* countFoundRuns(found)) - numberCell(having, 0);
  return {
    ...facetOf(path, counts, missing, limit),
    more: Math.max(0, numberCell(all, 0) - counts.size),
  };
}

/** Groups of runs with the same values. */
export function* sqlGroups(
  found: FoundRuns,
  { by, limit, of }: Extract<TableQuestion, { readonly kind: 'groups' }>,
): SqlWork<AnswerOf<'groups'>> {
  const from = yield* tableSource(found, [...by, ...of]);
  const cells = from.parts.map(({ kind, number, text }) => `${kind}, ${number}, ${text}`);
  const all = yield sql(`SELECT ${cells.join(', ')} FROM ${from.text}`, ...from.params);
  const sums = new GroupSums(of);
  for (const row of all) {
    const values = from.parts.map((_, i) => keyOfCells(row, 3 * i));
    sums.add(
      values.slice(0, by.length),
      values.slice(by.length).map((value) => (typeof value === 'number' ? value : Number.NaN)),
    );
  }
  return sums.answer(limit);
}
