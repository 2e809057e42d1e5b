/** What every store has to do, as one suite. A test file per store calls it with a way to open that store. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sha256Hex } from '../../src/store/blob-rules.ts';
import type {
  BatchRange,
  MergedSegment,
  NewSegment,
  SegmentFilter,
  SegmentManifest,
  Store,
  StoredRun,
} from '../../src/store/store.ts';

/** A place that stores can be opened on, as often as wanted. */
export type StorePlace = {
  /** Another store on the same place. Its clock is the one given to the maker. */
  open(): Promise<Store>;
  /** Overwrites or cuts the kept bytes of a segment behind the store's back, where the place has a way to. */
  damage?(segment: SegmentManifest): Promise<void>;
  /** Removes the place. All stores on it are closed by then. */
  remove(): Promise<void>;
};

/** Makes an empty place. Stores on it ask `clock` for the time. */
export type PlaceMaker = (clock: { now(): number }) => Promise<StorePlace>;

export const RUN_ID = 'run_1';

/** A run as the suites use it. */
export function runOf(change: Partial<StoredRun> = {}): Omit<StoredRun, 'revision'> {
  return {
    id: RUN_ID,
    projectId: 'project_1',
    projectName: 'digits',
    status: 'running',
    startedAtMs: 1_700_000_000_000,
    tags: [],
    document: '{"id":"run_1"}',
    ...change,
  };
}

/** Bytes that tell where they came from. */
export function bytesOf(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + seed * 17) & 255;
  return bytes;
}

/** A segment as a writer hands it over. */
export function segmentOf(
  batchNumber: number,
  change: Partial<NewSegment['manifest']> = {},
  sizeBytes = 64,
): NewSegment {
  const bytes = bytesOf(change.sizeBytes ?? sizeBytes, batchNumber + 1);
  return {
    manifest: {
      runId: RUN_ID,
      table: 'metrics',
      writerId: 'writer_a',
      batchNumber,
      rowCount: 10,
      stepMin: batchNumber * 10,
      stepMax: batchNumber * 10 + 9,
      epochMin: null,
      epochMax: null,
      timeMinMs: 1_700_000_000_000.25,
      timeMaxMs: 1_700_000_000_009.5,
      keys: ['train/loss'],
      schemaVersion: 1,
      encoding: 'arrow',
      sizeBytes: bytes.byteLength,
      checksum: (batchNumber * 2654435761) % 2 ** 32,
      sources: [],
      ...change,
    },
    bytes,
  };
}

/** What a merge of these segments would be, under the identity of the first. */
export function mergeOf(
  segments: readonly SegmentManifest[],
  change: Partial<SegmentManifest> = {},
): MergedSegment {
  const [first] = segments;
  if (first === undefined) throw new Error('There is nothing to merge.');
  const sources = segments.flatMap((segment): readonly BatchRange[] =>
    segment.sources.length > 0
      ? segment.sources
      : [
          {
            writerId: segment.writerId,
            batchStart: segment.batchNumber,
            batchLast: segment.batchNumber,
          },
        ],
  );
  const bytes = bytesOf(100 + segments.length, 99);
  return {
    manifest: {
      ...first,
      rowCount: segments.reduce((sum, segment) => sum + segment.rowCount, 0),
      firstSequence: Math.min(...segments.map((segment) => segment.firstSequence)),
      lastSequence: Math.max(...segments.map((segment) => segment.lastSequence)),
      encoding: 'packed',
      sizeBytes: bytes.byteLength,
      checksum: 77 + segments.length,
      sources,
      ...change,
    },
    bytes,
  };
}

/** The suite. `gaps` names tests that a store is known to fail, with the reason. */
export function describeStore(name: string, makePlace: PlaceMaker): void {
  describe(name, () => {
    const clock = {
      nowMs: 0,
      now(): number {
        return this.nowMs;
      },
    };
    let place: StorePlace;
    let store: Store;
    const opened: Store[] = [];

    const openAnother = async (): Promise<Store> => {
      const another = await place.open();
      opened.push(another);
      return another;
    };
    const reopen = async (): Promise<void> => {
      await store.close();
      store = await openAnother();
    };
    const list = (filter: Partial<SegmentFilter> = {}): Promise<readonly SegmentManifest[]> =>
      store.listSegments({ runId: RUN_ID, table: 'metrics', ...filter });
    const append = async (...segments: NewSegment[]): Promise<readonly SegmentManifest[]> =>
      store.appendSegments(segments);

    beforeEach(async () => {
      clock.nowMs = 1_700_000_000_000;
      place = await makePlace(clock);
      store = await openAnother();
      await store.createRun(runOf());
    });
    afterEach(async () => {
      for (const one of opened.splice(0)) await one.close();
      await place.remove();
    });

    describe('projects and runs', () => {
      test('a project is found by its name, whoever made it', async () => {
        const other = await openAnother();
        const made = await Promise.all([
          store.ensureProject({ id: 'p1', name: 'digits', createdAtMs: 5.5 }),
          other.ensureProject({ id: 'p2', name: 'digits', createdAtMs: 6 }),
        ]);
        expect(made[0]).toEqual(made[1]);
        await other.ensureProject({ id: 'p3', name: 'another', createdAtMs: 7 });
        await reopen();
        const names = (await store.listProjects()).map((project) => project.name);
        expect(names).toEqual(['another', 'digits']);
        expect(await store.ensureProject({ id: 'p9', name: 'digits', createdAtMs: 9 })).toEqual(
          made[0],
        );
      });

      test('a project id belongs to one name', async () => {
        await store.ensureProject({ id: 'p1', name: 'digits', createdAtMs: 5 });
        await expect(
          store.ensureProject({ id: 'p1', name: 'other', createdAtMs: 5 }),
        ).rejects.toMatchObject({ code: 'store_failed', reason: 'rejected' });
        expect(await store.listProjects()).toHaveLength(1);
      });

      test('a run is kept whole and starts at revision 1', async () => {
        const run = runOf({
          id: 'run_2',
          tags: ['b', 'a', 'b c'],
          document: '{"text":"\\u00e9 \\ud83d\\ude00 \'\\""}',
        });
        expect(await store.createRun(run)).toEqual({ ...run, revision: 1 });
        await reopen();
        expect(await store.findRun('run_2')).toEqual({ ...run, revision: 1 });
        expect(await store.findRun('run_3')).toBeUndefined();
      });

      test('a run id is taken once, also by two at the same time', async () => {
        await expect(store.createRun(runOf({ status: 'failed' }))).rejects.toMatchObject({
          reason: 'rejected',
        });
        expect((await store.findRun(RUN_ID))?.status).toBe('running');
        const other = await openAnother();
        const results = await Promise.allSettled([
          store.createRun(runOf({ id: 'run_2' })),
          other.createRun(runOf({ id: 'run_2' })),
        ]);
        expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
      });

      test('a change counts only for the revision it was made from', async () => {
        const first = await store.findRun(RUN_ID);
        if (first === undefined) throw new Error('The run is missing.');
        const updated = await store.updateRun({ ...first, status: 'completed', tags: ['x'] });
        expect(updated).toEqual({
          kind: 'updated',
          run: { ...first, status: 'completed', tags: ['x'], revision: 2 },
        });
        const stale = await store.updateRun({ ...first, status: 'failed' });
        expect(stale).toEqual({ kind: 'conflict', run: updated.run });
        await reopen();
        expect(await store.findRun(RUN_ID)).toEqual(updated.run);
        expect(await store.listRuns({ tags: ['x'] })).toEqual([updated.run]);
      });

      test('of two changes at once one wins and the other learns what is there', async () => {
        const other = await openAnother();
        const first = await store.findRun(RUN_ID);
        if (first === undefined) throw new Error('The run is missing.');
        const results = await Promise.all([
          store.updateRun({ ...first, status: 'completed' }),
          other.updateRun({ ...first, status: 'failed' }),
        ]);
        expect(results.map((result) => result.kind).sort()).toEqual(['conflict', 'updated']);
        expect(results[0].run).toEqual(results[1].run);
        expect(results[0].run.revision).toBe(2);
      });

      test('changing a run that is not there is an error', async () => {
        await expect(
          store.updateRun({ ...runOf({ id: 'nobody' }), revision: 1 }),
        ).rejects.toMatchObject({
          code: 'run_not_found',
        });
      });

      test('runs are listed newest first and by every filter', async () => {
        const made = [
          runOf({
            id: 'run_2',
            startedAtMs: 3,
            projectName: 'p',
            tags: ['a', 'b'],
            status: 'failed',
          }),
          runOf({ id: 'run_3', startedAtMs: 5, projectName: 'p', tags: ['a'] }),
          runOf({
            id: 'run_4',
            startedAtMs: 5,
            projectName: 'q',
            tags: ['b'],
            status: 'completed',
          }),
          runOf({ id: 'run_5', startedAtMs: 4.5, projectName: 'q' }),
        ];
        for (const run of made) await store.createRun(run);
        const ids = async (filter: Parameters<Store['listRuns']>[0]): Promise<string[]> =>
          (await store.listRuns(filter)).map((run) => run.id);
        expect(await ids(undefined)).toEqual(['run_1', 'run_4', 'run_3', 'run_5', 'run_2']);
        expect(await ids({ projectName: 'p' })).toEqual(['run_3', 'run_2']);
        expect(await ids({ statuses: ['failed', 'completed'] })).toEqual(['run_4', 'run_2']);
        expect(await ids({ statuses: [] })).toEqual([]);
        expect(await ids({ tags: ['a'] })).toEqual(['run_3', 'run_2']);
        expect(await ids({ tags: ['a', 'b'] })).toEqual(['run_2']);
        expect(await ids({ tags: ['a'], statuses: ['running'] })).toEqual(['run_3']);
        expect(await ids({ limit: 2 })).toEqual(['run_1', 'run_4']);
        expect(await ids({ limit: 2, offset: 3 })).toEqual(['run_5', 'run_2']);
        expect(await ids({ offset: 4 })).toEqual(['run_2']);
        expect(await ids({ limit: 0 })).toEqual([]);
      });

      test('wrong arguments are refused before anything is written', async () => {
        const wrong: Promise<unknown>[] = [
          store.createRun(runOf({ id: '../up' })),
          store.createRun(runOf({ id: 'ends.' })),
          store.createRun(runOf({ id: 'run_2', startedAtMs: Number.NaN })),
          store.createRun(runOf({ id: 'run_2', projectName: '' })),
          store.updateRun({ ...runOf(), revision: 0 }),
          store.ensureProject({ id: '', name: 'x', createdAtMs: 1 }),
          store.listRuns({ limit: -1 }),
          store.renewLease(RUN_ID, 'holder', 0),
          store.renewLease(RUN_ID, '', 10),
        ];
        for (const call of wrong)
          await expect(call).rejects.toMatchObject({ code: 'invalid_input' });
        expect(await store.listRuns()).toHaveLength(1);
        expect(await store.listProjects()).toHaveLength(0);
        expect(await store.listLeases()).toHaveLength(0);
      });
    });

    describe('leases', () => {
      test('a lease lasts from the claim for its time, by the clock', async () => {
        const start = clock.nowMs;
        expect(await store.renewLease(RUN_ID, 'a', 100)).toEqual({
          runId: RUN_ID,
          holder: 'a',
          expiresAtMs: start + 100,
        });
        clock.nowMs = start + 99;
        expect(await store.listLeases()).toHaveLength(1);
        clock.nowMs = start + 100;
        expect(await store.listLeases()).toEqual([]);
      });

      test('a renewed lease lasts on, a released one is gone, holders do not mix', async () => {
        const start = clock.nowMs;
        const other = await openAnother();
        await store.renewLease(RUN_ID, 'b', 100);
        await other.renewLease(RUN_ID, 'a', 100);
        await other.renewLease('run_0', 'a', 100);
        expect((await store.listLeases()).map((lease) => `${lease.runId}/${lease.holder}`)).toEqual(
          ['run_0/a', 'run_1/a', 'run_1/b'],
        );
        clock.nowMs = start + 60;
        await store.renewLease(RUN_ID, 'b', 100);
        clock.nowMs = start + 120;
        expect(await other.listLeases([RUN_ID, 'nobody'])).toEqual([
          { runId: RUN_ID, holder: 'b', expiresAtMs: start + 160 },
        ]);
        expect(await other.listLeases([])).toEqual([]);
        await store.releaseLease(RUN_ID, 'b');
        await store.releaseLease(RUN_ID, 'b');
        expect(await other.listLeases()).toEqual([]);
      });

      test('a lapsed lease can be taken again', async () => {
        await store.renewLease(RUN_ID, 'a', 10);
        clock.nowMs += 50;
        const lease = await store.renewLease(RUN_ID, 'a', 10);
        await reopen();
        expect(await store.listLeases()).toEqual([lease]);
      });
    });

    describe('appending', () => {
      test('sequence numbers count the rows of a table, from 0 and without gaps', async () => {
        const placed = await append(
          segmentOf(0),
          segmentOf(1, { rowCount: 5 }),
          segmentOf(0, { table: 'events' }),
        );
        expect(placed.map((m) => [m.table, m.firstSequence, m.lastSequence])).toEqual([
          ['metrics', 0, 9],
          ['metrics', 10, 14],
          ['events', 0, 9],
        ]);
        await store.createRun(runOf({ id: 'run_2' }));
        const [second] = await append(segmentOf(0, { runId: 'run_2' }));
        expect(second?.firstSequence).toBe(0);
        await reopen();
        const [third] = await append(segmentOf(0, { writerId: 'writer_b', rowCount: 1 }));
        expect(third).toMatchObject({ firstSequence: 15, lastSequence: 15 });
      });

      test('manifest and bytes come back as they went in', async () => {
        const given = [
          segmentOf(0, {
            keys: null,
            stepMin: null,
            stepMax: null,
            epochMin: 0,
            epochMax: 3,
            checksum: 4294967295,
          }),
          segmentOf(1, {
            keys: [],
            timeMinMs: null,
            timeMaxMs: null,
            encoding: 'packed',
            schemaVersion: 7,
          }),
          segmentOf(2, { keys: ['a/b', '\u00e9', '\ud83d\ude00', "it's"], sizeBytes: 0 }),
          segmentOf(3, { stepMin: 0, stepMax: Number.MAX_SAFE_INTEGER }, 300_000),
        ];
        const placed = await append(...given);
        expect(placed).toEqual(
          given.map(({ manifest }, i) => ({
            ...manifest,
            firstSequence: i * 10,
            lastSequence: i * 10 + 9,
          })),
        );
        await reopen();
        expect(await list()).toEqual(placed);
        const read = await store.readSegments([...placed].reverse());
        expect(read).toEqual([...given].reverse().map(({ bytes }) => ({ kind: 'bytes', bytes })));
      });

      test("bytes are the caller's own: views into larger buffers are kept exactly, and changes stay outside", async () => {
        const large = bytesOf(100);
        const view = large.subarray(10, 42);
        const [placed] = await append({ ...segmentOf(0, { sizeBytes: 32 }), bytes: view });
        if (placed === undefined) throw new Error('Nothing was placed.');
        const wanted = view.slice();
        large.fill(0);
        const [first] = await store.readSegments([placed]);
        expect(first).toEqual({ kind: 'bytes', bytes: wanted });
        if (first?.kind === 'bytes') first.bytes.fill(9);
        expect(await store.readSegments([placed])).toEqual([{ kind: 'bytes', bytes: wanted }]);
      });

      test('appending again changes nothing: same store, other store, after reopening', async () => {
        const other = await openAnother();
        const placed = await append(segmentOf(0), segmentOf(1));
        expect(await append(segmentOf(1), segmentOf(0))).toEqual([placed[1], placed[0]]);
        expect(await other.appendSegments([segmentOf(0)])).toEqual([placed[0]]);
        expect(await append(segmentOf(2), segmentOf(2), segmentOf(0))).toMatchObject([
          { firstSequence: 20 },
          { firstSequence: 20 },
          { firstSequence: 0 },
        ]);
        await reopen();
        expect(await append(segmentOf(1))).toEqual([placed[1]]);
        expect(await list()).toHaveLength(3);
      });

      test('all or none: a run that is not there refuses the whole call', async () => {
        await expect(append(segmentOf(0), segmentOf(0, { runId: 'nobody' }))).rejects.toMatchObject(
          {
            code: 'run_not_found',
          },
        );
        expect(await list()).toEqual([]);
        const [placed] = await append(segmentOf(5));
        expect(placed?.firstSequence).toBe(0);
      });

      test('no segments is fine', async () => {
        expect(await append()).toEqual([]);
      });

      test('wrong segments are refused before anything is written', async () => {
        const wrong = [
          segmentOf(0, { table: 'Metrics!' }),
          segmentOf(0, { runId: 'a/b' }),
          segmentOf(0, { writerId: '' }),
          segmentOf(-1),
          segmentOf(0.5),
          segmentOf(0, { rowCount: 0 }),
          segmentOf(0, { stepMin: 5, stepMax: 4 }),
          segmentOf(0, { stepMin: null }),
          segmentOf(0, { checksum: 2 ** 32 }),
          { ...segmentOf(0), bytes: bytesOf(3) },
        ];
        for (const one of wrong) {
          await expect(append(segmentOf(1), one)).rejects.toMatchObject({ code: 'invalid_input' });
        }
        expect(await list()).toEqual([]);
      });

      test('the synchronous form does the same', async () => {
        if (store.appendSegmentsNow === undefined) return;
        const [placed] = store.appendSegmentsNow([segmentOf(0)]);
        expect(placed).toMatchObject({ firstSequence: 0, lastSequence: 9 });
        expect(store.appendSegmentsNow([segmentOf(0), segmentOf(1)])).toMatchObject([
          placed,
          { firstSequence: 10 },
        ]);
        expect(() => store.appendSegmentsNow?.([segmentOf(0, { runId: 'nobody' })])).toThrow(
          'nobody',
        );
        await reopen();
        expect(await list()).toHaveLength(2);
      });

      test('two stores appending at the same time: every row gets a number of its own', async () => {
        const other = await openAnother();
        const stores = [store, other];
        const calls = Array.from({ length: 40 }, (_, i) =>
          stores[i % 2]?.appendSegments([
            segmentOf(i, { writerId: `writer_${i % 2}`, rowCount: 3 }),
          ]),
        );
        await Promise.all(calls);
        const sequences = (await list()).map((manifest) => manifest.firstSequence);
        expect(sequences).toEqual(Array.from({ length: 40 }, (_, i) => i * 3));
      });

      test('the same segments from two stores at the same time are kept once', async () => {
        const other = await openAnother();
        const calls = Array.from({ length: 10 }, (_, i) =>
          Promise.all([store.appendSegments([segmentOf(i)]), other.appendSegments([segmentOf(i)])]),
        );
        for (const [a, b] of await Promise.all(calls)) expect(a).toEqual(b);
        expect(await list()).toHaveLength(10);
      });
    });

    describe('listing and reading', () => {
      test('each filter leaves out what cannot match', async () => {
        await append(
          segmentOf(0, { stepMin: 0, stepMax: 9, epochMin: 0, epochMax: 0, keys: ['a'] }),
          segmentOf(1, { stepMin: 10, stepMax: 19, epochMin: 1, epochMax: 2, keys: ['a', 'b'] }),
          segmentOf(2, { stepMin: null, stepMax: null, epochMin: 3, epochMax: 3, keys: null }),
          segmentOf(3, { stepMin: 5, stepMax: 15, epochMin: null, epochMax: null, keys: [] }),
          segmentOf(0, { table: 'events' }),
        );
        const batches = async (filter: Partial<SegmentFilter>): Promise<number[]> =>
          (await list(filter)).map((manifest) => manifest.batchNumber);
        expect(await batches({})).toEqual([0, 1, 2, 3]);
        expect(await batches({ sequenceMin: 19 })).toEqual([1, 2, 3]);
        expect(await batches({ sequenceMin: 20 })).toEqual([2, 3]);
        expect(await batches({ sequenceMin: 40 })).toEqual([]);
        expect(await batches({ stepMin: 10 })).toEqual([1, 3]);
        expect(await batches({ stepMax: 4 })).toEqual([0]);
        expect(await batches({ stepMin: 9, stepMax: 9 })).toEqual([0, 3]);
        expect(await batches({ epochMin: 1 })).toEqual([1, 2]);
        expect(await batches({ epochMax: 0 })).toEqual([0]);
        expect(await batches({ keys: ['b'] })).toEqual([1, 2]);
        expect(await batches({ keys: ['a', 'zzz'] })).toEqual([0, 1, 2]);
        expect(await batches({ keys: [] })).toEqual([2]);
        expect(await batches({ keys: ['a'], stepMin: 10, epochMax: 5 })).toEqual([1]);
        expect(await batches({ runId: 'nobody' })).toEqual([]);
        expect(await batches({ table: 'alerts' })).toEqual([]);
      });

      test('what is not there, or is not those bytes, is gone', async () => {
        const [placed] = await append(segmentOf(0));
        if (placed === undefined) throw new Error('Nothing was placed.');
        expect(
          await store.readSegments([
            { ...placed, batchNumber: 1 },
            { ...placed, runId: 'nobody' },
            { ...placed, checksum: placed.checksum + 1 },
            { runId: placed.runId, table: placed.table, writerId: placed.writerId, batchNumber: 0 },
          ]),
        ).toEqual([
          { kind: 'gone' },
          { kind: 'gone' },
          { kind: 'gone' },
          { kind: 'bytes', bytes: segmentOf(0).bytes },
        ]);
        expect(await store.readSegments([])).toEqual([]);
      });

      test('bytes that were cut short are reported as damaged, the rest reads', async () => {
        if (place.damage === undefined) return;
        const placed = await append(segmentOf(0), segmentOf(1));
        const [first] = placed;
        if (first === undefined) throw new Error('Nothing was placed.');
        await place.damage(first);
        const read = await store.readSegments(placed);
        expect(read.map((one) => one.kind)).toEqual(['damaged', 'bytes']);
      });
    });

    describe('merging', () => {
      test('a merge takes the place of its sources', async () => {
        const placed = await append(segmentOf(0), segmentOf(1), segmentOf(2));
        const merged = mergeOf(placed.slice(0, 2));
        expect(await store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [merged])).toBe(
          true,
        );
        await reopen();
        expect(await list()).toEqual([merged.manifest, placed[2]]);
        expect(await store.readSegments([merged.manifest, ...placed])).toEqual([
          { kind: 'bytes', bytes: merged.bytes },
          { kind: 'gone' },
          { kind: 'gone' },
          { kind: 'bytes', bytes: segmentOf(2).bytes },
        ]);
      });

      test('merged segments stay known: appended again, the one they went into is returned', async () => {
        const placed = await append(
          segmentOf(0),
          segmentOf(1),
          segmentOf(3),
          segmentOf(0, { writerId: 'writer_b' }),
        );
        const merged = mergeOf(placed, { writerId: 'merge', batchNumber: 0 });
        expect(await store.replaceSegments(RUN_ID, 'metrics', placed, [merged])).toBe(true);
        await reopen();
        expect(
          await append(
            segmentOf(0),
            segmentOf(1),
            segmentOf(3),
            segmentOf(0, { writerId: 'writer_b' }),
          ),
        ).toEqual(Array.from({ length: 4 }, () => merged.manifest));
        // Batch 2 never came, so it is new, though it lies between the others.
        expect(await append(segmentOf(2), segmentOf(4))).toMatchObject([
          { firstSequence: 40 },
          { firstSequence: 50 },
        ]);
        expect(await list()).toHaveLength(3);
      });

      test('a merge of merges keeps all of them known', async () => {
        const placed = await append(segmentOf(0), segmentOf(1), segmentOf(2));
        const once = mergeOf(placed.slice(0, 2));
        await store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [once]);
        const twice = mergeOf([once.manifest, ...placed.slice(2)]);
        expect(
          await store.replaceSegments(
            RUN_ID,
            'metrics',
            [once.manifest, ...placed.slice(2)],
            [twice],
          ),
        ).toBe(true);
        expect(await append(segmentOf(1), segmentOf(2), segmentOf(0))).toEqual(
          Array.from({ length: 3 }, () => twice.manifest),
        );
        expect(await append(segmentOf(3))).toMatchObject([{ firstSequence: 30 }]);
        expect(await list()).toHaveLength(2);
      });

      test('nothing changes when a source is gone, or is another segment by now', async () => {
        const placed = await append(segmentOf(0), segmentOf(1), segmentOf(2));
        const merged = mergeOf(placed.slice(0, 2));
        await store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [merged]);
        const before = await list();
        const late = mergeOf(placed.slice(1));
        expect(await store.replaceSegments(RUN_ID, 'metrics', placed.slice(1), [late])).toBe(false);
        const stale = [placed[0], placed[2]].filter((one) => one !== undefined);
        expect(await store.replaceSegments(RUN_ID, 'metrics', stale, [mergeOf(stale)])).toBe(false);
        expect(await list()).toEqual(before);
      });

      test('of two merges at once one wins', async () => {
        const other = await openAnother();
        const placed = await append(segmentOf(0), segmentOf(1), segmentOf(2));
        const results = await Promise.all([
          store.replaceSegments(RUN_ID, 'metrics', placed, [mergeOf(placed)]),
          other.replaceSegments(RUN_ID, 'metrics', placed.slice(1), [mergeOf(placed.slice(1))]),
        ]);
        expect([...results].sort()).toEqual([false, true]);
        const rows = (await list()).reduce((sum, manifest) => sum + manifest.rowCount, 0);
        expect(rows).toBe(30);
      });

      test('a merge that loses or invents a batch is refused', async () => {
        const placed = await append(segmentOf(0), segmentOf(1), segmentOf(3));
        const lost = mergeOf(placed, {
          sources: [{ writerId: 'writer_a', batchStart: 0, batchLast: 1 }],
        });
        const invented = mergeOf(placed, {
          sources: [{ writerId: 'writer_a', batchStart: 0, batchLast: 3 }],
        });
        for (const merged of [lost, invented]) {
          await expect(
            store.replaceSegments(RUN_ID, 'metrics', placed, [merged]),
          ).rejects.toMatchObject({
            code: 'invalid_input',
            details: { field: 'sources' },
          });
        }
        await expect(store.replaceSegments(RUN_ID, 'metrics', placed, [])).rejects.toMatchObject({
          code: 'invalid_input',
        });
        expect(await list()).toEqual(placed);
      });

      test('a merge cannot take the identity of a segment that stays', async () => {
        const placed = await append(segmentOf(0), segmentOf(1), segmentOf(2));
        const merged = mergeOf(placed.slice(0, 2), { batchNumber: 2 });
        await expect(
          store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [merged]),
        ).rejects.toMatchObject({
          reason: 'rejected',
        });
        expect(await list()).toEqual(placed);
        expect((await store.readSegments(placed)).map((read) => read.kind)).toEqual([
          'bytes',
          'bytes',
          'bytes',
        ]);
      });

      test('a merge may be split into several segments', async () => {
        const placed = await append(segmentOf(0), segmentOf(1), segmentOf(2), segmentOf(3));
        const parts = [mergeOf(placed.slice(0, 2)), mergeOf(placed.slice(2))];
        expect(await store.replaceSegments(RUN_ID, 'metrics', placed, parts)).toBe(true);
        expect(await list()).toEqual(parts.map((part) => part.manifest));
        expect(await append(segmentOf(3))).toEqual([parts[1]?.manifest]);
      });

      test('appending goes on while a merge takes place', async () => {
        const other = await openAnother();
        const placed = await append(...Array.from({ length: 10 }, (_, i) => segmentOf(i)));
        const [replaced] = await Promise.all([
          other.replaceSegments(RUN_ID, 'metrics', placed, [mergeOf(placed)]),
          ...Array.from({ length: 10 }, (_, i) => append(segmentOf(i, { writerId: 'writer_b' }))),
        ]);
        expect(replaced).toBe(true);
        expect((await list()).map((manifest) => manifest.firstSequence)).toEqual([
          0, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190,
        ]);
      });
    });

    describe('replacing a table', () => {
      test('what was there is forgotten, the numbers go on', async () => {
        const placed = await append(segmentOf(0), segmentOf(1), segmentOf(0, { table: 'events' }));
        await store.replaceSegments(RUN_ID, 'metrics', placed.slice(0, 2), [
          mergeOf(placed.slice(0, 2)),
        ]);
        const added = await store.replaceTable(RUN_ID, 'metrics', [segmentOf(1), segmentOf(5)]);
        expect(added).toMatchObject([{ firstSequence: 20 }, { firstSequence: 30 }]);
        await reopen();
        expect(await list()).toEqual(added);
        expect(await list({ table: 'events' })).toHaveLength(1);
        expect(await append(segmentOf(0))).toMatchObject([{ firstSequence: 40 }]);
        expect(await store.replaceTable(RUN_ID, 'metrics', [])).toEqual([]);
        expect(await list()).toEqual([]);
        expect(await append(segmentOf(0))).toMatchObject([{ firstSequence: 50 }]);
        expect((await store.readSegments(added)).map((read) => read.kind)).toEqual([
          'gone',
          'gone',
        ]);
      });

      test('only in a run that is there, with segments of that table', async () => {
        await expect(store.replaceTable('nobody', 'metrics', [])).rejects.toMatchObject({
          code: 'run_not_found',
        });
        await append(segmentOf(0));
        await expect(
          store.replaceTable(RUN_ID, 'metrics', [segmentOf(1, { table: 'events' })]),
        ).rejects.toMatchObject({
          code: 'invalid_input',
        });
        expect(await list()).toHaveLength(1);
      });
    });

    describe('blobs', () => {
      test.each([0, 1, 1000, 256 * 1024, 256 * 1024 + 1, 2 * 1024 * 1024])(
        '%i bytes come back',
        async (size) => {
          const bytes = bytesOf(size, size);
          const hash = await sha256Hex(bytes);
          if (hash === undefined) throw new Error('This platform has no SHA-256.');
          expect(await store.getBlob(hash)).toBeUndefined();
          await store.putBlob(hash, bytes);
          await store.putBlob(hash, bytes);
          await reopen();
          const read = await store.getBlob(hash);
          expect(read?.byteLength).toBe(size);
          expect(read === undefined ? undefined : await sha256Hex(read)).toBe(hash);
          read?.fill(1);
          const again = await store.getBlob(hash);
          expect(again === undefined ? undefined : await sha256Hex(again)).toBe(hash);
        },
      );

      test('the same blob from two stores at once', async () => {
        const other = await openAnother();
        const bytes = bytesOf(300_000);
        const hash = (await sha256Hex(bytes)) ?? '';
        await Promise.all([
          store.putBlob(hash, bytes),
          other.putBlob(hash, bytes),
          store.putBlob(hash, bytes),
        ]);
        expect((await other.getBlob(hash))?.byteLength).toBe(300_000);
      });

      test('bytes under another name, and names that are no hash, are refused', async () => {
        const wrong = 'ab'.repeat(32);
        await expect(store.putBlob(wrong, bytesOf(10))).rejects.toMatchObject({
          code: 'invalid_input',
        });
        expect(await store.getBlob(wrong)).toBeUndefined();
        await expect(store.getBlob('../../etc/passwd')).rejects.toMatchObject({
          code: 'invalid_input',
        });
        await expect(store.putBlob('AB'.repeat(32), bytesOf(10))).rejects.toMatchObject({
          code: 'invalid_input',
        });
      });
    });

    describe('opening and closing', () => {
      test('the store says where it is and can write', async () => {
        expect(store.isWritable).toBe(true);
        expect(store.uri).not.toBe('');
        expect(store.location.dbPath.startsWith(store.location.storeRoot)).toBe(true);
      });

      test('a closed store refuses every call, and closing again is fine', async () => {
        await store.close();
        await store.close();
        const closed = { code: 'store_failed', reason: 'closed' };
        await expect(store.findRun(RUN_ID)).rejects.toMatchObject(closed);
        await expect(append(segmentOf(0))).rejects.toMatchObject(closed);
        await expect(list()).rejects.toMatchObject(closed);
        await expect(store.reclaimSpace()).rejects.toMatchObject(closed);
        await expect(store.listLeases()).rejects.toMatchObject(closed);
        await expect(store.getBlob('ab'.repeat(32))).rejects.toMatchObject(closed);
        if (store.appendSegmentsNow !== undefined) {
          expect(() => store.appendSegmentsNow?.([segmentOf(0)])).toThrow('closed');
        }
      });

      test('closing one store leaves the others on the place at work', async () => {
        const other = await openAnother();
        await store.close();
        expect(await other.appendSegments([segmentOf(0)])).toHaveLength(1);
        store = await openAnother();
        expect(await list()).toHaveLength(1);
      });

      test('a call under way when the store closes is done or refused, never half', async () => {
        const call = append(segmentOf(0), segmentOf(1));
        const closing = store.close();
        const result = await call.then(
          (placed) => placed.length,
          (error: unknown) => error,
        );
        await closing;
        store = await openAnother();
        expect(await list()).toHaveLength(result === 2 ? 2 : 0);
      });

      test('space is given back without loss', async () => {
        const placed = await append(
          ...Array.from({ length: 5 }, (_, i) => segmentOf(i, {}, 50_000)),
        );
        const merged = mergeOf(placed);
        await store.replaceSegments(RUN_ID, 'metrics', placed, [merged]);
        await store.reclaimSpace();
        expect(await list()).toEqual([merged.manifest]);
        expect(await store.readSegments([merged.manifest])).toEqual([
          { kind: 'bytes', bytes: merged.bytes },
        ]);
      });
    });
  });
}
