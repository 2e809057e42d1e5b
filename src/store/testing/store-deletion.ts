/** Deleting, archiving and restoring runs: part of the contract of every store. */
import { describe, expect, test } from './suite-tools.ts';
import { DEFAULT_KEEP_DELETED_MS } from '../deletion.ts';
import type { Store } from '../store.ts';
import { mergeOf, RUN_ID, runOf, segmentOf } from './segments.ts';
import type { LocationUnderTest } from './location-under-test.ts';

const TABLE = 'metrics';
const DELETED = { code: 'store_failed', reason: 'deleted' };

/** All that a store tells of the run and its neighbours. */
async function everything(store: Store): Promise<unknown> {
  const manifests = [
    ...(await store.listSegments({ runId: RUN_ID, table: TABLE })),
    ...(await store.listSegments({ runId: RUN_ID, table: 'events' })),
  ];
  const overview = await store.notes?.survey();
  const byName = (a: { readonly table: string }, b: { readonly table: string }): number =>
    a.table < b.table ? -1 : 1;
  return {
    run: await store.findRun(RUN_ID),
    runs: await store.listRuns(),
    tagged: await store.listRuns({ tags: ['a'] }),
    manifests,
    bytes: await store.readSegments(manifests),
    streams: (await store.listStreams?.(RUN_ID))?.toSorted(byName),
    overview: overview && {
      runs: overview.runs.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      streams: overview.streams.toSorted(byName),
    },
  };
}

async function fill(location: LocationUnderTest): Promise<void> {
  const { store } = location;
  const run = await store.findRun(RUN_ID);
  if (run === undefined) throw new Error('The run is there.');
  await store.updateRun({ ...run, tags: ['a', 'b'], status: 'completed' });
  const stored = await location.append(
    segmentOf(0),
    segmentOf(1),
    segmentOf(0, { table: 'events' }),
    segmentOf(2),
  );
  const [first, second] = stored;
  if (first === undefined || second === undefined) throw new Error('They were appended.');
  await store.replaceSegments(RUN_ID, TABLE, [first, second], [mergeOf([first, second])]);
  await store.replaceTable(RUN_ID, 'events', [segmentOf(3, { table: 'events' })]);
  await store.renewLease(RUN_ID, 'session', 60_000);
}

export function describeDeletion(location: LocationUnderTest): void {
  describe('deletion', () => {
    test('a deleted run is not there for any reading', async () => {
      await fill(location);
      const manifests = await location.list();
      const other = await location.openAnother();
      const nowMs = location.clock.nowMs;
      const deleted = await location.store.deleteRun(RUN_ID, { by: 'kim' });
      expect(deleted).toEqual({
        id: RUN_ID,
        projectName: 'digits',
        deletedAtMs: nowMs,
        purgeAtMs: nowMs + DEFAULT_KEEP_DELETED_MS,
        by: 'kim',
      });
      for (const store of [location.store, other]) {
        expect(await store.findRun(RUN_ID)).toBeUndefined();
        expect(await store.listRuns()).toEqual([]);
        expect(await store.listRuns({ tags: ['a'], limit: 5 })).toEqual([]);
        expect(await store.listSegments({ runId: RUN_ID, table: TABLE })).toEqual([]);
        const reads = await store.readSegments(manifests);
        expect(reads.map(({ kind }) => kind)).toEqual(manifests.map(() => 'gone'));
        if (store.segmentSizes !== undefined)
          expect(await store.segmentSizes(manifests)).toEqual(manifests.map(() => 0));
        expect(await store.listLeases()).toEqual([]);
        if (store.listStreams !== undefined) expect(await store.listStreams(RUN_ID)).toEqual([]);
        if (store.notes !== undefined)
          expect(await store.notes.survey()).toEqual({ runs: [], streams: [] });
        expect(await store.findDeletedRun(RUN_ID)).toEqual(deleted);
        expect(await store.listDeletedRuns()).toEqual([deleted]);
      }
    });

    test('every writing to a deleted run is refused and changes nothing', async () => {
      await fill(location);
      const run = await location.store.findRun(RUN_ID);
      if (run === undefined) throw new Error('The run is there.');
      const before = await everything(location.store);
      const manifests = await location.list();
      const other = await location.openAnother();
      await location.store.deleteRun(RUN_ID);
      for (const store of [location.store, other]) {
        const writes: (() => Promise<unknown>)[] = [
          () => store.createRun(runOf()),
          () => store.updateRun({ ...run, status: 'failed' }),
          () => store.appendSegments([segmentOf(9)]),
          () => store.appendSegments([segmentOf(0, { table: 'alerts' })]),
          () => store.appendSegments([]).then(() => store.appendSegments([segmentOf(2)])),
          () => store.replaceTable(RUN_ID, TABLE, [segmentOf(9)]),
          () => store.replaceTable(RUN_ID, 'alerts', []),
          () => store.replaceSegments(RUN_ID, TABLE, manifests.slice(0, 1), []),
          () => store.renewLease(RUN_ID, 'session', 1_000),
          () => store.archiveRun(RUN_ID),
        ];
        for (const write of writes) await expect(write()).rejects.toMatchObject(DELETED);
        if (store.appendSegmentsNow !== undefined) {
          const { appendSegmentsNow } = store;
          expect(() => appendSegmentsNow([segmentOf(9)])).toThrow(
            expect.objectContaining(DELETED) as Error,
          );
        }
        await store.releaseLease(RUN_ID, 'session');
      }
      await location.store.restoreRun(RUN_ID);
      expect(await everything(location.store)).toEqual(before);
    });

    test('one refused segment refuses those of other runs in the same call', async () => {
      await location.store.createRun(runOf({ id: 'run_2' }));
      await location.store.deleteRun(RUN_ID);
      await expect(
        location.append(segmentOf(0, { runId: 'run_2' }), segmentOf(0)),
      ).rejects.toMatchObject(DELETED);
      expect(await location.list({ runId: 'run_2' })).toEqual([]);
    });

    test('a restored run is there as it was, without leases, and goes on', async () => {
      await fill(location);
      await location.store.createRun(runOf({ id: 'run_10', startedAtMs: 1 }));
      const run = await location.store.findRun(RUN_ID);
      const before = await everything(location.store);
      await location.store.deleteRun(RUN_ID);
      await location.reopen();
      expect(await location.store.restoreRun(RUN_ID)).toEqual(run);
      expect(await everything(location.store)).toEqual(before);
      expect(await location.store.listDeletedRuns()).toEqual([]);
      expect(await location.store.findDeletedRun(RUN_ID)).toBeUndefined();
      expect(await location.store.listLeases()).toEqual([]);
      // What was appended before is known, and new rows follow the old ones.
      const known = await location.list();
      expect(await location.append(segmentOf(2))).toEqual([known.at(-1)]);
      const [next] = await location.append(segmentOf(4));
      expect(next?.firstSequence).toBe((known.at(-1)?.lastSequence ?? 0) + 1);
      await location.store.renewLease(RUN_ID, 'session', 1_000);
    });

    test('deleting, archiving and restoring again change nothing', async () => {
      const first = await location.store.deleteRun(RUN_ID, { keepMs: 5 });
      location.clock.nowMs += 1;
      expect(await location.store.deleteRun(RUN_ID, { keepMs: 7, by: 'x' })).toEqual(first);
      const restored = await location.store.restoreRun(RUN_ID);
      expect(await location.store.restoreRun(RUN_ID)).toEqual(restored);
      const archived = await location.store.archiveRun(RUN_ID);
      expect(archived).toEqual({
        ...restored,
        archivedAtMs: location.clock.nowMs,
        revision: restored.revision + 1,
      });
      location.clock.nowMs += 1;
      expect(await location.store.archiveRun(RUN_ID)).toEqual(archived);
      const { archivedAtMs: _, ...plain } = archived;
      expect(await location.store.restoreRun(RUN_ID)).toEqual({
        ...plain,
        revision: archived.revision + 1,
      });
      for (const call of ['deleteRun', 'archiveRun', 'restoreRun'] as const)
        await expect(location.store[call]('run_unknown')).rejects.toMatchObject({
          code: 'run_not_found',
        });
    });

    test('an archived run is read and written as before, and listed by choice', async () => {
      await location.store.createRun(runOf({ id: 'run_2' }));
      const archived = await location.store.archiveRun(RUN_ID);
      const ids = async (filter: Parameters<Store['listRuns']>[0]): Promise<string[]> =>
        (await location.store.listRuns(filter)).map(({ id }) => id).toSorted();
      expect(await ids({})).toEqual([RUN_ID, 'run_2']);
      expect(await ids({ archived: true })).toEqual([RUN_ID]);
      expect(await ids({ archived: false, limit: 3 })).toEqual(['run_2']);
      await location.append(segmentOf(0));
      // Who changes the run does not decide whether it is archived.
      const { archivedAtMs: _, ...plain } = archived;
      const updated = await location.store.updateRun({ ...plain, status: 'completed' });
      expect(updated).toEqual({
        kind: 'updated',
        run: { ...archived, status: 'completed', revision: archived.revision + 1 },
      });
      await location.reopen();
      expect(await location.store.findRun(RUN_ID)).toEqual(updated.run);
      // A deleted run comes back archived, as it was.
      await location.store.deleteRun(RUN_ID);
      expect(await location.store.restoreRun(RUN_ID)).toEqual(updated.run);
      const made = await location.store.createRun(runOf({ id: 'run_3', archivedAtMs: 12 }));
      expect(made.archivedAtMs).toBe(12);
    });

    test('what is purged is gone, and its tombstone stays', async () => {
      await fill(location);
      await location.store.createRun(runOf({ id: 'run_2' }));
      await location.store.createRun(runOf({ id: 'run_3' }));
      await location.append(segmentOf(0, { runId: 'run_2' }), segmentOf(0, { runId: 'run_3' }));
      const before = await location.store.listSegments({ runId: 'run_3', table: TABLE });
      await location.store.notes?.write(`curves/${RUN_ID}`, 'a sketch');
      await location.store.notes?.write(`sync/base/${RUN_ID}/x`, 'a document');
      await location.store.notes?.write(`curves/run_10`, 'another');
      const deleted = await location.store.deleteRun(RUN_ID, { keepMs: 1_000 });
      location.clock.nowMs += 1;
      const second = await location.store.deleteRun('run_2', { keepMs: 10_000 });
      expect(await location.store.purgeDeletedRuns()).toEqual([]);
      location.clock.nowMs = deleted.purgeAtMs;
      const purged = { ...deleted, purgedAtMs: location.clock.nowMs };
      expect(await location.store.purgeDeletedRuns()).toEqual([purged]);
      expect(await location.store.purgeDeletedRuns()).toEqual([]);
      expect(await location.store.listDeletedRuns()).toEqual([second, purged]);
      await expect(location.store.restoreRun(RUN_ID)).rejects.toMatchObject(DELETED);
      expect(
        await location.store.purgeDeletedRuns(location.clock.nowMs, ['run_2', 'run_3']),
      ).toEqual([{ ...second, purgedAtMs: location.clock.nowMs }]);
      const notes = await location.store.notes?.list('');
      if (notes !== undefined) expect(notes.map(({ name }) => name)).toEqual(['curves/run_10']);
      await location.reopen();
      await expect(location.store.createRun(runOf())).rejects.toMatchObject(DELETED);
      await expect(location.append(segmentOf(0))).rejects.toMatchObject(DELETED);
      await expect(location.store.renewLease(RUN_ID, 'a', 5)).rejects.toMatchObject(DELETED);
      expect(await location.store.deleteRun(RUN_ID)).toEqual(purged);
      expect(await location.store.listSegments({ runId: 'run_3', table: TABLE })).toEqual(before);
      if (location.countBytes !== undefined) {
        expect(await location.countBytes('run_3')).toBeGreaterThan(0);
        expect(await location.countBytes(RUN_ID)).toBe(0);
        expect(await location.countBytes('run_2')).toBe(0);
      }
    });

    test('appends that meet a deletion were there before it, or are refused', async () => {
      const other = await location.openAnother();
      for (let round = 0; round < 5; round++) {
        const runId = `run_race_${round}`;
        await location.store.createRun(runOf({ id: runId }));
        if (round % 2 === 0) await other.appendSegments([segmentOf(0, { runId })]);
        const appends = Array.from({ length: 6 }, (_, i) =>
          other.appendSegments([
            segmentOf(i + 1, { runId }),
            segmentOf(0, { runId, table: `t${i}` }),
          ]),
        );
        const [deletion, ...outcomes] = await Promise.allSettled([
          location.store.deleteRun(runId),
          ...appends,
        ]);
        expect(deletion.status).toBe('fulfilled');
        for (const outcome of outcomes)
          if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(DELETED);
        expect(await other.listSegments({ runId, table: TABLE })).toEqual([]);
        for (let i = 0; i < 6; i++)
          expect(await other.listSegments({ runId, table: `t${i}` })).toEqual([]);
        await location.store.restoreRun(runId);
        const found = await location.store.listSegments({ runId, table: TABLE });
        const numbers = found.map(({ batchNumber }) => batchNumber).filter((n) => n > 0);
        const acknowledged = outcomes.flatMap(({ status }, i) =>
          status === 'fulfilled' ? [i + 1] : [],
        );
        expect(numbers.toSorted((a, b) => a - b)).toEqual(acknowledged);
      }
    });

    test('of a creation and a deletion at once, none brings a deleted run back', async () => {
      const other = await location.openAnother();
      for (let round = 0; round < 5; round++) {
        const id = `run_race_${round}`;
        await location.store.createRun(runOf({ id }));
        const [deletion, creation] = await Promise.allSettled([
          location.store.deleteRun(id),
          other.createRun(runOf({ id })),
        ]);
        expect(deletion.status).toBe('fulfilled');
        expect(creation.status).toBe('rejected');
        expect(await other.findRun(id)).toBeUndefined();
        expect((await other.listDeletedRuns()).map((one) => one.id)).toContain(id);
      }
    });

    test('changes tell that a run went and came back', async () => {
      if (location.store.listRunChanges === undefined) return;
      const { lastOrder } = await location.store.listRunChanges();
      await location.store.deleteRun(RUN_ID);
      const gone = await location.store.listRunChanges(lastOrder);
      expect(gone.runs).toEqual([
        {
          id: RUN_ID,
          projectName: 'digits',
          status: 'deleted',
          revision: 1,
          order: gone.lastOrder,
          isDeleted: true,
        },
      ]);
      expect(gone.lastOrder).toBeGreaterThan(lastOrder);
      await location.store.restoreRun(RUN_ID);
      const back = await location.store.listRunChanges(gone.lastOrder);
      expect(back.runs.map(({ id, isDeleted }) => [id, isDeleted])).toEqual([[RUN_ID, undefined]]);
      await location.store.archiveRun(RUN_ID);
      expect((await location.store.listRunChanges(back.lastOrder)).runs).toMatchObject([
        { id: RUN_ID, revision: 2 },
      ]);
    });

    test('wrong arguments are refused before anything is written', async () => {
      const wrong: (() => Promise<unknown>)[] = [
        () => location.store.deleteRun('../up'),
        () => location.store.deleteRun(RUN_ID, { keepMs: -1 }),
        () => location.store.deleteRun(RUN_ID, { keepMs: Number.NaN }),
        () => location.store.deleteRun(RUN_ID, { by: '' }),
        () => location.store.archiveRun(''),
        () => location.store.restoreRun('a/b'),
        () => location.store.findDeletedRun('a b'),
        () => location.store.purgeDeletedRuns(Number.NaN),
        () => location.store.purgeDeletedRuns(0, ['../up']),
      ];
      for (const call of wrong)
        await expect(call()).rejects.toMatchObject({ code: 'invalid_input' });
      expect(await location.store.listDeletedRuns()).toEqual([]);
    });
  });
}
