/**
 * Which streams have small segments to merge, as rows that appends and ends of runs add: a merge reads a few rows
 * and never counts segments. A row is claimed for some time; of a claim that its holder does not come back to, somebody
 * else takes the stream over. Two that merge the same stream do no harm: the store lets one of two merges through.
 */
import {
  numberCell,
  placeholders,
  sql,
  textCell,
  together,
  type SqlCall,
  type SqlWork,
} from './sql-database.ts';
import type { SegmentIdentity } from '../store.ts';

/** A stream is due when a writer has added so many segments to it. */
const MANY_SEGMENTS = 64;
/** So many are worth a merge when nobody is in a hurry. */
const SOME_SEGMENTS = 16;
/** How long some segments wait for more of them. */
const SOME_WAIT_MS = 60 * 60 * 1000;
/** How long a run that has ended waits for the last of its segments. */
const END_WAIT_MS = 60 * 1000;

const LONGEST_CLAIM_MS = 24 * 60 * 60 * 1000;

/** A stream to merge. */
export type DueStream = {
  readonly streamKey: number;
  readonly space: string;
  readonly runId: string;
  readonly table: string;
};

/**
 * When the stream of a segment that is appended has to be merged, or undefined where its number says nothing: told from
 * the number alone, most appends add no row.
 */
export function dueAfterAppend(
  { batchNumber }: Pick<SegmentIdentity, 'batchNumber'>,
  nowMs: number,
): number | undefined {
  if ((batchNumber + 1) % MANY_SEGMENTS === 0) return nowMs;
  if (batchNumber === 0 || (batchNumber + 1) % SOME_SEGMENTS === 0) return nowMs + SOME_WAIT_MS;
  return undefined;
}

/** The statement that makes a stream due by then, at the latest. */
export function queueStream(streamKey: number, dueAtMs: number): SqlCall {
  return sql(
    `INSERT INTO merge_queue (stream_key, due_at_ms, claimed_by, claimed_until_ms) VALUES (?, ?, '', 0)
     ON CONFLICT (stream_key) DO UPDATE SET due_at_ms = excluded.due_at_ms
       WHERE merge_queue.due_at_ms > excluded.due_at_ms`,
    streamKey,
    dueAtMs,
  );
}

/** The statement that makes all streams of a run due, once it has ended. */
export function queueRun(space: string, runId: string, nowMs: number): SqlCall {
  return sql(
    `INSERT INTO merge_queue (stream_key, due_at_ms, claimed_by, claimed_until_ms)
     SELECT stream_key, CAST(? AS DOUBLE PRECISION), '', 0 FROM streams WHERE space = ? AND run_id = ?
     ORDER BY stream_key
     ON CONFLICT (stream_key) DO UPDATE SET due_at_ms = excluded.due_at_ms
       WHERE merge_queue.due_at_ms > excluded.due_at_ms`,
    nowMs + END_WAIT_MS,
    space,
    runId,
  );
}

/**
 * Claims some of the streams that are due. Due again by itself at `untilMs`. Rows are taken one by one in the order of
 * their keys, as appends take them, and some of those that wait longest at random: several processes seldom meet.
 */
export function* claimStreams(
  holder: string,
  nowMs: number,
  untilMs: number,
  count: number,
): SqlWork<readonly DueStream[]> {
  // A claim that lasts longer than claims do was made by a clock that was ahead.
  const farMs = nowMs + LONGEST_CLAIM_MS;
  const due = yield sql(
    `SELECT stream_key FROM merge_queue
     WHERE due_at_ms <= ? AND (claimed_until_ms <= ? OR claimed_until_ms > ?)
     ORDER BY due_at_ms LIMIT ${4 * count}`,
    nowMs,
    nowMs,
    farMs,
  );
  const chosen = due
    .map((row) => ({ key: numberCell(row, 0), lot: Math.random() }))
    .sort((a, b) => a.lot - b.lot)
    .slice(0, count)
    .map(({ key }) => key)
    .sort((a, b) => a - b);
  if (chosen.length === 0) return [];
  const claimed = yield* together(
    chosen.map((key) =>
      sql(
        `UPDATE merge_queue SET claimed_by = ?, claimed_until_ms = ?, due_at_ms = ?
         WHERE stream_key = ? AND ((due_at_ms <= ? AND (claimed_until_ms <= ? OR claimed_until_ms > ?))
           OR (claimed_by = ? AND claimed_until_ms = ?)) RETURNING stream_key`,
        holder,
        untilMs,
        untilMs,
        key,
        nowMs,
        nowMs,
        farMs,
        holder,
        untilMs,
      ),
    ),
  );
  const keys = claimed.flatMap((rows) => rows.map((row) => numberCell(row, 0)));
  if (keys.length === 0) return [];
  const streams = yield sql(
    `SELECT stream_key, text(space), text(run_id), text(table_name) FROM streams
     WHERE stream_key IN (${placeholders(keys)})`,
    ...keys,
  );
  return streams.map((row) => ({
    streamKey: numberCell(row, 0),
    space: textCell(row, 1),
    runId: textCell(row, 2),
    table: textCell(row, 3),
  }));
}

/**
 * Ends a claim: the stream is due again at `dueAtMs`, or not at all when that is null. What was appended meanwhile, and
 * made the stream due before the end of the claim, stays so.
 */
export function* settleStream(
  streamKey: number,
  holder: string,
  untilMs: number,
  dueAtMs: number | null,
): SqlWork<void> {
  if (dueAtMs === null) {
    yield sql(
      'DELETE FROM merge_queue WHERE stream_key = ? AND claimed_by = ? AND claimed_until_ms = ? AND due_at_ms >= ?',
      streamKey,
      holder,
      untilMs,
      untilMs,
    );
  }
  yield sql(
    `UPDATE merge_queue SET claimed_by = '', claimed_until_ms = 0,
       due_at_ms = CASE WHEN due_at_ms < ? THEN due_at_ms ELSE ? END
     WHERE stream_key = ? AND claimed_by = ? AND claimed_until_ms = ?`,
    untilMs,
    dueAtMs ?? untilMs,
    streamKey,
    holder,
    untilMs,
  );
}

/** How many streams are due, up to a bound. */
export function* countDue(nowMs: number, bound: number): SqlWork<number> {
  const rows = yield sql(
    `SELECT stream_key FROM merge_queue WHERE due_at_ms <= ? LIMIT ${bound}`,
    nowMs,
  );
  return rows.length;
}

/**
 * Claims a chore that one process at a time does, if nobody has a claim and it was not done within `everyMs`.
 */
export function* claimChore(
  name: string,
  holder: string,
  nowMs: number,
  untilMs: number,
  everyMs: number,
): SqlWork<boolean> {
  yield sql(
    `INSERT INTO chores (name, claimed_by, claimed_until_ms, done_at_ms) VALUES (?, '', 0, 0)
     ON CONFLICT (name) DO NOTHING`,
    name,
  );
  const rows = yield sql(
    `UPDATE chores SET claimed_by = ?, claimed_until_ms = ?
     WHERE name = ? AND (claimed_by = ? OR claimed_until_ms <= ? OR claimed_until_ms > ?)
       AND (done_at_ms <= ? OR done_at_ms > ?) RETURNING name`,
    holder,
    untilMs,
    name,
    holder,
    nowMs,
    nowMs + LONGEST_CLAIM_MS,
    nowMs - everyMs,
    nowMs,
  );
  return rows.length > 0;
}

/** Notes that a chore was done, and lets it go. */
export function* settleChore(name: string, holder: string, doneAtMs: number): SqlWork<void> {
  yield sql(
    `UPDATE chores SET claimed_by = '', claimed_until_ms = 0, done_at_ms = ? WHERE name = ? AND claimed_by = ?`,
    doneAtMs,
    name,
    holder,
  );
}
