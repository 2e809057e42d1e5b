/** Projects, runs and leases: part of the contract of stores. */
import { describe, expect, test } from './suite-tools.ts';
import type { Store } from '../store.ts';
import { RUN_ID, runOf } from './segments.ts';
import type { LocationUnderTest } from './location-under-test.ts';

export function describeRuns(location: LocationUnderTest): void {
  describe('projects and runs', () => {
    test('a project is found by its name, made by any store', async () => {
      const other = await location.openAnother();
      const made = await Promise.all([
        location.store.ensureProject({ id: 'p1', name: 'digits', createdAtMs: 5.5 }),
        other.ensureProject({ id: 'p2', name: 'digits', createdAtMs: 6 }),
      ]);
      expect(made[0]).toEqual(made[1]);
      await other.ensureProject({ id: 'p3', name: 'another', createdAtMs: 7 });
      await location.reopen();
      const names = (await location.store.listProjects()).map((project) => project.name);
      expect(names).toEqual(['another', 'digits']);
      expect(
        await location.store.ensureProject({ id: 'p9', name: 'digits', createdAtMs: 9 }),
      ).toEqual(made[0]);
    });

    test('a project id belongs to one name', async () => {
      await location.store.ensureProject({ id: 'p1', name: 'digits', createdAtMs: 5 });
      await expect(
        location.store.ensureProject({ id: 'p1', name: 'other', createdAtMs: 5 }),
      ).rejects.toMatchObject({ code: 'store_failed', reason: 'rejected' });
      expect(await location.store.listProjects()).toHaveLength(1);
    });

    test('a run is stored whole and starts at revision 1', async () => {
      const run = runOf({
        id: 'run_2',
        tags: ['b', 'a', 'b c'],
        document: '{"text":"\\u00e9 \\ud83d\\ude00 \'\\""}',
      });
      expect(await location.store.createRun(run)).toEqual({ ...run, revision: 1 });
      await location.reopen();
      expect(await location.store.findRun('run_2')).toEqual({ ...run, revision: 1 });
      expect(await location.store.findRun('run_3')).toBeUndefined();
    });

    test('a run id is taken once, also by two at the same time', async () => {
      await expect(location.store.createRun(runOf({ status: 'failed' }))).rejects.toMatchObject({
        reason: 'rejected',
      });
      expect((await location.store.findRun(RUN_ID))?.status).toBe('running');
      const other = await location.openAnother();
      const results = await Promise.allSettled([
        location.store.createRun(runOf({ id: 'run_2' })),
        other.createRun(runOf({ id: 'run_2' })),
      ]);
      expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
    });

    test('the runs of a configuration are counted, also by several at the same time', async () => {
      const [first, second] = [await location.openAnother(), await location.openAnother()];
      const configHash = 'a'.repeat(64);
      const ids = Array.from({ length: 8 }, (_, i) => `run_c${i}`);
      const made = await Promise.all(
        ids.map((id, i) => (i % 2 === 0 ? first : second).createRun(runOf({ id, configHash }))),
      );
      const revisions = made.map(({ configRevision }) => configRevision ?? 0);
      expect(revisions.sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      const [one] = made;
      if (one === undefined) throw new Error('There is no run.');
      // A deleted run is not counted again, another project and another configuration begin anew.
      await location.store.deleteRun('run_c7');
      const next = await location.store.createRun(runOf({ id: 'run_d', configHash }));
      expect(next.configRevision).toBe(9);
      const elsewhere = { id: 'run_e', configHash, projectId: 'p2', projectName: 'other' };
      expect((await location.store.createRun(runOf(elsewhere))).configRevision).toBe(1);
      const { configRevision: _revision, ...changed } = { ...one, configHash: 'b'.repeat(64) };
      const updated = await location.store.updateRun(changed);
      expect(updated.run).toEqual({ ...changed, configRevision: 1, revision: 2 });
      await location.reopen();
      expect(await location.store.findRun(one.id)).toEqual(updated.run);
      // A program of before says nothing of it, and a copy of another store has its own number.
      const { configHash: _hash, configRevision: _known, ...older } = updated.run;
      expect((await location.store.updateRun(older)).run).toEqual({ ...updated.run, revision: 3 });
      const copy = runOf({ id: 'run_f', configHash, configRevision: 20 });
      expect((await location.store.createRun(copy)).configRevision).toBe(20);
      expect(
        (await location.store.createRun(runOf({ id: 'run_g', configHash }))).configRevision,
      ).toBe(21);
    });

    test('the synchronous form of a change does the same', async () => {
      const { store } = location;
      const { updateRunNow } = store;
      if (updateRunNow === undefined) return;
      const first = await store.createRun(runOf({ id: 'run_now' }));
      const updated = updateRunNow({ ...first, status: 'interrupted' });
      expect(updated).toMatchObject({ kind: 'updated', run: { status: 'interrupted' } });
      expect(updateRunNow({ ...first, status: 'failed' })).toEqual({
        ...updated,
        kind: 'conflict',
      });
      await location.reopen();
      expect(await location.store.findRun(first.id)).toEqual(updated.run);
    });

    test('a change counts only for the revision it was made from', async () => {
      const first = await location.store.findRun(RUN_ID);
      if (first === undefined) throw new Error('The run is missing.');
      const updated = await location.store.updateRun({
        ...first,
        status: 'completed',
        tags: ['x'],
      });
      expect(updated).toEqual({
        kind: 'updated',
        run: { ...first, status: 'completed', tags: ['x'], revision: 2 },
      });
      const stale = await location.store.updateRun({ ...first, status: 'failed' });
      expect(stale).toEqual({ kind: 'conflict', run: updated.run });
      await location.reopen();
      expect(await location.store.findRun(RUN_ID)).toEqual(updated.run);
      expect(await location.store.listRuns({ tags: ['x'] })).toEqual([updated.run]);
    });

    test('of two changes at once one wins and the other learns what is there', async () => {
      const other = await location.openAnother();
      const first = await location.store.findRun(RUN_ID);
      if (first === undefined) throw new Error('The run is missing.');
      const results = await Promise.all([
        location.store.updateRun({ ...first, status: 'completed' }),
        other.updateRun({ ...first, status: 'failed' }),
      ]);
      expect(results.map((result) => result.kind).sort()).toEqual(['conflict', 'updated']);
      expect(results[0].run).toEqual(results[1].run);
      expect(results[0].run.revision).toBe(2);
    });

    test('changing a run that is not there is an error', async () => {
      await expect(
        location.store.updateRun({ ...runOf({ id: 'nobody' }), revision: 1 }),
      ).rejects.toMatchObject({
        code: 'run_not_found',
      });
    });

    test('runs are listed newest first and by every filter', async () => {
      const made = [
        runOf({
          id: 'run_2',
          startedAtMs: 3,
          projectName: 'p',
          tags: ['a', 'b'],
          status: 'failed',
        }),
        runOf({ id: 'run_3', startedAtMs: 5, projectName: 'p', tags: ['a'] }),
        runOf({
          id: 'run_4',
          startedAtMs: 5,
          projectName: 'q',
          tags: ['b'],
          status: 'completed',
        }),
        runOf({ id: 'run_5', startedAtMs: 4.5, projectName: 'q' }),
      ];
      for (const run of made) await location.store.createRun(run);
      const ids = async (filter: Parameters<Store['listRuns']>[0]): Promise<string[]> =>
        (await location.store.listRuns(filter)).map((run) => run.id);
      expect(await ids(undefined)).toEqual(['run_1', 'run_4', 'run_3', 'run_5', 'run_2']);
      expect(await ids({ projectName: 'p' })).toEqual(['run_3', 'run_2']);
      expect(await ids({ statuses: ['failed', 'completed'] })).toEqual(['run_4', 'run_2']);
      expect(await ids({ statuses: [] })).toEqual([]);
      expect(await ids({ tags: ['a'] })).toEqual(['run_3', 'run_2']);
      expect(await ids({ tags: ['a', 'b'] })).toEqual(['run_2']);
      expect(await ids({ tags: ['a'], statuses: ['running'] })).toEqual(['run_3']);
      expect(await ids({ startedMinMs: 4.5 })).toEqual(['run_1', 'run_4', 'run_3', 'run_5']);
      expect(await ids({ startedMinMs: 3, startedMaxMs: 4.5 })).toEqual(['run_5', 'run_2']);
      expect(await ids({ startedMaxMs: 5, tags: ['b'], limit: 1 })).toEqual(['run_4']);
      expect(await ids({ limit: 2 })).toEqual(['run_1', 'run_4']);
      expect(await ids({ limit: 2, offset: 3 })).toEqual(['run_5', 'run_2']);
      expect(await ids({ offset: 4 })).toEqual(['run_2']);
      expect(await ids({ limit: 0 })).toEqual([]);
    });

    test('wrong arguments are refused before anything is written', async () => {
      const wrong: (() => Promise<unknown>)[] = [
        () => location.store.createRun(runOf({ id: '../up' })),
        () => location.store.createRun(runOf({ id: 'ends.' })),
        () => location.store.createRun(runOf({ id: 'run_2', startedAtMs: Number.NaN })),
        () => location.store.createRun(runOf({ id: 'run_2', projectName: '' })),
        () => location.store.updateRun({ ...runOf(), revision: 0 }),
        () => location.store.ensureProject({ id: '', name: 'x', createdAtMs: 1 }),
        () => location.store.listRuns({ limit: -1 }),
        () => location.store.listRuns({ startedMinMs: Number.NaN }),
        () => location.store.renewLease(RUN_ID, 'holder', 0),
        () => location.store.renewLease(RUN_ID, '', 10),
      ];
      for (const call of wrong)
        await expect(call()).rejects.toMatchObject({ code: 'invalid_input' });
      expect(await location.store.listRuns()).toHaveLength(1);
      expect(await location.store.listProjects()).toHaveLength(0);
      expect(await location.store.listLeases()).toHaveLength(0);
    });
  });

  describe('leases', () => {
    test('a lease lasts from the claim for its time, by the clock', async () => {
      const start = location.clock.nowMs;
      expect(await location.store.renewLease(RUN_ID, 'a', 100)).toEqual({
        runId: RUN_ID,
        holder: 'a',
        expiresAtMs: start + 100,
      });
      location.clock.nowMs = start + 99;
      expect(await location.store.listLeases()).toHaveLength(1);
      location.clock.nowMs = start + 100;
      expect(await location.store.listLeases()).toEqual([]);
    });

    test('a renewed lease lasts on, a released one is gone, holders do not mix', async () => {
      const start = location.clock.nowMs;
      const other = await location.openAnother();
      await location.store.renewLease(RUN_ID, 'b', 100);
      await other.renewLease(RUN_ID, 'a', 100);
      await other.renewLease('run_0', 'a', 100);
      expect(
        (await location.store.listLeases()).map((lease) => `${lease.runId}/${lease.holder}`),
      ).toEqual(['run_0/a', 'run_1/a', 'run_1/b']);
      location.clock.nowMs = start + 60;
      await location.store.renewLease(RUN_ID, 'b', 100);
      location.clock.nowMs = start + 120;
      expect(await other.listLeases([RUN_ID, 'nobody'])).toEqual([
        { runId: RUN_ID, holder: 'b', expiresAtMs: start + 160 },
      ]);
      expect(await other.listLeases([])).toEqual([]);
      await location.store.releaseLease(RUN_ID, 'b');
      await location.store.releaseLease(RUN_ID, 'b');
      expect(await other.listLeases()).toEqual([]);
    });

    test('a clock that is turned back by hours makes no lease last for hours', async () => {
      const start = location.clock.nowMs;
      await location.store.renewLease(RUN_ID, 'dead', 100);
      await location.store.renewLease(RUN_ID, 'alive', 100);
      // As much as the clocks of two machines may differ.
      location.clock.nowMs = start - 100;
      expect(await location.store.listLeases()).toHaveLength(2);
      location.clock.nowMs = start - 5 * 3_600_000;
      expect(await location.store.listLeases()).toEqual([]);
      const lease = await location.store.renewLease(RUN_ID, 'alive', 100);
      await location.reopen();
      expect(await location.store.listLeases()).toEqual([lease]);
      // The dead does not rise when the clock gets there again.
      location.clock.nowMs = start;
      expect(await location.store.listLeases()).toEqual([]);
    });

    test('a lapsed lease is there for those who doubt the clock, for a day', async () => {
      const { lapsedLeases } = location.store;
      if (lapsedLeases === undefined) return;
      const { expiresAtMs } = await location.store.renewLease(RUN_ID, 'a', 100);
      expect(await lapsedLeases(RUN_ID)).toEqual([]);
      location.clock.nowMs += 3_600_000;
      await location.store.renewLease('run_other', 'b', 100);
      expect(await lapsedLeases(RUN_ID)).toEqual([
        { runId: RUN_ID, holder: 'a', expiresAtMs, ttlMs: 100, endedMs: 3_600_000 - 100 },
      ]);
      await location.store.renewLease(RUN_ID, 'a', 100);
      expect(await lapsedLeases(RUN_ID)).toEqual([]);
      location.clock.nowMs += 25 * 3_600_000;
      await location.store.renewLease('run_other', 'b', 100);
      expect(await lapsedLeases(RUN_ID)).toEqual([]);
    });

    test('a lapsed lease can be taken again', async () => {
      await location.store.renewLease(RUN_ID, 'a', 10);
      location.clock.nowMs += 50;
      const lease = await location.store.renewLease(RUN_ID, 'a', 10);
      await location.reopen();
      expect(await location.store.listLeases()).toEqual([lease]);
    });
  });
}
