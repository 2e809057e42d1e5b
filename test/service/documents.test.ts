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
