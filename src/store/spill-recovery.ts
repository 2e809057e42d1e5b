/** Recovery of rows that an ended tab or worker has spilled. */
import { segmentName } from '../records/shapes/manifest.ts';
import { warn } from '../base/console.ts';
import { isQuarkError, isStoreError } from '../base/errors.ts';
import { batchesOf, rangesContain } from './batch-ranges.ts';
import type { LossReport } from './row-spill.ts';
import type { LeftSession, LostBatch } from './storage-spill.ts';
import { compareText } from './run-rules.ts';
import type { NewSegment, SegmentManifest, Store } from './store.ts';

/** A segment, and when it was saved, in UTC epoch milliseconds. */
export type SavedRows = NewSegment & { readonly savedAtMs: number };

/**
 * Appends a saved segment; whether it was missing. One that is damaged is given up, and one whose run is not in the store: its
 * rows are counted in `lost`, by run.
 */
export async function appendIfNew(
  store: Store,
  { bytes, manifest }: SavedRows,
  isStored: (batch: LostBatch) => Promise<boolean>,
  lost: Map<string, number>,
): Promise<boolean> {
  try {
    if (await isStored(manifest)) return false;
    await store.appendSegments([{ bytes, manifest }]);
    return true;
  } catch (error) {
    if (isQuarkError(error, 'invalid_input')) return false;
    if (!isQuarkError(error, 'run_not_found') && !isStoreError(error, 'deleted')) throw error;
    lost.set(manifest.runId, (lost.get(manifest.runId) ?? 0) + manifest.rowCount);
    return false;
  }
}

/** Rows without a run: it was deleted, or its page was closed before it could be stored. No run is left to record that in. */
export function warnOfLost(lost: ReadonlyMap<string, number>): void {
  for (const [runId, rows] of lost)
    warn(
      `Quark: ${rows} rows that a closed page or worker had saved were removed: their run ${runId} is not in the storage. It was deleted, or never stored.`,
    );
}

/**
 * Ends what a page or worker has left: its run is stored as it left it, unless somebody has changed the run since, and its leases are given
 * back, so that the next reader sees the run as interrupted.
 */
export async function endLeft(store: Store, sessions: readonly LeftSession[]): Promise<void> {
  for (const { end, holders, runId } of sessions) {
    try {
      if (end !== undefined) await store.updateRun(end);
    } catch (error) {
      // The run is gone, or is not one that a store takes: only the leases are left.
      const isLost =
        !isStoreError(error) || isStoreError(error, 'rejected') || isStoreError(error, 'deleted');
      if (!isLost) throw error;
    }
    for (const holder of holders) await store.releaseLease(runId, holder);
  }
}

/** Tells which batches a store had when it was first asked about their table. */
export function storedBatches(store: Store): (batch: LostBatch) => Promise<boolean> {
  const tables = new Map<string, Promise<readonly SegmentManifest[]>>();
  return async (batch) => {
    const { runId, table } = batch;
    const live = tables.get(`${runId}/${table}`) ?? store.listSegments({ runId, table });
    tables.set(`${runId}/${table}`, live);
    return (await live).some((segment) => rangesContain(batchesOf(segment), batch));
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

/**
 * Rows that were saved in the database and in `localStorage`: of each batch the version with more rows, and the batches of a
 * writer in their order.
 */
export function joinVersions(
  saved: readonly SavedRows[],
  aside: readonly NewSegment[],
): readonly SavedRows[] {
  const versions = new Map(saved.map((rows) => [segmentName(rows.manifest), rows]));
  for (const { bytes, manifest } of aside) {
    const name = segmentName(manifest);
    if ((versions.get(name)?.manifest.rowCount ?? 0) >= manifest.rowCount) continue;
    versions.set(name, { bytes, manifest, savedAtMs: manifest.timeMaxMs ?? 0 });
  }
  return [...versions.values()].sort(
    ({ manifest: a }, { manifest: b }) =>
      compareText(streamOf(a), streamOf(b)) || a.batchNumber - b.batchNumber,
  );
}

function streamOf({ runId, table, writerId }: NewSegment['manifest']): string {
  return `${runId}/${table}/${writerId}`;
}

/** The report on a session that has ended: which of its rows were lost, recovered and saved. */
export function lossReport(
  { gapMs, owner, runId }: Pick<LossReport, 'owner' | 'runId' | 'gapMs'>,
  rows: {
    readonly lost: readonly LostBatch[];
    readonly taken: readonly SavedRows[];
    readonly saved: readonly SavedRows[];
  },
): LossReport {
  const ofRun = (some: readonly SavedRows[]): readonly SavedRows[] =>
    some.filter(({ manifest }) => manifest.runId === runId);
  const times = ofRun(rows.saved).map(({ savedAtMs }) => savedAtMs);
  return {
    // Rows from localStorage have no owner: the report is filed under the first writer that lost some.
    owner: owner === '' ? (rows.lost[0]?.writerId ?? '') : owner,
    runId,
    recovered: rowsByTable(ofRun(rows.taken).map(({ manifest }) => manifest)),
    missing: rowsByTable(rows.lost),
    savedAtMs: times.length === 0 ? null : Math.max(...times),
    gapMs,
  };
}
