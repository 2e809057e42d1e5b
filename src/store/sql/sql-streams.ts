/**
 * Streams in SQL: one line for each table of a run, with the counter of its sequence numbers. A transaction that changes the
 * segments of a stream locks its line first, streams of a transaction in the order of their names.
 */
import type { SpaceQuotas } from '../quotas.ts';
import { tableChanged } from '../run-rules.ts';
import {
  numberCell,
  sql,
  sqlOne,
  textCell,
  together,
  type SqlCall,
  type SqlRow,
  type SqlWork,
} from './sql-database.ts';
import { refuseMissing } from './sql-tombstones.ts';
import type { BatchRange } from '../store.ts';

/** The key of a stream by its name. */
export const STREAM_KEY =
  '(SELECT stream_key FROM streams WHERE space = ? AND run_id = ? AND table_name = ?)';

/** Whose tables are changed, and when. */
export type ChangeScope = {
  readonly space: string;
  /** The URI of the store, for messages. */
  readonly where: string;
  readonly nowMs: number;
  /** Refuses what would pass them. Nothing is refused unless given. */
  readonly quotas?: SpaceQuotas | undefined;
};

/** A table of a run. */
export type StreamName = { readonly runId: string; readonly table: string };

/** A stream that is there. */
export type Stream = { readonly key: number; readonly nextSequence: number };

/** A stream, locked, and which of the batches asked for it knows: live segments, and ranges that were merged. */
export type LockedStream = Stream & { readonly taken: readonly BatchRange[] };

/** A stream to be locked, with the batches somebody wants to know about. */
export type StreamRequest = StreamName & {
  readonly batches: readonly BatchRange[];
  /** How often it was emptied when it was last seen: if that is not so any longer, nothing is done. */
  readonly seenCount?: number | undefined;
};

/** The streams of runs that are there, locked, in the order asked for; made where there are none yet. */
export function* lockStreams(
  scope: ChangeScope,
  requests: readonly StreamRequest[],
): SqlWork<readonly LockedStream[]> {
  const { space } = scope;
  const inOrder = [...requests].sort(compareNames);
  for (;;) {
    // Each statement sees what was committed before it began: what is taken is read behind the lock.
    const answers = yield* together(
      inOrder.flatMap((request) => [
        streamCall(space, request, ' FOR UPDATE'),
        ...request.batches.map((range) => takenCall(space, request, range)),
        ...(request.seenCount === undefined ? [] : [replaceCountCall(space, request)]),
      ]),
    );
    const locked = new Map<StreamRequest, LockedStream>();
    let at = 0;
    for (const request of inOrder) {
      const stream = streamOf(answers[at++]?.[0]);
      const taken = request.batches.flatMap((range) =>
        (answers[at++] ?? []).map((row) => takenOf(row, range.writerId)),
      );
      if (request.seenCount !== undefined) {
        const [row] = answers[at++] ?? [];
        const count = row === undefined ? 0 : numberCell(row, 0);
        if (count !== request.seenCount) throw tableChanged(request.runId, request.table, count);
      }
      if (stream !== undefined) locked.set(request, { ...stream, taken });
    }
    if (locked.size === inOrder.length)
      return requests.flatMap((request) => locked.get(request) ?? []);
    yield* makeStreams(
      scope,
      inOrder.filter((request) => !locked.has(request)),
    );
  }
}

/**
 * Locks all tables of a run, before its generation is counted up: appends that are under way end first, and those that come
 * after it see the new one. An append that makes a table locks the run instead.
 */
export function* lockRunStreams(space: string, runId: string): SqlWork<void> {
  const rows = yield sql(
    'SELECT text(table_name) FROM streams WHERE space = ? AND run_id = ?',
    space,
    runId,
  );
  const names = rows.map((row) => ({ runId, table: textCell(row, 0) })).sort(compareNames);
  yield* together(names.map((name) => streamCall(space, name, ' FOR UPDATE')));
}

/** The statement that reads the generation of a run. */
export function generationCall(space: string, runId: string): SqlCall {
  return sqlOne('SELECT generation FROM runs WHERE space = ? AND id = ?', space, runId);
}

/** The stream of a name, if it is there, without a lock. */
export function* findStream(space: string, name: StreamName): SqlWork<Stream | undefined> {
  const [row] = yield streamCall(space, name, '');
  return streamOf(row);
}

function* makeStreams({ space, where }: ChangeScope, names: readonly StreamName[]): SqlWork<void> {
  const runIds = [...new Set(names.map((name) => name.runId))];
  const found = yield* together(
    // Locked: a run that is deleted at the same moment takes the new stream with it, or the append is refused.
    runIds.map((runId) =>
      sqlOne('SELECT 1 FROM runs WHERE space = ? AND id = ? FOR SHARE', space, runId),
    ),
  );
  for (const [i, runId] of runIds.entries())
    if ((found[i] ?? []).length === 0) yield* refuseMissing(space, runId, where);
  yield* together(
    names.map(({ runId, table }) =>
      sql(
        'INSERT INTO streams (space, run_id, table_name, next_sequence) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING',
        space,
        runId,
        table,
      ),
    ),
  );
}

function streamCall(space: string, { runId, table }: StreamName, lock: string): SqlCall {
  return sqlOne(
    `SELECT stream_key, next_sequence FROM streams WHERE space = ? AND run_id = ? AND table_name = ?${lock}`,
    space,
    runId,
    table,
  );
}

function replaceCountCall(space: string, { runId, table }: StreamName): SqlCall {
  return sqlOne(
    `SELECT replace_count FROM stream_replacements WHERE stream_key = ${STREAM_KEY}`,
    space,
    runId,
    table,
  );
}

function takenCall(space: string, { runId, table }: StreamName, range: BatchRange): SqlCall {
  const place = [space, runId, table, range.writerId, range.batchStart, range.batchLast];
  return sql(
    `SELECT batch_number, batch_number FROM segments
     WHERE stream_key = ${STREAM_KEY} AND writer_id = ? AND batch_number >= ? AND batch_number <= ?
     UNION ALL
     SELECT batch_start, batch_last FROM merged_batches
     WHERE stream_key = ${STREAM_KEY} AND writer_id = ? AND batch_last >= ? AND batch_start <= ?`,
    ...place,
    ...place,
  );
}

function streamOf(row: SqlRow | undefined): Stream | undefined {
  return row === undefined
    ? undefined
    : { key: numberCell(row, 0), nextSequence: numberCell(row, 1) };
}

function takenOf(row: SqlRow, writerId: string): BatchRange {
  return { writerId, batchStart: numberCell(row, 0), batchLast: numberCell(row, 1) };
}

function compareNames(a: StreamName, b: StreamName): number {
  if (a.runId !== b.runId) return a.runId < b.runId ? -1 : 1;
  return a.table === b.table ? 0 : a.table < b.table ? -1 : 1;
}
