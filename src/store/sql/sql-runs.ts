/** Projects, runs and leases of one space in SQL. */
import { SessionStoreError, show } from '../../base/errors.ts';
import { LATEST_CHANGES } from '../limits.ts';
import { storedLeaseShape, type StoredLease } from '../../records/shapes/lease.ts';
import { projectShape } from '../../records/shapes/project.ts';
import { generationOf, newRunShape, runShape } from '../../records/shapes/run.ts';
import { withoutFields } from '../../schema/shape.ts';
import { runDeleted } from '../deletion.ts';
import { refuseDeleted, refuseMissing, tombstoneCall } from './sql-tombstones.ts';
import { sqlShape } from './sql-shapes.ts';
import { generationCall, lockRunStreams, type ChangeScope } from './sql-streams.ts';
import { queueRun } from './merge-queue.ts';
import { CHANGED_CONFIG, changedConfig, changedConfigCells, countConfig } from './sql-config.ts';
import {
  copyRun,
  LAPSED_AGO_MS,
  LAPSED_LEASE_MS,
  projectIdTaken,
  revisedRun,
  runIdTaken,
  withArchived,
} from '../run-rules.ts';
import { writeFacts } from './sql-facts.ts';
import { checkQuotas, countRun, removeDocuments, uncountMoved } from './sql-usage.ts';
import {
  numberCell,
  optionalNumberCell,
  placeholders,
  sql,
  textCell,
  together,
  type SqlAttempt,
  type SqlWork,
  sqlOne,
  type SqlCall,
} from './sql-database.ts';
import type { RunChanges, StoredProject, StoredRun, UpdateResult } from '../store.ts';

const projects = sqlShape(projectShape);
const runs = sqlShape(runShape);
const newRuns = sqlShape(newRunShape);
/** The fields that a change of a run writes. */
const changedRuns = sqlShape(
  withoutFields(newRunShape, 'id', 'generation', 'archivedAtMs', 'configHash', 'configRevision'),
);
const leases = sqlShape(storedLeaseShape);

/**
 * The number of a change: greater than that of every change that was there before it, in a space that is asked for twice.
 * Nothing is locked for it, so changes of the same moment may have the same one.
 */
export const NEXT_ORDER = `(SELECT coalesce(max(others.last_order), 0) + 1 FROM (
  SELECT max(change_order) AS last_order FROM runs WHERE space = ?
  UNION ALL SELECT max(change_order) AS last_order FROM deleted_runs WHERE space = ?) AS others)`;

/** `LIMIT` where no limit was given: SQLite has no OFFSET without one. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER;
/** A project that is there and is removed before it is read is made again, so many times. */
const MAX_PROJECT_ATTEMPTS = 20;
/** Leases of so many runs are asked for by name. */
const MAX_RUN_IDS = 8;

export function* ensureProject(space: string, project: StoredProject): SqlWork<StoredProject> {
  const { id, name } = project;
  for (let attempt = 0; attempt < MAX_PROJECT_ATTEMPTS; attempt++) {
    yield sql(
      `INSERT INTO projects (space, ${projects.columns.join(', ')}) VALUES (?, ${placeholders(projects.columns)}) ON CONFLICT DO NOTHING`,
      space,
      ...projects.cells(project),
    );
    const [row] = yield sql(
      `SELECT ${projects.selected} FROM projects WHERE space = ? AND name = ?`,
      space,
      name,
    );
    if (row !== undefined) return projects.read(row, {});
    const [other] = yield sql(
      'SELECT text(name) FROM projects WHERE space = ? AND id = ?',
      space,
      id,
    );
    if (other !== undefined && textCell(other, 0) !== name) throw projectIdTaken(id);
    // It was there, and the purge of its last run has removed it in between.
  }
  throw new SessionStoreError(
    'busy',
    `Project ${show(name)} was removed and made by others ${MAX_PROJECT_ATTEMPTS} times in a row. Try again.`,
    { details: { project: name } },
  );
}

export function* listProjects(space: string): SqlWork<readonly StoredProject[]> {
  const rows = yield sql(
    `SELECT ${projects.selected} FROM projects WHERE space = ? AND (
       name NOT IN (SELECT project_name FROM deleted_runs WHERE space = ? AND purged_at_ms IS NULL)
       OR EXISTS (SELECT 1 FROM runs WHERE runs.space = projects.space AND runs.project_name = projects.name))`,
    space,
    space,
  );
  return rows.map((row) => projects.read(row, {}));
}

/** Removes a project that no run is in, deleted ones that can be restored included; returns whether it was there. */
export function* removeProject(space: string, projectId: string): SqlWork<boolean> {
  // A run that is added to it at this moment has locked it: the statement after this one sees that run.
  yield sqlOne('SELECT 1 FROM projects WHERE space = ? AND id = ? FOR UPDATE', space, projectId);
  const removed = yield sql(
    `DELETE FROM projects WHERE space = ? AND id = ?
       AND NOT EXISTS (SELECT 1 FROM deleted_runs WHERE deleted_runs.space = projects.space
         AND deleted_runs.project_name = projects.name AND purged_at_ms IS NULL)
       AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.space = projects.space
         AND (runs.project_id = projects.id OR runs.project_name = projects.name))
     RETURNING text(id)`,
    space,
    projectId,
  );
  if (removed.length === 0) return false;
  yield* together(
    ['quotas', 'config_revisions'].map((table) =>
      sql(`DELETE FROM ${table} WHERE space = ? AND project_id = ?`, space, projectId),
    ),
  );
  yield* removeDocuments(space, projectId);
  return true;
}

/**
 * Holds the project of a run that is being added, and adds it again where it was removed after its last run. What nothing was
 * deleted from is left as it is.
 */
function holdProject(space: string, run: Omit<StoredRun, 'revision'>): readonly SqlCall[] {
  return [
    sqlOne('SELECT 1 FROM projects WHERE space = ? AND id = ? FOR SHARE', space, run.projectId),
    sql(
      `INSERT INTO projects (space, id, name, created_at_ms)
       SELECT space, CAST(? AS TEXT), project_name, CAST(? AS DOUBLE PRECISION) FROM deleted_runs
       WHERE space = ? AND project_name = ? AND NOT EXISTS (SELECT 1 FROM projects WHERE space = ? AND id = ?)
       LIMIT 1 ON CONFLICT DO NOTHING`,
      run.projectId,
      run.startedAtMs,
      space,
      run.projectName,
      space,
      run.projectId,
    ),
  ];
}

export function* createRun(
  { space, quotas }: Pick<ChangeScope, 'space' | 'quotas'>,
  run: Omit<StoredRun, 'revision'>,
  attempt: SqlAttempt,
): SqlWork<StoredRun> {
  // The tombstone is read last: a deletion under way ends before the row can be added.
  const [, , added = [], tombstones = []] = yield* together([
    ...holdProject(space, run),
    sql(
      `INSERT INTO runs (space, ${newRuns.columns.join(', ')}, change_id, change_order, revision)
       VALUES (?, ${placeholders(newRuns.columns)}, ?, ${NEXT_ORDER}, 1) ON CONFLICT DO NOTHING RETURNING revision`,
      space,
      ...newRuns.cells(run),
      attempt.id,
      space,
      space,
    ),
    tombstoneCall(space, run.id),
  ]);
  if (tombstones.length > 0) throw runDeleted(run.id);
  if (added.length === 0) {
    const stored = (yield* wasChanged(space, run.id, 1, attempt))
      ? yield* findRun(space, run.id)
      : undefined;
    if (stored === undefined) throw runIdTaken(run.id);
    return stored;
  }
  const { projectId } = run;
  yield* checkQuotas(space, quotas, [{ projectId, bytes: 0, segments: 0, runs: 1 }]);
  yield countRun(space, run.id, 1);
  yield* writeTags(space, run);
  const configRevision = yield* countConfig(space, run);
  const created = copyRun(configRevision === undefined ? run : { ...run, configRevision }, 1);
  yield* writeFacts(space, created);
  return created;
}

export function* findRun(space: string, runId: string): SqlWork<StoredRun | undefined> {
  const [row] = yield sql(
    `SELECT ${runs.selected} FROM runs WHERE space = ? AND id = ?`,
    space,
    runId,
  );
  return row === undefined ? undefined : runs.read(row, {});
}

export function* updateRun(
  { space, where, nowMs }: ChangeScope,
  run: StoredRun,
  attempt: SqlAttempt,
): SqlWork<UpdateResult> {
  const generation = generationOf(run);
  if (generation > 1) {
    const [row] = yield generationCall(space, run.id);
    const current = row === undefined || row[0] === null ? 1 : numberCell(row, 0);
    if (current < generation) yield* lockRunStreams(space, run.id);
  }
  const isMoved = yield* uncountMoved(space, run);
  const changed = yield sql(
    `UPDATE runs SET ${changedRuns.columns.map((column) => `${column} = ?`).join(', ')},
       generation = CASE WHEN coalesce(generation, 1) >= ? THEN generation ELSE ? END,
       ${CHANGED_CONFIG},
       change_id = ?, change_order = ${NEXT_ORDER}, revision = revision + 1
     WHERE space = ? AND id = ? AND revision = ? RETURNING generation, archived_at_ms, text(config_hash), config_revision`,
    ...changedRuns.cells(run),
    generation,
    generation,
    ...changedConfigCells(run),
    attempt.id,
    space,
    space,
    space,
    run.id,
    run.revision,
  );
  const [row] = changed;
  if (row === undefined) {
    const wasDone = yield* wasChanged(space, run.id, run.revision + 1, attempt);
    const stored = yield* findRun(space, run.id);
    if (stored === undefined) return yield* refuseMissing(space, run.id, where);
    return { kind: wasDone ? 'updated' : 'conflict', run: stored };
  }
  if (isMoved) yield countRun(space, run.id, 1);
  yield sql('DELETE FROM run_tags WHERE space = ? AND run_id = ?', space, run.id);
  yield* writeTags(space, run);
  if (run.status !== 'running') yield queueRun(space, run.id, nowMs);
  const currentGeneration = optionalNumberCell(row, 0) ?? 1;
  const config = yield* changedConfig(space, run, row.slice(2));
  const stored = withArchived(
    { ...run, ...config, generation: currentGeneration },
    optionalNumberCell(row, 1) ?? undefined,
  );
  const revised = revisedRun({ ...run, ...config }, stored);
  yield* writeFacts(space, revised);
  return { kind: 'updated', run: revised };
}

/** See `listRunChanges` of the store. */
export function* listRunChanges(space: string, after: number | undefined): SqlWork<RunChanges> {
  const rows = yield sql(
    `SELECT text(id), text(project_name), text(status), revision, change_order, 0 FROM runs
     WHERE space = ? AND change_order > ?
     UNION ALL SELECT text(id), text(project_name), 'deleted', revision, change_order, 1 FROM deleted_runs
     WHERE space = ? AND change_order > ?
     ORDER BY 5 DESC LIMIT ?`,
    space,
    after ?? -1,
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
    ...(numberCell(row, 5) === 1 ? { isDeleted: true as const } : {}),
  }));
  return { runs: found, lastOrder: found[0]?.order ?? after ?? 0 };
}

/** Whether an attempt whose end is not known was the one that made this revision. */
export function* wasChanged(
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
  lease: Required<StoredLease>,
  nowMs: number,
): SqlWork<void> {
  yield* refuseDeleted(space, lease.runId);
  // See agedLease in run-rules.ts. The condition that seems double is the one an index serves.
  yield sql(
    'DELETE FROM leases WHERE space = ? AND expires_at_ms <= ?',
    space,
    nowMs - LAPSED_LEASE_MS,
  );
  yield sql(
    `UPDATE leases SET expires_at_ms = ?
     WHERE space = ? AND expires_at_ms > ? AND expires_at_ms - 2 * ttl_ms > ?`,
    nowMs - LAPSED_AGO_MS,
    space,
    nowMs + 2 * lease.ttlMs,
    nowMs,
  );
  yield sql(
    `INSERT INTO leases (space, ${leases.columns.join(', ')}) VALUES (?, ${placeholders(leases.columns)})
     ON CONFLICT (space, run_id, holder)
     DO UPDATE SET expires_at_ms = excluded.expires_at_ms, ttl_ms = excluded.ttl_ms`,
    space,
    ...leases.cells(lease),
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
): SqlWork<readonly StoredLease[]> {
  // Of many runs it is quicker to read all.
  const wanted = runIds !== undefined && runIds.length <= MAX_RUN_IDS ? runIds : undefined;
  if (wanted?.length === 0) return [];
  const rows = yield sql(
    `SELECT ${leases.selected} FROM leases WHERE space = ? AND expires_at_ms > ?
     ${wanted === undefined ? '' : `AND run_id IN (${placeholders(wanted)})`}`,
    space,
    nowMs,
    ...(wanted ?? []),
  );
  return rows.map((row) => leases.read(row, {}));
}

/** All leases of a run, lapsed ones too. */
export function* listRunLeases(space: string, runId: string): SqlWork<readonly StoredLease[]> {
  const rows = yield sql(
    `SELECT ${leases.selected} FROM leases WHERE space = ? AND run_id = ?`,
    space,
    runId,
  );
  return rows.map((row) => leases.read(row, {}));
}

/** Stores the tags of a run that has none stored. */
export function* writeTags(space: string, run: Pick<StoredRun, 'id' | 'tags'>): SqlWork<void> {
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
