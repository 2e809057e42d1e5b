/**
 * Merged segments that are to be sent: after everything was forgotten and is sent again, or where somebody merged behind
 * the outbox's back. A service knows the batches in them by other names, so their own identity does not keep them from
 * arriving twice: it is looked at first.
 */
import {
  batchName,
  batchesOf,
  coalesceRanges,
  isWithin,
  rangesWithout,
} from '../store/batch-ranges.ts';
import type { BatchRange, SegmentManifest, Store, StreamState } from '../store/store.ts';

/** Tables up to this size are put in place as a whole where pieces cannot be told apart. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;

/** What is to be done with the pending segments of a stream, by `writer/batch`; those not named are sent. */
export type MergedVerdict = {
  /** Send the whole table instead, in the place of what the service has. */
  readonly isWhole: boolean;
  /** The service has their rows already. */
  readonly known: ReadonlySet<string>;
  /** It has some of their rows, and nobody can say which. */
  readonly unclear: ReadonlySet<string>;
};

const NOTHING: MergedVerdict = { isWhole: false, known: new Set(), unclear: new Set() };

/** Asks the service what it has of the batches in merged segments. Without such segments, nothing is asked. */
export async function judgeMerged(
  { local, remote }: { readonly local: Store; readonly remote: Store },
  { runId, table }: StreamState,
  pending: readonly SegmentManifest[],
): Promise<MergedVerdict> {
  const merged = pending.filter(({ sources }) => sources.length > 0);
  if (merged.length === 0) return NOTHING;
  const there = await remote.listSegments({ runId, table, superseded: true, empty: true });
  if (there.length === 0) return NOTHING;
  const here = await local.listSegments({ runId, table, superseded: true });
  const same = new Set(here.map(exactName));
  const foreign = there.filter((one) => !same.has(exactName(one)));
  const foreignBatches = coalesceRanges(foreign.flatMap(batchesOf));
  // Of batches with deleted rows the service has what is to be there.
  const deleted = there.filter(({ droppedRows }) => droppedRows !== undefined);
  const plain = coalesceRanges([
    ...there.filter(({ sources }) => sources.length === 0).flatMap(batchesOf),
    ...deleted.flatMap(batchesOf),
  ]);
  const all = coalesceRanges(there.flatMap(batchesOf));
  const known = new Set<string>();
  const unclear = new Set<string>();
  for (const one of merged) {
    if (!overlap(one.sources, foreignBatches)) continue;
    // Every batch is there as it was written; or more of them than here, where rows were deleted.
    const enough = one.droppedRows === undefined ? plain : all;
    if (one.sources.every((range) => isWithin(range, enough))) known.add(batchName(one));
    else unclear.add(batchName(one));
  }
  const isOurs = rangesWithout(there.flatMap(batchesOf), here.flatMap(batchesOf)).length === 0;
  const bytes = here.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const isWholeHere = here.every(({ droppedRows }) => droppedRows === undefined);
  const mayReplace = isOurs && isWholeHere && deleted.length === 0 && bytes <= MAX_WHOLE_BYTES;
  return { isWhole: unclear.size > 0 && mayReplace, known, unclear };
}

function overlap(ranges: readonly BatchRange[], others: readonly BatchRange[]): boolean {
  return ranges.some((a) =>
    others.some(
      (b) =>
        a.writerId === b.writerId && a.batchStart <= b.batchLast && b.batchStart <= a.batchLast,
    ),
  );
}

function exactName(segment: SegmentManifest): string {
  return `${batchName(segment)} ${segment.checksum}`;
}
