/** Who may change runs through the local page: attacks from other pages, ports, names and programs over real sockets. */
import { request } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { serveStore, type ServedStore } from '../../src/service/node/serve.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { runOf } from '../support/segments.ts';

const servers: ServedStore[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

type Told = {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
};

function asked(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'POST',
): Promise<Told> {
  return new Promise((resolve, reject) => {
    const body = method === 'POST' ? '{}' : '';
    const all = { host: `127.0.0.1:${port}`, 'content-type': 'application/json', ...headers };
    const sent = request({ port, host: '127.0.0.1', method, path, headers: all }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    sent.on('error', reject).end(body);
  });
}

async function started(options: Partial<Parameters<typeof serveStore>[0]> = {}) {
  const store: Store = createMemoryStore();
  await store.createRun(runOf({ id: 'run_a', status: 'completed' }));
  const server = await serveStore({ store, changes: true, ...options });
  servers.push(server);
  const token = new URL(server.changeUrl).searchParams.get('token') ?? '';
  const archive = (headers: Readonly<Record<string, string>>): Promise<Told> =>
    asked(server.port, '/api/v1/runs/run_a/archive', headers);
  const isArchived = async (): Promise<boolean> =>
    (await store.findRun('run_a'))?.archivedAtMs !== undefined;
  const { port } = server;
  return { server, port, token, archive, isArchived, cookie: `quark-token-${port}=${token}` };
}

/** Not by this name; not by this caller; nothing can be written. */
const REFUSED = [401, 403, 405];

describe('changes on the local page', () => {
  test('the address with the token sets a cookie that no script reads and no other site sends, and goes on without it', async () => {
    const { port, token, archive, isArchived, server } = await started();
    expect(token).toMatch(/^[\w-]{32}$/);
    const told = await asked(port, `/?token=${token}&x=1`, {}, 'GET');
    expect([told.status, told.headers['location']]).toEqual([303, '/?x=1']);
    const [cookie = ''] = told.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
    const origin = server.url.replace(/\/$/, '');
    const changed = await archive({ cookie: cookie.split(';')[0] ?? '', origin });
    expect(changed.status).toBe(200);
    expect(await isArchived()).toBe(true);
  });

  test('a program with the token changes runs as well, and each server has a token of its own', async () => {
    const [one, other] = [await started(), await started()];
    expect(one.token).not.toBe(other.token);
    expect((await one.archive({ authorization: `Bearer ${other.token}` })).status).toBeOneOf(
      REFUSED,
    );
    expect((await one.archive({ authorization: `Bearer ${one.token}` })).status).toBe(200);
  });

  test.each<readonly [attack: string, headers: (port: number) => Readonly<Record<string, string>>]>(
    [
      ['a page of another site', () => ({ origin: 'https://evil.example' })],
      [
        'a page of another port of this machine',
        (port) => ({ origin: `http://127.0.0.1:${port + 1}` }),
      ],
      ['a page in a sandbox', () => ({ origin: 'null' })],
      ['a form of another site', () => ({ 'sec-fetch-site': 'cross-site' })],
      ['a page of another port, without an origin', () => ({ 'sec-fetch-site': 'same-site' })],
      [
        'a name that was made to point here',
        (port) => ({ host: `evil.example:${port}`, origin: `http://evil.example:${port}` }),
      ],
      ['an address that is not of loopback', (port) => ({ host: `192.168.0.7:${port}` })],
      ['somebody behind a proxy of this machine', () => ({ 'x-forwarded-for': '203.0.113.9' })],
    ],
  )('%s changes nothing, though it has the cookie', async (_attack, headers) => {
    const { archive, cookie, isArchived, port } = await started();
    expect((await archive({ cookie, ...headers(port) })).status).toBeOneOf(REFUSED);
    expect(await isArchived()).toBe(false);
  });

  test.each([
    ['no cookie', ''],
    ['a wrong token', 'wrong'],
    ['a token that is cut off', 'cut'],
  ])('%s changes nothing', async (_what, kind) => {
    const { archive, isArchived, port, token } = await started();
    const given = kind === 'cut' ? token.slice(0, -1) : kind;
    const cookie: Record<string, string> =
      kind === '' ? {} : { cookie: `quark-token-${port}=${given}` };
    expect((await archive(cookie)).status).toBeOneOf(REFUSED);
    expect(await isArchived()).toBe(false);
  });

  test('who has no token reads, and is told that nothing can be written', async () => {
    const { cookie, port } = await started();
    const about = async (headers: Readonly<Record<string, string>>): Promise<unknown> =>
      JSON.parse((await asked(port, '/api/v1', headers, 'GET')).text);
    expect(await about({})).toMatchObject({ read_only: true });
    expect(await about({ cookie })).toMatchObject({ read_only: false });
    expect((await asked(port, '/api/v1/runs', {}, 'GET')).status).toBe(200);
  });

  test('an address with a wrong token sets no cookie, and sends nobody to another site', async () => {
    const { port, token } = await started();
    const wrong = await asked(port, '/?token=wrong', {}, 'GET');
    expect([wrong.status, wrong.headers['set-cookie']]).toEqual([303, undefined]);
    const away = await asked(port, `//evil.example/?token=${token}`, {}, 'GET');
    expect(away.headers['location'] ?? '/').toMatch(/^\/(?!\/)/);
    const named = await asked(port, `/?token=${token}`, { host: `evil.example:${port}` }, 'GET');
    expect([named.status, named.headers['set-cookie']]).toEqual([401, undefined]);
  });

  test('without changes nobody changes anything, and there is no token', async () => {
    const { archive, isArchived, server } = await started({ changes: false });
    expect(server.changeUrl).toBe(server.url);
    expect((await archive({})).status).toBeOneOf([404, 405]);
    expect(await isArchived()).toBe(false);
  });

  test('changes over an address that other machines reach are refused', async () => {
    const store = createMemoryStore();
    const refused = serveStore({ store, changes: true, host: '0.0.0.0' });
    await expect(refused).rejects.toMatchObject({ code: 'invalid_input' });
  });
});
