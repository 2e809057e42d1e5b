/** The list of runs. */
import { checkStore } from '../store/whole-store.ts';
import { checkCount, checkLiteral, checkOptionNames, checkPositive } from '../base/assert.ts';
import { invalidInput, isQuarkError, SchemaValidationError } from '../base/errors.ts';
import { RUN_STATUSES, type RunStatus } from '../records/literals.ts';
import { runRecord, type RunRecord } from '../records/run.ts';
import { schemaVersionOf } from '../schema/version.ts';
import type { Store, StoredRun } from '../store/store.ts';

/** A run as lists show it. */
export type RunSummary = {
  readonly run: RunRecord;
  /** Whether a live session has the lease of the run. */
  readonly isLive: boolean;
  /** The status, or `interrupted` for a running run without a live lease. */
  readonly effectiveStatus: RunStatus;
  /** Why the run record could not be read, or null. `run` then has only what the store knows besides. */
  readonly problem: string | null;
  /** Since when the run is archived, in UTC epoch milliseconds; absent for a run that is not. */
  readonly archivedAtMs?: number;
};

/** Which runs to list; newest first. All conditions are joined by "and". */
export type RunListFilter = {
  /** Name of the project. */
  readonly project?: string | undefined;
  /** Effective statuses. */
  readonly statuses?: readonly RunStatus[] | undefined;
  /** Runs with all of these tags. */
  readonly tags?: readonly string[] | undefined;
  /** True: only archived runs. False, the default: only the others. `any`: all runs. */
  readonly archived?: boolean | 'any' | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};

/**
 * The runs of a store, newest first; archived ones only where the filter asks for them.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import { createMemoryStore, listRuns, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * for (const lr of [0.1, 0.01]) await TrainingSession.run({ project: 'digits', storage: store, config: { lr } }, () => {});
 * const runs = await listRuns(store, { project: 'digits', statuses: ['completed'], limit: 10 });
 * for (const { run, effectiveStatus } of runs) console.log(run.config.lr, effectiveStatus); // 0.01 completed, then 0.1 completed
 * ```
 */
export async function listRuns(
  store: Store,
  filter: RunListFilter = {},
): Promise<readonly RunSummary[]> {
  checkStore(store);
  checkOptionNames('filter', filter, [
    'project',
    'statuses',
    'tags',
    'archived',
    'limit',
    'offset',
  ]);
  const { project, statuses, tags, archived = false, limit, offset = 0 } = filter;
  if (archived !== 'any' && typeof archived !== 'boolean')
    throw invalidInput('archived', archived, 'true, false or "any"');
  if (limit !== undefined) checkPositive('limit', limit);
  checkCount('offset', offset);
  for (const status of statuses ?? []) checkLiteral('statuses', status, RUN_STATUSES);
  // Only leases say whether a run with the status "running" is interrupted, so these statuses are filtered here.
  const isMixed =
    statuses !== undefined && (statuses.includes('running') || statuses.includes('interrupted'));
  const asked = isMixed ? [...new Set([...statuses, 'running'])] : statuses;
  const runs = await store.listRuns({
    ...(project === undefined ? {} : { projectName: project }),
    ...(asked === undefined ? {} : { statuses: asked }),
    ...(tags === undefined ? {} : { tags }),
    ...(archived === 'any' ? {} : { archived }),
    ...(limit === undefined || isMixed ? {} : { limit }),
    ...(isMixed ? {} : { offset }),
  });
  const live = new Set((await store.listLeases()).map((lease) => lease.runId));
  const summaries = runs.map((run) => summarize(run, live.has(run.id)));
  if (!isMixed) return summaries;
  return summaries
    .filter((summary) => statuses.includes(summary.effectiveStatus))
    .slice(offset, limit === undefined ? undefined : offset + limit);
}

/** A stored run as lists show it. A record that cannot be read does not hide the run, or the others. */
export function summarize(stored: StoredRun, hasLease: boolean): RunSummary {
  let run: RunRecord;
  let problem: string | null = null;
  try {
    run = parseRun(stored);
  } catch (error) {
    if (!isQuarkError(error, 'schema_validation')) throw error;
    problem = error.message;
    run = outlineOf(stored);
  }
  const isLive = run.status === 'running' && hasLease;
  return {
    run,
    isLive,
    effectiveStatus: run.status === 'running' && !isLive ? 'interrupted' : run.status,
    problem,
    ...(stored.archivedAtMs === undefined ? {} : { archivedAtMs: stored.archivedAtMs }),
  };
}

/** A run as it is stored and as lists show it; undefined where there is none. */
export async function loadStored(
  store: Store,
  runId: string,
): Promise<{ readonly stored: StoredRun; readonly summary: RunSummary } | undefined> {
  // At once: behind a network each is a round trip.
  const [stored, early] = await Promise.all([store.findRun(runId), store.listLeases([runId])]);
  if (stored === undefined) return undefined;
  // A session claims its run after it has made it, and lets go of it after its end: where the two do not go together, leases are read again.
  const isInDoubt = (stored.status === 'running') !== early.length > 0;
  const leases = isInDoubt ? await store.listLeases([runId]) : early;
  return { stored, summary: summarize(stored, leases.length > 0) };
}

/** What a store knows of a run besides its record. */
function outlineOf(stored: StoredRun): RunRecord {
  const at = new Date(stored.startedAtMs).toISOString();
  const { id, projectId, projectName, tags } = stored;
  return runRecord.create({
    id,
    projectId,
    projectName,
    status: RUN_STATUSES.find((status) => status === stored.status) ?? 'failed',
    parentRunId: null,
    lineageRootRunId: id,
    resumeCount: 0,
    runPath: '',
    gitCommit: null,
    strictMode: false,
    tags,
    config: {},
    environment: {},
    startedAt: at,
    endedAt: null,
    updatedAt: at,
    schemaVersion: schemaVersionOf('runs'),
  });
}

/** @throws {SchemaValidationError} when the stored document is not a run record */
export function parseRun(stored: StoredRun): RunRecord {
  let dict: unknown;
  try {
    dict = JSON.parse(stored.document);
  } catch (cause) {
    throw new SchemaValidationError(`The record of run ${stored.id} is not JSON.`, {
      details: { field: 'document', rule: 'JSON', runId: stored.id },
      cause,
    });
  }
  const { configHash, configRevision } = stored;
  return runRecord.fromDict({
    ...(dict as { readonly [key: string]: unknown }),
    ...(configHash === undefined ? {} : { config_hash: configHash }),
    ...(configRevision === undefined ? {} : { config_revision: configRevision }),
  });
}
