/** A store as the doctor reads it: as of one moment where the database can do that, and without changing anything. */
import { existsSync } from 'node:fs';
import { SessionStoreError } from '../../base/errors.ts';
import {
  listBucket,
  type BucketLists,
  type ObjectOptions,
} from '../../store/objects/open-objects.ts';
import { schemeOf } from '../../store/registry.ts';
import { createBlobFiles } from '../../store/sql/node/blob-files.ts';
import { locateStore, parseFileUri, openFileSpaces } from '../../store/sql/node/file-storage.ts';
import { openSpaces } from '../../store/sql/node/open-spaces.ts';
import { openDatabasePages } from '../../store/sql/node/sqlite-pages.ts';
import { hashOfKey } from '../../store/sql/sql-blobs.ts';
import type { ListedBlob } from '../../store/sql/sql-blob-store.ts';
import type { SqlWork } from '../../store/sql/sql-database.ts';
import { SQL_LAYOUT_VERSION } from '../../store/sql/sql-layout.ts';
import type { StoreLocation } from '../../store/store.ts';

/** A store that is examined. */
export interface Patient {
  /** Names it in findings, without anything secret. */
  readonly name: string;
  /** Where the files of a store in a folder are. */
  readonly location?: StoreLocation;
  /** The version of the layout of the database. */
  readonly layout: number;
  /** Whether the database is SQLite, with checks of its own. */
  readonly isSqlite: boolean;
  read<T>(work: () => SqlWork<T>): Promise<T>;
  /** The bytes behind the key of a blob that is not stored in its row; undefined when they are missing. */
  blob(space: string, key: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** The bytes of an object in the bucket; undefined when they are missing. */
  object(key: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** The files of blobs in the folder of the store; absent where there is none. */
  blobFiles?(): AsyncIterable<ListedBlob> | undefined;
  /** What the bucket has; absent where there is none. */
  readonly bucket?: BucketLists | undefined;
  close(): Promise<void>;
}

/**
 * Opens a store for reading, without migrating it.
 *
 * @param uri a folder, a `file:` URI, or the address of a PostgreSQL database
 * @throws {SessionStoreError} `missing`, `corrupt`, `version`, `unknown_scheme`, and what the database reports
 */
export async function openPatient(uri: string, objects: ObjectOptions): Promise<Patient> {
  return (schemeOf(uri) ?? 'file') === 'file' ? openFolder(uri, objects) : openServer(uri, objects);
}

async function openFolder(uri: string, objects: ObjectOptions): Promise<Patient> {
  const location = locateStore(parseFileUri(uri).directory);
  if (!existsSync(location.dbPath))
    throw new SessionStoreError(
      'missing',
      `There is no Quark store in ${location.storageDir}: ${location.dbPath} does not exist. Name the folder that a run was recorded into.`,
      { details: { path: location.dbPath } },
    );
  const pages = await openDatabasePages(location.dbPath);
  // Only a bucket needs the store itself, which is not opened where that would migrate it.
  const spaces =
    objects.objects === undefined || pages.layout !== SQL_LAYOUT_VERSION
      ? undefined
      : await openFileSpaces(uri, objects);
  const files = createBlobFiles(location.storeRoot);
  return {
    name: location.storageDir,
    location,
    layout: pages.layout,
    isSqlite: true,
    read: (work) => pages.read(work),
    blob: async (space, key) =>
      (await files.get(key)) ?? (await spaces?.store(space).getBlob(hashOfKey(key))),
    object: async (key) => spaces?.segmentFiles?.get(key),
    blobFiles: () => files.list?.(),
    bucket: await bucketOf(objects),
    async close() {
      await pages.close();
      await spaces?.close();
    },
  };
}

async function openServer(uri: string, objects: ObjectOptions): Promise<Patient> {
  const spaces = await openSpaces(uri, { ...objects, create: false, migrates: false });
  return {
    name: spaces.uri,
    layout: SQL_LAYOUT_VERSION,
    isSqlite: false,
    read: (work) => spaces.database.read(work),
    blob: (space, key) => spaces.store(space).getBlob(hashOfKey(key)),
    object: async (key) => spaces.segmentFiles?.get(key),
    bucket: await bucketOf(objects),
    close: () => spaces.close(),
  };
}

async function bucketOf({ objects }: ObjectOptions): Promise<BucketLists | undefined> {
  return objects && listBucket(objects);
}
