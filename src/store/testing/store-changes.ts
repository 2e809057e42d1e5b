/** Which runs were changed last: part of the contract of stores that serve. */
import { describe, expect, test } from './suite-tools.ts';
import { RUN_ID, runOf, segmentOf } from './segments.ts';
import type { LocationUnderTest } from './location-under-test.ts';

export function describeChanges(location: LocationUnderTest): void {
  describe('changes of runs', () => {
    const idsAfter = async (after?: number): Promise<readonly string[]> =>
      ((await location.store.listRunChanges?.(after))?.runs ?? []).map(({ id }) => id);

    test('are listed with the last first, whichever store made them', async () => {
      const other = await location.openAnother();
      await location.store.createRun(runOf({ id: 'run_old', startedAtMs: 1 }));
      await other.createRun(runOf({ id: 'run_new' }));
      expect(await idsAfter()).toEqual(['run_new', 'run_old', RUN_ID]);
      const before = (await location.store.listRunChanges?.())?.lastOrder ?? 0;
      expect(await idsAfter(before)).toEqual([]);
      const run = await location.store.findRun('run_old');
      if (run === undefined) throw new Error('It was made.');
      await other.updateRun({ ...run, status: 'failed' });
      await other.appendSegments([segmentOf(0)]);
      expect(await location.store.listRunChanges?.(before)).toEqual({
        runs: [
          {
            id: 'run_old',
            projectName: 'digits',
            status: 'failed',
            revision: 2,
            order: before + 1,
          },
        ],
        lastOrder: before + 1,
      });
      // Who was too late has changed nothing.
      await location.store.updateRun(run);
      expect(await idsAfter(before + 1)).toEqual([]);
      expect(await idsAfter()).toEqual(['run_old', 'run_new', RUN_ID]);
    });

    test('what is not asked for from a change on is bounded', async () => {
      for (let i = 0; i < 257; i++) await location.store.createRun(runOf({ id: `run_x${i}` }));
      const latest = await idsAfter();
      expect(latest).toHaveLength(256);
      expect(latest[0]).toBe('run_x256');
      expect(await idsAfter(0)).toHaveLength(258);
    });
  });
}
