/** Events for other programs. */
import type { EventFilter } from '../../read/events.ts';
import type { RunReader } from '../../read/run-reader.ts';

/** Events in one piece of an export. */
const ROWS_PER_CHUNK = 2_000;

/**
 * The events of a run as JSON lines: one record a line in the persisted form.
 *
 * @yields whole lines
 * @throws {QuarkError} `invalid_input` naming the filter
 */
export async function* exportEventsJsonLines(
  reader: RunReader,
  filter: EventFilter = {},
): AsyncGenerator<string, void, undefined> {
  const records = await reader.readEvents(filter);
  for (let from = 0; from < records.length; from += ROWS_PER_CHUNK) {
    const piece = records.slice(from, from + ROWS_PER_CHUNK);
    yield piece.map((record) => `${JSON.stringify(record.toDict())}\n`).join('');
  }
}
