/**
 * Taking over a run that another session had. The change that makes the run running again counts its generation up, by
 * compare-and-set: of any number of sessions that try at once, exactly one succeeds, and all earlier sessions are fenced.
 *
 * Leases say whether a session is live. A lease ends by the clock of the store, which may be wrong: where it ended long ago (more than a
 * minute, and more than it lasts), or ends far ahead, it is watched for as long as a live session takes to renew it. What is
 * renewed meanwhile is live.
 */
import type { Clock } from '../base/clock.ts';
import type { InvalidRunStateError } from '../base/errors.ts';
import type { RunStatus } from '../records/literals.ts';
import type { RunRecord } from '../records/run.ts';
import type { LapsedLease } from '../records/shapes/lease.ts';
import { generationOf } from '../records/shapes/run.ts';
import type { Lease, Store } from '../store/store.ts';
import type { OwnClaim } from './platforms/tab-token.ts';
import { changeRun, loadRun, type LoadedRun } from './run-lifecycle.ts';
import { ATTACH, checkResumable, notResumable } from './run-state.ts';

/** A live session renews its lease every third of its duration; timers may be late. */
const RENEWAL_SHARE = 0.4;
/** Duration of leases of before it was stored, in milliseconds. */
const UNKNOWN_TTL_MS = 75_000;
/** A lease that ended within this time is not doubted: clocks of machines differ by less, in milliseconds. */
const PLAUSIBLE_MS = 60_000;
/** Reads of a lease that is watched. */
const READS = 10;

/** Who takes over what. */
export type Taker = {
  readonly store: Store;
  readonly runId: string;
  /** Name of the new session in leases. */
  readonly holder: string;
  readonly ttlMs: number;
  readonly clock: Clock;
  /** What this tab, or the one that it is a copy of, had of the run before this page was loaded. */
  readonly own?: OwnClaim | undefined;
};

/**
 * Makes the run running again, under the next generation.
 *
 * @throws {RunNotFoundError}
 * @throws {InvalidRunStateError} when the run is completed, when a live session has it, or when another session was first
 */
export async function takeOver(
  taker: Taker,
): Promise<LoadedRun & { readonly previous: RunStatus }> {
  const { clock, holder, runId, store, ttlMs } = taker;
  await store.sync?.catchUp(runId);
  const before = await loadRun(store, runId);
  await checkFree(taker, before);
  await store.renewLease(runId, holder, ttlMs);
  const generation = generationOf(before.stored) + 1;
  let previous: RunStatus = 'running';
  // Leases are not read again: each of two who try at once would see that of the other.
  const { run, stored } = await changeRun(
    store,
    runId,
    clock.now(),
    (current, found) => {
      const isFirst =
        generationOf(found) + 1 === generation && current.resumeCount === before.run.resumeCount;
      if (!isFirst) throw wasTaken(taker, current);
      checkResumable(current, false);
      previous = current.status;
      return {
        status: 'running',
        endedAt: null,
        statusReason: null,
        resumeCount: current.resumeCount + 1,
      };
    },
    generation,
  );
  return { run, stored, previous };
}

/** @throws {InvalidRunStateError} when the run cannot be taken over, or a live session has it */
async function checkFree(taker: Taker, { run, stored }: LoadedRun): Promise<void> {
  if (run.status !== 'running') {
    checkResumable(run, false);
    return;
  }
  const { own, runId, store } = taker;
  const leases = await store.listLeases([runId]);
  const generation = generationOf(stored);
  const isOwn =
    own?.hasLeft === true &&
    own.generation === generation &&
    leases.every(({ holder }) => holder === own.holder);
  if (isOwn || !(leases.length > 0 || (await isRenewed(taker)))) return;
  if (own !== undefined) {
    if (own.generation < generation) throw wasTaken(taker, run);
    if (!own.hasLeft && leases.some(({ holder }) => holder === own.holder)) throw isCopy(run);
  }
  checkResumable(run, true);
}

/** Whether a session renews a lease that seems to have lapsed: it is live, and a clock is wrong. */
async function isRenewed({ clock, runId, store }: Taker): Promise<boolean> {
  const lapsed = (await store.lapsedLeases?.(runId)) ?? [];
  const doubtful = lapsed.filter(isDoubtful);
  if (doubtful.length === 0) return false;
  const seen = new Map(lapsed.map(({ expiresAtMs, holder }) => [holder, expiresAtMs]));
  const ttlMs = Math.max(...doubtful.map((lease) => lease.ttlMs ?? UNKNOWN_TTL_MS));
  for (let read = 0; read < READS; read++) {
    await new Promise<void>((resolve) => {
      clock.after((ttlMs * RENEWAL_SHARE) / READS, resolve);
    });
    const now: readonly Lease[] = [
      ...((await store.lapsedLeases?.(runId)) ?? []),
      ...(await store.listLeases([runId])),
    ];
    if (now.some(({ expiresAtMs, holder }) => seen.get(holder) !== expiresAtMs)) return true;
  }
  return false;
}

/** Whether a lease may only seem to have lapsed, because a clock is wrong. */
function isDoubtful({ endedMs, ttlMs }: LapsedLease): boolean {
  return ttlMs === undefined || endedMs < 0 || endedMs > Math.max(ttlMs, PLAUSIBLE_MS);
}

function wasTaken({ own }: Taker, run: RunRecord): InvalidRunStateError {
  const what =
    own === undefined
      ? 'was taken over by another session at the same moment, and cannot be resumed here.'
      : 'was recorded in this tab, and another session has resumed it since. A copy of this tab can do so, too: the first gets the run.';
  return notResumable(run, 'taken_over', `${what} ${ATTACH}`);
}

function isCopy(run: RunRecord): InvalidRunStateError {
  return notResumable(
    run,
    'duplicated_tab',
    `is being written by another tab, of which this one is a copy, and goes on there. ${ATTACH} If that tab crashed, its lease lapses by itself: try again then.`,
  );
}
