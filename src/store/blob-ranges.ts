/** Sizes and ranges of blobs from any store. Stores without ranged reads read the whole blob. */
import { checkCount } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import type { Store } from './store.ts';

type BlobSource = Pick<Store, 'getBlob' | 'blobSize' | 'getBlobRange'>;

/** The size of a blob in bytes; undefined when there is no such blob. */
export async function sizeOfBlob(store: BlobSource, sha256: string): Promise<number | undefined> {
  return store.blobSize === undefined
    ? (await store.getBlob(sha256))?.byteLength
    : store.blobSize(sha256);
}

/**
 * The bytes of a blob from `start` (inclusive) to `end` (exclusive), cut at the end of the blob; undefined when there is no such
 * blob.
 */
export async function rangeOfBlob(
  store: BlobSource,
  sha256: string,
  start: number,
  end: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return store.getBlobRange === undefined
    ? (await store.getBlob(sha256))?.slice(start, end)
    : store.getBlobRange(sha256, start, end);
}

/** @throws {QuarkError} `invalid_input` naming `start` or `end` */
export function checkRange(start: number, end: number): void {
  checkCount('start', start);
  if (!Number.isSafeInteger(end) || end < start)
    throw invalidInput('end', end, `an integer of at least start (${start})`);
}
