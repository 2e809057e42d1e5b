/** Generations of runs, and what they refuse: part of the contract of stores. */
import { describe, expect, test } from './suite-tools.ts';
import { isStoreError } from '../../base/errors.ts';
import { RUN_ID, runOf, segmentOf } from './segments.ts';
import type { LocationUnderTest } from './location-under-test.ts';

const live = (generation: number) => [{ runId: RUN_ID, generation }];

export function describeFencing(location: LocationUnderTest): void {
  /** Another session takes the run over. */
  const takeOver = async (): Promise<number> => {
    const run = await location.store.findRun(RUN_ID);
    if (run === undefined) throw new Error('The run is gone.');
    const generation = (run.generation ?? 1) + 1;
    const result = await location.store.updateRun({ ...run, generation });
    expect(result).toMatchObject({ kind: 'updated', run: { generation } });
    return generation;
  };
  const batches = async (superseded?: boolean): Promise<readonly string[]> =>
    (await location.list(superseded === undefined ? {} : { superseded })).map(
      ({ batchNumber, writerId }) => `${writerId} ${batchNumber}`,
    );

  describe('fencing', () => {
    test('a run has the first generation until it is counted up, and it never decreases', async () => {
      expect(await location.store.findRun(RUN_ID)).not.toHaveProperty('generation');
      expect(await takeOver()).toBe(2);
      await location.reopen();
      const second = await location.store.findRun(RUN_ID);
      expect(second).toMatchObject({ generation: 2, revision: 2 });
      for (const generation of [undefined, 1]) {
        const { generation: _, ...run } = (await location.store.findRun(RUN_ID)) ?? {
          ...runOf(),
          revision: 0,
        };
        const result = await location.store.updateRun(
          generation === undefined ? run : { ...run, generation },
        );
        expect(result).toMatchObject({ kind: 'updated', run: { generation: 2 } });
      }
      expect(await location.store.findRun(RUN_ID)).toMatchObject({ generation: 2, revision: 4 });
      expect((await location.store.listRuns())[0]).toMatchObject({ id: RUN_ID, generation: 2 });
    });

    test('of two who count it up from the same revision, one does', async () => {
      const other = await location.openAnother();
      const run = await location.store.findRun(RUN_ID);
      if (run === undefined) throw new Error('The run is gone.');
      const results = await Promise.all(
        [location.store, other].map((store) => store.updateRun({ ...run, generation: 2 })),
      );
      expect(results.map(({ kind }) => kind).sort()).toEqual(['conflict', 'updated']);
      expect((await other.findRun(RUN_ID))?.generation).toBe(2);
    });

    test('a live session of an earlier generation appends nothing, and is told', async () => {
      await location.store.appendSegments([segmentOf(0)], undefined, live(1));
      await takeOver();
      const refused = await location.store
        .appendSegments([segmentOf(1), segmentOf(0, { table: 'events' })], undefined, live(1))
        .catch((error: unknown) => error);
      expect(isStoreError(refused, 'fenced')).toBe(true);
      expect(refused).toMatchObject({ details: { runId: RUN_ID, generation: 2 } });
      expect(await batches(true)).toEqual(['writer_a 0']);
      expect(await location.list({ table: 'events', superseded: true })).toEqual([]);
      // Those of before stay in the default listing: the session that took over could see them.
      expect(await batches()).toEqual(['writer_a 0']);
    });

    test('sessions that share the generation go on, and a later one than the run has is no reason to refuse', async () => {
      await takeOver();
      await location.store.appendSegments([segmentOf(0)], undefined, live(2));
      await location.store.appendSegments(
        [segmentOf(0, { writerId: 'writer_b' })],
        undefined,
        live(2),
      );
      await location.store.appendSegments([segmentOf(1)], undefined, live(3));
      expect(await batches()).toEqual(['writer_a 0', 'writer_b 0', 'writer_a 1']);
      const stored = await location.list();
      expect(stored.map(({ generation }) => generation)).toEqual([2, 2, 2]);
    });

    test('rows of an earlier generation that arrive later are stored apart', async () => {
      const [first] = await location.append(segmentOf(0, { generation: 1 }));
      expect(first).not.toHaveProperty('generation');
      await takeOver();
      const late = segmentOf(1, { generation: 1 });
      const placed = await location.append(late, segmentOf(2, { generation: 2 }), segmentOf(3));
      expect(placed.map(({ generation, superseded }) => [generation, superseded])).toEqual([
        [1, true],
        [2, undefined],
        [2, undefined],
      ]);
      expect(await batches()).toEqual(['writer_a 0', 'writer_a 2', 'writer_a 3']);
      await location.reopen();
      expect(await batches(true)).toEqual(['writer_a 0', 'writer_a 1', 'writer_a 2', 'writer_a 3']);
      expect(await batches(false)).toEqual(['writer_a 0', 'writer_a 2', 'writer_a 3']);
      const [read] = await location.store.readSegments([late.manifest]);
      expect(read?.kind).toBe('bytes');
      // Again: it is known, and nothing becomes of it.
      const [again] = await location.append(late);
      expect(again).toEqual(placed[0]);
      expect(await batches(true)).toHaveLength(4);
    });

    test('no merge takes superseded rows among the others', async () => {
      await takeOver();
      const [late] = await location.append(segmentOf(0, { generation: 1 }), segmentOf(1));
      if (late === undefined) throw new Error('Nothing was appended.');
      const { manifest, bytes } = segmentOf(7);
      const merged = {
        manifest: {
          ...manifest,
          firstSequence: 0,
          lastSequence: 9,
          sources: [{ writerId: late.writerId, batchStart: 0, batchLast: 0 }],
        },
        bytes,
      };
      await expect(
        location.store.replaceSegments(RUN_ID, 'metrics', [late], [merged]),
      ).rejects.toMatchObject({ message: expect.stringContaining('superseded') });
      const both = await location.list({ superseded: true });
      const sources = [{ writerId: late.writerId, batchStart: 0, batchLast: 1 }];
      for (const superseded of [{}, { superseded: true }]) {
        const mixed = { bytes, manifest: { ...merged.manifest, ...superseded, sources } };
        await expect(
          location.store.replaceSegments(RUN_ID, 'metrics', both, [mixed]),
        ).rejects.toMatchObject({ message: expect.stringContaining('superseded') });
      }
      expect(await batches(true)).toEqual(['writer_a 0', 'writer_a 1']);
    });

    test('a generation that is none is refused before anything is written', async () => {
      for (const generation of [0, -1, 1.5]) {
        await expect(
          location.store.appendSegments([segmentOf(0)], undefined, live(generation)),
        ).rejects.toThrow(/generation must be/);
        await expect(location.append(segmentOf(0, { generation }))).rejects.toThrow(
          /generation must be/,
        );
      }
      expect(await batches(true)).toEqual([]);
    });

    test('an append and a takeover at the same moment: the rows are there before it, or refused', async () => {
      const other = await location.openAnother();
      const tables = ['metrics', 'events', 'layers', 'parameters', 'batches'];
      const appends = tables.map((table) =>
        other
          .appendSegments([segmentOf(0, { table })], undefined, live(1))
          .then(() => undefined)
          .catch((error: unknown) => error),
      );
      const [outcomes] = await Promise.all([Promise.all(appends), takeOver()]);
      for (const [i, table] of tables.entries()) {
        const outcome = outcomes[i];
        if (outcome !== undefined) expect(isStoreError(outcome, 'fenced'), table).toBe(true);
        const listed = await location.list({ table, superseded: true });
        expect(listed.length, table).toBe(outcome === undefined ? 1 : 0);
      }
    });
  });
}
