import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { openFileSpaces } from '../../src/store/sql/node/file-storage.ts';
import { openS3Place, type S3Place } from '../support/s3-place.ts';
import { describeStore } from './store-contract.ts';

let bucket: S3Place;
beforeAll(async () => {
  bucket = await openS3Place();
});
afterAll(() => bucket.close());

// Every merged segment goes to the bucket, however small.
describeStore('sqlite, blobs and merged segments in a bucket', async (clock) => {
  const directory = await mkdtemp(join(tmpdir(), 'quark-store-'));
  return {
    open: async () => {
      const options = { clock, objects: bucket.options, segmentFiles: { minBytes: 1 } };
      const spaces = await openFileSpaces(directory, options);
      const store = spaces.store('');
      const close = store.close.bind(store);
      return Object.assign(store, {
        close: async () => {
          await close();
          await spaces.close();
        },
      });
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
});
