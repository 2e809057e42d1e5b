/** The event about rows that a service has lost, recorded in the run once they are there again. */
import { eventTable } from '../records/event.ts';
import { batchOfRows } from '../segment/batch-ops.ts';
import { createSegment } from '../segment/manifest.ts';
import type { NewSegment } from '../store/store.ts';
import type { Loss } from './loss-notes.ts';

/** Type of the event. */
export const SERVICE_LOST_ROWS = 'sync_service_lost_rows';

/** The event as a segment of the run. It has an identity, so that it is recorded once. */
export function lossEvent(runId: string, loss: Loss, service: string, nowMs: number): NewSegment {
  const entries = Object.entries(loss.tables);
  const again = entries.reduce((sum, [, one]) => sum + one.again, 0);
  const missing = entries.reduce((sum, [, one]) => sum + one.missing, 0);
  const tables = Object.fromEntries(
    entries.map(([table, one]) => [table, { sent_again: one.again, missing: one.missing }]),
  );
  const rest =
    missing === 0
      ? 'Nothing is missing.'
      : `${missing} rows are missing for good: they are not stored here.`;
  const message = `The service had lost rows of this run that it had acknowledged, as after a restore from a backup or a loss of power. ${again} rows were sent again. ${rest}`;
  const payload = {
    message,
    service,
    found_at: new Date(loss.foundAtMs).toISOString(),
    rows_sent_again: again,
    rows_missing: missing,
    tables,
  };
  const event = {
    runId,
    timestamp: new Date(nowMs).toISOString(),
    eventType: SERVICE_LOST_ROWS,
    severity: missing === 0 ? ('warning' as const) : ('error' as const),
    step: null,
    epoch: null,
    status: null,
    payload,
  };
  const identity = { runId, table: eventTable.table, writerId: loss.writerId, batchNumber: 0 };
  return createSegment(eventTable, identity, batchOfRows(eventTable, [event]));
}
