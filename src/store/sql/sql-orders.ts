/** What runs are ordered and grouped by, in SQL: a value of each run as three cells, and whether sessions are at work on runs. */
import type { SortKey } from '../../records/run-question.ts';
import { numberCell, sql, type SqlRow, type SqlValue, type SqlWork } from './sql-database.ts';
import { factOfCells, type SqlCondition } from './sql-facts.ts';

/** The value of a path of the runs `r`: its kind (4 where there is none), and a number or a text. */
export type OrderPart = {
  readonly join: string;
  readonly params: readonly SqlValue[];
  readonly kind: string;
  /** A number; NULL for other kinds. */
  readonly number: string;
  /** A text; NULL for other kinds. */
  readonly body: string;
  /** The same text as it is selected. */
  readonly text: string;
  /** What of these differs between runs. */
  readonly varying: readonly ('kind' | 'number' | 'body')[];
};

/** The ids of runs that sessions are at work on. */
export function liveCondition(space: string, nowMs: number): SqlCondition {
  return {
    text: `SELECT DISTINCT run_id FROM leases WHERE space = ? AND expires_at_ms > ?
      AND (ttl_ms IS NULL OR expires_at_ms - 2 * ttl_ms <= ?)`,
    params: [space, nowMs, nowMs],
  };
}

/** The effective status of the run with this alias, where `live` is joined. */
export function statusExpression(alias: string): string {
  return `CASE WHEN ${alias}.status = 'running' AND live.run_id IS NULL THEN 'interrupted' ELSE ${alias}.status END`;
}

/** The value of a path. @param alias of the facts that are joined */
export function* orderOf(space: string, path: string, alias: string): SqlWork<OrderPart> {
  if (path === 'startedAt') return ofRun('0', 'r.started_at_ms', 'NULL', 'NULL');
  if (path === 'id') return ofRun('1', 'NULL', 'r.id', 'text(r.id)');
  if (path === 'status')
    return ofRun('1', 'NULL', `(${statusExpression('r')})`, `(${statusExpression('r')})`);
  // Of several values the first counts.
  const isFirst = (yield* hasSeveral(space, path))
    ? `AND ${alias}.fact = (SELECT min(fact) FROM run_facts AS firsts WHERE firsts.space = r.space
        AND firsts.run_id = r.id AND firsts.path = ${alias}.path)`
    : '';
  return {
    join: `LEFT JOIN run_facts AS ${alias} ON ${alias}.space = r.space AND ${alias}.run_id = r.id AND ${alias}.path = ? ${isFirst}`,
    params: [path],
    kind: `coalesce(${alias}.kind, 4)`,
    number: `CASE WHEN ${alias}.kind = 1 THEN NULL ELSE ${alias}.number END`,
    body: `${alias}.body`,
    text: `text(${alias}.body)`,
    varying: ['kind', 'number', 'body'],
  };
}

function ofRun(kind: string, number: string, body: string, text: string): OrderPart {
  const varying = [kind === '0' ? ('number' as const) : ('body' as const)];
  return { join: '', params: [], kind, number, body, text, varying };
}

/** Whether a run has several values of a path, as tags and lists are. */
function* hasSeveral(space: string, path: string): SqlWork<boolean> {
  if (!/^(?:config|metadata|summary|tags|groups)(?:\.|$)/u.test(path)) return false;
  const rows = yield sql(
    'SELECT 1 FROM run_facts WHERE space = ? AND path = ? GROUP BY run_id HAVING count(*) > 1 LIMIT 1',
    space,
    path,
  );
  return rows.length > 0;
}

/** The runs that a question is about. */
export type FoundRuns = {
  readonly space: string;
  readonly nowMs: number;
  readonly condition: SqlCondition;
};

/** How many there are. */
export function* countFoundRuns({ condition }: FoundRuns): SqlWork<number> {
  const [row = []] = yield sql(
    `SELECT count(*) FROM runs WHERE ${condition.text}`,
    ...condition.params,
  );
  return numberCell(row, 0);
}

/** The ids of the newest of them. */
export function newest({ condition }: FoundRuns, limit: number): SqlCondition {
  return {
    text: `SELECT text(id) FROM runs WHERE ${condition.text}
      ORDER BY started_at_ms DESC, id COLLATE "C" DESC LIMIT ?`,
    params: [...condition.params, limit],
  };
}

/** The runs as `r`, joined with what they are ordered by. */
export function* tableSource(
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

/** The value of three cells, as runs are ordered by it. */
export function keyOfCells(row: SqlRow, at: number): SortKey {
  const value = factOfCells(row, at);
  return value === undefined ? null : (value ?? Number.NaN);
}
