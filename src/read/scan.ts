/** From a filter to the rows of matching segments, damaged ones reported and passed over. */
import { SessionStoreError } from '../base/errors.ts';
import type { TableDefinition } from '../schema/table.ts';
import { groupSegments } from '../segment/group-segments.ts';
import {
  damageOf,
  openSegment,
  type DamageReport,
  type OpenedSegment,
} from '../segment/open-segment.ts';
import type { Vector } from '../segment/vectors.ts';
import type { SegmentFilter, SegmentManifest, Store } from '../store/store.ts';
import type { Position, Range } from './filters.ts';

/** Bytes that are fetched at a time. */
const FETCH_BYTES = 32 << 20;
const FETCH_SEGMENTS = 512;
/** A merge under way may take segments away between listing and reading; it cannot do so for ever. */
const MAX_ATTEMPTS = 8;

/** What a scan found. */
export type Scan<T> = { readonly parts: readonly T[]; readonly damage: readonly DamageReport[] };

/**
 * Opens every segment that may hold matching rows and keeps what `pick` makes of it. `mayMatch` leaves out those whose manifest says
 * more than a filter can ask for.
 */
export async function scanTable<T>(
  store: Store,
  table: TableDefinition,
  filter: SegmentFilter,
  pick: (segment: OpenedSegment) => T | undefined,
  mayMatch: (manifest: SegmentManifest) => boolean = () => true,
): Promise<Scan<T>> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const manifests = (await store.listSegments(filter)).filter(mayMatch);
    const scan = await scanOnce(store, table, manifests, pick);
    if (scan !== undefined) return scan;
  }
  throw new SessionStoreError(
    'busy',
    `The ${table.table} of run ${filter.runId} were merged again and again while they were read. Try again.`,
    { details: { runId: filter.runId } },
  );
}

async function scanOnce<T>(
  store: Store,
  table: TableDefinition,
  manifests: readonly SegmentManifest[],
  pick: (segment: OpenedSegment) => T | undefined,
): Promise<Scan<T> | undefined> {
  const parts: T[] = [];
  const damage: DamageReport[] = [];
  for (const group of groupSegments(manifests, { segments: FETCH_SEGMENTS, bytes: FETCH_BYTES })) {
    const reads = await store.readSegments(group);
    const results = await Promise.all(
      group.map((manifest, i) => openSegment(table, manifest, reads[i] ?? { kind: 'gone' })),
    );
    for (const result of results) {
      if (result.kind === 'gone') return undefined;
      if (result.kind === 'damaged') {
        damage.push(result.report);
        continue;
      }
      try {
        const part = pick(result.segment);
        if (part !== undefined) parts.push(part);
      } catch (error) {
        damage.push(damageOf(result.segment.manifest, error));
      }
    }
  }
  return { parts, damage };
}

/** Rows of a segment that match, in their order; null when all do. `isWanted` stands for the filters of one table. */
export function matchRows(
  segment: OpenedSegment,
  position: Position,
  isWanted?: (row: number) => boolean,
): Int32Array | null {
  const { batch, sequences } = segment;
  const isInStep = inRange(batch.columns.get('step'), position.step);
  const isInEpoch = inRange(batch.columns.get('epoch'), position.epoch);
  const { sequenceMin } = position;
  const checksSequence = segment.manifest.firstSequence < sequenceMin;
  if (
    isInStep === undefined &&
    isInEpoch === undefined &&
    isWanted === undefined &&
    !checksSequence
  )
    return null;
  const rows = new Int32Array(batch.rowCount);
  let count = 0;
  for (let row = 0; row < batch.rowCount; row++) {
    if (checksSequence && (sequences[row] ?? 0) < sequenceMin) continue;
    if (isWanted !== undefined && !isWanted(row)) continue;
    if (isInStep !== undefined && !isInStep(row)) continue;
    if (isInEpoch !== undefined && !isInEpoch(row)) continue;
    rows[count++] = row;
  }
  return count === batch.rowCount ? null : rows.subarray(0, count);
}

function inRange(
  column: Vector | undefined,
  range: Range | null,
): ((row: number) => boolean) | undefined {
  if (range === null) return undefined;
  if (column?.kind !== 'number') return () => false;
  const { values } = column;
  const { min, max } = range;
  return (row) => {
    const value = values[row] ?? Number.NaN;
    return value >= min && value <= max;
  };
}
