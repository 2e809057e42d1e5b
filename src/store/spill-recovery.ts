/** What the next start does with rows that an ended tab or worker has saved. */
import { isQuarkError } from '../base/errors.ts';
import { batchesOf, rangesHold } from './batch-ranges.ts';
import type { LostBatch } from './put-aside.ts';
import type { NewSegment, SegmentManifest, Store } from './store.ts';

/** A segment, and when it was saved, in UTC epoch milliseconds. */
export type SavedRows = NewSegment & { readonly savedAtMs: number };

/** Appends a saved segment; whether it was missing. One whose run is gone, or that is damaged, is given up. */
export async function appendIfNew(
  store: Store,
  { bytes, manifest }: SavedRows,
  isStored: (batch: LostBatch) => Promise<boolean>,
): Promise<boolean> {
  try {
    if (await isStored(manifest)) return false;
    await store.appendSegments([{ bytes, manifest }]);
    return true;
  } catch (error) {
    if (isQuarkError(error, 'run_not_found') || isQuarkError(error, 'invalid_input')) return false;
    throw error;
  }
}

/** Tells which batches a store had when it was first asked about their table. */
export function storedBatches(store: Store): (batch: LostBatch) => Promise<boolean> {
  const tables = new Map<string, Promise<readonly SegmentManifest[]>>();
  return async (batch) => {
    const { runId, table } = batch;
    const live = tables.get(`${runId}/${table}`) ?? store.listSegments({ runId, table });
    tables.set(`${runId}/${table}`, live);
    return (await live).some((segment) => rangesHold(batchesOf(segment), batch));
  };
}

/** How many rows there are of each table. */
export function rowsByTable(
  batches: readonly Pick<LostBatch, 'table' | 'rowCount'>[],
): Readonly<Record<string, number>> {
  const rows: Record<string, number> = {};
  for (const { rowCount, table } of batches) rows[table] = (rows[table] ?? 0) + rowCount;
  return rows;
}
