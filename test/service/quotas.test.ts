/** Quotas over HTTP, on the command line, and as an outbox sees them. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MetricsLogger } from '../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { isAboutAll, kindOfFailure } from '../../src/sync/failures.ts';
import type { ServedService } from '../../src/service/node/serve-service.ts';
import { KEY_SCOPES, type KeyScope } from '../../src/wire/access-messages.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { decodeQuota, type QuotaReport } from '../../src/wire/quota-messages.ts';
import { quark } from '../cli/fake-io.ts';
import { runOf } from '../support/segments.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { ask, bearer, RunningServices, storeOf } from './running-service.ts';

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

type Said = {
  readonly status: number;
  readonly text: string;
  readonly quotas: readonly QuotaReport[];
};

async function quotas(key: string, method = 'GET', quota?: unknown): Promise<Said> {
  const { status, text } = await ask(service.port, '/api/v1/quotas', {
    method,
    headers: { ...bearer(key), 'content-type': 'application/json' },
    ...(quota === undefined ? {} : { body: JSON.stringify({ quota }) }),
  });
  const body = JSON.parse(text) as { quotas?: unknown[]; quota?: unknown };
  const given = body.quotas ?? (body.quota === undefined ? [] : [body.quota]);
  return { status, text, quotas: given.map(decodeQuota) };
}

it('a key of scope admin reads the quotas of its user, and sets those of projects only', async () => {
  const keys = new Map<KeyScope, string>();
  for (const scope of KEY_SCOPES) keys.set(scope, await keyOf('alice', scope));
  await keyOf('bob', 'read');
  const admin = keys.get('admin') ?? '';
  const store = await storeOf(service, admin);
  await store.ensureProject({ id: 'project_1', name: 'digits', createdAtMs: 1 });
  const quota = { project: 'digits', runs: 1 };
  for (const scope of ['read', 'write', 'delete'] as const) {
    expect((await quotas(keys.get(scope) ?? '')).status).toBe(403);
    expect((await quotas(keys.get(scope) ?? '', 'PUT', quota)).status).toBe(403);
  }
  expect((await quotas(admin)).quotas).toMatchObject([
    { user: 'alice', project: null, runs: null },
  ]);
  expect((await quotas(admin, 'PUT', quota)).quotas).toMatchObject([
    { user: 'alice', space: 'default', project: 'digits', runs: 1, usedRuns: 0 },
  ]);
  await store.createRun(runOf({ id: 'r1' }));
  await expect(store.createRun(runOf({ id: 'r2' }))).rejects.toMatchObject({
    reason: 'quota',
    details: { resource: 'runs', of: 'project', project: 'digits', limit: 1, used: 1, status: 413 },
  });
  for (const [wrong, status] of [
    [{ ...quota, user: 'bob' }, 403],
    [{ runs: 1 }, 400],
    [{ project: 'other', runs: 1 }, 404],
    [{ project: 'digits' }, 400],
    [{ ...quota, runs: -1 }, 400],
    [{ ...quota, runs: 1e300 }, 400],
    [{ ...quota, runs: 'many' }, 400],
    [{ ...quota, space: 'a/b' }, 400],
    [{ ...quota, colour: 'red' }, 400],
    [[], 400],
  ] as const)
    expect([wrong, (await quotas(admin, 'PUT', wrong)).status]).toEqual([wrong, status]);
  // What would raise the quota of the user is not there.
  expect((await quotas(admin)).quotas).toHaveLength(2);
  expect(await service.access.audit.list({ action: 'quota' })).toMatchObject([
    { action: 'quota.set', user: 'alice', targetId: 'digits', detail: { runs: 1 } },
  ]);
});

it('answers warn from four fifths on, and so do the counters and the log', async () => {
  const [key, admin] = [await keyOf('alice', 'write'), await keyOf('alice', 'admin')];
  const store = await storeOf(service, key);
  await store.ensureProject({ id: 'project_1', name: 'digits', createdAtMs: 1 });
  await service.access.setQuota({ user: 'alice', runs: 5 });
  for (const id of ['r1', 'r2', 'r3']) await store.createRun(runOf({ id }));
  expect(await store.nearQuotas?.()).toEqual([]);
  await store.createRun(runOf({ id: 'r4' }));
  expect(await store.nearQuotas?.()).toEqual([{ of: 'user', resource: 'runs', used: 4, limit: 5 }]);
  await store.createRun(runOf({ id: 'r5' }));
  const metrics = await ask(service.port, '/metrics', { headers: bearer(admin) });
  expect(metrics.text).toMatch(/^quark_quotas_near 0$/m);
  expect(metrics.text).toMatch(/^quark_quotas_used_up 1$/m);
  const warned = services.lines.filter(({ msg, message }) =>
    String(msg ?? message).includes('four fifths'),
  );
  expect(warned).toMatchObject([{ resource: 'runs', used: 4, limit: 5 }]);
  await service.access.setQuota({ user: 'alice', runs: 100 });
  await store.createRun(runOf({ id: 'r6' }));
  expect(await store.nearQuotas?.()).toEqual([]);
});

it('eight clients at once pass a quota by less than a request each, and lose nothing that was stored', async () => {
  const key = await keyOf('alice', 'write');
  const clients = await Promise.all(Array.from({ length: 8 }, () => storeOf(service, key)));
  await clients[0]?.ensureProject({ id: 'p', name: 'p', createdAtMs: 1 });
  for (let i = 0; i < 8; i++)
    await clients[i]?.createRun(runOf({ id: `r${i}`, projectId: 'p', projectName: 'p' }));
  await service.access.setQuota({ user: 'alice', segments: 20 });
  let stored = 0;
  await Promise.all(
    clients.map(async (client, i) => {
      for (let batchNumber = 0; batchNumber < 6; batchNumber++)
        try {
          await client.appendSegments([metricSegmentOf(batchNumber, { runId: `r${i}` })]);
          stored++;
        } catch (error) {
          expect(error).toMatchObject({ reason: 'quota' });
        }
    }),
  );
  expect(stored).toBeGreaterThanOrEqual(20);
  expect(stored).toBeLessThan(28);
  const counts = await Promise.all(
    clients.map(
      async (client, i) => (await client.listSegments({ runId: `r${i}`, table: 'metrics' })).length,
    ),
  );
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(stored);
});

it('an outbox waits, says why, loses nothing, and goes on when there is room', async () => {
  const key = await keyOf('alice', 'write');
  await service.access.setQuota({ user: 'alice', bytes: 100 });
  const session = await TrainingSession.startRun({
    project: 'p',
    storageDir: join(folder, 'mine'),
    persistenceUrl: service.url,
    userKey: key,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 500; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await metrics.flush();
  await expect
    .poll(async () => (await session.syncStatus()).lastError?.reason, { timeout: 20_000 })
    .toBe('quota');
  await expect
    .poll(async () => (await session.syncStatus()).state, { timeout: 20_000 })
    .toBe('waiting');
  const status = await session.syncStatus();
  expect(status.pendingRows).toBeGreaterThanOrEqual(500);
  expect(status.refusedSegments).toEqual([]);
  expect(status.lastError?.message).toContain('The quota of 100 B is used up');
  // Slowly: not the half second of a service that is away.
  expect((status.nextAttemptAtMs ?? 0) - (status.lastError?.atMs ?? 0)).toBeGreaterThanOrEqual(
    30_000,
  );
  await service.access.setQuota({ user: 'alice', bytes: 10_000_000 });
  expect(await session.synced({ timeoutMs: 30_000 })).toMatchObject({ pendingRows: 0 });
  await session.endRun();
  await session.close();
  const remote = await openHttpStorage(service.url, { userKey: key, space: 'mine' });
  const found = await remote.listSegments({ runId: session.runId, table: 'metrics' });
  expect(found.reduce((sum, { rowCount }) => sum + rowCount, 0)).toBe(500);
  await remote.close();
}, 90_000);

it('a full quota of a user is about all runs, one of a project or of runs about one', async () => {
  const key = await keyOf('alice', 'write');
  const store = await storeOf(service, key);
  await store.ensureProject({ id: 'project_1', name: 'digits', createdAtMs: 1 });
  const errorOf = async (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );
  await store.createRun(runOf({ id: 'r1' }));
  await service.access.setQuota({ user: 'alice', runs: 1, segments: 0 });
  const runs = await errorOf(store.createRun(runOf({ id: 'r2' })));
  const segments = await errorOf(store.appendSegments([metricSegmentOf(0, { runId: 'r1' })]));
  expect([runs, segments].map(kindOfFailure)).toEqual(['retry', 'retry']);
  expect([runs, segments].map(isAboutAll)).toEqual([false, true]);
});

it('quark quota sets, lists and counts anew at the machine, and shows a user their own', async () => {
  const admin = await keyOf('alice', 'admin');
  const store = await storeOf(service, admin);
  await store.ensureProject({ id: 'project_1', name: 'digits', createdAtMs: 1 });
  await store.createRun(runOf({ id: 'r1' }));
  const here = (args: readonly string[], env: Record<string, string> = {}) =>
    quark(['quota', ...args, '--storage-dir', folder], { cwd: folder, env });
  const there = (args: readonly string[]) =>
    quark(['quota', ...args, '--url', service.url], {
      cwd: folder,
      env: { QUARK_USER_KEY: admin },
    });
  expect(await here(['set', '--user', 'alice', '--bytes', '10GB', '--runs', '5'])).toMatchObject({
    code: 0,
    stdout: 'alice: 0 B of 10 GB (0 %), 1 run of 5 runs (20 %), 0 segments.\n',
  });
  expect((await here(['list'], { QUARK_QUOTA_SEGMENTS: '7' })).stdout).toContain('0 segments of 7');
  expect(JSON.parse((await there(['list', '--json'])).stdout)).toEqual([
    {
      user: 'alice',
      space: null,
      project: null,
      limits: { bytes: 10_000_000_000, runs: 5, segments: null },
      used: { bytes: 0, runs: 1, segments: 0 },
    },
  ]);
  expect(await there(['set', '--project', 'digits', '--bytes', '1GiB'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('0 B of 1.074 GB'),
  });
  expect((await here(['set', '--user', 'alice', '--bytes', 'none'])).stdout).toContain(
    'alice: 0 B,',
  );
  expect((await here(['set', '--user', 'alice', '--runs', 'unlimited'])).stdout).toContain(
    '1 run,',
  );
  const [line] = (await service.access.audit.list({ action: 'quota.set', limit: 1 })).slice(0, 1);
  expect(line?.detail).toMatchObject({ runs: 'unlimited' });
  expect((await here(['recount'])).stdout).toMatch(/^Counted \d+ spaces anew/);
  for (const [wrong, code] of [
    [['set', '--user', 'alice'], 2],
    [['set', '--bytes', '1GB'], 2],
    [['set', '--user', 'alice', '--bytes', 'much'], 2],
    [['set', '--user', 'alice', '--bytes', '-1'], 2],
    [['set', '--user', 'alice', '--runs', '1GB'], 2],
    [['list', '--bytes', '1GB'], 2],
    [['drop'], 2],
    [['set', '--user', 'nobody', '--runs', '1'], 3],
    [['set', '--user', 'alice', '--project', 'none', '--runs', '1'], 3],
  ] as const)
    expect([wrong, (await here(wrong)).code]).toEqual([wrong, code]);
  expect((await there(['set', '--runs', '1'])).code).toBe(2);
  expect((await there(['recount'])).code).toBe(2);
});

it('the default of the service counts for users without a quota of their own', async () => {
  const other = await services.start({ maintenance: false, quotas: { runs: 1 } });
  const { key } = await other.access.createKey({ user: 'bob' });
  const store = await storeOf(other, key);
  await store.ensureProject({ id: 'project_1', name: 'digits', createdAtMs: 1 });
  await store.createRun(runOf({ id: 'r1' }));
  await expect(store.createRun(runOf({ id: 'r2' }))).rejects.toMatchObject({ reason: 'quota' });
  await expect(services.start({ quotas: { runs: -1 } })).rejects.toMatchObject({
    code: 'invalid_input',
    details: { field: 'quotas.runs' },
  });
});
