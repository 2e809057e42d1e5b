/**
 * Every row of a table in the order it was persisted, a stretch at a time: what exports read. A stretch is one segment as written, or the
 * segments of one merge, whose rows are ordered by key; memory holds one.
 */
import { checkNotAborted } from '../base/assert.ts';
import { SessionStoreError } from '../base/errors.ts';
import { metricTable } from '../records/metric.ts';
import type { TableDefinition } from '../schema/table.ts';
import { concatBatches } from '../segment/batch-ops.ts';
import { cutBatch } from '../segment/cut-batch.ts';
import { SEQUENCE_COLUMN } from '../segment/encode.ts';
import { openSegment, type DamageReport, type OpenedSegment } from '../segment/open-segment.ts';
import type { RowBatch } from '../segment/vectors.ts';
import type { SegmentManifest, Store } from '../store/store.ts';
import { withKeyParts } from './key-parts.ts';
import { orderBy } from './metric-columns.ts';

/** Small segments that are read together. */
const GROUP_ROWS = 65_536;
const GROUP_BYTES = 16 << 20;
/** A merge under way may take segments away between listing and reading; it cannot do so for ever. */
const MAX_ATTEMPTS = 8;

/** How to go over a table. */
export type TableBatchesOptions = {
  readonly signal?: AbortSignal | undefined;
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
  store: Store,
  table: TableDefinition,
  runId: string,
  { signal, onDamage }: TableBatchesOptions = {},
): AsyncGenerator<RowBatch, void, undefined> {
  let sequenceMin = 0;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const manifests = await store.listSegments({ runId, table: table.table, sequenceMin });
    let isGone = false;
    for (const stretch of stretchesOf(manifests)) {
      checkNotAborted(signal);
      const opened = await open(store, table, stretch, onDamage);
      if (opened === undefined) {
        isGone = true;
        break;
      }
      const last = stretch.reduce((max, { lastSequence }) => Math.max(max, lastSequence), 0);
      if (opened.length > 0)
        for (const batch of rowsFrom(opened, sequenceMin))
          yield table.table === metricTable.table ? withKeyParts(batch) : batch;
      sequenceMin = last + 1;
      attempt = 0;
    }
    if (!isGone) return;
  }
  throw new SessionStoreError(
    'busy',
    `The ${table.table} of run ${runId} were merged again and again while they were read. Try again.`,
    { details: { runId } },
  );
}

/** Segments whose sequence numbers lie among each other, and small neighbours. */
function stretchesOf(manifests: readonly SegmentManifest[]): SegmentManifest[][] {
  const stretches: SegmentManifest[][] = [];
  let last = -1;
  let rows = 0;
  let bytes = 0;
  for (const manifest of manifests) {
    const stretch = stretches.at(-1);
    const isInside = manifest.firstSequence <= last;
    const isSmall =
      rows + manifest.rowCount <= GROUP_ROWS && bytes + manifest.sizeBytes <= GROUP_BYTES;
    last = Math.max(last, manifest.lastSequence);
    if (stretch !== undefined && (isInside || isSmall)) {
      stretch.push(manifest);
      rows += manifest.rowCount;
      bytes += manifest.sizeBytes;
      continue;
    }
    stretches.push([manifest]);
    rows = manifest.rowCount;
    bytes = manifest.sizeBytes;
  }
  return stretches;
}

async function open(
  store: Store,
  table: TableDefinition,
  stretch: readonly SegmentManifest[],
  onDamage: TableBatchesOptions['onDamage'],
): Promise<OpenedSegment[] | undefined> {
  const reads = await store.readSegments(stretch);
  const opened: OpenedSegment[] = [];
  const damage: DamageReport[] = [];
  for (const [i, manifest] of stretch.entries()) {
    const result = await openSegment(table, manifest, reads[i] ?? { kind: 'gone' });
    if (result.kind === 'gone') return undefined;
    if (result.kind === 'opened') opened.push(result.segment);
    else damage.push(result.report);
  }
  for (const report of damage) onDamage?.(report);
  return opened;
}

function* rowsFrom(opened: readonly OpenedSegment[], sequenceMin: number): Generator<RowBatch> {
  const batch = concatBatches(
    opened.map(({ batch: { rowCount, columns }, sequences }) => ({
      rowCount,
      columns: new Map(columns).set(SEQUENCE_COLUMN, { kind: 'number', values: sequences }),
    })),
  );
  const column = batch.columns.get(SEQUENCE_COLUMN);
  const sequences = column?.kind === 'number' ? column.values : new Float64Array(batch.rowCount);
  const order = orderBy(sequences.subarray(0, batch.rowCount), Number.POSITIVE_INFINITY);
  const rowAt = (i: number): number => order?.[i] ?? i;
  let from = 0;
  // Rows before were given out already, before segments were merged.
  while (from < batch.rowCount && (sequences[rowAt(from)] ?? 0) < sequenceMin) from++;
  yield* cutBatch(batch, from, order);
}
