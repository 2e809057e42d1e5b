/** Blobs: the check that a name fits its bytes, and sizes and ranges from any store. */
import { MAX_BLOB_BYTES, MAX_BLOB_BYTES_NOW } from './limits.ts';
import { invalidInput, SessionStoreError } from '../base/errors.ts';
import { checkHash } from '../base/names.ts';
import { toHex } from '../base/hex.ts';
import { checkCount } from '../base/assert.ts';
import type { Store } from './store.ts';

/** Payloads of artifacts that are larger are stored in parts of this size, the last one smaller. */
export const ARTIFACT_PART_BYTES: number = 16 * 1024 * 1024;

/** The SHA-256 of bytes as 64 lowercase hex digits, or undefined where the platform withholds it (pages over plain http). */
export async function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string | undefined> {
  const subtle: SubtleCrypto | undefined = globalThis.crypto?.subtle;
  if (subtle === undefined) return undefined;
  return toHex(new Uint8Array(await subtle.digest('SHA-256', bytes)));
}

/** @throws {QuarkError} `invalid_input` unless `value` can be a SHA-256 */
export function checkSha256(value: unknown): string {
  return checkHash('sha256', value);
}

/** Checks a blob that is stored at once: its hash is the caller's word, as the platform tells it only after a while. */
export function checkBlobNow(sha256: string, bytes: Uint8Array<ArrayBuffer>): void {
  checkSize(sha256, bytes, MAX_BLOB_BYTES_NOW);
}

function checkSize(sha256: string, bytes: Uint8Array<ArrayBuffer>, most: number): void {
  checkSha256(sha256);
  if (!(bytes instanceof Uint8Array)) throw invalidInput('bytes', bytes, 'a Uint8Array');
  if (bytes.byteLength <= most) return;
  throw new SessionStoreError(
    'too_large',
    `Blob ${sha256} has ${bytes.byteLength} bytes; a blob may have ${most}.`,
    {
      details: { sha256, sizeBytes: bytes.byteLength },
    },
  );
}

/** Checks a blob before it is stored. */
export async function checkBlob(sha256: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  checkSize(sha256, bytes, MAX_BLOB_BYTES);
  const found = await sha256Hex(bytes);
  if (found !== undefined && found !== sha256)
    throw invalidInput('sha256', sha256, `the SHA-256 of the bytes, ${found}`);
}

/** Checks a blob that was read back. @throws {SessionStoreError} `corrupt` */
export async function checkStoredBlob(
  sha256: string,
  bytes: Uint8Array<ArrayBuffer>,
  where: string,
): Promise<void> {
  const found = await sha256Hex(bytes);
  if (found === undefined || found === sha256) return;
  throw new SessionStoreError(
    'corrupt',
    `Blob ${sha256} in ${where} is damaged: its bytes have the hash ${found}. Put the blob again to repair it.`,
    {
      details: { sha256, found, where },
    },
  );
}

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
