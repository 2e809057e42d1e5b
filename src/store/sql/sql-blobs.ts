/** Blobs in SQL: bytes once for all spaces, and a line for each space that may see them. */
import { checkCount } from '../../base/assert.ts';
import { bytesCell, numberCell, sql, sqlOne, type SqlWork } from './sql-database.ts';

/** Blobs up to this size are stored in the table of blobs, larger ones as files. */
export const MAX_DATABASE_BLOB_BYTES: number = 256 * 1024;

/** Stores a blob and makes it visible in the space. */
export function* storeBlob(
  space: string,
  sha256: string,
  bytes: Uint8Array,
  isFile: boolean,
): SqlWork<void> {
  yield sql(
    `INSERT INTO blobs (sha256, size_bytes, bytes) VALUES (?, ?, ?)
     ON CONFLICT (sha256) DO UPDATE SET bytes = excluded.bytes, size_bytes = excluded.size_bytes`,
    sha256,
    bytes.byteLength,
    isFile ? null : bytes,
  );
  yield sql(
    'INSERT INTO blob_spaces (space, sha256) VALUES (?, ?) ON CONFLICT DO NOTHING',
    space,
    sha256,
  );
}

/** The size of a blob that the space may read, and where its bytes are stored. */
export function* findBlobSize(
  space: string,
  sha256: string,
): SqlWork<{ readonly sizeBytes: number; readonly isFile: boolean } | undefined> {
  const [row] = yield sqlOne(
    `SELECT blobs.size_bytes FROM blob_spaces JOIN blobs ON blobs.sha256 = blob_spaces.sha256
     WHERE blob_spaces.space = ? AND blob_spaces.sha256 = ?`,
    space,
    sha256,
  );
  if (row === undefined) return undefined;
  const sizeBytes = numberCell(row, 0);
  return { sizeBytes, isFile: sizeBytes > MAX_DATABASE_BLOB_BYTES };
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

/** The bytes of a blob that the space may see, or `file` when they are stored outside. */
export function* findBlob(
  space: string,
  sha256: string,
): SqlWork<Uint8Array<ArrayBuffer> | 'file' | undefined> {
  const [row] = yield sql(
    `SELECT blobs.bytes, blobs.size_bytes FROM blob_spaces JOIN blobs ON blobs.sha256 = blob_spaces.sha256
     WHERE blob_spaces.space = ? AND blob_spaces.sha256 = ?`,
    space,
    sha256,
  );
  if (row === undefined) return undefined;
  if (row[0] === null && numberCell(row, 1) > MAX_DATABASE_BLOB_BYTES) return 'file';
  return bytesCell(row, 0);
}
