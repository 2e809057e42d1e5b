import fc from 'fast-check';
import { expect, test } from 'vitest';
import { groupSegments } from '../../src/segment/group-segments.ts';
import type { SegmentManifest } from '../../src/store/store.ts';
import { runs } from '../support/property.ts';

const anyManifest = fc.record({
  rowCount: fc.integer({ min: 1, max: 50 }),
  sizeBytes: fc.nat({ max: 50 }),
}) as fc.Arbitrary<unknown> as fc.Arbitrary<SegmentManifest>;

test('groups keep the order, leave nothing out, and stay within the bounds or hold one segment', () => {
  fc.assert(
    fc.property(
      fc.array(anyManifest, { maxLength: 60 }),
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 120 }),
      fc.integer({ min: 1, max: 120 }),
      (manifests, segments, rows, bytes) => {
        const groups = groupSegments(manifests, { segments, rows, bytes });
        expect(groups.flat()).toEqual(manifests);
        for (const [i, group] of groups.entries()) {
          const fits = (list: readonly SegmentManifest[]): boolean =>
            list.length <= segments &&
            list.reduce((sum, manifest) => sum + manifest.rowCount, 0) <= rows &&
            list.reduce((sum, manifest) => sum + manifest.sizeBytes, 0) <= bytes;
          expect(group.length === 1 || fits(group)).toBe(true);
          const next = groups[i + 1]?.[0];
          if (next !== undefined) expect(fits([...group, next])).toBe(false);
        }
      },
    ),
    runs(200),
  );
});
