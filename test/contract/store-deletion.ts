/** Deleting, archiving and restoring runs: part of the contract of every store. */
import { describe, expect, test } from 'vitest';
import { DEFAULT_KEEP_DELETED_MS } from '../../src/store/deletion.ts';
import type { Store } from '../../src/store/store.ts';
import { mergeOf, RUN_ID, runOf, segmentOf } from '../support/segments.ts';
import type { LocationUnderTest } from './store-contract.ts';

const TABLE = 'metrics';
const DELETED = { code: 'store_failed', reason: 'deleted' };

/** All that a store tells of the run and its neighbours. */
async function everything(store: Store): Promise<unknown> {
  const manifests = [
    ...(await store.listSegments({ runId: RUN_ID, table: TABLE })),
    ...(await store.listSegments({ runId: RUN_ID, table: 'events' })),
  ];
  const survey = await store.notes?.survey();
  const byName = (a: { readonly table: string }, b: { readonly table: string }): number =>
    a.table < b.table ? -1 : 1;
  return {
    run: await store.findRun(RUN_ID),
    runs: await store.listRuns(),
    tagged: await store.listRuns({ tags: ['a'] }),
    manifests,
    bytes: await store.readSegments(manifests),
    streams: (await store.listStreams?.(RUN_ID))?.toSorted(byName),
    survey: survey && {
      runs: survey.runs.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      streams: survey.streams.toSorted(byName),
    },
  };
}

async function fill(place: LocationUnderTest): Promise<void> {
  const { store } = place;
  const run = await store.findRun(RUN_ID);
  if (run === undefined) throw new Error('The run is there.');
  await store.updateRun({ ...run, tags: ['a', 'b'], status: 'completed' });
  const stored = await place.append(
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

export function describeDeletion(place: LocationUnderTest): void {
  describe('deletion', () => {
    test('a deleted run is not there for any reading', async () => {
      await fill(place);
      const manifests = await place.list();
      const other = await place.openAnother();
      const nowMs = place.clock.nowMs;
      const deleted = await place.store.deleteRun(RUN_ID, { by: 'kim' });
      expect(deleted).toEqual({
        id: RUN_ID,
        projectName: 'digits',
        deletedAtMs: nowMs,
        purgeAtMs: nowMs + DEFAULT_KEEP_DELETED_MS,
        by: 'kim',
      });
      for (const store of [place.store, other]) {
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
      await fill(place);
      const run = await place.store.findRun(RUN_ID);
      if (run === undefined) throw new Error('The run is there.');
      const before = await everything(place.store);
      const manifests = await place.list();
      const other = await place.openAnother();
      await place.store.deleteRun(RUN_ID);
      for (const store of [place.store, other]) {
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
      await place.store.restoreRun(RUN_ID);
      expect(await everything(place.store)).toEqual(before);
    });

    test('one refused segment refuses those of other runs in the same call', async () => {
      await place.store.createRun(runOf({ id: 'run_2' }));
      await place.store.deleteRun(RUN_ID);
      await expect(
        place.append(segmentOf(0, { runId: 'run_2' }), segmentOf(0)),
      ).rejects.toMatchObject(DELETED);
      expect(await place.list({ runId: 'run_2' })).toEqual([]);
    });

    test('a restored run is there as it was, without leases, and goes on', async () => {
      await fill(place);
      await place.store.createRun(runOf({ id: 'run_10', startedAtMs: 1 }));
      const run = await place.store.findRun(RUN_ID);
      const before = await everything(place.store);
      await place.store.deleteRun(RUN_ID);
      await place.reopen();
      expect(await place.store.restoreRun(RUN_ID)).toEqual(run);
      expect(await everything(place.store)).toEqual(before);
      expect(await place.store.listDeletedRuns()).toEqual([]);
      expect(await place.store.findDeletedRun(RUN_ID)).toBeUndefined();
      expect(await place.store.listLeases()).toEqual([]);
      // What was appended before is known, and new rows follow the old ones.
      const known = await place.list();
      expect(await place.append(segmentOf(2))).toEqual([known.at(-1)]);
      const [next] = await place.append(segmentOf(4));
      expect(next?.firstSequence).toBe((known.at(-1)?.lastSequence ?? 0) + 1);
      await place.store.renewLease(RUN_ID, 'session', 1_000);
    });

    test('deleting, archiving and restoring again change nothing', async () => {
      const first = await place.store.deleteRun(RUN_ID, { keepMs: 5 });
      place.clock.nowMs += 1;
      expect(await place.store.deleteRun(RUN_ID, { keepMs: 7, by: 'x' })).toEqual(first);
      const restored = await place.store.restoreRun(RUN_ID);
      expect(await place.store.restoreRun(RUN_ID)).toEqual(restored);
      const archived = await place.store.archiveRun(RUN_ID);
      expect(archived).toEqual({
        ...restored,
        archivedAtMs: place.clock.nowMs,
        revision: restored.revision + 1,
      });
      place.clock.nowMs += 1;
      expect(await place.store.archiveRun(RUN_ID)).toEqual(archived);
      const { archivedAtMs: _, ...plain } = archived;
      expect(await place.store.restoreRun(RUN_ID)).toEqual({
        ...plain,
        revision: archived.revision + 1,
      });
      for (const call of ['deleteRun', 'archiveRun', 'restoreRun'] as const)
        await expect(place.store[call]('run_unknown')).rejects.toMatchObject({
          code: 'run_not_found',
        });
    });

    test('an archived run is read and written as before, and listed by choice', async () => {
      await place.store.createRun(runOf({ id: 'run_2' }));
      const archived = await place.store.archiveRun(RUN_ID);
      const ids = async (filter: Parameters<Store['listRuns']>[0]): Promise<string[]> =>
        (await place.store.listRuns(filter)).map(({ id }) => id).toSorted();
      expect(await ids({})).toEqual([RUN_ID, 'run_2']);
      expect(await ids({ archived: true })).toEqual([RUN_ID]);
      expect(await ids({ archived: false, limit: 3 })).toEqual(['run_2']);
      await place.append(segmentOf(0));
      // Who changes the run does not decide whether it is archived.
      const { archivedAtMs: _, ...plain } = archived;
      const updated = await place.store.updateRun({ ...plain, status: 'completed' });
      expect(updated).toEqual({
        kind: 'updated',
        run: { ...archived, status: 'completed', revision: archived.revision + 1 },
      });
      await place.reopen();
      expect(await place.store.findRun(RUN_ID)).toEqual(updated.run);
      // A deleted run comes back archived, as it was.
      await place.store.deleteRun(RUN_ID);
      expect(await place.store.restoreRun(RUN_ID)).toEqual(updated.run);
      const made = await place.store.createRun(runOf({ id: 'run_3', archivedAtMs: 12 }));
      expect(made.archivedAtMs).toBe(12);
    });

    test('what is purged is gone, and its tombstone stays', async () => {
      await fill(place);
      await place.store.createRun(runOf({ id: 'run_2' }));
      await place.store.createRun(runOf({ id: 'run_3' }));
      await place.append(segmentOf(0, { runId: 'run_2' }), segmentOf(0, { runId: 'run_3' }));
      const before = await place.store.listSegments({ runId: 'run_3', table: TABLE });
      await place.store.notes?.write(`curves/${RUN_ID}`, 'a sketch');
      await place.store.notes?.write(`sync/base/${RUN_ID}/x`, 'a document');
      await place.store.notes?.write(`curves/run_10`, 'another');
      const deleted = await place.store.deleteRun(RUN_ID, { keepMs: 1_000 });
      place.clock.nowMs += 1;
      const second = await place.store.deleteRun('run_2', { keepMs: 10_000 });
      expect(await place.store.purgeDeletedRuns()).toEqual([]);
      place.clock.nowMs = deleted.purgeAtMs;
      const purged = { ...deleted, purgedAtMs: place.clock.nowMs };
      expect(await place.store.purgeDeletedRuns()).toEqual([purged]);
      expect(await place.store.purgeDeletedRuns()).toEqual([]);
      expect(await place.store.listDeletedRuns()).toEqual([second, purged]);
      await expect(place.store.restoreRun(RUN_ID)).rejects.toMatchObject(DELETED);
      expect(await place.store.purgeDeletedRuns(place.clock.nowMs, ['run_2', 'run_3'])).toEqual([
        { ...second, purgedAtMs: place.clock.nowMs },
      ]);
      const notes = await place.store.notes?.list('');
      if (notes !== undefined) expect(notes.map(({ name }) => name)).toEqual(['curves/run_10']);
      await place.reopen();
      await expect(place.store.createRun(runOf())).rejects.toMatchObject(DELETED);
      await expect(place.append(segmentOf(0))).rejects.toMatchObject(DELETED);
      await expect(place.store.renewLease(RUN_ID, 'a', 5)).rejects.toMatchObject(DELETED);
      expect(await place.store.deleteRun(RUN_ID)).toEqual(purged);
      expect(await place.store.listSegments({ runId: 'run_3', table: TABLE })).toEqual(before);
      if (place.countBytes !== undefined) {
        expect(await place.countBytes('run_3')).toBeGreaterThan(0);
        expect(await place.countBytes(RUN_ID)).toBe(0);
        expect(await place.countBytes('run_2')).toBe(0);
      }
    });

    test('appends that meet a deletion were there before it, or are refused', async () => {
      const other = await place.openAnother();
      for (let round = 0; round < 5; round++) {
        const runId = `run_race_${round}`;
        await place.store.createRun(runOf({ id: runId }));
        if (round % 2 === 0) await other.appendSegments([segmentOf(0, { runId })]);
        const appends = Array.from({ length: 6 }, (_, i) =>
          other.appendSegments([
            segmentOf(i + 1, { runId }),
            segmentOf(0, { runId, table: `t${i}` }),
          ]),
        );
        const [deletion, ...outcomes] = await Promise.allSettled([
          place.store.deleteRun(runId),
          ...appends,
        ]);
        expect(deletion.status).toBe('fulfilled');
        for (const outcome of outcomes)
          if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(DELETED);
        expect(await other.listSegments({ runId, table: TABLE })).toEqual([]);
        for (let i = 0; i < 6; i++)
          expect(await other.listSegments({ runId, table: `t${i}` })).toEqual([]);
        await place.store.restoreRun(runId);
        const found = await place.store.listSegments({ runId, table: TABLE });
        const numbers = found.map(({ batchNumber }) => batchNumber).filter((n) => n > 0);
        const acknowledged = outcomes.flatMap(({ status }, i) =>
          status === 'fulfilled' ? [i + 1] : [],
        );
        expect(numbers.toSorted((a, b) => a - b)).toEqual(acknowledged);
      }
    });

    test('of a creation and a deletion at once, none brings a deleted run back', async () => {
      const other = await place.openAnother();
      for (let round = 0; round < 5; round++) {
        const id = `run_race_${round}`;
        await place.store.createRun(runOf({ id }));
        const [deletion, creation] = await Promise.allSettled([
          place.store.deleteRun(id),
          other.createRun(runOf({ id })),
        ]);
        expect(deletion.status).toBe('fulfilled');
        expect(creation.status).toBe('rejected');
        expect(await other.findRun(id)).toBeUndefined();
        expect((await other.listDeletedRuns()).map((one) => one.id)).toContain(id);
      }
    });

    test('changes tell that a run went and came back', async () => {
      if (place.store.listRunChanges === undefined) return;
      const { lastOrder } = await place.store.listRunChanges();
      await place.store.deleteRun(RUN_ID);
      const gone = await place.store.listRunChanges(lastOrder);
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
      await place.store.restoreRun(RUN_ID);
      const back = await place.store.listRunChanges(gone.lastOrder);
      expect(back.runs.map(({ id, isDeleted }) => [id, isDeleted])).toEqual([[RUN_ID, undefined]]);
      await place.store.archiveRun(RUN_ID);
      expect((await place.store.listRunChanges(back.lastOrder)).runs).toMatchObject([
        { id: RUN_ID, revision: 2 },
      ]);
    });

    test('wrong arguments are refused before anything is written', async () => {
      const wrong: Promise<unknown>[] = [
        place.store.deleteRun('../up'),
        place.store.deleteRun(RUN_ID, { keepMs: -1 }),
        place.store.deleteRun(RUN_ID, { keepMs: Number.NaN }),
        place.store.deleteRun(RUN_ID, { by: '' }),
        place.store.archiveRun(''),
        place.store.restoreRun('a/b'),
        place.store.findDeletedRun('a b'),
        place.store.purgeDeletedRuns(Number.NaN),
        place.store.purgeDeletedRuns(0, ['../up']),
      ];
      for (const call of wrong) await expect(call).rejects.toMatchObject({ code: 'invalid_input' });
      expect(await place.store.listDeletedRuns()).toEqual([]);
    });
  });
}
