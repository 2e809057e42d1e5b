/** Appending, listing and reading segments: part of the contract of stores. */
import { describe, expect, test } from './suite-tools.ts';
import { xxh32 } from '../../base/xxh32.ts';
import type { SegmentFilter } from '../store.ts';
import { runOf, segmentOf, patternBytes } from './segments.ts';
import type { LocationUnderTest } from './location-under-test.ts';

/** Stands for bytes in comparisons: comparing arrays item by item takes seconds. */
function digestOf(bytes: Uint8Array): string {
  return `${bytes.byteLength} bytes, ${xxh32(bytes)}`;
}

export function describeAppends(location: LocationUnderTest): void {
  describe('appending', () => {
    test('sequence numbers count the rows of a table, from 0 and without gaps', async () => {
      const placed = await location.append(
        segmentOf(0),
        segmentOf(1, { rowCount: 5 }),
        segmentOf(0, { table: 'events' }),
      );
      expect(placed.map((m) => [m.table, m.firstSequence, m.lastSequence])).toEqual([
        ['metrics', 0, 9],
        ['metrics', 10, 14],
        ['events', 0, 9],
      ]);
      await location.store.createRun(runOf({ id: 'run_2' }));
      const [second] = await location.append(segmentOf(0, { runId: 'run_2' }));
      expect(second?.firstSequence).toBe(0);
      await location.reopen();
      const [third] = await location.append(segmentOf(0, { writerId: 'writer_b', rowCount: 1 }));
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
      const placed = await location.append(...given);
      expect(placed).toEqual(
        given.map(({ manifest }, i) => ({
          ...manifest,
          firstSequence: i * 10,
          lastSequence: i * 10 + 9,
        })),
      );
      await location.reopen();
      expect(await location.list()).toEqual(placed);
      const sizes = await location.store.segmentSizes?.([
        ...placed.slice(2),
        { ...segmentOf(9).manifest },
      ]);
      // What is made around a store in memory is not told.
      if (sizes !== undefined && /^(file|postgres)/.test(location.store.uri))
        expect(sizes).toEqual([0, given[3]?.bytes.byteLength, 0]);
      const reads = await location.store.readSegments([...placed].reverse());
      const found = reads.map((read) => (read.kind === 'bytes' ? digestOf(read.bytes) : read.kind));
      expect(found).toEqual([...given].reverse().map(({ bytes }) => digestOf(bytes)));
    });

    test("bytes are the caller's own: views into larger buffers are stored exactly, and changes stay outside", async () => {
      const large = patternBytes(100);
      const view = large.subarray(10, 42);
      const [placed] = await location.append({ ...segmentOf(0, { sizeBytes: 32 }), bytes: view });
      if (placed === undefined) throw new Error('Nothing was placed.');
      const wanted = view.slice();
      large.fill(0);
      const [first] = await location.store.readSegments([placed]);
      expect(first).toEqual({ kind: 'bytes', bytes: wanted });
      if (first?.kind === 'bytes') first.bytes.fill(9);
      expect(await location.store.readSegments([placed])).toEqual([
        { kind: 'bytes', bytes: wanted },
      ]);
    });

    test('appending again changes nothing: same store, other store, after reopening', async () => {
      const other = await location.openAnother();
      const placed = await location.append(segmentOf(0), segmentOf(1));
      expect(await location.append(segmentOf(1), segmentOf(0))).toEqual([placed[1], placed[0]]);
      expect(await other.appendSegments([segmentOf(0)])).toEqual([placed[0]]);
      expect(await location.append(segmentOf(2), segmentOf(2), segmentOf(0))).toMatchObject([
        { firstSequence: 20 },
        { firstSequence: 20 },
        { firstSequence: 0 },
      ]);
      await location.reopen();
      expect(await location.append(segmentOf(1))).toEqual([placed[1]]);
      expect(await location.list()).toHaveLength(3);
    });

    test('all or none: a run that is not there refuses the whole call', async () => {
      await expect(
        location.append(segmentOf(0), segmentOf(0, { runId: 'nobody' })),
      ).rejects.toMatchObject({
        code: 'run_not_found',
      });
      expect(await location.list()).toEqual([]);
      const [placed] = await location.append(segmentOf(5));
      expect(placed?.firstSequence).toBe(0);
    });

    test('no segments is fine', async () => {
      expect(await location.append()).toEqual([]);
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
        { ...segmentOf(0), bytes: patternBytes(3) },
      ];
      for (const one of wrong) {
        await expect(location.append(segmentOf(1), one)).rejects.toMatchObject({
          code: 'invalid_input',
        });
      }
      expect(await location.list()).toEqual([]);
    });

    test('the synchronous form does the same', async () => {
      if (location.store.appendSegmentsNow === undefined) return;
      const [placed] = location.store.appendSegmentsNow([segmentOf(0)]);
      expect(placed).toMatchObject({ firstSequence: 0, lastSequence: 9 });
      expect(location.store.appendSegmentsNow([segmentOf(0), segmentOf(1)])).toMatchObject([
        placed,
        { firstSequence: 10 },
      ]);
      expect(() => location.store.appendSegmentsNow?.([segmentOf(0, { runId: 'nobody' })])).toThrow(
        'nobody',
      );
      await location.reopen();
      expect(await location.list()).toHaveLength(2);
    });

    test('two stores appending at the same time: every row gets a number of its own', async () => {
      const other = await location.openAnother();
      const calls = Array.from({ length: 40 }, (_, i) =>
        (i % 2 === 0 ? location.store : other).appendSegments([
          segmentOf(i, { writerId: `writer_${i % 2}`, rowCount: 3 }),
        ]),
      );
      await Promise.all(calls);
      const sequences = (await location.list()).map((manifest) => manifest.firstSequence);
      expect(sequences).toEqual(Array.from({ length: 40 }, (_, i) => i * 3));
    });

    test('the same segments from two stores at the same time are stored once', async () => {
      const other = await location.openAnother();
      const calls = Array.from({ length: 10 }, (_, i) =>
        Promise.all([
          location.store.appendSegments([segmentOf(i)]),
          other.appendSegments([segmentOf(i)]),
        ]),
      );
      for (const [a, b] of await Promise.all(calls)) expect(a).toEqual(b);
      expect(await location.list()).toHaveLength(10);
    });
  });

  describe('listing and reading', () => {
    test('each filter leaves out what cannot match', async () => {
      await location.append(
        segmentOf(0, { stepMin: 0, stepMax: 9, epochMin: 0, epochMax: 0, keys: ['a'] }),
        segmentOf(1, { stepMin: 10, stepMax: 19, epochMin: 1, epochMax: 2, keys: ['a', 'b'] }),
        segmentOf(2, { stepMin: null, stepMax: null, epochMin: 3, epochMax: 3, keys: null }),
        segmentOf(3, { stepMin: 5, stepMax: 15, epochMin: null, epochMax: null, keys: [] }),
        segmentOf(0, { table: 'events' }),
      );
      const batches = async (filter: Partial<SegmentFilter>): Promise<number[]> =>
        (await location.list(filter)).map((manifest) => manifest.batchNumber);
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
      const [placed] = await location.append(segmentOf(0));
      if (placed === undefined) throw new Error('Nothing was placed.');
      expect(
        await location.store.readSegments([
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
      expect(await location.store.readSegments([])).toEqual([]);
    });

    test('bytes that were cut short are reported as damaged, the rest reads', async () => {
      if (location.damage === undefined) return;
      const placed = await location.append(segmentOf(0), segmentOf(1));
      const [first] = placed;
      if (first === undefined) throw new Error('Nothing was placed.');
      await location.damage(first);
      const read = await location.store.readSegments(placed);
      expect(read.map((one) => one.kind)).toEqual(['damaged', 'bytes']);
    });
  });
}
