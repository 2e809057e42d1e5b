/** Outliers against definitions worked out value by value, and moments against exact ones. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { MovingMoments } from '../../../src/kernel/series/outlier/moving-moments.ts';
import { MovingRanks } from '../../../src/kernel/series/outlier/moving-ranks.ts';
import { NORMAL_MAD_SCALE, jsOrder } from '../../../src/kernel/series/order/order.ts';
import {
  NORMAL_MEAN_DEVIATION_SCALE,
  OUTLIER_METHODS,
  type OutlierKernel,
} from '../../../src/kernel/series/outlier/outlier.ts';
import { jsOutlier } from '../../../src/kernel/series/outlier/outlier-js.ts';
import { loadWasmSeriesKernel } from '../../../src/kernel/series/series-kernel.ts';
import { exactMoments } from '../../support/exact-moments.ts';
import { drawn, hardSeries } from '../../support/hard-series.ts';
import { runs } from '../../support/property.ts';

let wasm: OutlierKernel;

beforeAll(async () => {
  wasm = await loadWasmSeriesKernel();
});

const options = fc.record({
  method: fc.constantFrom(...OUTLIER_METHODS),
  side: fc.constantFrom('both' as const, 'upper' as const, 'lower' as const),
  threshold: fc.constantFrom(0.5, 1.5, 2.5, 3.5, 10),
  window: fc.constantFrom(null, null, 2, 3, 8, 33, 500),
  minCount: fc.constant(2),
});
const shortSeries = hardSeries.map((values) => values.subarray(0, 400));

/** Within rounding of the exact moments; a spread that is far below the range of the values is what rounding leaves. */
function expectMoments(
  found: { center: number; spread: number },
  values: readonly number[],
  factor: number,
): void {
  const { mean, std } = exactMoments(values);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const unit = Math.max(Math.abs(low), Math.abs(high), 5e-324) > 1e290 ? 2 ** -40 : 1;
  const range = high * unit - low * unit;
  const slack = factor * range * 2 ** -51 + Math.abs(mean) * unit * 2 ** -51 + 5e-324;
  expect(Math.abs(found.center * unit - mean * unit)).toBeLessThanOrEqual(slack);
  // |a - b| <= |a² - b²| / (a + b)
  const [a, b] = [found.spread * unit, std * unit];
  const bound = b === 0 ? 0 : factor * range * 2 ** -51 * (range / (a + b)) + b * 2 ** -50 + 5e-324;
  expect(Math.abs(a - b)).toBeLessThanOrEqual(bound);
}

describe('whole series', () => {
  test.each([
    ['plain JavaScript', (): OutlierKernel => jsOutlier],
    ['WebAssembly', (): OutlierKernel => wasm],
  ] as const)('%s: outliers are exactly what is outside the fences', (_way, kernel) => {
    fc.assert(
      fc.property(hardSeries, options, (values, given) => {
        const found = kernel().outliers(values, { ...given, window: null });
        const finite = [...values].filter((x) => Number.isFinite(x));
        expect([...found.nonFiniteIndices]).toEqual(
          [...values.keys()].filter((i) => !Number.isFinite(values[i])),
        );
        if (finite.length < 2) {
          expect(found.baseline).toBeNull();
          return;
        }
        const { baseline } = found;
        expect(baseline?.count).toBe(finite.length);
        const lower = baseline?.lowerFence ?? 0;
        const upper = baseline?.upperFence ?? 0;
        expect([...found.indices]).toEqual(
          [...values.keys()].filter((i) => {
            const value = values[i] ?? 0;
            return Number.isFinite(value) && (value < lower || value > upper);
          }),
        );
        found.indices.forEach((at, i) => {
          const score = found.scores[i] ?? 0;
          const isBelow = (values[at] ?? 0) < lower;
          expect(isBelow ? score < 0 : score > 0).toBe(true);
          expect(Math.abs(score)).toBeGreaterThanOrEqual(given.threshold * (1 - 1e-9));
        });
      }),
      runs(200),
    );
  });

  test('baselines of both twins are those of the definitions', () => {
    fc.assert(
      fc.property(hardSeries, fc.constantFrom(...OUTLIER_METHODS), (values, method) => {
        const finite = [...values].filter((x) => Number.isFinite(x));
        if (finite.length < 2) return;
        for (const kernel of [jsOutlier, wasm]) {
          const { baseline } = kernel.outliers(values, { method, minCount: 2 });
          if (baseline === null) expect.fail('no baseline');
          else if (method === 'z_score') expectMoments(baseline, finite, 600);
          else {
            const wanted = definedSpread(finite, method);
            expect(baseline.center).toBe(wanted.center);
            expectNear(baseline.spread, wanted.spread);
          }
        }
      }),
      runs(200),
    );
  });

  test('large and small numbers have the same outliers', () => {
    for (const power of [-1000, -600, 0, 600, 1000]) {
      const values = drawn('normal around 0', 3000, 6).map((x) => x * 2 ** power);
      for (const method of OUTLIER_METHODS) {
        for (const window of [null, 50]) {
          const wanted = jsOutlier.outliers(drawn('normal around 0', 3000, 6), { method, window });
          expect(wanted.indices.length).toBeGreaterThan(0);
          for (const kernel of [jsOutlier, wasm])
            expect(kernel.outliers(values, { method, window }).indices).toEqual(wanted.indices);
        }
      }
    }
  });
});

describe('moving window', () => {
  test('ranks are those of each window sorted by itself', () => {
    fc.assert(
      fc.property(
        shortSeries,
        fc.integer({ min: 1, max: 60 }),
        fc.constantFrom('robust_z_score' as const, 'iqr_fence' as const),
        (values, window, method) => {
          const finite = values.filter((x) => Number.isFinite(x));
          const moving = new MovingRanks(finite, window, method);
          for (let end = 0; end <= finite.length; end++) {
            const found = moving.before(end);
            const inside = [...finite.subarray(Math.max(0, end - window), end)];
            if (inside.length === 0) continue;
            const wanted = definedSpread(inside, method);
            if (
              found.center !== wanted.center ||
              found.low !== wanted.low ||
              found.high !== wanted.high
            )
              expect(found).toEqual(wanted);
            expectNear(found.spread, wanted.spread);
          }
        },
      ),
      runs(200),
    );
  });

  test('moments are within the stated bound of the exact ones', () => {
    fc.assert(
      fc.property(shortSeries, fc.integer({ min: 1, max: 60 }), (values, window) => {
        const finite = values.filter((x) => Number.isFinite(x));
        const moving = new MovingMoments(finite, window);
        for (let end = 0; end <= finite.length; end++) {
          const found = moving.before(end);
          const inside = [...finite.subarray(Math.max(0, end - window), end)];
          // What is negligible beside its neighbours is not held against the bound: the text says so.
          const reach = finite.subarray(Math.max(0, end - 2 * window), end);
          const largest = reach.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
          const isSmall = inside.every((x) => Math.abs(x) < largest * 1e-140);
          if (inside.length === 0 || isSmall) continue;
          expectMoments(found, inside, Math.max(4, window));
        }
      }),
      runs(40),
    );
  });

  test('a value is judged by what came before it: longer series say the same of their beginning', () => {
    fc.assert(
      fc.property(shortSeries, options, fc.nat(400), (values, given, cut) => {
        const settings = { ...given, window: given.window ?? 7 };
        const whole = wasm.outliers(values, settings);
        const part = wasm.outliers(values.subarray(0, cut), settings);
        expect([...part.indices]).toEqual([...whole.indices].filter((at) => at < cut));
      }),
      runs(200),
    );
  });

  test('not even of whatever size what comes after is', () => {
    const values = drawn('normal around 0', 100, 4);
    values[40] = 30;
    const wanted = wasm.outliers(values, { method: 'z_score', window: 1000 });
    expect([...wanted.indices]).toContain(40);
    for (const later of [Number.MAX_VALUE, 1e200, 5e-324]) {
      const found = wasm.outliers([...values, later], { method: 'z_score', window: 1000 });
      expect([...found.indices].filter((at) => at < 100)).toEqual([...wanted.indices]);
    }
  });

  test('nothing drifts: after a huge value has left, all is as if it had not been', () => {
    const calm = drawn('normal around 0', 100_000, 3).map((x) => 1e-3 * x);
    const upset = calm.slice();
    upset[20] = 1e12;
    for (const method of OUTLIER_METHODS) {
      const wanted = wasm.outliers(calm, { method, window: 100 });
      const found = wasm.outliers(upset, { method, window: 100 });
      expect(wanted.indices.length).toBeGreaterThan(0);
      expect([...found.indices].filter((at) => at > 220)).toEqual(
        [...wanted.indices].filter((at) => at > 220),
      );
    }
  });

  test('two values that take turns as the most frequent', () => {
    const values = Float64Array.from({ length: 3000 }, (_, i) =>
      i % 97 === 0 ? 50 + (i % 5) : Math.floor(i / 40) % 2,
    );
    const moving = new MovingRanks(values, 61, 'robust_z_score');
    for (let end = 1; end <= values.length; end++) {
      const wanted = definedSpread(
        [...values.subarray(Math.max(0, end - 61), end)],
        'robust_z_score',
      );
      expectNear(moving.before(end).spread, wanted.spread);
    }
  });
});

function definedSpread(
  values: readonly number[],
  method: 'robust_z_score' | 'iqr_fence',
): { center: number; low: number; high: number; spread: number } {
  const [low = 0, center = 0, high = 0] = jsOrder.quantiles(values, [0.25, 0.5, 0.75]);
  if (method === 'iqr_fence') return { center, low, high, spread: high - low };
  const { mad } = jsOrder.medianAbsoluteDeviation(values);
  const distance = values.reduce(
    (total, x) => total + Math.abs(x / values.length - center / values.length),
    0,
  );
  const spread = mad > 0 ? mad * NORMAL_MAD_SCALE : distance * NORMAL_MEAN_DEVIATION_SCALE;
  return { center, low: center, high: center, spread };
}

function expectNear(found: number, wanted: number): void {
  if (found === wanted) return;
  expect(Math.abs(found - wanted)).toBeLessThanOrEqual(Math.abs(wanted) * 1e-12 + 1e-319);
}
