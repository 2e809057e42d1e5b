/** `quark keys` and `quark share` at a service, from another machine: with its address and a key of scope admin. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serveStore } from '../../src/node.ts';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { quark, type Ran } from './fake-io.ts';

let service: ServedService;
let folder: string;
let admin: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-keys-'));
  service = await serveService({ storage: join(folder, 'service'), maintenance: false });
  admin = (await service.access.createKey({ user: 'alice', scope: 'admin' })).key;
  await service.access.createKey({ user: 'bob' });
  const store = await openHttpStorage(service.url, { userKey: admin });
  await store.ensureProject({ id: 'p', name: 'digits', createdAtMs: 1 });
  await store.close();
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

/** With the service in the environment, as a training machine has it. */
function at(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  return quark(args, {
    cwd: folder,
    env: { QUARK_PERSISTENCE_URL: service.url, QUARK_USER_KEY: admin, ...env },
  });
}

it('makes, lists and revokes keys of the user whose key it has', async () => {
  const made = await at(['keys', 'create', '--scope', 'read', '--expires', '2d']);
  expect(made).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^qk_[0-9A-Za-z]{61}\n$/),
    stderr: expect.stringContaining('A key of alice, scope read, ends'),
  });
  const key = made.stdout.trim();
  expect((await service.access.identify(key)).scope).toBe('read');
  const named = await quark(
    ['keys', 'create', 'alice', '--label', 'ci', '--json', '--url', service.url],
    { cwd: folder, env: { QUARK_USER_KEY: admin } },
  );
  expect(JSON.parse(named.stdout)).toMatchObject({ user: 'alice', scope: 'write', label: 'ci' });
  const listed = await at(['keys', 'list', '--json']);
  expect(JSON.parse(listed.stdout)).toHaveLength(3);
  expect(listed.stdout).not.toContain(key.slice(15, 40));
  expect((await at(['keys', 'list'])).stdout).toContain(key.slice(0, 15));
  expect((await at(['keys', 'revoke', key.slice(0, 15)])).stdout).toContain('of no use');
  await expect(service.access.identify(key)).rejects.toThrow(/revoked/);
});

it('shares, lists shares and takes them back', async () => {
  const shared = await at(['share', 'digits', '--with', 'bob', '--write']);
  expect(shared).toMatchObject({
    code: 0,
    stdout: 'bob can write "digits" of alice, in the space "alice:default".\n',
  });
  expect(JSON.parse((await at(['share', '--json'])).stdout)).toEqual([
    { owner: 'alice', space: 'default', project: 'digits', user: 'bob', access: 'write' },
  ]);
  const remove = ['share', 'digits', '--with', 'bob', '--remove'];
  expect((await at(remove)).stdout).toContain('no longer sees');
  expect((await at(remove)).stdout).toContain('was not shared');
});

it('says why not', async () => {
  const weak = (await service.access.createKey({ user: 'alice' })).key;
  const readOnly = await serveStore({ store: createMemoryStore() });
  const list = ['keys', 'list'];
  for (const [ran, code, said] of [
    [await at(list, { QUARK_USER_KEY: weak }), 1, /scope "admin"; yours has "write"/],
    [await at(list, { QUARK_USER_KEY: 'secret' }), 1, /userKey must be/],
    [await at(list, { QUARK_USER_KEY: `${admin.slice(0, -1)}!` }), 1, /userKey must be/],
    [await at(list, { QUARK_USER_KEY: `${admin}0` }), 1, /typing error/],
    [await at(list, { QUARK_USER_KEY: '' }), 1, /asks for a key/],
    [await at([...list, '--url', 'http://127.0.0.1:1']), 1, /cannot be reached/],
    [await at([...list, '--url', readOnly.url]), 1, /manages no keys/],
    [await at([...list, '--url', service.url, '--storage-dir', 'x']), 2, /either --url/],
    [await at(['keys', 'create', 'bob']), 1, /user must be "alice"/],
    [await at(['keys', 'create', '--expires', '2001-01-01']), 1, /in the future/],
    [await at(['keys', 'revoke']), 2, /needs the id/],
    [await at(['keys', 'revoke', 'qk_000000000000']), 3, /You have no key/],
    [await at(['share', 'digits']), 2, /needs --with/],
    [await at(['share', 'digits', '--with', 'carol']), 3, /no user "carol"/],
    [await at(['share', 'none', '--with', 'bob']), 3, /no project "none"/],
    [await at(['share', 'digits', '--with', 'alice', '--from', 'bob']), 1, /owner must be "alice"/],
    // What is named on the command line comes before the environment.
    [await at([...list, '--storage-dir', 'nothing']), 3, /nothing/],
  ] as const)
    expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(said)]);
  await readOnly.close();
});
