/** Deleting, archiving and restoring runs, as users of a store do it. */
import { checkCount, checkOptionNames } from '../base/assert.ts';
import { RunNotFoundError } from '../base/errors.ts';
import { TABLES } from '../records/tables.ts';
import type { DeletedRun, DeleteRunOptions, Store, StoredRun } from '../store/store.ts';
import { summarize, type RunSummary } from './runs.ts';
import { checkStore } from '../store/whole-store.ts';

/** What a run takes up, without its artifacts' payloads, which runs may share. */
export type RunSize = {
  readonly segments: number;
  readonly rows: number;
  /** Bytes as stored. */
  readonly bytes: number;
};

/**
 * Deletes a run: from now on nothing finds it, and sessions that record into it are refused. {@link restoreRun} brings it back until
 * its time is up (30 days unless told otherwise); then its bytes are removed. With an outbox, the service is told as soon as it can
 * be reached. Deleting a deleted run again changes nothing.
 *
 * @throws {QuarkError} `invalid_input`, `run_not_found`
 * @throws {SessionStoreError} `unauthorised` where the key has not the scope `delete`; `read_only`
 * @example
 * ```js
 * import { createMemoryStore, deleteRun, listRuns, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => session.runId);
 * const { purgeAtMs } = await deleteRun(store, runId, { keepMs: 7 * 24 * 3_600_000 });
 * console.log(purgeAtMs > Date.now()); // true: restoreRun brings it back until then
 * console.log((await listRuns(store)).length); // 0
 * ```
 */
export async function deleteRun(
  store: Store,
  runId: string,
  options: DeleteRunOptions = {},
): Promise<DeletedRun> {
  checkStore(store);
  return store.deleteRun(runId, options);
}

/**
 * Puts a run into the archive: listings leave it out unless they ask for it. All else works as before.
 *
 * @throws {QuarkError} `invalid_input`, `run_not_found`
 * @throws {SessionStoreError} `deleted`, `unauthorised`, `read_only`
 * @example
 * ```js
 * import { archiveRun, createMemoryStore, listRuns, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => session.runId);
 * const { archivedAtMs } = await archiveRun(store, runId);
 * console.log(new Date(archivedAtMs).toISOString());
 * console.log((await listRuns(store)).length, (await listRuns(store, { archived: true })).length); // 0 1
 * ```
 */
export async function archiveRun(store: Store, runId: string): Promise<RunSummary> {
  checkStore(store);
  return summaryOf(store, await store.archiveRun(runId));
}

/**
 * Brings back a deleted run with all that it had, or takes a run out of the archive. A deleted run that was archived comes back
 * archived. A run that is neither is returned as it is.
 *
 * @throws {QuarkError} `invalid_input`, `run_not_found`
 * @throws {SessionStoreError} `deleted` when its bytes have been removed; `unauthorised`, `read_only`
 * @example
 * ```js
 * import { createMemoryStore, deleteRun, listDeletedRuns, restoreRun, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => session.runId);
 * await deleteRun(store, runId);
 * const { effectiveStatus } = await restoreRun(store, runId);
 * console.log(effectiveStatus, await listDeletedRuns(store)); // completed []
 * ```
 */
export async function restoreRun(store: Store, runId: string): Promise<RunSummary> {
  checkStore(store);
  return summaryOf(store, await store.restoreRun(runId));
}

/** Which deleted runs to list. */
export type DeletedRunFilter = {
  /** True: also those whose bytes have been removed, which cannot be restored. Default false. */
  readonly purged?: boolean | undefined;
};

/**
 * Deleted runs, those deleted last first. @throws {QuarkError} `invalid_input`
 *
 * @example
 * ```js
 * import { createMemoryStore, deleteRun, listDeletedRuns, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => session.runId);
 * await deleteRun(store, runId);
 * for (const deleted of await listDeletedRuns(store)) console.log(deleted.id === runId, deleted.projectName); // true digits
 * ```
 */
export async function listDeletedRuns(
  store: Store,
  filter: DeletedRunFilter = {},
): Promise<readonly DeletedRun[]> {
  checkStore(store);
  checkOptionNames('filter', filter, ['purged']);
  const all = await store.listDeletedRuns();
  return filter.purged === true ? all : all.filter(({ purgedAtMs }) => purgedAtMs === undefined);
}

/**
 * What a run takes up: what deleting it would free in time.
 *
 * @throws {QuarkError} `invalid_input`, `run_not_found`
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, runSize, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).log('train/loss', 0.5, { step: 0 });
 *   return session.runId;
 * });
 * const { segments, rows, bytes } = await runSize(store, runId);
 * console.log(rows, segments, bytes > 0); // 3 2 true: the sample, run_started and run_ended
 * ```
 */
export async function runSize(store: Store, runId: string): Promise<RunSize> {
  checkStore(store);
  if ((await store.findRun(runId)) === undefined) throw new RunNotFoundError(runId, store.uri);
  const streams = await store.listStreams?.(runId);
  let size: RunSize = { segments: 0, rows: 0, bytes: 0 };
  for (const table of streams?.map((stream) => stream.table) ?? TABLES.keys())
    for (const { rowCount, sizeBytes } of await store.listSegments({
      runId,
      table,
      superseded: true,
    }))
      size = {
        segments: size.segments + 1,
        rows: size.rows + rowCount,
        bytes: size.bytes + checkCount('sizeBytes', sizeBytes),
      };
  return size;
}

async function summaryOf(store: Store, run: StoredRun): Promise<RunSummary> {
  const leases = await store.listLeases([run.id]);
  return summarize(run, leases.length > 0);
}
