/** The audit log over HTTP and on the command line: who may read which lines, and what refused attempts leave. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { KEY_SCOPES, type KeyScope } from '../../src/wire/access-messages.ts';
import { decodeAuditLine, type AuditLine } from '../../src/wire/audit-messages.ts';
import type { ServedService } from '../../src/service/node/serve-service.ts';
import { quark } from '../cli/fake-io.ts';
import { ask, bearer, RunningServices } from './running-service.ts';

const services = new RunningServices();
let service: ServedService;
let folder: string;

beforeEach(async () => {
  folder = services.folder();
  service = await services.start({ storage: folder, maintenance: false });
});
afterEach(() => services.clear());

const keyOf = async (user: string, scope: KeyScope): Promise<string> =>
  (await service.access.createKey({ user, scope })).key;

async function linesOf(key: string, query = ''): Promise<readonly AuditLine[]> {
  const { status, text } = await ask(service.port, `/api/v1/audit${query}`, {
    headers: bearer(key),
  });
  expect(status, text).toBe(200);
  const body = JSON.parse(text) as { readonly lines: readonly unknown[] };
  return body.lines.map(decodeAuditLine);
}

it('is read with scope admin, by each user about what is theirs', async () => {
  const keys = new Map<KeyScope, string>();
  for (const scope of KEY_SCOPES) keys.set(scope, await keyOf('alice', scope));
  const bob = await keyOf('bob', 'admin');
  for (const scope of ['read', 'write', 'delete'] as const)
    expect(
      (
        await ask(service.port, '/api/v1/audit', {
          headers: bearer(keys.get(scope) ?? ''),
        })
      ).status,
    ).toBe(403);
  expect((await ask(service.port, '/api/v1/audit')).status).toBe(401);
  const admin = keys.get('admin') ?? '';
  const alices = await linesOf(admin);
  // Newest first.
  expect(alices.map(({ action, detail }) => [action, detail['needed'] ?? detail['scope']])).toEqual(
    [
      ['refused', 'admin'],
      ['refused', 'admin'],
      ['refused', 'admin'],
      ['key.create', 'admin'],
      ['key.create', 'delete'],
      ['key.create', 'write'],
      ['key.create', 'read'],
      ['user.create', undefined],
    ],
  );
  expect(alices[0]).toMatchObject({
    user: 'alice',
    keyId: keys.get('delete')?.slice(0, 15),
    from: '127.0.0.1',
    targetId: 'GET /api/v1/audit',
  });
  expect((await linesOf(bob)).map(({ action }) => action)).toEqual(['key.create', 'user.create']);
  expect(await linesOf(admin, '?action=key&after=0&limit=1')).toMatchObject([
    { action: 'key.create', detail: { scope: 'read' } },
  ]);
});

it('says what is wrong with a question', async () => {
  const admin = await keyOf('alice', 'admin');
  for (const query of [
    '?after=-1',
    '?after=x',
    '?after=1&before=2',
    '?limit=0',
    '?limit=501',
    '?limit=5&limit=6',
    '?since_ms=soon',
    '?colour=red',
    '?action=',
    '?target=%00',
    `?user=${'x'.repeat(600)}`,
  ]) {
    const { status, text } = await ask(service.port, `/api/v1/audit${query}`, {
      headers: bearer(admin),
    });
    expect([query, status, text]).toEqual([query, 400, expect.stringContaining('invalid_input')]);
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'])
    expect(
      (await ask(service.port, '/api/v1/audit', { method, headers: bearer(admin) })).status,
    ).toBe(405);
});

it('refused attempts fill no log, however many one user makes', async () => {
  const reader = await keyOf('alice', 'read');
  const admin = await keyOf('alice', 'admin');
  const headers = { ...bearer(reader), 'x-forwarded-for': `${'9'.repeat(900)}\t` };
  for (let i = 0; i < 70; i++)
    expect((await ask(service.port, '/api/v1/keys', { headers })).status).toBe(403);
  const lines = await linesOf(admin, '?action=refused&limit=500');
  expect(lines).toHaveLength(60);
  expect(lines[0]?.detail).toEqual({ needed: 'admin', claimed_from: '9'.repeat(512) });
  // A write that is refused, or a request without a good key, is in the log of requests only.
  await ask(service.port, '/api/v1/reclaim', { method: 'POST', headers: bearer(reader) });
  await ask(service.port, '/api/v1/keys', { headers: bearer(`${admin.slice(0, 30)}x`) });
  expect(await linesOf(admin, '?action=refused&limit=500')).toHaveLength(60);
});

it('quark audit shows it, at the machine for all users and from elsewhere for one', async () => {
  const admin = await keyOf('alice', 'admin');
  await keyOf('bob', 'read');
  const here = await quark(['audit', '--storage-dir', folder, '--json'], { cwd: folder });
  expect(here.code, here.stderr).toBe(0);
  const lines = JSON.parse(here.stdout) as readonly {
    readonly action: string;
    readonly id: number;
  }[];
  expect(lines.map(({ action }) => action)).toEqual([
    'user.create',
    'key.create',
    'user.create',
    'key.create',
  ]);
  const there = await quark(['audit', '--storage', service.url, '--since', '1h'], {
    cwd: folder,
    env: { QUARK_USER_KEY: admin },
  });
  expect(there).toMatchObject({ code: 0, stdout: expect.stringContaining(admin.slice(0, 15)) });
  expect(there.stdout.split('\n').filter((line) => line !== '')).toHaveLength(3);
  expect(there.stdout).not.toContain('bob');
  const none = await quark(['audit', '--storage-dir', folder, '--action', 'run'], { cwd: folder });
  expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'No lines.\n' });
  const one = await quark(
    ['audit', '--storage-dir', folder, '--limit', '1', '--action', 'key', '--json'],
    { cwd: folder },
  );
  expect(JSON.parse(one.stdout)).toMatchObject([{ action: 'key.create', id: lines[3]?.id }]);
  const wrong = await quark(['audit', '--storage-dir', folder, '--since', 'soon'], { cwd: folder });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--since') });
  const typo = await quark(['audit', '--storage-dir', folder, '--action', 'rnu'], { cwd: folder });
  expect(typo).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--action must be one of .*run\.delete.*got "rnu"/),
  });
});
