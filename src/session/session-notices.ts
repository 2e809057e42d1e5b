/** Events that a session records about itself. */
import { eventTable } from '../records/event.ts';
import type { EventSeverity } from '../records/literals.ts';
import type { JsonObject } from '../base/json.ts';
import type { RefusedSegment } from '../store/sync-control.ts';
import type { Notice, RunHandle } from './run-handle.ts';

function noticeOf(eventType: string, severity: EventSeverity, payload: JsonObject): Notice {
  return { eventType, severity, step: null, epoch: null, payload };
}

/** Asks the training to stop, once: aborts its signal and records why. */
export function askToStop(
  session: Pick<RunHandle, 'notify'>,
  abort: AbortController,
  reason: string,
): void {
  if (abort.signal.aborted) return;
  const message = `Asked to stop: ${reason}.`;
  session.notify(noticeOf('stop_requested', 'warning', { message, reason }));
  abort.abort(new DOMException(message, 'AbortError'));
}

/** Another session has taken the run over. */
export function sessionFenced(error: Error, holder: string, generation: number): Notice {
  return noticeOf('session_fenced', 'warning', {
    message: error.message,
    session: holder,
    generation,
  });
}

/** Records that the service has rejected a segment permanently. */
export function noticeRefused(session: Pick<RunHandle, 'notify'>, segment: RefusedSegment): void {
  const { batchNumber, message, reason, rowCount, table, writerId } = segment;
  // An event about an event that was refused would be refused as well, and so on.
  if (table === eventTable.table) return;
  const payload = {
    table,
    writer_id: writerId,
    batch_number: batchNumber,
    row_count: rowCount,
    reason,
    message,
  };
  session.notify(noticeOf('sync_segment_refused', 'error', payload));
}

/** The stored run was removed during the session, with the number of lost rows by table. */
export function storageCleared(
  runId: string,
  uri: string,
  rows: ReadonlyMap<string, number>,
): { readonly notice: Notice; readonly message: string; readonly lostRows: number } {
  const lostRows = [...rows.values()].reduce((sum, count) => sum + count, 0);
  const message = `Run ${runId} was removed from ${uri} while it was being recorded, perhaps because the browser's data was cleared. It has begun anew with what was in memory; ${lostRows} stored rows are gone.`;
  const payload = {
    message,
    lost_rows: lostRows,
    lost_rows_by_table: Object.fromEntries(rows),
  };
  return { notice: noticeOf('storage_cleared', 'error', payload), message, lostRows };
}
