/**
 * A service may keep its records in the very store that is to be sent to it: "quark serve" in the folder of the runs is
 * enough. There is nothing to send then, and a local copy must not be removed because the service "has it too".
 */
import type { Clock } from '../base/clock.ts';
import { SessionStoreError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import type { Store } from '../store/store.ts';

/** Long enough for the clocks of two machines on one database to differ. */
const PROBE_MS = 10 * 60_000;
/** Stores that no other process can have. */
const OWN_STORE = /^(?:memory|idb|opfs):/i;

/**
 * Opens the service, unless it is the local store in another form: a claim that is made here shows there then.
 *
 * @throws {SessionStoreError} `rejected` when it is; what opening throws
 */
export async function openOther(
  local: Store,
  openRemote: () => Promise<Store>,
  clock: Pick<Clock, 'now'>,
): Promise<Store> {
  const remote = await openRemote();
  if (OWN_STORE.test(local.uri)) return remote;
  try {
    if (!(await showsThere(local, remote, clock.now()))) return remote;
  } catch (error) {
    await remote.close();
    throw error;
  }
  await remote.close();
  throw new SessionStoreError(
    'rejected',
    `The service at ${remote.uri} stores its records in this very store, ${local.uri}: what is recorded here is there already, and nothing is sent. Take QUARK_PERSISTENCE_URL (persistenceUrl) away, or record into another directory.`,
    { details: { uri: remote.uri } },
  );
}

async function showsThere(local: Store, remote: Store, nowMs: number): Promise<boolean> {
  const [runId, holder] = [createId('run', nowMs), createId('snd', nowMs)];
  await local.renewLease(runId, holder, PROBE_MS);
  try {
    return (await remote.listLeases([runId])).some((claim) => claim.holder === holder);
  } finally {
    await local.releaseLease(runId, holder);
  }
}
