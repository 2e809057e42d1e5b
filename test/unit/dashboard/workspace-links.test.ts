import { expect, it } from 'vitest';
import { createMemoryStore, editRun, startRun } from 'quark-sdk';
import {
  ALL_PANELS,
  createChartView,
  zoomOf,
  zoomTo,
} from '../../../dashboard/charts/chart-view.ts';
import { changedNotes } from '../../../dashboard/run/header/notes-conflict.ts';
import { changePanel } from '../../../dashboard/workspace/edit-layout.ts';
import { linkOf } from '../../../dashboard/workspace/panel-link.ts';
import { WorkspaceState } from '../../../dashboard/workspace/workspace-state.ts';

it('links ranges by workspace, section and panel, the innermost first', () => {
  expect(linkOf(false, {}, {}, 'loss')).toBeUndefined();
  expect(linkOf(true, {}, {}, 'loss')).toBe(ALL_PANELS);
  expect(linkOf(true, { isLinked: false }, {}, 'loss')).toBeUndefined();
  expect(linkOf(true, {}, { isLinked: false }, 'loss')).toBeUndefined();
  expect(linkOf(false, {}, { isLinked: true }, 'loss')).toBe(ALL_PANELS);
  const section = linkOf(false, { isLinked: true }, {}, 'loss');
  expect(section).toBe(linkOf(true, { isLinked: true }, { isLinked: true }, 'loss'));
  expect(section).not.toBe(ALL_PANELS);
  expect(section).not.toBe(linkOf(false, { isLinked: true }, {}, 'accuracy'));
  const view = createChartView();
  zoomTo(view, section ?? '', { min: 1, max: 2 });
  expect(zoomOf(view, section ?? '')).toEqual({ min: 1, max: 2 });
  expect(zoomOf(view, ALL_PANELS)).toBeUndefined();
});

it('takes changes of a layout back, one after the other', async () => {
  const store = createMemoryStore();
  const charts = createChartView();
  const state = new WorkspaceState({ store, project: 'digits', charts });
  const keys = ['loss', 'accuracy'];
  const first = state.view.peek();
  state.edit((view) => changePanel({ view, keys }, 'loss', { isHidden: true }));
  const second = state.view.peek();
  state.edit((view) => changePanel({ view, keys }, 'accuracy', { width: 2 }));
  state.edit((view) => view);
  expect(state.past.value).toHaveLength(2);
  state.undo();
  expect(state.view.value).toBe(second);
  state.undo();
  expect(state.view.value).toBe(first);
  state.undo();
  expect(state.view.value).toBe(first);
  expect(state.isChanged.value).toBe(false);
  await store.close();
});

it('tells notes that somebody else has changed since they were read', async () => {
  const store = createMemoryStore();
  const { runId } = await startRun({ project: 'digits', storage: store });
  const target = { store, runId };
  expect(await changedNotes(target, '')).toBeUndefined();
  await editRun(store, runId, { notes: 'theirs' });
  expect(await changedNotes(target, '')).toBe('theirs');
  expect(await changedNotes(target, 'theirs')).toBeUndefined();
  expect(await changedNotes({ store, runId: 'run_gone' }, '')).toBeUndefined();
  await store.close();
});
