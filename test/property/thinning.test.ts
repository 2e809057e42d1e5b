/** Downsampled metrics against the rows that were recorded. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readMetrics } from '../../src/read/metric-records.ts';
import { metricTable } from '../../src/records/metric.ts';
import { applyRetention } from '../../src/retention/apply.ts';
import { planRetention } from '../../src/retention/plan.ts';
import { thinMetrics } from '../../src/retention/thin.ts';
import { batchOfRows } from '../../src/segment/batch-ops.ts';
import { compactTable } from '../../src/segment/compact.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { NewSegment, Store } from '../../src/store/store.ts';
import { runs } from '../support/property.ts';
import { endedRun } from '../support/retained-runs.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const NOW_MS = 1_700_000_000_000;
const clock = { now: () => NOW_MS };
const RUN = 'run_old';

type Sample = {
  readonly key: string;
  readonly value: number;
  readonly step: number | null;
  readonly context: string;
};

const value = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: -50, max: 50 }).map((whole) => whole / 8) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  },
);
const sample: fc.Arbitrary<Sample> = fc.record({
  key: fc.constantFrom('a', 'a', 'a', 'n/b', 'c'),
  value,
  step: fc.option(fc.integer({ min: 0, max: 400 }), { freq: 20 }),
  context: fc.constantFrom('train', 'val'),
});
const finiteSample = sample.map((one) => (Number.isFinite(one.value) ? one : { ...one, value: 9 }));
const batches = fc.oneof(batchesOf(sample), batchesOf(finiteSample));

function batchesOf(one: fc.Arbitrary<Sample>): fc.Arbitrary<Sample[][]> {
  return fc.array(fc.array(one, { minLength: 1, maxLength: 120 }), { minLength: 1, maxLength: 5 });
}

function segmentsOf(all: readonly (readonly Sample[])[]): readonly NewSegment[] {
  let at = 0;
  return all.map((samples, batchNumber) => {
    const rows = samples.map(({ context, key, step, value: given }) => ({
      timestamp: NOW_MS - 200 * DAY_MS + at++,
      metricKey: key,
      namespace: key === 'n/b' ? 'n' : null,
      metricName: key === 'n/b' ? 'b' : key,
      value: given,
      step,
      epoch: null,
      metadata: { context },
    }));
    const identity = { runId: RUN, table: 'metrics', writerId: 'w', batchNumber };
    return createSegment(metricTable, identity, batchOfRows(metricTable, rows));
  });
}

/** Each row as one text with all that it has, by metric, in the order of steps, then of times. */
async function rowsOf(store: Store): Promise<Map<string, { text: string; value: number }[]>> {
  const { records } = await readMetrics({ store, runId: RUN });
  const byKey = new Map<string, { text: string; value: number; step: number; at: number }[]>();
  for (const one of records) {
    const { metadata, metricKey, sequence, step, timestamp } = one;
    const list = byKey.get(metricKey) ?? [];
    const text = JSON.stringify([sequence, timestamp, step, String(one.value), metadata]);
    list.push({ text, value: one.value, step: step ?? Number.MAX_VALUE, at: sequence ?? 0 });
    byKey.set(metricKey, list);
  }
  for (const list of byKey.values()) list.sort((a, b) => a.step - b.step || a.at - b.at);
  return byKey;
}

/** First, lowest, highest and last of each of so many parts with as many rows, found in the plainest way. */
function plainly(rows: readonly { text: string; value: number }[], parts: number): string[] {
  const chosen = new Set<string>();
  for (let part = 0; part < parts; part++) {
    const start = Math.floor((part * rows.length) / parts);
    const own = rows.slice(start, Math.floor(((part + 1) * rows.length) / parts));
    const values = own.map((one) => one.value);
    const find = (wanted: number): string | undefined =>
      own.find((one) => one.value === wanted)?.text;
    for (const text of [
      own[0]?.text,
      find(Math.min(...values)),
      find(Math.max(...values)),
      own.at(-1)?.text,
    ])
      if (text !== undefined) chosen.add(text);
  }
  return rows.filter(({ text }) => chosen.has(text)).map(({ text }) => text);
}

const settings = (points: number) => ({
  rules: [{ act: 'thin' as const, olderThanDays: 90, pointsPerMetric: points }],
});

async function oldRun(segments: readonly NewSegment[]): Promise<Store> {
  const store = createMemoryStore();
  await store.createRun(endedRun({ id: RUN, endedAtMs: NOW_MS - 100 * DAY_MS }));
  await store.appendSegments(segments);
  return store;
}

test('what stays was recorded so, is no more than asked for, has the extremes and the marks, and nothing comes back', async () => {
  await fc.assert(
    fc.asyncProperty(
      batches,
      fc.integer({ min: 20, max: 60 }),
      fc.boolean(),
      async (all, points, isMerged) => {
        const segments = segmentsOf(all);
        const store = await oldRun(segments);
        if (isMerged) await compactTable(store, metricTable, RUN, 'mrg_1');
        const before = await rowsOf(store);
        const { done, skipped } = await applyRetention(store, settings(points), { clock });
        expect(skipped).toEqual([]);
        const after = await rowsOf(store);
        expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted());
        for (const [key, rows] of before) {
          const left = after.get(key) ?? [];
          const texts = left.map(({ text }) => text);
          if (rows.length <= points) {
            expect(left).toEqual(rows);
            continue;
          }
          expect(left.length).toBeLessThanOrEqual(points);
          const known = new Set(rows.map(({ text }) => text));
          expect(texts.filter((text) => !known.has(text))).toEqual([]);
          const finite = rows.filter((one) => Number.isFinite(one.value));
          if (finite.length === rows.length)
            expect(texts).toEqual(plainly(rows, Math.floor(points / 4)));
          const values = left.map((one) => one.value);
          for (const kind of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
            expect(values.includes(kind)).toBe(rows.some((one) => Object.is(one.value, kind)));
          if (finite.length > 0) {
            expect(texts).toContain(finite[0]?.text);
            expect(texts).toContain(finite.at(-1)?.text);
            const numbers = finite.map((one) => one.value);
            expect(values).toContain(Math.min(...numbers));
            expect(values).toContain(Math.max(...numbers));
          }
        }
        const total = (map: typeof before): number =>
          [...map.values()].reduce((sum, list) => sum + list.length, 0);
        expect(done.map(({ rows }) => rows)).toEqual(
          total(before) === total(after) ? [] : [{ before: total(before), after: total(after) }],
        );
        // Again, sent again, and merged: nothing more goes, and nothing comes back.
        expect((await planRetention(store, settings(points), { clock })).steps).toEqual([]);
        await store.appendSegments(segments);
        await compactTable(store, metricTable, RUN, 'mrg_2');
        await store.appendSegments(segments);
        expect(await rowsOf(store)).toEqual(after);
        expect((await planRetention(store, settings(points), { clock })).steps).toEqual([]);
      },
    ),
    runs(200),
  );
});

/** The store, whose exchanges fail from the given one on. */
function failingAfter(store: Store, exchanges: number): Store {
  let count = 0;
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: readonly unknown[]): unknown => {
        if (name === 'replaceSegments' && count++ >= exchanges) throw new Error('killed');
        return Reflect.apply(member, target, given);
      };
    },
  });
}

test('a run whose thinning was cut off reads, and the next attempt finishes it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(finiteSample, { minLength: 50, maxLength: 100 }), {
        minLength: 3,
        maxLength: 5,
      }),
      fc.integer({ min: 0, max: 2 }),
      async (all, exchanges) => {
        const segments = segmentsOf(all);
        const store = await oldRun(segments);
        const before = (await rowsOf(store)).get('a') ?? [];
        fc.pre(before.length > 24);
        const cut = thinMetrics(failingAfter(store, exchanges), RUN, {
          points: 24,
          nowMs: NOW_MS,
          leftRows: 1,
        });
        await expect(cut).rejects.toThrow('killed');
        const known = new Set(before.map(({ text }) => text));
        const between = (await rowsOf(store)).get('a') ?? [];
        expect(between.every(({ text }) => known.has(text))).toBe(true);
        expect(between.length < before.length).toBe(exchanges > 0);
        expect((await applyRetention(store, settings(24), { clock })).skipped).toEqual([]);
        await store.appendSegments(segments);
        const after = (await rowsOf(store)).get('a') ?? [];
        expect(after.length).toBeLessThanOrEqual(24);
        expect([after[0], after.at(-1)]).toEqual([before[0], before.at(-1)]);
        const numbers = before.map((one) => one.value);
        const left = after.map((one) => one.value);
        expect(Math.min(...left)).toBe(Math.min(...numbers));
        expect(Math.max(...left)).toBe(Math.max(...numbers));
        expect((await planRetention(store, settings(24), { clock })).steps).toEqual([]);
      },
    ),
    runs(100),
  );
});
