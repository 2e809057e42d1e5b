/** Reads a backup back: every snapshot, every chunk, every blob, and the databases as SQLite sees them. */
import { access, constants, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isQuarkError, messageOf } from '../../base/errors.ts';
import { checkSqliteFile } from '../../store/sql/node/sqlite-check.ts';
import { assembleDatabase, readContent } from './assemble.ts';
import { BackupFolder } from './backup-folder.ts';
import { chunkBytes, type Snapshot } from './snapshot.ts';

/** What is wrong with a backup. */
export type BackupProblem = {
  readonly kind: 'snapshot' | 'chunk' | 'blob' | 'database' | 'lost_blob';
  /** The id of a snapshot, or the SHA-256 of content. */
  readonly name: string;
  /** Snapshots that it is a part of. */
  readonly snapshotIds: readonly string[];
  readonly reason: string;
};

/** What reading a backup back has come to. */
export type BackupVerification = {
  readonly snapshotIds: readonly string[];
  readonly chunkCount: number;
  readonly blobCount: number;
  readonly readBytes: number;
  /** Empty when everything can be restored. */
  readonly problems: readonly BackupProblem[];
};

/**
 * Reads and hashes all content that snapshots name, then writes the database of the newest of them to a file beside the backup,
 * opens it for reading and lets SQLite check it. Needs as much space as that database.
 *
 * @param snapshotId only this one; default all
 * @throws {SessionStoreError} `missing`, `busy`, `full`
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { backupStore, verifyBackup } from 'quark-sdk/node';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, () => {});
 * await backupStore('quark-runs', 'backups');
 * const { problems, snapshotIds } = await verifyBackup('backups');
 * console.log(snapshotIds.length, problems); // 1 []
 * ```
 */
export async function verifyBackup(
  destination: string,
  snapshotId?: string,
): Promise<BackupVerification> {
  const folder = new BackupFolder(destination);
  await folder.check();
  return folder.locked('shared', 10_000, async () => {
    const problems: BackupProblem[] = [];
    const snapshots =
      snapshotId === undefined
        ? await folder.snapshots(({ id, error }) => {
            problems.push({
              kind: 'snapshot',
              name: id,
              snapshotIds: [id],
              reason: messageOf(error),
            });
          })
        : [await folder.snapshot(snapshotId)];
    const read = await readAll(folder, snapshots, problems);
    const newest = snapshots.at(-1);
    const isReadable = problems.every(({ snapshotIds }) => !snapshotIds.includes(newest?.id ?? ''));
    if (newest !== undefined && isReadable) problems.push(...(await checkDatabase(folder, newest)));
    for (const { id, lostBlobs } of snapshots)
      for (const name of lostBlobs)
        problems.push({
          kind: 'lost_blob',
          name,
          snapshotIds: [id],
          reason: 'its bytes were missing or damaged in the store when the backup was made',
        });
    return { snapshotIds: snapshots.map(({ id }) => id), ...read, problems };
  });
}

type Content = {
  readonly kind: 'chunk' | 'blob';
  readonly sizeBytes: number;
  readonly ids: string[];
};

async function readAll(
  folder: BackupFolder,
  snapshots: readonly Snapshot[],
  problems: BackupProblem[],
): Promise<Pick<BackupVerification, 'chunkCount' | 'blobCount' | 'readBytes'>> {
  const named = new Map<string, Content>();
  const name = (kind: Content['kind'], sha256: string, sizeBytes: number, id: string): void => {
    const known = named.get(`${kind} ${sha256}`);
    if (known === undefined) named.set(`${kind} ${sha256}`, { kind, sizeBytes, ids: [id] });
    else if (known.ids.at(-1) !== id) known.ids.push(id);
  };
  for (const snapshot of snapshots) {
    for (const [i, sha256] of snapshot.chunks.entries())
      name('chunk', sha256, chunkBytes(snapshot, i), snapshot.id);
    for (const { sha256, sizeBytes } of snapshot.blobs)
      name('blob', sha256, sizeBytes, snapshot.id);
  }
  let readBytes = 0;
  const counts = { chunk: 0, blob: 0 };
  for (const [key, { ids, kind, sizeBytes }] of named) {
    const sha256 = key.slice(kind.length + 1);
    counts[kind] += 1;
    try {
      const files = kind === 'chunk' ? folder.chunks : folder.blobs;
      readBytes += (await readContent(files, sha256, sizeBytes, ids[0] ?? '')).byteLength;
    } catch (error) {
      if (!isQuarkError(error)) throw error;
      problems.push({ kind, name: sha256, snapshotIds: ids, reason: error.message });
    }
  }
  return { chunkCount: counts.chunk, blobCount: counts.blob, readBytes };
}

async function checkDatabase(
  folder: BackupFolder,
  snapshot: Snapshot,
): Promise<readonly BackupProblem[]> {
  const isWritable = await access(folder.path, constants.W_OK).then(
    () => true,
    () => false,
  );
  const draft = isWritable
    ? await folder.makeDraftFolder()
    : await mkdtemp(join(tmpdir(), 'quark-verify-'));
  try {
    const path = join(draft, 'quark.db');
    await assembleDatabase(folder, snapshot, path);
    const found = await checkSqliteFile(path);
    return found.map((reason) => ({
      kind: 'database' as const,
      name: snapshot.id,
      snapshotIds: [snapshot.id],
      reason,
    }));
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
