/** Which changes of status are allowed. */
import { InvalidRunStateError, type ResumeRefusal } from '../base/errors.ts';
import type { RunRecord } from '../records/run.ts';

/**
 * A run may be resumed when it was interrupted or failed, or has the status "running" without a live lease.
 *
 * @throws {InvalidRunStateError}
 */
export function checkResumable(run: RunRecord, isLive: boolean): void {
  const { id, status } = run;
  switch (status) {
    case 'interrupted':
    case 'failed':
      return;
    case 'running':
      if (!isLive) return;
      throw notResumable(
        run,
        'live',
        `is being written by another session and cannot be resumed. ${ATTACH} If that session was killed, its lease lapses by itself: try again then.`,
      );
    case 'completed':
      throw notResumable(
        run,
        'completed',
        `is completed and cannot be resumed. Start a new run with parentRunId: "${id}" to continue from it.`,
      );
  }
}

/** What a session can do that may not resume a run. */
export const ATTACH = 'To write to it from here too, use TrainingSession.attachRun().';

/** The error of a run that cannot be resumed. @param what follows the name of the run */
export function notResumable(
  { id, status }: Pick<RunRecord, 'id' | 'status'>,
  reason: ResumeRefusal,
  what: string,
): InvalidRunStateError {
  return new InvalidRunStateError(`Run ${id} ${what}`, { runId: id, status, reason });
}

/** How a run that has ended goes on: a completed one cannot be resumed. */
export function continuation(status: string): string {
  return status === 'completed'
    ? 'Continue from it in a new run, with its id as parentRunId.'
    : 'Continue it with resumeRun().';
}

/**
 * Only a running run takes more writers or ends.
 *
 * @throws {InvalidRunStateError}
 */
export function checkRunning(run: RunRecord, action: string): void {
  if (run.status === 'running') return;
  throw new InvalidRunStateError(
    `Run ${run.id} has ended as "${run.status}" and cannot be ${action}. ${continuation(run.status)}`,
    {
      runId: run.id,
      status: run.status,
    },
  );
}
