/** Projects all of whose runs are deleted: part of the contract of every store. */
import { describe, expect, test } from 'vitest';
import { deleteProject } from '../../src/read/project-deletion.ts';
import type { StoredProject } from '../../src/store/store.ts';
import { RUN_ID, runOf } from '../support/segments.ts';
import type { LocationUnderTest } from '../../src/store/testing/location-under-test.ts';

const KEEP_MS = 1_000;

export function describeProjects(place: LocationUnderTest): void {
  const names = async (): Promise<readonly string[]> => {
    const other = await place.openAnother();
    const listed = [await place.store.listProjects(), await other.listProjects()];
    const [here, there] = listed.map((projects) => projects.map(({ name }) => name));
    expect(there).toEqual(here);
    return here ?? [];
  };
  const ensure = (id: string, name = 'digits'): Promise<StoredProject> =>
    place.store.ensureProject({ id, name, createdAtMs: 5 });

  describe('deletion of projects', () => {
    test('a project is gone with its last run, and comes back with the first that is restored', async () => {
      const made = await ensure('project_1');
      await place.store.ensureProject({ id: 'other', name: 'other', createdAtMs: 5 });
      await place.store.createRun(runOf({ id: 'run_2' }));
      await place.store.deleteRun('run_2');
      expect(await names()).toEqual(['digits', 'other']);
      await place.store.deleteRun(RUN_ID);
      expect(await names()).toEqual(['other']);
      // Who records into it finds it as it was.
      expect(await ensure('another')).toEqual(made);
      await place.store.restoreRun('run_2');
      expect(await names()).toEqual(['digits', 'other']);
      expect((await place.store.listProjects())[0]).toEqual(made);
    });

    test('it is removed with the last run that is purged, and its name is free', async () => {
      await ensure('project_1');
      await place.store.createRun(runOf({ id: 'run_2' }));
      await place.store.deleteRun(RUN_ID, { keepMs: KEEP_MS });
      await place.store.deleteRun('run_2', { keepMs: 2 * KEEP_MS });
      await place.store.purgeDeletedRuns(place.clock.nowMs + KEEP_MS);
      expect(await ensure('project_2')).toMatchObject({ id: 'project_1' });
      await place.store.purgeDeletedRuns(place.clock.nowMs + 2 * KEEP_MS);
      expect(await names()).toEqual([]);
      expect(await ensure('project_2')).toMatchObject({ id: 'project_2' });
      expect(await names()).toEqual(['digits']);
    });

    test('a run that is there holds its project', async () => {
      await ensure('project_1');
      await place.store.createRun(runOf({ id: 'run_2' }));
      await place.store.deleteRun('run_2', { keepMs: 0 });
      await place.store.purgeDeletedRuns();
      expect(await names()).toEqual(['digits']);
      expect(await ensure('project_2')).toMatchObject({ id: 'project_1' });
    });

    test('a run that begins after its project was removed has it again', async () => {
      const { id } = await ensure('project_1');
      await place.store.deleteRun(RUN_ID, { keepMs: 0 });
      await place.store.purgeDeletedRuns();
      expect(await names()).toEqual([]);
      await place.store.createRun(runOf({ id: 'run_2', projectId: id }));
      expect(await names()).toEqual(['digits']);
      expect(await ensure('project_2')).toMatchObject({ id });
    });

    test('of a purge and a run that begins at once, the run has its project', async () => {
      const other = await place.openAnother();
      await place.store.deleteRun(RUN_ID, { keepMs: 0 });
      for (let round = 0; round < 8; round++) {
        const [project, first, next] = [`p${round}`, `run_first_${round}`, `run_next_${round}`];
        const of = { projectId: project, projectName: project };
        await place.store.ensureProject({ id: project, name: project, createdAtMs: 5 });
        await place.store.createRun(runOf({ id: first, ...of }));
        await place.store.deleteRun(first, { keepMs: 0 });
        await Promise.all([
          place.store.purgeDeletedRuns(),
          other.createRun(runOf({ id: next, ...of })),
        ]);
        expect(await names()).toContain(project);
        expect(await ensure(project, project)).toMatchObject({ id: project });
      }
    });

    test('only a project without runs can be removed', async () => {
      const { removeProject } = place.store;
      if (removeProject === undefined) return;
      await ensure('project_1');
      expect(await removeProject('project_1')).toBe(false);
      await place.store.deleteRun(RUN_ID);
      expect(await removeProject('project_1')).toBe(false);
      await place.store.restoreRun(RUN_ID);
      expect(await names()).toEqual(['digits']);
      await place.store.ensureProject({ id: 'empty', name: 'empty', createdAtMs: 5 });
      expect(await removeProject('empty')).toBe(true);
      expect(await removeProject('empty')).toBe(false);
      expect(await names()).toEqual(['digits']);
      await expect(removeProject('')).rejects.toMatchObject({ code: 'invalid_input' });
    });

    test('all of its runs are deleted at once, archived ones too, and those of others stay', async () => {
      const { store } = place;
      await store.deleteRun(RUN_ID);
      await store.ensureProject({ id: 'shapes', name: 'shapes', createdAtMs: 5 });
      for (const id of ['run_a', 'run_b', 'run_c'])
        await store.createRun(runOf({ id, projectId: 'shapes', projectName: 'shapes' }));
      await store.createRun(runOf({ id: 'run_other', projectId: 'other', projectName: 'other' }));
      await store.archiveRun('run_b');
      await store.deleteRun('run_c');
      const before = await store.findRun('run_a');
      expect(await names()).toContain('shapes');
      expect(await deleteProject(store, 'shapes', { keepMs: KEEP_MS, by: 'kim' })).toEqual({
        name: 'shapes',
        runs: 2,
        purgeAtMs: place.clock.nowMs + KEEP_MS,
      });
      expect(await store.findDeletedRun('run_b')).toMatchObject({ by: 'kim' });
      expect((await store.listRuns()).map(({ id }) => id)).toEqual(['run_other']);
      expect(await names()).not.toContain('shapes');
      expect(await store.restoreRun('run_a')).toEqual(before);
      expect(await names()).toContain('shapes');
      await expect(deleteProject(store, 'nobody')).rejects.toMatchObject({ code: 'store_failed' });
      for (const wrong of [{ keepMs: -1 }, { by: '' }, { running: 1 }, { force: true }])
        await expect(deleteProject(store, 'shapes', wrong as object)).rejects.toMatchObject({
          code: 'invalid_input',
        });
      await expect(deleteProject(store, '')).rejects.toMatchObject({ code: 'invalid_input' });
      expect(await store.findRun('run_a')).toEqual(before);
    });

    test('runs with a live session are deleted only where that is wanted', async () => {
      const { store } = place;
      await ensure('project_1');
      await store.deleteRun(RUN_ID);
      await store.createRun(runOf({ id: 'run_a' }));
      await store.createRun(runOf({ id: 'run_live' }));
      await store.renewLease('run_live', 'session', 60_000);
      await expect(deleteProject(store, 'digits')).rejects.toMatchObject({
        code: 'invalid_run_state',
      });
      expect(await store.listRuns()).toHaveLength(2);
      expect(await deleteProject(store, 'digits', { running: true })).toMatchObject({ runs: 2 });
      expect(await store.listRuns()).toEqual([]);
      await expect(store.renewLease('run_live', 'session', 60_000)).rejects.toMatchObject({
        reason: 'deleted',
      });
    });
  });
}
