/** Routes of projects, runs and leases, and of the API itself. */
import { deleteProject } from '../../read/project-deletion.ts';
import { deleteArtifact, deleteTable } from '../../read/row-deletion.ts';
import {
  invalidInput,
  QuarkError,
  RunNotFoundError,
  SessionStoreError,
} from '../../base/errors.ts';
import { askRunsOf } from '../../store/find/ask-runs.ts';
import type { RunFilter, Store, StoredRun } from '../../store/store.ts';
import {
  MAX_DELETED_PER_PAGE,
  MAX_LEASE_MS,
  MAX_RUNS_PER_BATCH_QUERY,
  MAX_RUNS_PER_LEASE_QUERY,
  MAX_RUNS_PER_PAGE,
  MAX_RUNS_PER_PURGE,
  PROTOCOL_VERSION,
  SPACE_HEADER,
  SPOKEN_VERSIONS,
} from '../../wire/protocol.ts';
import type { RouteQuery } from '../../wire/route-types.ts';
import { decodeQuestion, encodeAnswer } from './table-requests.ts';
import { decodeNewRun, decodeProject, decodeRun } from '../../wire/wire.ts';
import { HEADERS } from '../http/answers.ts';
import type { StoreHandlers } from './store-routes.ts';
import { checkSearch, searchRuns } from './run-search.ts';
import { checkRemovesRows, undoTime } from './undo-floor.ts';

/** What a run has beside its document. */
const RUN_CHARS = 1_024;

export const runHandlers = {
  'GET /': ({ context, scope }, { settings }) => ({
    service: 'quark',
    protocol: PROTOCOL_VERSION,
    spoken: SPOKEN_VERSIONS,
    readOnly: !(settings.writable && scope.store.isWritable),
    space: context.req.header(SPACE_HEADER) ?? null,
    limits: { uploadBytes: settings.maxUploadBytes, blobBytes: settings.maxBlobBytes },
  }),

  'GET /openapi.json': (_asked, { description }) =>
    new Response(description, { headers: { ...HEADERS, 'content-type': 'application/json' } }),

  'GET /projects': async ({ scope }) => ({ projects: await scope.store.listProjects() }),

  'POST /projects': async ({ scope, body }, { settings }) => {
    const project = decodeProject((await body()).get('project'));
    settings.checks.project?.(project);
    return { project: await scope.store.ensureProject(project) };
  },

  'DELETE /projects/:name': async (
    { scope, params: { name }, query: { by = scope.actor, ...given } },
    { feeds },
  ) => {
    const { keepMs, running } = given;
    const undo = undoTime(keepMs, scope.minUndoMs);
    const before = await scope.store.listRuns({ projectName: name });
    const deleted = await deleteProject(scope.store, name, {
      ...undo,
      ...(running === undefined ? {} : { running }),
      ...(by === undefined ? {} : { by }),
    });
    for (const { id: runId } of before) feeds.notify(scope, { runId });
    return { project: name, runs: deleted.runs, purge_at_ms: deleted.purgeAtMs };
  },

  'GET /runs': ({ scope, query: { text, config = [], ...filter } }) =>
    searchRuns(scope.store, runFilter(filter), checkSearch(text, config), scope.takeRoom),

  'POST /tables/runs': async ({ scope, body }) => {
    const question = decodeQuestion((await body()).get('question'));
    return encodeAnswer(await askRunsOf(scope.store, question), question);
  },

  'POST /runs': async ({ context, scope, body }, { settings, memory, feeds }) => {
    const run = decodeNewRun((await body()).get('run'));
    settings.checks.run?.(run);
    const answer = await memory.once(context, lengthOf(run), async () => ({
      run: await scope.store.createRun(run),
    }));
    feeds.notify(scope, { runId: run.id });
    return answer;
  },

  'GET /runs/:runId': async ({ scope, params }) => ({
    run: await requireRun(scope.store, params.runId),
  }),

  'DELETE /runs/:runId': async (
    { scope, params: { runId }, query: { keepMs, by = scope.actor } },
    { feeds },
  ) => {
    const deleted = await scope.store.deleteRun(runId, {
      ...undoTime(keepMs, scope.minUndoMs),
      ...(by === undefined ? {} : { by }),
    });
    feeds.notify(scope, { runId });
    return { deleted };
  },

  'DELETE /runs/:runId/tables/:table': async ({ scope, params: { runId, table } }, { feeds }) => {
    checkRemovesRows('A table', scope.minUndoMs);
    const deleted = await deleteTable(scope.store, runId, table);
    feeds.notify(scope, { runId });
    return { run_id: runId, table, rows: deleted.rows };
  },

  'DELETE /runs/:runId/artifacts': async (
    { scope, params: { runId }, query: { artifact = '' } },
    { feeds },
  ) => {
    checkRemovesRows('An artifact', scope.minUndoMs);
    const deleted = await deleteArtifact(scope.store, runId, artifact);
    feeds.notify(scope, { runId });
    return { run_id: runId, table: deleted.table, rows: deleted.rows };
  },

  'POST /runs/:runId/archive': async ({ scope, params: { runId }, body }, { feeds }) => {
    await body();
    const archived = await scope.store.archiveRun(runId);
    feeds.notify(scope, { runId });
    return { run: archived };
  },

  'POST /runs/:runId/restore': async ({ scope, params: { runId }, body }, { feeds }) => {
    await body();
    const restored = await scope.store.restoreRun(runId);
    feeds.notify(scope, { runId });
    return { run: restored };
  },

  'GET /deleted-runs': async ({ scope, query: { limit = MAX_DELETED_PER_PAGE, offset = 0 } }) => {
    const all = await scope.store.listDeletedRuns();
    const end = offset + Math.min(limit, MAX_DELETED_PER_PAGE);
    return { deleted: all.slice(offset, end), next: end < all.length ? end : null };
  },

  'GET /deleted-runs/:runId': async ({ scope, params: { runId } }) => {
    const deleted = await scope.store.findDeletedRun(runId);
    if (deleted === undefined) throw new RunNotFoundError(runId, 'this store');
    return { deleted };
  },

  'POST /purge': async ({ scope, body }) => {
    const fields = await body();
    const nowMs = fields.get('now_ms') === undefined ? undefined : fields.number('now_ms');
    const force = fields.get('force') === undefined ? [] : fields.texts('force');
    if (force.length > MAX_RUNS_PER_PURGE)
      throw invalidInput('force.length', force.length, `at most ${MAX_RUNS_PER_PURGE}`);
    return { deleted: await scope.store.purgeDeletedRuns(nowMs, force) };
  },

  'PUT /runs/:runId': async (
    { context, scope, params: { runId }, body },
    { settings, memory, feeds, sketches },
  ) => {
    const run = decodeRun((await body()).get('run'));
    if (run.id !== runId) throw invalidInput('run.id', run.id, `the id in the address, "${runId}"`);
    settings.checks.run?.(run);
    const answer = await memory.once(context, lengthOf(run), () => scope.store.updateRun(run));
    feeds.notify(scope, { runId });
    if (run.status !== 'running') sketches.ended(scope, runId);
    return answer;
  },

  'GET /runs/:runId/tables': async ({ scope: { store }, params }) => {
    if (store.listStreams === undefined)
      throw new QuarkError('unsupported', 'This store does not say which tables a run has.');
    return { tables: await store.listStreams(params.runId) };
  },

  'GET /batches': async ({ scope: { store }, query: { run: runIds = [] } }) => {
    if (runIds.length > MAX_RUNS_PER_BATCH_QUERY)
      throw tooManyRuns(runIds.length, MAX_RUNS_PER_BATCH_QUERY);
    if (store.listBatches === undefined)
      throw new QuarkError('unsupported', 'This store does not say which batches a run has.');
    return store.listBatches(runIds);
  },

  'GET /leases': async ({ scope, query: { run: runIds } }) => {
    if (runIds !== undefined && runIds.length > MAX_RUNS_PER_LEASE_QUERY)
      throw tooManyRuns(runIds.length, MAX_RUNS_PER_LEASE_QUERY);
    return { leases: await scope.store.listLeases(runIds) };
  },

  'GET /runs/:runId/lapsed-leases': async ({ scope: { store }, params: { runId } }) => ({
    leases: (await store.lapsedLeases?.(runId)) ?? [],
  }),

  'PUT /runs/:runId/leases/:holder': async ({ scope, params: { runId, holder }, body }) => {
    const ttlMs = (await body()).number('ttl_ms');
    if (ttlMs > MAX_LEASE_MS) throw invalidInput('ttl_ms', ttlMs, `at most ${MAX_LEASE_MS}: a day`);
    return { lease: await scope.store.renewLease(runId, holder, ttlMs) };
  },

  'DELETE /runs/:runId/leases/:holder': async ({ scope, params: { runId, holder } }) => {
    await scope.store.releaseLease(runId, holder);
    return {};
  },
} satisfies Partial<StoreHandlers>;

/** @throws {RunNotFoundError} */
export async function requireRun(store: Store, runId: string): Promise<StoredRun> {
  const run = await store.findRun(runId);
  if (run === undefined) throw new RunNotFoundError(runId, 'this store');
  return run;
}

function tooManyRuns(count: number, most: number): SessionStoreError {
  return new SessionStoreError(
    'too_large',
    `At most ${most} runs can be asked for at once; got ${count}.`,
    { details: { field: 'run', rule: `at most ${most}` } },
  );
}

function runFilter(query: Omit<RouteQuery<'GET /runs'>, 'text' | 'config'>): RunFilter {
  const { project, status, tag, limit = MAX_RUNS_PER_PAGE, ...rest } = query;
  return {
    ...rest,
    ...(project === undefined ? {} : { projectName: project }),
    ...(status === undefined ? {} : { statuses: status }),
    ...(tag === undefined ? {} : { tags: tag }),
    limit: Math.min(limit, MAX_RUNS_PER_PAGE),
  };
}

function lengthOf(run: { readonly document: string }): number {
  return RUN_CHARS + run.document.length;
}
