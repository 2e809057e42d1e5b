/** The doctor lists objects of blobs that no row knows, and removes them where somebody says that nobody else uses the bucket. */
import { AwsClient } from 'aws4fetch';
import { mkdtemp, rm } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { examineStore } from '../../src/doctor/node/diagnose.ts';
import { S3Objects } from '../../src/store/objects/s3-objects.ts';
import { checkS3Options, type S3Options } from '../../src/store/objects/s3-config.ts';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import { makeSchema, type TestSchema } from '../support/postgres.ts';
import { openS3Place, type S3Place } from '../support/s3-place.ts';

let bucket: S3Place;
let schema: TestSchema;
let directory = '';
beforeAll(async () => {
  [bucket, schema] = await Promise.all([openS3Place(), makeSchema()]);
  directory = await mkdtemp(join(tmpdir(), 'quark-doctor-bucket-'));
}, 120_000);
afterAll(async () => {
  await bucket.close();
  await schema.remove();
  await rm(directory, { recursive: true, force: true });
});

const LOOSE = Buffer.alloc(300_000, 7);
const LATER_MS = 8 * 24 * 60 * 60 * 1000;
const later = { ...systemClock, now: () => Date.now() + LATER_MS };
const nameOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const objectOf = (hash: string): string => `blobs/${hash.slice(0, 2)}/${hash}`;

test.each(['sqlite', 'postgres'] as const)('in a bucket beside %s', async (kind) => {
  const objects: S3Options = { ...bucket.options, prefix: `${kind}/` };
  const uri = kind === 'sqlite' ? directory : schema.uri;
  const place = new S3Objects(checkS3Options(objects), AwsClient);
  const spaces = await openSpaces(uri, { objects });
  const named = Buffer.alloc(300_000, 9);
  await spaces.store('').putBlob(nameOf(named), new Uint8Array(named));
  await spaces.close();
  const loose = nameOf(LOOSE);
  await place.put(objectOf(loose), new Uint8Array(LOOSE));
  // What is named otherwise is nobody's blob.
  await place.put('blobs/ab/notes', new Uint8Array(3));

  const found = async (options: object) => {
    const { findings, repaired } = await examineStore(uri, { objects, ...options });
    return { findings: findings.filter(({ code }) => code === 'objects_loose'), repaired };
  };
  const early = await found({ repairs: true, removesLoose: true });
  expect(early.findings).toMatchObject([{ severity: 'note' }]);
  expect(early.findings[0]?.message).toMatch(/^1 objects? of blobs with 300000 bytes .*; 0 are /);
  expect(await place.size(objectOf(loose))).toBe(LOOSE.length);

  // Without the word of somebody who knows, they stay.
  expect((await found({ clock: later, repairs: true })).findings).toHaveLength(1);
  await place.put(`segments/db_other/xy/seg_1`, new Uint8Array(3));
  const shared = await found({ clock: later, repairs: true, removesLoose: true });
  expect(shared.findings[0]?.advice).toContain('db_other');
  expect(await place.size(objectOf(loose))).toBe(LOOSE.length);
  await place.delete('segments/db_other/xy/seg_1');

  const done = await found({ clock: later, repairs: true, removesLoose: true });
  expect(done.repaired).toMatchObject([{ code: 'objects_loose' }]);
  expect(done.findings).toEqual([]);
  expect(await place.size(objectOf(loose))).toBeUndefined();
  expect(await place.size(objectOf(nameOf(named)))).toBe(named.length);
  expect(await place.size('blobs/ab/notes')).toBe(3);

  // The same bytes may be put at any time.
  const again = await openSpaces(uri, { objects });
  await again.store('').putBlob(loose, new Uint8Array(LOOSE));
  expect((await again.store('').getBlob(loose))?.byteLength).toBe(LOOSE.length);
  await again.close();
});
