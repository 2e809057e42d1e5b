/** Lists and finds the runs of one space in SQL. */
import { runShape } from '../../records/shapes/run.ts';
import { isFound, whereOf } from '../run-facts.ts';
import { liveRuns } from '../run-rules.ts';
import type { RunFilter, StoredRun } from '../store.ts';
import { placeholders, sql, type SqlRow, type SqlValue, type SqlWork } from './sql-database.ts';
import { compileCondition, hasUnindexed, IS_BEHIND, type SqlCondition } from './sql-facts.ts';
import { listLeases, NO_LIMIT } from './sql-runs.ts';
import { sqlShape } from './sql-shapes.ts';

const runs = sqlShape(runShape);

/** @param nowMs by the clock of the leases; a condition asks whether sessions are at work on a run */
export function* listRuns(
  space: string,
  filter: RunFilter,
  nowMs: number,
): SqlWork<readonly StoredRun[]> {
  const where = whereOf(filter);
  const plain = plainConditions(space, filter);
  const { limit = NO_LIMIT, offset = 0 } = filter;
  if (where === undefined)
    return (yield* selectWhere(space, plain, limit, offset)).map((row) => runs.read(row, {}));
  const compiled = yield* compileCondition(space, where, nowMs);
  // Most often there are none: a database that need not read them answers from indexes alone.
  const orBehind = (yield* hasUnindexed(space)) ? `${IS_BEHIND} OR ` : '';
  const condition: SqlCondition = {
    text: `${plain.text} AND (${orBehind}${compiled.text})`,
    params: [...plain.params, ...compiled.params],
  };
  const live = liveRuns(yield* listLeases(space, nowMs, undefined), nowMs);
  // Runs whose facts are behind, and those that a loose condition lets through, are compared here; most often there are none.
  const last = compiled.isLoose ? NO_LIMIT : Math.min(NO_LIMIT, limit + offset);
  let rows = yield* selectWhere(space, condition, last, 0);
  const found = (): readonly StoredRun[] =>
    rows.map((row) => runs.read(row, {})).filter((run) => isFound(run, where, live.has(run.id)));
  let matching = found();
  if (rows.length === last && matching.length < last) {
    rows = yield* selectWhere(space, condition, NO_LIMIT, 0);
    matching = found();
  }
  return matching.slice(offset, limit === NO_LIMIT ? undefined : offset + limit);
}

function* selectWhere(
  space: string,
  { params, text }: SqlCondition,
  limit: number,
  offset: number,
): SqlWork<readonly SqlRow[]> {
  const order = 'ORDER BY started_at_ms DESC, id DESC';
  if (limit === NO_LIMIT)
    return yield sql(
      `SELECT ${runs.selected} FROM runs WHERE ${text} ${order} LIMIT ? OFFSET ?`,
      ...params,
      limit,
      offset,
    );
  // Ids are sorted, and then only the documents that are wanted are read.
  return yield sql(
    `SELECT ${runs.selected} FROM runs WHERE space = ? AND id IN
       (SELECT id FROM runs WHERE ${text} ${order} LIMIT ? OFFSET ?) ${order}`,
    space,
    ...params,
    limit,
    offset,
  );
}

/** What a filter says of the fields of a run, as SQL. */
export function plainConditions(space: string, filter: RunFilter): SqlCondition {
  const conditions = ['space = ?'];
  const params: SqlValue[] = [space];
  if (filter.projectName !== undefined) {
    conditions.push('project_name = ?');
    params.push(filter.projectName);
  }
  if (filter.statuses !== undefined) {
    conditions.push(
      filter.statuses.length === 0 ? '1 = 0' : `status IN (${placeholders(filter.statuses)})`,
    );
    params.push(...filter.statuses);
  }
  if (filter.startedMinMs !== undefined) {
    conditions.push('started_at_ms >= ?');
    params.push(filter.startedMinMs);
  }
  if (filter.startedMaxMs !== undefined) {
    conditions.push('started_at_ms <= ?');
    params.push(filter.startedMaxMs);
  }
  if (filter.archived !== undefined)
    conditions.push(`archived_at_ms IS ${filter.archived ? 'NOT NULL' : 'NULL'}`);
  for (const tag of filter.tags ?? []) {
    conditions.push(
      'EXISTS (SELECT 1 FROM run_tags WHERE run_tags.space = ? AND run_tags.run_id = runs.id AND run_tags.tag = ?)',
    );
    params.push(space, tag);
  }
  return { text: conditions.join(' AND '), params };
}
