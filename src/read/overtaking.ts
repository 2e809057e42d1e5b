/**
 * Rows that a resumed run overtakes. A program that goes on from a checkpoint records again what came after it: the rows that were
 * recorded since then are set apart as superseded, as those of a fenced session are, so that no reading has a step twice. Nothing is
 * thrown away.
 *
 * Which rows came later is said by marks, the next sequence number of each table when the checkpoint was made. A segment with such rows is
 * replaced by one without them, after a copy of them was appended under their own, earlier generation. What is cut off in between is
 * done again by the next call: the copy has an identity that follows from the segment.
 */
import { SessionStoreError } from '../base/errors.ts';
import { TABLES } from '../records/tables.ts';
import type { TableDefinition } from '../schema/table.ts';
import { gatherRows } from '../segment/batch-ops.ts';
import { SEQUENCE_COLUMN } from '../segment/encode.ts';
import { createSegment } from '../segment/manifest.ts';
import { openSegment, type OpenedSegment } from '../segment/open-segment.ts';
import type { SegmentManifest, Store } from '../store/store.ts';
import { emptySegment, segmentFor } from './row-deletion.ts';

/** The next sequence number of each table of a run at some moment; a table without rows is left out. */
export type RowMarks = { readonly [table: string]: number };

/** Up to where rows count: marks, or a step where none could be taken. */
export type LastRows =
  | { readonly kind: 'marks'; readonly marks: RowMarks }
  | { readonly kind: 'step'; readonly step: number };

/** Attempts while others merge. */
const MAX_ATTEMPTS = 8;

/** What happened stays: events of both sessions, and what analyses concluded, which they do anew. */
const STAYING: ReadonlySet<string> = new Set(['events', 'alerts', 'health_scores', 'phases']);

const OVERTAKEN: readonly TableDefinition[] = [...TABLES.values()].filter(
  ({ table }) => !STAYING.has(table),
);

/**
 * The marks of a run now. Flush before: a row that is only buffered comes after the mark.
 *
 * @param since earlier marks of the run, which bound what is listed
 * @throws {SessionStoreError} when the store cannot be read
 */
export async function markRows(
  store: Store,
  runId: string,
  since: RowMarks = {},
): Promise<RowMarks> {
  const marks: Record<string, number> = {};
  await Promise.all(
    OVERTAKEN.map(async ({ table }) => {
      const from = since[table] ?? 0;
      const listed = await store.listSegments({
        runId,
        table,
        superseded: true,
        empty: true,
        ...(from === 0 ? {} : { sequenceMin: from }),
      });
      const next = listed.reduce((most, one) => Math.max(most, one.lastSequence + 1), from);
      if (next > 0) marks[table] = next;
    }),
  );
  return marks;
}

/**
 * Sets the rows of a run that come after `last` apart as superseded. The run has to have a later generation than these rows:
 * `resumeRun` has counted it up. Events stay.
 *
 * @returns how many rows are superseded by it
 * @throws {SessionStoreError} `busy` when a table is merged all the time; when the store fails
 */
export async function overtakeRows(store: Store, runId: string, last: LastRows): Promise<number> {
  let rows = 0;
  for (const table of OVERTAKEN) rows += await overtakeTable(store, runId, table, last);
  return rows;
}

async function overtakeTable(
  store: Store,
  runId: string,
  table: TableDefinition,
  last: LastRows,
): Promise<number> {
  let rows = 0;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    let isDone = true;
    const listed = await store.listSegments({
      runId,
      table: table.table,
      ...(last.kind === 'marks'
        ? { sequenceMin: last.marks[table.table] ?? 0 }
        : { stepMin: last.step + 1 }),
    });
    for (const manifest of listed) {
      const overtaken = await overtakeSegment(store, table, manifest, last);
      if (overtaken === undefined) isDone = false;
      else rows += overtaken;
    }
    if (isDone) return rows;
  }
  throw new SessionStoreError(
    'busy',
    `The ${table.table} of run ${runId} were merged again and again while it was resumed. Try again.`,
    { details: { runId, table: table.table } },
  );
}

/** The rows that were set apart; undefined when the segment was merged meanwhile. */
async function overtakeSegment(
  store: Store,
  table: TableDefinition,
  manifest: SegmentManifest,
  last: LastRows,
): Promise<number | undefined> {
  const [read] = await store.readSegments([manifest]);
  const result = await openSegment(table, manifest, read ?? { kind: 'gone' });
  if (result.kind === 'gone') return undefined;
  // Readers report it, and have no row of it.
  if (result.kind === 'damaged') return 0;
  const { batch, sequences } = result.segment;
  const isLater = laterTest(result.segment, last);
  const all = Int32Array.from({ length: batch.rowCount }, (_, row) => row);
  const later = all.filter(isLater);
  if (later.length === 0) return 0;
  const copied = new Map(batch.columns);
  copied.delete(SEQUENCE_COLUMN);
  const copy = gatherRows({ rowCount: batch.rowCount, columns: copied }, later);
  const { runId, generation = 1, checksum, firstSequence } = manifest;
  const writerId = `ovr_${checksum.toString(16)}_${firstSequence}`;
  const segment = createSegment(
    table,
    { runId, table: table.table, writerId, batchNumber: 0 },
    copy,
  );
  await store.appendSegments([
    { manifest: { ...segment.manifest, generation }, bytes: segment.bytes },
  ]);
  const staying = all.filter((row) => !isLater(row));
  const columns = new Map(batch.columns).set(SEQUENCE_COLUMN, {
    kind: 'number',
    values: sequences,
  });
  const rest =
    staying.length === 0
      ? emptySegment(table, [manifest])
      : segmentFor(table, [manifest], gatherRows({ rowCount: batch.rowCount, columns }, staying));
  const isReplaced = await store.replaceSegments(runId, table.table, [manifest], [rest]);
  return isReplaced ? later.length : undefined;
}

function laterTest(
  { batch, manifest, sequences }: OpenedSegment,
  last: LastRows,
): (row: number) => boolean {
  if (last.kind === 'marks') {
    const mark = last.marks[manifest.table] ?? 0;
    return (row) => (sequences[row] ?? 0) >= mark;
  }
  const steps = batch.columns.get('step');
  // A row without a step has NaN there, and stays.
  return steps?.kind === 'number'
    ? (row) => (steps.values[row] ?? Number.NaN) > last.step
    : () => false;
}
