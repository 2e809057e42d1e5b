/** What a request for a part of a blob, or for none of it, makes a store read: no more than is sent. */
import { randomUUID } from 'node:crypto';
import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startRun } from 'quark-sdk';
import { ArtifactStore } from 'quark-sdk/probes';

import { openFileSpaces, openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import type { Store } from '../../src/store/store.ts';
import { makeSchema, openSpace, type TestSchema } from '../support/postgres.ts';
import { openS3Place, type S3Place } from '../support/s3-place.ts';
import { bytesOf, handlerOf, sha256Of } from './filled-store.ts';

const MIB = 1024 * 1024;
const BLOB_BYTES = 8 * MIB;
/** Of each kind. One that reads the whole blob for each of them would read 320 MiB. */
const REQUESTS = 40;
/** Connections, files of the database and tests beside this one read, too; a part of a blob in a database is 1 MiB. */
const MAX_READ_BYTES = 2 * REQUESTS * MIB;

let directory: string;
let schema: TestSchema;
let bucket: S3Place;
const closes: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quark-blobs-'));
  [schema, bucket] = await Promise.all([makeSchema(), openS3Place()]);
}, 120_000);
afterAll(async () => {
  for (const close of closes) await close();
  await schema.remove();
  await bucket.close();
  await rm(directory, { recursive: true, force: true });
});

/** Bytes that this process has read so far: from files, and from connections. Undefined where the system does not tell. */
async function bytesRead(): Promise<number | undefined> {
  const text = await readFile('/proc/self/io', 'utf8').catch(() => '');
  const read = /^rchar: (\d+)$/m.exec(text)?.[1];
  return read === undefined ? undefined : Number(read);
}

const PLACES: readonly (readonly [string, () => Promise<Store>])[] = [
  ['a folder', () => openFileStorage(join(directory, 'folder'))],
  ['PostgreSQL', () => openSpace(schema.uri, `blobs/${randomUUID()}`)],
  [
    'PostgreSQL with a bucket',
    () => openSpace(schema.uri, `blobs/${randomUUID()}`, { objects: bucket.options }),
  ],
  [
    'a folder with a bucket',
    async () => {
      const spaces = await openFileSpaces(join(directory, 'bucket'), { objects: bucket.options });
      closes.push(() => spaces.close());
      return spaces.store('');
    },
  ],
];

describe.each(PLACES)('over %s', (_name, open) => {
  test('ranges, HEAD and 304 of blobs and artifacts read what they send', async ({ skip }) => {
    const store = await open();
    closes.push(() => store.close());
    const handle = handlerOf(store);
    const bytes = bytesOf(3, BLOB_BYTES);
    const session = await startRun({ storage: store, project: 'p' });
    const artifact = await new ArtifactStore(session).store('weights', 'model', bytes);
    await session.endRun();
    const root = 'http://127.0.0.1/api/v1';
    const urls = [
      `${root}/blobs/${await sha256Of(bytes)}`,
      `${root}/runs/${session.runId}/artifacts/${artifact.id}`,
    ];
    const ask = async (url: string, method: string, headers: object): Promise<Response> =>
      handle(new Request(url, { method, headers: { ...headers } }));
    for (const url of urls) {
      const whole = await ask(url, 'GET', {});
      expect(whole.status).toBe(200);
      expect(await sha256Of(new Uint8Array(await whole.arrayBuffer()))).toBe(await sha256Of(bytes));
      const etag = whole.headers.get('etag') ?? '';
      const before = await bytesRead();
      for (let i = 0; i < REQUESTS; i++) {
        const at = (i * 2_654_435_761) % BLOB_BYTES;
        const part = await ask(url, 'GET', { range: `bytes=${at}-${at}` });
        expect([part.status, part.headers.get('content-length')]).toEqual([206, '1']);
        expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.subarray(at, at + 1));
        const head = await ask(url, 'HEAD', {});
        expect([head.status, head.headers.get('content-length'), head.body]).toEqual([
          200,
          String(BLOB_BYTES),
          null,
        ]);
        expect((await ask(url, 'GET', { 'if-none-match': etag })).status).toBe(304);
      }
      const after = await bytesRead();
      if (before === undefined || after === undefined) {
        skip('this system does not tell how many bytes a process has read');
        return;
      }
      expect(after - before).toBeLessThan(MAX_READ_BYTES);
    }
  });
});
