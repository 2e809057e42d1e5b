/**
 * Large blobs in the database itself, in parts, for servers without an object store. Parts are written before the line
 * of their blob; those of a call that was interrupted stay until the blob is put again. The column `sha256` has the name of
 * the blob: its hash, with the number of its generation after the first.
 */
import { bytesFrom } from './sql-blobs.ts';
import {
  bytesCell,
  numberCell,
  sql,
  sqlOne,
  together,
  type SqlDatabase,
  type SqlWork,
} from './sql-database.ts';
import type { BlobFiles } from './sql-blob-store.ts';

/** Small enough for every server to take and replicate at once. */
const PART_BYTES = 1024 * 1024;
/** Parts that travel together. */
const PARTS_AT_ONCE = 4;

/** Blob files that are rows of this database. */
export function createBlobParts(database: SqlDatabase): BlobFiles {
  return {
    name: `${database.name}, table blob_parts`,
    async put(sha256, bytes) {
      const count = Math.ceil(bytes.byteLength / PART_BYTES);
      for (let at = 0; at < count; at += PARTS_AT_ONCE) {
        const parts = Array.from({ length: Math.min(PARTS_AT_ONCE, count - at) }, (_, i) => at + i);
        await database.transaction(() =>
          together(
            parts.map((part) =>
              sql(
                `INSERT INTO blob_parts (sha256, part, bytes) VALUES (?, ?, ?)
                 ON CONFLICT (sha256, part) DO UPDATE SET bytes = excluded.bytes`,
                sha256,
                part,
                bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES),
              ),
            ),
          ),
        );
      }
    },
    async get(sha256) {
      const { parts, sizeBytes } = await database.read(() => sizeOf(sha256));
      if (parts === 0) return undefined;
      const whole = new Uint8Array(sizeBytes);
      let end = 0;
      for (let part = 0; part < parts; part++) {
        const bytes = await database.read(() => readPart('bytes', sha256, part));
        if (bytes === undefined || end + bytes.byteLength > sizeBytes) return undefined;
        whole.set(bytes, end);
        end += bytes.byteLength;
      }
      return whole;
    },
    async getRange(sha256, start, end) {
      const range = new Uint8Array(end - start);
      for (let at = start; at < end;) {
        const part = Math.floor(at / PART_BYTES);
        const partStart = part * PART_BYTES;
        const partEnd = Math.min(end, partStart + PART_BYTES);
        const wanted = bytesFrom(at - partStart, partEnd - partStart);
        const bytes = await database.read(() => readPart(wanted, sha256, part));
        if (bytes === undefined) return undefined;
        range.set(bytes, at - start);
        if (bytes.byteLength < partEnd - at) return range.slice(0, at - start + bytes.byteLength);
        at = partEnd;
      }
      return range;
    },
    has: async (sha256, sizeBytes) =>
      (await database.read(() => sizeOf(sha256))).sizeBytes === sizeBytes,
    async delete(key) {
      await database.transaction(function* () {
        yield sql('DELETE FROM blob_parts WHERE sha256 = ?', key);
      });
    },
    async removeAbandoned() {},
  };
}

function* sizeOf(sha256: string): SqlWork<{ parts: number; sizeBytes: number }> {
  const [row] = yield sqlOne(
    'SELECT count(*), coalesce(sum(length(bytes)), 0) FROM blob_parts WHERE sha256 = ?',
    sha256,
  );
  return row === undefined
    ? { parts: 0, sizeBytes: 0 }
    : { parts: numberCell(row, 0), sizeBytes: numberCell(row, 1) };
}

/** The bytes of a part that `wanted` selects. */
function* readPart(
  wanted: string,
  sha256: string,
  part: number,
): SqlWork<Uint8Array<ArrayBuffer> | undefined> {
  const [row] = yield sqlOne(
    `SELECT ${wanted} FROM blob_parts WHERE sha256 = ? AND part = ?`,
    sha256,
    part,
  );
  return row === undefined ? undefined : bytesCell(row, 0);
}
