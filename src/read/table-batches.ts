/**
 * Every row of a table in the order it was persisted, in groups of segments: what exports read. A group is one segment as written, or
 * the segments of one merge, whose rows are ordered by key. One group is in memory at a time.
 */
import { checkNotAborted } from '../base/assert.ts';
import { SessionStoreError } from '../base/errors.ts';
import { splitKey } from '../base/names.ts';
import { metricTable } from '../records/metric.ts';
import type { TableDefinition } from '../schema/table.ts';
import { concatBatches } from '../segment/batch-ops.ts';
import { cutBatch } from '../segment/cut-batch.ts';
import { SEQUENCE_COLUMN } from '../segment/encode.ts';
import { openSegment, type DamageReport, type OpenedSegment } from '../segment/open-segment.ts';
import { unpackedBytes } from '../codecs/packed/unpack.ts';
import type { KeyVector, RowBatch } from '../codecs/arrow/vectors.ts';
import type { SegmentManifest, SegmentRead, SegmentSource } from '../store/store.ts';
import { segmentFilter } from './filters.ts';
import { orderBy } from './column-builder.ts';
import { matchRows, partOf, wantedKeys, type RowFilter, type RowPart } from './match-rows.ts';

/** Small segments that are read together. */
const GROUP_ROWS = 65_536;
const GROUP_BYTES = 16 << 20;
/** How much of them is unpacked at once. */
const UNPACKED_BYTES = 32 << 20;
/** A merge under way may take segments away between listing and reading; it cannot do so for ever. */
const MAX_ATTEMPTS = 8;

/** Rows of the largest group, many times what merging makes: manifests that claim to overlap do not bring a whole table into memory. */
const MAX_GROUP_ROWS = 1 << 23;

/** How to go over a table. */
export type TableBatchesOptions = {
  /** Only these rows; the limit does not count here. */
  readonly rows?: RowFilter | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the bytes that a group takes in memory, before it is read; with a negative number when it is released. */
  readonly takeRoom?: ((bytes: number) => void) | undefined;
  /** Told of each segment that cannot be read and is missing. */
  readonly onDamage?: ((report: DamageReport) => void) | undefined;
};

/**
 * The rows of a table as columns, with their sequence numbers as the column `sequence`. The columns are valid until the next batch.
 *
 * @yields batches of at most 65,536 rows, in the order of their sequence numbers
 * @throws {QuarkError} `aborted`
 */
export async function* tableBatches(
  store: SegmentSource,
  table: TableDefinition,
  runId: string,
  { signal, onDamage, rows, takeRoom }: TableBatchesOptions = {},
): AsyncGenerator<RowBatch, void, undefined> {
  const keys = rows === undefined ? undefined : wantedKeys(table, rows);
  let sequenceMin = rows?.position.sequenceMin ?? 0;
  let reservedBytes = 0;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const manifests = await store.listSegments(
      rows === undefined
        ? { runId, table: table.table, sequenceMin }
        : segmentFilter(runId, table.table, { ...rows.position, sequenceMin }, keys),
    );
    let isGone = false;
    for (const group of overlapGroups(manifests)) {
      checkNotAborted(signal);
      takeRoom?.(-reservedBytes);
      reservedBytes = group.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      takeRoom?.(reservedBytes);
      const reads = await store.readSegments(group);
      for (const part of unpackedParts(group, reads)) {
        takeRoom?.(part.bytes);
        const opened = await open(table, part.segments, { onDamage, rows });
        if (opened === undefined) {
          takeRoom?.(-part.bytes);
          isGone = true;
          break;
        }
        if (opened.length > 0)
          for (const batch of rowsFrom(opened, sequenceMin))
            yield table.table === metricTable.table ? withKeyParts(batch) : batch;
        takeRoom?.(-part.bytes);
        sequenceMin = part.last + 1;
        attempt = 0;
      }
      if (isGone) break;
    }
    if (!isGone) return;
  }
  throw new SessionStoreError(
    'busy',
    `The ${table.table} of run ${runId} were merged again and again while they were read. Try again.`,
    { details: { runId } },
  );
}

/** Segments whose sequence numbers overlap, and small neighbours: after a group, all rows before its end have been read. */
export function overlapGroups(manifests: readonly SegmentManifest[]): SegmentManifest[][] {
  const groups: SegmentManifest[][] = [];
  let last = -1;
  let rows = 0;
  let bytes = 0;
  for (const manifest of manifests) {
    const group = groups.at(-1);
    const isInside = manifest.firstSequence <= last;
    const isSmall =
      rows + manifest.rowCount <= GROUP_ROWS && bytes + manifest.sizeBytes <= GROUP_BYTES;
    last = Math.max(last, manifest.lastSequence);
    if (group !== undefined && (isSmall || (isInside && rows < MAX_GROUP_ROWS))) {
      group.push(manifest);
      rows += manifest.rowCount;
      bytes += manifest.sizeBytes;
      continue;
    }
    groups.push([manifest]);
    rows = manifest.rowCount;
    bytes = manifest.sizeBytes;
  }
  return groups;
}

type ReadPart = {
  readonly segments: { readonly manifest: SegmentManifest; readonly read: SegmentRead }[];
  /** Of all its segments, unpacked. */
  bytes: number;
  /** The greatest sequence number in it. */
  last: number;
};

/**
 * A group in parts that are small when they are unpacked, too: a few kB may contain hundreds of MB. Overlapping segments stay together.
 */
function unpackedParts(
  group: readonly SegmentManifest[],
  reads: readonly SegmentRead[],
): readonly ReadPart[] {
  const parts: ReadPart[] = [];
  for (const [i, manifest] of group.entries()) {
    const read = reads[i] ?? { kind: 'gone' };
    const isPacked = manifest.encoding === 'packed' && read.kind === 'bytes';
    const bytes = isPacked ? unpackedBytes(read.bytes) : manifest.sizeBytes;
    const part = parts.at(-1);
    if (
      part !== undefined &&
      (manifest.firstSequence <= part.last || part.bytes + bytes <= UNPACKED_BYTES)
    ) {
      part.segments.push({ manifest, read });
      part.bytes += bytes;
      part.last = Math.max(part.last, manifest.lastSequence);
    } else parts.push({ segments: [{ manifest, read }], bytes, last: manifest.lastSequence });
  }
  return parts;
}

async function open(
  table: TableDefinition,
  segments: ReadPart['segments'],
  { onDamage, rows: selection }: TableBatchesOptions,
): Promise<RowPart[] | undefined> {
  const opened: RowPart[] = [];
  const damage: DamageReport[] = [];
  for (const { manifest, read } of segments) {
    const result = await openSegment(table, manifest, read);
    if (result.kind === 'gone') return undefined;
    if (result.kind === 'opened') {
      const picked =
        selection === undefined ? result.segment : pick(table, result.segment, selection);
      if (picked.batch.rowCount > 0) opened.push(picked);
    } else damage.push(result.report);
  }
  for (const report of damage) onDamage?.(report);
  return opened;
}

function pick(table: TableDefinition, segment: OpenedSegment, selection: RowFilter): RowPart {
  // Segments of metrics hold the key alone, and its parts may be asked for.
  const batch = table.table === metricTable.table ? withKeyParts(segment.batch) : segment.batch;
  const rows = matchRows(table, { ...segment, batch }, selection);
  return rows === null ? segment : partOf(segment, rows);
}

function* rowsFrom(opened: readonly RowPart[], sequenceMin: number): Generator<RowBatch> {
  const batch = concatBatches(
    opened.map(({ batch: { rowCount, columns }, sequences }) => ({
      rowCount,
      columns: new Map(columns).set(SEQUENCE_COLUMN, { kind: 'number', values: sequences }),
    })),
  );
  const column = batch.columns.get(SEQUENCE_COLUMN);
  const sequences = column?.kind === 'number' ? column.values : new Float64Array(batch.rowCount);
  const order = orderBy(sequences.subarray(0, batch.rowCount));
  const rowAt = (i: number): number => order?.[i] ?? i;
  let from = 0;
  // Rows before were given out already, before segments were merged.
  while (from < batch.rowCount && (sequences[rowAt(from)] ?? 0) < sequenceMin) from++;
  yield* cutBatch(batch, from, order);
}

/** The batch with the columns `namespace` and `metric_name`, made from its `metric_key`, where it has none of its own. */
export function withKeyParts(batch: RowBatch): RowBatch {
  const keys = batch.columns.get('metric_key');
  if (keys?.kind !== 'key') return batch;
  const parts = keys.dictionary.map(splitKey);
  return {
    rowCount: batch.rowCount,
    columns: new Map([
      [
        'namespace',
        keyPart(
          keys,
          parts.map(({ namespace }) => namespace),
        ),
      ],
      [
        'metric_name',
        keyPart(
          keys,
          parts.map(({ name }) => name),
        ),
      ],
      ...batch.columns,
    ]),
  };
}

function keyPart(keys: KeyVector, parts: readonly (string | null)[]): KeyVector {
  const dictionary = [...new Set(parts.filter((part) => part !== null))];
  const places = new Map(dictionary.map((part, at) => [part, at]));
  const ofKey = parts.map((part) => (part === null ? -1 : (places.get(part) ?? -1)));
  return { kind: 'key', dictionary, indices: keys.indices.map((index) => ofKey[index] ?? -1) };
}
