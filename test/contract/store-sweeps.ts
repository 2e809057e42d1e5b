/** Blobs that nothing names: part of the contract of stores that remove them. */
import { describe, expect, test } from 'vitest';
import { sweepBlobs } from '../../src/read/blob-sweep.ts';
import { sha256Hex } from '../../src/store/blob-rules.ts';
import { artifactSegmentOf } from '../support/artifact-segments.ts';
import { bytesOf, RUN_ID, runOf } from '../support/segments.ts';
import type { LocationUnderTest } from '../../src/store/testing/location-under-test.ts';

const KEEP_MS = 1000;
/** One in the database, one outside of it where there is an outside. */
const SIZES = [10, 300 * 1024];

export function describeSweeps(place: LocationUnderTest): void {
  describe('blobs that nothing names', () => {
    const put = async (size: number, seed: number): Promise<string> => {
      const bytes = bytesOf(size, seed);
      const hash = (await sha256Hex(bytes)) ?? '';
      await place.store.putBlob(hash, bytes);
      return hash;
    };
    const has = async (hash: string): Promise<boolean> =>
      (await place.store.getBlob(hash)) !== undefined;
    const sweep = (dryRun = false) =>
      sweepBlobs(place.store, { keepMs: KEEP_MS, clock: place.clock, dryRun });

    test.each(SIZES)(
      'of %i bytes go after a time, those that an artifact names stay',
      async (size) => {
        const [named, part, unnamed] = [await put(size, 1), await put(size, 2), await put(size, 3)];
        await place.append(artifactSegmentOf(0, [[named], [part, named]]));
        place.clock.nowMs += KEEP_MS - 1;
        expect(await sweep()).toMatchObject({ blobs: 0, named: 2 });
        place.clock.nowMs += 1;
        expect(await sweep(true)).toMatchObject({ blobs: 1, bytes: size, isDone: false });
        expect(await has(unnamed)).toBe(true);
        expect(await sweep()).toEqual({
          blobs: 1,
          bytes: size,
          named: 2,
          looseFiles: 0,
          looseBytes: 0,
          isDone: true,
        });
        expect([await has(named), await has(part), await has(unnamed)]).toEqual([
          true,
          true,
          false,
        ]);
        expect(await sweep()).toMatchObject({ blobs: 0 });
        await place.reopen();
        expect([await has(named), await has(part), await has(unnamed)]).toEqual([
          true,
          true,
          false,
        ]);
      },
    );

    test.each(SIZES)(
      'of %i bytes come back when they are put again, again and again',
      async (size) => {
        for (let round = 0; round < 3; round++) {
          const hash = await put(size, 4);
          expect(await has(hash)).toBe(true);
          place.clock.nowMs += KEEP_MS;
          expect(await sweep()).toMatchObject({ blobs: 1 });
          expect(await has(hash)).toBe(false);
        }
        expect(await has(await put(size, 4))).toBe(true);
      },
    );

    test.each(SIZES)('of %i bytes begin their time again with each put', async (size) => {
      const hash = await put(size, 5);
      place.clock.nowMs += KEEP_MS - 1;
      await put(size, 5);
      place.clock.nowMs += KEEP_MS - 1;
      expect(await sweep()).toMatchObject({ blobs: 0 });
      expect(await has(hash)).toBe(true);
    });

    test('stay while a run is live that began before they were put', async () => {
      await place.store.createRun(runOf({ id: 'run_live', startedAtMs: place.clock.nowMs }));
      await place.store.renewLease('run_live', 'h', 100 * KEEP_MS);
      const hash = await put(10, 6);
      place.clock.nowMs += 50 * KEEP_MS;
      expect(await sweep()).toMatchObject({ blobs: 0 });
      await place.store.releaseLease('run_live', 'h');
      expect(await sweep()).toMatchObject({ blobs: 1 });
      expect(await has(hash)).toBe(false);
    });

    test('go when the table that named them was emptied', async () => {
      const hash = await put(10, 7);
      await place.append(artifactSegmentOf(0, [[hash]]));
      place.clock.nowMs += KEEP_MS;
      expect(await sweep()).toMatchObject({ blobs: 0, named: 1 });
      await place.store.replaceTable(RUN_ID, 'artifacts', []);
      expect(await sweep()).toMatchObject({ blobs: 1, named: 0 });
    });

    test('stay while a deleted run that names them can be restored', async () => {
      const hash = await put(10, 12);
      await place.append(artifactSegmentOf(0, [[hash]]));
      place.clock.nowMs += KEEP_MS;
      await place.store.deleteRun(RUN_ID);
      expect(await sweep()).toMatchObject({ blobs: 0, named: 1 });
      await place.store.restoreRun(RUN_ID);
      expect(await sweep()).toMatchObject({ blobs: 0, named: 1 });
      await place.store.deleteRun(RUN_ID, { keepMs: 0 });
      expect(await place.store.purgeDeletedRuns()).toHaveLength(1);
      expect(await sweep()).toMatchObject({ blobs: 1, named: 0 });
      expect(await has(hash)).toBe(false);
    });

    test('are not removed when an artifact was recorded since the records were read', async () => {
      const { store } = place;
      const hash = await put(10, 8);
      place.clock.nowMs += KEEP_MS;
      const seen = (await store.notes?.survey())?.streams ?? [];
      const drop = { hashes: [hash], putBeforeMs: place.clock.nowMs, seen };
      await place.append(artifactSegmentOf(0, [[hash]]));
      expect(await store.dropBlobs?.(drop)).toBeUndefined();
      expect(await has(hash)).toBe(true);
    });

    test('are listed by hash, page by page', async () => {
      const { store } = place;
      const hashes = [await put(10, 9), await put(20, 10), await put(30, 11)].toSorted();
      // Where it is not known when blobs were put, the first sweep notes it.
      await store.dropBlobs?.({ hashes: [], putBeforeMs: 0, seen: [] });
      const putBeforeMs = place.clock.nowMs;
      const list = async (after?: string): Promise<unknown> =>
        (await store.listBlobs?.({ putBeforeMs, limit: 2, after }))?.map((blob) => blob.sha256);
      expect(await list()).toEqual(hashes.slice(0, 2));
      expect(await list(hashes[1])).toEqual(hashes.slice(2));
      expect(await store.listBlobs?.({ putBeforeMs: putBeforeMs - 1, limit: 2 })).toEqual([]);
      const sizes = await store.listBlobs?.({ putBeforeMs, limit: 9 });
      expect(sizes?.map(({ sizeBytes }) => sizeBytes).toSorted()).toEqual([10, 20, 30]);
    });

    test('are not removed while records of artifacts cannot be read', async () => {
      const hash = await put(10, 12);
      const segment = artifactSegmentOf(0, [['0'.repeat(64)]]);
      await place.append({ ...segment, manifest: { ...segment.manifest, checksum: 1 } });
      place.clock.nowMs += KEEP_MS;
      await expect(sweep()).rejects.toMatchObject({ reason: 'corrupt' });
      expect(await has(hash)).toBe(true);
    });

    test('arguments are checked', async () => {
      const { store } = place;
      const refusal = (field: string) => ({ code: 'invalid_input', details: { field } });
      await expect(store.listBlobs?.({ putBeforeMs: 0, limit: 0 })).rejects.toMatchObject(
        refusal('limit'),
      );
      await expect(
        store.dropBlobs?.({ hashes: ['x'], putBeforeMs: 0, seen: [] }),
      ).rejects.toMatchObject(refusal('sha256'));
      await expect(sweepBlobs(store, { keepMs: -1 })).rejects.toMatchObject(
        refusal('options.keepMs'),
      );
    });
  });
}
