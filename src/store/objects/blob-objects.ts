/** Large blobs as objects: `blobs/ab/abcdef...`, named by their SHA-256. */
import { MAX_BLOB_BYTES } from '../limits.ts';
import type { BlobFiles } from '../sql/sql-store.ts';
import type { S3Objects } from './s3-objects.ts';

const ROOT = 'blobs/';
/** An upload in parts that a process which ended has left is given up after this time. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;

/**
 * Blob files in a bucket. A blob that no row names, left by a process that ended between the two, stays: whoever puts
 * the same bytes again takes it over.
 */
export function createBlobObjects(objects: S3Objects): BlobFiles {
  const keyOf = (sha256: string): string => `${ROOT}${sha256.slice(0, 2)}/${sha256}`;
  return {
    name: objects.name,
    put: (sha256, bytes) => objects.put(keyOf(sha256), bytes, sha256),
    get: (sha256) => objects.get(keyOf(sha256), MAX_BLOB_BYTES),
    getRange: (sha256, start, end) => objects.getRange(keyOf(sha256), start, end),
    has: async (sha256, sizeBytes) => (await objects.size(keyOf(sha256))) === sizeBytes,
    removeAbandoned: async (nowMs) => {
      await objects.abortUploads(ROOT, nowMs - ABANDONED_AFTER_MS);
    },
  };
}
