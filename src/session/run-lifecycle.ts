/** Creating, changing and ending the run record, by compare-and-set. */
import { isStoreError, RunNotFoundError, SessionStoreError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { canonicalJson, type JsonObject } from '../base/json.ts';
import { sha256OfText } from '../base/sha256.ts';
import { rolesAsStored } from '../records/run-roles.ts';
import { runRecord, type RunRecord } from '../records/run.ts';
import { schemaVersionOf } from '../schema/version.ts';
import { parseRun } from '../read/runs.ts';
import type { Store, StoredProject, StoredRun } from '../store/store.ts';
import type { CheckedStart } from './run-options.ts';

/** A run as it is stored and as a record. */
export type LoadedRun = { readonly stored: StoredRun; readonly run: RunRecord };

/** Compare-and-set fails only when another writer succeeds; so many failures in a row mean that something is wrong. */
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

/** What is known of the machine and the program when a run begins. */
export type RunFacts = { readonly gitCommit: string | null; readonly environment: JsonObject };

/** A run that begins now, with its id, before it is in a store. */
export function newRun(
  nowMs: number,
  { parentRunId, project, roles, ...said }: CheckedStart,
  facts: RunFacts,
  store: Pick<Store, 'location'> | undefined,
): RunRecord {
  const id = createId('run', nowMs);
  const at = new Date(nowMs).toISOString();
  return runRecord.create({
    id,
    projectId: createId('prj', nowMs),
    projectName: project,
    status: 'running',
    parentRunId,
    lineageRootRunId: parentRunId ?? id,
    resumeCount: 0,
    runPath: store === undefined ? `runs/${id}` : runPathIn(store, id),
    gitCommit: facts.gitCommit,
    ...said,
    configHash: sha256OfText(canonicalJson(said.config)),
    environment: { ...facts.environment, ...rolesAsStored(roles) },
    startedAt: at,
    endedAt: null,
    updatedAt: at,
    schemaVersion: schemaVersionOf('runs'),
  });
}

/** The first run of the line that a parent is in. @throws {RunNotFoundError} when the parent is not in the store */
export async function lineageRootOf(store: Store, parentRunId: string): Promise<string> {
  return (await loadRun(store, parentRunId)).run.lineageRootRunId;
}

/** Adds a run to a store, and its project if that is new; a run that is there already stays as it is. `generation` is that of its sessions. */
export async function addRun(
  store: Store,
  run: RunRecord,
  generation = 1,
): Promise<LoadedRun & { readonly project: StoredProject }> {
  const project = await store.ensureProject({
    id: run.projectId,
    name: run.projectName,
    createdAtMs: Date.parse(run.startedAt),
  });
  const placed = runRecord.create({
    ...run,
    projectId: project.id,
    projectName: project.name,
    runPath: runPathIn(store, run.id),
  });
  try {
    const form = storedForm(placed);
    const stored = await store.createRun(generation === 1 ? form : { ...form, generation });
    return { run: parseRun(stored), stored, project };
  } catch (error) {
    // An earlier attempt may have been carried out though its answer was lost.
    const stored = isStoreError(error, 'rejected') ? await store.findRun(run.id) : undefined;
    if (stored === undefined) throw error;
    return { run: parseRun(stored), stored, project };
  }
}

function runPathIn({ location }: Pick<Store, 'location'>, runId: string): string {
  return `${location.storeRoot}/runs/${runId}`;
}

/**
 * Changes the run record: `change` gets the stored record and returns the fields to change, or undefined to change nothing. With
 * `generation`, the run's generation becomes that number.
 *
 * @throws what `change` throws
 */
export async function changeRun(
  store: Store,
  runId: string,
  nowMs: number,
  change: (run: RunRecord, stored: StoredRun) => Partial<RunRecord> | undefined,
  generation?: number,
): Promise<LoadedRun> {
  let { stored, run } = await loadRun(store, runId);
  for (let attempt = 0; attempt < MAX_UPDATE_ATTEMPTS; attempt++) {
    const changed = change(run, stored);
    if (changed === undefined) return { run, stored };
    const next = changedForm(stored, { ...run, ...changed }, nowMs);
    const result = await store.updateRun(generation === undefined ? next : { ...next, generation });
    if (result.kind === 'updated') return { run: parseRun(result.run), stored: result.run };
    stored = result.run;
    run = parseRun(stored);
  }
  throw new SessionStoreError(
    'busy',
    `Run ${runId} was changed by others ${MAX_UPDATE_ATTEMPTS} times in a row. Try again.`,
    { details: { runId } },
  );
}

/** The next revision of a stored run, with these fields. */
export function changedForm(
  stored: StoredRun,
  fields: Parameters<typeof runRecord.create>[0],
  nowMs: number,
): StoredRun {
  const next = runRecord.create({ ...fields, updatedAt: new Date(nowMs).toISOString() });
  const { generation, revision } = stored;
  return { ...storedForm(next), revision, ...(generation === undefined ? {} : { generation }) };
}

/** What a store has besides the document, and what a run of before did not have, is left out of the document. */
export function documentOf(run: RunRecord): string {
  const { config_hash: _hash, config_revision: _revision, ...dict } = run.toDict();
  const said = Object.entries(dict).filter(
    ([name, value]) => !OFTEN_EMPTY.has(name) || !isEmpty(value),
  );
  return JSON.stringify(Object.fromEntries(said));
}

const OFTEN_EMPTY: ReadonlySet<string> = new Set([
  'name',
  'description',
  'notes',
  'groups',
  'job_type',
  'metadata',
  'summary',
  'metric_summaries',
  'status_reason',
  'findings',
]);

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** A run as stores have it. */
export function storedForm(run: RunRecord): Omit<StoredRun, 'revision'> {
  const { configHash, configRevision } = run;
  return {
    ...(configHash === null ? {} : { configHash }),
    ...(configRevision === null ? {} : { configRevision }),
    id: run.id,
    projectId: run.projectId,
    projectName: run.projectName,
    status: run.status,
    startedAtMs: Date.parse(run.startedAt),
    tags: run.tags,
    document: documentOf(run),
  };
}
