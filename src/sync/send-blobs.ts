/** The payloads that records of artifacts name, before the records. */
import { artifactTable } from '../records/artifact.ts';
import { addBlobNames } from '../segment/blob-names.ts';
import { openSegment } from '../segment/open-segment.ts';
import type { NewSegment, SegmentManifest, Store } from '../store/store.ts';

/** Hashes to remember as sent: sending one again does no harm. */
const MAX_REMEMBERED = 10_000;

/** Blobs that the service has acknowledged. */
export class SentBlobs {
  readonly #hashes = new Set<string>();

  has(sha256: string): boolean {
    return this.#hashes.has(sha256);
  }

  add(sha256: string): void {
    if (this.#hashes.size >= MAX_REMEMBERED) this.#hashes.clear();
    this.#hashes.add(sha256);
  }

  /** The service may have lost them. */
  clear(): void {
    this.#hashes.clear();
  }
}

/** What sending blobs needs. */
export type BlobContext = {
  readonly local: Store;
  readonly remote: Store;
  readonly sentBlobs: SentBlobs;
  readonly checkActive: () => void;
  readonly onProgress: () => void;
};

/** Sends what the artifact records in these segments name, one blob at a time. What is not here is on the service already. */
export async function sendBlobsOf(
  { checkActive, local, onProgress, remote, sentBlobs }: BlobContext,
  segments: readonly NewSegment[],
): Promise<void> {
  for (const segment of segments) {
    if (segment.manifest.table !== artifactTable.table) continue;
    for (const sha256 of await blobsNamedIn(segment)) {
      if (sentBlobs.has(sha256)) continue;
      const bytes = await local.getBlob(sha256);
      if (bytes === undefined) continue;
      checkActive();
      await remote.putBlob(sha256, bytes);
      sentBlobs.add(sha256);
      onProgress();
    }
  }
}

/** The hashes in a segment of artifact records. A segment that cannot be read names none, and is sent as it is. */
export async function blobsNamedIn({ manifest, bytes }: NewSegment): Promise<ReadonlySet<string>> {
  const placed: SegmentManifest = { firstSequence: 0, lastSequence: 0, ...manifest };
  const result = await openSegment(artifactTable, placed, { kind: 'bytes', bytes });
  const hashes = new Set<string>();
  if (result.kind !== 'opened') return hashes;
  addBlobNames(result.segment.batch, hashes);
  return hashes;
}
