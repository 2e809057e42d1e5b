/** From a service and a local store to an outbox, with what the place it runs in has to offer. */
import { DAY_MS, systemClock, type Clock } from '../base/clock.ts';
import { ifAllowed } from '../base/if-allowed.ts';
import { isNode } from '../base/runtime.ts';
import { openHttpStorage } from '../wire/http-store.ts';
import type { Store } from '../store/store.ts';
import type { KeepLocal, OnDeletedRemotely } from '../store/persistence.ts';
import { verifyRun } from './verify.ts';
import type { HolderTag, LocksLike } from './leadership.ts';
import { OutboxStore } from './outbox-store.ts';

export { spaceOf } from './space-name.ts';

/** A service and how to talk to it. */
export type OutboxOptions = {
  readonly url: string;
  readonly userKey?: string | undefined;
  /** Name of the space at the service. */
  readonly space: string;
  /** How long one request may take, in milliseconds. */
  readonly timeoutMs: number;
  readonly keepLocal?: KeepLocal;
  readonly onDeletedRemotely?: OnDeletedRemotely;
  /** See {@link PersistenceOptions.compareEveryMs}. */
  readonly compareEveryMs?: number;
  readonly clock?: Clock | undefined;
  /** Whether closing the outbox closes the local store. Default true. */
  readonly ownsLocal?: boolean;
  /** Who this process is, where leases decide who sends. */
  readonly holderTag?: HolderTag | undefined;
  /** False: nothing is sent by this store. Default true. */
  readonly uploads?: boolean;
  /** Sends the requests; the platform's `fetch` unless given. */
  readonly fetch?: (request: Request) => Promise<Response>;
};

/** Bodies that browsers send on after the page is gone: 64 KiB for all requests of a page together. */
const KEEPALIVE_BYTES = 48 * 1024;

/** Opens an outbox over a local store. The service is opened when it is first needed. */
export function openOutbox(local: Store, options: OutboxOptions): OutboxStore {
  const { clock = systemClock, keepLocal = 'always', space, timeoutMs, url, userKey } = options;
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const outbox = new OutboxStore({
    local,
    ownsLocal: options.ownsLocal ?? true,
    openRemote: () =>
      openHttpStorage(url, {
        space,
        timeoutMs,
        ...(userKey === undefined ? {} : { userKey }),
        fetch: async (request) => send(await outliving(request)),
      }),
    remoteUri: url,
    space,
    clock,
    locks: webLocks(),
    uploads: options.uploads ?? true,
    onDeletedRemotely: options.onDeletedRemotely ?? 'keep',
    ...(options.compareEveryMs === undefined ? {} : { compareEveryMs: options.compareEveryMs }),
    ...(options.holderTag === undefined ? {} : { holderTag: options.holderTag }),
    onSettled:
      keepLocal === 'always'
        ? undefined
        : (runId, store) => removeLocalCopy(store, runId, keepLocal, clock),
  });
  watchPage(outbox, outbox.closing);
  return outbox;
}

/** Watches for moments at which sending has to happen now, and ends watching with the signal. */
function watchPage(outbox: Pick<OutboxStore, 'urge'>, signal: AbortSignal): void {
  if (isNode()) return;
  const urge = (): void => outbox.urge();
  globalThis.addEventListener?.('online', urge, { signal });
  if (typeof document === 'undefined') return;
  // Hidden: the last moment that is certain, and timers are slow from now on. Shown again: a pause may be over.
  document.addEventListener('visibilitychange', urge, { signal });
  globalThis.addEventListener('pagehide', urge, { signal });
}

/** What is small is sent on by the browser when the page goes away meanwhile. */
async function outliving(request: Request): Promise<Request> {
  if (typeof document === 'undefined' || document.visibilityState !== 'hidden') return request;
  const { byteLength } = await request.clone().arrayBuffer();
  return byteLength <= KEEPALIVE_BYTES ? new Request(request, { keepalive: true }) : request;
}

/** Node's locks reach no further than the process. */
function webLocks(): LocksLike | undefined {
  if (isNode()) return undefined;
  const { navigator } = globalThis as { navigator?: { locks?: LocksLike } };
  return ifAllowed(() => navigator?.locks);
}

/**
 * Removes the local copy of an ended run whose time has come, if no session has a lease on it and both sides are the same. Blobs stay:
 * other runs may name them.
 */
async function removeLocalCopy(
  outbox: OutboxStore,
  runId: string,
  keepLocal: KeepLocal,
  clock: Pick<Clock, 'now'>,
): Promise<boolean> {
  if (keepLocal === 'always') return false;
  const { local, syncNotes } = outbox;
  const run = await local.findRun(runId);
  if (run === undefined || run.status === 'running') return false;
  const endedMs = endOf(run.document) ?? run.startedAtMs;
  if (keepLocal !== 'until-acknowledged' && clock.now() < endedMs + keepLocal * DAY_MS)
    return false;
  if ((await local.listLeases([runId])).length > 0) return false;
  // Read first: whatever is written from here on keeps the run.
  const survey = await local.notes?.survey(runId);
  const status = await outbox.sync.status(runId);
  if (survey === undefined || status.pendingRuns > 0 || status.refusedSegments.length > 0)
    return false;
  const remote = await outbox.openRemote();
  const { isEqual } = await verifyRun(local, remote, runId);
  // What the service has only in the memory of its machine may be gone with the next loss of power.
  if (!isEqual || (await remote.isDurable?.()) !== true) return false;
  // What the service has now is noted, so that it is known what is missing if that is ever lost.
  await outbox.compareSent([runId]);
  if ((await local.notes?.forgetRun(runId, survey)) !== true) return false;
  await syncNotes.removeMember(runId);
  return true;
}

function endOf(document: string): number | undefined {
  const ended: unknown = Reflect.get(JSON.parse(document) as object, 'ended_at');
  const ms = typeof ended === 'string' ? Date.parse(ended) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
