/** The snapshots of a backup. */
import { messageOf } from '../../base/errors.ts';
import { BackupFolder } from './backup-folder.ts';
import type { Snapshot } from './snapshot.ts';

/** A snapshot, without the list of what it consists of. */
export type BackupSummary = {
  readonly snapshotId: string;
  /** The moment that it is of, in UTC epoch milliseconds. */
  readonly madeAtMs: number;
  /** The folder that it is of. */
  readonly source: string;
  /** The release of Quark that made it. */
  readonly madeBy: string;
  readonly layout: number;
  readonly runCount: number;
  readonly segmentCount: number;
  readonly databaseBytes: number;
  readonly blobCount: number;
  readonly blobBytes: number;
  readonly lostBlobs: readonly string[];
};

/** A snapshot whose file cannot be read. */
export type UnreadableBackup = { readonly snapshotId: string; readonly reason: string };

/**
 * The snapshots of a backup, oldest first, and those that cannot be read.
 *
 * @throws {SessionStoreError} `missing` where there is no backup
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { backupStore, listBackups } from 'quark-sdk/node';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, () => {});
 * await backupStore('quark-runs', 'backups');
 * const { snapshots, unreadable } = await listBackups('backups');
 * for (const { snapshotId, madeAtMs, runCount } of snapshots) console.log(snapshotId, new Date(madeAtMs), runCount);
 * console.log(unreadable); // []
 * ```
 */
export async function listBackups(destination: string): Promise<{
  readonly snapshots: readonly BackupSummary[];
  readonly unreadable: readonly UnreadableBackup[];
}> {
  const folder = new BackupFolder(destination);
  await folder.check();
  const unreadable: UnreadableBackup[] = [];
  const snapshots = await folder.snapshots(({ id, error }) => {
    unreadable.push({ snapshotId: id, reason: messageOf(error) });
  });
  return { snapshots: snapshots.map(summaryOf), unreadable };
}

function summaryOf(snapshot: Snapshot): BackupSummary {
  const { blobs, id, layout, lostBlobs, madeAtMs, madeBy, runCount, segmentCount, source } =
    snapshot;
  return {
    snapshotId: id,
    madeAtMs,
    source,
    madeBy,
    layout,
    runCount,
    segmentCount,
    databaseBytes: snapshot.pageCount * snapshot.pageBytes,
    blobCount: blobs.length,
    blobBytes: blobs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    lostBlobs,
  };
}
