/** Projects, runs and leases of one space in SQL. */
import { RunNotFoundError } from '../../base/errors.ts';
import { queueRun } from './merge-queue.ts';
import { copyRun, projectIdTaken, runIdTaken, type KeptLease } from '../run-rules.ts';
import {
  isTextList,
  jsonCell,
  numberCell,
  placeholders,
  sql,
  textCell,
  together,
  type SqlAttempt,
  type SqlRow,
  type SqlValue,
  type SqlWork,
} from './sql-database.ts';
import {
  LATEST_CHANGES,
  type Lease,
  type RunChanges,
  type RunFilter,
  type StoredProject,
  type StoredRun,
  type UpdateResult,
} from '../store.ts';

const PROJECT_COLUMNS = 'text(id), text(name), created_at_ms';
const RUN_COLUMNS =
  'text(id), text(project_id), text(project_name), text(status), started_at_ms, text(tags), text(document), revision';

/**
 * The number of a change: greater than that of every change that was there before it. Nothing is locked for it, so changes
 * of the same moment may have the same one.
 */
const NEXT_ORDER =
  '(SELECT coalesce(max(others.change_order), 0) + 1 FROM runs AS others WHERE others.space = ?)';

/** `LIMIT` where no limit was given: SQLite has no OFFSET without one. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
/** Leases of so many runs are asked for by name. */
const MAX_RUN_IDS = 8;

export function* ensureProject(space: string, project: StoredProject): SqlWork<StoredProject> {
  yield sql(
    'INSERT INTO projects (space, id, name, created_at_ms) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    space,
    project.id,
    project.name,
    project.createdAtMs,
  );
  const [row] = yield sql(
    `SELECT ${PROJECT_COLUMNS} FROM projects WHERE space = ? AND name = ?`,
    space,
    project.name,
  );
  if (row === undefined) throw projectIdTaken(project.id);
  return projectOf(row);
}

export function* listProjects(space: string): SqlWork<readonly StoredProject[]> {
  const rows = yield sql(`SELECT ${PROJECT_COLUMNS} FROM projects WHERE space = ?`, space);
  return rows.map(projectOf);
}

export function* createRun(
  space: string,
  run: Omit<StoredRun, 'revision'>,
  attempt: SqlAttempt,
): SqlWork<StoredRun> {
  const added = yield sql(
    `INSERT INTO runs (space, id, project_id, project_name, status, started_at_ms, tags, document, change_id, change_order, revision)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ${NEXT_ORDER}, 1) ON CONFLICT DO NOTHING RETURNING revision`,
    space,
    run.id,
    run.projectId,
    run.projectName,
    run.status,
    run.startedAtMs,
    JSON.stringify(run.tags),
    run.document,
    attempt.id,
    space,
  );
  if (added.length === 0) {
    if (yield* wasChanged(space, run.id, 1, attempt)) return copyRun(run, 1);
    throw runIdTaken(run.id);
  }
  yield* writeTags(space, run);
  return copyRun(run, 1);
}

export function* findRun(space: string, runId: string): SqlWork<StoredRun | undefined> {
  const [row] = yield sql(
    `SELECT ${RUN_COLUMNS} FROM runs WHERE space = ? AND id = ?`,
    space,
    runId,
  );
  return row === undefined ? undefined : runOf(row);
}

export function* listRuns(space: string, filter: RunFilter): SqlWork<readonly StoredRun[]> {
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
  for (const tag of filter.tags ?? []) {
    conditions.push(
      'EXISTS (SELECT 1 FROM run_tags WHERE run_tags.space = ? AND run_tags.run_id = runs.id AND run_tags.tag = ?)',
    );
    params.push(space, tag);
  }
  const rows = yield sql(
    `SELECT ${RUN_COLUMNS} FROM runs WHERE ${conditions.join(' AND ')}
     ORDER BY started_at_ms DESC, id DESC LIMIT ? OFFSET ?`,
    ...params,
    filter.limit ?? NO_LIMIT,
    filter.offset ?? 0,
  );
  return rows.map(runOf);
}

export function* updateRun(
  space: string,
  run: StoredRun,
  where: string,
  nowMs: number,
  attempt: SqlAttempt,
): SqlWork<UpdateResult> {
  const changed = yield sql(
    `UPDATE runs SET project_id = ?, project_name = ?, status = ?, started_at_ms = ?, tags = ?, document = ?,
       change_id = ?, change_order = ${NEXT_ORDER}, revision = revision + 1
     WHERE space = ? AND id = ? AND revision = ? RETURNING revision`,
    run.projectId,
    run.projectName,
    run.status,
    run.startedAtMs,
    JSON.stringify(run.tags),
    run.document,
    attempt.id,
    space,
    space,
    run.id,
    run.revision,
  );
  if (changed.length === 0) {
    if (yield* wasChanged(space, run.id, run.revision + 1, attempt))
      return { kind: 'updated', run: copyRun(run, run.revision + 1) };
    const kept = yield* findRun(space, run.id);
    if (kept === undefined) throw new RunNotFoundError(run.id, where);
    return { kind: 'conflict', run: kept };
  }
  yield sql('DELETE FROM run_tags WHERE space = ? AND run_id = ?', space, run.id);
  yield* writeTags(space, run);
  if (run.status !== 'running') yield queueRun(space, run.id, nowMs);
  return { kind: 'updated', run: copyRun(run, run.revision + 1) };
}

/** See `listRunChanges` of the store. */
export function* listRunChanges(space: string, after: number | undefined): SqlWork<RunChanges> {
  const rows = yield sql(
    `SELECT text(id), text(project_name), text(status), revision, change_order FROM runs
     WHERE space = ? AND change_order > ? ORDER BY change_order DESC LIMIT ?`,
    space,
    after ?? -1,
    after === undefined ? LATEST_CHANGES : NO_LIMIT,
  );
  const found = rows.map((row) => ({
    id: textCell(row, 0),
    projectName: textCell(row, 1),
    status: textCell(row, 2),
    revision: numberCell(row, 3),
    order: numberCell(row, 4),
  }));
  return { runs: found, lastOrder: found[0]?.order ?? after ?? 0 };
}

/** Whether an attempt whose end is not known was the one that made this revision. */
function* wasChanged(
  space: string,
  runId: string,
  revision: number,
  attempt: SqlAttempt,
): SqlWork<boolean> {
  if (!attempt.mayBeDone || attempt.id === null) return false;
  const rows = yield sql(
    'SELECT 1 FROM runs WHERE space = ? AND id = ? AND revision = ? AND change_id = ?',
    space,
    runId,
    revision,
    attempt.id,
  );
  return rows.length > 0;
}

export function* renewLease(
  space: string,
  { expiresAtMs, holder, runId }: Lease,
  nowMs: number,
  ttlMs: number,
): SqlWork<void> {
  // See isLapsed in run-rules.ts. The condition that looks double is the one an index serves.
  yield sql(
    `DELETE FROM leases WHERE space = ? AND
       (expires_at_ms <= ? OR (expires_at_ms > ? AND expires_at_ms - 2 * ttl_ms > ?))`,
    space,
    nowMs,
    nowMs + 2 * ttlMs,
    nowMs,
  );
  yield sql(
    `INSERT INTO leases (space, run_id, holder, expires_at_ms, ttl_ms) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (space, run_id, holder)
     DO UPDATE SET expires_at_ms = excluded.expires_at_ms, ttl_ms = excluded.ttl_ms`,
    space,
    runId,
    holder,
    expiresAtMs,
    ttlMs,
  );
}

export function* releaseLease(space: string, runId: string, holder: string): SqlWork<void> {
  yield sql(
    'DELETE FROM leases WHERE space = ? AND run_id = ? AND holder = ?',
    space,
    runId,
    holder,
  );
}

export function* listLeases(
  space: string,
  nowMs: number,
  runIds: readonly string[] | undefined,
): SqlWork<readonly KeptLease[]> {
  // Of many runs it is quicker to read all.
  const wanted = runIds !== undefined && runIds.length <= MAX_RUN_IDS ? runIds : undefined;
  if (wanted?.length === 0) return [];
  const rows = yield sql(
    `SELECT text(run_id), text(holder), expires_at_ms, ttl_ms FROM leases WHERE space = ? AND expires_at_ms > ?
     ${wanted === undefined ? '' : `AND run_id IN (${placeholders(wanted)})`}`,
    space,
    nowMs,
    ...(wanted ?? []),
  );
  return rows.map((row) => ({
    runId: textCell(row, 0),
    holder: textCell(row, 1),
    expiresAtMs: numberCell(row, 2),
    ...(row[3] === null ? {} : { ttlMs: numberCell(row, 3) }),
  }));
}

function* writeTags(space: string, run: Pick<StoredRun, 'id' | 'tags'>): SqlWork<void> {
  yield* together(
    run.tags.map((tag) =>
      sql(
        'INSERT INTO run_tags (space, run_id, tag) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
        space,
        run.id,
        tag,
      ),
    ),
  );
}

function projectOf(row: SqlRow): StoredProject {
  return { id: textCell(row, 0), name: textCell(row, 1), createdAtMs: numberCell(row, 2) };
}

function runOf(row: SqlRow): StoredRun {
  return {
    id: textCell(row, 0),
    projectId: textCell(row, 1),
    projectName: textCell(row, 2),
    status: textCell(row, 3),
    startedAtMs: numberCell(row, 4),
    tags: jsonCell(row, 5, isTextList),
    document: textCell(row, 6),
    revision: numberCell(row, 7),
  };
}
