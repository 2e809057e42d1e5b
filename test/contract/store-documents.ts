/** Documents of projects, over any store that has notes or calls for them: part of the contract. */
import { beforeEach, describe, expect, test } from 'vitest';
import { RUN_ID } from '../../src/store/testing/segments.ts';
import type { LocationUnderTest } from '../../src/store/testing/location-under-test.ts';
import type { NewDocument } from '../../src/store/documents.ts';
import {
  deleteDocument,
  findDocument,
  listDocuments,
  putDocument,
} from '../../src/workspace/documents.ts';
import { readView, saveView } from '../../src/workspace/views.ts';

const PROJECT = 'digits';

function documentOf(fields: Partial<NewDocument> = {}): NewDocument {
  return {
    kind: 'report',
    id: 'one',
    name: 'One',
    body: '{"text":"a \u{1f600} \\u0000"}',
    ...fields,
  };
}

export function describeDocuments(place: LocationUnderTest): void {
  describe('documents', () => {
    beforeEach(async () => {
      await place.store.ensureProject({ id: 'project_1', name: PROJECT, createdAtMs: 5 });
    });

    test('come back as they were stored, are replaced and deleted, and outlive the store object', async () => {
      const stored = await putDocument(place.store, PROJECT, documentOf({ author: null }));
      expect(stored).toMatchObject({
        kind: 'updated',
        document: { ...documentOf(), revision: 1, sizeBytes: 24 },
      });
      await place.reopen();
      expect(await findDocument(place.store, PROJECT, 'report', 'one')).toEqual(stored.document);
      const body = JSON.stringify({ text: 'x'.repeat(100_000) });
      const second = await putDocument(place.store, PROJECT, documentOf({ body, name: 'Two' }), 1);
      expect(second).toMatchObject({
        kind: 'updated',
        document: { revision: 2, name: 'Two', body, createdAtMs: stored.document?.createdAtMs },
      });
      expect(await deleteDocument(place.store, PROJECT, 'report', 'one', 1)).toBe(false);
      expect(await deleteDocument(place.store, PROJECT, 'report', 'one', 2)).toBe(true);
      expect(await deleteDocument(place.store, PROJECT, 'report', 'one')).toBe(false);
      expect(await findDocument(place.store, PROJECT, 'report', 'one')).toBeUndefined();
    });

    test('are listed without bodies, by kind and id, those of one project and kind', async () => {
      await place.store.ensureProject({ id: 'other', name: 'other/ü', createdAtMs: 5 });
      for (const [kind, id] of [
        ['view', 'b'],
        ['view', 'a'],
        ['report', 'z'],
      ] as const)
        await putDocument(place.store, PROJECT, documentOf({ kind, id }));
      await putDocument(place.store, 'other/ü', documentOf({ kind: 'view', id: 'c' }));
      const idsOf = async (project: string, kind?: string): Promise<readonly string[]> =>
        (await listDocuments(place.store, project, kind)).map(({ id }) => id);
      expect(await idsOf(PROJECT)).toEqual(['z', 'a', 'b']);
      expect(await idsOf(PROJECT, 'view')).toEqual(['a', 'b']);
      expect(await idsOf('other/ü')).toEqual(['c']);
      expect(await idsOf('nobody')).toEqual([]);
      expect((await listDocuments(place.store, PROJECT, 'view'))[0]).not.toHaveProperty('body');
    });

    test('a change that expects another revision is refused with what is there', async () => {
      const first = await putDocument(place.store, PROJECT, documentOf(), 0);
      const again = await putDocument(place.store, PROJECT, documentOf({ name: 'Mine' }), 0);
      expect(again).toEqual({ kind: 'conflict', document: first.document });
      const gone = await putDocument(place.store, PROJECT, documentOf({ id: 'none' }), 3);
      expect(gone).toEqual({ kind: 'conflict', document: null });
      expect(await listDocuments(place.store, PROJECT)).toHaveLength(1);
    });

    test('of writers at once that expect the same revision, one succeeds', async () => {
      const other = await place.openAnother();
      await putDocument(place.store, PROJECT, documentOf());
      const done = await Promise.all(
        Array.from({ length: 6 }, (_, i) =>
          putDocument(i % 2 === 0 ? place.store : other, PROJECT, documentOf({ name: `n${i}` }), 1),
        ),
      );
      const winner = done.findIndex(({ kind }) => kind === 'updated');
      expect(done.filter(({ kind }) => kind === 'updated')).toHaveLength(1);
      expect(await findDocument(place.store, PROJECT, 'report', 'one')).toMatchObject({
        name: `n${winner}`,
        revision: 2,
      });
    });

    test('what does not fit is refused before anything is written', async () => {
      const wrong: readonly (readonly [string, Partial<NewDocument>])[] = [
        ['document.kind', { kind: 'Big' }],
        ['document.id', { id: '../up' }],
        ['document.name', { name: ' ' }],
        ['document.body', { body: '[1]' }],
        ['document.body', { body: '{' }],
        ['document.body.bytes', { body: JSON.stringify({ x: 'ü'.repeat(131_100) }) }],
      ];
      for (const [field, fields] of wrong)
        await expect(putDocument(place.store, PROJECT, documentOf(fields))).rejects.toMatchObject({
          code: 'invalid_input',
          details: { field },
        });
      await expect(putDocument(place.store, 'nobody', documentOf())).rejects.toMatchObject({
        code: 'store_failed',
      });
      expect(await listDocuments(place.store, PROJECT)).toEqual([]);
    });

    test('go with the project that is removed, and a new one of its name has none', async () => {
      if (place.store.removeProject === undefined) return;
      await putDocument(place.store, PROJECT, documentOf());
      await place.store.deleteRun(RUN_ID, { keepMs: 0 });
      await place.store.purgeDeletedRuns();
      expect(await listDocuments(place.store, PROJECT)).toEqual([]);
      await place.store.ensureProject({ id: 'project_2', name: PROJECT, createdAtMs: 6 });
      expect(await listDocuments(place.store, PROJECT)).toEqual([]);
      await place.store.removeProject('project_2');
      // The id of the first one again: nothing of it was left behind.
      await place.store.ensureProject({ id: 'project_1', name: PROJECT, createdAtMs: 7 });
      expect(await listDocuments(place.store, PROJECT)).toEqual([]);
    });

    test('a saved view is read as it was saved', async () => {
      const view = {
        name: 'Losses',
        smoothingAmount: 0.6,
        sections: [{ title: 'Loss', panels: [{ metrics: ['train/loss'], logY: true }] }],
      };
      const saved = await saveView(place.store, { project: PROJECT, ...view });
      expect(saved).toMatchObject({ name: 'Losses', revision: 1, isDefault: false, view });
      expect(await readView(place.store, PROJECT, 'Losses')).toEqual(saved);
    });

    test('may be private, beside those of the project of the same id', async () => {
      const shared = documentOf();
      const secret = documentOf({ visibility: 'private', name: 'Mine' });
      await putDocument(place.store, PROJECT, secret, 0);
      await putDocument(place.store, PROJECT, { ...shared, visibility: 'project' }, 0);
      expect(
        (await listDocuments(place.store, PROJECT)).map(({ name, visibility }) => [
          name,
          visibility,
        ]),
      ).toEqual([
        ['One', undefined],
        ['Mine', 'private'],
      ]);
      expect(await findDocument(place.store, PROJECT, 'report', 'one')).toMatchObject({
        name: 'Mine',
      });
      // The revision is that of the private one: the other is not deleted in its place.
      await putDocument(place.store, PROJECT, secret, 1);
      expect(await deleteDocument(place.store, PROJECT, 'report', 'one', 1)).toBe(false);
      expect(await deleteDocument(place.store, PROJECT, 'report', 'one', 2)).toBe(true);
      expect(await findDocument(place.store, PROJECT, 'report', 'one')).toMatchObject({
        name: 'One',
      });
    });
  });
}
