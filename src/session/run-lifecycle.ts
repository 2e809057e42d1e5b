/** Creating, changing and ending the run record, by compare-and-set. */
import { RunNotFoundError, SessionStoreError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import { runRecord, type RunRecord } from '../records/run.ts';
import { CURRENT_SCHEMA_VERSION } from '../schema/version.ts';
import { parseRun } from '../read/runs.ts';
import type { Store, StoredProject, StoredRun } from '../store/store.ts';
import type { CheckedStart } from './run-options.ts';

/** A run as it is stored and as a record. */
export type LoadedRun = { readonly stored: StoredRun; readonly run: RunRecord };

/** Compare-and-set fails only when somebody else succeeds; so many times in a row means that something is wrong. */
const MAX_UPDATE_ATTEMPTS = 100;

/** @throws {RunNotFoundError} */
export async function loadRun(store: Store, runId: string): Promise<LoadedRun> {
  const stored = await store.findRun(runId);
  if (stored === undefined) throw new RunNotFoundError(runId, store.uri);
  return { stored, run: parseRun(stored) };
}

/** The project of a run. */
export async function loadProject(store: Store, run: RunRecord): Promise<StoredProject> {
  const projects = await store.listProjects();
  const found = projects.find((project) => project.id === run.projectId);
  return (
    found ?? { id: run.projectId, name: run.projectName, createdAtMs: Date.parse(run.startedAt) }
  );
}

/** Adds a run, and its project if that is new. @throws {RunNotFoundError} when the parent is not in the store */
export async function createRun(
  store: Store,
  nowMs: number,
  options: CheckedStart,
  facts: { readonly gitCommit: string | null; readonly environment: JsonObject },
): Promise<LoadedRun> {
  const { config, parentRunId, project, strictMode, tags } = options;
  const parent = parentRunId === null ? null : (await loadRun(store, parentRunId)).run;
  const stored = await store.ensureProject({
    id: createId('prj', nowMs),
    name: project,
    createdAtMs: nowMs,
  });
  const id = createId('run', nowMs);
  const at = new Date(nowMs).toISOString();
  const run = runRecord.create({
    id,
    projectId: stored.id,
    projectName: stored.name,
    status: 'running',
    parentRunId,
    lineageRootRunId: parent?.lineageRootRunId ?? id,
    resumeCount: 0,
    runPath: `${store.location.storeRoot}/runs/${id}`,
    gitCommit: facts.gitCommit,
    strictMode,
    tags,
    config,
    environment: facts.environment,
    startedAt: at,
    endedAt: null,
    updatedAt: at,
    schemaVersion: CURRENT_SCHEMA_VERSION,
  });
  return { stored: await store.createRun(storedForm(run)), run };
}

/**
 * Changes the run record: `change` sees what is there and says what should be, or returns undefined to leave it.
 *
 * @throws what `change` throws
 */
export async function changeRun(
  store: Store,
  runId: string,
  nowMs: number,
  change: (
    run: RunRecord,
  ) => Partial<RunRecord> | undefined | Promise<Partial<RunRecord> | undefined>,
): Promise<RunRecord> {
  let { stored, run } = await loadRun(store, runId);
  for (let attempt = 0; attempt < MAX_UPDATE_ATTEMPTS; attempt++) {
    const changed = await change(run);
    if (changed === undefined) return run;
    const next = runRecord.create({ ...run, ...changed, updatedAt: new Date(nowMs).toISOString() });
    const result = await store.updateRun({ ...storedForm(next), revision: stored.revision });
    if (result.kind === 'updated') return next;
    stored = result.run;
    run = parseRun(stored);
  }
  throw new SessionStoreError(
    'busy',
    `Run ${runId} was changed by others ${MAX_UPDATE_ATTEMPTS} times in a row. Try again.`,
    { details: { runId } },
  );
}

function storedForm(run: RunRecord): Omit<StoredRun, 'revision'> {
  return {
    id: run.id,
    projectId: run.projectId,
    projectName: run.projectName,
    status: run.status,
    startedAtMs: Date.parse(run.startedAt),
    tags: run.tags,
    document: JSON.stringify(run.toDict()),
  };
}
