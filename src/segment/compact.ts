/**
 * Merging: many small segments become few large ones, rows of one key side by side, packed. Reading one metric then
 * touches its own segments only. Safe at any time and by anyone: the exchange is one transaction that fails when
 * somebody else merged first.
 */
import { Breather } from '../base/breather.ts';
import { isQuarkError } from '../base/errors.ts';
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
import type { KeyVector, RowBatch } from '../codecs/arrow/vectors.ts';

/** Rows that are merged at a time: bounds the memory of a merge to about 20 MB, and each of its steps to a few milliseconds. */
export const MERGED_ROWS: number = 1 << 17;
const WINDOW_BYTES = 128 << 20;
/**
 * Merged windows that are regrouped: what was merged before, of several keys each, becomes segments of one key. It takes the same cuts
 * of all windows at a time, which have about the same keys, so that it is no larger than a merge of a window or three.
 */
const REGROUP_WINDOWS = 8;
const LEAST_WINDOWS = 2;
const REGROUP_ROWS = 3 * MERGED_ROWS;
/** Rows and stored bytes that are read at a time: what a merge needs beside the rows themselves. */
const READ_ROWS = 1 << 16;
const READ_BYTES = 8 << 20;
/** Rows of a merged segment, at most. */
const MAX_ROWS = 1 << 17;
/** Segments that are a window, however few rows they have. */
const WHOLE_SEGMENTS = 1 << 10;
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
  /** True: only whole windows are merged, because more rows will come. Default false: everything. */
  readonly isGrowing?: boolean;
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
  let removed = 0;
  let added = 0;
  let count = 0;
  let isDone = true;
  for (const choose of [smallWindows, regroups]) {
    const segments = await mergeableSegments(store, runId, table.table);
    for (const window of choose(segments, limits)) {
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
    // One window has nothing to be regrouped with, and who says how much is merged at a time merges once.
    const isSmall = rowsOf(segments) < (LEAST_WINDOWS - 0.5) * MERGED_ROWS;
    if (isSmall || limits.rows !== undefined || table.keyColumn === undefined) break;
  }
  return { removed, added, isDone };
}

/** Small and unpacked segments, in windows. */
function smallWindows(
  segments: readonly SegmentManifest[],
  limits: CompactLimits,
): SegmentManifest[][] {
  const small = segments.filter(
    ({ encoding, rowCount, sizeBytes }) =>
      encoding === 'arrow' || (rowCount < SMALL_ROWS && sizeBytes < SMALL_BYTES),
  );
  const windows = groupSegments(small, {
    rows: limits.rows ?? MERGED_ROWS,
    bytes: WINDOW_BYTES,
    segments: limits.segments ?? Number.POSITIVE_INFINITY,
  });
  const last = windows.at(-1) ?? [];
  const isWhole = rowsOf(last) > MERGED_ROWS / 2 || last.length >= WHOLE_SEGMENTS;
  return limits.isGrowing === true && !isWhole ? windows.slice(0, -1) : windows;
}

/**
 * Segments of several keys that windows were merged to, in groups of those with the same keys: while rows come, once there are enough
 * windows of them. The last window stays as it is, so that the last rows of a table lie in few and small segments.
 */
function regroups(
  segments: readonly SegmentManifest[],
  limits: CompactLimits,
): SegmentManifest[][] {
  const end = segments.reduce((most, { lastSequence }) => Math.max(most, lastSequence), 0);
  const mixed = segments.filter(
    ({ encoding, firstSequence, keys, lastSequence, rowCount }) =>
      encoding === 'packed' &&
      keys?.length !== 1 &&
      rowCount >= SMALL_ROWS &&
      lastSequence - firstSequence <= MERGED_ROWS &&
      lastSequence < end - MERGED_ROWS / 2,
  );
  const least = limits.isGrowing === true ? REGROUP_WINDOWS : LEAST_WINDOWS;
  if (rowsOf(mixed) < (least - 0.5) * MERGED_ROWS) return [];
  mixed.sort((a, b) => a.batchNumber - b.batchNumber || a.firstSequence - b.firstSequence);
  const groups: SegmentManifest[][] = [];
  let group: SegmentManifest[] = [];
  for (const manifest of mixed) {
    const rows = rowsOf(group);
    const isNext = manifest.batchNumber !== group.at(-1)?.batchNumber;
    if (rows + manifest.rowCount > REGROUP_ROWS || (isNext && rows >= MERGED_ROWS / 2)) {
      groups.push(group);
      group = [];
    }
    group.push(manifest);
  }
  return [...groups, group].filter(({ length }) => length > 1);
}

function rowsOf(segments: readonly SegmentManifest[]): number {
  return segments.reduce((sum, { rowCount }) => sum + rowCount, 0);
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
  for await (const { arrow, batch } of encodeCuts(table, rows, cuts, breather)) {
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
    if (isEqual(again, arrow)) return { bytes: packed, encoding: 'packed' };
  } catch (error) {
    if (!isQuarkError(error, 'segment_damaged')) throw error;
  }
  return { bytes: arrow, encoding: 'arrow' };
}

/** Word by word: Arrow bytes begin at a word and are padded to eight bytes. */
function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  if (one.byteLength !== other.byteLength) return false;
  const words = one.byteLength >> 2;
  const [a, b] = [one, other].map((bytes) => new Int32Array(bytes.buffer, bytes.byteOffset, words));
  if (a === undefined || b === undefined) return false;
  for (let i = 0; i < words; i++) if (a[i] !== b[i]) return false;
  for (let at = 4 * words; at < one.byteLength; at++) if (one[at] !== other[at]) return false;
  return true;
}

/** Each cut as Arrow bytes; cuts with long texts in halves, until each fits. */
async function* encodeCuts(
  table: TableDefinition,
  rows: RowBatch,
  cuts: readonly Int32Array[],
  breather: Breather,
): AsyncGenerator<{ readonly batch: RowBatch; readonly arrow: Uint8Array<ArrayBuffer> }> {
  for (const order of cuts) {
    const batch = gatherRows(rows, order);
    await breather.breathe();
    const arrow = encodeBatch(table, batch);
    await breather.breathe();
    if (arrow.byteLength > MAX_ARROW_BYTES && order.length > 1) {
      const middle = order.length >> 1;
      yield* encodeCuts(table, rows, [order.subarray(0, middle), order.subarray(middle)], breather);
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
  const { order, starts } = isKeyed
    ? orderByKey(keyColumn)
    : { order: Int32Array.from(sequences.keys()), starts: [0, rows.rowCount] };
  await breather.breathe();
  const keyCount = starts.length - 1;
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
  // A rest that is small would be merged again and again.
  const lastRows = cuts.at(-1)?.length ?? MAX_ROWS;
  const rest = rows.rowCount - from;
  if (rest > 0 && rest < CUT_ROWS && lastRows + rest <= MAX_ROWS) {
    cuts.pop();
    from -= lastRows;
  }
  if (rest > 0) cuts.push(order.subarray(from));
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

/** Rows in the order of the names of their keys, rows without one first; those of one key as they were, from `starts` on. */
function orderByKey({ dictionary, indices }: KeyVector): {
  readonly order: Int32Array;
  readonly starts: ArrayLike<number>;
} {
  const ranks = ranksOf(dictionary);
  const starts = new Int32Array(dictionary.length + 2);
  for (let row = 0; row < indices.length; row++) {
    const slot = (ranks[indices[row] ?? -1] ?? -1) + 2;
    starts[slot] = (starts[slot] ?? 0) + 1;
  }
  for (let i = 1; i < starts.length; i++) starts[i] = (starts[i] ?? 0) + (starts[i - 1] ?? 0);
  const next = starts.slice();
  const order = new Int32Array(indices.length);
  for (let row = 0; row < order.length; row++) {
    const key = (ranks[indices[row] ?? -1] ?? -1) + 1;
    const at = next[key] ?? 0;
    order[at] = row;
    next[key] = at + 1;
  }
  return { order, starts };
}

function sortBySequence(rows: Int32Array, sequences: Float64Array): void {
  for (let i = 1; i < rows.length; i++) {
    if ((sequences[rows[i] ?? 0] ?? 0) < (sequences[rows[i - 1] ?? 0] ?? 0)) {
      rows.sort((a, b) => (sequences[a] ?? 0) - (sequences[b] ?? 0));
      return;
    }
  }
}
