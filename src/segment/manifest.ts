/** From rows to a segment that a store can take. */
import type { TableDefinition } from '../schema/table.ts';
import { schemaVersionOf } from '../schema/version.ts';
import type {
  BatchRange,
  NewSegment,
  SegmentEncoding,
  SegmentIdentity,
  SegmentManifest,
} from '../store/store.ts';
import { segmentChecksum } from './checksum.ts';
import { encodeBatch } from './encode.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';

/** A manifest lists its keys up to this number; segments with more are opened by every reader of a key. */
export const MAX_LISTED_KEYS = 256;

/** The segment of a batch of rows that was just written. */
export function createSegment(
  table: TableDefinition,
  identity: SegmentIdentity,
  batch: RowBatch,
): NewSegment {
  return describeSegment({ table, identity, batch, bytes: encodeBatch(table, batch) });
}

/** Rows and the bytes that they were encoded as. */
export type EncodedRows = {
  readonly table: TableDefinition;
  readonly identity: SegmentIdentity;
  readonly batch: RowBatch;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Default: plain Arrow. */
  readonly encoding?: SegmentEncoding;
  /** What the segment takes the place of. Default: nothing. */
  readonly sources?: readonly BatchRange[];
};

/** A segment of bytes that are encoded already. */
export function describeSegment({
  table,
  identity: { runId, writerId, batchNumber },
  batch,
  bytes,
  encoding = 'arrow',
  sources = [],
}: EncodedRows): NewSegment {
  const identity = { runId, table: table.table, writerId, batchNumber };
  const [stepMin, stepMax] = rangeOf(batch.columns.get('step'));
  const [epochMin, epochMax] = rangeOf(batch.columns.get('epoch'));
  const [timeMinMs, timeMaxMs] = rangeOf(batch.columns.get('timestamp'));
  return {
    manifest: {
      ...identity,
      rowCount: batch.rowCount,
      stepMin,
      stepMax,
      epochMin,
      epochMax,
      timeMinMs,
      timeMaxMs,
      keys: keysOf(table, batch),
      schemaVersion: schemaVersionOf(table.table),
      encoding,
      sizeBytes: bytes.byteLength,
      checksum: segmentChecksum(identity, bytes),
      sources,
    },
    bytes,
  };
}

/** What a segment that replaces these says of thinning: that which left the most, and the last time. */
export function downsamplingOf(
  manifests: readonly SegmentManifest[],
): Pick<SegmentManifest, 'downsampledTo' | 'downsampledAtMs'> {
  const downsampledTo = Math.max(...manifests.map((one) => one.downsampledTo ?? 0));
  if (!(downsampledTo > 0)) return {};
  return {
    downsampledTo,
    downsampledAtMs: Math.max(...manifests.map((one) => one.downsampledAtMs ?? 0)),
  };
}

/** The keys that occur, or null when there are too many to list. */
export function keysOf(table: TableDefinition, batch: RowBatch): readonly string[] | null {
  const column =
    table.keyColumn === undefined
      ? undefined
      : batch.columns.get(table.storedNames.get(table.keyColumn) ?? '');
  if (column?.kind !== 'key') return null;
  const { dictionary, indices } = column;
  const isUsed = new Uint8Array(dictionary.length);
  for (let i = 0; i < batch.rowCount; i++) {
    const index = indices[i] ?? -1;
    if (index >= 0) isUsed[index] = 1;
  }
  const keys = dictionary.filter((_, i) => isUsed[i] === 1);
  return keys.length > MAX_LISTED_KEYS ? null : keys;
}

/** Smallest and largest number of a column, NaN left out; nulls when there is none. */
export function rangeOf(column: Vector | undefined): [number, number] | [null, null] {
  if (column?.kind !== 'number') return [null, null];
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  const { values } = column;
  // An indexed loop: iterating a typed array costs three times as much.
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return min > max ? [null, null] : [min, max];
}
