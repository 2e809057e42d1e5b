import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cameraByKey,
  FIRST_CAMERA,
  pointAt,
  radiusOf,
  seenPoints,
} from '../../../../dashboard/media/embedding/camera.ts';
import { labelGroups, nearestVectors } from '../../../../dashboard/media/embedding/neighbours.ts';
import { runs } from '../../../support/property.ts';

describe('neighbours', () => {
  const vectors = Float32Array.of(1, 0, 2, 0, 0, 1, 1, 1, 0, 0);

  it('are the nearest by the straight line or by the angle', () => {
    const of = (kind: 'cosine' | 'euclidean'): number[] =>
      nearestVectors({ vectors, dimensions: 2 }, 0, 3, kind).map(({ index }) => index);
    expect(of('euclidean')).toEqual([1, 3, 4]);
    expect(of('cosine')).toEqual([1, 3, 2]);
  });

  it('are what sorting all of them gives', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -4, max: 4 }), { minLength: 3, maxLength: 60 }),
        fc.integer({ min: 1, max: 7 }),
        (numbers, most) => {
          const dimensions = 3;
          const data = Float32Array.from(numbers.slice(0, 3 * Math.floor(numbers.length / 3)));
          const found = nearestVectors({ vectors: data, dimensions }, 0, most, 'euclidean');
          const all = Array.from({ length: data.length / 3 }, (_, i) => i)
            .slice(1)
            .map((index) => ({
              index,
              distance: Math.hypot(
                ...[0, 1, 2].map((d) => (data[3 * index + d] ?? 0) - (data[d] ?? 0)),
              ),
            }))
            .toSorted((a, b) => a.distance - b.distance || a.index - b.index)
            .slice(0, most);
          expect(found.map(({ index }) => index)).toEqual(all.map(({ index }) => index));
        },
      ),
      runs(200),
    );
  });
});

describe('labels', () => {
  it('of most vectors have a colour, the others share one', () => {
    const labels = ['b', 'a', 'b', ...Array.from({ length: 9 }, (_, i) => `x${i}`)];
    const { groupOf, labels: shown } = labelGroups(labels, labels.length);
    expect(shown).toHaveLength(8);
    expect(shown[0]).toEqual({ text: 'b', count: 2 });
    expect([groupOf[0], groupOf[2], groupOf[1]]).toEqual([0, 0, 1]);
    expect(groupOf[11]).toBe(-1);
    expect(labelGroups(null, 3)).toEqual({ labels: [], groupOf: Int16Array.of(-1, -1, -1) });
  });
});

describe('a cloud of points', () => {
  const positions = Float64Array.of(1, 0, 0, -1, 0, 0, 0, 1, 0);
  const size = { width: 200, height: 100 };
  const flat = { positions, stride: 3, radius: radiusOf(positions, 3, 2), is3d: false };

  it('lies within the picture from any side, and is found again', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -9, max: 9, noNaN: true }),
        fc.double({ min: -9, max: 9, noNaN: true }),
        (yaw, pitch) => {
          const seen = seenPoints({ ...flat, is3d: true }, { ...FIRST_CAMERA, yaw, pitch }, size);
          for (const [i, x] of seen.xs.entries()) {
            const y = seen.ys[i] ?? Number.NaN;
            expect(Math.hypot(x - 100, y - 50)).toBeLessThanOrEqual(50);
            const found = pointAt(seen, x, y, 1);
            expect(
              Math.hypot((seen.xs[found ?? -1] ?? Infinity) - x, (seen.ys[found ?? -1] ?? 0) - y),
            ).toBeLessThan(1);
          }
        },
      ),
      runs(100),
    );
  });

  it('is moved and zoomed by keys; far from all points there is none', () => {
    const seen = seenPoints(flat, FIRST_CAMERA, size);
    expect([seen.xs[0], seen.ys[0]]).toEqual([146, 50]);
    expect(pointAt(seen, 100, 90, 14)).toBeUndefined();
    expect(cameraByKey('+', FIRST_CAMERA, true)?.zoom).toBeGreaterThan(1);
    expect(cameraByKey('ArrowLeft', FIRST_CAMERA, true)?.yaw).toBeLessThan(FIRST_CAMERA.yaw);
    expect(cameraByKey('ArrowLeft', FIRST_CAMERA, false)?.panX).toBeGreaterThan(0);
    expect(cameraByKey('0', { ...FIRST_CAMERA, zoom: 9 }, true)).toEqual(FIRST_CAMERA);
    expect(cameraByKey('x', FIRST_CAMERA, true)).toBeUndefined();
  });
});
