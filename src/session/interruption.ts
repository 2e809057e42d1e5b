/** The end of a session whose process was asked to stop, or whose page is closed. */
import { isStoreError } from '../base/errors.ts';
import { createEvent } from './event-logger.ts';
import type { EventQueue } from './event-queue.ts';
import type { SessionCore } from './session-core.ts';
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
  const message = `Interrupted: ${reason}.`;
  abort.abort(new DOMException(message, 'AbortError'));
  try {
    if (ending !== undefined) {
      // The run is all but over: let it end as it was going to.
      await ending;
      return;
    }
    const payload = { message, identifier: 'Warning', reason };
    await session.record(
      createEvent(session, 'runtime_interruption', { severity: 'warning', payload }),
    );
    if (session.isGuest) await session.close();
    else await session.end('interrupted', false);
  } catch (error) {
    // The store refused the last words. What was acknowledged is there, and the lease will lapse.
    if (session.strictMode && !isStoreError(error)) throw error;
  }
}

/**
 * Leaves what is buffered to the next start, as a page or process ends. Of a page that is closed (`isEnding`), the end of its run as well;
 * a page that goes to the back/forward cache may come back.
 */
export function leavePage(
  session: SessionCore,
  events: EventQueue,
  run: SessionRun,
  isEnding: boolean,
): void {
  const endsRun = isEnding && session.isOpen && !session.isGuest && session.fenced === undefined;
  const lastWord = endsRun ? events.lastWordOf('interrupted') : null;
  events.flushNow(lastWord);
  session.store.spill?.left(lastWord === null ? undefined : run.ended(events.endOf('interrupted')));
}
