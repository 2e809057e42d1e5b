/** Events, read back. Apart from the other tables, which a page that only records does not read. */
import { eventTable, type EventRecord } from '../records/event.ts';
import type { EventSeverity } from '../records/literals.ts';
import type { PositionFilter } from './filters.ts';
import { readRecords, type RecordsRead } from './records.ts';
import type { RunSource } from './scan.ts';

/** Which events to read. All conditions are joined by "and". */
export type EventFilter = PositionFilter & {
  readonly eventType?: string | undefined;
  /** Any of these types. */
  readonly eventTypes?: readonly string[] | undefined;
  readonly severity?: EventSeverity | undefined;
};

/** Events in the order they were persisted. @throws {QuarkError} `invalid_input` naming the filter */
export function readEvents(
  run: RunSource,
  filter: EventFilter = {},
): Promise<RecordsRead<EventRecord>> {
  return readRecords(run, eventTable, filter, {
    columns: ['eventType', 'severity'],
    lists: { eventTypes: 'eventType' },
  });
}
