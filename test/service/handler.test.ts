import { describe, expect, it } from 'vitest';
import { createStoreHandler } from '../../src/service/routes/handler.ts';
import type { Store } from '../../src/store/store.ts';
import { bytesOf, filledStore, handlerOf, sha256Of } from './filled-store.ts';

const at = (path: string): string => `http://127.0.0.1/api/v1${path}`;
const READ = at('/segments/read');

/** A store that throws on everything that would change it. */
async function watched(): Promise<{ store: Store; writes: string[] }> {
  const store = await filledStore();
  const writes: string[] = [];
  const reads = new Set([
    'listProjects',
    'findRun',
    'listRuns',
    'listLeases',
    'listSegments',
    'readSegments',
    'getBlob',
  ]);
  const proxy = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (!reads.has(String(name))) writes.push(String(name));
      return value.bind(target) as unknown;
    },
  });
  return { store: proxy, writes };
}

describe('the read handler', () => {
  it('changes nothing, whatever the method and the path', async () => {
    const { store, writes } = await watched();
    const handler = handlerOf(store);
    const paths = [
      '',
      '/',
      '/projects',
      '/runs',
      '/runs/r_1',
      '/runs/r_1/tables/metrics/segments',
      '/leases',
      '/segments/read',
      '/blobs/x',
    ];
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const path of paths) {
        const response = await handler(
          new Request(at(path), {
            method,
            ...(method === 'POST' ? { body: '{"segments":[]}' } : {}),
          }),
        );
        const isRead =
          method === 'GET' || method === 'HEAD' || (method === 'POST' && path === '/segments/read');
        if (!isRead) expect(response.status, `${method} ${path}`).toBe(405);
        else expect(response.status, `${method} ${path}`).toBeLessThan(500);
      }
    }
    expect(writes).toStrictEqual([]);
  });

  it('says which methods an address takes', async () => {
    const store = await filledStore();
    const allowOf = async (method: string, path: string, writable: boolean): Promise<unknown[]> => {
      const request = new Request(at(path), { method });
      const answer = await createStoreHandler({ writable }).handle(request, { store });
      return [answer.status, answer.headers.get('allow')];
    };
    expect(await allowOf('DELETE', '/segments', true)).toEqual([405, 'POST']);
    expect(await allowOf('DELETE', '/runs', true)).toEqual([405, 'GET, HEAD, POST']);
    expect(await allowOf('DELETE', '/runs', false)).toEqual([405, 'GET, HEAD']);
    expect(await allowOf('PUT', '/segments/read', false)).toEqual([405, 'POST']);
    const brew = new Request(at('/runs'), { method: 'BREW' });
    const answer = await createStoreHandler().handle(brew, { store });
    expect([answer.status, await answer.text()]).toEqual([
      405,
      expect.stringContaining('BREW is not answered at this address.'),
    ]);
  });

  it('answers errors as JSON with code, message and details', async () => {
    const handler = handlerOf(await filledStore());
    const cases: [string, RequestInit, number, object][] = [
      ['/runs/r_9', {}, 404, { code: 'run_not_found', details: { runId: 'r_9' } }],
      ['/runs/%00', {}, 400, { code: 'invalid_input', details: { field: 'runId' } }],
      ['/nothing', {}, 404, { code: 'unsupported' }],
      ['/runs?limit=-1', {}, 400, { code: 'invalid_input', details: { field: 'limit' } }],
      ['/runs?limit=1e9', {}, 400, { code: 'invalid_input' }],
      [
        '/runs/r_1/tables/No/segments',
        {},
        400,
        { code: 'invalid_input', details: { field: 'table' } },
      ],
      [
        '/runs/r_1/tables/metrics/segments?step_min=abc',
        {},
        400,
        { code: 'invalid_input', details: { field: 'stepMin' } },
      ],
      // A filter whose name has a typing error would show everything.
      ...[
        '/runs?projekt=digits',
        '/runs/r_1/tables/metrics/segments?keys=a',
        '/leases?runs=r_1',
      ].map((path): [string, RequestInit, number, object] => [
        path,
        {},
        400,
        { code: 'invalid_input' },
      ]),
      ['/events?runs=r_1', {}, 400, { code: 'invalid_input', details: { field: 'runs' } }],
      ['/runs?limit=1&limit=2', {}, 400, { code: 'invalid_input', details: { field: 'limit' } }],
      ['/blobs/..%2f..', {}, 400, { code: 'invalid_input' }],
      [
        `/leases?${'run=r_1&'.repeat(101)}`,
        {},
        413,
        { code: 'store_failed', details: { reason: 'too_large' } },
      ],
      [
        '/runs',
        { headers: { 'quark-protocol': '2' } },
        400,
        { code: 'store_failed', details: { reason: 'version' } },
      ],
      [
        '/segments/read',
        { method: 'POST', body: 'no' },
        400,
        { code: 'store_failed', details: { reason: 'rejected' } },
      ],
      [
        '/segments/read',
        { method: 'POST', body: '[]' },
        400,
        { code: 'store_failed', details: { reason: 'rejected' } },
      ],
      ['/segments/read', { method: 'POST' }, 400, { code: 'store_failed' }],
      [
        '/segments/read',
        { method: 'POST', body: '{"segments":[{"run_id":1}]}' },
        400,
        { details: { field: 'segment.run_id' } },
      ],
      [
        '/segments/read',
        { method: 'POST', body: `{"segments":[${'0,'.repeat(300)}0]}` },
        413,
        { details: { reason: 'too_large' } },
      ],
      [
        '/segments/read',
        { method: 'POST', body: 'x'.repeat(600_000) },
        413,
        { details: { reason: 'too_large' } },
      ],
    ];
    for (const [path, init, status, body] of cases) {
      const response = await handler(new Request(at(path), init));
      const answer: unknown = await response.json();
      expect({ path, status: response.status, answer }).toMatchObject({
        path,
        status,
        answer: body,
      });
      expect(response.headers.get('cache-control')).toBe('no-store');
    }
  });

  it('does not tell what an unknown error says', async () => {
    const store: Store = Object.assign(Object.create(await filledStore()) as Store, {
      listRuns: () => Promise.reject(new Error('password in /home/me')),
    });
    const response = await handlerOf(store)(new Request(at('/runs')));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('password');
  });

  it('lets a reader ask again without getting the same answer twice', async () => {
    const store = await filledStore();
    const handler = handlerOf(store);
    const first = await handler(new Request(at('/runs')));
    const etag = first.headers.get('etag') ?? '';
    expect(first.headers.get('cache-control')).toBe('no-cache');
    const again = (): Promise<Response> =>
      handler(new Request(at('/runs'), { headers: { 'if-none-match': `"x", W/${etag}` } }));
    expect((await again()).status).toBe(304);
    const run = await store.findRun('r_1');
    await store.updateRun({ ...run!, status: 'completed' });
    expect((await again()).status).toBe(200);
  });

  it('serves a blob as something that never changes', async () => {
    const handler = handlerOf(await filledStore());
    const blob = bytesOf(5, 1_000);
    const response = await handler(new Request(at(`/blobs/${await sha256Of(blob)}`)));
    expect(response.headers.get('cache-control')).toContain('immutable');
    expect(new Uint8Array(await response.arrayBuffer())).toStrictEqual(blob);
  });

  it('lets no other origin read: there are no cross-origin headers', async () => {
    const handler = handlerOf(await filledStore());
    const response = await handler(
      new Request(READ, { method: 'OPTIONS', headers: { origin: 'https://evil.example' } }),
    );
    expect(
      [...response.headers.keys()].filter((name) => name.startsWith('access-control')),
    ).toStrictEqual([]);
  });
});
