/** Deletes in a restored store the rows that were deleted after its snapshot. */
import { emptySegment, openArtifacts, rowsWithout } from '../../read/row-deletion.ts';
import { TABLES } from '../../records/tables.ts';
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
    const { runId } = tombstone;
    const deleted = await store.findDeletedRun(runId);
    if (deleted?.purgedAtMs !== undefined) continue;
    // Of a deleted run nothing can be changed, and nobody else has opened this store.
    if (deleted !== undefined) await store.restoreRun(runId);
    rows += await applyRowTombstone(store, tombstone, nowMs);
    if (deleted === undefined) continue;
    const { by, purgeAtMs } = deleted;
    const keepMs = Math.max(0, purgeAtMs - nowMs);
    await store.deleteRun(runId, { keepMs, ...(by === undefined ? {} : { by }) });
  }
  return rows;
}

async function applyRowTombstone(
  store: Store,
  tombstone: RowTombstone,
  nowMs: number,
): Promise<number> {
  const { downsampledTo, left, runId, table } = tombstone;
  const all = await store.listSegments({ runId, table, superseded: true });
  const named = all.filter((one) => isWithin(one, tombstone));
  if (named.length === 0) return 0;
  return downsampledTo === null
    ? deleteTableRows(store, named, left)
    : thinAgain(store, tombstone, { points: downsampledTo, all, named, nowMs });
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

/**
 * Removes the rows of these segments of a table, without asking for sessions; of artifacts those whose ids are not in `left`. Returns how
 * many it has removed. Segments that cannot be read, or that somebody has merged, stay.
 */
async function deleteTableRows(
  store: Store,
  manifests: readonly SegmentManifest[],
  left: readonly string[] | null,
): Promise<number> {
  let rows = 0;
  for (const manifest of manifests) {
    const { rowCount, runId, table: name } = manifest;
    const table = TABLES.get(name);
    if (table === undefined || rowCount === 0) continue;
    let segment = emptySegment(table, [manifest]);
    if (left !== null) {
      const opened = await openArtifacts(store, manifest);
      if (opened === undefined) continue;
      const staying = new Set(left);
      const rest = rowsWithout(opened, (id) => !staying.has(id ?? ''));
      if (rest.removed === 0) continue;
      segment = rest.segment;
    }
    if (await store.replaceSegments(runId, name, [manifest], [segment]))
      rows += rowCount - segment.manifest.rowCount;
  }
  return rows;
}
