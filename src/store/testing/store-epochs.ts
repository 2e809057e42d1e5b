/** What was held back on its way and arrives after a table was emptied: part of the contract of stores that serve. */
import { describe, expect, test } from './suite-tools.ts';
import { mergeOf, RUN_ID, segmentOf } from './segments.ts';
import type { LocationUnderTest } from './location-under-test.ts';

const TABLE = 'metrics';
const seen = (replaceCount: number) => [{ runId: RUN_ID, table: TABLE, replaceCount }];
const stale = (replaceCount: number) => ({
  code: 'store_failed',
  reason: 'busy',
  details: expect.objectContaining({ runId: RUN_ID, table: TABLE, replaceCount }),
});

export function describeEpochs(location: LocationUnderTest): void {
  describe('tables as they were seen', () => {
    test('streams are told with how often they were emptied', async () => {
      expect(await location.store.listStreams?.(RUN_ID)).toEqual([]);
      expect(await location.store.listStreams?.('run_unknown')).toEqual([]);
      await location.append(segmentOf(0), segmentOf(0, { table: 'events' }));
      await location.store.replaceTable(RUN_ID, TABLE, [segmentOf(1)]);
      await location.store.replaceTable(RUN_ID, TABLE, []);
      const streams = (await location.store.listStreams?.(RUN_ID)) ?? [];
      expect(streams.toSorted((a, b) => (a.table < b.table ? -1 : 1))).toEqual([
        { runId: RUN_ID, table: 'events', nextSequence: 10, replaceCount: 0 },
        { runId: RUN_ID, table: TABLE, nextSequence: 20, replaceCount: 2 },
      ]);
    });

    test('batches are told by table and writer, merged ones as well, with the rows', async () => {
      const { store } = location;
      expect(await store.listBatches?.([])).toEqual({ runs: [], tables: [] });
      const revisions = [{ id: RUN_ID, revision: 1 }];
      expect(await store.listBatches?.([RUN_ID, 'run_unknown'])).toEqual({
        runs: revisions,
        tables: [],
      });
      const other = { writerId: 'writer_b' };
      await location.append(
        segmentOf(0),
        segmentOf(1),
        segmentOf(2),
        segmentOf(4),
        segmentOf(7, other),
      );
      await location.append(segmentOf(0, { table: 'events', rowCount: 3 }));
      await store.replaceTable(RUN_ID, 'alerts', []);
      const live = await location.list();
      const some = live.filter(
        ({ batchNumber, writerId }) => batchNumber < 2 && writerId === 'writer_a',
      );
      expect(await store.replaceSegments(RUN_ID, TABLE, some, [mergeOf(some)])).toBe(true);
      const found = await store.listBatches?.([RUN_ID, RUN_ID]);
      expect(found?.runs).toEqual(revisions);
      expect((found?.tables ?? []).toSorted((a, b) => (a.table < b.table ? -1 : 1))).toEqual([
        { runId: RUN_ID, table: 'alerts', rowCount: 0, replaceCount: 1, batches: [] },
        {
          runId: RUN_ID,
          table: 'events',
          rowCount: 3,
          replaceCount: 0,
          batches: [{ writerId: 'writer_a', batchStart: 0, batchLast: 0 }],
        },
        {
          runId: RUN_ID,
          table: TABLE,
          rowCount: 50,
          replaceCount: 0,
          batches: [
            { writerId: 'writer_a', batchStart: 0, batchLast: 2 },
            { writerId: 'writer_a', batchStart: 4, batchLast: 4 },
            { writerId: 'writer_b', batchStart: 7, batchLast: 7 },
          ],
        },
      ]);
    });

    test('the identity is the same for all who open the location', async () => {
      const [own, others] = await Promise.all([
        location.store.identity?.(),
        (await location.openAnother()).identity?.(),
      ]);
      expect(others).toEqual(own);
      // A handler of stores that is no service tells of none.
      if (!location.store.uri.startsWith('http')) expect(own?.id).toMatch(/^db_/);
      if (own !== undefined) expect(own.epoch).toBeGreaterThan(0);
      expect(await location.store.isDurable?.()).toBeTypeOf('boolean');
    });

    test('a table is emptied only by who knows how it is', async () => {
      const { store } = location;
      await store.replaceTable(RUN_ID, TABLE, [segmentOf(0)], 0);
      await expect(store.replaceTable(RUN_ID, TABLE, [segmentOf(1)], 0)).rejects.toMatchObject(
        stale(1),
      );
      await expect(store.replaceTable(RUN_ID, TABLE, [segmentOf(1)], 2)).rejects.toMatchObject(
        stale(1),
      );
      expect((await location.list()).map(({ batchNumber }) => batchNumber)).toEqual([0]);
      await store.replaceTable(RUN_ID, TABLE, [segmentOf(2)], 1);
      expect((await location.list()).map(({ batchNumber }) => batchNumber)).toEqual([2]);
    });

    test('rows from before a table was emptied are not appended after it', async () => {
      const { store } = location;
      await store.appendSegments([segmentOf(0)], seen(0));
      await store.replaceTable(RUN_ID, TABLE, [segmentOf(1)]);
      const late = [segmentOf(0, { table: 'events' }), segmentOf(0)];
      await expect(store.appendSegments(late, seen(0))).rejects.toMatchObject(stale(1));
      expect((await location.list()).map(({ batchNumber }) => batchNumber)).toEqual([1]);
      expect(await location.list({ table: 'events' })).toEqual([]);
      await store.appendSegments([segmentOf(2)], seen(1));
      expect(await location.list()).toHaveLength(2);
    });

    test('of two who empty a table at once, each knowing how it was, one does', async () => {
      const other = await location.openAnother();
      const outcomes = await Promise.allSettled([
        location.store.replaceTable(RUN_ID, TABLE, [segmentOf(0)], 0),
        other.replaceTable(RUN_ID, TABLE, [segmentOf(1)], 0),
      ]);
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      expect(await location.list()).toHaveLength(1);
    });
  });
}
