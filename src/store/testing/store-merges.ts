/** Merging segments, and replacing whole tables: part of the contract of stores. */
import { describe, expect, test } from './suite-tools.ts';
import { RUN_ID, segmentOf, mergeOf } from './segments.ts';
import type { LocationUnderTest } from './location-under-test.ts';

export function describeMerges(location: LocationUnderTest): void {
  describe('merging', () => {
    test('a merge takes the location of its sources', async () => {
      const placed = await location.append(segmentOf(0), segmentOf(1), segmentOf(2));
      const merged = mergeOf(placed.slice(0, 2));
      expect(
        await location.store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [merged]),
      ).toBe(true);
      await location.reopen();
      expect(await location.list()).toEqual([merged.manifest, placed[2]]);
      expect(await location.store.readSegments([merged.manifest, ...placed])).toEqual([
        { kind: 'bytes', bytes: merged.bytes },
        { kind: 'gone' },
        { kind: 'gone' },
        { kind: 'bytes', bytes: segmentOf(2).bytes },
      ]);
    });

    test('merged segments stay known: appended again, the one they went into is returned', async () => {
      const placed = await location.append(
        segmentOf(0),
        segmentOf(1),
        segmentOf(3),
        segmentOf(0, { writerId: 'writer_b' }),
      );
      const merged = mergeOf(placed, { writerId: 'merge', batchNumber: 0 });
      expect(await location.store.replaceSegments(RUN_ID, 'metrics', placed, [merged])).toBe(true);
      await location.reopen();
      expect(
        await location.append(
          segmentOf(0),
          segmentOf(1),
          segmentOf(3),
          segmentOf(0, { writerId: 'writer_b' }),
        ),
      ).toEqual(Array.from({ length: 4 }, () => merged.manifest));
      // Batch 2 never came, so it is new, though it lies between the others.
      expect(await location.append(segmentOf(2), segmentOf(4))).toMatchObject([
        { firstSequence: 40 },
        { firstSequence: 50 },
      ]);
      expect(await location.list()).toHaveLength(3);
    });

    test('a merge of merges keeps all of them known', async () => {
      const placed = await location.append(segmentOf(0), segmentOf(1), segmentOf(2));
      const once = mergeOf(placed.slice(0, 2));
      await location.store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [once]);
      const twice = mergeOf([once.manifest, ...placed.slice(2)]);
      expect(
        await location.store.replaceSegments(
          RUN_ID,
          'metrics',
          [once.manifest, ...placed.slice(2)],
          [twice],
        ),
      ).toBe(true);
      expect(await location.append(segmentOf(1), segmentOf(2), segmentOf(0))).toEqual(
        Array.from({ length: 3 }, () => twice.manifest),
      );
      expect(await location.append(segmentOf(3))).toMatchObject([{ firstSequence: 30 }]);
      expect(await location.list()).toHaveLength(2);
    });

    test('nothing changes when a source is gone, or is another segment by now', async () => {
      const placed = await location.append(segmentOf(0), segmentOf(1), segmentOf(2));
      const merged = mergeOf(placed.slice(0, 2));
      await location.store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [merged]);
      const before = await location.list();
      const late = mergeOf(placed.slice(1));
      expect(await location.store.replaceSegments(RUN_ID, 'metrics', placed.slice(1), [late])).toBe(
        false,
      );
      const stale = [placed[0], placed[2]].filter((one) => one !== undefined);
      expect(await location.store.replaceSegments(RUN_ID, 'metrics', stale, [mergeOf(stale)])).toBe(
        false,
      );
      expect(await location.list()).toEqual(before);
    });

    test('of two merges at once one wins', async () => {
      const other = await location.openAnother();
      const placed = await location.append(segmentOf(0), segmentOf(1), segmentOf(2));
      const results = await Promise.all([
        location.store.replaceSegments(RUN_ID, 'metrics', placed, [mergeOf(placed)]),
        other.replaceSegments(RUN_ID, 'metrics', placed.slice(1), [mergeOf(placed.slice(1))]),
      ]);
      expect(results.filter(Boolean)).toHaveLength(1);
      const rows = (await location.list()).reduce((sum, manifest) => sum + manifest.rowCount, 0);
      expect(rows).toBe(30);
    });

    test('a merge that loses or invents a batch is refused', async () => {
      const placed = await location.append(segmentOf(0), segmentOf(1), segmentOf(3));
      const lost = mergeOf(placed, {
        sources: [{ writerId: 'writer_a', batchStart: 0, batchLast: 1 }],
      });
      const invented = mergeOf(placed, {
        sources: [{ writerId: 'writer_a', batchStart: 0, batchLast: 3 }],
      });
      for (const merged of [lost, invented]) {
        await expect(
          location.store.replaceSegments(RUN_ID, 'metrics', placed, [merged]),
        ).rejects.toMatchObject({
          code: 'invalid_input',
          details: { field: 'sources' },
        });
      }
      await expect(
        location.store.replaceSegments(RUN_ID, 'metrics', placed, []),
      ).rejects.toMatchObject({
        code: 'invalid_input',
      });
      expect(await location.list()).toEqual(placed);
    });

    test('a merge cannot take the identity of a segment that stays', async () => {
      const placed = await location.append(segmentOf(0), segmentOf(1), segmentOf(2));
      const merged = mergeOf(placed.slice(0, 2), { batchNumber: 2 });
      await expect(
        location.store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [merged]),
      ).rejects.toMatchObject({
        reason: 'rejected',
      });
      expect(await location.list()).toEqual(placed);
      expect((await location.store.readSegments(placed)).map((read) => read.kind)).toEqual([
        'bytes',
        'bytes',
        'bytes',
      ]);
    });

    test('a merge may be split into several segments', async () => {
      const placed = await location.append(segmentOf(0), segmentOf(1), segmentOf(2), segmentOf(3));
      const parts = [mergeOf(placed.slice(0, 2)), mergeOf(placed.slice(2))];
      expect(await location.store.replaceSegments(RUN_ID, 'metrics', placed, parts)).toBe(true);
      expect(await location.list()).toEqual(parts.map((part) => part.manifest));
      expect(await location.append(segmentOf(3))).toEqual([parts[1]?.manifest]);
    });

    test('what reaches a position is listed after merges, appends and replacements, too', async () => {
      const from = async (sequenceMin: number): Promise<number[]> =>
        (await location.list({ sequenceMin })).map(({ firstSequence }) => firstSequence);
      const placed = await location.append(segmentOf(0), segmentOf(1), segmentOf(2), segmentOf(3));
      expect(await from(20)).toEqual([20, 30]);
      const parts = [mergeOf(placed.slice(0, 2)), mergeOf(placed.slice(2))];
      await location.store.replaceSegments(RUN_ID, 'metrics', placed, parts);
      expect(await from(20)).toEqual([20]);
      await location.append(segmentOf(4));
      expect(await from(19)).toEqual([0, 20, 40]);
      expect(await from(35)).toEqual([20, 40]);
      expect(await from(40)).toEqual([40]);
      await location.store.replaceTable(RUN_ID, 'metrics', [segmentOf(5)]);
      expect(await from(0)).toEqual([50]);
      expect(await from(60)).toEqual([]);
    });

    test('appending goes on while a merge takes location', async () => {
      const other = await location.openAnother();
      const placed = await location.append(...Array.from({ length: 10 }, (_, i) => segmentOf(i)));
      const [replaced] = await Promise.all([
        other.replaceSegments(RUN_ID, 'metrics', placed, [mergeOf(placed)]),
        ...Array.from({ length: 10 }, (_, i) =>
          location.append(segmentOf(i, { writerId: 'writer_b' })),
        ),
      ]);
      expect(replaced).toBe(true);
      expect((await location.list()).map((manifest) => manifest.firstSequence)).toEqual([
        0, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190,
      ]);
    });
  });

  describe('replacing a table', () => {
    test('what was there is forgotten, the numbers go on', async () => {
      const placed = await location.append(
        segmentOf(0),
        segmentOf(1),
        segmentOf(0, { table: 'events' }),
      );
      await location.store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [
        mergeOf(placed.slice(0, 2)),
      ]);
      const added = await location.store.replaceTable(RUN_ID, 'metrics', [
        segmentOf(1),
        segmentOf(5),
      ]);
      expect(added).toMatchObject([{ firstSequence: 20 }, { firstSequence: 30 }]);
      await location.reopen();
      expect(await location.list()).toEqual(added);
      expect(await location.list({ table: 'events' })).toHaveLength(1);
      expect(await location.append(segmentOf(0))).toMatchObject([{ firstSequence: 40 }]);
      expect(await location.store.replaceTable(RUN_ID, 'metrics', [])).toEqual([]);
      expect(await location.list()).toEqual([]);
      expect(await location.append(segmentOf(0))).toMatchObject([{ firstSequence: 50 }]);
      expect((await location.store.readSegments(added)).map((read) => read.kind)).toEqual([
        'gone',
        'gone',
      ]);
    });

    test('only in a run that is there, with segments of that table', async () => {
      await expect(location.store.replaceTable('nobody', 'metrics', [])).rejects.toMatchObject({
        code: 'run_not_found',
      });
      await location.append(segmentOf(0));
      await expect(
        location.store.replaceTable(RUN_ID, 'metrics', [segmentOf(1, { table: 'events' })]),
      ).rejects.toMatchObject({
        code: 'invalid_input',
      });
      expect(await location.list()).toHaveLength(1);
    });
  });
}
