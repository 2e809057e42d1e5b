/** Blobs and payloads of artifacts over HTTP, whole and in part. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryStore, startRun } from 'quark-sdk';
import { ArtifactStore } from 'quark-sdk/probes';
import { requestedRange } from '../../src/wire/ranges.ts';
import { runs } from '../support/property.ts';
import { bytesOf, handlerOf, sha256Of } from './filled-store.ts';

const ETAG = '"abc"';

describe('a range', () => {
  const ask = (range: string, size: number, ifRange?: string): unknown => {
    const headers = new Headers({
      range,
      ...(ifRange === undefined ? {} : { 'if-range': ifRange }),
    });
    try {
      return requestedRange(headers, size, ETAG) ?? 'all';
    } catch (error) {
      return (error as { details?: { httpStatus?: number } }).details?.httpStatus;
    }
  };

  it.each([
    ['bytes=0-0', 10, { start: 0, end: 1 }],
    ['bytes=3-5', 10, { start: 3, end: 6 }],
    ['bytes=3-', 10, { start: 3, end: 10 }],
    ['bytes=3-100', 10, { start: 3, end: 10 }],
    ['bytes=-4', 10, { start: 6, end: 10 }],
    ['bytes=-40', 10, { start: 0, end: 10 }],
    ['BYTES = 1 - 2', 10, { start: 1, end: 3 }],
    ['bytes=9007199254740993-', 10, 416],
    ['bytes=10-', 10, 416],
    ['bytes=0-', 0, 416],
    ['bytes=-0', 10, 416],
    ['bytes=-5', 0, 416],
    ['bytes=5-3', 10, 'all'],
    ['bytes=0-1,3-4', 10, 'all'],
    ['items=0-1', 10, 'all'],
    ['bytes=', 10, 'all'],
    ['bytes=-', 10, 'all'],
    ['bytes=a-b', 10, 'all'],
    ['bytes=1-99999999999999999999', 10, 'all'],
  ])('%s of %i bytes', (range, size, expected) => {
    expect(ask(range, size)).toEqual(expected);
  });

  it('counts for the version it was asked of', () => {
    expect(ask('bytes=1-2', 10, ETAG)).toEqual({ start: 1, end: 3 });
    expect(ask('bytes=1-2', 10, '"other"')).toBe('all');
    expect(ask('bytes=1-2', 10, `W/${ETAG}`)).toBe('all');
    expect(ask('bytes=1-2', 10, 'Wed, 21 Oct 2015 07:28:00 GMT')).toBe('all');
  });

  it('is within the body or refused, whatever is asked', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^bytes=[\d\- ,]{0,12}$/));
    fc.assert(
      fc.property(text, fc.nat(50), (range, size) => {
        fc.pre(!/[^\x20-\x7e]/.test(range));
        const found = ask(range, size);
        if (typeof found !== 'object' || found === null)
          return ['all', 416].includes(found as never);
        const { start, end } = found as { start: number; end: number };
        return start >= 0 && start < end && end <= size;
      }),
      runs(500),
    );
  });
});

describe('files over HTTP', () => {
  const SIZE = 16 * 1024 * 1024 + 1_000;
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Request =>
    new Request(`http://127.0.0.1/api/v1${path}`, { headers, method });

  it('gives any range of a blob, under its hash as the tag', async () => {
    const store = createMemoryStore();
    const bytes = bytesOf(3, 1_000);
    const hash = await sha256Of(bytes);
    await store.putBlob(hash, bytes);
    const handler = handlerOf(store);
    const whole = await handler(get(`/blobs/${hash}`));
    expect(whole.status).toBe(200);
    expect(whole.headers.get('accept-ranges')).toBe('bytes');
    expect(whole.headers.get('content-security-policy')).toContain('sandbox');
    await fc.assert(
      fc.asyncProperty(fc.nat(999), fc.nat(1_200), async (start, last) => {
        fc.pre(last >= start);
        const part = await handler(get(`/blobs/${hash}`, { range: `bytes=${start}-${last}` }));
        expect(part.status).toBe(206);
        const end = Math.min(last, 999);
        expect(part.headers.get('content-range')).toBe(`bytes ${start}-${end}/1000`);
        expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(start, end + 1));
      }),
      runs(30),
    );
    const tag = whole.headers.get('etag') ?? '';
    expect((await handler(get(`/blobs/${hash}`, { 'if-none-match': tag }))).status).toBe(304);
    const beyond = await handler(get(`/blobs/${hash}`, { range: 'bytes=1000-' }));
    expect(beyond.status).toBe(416);
    expect(beyond.headers.get('content-range')).toBe('bytes */1000');
    expect(await beyond.json()).toMatchObject({
      code: 'invalid_input',
      details: { field: 'range' },
    });
  });

  it('gives the payload of an artifact, also where it is kept in parts', async () => {
    const store = createMemoryStore();
    const session = await startRun({ project: 'p', storage: store });
    const artifacts = new ArtifactStore(session);
    const payload = new Uint8Array(SIZE).map((_, at) => at * 31 + (at >>> 13));
    const large = await artifacts.store('weights', 'large', payload);
    const text = await artifacts.store('note', 'note', 'żółw');
    await session.endRun();
    const handler = handlerOf(store);
    const path = `/runs/${session.runId}/artifacts`;

    const note = await handler(get(`${path}/${text.id}`));
    expect(note.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await note.text()).toBe('żółw');
    expect(await (await handler(get(`${path}/${text.id}`, { range: 'bytes=0-1' }))).text()).toBe(
      'ż',
    );

    const whole = await handler(get(`${path}/${large.id}`));
    expect(whole.headers.get('content-length')).toBe(String(SIZE));
    expect(await sha256Of(new Uint8Array(await whole.arrayBuffer()))).toBe(large.sha256);
    const boundary = 16 * 1024 * 1024;
    for (const [start, last] of [
      [0, 9],
      [boundary - 5, boundary + 4],
      [boundary, boundary],
      [boundary - 1, boundary - 1],
      [SIZE - 1, SIZE - 1],
    ] as const) {
      const part = await handler(get(`${path}/${large.id}`, { range: `bytes=${start}-${last}` }));
      expect(part.status).toBe(206);
      expect(new Uint8Array(await part.arrayBuffer())).toEqual(payload.slice(start, last + 1));
    }
    // A range is of what GET answers (RFC 9110, section 14.2).
    const head = await handler(get(`${path}/${large.id}`, { range: 'bytes=0-9' }, 'HEAD'));
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(String(SIZE));
    expect(await head.text()).toBe('');
    expect((await handler(get(`${path}/none`))).status).toBe(404);
    expect((await handler(get(`/runs/none/artifacts/${large.id}`))).status).toBe(404);
  });
});
