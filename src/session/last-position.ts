/** Where the training of a resumed run had got to: what was recorded before this session. */
import { readEvents } from '../read/events.ts';
import { readMetricColumns } from '../read/metric-columns.ts';
import { handleOf } from './run-handle.ts';
import type { TrainingSession } from './training-session.ts';

/** The position of the next step of a training. */
export type NextPosition = {
  readonly nextStep: number;
  /** Undefined before the first epoch has ended. */
  readonly nextEpoch: number | undefined;
};

/**
 * The step after the last one that has a `train/loss` or has ended an epoch, and the epoch after the last one that ended. An epoch that
 * was cut off begins again. Undefined for a session that has not resumed its run: a session that joins a run counts for itself.
 *
 * @throws {SessionStoreError} when the store cannot be read
 */
export async function lastPosition(session: TrainingSession): Promise<NextPosition | undefined> {
  const { isGuest, runId, store } = handleOf(session);
  if (isGuest || session.context.run.resumeCount === 0) return undefined;
  const [losses, ends] = await Promise.all([
    readMetricColumns({ store, runId }, { metricKey: 'train/loss' }),
    readEvents({ store, runId }, { eventType: 'epoch_ended' }),
  ]);
  let step = -1;
  let epoch = -1;
  for (const one of losses.steps) if (one > step) step = one;
  for (const end of ends.records) {
    step = Math.max(step, end.step ?? -1);
    epoch = Math.max(epoch, end.epoch ?? -1);
  }
  return { nextStep: step + 1, nextEpoch: epoch < 0 ? undefined : epoch + 1 };
}
