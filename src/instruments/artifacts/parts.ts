/**
 * Payloads in parts. A store takes a blob as a whole, so a payload larger than a part becomes several blobs; one part is in memory
 * at a time, for any size of the payload. Payloads of up to one part are one blob with the payload's own hash.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { SessionStoreError } from '../../base/errors.ts';
import { toHex } from '../../base/hex.ts';
import { checkHash } from '../../base/names.ts';
import type { ArtifactRecord } from '../../records/artifact.ts';
import { ARTIFACT_PART_BYTES, sha256Hex } from '../../store/blob-rules.ts';
import type { LocalStore, Store } from '../../store/store.ts';
import type { PayloadSource } from './payload.ts';

/** Bytes of a part. */
export const PART_BYTES: number = ARTIFACT_PART_BYTES;

/** A payload that is in the store. */
export type StoredPayload = {
  readonly sizeBytes: number;
  readonly sha256: string;
  /** Of each part; null for a payload that is one blob. */
  readonly partSha256: readonly string[] | null;
};

/** Stores a payload. @throws {SessionStoreError} when the store failed; parts that were stored remain, and are found again */
export async function putPayload(
  store: Pick<Store, 'putBlob'>,
  chunks: PayloadSource['chunks'],
  partBytes: number,
): Promise<StoredPayload> {
  const whole = sha256.create();
  const hashes: string[] = [];
  let part = new Uint8Array(0);
  let used = 0;
  let sizeBytes = 0;
  const keep = async (isLast: boolean): Promise<void> => {
    // A copy: a store may reference what it is given, and the next part goes to the same memory.
    const bytes = part.slice(0, used);
    const hash = await hashOf(bytes);
    // The hash of the only part is that of the whole, made by the platform; this one runs on the calling thread.
    if (!isLast || hashes.length > 0) whole.update(bytes);
    await store.putBlob(hash, bytes);
    hashes.push(hash);
    used = 0;
  };
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength;) {
      if (used === partBytes) await keep(false);
      const count = Math.min(chunk.byteLength - at, partBytes - used);
      part = withRoom(part, used, count, partBytes);
      part.set(chunk.subarray(at, at + count), used);
      used += count;
      at += count;
    }
    sizeBytes += chunk.byteLength;
  }
  if (used > 0 || hashes.length === 0) await keep(true);
  const [only] = hashes;
  if (hashes.length === 1 && only !== undefined)
    return { sizeBytes, sha256: only, partSha256: null };
  return { sizeBytes, sha256: toHex(whole.digest()), partSha256: hashes };
}

/** Stores a small payload before it returns. @throws {SessionStoreError} `too_large`, or what the store fails with */
export function putPayloadNow(
  store: Pick<LocalStore, 'putBlobNow'>,
  bytes: Uint8Array<ArrayBuffer>,
): StoredPayload {
  const hash = toHex(sha256(bytes));
  store.putBlobNow(hash, bytes);
  return { sizeBytes: bytes.byteLength, sha256: hash, partSha256: null };
}

/**
 * The payload in chunks of at most one part each; every chunk has been checked, and the last is returned once the hash of the whole
 * has been checked too.
 *
 * @throws {SessionStoreError} `missing` or `corrupt`
 */
export async function* getPayload(
  store: Pick<Store, 'getBlob'>,
  record: ArtifactRecord,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const parts = record.partSha256 ?? [record.sha256];
  const whole = record.partSha256 === null ? undefined : sha256.create();
  let sizeBytes = 0;
  for (const [i, hash] of parts.entries()) {
    if (!isHash(hash)) throw damaged(record, 'one of its hashes is none');
    const bytes = await store.getBlob(hash);
    if (bytes === undefined) {
      throw new SessionStoreError(
        'missing',
        `The payload of artifact ${record.artifactKey} (${record.id}) is not in the store: blob ${hash} is missing.`,
        { details: { id: record.id, sha256: hash } },
      );
    }
    if ((await hashOf(bytes)) !== hash) throw damaged(record, `blob ${hash} has another hash`);
    whole?.update(bytes);
    sizeBytes += bytes.byteLength;
    if (i < parts.length - 1 && sizeBytes > record.sizeBytes)
      throw damaged(record, `its parts have more than ${record.sizeBytes} bytes`);
    if (i === parts.length - 1) {
      if (sizeBytes !== record.sizeBytes)
        throw damaged(record, `it has ${sizeBytes} bytes instead of ${record.sizeBytes}`);
      if (whole !== undefined && toHex(whole.digest()) !== record.sha256)
        throw damaged(record, 'the parts together have another hash');
    }
    yield bytes;
  }
}

function isHash(text: string): boolean {
  try {
    checkHash('sha256', text);
    return true;
  } catch {
    return false;
  }
}

function withRoom(
  part: Uint8Array<ArrayBuffer>,
  used: number,
  count: number,
  partBytes: number,
): Uint8Array<ArrayBuffer> {
  if (used + count <= part.byteLength) return part;
  const grown = new Uint8Array(Math.min(partBytes, Math.max(used + count, 2 * part.byteLength)));
  grown.set(part.subarray(0, used));
  return grown;
}

/** Pages over plain http have no digest of their own. */
async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return (await sha256Hex(bytes)) ?? toHex(sha256(bytes));
}

function damaged(record: ArtifactRecord, reason: string): SessionStoreError {
  return new SessionStoreError(
    'corrupt',
    `The payload of artifact ${record.artifactKey} (${record.id}) is damaged: ${reason}.`,
    { details: { id: record.id } },
  );
}
