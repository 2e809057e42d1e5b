/** Sketches of runs: whatever becomes of the segments, curves read with them are those that all samples come to. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { mergeParts } from '../../../src/service/maintenance/merge-parts.ts';
import { findSketch } from '../../../src/read/curve-sketch.ts';
import { metricSegments, readCurves } from '../../../src/read/curves.ts';
import { metricTable } from '../../../src/records/metric.ts';
import { batchOfRows } from '../../../src/segment/batch-ops.ts';
import { compactTable } from '../../../src/segment/compact.ts';
import { createSegment } from '../../../src/segment/manifest.ts';
import { sketchName } from '../../../src/store/curves.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { NewSegment, Store, StoreNotes } from '../../../src/store/store.ts';
import { runs } from '../../support/property.ts';
import { RUN_ID, runOf } from '../../support/segments.ts';
import { intercept } from '../../support/store-proxy.ts';

/** Everything is worth a sketch. */
const sizes = { buckets: 8, rows: 1, storedShare: 1 };

type Row = {
  readonly key: string;
  readonly value: number;
  readonly step: number | null;
  readonly timeMs: number;
};

const row: fc.Arbitrary<Row> = fc.record({
  key: fc.constantFrom('loss', 'val', 'lr'),
  value: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: -9, max: 9 }) },
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  ),
  step: fc.option(fc.nat(300), { freq: 6 }),
  timeMs: fc.nat(5_000),
});
const rows = fc.array(row, { minLength: 1, maxLength: 40, size: 'max' });

type Event =
  | { readonly kind: 'append' | 'replace' | 'rewrite' | 'recreate'; readonly rows: readonly Row[] }
  | { readonly kind: 'merge' | 'foreignMerge'; readonly segments: number }
  | { readonly kind: 'damage'; readonly at: number }
  | {
      readonly kind: 'look';
      readonly buckets: number;
      readonly metricKeys: readonly string[] | undefined;
    };

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('append' as const), rows }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('look' as const),
      buckets: fc.integer({ min: 1, max: 10 }),
      metricKeys: fc.option(fc.subarray(['loss', 'val', 'gone'], { minLength: 1 }), {
        nil: undefined,
        freq: 3,
      }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('merge' as const, 'merge' as const, 'foreignMerge' as const),
      segments: fc.integer({ min: 2, max: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('replace' as const, 'rewrite' as const, 'recreate' as const),
      rows,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('damage' as const), at: fc.nat(2_000) }) },
);

function segmentOfRows(batchNumber: number, list: readonly Row[]): NewSegment {
  const identity = { runId: RUN_ID, table: 'metrics', writerId: 'writer', batchNumber };
  const records = list.map(({ key, value, step, timeMs }) => ({
    timestamp: new Date(1_700_000_000_000 + timeMs).toISOString(),
    runId: RUN_ID,
    metricKey: key,
    namespace: null,
    metricName: key,
    value,
    step,
    epoch: step === null ? 3 : null,
    description: null,
    metadata: null,
  }));
  return createSegment(metricTable, identity, batchOfRows(metricTable, records));
}

function notesOf(store: Store): StoreNotes {
  if (store.notes === undefined) throw new Error('A memory store has notes.');
  return store.notes;
}

/** The store and all that happens to it. */
class History {
  readonly store = createMemoryStore();
  readonly notes = notesOf(this.store);
  readonly #sizes: typeof sizes;
  #nextBatch = 0;
  #merges = 0;

  constructor(sketchSizes = sizes) {
    this.#sizes = sketchSizes;
  }

  async begin(): Promise<void> {
    await this.store.createRun(runOf());
  }

  async happen(one: Event): Promise<void> {
    const { notes, store } = this;
    switch (one.kind) {
      case 'append':
        await store.appendSegments([segmentOfRows(this.#nextBatch++, one.rows)]);
        return;
      case 'replace':
        this.#nextBatch = 1;
        await store.replaceTable(RUN_ID, 'metrics', [segmentOfRows(0, one.rows)]);
        return;
      case 'recreate':
        // The same identities and sequence numbers as before, for other rows.
        await notes.forgetRun(RUN_ID);
        await store.createRun(runOf());
        this.#nextBatch = 1;
        await store.appendSegments([segmentOfRows(0, one.rows)]);
        return;
      case 'rewrite':
        await this.#rewrite(one.rows);
        return;
      case 'merge':
      case 'foreignMerge': {
        const onFailure = (error: unknown): never => {
          throw error;
        };
        const parts =
          one.kind === 'merge'
            ? await mergeParts(store, RUN_ID, 'metrics', { sizes: this.#sizes, onFailure })
            : [store];
        const limits = { segments: one.segments };
        for (const part of parts)
          await compactTable(part, metricTable, RUN_ID, `mrg_${this.#merges++}`, limits);
        return;
      }
      case 'damage': {
        const text = await notes.read(sketchName(RUN_ID));
        if (text === undefined) return;
        const at = one.at % text.length;
        const other = text[at] === '1' ? '2' : '1';
        await notes.write(sketchName(RUN_ID), text.slice(0, at) + other + text.slice(at + 1));
        return;
      }
      case 'look':
        await this.look(one.buckets, one.metricKeys);
    }
  }

  async look(buckets: number, metricKeys?: readonly string[]): Promise<void> {
    const { notes, store } = this;
    const query = { runId: RUN_ID, buckets, ...(metricKeys === undefined ? {} : { metricKeys }) };
    const found = await readCurves(store, query, { notes, sizes });
    expect(found).toEqual(await readCurves(store, query));
  }

  /** Other rows in the place of those of a segment: as many, under the same identity. */
  async #rewrite(list: readonly Row[]): Promise<void> {
    const [first] = await metricSegments(this.store, RUN_ID);
    if (first === undefined || first.encoding !== 'arrow') return;
    const given = Array.from({ length: first.rowCount }, (_, i) => list[i % list.length]);
    const { bytes, manifest } = segmentOfRows(
      first.batchNumber,
      given.flatMap((item) => item ?? []),
    );
    const { firstSequence, lastSequence, batchNumber, writerId } = first;
    const sources = [{ writerId, batchStart: batchNumber, batchLast: batchNumber }];
    const add = { bytes, manifest: { ...manifest, firstSequence, lastSequence, sources } };
    expect(await this.store.replaceSegments(RUN_ID, 'metrics', [first], [add])).toBe(true);
  }
}

it('curves are those of all samples, whatever was appended, merged, replaced, made again or damaged', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { minLength: 4, maxLength: 24, size: 'max' }),
      async (events) => {
        const history = new History();
        await history.begin();
        for (const one of events) await history.happen(one);
        await history.look(5);
        await history.look(8, ['loss']);
      },
    ),
    runs(40),
  );
}, 60_000);

const line = (from: number, count: number): Row[] =>
  Array.from({ length: count }, (_, i) => ({
    key: 'loss',
    value: Math.sin(from + i),
    step: from + i,
    timeMs: from + i,
  }));

it('a sketch spares a reader the samples behind it, those that come later and merges included', async () => {
  const larger = { ...sizes, rows: 60 };
  const history = new History(larger);
  await history.begin();
  let readCount = 0;
  const watched = intercept(history.store, (call, args, work) => {
    const [list] = args;
    if (call === 'readSegments' && Array.isArray(list)) readCount += list.length;
    return work();
  });
  const look = async (): Promise<number> => {
    readCount = 0;
    const query = { runId: RUN_ID, buckets: 4 };
    const { notes } = history;
    const found = await readCurves(watched, query, { notes, sizes: larger });
    expect(found).toEqual(await readCurves(history.store, query));
    return readCount;
  };
  for (let i = 0; i < 20; i++) await history.happen({ kind: 'append', rows: line(i * 10, 10) });
  expect(await look()).toBe(20);
  expect(await look()).toBe(0);
  for (let i = 20; i < 23; i++) await history.happen({ kind: 'append', rows: line(i * 10, 10) });
  expect(await look()).toBe(3);
  // Those of the sketch, and apart from them the later ones.
  await history.happen({ kind: 'merge', segments: 7 });
  expect(await metricSegments(history.store, RUN_ID)).toHaveLength(4);
  expect(await look()).toBe(1);
  for (let i = 23; i < 30; i++) await history.happen({ kind: 'append', rows: line(i * 10, 10) });
  expect(await look()).toBe(8);
  expect(await look()).toBe(0);
  // Whoever merges without a word takes the sketch its worth.
  await history.happen({ kind: 'foreignMerge', segments: 30 });
  expect(await look()).toBe(1);
});

it('of a run with a segment that cannot be read no sketch is kept, nor one that keeps most of its rows', async () => {
  const history = new History();
  await history.begin();
  const { notes, store } = history;
  for (let i = 0; i < 4; i++) await history.happen({ kind: 'append', rows: line(i * 50, 50) });
  const flaky = intercept(store, async (call, _args, work) => {
    const found = await work();
    if (call !== 'readSegments' || !Array.isArray(found)) return found;
    return found.map((read: unknown, i) =>
      i === 1 ? { kind: 'damaged', reason: 'a test' } : read,
    );
  });
  const query = { runId: RUN_ID, buckets: 4 };
  const part = await readCurves(flaky, query, { notes, sizes });
  expect(part).toMatchObject({ damagedCount: 1, rowCount: 200 });
  expect(part.curves[0]?.sampleCount).toBe(150);
  expect(await findSketch(notes, RUN_ID)).toBeUndefined();
  const kept = { ...sizes, storedShare: 0.1 };
  expect((await readCurves(store, query, { notes, sizes: kept })).damagedCount).toBe(0);
  expect(await findSketch(notes, RUN_ID)).toBeUndefined();
  await history.look(4);
  expect(await findSketch(notes, RUN_ID)).toMatchObject({ endSequence: 200 });
});

it('a sketch that cannot be kept costs no curve', async () => {
  const history = new History();
  await history.begin();
  await history.happen({ kind: 'append', rows: line(0, 100) });
  const failures: unknown[] = [];
  const notes = intercept(history.notes, async (call, _args, work) => {
    if (call === 'write') throw new Error('There is no room.');
    return work();
  });
  const found = await readCurves(
    history.store,
    { runId: RUN_ID, buckets: 4 },
    { notes, sizes, onFailure: (error) => failures.push(error) },
  );
  expect(found.curves[0]?.sampleCount).toBe(100);
  expect(failures).toHaveLength(1);
});
