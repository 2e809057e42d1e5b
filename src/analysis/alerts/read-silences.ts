/** Silences of a stored run. */
import { readRecords } from '../../read/records.ts';
import type { RunSource } from '../../read/scan.ts';
import { eventTable, type EventRecord } from '../../records/event.ts';
import type { EventColumns } from '../columns/run-columns.ts';
import { SILENCE_EVENTS, silencesOf, type Silence } from './silences.ts';

/** What was said of the alerts of a stored run. */
export async function readSilences(run: RunSource): Promise<readonly Silence[]> {
  return silencesOf(await readEventsOf(run, Object.values(SILENCE_EVENTS)));
}

/** The events of some types of a stored run, in the order in which they came. */
export async function readEventsOf(
  run: RunSource,
  eventTypes: readonly string[],
): Promise<EventColumns> {
  const events: EventRecord[] = [];
  for (const eventType of eventTypes) {
    const { records } = await readRecords(
      run,
      eventTable,
      { eventType },
      { columns: ['eventType'] },
    );
    events.push(...records);
  }
  events.sort((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
  return columnsOf(events);
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
