/** PostgreSQL and a bucket together: what has to do with bytes. The rest is the same code as without the bucket. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { makeSchema, openSpace, type TestSchema } from '../support/postgres.ts';
import { openS3Place, type S3Place } from '../support/s3-place.ts';
import { describeStore } from './store-contract.ts';

let schema: TestSchema;
let bucket: S3Place;
beforeAll(async () => {
  [schema, bucket] = await Promise.all([makeSchema(), openS3Place()]);
}, 120_000);
afterAll(async () => {
  await schema.remove();
  await bucket.close();
});

// Every merged segment goes to the bucket, however small.
describeStore(
  'postgres, blobs and merged segments in a bucket',
  async (clock) => {
    const space = `test/${randomUUID()}`;
    const options = { clock, objects: bucket.options, segmentFiles: { minBytes: 1 } };
    return {
      open: () => openSpace(schema.uri, space, options),
      remove: async () => undefined,
    };
  },
  { onlyBytes: true },
);
