/** Notes, the overview and forgetting: part of the contract of stores that have them. */
import { describe, expect, test } from './suite-tools.ts';
import type { StoreNotes } from '../store.ts';
import { mergeOf, RUN_ID, runOf, segmentOf } from './segments.ts';
import type { LocationUnderTest } from './location-under-test.ts';

export function describeNotes(location: LocationUnderTest): void {
  const notes = (): StoreNotes => {
    if (location.store.notes === undefined) throw new Error('This store has no notes.');
    return location.store.notes;
  };

  describe('notes', () => {
    test('come back, are replaced and removed, and outlive the store object', async () => {
      expect(await notes().read('a/b')).toBeUndefined();
      expect(await notes().write('a/b', 'one')).toBe(true);
      expect(await notes().write('a/b', 'zwei \u{1f600}\n')).toBe(true);
      await location.reopen();
      expect(await notes().read('a/b')).toBe('zwei \u{1f600}\n');
      expect(await notes().write('a/b', null)).toBe(true);
      expect(await notes().read('a/b')).toBeUndefined();
    });

    test('are listed by the beginning of their names, in order', async () => {
      for (const name of ['sync/b', 'sync/a', 'sync', 'other', 'sync/a_b', 'sync/a%b'])
        await notes().write(name, `text of ${name}`);
      expect((await notes().list('sync/a')).map(({ name }) => name)).toEqual([
        'sync/a',
        'sync/a%b',
        'sync/a_b',
      ]);
      expect(await notes().list('other')).toEqual([{ name: 'other', text: 'text of other' }]);
      expect(await notes().list('')).toHaveLength(6);
    });

    test('are written only over the text that is expected', async () => {
      expect(await notes().write('n', 'one', 'nothing')).toBe(false);
      expect(await notes().write('n', 'one', null)).toBe(true);
      expect(await notes().write('n', 'two', null)).toBe(false);
      expect(await notes().write('n', 'two', 'one')).toBe(true);
      expect(await notes().write('n', null, 'one')).toBe(false);
      expect(await notes().read('n')).toBe('two');
      expect(await notes().write('n', null, 'two')).toBe(true);
    });

    test('of writers at once with the same expectation, one succeeds', async () => {
      const other = await location.openAnother();
      await notes().write('n', 'start');
      const done = await Promise.all(
        Array.from({ length: 6 }, async (_, i) =>
          ((i & 1) === 0 ? notes() : other.notes)?.write('n', `text ${i}`, 'start'),
        ),
      );
      expect(done.filter(Boolean)).toHaveLength(1);
      expect(await notes().read('n')).toBe(`text ${done.indexOf(true)}`);
    });

    test('of other names and other texts are refused', async () => {
      const refused = { code: 'invalid_input' };
      await expect(notes().read('')).rejects.toMatchObject(refused);
      await expect(notes().write('a b', 'x')).rejects.toMatchObject(refused);
      await expect(notes().write('x'.repeat(513), 'x')).rejects.toMatchObject(refused);
      await expect(notes().write('x', 'y'.repeat(4 * 1024 * 1024 + 1))).rejects.toMatchObject(
        refused,
      );
      await expect(notes().write('x', 'a\u0000b')).rejects.toMatchObject(refused);
      await location.store.close();
      await expect(notes().list('')).rejects.toMatchObject({ reason: 'closed' });
    });
  });

  describe('the overview', () => {
    test('tells revisions, sequence numbers and replacements', async () => {
      await location.store.createRun(runOf({ id: 'run_2', status: 'completed' }));
      const placed = await location.append(segmentOf(0), segmentOf(1), segmentOf(2));
      await location.append(segmentOf(0, { table: 'events' }));
      await location.store.replaceSegments(RUN_ID, 'metrics', placed, [mergeOf(placed)]);
      await location.store.replaceTable('run_2', 'alerts', []);
      await location.store.replaceTable('run_2', 'alerts', [
        segmentOf(0, { runId: 'run_2', table: 'alerts' }),
      ]);
      const run = await location.store.findRun(RUN_ID);
      if (run !== undefined) await location.store.updateRun({ ...run, tags: ['x'] });
      const overview = await notes().survey();
      const byName = (a: { runId: string; table: string }, b: typeof a): number =>
        `${a.runId}/${a.table}` < `${b.runId}/${b.table}` ? -1 : 1;
      expect([...overview.runs].sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
        { id: RUN_ID, status: 'running', revision: 2 },
        { id: 'run_2', status: 'completed', revision: 1 },
      ]);
      expect([...overview.streams].sort(byName)).toEqual([
        { runId: RUN_ID, table: 'events', nextSequence: 10, replaceCount: 0 },
        { runId: RUN_ID, table: 'metrics', nextSequence: 30, replaceCount: 0 },
        { runId: 'run_2', table: 'alerts', nextSequence: 10, replaceCount: 2 },
      ]);
      const one = await notes().survey('run_2');
      expect(one.runs.map(({ id }) => id)).toEqual(['run_2']);
      expect(one.streams.map(({ table }) => table)).toEqual(['alerts']);
    });

    test('a table that was only emptied is in it', async () => {
      await location.store.replaceTable(RUN_ID, 'alerts', []);
      expect((await notes().survey(RUN_ID)).streams).toEqual([
        { runId: RUN_ID, table: 'alerts', nextSequence: 0, replaceCount: 1 },
      ]);
    });
  });

  describe('forgetting a run', () => {
    test('removes all of it and nothing else, and its id may be used again', async () => {
      await location.store.createRun(runOf({ id: 'run_12', tags: ['x'] }));
      const placed = await location.append(segmentOf(0), segmentOf(1));
      await location.append(segmentOf(0, { runId: 'run_12' }));
      await location.store.replaceSegments(RUN_ID, 'metrics', placed, [mergeOf(placed)]);
      await location.store.replaceTable(RUN_ID, 'alerts', [segmentOf(0, { table: 'alerts' })]);
      await location.store.renewLease(RUN_ID, 'holder', 1000);
      expect(await notes().forgetRun(RUN_ID)).toBe(true);
      await notes().forgetRun('never_there');
      await location.reopen();
      expect(await location.store.findRun(RUN_ID)).toBeUndefined();
      expect(await location.list()).toEqual([]);
      expect(await location.list({ runId: 'run_12' })).toHaveLength(1);
      expect((await location.store.listRuns({ tags: ['x'] })).map(({ id }) => id)).toEqual([
        'run_12',
      ]);
      expect(await location.store.listLeases()).toEqual([]);
      expect((await notes().survey(RUN_ID)).streams).toEqual([]);
      await location.store.createRun(runOf());
      expect(await location.append(segmentOf(1))).toMatchObject([{ firstSequence: 0 }]);
      expect(await location.store.listRuns({ tags: ['x'] })).toHaveLength(1);
    });

    test('is left alone when something was written since it was looked at', async () => {
      await location.append(segmentOf(0));
      const overview = await notes().survey(RUN_ID);
      await location.append(segmentOf(1));
      expect(await notes().forgetRun(RUN_ID, overview)).toBe(false);
      expect(await location.list()).toHaveLength(2);
      const second = await notes().survey(RUN_ID);
      const run = await location.store.findRun(RUN_ID);
      if (run !== undefined) await location.store.updateRun({ ...run, tags: ['x'] });
      expect(await notes().forgetRun(RUN_ID, second)).toBe(false);
      expect(await notes().forgetRun(RUN_ID, await notes().survey(RUN_ID))).toBe(true);
      expect(await location.list()).toEqual([]);
    });
  });
}
