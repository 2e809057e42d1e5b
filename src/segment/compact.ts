/**
 * Merging: many small segments become few large ones, rows of one key side by side, packed. Reading one metric then
 * touches its own segments only. Safe at any time and by anyone: the exchange is one transaction that fails when
 * somebody else merged first.
 */
import { Breather } from '../base/breather.ts';
import { isQuarkError } from '../base/errors.ts';
import { xxh32 } from '../base/xxh32.ts';
import type { TableDefinition } from '../schema/table.ts';
import type { MergedSegment, SegmentEncoding, SegmentManifest, Store } from '../store/store.ts';
import { batchesOf, coalesceRanges } from '../store/batch-ranges.ts';
import { mergeableSegments } from '../store/unsent.ts';
import { concatBatches, concatBatchesInTurns, gatherRows } from './batch-ops.ts';
import { encodeBatch, SEQUENCE_COLUMN } from './encode.ts';
import { groupSegments } from './group-segments.ts';
import { describeSegment, rangeOf, downsamplingOf } from './manifest.ts';
import { openSegment, type OpenedSegment } from './open-segment.ts';
import { packSegment } from '../codecs/packed/pack.ts';
import { unpackSegment } from '../codecs/packed/unpack.ts';
import type { RowBatch } from '../codecs/arrow/vectors.ts';

/** Rows that are merged at a time: bounds the memory of a merge to about 150 MB. */
const WINDOW_ROWS = 1 << 20;
const WINDOW_BYTES = 128 << 20;
/** Rows and stored bytes that are read at a time: what a merge needs beside the rows themselves. */
const READ_ROWS = 1 << 16;
const READ_BYTES = 8 << 20;
/** Rows of a merged segment, at most. */
const MAX_ROWS = 1 << 17;
/** Bytes of a merged segment before packing: half of what stores take, however badly it packs. */
const MAX_ARROW_BYTES = 32 << 20;
/** A merged segment is cut at the end of a key once it has this many rows. */
const CUT_ROWS = 1 << 14;
/** Segments with fewer rows are merged again, unless their rows are long. */
const SMALL_ROWS = 1 << 14;
const SMALL_BYTES = 4 << 20;

/** What a merge did. */
export type CompactResult = {
  readonly removed: number;
  readonly added: number;
  /** False when there is more to merge: a limit was reached, or somebody else merged meanwhile. */
  readonly isDone: boolean;
};

/** Bounds of a merge that shares its thread and its store with others; whatever is left out is as large as it gets. */
export type CompactLimits = {
  /** Rows and segments that are merged at a time, which bounds memory and how long a thread is busy. */
  readonly rows?: number;
  readonly segments?: number;
  /** Merges of that size in all. */
  readonly merges?: number;
  /** Between two merges: nothing more is begun once it is aborted. */
  readonly signal?: AbortSignal;
};

type Merged = { readonly removed: number; readonly added: number; readonly seen: number };

/**
 * Merges small and unpacked segments of one table of a run, from the oldest on.
 *
 * @param mergeId unique name for the merged segments; becomes their writer id
 * @param limits how much is merged at a time and in all
 */
export async function compactTable(
  store: Store,
  table: TableDefinition,
  runId: string,
  mergeId: string,
  limits: CompactLimits = {},
): Promise<CompactResult> {
  const segments = await mergeableSegments(store, runId, table.table);
  const candidates = segments.filter(
    ({ encoding, rowCount, sizeBytes }) =>
      encoding === 'arrow' || (rowCount < SMALL_ROWS && sizeBytes < SMALL_BYTES),
  );
  let removed = 0;
  let added = 0;
  let count = 0;
  let isDone = true;
  const bounds = {
    rows: limits.rows ?? WINDOW_ROWS,
    bytes: WINDOW_BYTES,
    segments: limits.segments ?? Number.POSITIVE_INFINITY,
  };
  for (const window of groupSegments(candidates, bounds)) {
    for (let rest = window; rest.length > 0;) {
      if (limits.signal?.aborted === true || count >= (limits.merges ?? Number.POSITIVE_INFINITY))
        return { removed, added, isDone: false };
      const mergeName = `${mergeId}-${count++}`;
      const merged = await mergeWindow(store, table, runId, mergeName, rest);
      if (merged === undefined) {
        isDone = false;
        break;
      }
      removed += merged.removed;
      added += merged.added;
      rest = rest.slice(merged.seen);
    }
  }
  return { removed, added, isDone };
}

/** Merges the segments of a window from its start, as many as fit into memory once they are unpacked: `seen`. */
async function mergeWindow(
  store: Store,
  table: TableDefinition,
  runId: string,
  mergeId: string,
  window: readonly SegmentManifest[],
): Promise<Merged | undefined> {
  const nothing = { removed: 0, added: 0 };
  if (window.length === 1 && window[0]?.encoding === 'packed') return { ...nothing, seen: 1 };
  const breather = new Breather();
  const read = await readWindow(store, table, window, breather);
  if (read === undefined) return undefined;
  const { manifests, rows, seen } = read;
  const [first] = manifests;
  if (first === undefined || (manifests.length === 1 && first.encoding === 'packed'))
    return { ...nothing, seen };
  const sources = coalesceRanges(manifests.flatMap(batchesOf));
  const droppedRows = manifests.reduce((sum, one) => sum + (one.droppedRows ?? 0), 0);
  const merged: MergedSegment[] = [];
  const cuts = await cutRows(table, rows, breather);
  for (const { arrow, batch } of encodeCuts(table, rows, cuts)) {
    await breather.breathe();
    const { bytes, encoding } = await packSafely(arrow, breather);
    await breather.breathe();
    const batchNumber = merged.length;
    const identity = { runId, table: table.table, writerId: mergeId, batchNumber };
    const { manifest } = describeSegment({ table, identity, batch, bytes, encoding, sources });
    const [start, end] = rangeOf(batch.columns.get(SEQUENCE_COLUMN));
    merged.push({
      manifest: {
        ...manifest,
        firstSequence: start ?? 0,
        lastSequence: end ?? 0,
        ...(droppedRows > 0 && merged.length === 0 ? { droppedRows } : {}),
        ...downsamplingOf(manifests),
      },
      bytes,
    });
  }
  const isReplaced = await store.replaceSegments(runId, table.table, manifests, merged);
  return isReplaced ? { removed: manifests.length, added: merged.length, seen } : undefined;
}

/** Rows of the segments of a window, and how many of those were looked at. */
type ReadWindow = {
  readonly manifests: readonly SegmentManifest[];
  readonly rows: RowBatch;
  readonly seen: number;
};

/**
 * Reads a window a few segments at a time: their rows are appended and their bytes released before the next are read. Undefined
 * when one of them is gone.
 */
async function readWindow(
  store: Store,
  table: TableDefinition,
  window: readonly SegmentManifest[],
  breather: Breather,
): Promise<ReadWindow | undefined> {
  const manifests: SegmentManifest[] = [];
  const joined: RowBatch[] = [];
  let arrowBytes = 0;
  let seen = 0;
  for (const group of groupSegments(window, { rows: READ_ROWS, bytes: READ_BYTES })) {
    const reads = await store.readSegments(group);
    const opened: OpenedSegment[] = [];
    let isFull = false;
    for (const [i, manifest] of group.entries()) {
      const read = reads[i];
      if (read === undefined || read.kind === 'gone') return undefined;
      const result = await openSegment(table, manifest, read);
      await breather.breathe();
      if (result.kind === 'opened') {
        arrowBytes += result.segment.arrowBytes;
        isFull = manifests.length > 0 && arrowBytes > WINDOW_BYTES;
        if (isFull) break;
        opened.push(result.segment);
        manifests.push(manifest);
      }
      // A damaged segment is not merged, so that the damage stays visible.
      seen++;
    }
    if (opened.length > 0) joined.push(withSequences(opened));
    if (isFull) break;
  }
  return { manifests, rows: await concatBatchesInTurns(joined, breather), seen };
}

/**
 * Packed, and unpacked again to see that nothing is lost, since the merged segments go for good. Plain where that fails:
 * the DEFLATE of an engine is not ours.
 */
async function packSafely(
  arrow: Uint8Array<ArrayBuffer>,
  breather: Breather,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly encoding: SegmentEncoding }> {
  const packed = await packSegment(arrow, breather);
  try {
    const again = await unpackSegment(packed);
    await breather.breathe();
    if (again.byteLength === arrow.byteLength && xxh32(again) === xxh32(arrow))
      return { bytes: packed, encoding: 'packed' };
  } catch (error) {
    if (!isQuarkError(error, 'segment_damaged')) throw error;
  }
  return { bytes: arrow, encoding: 'arrow' };
}

/** Each cut as Arrow bytes; cuts with long texts in halves, until each fits. */
function* encodeCuts(
  table: TableDefinition,
  rows: RowBatch,
  cuts: readonly Int32Array[],
): Generator<{ readonly batch: RowBatch; readonly arrow: Uint8Array<ArrayBuffer> }> {
  for (const order of cuts) {
    const batch = gatherRows(rows, order);
    const arrow = encodeBatch(table, batch);
    if (arrow.byteLength > MAX_ARROW_BYTES && order.length > 1) {
      const middle = order.length >> 1;
      yield* encodeCuts(table, rows, [order.subarray(0, middle), order.subarray(middle)]);
    } else {
      yield { batch, arrow };
    }
  }
}

function withSequences(opened: readonly OpenedSegment[]): RowBatch {
  return concatBatches(
    opened.map(({ batch, sequences }) => ({
      rowCount: batch.rowCount,
      columns: new Map([
        ...batch.columns,
        [SEQUENCE_COLUMN, { kind: 'number', values: sequences }],
      ]),
    })),
  );
}

/**
 * Row numbers of each merged segment: ordered by key when there are many rows, by sequence within a key. Keys are in the order of their
 * names: those that are shown beside each other are in few segments.
 */
async function cutRows(
  table: TableDefinition,
  rows: RowBatch,
  breather: Breather,
): Promise<Int32Array[]> {
  const sequenceColumn = rows.columns.get(SEQUENCE_COLUMN);
  const sequences =
    sequenceColumn?.kind === 'number' ? sequenceColumn.values : new Float64Array(rows.rowCount);
  const keyColumn =
    table.keyColumn === undefined
      ? undefined
      : rows.columns.get(table.storedNames.get(table.keyColumn) ?? '');
  const isKeyed = keyColumn?.kind === 'key' && rows.rowCount > CUT_ROWS;
  const keyCount = isKeyed ? keyColumn.dictionary.length + 1 : 1;
  const ranks = isKeyed ? ranksOf(keyColumn.dictionary) : new Int32Array(0);
  const keyOf = (row: number): number =>
    isKeyed ? (ranks[keyColumn.indices[row] ?? -1] ?? -1) + 1 : 0;
  const starts = new Int32Array(keyCount + 1);
  for (let row = 0; row < rows.rowCount; row++) {
    const slot = keyOf(row) + 1;
    starts[slot] = (starts[slot] ?? 0) + 1;
  }
  for (let i = 1; i <= keyCount; i++) starts[i] = (starts[i] ?? 0) + (starts[i - 1] ?? 0);
  await breather.breathe();
  const order = new Int32Array(rows.rowCount);
  const next = starts.slice();
  for (let row = 0; row < rows.rowCount; row++) {
    const key = keyOf(row);
    const at = next[key] ?? 0;
    order[at] = row;
    next[key] = at + 1;
  }
  const cuts: Int32Array[] = [];
  let from = 0;
  for (let key = 0; key < keyCount; key++) {
    const start = starts[key] ?? 0;
    const end = starts[key + 1] ?? 0;
    sortBySequence(order.subarray(start, end), sequences);
    await breather.breathe();
    while (end - from > MAX_ROWS) {
      cuts.push(order.subarray(from, from + MAX_ROWS));
      from += MAX_ROWS;
    }
    if (end - from >= CUT_ROWS && isKeyed) {
      cuts.push(order.subarray(from, end));
      from = end;
    }
  }
  if (from < rows.rowCount) cuts.push(order.subarray(from));
  return cuts;
}

/** The position of each key in the order of their names. */
function ranksOf(dictionary: readonly string[]): Int32Array {
  const ranks = new Int32Array(dictionary.length);
  const byName = [...dictionary.keys()].toSorted((a, b) =>
    (dictionary[a] ?? '') < (dictionary[b] ?? '') ? -1 : 1,
  );
  for (const [rank, index] of byName.entries()) ranks[index] = rank;
  return ranks;
}

function sortBySequence(rows: Int32Array, sequences: Float64Array): void {
  for (let i = 1; i < rows.length; i++) {
    if ((sequences[rows[i] ?? 0] ?? 0) < (sequences[rows[i - 1] ?? 0] ?? 0)) {
      rows.sort((a, b) => (sequences[a] ?? 0) - (sequences[b] ?? 0));
      return;
    }
  }
}
