/** The real server on a free port, asked over real sockets. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { serveStore, type ServedStore } from '../../src/service/node/serve.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { filledStore } from './filled-store.ts';

let folder = '';
let dashboardDir = '';
const servers: ServedStore[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-serve-'));
  dashboardDir = join(folder, 'site');
  mkdirSync(join(dashboardDir, 'assets'), { recursive: true });
  writeFileSync(join(folder, 'secret.txt'), 'secret');
  writeFileSync(join(dashboardDir, 'index.html'), '<!doctype html><title>Dashboard</title>');
  writeFileSync(join(dashboardDir, '.hidden'), 'secret');
  writeFileSync(join(dashboardDir, 'quark.json'), '{"storage":"https://elsewhere/"}');
  writeFileSync(join(dashboardDir, 'assets/index-BqW2x9Za.js'), 'export {};');
  writeFileSync(join(dashboardDir, 'assets/plain.css'), 'a{}');
  writeFileSync(join(dashboardDir, 'digits.csv.gz'), 'gz');
  symlinkSync(join(folder, 'secret.txt'), join(dashboardDir, 'link.txt'));
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function start(
  options: Partial<Parameters<typeof serveStore>[0]> = {},
): Promise<ServedStore> {
  const server = await serveStore({ store: await filledStore(), dashboardDir, ...options });
  servers.push(server);
  return server;
}

/** The answer to a request line and a Host header exactly as given: `fetch` would tidy both up. */
function raw(
  port: number,
  path: string,
  host: string,
  method = 'GET',
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { port, host: '127.0.0.1', method, path, headers: { host } },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    asked.on('error', reject).end();
  });
}

describe('the local server', () => {
  it('serves the dashboard so that the page is cross-origin isolated', async () => {
    const { url } = await start();
    const page = await fetch(url);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('Dashboard');
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cross-origin-opener-policy': 'same-origin',
      'content-security-policy':
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; style-src 'self'; img-src 'self' data: blob:; media-src blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
      'referrer-policy': 'no-referrer',
      'cross-origin-embedder-policy': 'require-corp',
      'cache-control': 'no-cache',
    });
    const same = await fetch(url, { headers: { 'if-none-match': page.headers.get('etag') ?? '' } });
    expect(same.status).toBe(304);
  });

  it('lets pages of listed origins frame the embedded page, and nobody frame any other', async () => {
    const { url } = await start({
      allowFrames: ['https://blog.example.org', 'http://127.0.0.1:81'],
    });
    const policyOf = async (path: string): Promise<string> =>
      (await fetch(url + path)).headers.get('content-security-policy') ?? '';
    expect(await policyOf('?embed=1')).toMatch(
      /; frame-ancestors 'self' https:\/\/blog\.example\.org http:\/\/127\.0\.0\.1:81$/,
    );
    for (const path of ['', '?embed=0', '?x=embed=1', 'quark.json?embed=1'])
      expect(await policyOf(path)).toMatch(/; frame-ancestors 'self'$/);
    const { url: plain } = await start();
    const answer = await fetch(`${plain}?embed=1`);
    expect(answer.headers.get('content-security-policy')).toMatch(/; frame-ancestors 'self'$/);
  });

  it.each([
    '*',
    'https://*.example.org',
    'https://a.example/path',
    'https://a.example; script-src *',
    'javascript:alert(1)',
    'null',
    '',
    'a.example',
    7,
  ])('takes no origin for %j', async (origin) => {
    await expect(start({ allowFrames: [origin as string] })).rejects.toThrow(/allowFrames\[0\]/);
  });

  it('tells the page where the store is, whatever the folder says', async () => {
    const { url } = await start();
    const response = await fetch(`${url}quark.json`);
    expect(await response.json()).toStrictEqual({ storage: './' });
    const store = await openHttpStorage(new URL('./', url).href);
    expect((await store.listRuns()).map(({ id }) => id)).toStrictEqual(['r_2', 'r_3', 'r_1']);
    const manifests = await store.listSegments({ runId: 'r_1', table: 'metrics' });
    expect((await store.readSegments(manifests)).map(({ kind }) => kind)).toStrictEqual(
      Array(4).fill('bytes'),
    );
  });

  it.each([
    [
      'assets/index-BqW2x9Za.js',
      'text/javascript; charset=utf-8',
      'public, max-age=31536000, immutable',
    ],
    ['assets/plain.css', 'text/css; charset=utf-8', 'no-cache'],
    ['digits.csv.gz', 'application/gzip', 'no-cache'],
  ])('serves %s as what it is', async (name, type, caching) => {
    const { url } = await start();
    const response = await fetch(url + name);
    expect([
      response.status,
      response.headers.get('content-type'),
      response.headers.get('cache-control'),
    ]).toStrictEqual([200, type, caching]);
    expect(response.headers.get('content-encoding')).toBeNull();
  });

  it.each([
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/%2e%2e%2fsecret.txt',
    '/assets/../../secret.txt',
    '/..%5csecret.txt',
    '//etc/passwd',
    '/assets',
    '/assets/',
    '/link.txt',
    '/.hidden',
    '/%00',
    '/%zz',
    '/index.html%00.js',
    `/${'a'.repeat(5_000)}`,
  ])('has nothing at %s', async (path) => {
    const { port } = await start();
    const { status, text } = await raw(port, path, `127.0.0.1:${port}`);
    expect([400, 404]).toContain(status);
    expect(text).not.toContain('secret');
    expect(text).not.toContain('root:');
  });

  it('answers only names that it knows', async () => {
    const { port } = await start({ allowedHosts: ['My-Machine.lan'] });
    const hosts: [string, boolean][] = [
      [`localhost:${port}`, true],
      [`127.0.0.1:${port}`, true],
      ['[::1]:8080', true],
      ['192.168.1.7', true],
      ['my-machine.lan', true],
      ['evil.example', false],
      [`evil.example:${port}`, false],
      ['127.0.0.1.evil.example', false],
      ['localhost.evil.example', false],
    ];
    for (const [host, isKnown] of hosts) {
      for (const path of ['/', '/quark.json', '/api/v1/runs']) {
        expect([host, path, (await raw(port, path, host)).status]).toStrictEqual([
          host,
          path,
          isKnown ? 200 : 401,
        ]);
      }
    }
  });

  it('refuses to change anything', async () => {
    const { port } = await start();
    for (const method of ['PUT', 'POST', 'DELETE']) {
      expect((await raw(port, '/index.html', 'localhost', method)).status).toBe(405);
      expect((await raw(port, '/api/v1/runs/r_1', 'localhost', method)).status).toBe(405);
    }
  });

  it('listens on the loopback address only', async () => {
    const server = await start();
    expect(server.url).toBe(`http://127.0.0.1:${server.port}/`);
    expect(server.port).toBeGreaterThan(0);
  });

  it('counts what it is asked', async () => {
    const server = await start();
    expect([server.requestCount, server.activeRequests]).toStrictEqual([0, 0]);
    await Promise.all([
      fetch(server.url),
      fetch(`${server.url}api/v1/runs`),
      fetch(`${server.url}nothing`),
    ]);
    expect([server.requestCount, server.activeRequests]).toStrictEqual([3, 0]);
  });

  it('says which port is taken', async () => {
    const { port } = await start();
    await expect(start({ port })).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringContaining(`Port ${port}`) as string,
      details: { port, systemCode: 'EADDRINUSE' },
    });
  });

  it.each([{ port: 70_000 }, { port: -1 }, { port: 1.5 }, { ports: 3 }])(
    'refuses %o',
    async (options) => {
      await expect(start(options)).rejects.toMatchObject({ code: 'invalid_input' });
    },
  );

  it('refuses a folder without a dashboard, and serves the store alone where none is given', async () => {
    await expect(start({ dashboardDir: folder })).rejects.toMatchObject({ code: 'invalid_input' });
    const server = await serveStore({ store: await filledStore() });
    servers.push(server);
    expect((await fetch(server.url)).status).toBe(404);
    expect((await fetch(`${server.url}api/v1/runs`)).status).toBe(200);
  });

  it('closes although connections are open, and closing twice is fine', async () => {
    const server = await start();
    await (await fetch(server.url)).text(); // leaves a kept-alive connection
    const idle = connect(server.port, '127.0.0.1');
    await new Promise((resolve) => idle.once('connect', resolve));
    const ended = new Promise((resolve) => idle.once('close', resolve));
    await Promise.all([server.close(), server.close()]);
    await ended;
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
  });
});
