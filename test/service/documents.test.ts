/** Documents of a project at a service: who reads and writes those of a shared project, and what the audit log says of deleted ones. */
import { afterEach, expect, it } from 'vitest';
import { decodeAuditLine } from '../../src/wire/audit-messages.ts';
import type { Store } from '../../src/store/store.ts';
import {
  deleteDocument,
  findDocument,
  listDocuments,
  putDocument,
} from '../../src/workspace/documents.ts';
import { startRun } from '../../src/session/functions.ts';
import { ask, bearer, RunningServices, storeOf } from './running-service.ts';

const services = new RunningServices();
afterEach(() => services.clear());

const REPORT = { kind: 'report', id: 'one', name: 'One', body: '{"text":"hidden"}' };

async function withProjects(store: Store, ...projects: readonly string[]): Promise<void> {
  for (const project of projects) await (await startRun({ project, storage: store })).endRun(); // oxlint-disable-line no-await-in-loop -- two
}

it('guests read the documents of projects that are shared with them, and of no others', async () => {
  const service = await services.start();
  const keyOf = async (user: string): Promise<string> =>
    (await service.access.createKey({ user, scope: 'admin' })).key;
  const [alice, bob, eve] = [await keyOf('alice'), await keyOf('bob'), await keyOf('eve')];
  const own = await storeOf(service, alice);
  await withProjects(own, 'open', 'closed');
  for (const project of ['open', 'closed'])
    expect(await putDocument(own, project, REPORT, 0)).toMatchObject({ kind: 'updated' }); // oxlint-disable-line no-await-in-loop -- two
  const share = { owner: 'alice', project: 'open', user: 'bob' } as const;
  await service.access.share({ ...share, access: 'read' });
  const guest = await storeOf(service, bob, 'alice:default');
  expect(await findDocument(guest, 'open', 'report', 'one')).toMatchObject(REPORT);
  expect((await listDocuments(guest, 'open')).map(({ id }) => id)).toEqual(['one']);
  expect(await findDocument(guest, 'closed', 'report', 'one')).toBeUndefined();
  expect(await listDocuments(guest, 'closed')).toEqual([]);
  await expect(putDocument(guest, 'open', { ...REPORT, name: 'Two' }, 1)).rejects.toMatchObject({
    name: 'SessionStoreError',
  });
  await expect(deleteDocument(guest, 'open', 'report', 'one')).rejects.toMatchObject({
    name: 'SessionStoreError',
  });
  await expect(putDocument(guest, 'closed', { ...REPORT, id: 'new' }, 0)).rejects.toMatchObject({
    name: 'SessionStoreError',
  });
  await expect(deleteDocument(guest, 'closed', 'report', 'one')).rejects.toMatchObject({
    name: 'SessionStoreError',
  });
  const stranger = await ask(service.port, '/api/v1/projects/open/documents', {
    headers: { ...bearer(eve), 'quark-space': 'alice:default' },
  });
  expect([403, 404]).toContain(stranger.status);
  expect(stranger.text).not.toContain('hidden');
  await service.access.share({ ...share, access: 'write' });
  const writer = await storeOf(service, bob, 'alice:default');
  const changed = await putDocument(writer, 'open', { ...REPORT, name: 'Two' }, 1);
  expect(changed).toMatchObject({ kind: 'updated', document: { revision: 2 } });
  expect(await findDocument(own, 'open', 'report', 'one')).toMatchObject({ name: 'Two' });
});

it('a deleted document is in the audit log with its kind and id; one that was not there is not', async () => {
  const service = await services.start({ storage: services.folder(), maintenance: false });
  const { key } = await service.access.createKey({ user: 'alice', scope: 'admin' });
  const own = await storeOf(service, key);
  await withProjects(own, 'open');
  await putDocument(own, 'open', REPORT, 0);
  expect(await deleteDocument(own, 'open', 'report', 'one')).toBe(true);
  expect(await deleteDocument(own, 'open', 'report', 'one')).toBe(false);
  expect(await deleteDocument(own, 'never', 'report', 'one')).toBe(false);
  const { text } = await ask(service.port, '/api/v1/audit', { headers: bearer(key) });
  const { lines } = JSON.parse(text) as { readonly lines: readonly unknown[] };
  const deleted = lines.map(decodeAuditLine).filter(({ action }) => action === 'document.delete');
  expect(deleted).toMatchObject([
    {
      user: 'alice',
      targetKind: 'project',
      targetId: 'open',
      detail: { kind: 'report', id: 'one' },
    },
  ]);
});

it('a private document is seen by its owner and by admins of the space, and by nobody else', async () => {
  const service = await services.start();
  const keyOf = async (user: string, scope: 'admin' | 'write'): Promise<string> =>
    (await service.access.createKey({ user, scope })).key;
  const admin = await storeOf(service, await keyOf('alice', 'admin'));
  const plain = await storeOf(service, await keyOf('alice', 'write'));
  await withProjects(admin, 'open');
  // An admin of a space of their own is a guest here.
  const guest = async (user: string): Promise<readonly [key: string, store: Store]> => {
    const key = await keyOf(user, 'admin');
    await service.access.share({ owner: 'alice', project: 'open', user, access: 'write' });
    return [key, await storeOf(service, key, 'alice:default')];
  };
  const [, bob] = await guest('bob');
  const [carolsKey, carol] = await guest('carol');
  const secret = { ...REPORT, visibility: 'private' } as const;
  expect(await putDocument(bob, 'open', secret, 0)).toMatchObject({
    kind: 'updated',
    document: { visibility: 'private', author: 'bob' },
  });
  // The same id is free for everybody else: nothing tells that bob has it.
  expect(await putDocument(carol, 'open', { ...secret, name: 'Hers' }, 0)).toMatchObject({
    kind: 'updated',
  });
  for (const other of [carol, plain]) {
    expect((await listDocuments(other, 'open')).map(({ name }) => name)).not.toContain('One'); // oxlint-disable-line no-await-in-loop -- two
    const found = await findDocument(other, 'open', 'report', 'one'); // oxlint-disable-line no-await-in-loop -- two
    expect(found?.name).not.toBe('One');
  }
  const listed = await listDocuments(admin, 'open');
  expect(new Set(listed.map(({ author }) => author))).toEqual(new Set(['bob', 'carol']));
  const owner = listed.find(({ author }) => author === 'bob')?.owner;
  expect(await findDocument(carol, 'open', 'report', 'one', owner)).toBeUndefined();
  expect(await deleteDocument(plain, 'open', 'report', 'one', undefined, owner)).toBe(false);
  expect(await findDocument(admin, 'open', 'report', 'one')).toBeUndefined();
  expect(await findDocument(admin, 'open', 'report', 'one', owner)).toMatchObject({ name: 'One' });
  // A program that knows nothing of visibility changes the private one.
  expect(await putDocument(bob, 'open', { ...REPORT, name: 'Again' })).toMatchObject({
    document: { visibility: 'private', revision: 2 },
  });
  expect(await deleteDocument(admin, 'open', 'report', 'one', undefined, owner)).toBe(true);
  expect(await findDocument(bob, 'open', 'report', 'one')).toBeUndefined();
  expect(await findDocument(carol, 'open', 'report', 'one')).toMatchObject({ name: 'Hers' });
  const [line] = await service.access.audit.list({ action: 'document.delete', after: 0 });
  expect(line).toMatchObject({ user: 'alice', detail: { kind: 'report', id: 'one', owner } });
  // A removed user leaves nothing in the spaces of others, and the counters are right.
  expect((await listDocuments(admin, 'open')).map(({ author }) => author)).toEqual(['carol']);
  const removed = await ask(service.port, '/api/v1/account?user=carol', {
    method: 'DELETE',
    headers: bearer(carolsKey),
  });
  expect(removed.status).toBe(200);
  expect(await listDocuments(admin, 'open')).toEqual([]);
});

it('documents count as bytes of their project, and go with it, its space and their user', async () => {
  const service = await services.start({ storage: services.folder(), maintenance: false });
  const keyOf = async (user: string): Promise<string> =>
    (await service.access.createKey({ user, scope: 'admin' })).key;
  const own = await storeOf(service, await keyOf('alice'));
  await withProjects(own, 'open', 'other');
  const used = async (): Promise<number> =>
    (await service.access.quotas.list('alice')).find(({ project }) => project === 'open')
      ?.usedBytes ?? -1;
  await service.access.quotas.set({ user: 'alice', project: 'open', bytes: 100_000 });
  const before = await used();
  const body = JSON.stringify({ text: 'ü'.repeat(10_000) });
  await putDocument(own, 'open', { ...REPORT, body }, 0);
  const after = await used();
  expect(after - before).toBeGreaterThan(20_000);
  await putDocument(own, 'open', { ...REPORT, body }, 1);
  expect((await used()) - after).toBeLessThan(10);
  const large = JSON.stringify({ text: 'x'.repeat(90_000) });
  await expect(
    putDocument(own, 'open', { ...REPORT, id: 'two', body: large }, 0),
  ).rejects.toMatchObject({ details: { reason: 'quota' } });
  expect((await listDocuments(own, 'open')).map(({ id }) => id)).toEqual(['one']);
  expect((await used()) - after).toBeLessThan(10);
  await service.access.quotas.recount('alice');
  expect((await used()) - after).toBeLessThan(10);
  expect(await deleteDocument(own, 'open', 'report', 'one')).toBe(true);
  expect(await used()).toBe(before);
});
