/** The service as it is started, asked over sockets: who is let in, what they see, and how it ends. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { EventLogger, listRuns, MetricsLogger, openRun, TrainingSession } from '../../src/index.ts';
import type { ServedService } from '../../src/service/node/serve-service.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { runOf } from '../support/segments.ts';
import { ask, bearer, RunningServices, storeOf } from './running-service.ts';

const services = new RunningServices();
afterEach(() => services.clear());

const PROJECT = { id: 'project_1', name: 'digits', createdAtMs: 1 };

async function keyOf(
  service: ServedService,
  user: string,
  scope: 'read' | 'write' | 'admin' = 'write',
): Promise<string> {
  return (await service.access.createKey({ user, scope })).key;
}

describe('without a key', () => {
  it('people at this machine read and write, until there is a key', async () => {
    const service = await services.start();
    expect(await service.isOpen()).toBe(true);
    const store = await storeOf(service);
    await store.createRun(runOf());
    expect(await store.appendSegments([metricSegmentOf(0)])).toHaveLength(1);
    expect((await ask(service.port, '/quark.json')).text).toContain('"key":"none"');
    const { keyId } = await service.access.createKey({ user: 'alice' });
    expect(await service.isOpen()).toBe(false);
    await expect(store.listRuns()).rejects.toMatchObject({ reason: 'unauthorised' });
    // Nor does it open again when the only key is revoked.
    await service.access.revokeKey(keyId);
    expect((await ask(service.port, '/api/v1/runs')).status).toBe(401);
    expect((await ask(service.port, '/quark.json')).text).toContain('"key":"needed"');
  });

  it('keeps what is recorded in the place of a store without a service', async () => {
    const storage = services.folder();
    const service = await services.start({ storage });
    await (await storeOf(service)).createRun(runOf());
    await service.close();
    const { openFileStorage } = await import('../../src/store/sql/node/file-storage.ts');
    const store = await openFileStorage(storage);
    expect((await store.listRuns()).map(({ id }) => id)).toEqual(['run_1']);
    await store.close();
  });

  it('stays open with keys where it was told to', async () => {
    const service = await services.start({ keyless: 'always' });
    const key = await keyOf(service, 'alice');
    expect((await ask(service.port, '/api/v1/runs')).status).toBe(200);
    // A key still says who asks, and a wrong one is no way in.
    expect((await ask(service.port, '/api/v1/account', { headers: bearer(key) })).text).toContain(
      '"user":"alice"',
    );
    expect((await ask(service.port, '/api/v1/runs', { headers: bearer('qk_x') })).status).toBe(401);
  });

  it.each([
    ['a name that somebody pointed here', { host: 'evil.example' }],
    ['a name that only begins like ours', { host: '127.0.0.1.evil.example' }],
    ['a page of another origin', { origin: 'http://evil.example' }],
    ['a page of another port', { origin: 'http://127.0.0.1:1' }],
    ['a page without an origin', { origin: 'null' }],
    ['a request that a page of another site made', { 'sec-fetch-site': 'cross-site' }],
    ['a proxy that tells for whom', { 'x-forwarded-for': '203.0.113.9' }],
    ['another proxy', { forwarded: 'for=203.0.113.9' }],
  ])('refuses %s', async (_what, headers) => {
    const service = await services.start();
    for (const [method, path] of [
      ['GET', '/api/v1/runs'],
      ['POST', '/api/v1/runs'],
      ['GET', '/api/v1/account'],
      ['GET', '/metrics'],
    ] as const) {
      const { status, text } = await ask(service.port, path, { method, headers });
      expect([path, status]).toEqual([path, 401]);
      expect(text).toContain('unauthorised');
    }
    expect((await ask(service.port, '/quark.json', { headers })).text).toContain('"key":"needed"');
  });

  it('lets a page in whose origin was named', async () => {
    const origin = 'http://localhost:5173';
    const service = await services.start({ allowOrigins: [origin] });
    const { status, headers } = await ask(service.port, '/api/v1/runs', { headers: { origin } });
    expect([status, headers['access-control-allow-origin']]).toEqual([200, origin]);
  });

  it('does not let any page in by "*", which is for those with keys', async () => {
    const service = await services.start({ allowOrigins: ['*'] });
    const origin = 'http://evil.example';
    expect((await ask(service.port, '/api/v1/runs', { headers: { origin } })).status).toBe(401);
    const headers = { origin, ...bearer(await keyOf(service, 'alice')) };
    const answer = await ask(service.port, '/api/v1/runs', { headers });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, origin]);
  });

  it('does not work where other machines reach the service', async () => {
    const service = await services.start({ host: '0.0.0.0' });
    expect(await service.isOpen()).toBe(false);
    expect((await ask(service.port, '/api/v1/runs')).status).toBe(401);
    await expect(services.start({ host: '0.0.0.0', keyless: 'always' })).rejects.toThrow(/keyless/);
  });

  it('leaves the counters to programs of this machine, unless everybody is asked for a key', async () => {
    const reachable = await services.start({ host: '0.0.0.0' });
    expect((await ask(reachable.port, '/metrics')).status).toBe(200);
    const proxied = { headers: { 'x-forwarded-for': '192.0.2.1' } };
    expect((await ask(reachable.port, '/metrics', proxied)).status).toBe(401);
    const keyed = await services.start({ host: '0.0.0.0', keyless: 'never' });
    expect((await ask(keyed.port, '/metrics')).status).toBe(401);
  });
});

describe('with keys', () => {
  it('each user has spaces of their own, where the same names mean other things', async () => {
    const service = await services.start();
    const [alice, bob] = [await keyOf(service, 'alice'), await keyOf(service, 'bob')];
    const [a, b, other] = [
      await storeOf(service, alice),
      await storeOf(service, bob),
      await storeOf(service, alice, 'other'),
    ];
    for (const store of [a, b, other]) {
      await store.ensureProject(PROJECT);
      await store.createRun(runOf());
    }
    await a.appendSegments([metricSegmentOf(0)]);
    const filter = { runId: 'run_1', table: 'metrics' };
    expect(await a.listSegments(filter)).toHaveLength(1);
    expect(await b.listSegments(filter)).toHaveLength(0);
    expect(await other.listSegments(filter)).toHaveLength(0);
    const spaces = await ask(service.port, '/api/v1/account', { headers: bearer(alice) });
    expect(JSON.parse(spaces.text)).toMatchObject({
      user: 'alice',
      scope: 'write',
      spaces: [{ space: 'default' }, { space: 'other' }],
    });
  });

  it('shows what is shared, as far as it is shared', async () => {
    const service = await services.start();
    const [alice, bob] = [await keyOf(service, 'alice'), await keyOf(service, 'bob')];
    const a = await storeOf(service, alice);
    await a.ensureProject(PROJECT);
    await a.ensureProject({ ...PROJECT, id: 'project_2', name: 'secret' });
    await a.createRun(runOf());
    await a.createRun(runOf({ id: 'run_2', projectId: 'project_2', projectName: 'secret' }));
    await expect(storeOf(service, bob, 'alice:default')).rejects.toMatchObject({
      details: { status: 404 },
    });
    const share = { owner: 'alice', project: 'digits', user: 'bob' };
    await service.access.share(share);
    await a.ensureProject({ ...PROJECT, id: 'project_3', name: 'ImageNet' });
    await service.access.share({ ...share, project: 'ImageNet' });
    const { text } = await ask(service.port, '/api/v1/account', { headers: bearer(bob) });
    expect(JSON.parse(text)).toMatchObject({
      spaces: [{}, { projects: { digits: 'read', ImageNet: 'read' } }],
    });
    await service.access.unshare({ ...share, project: 'ImageNet' });
    const b = await storeOf(service, bob, 'alice:default');
    expect(b.isWritable).toBe(false);
    expect((await b.listRuns()).map(({ id }) => id)).toEqual(['run_1']);
    expect(await b.findRun('run_2')).toBeUndefined();
    const headers = { ...bearer(bob), 'quark-space': 'alice:default' };
    expect((await ask(service.port, '/api/v1/segments', { method: 'POST', headers })).status).toBe(
      403,
    );
    await service.access.share({ ...share, access: 'write' });
    const writing = await storeOf(service, bob, 'alice:default');
    expect(await writing.appendSegments([metricSegmentOf(0)])).toHaveLength(1);
    await expect(
      writing.appendSegments([metricSegmentOf(0, { runId: 'run_2' })]),
    ).rejects.toMatchObject({
      code: 'run_not_found',
    });
    await service.access.unshare(share);
    await expect(b.listRuns()).rejects.toThrow(/shared/);
  });

  it('a key may do what its scope says', async () => {
    const service = await services.start();
    const read = await keyOf(service, 'alice', 'read');
    const write = await keyOf(service, 'alice', 'write');
    const admin = await keyOf(service, 'root', 'admin');
    const body = JSON.stringify({ project: { id: 'p', name: 'p', created_at_ms: 1 } });
    const post = (key: string): Promise<{ status: number; text: string }> =>
      ask(service.port, '/api/v1/projects', {
        method: 'POST',
        headers: { ...bearer(key), 'content-type': 'application/json' },
        body,
      });
    const refused = await post(read);
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
      403,
      { code: 'store_failed', details: { reason: 'unauthorised' } },
    ]);
    expect((await post(write)).status).toBe(200);
    expect((await ask(service.port, '/api/v1/projects', { headers: bearer(read) })).text).toContain(
      '"name":"p"',
    );
    for (const [key, status] of [
      [read, 403],
      [write, 403],
      [admin, 200],
    ] as const)
      expect((await ask(service.port, '/metrics', { headers: bearer(key) })).status).toBe(status);
    // An administrator's key opens no other user's runs.
    expect((await ask(service.port, '/api/v1/projects', { headers: bearer(admin) })).text).toBe(
      '{"projects":[]}',
    );
  });

  it('tells a typing error, an unknown, a revoked and an ended key apart, and lets none in', async () => {
    let nowMs = 1_700_000_000_000;
    const service = await services.start({
      clock: { now: () => nowMs, after: () => () => undefined },
    });
    const made = await service.access.createKey({ user: 'alice', expiresAt: nowMs + 1_000 });
    const { key: other, keyId } = await service.access.createKey({ user: 'alice' });
    const why = async (key: string): Promise<string> => {
      const { status, headers, text } = await ask(service.port, '/api/v1/runs', {
        headers: bearer(key),
      });
      return status === 401 && headers['www-authenticate'] !== undefined ? text : `${status}`;
    };
    expect(await why(made.key)).toBe('200');
    expect(await why(`${made.key.slice(0, -1)}${made.key.endsWith('0') ? '1' : '0'}`)).toMatch(
      /typing error/,
    );
    nowMs += 1_000;
    expect(await why(made.key)).toMatch(/end/);
    await service.access.revokeKey(keyId);
    expect(await why(other)).toMatch(/revoked/);
    const elsewhere = await services.start();
    expect(await why((await elsewhere.access.createKey({ user: 'alice' })).key)).toMatch(
      /not known/,
    );
    for (const header of ['Basic YTpi', 'Bearer', `Bearer ${other} x`, 'bearer\tqk_'])
      expect(
        (await ask(service.port, '/api/v1/runs', { headers: { authorization: header } })).status,
      ).toBe(401);
  });

  it.each(['../alice', 'a/b', '', 'a:b:c', ':', '.', '..', 'x'.repeat(129), 'alice:..'])(
    'takes %j for no space but its own',
    async (space) => {
      const service = await services.start();
      const headers = { ...bearer(await keyOf(service, 'alice')), 'quark-space': space };
      const { status } = await ask(service.port, '/api/v1/runs', { headers });
      expect(status).toBe(space === '' ? 200 : 400);
    },
  );
});

describe('a session at the service', () => {
  it('records what one at a folder does, into a space of its user', async () => {
    const service = await services.start();
    const store = await storeOf(service, await keyOf(service, 'alice'), 'mine');
    const session = await TrainingSession.startRun({
      project: 'digits',
      storage: store,
      handleSignals: false,
    });
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 300; step++) metrics.log('train/loss', 1 / (step + 1), { step });
    new EventLogger(session).log('checkpoint_saved', { step: 3, payload: { path: 'a' } });
    await session.endRun('completed');
    await session.close();
    const reader = await storeOf(service, await keyOf(service, 'alice', 'read'), 'mine');
    const [listed] = await listRuns(reader);
    expect(listed).toMatchObject({ effectiveStatus: 'completed' });
    const run = await openRun(reader, session.runId);
    const { steps, values } = await run.readMetricColumns({ metricKey: 'train/loss' });
    expect([steps.length, values[299]]).toEqual([300, 1 / 300]);
    expect(await run.readEvents({ eventTypes: ['checkpoint_saved'] })).toHaveLength(1);
  });
});

describe('pages of other origins', () => {
  it('are told no unless they were named', async () => {
    const origin = 'https://app.example.com';
    const preflight = {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    };
    const closed = await services.start();
    const no = await ask(closed.port, '/api/v1/segments', preflight);
    expect([no.status, no.headers['access-control-allow-origin']]).toEqual([403, undefined]);
    const open = await services.start({ allowOrigins: [origin] });
    const yes = await ask(open.port, '/api/v1/segments', preflight);
    expect([yes.status, yes.headers['access-control-allow-origin']]).toEqual([204, origin]);
    expect(yes.headers['access-control-allow-headers']).toContain('authorization');
    const headers = { origin: 'https://app.example.com.evil', ...bearer(await keyOf(open, 'a')) };
    const other = await ask(open.port, '/api/v1/runs', { headers });
    expect(other.headers['access-control-allow-origin']).toBeUndefined();
    expect(other.headers['vary']).toContain('origin');
    await expect(services.start({ allowOrigins: ['app.example.com'] })).rejects.toThrow(/origin/);
    await expect(services.start({ allowOrigins: ['https://a.b/path'] })).rejects.toThrow(/origin/);
  });
});

describe('limits', () => {
  it('so many requests a second of one key, and of nobody else', async () => {
    let nowMs = 1_700_000_000_000;
    const service = await services.start({
      clock: { now: () => nowMs, after: () => () => undefined },
      limits: { requestsPerSecond: 2, requestBurst: 3 },
    });
    const [alice, bob] = [await keyOf(service, 'alice'), await keyOf(service, 'bob')];
    const statuses: number[] = [];
    const get = async (key: string): Promise<void> => {
      statuses.push((await ask(service.port, '/api/v1/runs', { headers: bearer(key) })).status);
    };
    for (let i = 0; i < 5; i++) await get(alice);
    await get(bob);
    expect(statuses).toEqual([200, 200, 200, 429, 429, 200]);
    const refused = await ask(service.port, '/api/v1/runs', { headers: bearer(alice) });
    expect(refused.headers['retry-after']).toBe('1');
    expect(JSON.parse(refused.text)).toMatchObject({ details: { retryAfterMs: 500 } });
    nowMs += 500;
    await get(alice);
    await get(alice);
    expect(statuses.slice(6)).toEqual([200, 429]);
  });

  it('so many attempts with bad keys from one address', async () => {
    const service = await services.start({ limits: { refusalsPerMinute: 3 } });
    const key = await keyOf(service, 'alice');
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++)
      statuses.push((await ask(service.port, '/api/v1/runs', { headers: bearer('qk_a') })).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    expect((await ask(service.port, '/healthz')).status).toBe(200);
    // Others behind the same address have good keys.
    expect((await ask(service.port, '/api/v1/runs', { headers: bearer(key) })).status).toBe(200);
  });

  it('so many segments, rows, tags and characters at once', async () => {
    const service = await services.start({
      limits: { maxSegmentsPerRequest: 2, maxRowsPerRequest: 25, maxNameChars: 10, maxTags: 1 },
    });
    const store = await storeOf(service);
    await store.createRun(runOf({ tags: ['a'] }));
    expect(await store.appendSegments([metricSegmentOf(0), metricSegmentOf(1)])).toHaveLength(2);
    const tooLarge = { code: 'store_failed', reason: 'too_large' };
    await expect(
      store.appendSegments([metricSegmentOf(2), metricSegmentOf(3), metricSegmentOf(4)]),
    ).rejects.toMatchObject(tooLarge);
    await expect(
      store.appendSegments([metricSegmentOf(2, { rowCount: 26 })]),
    ).rejects.toMatchObject(tooLarge);
    await expect(
      store.appendSegments([metricSegmentOf(2, { key: 'a_long_key_x' })]),
    ).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(store.createRun(runOf({ id: 'r', tags: ['a', 'b'] }))).rejects.toThrow(/tags/);
    await expect(store.createRun(runOf({ id: 'r', projectName: 'a long name' }))).rejects.toThrow(
      /projectName/,
    );
    expect(await store.listSegments({ runId: 'run_1', table: 'metrics' })).toHaveLength(2);
  });

  it('so many bytes in flight, counted while they are unpacked', async () => {
    const mib = 1024 * 1024;
    const service = await services.start({
      limits: { maxUploadBytes: 4 * mib, maxBytesInFlight: 4 * mib },
    });
    const headers = {
      'content-type': 'application/vnd.quark.upload',
      'content-encoding': 'gzip',
    };
    const bomb = gzipSync(new Uint8Array(3 * mib));
    expect(bomb.byteLength).toBeLessThan(mib / 100);
    const post = { method: 'POST', headers, body: bomb };
    const refused = await ask(service.port, '/api/v1/segments', post);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    const metrics = await ask(service.port, '/metrics');
    expect(metrics.text).toContain('quark_limited_requests_total{limit="memory"} 1');
    expect(metrics.text).toContain('quark_bytes_in_flight 0');
  });
});

describe('streams of live updates', () => {
  it('are so many for a key, show what is open to it, and end with the service', async () => {
    // Whoever closes it does not wait for a connection that a stream has left behind.
    const service = await services.start({ limits: { streamsPerKey: 1 }, drainTimeoutMs: 3e6 });
    // Nor for one that was opened in advance, as browsers do.
    const silent = connect(service.port, '127.0.0.1').on('error', () => undefined);
    await once(silent, 'connect');
    const [alice, bob] = [await keyOf(service, 'alice'), await keyOf(service, 'bob')];
    const a = await storeOf(service, alice);
    for (const name of ['open', 'closed'])
      await a.ensureProject({ id: `id_of_${name}`, name, createdAtMs: 1 });
    await service.access.share({ owner: 'alice', project: 'open', user: 'bob' });
    const headers = { ...bearer(bob), 'quark-space': 'alice:default' };
    const stream = await fetch(`${service.url}api/v1/events`, { headers });
    expect([stream.status, stream.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/event-stream'),
    ]);
    expect((await ask(service.port, '/api/v1/events', { headers })).status).toBe(429);
    expect((await ask(service.port, '/metrics')).text).toContain('quark_open_streams 1\n');
    let text = '';
    let closing: Promise<void> | undefined;
    let isWritten = false;
    for await (const part of stream.body ?? []) {
      text += new TextDecoder().decode(part);
      // Runs that are there before a client is told to read the list are in that list, and not told beside it.
      if (text.includes('event: list') && !isWritten) {
        isWritten = true;
        for (const [id, projectName] of [
          ['hidden', 'closed'],
          ['shown', 'open'],
        ] as const) {
          const place = { projectId: `id_of_${projectName}`, projectName };
          await a.createRun(runOf({ id, ...place, document: JSON.stringify({ id }) }));
        }
      }
      // The end of the service ends the stream.
      if (text.includes('shown')) closing ??= service.close();
    }
    await closing;
    expect(text).toContain('shown');
    expect(text).not.toContain('hidden');
  });
});

describe('what the service tells', () => {
  it('counts requests, segments and rows', async () => {
    const service = await services.start();
    const store = await storeOf(service);
    await store.createRun(runOf());
    await store.appendSegments([metricSegmentOf(0), metricSegmentOf(1)]);
    await ask(service.port, '/api/v1/runs/run_1');
    await ask(service.port, '/api/v1/runs/nothing');
    const { text, headers } = await ask(service.port, '/metrics');
    expect(headers['content-type']).toContain('version=0.0.4');
    expect(text).toContain(
      'quark_http_requests_total{route="/api/v1/runs/:runId",method="GET",status="200"} 1',
    );
    expect(text).toContain(
      'quark_http_requests_total{route="/api/v1/runs/:runId",method="GET",status="404"} 1',
    );
    expect(text).toContain('quark_segments_received_total 2\n');
    expect(text).toContain('quark_rows_received_total 20\n');
    expect(text).toMatch(/\nprocess_resident_memory_bytes \d{8,}\n/);
    // Every line is a comment or a sample.
    for (const line of text.trimEnd().split('\n'))
      expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[^{}]*\})? [0-9.e+-]+)$/);
  });

  it('logs a line for each request, and never a key, wherever somebody puts it', async () => {
    const service = await services.start();
    const { key, keyId } = await service.access.createKey({ user: 'alice' });
    const secret = key.slice(keyId.length);
    await ask(service.port, '/api/v1/runs', { headers: bearer(key) });
    await ask(service.port, `/api/v1/runs?key=${key}`, { headers: bearer(key) });
    await ask(service.port, `/api/v1/runs/${key}`, { headers: bearer(key) });
    await ask(service.port, `/${key}`);
    await ask(service.port, '/api/v1/runs', { headers: { ...bearer(key), 'quark-space': key } });
    await ask(service.port, '/api/v1/runs', { headers: { authorization: key } });
    await ask(service.port, '/api/v1/runs', { headers: bearer(`${key}x`) });
    await ask(service.port, '/api/v1/projects', {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json' },
      body: JSON.stringify({ project: { id: key, name: key, created_at_ms: key } }),
    });
    const requests = services.lines.filter(({ msg }) => msg === 'request');
    expect(requests).toHaveLength(8);
    expect(requests[0]).toMatchObject({
      level: 'info',
      route: '/api/v1/runs',
      method: 'GET',
      status: 200,
      keyId,
      remoteAddress: '127.0.0.1',
    });
    expect(services.log).not.toContain(secret);
    expect(services.log).not.toContain(secret.slice(0, 12));
    expect(services.log.toLowerCase()).not.toContain('bearer');
  });

  it('says that it is alive and ready', async () => {
    const service = await services.start();
    expect((await ask(service.port, '/healthz')).text).toBe('{"status":"ok"}\n');
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      const { status, headers } = await ask(service.port, path, { method: 'POST' });
      expect([path, status, headers.allow]).toEqual([path, 405, 'GET, HEAD']);
    }
    const ready = await ask(service.port, '/readyz');
    expect([ready.status, ready.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(JSON.parse(ready.text)).toMatchObject({ status: 'ready' });
  });
});
