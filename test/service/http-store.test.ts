/** What a store answers through the handler and the reading store is what it answers itself. No socket is involved. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { invalidInput, isStoreError } from '../../src/base/errors.ts';
import { encodeError } from '../../src/wire/wire-errors.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { SegmentFilter, SegmentReference, Store } from '../../src/store/store.ts';
import { runs } from '../support/property.ts';
import { bytesOf, filledStore, handlerOf, newSegment, sha256Of } from './filled-store.ts';
import { RunningServices } from './running-service.ts';

const URI = 'http://127.0.0.1:4173/';

async function pair(
  options: { answerTargetBytes?: number } = {},
): Promise<{ store: Store; remote: Store; asked: string[] }> {
  const store = await filledStore();
  const asked: string[] = [];
  const handler = handlerOf(store, options);
  const remote = await openHttpStorage(URI, {
    fetch: (request) => {
      asked.push(
        `${request.method} ${new URL(request.url).pathname}${new URL(request.url).search}`,
      );
      return handler(request);
    },
  });
  asked.length = 0;
  return { store, remote, asked };
}

describe('a store read over HTTP', () => {
  it('gives the same projects, runs and leases', async () => {
    const { store, remote } = await pair();
    expect(remote.isWritable).toBe(false);
    expect(remote.uri).toBe(URI);
    expect(await remote.listProjects()).toStrictEqual(await store.listProjects());
    for (const runId of ['r_1', 'r_2', 'r_3', 'r_4', '..a']) {
      const expected = await store.findRun(runId).catch((error: unknown) => error);
      const given = await remote.findRun(runId).catch((error: unknown) => error);
      expect(given).toStrictEqual(expected);
    }
    for (const filter of [
      {},
      { projectName: 'digits "ä" / ü' },
      { projectName: 'nobody' },
      { statuses: ['running', 'failed'] },
      { statuses: [] },
      { tags: ['x&y=z'] },
      { tags: ['x&y=z', 'a b'] },
      { tags: [] },
      { limit: 2 },
      { limit: 0 },
      { limit: 1, offset: 1 },
      { offset: 2 },
    ]) {
      expect(await remote.listRuns(filter), JSON.stringify(filter)).toStrictEqual(
        await store.listRuns(filter),
      );
    }
    for (const ids of [undefined, [], ['r_1'], ['r_1', 'r_3', 'r_3', 'r_9']]) {
      expect(await remote.listLeases(ids)).toStrictEqual(await store.listLeases(ids));
    }
  });

  it('lists the runs of a service that is older than archiving', async () => {
    const { store, asked } = await pair();
    const handler = handlerOf(store);
    const old = await openHttpStorage(URI, {
      fetch: async (request) => {
        asked.push(new URL(request.url).search);
        if (!new URL(request.url).searchParams.has('archived')) return handler(request);
        const { status, body } = encodeError(invalidInput('archived', 'archived', 'known'));
        return Response.json(body, { status });
      },
    });
    expect(await old.listRuns({ archived: false })).toStrictEqual(await store.listRuns());
    expect(await old.listRuns({ archived: true })).toEqual([]);
    expect(asked.some((search) => search.includes('archived=false'))).toBe(true);
  });

  it('asks for many runs and leases page by page', async () => {
    const { store, remote, asked } = await pair();
    const base = {
      projectId: 'p_2',
      projectName: 'other',
      status: 'completed',
      startedAtMs: 5,
      tags: ['many'],
      document: '{}',
    };
    for (let i = 0; i < 1_100; i++) await store.createRun({ ...base, id: `many_${i}` });
    expect(await remote.listRuns({ tags: ['many'] })).toStrictEqual(
      await store.listRuns({ tags: ['many'] }),
    );
    expect(asked).toHaveLength(3);
    expect(await remote.listRuns({ limit: 700 })).toStrictEqual(
      await store.listRuns({ limit: 700 }),
    );
    const ids = Array.from({ length: 250 }, (_, i) => `many_${i}`);
    await store.renewLease('many_249', 'h', 60_000);
    expect(await remote.listLeases(ids)).toStrictEqual(await store.listLeases(ids));
  });

  it('gives the same segments for any filter', async () => {
    const { store, remote } = await pair();
    const bound = fc.option(
      fc.oneof(fc.integer({ min: -1, max: 45 }), fc.constantFrom(0.5, Infinity, -Infinity)),
      { nil: undefined },
    );
    const filters = fc.record<SegmentFilter>(
      {
        runId: fc.constantFrom('r_1', 'r_2', 'nobody'),
        table: fc.constantFrom('metrics', 'events'),
        sequenceMin: bound,
        stepMin: bound,
        stepMax: bound,
        epochMin: bound,
        epochMax: bound,
        keys: fc.option(
          fc.array(
            fc.constantFrom('train/loss', 'val/loss', 'epoch_ended', 'none', 'long/'.repeat(500)),
            { maxLength: 4 },
          ),
          { nil: undefined },
        ) as never,
      },
      { requiredKeys: ['runId', 'table'] },
    );
    await fc.assert(
      fc.asyncProperty(filters, async (filter) => {
        expect(await remote.listSegments(filter)).toStrictEqual(await store.listSegments(filter));
      }),
      runs(200),
    );
  });

  it('gives the same bytes, in the order asked for, however small the answers are', async () => {
    for (const answerTargetBytes of [1, 400, 5_500, 1e6]) {
      const { store, remote, asked } = await pair({ answerTargetBytes });
      const [a, b, c, d] = await store.listSegments({ runId: 'r_1', table: 'metrics' });
      const gone: SegmentReference = {
        runId: 'r_1',
        table: 'metrics',
        writerId: 'w_one',
        batchNumber: 99,
      };
      const otherBytes: SegmentReference = { ...a!, checksum: 12345 };
      const wanted = [c!, gone, a!, otherBytes, b!, d!, a!];
      const given = await remote.readSegments(wanted);
      expect(given).toStrictEqual(await store.readSegments(wanted));
      expect(given.map(({ kind }) => kind)).toStrictEqual([
        'bytes',
        'gone',
        'bytes',
        'gone',
        'bytes',
        'bytes',
        'bytes',
      ]);
      if (answerTargetBytes === 1e6) expect(asked).toHaveLength(1);
      if (answerTargetBytes === 1) expect(asked).toHaveLength(wanted.length);
    }
  });

  it('reads more segments than one question may name', async () => {
    const { store, remote } = await pair();
    await store.appendSegments(Array.from({ length: 600 }, (_, i) => newSegment('r_2', i, 8)));
    const manifests = await store.listSegments({ runId: 'r_2', table: 'metrics' });
    expect(await remote.readSegments(manifests)).toStrictEqual(await store.readSegments(manifests));
    expect(await remote.readSegments([])).toStrictEqual([]);
  });

  it('passes damage that the store sees on, with its reason', async () => {
    const store = await filledStore();
    const damaged: Store = Object.assign(Object.create(store) as Store, {
      readSegments: async () => [{ kind: 'damaged', reason: 'short blob — 3 of 9 bytes' }],
    });
    const remote = await openHttpStorage(URI, { fetch: handlerOf(damaged) });
    const reference = { runId: 'r_1', table: 'metrics', writerId: 'w_one', batchNumber: 0 };
    expect(await remote.readSegments([reference])).toStrictEqual([
      { kind: 'damaged', reason: 'short blob — 3 of 9 bytes' },
    ]);
  });

  it('gives blobs by their hash', async () => {
    const { remote } = await pair();
    const blob = bytesOf(5, 1_000);
    expect(await remote.getBlob(await sha256Of(blob))).toStrictEqual(blob);
    expect(await remote.getBlob('0'.repeat(64))).toBeUndefined();
    await expect(remote.getBlob('../../etc/passwd')).rejects.toMatchObject({
      code: 'invalid_input',
    });
  });

  it('refuses every write before anything is sent', async () => {
    const { remote, asked } = await pair();
    const writes: Promise<unknown>[] = [
      remote.ensureProject({ id: 'p', name: 'p', createdAtMs: 1 }),
      remote.createRun({
        id: 'r',
        projectId: 'p',
        projectName: 'p',
        status: 'running',
        startedAtMs: 1,
        tags: [],
        document: '{}',
      }),
      remote.renewLease('r_1', 'h', 1),
      remote.releaseLease('r_1', 'h'),
      remote.appendSegments([newSegment('r_1', 50)]),
      remote.replaceSegments('r_1', 'metrics', [], []),
      remote.replaceTable('r_1', 'metrics', []),
      remote.putBlob('0'.repeat(64), bytesOf(1, 1)),
    ];
    for (const write of writes)
      await expect(write).rejects.toMatchObject({ code: 'store_failed', reason: 'read_only' });
    expect(asked).toStrictEqual([]);
  });

  it('is closed for good, and closing twice is fine', async () => {
    const { remote, asked } = await pair();
    await remote.close();
    await remote.close();
    for (const call of [
      remote.listRuns(),
      remote.listRuns({ statuses: [] }),
      remote.readSegments([]),
      remote.createRun({} as never),
    ]) {
      await expect(call).rejects.toMatchObject({ reason: 'closed' });
    }
    expect(asked).toStrictEqual([]);
  });
});

type Fetch = (request: Request) => Promise<Response>;
const answering = (body: BodyInit | null, init?: ResponseInit): { fetch: Fetch } => ({
  fetch: async () => new Response(body, init),
});
const failing: Fetch = () => Promise.reject(new TypeError('fetch failed'));
/** Never answers; ends as `fetch` does when its signal is aborted. */
const silent: Fetch = (request) =>
  new Promise((_, reject) => {
    request.signal.addEventListener('abort', () => reject(request.signal.reason as Error));
  });

describe('opening a store over HTTP', () => {
  it.each(['ftp://x', 'http://x/?a=1', 'http://x/#a', 'no url'])('refuses %s', async (uri) => {
    await expect(openHttpStorage(uri)).rejects.toMatchObject({ code: 'invalid_input' });
  });

  it('does not repeat a password in its error', async () => {
    const error: unknown = await openHttpStorage('http://me:geheim@host/').catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'invalid_input' });
    expect(JSON.stringify(error) + String(error)).not.toContain('geheim');
  });

  it('refuses unknown options', async () => {
    await expect(openHttpStorage(URI, { timeout: 3 } as never)).rejects.toMatchObject({
      code: 'invalid_input',
    });
  });

  it('tells an unreachable server', async () => {
    await expect(openHttpStorage(URI, { fetch: failing })).rejects.toMatchObject({
      reason: 'unreachable',
    });
  });

  it('says why, where the system does: plain HTTP where TLS was asked for', async () => {
    const services = new RunningServices();
    const { port } = await services.start();
    try {
      await expect(openHttpStorage(`https://127.0.0.1:${port}/`)).rejects.toMatchObject({
        reason: 'unreachable',
        message: expect.stringMatching(/cannot be reached \(ERR_SSL_\w+\)\./) as string,
      });
    } finally {
      await services.clear();
    }
  });

  it('does not write into another space where a proxy takes headers away', async () => {
    const handler = handlerOf(createMemoryStore());
    const through = (request: Request): Promise<Response> => {
      const headers = new Headers(request.headers);
      headers.delete('quark-space');
      return handler(new Request(request, { headers }));
    };
    await expect(openHttpStorage(URI, { space: 'mine', fetch: through })).rejects.toMatchObject({
      reason: 'rejected',
      message: expect.stringContaining('another space') as string,
    });
    await openHttpStorage(URI, { fetch: through });
    await openHttpStorage(URI, { space: 'mine', fetch: handler });
  });

  it('gives up on a server that does not answer', async () => {
    await expect(openHttpStorage(URI, { fetch: silent, timeoutMs: 5 })).rejects.toMatchObject({
      reason: 'unreachable',
      message: expect.stringContaining('5 ms') as string,
    });
  });

  it('stops when its signal is aborted', async () => {
    const stop = new AbortController();
    const opening = openHttpStorage(URI, { fetch: silent, signal: stop.signal });
    stop.abort(new Error('page left'));
    await expect(opening).rejects.toMatchObject({ code: 'aborted' });
  });

  it('tells another version of the protocol', async () => {
    const about = '{"service":"quark"}';
    await expect(
      openHttpStorage(URI, answering(about, { headers: { 'quark-protocol': '2' } })),
    ).rejects.toMatchObject({ reason: 'version' });
    const handler = handlerOf(createMemoryStore());
    const newer = (request: Request) => {
      const headers = new Headers(request.headers);
      headers.set('quark-protocol', '99');
      return handler(new Request(request, { headers }));
    };
    await expect(openHttpStorage(URI, { fetch: newer })).rejects.toMatchObject({
      reason: 'version',
    });
  });

  it.each([
    ['a page', answering('<html>'), 'rejected'],
    [
      'a page with the header',
      answering('<html>', { headers: { 'quark-protocol': '1' } }),
      'rejected',
    ],
    [
      'other JSON',
      answering('{"service":"x"}', { headers: { 'quark-protocol': '1' } }),
      'rejected',
    ],
    ['JSON that is no object', answering('[]', { headers: { 'quark-protocol': '1' } }), 'rejected'],
    ['a proxy without its server', answering('Bad gateway', { status: 502 }), 'unreachable'],
    ['a redirect', answering(null, { status: 307, headers: { location: '/x' } }), 'rejected'],
    ['a busy proxy', answering('', { status: 503 }), 'busy'],
    ['too many requests', answering('', { status: 429 }), 'busy'],
    ['a full disk', answering('', { status: 507 }), 'full'],
    ['a login page', answering('Who are you?', { status: 401 }), 'unauthorised'],
    [
      'an error without sense',
      answering('{"code":"exploded","message":1}', { status: 404 }),
      'rejected',
    ],
  ])('tells %s', async (_name, options, reason) => {
    await expect(openHttpStorage(URI, options)).rejects.toMatchObject({
      code: 'store_failed',
      reason,
    });
  });

  it('refuses answers of a Quark server that are damaged', async () => {
    const store = await filledStore();
    const handler = handlerOf(store);
    let spoil: ((bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>) | undefined;
    const remote = await openHttpStorage(URI, {
      fetch: async (request) => {
        const response = await handler(request);
        const bytes = new Uint8Array(await response.arrayBuffer());
        return new Response(spoil?.(bytes) ?? bytes, response);
      },
    });
    const manifests = await remote.listSegments({ runId: 'r_1', table: 'metrics' });
    const whole = await remote.readSegments(manifests);
    expect(whole).toHaveLength(4);
    for (const cut of [0, 3, 4, 7, 8, 12, 20, 90, -1]) {
      spoil = (bytes) => bytes.slice(0, cut);
      const error: unknown = await remote
        .readSegments(manifests)
        .catch((thrown: unknown) => thrown);
      expect(isStoreError(error, 'rejected'), `cut at ${cut}`).toBe(true);
    }
    spoil = (bytes) => Uint8Array.from([...bytes, 0]);
    await expect(remote.readSegments(manifests)).rejects.toMatchObject({ reason: 'rejected' });
    spoil = () => new TextEncoder().encode('{"runs":[{"id":3}]}');
    await expect(remote.listRuns()).rejects.toMatchObject({
      reason: 'rejected',
      message: expect.stringContaining('run.id') as string,
    });
  });
});
