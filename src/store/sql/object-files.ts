/**
 * Merged segments outside the database. An object is written before the transaction that makes it live, under a key
 * that is used once, and every object has a row from before it is written until after it is deleted:
 *
 * - `loose_objects`: no segment names it, because it is on its way, or because its segment is gone. Removed after a
 *   pause, in two steps: condemned in a transaction, then deleted, then forgotten.
 * - `segment_objects`: a live segment names it. A merge moves the row there in the transaction that makes the segment
 *   live; a row that is condemned by then makes the merge fail.
 *
 * So a process may end at any moment: what it leaves is loose, and nothing that a segment names is ever deleted.
 */
import { MAX_SEGMENT_BYTES } from '../limits.ts';
import type { Clock } from '../../base/clock.ts';
import { SessionStoreError } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import {
  numberCell,
  placeholders,
  sql,
  sqlOne,
  textCell,
  together,
  type SqlDatabase,
  type SqlWork,
} from './sql-database.ts';
import type { SegmentIdentity } from '../store.ts';

/** Where objects are stored: the part of an object store that is needed here. */
export interface ObjectFiles {
  /** Names the location in messages. */
  readonly name: string;
  /** Whole and durable when it resolves. */
  put(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  get(key: string, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** An object that is not there counts as deleted. */
  delete(key: string): Promise<void>;
  /** Objects whose keys begin so, in order. */
  list(start: string): AsyncIterable<{ readonly key: string; readonly modifiedAtMs: number }>;
}

/** How merged segments are stored outside the database. */
export type SegmentFileOptions = {
  /** Merged segments of at least this many bytes go out; smaller ones stay in the database. Default 65,536. */
  readonly minBytes?: number;
  /** How long an object that no segment names is stored, in milliseconds: longer than any merge takes. Default 1 hour. */
  readonly keepLooseMs?: number;
  /** How old an object without any row has to be before it counts as loose, in milliseconds. Default 7 days. */
  readonly keepUnknownMs?: number;
};

/** Objects deleted at a time. */
const SWEEP_COUNT = 200;
/** Requests under way at a time. */
const PARALLEL = 4;

/** Merged segments of one database as objects. */
export class SegmentFiles {
  readonly minBytes: number;
  readonly #database: SqlDatabase;
  readonly #files: ObjectFiles;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #keepLooseMs: number;
  readonly #keepUnknownMs: number;
  #root: string | undefined;

  constructor(
    database: SqlDatabase,
    files: ObjectFiles,
    clock: Pick<Clock, 'now'>,
    options: SegmentFileOptions = {},
  ) {
    this.#database = database;
    this.#files = files;
    this.#clock = clock;
    this.minBytes = options.minBytes ?? 64 * 1024;
    this.#keepLooseMs = options.keepLooseMs ?? 60 * 60 * 1000;
    this.#keepUnknownMs = options.keepUnknownMs ?? 7 * 24 * 60 * 60 * 1000;
  }

  /** Names the location in messages. */
  get name(): string {
    return this.#files.name;
  }

  /** Writes bytes out and returns their keys, in order. They are loose until {@link adoptObjects} takes them. */
  async put(all: readonly Uint8Array<ArrayBuffer>[]): Promise<readonly string[]> {
    const root = await this.#findRoot();
    const nowMs = this.#clock.now();
    const keys = all.map(() => {
      const id = createId('seg', nowMs);
      // Spread over 1,024 beginnings: object stores divide their load by them.
      return `${root}${id.slice(-2)}/${id}`;
    });
    await this.#database.transaction(() => addLoose(keys, nowMs));
    await inParallel(
      all.map((bytes, i) => () => this.#files.put(keys[i] ?? '', bytes)),
      PARALLEL,
    );
    return keys;
  }

  /** The bytes behind a key, or undefined when they are gone. @throws {SessionStoreError} */
  get(key: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.#files.get(key, MAX_SEGMENT_BYTES);
  }

  /**
   * Deletes objects that have been loose for long enough, some at a time; returns how many. Any number of processes may
   * do so at once.
   */
  async sweep(): Promise<number> {
    const beforeMs = this.#clock.now() - this.#keepLooseMs;
    const keys = await this.#database.transaction(() => condemn(beforeMs));
    await inParallel(
      keys.map((key) => () => this.#files.delete(key)),
      PARALLEL,
    );
    await this.#database.transaction(() => forget(keys));
    return keys.length;
  }

  /**
   * Looks through all objects for old ones that no row knows, such as those of a database that was restored from an older
   * copy, and makes them loose; returns how many. Reads the whole list: once a day is enough.
   */
  async findUnknown(signal?: AbortSignal): Promise<number> {
    const root = await this.#findRoot();
    let found = 0;
    let page: string[] = [];
    const check = async (): Promise<void> => {
      const keys = page;
      page = [];
      if (keys.length === 0) return;
      found += await this.#database.transaction(() => addUnknown(keys, this.#clock.now()));
    };
    for await (const { key, modifiedAtMs } of this.#files.list(root)) {
      if (signal?.aborted === true) break;
      if (modifiedAtMs < this.#clock.now() - this.#keepUnknownMs) page.push(key);
      if (page.length >= SWEEP_COUNT) await check();
    }
    await check();
    return found;
  }

  /** Every database has a beginning of its own for its keys: two of them in one bucket leave each other alone. */
  async #findRoot(): Promise<string> {
    if (this.#root === undefined) {
      const id = createId('db', this.#clock.now());
      const name = await this.#database.transaction(() => nameDatabase(id));
      this.#root = `segments/${name}/`;
    }
    return this.#root;
  }
}

/**
 * Makes loose objects those of segments that were added before in the same transaction.
 *
 * @throws {SessionStoreError} `busy` when an object has been condemned
 */
export function* adoptObjects(
  streamKey: number,
  segments: readonly (readonly [segment: SegmentIdentity, objectKey: string])[],
): SqlWork<void> {
  if (segments.length === 0) return;
  const found = yield* together(
    segments.flatMap(([{ writerId, batchNumber }, objectKey]) => [
      sql(
        'DELETE FROM loose_objects WHERE object_key = ? AND is_condemned = 0 RETURNING object_key',
        objectKey,
      ),
      sql(
        `INSERT INTO segment_objects (segment_key, object_key) SELECT segment_key, ? FROM segments
         WHERE stream_key = ? AND writer_id = ? AND batch_number = ?`,
        objectKey,
        streamKey,
        writerId,
        batchNumber,
      ),
    ]),
  );
  if (segments.some((_, i) => found[2 * i]?.length !== 1)) {
    throw new SessionStoreError(
      'busy',
      'Writing merged segments to the object store took so long that they were swept as left behind. Nothing was changed. Merge again.',
    );
  }
}

/** Makes the objects of segments loose, in the transaction that takes the segments away and before it does. */
export function* releaseObjects(segmentKeys: readonly number[], nowMs: number): SqlWork<void> {
  for (let at = 0; at < segmentKeys.length; at += SWEEP_COUNT) {
    const keys = segmentKeys.slice(at, at + SWEEP_COUNT);
    yield* release(`segment_key IN (${placeholders(keys)})`, keys, nowMs);
  }
}

/** The same for all segments of a stream. */
export function* releaseStream(streamKey: number, nowMs: number): SqlWork<void> {
  const condition = 'segment_key IN (SELECT segment_key FROM segments WHERE stream_key = ?)';
  yield* release(condition, [streamKey], nowMs);
}

function* release(condition: string, params: readonly number[], nowMs: number): SqlWork<void> {
  const rows = yield sql(
    `SELECT text(object_key) FROM segment_objects WHERE ${condition}`,
    ...params,
  );
  if (rows.length === 0) return;
  yield sql(`DELETE FROM segment_objects WHERE ${condition}`, ...params);
  yield* addLoose(
    rows.map((row) => textCell(row, 0)),
    nowMs,
  );
}

function* addLoose(keys: readonly string[], nowMs: number): SqlWork<void> {
  yield* together(
    keys.map((key) =>
      sql(
        `INSERT INTO loose_objects (object_key, loose_since_ms, is_condemned) VALUES (?, ?, 0)
         ON CONFLICT (object_key) DO NOTHING`,
        key,
        nowMs,
      ),
    ),
  );
}

/** Those that are condemned already were left by somebody who did not come to delete them: they are taken again. */
function* condemn(beforeMs: number): SqlWork<readonly string[]> {
  const rows = yield sql(
    `SELECT text(object_key), is_condemned FROM loose_objects WHERE loose_since_ms <= ?
     ORDER BY loose_since_ms LIMIT ${SWEEP_COUNT} FOR UPDATE`,
    beforeMs,
  );
  const fresh = rows.filter((row) => numberCell(row, 1) === 0).map((row) => textCell(row, 0));
  if (fresh.length > 0) {
    yield sql(
      `UPDATE loose_objects SET is_condemned = 1 WHERE object_key IN (${placeholders(fresh)})`,
      ...fresh,
    );
  }
  return rows.map((row) => textCell(row, 0));
}

function* forget(keys: readonly string[]): SqlWork<void> {
  if (keys.length === 0) return;
  yield sql(
    `DELETE FROM loose_objects WHERE is_condemned = 1 AND object_key IN (${placeholders(keys)})`,
    ...keys,
  );
}

function* addUnknown(keys: readonly string[], nowMs: number): SqlWork<number> {
  // In this order: a merge moves a row from the first to the second between two statements, and whatever goes the other
  // way is loose already.
  const loose = yield sql(
    `SELECT text(object_key) FROM loose_objects WHERE object_key IN (${placeholders(keys)})`,
    ...keys,
  );
  const live = yield sql(
    `SELECT text(object_key) FROM segment_objects WHERE object_key IN (${placeholders(keys)})`,
    ...keys,
  );
  const known = new Set([...live, ...loose].map((row) => textCell(row, 0)));
  const unknown = keys.filter((key) => !known.has(key));
  yield* addLoose(unknown, nowMs);
  return unknown.length;
}

function* nameDatabase(id: string): SqlWork<string> {
  yield sql(
    'INSERT INTO database_names (slot, name) VALUES (1, ?) ON CONFLICT (slot) DO NOTHING',
    id,
  );
  const [row] = yield sqlOne('SELECT text(name) FROM database_names WHERE slot = 1');
  return row === undefined ? id : textCell(row, 0);
}

/** All are waited for, also when one fails: what is still under way would go on behind the caller's back. */
async function inParallel(works: readonly (() => Promise<void>)[], count: number): Promise<void> {
  let next = 0;
  let failure: { readonly error: unknown } | undefined;
  const run = async (): Promise<void> => {
    for (let work = works[next++]; work !== undefined; work = works[next++]) {
      if (failure !== undefined) return;
      try {
        await work();
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: count }, run));
  if (failure !== undefined) throw failure.error;
}
