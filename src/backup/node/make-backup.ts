/** Makes a snapshot of the store in a folder, while it serves and records. */
import { randomBytes } from 'node:crypto';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { checkNotAborted } from '../../base/assert.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { invalidInput, isStoreError, SessionStoreError } from '../../base/errors.ts';
import { VERSION } from '../../base/version.ts';
import { createBlobFiles } from '../../store/sql/node/blob-files.ts';
import { locateStore, parseFileUri } from '../../store/sql/node/file-storage.ts';
import { openDatabasePages, type DatabasePages } from '../../store/sql/node/sqlite-pages.ts';
import { blobKey, MAX_DATABASE_BLOB_BYTES } from '../../store/sql/sql-blobs.ts';
import { numberCell, sql, textCell, type SqlWork } from '../../store/sql/sql-database.ts';
import type { BlobFiles } from '../../store/sql/sql-blob-store.ts';
import { BackupFolder } from './backup-folder.ts';
import { pruneFolder } from './prune.ts';
import { BACKUP_VERSION, sha256Of, snapshotId, type Snapshot } from './snapshot.ts';
import {
  mergeRowTombstones,
  readLacking,
  readRowTombstones,
  ROW_TOMBSTONES,
  rowTombstonesOf,
  rowTombstoneText,
} from './row-tombstones.ts';
import {
  mergeTombstones,
  readTombstoneFile,
  readTombstones,
  tombstoneText,
  type Tombstone,
  withoutLive,
} from './tombstones.ts';

/** How a backup is made. */
export type BackupOptions = {
  /**
   * Reads back and hashes everything that the snapshot names, also what former backups have written; what is damaged is written
   * again. Default false: only what this backup writes is read back.
   */
  readonly verifiesAll?: boolean;
  /** Snapshots that stay; older ones are removed. Default: all. */
  readonly keep?: number | undefined;
  /** Large blobs of the store are in a bucket, which has a backup of its own. Default false. */
  readonly hasBucket?: boolean;
  /** How long to wait for a backup or a pruning that is under way, in milliseconds. Default 10,000. */
  readonly waitMs?: number;
  readonly clock?: Pick<Clock, 'now'>;
  readonly signal?: AbortSignal | undefined;
};

/** What a backup has come to. */
export type BackupReport = {
  readonly snapshotId: string;
  /** The folder of the backup. */
  readonly path: string;
  readonly runCount: number;
  readonly segmentCount: number;
  /** Size of the database. */
  readonly databaseBytes: number;
  readonly blobCount: number;
  /** What was written, in bytes: the rest was there. */
  readonly writtenBytes: number;
  /** Blobs that the database names and whose bytes are missing or damaged in the store itself. */
  readonly lostBlobs: readonly string[];
  /** Snapshots removed by `keep`. */
  readonly removedSnapshots: readonly string[];
};

/** A chunk of the database is 256 KiB: small enough that a few changed pages write little, large enough that files are few. */
const CHUNK_BYTES = 256 * 1024;
/** How long to wait for others in the folder, in milliseconds. */
const WAIT_MS = 10_000;
/** How often a backup begins again because a blob was deleted while it was copied. */
const MAX_MOMENTS = 5;

/** A blob that is a file, and the name of the file. */
type BlobRow = { readonly sha256: string; readonly sizeBytes: number; readonly key: string };

/**
 * Makes a snapshot of the store in a folder. Others may record, merge, delete and serve meanwhile: the snapshot is the store at one
 * moment, which is after everything that was acknowledged before the call. A backup that is killed leaves former snapshots as they
 * are, and the next one continues with what it has written.
 *
 * @param storage the folder, as a path or a `file:` URI
 * @param destination the folder of the backup, made where it is missing
 * @throws {SessionStoreError} `missing`, `busy` (another backup is under way), `full`, `unwritable`, `corrupt`
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { backupStore } from 'quark-sdk/node';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, () => {});
 * const { runCount, writtenBytes } = await backupStore('quark-runs', 'backups', { keep: 7 });
 * console.log(runCount, writtenBytes > 0); // 1 true
 * const again = await backupStore('quark-runs', 'backups');
 * console.log(again.writtenBytes < writtenBytes); // true: what is there is not written again
 * ```
 */
export async function backupStore(
  storage: string,
  destination: string,
  options: BackupOptions = {},
): Promise<BackupReport> {
  const { dbPath, storeRoot } = locateStore(parseFileUri(storage).directory);
  checkOutside(storeRoot, destination);
  const folder = new BackupFolder(destination);
  // Before anything is made at the destination.
  await (await openDatabasePages(dbPath)).close();
  await folder.make();
  const report = await folder.locked('write', options.waitMs ?? WAIT_MS, () =>
    new Backup(folder, dbPath, storeRoot, options).run(),
  );
  if (options.keep === undefined) return report;
  const removedSnapshots = await pruneFolder(folder, options.keep);
  return { ...report, removedSnapshots };
}

/** A backup that lies in the store is lost with it, and moved away by a restore. */
function checkOutside(storeRoot: string, destination: string): void {
  const way = relative(resolve(storeRoot), resolve(destination));
  if (way.startsWith('..') || isAbsolute(way)) return;
  throw invalidInput('destination', destination, `a folder outside of the store ${storeRoot}`);
}

/**
 * Writes the tombstones of a store to a backup, and nothing else: cheap enough to do each minute, so that a deletion after the
 * last snapshot is known at a restore. Returns how many there are.
 *
 * @throws {SessionStoreError} as {@link backupStore}
 * @example
 * ```js
 * import { deleteRun, openStorage, TrainingSession } from 'quark-sdk';
 * import { backupStore, backupTombstones } from 'quark-sdk/node';
 *
 * const runId = await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, (session) => session.runId);
 * await backupStore('quark-runs', 'backups');
 * const store = await openStorage('quark-runs');
 * await deleteRun(store, runId);
 * await store.close();
 * console.log(await backupTombstones('quark-runs', 'backups')); // 1
 * ```
 */
export async function backupTombstones(storage: string, destination: string): Promise<number> {
  const { dbPath } = locateStore(parseFileUri(storage).directory);
  const folder = new BackupFolder(destination);
  await folder.check();
  const pages = await openDatabasePages(dbPath);
  try {
    return await folder.locked('write', WAIT_MS, () => writeTombstones(folder, pages));
  } finally {
    await pages.close();
  }
}

class Backup {
  readonly #folder: BackupFolder;
  readonly #dbPath: string;
  readonly #storeRoot: string;
  readonly #source: BlobFiles;
  readonly #options: BackupOptions;
  /** Content that this backup has written or checked. */
  readonly #done = new Set<string>();
  #writtenBytes = 0;

  constructor(folder: BackupFolder, dbPath: string, storeRoot: string, options: BackupOptions) {
    this.#folder = folder;
    this.#dbPath = dbPath;
    this.#storeRoot = storeRoot;
    this.#source = createBlobFiles(storeRoot);
    this.#options = options;
  }

  async run(): Promise<BackupReport> {
    await this.#folder.removeIncoming();
    // Most blobs, before the moment begins: while it lasts, the log of the database grows.
    await this.#copyBlobs(await this.#withPages((pages) => pages.read(this.#listBlobs())));
    for (let moments = 1; ; moments++) {
      const report = await this.#withPages(
        (pages) => this.#copyMoment(pages),
        join(this.#folder.path, 'copy'),
      );
      if (report !== undefined) return report;
      if (moments === MAX_MOMENTS)
        throw new SessionStoreError(
          'busy',
          `Blobs of ${this.#storeRoot} were deleted each of ${moments} times that they were copied. The former snapshots are as they were. Try again when less is deleted.`,
        );
    }
  }

  /** Undefined: a blob was deleted meanwhile, so the moment is gone. */
  async #copyMoment(pages: DatabasePages): Promise<BackupReport | undefined> {
    const madeAtMs = (this.#options.clock ?? systemClock).now();
    const blobs = await pages.read(this.#listBlobs());
    const lost = await this.#copyBlobs(blobs);
    const missing = blobs.filter(({ sha256 }) => lost.has(sha256)).map(({ key }) => key);
    if (missing.length > 0 && (await this.#isAnyDeleted(missing))) return undefined;
    const chunkPages = Math.max(1, CHUNK_BYTES / pages.pageBytes);
    const snapshot: Snapshot = {
      version: BACKUP_VERSION,
      id: snapshotId(
        madeAtMs,
        randomBytes(3).toString('hex'),
        (await this.#folder.snapshotIds()).at(-1),
      ),
      madeAtMs,
      source: this.#storeRoot,
      madeBy: VERSION,
      layout: pages.layout,
      pageBytes: pages.pageBytes,
      pageCount: pages.pageCount,
      chunkPages,
      chunks: await this.#copyChunks(pages, chunkPages),
      blobs: blobs.flatMap(({ sha256, sizeBytes }) =>
        lost.has(sha256) ? [] : [{ sha256, sizeBytes }],
      ),
      lostBlobs: [...lost],
      ...(await pages.read(countContent)),
    };
    await writeTombstones(this.#folder, pages);
    this.#checkRunning();
    await this.#folder.addSnapshot(snapshot);
    return {
      snapshotId: snapshot.id,
      path: this.#folder.path,
      runCount: snapshot.runCount,
      segmentCount: snapshot.segmentCount,
      databaseBytes: pages.pageCount * pages.pageBytes,
      blobCount: snapshot.blobs.length,
      writtenBytes: this.#writtenBytes,
      lostBlobs: snapshot.lostBlobs,
      removedSnapshots: [],
    };
  }

  async #copyChunks(pages: DatabasePages, chunkPages: number): Promise<readonly string[]> {
    const chunks: string[] = [];
    for (let first = 1; first <= pages.pageCount; first += chunkPages) {
      this.#checkRunning();
      const bytes = await pages.pages(first, Math.min(chunkPages, pages.pageCount - first + 1));
      const sha256 = sha256Of(bytes);
      await this.#store(this.#folder.chunks, sha256, bytes.byteLength, async () => bytes);
      chunks.push(sha256);
    }
    return chunks;
  }

  /** Copies what is not there yet; returns those whose bytes are missing or damaged in the store. */
  async #copyBlobs(blobs: readonly BlobRow[]): Promise<ReadonlySet<string>> {
    const lost = new Set<string>();
    for (const { key, sha256, sizeBytes } of blobs) {
      this.#checkRunning();
      const read = async (): Promise<Uint8Array<ArrayBuffer> | undefined> => {
        const bytes = await this.#source.get(key);
        return bytes === undefined || sha256Of(bytes) !== sha256 ? undefined : bytes;
      };
      if (!(await this.#store(this.#folder.blobs, sha256, sizeBytes, read))) lost.add(sha256);
    }
    return lost;
  }

  /** Makes sure that content is stored and reads back; false when its source has it no more. */
  async #store(
    files: BlobFiles,
    sha256: string,
    sizeBytes: number,
    read: () => Promise<Uint8Array<ArrayBuffer> | undefined>,
  ): Promise<boolean> {
    if (this.#done.has(sha256)) return true;
    const isThere =
      this.#options.verifiesAll === true
        ? await files.has(sha256, sizeBytes)
        : await this.#folder.isStored(files, sha256, sizeBytes);
    if (isThere) {
      this.#done.add(sha256);
      return true;
    }
    const bytes = await read();
    if (bytes === undefined) return false;
    await files.put(sha256, bytes);
    if (!(await readsBack(files, sha256)))
      throw new SessionStoreError(
        'corrupt',
        `What was written to ${files.name} reads back differently (${sha256}). The former snapshots are as they were. Do not trust this disk: name another folder.`,
        { details: { path: files.name, sha256 } },
      );
    this.#done.add(sha256);
    this.#writtenBytes += bytes.byteLength;
    return true;
  }

  /** Whether the database does not name one of these files any more: it was deleted, and is not damage. */
  async #isAnyDeleted(keys: readonly string[]): Promise<boolean> {
    return this.#withPages((pages) =>
      pages.read(function* (): SqlWork<boolean> {
        const now = new Set((yield* listBlobFiles()).map(({ key }) => key));
        for (const key of keys) if (!now.has(key)) return true;
        return false;
      }),
    );
  }

  #listBlobs(): () => SqlWork<readonly BlobRow[]> {
    return this.#options.hasBucket === true ? none : listBlobFiles;
  }

  async #withPages<T>(work: (pages: DatabasePages) => Promise<T>, copy?: string): Promise<T> {
    const pages = await openDatabasePages(this.#dbPath, copy);
    try {
      return await work(pages);
    } finally {
      await pages.close();
    }
  }

  #checkRunning(): void {
    checkNotAborted(this.#options.signal);
  }
}

async function readsBack(files: BlobFiles, sha256: string): Promise<boolean> {
  try {
    const bytes = await files.get(sha256);
    return bytes !== undefined && sha256Of(bytes) === sha256;
  } catch (error) {
    if (isStoreError(error, 'failed')) return false;
    throw error;
  }
}

async function writeTombstones(folder: BackupFolder, pages: DatabasePages): Promise<number> {
  const known = await readTombstoneFile(join(folder.path, 'tombstones'));
  const dead = await pages.read(() => withoutLive(known, pages.layout));
  const tombstones = mergeTombstones(dead, await pages.read(readTombstones));
  const text = tombstoneText(tombstones);
  if (text !== tombstoneText(known)) await folder.write('tombstones', text);
  return tombstones.length + (await writeRowTombstones(folder, pages, tombstones));
}

async function writeRowTombstones(
  folder: BackupFolder,
  pages: DatabasePages,
  runs: readonly Tombstone[],
): Promise<number> {
  const path = join(folder.path, ROW_TOMBSTONES);
  const known = await readRowTombstones(path);
  const found = await rowTombstonesOf(await pages.read(readLacking));
  // What was purged is purged again at a restore, rows and all.
  const purged = new Set(
    runs.filter(({ purgedAtMs }) => purgedAtMs !== null).map(({ id, space }) => `${space}\n${id}`),
  );
  const rows = mergeRowTombstones(known, found).filter(
    ({ runId, space }) => !purged.has(`${space}\n${runId}`),
  );
  const content = rowTombstoneText(rows);
  if (content !== rowTombstoneText(known)) await folder.write(ROW_TOMBSTONES, content);
  return rows.length;
}

// eslint-disable-next-line require-yield
function* none(): SqlWork<readonly BlobRow[]> {
  return [];
}

/** Blobs that are files. A store of the first layouts has them, too. */
function* listBlobFiles(): SqlWork<readonly BlobRow[]> {
  const hasGenerations =
    (yield sql("SELECT 1 FROM sqlite_master WHERE name = 'blob_puts'")).length > 0;
  const generation = '(SELECT generation FROM blob_puts WHERE blob_puts.sha256 = blobs.sha256)';
  const rows = yield sql(
    `SELECT text(sha256), size_bytes, ${hasGenerations ? `coalesce(${generation}, 0)` : '0'} FROM blobs
     WHERE bytes IS NULL AND size_bytes > ? ORDER BY sha256`,
    MAX_DATABASE_BLOB_BYTES,
  );
  return rows.map((row) => {
    const sha256 = textCell(row, 0);
    return { sha256, sizeBytes: numberCell(row, 1), key: blobKey(sha256, numberCell(row, 2)) };
  });
}

function* countContent(): SqlWork<Pick<Snapshot, 'runCount' | 'segmentCount'>> {
  const [runs] = yield sql('SELECT count(*) FROM runs');
  const [segments] = yield sql('SELECT count(*) FROM segments');
  return {
    runCount: runs === undefined ? 0 : numberCell(runs, 0),
    segmentCount: segments === undefined ? 0 : numberCell(segments, 0),
  };
}
