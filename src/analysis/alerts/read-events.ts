/** Events of some types of a stored run, as columns. */
import { readRecords } from '../../read/records.ts';
import type { RunSource } from '../../read/scan.ts';
import { eventTable, type EventRecord } from '../../records/event.ts';
import type { EventColumns } from '../columns/run-columns.ts';

/** The events of a type of a stored run, in the order in which they came. */
export async function readEventsOf(run: RunSource, eventType: string): Promise<EventColumns> {
  const columns = ['eventType'] as const;
  const { records } = await readRecords(run, eventTable, { eventType }, { columns });
  return columnsOf(records);
}

function columnsOf(events: readonly EventRecord[]): EventColumns {
  return {
    rowCount: events.length,
    eventTypes: events.map(({ eventType }) => eventType),
    severities: events.map(({ severity }) => severity),
    steps: Float64Array.from(events, ({ step }) => step ?? Number.NaN),
    timesMs: Float64Array.from(events, ({ timestamp }) => Date.parse(timestamp)),
    payloads: events.map(({ payload }) => JSON.stringify(payload)),
  };
}
