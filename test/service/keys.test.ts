/** Keys and shares over HTTP: who may manage whose, on each database that can hold them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createService,
  type Service,
  type ServiceOptions,
} from '../../src/service/node/create-service.ts';
import { createServiceLog } from '../../src/service/node/service-log.ts';
import type { KeyScope } from '../../src/wire/access-messages.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import type { Store } from '../../src/store/store.ts';
import { findPgbouncer } from '../support/pgbouncer-program.mjs';
import { makeSchema, throughPooler } from '../support/postgres.ts';
import { runOf } from '../support/segments.ts';
import { bearer } from './running-service.ts';

type Place = { readonly uri: string; remove(): Promise<void> };
type KeyBody = {
  readonly key: string;
  readonly key_id: string;
  readonly user: string;
  readonly scope: string;
  readonly label: string;
  readonly expires_at_ms: number | null;
  readonly revoked_at_ms: number | null;
};
/** All that answers may hold; which it is, is for the test to say. */
type Body = {
  readonly key: KeyBody;
  readonly keys: readonly KeyBody[];
  readonly shares: readonly { readonly project: string }[];
  readonly spaces: unknown;
  readonly details: Readonly<Record<string, unknown>>;
};
type Said = {
  readonly status: number;
  readonly body: Body;
  readonly text: string;
  readonly headers: Headers;
};

const PLACES: readonly (readonly [string, () => Promise<Place>])[] = [
  [
    'SQLite',
    async () => {
      const uri = await mkdtemp(join(tmpdir(), 'quark-keys-'));
      return { uri, remove: () => rm(uri, { recursive: true, force: true }) };
    },
  ],
  ['PostgreSQL', makeSchema],
  [
    'PostgreSQL through PgBouncer',
    async () => {
      const schema = await makeSchema();
      return { uri: await throughPooler(schema.uri), remove: () => schema.remove() };
    },
  ],
];
/** Where PgBouncer is not installed, its tests are shown as skipped by test/contract/postgres-store.test.ts. */
const PLACES_HERE = PLACES.filter(
  ([name]) => !name.includes('PgBouncer') || findPgbouncer() !== undefined,
);
const PROJECT = { id: 'project_1', name: 'digits', createdAtMs: 1 };
const NO_KEY = 'qk_000000000000';

describe.each(PLACES_HERE)('keys and shares over HTTP, on %s', (name, makePlace) => {
  let place: Place;
  let service: Service;
  let log = '';
  const clock = {
    nowMs: 0,
    now: (): number => clock.nowMs,
    after: () => () => undefined,
  };

  async function start(options: ServiceOptions = {}): Promise<void> {
    await service?.close();
    service = await createService({
      storage: place.uri,
      maintenance: false,
      clock,
      logger: createServiceLog('debug', (line) => {
        log += line;
      }),
      ...options,
    });
  }

  beforeEach(async () => {
    clock.nowMs = 1_700_000_000_000;
    log = '';
    place = await makePlace();
    await start();
  }, 120_000);
  afterEach(async () => {
    await service.close();
    await place.remove();
  });

  async function ask(
    key: string | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Said> {
    const response = await service(
      new Request(`http://127.0.0.1/api/v1${path}`, {
        method,
        headers: {
          ...(key === undefined ? {} : bearer(key)),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
      { remoteAddress: '127.0.0.1' },
    );
    const text = await response.text();
    return {
      status: response.status,
      text,
      body: JSON.parse(text) as Body,
      headers: response.headers,
    };
  }

  const keyOf = async (user: string, scope: KeyScope = 'admin'): Promise<string> =>
    (await service.access.createKey({ user, scope })).key;

  const storeOf = (userKey: string, space?: string): Promise<Store> =>
    openHttpStorage('http://127.0.0.1/', {
      userKey,
      fetch: (request) => service(request),
      ...(space === undefined ? {} : { space }),
    });

  it('an admin key makes, lists and revokes keys of its own user; a key is shown once', async () => {
    const admin = await keyOf('alice');
    await keyOf('bob');
    const made = await ask(admin, 'POST', '/keys', { key: { scope: 'read', label: 'laptop' } });
    expect(made).toMatchObject({
      status: 200,
      body: {
        key: { user: 'alice', scope: 'read', label: 'laptop', expires_at_ms: null },
      },
    });
    expect(made.headers.get('cache-control')).toBe('no-store');
    const { key, key_id: keyId } = made.body.key;
    expect(key.slice(0, 15)).toBe(keyId);
    expect((await ask(key, 'GET', '/account')).body).toMatchObject({
      user: 'alice',
      scope: 'read',
    });
    // `write`, as on the command line, where no scope is given.
    expect((await ask(admin, 'POST', '/keys', { key: {} })).body.key.scope).toBe('write');
    const listed = await ask(admin, 'GET', '/keys');
    expect(listed.body.keys.map((one: KeyBody) => [one.user, one.scope, one.label])).toEqual(
      expect.arrayContaining([
        ['alice', 'admin', ''],
        ['alice', 'read', 'laptop'],
        ['alice', 'write', ''],
      ]),
    );
    expect(listed.body.keys).toHaveLength(3);
    const secret = key.slice(15);
    expect(listed.text).not.toContain(secret);
    clock.nowMs += 5;
    const revoked = await ask(admin, 'DELETE', `/keys/${keyId}`);
    expect(revoked.body).toMatchObject({ key: { key_id: keyId, revoked_at_ms: clock.nowMs } });
    expect((await ask(key, 'GET', '/account')).status).toBe(401);
    const nowMs = clock.nowMs;
    clock.nowMs += 5;
    expect((await ask(admin, 'DELETE', `/keys/${keyId}`)).body.key.revoked_at_ms).toBe(nowMs);
    // Also itself, and that is the end of it.
    expect((await ask(admin, 'DELETE', `/keys/${admin.slice(0, 15)}`)).status).toBe(200);
    expect((await ask(admin, 'GET', '/keys')).status).toBe(401);
    expect(log).toContain(`"madeBy":"${admin.slice(0, 15)}"`);
    expect(log).toContain(`"keyId":"${keyId}"`);
    for (const whole of [key, admin]) expect(log).not.toContain(whole.slice(15, 30));
  });

  it('shares projects of its own user, for as long and as far as it says', async () => {
    const [admin, bob] = [await keyOf('alice'), await keyOf('bob', 'write')];
    const share = { project: 'digits', user: 'bob' };
    expect(await ask(admin, 'PUT', '/shares', { share })).toMatchObject({
      status: 404,
      body: { details: { project: 'digits', space: 'default' } },
    });
    const [a, b] = [await storeOf(admin), await storeOf(bob)];
    for (const store of [a, b]) {
      await store.ensureProject(PROJECT);
      await store.createRun(runOf());
    }
    expect(
      (await ask(bob, 'GET', '/runs', undefined, { 'quark-space': 'alice:default' })).status,
    ).toBe(404);
    expect((await ask(admin, 'PUT', '/shares', { share })).body).toEqual({
      share: { owner: 'alice', space: 'default', ...share, access: 'read' },
    });
    const spaces = async (): Promise<unknown> => (await ask(bob, 'GET', '/account')).body.spaces;
    expect(await spaces()).toMatchObject([
      {},
      { space: 'alice:default', projects: { digits: 'read' } },
    ]);
    const reading = await storeOf(bob, 'alice:default');
    expect(await reading.listRuns()).toHaveLength(1);
    expect(reading.isWritable).toBe(false);
    await ask(admin, 'PUT', '/shares', { share: { ...share, access: 'write' } });
    expect(await spaces()).toMatchObject([{}, { projects: { digits: 'write' } }]);
    const listed = await ask(admin, 'GET', '/shares');
    expect(listed.body).toEqual({
      shares: [
        {
          owner: 'alice',
          space: 'default',
          ...share,
          access: 'write',
          created_at_ms: clock.nowMs,
        },
      ],
    });
    // Whom something is shared with does not share it on, nor see with whom else it is.
    const bobsAdmin = await keyOf('bob');
    expect((await ask(bobsAdmin, 'GET', '/shares')).body).toEqual({ shares: [] });
    await keyOf('carol');
    const on = { ...share, space: 'alice:default', user: 'carol' };
    expect((await ask(bobsAdmin, 'PUT', '/shares', { share: on })).status).toBe(400);
    expect((await ask(admin, 'DELETE', '/shares?project=digits&user=bob')).status).toBe(200);
    await expect(reading.listRuns()).rejects.toThrow(/shared/);
    expect(await ask(admin, 'DELETE', '/shares?project=digits&user=bob')).toMatchObject({
      status: 404,
      body: { details: { reason: 'missing', project: 'digits', user: 'bob' } },
    });
  });

  it('a key of scope delete reads, and neither writes nor manages keys', async () => {
    const admin = await keyOf('alice');
    const made = await ask(admin, 'POST', '/keys', { key: { scope: 'delete' } });
    expect([made.status, made.body.key.scope]).toEqual([200, 'delete']);
    const { key } = made.body.key;
    expect((await ask(key, 'GET', '/account')).body).toMatchObject({ scope: 'delete' });
    const project = { project: { id: 'p', name: 'p', created_at_ms: 1 } };
    for (const [method, path, body, status] of [
      ['GET', '/runs', undefined, 200],
      ['GET', '/projects', undefined, 200],
      ['POST', '/projects', project, 403],
      ['POST', '/reclaim', {}, 403],
      ['DELETE', '/runs/r/leases/h', undefined, 403],
      ['GET', '/keys', undefined, 403],
      ['POST', '/keys', { key: {} }, 403],
      ['GET', '/shares', undefined, 403],
    ] as const)
      expect([method, path, (await ask(key, method, path, body)).status]).toEqual([
        method,
        path,
        status,
      ]);
    expect((await ask(await keyOf('alice', 'write'), 'POST', '/projects', project)).status).toBe(
      200,
    );
  });

  it('is for admin keys that are good, and for no other user', async () => {
    const admin = await keyOf('alice');
    const made = await service.access.createKey({
      user: 'alice',
      scope: 'admin',
      expiresAt: clock.nowMs + 10,
    });
    const gone = await service.access.createKey({ user: 'alice', scope: 'admin' });
    await service.access.revokeKey(gone.keyId);
    const bob = await keyOf('bob');
    await (await storeOf(admin)).ensureProject(PROJECT);
    await service.access.share({ owner: 'alice', project: 'digits', user: 'bob' });
    clock.nowMs += 10;
    const state = async (): Promise<unknown> => [
      await service.access.listKeys(),
      await service.access.listShares(),
    ];
    const asked = [
      ['GET', '/keys'],
      ['POST', '/keys', { key: { scope: 'read' } }],
      ['DELETE', `/keys/${admin.slice(0, 15)}`],
      ['GET', '/shares'],
      ['PUT', '/shares', { share: { project: 'digits', user: 'bob', access: 'write' } }],
      ['DELETE', '/shares?project=digits&user=bob'],
    ] as const;
    const known = [await keyOf('alice', 'read'), await keyOf('alice', 'write')] as const;
    const before = await state();
    for (const [key, status] of [
      [known[0], 403],
      [known[1], 403],
      [made.key, 401],
      [gone.key, 401],
      [`${admin.slice(0, 15)}${bob.slice(15)}`, 401],
      [undefined, 401],
    ] as const)
      for (const [method, path, body] of asked) {
        const { status: got, body: said } = await ask(key, method, path, body);
        expect([method, path, got, said.details['reason']]).toEqual([
          method,
          path,
          status,
          'unauthorised',
        ]);
      }
    expect(await state()).toEqual(before);

    // Bob's key is as good as Alice's, for what is Bob's.
    for (const [method, path, body, status] of [
      ['DELETE', `/keys/${admin.slice(0, 15)}`, undefined, 404],
      ['DELETE', `/keys/${NO_KEY}`, undefined, 404],
      ['POST', '/keys', { key: { user: 'alice', scope: 'read' } }, 403],
      ['POST', '/keys', { key: { user: 'nobody' } }, 403],
      ['PUT', '/shares', { share: { owner: 'alice', project: 'digits', user: 'bob' } }, 403],
      ['PUT', '/shares', { share: { project: 'digits', user: 'alice' } }, 404],
      ['DELETE', '/shares?owner=alice&project=digits&user=bob', undefined, 403],
      ['DELETE', '/shares?project=digits&user=alice', undefined, 404],
    ] as const)
      expect([method, path, (await ask(bob, method, path, body)).status]).toEqual([
        method,
        path,
        status,
      ]);
    const [foreign, none] = [
      await ask(bob, 'DELETE', `/keys/${admin.slice(0, 15)}`),
      await ask(bob, 'DELETE', `/keys/${NO_KEY}`),
    ];
    // Whether somebody else has a key of this name is not told.
    expect(foreign.text.replaceAll(admin.slice(0, 15), NO_KEY)).toBe(none.text);
    expect(await state()).toEqual(before);
  });

  it('no key outlives the one that made it', async () => {
    const endMs = clock.nowMs + 1_000;
    const { key } = await service.access.createKey({
      user: 'alice',
      scope: 'admin',
      expiresAt: endMs,
    });
    const make = (wanted: object): Promise<Said> => ask(key, 'POST', '/keys', { key: wanted });
    const ends = async (wanted: object): Promise<unknown> =>
      (await make(wanted)).body.key.expires_at_ms;
    expect(await ends({ scope: 'admin' })).toBe(endMs);
    expect(await ends({ expires_at_ms: endMs })).toBe(endMs);
    expect(await ends({ expires_at_ms: endMs - 1 })).toBe(endMs - 1);
    expect(await ends({ expires_at_ms: new Date(endMs - 2).toISOString() })).toBe(endMs - 2);
    for (const later of [endMs + 1, new Date(endMs + 1).toISOString(), null])
      expect(await make({ expires_at_ms: later })).toMatchObject({
        status: 403,
        body: { details: { field: 'expires_at_ms', rule: expect.stringContaining(`${endMs}`) } },
      });
    for (const wrong of [clock.nowMs, 'soon', {}, true, 1e300])
      expect(await make({ expires_at_ms: wrong })).toMatchObject({
        status: 400,
        body: { code: 'invalid_input', details: { field: 'expires_at_ms' } },
      });
    expect(await service.access.listKeys()).toHaveLength(5);
    const free = await keyOf('alice');
    expect((await ask(free, 'POST', '/keys', { key: { expires_at_ms: null } })).status).toBe(200);
  });

  it('a user has so many keys and shares, however many requests come at once', async () => {
    await start({ limits: { keysPerUser: 3, sharesPerUser: 2 } });
    const admin = await keyOf('alice');
    const other = await keyOf('alice');
    const store = await storeOf(admin);
    for (const [i, project] of ['a', 'b', 'c', 'd'].entries())
      await store.ensureProject({ id: `p${i}`, name: project, createdAtMs: 1 });
    await keyOf('bob', 'read');
    const statuses = async (said: readonly Promise<Said>[]): Promise<readonly number[]> =>
      (await Promise.all(said)).map(({ status }) => status).toSorted((a, b) => a - b);
    expect(
      await statuses(
        [admin, other, admin, other].map((key) => ask(key, 'POST', '/keys', { key: {} })),
      ),
    ).toEqual([200, 409, 409, 409]);
    expect(
      await statuses(
        ['a', 'b', 'c', 'd'].map((project) =>
          ask(admin, 'PUT', '/shares', { share: { project, user: 'bob' } }),
        ),
      ),
    ).toEqual([200, 200, 409, 409]);
    const refused = await ask(admin, 'POST', '/keys', { key: {} });
    expect(refused.body).toMatchObject({
      code: 'store_failed',
      details: { reason: 'rejected', field: 'keys', rule: 'at most 3 of one user' },
    });
    // What is full can still be changed, and made room in.
    const [first] = (await ask(admin, 'GET', '/shares')).body.shares;
    const again = { project: first?.project, user: 'bob', access: 'write' };
    expect((await ask(admin, 'PUT', '/shares', { share: again })).status).toBe(200);
    await ask(admin, 'DELETE', `/keys/${other.slice(0, 15)}`);
    expect((await ask(admin, 'POST', '/keys', { key: {} })).status).toBe(200);
    expect((await ask(await keyOf('bob'), 'POST', '/keys', { key: {} })).status).toBe(200);
  });

  if (name !== 'SQLite') return;

  it('needs a key where none is needed for all else', async () => {
    const { status, text } = await ask(undefined, 'POST', '/keys', { key: {} });
    expect([status, text]).toEqual([403, expect.stringContaining('quark keys')]);
    expect((await ask(undefined, 'GET', '/runs')).status).toBe(200);
    expect(await service.access.hasKeys()).toBe(false);
  });

  it('says what is wrong with what it gets, and does nothing', async () => {
    const admin = await keyOf('alice');
    await keyOf('bob', 'read');
    await (await storeOf(admin)).ensureProject(PROJECT);
    const before = await service.access.listKeys();
    const share = { project: 'digits', user: 'bob' };
    for (const [method, path, body, status, field] of [
      ['POST', '/keys', undefined, 400, 'content-type'],
      ['POST', '/keys', '{', 400, 'body'],
      ['POST', '/keys', [], 400, 'body'],
      ['POST', '/keys', {}, 400, 'key'],
      ['POST', '/keys', { key: [] }, 400, 'key'],
      ['POST', '/keys', { key: { scope: 'root' } }, 400, 'scope'],
      ['POST', '/keys', { key: { scope: ['admin'] } }, 400, 'scope'],
      ['POST', '/keys', { key: { scope: null } }, 400, 'scope'],
      ['POST', '/keys', { key: { label: '' } }, 400, 'label'],
      ['POST', '/keys', { key: { label: 'x'.repeat(513) } }, 400, 'label'],
      ['POST', '/keys', { key: { label: 7 } }, 400, 'key.label'],
      ['POST', '/keys', { key: { expires: '2099-01-01' } }, 400, 'key'],
      ['POST', '/keys', '{"key": {"__proto__": {"scope": "read"}}}', 400, 'key'],
      ['POST', '/keys', { key: { user: null } }, 403, 'user'],
      ['POST', '/keys', { key: {}, more: 'x'.repeat(20_000) }, 413, 'body'],
      ['DELETE', `/keys/${admin}`, undefined, 400, 'key'],
      ['DELETE', '/keys/..%2f..', undefined, 400, 'key'],
      ['PUT', '/shares', { share: { project: 'digits' } }, 400, 'share.user'],
      ['PUT', '/shares', { share: { ...share, access: 'admin' } }, 400, 'access'],
      ['PUT', '/shares', { share: { ...share, user: 'alice' } }, 400, 'user'],
      ['PUT', '/shares', { share: { ...share, user: '../bob' } }, 400, 'user'],
      ['PUT', '/shares', { share: { ...share, space: 'a/b' } }, 400, 'space'],
      ['PUT', '/shares', { share: { ...share, project: '' } }, 400, 'project'],
      ['DELETE', '/shares', undefined, 400, 'user'],
      ['DELETE', '/shares?project=digits&user=bob&all=1', undefined, 400, 'query'],
      ['DELETE', '/shares?project=digits&user=bob&user=carol', undefined, 400, 'query'],
    ] as const) {
      const said = await ask(admin, method, path, body);
      expect([method, path, body, said.status, said.body.details['field']]).toEqual([
        method,
        path,
        body,
        status,
        field,
      ]);
      expect(said.body.details['rule'] ?? '').not.toBe('');
      expect(said.text).not.toContain(admin.slice(15, 30));
    }
    for (const [method, path, allow] of [
      ['PUT', '/keys', 'GET, HEAD, POST'],
      ['GET', `/keys/${NO_KEY}`, 'DELETE'],
      ['POST', '/shares', 'GET, HEAD, PUT, DELETE'],
      ['POST', '/account', 'GET, HEAD, DELETE'],
    ] as const) {
      const { status, headers } = await ask(admin, method, path);
      expect([method, path, status, headers.get('allow')]).toEqual([method, path, 405, allow]);
    }
    for (const path of ['/keys/', '/keys/a/b', '/shares/digits'])
      expect((await ask(admin, 'GET', path)).status).toBe(404);
    const old = await ask(admin, 'GET', '/keys', undefined, { 'quark-protocol': '99' });
    expect(old.body.details['reason']).toBe('version');
    expect(await service.access.listKeys()).toEqual(before);
    expect(await service.access.listShares()).toEqual([]);
  });
});
