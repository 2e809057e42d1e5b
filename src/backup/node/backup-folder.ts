/**
 * The folder of a backup.
 *
 *     DEST/snapshots/ID.json   one for each moment; written last, so a snapshot that is there is whole
 *     DEST/chunks/ab/abc...    parts of databases, by SHA-256; snapshots share them
 *     DEST/blobs/ab/abc...     blobs that are files in the store, by SHA-256
 *     DEST/tombstones          what was deleted: see tombstones.ts
 *     DEST/copy                the database at the moment of a backup under way, where SQLite has no table of pages
 *     DEST/lock                see file-lock.ts
 */
import { randomBytes } from 'node:crypto';
import {
  access,
  constants,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
} from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SessionStoreError } from '../../base/errors.ts';
import { createBlobFiles } from '../../store/sql/node/blob-files.ts';
import { lockFile, type LockKind } from '../../store/sql/node/file-lock.ts';
import { makeFolder, syncFolder } from '../../store/sql/node/folders.ts';
import { sqliteFailure } from '../../store/sql/node/sqlite-errors.ts';
import type { BlobFiles } from '../../store/sql/sql-blob-store.ts';
import { isSha256, isSnapshotId, readSnapshot, snapshotText, type Snapshot } from './snapshot.ts';

/** What is stored by its hash. */
export type ContentKind = 'chunks' | 'blobs';

/** A file of a snapshot that could not be read. */
export type UnreadableSnapshot = { readonly id: string; readonly error: unknown };

/** The folder of a backup, opened. */
export class BackupFolder {
  readonly path: string;
  readonly chunks: BlobFiles;
  readonly blobs: BlobFiles;

  constructor(path: string) {
    this.path = resolve(path);
    this.chunks = createBlobFiles(this.path, 'chunks');
    this.blobs = createBlobFiles(this.path, 'blobs');
  }

  /**
   * Makes the folder where it is missing.
   *
   * @throws {SessionStoreError} `unwritable`, also for a folder that has something else in it
   */
  async make(): Promise<void> {
    const found = await namesIn(this.path);
    if (found !== undefined && found.length > 0 && !found.includes('snapshots'))
      throw new SessionStoreError(
        'unwritable',
        `${this.path} has files in it and is no backup. Nothing was changed. Name an empty folder, a new one, or that of a backup.`,
        { details: { path: this.path } },
      );
    await makeFolder(join(this.path, 'snapshots'), true);
  }

  /** @throws {SessionStoreError} `missing` when this is no folder of a backup */
  async check(): Promise<void> {
    if ((await namesIn(join(this.path, 'snapshots'))) !== undefined) return;
    throw new SessionStoreError(
      'missing',
      `There is no backup in ${this.path}. "quark backup DEST" makes one.`,
      { details: { path: this.path } },
    );
  }

  /** Does `work` under a lock of the folder; one that may not be written is read without. @throws {SessionStoreError} `busy` */
  async locked<T>(kind: LockKind, waitMs: number, work: () => Promise<T>): Promise<T> {
    const isWritable = await access(this.path, constants.W_OK).then(
      () => true,
      () => false,
    );
    if (!isWritable && kind === 'shared') return work();
    const release = await lockFile(join(this.path, 'lock'), kind, waitMs);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** All snapshots, oldest first. Files that cannot be read are given to `onUnreadable`, or else thrown. */
  async snapshots(
    onUnreadable: (damage: UnreadableSnapshot) => void = ({ error }) => {
      throw error;
    },
  ): Promise<readonly Snapshot[]> {
    const found: Snapshot[] = [];
    for (const id of await this.snapshotIds()) {
      try {
        found.push(await this.#readSnapshot(id));
      } catch (error) {
        onUnreadable({ id, error });
      }
    }
    return found;
  }

  /** The snapshot of an id, or of the beginning of one; the newest unless given. @throws {SessionStoreError} `missing`, `corrupt` */
  async snapshot(id: string | undefined): Promise<Snapshot> {
    await this.check();
    const ids = (await this.snapshotIds()).filter((one) => one.startsWith(id ?? ''));
    const [first] = ids;
    const chosen = id === undefined ? ids.at(-1) : first;
    if (chosen !== undefined && (id === undefined || ids.length === 1))
      return this.#readSnapshot(chosen);
    throw new SessionStoreError(
      'missing',
      ids.length > 1
        ? `${ids.length} snapshots in ${this.path} begin with "${id}". Give more of the id.`
        : `There is no snapshot${id === undefined ? '' : ` "${id}"`} in ${this.path}. "quark backup list" shows those that are there.`,
      { details: { path: this.path, id } },
    );
  }

  /** Adds a snapshot, whose content is there. It is there when this resolves, and not before. */
  async addSnapshot(snapshot: Snapshot): Promise<void> {
    await this.write(join('snapshots', `${snapshot.id}.json`), snapshotText(snapshot));
  }

  async removeSnapshot(id: string): Promise<void> {
    await rm(join(this.path, 'snapshots', `${id}.json`), { force: true });
  }

  /** Writes a file of the folder: whole or not at all. @throws {SessionStoreError} `full`, `unwritable` */
  async write(name: string, content: string): Promise<void> {
    const path = join(this.path, name);
    const draft = join(this.path, `.draft-${randomBytes(6).toString('hex')}`);
    try {
      const file = await open(draft, 'wx');
      try {
        await file.writeFile(content);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, path);
      await syncFolder(join(path, '..'));
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined);
      throw sqliteFailure(error, path);
    }
  }

  /** The hashes of all content of a kind that is stored. */
  async *stored(kind: ContentKind): AsyncGenerator<string> {
    for (const folder of (await namesIn(join(this.path, kind))) ?? []) {
      if (!/^[0-9a-f]{2}$/.test(folder)) continue;
      for (const name of (await namesIn(join(this.path, kind, folder))) ?? [])
        if (isSha256(name) && name.startsWith(folder)) yield name;
    }
  }

  /** Whether there is a file of this size under a hash; its bytes are not read. */
  async isStored({ name }: BlobFiles, sha256: string, sizeBytes: number): Promise<boolean> {
    const found = await lstat(join(name, sha256.slice(0, 2), sha256)).catch(() => undefined);
    return found?.isFile() === true && found.size === sizeBytes;
  }

  /** Removes content; that which is not there counts as removed. */
  async remove(kind: ContentKind, sha256: string): Promise<void> {
    await rm(join(this.path, kind, sha256.slice(0, 2), sha256), { force: true });
  }

  /** Removes content that killed processes have left half-written. For the holder of the lock `write` or `exclusive`. */
  async removeIncoming(): Promise<void> {
    for (const kind of ['chunks', 'blobs'])
      await rm(join(this.path, kind, 'incoming'), { recursive: true, force: true });
  }

  /** The same, and what killed readers have left. For the holder of the lock `exclusive`. */
  async removeDrafts(): Promise<void> {
    await this.removeIncoming();
    for (const name of (await namesIn(this.path)) ?? [])
      if (name.startsWith('.draft-'))
        await rm(join(this.path, name), { recursive: true, force: true });
  }

  /** A new folder for what is needed for a moment, in the folder of the backup. */
  async makeDraftFolder(): Promise<string> {
    const path = join(this.path, `.draft-${randomBytes(6).toString('hex')}`);
    try {
      await mkdir(path);
    } catch (error) {
      throw sqliteFailure(error, path);
    }
    return path;
  }

  async #readSnapshot(id: string): Promise<Snapshot> {
    const path = join(this.path, 'snapshots', `${id}.json`);
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      throw sqliteFailure(error, path);
    }
    return readSnapshot(text, path);
  }

  /** The ids of all snapshots, oldest first. */
  async snapshotIds(): Promise<readonly string[]> {
    const names = (await namesIn(join(this.path, 'snapshots'))) ?? [];
    return names
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.slice(0, -'.json'.length))
      .filter(isSnapshotId)
      .sort();
  }
}

/** The names in a folder; undefined where there is none. */
export async function namesIn(path: string): Promise<readonly string[] | undefined> {
  try {
    return await readdir(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw sqliteFailure(error, path);
  }
}
