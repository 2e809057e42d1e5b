/** Whether notes were changed by somebody else while they were being written. */
import { openRun } from 'quark-sdk';
import type { ChangeTarget } from '../../changes/run-acts.ts';

/**
 * The notes that the run has now, where they are not what they were; undefined where they are, or where that cannot be read: saving then
 * says why it failed.
 *
 * @param before the notes that writing began from; '' for none
 */
export async function changedNotes(
  { runId, store }: Pick<ChangeTarget, 'runId' | 'store'>,
  before: string,
): Promise<string | undefined> {
  try {
    const { run } = await openRun(store, runId);
    const now = run.notes ?? '';
    return now === before ? undefined : now;
  } catch {
    return undefined;
  }
}
