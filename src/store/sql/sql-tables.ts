/**
 * Tables of runs in SQL: orders, pages, columns, facets and groups from the facts of runs, without reading a document. Values have the
 * order that `find/known-run.ts` gives them in memory.
 */
import { facetOf, GroupSums } from '../find/groups.ts';
import { foundColumn, listColumns } from '../find/columns.ts';
import { rowOf } from '../find/answers.ts';
import {
  MAX_COLUMN_RUNS,
  MAX_EXAMPLE_VALUES,
  cursorOf,
  cursorText,
} from '../../records/run-question.ts';
import type {
  AnswerOf,
  FoundColumn,
  RunFacet,
  SortKey,
  TableAnswer,
  TableQuestion,
} from '../../records/run-question.ts';
import { stepPathOf } from '../../records/run-paths.ts';
import type { FactsByPath, FactValue } from '../../records/shapes/run-condition.ts';
import { runShape } from '../../records/shapes/run.ts';
import { withoutFields } from '../../schema/shape.ts';
import { whereOf } from '../run-facts.ts';
import {
  numberCell,
  placeholders,
  sql,
  textCell,
  type SqlRow,
  type SqlValue,
  type SqlWork,
} from './sql-database.ts';
import { compileCondition, factOfCells, hasUnindexed, type SqlCondition } from './sql-facts.ts';
import { plainConditions } from './sql-find-runs.ts';
import { liveCondition, orderOf, statusExpression, type OrderPart } from './sql-orders.ts';
import { sqlShape } from './sql-shapes.ts';

const heads = sqlShape(
  withoutFields(
    runShape,
    'document',
    'projectId',
    'revision',
    'generation',
    'configHash',
    'configRevision',
  ),
);
const ROW_PATHS = ['name', 'endedAt', 'updatedAt', 'groups'];
/** Ids of a statement. */
const IDS_AT_ONCE = 500;

/**
 * Answers a question about runs; undefined where SQL alone cannot: some facts are behind, or a condition has to be met outside of it.
 *
 * @param nowMs by the clock of the leases
 */
export function* askRuns(
  space: string,
  question: TableQuestion,
  nowMs: number,
): SqlWork<TableAnswer | undefined> {
  if (yield* hasUnindexed(space)) return undefined;
  const where = whereOf(question);
  const plain = plainConditions(space, question);
  const compiled = where && (yield* compileCondition(space, where, nowMs));
  if (compiled?.isLoose === true) return undefined;
  const found: FoundRuns = {
    space,
    nowMs,
    condition:
      compiled === undefined
        ? plain
        : {
            text: `${plain.text} AND ${compiled.text}`,
            params: [...plain.params, ...compiled.params],
          },
  };
  switch (question.kind) {
    case 'rows':
      return yield* rows(found, question);
    case 'ids': {
      const { params, text } = newest(found, question.limit);
      const ids = yield sql(text, ...params);
      return {
        kind: 'ids',
        ids: ids.map((row) => textCell(row, 0)),
        total: yield* countRuns(found),
      };
    }
    case 'columns':
      return yield* columns(found, question.limit);
    case 'facets': {
      const facets: RunFacet[] = [];
      for (const path of question.by) facets.push(yield* facet(found, path, question.limit));
      return { kind: 'facets', facets };
    }
    case 'groups':
      return yield* groups(found, question);
  }
}

/** The runs that a question is about. */
type FoundRuns = {
  readonly space: string;
  readonly nowMs: number;
  readonly condition: SqlCondition;
};

function* countRuns({ condition }: FoundRuns): SqlWork<number> {
  const [row = []] = yield sql(
    `SELECT count(*) FROM runs WHERE ${condition.text}`,
    ...condition.params,
  );
  return numberCell(row, 0);
}

function newest({ condition }: FoundRuns, limit: number): SqlCondition {
  return {
    text: `SELECT text(id) FROM runs WHERE ${condition.text}
      ORDER BY started_at_ms DESC, id COLLATE "C" DESC LIMIT ?`,
    params: [...condition.params, limit],
  };
}

/** The runs as `r`, joined with what they are ordered by. */
function* source(
  { space, nowMs, condition }: FoundRuns,
  paths: readonly string[],
): SqlWork<SqlCondition & { readonly parts: readonly OrderPart[] }> {
  const parts: OrderPart[] = [];
  for (const [i, path] of paths.entries()) parts.push(yield* orderOf(space, path, `f${i}`));
  const live = liveCondition(space, nowMs);
  const isByStatus = paths.includes('status');
  return {
    parts,
    text: `(SELECT id, space, status, project_name, started_at_ms FROM runs WHERE ${condition.text}) AS r
      ${isByStatus ? `LEFT JOIN (${live.text}) AS live ON live.run_id = r.id` : ''}
      ${parts.map(({ join }) => join).join(' ')}`,
    params: [
      ...condition.params,
      ...(isByStatus ? live.params : []),
      ...parts.flatMap(({ params }) => params),
    ],
  };
}

type RowsQuestion = Extract<TableQuestion, { readonly kind: 'rows' }>;

function* rows(found: FoundRuns, question: RowsQuestion): SqlWork<AnswerOf<'rows'>> {
  const { after, limit, offset, orderBy } = question;
  const from = yield* source(
    found,
    orderBy.map(({ path }) => path),
  );
  const keys = from.parts.map((part, i) => ({
    part,
    direction: orderBy[i]?.isDescending === true ? ('DESC' as const) : ('ASC' as const),
  }));
  const last = cursorOf(after, orderBy.length);
  const position = last === undefined ? undefined : isAfter(keys, last);
  const cells = keys.map(({ part }) => `${part.kind}, ${part.number}, ${part.text}`);
  const orders = keys.flatMap(({ part, direction }) =>
    part.varying.map((cell) => {
      if (cell === 'kind') return `${part.kind} ASC`;
      return cell === 'number'
        ? `${part.number} ${direction}`
        : `${part.body} COLLATE "C" ${direction}`;
    }),
  );
  const page = yield sql(
    `SELECT ${['text(r.id)', 'r.started_at_ms', ...cells].join(', ')} FROM ${from.text}
     ${position === undefined ? '' : `WHERE ${position.text}`}
     ORDER BY ${[...orders, 'r.started_at_ms DESC', 'r.id COLLATE "C" DESC'].join(', ')} LIMIT ? OFFSET ?`,
    ...from.params,
    ...(position?.params ?? []),
    limit + 1,
    offset,
  );
  const shown = page.slice(0, limit);
  const end = page.length > limit ? shown.at(-1) : undefined;
  return {
    kind: 'rows',
    rows: yield* readRows(
      found,
      shown.map((row) => textCell(row, 0)),
      question.columns,
    ),
    total: yield* countRuns(found),
    cursor:
      end === undefined
        ? null
        : cursorText({
            id: textCell(end, 0),
            startedAtMs: numberCell(end, 1),
            keys: keys.map((_, i) => keyOf(end, 2 + 3 * i)),
          }),
  };
}

function keyOf(row: SqlRow, at: number): SortKey {
  const value = factOfCells(row, at);
  return value === undefined ? null : (value ?? Number.NaN);
}

type OrderKey = { readonly part: OrderPart; readonly direction: 'ASC' | 'DESC' };

/** What comes after a position: in the first order, or equal there and in the next. */
function isAfter(
  keys: readonly OrderKey[],
  last: { readonly keys: readonly SortKey[]; readonly startedAtMs: number; readonly id: string },
): SqlCondition {
  let after: SqlCondition = {
    text: '(r.started_at_ms < ? OR (r.started_at_ms = ? AND r.id COLLATE "C" < ?))',
    params: [last.startedAtMs, last.startedAtMs, last.id],
  };
  for (const [i, { part, direction }] of [...keys.entries()].toReversed()) {
    const key = last.keys[i] ?? null;
    const kind = kindOf(key);
    const sign = direction === 'ASC' ? '>' : '<';
    const value = typeof key === 'string' ? key : Number(key);
    const compared = typeof key === 'string' ? `${part.body} COLLATE "C"` : part.number;
    after =
      kind > 2
        ? {
            text: `(${part.kind} > ? OR (${part.kind} = ? AND ${after.text}))`,
            params: [kind, kind, ...after.params],
          }
        : {
            text: `(${part.kind} > ? OR (${part.kind} = ? AND (${compared} ${sign} ? OR (${compared} = ? AND ${after.text}))))`,
            params: [kind, kind, value, value, ...after.params],
          };
  }
  return after;
}

/** Numbers, texts, flags, NaN, nothing. */
function kindOf(key: SortKey): number {
  if (key === null) return 4;
  if (typeof key === 'number') return Number.isNaN(key) ? 3 : 0;
  return typeof key === 'string' ? 1 : 2;
}

/** Rows of these runs, in their order. */
function* readRows(
  { space, nowMs }: FoundRuns,
  ids: readonly string[],
  wanted: readonly string[],
): SqlWork<AnswerOf<'rows'>['rows']> {
  if (ids.length === 0) return [];
  const paths = [
    ...new Set([...ROW_PATHS, ...wanted, ...wanted.flatMap((one) => stepPathOf(one) ?? [])]),
  ];
  const facts = new Map<string, Map<string, (FactValue | null)[]>>();
  const runs = new Map<string, ReturnType<typeof heads.read>>();
  const live = liveCondition(space, nowMs);
  const leases = yield sql(`SELECT text(run_id) FROM (${live.text}) AS live`, ...live.params);
  const isLive = new Set(leases.map((row) => textCell(row, 0)));
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const some = ids.slice(at, at + IDS_AT_ONCE);
    const stored = yield sql(
      `SELECT ${heads.selected} FROM runs WHERE space = ? AND id IN (${placeholders(some)})`,
      space,
      ...some,
    );
    for (const row of stored) {
      const run = heads.read(row, {});
      runs.set(run.id, run);
    }
    const cells = yield sql(
      `SELECT text(run_id), text(path), kind, number, text(body) FROM run_facts
       WHERE space = ? AND run_id IN (${placeholders(some)}) AND path IN (${placeholders(paths)})
       ORDER BY run_id, path, fact`,
      space,
      ...some,
      ...paths,
    );
    for (const row of cells) addFact(facts, row);
  }
  // A run that was deleted between the two reads is in none.
  return ids.flatMap((id) => {
    const run = runs.get(id);
    if (run === undefined) return [];
    const known: FactsByPath = facts.get(id) ?? new Map();
    return [
      rowOf({ run, facts: known, isLive: run.status === 'running' && isLive.has(id) }, wanted),
    ];
  });
}

function addFact(facts: Map<string, Map<string, (FactValue | null)[]>>, row: SqlRow): void {
  const [id, path] = [textCell(row, 0), textCell(row, 1)];
  const value = factOfCells(row, 2);
  if (value === undefined) return;
  const byPath = facts.get(id) ?? new Map<string, (FactValue | null)[]>();
  const values = byPath.get(path) ?? [];
  values.push(value);
  byPath.set(path, values);
  facts.set(id, byPath);
}

function* columns(found: FoundRuns, limit: number): SqlWork<AnswerOf<'columns'>> {
  const { space } = found;
  const total = yield* countRuns(found);
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
  const status = yield* facet(found, 'status', 10);
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

function* facet(found: FoundRuns, path: string, limit: number): SqlWork<RunFacet> {
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
  const missing = (yield* countRuns(found)) - numberCell(having, 0);
  return {
    ...facetOf(path, counts, missing, limit),
    more: Math.max(0, numberCell(all, 0) - counts.size),
  };
}

function* groups(
  found: FoundRuns,
  { by, limit, of }: Extract<TableQuestion, { readonly kind: 'groups' }>,
): SqlWork<AnswerOf<'groups'>> {
  const from = yield* source(found, [...by, ...of]);
  const cells = from.parts.map(({ kind, number, text }) => `${kind}, ${number}, ${text}`);
  const all = yield sql(`SELECT ${cells.join(', ')} FROM ${from.text}`, ...from.params);
  const sums = new GroupSums(of);
  for (const row of all) {
    const values = from.parts.map((_, i) => keyOf(row, 3 * i));
    sums.add(
      values.slice(0, by.length),
      values.slice(by.length).map((value) => (typeof value === 'number' ? value : Number.NaN)),
    );
  }
  return sums.answer(limit);
}
