/**
 * How far a listener has come, as text that stands in the `id` of an event and comes back in `Last-Event-ID`:
 *
 *     run_a=7,metrics:120,events:3;run_b=1,metrics:0
 *
 * For each run its revision, then for each table the sequence number that the next row gets.
 */
import { checkRunId, checkTable } from '../../base/names.ts';
import { SessionStoreError } from '../../base/errors.ts';

/** What a listener knows of a run. */
export type SeenRun = {
  /** 0: nothing yet. */
  readonly revision: number;
  /** By table; the sequence number of the next row. */
  readonly tables: ReadonlyMap<string, number>;
};

const COUNT = /^\d{1,15}$/;

/** The cursor of what was seen of these runs. */
export function encodeCursor(seen: ReadonlyMap<string, SeenRun>): string {
  return [...seen]
    .map(([runId, { revision, tables }]) =>
      [`${runId}=${revision}`, ...[...tables].map(([table, next]) => `${table}:${next}`)].join(','),
    )
    .join(';');
}

/** @throws {SessionStoreError} `rejected` when the text is no cursor */
export function decodeCursor(text: string): ReadonlyMap<string, SeenRun> {
  const seen = new Map<string, SeenRun>();
  if (text === '') return seen;
  try {
    for (const part of text.split(';')) {
      const [head = '', ...rest] = part.split(',');
      const [runId, revision] = pair(head, '=');
      const tables = new Map(rest.map((item) => pair(item, ':')));
      for (const table of tables.keys()) checkTable(table);
      seen.set(checkRunId(runId), { revision, tables });
    }
  } catch (cause) {
    throw new SessionStoreError(
      'rejected',
      'Last-Event-ID must be the id of an event of this stream. Leave it out to begin anew.',
      { details: { field: 'last-event-id', rule: 'the id of an event' }, cause },
    );
  }
  return seen;
}

function pair(text: string, separator: string): readonly [string, number] {
  const at = text.indexOf(separator);
  const count = text.slice(at + 1);
  if (at < 1 || !COUNT.test(count)) throw new RangeError('no cursor');
  return [text.slice(0, at), Number(count)];
}
