/** Followed runs: part of the contract of stores. Rows come once and in order, whatever is done to the run meanwhile. */
import { describe, expect, test, vi } from 'vitest';
import { deleteTable } from '../../src/read/row-deletion.ts';
import { openRun } from '../../src/read/run-reader.ts';
import type { MetricColumns } from '../../src/read/metric-columns.ts';
import type { FollowOptions } from '../../src/read/following/follow-options.ts';
import type { RunFollowing } from '../../src/read/following/run-following.ts';
import type { FollowedRows } from '../../src/read/follow-rows.ts';
import { metricTable } from '../../src/records/metric.ts';
import { compactTable } from '../../src/segment/compact.ts';
import { RUN_ID } from '../../src/store/testing/segments.ts';
import type { LocationUnderTest } from '../../src/store/testing/location-under-test.ts';
import { metricSegments, ROWS, valueAt } from '../support/metric-segments.ts';

/** What a follower of the metrics has got. */
class Collected {
  readonly sequences: number[] = [];
  readonly values: number[] = [];
  readonly nexts: number[] = [];
  readonly following: RunFollowing<FollowedRows<'metrics'>>;

  private constructor(
    follow: (
      onRows: (rows: FollowedRows<'metrics'>) => void,
    ) => RunFollowing<FollowedRows<'metrics'>>,
  ) {
    this.following = follow((rows) => this.#take(rows));
  }

  static async of(
    place: LocationUnderTest,
    options: Partial<FollowOptions<'metrics'>>,
  ): Promise<Collected> {
    const run = await openRun(await place.openAnother(), RUN_ID);
    return new Collected((onRows) =>
      run.follow({ table: 'metrics', pollMs: 5, ...options }, onRows),
    );
  }

  #take({
    nextSequence,
    sequences,
    values,
  }: MetricColumns & { readonly nextSequence: number }): void {
    this.sequences.push(...sequences);
    this.values.push(...values);
    this.nexts.push(nextSequence);
  }

  async has(rows: number): Promise<void> {
    await vi.waitFor(() => expect(this.sequences.length).toBeGreaterThanOrEqual(rows), 20_000);
  }
}

const upTo = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, i) => from + i);

export function describeFollowing(place: LocationUnderTest): void {
  describe('followed runs', () => {
    const claim = () => place.store.renewLease(RUN_ID, 'me', 60_000);
    const end = async (status: string): Promise<void> => {
      const run = (await place.store.findRun(RUN_ID)) ?? expect.fail('no run');
      expect((await place.store.updateRun({ ...run, status })).kind).toBe('updated');
    };

    test('each row comes once and in order: from the start, from a position and from now on, while rows come and are merged', async () => {
      await claim();
      await place.append(...metricSegments(RUN_ID, 0, 3));
      const all = await Collected.of(place, { from: 'start' });
      await all.has(3 * ROWS);
      const [position] = all.nexts;
      expect(all.nexts.at(-1)).toBe(3 * ROWS);
      const late = await Collected.of(place, {});
      expect(await late.following.started).toBe(3 * ROWS);
      const others = await Collected.of(place, { from: position, metricKeys: ['train/other'] });

      for (let batch = 3; batch < 9; batch += 2) {
        await place.append(...metricSegments(RUN_ID, batch, 1));
        await place.append(...metricSegments(RUN_ID, batch, 1, 'other'));
        await compactTable(place.store, metricTable, RUN_ID, `mrg_${batch}`);
        await place.append(...metricSegments(RUN_ID, batch + 1, 1));
      }
      const rows = 12 * ROWS;
      await all.has(rows);
      await late.has(rows - 3 * ROWS);
      // Several followers end with the run; none misses what came last.
      await place.append(...metricSegments(RUN_ID, 9, 1));
      await end('completed');
      const over = { reason: 'ended', status: 'completed', nextSequence: rows + ROWS };
      expect(await all.following.done).toEqual(over);
      expect(await late.following.done).toEqual(over);
      expect(await others.following.done).toEqual(over);
      expect(all.sequences).toEqual(upTo(0, rows + ROWS));
      expect(late.sequences).toEqual(upTo(3 * ROWS, rows + ROWS));
      expect(others.values).toEqual(
        [3, 5, 7].flatMap((batch) => upTo(batch * ROWS, (batch + 1) * ROWS).map(valueAt)),
      );
      const again = await Collected.of(place, { from: all.nexts.at(-2) });
      await again.following.done;
      expect(again.sequences).toEqual(upTo(all.nexts.at(-2) ?? 0, rows + ROWS));
    });

    test('a run that nobody records any more ends as interrupted, and one that is followed on is resumed', async () => {
      await claim();
      const some = await Collected.of(place, { from: 'start' });
      const on = await Collected.of(place, { from: 'start', until: 'closed' });
      await place.append(...metricSegments(RUN_ID, 0, 2));
      await some.has(2 * ROWS);
      place.clock.nowMs += 120_001;
      expect(await some.following.done).toEqual({
        reason: 'ended',
        status: 'interrupted',
        nextSequence: 2 * ROWS,
      });
      await claim();
      const run = (await place.store.findRun(RUN_ID)) ?? expect.fail('no run');
      await place.store.updateRun({ ...run, generation: 2 });
      await place.append(...metricSegments(RUN_ID, 0, 1, 'second'));
      await on.has(3 * ROWS);
      await on.following.close();
      expect(on.sequences).toEqual(upTo(0, 3 * ROWS));
      expect(await on.following.done).toEqual({
        reason: 'closed',
        status: 'running',
        nextSequence: 3 * ROWS,
      });
    });

    test('rows that are deleted before they are read do not come, those after them do, and a deleted run ends it', async () => {
      await claim();
      await place.append(...metricSegments(RUN_ID, 0, 2));
      await end('completed');
      await place.store.releaseLease(RUN_ID, 'me');
      const known = await Collected.of(place, { from: 'start', until: 'closed' });
      await known.has(2 * ROWS);
      await deleteTable(place.store, RUN_ID, 'metrics');
      await place.append(...metricSegments(RUN_ID, 2, 1));
      await known.has(3 * ROWS);
      const late = await Collected.of(place, { from: 'start', until: 'closed' });
      await late.has(ROWS);
      expect(known.sequences).toEqual(upTo(0, 3 * ROWS));
      expect(late.sequences).toEqual(upTo(2 * ROWS, 3 * ROWS));
      await place.store.deleteRun(RUN_ID);
      for (const { following } of [known, late])
        expect(await following.done).toEqual({
          reason: 'deleted',
          status: 'completed',
          nextSequence: 3 * ROWS,
        });
    });

    test('a store that is closed ends it', async () => {
      await claim();
      const store = await place.openAnother();
      const following = (await openRun(store, RUN_ID)).follow({ table: 'metrics', pollMs: 5 });
      const read = (async () => {
        for await (const { rowCount } of following) return rowCount;
        return 0;
      })();
      await following.started;
      await store.close();
      expect(await read).toBe(0);
      expect(await following.done).toMatchObject({ reason: 'store_closed' });
    });
  });
}
