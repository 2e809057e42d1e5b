/** Notes, the overview and forgetting in SQL, for one space. */
import type { Clock } from '../../base/clock.ts';
import { readDocumentNote } from '../document-notes.ts';
import type { SpaceQuotas } from '../quotas.ts';
import { isUnchanged } from '../run-rules.ts';
import { removeStreams } from './sql-deletion.ts';
import {
  AFTER_ASCII,
  numberCell,
  sql,
  sqlOne,
  textCell,
  type SqlDatabase,
  type SqlValue,
  type SqlWork,
} from './sql-database.ts';
import { checkQuotas, countBytes, countRun } from './sql-usage.ts';
import type { StoreNote, StoreNotes, StoreSurvey } from '../store.ts';

/** The notes of a space. */
export function sqlNotes(
  database: SqlDatabase,
  space: string,
  clock: Pick<Clock, 'now'>,
  quotas: () => Promise<SpaceQuotas | undefined> = async () => undefined,
): StoreNotes {
  return {
    read: (name) => database.read(() => readNote(space, name)),
    write: async (name, text, expected) => {
      const projectId = readDocumentNote(name)?.projectId;
      if (projectId === undefined)
        return database.transaction(() => writeNote(space, name, text, expected));
      const found = await quotas();
      return database.transaction(() =>
        writeDocumentNote({ space, projectId, quotas: found }, name, text, expected),
      );
    },
    list: (prefix) => database.read(() => listNotes(space, prefix)),
    survey: (runId) => database.read(() => sqlSnapshot(space, runId)),
    forgetRun: (runId, expected) =>
      database.transaction(() => forgetRun(space, runId, expected, clock.now())),
  };
}

function* readNote(space: string, name: string): SqlWork<string | undefined> {
  const [row] = yield sqlOne(
    'SELECT text(body) FROM notes WHERE space = ? AND name = ?',
    space,
    name,
  );
  return row === undefined ? undefined : textCell(row, 0);
}

function* writeNote(
  space: string,
  name: string,
  text: string | null,
  expected: string | null | undefined,
): SqlWork<boolean> {
  if (text === null) {
    if (expected === null) return (yield* readNote(space, name)) === undefined;
    const isAny = expected === undefined;
    const gone = yield sql(
      `DELETE FROM notes WHERE space = ? AND name = ?${isAny ? '' : ' AND body = ?'} RETURNING 1`,
      space,
      name,
      ...(isAny ? [] : [expected]),
    );
    return isAny || gone.length > 0;
  }
  if (typeof expected === 'string') {
    const changed = yield sql(
      'UPDATE notes SET body = ? WHERE space = ? AND name = ? AND body = ? RETURNING 1',
      text,
      space,
      name,
      expected,
    );
    return changed.length > 0;
  }
  const end = expected === null ? 'NOTHING' : 'UPDATE SET body = excluded.body';
  const written = yield sql(
    `INSERT INTO notes (space, name, body) VALUES (?, ?, ?) ON CONFLICT (space, name) DO ${end} RETURNING 1`,
    space,
    name,
    text,
  );
  return written.length > 0;
}

type DocumentScope = {
  readonly space: string;
  readonly projectId: string;
  readonly quotas: SpaceQuotas | undefined;
};

/** Documents count as bytes of their project: its counters change in the transaction that writes the note. */
function* writeDocumentNote(
  { projectId, quotas, space }: DocumentScope,
  name: string,
  text: string | null,
  expected: string | null | undefined,
): SqlWork<boolean> {
  const [row] = yield sqlOne(
    'SELECT octet_length(body) FROM notes WHERE space = ? AND name = ? FOR UPDATE',
    space,
    name,
  );
  const before = row === undefined ? 0 : numberCell(row, 0);
  const after = text === null ? 0 : new TextEncoder().encode(text).length;
  if (after > before)
    yield* checkQuotas(space, quotas, [{ projectId, bytes: after - before, segments: 0, runs: 0 }]);
  const isDone = yield* writeNote(space, name, text, expected);
  if (isDone && after !== before) yield countBytes(space, projectId, after - before);
  return isDone;
}

function* listNotes(space: string, prefix: string): SqlWork<readonly StoreNote[]> {
  const rows = yield sql(
    'SELECT text(name), text(body) FROM notes WHERE space = ? AND name >= ? AND name < ? ORDER BY name',
    space,
    prefix,
    prefix + AFTER_ASCII,
  );
  return rows.map((row) => ({ name: textCell(row, 0), text: textCell(row, 1) }));
}

/** What there is of a space, or of one run. */
export function* sqlSnapshot(space: string, runId: string | undefined): SqlWork<StoreSurvey> {
  const params: SqlValue[] = runId === undefined ? [space] : [space, runId];
  const streams = yield sql(
    `SELECT text(streams.run_id), text(streams.table_name), streams.next_sequence,
       coalesce(stream_replacements.replace_count, 0)
     FROM streams LEFT JOIN stream_replacements ON stream_replacements.stream_key = streams.stream_key
     WHERE streams.space = ?${runId === undefined ? '' : ' AND streams.run_id = ?'}`,
    ...params,
  );
  // Runs after their tables: what is written in between is then seen as a change of the run, and looked at again.
  const runs = yield sql(
    `SELECT text(id), text(status), revision FROM runs WHERE space = ?${runId === undefined ? '' : ' AND id = ?'}`,
    ...params,
  );
  return {
    runs: runs.map((row) => ({
      id: textCell(row, 0),
      status: textCell(row, 1),
      revision: numberCell(row, 2),
    })),
    streams: streams.map((row) => ({
      runId: textCell(row, 0),
      table: textCell(row, 1),
      nextSequence: numberCell(row, 2),
      replaceCount: numberCell(row, 3),
    })),
  };
}

function* forgetRun(
  space: string,
  runId: string,
  expected: StoreSurvey | undefined,
  nowMs: number,
): SqlWork<boolean> {
  // An append takes this lock, too.
  yield sql(
    'SELECT stream_key FROM streams WHERE space = ? AND run_id = ? FOR UPDATE',
    space,
    runId,
  );
  if (!isUnchanged(expected, yield* sqlSnapshot(space, runId))) return false;
  yield countRun(space, runId, -1);
  yield* removeStreams(space, runId, nowMs);
  for (const table of ['leases', 'run_tags', 'run_facts'])
    yield sql(`DELETE FROM ${table} WHERE space = ? AND run_id = ?`, space, runId);
  yield sql('DELETE FROM runs WHERE space = ? AND id = ?', space, runId);
  return true;
}
