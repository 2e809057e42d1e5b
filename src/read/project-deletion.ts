/** Deleting a project, as users of a store do it. */
import { InvalidRunStateError, SessionStoreError, show } from '../base/errors.ts';
import {
  checkProjectDeletion,
  type DeletedProject,
  type DeleteProjectOptions,
} from '../store/deletion.ts';
import type { Store, StoredRun } from '../store/store.ts';
import { checkStore } from '../store/whole-store.ts';

/** Runs that begin while others are deleted are deleted, too: so often the list is read again. */
const MAX_PASSES = 8;

/**
 * Deletes a project with all of its runs, archived ones included. It is gone from every listing at once, comes back with the first
 * run that is restored or recorded, and is removed for good when the last of its runs is purged. Call it again where it was cut off:
 * what is deleted already stays as it is.
 *
 * @throws {QuarkError} `invalid_input`; `invalid_run_state` while a session of one of its runs is live and `running` is not given:
 *   nothing was changed then
 * @throws {SessionStoreError} `missing` when there is no such project; `unauthorised` where the key has not the scope `delete`;
 *   `read_only`; `busy` when runs are added to it all the time
 * @example
 * ```js
 * import { createMemoryStore, deleteProject, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * for (const lr of [0.1, 0.01]) await TrainingSession.run({ project: 'digits', storage: store, config: { lr } }, () => {});
 * const { runs } = await deleteProject(store, 'digits', { keepMs: 7 * 24 * 3_600_000 });
 * console.log(runs); // 2
 * ```
 */
export async function deleteProject(
  store: Store,
  name: string,
  options: DeleteProjectOptions = {},
): Promise<DeletedProject> {
  checkStore(store);
  checkProjectDeletion(name, options);
  if (store.deleteProject !== undefined) return store.deleteProject(name, options);
  const { running = false, ...how } = options;
  const project = (await store.listProjects()).find((one) => one.name === name);
  const first = await store.listRuns({ projectName: name });
  if (project === undefined && first.length === 0) throw noProject(name, store.uri);
  if (!running) await checkEnded(store, name, first);
  const deleted: DeletedProject = { name, runs: 0, purgeAtMs: null };
  const result = await deleteRuns(store, deleted, first, how);
  if (project !== undefined) await store.removeProject?.(project.id);
  return result;
}

async function deleteRuns(
  store: Store,
  before: DeletedProject,
  first: readonly StoredRun[],
  how: Omit<DeleteProjectOptions, 'running'>,
): Promise<DeletedProject> {
  let { purgeAtMs, runs } = before;
  let left = first;
  for (let pass = 0; left.length > 0; pass++) {
    if (pass === MAX_PASSES) throw addedAllTheTime(before.name);
    for (const { id } of left) {
      const tombstone = await store.deleteRun(id, how);
      purgeAtMs = Math.max(purgeAtMs ?? 0, tombstone.purgeAtMs);
      runs++;
    }
    left = await store.listRuns({ projectName: before.name });
  }
  return { name: before.name, runs, purgeAtMs };
}

async function checkEnded(store: Store, name: string, runs: readonly StoredRun[]): Promise<void> {
  const claimed = new Set((await store.listLeases()).map(({ runId }) => runId));
  const live = runs.find(({ id, status }) => status === 'running' && claimed.has(id));
  if (live === undefined) return;
  throw new InvalidRunStateError(
    `Run ${live.id} of project ${show(name)} has a live session. Nothing was changed. End it first, or delete running runs, too.`,
    { runId: live.id, status: 'running', project: name },
  );
}

function noProject(name: string, where: string): SessionStoreError {
  return new SessionStoreError('missing', `There is no project ${show(name)} in ${where}.`, {
    details: { project: name },
  });
}

function addedAllTheTime(name: string): SessionStoreError {
  return new SessionStoreError(
    'busy',
    `Runs were added to project ${show(name)} again and again meanwhile. Those that were there are deleted. Try again.`,
    { details: { project: name } },
  );
}
