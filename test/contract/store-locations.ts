/** Blobs, opening, closing, giving space back: part of the contract of stores. */
import { describe, expect, test } from 'vitest';
import { sha256Hex } from '../../src/store/blob-rules.ts';
import { RUN_ID, segmentOf, mergeOf, bytesOf } from '../support/segments.ts';
import type { LocationUnderTest } from './store-contract.ts';

export function describeLocations(place: LocationUnderTest): void {
  describe('blobs', () => {
    test.each([0, 1, 1000, 256 * 1024, 256 * 1024 + 1, 2 * 1024 * 1024])(
      '%i bytes come back',
      async (size) => {
        const bytes = bytesOf(size, size);
        const hash = await sha256Hex(bytes);
        if (hash === undefined) throw new Error('This platform has no SHA-256.');
        expect(await place.store.getBlob(hash)).toBeUndefined();
        await place.store.putBlob(hash, bytes);
        await place.store.putBlob(hash, bytes);
        await place.reopen();
        const read = await place.store.getBlob(hash);
        expect(read?.byteLength).toBe(size);
        expect(read === undefined ? undefined : await sha256Hex(read)).toBe(hash);
        read?.fill(1);
        const again = await place.store.getBlob(hash);
        expect(again === undefined ? undefined : await sha256Hex(again)).toBe(hash);
      },
    );

    test.each([0, 1, 1000, 256 * 1024, 256 * 1024 + 1, 2 * 1024 * 1024 + 5])(
      'of %i bytes, any part comes back, and the size alone',
      async (size) => {
        const { store } = place;
        // Stores that are no service's read whole blobs.
        if (store.blobSize === undefined || store.getBlobRange === undefined) return;
        const bytes = bytesOf(size, size + 1);
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
          expect(await sha256Hex(part ?? bytesOf(1))).toBe(await sha256Hex(expected.slice()));
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

    test('the same blob from two stores at once', async () => {
      const other = await place.openAnother();
      const bytes = bytesOf(300_000);
      const hash = (await sha256Hex(bytes)) ?? '';
      await Promise.all([
        place.store.putBlob(hash, bytes),
        other.putBlob(hash, bytes),
        place.store.putBlob(hash, bytes),
      ]);
      expect((await other.getBlob(hash))?.byteLength).toBe(300_000);
    });

    test('bytes under another name, and names that are no hash, are refused', async () => {
      const wrong = 'ab'.repeat(32);
      await expect(place.store.putBlob(wrong, bytesOf(10))).rejects.toMatchObject({
        code: 'invalid_input',
      });
      expect(await place.store.getBlob(wrong)).toBeUndefined();
      await expect(place.store.getBlob('../../etc/passwd')).rejects.toMatchObject({
        code: 'invalid_input',
      });
      await expect(place.store.putBlob('AB'.repeat(32), bytesOf(10))).rejects.toMatchObject({
        code: 'invalid_input',
      });
    });
  });

  describe('opening and closing', () => {
    test('the store says where it is and can write', async () => {
      expect(place.store.isWritable).toBe(true);
      expect(place.store.uri).not.toBe('');
      expect(place.store.location.dbPath.startsWith(place.store.location.storeRoot)).toBe(true);
    });

    test('a closed store refuses every call, and closing again is fine', async () => {
      await place.store.close();
      await place.store.close();
      const closed = { code: 'store_failed', reason: 'closed' };
      await expect(place.store.findRun(RUN_ID)).rejects.toMatchObject(closed);
      await expect(place.append(segmentOf(0))).rejects.toMatchObject(closed);
      await expect(place.list()).rejects.toMatchObject(closed);
      await expect(place.store.reclaimSpace()).rejects.toMatchObject(closed);
      await expect(place.store.listLeases()).rejects.toMatchObject(closed);
      await expect(place.store.getBlob('ab'.repeat(32))).rejects.toMatchObject(closed);
      if (place.store.appendSegmentsNow !== undefined) {
        expect(() => place.store.appendSegmentsNow?.([segmentOf(0)])).toThrow('closed');
      }
    });

    test('closing one store leaves the others on the place at work', async () => {
      const other = await place.openAnother();
      await place.store.close();
      expect(await other.appendSegments([segmentOf(0)])).toHaveLength(1);
      await place.reopen();
      expect(await place.list()).toHaveLength(1);
    });

    test('a call under way when the store closes is done or refused, never half', async () => {
      const call = place.append(segmentOf(0), segmentOf(1));
      const closing = place.store.close();
      const result = await call.then(
        (placed) => placed.length,
        (error: unknown) => error,
      );
      await closing;
      await place.reopen();
      expect(await place.list()).toHaveLength(result === 2 ? 2 : 0);
    });

    test('space is given back without loss', async () => {
      const placed = await place.append(
        ...Array.from({ length: 5 }, (_, i) => segmentOf(i, {}, 50_000)),
      );
      const merged = mergeOf(placed);
      await place.store.replaceSegments(RUN_ID, 'metrics', placed, [merged]);
      await place.store.reclaimSpace();
      expect(await place.list()).toEqual([merged.manifest]);
      expect(await place.store.readSegments([merged.manifest])).toEqual([
        { kind: 'bytes', bytes: merged.bytes },
      ]);
    });
  });
}
