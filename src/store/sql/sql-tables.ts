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
  type SortKey,
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
import {
  countFoundRuns,
  keyOfCells,
  liveCondition,
  newest,
  tableSource,
  type FoundRuns,
  type OrderPart,
} from './sql-orders.ts';
import { sqlShape } from './sql-shapes.ts';
import { sqlColumns, sqlFacet, sqlGroups } from './sql-table-counts.ts';

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
        total: yield* countFoundRuns(found),
      };
    }
    case 'columns':
      return yield* sqlColumns(found, question.limit);
    case 'facets': {
      const facets: RunFacet[] = [];
      for (const path of question.by) facets.push(yield* sqlFacet(found, path, question.limit));
      return { kind: 'facets', facets };
    }
    case 'groups':
      return yield* sqlGroups(found, question);
  }
}

type RowsQuestion = Extract<TableQuestion, { readonly kind: 'rows' }>;

function* rows(found: FoundRuns, question: RowsQuestion): SqlWork<AnswerOf<'rows'>> {
  const { after, limit, offset, orderBy } = question;
  const from = yield* tableSource(
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
    total: yield* countFoundRuns(found),
    cursor:
      end === undefined
        ? null
        : cursorText({
            id: textCell(end, 0),
            startedAtMs: numberCell(end, 1),
            keys: keys.map((_, i) => keyOfCells(end, 2 + 3 * i)),
          }),
  };
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
