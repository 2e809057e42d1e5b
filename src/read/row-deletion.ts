/**
 * Deleting a table of a run, and single artifacts. Rows lie in immutable segments, so a segment replaces those with the rows:
 * it has the others, stands for the same batches, and says how many rows are gone. A copy that is sent again is known by its batches
 * and brings nothing back. Nothing brings these rows back: to undo, delete the run.
 */
import {
  invalidInput,
  InvalidRunStateError,
  QuarkError,
  SessionStoreError,
} from '../base/errors.ts';
import { checkTable } from '../base/names.ts';
import { createId } from '../base/ids.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';
import { artifactTable } from '../records/artifact.ts';
import { TABLES } from '../records/tables.ts';
import type { TableDefinition } from '../schema/table.ts';
import { gatherRows } from '../segment/batch-ops.ts';
import { encodeBatch, SEQUENCE_COLUMN } from '../segment/encode.ts';
import { describeSegment, rangeOf } from '../segment/manifest.ts';
import { describeDamage, openSegment, type OpenedSegment } from '../segment/open-segment.ts';
import { batchesOf, coalesceRanges } from '../store/batch-ranges.ts';
import type { DeletedRows, MergedSegment, SegmentManifest, Store } from '../store/store.ts';
import { openRun } from './run-reader.ts';

/** Attempts while others merge. */
const MAX_ATTEMPTS = 8;

/**
 * Deletes all rows that a table of an ended run has, superseded ones included. Payloads of artifacts are removed later, by {@link sweepBlobs}, where nothing else
 * names them.
 *
 * @throws {QuarkError} `invalid_input` for a table that there is not; `run_not_found`; `invalid_run_state` while a session is live
 * @throws {SessionStoreError} `unauthorised`, `read_only`, `busy` when the table is merged all the time
 * @example
 * ```js
 * import { createMemoryStore, deleteTable, MetricsLogger, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const { rows } = await deleteTable(store, runId, 'metrics');
 * console.log(rows); // 3
 * ```
 */
export async function deleteTable(store: Store, runId: string, name: string): Promise<DeletedRows> {
  const table = TABLES.get(checkTable(name));
  if (table === undefined)
    throw invalidInput('table', name, `one of ${[...TABLES.keys()].join(', ')}`);
  if (store.deleteTable !== undefined) return store.deleteTable(runId, name);
  await requireEnded(store, runId);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const manifests = await store.listSegments({ runId, table: name, superseded: true });
    const rows = manifests.reduce((sum, { rowCount }) => sum + rowCount, 0);
    if (manifests.length === 0) return { runId, table: name, rows };
    // What is superseded stays apart from what counts, without rows as with them.
    const nothing = [true, false]
      .map((isApart) => manifests.filter(({ superseded = false }) => superseded === isApart))
      .flatMap((some) => (some.length === 0 ? [] : [emptySegment(table, some)]));
    if (await store.replaceSegments(runId, name, manifests, nothing))
      return { runId, table: name, rows };
  }
  throw mergedAllTheTime(runId, name);
}

/**
 * Deletes the records of an artifact of an ended run: the one with this id, or all with this key. The payload is removed later, by
 * {@link sweepBlobs}, where nothing else names it.
 *
 * @param idOrKey the id of an artifact, or its key, such as `layers/encoder/weights`
 * @throws {QuarkError} `artifact_not_found`; `run_not_found`; `invalid_run_state` while a session is live
 * @throws {SessionStoreError} `corrupt` when artifacts cannot be read; `unauthorised`, `read_only`, `busy`
 * @example
 * ```js
 * import { createMemoryStore, deleteArtifact, TrainingSession } from 'quark-sdk';
 * import { ArtifactStore } from 'quark-sdk/probes';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   const artifacts = new ArtifactStore(session);
 *   await artifacts.store('tensor', 'layers/dense/weights', new Uint8Array(400), { step: 0 });
 *   return session.runId;
 * });
 * const { rows } = await deleteArtifact(store, runId, 'layers/dense/weights');
 * console.log(rows); // 1
 * ```
 */
export async function deleteArtifact(
  store: Store,
  runId: string,
  idOrKey: string,
): Promise<DeletedRows> {
  if (typeof idOrKey !== 'string' || idOrKey === '')
    throw invalidInput('artifact', idOrKey, 'the id or the key of an artifact');
  if (store.deleteArtifact !== undefined) return store.deleteArtifact(runId, idOrKey);
  await requireEnded(store, runId);
  const { table } = artifactTable;
  let rows = 0;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    let isDone = true;
    for (const manifest of await store.listSegments({ runId, table, superseded: true })) {
      const opened = await openArtifacts(store, manifest);
      const left = opened === undefined ? undefined : without(opened, idOrKey);
      if (left !== undefined && left.removed === 0) continue;
      if (
        left !== undefined &&
        (await store.replaceSegments(runId, table, [manifest], [left.segment]))
      )
        rows += left.removed;
      else isDone = false;
    }
    if (isDone && rows > 0) return { runId, table, rows };
    if (isDone)
      throw new QuarkError(
        'artifact_not_found',
        `Run ${runId} has no artifact with the id or key ${idOrKey}.`,
        { details: { id: idOrKey, runId } },
      );
  }
  throw mergedAllTheTime(runId, table);
}

async function requireEnded(store: Store, runId: string): Promise<void> {
  const { isLive } = await openRun(store, runId);
  if (!isLive) return;
  throw new InvalidRunStateError(
    `Run ${runId} has a live session, which goes on writing. Nothing was changed. End it first.`,
    { runId, status: 'running' },
  );
}

/** Undefined when a merge has taken the segment away. */
export async function openArtifacts(
  store: Store,
  manifest: SegmentManifest,
): Promise<OpenedSegment | undefined> {
  const [read] = await store.readSegments([manifest]);
  const opened = await openSegment(artifactTable, manifest, read ?? { kind: 'gone' });
  if (opened.kind === 'opened') return opened.segment;
  if (opened.kind === 'gone') return undefined;
  throw new SessionStoreError(
    'corrupt',
    `${describeDamage(opened.report)} It is unknown whether the artifact is in it.`,
    { details: { runId: manifest.runId, reason: opened.report.reason } },
  );
}

/** The segment without the rows of an artifact. */
function without(
  opened: OpenedSegment,
  idOrKey: string,
): { readonly removed: number; readonly segment: MergedSegment } {
  return rowsWithout(opened, (id, key) => id === idOrKey || key === idOrKey);
}

/** The segment of artifacts without those that `isGone` chooses. */
export function rowsWithout(
  opened: OpenedSegment,
  isGone: (id: string | null, key: string | null) => boolean,
): { readonly removed: number; readonly segment: MergedSegment } {
  const { batch, manifest, sequences } = opened;
  const [ids, keys] = [batch.columns.get('id'), batch.columns.get('artifact_key')];
  const order = Int32Array.from({ length: batch.rowCount }, (_, row) => row).filter(
    (row) => !isGone(textAt(ids, row), textAt(keys, row)),
  );
  const removed = batch.rowCount - order.length;
  if (order.length === 0) return { removed, segment: emptySegment(artifactTable, [manifest]) };
  const columns = new Map(batch.columns).set(SEQUENCE_COLUMN, {
    kind: 'number',
    values: sequences,
  });
  const rest = gatherRows({ rowCount: batch.rowCount, columns }, order);
  return { removed, segment: segmentFor(artifactTable, [manifest], rest) };
}

function textAt(vector: Vector | undefined, row: number): string | null {
  if (vector?.kind === 'text') return vector.values[row] ?? null;
  return vector?.kind === 'key' ? (vector.dictionary[vector.indices[row] ?? -1] ?? null) : null;
}

export function emptySegment(
  table: TableDefinition,
  manifests: readonly SegmentManifest[],
): MergedSegment {
  return segmentFor(table, manifests, { rowCount: 0, columns: new Map() });
}

/**
 * What replaces segments of one table and run, with the rows that are left of them and their sequence numbers as a column. It stands for
 * the same batches, and says how many rows are gone.
 */
export function segmentFor(
  table: TableDefinition,
  manifests: readonly SegmentManifest[],
  batch: RowBatch,
): MergedSegment {
  const rows = manifests.reduce((sum, one) => sum + one.rowCount + (one.droppedRows ?? 0), 0);
  const first = Math.min(...manifests.map(({ firstSequence }) => firstSequence));
  const last = Math.max(...manifests.map(({ lastSequence }) => lastSequence));
  const [start, end] = rangeOf(batch.columns.get(SEQUENCE_COLUMN));
  const identity = {
    runId: manifests[0]?.runId ?? '',
    table: table.table,
    writerId: createId('del', Date.now()),
    batchNumber: 0,
  };
  const bytes = encodeBatch(table, batch);
  const sources = coalesceRanges(manifests.flatMap(batchesOf));
  const { manifest } = describeSegment({ table, identity, batch, bytes, sources });
  const generation = manifests.at(-1)?.generation;
  const isSuperseded = manifests.some(({ superseded }) => superseded === true);
  return {
    manifest: {
      ...manifest,
      ...(generation === undefined ? {} : { generation }),
      ...(isSuperseded ? { superseded: true } : {}),
      droppedRows: rows - batch.rowCount,
      firstSequence: start ?? first,
      lastSequence: end ?? last,
    },
    bytes,
  };
}

function mergedAllTheTime(runId: string, table: string): SessionStoreError {
  return new SessionStoreError(
    'busy',
    `The ${table} of run ${runId} were merged again and again meanwhile. Try again.`,
    { details: { runId, table } },
  );
}
