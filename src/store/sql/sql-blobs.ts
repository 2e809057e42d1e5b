/**
 * Blobs in SQL: bytes once for all spaces, and a row for each space that may see them.
 *
 * A blob has a row in `blob_puts` from before its bytes are written until a sweep removes it: when it was last put, and its
 * generation, which counts how often it was swept. The generation is in the name under which a large blob is stored, so that a name
 * is written once: deleting the bytes of an old generation late harms no newer one.
 */
import { checkCount } from '../../base/assert.ts';
import { SessionStoreError } from '../../base/errors.ts';
import { MAX_BLOB_BYTES_NOW } from '../limits.ts';
import {
  bytesCell,
  numberCell,
  sql,
  sqlOne,
  together,
  type SqlCall,
  type SqlWork,
} from './sql-database.ts';
import type { ChangeScope } from './sql-streams.ts';
import { checkQuotas, countBlob } from './sql-usage.ts';

/** Whose blob it is, and which quotas apply. */
export type BlobScope = Pick<ChangeScope, 'space' | 'quotas'>;

/** Blobs up to this size are stored in the table of blobs, larger ones as files. */
export const MAX_DATABASE_BLOB_BYTES: number = MAX_BLOB_BYTES_NOW;

/** The name under which a large blob is stored. */
export function blobKey(sha256: string, generation: number): string {
  return generation === 0 ? sha256 : `${sha256}.${generation}`;
}

/** The name of a large blob: its hash, with the number of its generation after the first. */
export const BLOB_KEY: RegExp = /^[0-9a-f]{64}(?:\.[1-9]\d{0,9})?$/;

/** The hash in the name of a large blob. */
export function hashOfKey(key: string): string {
  return key.slice(0, 64);
}

/** Stores a blob that is small enough for the database, and makes it visible in the space. */
export function* storeBlob(
  { space, quotas }: BlobScope,
  sha256: string,
  bytes: Uint8Array,
  nowMs: number,
): SqlWork<void> {
  yield* claimBlob(sha256, nowMs);
  yield* countNew({ space, quotas }, sha256, bytes.byteLength);
  yield* together([
    sql(
      `INSERT INTO blobs (sha256, size_bytes, bytes) VALUES (?, ?, ?)
       ON CONFLICT (sha256) DO UPDATE SET bytes = excluded.bytes, size_bytes = excluded.size_bytes`,
      sha256,
      bytes.byteLength,
      bytes,
    ),
    showCall(space, sha256, nowMs),
  ]);
}

/**
 * The first of two transactions around the writing of a large blob: from here on no sweep removes it for as long as unnamed blobs
 * are stored. Returns the generation whose name its bytes have or get.
 */
export function* claimBlob(sha256: string, nowMs: number): SqlWork<number> {
  const [row] = yield sqlOne(
    `INSERT INTO blob_puts (sha256, generation, put_at_ms)
     SELECT CAST(? AS TEXT), coalesce(max(generation) + 1, 0), CAST(? AS DOUBLE PRECISION) FROM swept_blobs WHERE sha256 = ?
     ON CONFLICT (sha256) DO UPDATE SET put_at_ms = excluded.put_at_ms
     RETURNING generation`,
    sha256,
    nowMs,
    sha256,
  );
  return row === undefined ? 0 : numberCell(row, 0);
}

/**
 * The second: makes a large blob visible in the space. False when a sweep has taken it since, because writing took so long; the name
 * is then given back, and the blob has to be put again.
 */
export function* showBlob(
  { space, quotas }: BlobScope,
  blob: { readonly sha256: string; readonly sizeBytes: number; readonly generation: number },
  nowMs: number,
): SqlWork<boolean> {
  const { generation, sha256, sizeBytes } = blob;
  const claimed = yield sql(
    'UPDATE blob_puts SET put_at_ms = ? WHERE sha256 = ? AND generation = ? RETURNING generation',
    nowMs,
    sha256,
    generation,
  );
  if (claimed.length === 0) {
    yield sql(
      `INSERT INTO swept_blobs (sha256, generation, is_deleted) VALUES (?, ?, 0)
       ON CONFLICT (sha256, generation) DO UPDATE SET is_deleted = 0`,
      sha256,
      generation,
    );
    return false;
  }
  yield* countNew({ space, quotas }, sha256, sizeBytes);
  yield* together([
    sql(
      `INSERT INTO blobs (sha256, size_bytes, bytes) VALUES (?, ?, NULL)
       ON CONFLICT (sha256) DO UPDATE SET bytes = NULL, size_bytes = excluded.size_bytes`,
      sha256,
      sizeBytes,
    ),
    showCall(space, sha256, nowMs),
  ]);
  return true;
}

/**
 * Refuses a blob that the space does not have yet and that would pass a quota: before its bytes are written.
 *
 * @throws {SessionStoreError} `quota`
 */
export function* checkNewBlob(
  { space, quotas }: BlobScope,
  sha256: string,
  sizeBytes: number,
): SqlWork<boolean> {
  const shown = yield sqlOne(
    'SELECT 1 FROM blob_spaces WHERE space = ? AND sha256 = ?',
    space,
    sha256,
  );
  if (shown.length > 0) return false;
  yield* checkQuotas(space, quotas, [{ bytes: sizeBytes, segments: 0, runs: 0 }]);
  return true;
}

/** Counts a blob that the space does not have yet, behind the lock of its claim. */
function* countNew(scope: BlobScope, sha256: string, sizeBytes: number): SqlWork<void> {
  if (yield* checkNewBlob(scope, sha256, sizeBytes)) yield countBlob(scope.space, sizeBytes);
}

function showCall(space: string, sha256: string, nowMs: number): SqlCall {
  return sql(
    `INSERT INTO blob_spaces (space, sha256, put_at_ms) VALUES (?, ?, ?)
     ON CONFLICT (space, sha256) DO UPDATE SET put_at_ms = excluded.put_at_ms`,
    space,
    sha256,
    nowMs,
  );
}

/** A blob that a space may read. */
export type FoundBlob = {
  readonly sizeBytes: number;
  /** The name of the file, where its bytes are not in the database. */
  readonly file: string | undefined;
};

/** A blob, if the space may read it. */
const OF_SPACE = `FROM blob_spaces
  JOIN blobs ON blobs.sha256 = blob_spaces.sha256
  LEFT JOIN blob_puts ON blob_puts.sha256 = blob_spaces.sha256
  WHERE blob_spaces.space = ? AND blob_spaces.sha256 = ?`;

/** The size of a blob that the space may read, and where its bytes are stored. */
export function* findBlob(space: string, sha256: string): SqlWork<FoundBlob | undefined> {
  const [row] = yield sqlOne(
    `SELECT blobs.size_bytes, coalesce(blob_puts.generation, 0) ${OF_SPACE}`,
    space,
    sha256,
  );
  if (row === undefined) return undefined;
  const sizeBytes = numberCell(row, 0);
  const isFile = sizeBytes > MAX_DATABASE_BLOB_BYTES;
  return { sizeBytes, file: isFile ? blobKey(sha256, numberCell(row, 1)) : undefined };
}

/** The bytes of a blob that the space may see, or the name of its file. */
export function* readBlob(
  space: string,
  sha256: string,
): SqlWork<{ readonly bytes: Uint8Array<ArrayBuffer> } | { readonly file: string } | undefined> {
  const [row] = yield sql(
    `SELECT blobs.bytes, blobs.size_bytes, coalesce(blob_puts.generation, 0) ${OF_SPACE}`,
    space,
    sha256,
  );
  if (row === undefined) return undefined;
  if (row[0] === null && numberCell(row, 1) > MAX_DATABASE_BLOB_BYTES)
    return { file: blobKey(sha256, numberCell(row, 2)) };
  return { bytes: bytesCell(row, 0) };
}

/** A range of a blob that is stored in the table `blobs`. */
export function* readBlobRange(
  sha256: string,
  start: number,
  end: number,
): SqlWork<Uint8Array<ArrayBuffer> | undefined> {
  const [row] = yield sqlOne(`SELECT ${bytesFrom(start, end)} FROM blobs WHERE sha256 = ?`, sha256);
  return row === undefined ? undefined : bytesCell(row, 0);
}

/** The SQL expression for a range of the column `bytes`. The numbers are literals, because parameters would need types. */
export function bytesFrom(start: number, end: number): string {
  return `substr(bytes, ${checkCount('start', start) + 1}, ${checkCount('length', end - start)})`;
}

/** The error for a blob with a row and without bytes. */
export function missingBytes(sha256: string, where: string): SessionStoreError {
  return new SessionStoreError(
    'corrupt',
    `The bytes of blob ${sha256} are missing from ${where}. Put the blob again to repair it.`,
    { details: { sha256, where } },
  );
}
