/** The runs of a service, page by page, and their leases; conditions that an older service does not know are met here. */
import { isQuarkError } from '../base/errors.ts';
import { checkAnsweredRun } from '../store/run-content.ts';
import { selectRuns } from '../store/run-rules.ts';
import type { LapsedLease, Lease, RunFilter, StoredRun } from '../store/store.ts';
import type { HttpClient } from './http-client.ts';
import { MAX_RUNS_PER_PAGE } from './protocol.ts';
import { decodeLapsedLease, decodeRun } from './wire.ts';

/** Runs that match, newest first. @param listLeases asked where an older service cannot compare the runs itself */
export async function listRunsThere(
  client: HttpClient,
  filter: RunFilter,
  listLeases: () => Promise<readonly Lease[]>,
): Promise<readonly StoredRun[]> {
  try {
    return await listPages(client, filter);
  } catch (error) {
    if (!isQuarkError(error, 'invalid_input')) throw error;
    const { field, rule } = error.details;
    const isUnknown = typeof rule === 'string' && rule.includes('project');
    const { archived, limit, offset, where, ...plain } = filter;
    // A service that is older than archiving refuses the parameter: none of its runs is archived.
    if (field === 'archived' && archived !== undefined)
      return archived ? [] : listPages(client, { ...plain, ...given({ limit, offset, where }) });
    if (field !== 'where' || where === undefined || !isUnknown) throw error;
    const all = await listRunsThere(client, { ...plain, ...given({ archived }) }, listLeases);
    const live = new Set((await listLeases()).map(({ runId }) => runId));
    return selectRuns(all, { where, ...given({ limit, offset }) }, live);
  }
}

/** The server bounds the runs of one answer. */
async function listPages(client: HttpClient, filter: RunFilter): Promise<readonly StoredRun[]> {
  // An empty list of statuses matches no run; a query cannot say "an empty list".
  if (filter.statuses?.length === 0) return [];
  const found = new Map<string, StoredRun>();
  const { limit = Number.POSITIVE_INFINITY, projectName, statuses, tags, ...rest } = filter;
  for (let offset = filter.offset ?? 0; found.size < limit;) {
    const pageSize = Math.min(MAX_RUNS_PER_PAGE, limit - found.size);
    const answer = await client.json('GET /runs', {
      query: {
        limit: pageSize,
        offset: offset > 0 ? offset : undefined,
        project: projectName,
        status: statuses,
        tag: tags,
        startedMinMs: rest.startedMinMs,
        startedMaxMs: rest.startedMaxMs,
        archived: rest.archived,
        where: rest.where,
      },
    });
    const page = answer.list('runs').map((one) => checkAnsweredRun(decodeRun(one)));
    for (const run of page) found.set(run.id, run);
    // A page may be closed early, where documents are long.
    const next = answer.get('next');
    if (typeof next === 'number' ? next <= offset : page.length < pageSize || next === null) break;
    offset = typeof next === 'number' ? next : offset + page.length;
  }
  return [...found.values()];
}

/** The lapsed leases of a run, by the clock of the service; none of an earlier service, which does not say. */
export async function lapsedLeasesThere(
  client: HttpClient,
  runId: string,
): Promise<readonly LapsedLease[]> {
  try {
    const answer = await client.json('GET /runs/:runId/lapsed-leases', { params: { runId } });
    return answer.list('leases').map(decodeLapsedLease);
  } catch (error) {
    if (isQuarkError(error, 'unsupported')) return [];
    throw error;
  }
}

/** The fields that are given, and nothing else. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
