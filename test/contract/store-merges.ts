/** Merging segments, and replacing whole tables: part of the contract of stores. */
import { describe, expect, test } from 'vitest';
import { RUN_ID, segmentOf, mergeOf } from '../support/segments.ts';
import type { LocationUnderTest } from './store-contract.ts';

export function describeMerges(place: LocationUnderTest): void {
  describe('merging', () => {
    test('a merge takes the place of its sources', async () => {
      const placed = await place.append(segmentOf(0), segmentOf(1), segmentOf(2));
      const merged = mergeOf(placed.slice(0, 2));
      expect(
        await place.store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [merged]),
      ).toBe(true);
      await place.reopen();
      expect(await place.list()).toEqual([merged.manifest, placed[2]]);
      expect(await place.store.readSegments([merged.manifest, ...placed])).toEqual([
        { kind: 'bytes', bytes: merged.bytes },
        { kind: 'gone' },
        { kind: 'gone' },
        { kind: 'bytes', bytes: segmentOf(2).bytes },
      ]);
    });

    test('merged segments stay known: appended again, the one they went into is returned', async () => {
      const placed = await place.append(
        segmentOf(0),
        segmentOf(1),
        segmentOf(3),
        segmentOf(0, { writerId: 'writer_b' }),
      );
      const merged = mergeOf(placed, { writerId: 'merge', batchNumber: 0 });
      expect(await place.store.replaceSegments(RUN_ID, 'metrics', placed, [merged])).toBe(true);
      await place.reopen();
      expect(
        await place.append(
          segmentOf(0),
          segmentOf(1),
          segmentOf(3),
          segmentOf(0, { writerId: 'writer_b' }),
        ),
      ).toEqual(Array.from({ length: 4 }, () => merged.manifest));
      // Batch 2 never came, so it is new, though it lies between the others.
      expect(await place.append(segmentOf(2), segmentOf(4))).toMatchObject([
        { firstSequence: 40 },
        { firstSequence: 50 },
      ]);
      expect(await place.list()).toHaveLength(3);
    });

    test('a merge of merges keeps all of them known', async () => {
      const placed = await place.append(segmentOf(0), segmentOf(1), segmentOf(2));
      const once = mergeOf(placed.slice(0, 2));
      await place.store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [once]);
      const twice = mergeOf([once.manifest, ...placed.slice(2)]);
      expect(
        await place.store.replaceSegments(
          RUN_ID,
          'metrics',
          [once.manifest, ...placed.slice(2)],
          [twice],
        ),
      ).toBe(true);
      expect(await place.append(segmentOf(1), segmentOf(2), segmentOf(0))).toEqual(
        Array.from({ length: 3 }, () => twice.manifest),
      );
      expect(await place.append(segmentOf(3))).toMatchObject([{ firstSequence: 30 }]);
      expect(await place.list()).toHaveLength(2);
    });

    test('nothing changes when a source is gone, or is another segment by now', async () => {
      const placed = await place.append(segmentOf(0), segmentOf(1), segmentOf(2));
      const merged = mergeOf(placed.slice(0, 2));
      await place.store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [merged]);
      const before = await place.list();
      const late = mergeOf(placed.slice(1));
      expect(await place.store.replaceSegments(RUN_ID, 'metrics', placed.slice(1), [late])).toBe(
        false,
      );
      const stale = [placed[0], placed[2]].filter((one) => one !== undefined);
      expect(await place.store.replaceSegments(RUN_ID, 'metrics', stale, [mergeOf(stale)])).toBe(
        false,
      );
      expect(await place.list()).toEqual(before);
    });

    test('of two merges at once one wins', async () => {
      const other = await place.openAnother();
      const placed = await place.append(segmentOf(0), segmentOf(1), segmentOf(2));
      const results = await Promise.all([
        place.store.replaceSegments(RUN_ID, 'metrics', placed, [mergeOf(placed)]),
        other.replaceSegments(RUN_ID, 'metrics', placed.slice(1), [mergeOf(placed.slice(1))]),
      ]);
      expect(results.filter(Boolean)).toHaveLength(1);
      const rows = (await place.list()).reduce((sum, manifest) => sum + manifest.rowCount, 0);
      expect(rows).toBe(30);
    });

    test('a merge that loses or invents a batch is refused', async () => {
      const placed = await place.append(segmentOf(0), segmentOf(1), segmentOf(3));
      const lost = mergeOf(placed, {
        sources: [{ writerId: 'writer_a', batchStart: 0, batchLast: 1 }],
      });
      const invented = mergeOf(placed, {
        sources: [{ writerId: 'writer_a', batchStart: 0, batchLast: 3 }],
      });
      for (const merged of [lost, invented]) {
        await expect(
          place.store.replaceSegments(RUN_ID, 'metrics', placed, [merged]),
        ).rejects.toMatchObject({
          code: 'invalid_input',
          details: { field: 'sources' },
        });
      }
      await expect(
        place.store.replaceSegments(RUN_ID, 'metrics', placed, []),
      ).rejects.toMatchObject({
        code: 'invalid_input',
      });
      expect(await place.list()).toEqual(placed);
    });

    test('a merge cannot take the identity of a segment that stays', async () => {
      const placed = await place.append(segmentOf(0), segmentOf(1), segmentOf(2));
      const merged = mergeOf(placed.slice(0, 2), { batchNumber: 2 });
      await expect(
        place.store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [merged]),
      ).rejects.toMatchObject({
        reason: 'rejected',
      });
      expect(await place.list()).toEqual(placed);
      expect((await place.store.readSegments(placed)).map((read) => read.kind)).toEqual([
        'bytes',
        'bytes',
        'bytes',
      ]);
    });

    test('a merge may be split into several segments', async () => {
      const placed = await place.append(segmentOf(0), segmentOf(1), segmentOf(2), segmentOf(3));
      const parts = [mergeOf(placed.slice(0, 2)), mergeOf(placed.slice(2))];
      expect(await place.store.replaceSegments(RUN_ID, 'metrics', placed, parts)).toBe(true);
      expect(await place.list()).toEqual(parts.map((part) => part.manifest));
      expect(await place.append(segmentOf(3))).toEqual([parts[1]?.manifest]);
    });

    test('what reaches a position is listed after merges, appends and replacements, too', async () => {
      const from = async (sequenceMin: number): Promise<number[]> =>
        (await place.list({ sequenceMin })).map(({ firstSequence }) => firstSequence);
      const placed = await place.append(segmentOf(0), segmentOf(1), segmentOf(2), segmentOf(3));
      expect(await from(20)).toEqual([20, 30]);
      const parts = [mergeOf(placed.slice(0, 2)), mergeOf(placed.slice(2))];
      await place.store.replaceSegments(RUN_ID, 'metrics', placed, parts);
      expect(await from(20)).toEqual([20]);
      await place.append(segmentOf(4));
      expect(await from(19)).toEqual([0, 20, 40]);
      expect(await from(35)).toEqual([20, 40]);
      expect(await from(40)).toEqual([40]);
      await place.store.replaceTable(RUN_ID, 'metrics', [segmentOf(5)]);
      expect(await from(0)).toEqual([50]);
      expect(await from(60)).toEqual([]);
    });

    test('appending goes on while a merge takes place', async () => {
      const other = await place.openAnother();
      const placed = await place.append(...Array.from({ length: 10 }, (_, i) => segmentOf(i)));
      const [replaced] = await Promise.all([
        other.replaceSegments(RUN_ID, 'metrics', placed, [mergeOf(placed)]),
        ...Array.from({ length: 10 }, (_, i) =>
          place.append(segmentOf(i, { writerId: 'writer_b' })),
        ),
      ]);
      expect(replaced).toBe(true);
      expect((await place.list()).map((manifest) => manifest.firstSequence)).toEqual([
        0, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190,
      ]);
    });
  });

  describe('replacing a table', () => {
    test('what was there is forgotten, the numbers go on', async () => {
      const placed = await place.append(
        segmentOf(0),
        segmentOf(1),
        segmentOf(0, { table: 'events' }),
      );
      await place.store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [
        mergeOf(placed.slice(0, 2)),
      ]);
      const added = await place.store.replaceTable(RUN_ID, 'metrics', [segmentOf(1), segmentOf(5)]);
      expect(added).toMatchObject([{ firstSequence: 20 }, { firstSequence: 30 }]);
      await place.reopen();
      expect(await place.list()).toEqual(added);
      expect(await place.list({ table: 'events' })).toHaveLength(1);
      expect(await place.append(segmentOf(0))).toMatchObject([{ firstSequence: 40 }]);
      expect(await place.store.replaceTable(RUN_ID, 'metrics', [])).toEqual([]);
      expect(await place.list()).toEqual([]);
      expect(await place.append(segmentOf(0))).toMatchObject([{ firstSequence: 50 }]);
      expect((await place.store.readSegments(added)).map((read) => read.kind)).toEqual([
        'gone',
        'gone',
      ]);
    });

    test('only in a run that is there, with segments of that table', async () => {
      await expect(place.store.replaceTable('nobody', 'metrics', [])).rejects.toMatchObject({
        code: 'run_not_found',
      });
      await place.append(segmentOf(0));
      await expect(
        place.store.replaceTable(RUN_ID, 'metrics', [segmentOf(1, { table: 'events' })]),
      ).rejects.toMatchObject({
        code: 'invalid_input',
      });
      expect(await place.list()).toHaveLength(1);
    });
  });
}
