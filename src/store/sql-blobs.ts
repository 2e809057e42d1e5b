/** Blobs in SQL: bytes once for all spaces, and a line for each space that may see them. */
import { bytesCell, numberCell, sql, type SqlWork } from './sql-database.ts';

/** Blobs up to this size are kept in the table of blobs, larger ones as files. */
export const MAX_DATABASE_BLOB_BYTES: number = 256 * 1024;

/** Keeps a blob and makes it visible in the space. */
export function* keepBlob(
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

/** The bytes of a blob that the space may see, or `file` when they are kept outside. */
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
