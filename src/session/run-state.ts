/** Which changes of status are allowed. */
import { InvalidRunStateError } from '../base/errors.ts';
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
      throw new InvalidRunStateError(
        `Run ${id} is being written by another session and cannot be resumed. To write to it from here too, use TrainingSession.attachRun().`,
        { runId: id, status },
      );
    case 'completed':
      throw new InvalidRunStateError(
        `Run ${id} is completed and cannot be resumed. Start a new run with parentRunId: "${id}" to continue from it.`,
        {
          runId: id,
          status,
        },
      );
  }
}

/**
 * Only a running run takes more writers or ends.
 *
 * @throws {InvalidRunStateError}
 */
export function checkRunning(run: RunRecord, action: string): void {
  if (run.status === 'running') return;
  throw new InvalidRunStateError(
    `Run ${run.id} has ended as "${run.status}" and cannot be ${action}. Continue it with resumeRun().`,
    {
      runId: run.id,
      status: run.status,
    },
  );
}
