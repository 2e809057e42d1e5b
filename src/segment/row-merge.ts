/**
 * What a merge computes, apart from where it reads and what it replaces: stored segments go in, merged ones come out, rows of one key
 * side by side, packed. It runs on the thread that records or on another one, with the same result.
 */
import { Breather } from '../base/breather.ts';
import { isQuarkError } from '../base/errors.ts';
import type { TableDefinition } from '../schema/table.ts';
import type {
  MergedSegment,
  SegmentEncoding,
  SegmentManifest,
  SegmentRead,
} from '../store/store.ts';
import { batchesOf, coalesceRanges } from '../store/batch-ranges.ts';
import { concatBatches, concatBatchesInTurns, gatherRows } from './batch-ops.ts';
import { encodeBatch, SEQUENCE_COLUMN } from './encode.ts';
import { describeSegment, downsamplingOf, rangeOf } from './manifest.ts';
import { openSegment, type OpenedSegment } from './open-segment.ts';
import { packSegment } from '../codecs/packed/pack.ts';
import { unpackSegment } from '../codecs/packed/unpack.ts';
import type { KeyVector, RowBatch } from '../codecs/arrow/vectors.ts';

/** Unpacked bytes that are merged at a time. */
export const WINDOW_BYTES: number = 128 << 20;
/** Rows of a merged segment, at most. */
const MAX_ROWS = 1 << 17;
/** Bytes of a merged segment before packing: half of what stores take, however badly it packs. */
const MAX_ARROW_BYTES = 32 << 20;
/** A merged segment is cut at the end of a key once it has this many rows. */
const CUT_ROWS = 1 << 14;

/** What is merged, and the writer of what comes out. */
export type MergeName = {
  readonly table: TableDefinition;
  readonly runId: string;
  readonly mergeId: string;
  /** Waited for between the steps of a merge beside work that must not wait for long. Default: none. */
  readonly turn?: (() => Promise<void>) | undefined;
};

/** A segment as a store returned it. */
export type ReadSegment = { readonly manifest: SegmentManifest; readonly read: SegmentRead };

/** What was made of segments, by their positions. */
export type TakenSegments = {
  /** How many of them were looked at; the others are too many for one merge. */
  readonly seen: number;
  /** Those whose rows are in the merge: a damaged segment stays where it is, so that the damage stays visible. */
  readonly taken: readonly number[];
};

/** One merge. */
export interface MergeWork {
  /** Takes segments, in their order. */
  add(segments: readonly ReadSegment[]): Promise<TakenSegments>;
  /** The merged segments of what was taken. */
  finish(): Promise<readonly MergedSegment[]>;
  /** Ends it, finished or not. */
  end?(): void;
}

/** A merge on this thread, in steps of a few milliseconds. */
export function rowMerge({ mergeId, runId, table }: MergeName): MergeWork {
  const breather = new Breather();
  const manifests: SegmentManifest[] = [];
  const joined: RowBatch[] = [];
  let arrowBytes = 0;
  return {
    async add(segments) {
      const opened: OpenedSegment[] = [];
      const taken: number[] = [];
      let seen = 0;
      for (const { manifest, read } of segments) {
        const result = await openSegment(table, manifest, read);
        await breather.breathe();
        if (result.kind === 'opened') {
          arrowBytes += result.segment.arrowBytes;
          if (manifests.length > 0 && arrowBytes > WINDOW_BYTES) break;
          opened.push(result.segment);
          taken.push(seen);
          manifests.push(manifest);
        }
        seen++;
      }
      if (opened.length > 0) joined.push(withSequences(opened));
      return { seen, taken };
    },
    async finish() {
      const rows = await concatBatchesInTurns(joined, breather);
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
      return merged;
    },
  };
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
  // One more than the rank, by one more than the index: rows without a key have index -1.
  const slots = new Int32Array(dictionary.length + 1);
  slots.set(
    ranksOf(dictionary).map((rank) => rank + 1),
    1,
  );
  const starts = new Int32Array(dictionary.length + 2);
  for (let row = 0; row < indices.length; row++) {
    const slot = (slots[(indices[row] ?? -1) + 1] ?? 0) + 1;
    starts[slot] = (starts[slot] ?? 0) + 1;
  }
  for (let i = 1; i < starts.length; i++) starts[i] = (starts[i] ?? 0) + (starts[i - 1] ?? 0);
  const next = starts.slice();
  const order = new Int32Array(indices.length);
  for (let row = 0; row < order.length; row++) {
    const key = slots[(indices[row] ?? -1) + 1] ?? 0;
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
