/**
 * Which blobs go: the part of the contract of stores that a sweep is built on.
 *
 * A record of an artifact names a blob, and no store parses records. So the marks come from above the store
 * (`src/read/blob-sweep.ts`), and the store sees to the rest: that a blob is not removed which was put lately, and that
 * nothing is removed when artifacts were recorded since the marks were read.
 */
import { checkCount, checkPositive } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import { artifactTable } from '../records/artifact.ts';
import type { StreamState } from '../records/shapes/stream.ts';
import { checkSha256 } from './blob-rules.ts';
import type { SegmentSource } from './store.ts';

/** A blob as a sweep sees it. */
export type StoredBlob = {
  readonly sha256: string;
  /** Size in bytes. */
  readonly sizeBytes: number;
  /** When it was last put, by the clock of the store, in milliseconds since 1970. */
  readonly putAtMs: number;
};

/** Which blobs {@link BlobSweeps.listBlobs} lists. */
export type BlobPage = {
  /** Blobs that were last put at this instant or before. */
  readonly putBeforeMs: number;
  /** Blobs whose hashes come after this one. Default: from the first. */
  readonly after?: string | undefined;
  /** At most so many, 1 or more. */
  readonly limit: number;
};

/** Files that no row knows. */
export type LooseSum = { readonly files: number; readonly bytes: number };

/** What {@link BlobSweeps.dropBlobs} removes, and on what condition. */
export type BlobDrop = {
  /** Hashes of blobs that no record names. */
  readonly hashes: readonly string[];
  /** A blob that was put after this instant stays. */
  readonly putBeforeMs: number;
  /** The artifact tables as they were before their records were read. */
  readonly seen: readonly StreamState[];
};

/** What deleted runs have until they are purged: no other call shows it. For maintenance, which reads what their records name. */
export interface DeletedRunSource extends SegmentSource {
  /** Their tables. Their order is not defined. */
  listStreams(): Promise<readonly StreamState[]>;
}

/** Removing blobs that nothing names. The memory, IndexedDB, file and PostgreSQL stores have it. */
export interface BlobSweeps {
  /** Deleted runs that can be restored: their blobs are to stay. */
  readonly deletedRuns: DeletedRunSource;
  /**
   * Blobs that were last put some time ago, ordered by hash. A blob that was put before stores noted when counts from the first
   * `dropBlobs`.
   */
  listBlobs(page: BlobPage): Promise<readonly StoredBlob[]>;
  /**
   * Takes blobs out of the store, and removes the bytes of those that no other space has; returns how many were taken out. A
   * blob that was put again since is left out. Undefined, and nothing is changed, when an artifact table has other rows now
   * than were seen.
   *
   * It also completes what calls that were interrupted have left, with no hashes at all, too.
   */
  dropBlobs(drop: BlobDrop): Promise<number | undefined>;
  /**
   * Files of blobs that no row knows and that were written at this instant or before: `dropBlobs` removes them, too. Only a store with a
   * folder of its own can tell.
   */
  looseBlobs?(writtenBeforeMs: number): Promise<LooseSum>;
}

/** @throws {QuarkError} `invalid_input` */
export function checkBlobPage({ putBeforeMs, after, limit }: BlobPage): void {
  checkInstant('putBeforeMs', putBeforeMs);
  if (after !== undefined) checkSha256(after);
  checkPositive('limit', limit);
}

/** @throws {QuarkError} `invalid_input` */
export function checkBlobDrop({ hashes, putBeforeMs, seen }: BlobDrop): void {
  checkInstant('putBeforeMs', putBeforeMs);
  for (const hash of hashes) checkSha256(hash);
  for (const { nextSequence, replaceCount } of seen) {
    checkCount('nextSequence', nextSequence);
    checkCount('replaceCount', replaceCount);
  }
}

function checkInstant(name: string, value: number): void {
  if (typeof value !== 'number' || Number.isNaN(value))
    throw invalidInput(name, value, 'an instant in milliseconds');
}

/** Those of the tables whose records name blobs. */
export function artifactStreams(streams: readonly StreamState[]): readonly StreamState[] {
  return streams.filter(({ table }) => table === artifactTable.table);
}

/** Whether artifacts were recorded since `seen`: a table that is gone names nothing more. */
export function hasNewArtifacts(
  now: readonly StreamState[],
  seen: readonly StreamState[],
): boolean {
  const known = new Map(artifactStreams(seen).map((stream) => [stream.runId, stream]));
  return artifactStreams(now).some(({ runId, nextSequence, replaceCount }) => {
    const before = known.get(runId);
    if (before === undefined) return nextSequence > 0;
    return before.nextSequence !== nextSequence || before.replaceCount !== replaceCount;
  });
}
