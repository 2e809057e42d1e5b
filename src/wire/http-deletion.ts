/** Longer calls about deletion, over HTTP: parts of the store in `http-store.ts`. */
import type { DeletedProject, DeletedRun, DeleteProjectOptions } from '../store/store.ts';
import type { HttpClient } from './http-client.ts';
import { decodeDeletedRun } from './wire.ts';

/** Deletes a project: see `deleteProject` of the package. */
export async function deleteProjectThere(
  client: HttpClient,
  name: string,
  { by, keepMs, running }: DeleteProjectOptions = {},
): Promise<DeletedProject> {
  const answer = await client.json('DELETE /projects/:name', {
    params: { name },
    query: { keepMs, by, running },
  });
  const purgeAtMs = answer.get('purge_at_ms') === null ? null : answer.number('purge_at_ms');
  return { name, runs: answer.number('runs'), purgeAtMs };
}

/** All tombstones, page by page. */
export async function listDeletedThere(client: HttpClient): Promise<readonly DeletedRun[]> {
  const found = new Map<string, DeletedRun>();
  for (let offset: unknown = 0; typeof offset === 'number';) {
    const query = { offset };
    const answer = await client.json('GET /deleted-runs', { query });
    for (const one of answer.list('deleted').map(decodeDeletedRun)) found.set(one.id, one);
    const next = answer.get('next');
    offset = typeof next === 'number' && next > offset ? next : undefined;
  }
  return [...found.values()];
}
