/** Projects, runs and leases in SQL. */
import { RunNotFoundError } from '../base/errors.ts';
import { copyRun, projectIdTaken, runIdTaken } from './run-rules.ts';
import {
  isTextList,
  jsonCell,
  numberCell,
  placeholders,
  sql,
  textCell,
  type SqlRow,
  type SqlValue,
  type SqlWork,
} from './sql-database.ts';
import type { Lease, RunFilter, StoredProject, StoredRun, UpdateResult } from './store.ts';

const PROJECT_COLUMNS = 'text(id), text(name), created_at_ms';
const RUN_COLUMNS =
  'text(id), text(project_id), text(project_name), text(status), started_at_ms, text(tags), text(document), revision';

/** `LIMIT` where no limit was given: SQLite has no OFFSET without one. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

export function* ensureProject(project: StoredProject): SqlWork<StoredProject> {
  yield sql(
    'INSERT INTO projects (id, name, created_at_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    project.id,
    project.name,
    project.createdAtMs,
  );
  const [row] = yield sql(`SELECT ${PROJECT_COLUMNS} FROM projects WHERE name = ?`, project.name);
  if (row === undefined) throw projectIdTaken(project.id);
  return projectOf(row);
}

export function* listProjects(): SqlWork<readonly StoredProject[]> {
  return (yield sql(`SELECT ${PROJECT_COLUMNS} FROM projects`)).map(projectOf);
}

export function* createRun(run: Omit<StoredRun, 'revision'>): SqlWork<StoredRun> {
  const added = yield sql(
    `INSERT INTO runs (id, project_id, project_name, status, started_at_ms, tags, document, revision)
     VALUES (?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT DO NOTHING RETURNING revision`,
    run.id,
    run.projectId,
    run.projectName,
    run.status,
    run.startedAtMs,
    JSON.stringify(run.tags),
    run.document,
  );
  if (added.length === 0) throw runIdTaken(run.id);
  yield* writeTags(run);
  return copyRun(run, 1);
}

export function* findRun(runId: string): SqlWork<StoredRun | undefined> {
  const [row] = yield sql(`SELECT ${RUN_COLUMNS} FROM runs WHERE id = ?`, runId);
  return row === undefined ? undefined : runOf(row);
}

export function* listRuns(filter: RunFilter): SqlWork<readonly StoredRun[]> {
  const conditions: string[] = [];
  const params: SqlValue[] = [];
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
  for (const tag of filter.tags ?? []) {
    conditions.push(
      'EXISTS (SELECT 1 FROM run_tags WHERE run_tags.run_id = runs.id AND run_tags.tag = ?)',
    );
    params.push(tag);
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const rows = yield sql(
    `SELECT ${RUN_COLUMNS} FROM runs ${where} ORDER BY started_at_ms DESC, id DESC LIMIT ? OFFSET ?`,
    ...params,
    filter.limit ?? NO_LIMIT,
    filter.offset ?? 0,
  );
  return rows.map(runOf);
}

export function* updateRun(run: StoredRun, where: string): SqlWork<UpdateResult> {
  const changed = yield sql(
    `UPDATE runs SET project_id = ?, project_name = ?, status = ?, started_at_ms = ?, tags = ?, document = ?,
       revision = revision + 1
     WHERE id = ? AND revision = ? RETURNING revision`,
    run.projectId,
    run.projectName,
    run.status,
    run.startedAtMs,
    JSON.stringify(run.tags),
    run.document,
    run.id,
    run.revision,
  );
  if (changed.length === 0) {
    const kept = yield* findRun(run.id);
    if (kept === undefined) throw new RunNotFoundError(run.id, where);
    return { kind: 'conflict', run: kept };
  }
  yield sql('DELETE FROM run_tags WHERE run_id = ?', run.id);
  yield* writeTags(run);
  return { kind: 'updated', run: copyRun(run, run.revision + 1) };
}

export function* renewLease(lease: Lease, nowMs: number): SqlWork<void> {
  yield sql('DELETE FROM leases WHERE expires_at_ms <= ?', nowMs);
  yield sql(
    `INSERT INTO leases (run_id, holder, expires_at_ms) VALUES (?, ?, ?)
     ON CONFLICT (run_id, holder) DO UPDATE SET expires_at_ms = excluded.expires_at_ms`,
    lease.runId,
    lease.holder,
    lease.expiresAtMs,
  );
}

export function* releaseLease(runId: string, holder: string): SqlWork<void> {
  yield sql('DELETE FROM leases WHERE run_id = ? AND holder = ?', runId, holder);
}

export function* listLeases(nowMs: number): SqlWork<readonly Lease[]> {
  const rows = yield sql(
    'SELECT text(run_id), text(holder), expires_at_ms FROM leases WHERE expires_at_ms > ?',
    nowMs,
  );
  return rows.map((row) => ({
    runId: textCell(row, 0),
    holder: textCell(row, 1),
    expiresAtMs: numberCell(row, 2),
  }));
}

function* writeTags(run: Pick<StoredRun, 'id' | 'tags'>): SqlWork<void> {
  for (const tag of run.tags) {
    yield sql(
      'INSERT INTO run_tags (run_id, tag) VALUES (?, ?) ON CONFLICT DO NOTHING',
      run.id,
      tag,
    );
  }
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
