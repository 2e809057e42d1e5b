/** The payloads that records of artifacts name, before the records. */
import type { Clock } from '../base/clock.ts';
import { artifactTable } from '../records/artifact.ts';
import { addBlobNames } from '../segment/blob-names.ts';
import { openSegment } from '../segment/open-segment.ts';
import type { NewSegment, SegmentManifest, Store } from '../store/store.ts';

/** Hashes to remember as sent: sending one again does no harm. */
const MAX_REMEMBERED = 10_000;
/** How long: a service removes blobs that no record names some days after they were last put. */
const REMEMBERED_MS = 60 * 60 * 1000;

/** Blobs that the service has acknowledged lately. */
export class SentBlobs {
  readonly #sentAtMs = new Map<string, number>();
  readonly #clock: Pick<Clock, 'now'>;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  has(sha256: string): boolean {
    const ageMs = this.#clock.now() - (this.#sentAtMs.get(sha256) ?? Number.NEGATIVE_INFINITY);
    return ageMs >= 0 && ageMs < REMEMBERED_MS;
  }

  add(sha256: string): void {
    if (this.#sentAtMs.size >= MAX_REMEMBERED) this.#sentAtMs.clear();
    this.#sentAtMs.set(sha256, this.#clock.now());
  }

  /** The service may have lost them. */
  clear(): void {
    this.#sentAtMs.clear();
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
