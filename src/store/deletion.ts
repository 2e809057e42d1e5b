/**
 * Deletion of runs. A deleted run is a tombstone: to every other call the run is not there, except that calls which would write
 * to it reject with reason `deleted`. Until it is purged, it can be restored with all that it had. The tombstone stays for good, so
 * that no client with a copy brings the run back.
 */
import { invalidInput, SessionStoreError, show } from '../base/errors.ts';
import { checkOptionNames } from '../base/assert.ts';
import { checkRunId, checkStorable } from '../base/names.ts';
import type { DeletedRun } from '../records/shapes/deleted-run.ts';
import type { StoredRun } from '../records/shapes/run.ts';
import { sketchName } from './curves.ts';
import { compareText } from './run-rules.ts';
import { basePrefix, sentPrefix } from './unsent.ts';

/** How long a deleted run can be restored unless told otherwise, in milliseconds: 30 days. */
export const DEFAULT_KEEP_DELETED_MS: number = 30 * 24 * 3_600_000;

/** Longest time that a deleted run can be restored, in milliseconds: a hundred years. */
const MAX_KEEP_DELETED_MS = 100 * 366 * 24 * 3_600_000;

/** How a run is deleted. */
export type DeleteRunOptions = {
  /** How long it can be restored, in milliseconds, from 0 to a hundred years. Default {@link DEFAULT_KEEP_DELETED_MS}. */
  readonly keepMs?: number;
  /** Who deletes it: the name of a user or a program, for the tombstone. */
  readonly by?: string;
};

/** How a project is deleted. */
export type DeleteProjectOptions = DeleteRunOptions & {
  /** True: runs with a live session are deleted, too; their sessions are refused from then on. Default false. */
  readonly running?: boolean;
};

/** A project that was deleted. */
export type DeletedProject = {
  readonly name: string;
  /** How many runs were deleted. */
  readonly runs: number;
  /** From when on the bytes of the last of them may be removed, in UTC epoch milliseconds; null where there was no run. */
  readonly purgeAtMs: number | null;
};

/**
 * What a store does with projects without runs. A project all of whose runs are deleted is in no listing; it comes back with the first
 * run that is restored or recorded, and is removed when the last of its runs is purged. The memory, IndexedDB, file and PostgreSQL
 * stores have it.
 */
export interface ProjectRemoval {
  /**
   * Removes a project that no run is in: neither one that is there, nor a deleted one that can be restored. Returns whether it did;
   * false where there is no such project, too.
   * @throws {QuarkError} `invalid_input`
   */
  removeProject(projectId: string): Promise<boolean>;
}

/** The calls of a store that delete, archive and restore runs. */
export interface RunDeletion {
  /**
   * Takes a run out of every reading and writing at once, and releases its leases. Deleting a deleted run again changes nothing and
   * returns its tombstone.
   * @throws {RunNotFoundError}
   */
  readonly deleteRun: (runId: string, options?: DeleteRunOptions) => Promise<DeletedRun>;
  /**
   * Marks a run as archived: `archivedAtMs` says since when. It can be read and written as before; public listings leave it out
   * unless asked. Archiving an archived run again changes nothing.
   * @throws {RunNotFoundError}
   * @throws {SessionStoreError} `deleted`
   */
  readonly archiveRun: (runId: string) => Promise<StoredRun>;
  /**
   * Undoes {@link deleteRun} and {@link archiveRun}: the run is there again as it was, without leases. A run that is neither
   * deleted nor archived is returned as it is.
   * @throws {RunNotFoundError}
   * @throws {SessionStoreError} `deleted` when its bytes are gone already
   */
  readonly restoreRun: (runId: string) => Promise<StoredRun>;
  /** The tombstone of a run; undefined for a run that is there, and for one that never was. */
  readonly findDeletedRun: (runId: string) => Promise<DeletedRun | undefined>;
  /** All tombstones, those deleted last first, then by id. Those with `purgedAtMs` cannot be restored. */
  readonly listDeletedRuns: () => Promise<readonly DeletedRun[]>;
  /**
   * Removes the bytes of deleted runs whose time has come, and returns their tombstones, which stay.
   *
   * @param nowMs when that is, in UTC epoch milliseconds; by the store's clock unless given
   * @param force deleted runs whose time need not have come; ids of other runs are passed over
   */
  readonly purgeDeletedRuns: (
    nowMs?: number,
    force?: readonly string[],
  ) => Promise<readonly DeletedRun[]>;
}

/** Checks the arguments of {@link RunDeletion.deleteRun}. */
export function checkDeletion(runId: string, options: DeleteRunOptions = {}): void {
  checkRunId(runId);
  checkOptionNames('options', options, ['keepMs', 'by']);
  checkDeleteOptions(options);
}

/** Checks how a project is deleted. @throws {QuarkError} `invalid_input` */
export function checkProjectDeletion(name: string, options: DeleteProjectOptions = {}): void {
  checkStorable('project', name);
  checkOptionNames('options', options, ['keepMs', 'by', 'running']);
  const { running } = options;
  if (running !== undefined && typeof running !== 'boolean')
    throw invalidInput('running', running, 'true or false');
  checkDeleteOptions(options);
}

function checkDeleteOptions({ by, keepMs }: DeleteRunOptions): void {
  if (
    keepMs !== undefined &&
    !(typeof keepMs === 'number' && keepMs >= 0 && keepMs <= MAX_KEEP_DELETED_MS)
  )
    throw invalidInput('keepMs', keepMs, `milliseconds from 0 to ${MAX_KEEP_DELETED_MS}`);
  if (by !== undefined) checkStorable('by', by);
}

/** Checks the arguments of {@link RunDeletion.purgeDeletedRuns}. */
export function checkPurge(nowMs?: number, force: readonly string[] = []): void {
  if (nowMs !== undefined && !Number.isFinite(nowMs))
    throw invalidInput('nowMs', nowMs, 'UTC epoch milliseconds');
  for (const runId of force) checkRunId(runId);
}

/** The tombstone of a run that is deleted now. */
export function tombstoneOf(
  { id, projectName }: Pick<StoredRun, 'id' | 'projectName'>,
  deletedAtMs: number,
  { by, keepMs = DEFAULT_KEEP_DELETED_MS }: DeleteRunOptions = {},
): DeletedRun {
  const tombstone = { id, projectName, deletedAtMs, purgeAtMs: deletedAtMs + keepMs };
  return by === undefined ? tombstone : { ...tombstone, by };
}

/** Whether the bytes of a deleted run are to be removed. */
export function isPurgeDue(
  { id, purgeAtMs, purgedAtMs }: DeletedRun,
  nowMs: number,
  force: readonly string[] = [],
): boolean {
  return purgedAtMs === undefined && (purgeAtMs <= nowMs || force.includes(id));
}

/** Names of notes that go with the bytes of a run: whole names, and how others begin. They say what is in the run. */
export function notesOfRun(runId: string): {
  readonly names: readonly string[];
  readonly prefixes: readonly string[];
} {
  return {
    names: [sketchName(runId)],
    prefixes: [basePrefix(runId), sentPrefix(runId), `mirrors/${runId}/`],
  };
}

/** The order of `listDeletedRuns`. */
export function compareDeleted(a: DeletedRun, b: DeletedRun): number {
  return b.deletedAtMs - a.deletedAtMs || compareText(a.id, b.id);
}

/** The run was deleted: nothing is written to it. @throws {SessionStoreError} `deleted` */
export function runDeleted(runId: string): SessionStoreError {
  return new SessionStoreError(
    'deleted',
    `Run ${show(runId)} was deleted. Nothing was changed. Restore it with restoreRun() or "quark undelete", or record into a new run.`,
    { details: { runId } },
  );
}

/** The bytes of the run are gone. @throws {SessionStoreError} `deleted` */
export function runPurged(runId: string): SessionStoreError {
  return new SessionStoreError(
    'deleted',
    `Run ${show(runId)} was deleted, and its bytes have been removed. It cannot be restored.`,
    { details: { runId, isPurged: true } },
  );
}
