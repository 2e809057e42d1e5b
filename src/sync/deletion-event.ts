/** The event about a run that was deleted at the service, recorded in the copy here. */
import { eventTable } from '../records/event.ts';
import { batchOfRows } from '../segment/batch-ops.ts';
import { createSegment } from '../segment/manifest.ts';
import type { NewSegment } from '../store/store.ts';

/** Type of the event. */
export const SERVICE_DELETED_RUN = 'sync_service_deleted_run';

/** The event as a segment of the run. Its identity is always the same, so that it is recorded once. */
export function deletionEvent(
  runId: string,
  key: string,
  service: string,
  nowMs: number,
): NewSegment {
  const event = {
    runId,
    timestamp: new Date(nowMs).toISOString(),
    eventType: SERVICE_DELETED_RUN,
    severity: 'warning' as const,
    step: null,
    epoch: null,
    status: null,
    payload: {
      message:
        'This run was deleted at the service. Nothing of it is sent any more; this copy goes on. Delete it here, too, or have it restored at the service.',
      service,
    },
  };
  const identity = {
    runId,
    table: eventTable.table,
    writerId: `sync_deleted_${key}`,
    batchNumber: 0,
  };
  return createSegment(eventTable, identity, batchOfRows(eventTable, [event]));
}
