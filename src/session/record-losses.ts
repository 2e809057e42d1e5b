/** Events about earlier sessions that ended unexpectedly, recorded in their runs by the next session. */
import type { Clock } from '../base/clock.ts';
import { isQuarkError } from '../base/errors.ts';
import { eventTable } from '../records/event.ts';
import { batchOfRows } from '../segment/batch-ops.ts';
import { createSegment } from '../segment/manifest.ts';
import type { LossReport } from '../store/row-spill.ts';
import type { Store } from '../store/store.ts';
import { createEvent } from './event-logger.ts';

/**
 * Records what tabs and workers that have ended left behind. Of two that start at once, both may: the events have an
 * identity, and are written once.
 *
 * @throws {SessionStoreError}
 */
export async function recordLosses(store: Store, clock: Clock): Promise<void> {
  for (const report of (await store.spill?.listReports()) ?? []) {
    const events = eventsOf(report, clock);
    const identity = { runId: report.runId, table: eventTable.table, writerId: report.owner };
    try {
      await store.appendSegments(
        events.map((event, batchNumber) =>
          createSegment(eventTable, { ...identity, batchNumber }, batchOfRows(eventTable, [event])),
        ),
      );
    } catch (error) {
      // There is no run left to record it in.
      if (!isQuarkError(error, 'run_not_found')) throw error;
    }
    await store.spill?.removeReport(report);
  }
}

function eventsOf({ gapMs, missing, recovered, runId, savedAtMs }: LossReport, clock: Clock) {
  const events = Object.entries(missing).map(([table, count]) => {
    const message = `${count} rows of ${table} were lost when a page was closed: the browser had no room for them.`;
    return createEvent({ runId, clock }, 'records_dropped', { payload: { table, count, message } });
  });
  if (gapMs === 0) return events;
  const savedAt = savedAtMs === null ? null : new Date(savedAtMs).toISOString();
  const rows = Object.values(recovered).reduce((sum, count) => sum + count, 0);
  const message = `A tab or worker ended while it recorded. ${rows} rows that it had not stored yet were recovered. Rows that it recorded after ${savedAt ?? 'its last flush'} may be missing: those of its last ${gapMs} ms, at most.`;
  const payload = { message, rows, tables: { ...recovered }, saved_at: savedAt, gap_ms: gapMs };
  return [...events, createEvent({ runId, clock }, 'rows_recovered', { payload })];
}
