/** Deletion through a service: who may, what the log says of it, and how it ends. */
import { afterEach, expect, test } from 'vitest';
import { deleteProject } from '../../src/read/project-deletion.ts';
import type { KeyScope } from '../../src/service.ts';
import { quark } from '../cli/fake-io.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { runOf } from '../support/segments.ts';
import { ask, bearer, RunningServices, storeOf } from './running-service.ts';

const services = new RunningServices();
afterEach(() => services.clear());

async function open(maintenance: false | { intervalMs: number; sweepMs: number } = false) {
  const service = await services.start({ maintenance });
  const { access } = service;
  const keyOf = async (user: string, scope: KeyScope): Promise<string> =>
    (await access.createKey({ user, scope })).key;
  return { access, keyOf, service };
}

test('a key of scope delete deletes and restores; one that writes does neither', async () => {
  const { keyOf, service } = await open();
  const [writer, remover, admin] = [
    await keyOf('alice', 'write'),
    await keyOf('alice', 'delete'),
    await keyOf('alice', 'admin'),
  ];
  const [writes, removes, all] = [
    await storeOf(service, writer),
    await storeOf(service, remover),
    await storeOf(service, admin),
  ];
  await writes.createRun(runOf());
  const placed = await writes.appendSegments([metricSegmentOf(0)]);
  const forbidden = { reason: 'unauthorised', details: { status: 403 } };
  for (const call of ['deleteRun', 'archiveRun', 'restoreRun'] as const)
    await expect(writes[call]('run_1')).rejects.toMatchObject(forbidden);
  expect((await removes.archiveRun('run_1')).archivedAtMs).toBeTypeOf('number');
  const deleted = await removes.deleteRun('run_1');
  expect(deleted.by).toBe('alice');
  expect(await writes.findRun('run_1')).toBeUndefined();
  expect(await writes.listDeletedRuns()).toEqual([deleted]);
  for (const refused of [
    () => writes.appendSegments([metricSegmentOf(1)]),
    () => writes.createRun(runOf()),
    () => writes.renewLease('run_1', 'session', 1_000),
  ])
    await expect(refused()).rejects.toMatchObject({ reason: 'deleted', details: { status: 410 } });
  expect((await removes.restoreRun('run_1')).archivedAtMs).toBeTypeOf('number');
  expect(await writes.listSegments({ runId: 'run_1', table: 'metrics' })).toEqual(placed);
  // Before its time, bytes go with a key of scope admin only.
  await removes.deleteRun('run_1');
  await expect(removes.purgeDeletedRuns(undefined, ['run_1'])).rejects.toMatchObject(forbidden);
  expect(await all.purgeDeletedRuns(undefined, ['run_1'])).toHaveLength(1);
  await expect(all.restoreRun('run_1')).rejects.toMatchObject({ reason: 'deleted' });
  await expect(writes.createRun(runOf())).rejects.toMatchObject({ reason: 'deleted' });
  const { text } = await ask(service.port, '/api/v1/audit', { headers: bearer(admin) });
  for (const action of ['run.archive', 'run.delete', 'run.restore', 'run.purge', 'refused'])
    expect(text).toContain(`"${action}"`);
  for (const store of [writes, removes, all]) await store.close();
});

test('the command line deletes nothing where the key may delete and not purge', async () => {
  const { keyOf, service } = await open();
  const writes = await storeOf(service, await keyOf('alice', 'write'));
  await writes.createRun(runOf());
  const refused = await quark(['rm', 'run_1', '--purge-now', '--yes', '--storage', service.url], {
    cwd: '.',
    env: { QUARK_USER_KEY: await keyOf('alice', 'delete') },
  });
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/needs a key of scope "admin"; yours has "delete"/),
  });
  expect(await writes.findRun('run_1')).toBeDefined();
  await writes.close();
});

test('a project goes with all of its runs for a key of scope delete, and counts for no quota', async () => {
  const { access, keyOf, service } = await open();
  const [writer, remover, admin] = [
    await keyOf('alice', 'write'),
    await keyOf('alice', 'delete'),
    await keyOf('alice', 'admin'),
  ];
  const [writes, removes] = [await storeOf(service, writer), await storeOf(service, remover)];
  await writes.ensureProject({ id: 'p1', name: 'a/b c', createdAtMs: 1 });
  for (const id of ['run_1', 'run_2'])
    await writes.createRun(runOf({ id, projectId: 'p1', projectName: 'a/b c' }));
  await writes.appendSegments([metricSegmentOf(0)]);
  await writes.renewLease('run_2', 'session', 60_000);
  const guestKey = await keyOf('bob', 'admin');
  await access.share({ owner: 'alice', project: 'a/b c', user: 'bob', access: 'write' });
  const guest = await storeOf(service, guestKey, 'alice:default');
  for (const store of [writes, guest])
    await expect(deleteProject(store, 'a/b c', { running: true })).rejects.toMatchObject({
      reason: 'unauthorised',
      details: { status: 403 },
    });
  await expect(deleteProject(removes, 'a/b c')).rejects.toMatchObject({
    code: 'invalid_run_state',
  });
  await expect(deleteProject(removes, 'nobody')).rejects.toMatchObject({ reason: 'missing' });
  expect(await writes.listRuns()).toHaveLength(2);
  const usedRuns = async (): Promise<unknown> => {
    const { text } = await ask(service.port, '/api/v1/quotas', { headers: bearer(admin) });
    return JSON.parse(text).quotas[0].used_runs;
  };
  expect(await usedRuns()).toBe(2);
  expect(await deleteProject(removes, 'a/b c', { running: true })).toMatchObject({ runs: 2 });
  expect(await usedRuns()).toBe(0);
  expect(await writes.listProjects()).toEqual([]);
  expect((await writes.findDeletedRun('run_1'))?.by).toBe('alice');
  const { text } = await ask(service.port, '/api/v1/audit?action=project', {
    headers: bearer(admin),
  });
  const lines: { readonly target_id: string; readonly detail: object }[] = JSON.parse(text).lines;
  expect(lines.map(({ target_id, detail }) => [target_id, detail])).toEqual([
    ['a/b c', {}],
    ['a/b c', { failed: 'invalid_run_state' }],
    ['a/b c', {}],
  ]);
  await removes.restoreRun('run_1');
  expect((await writes.listProjects()).map(({ name }) => name)).toEqual(['a/b c']);
  expect(await usedRuns()).toBe(1);
  expect(await writes.listSegments({ runId: 'run_1', table: 'metrics' })).toHaveLength(1);
  for (const store of [writes, removes, guest]) await store.close();
});

test('a guest deletes nothing, and learns of no run that was not shared', async () => {
  const { access, keyOf, service } = await open();
  const owner = await storeOf(service, await keyOf('alice', 'admin'));
  const project = await owner.ensureProject({ id: 'p1', name: 'digits', createdAtMs: 1 });
  await owner.ensureProject({ id: 'p2', name: 'secret', createdAtMs: 1 });
  await owner.createRun(runOf({ projectId: project.id }));
  await owner.createRun(runOf({ id: 'run_2', projectId: 'p2', projectName: 'secret' }));
  const guestKey = await keyOf('bob', 'admin');
  await access.share({ owner: 'alice', project: 'digits', user: 'bob', access: 'write' });
  const guest = await storeOf(service, guestKey, 'alice:default');
  await expect(guest.deleteRun('run_1')).rejects.toMatchObject({ reason: 'unauthorised' });
  await expect(guest.deleteRun('run_2')).rejects.toMatchObject({ reason: 'unauthorised' });
  await owner.deleteRun('run_1');
  await owner.deleteRun('run_2');
  expect((await guest.listDeletedRuns()).map(({ id }) => id)).toEqual(['run_1']);
  expect(await guest.findDeletedRun('run_2')).toBeUndefined();
  await expect(guest.restoreRun('run_1')).rejects.toMatchObject({ reason: 'unauthorised' });
  await expect(guest.purgeDeletedRuns()).rejects.toMatchObject({ reason: 'unauthorised' });
  await guest.close();
  await owner.close();
});

test('a service removes the bytes of deleted runs by itself when their time has come', async () => {
  const { keyOf, service } = await open({ intervalMs: 1, sweepMs: 1 });
  const store = await storeOf(service, await keyOf('alice', 'admin'));
  await store.createRun(runOf());
  await store.createRun(runOf({ id: 'run_2' }));
  await store.appendSegments([metricSegmentOf(0), metricSegmentOf(0, { runId: 'run_2' })]);
  await store.deleteRun('run_1', { keepMs: 0 });
  await store.deleteRun('run_2');
  await expect
    .poll(async () => (await store.findDeletedRun('run_1'))?.purgedAtMs, { timeout: 20_000 })
    .toBeTypeOf('number');
  expect((await store.restoreRun('run_2')).id).toBe('run_2');
  expect(await store.listSegments({ runId: 'run_2', table: 'metrics' })).toHaveLength(1);
  const { text } = await ask(service.port, '/metrics');
  expect(text).toMatch(/^quark_purged_runs_total 1$/m);
  await store.close();
});
