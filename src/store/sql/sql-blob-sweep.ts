/**
 * Removing blobs in SQL, in steps each of which may be the last of its process:
 *
 * 1. The rows of a space that nothing in it names are removed (`dropFromSpace`).
 * 2. Blobs that no space has any more are condemned (`condemnBlobs`): their rows go, and for a large one a row in `swept_blobs`
 *    says that the bytes of this generation are to be deleted.
 * 3. Bytes are deleted, and the row says so (`noteDeleted`). It remains, as the memory of generations: a put of the same bytes,
 *    at any moment after the second step, writes under the next name.
 */
import { artifactStreams, hasNewArtifacts, type BlobPage, type StoredBlob } from '../blob-sweep.ts';
import type { StreamState } from '../store.ts';
import { blobKey, hashOfKey, MAX_DATABASE_BLOB_BYTES } from './sql-blobs.ts';
import type { ListedBlob } from './sql-blob-store.ts';
import {
  numberCell,
  placeholders,
  sql,
  textCell,
  together,
  type SqlRow,
  type SqlWork,
} from './sql-database.ts';
import { sqlSnapshot } from './sql-notes.ts';
import { uncountBlobs } from './sql-usage.ts';
/** Rows changed in a transaction. */
export const BLOBS_AT_ONCE = 200;

/** Large bytes that are to be deleted. */
export type SweptBlob = { readonly sha256: string; readonly generation: number };

/** See `BlobSweeps.listBlobs`. */
export function* listBlobs(
  space: string,
  { after = '', limit, putBeforeMs }: BlobPage,
): SqlWork<readonly StoredBlob[]> {
  const rows = yield sql(
    `SELECT text(blob_spaces.sha256), blobs.size_bytes, blob_spaces.put_at_ms FROM blob_spaces
     JOIN blobs ON blobs.sha256 = blob_spaces.sha256
     WHERE blob_spaces.space = ? AND blob_spaces.sha256 > ? AND blob_spaces.put_at_ms <= ?
     ORDER BY blob_spaces.sha256 LIMIT ${limit}`,
    space,
    after,
    putBeforeMs,
  );
  return rows.map((row) => ({
    sha256: textCell(row, 0),
    sizeBytes: numberCell(row, 1),
    putAtMs: numberCell(row, 2),
  }));
}

/** Gives blobs of before, and those that an older build has put, a time from which they count. */
export function* noteUnknownPuts(nowMs: number): SqlWork<void> {
  yield* together([
    sql('UPDATE blob_spaces SET put_at_ms = ? WHERE put_at_ms IS NULL', nowMs),
    sql('UPDATE blob_puts SET put_at_ms = ? WHERE put_at_ms IS NULL', nowMs),
    sql(
      `INSERT INTO blob_puts (sha256, generation, put_at_ms)
       SELECT blobs.sha256, 0, CAST(? AS DOUBLE PRECISION) FROM blobs
       WHERE NOT EXISTS (SELECT 1 FROM blob_puts WHERE blob_puts.sha256 = blobs.sha256)
       ON CONFLICT (sha256) DO NOTHING`,
      nowMs,
    ),
  ]);
}

/** The first step; undefined when artifacts were recorded since `seen`. */
export function* dropFromSpace(
  space: string,
  hashes: readonly string[],
  putBeforeMs: number,
  seen: readonly StreamState[],
): SqlWork<number | undefined> {
  const { streams } = yield* sqlSnapshot(space, undefined);
  if (hasNewArtifacts(artifactStreams(streams), seen)) return undefined;
  const gone = yield sql(
    `DELETE FROM blob_spaces WHERE space = ? AND sha256 IN (${placeholders(hashes)}) AND put_at_ms <= ?
     RETURNING sha256`,
    space,
    ...hashes,
    putBeforeMs,
  );
  yield* uncountBlobs(
    space,
    gone.map((row) => textCell(row, 0)),
  );
  yield* forgetGuests(
    space,
    gone.map((row) => textCell(row, 0)),
  );
  return gone.length;
}

/** A guest who has sent a blob that is gone has to send it again. */
function* forgetGuests(space: string, hashes: readonly string[]): SqlWork<void> {
  if (hashes.length === 0) return;
  const rows = yield sql(
    `SELECT text(name) FROM notes WHERE space = ? AND name >= 'guest-blobs/' AND name < 'guest-blobs0'`,
    space,
  );
  const gone = new Set(hashes);
  const names = rows.map((row) => textCell(row, 0)).filter((name) => gone.has(name.slice(-64)));
  yield* together(
    names.map((name) => sql('DELETE FROM notes WHERE space = ? AND name = ?', space, name)),
  );
}

/** The second step, for some blobs; returns how many there were. */
export function* condemnBlobs(putBeforeMs: number): SqlWork<number> {
  const orphans = yield sql(
    `SELECT text(sha256) FROM blob_puts WHERE put_at_ms <= ?
       AND NOT EXISTS (SELECT 1 FROM blob_spaces WHERE blob_spaces.sha256 = blob_puts.sha256)
     ORDER BY sha256 LIMIT ${BLOBS_AT_ONCE}`,
    putBeforeMs,
  );
  if (orphans.length === 0) return 0;
  const hashes = orphans.map((row) => textCell(row, 0));
  // A put that is faster has changed the row, and the condition is asked again behind its lock.
  const gone = yield sql(
    `DELETE FROM blob_puts WHERE sha256 IN (${placeholders(hashes)}) AND put_at_ms <= ?
       AND NOT EXISTS (SELECT 1 FROM blob_spaces WHERE blob_spaces.sha256 = blob_puts.sha256)
     RETURNING sha256, generation`,
    ...hashes,
    putBeforeMs,
  );
  if (gone.length === 0) return hashes.length;
  const names = gone.map((row) => textCell(row, 0));
  const sizes = yield sql(
    `SELECT text(sha256), size_bytes FROM blobs WHERE sha256 IN (${placeholders(names)})`,
    ...names,
  );
  const small = new Set(
    sizes.flatMap((row) =>
      numberCell(row, 1) <= MAX_DATABASE_BLOB_BYTES ? [textCell(row, 0)] : [],
    ),
  );
  yield* together([
    sql(`DELETE FROM blobs WHERE sha256 IN (${placeholders(names)})`, ...names),
    // One without a row in `blobs` was claimed, and its bytes may be there.
    ...gone.map(sweptOf).flatMap(({ generation, sha256 }) =>
      small.has(sha256)
        ? []
        : [
            sql(
              `INSERT INTO swept_blobs (sha256, generation, is_deleted) VALUES (?, ?, 0)
               ON CONFLICT (sha256, generation) DO UPDATE SET is_deleted = 0`,
              sha256,
              generation,
            ),
          ],
    ),
  ]);
  return hashes.length;
}

/** What the third step has to delete, some of it. */
export function* listSwept(): SqlWork<readonly SweptBlob[]> {
  const rows = yield sql(
    `SELECT text(sha256), generation FROM swept_blobs WHERE is_deleted = 0 LIMIT ${BLOBS_AT_ONCE}`,
  );
  return rows.map(sweptOf);
}

/**
 * Those of the listed bytes that no row knows: left by a database that was replaced by an older copy, or by a process that ended
 * while a sweep went by. What is about to be deleted is known.
 */
export function* looseBlobs(listed: readonly ListedBlob[]): SqlWork<readonly LooseBlob[]> {
  if (listed.length === 0) return [];
  const found = listed.map((one) => ({ ...one, ...generationOf(one.key) }));
  const hashes = [...new Set(found.map(({ sha256 }) => sha256))];
  const these = `sha256 IN (${placeholders(hashes)})`;
  const puts = yield sql(
    `SELECT text(sha256), generation FROM blob_puts WHERE ${these}`,
    ...hashes,
  );
  const swept = yield sql(
    `SELECT text(sha256), generation FROM swept_blobs WHERE is_deleted = 0 AND ${these}`,
    ...hashes,
  );
  // Of an older build, which notes no puts.
  const shown = yield sql(
    `SELECT text(sha256), 0 FROM blobs WHERE ${these}
       AND NOT EXISTS (SELECT 1 FROM blob_puts WHERE blob_puts.sha256 = blobs.sha256)`,
    ...hashes,
  );
  const known = new Set([...puts, ...swept, ...shown].map((row) => keyOfSwept(sweptOf(row))));
  return found.filter(({ key }) => !known.has(key));
}

/** Bytes that no row knows, with what their key says. */
export type LooseBlob = ListedBlob & SweptBlob;

/**
 * Gives rows to those that have none, so that they are condemned as any blob that no space has: after the time from when they
 * were written, and not where somebody puts the same blob. Bytes of a generation that has passed are to be deleted at once.
 */
export function* takeLoose(listed: readonly ListedBlob[]): SqlWork<void> {
  for (const { generation, modifiedAtMs, sha256 } of yield* looseBlobs(listed)) {
    const taken = yield sql(
      `INSERT INTO blob_puts (sha256, generation, put_at_ms)
       SELECT CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS DOUBLE PRECISION)
       WHERE NOT EXISTS (SELECT 1 FROM swept_blobs WHERE sha256 = ? AND generation >= ?)
       ON CONFLICT (sha256) DO NOTHING RETURNING sha256`,
      sha256,
      generation,
      modifiedAtMs,
      sha256,
      generation,
    );
    if (taken.length > 0) continue;
    yield sql(
      `INSERT INTO swept_blobs (sha256, generation, is_deleted) VALUES (?, ?, 0)
       ON CONFLICT (sha256, generation) DO UPDATE SET is_deleted = 0`,
      sha256,
      generation,
    );
  }
}

/** The end of the third step. */
export function* noteDeleted(blobs: readonly SweptBlob[]): SqlWork<void> {
  yield* together(
    blobs.map(({ generation, sha256 }) =>
      sql(
        'UPDATE swept_blobs SET is_deleted = 1 WHERE sha256 = ? AND generation = ?',
        sha256,
        generation,
      ),
    ),
  );
}

function generationOf(key: string): SweptBlob {
  return { sha256: hashOfKey(key), generation: Number(key.slice(65)) };
}

/** The name of the bytes. */
export function keyOfSwept({ generation, sha256 }: SweptBlob): string {
  return blobKey(sha256, generation);
}

function sweptOf(row: SqlRow): SweptBlob {
  return { sha256: textCell(row, 0), generation: numberCell(row, 1) };
}

/** The spaces that have blobs. */
export function* listBlobSpaces(): SqlWork<readonly string[]> {
  const rows = yield sql('SELECT DISTINCT text(space) FROM blob_spaces');
  return rows.map((row) => textCell(row, 0)).sort();
}

/**
 * Makes the files of a restored store the first generation of their blobs, which their names are of. All blobs begin their time again:
 * clients send records that the store has lost.
 */
export function* beginBlobs(files: readonly string[]): SqlWork<void> {
  yield sql('UPDATE blob_puts SET put_at_ms = NULL');
  yield sql('UPDATE blob_spaces SET put_at_ms = NULL');
  for (let at = 0; at < files.length; at += BLOBS_AT_ONCE) {
    const hashes = files.slice(at, at + BLOBS_AT_ONCE);
    const these = `sha256 IN (${placeholders(hashes)})`;
    yield sql(`UPDATE blob_puts SET generation = 0 WHERE ${these}`, ...hashes);
    yield sql(`DELETE FROM swept_blobs WHERE ${these}`, ...hashes);
  }
}
