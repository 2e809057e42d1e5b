/** The blobs of an SQL store: small ones in the database, large ones in files, parts or objects. */
import type { Clock } from '../../base/clock.ts';
import { SessionStoreError } from '../../base/errors.ts';
import { checkStoredBlob } from '../blob-rules.ts';
import type { BlobSweeps } from '../blob-sweep.ts';
import type { SpaceQuotas } from '../quotas.ts';
import type { BlobRanges, BlobStore } from '../store.ts';
import { inGroups } from '../../base/in-groups.ts';
import {
  condemnBlobs,
  dropFromSpace,
  BLOBS_AT_ONCE,
  keyOfSwept,
  listBlobs,
  listSwept,
  looseBlobs,
  noteDeleted,
  noteUnknownPuts,
  takeLoose,
} from './sql-blob-sweep.ts';
import {
  checkNewBlob,
  claimBlob,
  findBlob,
  MAX_DATABASE_BLOB_BYTES,
  missingBytes,
  readBlob,
  readBlobRange,
  showBlob,
  storeBlob,
  type BlobScope,
} from './sql-blobs.ts';
import type { SqlDatabase } from './sql-database.ts';

/** Bytes of a large blob, as their folder has them. */
export type ListedBlob = {
  readonly key: string;
  readonly sizeBytes: number;
  /** UTC epoch milliseconds. */
  readonly modifiedAtMs: number;
};

/** Where large blobs are stored. A blob that was put is whole and durable. Its name is its hash, with the number of its generation. */
export interface BlobFiles {
  /** Names the location in messages. */
  readonly name: string;
  put(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  get(key: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** The bytes from `start` (inclusive) to `end` (exclusive), cut at the end; nothing else is read. */
  getRange(key: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  has(key: string, sizeBytes: number): Promise<boolean>;
  /** One that is not there counts as deleted. */
  delete(key: string): Promise<void>;
  /** Removes what interrupted calls of `put` have left. */
  removeAbandoned(nowMs: number): Promise<void>;
  /** Everything that is stored here, in no order. Only where nobody else stores blobs: a bucket may be that of several databases. */
  list?(): AsyncIterable<ListedBlob>;
}

/** What the blobs of a store are made of. */
export type SqlBlobParts = {
  readonly database: SqlDatabase;
  readonly space: string;
  readonly blobFiles: BlobFiles;
  readonly clock: Pick<Clock, 'now'>;
  readonly quotas?: (() => Promise<SpaceQuotas | undefined>) | undefined;
};

/** Attempts at a put that sweeps overtake, and at a read of a blob that is swept and put again. */
const MAX_ATTEMPTS = 8;

/** See the top of this file. */
export class SqlBlobStore implements BlobStore, BlobRanges, Omit<BlobSweeps, 'deletedRuns'> {
  readonly #parts: SqlBlobParts;
  readonly #database: SqlDatabase;

  constructor(parts: SqlBlobParts) {
    this.#parts = parts;
    this.#database = parts.database;
  }

  readonly putBlob: BlobStore['putBlob'] = async (sha256, bytes) => {
    const { clock } = this.#parts;
    if (bytes.byteLength <= MAX_DATABASE_BLOB_BYTES) {
      const scope = await this.#scope();
      await this.#database.transaction(() => storeBlob(scope, sha256, bytes, clock.now()));
      return;
    }
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
      if (await this.#putFile(sha256, bytes)) return;
    throw new SessionStoreError(
      'busy',
      `Writing blob ${sha256} took longer than blobs without an artifact are stored, again and again. Put it again, or let unnamed blobs be stored longer.`,
      { details: { sha256 } },
    );
  };

  readonly getBlob: BlobStore['getBlob'] = async (sha256) => {
    const { blobFiles, space } = this.#parts;
    return this.#whileSwept(sha256, async () => {
      const found = await this.#database.read(() => readBlob(space, sha256));
      if (found === undefined) return { value: undefined };
      const bytes = 'file' in found ? await blobFiles.get(found.file) : found.bytes;
      if (bytes === undefined) return { missing: 'file' in found ? found.file : undefined };
      const where = 'file' in found ? blobFiles.name : this.#database.name;
      await checkStoredBlob(sha256, bytes, where);
      return { value: bytes };
    });
  };

  readonly blobSize: BlobRanges['blobSize'] = async (sha256) =>
    (await this.#database.read(() => findBlob(this.#parts.space, sha256)))?.sizeBytes;

  readonly getBlobRange: BlobRanges['getBlobRange'] = async (sha256, start, end) => {
    const { blobFiles, space } = this.#parts;
    return this.#whileSwept(sha256, async () => {
      const found = await this.#database.read(() => findBlob(space, sha256));
      if (found === undefined) return { value: undefined };
      const last = Math.min(end, found.sizeBytes);
      if (start >= last) return { value: new Uint8Array(0) };
      const bytes =
        found.file === undefined
          ? await this.#database.read(() => readBlobRange(sha256, start, last))
          : await blobFiles.getRange(found.file, start, last);
      return bytes?.byteLength === last - start ? { value: bytes } : { missing: found.file };
    });
  };

  readonly listBlobs: BlobSweeps['listBlobs'] = async (page) =>
    this.#database.read(() => listBlobs(this.#parts.space, page));

  readonly dropBlobs: BlobSweeps['dropBlobs'] = async ({ hashes, putBeforeMs, seen }) => {
    const { clock, space } = this.#parts;
    await this.#database.transaction(() => noteUnknownPuts(clock.now()));
    let dropped = 0;
    for (let at = 0; at < hashes.length; at += BLOBS_AT_ONCE) {
      const some = hashes.slice(at, at + BLOBS_AT_ONCE);
      const count = await this.#database.transaction(() =>
        dropFromSpace(space, some, putBeforeMs, seen),
      );
      if (count === undefined && dropped === 0) return undefined;
      if (count === undefined) break;
      dropped += count;
    }
    await this.#removeBytes(putBeforeMs);
    return dropped;
  };

  readonly looseBlobs: NonNullable<BlobSweeps['looseBlobs']> = async (writtenBeforeMs) => {
    const sum = { files: 0, bytes: 0 };
    for await (const some of inGroups(this.#files(), BLOBS_AT_ONCE))
      for (const one of await this.#database.read(() => looseBlobs(some))) {
        if (one.modifiedAtMs > writtenBeforeMs) continue;
        sum.files += 1;
        sum.bytes += one.sizeBytes;
      }
    return sum;
  };

  /** False when a sweep has taken the blob meanwhile. */
  async #putFile(sha256: string, bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
    const { blobFiles, clock } = this.#parts;
    const sizeBytes = bytes.byteLength;
    const scope = await this.#scope();
    const generation = await this.#database.transaction(function* () {
      yield* checkNewBlob(scope, sha256, sizeBytes);
      return yield* claimBlob(sha256, clock.now());
    });
    const key = keyOfSwept({ sha256, generation });
    if (!(await blobFiles.has(key, sizeBytes))) await blobFiles.put(key, bytes);
    return this.#database.transaction(() =>
      showBlob(scope, { sha256, sizeBytes, generation }, clock.now()),
    );
  }

  async #scope(): Promise<BlobScope> {
    const { quotas, space } = this.#parts;
    return { space, quotas: await quotas?.() };
  }

  /** The files beside the database. The other spaces have the same ones. */
  async *#files(): AsyncGenerator<ListedBlob> {
    const { blobFiles, space } = this.#parts;
    if (space === '' && blobFiles.list !== undefined) yield* blobFiles.list();
  }

  /** Files that no row knows get one, and are orphans from then on. */
  async #findLoose(): Promise<void> {
    for await (const some of inGroups(this.#files(), BLOBS_AT_ONCE))
      if ((await this.#database.read(() => looseBlobs(some))).length > 0)
        await this.#database.transaction(() => takeLoose(some));
  }

  /** Bytes of blobs that no space has, and those that an interrupted sweep has left. */
  async #removeBytes(putBeforeMs: number): Promise<void> {
    const { blobFiles } = this.#parts;
    await this.#findLoose();
    while ((await this.#database.transaction(() => condemnBlobs(putBeforeMs))) === BLOBS_AT_ONCE);
    for (;;) {
      const swept = await this.#database.read(() => listSwept());
      if (swept.length === 0) return;
      for (const blob of swept) await blobFiles.delete(keyOfSwept(blob));
      await this.#database.transaction(() => noteDeleted(swept));
    }
  }

  /** Reads a blob; bytes that are missing may be those of a blob that was swept since its row was read. */
  async #whileSwept<T>(sha256: string, read: () => Promise<BlobRead<T>>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const found = await read();
      if ('value' in found) return found.value;
      const now = await this.#database.read(() => findBlob(this.#parts.space, sha256));
      const isSame = now !== undefined && now.file === found.missing;
      if (!isSame && attempt < MAX_ATTEMPTS) continue;
      const { blobFiles } = this.#parts;
      throw missingBytes(
        sha256,
        found.missing === undefined ? this.#database.name : blobFiles.name,
      );
    }
  }
}

/** A blob as it was read, or the name of its file, whose bytes are not there; undefined where they should be in the database. */
type BlobRead<T> = { readonly value: T } | { readonly missing: string | undefined };
