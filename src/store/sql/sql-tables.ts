/**
 * Tables of runs in SQL: orders, pages, columns, facets and groups from the facts of runs, without reading a document. Values have the
 * order that `find/known-run.ts` gives them in memory.
 */
import { stepPathOf } from '../../records/run-paths.ts';
import {
  cursorOf,
  cursorText,
  type AnswerOf,
  type RunFacet,
  type OrderPosition,
  type TableAnswer,
  type TableQuestion,
} from '../../records/run-question.ts';
import type { FactsByPath, FactValue } from '../../records/shapes/run-condition.ts';
import { runShape } from '../../records/shapes/run.ts';
import { withoutFields } from '../../schema/shape.ts';
import { rowOf } from '../find/answers.ts';
import { whereOf } from '../run-facts.ts';
import {
  numberCell,
  placeholders,
  sql,
  textCell,
  type SqlRow,
  type SqlWork,
} from './sql-database.ts';
import { compileCondition, factOfCells, hasUnindexed, type SqlCondition } from './sql-facts.ts';
import { plainConditions } from './sql-find-runs.ts';
import { canWalk, orderKeys, pageColumns, walkOrder } from './sql-order-walk.ts';
import {
  countFoundRuns,
  isAfter,
  keyOfCells,
  liveCondition,
  newest,
  orderTerms,
  tableSource,
  type FoundRuns,
} from './sql-orders.ts';
import { sqlShape } from './sql-shapes.ts';
import { sqlGroups } from './sql-groups.ts';
import { sqlColumns, sqlFacet } from './sql-table-counts.ts';

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
/** With fewer runs for each row that is wanted, sorting them is quicker than walking an index, which may have other runs first. */
const RUNS_PER_WALKED_ROW = 4;
/** Rows that a walk passes over, at most: beyond that all runs are sorted. */
const MAX_WALKED = 2_000;

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
  const isOfAll = where === undefined && question.projectName === undefined;
  const found: FoundRuns = {
    space,
    nowMs,
    allBut: isOfAll && question.archived !== true ? archivedRuns(space, question) : undefined,
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
        total: yield* countFoundRuns(found),
      };
    }
    case 'columns':
      return yield* sqlColumns(found, question.limit);
    case 'facets': {
      const facets: RunFacet[] = [];
      const total = yield* countFoundRuns(found);
      for (const path of question.by)
        facets.push(yield* sqlFacet(found, path, question.limit, total));
      return { kind: 'facets', facets };
    }
    case 'groups':
      return yield* sqlGroups(found, question);
  }
}

/** The ids of the runs that a question about all runs leaves out; most runs are not archived. */
function archivedRuns(space: string, { archived }: TableQuestion): SqlCondition {
  if (archived === undefined) return { text: '', params: [] };
  return {
    text: 'SELECT id FROM runs WHERE space = ? AND archived_at_ms IS NOT NULL',
    params: [space],
  };
}

type RowsQuestion = Extract<TableQuestion, { readonly kind: 'rows' }>;

function* rows(found: FoundRuns, question: RowsQuestion): SqlWork<AnswerOf<'rows'>> {
  const { after, limit, offset, orderBy } = question;
  const total = yield* countFoundRuns(found);
  const last = cursorOf(after, orderBy.length);
  const end = offset + limit + 1;
  const isWalked = total > RUNS_PER_WALKED_ROW * end && end < MAX_WALKED && canWalk(orderBy);
  const page = isWalked
    ? (yield* walkOrder(found, orderBy, last, end)).slice(offset)
    : yield* sortedPage(found, question, last);
  const shown = page.slice(0, limit);
  const lastRow = page.length > limit ? shown.at(-1) : undefined;
  return {
    kind: 'rows',
    rows: yield* readRows(
      found,
      shown.map((row) => textCell(row, 0)),
      question.columns,
    ),
    total,
    cursor:
      lastRow === undefined
        ? null
        : cursorText({
            id: textCell(lastRow, 0),
            startedAtMs: numberCell(lastRow, 1),
            keys: orderBy.map((_, i) => keyOfCells(lastRow, 2 + 3 * i)),
          }),
  };
}

/** Sorts all runs that are found. */
function* sortedPage(
  found: FoundRuns,
  { limit, offset, orderBy }: RowsQuestion,
  last: OrderPosition | undefined,
): SqlWork<readonly SqlRow[]> {
  const from = yield* tableSource(
    found,
    orderBy.map(({ path }) => path),
  );
  const keys = orderKeys(from.parts, orderBy);
  const position = last === undefined ? undefined : isAfter(keys, last);
  return yield sql(
    `SELECT ${pageColumns(keys)} FROM ${from.text}
     ${position === undefined ? '' : `WHERE ${position.text}`}
     ORDER BY ${orderTerms(keys)} LIMIT ? OFFSET ?`,
    ...from.params,
    ...(position?.params ?? []),
    limit + 1,
    offset,
  );
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
