/** From the options of an object store to the parts of a store that are stored there. */
import type { Clock } from '../../base/clock.ts';
import { loadDriver, missingPackage } from '../../base/node/load-driver.ts';
import { SegmentFiles, type SegmentFileOptions } from '../sql/object-files.ts';
import { BLOB_KEY, hashOfKey } from '../sql/sql-blobs.ts';
import type { SqlDatabase } from '../sql/sql-database.ts';
import type { BlobFiles, ListedBlob } from '../sql/sql-blob-store.ts';
import { MAX_BLOB_BYTES } from '../limits.ts';
import type { S3Objects } from './s3-objects.ts';
import { checkS3Options, type S3Config, type S3Options } from './s3-config.ts';

/** Large blobs as objects: `blobs/ab/abcdef...`, named by their SHA-256. */
const ROOT = 'blobs/';
/** An upload in parts that a process which ended has left is given up after this time. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;

/** Options of databases that may keep large things in an object store. */
export type ObjectOptions = {
  /** The object store. Default: everything is stored in the database, or in files beside it. */
  readonly objects?: S3Options | undefined;
  /** Which merged segments go there, and how long what nothing names is stored. */
  readonly segmentFiles?: SegmentFileOptions | undefined;
};

/** Parts of a store over a database. */
type Parts = {
  readonly database: SqlDatabase;
  readonly clock: Pick<Clock, 'now'>;
  readonly blobFiles: BlobFiles;
  readonly segmentFiles?: SegmentFiles | undefined;
};

/**
 * Asks for the bucket, so that what is wrong shows when a service starts, and returns what puts the parts of a store there.
 * Blobs that were stored elsewhere before stay readable.
 *
 * @throws {QuarkError} `invalid_input`
 * @throws {SessionStoreError} `missing` when there is no such bucket; `unauthorised`, `unreachable`, ...
 */
export async function openObjects({
  objects: options,
  segmentFiles,
}: ObjectOptions): Promise<<T extends Parts>(parts: T) => T> {
  if (options === undefined) return (parts) => parts;
  const config = checkS3Options(options);
  const objects = await loadObjects(config);
  await objects.check();
  return (parts) => ({
    ...parts,
    blobFiles: layered(createBlobObjects(objects), parts.blobFiles),
    segmentFiles: new SegmentFiles(parts.database, objects, parts.clock, segmentFiles),
  });
}

/**
 * Who stores everything in a database need not have what this loads.
 *
 * @throws {SessionStoreError} `failed` where the package that signs requests is missing
 */
async function loadObjects(config: S3Config): Promise<S3Objects> {
  let signer: typeof import('aws4fetch');
  try {
    signer = loadDriver((require): typeof import('aws4fetch') => require('aws4fetch'));
  } catch (cause) {
    throw missingPackage('aws4fetch', 'Storing in a bucket', cause);
  }
  const s3 = await import('./s3-objects.ts');
  return new s3.S3Objects(config, signer.AwsClient);
}

/** Writes to the first location, reads from both, and deletes from both. */
function layered(first: BlobFiles, second: BlobFiles): BlobFiles {
  const list = second.list?.bind(second);
  return {
    name: first.name,
    put: (key, bytes) => first.put(key, bytes),
    get: async (key) => (await first.get(key)) ?? second.get(key),
    getRange: async (key, start, end) =>
      (await first.getRange(key, start, end)) ?? second.getRange(key, start, end),
    has: async (key, sizeBytes) => (await first.has(key, sizeBytes)) || second.has(key, sizeBytes),
    delete: async (key) => {
      await first.delete(key);
      await second.delete(key);
    },
    removeAbandoned: async (nowMs) => {
      await first.removeAbandoned(nowMs);
      await second.removeAbandoned(nowMs);
    },
    ...(list === undefined ? {} : { list }),
  };
}

/** What a bucket has, for an examination. */
export type BucketLists = {
  readonly name: string;
  /** Objects of blobs. */
  blobs(): AsyncIterable<ListedBlob>;
  /** The names of databases that have merged segments there, as they come. */
  databases(): AsyncIterable<string>;
};

/** @throws {QuarkError} `invalid_input` */
export async function listBucket(options: S3Options): Promise<BucketLists> {
  const config = checkS3Options(options);
  const objects = await loadObjects(config);
  return {
    name: objects.name,
    async *blobs() {
      for await (const { key, ...listed } of objects.list(ROOT)) {
        const name = key.slice(ROOT.length + 3);
        if (BLOB_KEY.test(name) && key === objectOf(name)) yield { ...listed, key: name };
      }
    },
    async *databases() {
      let last = '';
      for await (const { key } of objects.list('segments/')) {
        const [, name = ''] = key.split('/');
        if (name !== last) yield name;
        last = name;
      }
    },
  };
}

const objectOf = (key: string): string => `${ROOT}${key.slice(0, 2)}/${key}`;

/**
 * Blob files in a bucket. They are not listed here: another database may use the same bucket and prefix, and have rows of its own. So a
 * blob that no row names, left by a process that ended between the two, stays until "quark doctor --repair --remove-loose" removes it;
 * a process that puts the same bytes again takes it over.
 */
export function createBlobObjects(objects: S3Objects): BlobFiles {
  return {
    name: objects.name,
    put: (key, bytes) => objects.put(objectOf(key), bytes, hashOfKey(key)),
    get: (key) => objects.get(objectOf(key), MAX_BLOB_BYTES),
    getRange: (key, start, end) => objects.getRange(objectOf(key), start, end),
    has: async (key, sizeBytes) => (await objects.size(objectOf(key))) === sizeBytes,
    delete: (key) => objects.delete(objectOf(key)),
    removeAbandoned: async (nowMs) => {
      await objects.abortUploads(ROOT, nowMs - ABANDONED_AFTER_MS);
    },
  };
}
