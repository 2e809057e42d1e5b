/** Events that a session records about itself. */
import type { EventSeverity } from '../records/literals.ts';
import type { JsonObject } from '../base/json.ts';
import type { RefusedSegment } from '../store/sync-control.ts';
import type { Notice } from './run-handle.ts';

function noticeOf(eventType: string, severity: EventSeverity, payload: JsonObject): Notice {
  return { eventType, severity, step: null, epoch: null, payload };
}

/** The training was asked to stop. */
export function stopRequested(message: string, reason: string): Notice {
  return noticeOf('stop_requested', 'warning', { message, reason });
}

/** Another session has taken the run over. */
export function sessionFenced(error: Error, holder: string, generation: number): Notice {
  return noticeOf('session_fenced', 'warning', {
    message: error.message,
    session: holder,
    generation,
  });
}

/** The service has rejected a segment permanently. */
export function segmentRefused(segment: RefusedSegment): Notice {
  const { batchNumber, message, reason, rowCount, table, writerId } = segment;
  return noticeOf('sync_segment_refused', 'error', {
    table,
    writer_id: writerId,
    batch_number: batchNumber,
    row_count: rowCount,
    reason,
    message,
  });
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
