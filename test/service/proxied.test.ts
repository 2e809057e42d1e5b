/** Without a key: what was asked at the machine is let in, what a proxy asks for somebody else is not. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { ask, bearer, RunningServices } from './running-service.ts';

const services = new RunningServices();
const children: ChildProcess[] = [];
const folders: string[] = [];
afterEach(async () => {
  await services.clear();
});
afterAll(async () => {
  await services.clear();
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const PATHS = ['/api/v1/runs', '/api/v1/account', '/metrics'] as const;

/** What is sent by the proxies, networks and clouds whose manuals name these headers. */
const OF_PROXIES: readonly (readonly [string, string])[] = [
  ['Forwarded', 'for=203.0.113.9'],
  ['Via', '1.1 proxy'],
  ['X-Forwarded-For', '203.0.113.9'],
  ['X-Forwarded-Host', 'quark.example.com'],
  ['X-Forwarded-Proto', 'https'],
  ['X-Forwarded-Port', '443'],
  ['X-Forwarded-Server', 'web'],
  ['X-Forwarded-Ssl', 'on'],
  ['X-Forwarded-Prefix', '/quark'],
  ['X-Forwarded', 'for=203.0.113.9'],
  ['X-Real-IP', '203.0.113.9'],
  ['CF-Connecting-IP', '203.0.113.9'],
  ['CF-Ray', '230b030023ae2822-SJC'],
  ['CF-Visitor', '{"scheme":"https"}'],
  ['CDN-Loop', 'cloudflare'],
  ['True-Client-IP', '203.0.113.9'],
  ['X-Client-IP', '203.0.113.9'],
  ['X-Cluster-Client-IP', '203.0.113.9'],
  ['Client-IP', '203.0.113.9'],
  ['Fly-Client-IP', '203.0.113.9'],
  ['Fly-Forwarded-Port', '443'],
  ['Fastly-Client-IP', '203.0.113.9'],
  ['X-Envoy-External-Address', '203.0.113.9'],
  ['X-Envoy-Expected-Rq-Timeout-Ms', '15000'],
  ['X-Original-Forwarded-For', '203.0.113.9'],
  ['X-Original-Host', 'quark.example.com'],
  ['X-Original-URI', '/'],
  ['X-Originating-IP', '203.0.113.9'],
  ['X-Remote-Addr', '203.0.113.9'],
  ['X-Remote-IP', '203.0.113.9'],
  ['X-ProxyUser-Ip', '203.0.113.9'],
  ['X-Scheme', 'https'],
  ['X-Amzn-Trace-Id', 'Root=1-67891233-abcdef012345678912345678'],
  ['CloudFront-Forwarded-Proto', 'https'],
  ['X-Azure-ClientIP', '203.0.113.9'],
  ['X-Azure-SocketIP', '203.0.113.9'],
  ['X-ARR-LOG-ID', '1'],
  ['X-Appengine-User-IP', '203.0.113.9'],
  ['X-Cloud-Trace-Context', '105445aa7843bc8bf206b12000100000/1'],
  ['X-Goog-IAP-JWT-Assertion', 'a.b.c'],
  ['X-Vercel-Forwarded-For', '203.0.113.9'],
  ['X-NF-Client-Connection-IP', '203.0.113.9'],
  ['DO-Connecting-IP', '203.0.113.9'],
  ['X-Company-Client-IP', '203.0.113.9'],
  ['X-Sucuri-ClientIP', '203.0.113.9'],
  ['Incap-Client-IP', '203.0.113.9'],
  ['Tailscale-User-Login', 'someone@example.com'],
  ['Max-Forwards', '10'],
  ['Front-End-Https', 'on'],
];

/** What programs at the machine send. */
const OF_PEOPLE: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['nothing but a name', {}],
  ['curl', { 'user-agent': 'curl/8.5.0', accept: '*/*' }],
  [
    'a page of the service in Chromium',
    {
      accept: '*/*',
      'accept-encoding': 'gzip, deflate, br, zstd',
      'accept-language': 'en-US,en;q=0.9',
      'cache-control': 'no-cache',
      connection: 'keep-alive',
      pragma: 'no-cache',
      'quark-protocol': '1',
      'sec-ch-ua': '"Chromium";v="141"',
      'sec-ch-ua-mobile': '?0',
      'sec-ch-ua-platform': '"Linux"',
      'sec-fetch-dest': 'empty',
      'sec-fetch-mode': 'cors',
      'sec-fetch-site': 'same-origin',
      'user-agent': 'Mozilla/5.0',
    },
  ],
  [
    'a page in Firefox',
    {
      dnt: '1',
      'sec-gpc': '1',
      priority: 'u=4',
      te: 'trailers',
      'upgrade-insecure-requests': '1',
      'sec-fetch-site': 'none',
      'sec-fetch-user': '?1',
    },
  ],
  [
    'a program that is traced',
    {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'a=1',
      baggage: 'a=1',
      'x-request-id': '1',
      'x-requested-with': 'fetch',
      'idempotency-key': '1',
    },
  ],
  ['a connection that is not used again', { connection: 'close' }],
];

describe('without a key', () => {
  it.each(OF_PEOPLE)('lets in %s', async (_who, headers) => {
    const service = await services.start();
    for (const path of PATHS)
      expect([path, (await ask(service.port, path, { headers })).status]).toEqual([path, 200]);
  });

  it('refuses what has a header of a proxy, also in small letters', async () => {
    const service = await services.start({ limits: { refusalsPerMinute: 10_000 } });
    const { key } = await (async () => {
      const other = await services.start();
      return other.access.createKey({ user: 'alice' });
    })();
    for (const [name, value] of OF_PROXIES)
      for (const written of [name, name.toLowerCase()]) {
        const headers = { [written]: value };
        for (const path of PATHS)
          expect([written, (await ask(service.port, path, { headers })).status]).toEqual([
            written,
            401,
          ]);
        const page = await ask(service.port, '/quark.json', { headers });
        expect([written, page.text.includes('"key":"needed"')]).toEqual([written, true]);
      }
    // A key of another service opens nothing here either.
    expect((await ask(service.port, PATHS[0], { headers: bearer(key) })).status).toBe(401);
    expect((await ask(service.port, PATHS[0])).status).toBe(200);
  });

  it('refuses HTTP/1.0, in which nginx asks, and answers it with a key', async () => {
    const service = await services.start({ keyless: 'always' });
    const { key } = await service.access.createKey({ user: 'alice' });
    expect(await askOld(service.port, '')).toMatch(/^HTTP\/1\.1 401 [^]*through no proxy/);
    expect(await askOld(service.port, 'Connection: close\r\n')).toMatch(/^HTTP\/1\.1 401 /);
    expect(await askOld(service.port, 'Connection: keep-alive\r\n')).toMatch(/^HTTP\/1\.1 401 /);
    expect(await askOld(service.port, `Authorization: Bearer ${key}\r\n`)).toMatch(
      /^HTTP\/1\.1 200 /,
    );
  });
});

function askOld(port: number, headers: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`GET /api/v1/runs HTTP/1.0\r\nHost: 127.0.0.1:${port}\r\n${headers}\r\n`),
    );
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
      // A connection that is to be used again stays open behind its answer.
      if (/\r\n\r\n./s.test(answer)) socket.destroy();
    });
    socket.on('close', () => resolve(answer)).on('error', reject);
  });
}

/** Debian's is not in the path of everybody. */
const NGINX = ['nginx', '/usr/sbin/nginx'].find((file) => spawnSync(file, ['-v']).status === 0);
const hasNginx = NGINX !== undefined;
if (!hasNginx) console.warn('nginx is not installed: what is asked through it is not tested.');

describe.skipIf(!hasNginx)('behind nginx on the same machine', () => {
  it.each([
    ['plain proxy_pass', '', 401],
    ['a name that is passed on', 'proxy_http_version 1.1; proxy_set_header Host $http_host;', 401],
    ['an address that is passed on', 'proxy_set_header X-Real-IP $remote_addr;', 401],
    [
      'a scheme that is passed on, in HTTP/1.1',
      'proxy_http_version 1.1; proxy_set_header X-Forwarded-Proto $scheme;',
      401,
    ],
  ])('%s needs a key, and works with one', async (_what, lines, status) => {
    const service = await services.start({ keyless: 'always' });
    const { key } = await service.access.createKey({ user: 'alice' });
    const port = await nginx(service.port, lines);
    const host = { host: `quark.example.com:${port}` };
    for (const path of PATHS)
      expect([path, (await ask(port, path, { headers: host })).status]).toEqual([path, status]);
    const headers = { ...host, ...bearer(key) };
    expect((await ask(port, PATHS[0], { headers })).status).toBe(200);
  });

  it('a service that asks everybody for a key asks here, too, where nothing tells of a proxy', async () => {
    const service = await services.start({ keyless: 'never' });
    const port = await nginx(
      service.port,
      'proxy_http_version 1.1; proxy_set_header Connection "";',
    );
    for (const path of PATHS) expect((await ask(port, path)).status).toBe(401);
  });
});

/** A port on which nginx asks the service for others, until the tests end. */
async function nginx(target: number, lines: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'quark-nginx-'));
  folders.push(folder);
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join('\n');
  writeFileSync(
    join(folder, 'nginx.conf'),
    `pid ${folder}/pid; daemon off; master_process off; error_log stderr warn;
events {}
http { access_log off; ${temporary}
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${target}; ${lines} } } }
`,
  );
  const child = spawn(NGINX ?? '', ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(child);
  const ended = new Promise<never>((_resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`nginx ended with ${code}.`)));
    child.on('error', reject);
  });
  ended.catch(() => undefined);
  const status = (): Promise<number> =>
    ask(port, '/healthz').then(
      (answer) => answer.status,
      () => 0,
    );
  const answers = async (): Promise<void> => {
    await expect.poll(status).toBe(200);
  };
  await Promise.race([answers(), ended]);
  return port;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
