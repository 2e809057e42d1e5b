/** Writes the database of a snapshot to a file, checking every chunk on the way. */
import { open } from 'node:fs/promises';
import { SessionStoreError } from '../../base/errors.ts';
import { sqliteFailure } from '../../store/sql/node/sqlite-errors.ts';
import type { BlobFiles } from '../../store/sql/sql-blob-store.ts';
import type { BackupFolder } from './backup-folder.ts';
import { chunkBytes, sha256Of, type Snapshot } from './snapshot.ts';

/**
 * Writes the database of a snapshot to a new file, which is on the disk when this resolves.
 *
 * @throws {SessionStoreError} `corrupt` naming a chunk that is missing or damaged, `full`, `unwritable`
 */
export async function assembleDatabase(
  folder: BackupFolder,
  snapshot: Snapshot,
  path: string,
): Promise<void> {
  try {
    const file = await open(path, 'wx');
    try {
      for (const [i, sha256] of snapshot.chunks.entries())
        await file.writeFile(
          await readContent(folder.chunks, sha256, chunkBytes(snapshot, i), snapshot.id),
        );
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw sqliteFailure(error, path);
  }
}

/** The content under a hash. @throws {SessionStoreError} `corrupt` when it is missing or damaged */
export async function readContent(
  files: BlobFiles,
  sha256: string,
  sizeBytes: number,
  snapshotId: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await files.get(sha256);
  const reason =
    bytes === undefined
      ? 'is missing'
      : bytes.byteLength !== sizeBytes || sha256Of(bytes) !== sha256
        ? 'is damaged'
        : undefined;
  if (bytes !== undefined && reason === undefined) return bytes;
  throw new SessionStoreError(
    'corrupt',
    `${sha256} ${reason} in ${files.name}, so snapshot ${snapshotId} is not whole. Use another snapshot ("quark backup list"); "quark backup DEST --verify" writes it again if the store has it.`,
    { details: { path: files.name, sha256, snapshotId } },
  );
}
