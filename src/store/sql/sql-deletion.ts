/**
 * Deletion of runs in SQL, for one space. The row of a deleted run moves from `runs` to `deleted_runs`, and its streams move to a
 * space of their own, so that no other statement finds them: reads and appends cost what they cost without deletion.
 */
import type { Clock } from '../../base/clock.ts';
import { SessionStoreError } from '../../base/errors.ts';
import { deletedRunShape } from '../../records/shapes/deleted-run.ts';
import { newRunShape, runShape } from '../../records/shapes/run.ts';
import { shapeFromJson, shapeToJson } from '../../schema/shape.ts';
import {
  compareDeleted,
  isPurgeDue,
  notesOfRun,
  runPurged,
  tombstoneOf,
  type DeleteRunOptions,
  type RunDeletion,
} from '../deletion.ts';
import type { DeletedRun, StoredRun } from '../store.ts';
import { queueRun } from './merge-queue.ts';
import { releaseStream } from './object-files.ts';
import {
  numberCell,
  placeholders,
  sql,
  sqlOne,
  textCell,
  together,
  AFTER_ASCII,
  type SqlAttempt,
  type SqlCall,
  type SqlDatabase,
  type SqlWork,
} from './sql-database.ts';
import { findRun, NEXT_ORDER, removeProject, wasChanged, writeTags } from './sql-runs.ts';
import { writeFacts } from './sql-facts.ts';
import { sqlShape } from './sql-shapes.ts';
import { lockRunStreams, type ChangeScope } from './sql-streams.ts';
import { refuseMissing } from './sql-tombstones.ts';
import { countRun } from './sql-usage.ts';

const tombstones = sqlShape(deletedRunShape, 'by');
const newRuns = sqlShape(newRunShape);

/** The space that streams of deleted runs move to. No store can be opened on it: no name of a space begins so. */
export function hiddenSpace(space: string): string {
  return `~${space}`;
}

/** The space that a run with these streams is in, or was in before it was deleted. */
export function liveSpaceOf(stored: string): string {
  return stored.startsWith('~') ? stored.slice(1) : stored;
}

/** What the deletion of a space is made of. */
export type SqlDeletionParts = {
  readonly database: SqlDatabase;
  readonly space: string;
  /** The URI of the store, for messages. */
  readonly where: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Changes of a run begin in the order of the calls. */
  readonly lane: (runId: string) => string;
  /** Removes what a run has outside the database, after its rows are gone. */
  readonly removeRun?: ((runId: string) => Promise<void>) | undefined;
};

/** The calls that delete, archive and restore runs of a space. */
export function sqlDeletion(parts: SqlDeletionParts): RunDeletion {
  const { clock, database, lane, removeRun, space, where } = parts;
  const scope = (): ChangeScope => ({ space, where, nowMs: clock.now() });
  return {
    deleteRun: (runId, options) =>
      database.transaction(() => deleteRun(scope(), runId, options), lane(runId)),
    archiveRun: (runId) =>
      database.transaction((attempt) => archiveRun(scope(), runId, attempt), lane(runId)),
    restoreRun: (runId) =>
      database.transaction((attempt) => restoreRun(scope(), runId, attempt), lane(runId)),
    findDeletedRun: async (runId) =>
      (await database.read(() => findTombstone(space, runId)))?.tombstone,
    listDeletedRuns: async () =>
      [...(await database.read(() => listTombstones(space)))].sort(compareDeleted),
    purgeDeletedRuns: async (nowMs = clock.now(), force = []) => {
      const known = await database.read(() => listTombstones(space, ' AND purged_at_ms IS NULL'));
      const purged: DeletedRun[] = [];
      for (const one of known.filter((tombstone) => isPurgeDue(tombstone, nowMs, force))) {
        const done = await database.transaction(
          () => purgeRun(scope(), one.id, nowMs, force),
          lane(one.id),
        );
        if (done === undefined) continue;
        purged.push(done);
        await removeRun?.(one.id);
      }
      return purged.sort(compareDeleted);
    },
  };
}

/** The spaces of a database that have deleted runs whose time has come. */
export function* listPurgeSpaces(nowMs: number): SqlWork<readonly string[]> {
  const rows = yield sql(
    'SELECT DISTINCT text(space) FROM deleted_runs WHERE purge_at_ms <= ? AND purged_at_ms IS NULL',
    nowMs,
  );
  return rows.map((row) => textCell(row, 0));
}

function* deleteRun(
  { nowMs, space, where }: ChangeScope,
  runId: string,
  options: DeleteRunOptions | undefined,
): SqlWork<DeletedRun> {
  // The locks of an append, in its order.
  yield* lockRunStreams(space, runId);
  yield sqlOne('SELECT 1 FROM runs WHERE space = ? AND id = ? FOR UPDATE', space, runId);
  const run = yield* findRun(space, runId);
  if (run === undefined) {
    const known = yield* findTombstone(space, runId);
    return known?.tombstone ?? (yield* refuseMissing(space, runId, where));
  }
  const tombstone = tombstoneOf(run, nowMs, options);
  yield sql(
    `INSERT INTO deleted_runs (space, ${tombstones.columns.join(', ')}, deleted_by, revision, change_order, run)
     VALUES (?, ${placeholders(tombstones.columns)}, ?, ?, ${NEXT_ORDER}, ?)`,
    space,
    ...tombstones.cells(tombstone),
    tombstone.by ?? null,
    run.revision,
    space,
    space,
    JSON.stringify(shapeToJson(runShape, run)),
  );
  yield sql(
    `DELETE FROM merge_queue WHERE stream_key IN (SELECT stream_key FROM streams WHERE space = ? AND run_id = ?)`,
    space,
    runId,
  );
  // What is deleted counts for no quota.
  yield countRun(space, runId, -1);
  yield* together([
    moveStreams(runId, space, hiddenSpace(space)),
    sql('DELETE FROM leases WHERE space = ? AND run_id = ?', space, runId),
    sql('DELETE FROM run_tags WHERE space = ? AND run_id = ?', space, runId),
    sql('DELETE FROM run_facts WHERE space = ? AND run_id = ?', space, runId),
    sql('DELETE FROM runs WHERE space = ? AND id = ?', space, runId),
  ]);
  return tombstone;
}

function* archiveRun(
  { nowMs, space, where }: ChangeScope,
  runId: string,
  attempt: SqlAttempt,
): SqlWork<StoredRun> {
  yield setArchived(space, runId, nowMs, attempt);
  const run = yield* findRun(space, runId);
  return run ?? (yield* refuseMissing(space, runId, where));
}

function* restoreRun(
  { nowMs, space, where }: ChangeScope,
  runId: string,
  attempt: SqlAttempt,
): SqlWork<StoredRun> {
  const deleted = yield* findTombstone(space, runId, ' FOR UPDATE');
  if (deleted === undefined) {
    const found = yield* findRun(space, runId);
    if (found === undefined) return yield* refuseMissing(space, runId, where);
    // An attempt whose end was not known brought it back, archived as it was.
    if (yield* wasChanged(space, runId, found.revision, attempt)) return found;
    if (found.archivedAtMs === undefined) return found;
    yield setArchived(space, runId, null, attempt);
    return (yield* findRun(space, runId)) ?? (yield* refuseMissing(space, runId, where));
  }
  const { run } = deleted;
  if (run === undefined) throw runPurged(runId);
  yield sql(
    `INSERT INTO runs (space, ${newRuns.columns.join(', ')}, change_id, change_order, revision)
     VALUES (?, ${placeholders(newRuns.columns)}, ?, ${NEXT_ORDER}, ?)`,
    space,
    ...newRuns.cells(run),
    attempt.id,
    space,
    space,
    run.revision,
  );
  yield* writeTags(space, run);
  yield* writeFacts(space, run);
  yield* together([
    moveStreams(runId, hiddenSpace(space), space),
    sql('DELETE FROM deleted_runs WHERE space = ? AND id = ?', space, runId),
  ]);
  yield countRun(space, runId, 1);
  yield queueRun(space, runId, nowMs);
  return run;
}

/** The tombstone, unless the run has been restored or purged since, or its time has not come. */
function* purgeRun(
  { nowMs: removedAtMs, space }: ChangeScope,
  runId: string,
  nowMs: number,
  force: readonly string[],
): SqlWork<DeletedRun | undefined> {
  const found = yield* findTombstone(space, runId, ' FOR UPDATE');
  if (found === undefined || !isPurgeDue(found.tombstone, nowMs, force)) return undefined;
  yield* removeStreams(hiddenSpace(space), runId, removedAtMs);
  const { names, prefixes } = notesOfRun(runId);
  yield* together([
    ...names.map((name) => sql('DELETE FROM notes WHERE space = ? AND name = ?', space, name)),
    ...prefixes.map((prefix) =>
      sql(
        'DELETE FROM notes WHERE space = ? AND name >= ? AND name < ?',
        space,
        prefix,
        prefix + AFTER_ASCII,
      ),
    ),
  ]);
  yield sql(
    'UPDATE deleted_runs SET purged_at_ms = ?, run = NULL WHERE space = ? AND id = ?',
    nowMs,
    space,
    runId,
  );
  if (found.run !== undefined) yield* removeProject(space, found.run.projectId);
  return { ...found.tombstone, purgedAtMs: nowMs };
}

/** Removes the tables of a run with all that is stored in them. Their rows in `streams` are locked before, where others write. */
export function* removeStreams(space: string, runId: string, nowMs: number): SqlWork<void> {
  const streams = yield sql(
    'SELECT stream_key FROM streams WHERE space = ? AND run_id = ?',
    space,
    runId,
  );
  for (const row of streams) yield* releaseStream(numberCell(row, 0), nowMs);
  const keys = 'SELECT stream_key FROM streams WHERE space = ? AND run_id = ?';
  yield sql(
    `DELETE FROM segment_bytes WHERE segment_key IN
       (SELECT segment_key FROM segments WHERE stream_key IN (${keys}))`,
    space,
    runId,
  );
  for (const table of ['segments', 'merged_batches', 'stream_replacements', 'merge_queue'])
    yield sql(`DELETE FROM ${table} WHERE stream_key IN (${keys})`, space, runId);
  yield sql('DELETE FROM streams WHERE space = ? AND run_id = ?', space, runId);
}

function setArchived(
  space: string,
  runId: string,
  atMs: number | null,
  attempt: SqlAttempt,
): SqlCall {
  return sql(
    `UPDATE runs SET archived_at_ms = ?, change_id = ?, change_order = ${NEXT_ORDER}, revision = revision + 1,
       indexed_revision = CASE WHEN indexed_revision = revision THEN revision + 1 ELSE indexed_revision END
     WHERE space = ? AND id = ? AND archived_at_ms IS ${atMs === null ? 'NOT NULL' : 'NULL'}`,
    atMs,
    attempt.id,
    space,
    space,
    space,
    runId,
  );
}

function moveStreams(runId: string, from: string, to: string): SqlCall {
  return sql('UPDATE streams SET space = ? WHERE space = ? AND run_id = ?', to, from, runId);
}

type Tombstone = { readonly tombstone: DeletedRun; readonly run: StoredRun | undefined };

function* findTombstone(space: string, runId: string, lock = ''): SqlWork<Tombstone | undefined> {
  const [row] = yield sqlOne(
    `SELECT ${tombstones.selected}, text(deleted_by), text(run) FROM deleted_runs WHERE space = ? AND id = ?${lock}`,
    space,
    runId,
  );
  if (row === undefined) return undefined;
  const [by, run] = row.slice(tombstones.columns.length);
  const tombstone = tombstones.read(
    row,
    by === null ? {} : { by: textCell(row, tombstones.columns.length) },
  );
  if (run === null) return { tombstone, run: undefined };
  const json: unknown = JSON.parse(textCell(row, tombstones.columns.length + 1));
  return { tombstone, run: shapeFromJson(runShape, json, misfit) };
}

function* listTombstones(space: string, condition = ''): SqlWork<readonly DeletedRun[]> {
  const rows = yield sql(
    `SELECT ${tombstones.selected}, text(deleted_by) FROM deleted_runs WHERE space = ?${condition}`,
    space,
  );
  const last = tombstones.columns.length;
  return rows.map((row) =>
    tombstones.read(row, row[last] === null ? {} : { by: textCell(row, last) }),
  );
}

function misfit(path: string): SessionStoreError {
  return new SessionStoreError(
    'corrupt',
    `The database is damaged: a deleted run does not hold ${path}. Nothing was changed.`,
    { details: { path } },
  );
}
