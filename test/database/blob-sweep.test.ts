/** The sequences of test/property/blob-sweep.test.ts on PostgreSQL: large blobs as rows of their own, and in a bucket. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { longTest } from '../support/long.ts';
import { openObjects } from '../../src/store/objects/open-objects.ts';
import { createBlobParts } from '../../src/store/sql/sql-blob-parts.ts';
import { sql, textCell } from '../../src/store/sql/sql-database.ts';
import { openPostgresSpaces } from '../../src/store/sql/node/postgres-storage.ts';
import { createSqlStore, type StoreSpaces } from '../../src/store/sql/sql-store.ts';
import type { S3Options } from '../../src/store/objects/s3-config.ts';
import { tryLateSweeps, trySweeps } from '../property/blob-sweep-commands.ts';
import type { SweepLocation } from '../property/blob-sweep-world.ts';
import { gatedDatabase, gatedFiles } from '../support/gated-parts.ts';
import { makeSchema, type TestSchema } from '../support/postgres.ts';
import { openS3Place, type S3Place } from '../support/s3-place.ts';

let schema: TestSchema;
let bucket: S3Place;
let spaces: StoreSpaces;
let opened = 0;
beforeAll(async () => {
  [schema, bucket] = await Promise.all([makeSchema(), openS3Place()]);
  spaces = await openPostgresSpaces(schema.uri);
}, 120_000);
afterAll(async () => {
  await spaces.close();
  await schema.remove();
  await bucket.close();
});

/** Every sequence has an empty database, and one bucket for all: keys are under a prefix. */
const onPostgres =
  (hasBucket: boolean) =>
  async (clock: { now(): number }): Promise<SweepLocation> => {
    const { database } = spaces;
    await database.transaction(function* () {
      for (const table of TABLES) yield sql(`DELETE FROM ${table}`);
    });
    const objects: S3Options | undefined = hasBucket
      ? { ...bucket.options, prefix: `sweep-${opened++}` }
      : undefined;
    const withObjects = await openObjects({ objects });
    return {
      open: async (gate) => {
        const gated = gatedDatabase(database, gate);
        const { blobFiles } = withObjects({
          database,
          clock,
          blobFiles: createBlobParts(database),
        });
        return createSqlStore({
          uri: 'test:',
          location: { storageDir: 'test', storeRoot: 'test', dbPath: 'test' },
          database: gated,
          isShared: true,
          space: 'sweeps',
          blobFiles: gatedFiles(blobFiles, gate),
          clock,
        });
      },
      ...(hasBucket
        ? {}
        : {
            listFiles: () =>
              database.read(function* () {
                const rows = yield sql('SELECT DISTINCT text(sha256) FROM blob_parts');
                return rows.map((row) => textCell(row, 0));
              }),
          }),
      remove: async () => undefined,
    };
  };

const TABLES = [
  'runs',
  'leases',
  'streams',
  'segments',
  'segment_bytes',
  'merged_batches',
  'stream_replacements',
  'merge_queue',
  'blobs',
  'blob_spaces',
  'blob_parts',
  'blob_puts',
  'deleted_runs',
  'swept_blobs',
];

test('no sweep removes what a record names, and what nothing names goes', async () => {
  expect(await trySweeps(onPostgres(false), 30)).toBeGreaterThan(0);
}, 240_000);

test('the same with a bucket', async () => {
  expect(await trySweeps(onPostgres(true), 16)).toBeGreaterThan(0);
}, 240_000);

longTest(
  'a sweep that rests deletes nothing that was recorded meanwhile, from a bucket',
  async () => {
    expect(await tryLateSweeps(onPostgres(true))).toBeGreaterThan(0);
  },
  240_000,
);
