import { AwsClient } from 'aws4fetch';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createBlobObjects } from '../../../src/store/objects/open-objects.ts';
import { checkS3Options, type S3Options } from '../../../src/store/objects/s3-config.ts';
import { S3Objects } from '../../../src/store/objects/s3-objects.ts';
import { sha256Hex } from '../../../src/store/blob-rules.ts';
import { casesOf } from '../../support/long.ts';
import { openS3Place, type Fault, type FrontCall, type S3Place } from '../../support/s3-place.ts';
import { bytesOf } from '../../support/segments.ts';

const MIB = 1024 * 1024;
let place: S3Place;
beforeAll(async () => {
  place = await openS3Place();
});
afterEach(() => {
  place.fault = undefined;
  place.pageKeys = 1000;
  place.calls.length = 0;
});
afterAll(() => place.close());

const open = (change: Partial<S3Options> = {}): S3Objects =>
  new S3Objects(checkS3Options({ ...place.options, ...change }), AwsClient);

/** The first `count` requests that `isMeant` fail. */
function failFirst(
  count: number,
  fault: Fault,
  isMeant: (call: FrontCall) => boolean = () => true,
): void {
  let left = count;
  place.fault = (call) => (isMeant(call) && left-- > 0 ? fault : undefined);
}

describe('objects', () => {
  test.each([0, 1, 70_000, 5 * MIB, 5 * MIB + 1, 11 * MIB])('%i bytes come back', async (size) => {
    const objects = open({ partBytes: 5 * MIB });
    const key = `sizes/${size}`;
    const bytes = bytesOf(size, size);
    expect(await objects.get(key, size)).toBeUndefined();
    expect(await objects.size(key)).toBeUndefined();
    await objects.put(key, bytes);
    expect(await objects.size(key)).toBe(size);
    const read = await objects.get(key, size);
    expect(read === undefined ? undefined : await sha256Hex(read)).toBe(await sha256Hex(bytes));
    await objects.delete(key);
    await objects.delete(key);
    expect(await objects.get(key, size)).toBeUndefined();
  });

  test('large objects go in parts, a few at a time, each with its hash', async () => {
    const objects = open({ partBytes: 5 * MIB, parallelParts: 2 });
    await objects.put('parts', bytesOf(18 * MIB));
    const parts = place.calls.filter((call) => call.path.includes('partNumber='));
    expect(parts.map((call) => call.sizeBytes).sort((a, b) => a - b)).toEqual([
      3 * MIB,
      ...Array.from({ length: 3 }, () => 5 * MIB),
    ]);
    expect(new Set(parts.map((call) => call.headers['x-amz-content-sha256'])).size).toBeGreaterThan(
      1,
    );
  });

  test('the prefix and the bucket in the name of the host', async () => {
    // localhost with a name before it is not resolved everywhere: the requests are led there.
    const port = new URL(place.options.endpoint).port;
    const objects = open({
      endpoint: `http://localhost:${port}`,
      addressing: 'virtual',
      prefix: 'team-a/quark',
      fetch: (request) => {
        expect(new URL(request.url).hostname).toBe('quark-tests.localhost');
        return toFront(request, port);
      },
    });
    await objects.put('a', bytesOf(10));
    expect(await open().get('team-a/quark/a', 100)).toEqual(bytesOf(10));
    const listed: string[] = [];
    for await (const object of objects.list('')) listed.push(object.key);
    expect(listed).toEqual(['a']);
    await objects.delete('a');
  });

  test('lists page by page, with size and time', async () => {
    const objects = open();
    const keys = Array.from({ length: 5 }, (_, i) => `list/${i}-a_b.c`);
    for (const key of keys) await objects.put(key, bytesOf(7));
    place.pageKeys = 2;
    const listed = [];
    for await (const object of objects.list('list/')) listed.push(object);
    expect(listed.map((object) => object.key)).toEqual(keys);
    expect(place.calls.filter((call) => call.path.includes('list-type=2'))).toHaveLength(3);
    expect(listed.every((object) => object.sizeBytes === 7 && object.modifiedAtMs > 1.6e12)).toBe(
      true,
    );
    for (const key of keys) await objects.delete(key);
  });
});

describe('faults', () => {
  const passing: readonly [string, Fault][] = [
    ['a status of 503', { kind: 'answer', status: 503, code: 'SlowDown' }],
    ['a lost answer', { kind: 'lose' }],
    ['a body damaged on the way', { kind: 'damage' }],
    ['a status of 429', { kind: 'answer', status: 429, headers: { 'retry-after': '1' } }],
    ['a request timeout', { kind: 'answer', status: 400, code: 'RequestTimeout' }],
    ['a dropped connection', { kind: 'drop' }],
    ['a status of 500', { kind: 'answer', status: 500, code: 'InternalError' }],
  ];
  test.each(casesOf(passing, 5))('%s is got over', async (_name, fault) => {
    const objects = open({ partBytes: 5 * MIB });
    const bytes = bytesOf(6 * MIB, 3);
    for (const size of [1000, bytes.byteLength]) {
      const key = `fault/${size}`;
      let count = 0;
      // Every third request breaks; what bodies alone can meet only befalls those that have one.
      const isOfBodies =
        fault.kind === 'damage' || (fault.kind === 'answer' && fault.status === 400);
      place.fault = (call) =>
        (!isOfBodies || call.sizeBytes > 0) && count++ % 3 === 0 ? fault : undefined;
      await objects.put(key, bytes.subarray(0, size));
      expect(await objects.size(key)).toBe(size);
      const read = await objects.get(key, size);
      expect(read === undefined ? undefined : await sha256Hex(read)).toBe(
        await sha256Hex(bytes.slice(0, size)),
      );
      await objects.delete(key);
      place.fault = undefined;
      expect(await objects.size(key)).toBeUndefined();
    }
  });

  test('an answer that breaks off is taken up where it broke', async () => {
    const objects = open();
    const bytes = bytesOf(3 * MIB, 5);
    await objects.put('cut', bytes);
    place.calls.length = 0;
    failFirst(2, { kind: 'cut', bytes: MIB });
    const read = await objects.get('cut', bytes.byteLength);
    expect(read === undefined ? undefined : await sha256Hex(read)).toBe(await sha256Hex(bytes));
    const ranges = place.calls.map((call) => call.headers['range']);
    expect(ranges[0]).toBeUndefined();
    expect(ranges.slice(1).every((range) => /^bytes=[1-9]\d*-$/.test(String(range)))).toBe(true);
    expect(ranges.length).toBe(3);
  });

  test('a server that does not answer is given up', async () => {
    place.fault = () => ({ kind: 'stall' });
    const error = await open({ timeoutMs: 20, attempts: 3 })
      .put('stall', bytesOf(10))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: 'unreachable', details: { attempts: 3 } });
  });

  test('the end of an upload that fails with a status of 200, and one that is lost', async () => {
    const objects = open({ partBytes: 5 * MIB });
    const isEnd = (call: FrontCall): boolean =>
      call.method === 'POST' && call.path.includes('uploadId=');
    const body = '<?xml version="1.0"?>\n\n<Error><Code>InternalError</Code></Error>';
    failFirst(1, { kind: 'answer', status: 200, body }, isEnd);
    await objects.put('end', bytesOf(6 * MIB));
    expect(await objects.size('end')).toBe(6 * MIB);
    // The answer is lost, and to the second request the upload is gone.
    let ends = 0;
    place.fault = (call) => {
      if (!isEnd(call)) return undefined;
      return ends++ === 0
        ? { kind: 'lose' }
        : { kind: 'answer', status: 404, code: 'NoSuchUpload' };
    };
    await objects.put('end', bytesOf(7 * MIB));
    expect(await objects.size('end')).toBe(7 * MIB);
    // Gone without having been done: said, and given up.
    place.fault = (call) =>
      isEnd(call) ? { kind: 'answer', status: 404, code: 'NoSuchUpload' } : undefined;
    await expect(objects.put('never', bytesOf(6 * MIB))).rejects.toMatchObject({
      details: { code: 'NoSuchUpload' },
    });
    expect(place.calls.at(-1)).toMatchObject({ method: 'DELETE' });
    expect(await objects.size('never')).toBeUndefined();
    await objects.delete('end');
  });

  test('a part that cannot be put ends the upload', async () => {
    const objects = open({ partBytes: 5 * MIB });
    place.fault = (call) =>
      call.path.includes('partNumber=2')
        ? { kind: 'answer', status: 403, code: 'AccessDenied' }
        : undefined;
    await expect(objects.put('part', bytesOf(26 * MIB))).rejects.toMatchObject({
      reason: 'unauthorised',
    });
    expect(place.calls.at(-1)).toMatchObject({ method: 'DELETE' });
    expect(place.calls.filter((call) => call.path.includes('partNumber=')).length).toBeLessThan(6);
  });

  test('the clock of the server is gone by when ours is refused', async () => {
    const aheadMs = 3_600_000;
    const stamps: number[] = [];
    place.fault = (call) => {
      const stamp = String(call.headers['x-amz-date']).replace(
        /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/,
        '$1-$2-$3T$4:$5:$6Z',
      );
      stamps.push(Date.parse(stamp));
      const date = new Date(Date.now() + aheadMs).toUTCString();
      return stamps.length === 1 ? { kind: 'answer', status: 403, headers: { date } } : undefined;
    };
    expect(await open().size('clock')).toBeUndefined();
    expect(Math.abs((stamps[1] ?? 0) - (stamps[0] ?? 0) - aheadMs)).toBeLessThan(120_000);
  });
});

describe('errors', () => {
  const refusals: readonly [string, Fault, Record<string, unknown>][] = [
    ['a full disk', { kind: 'answer', status: 507, code: 'XMinioStorageFull' }, { reason: 'full' }],
    ['a quota', { kind: 'answer', status: 400, code: 'QuotaExceeded' }, { reason: 'full' }],
    [
      'a wrong key',
      { kind: 'answer', status: 403, code: 'InvalidAccessKeyId' },
      { reason: 'unauthorised' },
    ],
    [
      'too much load',
      { kind: 'answer', status: 503, code: 'SlowDown', headers: { 'retry-after': '2' } },
      { reason: 'busy', details: { retryAfterMs: 2000, attempts: 2 } },
    ],
    [
      'a longer pause than is waited',
      { kind: 'answer', status: 503, headers: { 'retry-after': '3600' } },
      { reason: 'busy', details: { retryAfterMs: 3_600_000, attempts: 1 } },
    ],
    [
      'a server error',
      { kind: 'answer', status: 500 },
      { reason: 'failed', details: { attempts: 2 } },
    ],
    ['a gateway', { kind: 'answer', status: 502 }, { reason: 'unreachable' }],
    [
      'another region',
      { kind: 'answer', status: 301, headers: { 'x-amz-bucket-region': 'eu-west-1' } },
      { reason: 'rejected', message: expect.stringContaining('eu-west-1') },
    ],
    [
      'an object that is too large',
      { kind: 'answer', status: 400, code: 'EntityTooLarge' },
      { reason: 'too_large' },
    ],
    [
      'a page of something else',
      { kind: 'answer', status: 404, body: '<html>no</html>' },
      { reason: 'missing' },
    ],
    [
      'a redirect',
      { kind: 'answer', status: 302, headers: { location: 'http://127.0.0.1:1/' } },
      { reason: 'rejected' },
    ],
  ];
  test.each(refusals)('%s', async (_name, fault, expected) => {
    place.fault = () => fault;
    const error: unknown = await open({ attempts: 2 })
      .put('error', bytesOf(10))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'store_failed', ...expected });
  });

  test('a bucket that is missing is named, by every request', async () => {
    const objects = open({ bucket: 'no-such-bucket' });
    const missing = {
      reason: 'missing',
      message: expect.stringContaining('no bucket "no-such-bucket"'),
    };
    await expect(objects.check()).rejects.toMatchObject(missing);
    await expect(objects.put('a', bytesOf(1))).rejects.toMatchObject(missing);
    await expect(objects.get('a', 1)).rejects.toMatchObject(missing);
    await expect(objects.delete('a')).rejects.toMatchObject(missing);
    await open().check();
  });

  test('a wrong secret is refused by the server, and no secret is in what is thrown', async () => {
    const secret = 'a-secret-that-must-not-show';
    const error: unknown = await open({ secretAccessKey: secret })
      .check()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: 'unauthorised' });
    place.fault = () => ({ kind: 'drop' });
    const lost: unknown = await open({ secretAccessKey: secret, attempts: 1 })
      .check()
      .catch((thrown: unknown) => thrown);
    for (const thrown of [error, lost]) expect(everythingIn(thrown)).not.toContain(secret);
  });

  test('objects that are larger than they can be are not read', async () => {
    const objects = open();
    await objects.put('large', bytesOf(1000));
    await expect(objects.get('large', 999)).rejects.toMatchObject({ reason: 'corrupt' });
    await objects.delete('large');
  });
});

test('blobs: by their hash, taken as there only when they are whole', async () => {
  const blobs = createBlobObjects(open());
  const bytes = bytesOf(300_000);
  const hash = (await sha256Hex(bytes)) ?? '';
  expect(await blobs.has(hash, bytes.byteLength)).toBe(false);
  expect(await blobs.get(hash)).toBeUndefined();
  await blobs.put(hash, bytes);
  expect(await blobs.has(hash, bytes.byteLength)).toBe(true);
  expect(await blobs.has(hash, 1)).toBe(false);
  expect((await blobs.get(hash)) ?? []).toHaveLength(bytes.byteLength);
  expect(place.calls.find((call) => call.method === 'PUT')).toMatchObject({
    path: `/quark-tests/blobs/${hash.slice(0, 2)}/${hash}`,
  });
  // s3rver has no list of uploads: that is no error.
  await blobs.removeAbandoned(Date.now());
});

test('uploads that were left are given up after a day', async () => {
  const startedAt = new Date(Date.now() - 2 * 86_400_000).toISOString();
  const freshAt = new Date().toISOString();
  const upload = (key: string, id: string, at: string): string =>
    `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${at}</Initiated></Upload>`;
  const body = `<ListMultipartUploadsResult>${upload('blobs/aa/old', 'id-1', startedAt)}${upload('blobs/aa/new', 'id-2', freshAt)}</ListMultipartUploadsResult>`;
  place.fault = (call) =>
    call.path.includes('uploads=') ? { kind: 'answer', status: 200, body } : undefined;
  await createBlobObjects(open()).removeAbandoned(Date.now());
  expect(place.calls.filter((call) => call.method === 'DELETE').map((call) => call.path)).toEqual([
    '/quark-tests/blobs/aa/old?uploadId=id-1',
  ]);
});

/** All text that an error carries, with its causes. */
function everythingIn(error: unknown): string {
  const seen: string[] = [];
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    seen.push(String(at.stack), at.message, JSON.stringify(at), JSON.stringify(Object.entries(at)));
  return seen.join('\n');
}

async function toFront(request: Request, port: string): Promise<Response> {
  const { request: send } = await import('node:http');
  const url = new URL(request.url);
  const body = Buffer.from(await request.arrayBuffer());
  return new Promise((resolve, reject) => {
    const sent = send({
      host: '127.0.0.1',
      port,
      method: request.method,
      path: url.pathname + url.search,
      headers: {
        ...Object.fromEntries(request.headers),
        host: url.host,
        'content-length': body.byteLength,
      },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('end', () => {
        const status = response.statusCode ?? 500;
        resolve(
          new Response(status === 204 ? null : Buffer.concat(chunks), {
            status,
            headers: new Headers(
              Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
            ),
          }),
        );
      });
    });
    sent.end(body);
  });
}
