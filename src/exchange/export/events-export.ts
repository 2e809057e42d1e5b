/** Events for other programs. */
import type { EventFilter } from '../../read/events.ts';
import type { RunReader } from '../../read/run-reader.ts';

/** Events in one piece of an export. */
const ROWS_PER_CHUNK = 2_000;

/**
 * The events of a run as JSON lines: one record a line in the persisted form, with snake_case names and instants as ISO 8601.
 *
 * @yields whole lines
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { exportEventsJsonLines } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * for await (const lines of exportEventsJsonLines(reader, { eventType: 'run_ended' })) console.log(lines);
 * ```
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
