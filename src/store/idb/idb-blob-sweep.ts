/** Removing blobs in IndexedDB: one transaction asks what was recorded, and removes. */
import { hasNewArtifacts, type BlobDrop, type BlobPage, type StoredBlob } from '../blob-sweep.ts';
import type { IdbStoreName, IdbTransaction } from './idb-layout.ts';
import { snapshotIn } from './idb-notes.ts';

/** The object stores that {@link blobsIn} needs. */
export const BLOB_LIST_STORES: IdbStoreName[] = ['blobs', 'blobPuts'];
/** The object stores that {@link dropBlobs} needs. */
export const BLOB_DROP_STORES: IdbStoreName[] = [
  'deletedRuns',
  ...BLOB_LIST_STORES,
  'runs',
  'counters',
  'replacements',
];

/** See `BlobSweeps.listBlobs`. One blob is in memory at a time. */
export async function blobsIn(
  tx: IdbTransaction<'readonly'>,
  { after, limit, putBeforeMs }: BlobPage,
): Promise<readonly StoredBlob[]> {
  const found: StoredBlob[] = [];
  const range = after === undefined ? null : IDBKeyRange.lowerBound(after, true);
  let cursor = await tx.objectStore('blobPuts').openCursor(range);
  while (cursor !== null && found.length < limit) {
    const { key, value: putAtMs } = cursor;
    if (putAtMs <= putBeforeMs) {
      const bytes = await tx.objectStore('blobs').get(key);
      if (bytes !== undefined) found.push({ sha256: key, sizeBytes: bytes.byteLength, putAtMs });
    }
    cursor = await cursor.continue();
  }
  return found;
}

/** See `BlobSweeps.dropBlobs`. */
export async function dropBlobs(
  tx: IdbTransaction<'readwrite'>,
  { hashes, putBeforeMs, seen }: BlobDrop,
  nowMs: number,
): Promise<number | undefined> {
  const puts = tx.objectStore('blobPuts');
  const blobs = tx.objectStore('blobs');
  const { streams } = await snapshotIn(tx, undefined);
  if (hasNewArtifacts(streams, seen)) return undefined;
  const known = new Set(await puts.getAllKeys());
  for (const hash of await blobs.getAllKeys()) if (!known.has(hash)) await puts.put(nowMs, hash);
  let dropped = 0;
  for (const hash of hashes) {
    const putAtMs = await puts.get(hash);
    if (putAtMs === undefined || putAtMs > putBeforeMs) continue;
    await Promise.all([puts.delete(hash), blobs.delete(hash)]);
    dropped++;
  }
  return dropped;
}
