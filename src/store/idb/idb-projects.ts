/**
 * Projects of which runs were deleted, in IndexedDB. Every transaction here has the object stores of projects, runs and deleted runs.
 */
import { documentPrefix } from '../documents.ts';
import { countedRun, projectOfRun } from '../run-rules.ts';
import type { StoredProject, StoredRun } from '../store.ts';
import { AFTER_NAMES, type IdbTransaction } from './idb-layout.ts';

type Transaction = IdbTransaction<'readonly'> | IdbTransaction<'readwrite'>;

/** The projects, without those all of whose runs are deleted and can be restored. */
export async function listIdbProjects(tx: Transaction): Promise<StoredProject[]> {
  const [all, deleted] = await Promise.all([
    tx.objectStore('projects').getAll(),
    deletedProjects(tx),
  ]);
  if (deleted.size === 0) return all;
  const runs = await tx.objectStore('runs').getAll();
  const there = new Set(runs.map(({ projectName }) => projectName));
  return all.filter(({ name }) => there.has(name) || !deleted.has(name));
}

/** Removes a project that no run is in, with its documents; returns whether it was there. The transaction has the notes, too. */
export async function removeIdbProject(
  tx: IdbTransaction<'readwrite'>,
  projectId: string,
): Promise<boolean> {
  const project = await tx.objectStore('projects').get(projectId);
  if (project === undefined || (await deletedProjects(tx)).has(project.name)) return false;
  const runs = await tx.objectStore('runs').getAll();
  if (runs.some((run) => run.projectId === projectId || run.projectName === project.name))
    return false;
  const documents = documentPrefix(projectId);
  await tx.objectStore('notes').delete(IDBKeyRange.bound(documents, documents + AFTER_NAMES));
  await tx.objectStore('projects').delete(projectId);
  return true;
}

/** Adds the project of a run again, where it was removed after its last run. */
export async function holdProject(
  tx: IdbTransaction<'readwrite'>,
  run: Omit<StoredRun, 'revision'>,
): Promise<void> {
  const projects = tx.objectStore('projects');
  if ((await projects.getKey(run.projectId)) !== undefined) return;
  const [all, tombstones] = await Promise.all([
    projects.getAll(),
    tx.objectStore('deletedRuns').getAll(),
  ]);
  const again = projectOfRun(run, all, tombstones);
  if (again !== undefined) await projects.put(again);
}

/**
 * A run with the revision of its configuration, which is counted where it has none. The last revision of each configuration is a note of
 * its own, so that a run that was deleted is not counted again.
 */
export async function countInIdb<T extends Omit<StoredRun, 'revision'>>(
  tx: IdbTransaction<'readwrite'>,
  run: T,
): Promise<T> {
  if (run.configHash === undefined) return run;
  const notes = tx.objectStore('notes');
  const name = `config-revision:${run.projectId}/${run.configHash}`;
  const before = Number((await notes.get(name)) ?? 0);
  const counted = countedRun(run, before);
  if (counted.last !== before) await notes.put(String(counted.last), name);
  return counted.run;
}

/** Names of projects with deleted runs that can be restored. */
async function deletedProjects(tx: Transaction): Promise<ReadonlySet<string>> {
  const tombstones = await tx.objectStore('deletedRuns').getAll();
  return new Set(
    tombstones.flatMap(({ projectName, purgedAtMs }) =>
      purgedAtMs === undefined ? [projectName] : [],
    ),
  );
}
