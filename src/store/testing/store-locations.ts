/** Blobs, opening, closing, giving space back: part of the contract of stores. */
import { describe, expect, test } from './suite-tools.ts';
import { sha256Hex } from '../blob-rules.ts';
import { MAX_BLOB_BYTES_NOW } from '../limits.ts';
import { RUN_ID, segmentOf, mergeOf, patternBytes } from './segments.ts';
import type { LocationUnderTest } from './location-under-test.ts';

export function describeLocations(location: LocationUnderTest): void {
  describe('blobs', () => {
    test.each([0, 1, 1000, 256 * 1024, 256 * 1024 + 1, 2 * 1024 * 1024])(
      '%i bytes come back',
      async (size) => {
        const bytes = patternBytes(size, size);
        const hash = await sha256Hex(bytes);
        if (hash === undefined) throw new Error('This platform has no SHA-256.');
        expect(await location.store.getBlob(hash)).toBeUndefined();
        await location.store.putBlob(hash, bytes);
        await location.store.putBlob(hash, bytes);
        await location.reopen();
        const read = await location.store.getBlob(hash);
        expect(read?.byteLength).toBe(size);
        expect(read === undefined ? undefined : await sha256Hex(read)).toBe(hash);
        read?.fill(1);
        const again = await location.store.getBlob(hash);
        expect(again === undefined ? undefined : await sha256Hex(again)).toBe(hash);
      },
    );

    test.each([0, 1, 1000, 256 * 1024, 256 * 1024 + 1, 2 * 1024 * 1024 + 5])(
      'of %i bytes, any part comes back, and the size alone',
      async (size) => {
        const { store } = location;
        // Stores that are no service's read whole blobs.
        if (store.blobSize === undefined || store.getBlobRange === undefined) return;
        const bytes = patternBytes(size, size + 1);
        const hash = (await sha256Hex(bytes)) ?? '';
        expect(await store.blobSize(hash)).toBeUndefined();
        expect(await store.getBlobRange(hash, 0, 10)).toBeUndefined();
        await store.putBlob(hash, bytes);
        expect(await store.blobSize(hash)).toBe(size);
        const MIB = 1024 * 1024;
        for (const [start, end] of [
          [0, 1],
          [0, size],
          [size - 1, size],
          [10, 20],
          [MIB - 1, MIB + 1],
          [5, 2 * MIB + 3],
          [size, size + 10],
          [0, size + 10],
          [3, 3],
        ] as const) {
          if (start < 0) continue;
          const part = await store.getBlobRange(hash, start, end);
          const expected = bytes.subarray(Math.min(start, size), end);
          expect([start, end, part?.byteLength]).toEqual([start, end, expected.byteLength]);
          expect(await sha256Hex(part ?? patternBytes(1))).toBe(await sha256Hex(expected.slice()));
        }
        await expect(store.getBlobRange(hash, -1, 2)).rejects.toMatchObject({
          code: 'invalid_input',
        });
        await expect(store.getBlobRange(hash, 2, 1)).rejects.toMatchObject({
          code: 'invalid_input',
        });
        await expect(store.blobSize('../../etc/passwd')).rejects.toMatchObject({
          code: 'invalid_input',
        });
      },
    );

    test('the synchronous form does the same, for small blobs', async () => {
      const { store } = location;
      if (store.putBlobNow === undefined) return;
      const bytes = patternBytes(MAX_BLOB_BYTES_NOW);
      const hash = (await sha256Hex(bytes)) ?? '';
      store.putBlobNow(hash, bytes);
      store.putBlobNow(hash, bytes);
      await store.putBlob(hash, bytes);
      const { putBlobNow } = store;
      expect(() => putBlobNow('ab', bytes)).toThrow('sha256');
      expect(() => putBlobNow(hash, patternBytes(MAX_BLOB_BYTES_NOW + 1))).toThrow('262144');
      await location.reopen();
      const read = await location.store.getBlob(hash);
      expect(read === undefined ? undefined : await sha256Hex(read)).toBe(hash);
    });

    test('the same blob from two stores at once', async () => {
      const other = await location.openAnother();
      const bytes = patternBytes(300_000);
      const hash = (await sha256Hex(bytes)) ?? '';
      await Promise.all([
        location.store.putBlob(hash, bytes),
        other.putBlob(hash, bytes),
        location.store.putBlob(hash, bytes),
      ]);
      expect((await other.getBlob(hash))?.byteLength).toBe(300_000);
    });

    test('bytes under another name, and names that are no hash, are refused', async () => {
      const wrong = 'ab'.repeat(32);
      await expect(location.store.putBlob(wrong, patternBytes(10))).rejects.toMatchObject({
        code: 'invalid_input',
      });
      expect(await location.store.getBlob(wrong)).toBeUndefined();
      await expect(location.store.getBlob('../../etc/passwd')).rejects.toMatchObject({
        code: 'invalid_input',
      });
      await expect(location.store.putBlob('AB'.repeat(32), patternBytes(10))).rejects.toMatchObject(
        {
          code: 'invalid_input',
        },
      );
    });
  });

  describe('opening and closing', () => {
    test('the store says where it is and can write', async () => {
      expect(location.store.isWritable).toBe(true);
      expect(location.store.uri).not.toBe('');
      expect(location.store.location.dbPath.startsWith(location.store.location.storeRoot)).toBe(
        true,
      );
    });

    test('a closed store refuses every call, and closing again is fine', async () => {
      await location.store.close();
      await location.store.close();
      const closed = { code: 'store_failed', reason: 'closed' };
      await expect(location.store.findRun(RUN_ID)).rejects.toMatchObject(closed);
      await expect(location.append(segmentOf(0))).rejects.toMatchObject(closed);
      await expect(location.list()).rejects.toMatchObject(closed);
      await expect(location.store.reclaimSpace()).rejects.toMatchObject(closed);
      await expect(location.store.listLeases()).rejects.toMatchObject(closed);
      await expect(location.store.getBlob('ab'.repeat(32))).rejects.toMatchObject(closed);
      if (location.store.appendSegmentsNow !== undefined) {
        expect(() => location.store.appendSegmentsNow?.([segmentOf(0)])).toThrow('closed');
      }
    });

    test('closing one store leaves the others on the location at work', async () => {
      const other = await location.openAnother();
      await location.store.close();
      expect(await other.appendSegments([segmentOf(0)])).toHaveLength(1);
      await location.reopen();
      expect(await location.list()).toHaveLength(1);
    });

    test('a call under way when the store closes is done or refused, never half', async () => {
      const call = location.append(segmentOf(0), segmentOf(1));
      const closing = location.store.close();
      const result = await call.then(
        (placed) => placed.length,
        (error: unknown) => error,
      );
      await closing;
      await location.reopen();
      expect(await location.list()).toHaveLength(result === 2 ? 2 : 0);
    });

    test('space is given back without loss', async () => {
      const placed = await location.append(
        ...Array.from({ length: 5 }, (_, i) => segmentOf(i, {}, 50_000)),
      );
      const merged = mergeOf(placed);
      await location.store.replaceSegments(RUN_ID, 'metrics', placed, [merged]);
      await location.store.reclaimSpace();
      expect(await location.list()).toEqual([merged.manifest]);
      expect(await location.store.readSegments([merged.manifest])).toEqual([
        { kind: 'bytes', bytes: merged.bytes },
      ]);
    });
  });
}
