/**
 * Removes old snapshots, and the content that no snapshot names any more. Content is marked by the snapshots that stay and the rest
 * swept, alone in the folder: a backup that writes, and a restore that reads, are waited for.
 */
import { checkPositive } from '../../base/assert.ts';
import { BackupFolder } from './backup-folder.ts';

/** How long to wait for others in the folder, in milliseconds. */
const WAIT_MS = 10_000;

/**
 * Removes all but the newest `keep` snapshots, and what only they named. Returns the ids of the snapshots that were removed.
 *
 * @throws {QuarkError} `invalid_input` unless `keep` is an integer from 1 on
 * @throws {SessionStoreError} `missing`; `busy` when others are in the folder for 10 seconds; `corrupt` when a snapshot cannot be
 *   read: what it names is not known, so nothing is removed
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { backupStore, listBackups, pruneBackup } from 'quark-sdk/node';
 *
 * for (let i = 0; i < 2; i++) {
 *   await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, () => {});
 *   await backupStore('quark-runs', 'backups');
 * }
 * const removed = await pruneBackup('backups', 1);
 * console.log(removed.length, (await listBackups('backups')).snapshots.length); // 1 1
 * ```
 */
export async function pruneBackup(destination: string, keep: number): Promise<readonly string[]> {
  const folder = new BackupFolder(destination);
  await folder.check();
  return pruneFolder(folder, keep);
}

/** The same in an opened folder. */
export async function pruneFolder(folder: BackupFolder, keep: number): Promise<readonly string[]> {
  checkPositive('keep', keep);
  return folder.locked('exclusive', WAIT_MS, async () => {
    const snapshots = await folder.snapshots();
    const old = snapshots.slice(0, -keep);
    for (const { id } of old) await folder.removeSnapshot(id);
    const named = new Set<string>();
    for (const { blobs, chunks } of snapshots.slice(-keep)) {
      for (const sha256 of chunks) named.add(sha256);
      for (const { sha256 } of blobs) named.add(sha256);
    }
    for (const kind of ['chunks', 'blobs'] as const)
      for await (const sha256 of folder.stored(kind))
        if (!named.has(sha256)) await folder.remove(kind, sha256);
    await folder.removeDrafts();
    return old.map(({ id }) => id);
  });
}
