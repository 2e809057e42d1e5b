/** Deletes in a restored store the rows that were deleted after its snapshot. */
import { deleteTableRows } from '../../read/row-deletion.ts';
import { thinMetrics } from '../../retention/thin.ts';
import { batchesOf, rangesWithout } from '../../store/batch-ranges.ts';
import type { StoreSpaces } from '../../store/sql/sql-store.ts';
import type { SegmentManifest, Store } from '../../store/store.ts';
import type { RowTombstone } from './row-tombstones.ts';

/** Returns how many rows it has removed. */
export async function deleteRowsAgain(
  spaces: StoreSpaces,
  tombstones: readonly RowTombstone[],
  nowMs: number,
): Promise<number> {
  let rows = 0;
  for (const tombstone of tombstones) {
    const store = spaces.store(tombstone.space);
    // Of a deleted run nothing is listed.
    const { runId, table } = tombstone;
    const all = await store.listSegments({ runId, table, superseded: true });
    const named = all.filter((one) => isWithin(one, tombstone));
    if (named.length === 0) continue;
    rows +=
      tombstone.downsampledTo === null
        ? await deleteTableRows(store, named, tombstone.left)
        : await thinAgain(store, tombstone, { points: tombstone.downsampledTo, all, named, nowMs });
  }
  return rows;
}

/** Of a run that has rows of later batches, too, what is to be downsampled is so already, or will be by the next retention. */
async function thinAgain(
  store: Store,
  { runId }: RowTombstone,
  {
    all,
    named,
    nowMs,
    points,
  }: {
    readonly all: readonly SegmentManifest[];
    readonly named: readonly SegmentManifest[];
    readonly nowMs: number;
    readonly points: number;
  },
): Promise<number> {
  if (named.length < all.length) return 0;
  const left = await thinMetrics(store, runId, { points, nowMs });
  return typeof left === 'string' ? 0 : left.before - left.after;
}

function isWithin(segment: SegmentManifest, { batches }: RowTombstone): boolean {
  return rangesWithout(batchesOf(segment), batches).length === 0;
}
