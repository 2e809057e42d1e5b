/** Leases that have lapsed, over HTTP: a part of the store in `http-store.ts`. */
import { isQuarkError } from '../base/errors.ts';
import type { LapsedLease } from '../store/store.ts';
import type { HttpClient } from './http-client.ts';
import { decodeLapsedLease } from './wire.ts';

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
