/** Letting go of local copies: only of what was read on the service and found to be the same. */
import type { Clock } from '../base/clock.ts';
import type { KeepLocal } from '../store/persistence.ts';
import type { OutboxStore } from './outbox-store.ts';
import { verifyRun } from './verify.ts';

const DAY_MS = 24 * 3600 * 1000;

/**
 * Removes the local copy of an ended run whose time has come, if nobody holds it and both sides are the same. Blobs stay:
 * other runs may name them.
 */
export async function letGo(
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
  // Looked at first: whatever is written from here on keeps the run.
  const survey = await local.notes?.survey(runId);
  const status = await outbox.sync.status(runId);
  if (survey === undefined || status.pendingRuns > 0 || status.refusedSegments.length > 0)
    return false;
  const { isEqual } = await verifyRun(local, await outbox.openRemote(), runId);
  if (!isEqual || (await local.notes?.forgetRun(runId, survey)) !== true) return false;
  await syncNotes.removeMember(runId);
  return true;
}

function endOf(document: string): number | undefined {
  const ended: unknown = Reflect.get(JSON.parse(document) as object, 'ended_at');
  const ms = typeof ended === 'string' ? Date.parse(ended) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
