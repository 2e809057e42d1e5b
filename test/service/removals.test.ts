/** Deletion over HTTP with each scope of a key, what the audit log says of it, and removal of spaces and users. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ServedService } from '../../src/service/node/serve-service.ts';
import { KEY_SCOPES, type KeyScope } from '../../src/wire/access-messages.ts';
import { openServiceAccess } from '../../src/wire/http-access.ts';
import { quark } from '../cli/fake-io.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { runOf } from '../support/segments.ts';
import { ask, bearer, RunningServices, storeOf, type Answer } from './running-service.ts';

const services = new RunningServices();
let service: ServedService;
let folder: string;
const keys = new Map<KeyScope | 'guest', string>();

beforeEach(async () => {
  folder = services.folder();
  service = await services.start({ storage: folder, maintenance: false });
  for (const scope of KEY_SCOPES)
    keys.set(scope, (await service.access.createKey({ user: 'alice', scope })).key);
  keys.set('guest', (await service.access.createKey({ user: 'bob', scope: 'admin' })).key);
  const store = await storeOf(service, keyOf('write'));
  await store.ensureProject({ id: 'project_1', name: 'digits', createdAtMs: 1 });
  for (const id of ['r1', 'r2', 'r3']) {
    await store.createRun(runOf({ id }));
    await store.appendSegments([metricSegmentOf(0, { runId: id })]);
  }
  await service.access.share({ owner: 'alice', project: 'digits', user: 'bob', access: 'write' });
});
afterEach(() => services.clear());

const keyOf = (scope: KeyScope | 'guest'): string => keys.get(scope) ?? '';

function send(
  scope: KeyScope | 'guest',
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  return ask(service.port, `/api/v1${path}`, {
    method,
    headers: {
      ...bearer(keyOf(scope)),
      'content-type': 'application/json',
      ...(scope === 'guest' ? { 'quark-space': 'alice:default' } : {}),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

it('a key of each scope at each route that deletes: what is refused leaves a line and nothing else', async () => {
  const routes = [
    ['DELETE', '/runs/r1', undefined, 'delete'],
    ['POST', '/runs/r1/archive', {}, 'delete'],
    ['POST', '/runs/r1/restore', {}, 'delete'],
    ['POST', '/purge', { force: ['r1'] }, 'admin'],
    ['GET', '/audit', undefined, 'admin'],
    ['GET', '/quotas', undefined, 'admin'],
    ['PUT', '/quotas', { quota: { project: 'digits', runs: 9 } }, 'admin'],
    ['DELETE', '/spaces/default?dry_run=yes', undefined, 'delete'],
    ['DELETE', '/spaces/default?purge=yes&dry_run=yes', undefined, 'purge'],
    ['DELETE', '/account?user=alice&dry_run=yes', undefined, 'admin'],
  ] as const;
  for (const [method, path, body, needed] of routes)
    for (const scope of ['read', 'write', 'delete'] as const) {
      if (scope === 'delete' && needed === 'delete') continue;
      const { status, text } = await send(scope, method, path, body);
      expect([method, path, scope, status]).toEqual([method, path, scope, 403]);
      expect(text).toContain('unauthorised');
    }
  // A guest with the right to write, and scope admin over what is theirs, deletes nothing of the owner.
  for (const [method, path, body] of routes.slice(0, 4))
    expect([path, (await send('guest', method, path, body)).status]).toEqual([path, 403]);
  const store = await storeOf(service, keyOf('admin'));
  expect((await store.listRuns()).map(({ id }) => id).sort()).toEqual(['r1', 'r2', 'r3']);
  const refused = await service.access.audit.list({ action: 'refused', limit: 500, after: 0 });
  // The purge of a space is one of scope delete that asks for more.
  expect(refused.filter(({ user }) => user === 'alice')).toHaveLength(10 * 3 - 4);
  expect(refused.find(({ targetId }) => targetId.startsWith('DELETE /api/v1/runs'))).toMatchObject({
    targetId: 'DELETE /api/v1/runs/:runId',
    detail: { needed: 'delete', run_id: 'r1' },
  });
  for (const [method, path, body] of routes.slice(4))
    expect([path, (await send('admin', method, path, body)).status]).toEqual([path, 200]);
});

it('a key of scope delete deletes, archives and restores, each with a line before it', async () => {
  expect((await send('delete', 'DELETE', '/runs/r1')).status).toBe(200);
  expect((await send('delete', 'POST', '/runs/r2/archive', {})).status).toBe(200);
  expect((await send('delete', 'POST', '/runs/r2/restore', {})).status).toBe(200);
  expect((await send('delete', 'POST', '/runs/r1/restore', {})).status).toBe(200);
  expect((await send('admin', 'DELETE', '/runs/r3')).status).toBe(200);
  expect((await send('admin', 'POST', '/purge', { force: ['r3'] })).status).toBe(200);
  expect((await send('delete', 'DELETE', '/runs/never')).status).toBe(404);
  const lines = await service.access.audit.list({ action: 'run', after: 0 });
  expect(lines.map(({ action, targetId, keyId }) => [action, targetId, keyId])).toEqual(
    [
      ['run.delete', 'r1', 'delete'],
      ['run.archive', 'r2', 'delete'],
      ['run.restore', 'r2', 'delete'],
      ['run.restore', 'r1', 'delete'],
      ['run.delete', 'r3', 'admin'],
      ['run.purge', 'default', 'admin'],
    ].map(([action, id, scope]) => [action, id, keyOf(scope as KeyScope).slice(0, 15)]),
  );
  // A table and an artifact of a run that has ended.
  const store = await storeOf(service, keyOf('write'));
  const run = await store.findRun('r1');
  if (run === undefined) throw new Error('The run was restored.');
  await store.updateRun({ ...run, status: 'completed' });
  for (const scope of ['read', 'write', 'delete', 'guest'] as const)
    expect((await send(scope, 'DELETE', '/runs/r1/tables/metrics')).status).toBe(403);
  expect((await send('admin', 'DELETE', '/runs/r1/tables/metrics')).status).toBe(200);
  expect((await send('admin', 'DELETE', '/runs/never/tables/metrics')).status).toBe(404);
  expect(await service.access.audit.list({ action: 'table', after: 0 })).toMatchObject([
    { action: 'table.delete', targetId: 'r1', detail: { name: 'metrics' }, user: 'alice' },
  ]);
  expect(lines[0]).toMatchObject({ user: 'alice', space: 'default', from: '127.0.0.1' });
});

it('deletion makes room in a quota, and restoring takes it back', async () => {
  await service.access.setQuota({ user: 'alice', runs: 3 });
  const store = await storeOf(service, keyOf('write'));
  await expect(store.createRun(runOf({ id: 'r4' }))).rejects.toMatchObject({ reason: 'quota' });
  await send('delete', 'DELETE', '/runs/r1');
  await store.createRun(runOf({ id: 'r4' }));
  expect(await service.access.listQuotas()).toMatchObject([
    { user: 'alice', usedRuns: 3, usedSegments: 2 },
    { user: 'bob' },
    { user: 'local' },
  ]);
  // What was deleted can be restored: the quota is passed, and what is new is refused.
  await send('delete', 'POST', '/runs/r1/restore', {});
  await expect(store.createRun(runOf({ id: 'r5' }))).rejects.toMatchObject({ reason: 'quota' });
  const before = await service.access.listQuotas();
  expect(before).toMatchObject([{ usedRuns: 4, usedSegments: 3 }, {}, {}]);
  await service.access.quotas.recount();
  expect(await service.access.listQuotas()).toEqual(before);
});

it('a space and a user are removed from elsewhere, and what is wrong removes nothing', async () => {
  const deleting = openServiceAccess(service.url, { userKey: keyOf('delete') });
  const admin = openServiceAccess(service.url, { userKey: keyOf('admin') });
  for (const [scope, path, status] of [
    ['admin', '/account', 400],
    ['admin', '/account?user=bob', 400],
    ['admin', '/account?user=alice&user=alice', 400],
    ['admin', '/account?user=alice&purge=maybe', 400],
    ['delete', '/spaces/other', 404],
    ['delete', '/spaces/..', 405],
    ['delete', '/spaces/a%2Fb', 400],
    ['delete', '/spaces/default?keep_ms=-1', 400],
    ['delete', '/spaces/default?keep_ms=9999999999999999', 400],
    ['delete', '/spaces/default?colour=red', 400],
  ] as const)
    expect([path, (await send(scope, 'DELETE', path)).status]).toEqual([path, status]);
  expect(await service.access.listShares()).toHaveLength(1);
  expect(await deleting.removeSpace('default', { isDryRun: true })).toEqual({
    spaces: ['default'],
    projects: 1,
    runs: 3,
    keys: 0,
  });
  const store = await storeOf(service, keyOf('admin'));
  expect(await store.listRuns()).toHaveLength(3);
  expect(await deleting.removeSpace('default')).toMatchObject({ runs: 3 });
  expect(await store.listRuns()).toEqual([]);
  expect((await send('guest', 'GET', '/runs')).status).toBe(404);
  expect(await admin.removeAccount({ purge: true })).toMatchObject({ keys: 4 });
  for (const scope of KEY_SCOPES) expect((await send(scope, 'GET', '/runs')).status).toBe(401);
  expect((await service.access.listUsers()).map(({ name }) => name)).toEqual(['bob']);
  await Promise.all([deleting.close(), admin.close()]);
});

it('quark spaces and quark users show what they would remove, and remove it with --yes', async () => {
  const here = (args: readonly string[]) =>
    quark([...args, '--storage-dir', folder], { cwd: folder });
  expect(await here(['spaces', 'list', '--user', 'alice'])).toMatchObject({
    code: 0,
    stdout: 'default\n',
  });
  expect(await here(['spaces', 'rm', 'default', '--user', 'alice'])).toMatchObject({
    code: 0,
    stdout: 'The space default would be removed: 1 space, 1 project, 3 runs, 0 keys.\n',
    stderr: expect.stringContaining('--yes'),
  });
  const store = await storeOf(service, keyOf('read'));
  expect(await store.listRuns()).toHaveLength(3);
  expect(
    (await here(['spaces', 'rm', 'default', '--user', 'alice', '--yes', '--keep', '7'])).stdout,
  ).toContain('is removed: 1 space,');
  expect(await store.listRuns()).toEqual([]);
  expect((await here(['users', 'list'])).stdout).toBe('alice\nbob\n');
  const away = { cwd: folder, env: { QUARK_USER_KEY: keyOf('guest') } };
  for (const args of [
    ['spaces', 'rm', 'default', '--user', 'alice', '--yes', '--url', service.url],
    ['spaces', 'rm', 'default', '--keep', '3', '--purge', '--url', service.url],
  ])
    expect(await quark(args, away)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--user must be "bob".*got "alice"|either --keep or --purge/),
    });
  expect((await quark(['users', 'rm', 'alice', '--yes', '--url', service.url], away)).code).toBe(2);
  expect((await quark(['users', 'rm', 'bob', '--yes', '--url', service.url], away)).code).toBe(0);
  expect(
    JSON.parse((await here(['users', 'rm', 'alice', '--yes', '--json'])).stdout),
  ).toMatchObject({ removed: true, keys: 4 });
  expect((await here(['users', 'list'])).stdout).toBe('');
  for (const [args, code] of [
    [['users', 'rm'], 2],
    [['users', 'drop'], 2],
    [['spaces', 'rm', 'default'], 2],
    [['spaces', 'rm', '--user', 'alice'], 2],
    [['users', 'rm', 'alice', '--yes'], 3],
    [['spaces', 'rm', 'default', '--user', 'alice'], 3],
  ] as const)
    expect([args, (await here(args)).code]).toEqual([args, code]);
});
