/** Saved views: what is checked, their names, the default of a project, JSON. */
import { openStorage, type Store } from 'quark-sdk';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { wrapStore } from '../../../src/store/front.ts';
import { listDocuments, putDocument } from '../../../src/workspace/documents.ts';
import { viewFromJson, viewToJson, type ChartsView } from '../../../src/workspace/view-shape.ts';
import {
  deleteView,
  listViews,
  readView,
  saveView,
  setDefaultView,
} from '../../../src/workspace/views.ts';

const project = 'digits';
const view: ChartsView = {
  name: 'Losses',
  columns: 3,
  axis: 'metric:tokens',
  hiddenMarks: ['phase'],
  sections: [
    {
      id: 'train',
      title: 'Training',
      isFolded: true,
      smoothing: 'gaussian',
      panels: [
        {
          metrics: ['train/loss', 'val/loss'],
          formulas: ['val/loss - train/loss'],
          width: 2,
          yMin: null,
          hiddenMarks: [],
        },
        {
          metrics: [],
          formulas: ['"top-1" * 100'],
          title: 'Top 1 🎯',
          height: 320,
          isPinned: true,
        },
      ],
    },
  ],
};

let store: Store;
beforeEach(async () => {
  store = await openStorage('memory:');
  await store.ensureProject({ id: 'p', name: project, createdAtMs: 5 });
});
afterEach(() => store.close());

test('a view of the same name is replaced, also after it was renamed by its id', async () => {
  const first = await saveView(store, { ...view, project });
  const again = await saveView(store, { ...view, project, columns: 2 }, { author: 'kim' });
  expect(again).toMatchObject({ id: first.id, revision: 2, author: 'kim' });
  const renamed = await saveView(store, { ...view, project, name: 'Änderung' }, { id: first.id });
  expect(renamed).toMatchObject({ id: first.id, name: 'Änderung' });
  expect(await readView(store, project, 'Losses')).toBeUndefined();
  expect(await readView(store, project, 'Änderung')).toEqual(renamed);
  const other = await saveView(store, { ...view, project, name: '日本' });
  expect(other.id).not.toBe(first.id);
  await expect(
    saveView(store, { ...view, project, name: '日本' }, { id: first.id }),
  ).rejects.toMatchObject({ code: 'invalid_input', details: { field: 'view.name' } });
  expect((await listViews(store, project)).map(({ name }) => name)).toEqual(['Änderung', '日本']);
});

test('what somebody else changed meanwhile is not overwritten', async () => {
  await saveView(store, { ...view, project });
  await saveView(store, { ...view, project }, { expected: 1, author: 'kim' });
  await expect(saveView(store, { ...view, project }, { expected: 1 })).rejects.toMatchObject({
    reason: 'busy',
    details: { revision: 2 },
  });
  await expect(saveView(store, { ...view, project }, { expected: 0 })).rejects.toMatchObject({
    reason: 'busy',
  });
});

test('a project opens with the view that was chosen, as long as it is there', async () => {
  await saveView(store, { ...view, project });
  await saveView(store, { ...view, project, name: 'Other' });
  await setDefaultView(store, project, 'Other');
  const defaults = async (): Promise<readonly string[]> =>
    (await listViews(store, project)).filter(({ isDefault }) => isDefault).map(({ name }) => name);
  expect(await defaults()).toEqual(['Other']);
  await expect(setDefaultView(store, project, 'Nobody')).rejects.toMatchObject({
    code: 'invalid_input',
  });
  expect(await deleteView(store, project, 'Other')).toBe(true);
  expect(await deleteView(store, project, 'Other')).toBe(false);
  expect(await listDocuments(store, project)).toHaveLength(1);
  await setDefaultView(store, project, 'Losses');
  await setDefaultView(store, project, null);
  expect(await defaults()).toEqual([]);
});

test('comes back from JSON as it was, and names of a later release are passed over', () => {
  expect(viewFromJson(viewToJson(view))).toEqual(view);
  const later = { ...JSON.parse(viewToJson(view)), hologram: true };
  expect(viewFromJson(JSON.stringify(later))).toEqual(view);
  expect(JSON.parse(viewToJson(view))).toMatchObject({
    hidden_marks: ['phase'],
    sections: [{ is_folded: true, panels: [{ y_min: null }, { is_pinned: true }] }],
  });
});

test.each<readonly [string, unknown]>([
  ['view.name', { ...view, name: ' ' }],
  ['view.sections', { name: 'x' }],
  ['view.colums', { ...view, colums: 2 }],
  ['view.columns', { ...view, columns: 7 }],
  ['view.axis', { ...view, axis: 'steps' }],
  ['view.hiddenMarks[0]', { ...view, hiddenMarks: ['all'] }],
  [
    'view.sections[0].panels[0].hiddenMarks.length',
    {
      ...view,
      sections: [
        {
          title: 'a',
          panels: [{ metrics: [], hiddenMarks: ['note', 'note', 'note', 'note', 'note'] }],
        },
      ],
    },
  ],
  ['view.sections[0].title', { ...view, sections: [{ panels: [] }] }],
  ['view.sections[0].panels[0].metrics', { ...view, sections: [{ title: 'a', panels: [{}] }] }],
  [
    'view.sections[0].panels[0].metrics[1]',
    { ...view, sections: [{ title: 'a', panels: [{ metrics: ['a', '\n'] }] }] },
  ],
  [
    'view.sections[0].panels[0].metric',
    { ...view, sections: [{ title: 'a', panels: [{ metrics: [], metric: 'a' }] }] },
  ],
  [
    'formula',
    { ...view, sections: [{ title: 'a', panels: [{ metrics: [], formulas: ['a +'] }] }] },
  ],
  [
    'view.sections[0].panels[0].smoothingAmount',
    { ...view, sections: [{ title: 'a', panels: [{ metrics: [], smoothingAmount: 1 }] }] },
  ],
  [
    'view.sections.length',
    { ...view, sections: Array.from({ length: 201 }, () => ({ title: 'a', panels: [] })) },
  ],
])('%s that does not fit is refused, and nothing is written', async (field, wrong) => {
  const given = { ...Object(wrong), project } as ChartsView & { project: string };
  await expect(saveView(store, given)).rejects.toMatchObject({
    code: 'invalid_input',
    details: { field },
  });
  expect(await listDocuments(store, project)).toEqual([]);
});

test('a store without notes and without calls for documents says so', async () => {
  const plain = wrapStore(store, (_name, _args, call) => call(), { notes: undefined as never });
  await expect(listViews(plain, project)).rejects.toMatchObject({ code: 'unsupported' });
  const document = { kind: 'report', id: 'a', name: 'A', body: '{}' };
  await expect(putDocument(plain, project, document)).rejects.toMatchObject({
    code: 'unsupported',
  });
});
