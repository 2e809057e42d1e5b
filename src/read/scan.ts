/** From a filter to the rows of matching segments, damaged ones reported and passed over. */
import { SessionStoreError } from '../base/errors.ts';
import type { TableDefinition } from '../schema/table.ts';
import { groupSegments } from '../segment/group-segments.ts';
import {
  damageOf,
  decodeSegment,
  readySegment,
  type DamageReport,
  type OpenedSegment,
  type ReadyResult,
  type ReadySegment,
} from '../segment/open-segment.ts';
import type { Vector } from '../codecs/arrow/vectors.ts';
import type { SegmentFilter, SegmentManifest, SegmentSource } from '../store/store.ts';
import type { Position, Range } from './filters.ts';

/** Bytes that are fetched at a time. */
const FETCH_BYTES = 32 << 20;
const FETCH_SEGMENTS = 512;
/** Segments that are inflated at a time, while those before are read: as many as Node has threads for it. */
const READY_SEGMENTS = 4;
/** A merge under way may take segments away between listing and reading; it cannot do so for ever. */
const MAX_ATTEMPTS = 8;

/** What a scan found. */
export type Scan<T> = { readonly parts: readonly T[]; readonly damage: readonly DamageReport[] };

/** Takes the segments of a scan one after the other. */
export type SegmentVisitor = {
  /** What it throws because of the content of the segment is reported as damage; it has taken nothing of it then. */
  readonly visit: (segment: ReadySegment) => void;
};

/** How a scan goes about it. */
export type ScanOptions = {
  /** Leaves out segments whose manifest says more than a filter can ask for. */
  readonly mayMatch?: (manifest: SegmentManifest) => boolean;
  /** What the filter finds, where the caller has looked a moment ago. */
  readonly listed?: readonly SegmentManifest[];
  /** What is fetched at a time at most. */
  readonly fetch?: { readonly bytes: number; readonly segments: number };
  /** Waited for before each segment: others have their turn. What it throws ends the scan. */
  readonly turn?: () => Promise<void>;
};

/**
 * Opens every segment that may hold matching rows and keeps what `pick` makes of it. See {@link ScanOptions} for `mayMatch`.
 */
export async function scanTable<T>(
  store: SegmentSource,
  table: TableDefinition,
  filter: SegmentFilter,
  pick: (segment: OpenedSegment) => T | undefined,
  mayMatch?: (manifest: SegmentManifest) => boolean,
): Promise<Scan<T>> {
  const begin = (): SegmentVisitor & { readonly parts: T[] } => {
    const parts: T[] = [];
    return {
      parts,
      visit(segment) {
        const part = pick(decodeSegment(table, segment));
        if (part !== undefined) parts.push(part);
      },
    };
  };
  const { damage, visitor } = await scanSegments(
    store,
    filter,
    begin,
    mayMatch === undefined ? {} : { mayMatch },
  );
  return { parts: visitor.parts, damage };
}

/**
 * Shows every segment that may hold matching rows to a visitor, in their order. Where segments were merged on the way it begins anew,
 * with another visitor.
 */
export async function scanSegments<V extends SegmentVisitor>(
  store: SegmentSource,
  filter: SegmentFilter,
  begin: (manifests: readonly SegmentManifest[]) => V,
  options: ScanOptions = {},
): Promise<{ readonly visitor: V; readonly damage: readonly DamageReport[] }> {
  const { mayMatch = () => true } = options;
  let { listed } = options;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const manifests = (listed ?? (await store.listSegments(filter))).filter(mayMatch);
    listed = undefined;
    const visitor = begin(manifests);
    const damage = await scanOnce(store, manifests, visitor, options);
    if (damage !== undefined) return { visitor, damage };
  }
  throw new SessionStoreError(
    'busy',
    `The ${filter.table} of run ${filter.runId} were merged again and again while they were read. Try again.`,
    { details: { runId: filter.runId } },
  );
}

/** What could not be read; undefined when a segment is gone. */
async function scanOnce(
  store: SegmentSource,
  manifests: readonly SegmentManifest[],
  visitor: SegmentVisitor,
  { fetch = { segments: FETCH_SEGMENTS, bytes: FETCH_BYTES }, turn }: ScanOptions,
): Promise<readonly DamageReport[] | undefined> {
  const damage: DamageReport[] = [];
  for (const group of groupSegments(manifests, fetch)) {
    const reads = await store.readSegments(group);
    const readyFrom = (start: number): Promise<readonly ReadyResult[]> => {
      const ready = Promise.all(
        group
          .slice(start, start + READY_SEGMENTS)
          .map((manifest, i) => readySegment(manifest, reads[start + i] ?? { kind: 'gone' })),
      );
      // Waited for later, or not at all when something before fails.
      ready.catch(() => undefined);
      return ready;
    };
    let next = readyFrom(0);
    for (let start = 0; start < group.length; start += READY_SEGMENTS) {
      const results = await next;
      next = readyFrom(start + READY_SEGMENTS);
      for (const result of results) {
        await turn?.();
        if (result.kind === 'gone') return undefined;
        if (result.kind === 'damaged') damage.push(result.report);
        else
          try {
            visitor.visit(result.segment);
          } catch (error) {
            damage.push(damageOf(result.segment.manifest, error));
          }
      }
    }
  }
  return damage;
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
