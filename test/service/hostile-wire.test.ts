/** Uploads, frames, packed bodies and versions, whatever the other side makes of them. */
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isStoreError } from '../../src/base/errors.ts';
import { readBody } from '../../src/wire/body.ts';
import { CONTENT_CHECKS } from '../../src/service/limits/content-checks.ts';
import { decodeFrames, encodeFrames } from '../../src/wire/frames.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { chooseVersion, UPLOAD_MEDIA_TYPE } from '../../src/wire/protocol.ts';
import { decodeAppend, decodeMerge, encodeUpload } from '../../src/wire/upload.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { SegmentRead, Store } from '../../src/store/store.ts';
import { damagedBytes } from '../support/mutations.ts';
import { runs } from '../support/property.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { bytesOf, RUN_ID, runOf, segmentOf } from '../support/segments.ts';
import { handlerOf } from './filled-store.ts';

const AT = 'http://127.0.0.1/api/v1';

describe('uploads', () => {
  it('come back as they went out', () => {
    const segments = [
      segmentOf(0),
      segmentOf(1, { keys: null, sizeBytes: 0 }),
      segmentOf(2, {}, 5_000),
    ];
    expect(decodeAppend(encodeUpload(segments))).toEqual({ segments, seen: undefined });
    const seen = [{ runId: 'run_1', table: 'metrics', replaceCount: 3 }];
    expect(decodeAppend(encodeUpload(segments, { seen }))).toEqual({ segments, seen });
    const merged = segments.map(({ manifest, bytes }) => ({
      manifest: { ...manifest, firstSequence: 3, lastSequence: 12 },
      bytes,
    }));
    const remove = [
      { runId: RUN_ID, table: 'metrics', writerId: 'w', batchNumber: 7, checksum: 3 },
    ];
    expect(decodeMerge(encodeUpload(merged, { remove }))).toEqual({ remove, add: merged });
  });

  it('that were damaged are a 4xx or what they say, and nothing else is in the store', async () => {
    const store = createMemoryStore();
    await store.createRun(runOf());
    const handler = handlerOf(store, { writable: true, checks: CONTENT_CHECKS });
    const good = encodeUpload([metricSegmentOf(0), metricSegmentOf(1)]);
    const packed = new Uint8Array(gzipSync(good));
    await fc.assert(
      fc.asyncProperty(damagedBytes([good, packed]), async ({ input, bytes }) => {
        const headers = {
          'content-type': UPLOAD_MEDIA_TYPE,
          ...(input === 1 ? { 'content-encoding': 'gzip' } : {}),
        };
        const response = await handler(
          new Request(`${AT}/segments`, { method: 'POST', headers, body: bytes }),
        );
        const body = (await response.json()) as {
          segments?: unknown[];
          code?: string;
          message?: string;
        };
        if (response.ok) return;
        expect(response.status, JSON.stringify(body)).toBeGreaterThanOrEqual(400);
        expect(response.status, JSON.stringify(body)).toBeLessThan(500);
        expect(body.message).not.toBe('');
      }),
      runs(300),
    );
    // Whatever was taken was true of itself.
    for (const manifest of await store.listSegments({ runId: RUN_ID, table: 'metrics' }))
      expect(manifest.rowCount).toBe(10);
  });

  it.each([
    ['nothing', new Uint8Array(0), 'too short'],
    ['other bytes', new TextEncoder().encode('QSF1aaaaaaaa'), 'QSU1'],
    ['a head beyond the end', new Uint8Array([81, 83, 85, 49, 255, 255, 255, 255]), 'cut off'],
    ['a head that is no JSON', withHead('{'), 'not JSON'],
    ['a head that is no object', withHead('[]'), 'head must be an object'],
    ['no segments', withHead('{}'), 'head.segments must be a list'],
    ['bytes at its end', withHead('{"segments":[]}', [0]), 'bytes follow'],
    ['too many', withHead(`{"segments":[${'0,'.repeat(5000)}0]}`), 'at most 4096'],
    ['a nested head', withHead('['.repeat(100_000)), 'not JSON'],
  ])('%s are refused', async (_name, bytes, why) => {
    const handler = handlerOf(createMemoryStore(), { writable: true });
    const response = await handler(
      new Request(`${AT}/segments`, {
        method: 'POST',
        headers: { 'content-type': UPLOAD_MEDIA_TYPE },
        body: bytes,
      }),
    );
    expect([400, 413]).toContain(response.status);
    expect(((await response.json()) as { message: string }).message).toContain(why);
  });

  it('name the field of a manifest that is wrong', async () => {
    const { manifest, bytes } = segmentOf(0);
    const store = createMemoryStore();
    await store.createRun(runOf());
    const handler = handlerOf(store, { writable: true });
    for (const [change, field] of [
      [{ rowCount: 1.5 }, 'manifest.row_count'],
      [{ rowCount: 0 }, 'rowCount'],
      [{ encoding: 'zip' }, 'manifest.encoding'],
      [{ keys: [3] }, 'manifest.keys'],
      [{ sizeBytes: -1 }, 'body'],
      [{ sizeBytes: 2 ** 53 }, 'manifest.size_bytes'],
      [{ table: 'No' }, 'table'],
      [{ writerId: '../x' }, 'writerId'],
      [{ stepMin: 'a' }, 'manifest.step_min'],
      [{ checksum: -1 }, 'checksum'],
      [{ sources: [{ writerId: 'a', batchStart: 3, batchLast: 1 }] }, 'batchLast'],
    ] as const) {
      const wrong = encodeUpload([{ manifest: { ...manifest, ...change } as never, bytes }]);
      const response = await handler(
        new Request(`${AT}/segments`, {
          method: 'POST',
          headers: { 'content-type': UPLOAD_MEDIA_TYPE },
          body: wrong,
        }),
      );
      expect(response.status, field).toBe(400);
      expect(await response.json(), field).toMatchObject({ details: { field } });
    }
    expect(await store.listSegments({ runId: RUN_ID, table: 'metrics' })).toEqual([]);
  });

  it('are taken from programs only: a page of another origin cannot send them unasked', async () => {
    const handler = handlerOf(createMemoryStore(), { writable: true });
    for (const [path, method] of [
      ['/runs', 'POST'],
      ['/projects', 'POST'],
      ['/segments', 'POST'],
      ['/reclaim', 'POST'],
      [`/runs/${RUN_ID}/tables/metrics/merge`, 'POST'],
    ] as const)
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
      ]) {
        const response = await handler(
          new Request(`${AT}${path}`, { method, headers: { 'content-type': type }, body: '{}' }),
        );
        expect(response.status).toBe(400);
        expect(await response.json()).toMatchObject({ details: { field: 'content-type' } });
      }
  });
});

function withHead(head: string, rest: readonly number[] = []): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(head);
  const upload = new Uint8Array(8 + text.length + rest.length);
  upload.set(new TextEncoder().encode('QSU1'));
  new DataView(upload.buffer).setUint32(4, text.length, true);
  upload.set(text, 8);
  upload.set(rest, 8 + text.length);
  return upload;
}

describe('frames', () => {
  const read: fc.Arbitrary<SegmentRead> = fc.oneof(
    fc
      .uint8Array({ maxLength: 40 })
      .map((bytes): SegmentRead => ({ kind: 'bytes', bytes: bytes.slice() })),
    fc.constant<SegmentRead>({ kind: 'gone' }),
    fc.string().map((reason): SegmentRead => ({
      kind: 'damaged',
      reason: reason.replaceAll(/\p{Surrogate}/gu, ''),
    })),
  );

  it('come back as they went out, and damaged ones are refused or read', () => {
    fc.assert(
      fc.property(fc.array(read, { minLength: 1, maxLength: 8 }), (reads) => {
        expect(decodeFrames(encodeFrames(reads), reads.length)).toEqual(reads);
      }),
      runs(200),
    );
    const good = encodeFrames([
      { kind: 'bytes', bytes: bytesOf(50) },
      { kind: 'gone' },
      { kind: 'damaged', reason: 'short' },
    ]);
    fc.assert(
      fc.property(damagedBytes([good]), ({ bytes }) => {
        try {
          expect(decodeFrames(bytes, 3).length).toBeLessThanOrEqual(3);
        } catch (error) {
          expect(isStoreError(error, 'rejected')).toBe(true);
        }
      }),
      runs(500),
    );
  });
});

describe('packed bodies', () => {
  const bomb = new Uint8Array(gzipSync(new Uint8Array(64 * 1024 * 1024)));
  const request = (body: BodyInit, headers: Record<string, string> = {}): Request =>
    new Request(AT, { method: 'POST', body, headers });
  const limits = { what: 'The body', packedBytes: 100_000, bytes: 1_000_000 };

  it('that are bombs are held up while they are unpacked', async () => {
    expect(bomb.byteLength).toBeLessThan(100_000);
    await expect(
      readBody(request(bomb, { 'content-encoding': 'gzip' }), limits),
    ).rejects.toMatchObject({
      reason: 'too_large',
      message: expect.stringContaining('unpacked') as string,
    });
  });

  it('that never end are held up as they travel', async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(10_000));
      },
    });
    const given = new Request(AT, { method: 'POST', body: endless, duplex: 'half' } as RequestInit);
    await expect(readBody(given, limits)).rejects.toMatchObject({ reason: 'too_large' });
    expect(sent).toBeLessThan(200);
  });

  it.each([
    ['cut off', bomb.slice(0, 1_000)],
    ['not gzip', new TextEncoder().encode('hello there')],
    ['empty', new Uint8Array(0)],
  ])('that are %s are refused', async (_name, bytes) => {
    await expect(
      readBody(request(bytes, { 'content-encoding': 'gzip' }), limits),
    ).rejects.toMatchObject({
      code: 'store_failed',
    });
  });

  it.each(['br', 'gzip, gzip', 'deflate', 'x'.repeat(500)])(
    'in %s are refused',
    async (encoding) => {
      await expect(
        readBody(request('x', { 'content-encoding': encoding }), limits),
      ).rejects.toMatchObject({
        reason: 'rejected',
        details: { field: 'content-encoding' },
      });
    },
  );
});

describe('versions', () => {
  it.each([
    [undefined, [1], 1],
    ['1', [1], 1],
    ['2, 1', [1], 1],
    ['2, 1', [2, 1], 2],
    ['1', [2, 1], 1],
    [undefined, [3, 2], 2],
    [' 2 ,1,x', [2], 2],
  ] as const)('%j where %j are spoken is %i', (offered, spoken, chosen) => {
    expect(chooseVersion(offered, spoken)).toBe(chosen);
  });

  it.each([
    ['2', [1], 'Update quark-sdk on the server'],
    ['1', [3, 2], 'Update quark-sdk on the client'],
    ['', [1], 'Update quark-sdk on the client'],
    ['1.5', [1], 'Update quark-sdk on the client'],
    ['-1', [1], 'Update quark-sdk on the client'],
    ['1'.repeat(100), [1], 'Update'],
  ] as const)('%j where %j are spoken is refused: %s', (offered, spoken, advice) => {
    expect(() => chooseVersion(offered, spoken)).toThrow(advice);
    expect(() => chooseVersion(offered, spoken)).toThrow(spoken.join(', '));
  });

  it('are refused before anything else is looked at, and the client says so', async () => {
    const store = createMemoryStore();
    const handler = handlerOf(store, { writable: true });
    const newer = (request: Request): Promise<Response> => {
      const headers = new Headers(request.headers);
      headers.set('quark-protocol', '7');
      return handler(new Request(request, { headers }));
    };
    await expect(openHttpStorage('http://x.example', { fetch: newer })).rejects.toMatchObject({
      reason: 'version',
      details: { protocol: 1, spoken: '1', status: 400 },
    });
    const other = async (request: Request): Promise<Response> => {
      const answer = await handler(request);
      return new Response(answer.body, { headers: { 'quark-protocol': '7' } });
    };
    await expect(openHttpStorage('http://x.example', { fetch: other })).rejects.toMatchObject({
      reason: 'version',
      message: expect.stringContaining('speaks version 1') as string,
    });
  });
});

describe('a client', () => {
  const opened = async (answer: (request: Request) => Response | undefined): Promise<Store> => {
    const handler = handlerOf(createMemoryStore(), { writable: true });
    return openHttpStorage('http://x.example/', {
      userKey: 'qk_secret',
      space: 'mine',
      fetch: async (request) => answer(request) ?? handler(request),
    });
  };

  it('sends its key and its space with every request, and shows the key to nobody', async () => {
    const seen: string[] = [];
    const remote = await opened((request) => {
      seen.push(`${request.headers.get('authorization')} ${request.headers.get('quark-space')}`);
      return undefined;
    });
    await remote.createRun(runOf());
    expect(new Set(seen)).toEqual(new Set(['Bearer qk_secret mine']));
    expect(remote.location.storageDir).toBe('mine');
    for (const key of ['secret', 'qk_', 'qk_a b', 3]) {
      const error: unknown = await openHttpStorage('http://x', { userKey: key as never }).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code: 'invalid_input', details: { field: 'userKey' } });
      expect(`${JSON.stringify(error)} ${String(error)}`).not.toContain('secret');
    }
    for (const space of ['', 'a/b', '..', '.', 'x'.repeat(129), 'a b'])
      await expect(openHttpStorage('http://x', { space })).rejects.toMatchObject({
        details: { field: 'space' },
      });
  });

  it('says how long it is asked to wait', async () => {
    const busy = (retryAfter: string, body = 'Slow down'): Promise<Store> =>
      opened((request) =>
        request.url.endsWith('/runs')
          ? new Response(body, { status: 429, headers: { 'retry-after': retryAfter } })
          : undefined,
      );
    const wait = async (store: Promise<Store>): Promise<unknown> =>
      (await store).createRun(runOf()).catch((error: unknown) => error);
    expect(await wait(busy('7'))).toMatchObject({
      reason: 'busy',
      details: { retryAfterMs: 7_000 },
    });
    expect(await wait(busy('99999999'))).toMatchObject({ details: { retryAfterMs: 3_600_000 } });
    expect(await wait(busy('Thu, 01 Jan 1970 00:00:00 GMT'))).toMatchObject({
      details: { retryAfterMs: 0 },
    });
    expect(await wait(busy('soon'))).not.toHaveProperty('details.retryAfterMs');
    const told =
      '{"code":"store_failed","message":"m","details":{"reason":"busy","retryAfterMs":250}}';
    expect(await wait(busy('1', told))).toMatchObject({ details: { retryAfterMs: 250 } });
  });

  it('does not take a part of the answer for the whole', async () => {
    const remote = await opened((request) =>
      request.url.endsWith('/segments')
        ? new Response('{"segments":[]}', { headers: { 'quark-protocol': '1' } })
        : undefined,
    );
    await remote.createRun(runOf());
    await expect(remote.appendSegments([segmentOf(0)])).rejects.toMatchObject({
      reason: 'rejected',
      message: expect.stringContaining('0 of 1') as string,
    });
  });
});

describe('a request that arrives again', () => {
  it('is answered as before, and not carried out again', async () => {
    const store = createMemoryStore();
    const handler = handlerOf(store, { writable: true });
    const sent: Request[] = [];
    const remote = await openHttpStorage('http://x.example/', {
      fetch: (request) => {
        sent.push(request.clone());
        return handler(request);
      },
    });
    const run = await remote.createRun(runOf());
    await remote.replaceTable(RUN_ID, 'metrics', [segmentOf(0)]);
    const [creation, replacement] = sent.slice(-2);
    await remote.appendSegments([segmentOf(1)]);
    await remote.updateRun({ ...run, status: 'completed' });
    const update = sent.at(-1);
    // Long after, something on the way sends them once more.
    for (const request of [replacement, creation, update]) {
      const first = await handler(request!.clone());
      expect(first.status).toBe(200);
    }
    expect(await store.listSegments({ runId: RUN_ID, table: 'metrics' })).toHaveLength(2);
    expect(await store.findRun(RUN_ID)).toMatchObject({ status: 'completed', revision: 2 });
    // A new request of the same content is another one.
    await remote.replaceTable(RUN_ID, 'metrics', [segmentOf(0)]);
    expect(await store.listSegments({ runId: RUN_ID, table: 'metrics' })).toHaveLength(1);
  });

  it('has a name that is one', async () => {
    const handler = handlerOf(createMemoryStore(), { writable: true });
    const response = await handler(
      new Request(`${AT}/runs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'quark-request': 'x' },
        body: JSON.stringify({
          run: {
            id: 'r',
            project_id: 'p',
            project_name: 'p',
            status: 's',
            started_at_ms: 1,
            tags: [],
            document: '{}',
          },
        }),
      }),
    );
    expect(await response.json()).toMatchObject({ details: { field: 'quark-request' } });
  });
});
