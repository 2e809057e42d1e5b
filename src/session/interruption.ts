/** The end of a session whose process was asked to stop, or whose page is closed. */
import type { Clock } from '../base/clock.ts';
import { isStoreError } from '../base/errors.ts';
import { loadPart } from '../base/runtime.ts';
import type { EventRecord } from '../records/event.ts';
import type { Store } from '../store/store.ts';
import { endEvent } from './end-event.ts';
import { createEvent } from './event-logger.ts';
import type { Leaving } from './platforms/platform.ts';
import type { EventQueue } from './event-queue.ts';
import type { SessionCore } from './session-core.ts';
import type { RunSummaries } from './run-summaries.ts';
import type { SessionRun } from './session-run.ts';

/** Stops the training, and ends the run of an open session as interrupted. */
export async function endInterrupted(
  session: SessionCore,
  {
    abort,
    ending,
  }: { readonly abort: AbortController; readonly ending: Promise<unknown> | undefined },
  reason: string,
): Promise<void> {
  abort.abort(new DOMException(`Interrupted: ${reason}.`, 'AbortError'));
  try {
    if (ending !== undefined) {
      // The run is all but over: let it end as it was going to.
      await ending;
      return;
    }
    await session.record(interruptionEvent(session, reason));
    if (session.isGuest) await session.close();
    else await session.end('interrupted', false);
  } catch (error) {
    // The store refused the last words. What was acknowledged is there, and the lease will lapse.
    if (session.strictMode && !isStoreError(error)) throw error;
  }
}

/** An interruption, as an event says it. */
function interruptionEvent(session: SessionCore, reason: string): EventRecord {
  const payload = { message: `Interrupted: ${reason}.`, identifier: 'Warning', reason };
  return createEvent(session, 'runtime_interruption', { severity: 'warning', payload });
}

/** What a session leaves behind. */
type LeftParts = {
  readonly events: EventQueue;
  readonly run: SessionRun;
  readonly summaries: RunSummaries;
};

/**
 * Leaves a session as its page or process ends: nothing asynchronous can follow.
 *
 * @param leaving why a process left an open run; undefined for a page, which may come back
 */
export function leave(session: SessionCore, parts: LeftParts, leaving: Leaving | undefined): void {
  const isOwn = session.isOpen && !session.isGuest && session.fenced === undefined;
  if (isOwn && leaving !== undefined) leaveProcess(session, parts, leaving);
  leavePage(session, parts, isOwn && session.interruption !== undefined);
}

/** Says why the process left an open run, and where the store writes at once, that the run is over. */
function leaveProcess(
  session: SessionCore,
  { events, run, summaries }: LeftParts,
  { reason, uncaught }: Leaving,
): void {
  const { store } = session;
  const isFailure = session.interruption === undefined && uncaught !== undefined;
  const status = isFailure ? 'failed' : 'interrupted';
  // Otherwise it was said already, and the process ended before the run did.
  if (isFailure) events.add(endEvent(session, uncaught.error, status));
  else if (session.interruption === undefined) events.add(interruptionEvent(session, reason));
  if (store.updateRunNow === undefined) return;
  events.queueLastWord(status);
  events.flushNow();
  try {
    run.changeNow(store, (current) => ({
      ...events.endOf(status),
      ...summaries.changeOf(current),
    }));
  } catch {
    // The store refuses, or another session has the run: its lease will lapse.
  }
}

/**
 * Leaves what is buffered to the next start. Of a page that is closed (`endsRun`), the end of its run as well; a page that goes to the
 * back/forward cache may come back.
 */
function leavePage(session: SessionCore, { events, run }: LeftParts, endsRun: boolean): void {
  const lastWord = endsRun ? events.lastWordOf('interrupted') : null;
  events.flushNow(lastWord);
  session.store.spill?.left(lastWord === null ? undefined : run.ended(events.endOf('interrupted')));
}

/** Says in their runs what sessions that ended so have left behind; the next session does what this one cannot. */
export async function noticeLosses(store: Store, clock: Clock): Promise<void> {
  if (((await store.spill?.listReports()) ?? []).length === 0) return;
  const { recordLosses } = await loadPart(
    'Saying what was lost',
    async () => import('./record-losses.ts'),
  );
  await recordLosses(store, clock);
}
