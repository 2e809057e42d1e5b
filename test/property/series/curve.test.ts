/** The curve kernels against their definitions, on hard series. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { longTest } from '../../support/long.ts';
import { jsCurve } from '../../../src/kernel/series/curve/curve-js.ts';
import type { CurveKernel } from '../../../src/kernel/series/curve/curve.ts';
import {
  ALIGN_FILLS,
  ALIGN_JOINS,
  SPIKE_DIRECTIONS,
} from '../../../src/kernel/series/curve/curve.ts';
import { loadWasmSeriesKernel } from '../../../src/kernel/series/series-kernel.ts';
import {
  alignedOf,
  errorOf,
  exactSlopes,
  medianOfFinite,
  medianSlope,
  spikesOf,
  unitInLastPlace,
  weightedMeans,
} from '../../support/curve-reference.ts';
import { DISTRIBUTIONS, drawn, hardSeries } from '../../support/hard-series.ts';
import { exactSum } from '../../support/kernel-reference.ts';
import { runs } from '../../support/property.ts';
import { random } from '../../support/tensors.ts';

let wasm: CurveKernel;

beforeAll(async () => {
  wasm = await loadWasmSeriesKernel();
});

const shortSeries = hardSeries.filter((values) => values.length <= 400);
/** Distributions whose values other than 0 are within a factor of 2^400. */
const MILD = Object.keys(DISTRIBUTIONS).filter(
  (name) => !['powers of two of every size', 'any bits', 'one huge, the rest small'].includes(name),
);

/** What rounding may add up to. */
function expectSmooth(
  found: Float64Array,
  wanted: Float64Array,
  values: Float64Array,
  steps: (i: number) => number,
): void {
  const known = values.filter((x) => Number.isFinite(x));
  const first = known[0] ?? 0;
  const spread = known.reduce((most, x) => Math.max(most, Math.abs(x / 8 - first / 8)), 0);
  const size = known.reduce((most, x) => Math.max(most, Math.abs(x / 8)), 0);
  for (const [i, value] of wanted.entries()) {
    const result = found[i] ?? 0;
    if (Number.isNaN(value)) {
      expect(result).toBeNaN();
      continue;
    }
    const bound = 2 ** -53 * (8 * steps(i) * spread + 4 * size) + steps(i) * 1e-323;
    if (!(Math.abs(result / 8 - value / 8) <= bound))
      expect.fail(`at ${i}: ${result} instead of ${value}, bound ${8 * bound}`);
  }
}

describe.each([
  ['plain JavaScript', (): CurveKernel => jsCurve],
  ['WebAssembly', (): CurveKernel => wasm],
] as const)('%s', (_way, kernel) => {
  test('exponential averages are the weighted means of what came before', () => {
    const weights = fc.oneof(
      fc.constantFrom(0, 0.5, 0.6, 0.9, 0.99, 0.999, 1 - 2 ** -40),
      fc.double({ min: 0, max: 0.9999, noNaN: true }),
    );
    fc.assert(
      fc.property(shortSeries, weights, fc.boolean(), (values, weight, adjust) => {
        const known = [...values.keys()].filter((i) => Number.isFinite(values[i]));
        const order = new Map(known.map((i, k) => [i, k]));
        const wanted = weightedMeans(
          values,
          (from, to) => {
            const distance = (order.get(to) ?? 0) - (order.get(from) ?? 0);
            const share = adjust || order.get(from) === 0 ? 1 : 1 - weight;
            return share * weight ** distance;
          },
          (i) => order.has(i),
        );
        const found = kernel().smoothExponential(values, { weight, adjust });
        expectSmooth(found, wanted, values, (i) => Math.min(i + 1, 1 / (1 - weight)));
      }),
      runs(125),
    );
  });

  test('exponential averages by position forget with the distance', () => {
    fc.assert(
      fc.property(
        shortSeries,
        fc.constantFrom(0.5, 3, 100, 1e4),
        fc.boolean(),
        fc.integer(),
        (values, halfLife, adjust, seed) => {
          const next = random(seed);
          let at = next() * 1e6;
          const positions = values.map(() =>
            next() < 0.1 ? Number.NaN : (at += next() < 0.2 ? 0 : Math.ceil(next() * 20)),
          );
          const isCounted = (i: number): boolean =>
            Number.isFinite(values[i]) && Number.isFinite(positions[i]);
          const first = [...values.keys()].find((i) => isCounted(i)) ?? 0;
          const decay = 2 ** (-1 / halfLife);
          // Without the correction a value gets what its distance from the one before it frees.
          const share = (i: number): number => {
            if (adjust || i === first) return 1;
            const before = [...values.keys()].findLast((k) => k < i && isCounted(k)) ?? 0;
            return 1 - decay ** ((positions[i] ?? 0) - (positions[before] ?? 0));
          };
          const wanted = weightedMeans(
            values,
            (from, to) => share(from) * decay ** ((positions[to] ?? 0) - (positions[from] ?? 0)),
            isCounted,
          );
          const found = kernel().smoothExponential(values, { halfLife, adjust, positions });
          const counted = values.map((x, i) => (isCounted(i) ? x : Number.NaN));
          expectSmooth(found, wanted, counted, (i) => i + 1);
        },
      ),
      runs(50),
    );
  });

  test('moving medians are the medians of their windows', () => {
    const windows = fc.oneof(
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom(21, 64, 100, 101, 399, 400, 401, 5000),
    );
    fc.assert(
      fc.property(shortSeries, windows, fc.boolean(), (values, window, center) => {
        const before = center ? Math.floor(window / 2) : window - 1;
        const found = kernel().smoothRobust(values, { window, center, fillGaps: true });
        for (const [i, median] of found.entries()) {
          const part = values.subarray(Math.max(0, i - before), i - before + window);
          const wanted = medianOfFinite(part);
          if (!(median === wanted || (Number.isNaN(median) && Number.isNaN(wanted))))
            expect.fail(`at ${i}: ${median} instead of ${wanted}`);
        }
        const gaps = kernel().smoothRobust(values, { window, center });
        expect(gaps.every((x, i) => Number.isNaN(x) === !Number.isFinite(values[i]))).toBe(true);
      }),
      runs(100),
    );
  });

  test('Theil-Sen is the median of the slopes that division gives, where differences are exact', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 300 }),
        fc.constantFrom(2, 5, 100, 1e6),
        fc.constantFrom('indices', 'dense', 'wide'),
        fc.constantFrom('noise', 'staircase', 'line', 'square', 'equal'),
        fc.constantFrom(1, 2 ** -1000, 2 ** 980, 0.25),
        fc.integer(),
        (length, range, spacing, shape, unit, seed) => {
          const next = random(seed);
          const x = Float64Array.from({ length }, (_, i) =>
            spacing === 'indices' ? i : Math.floor(next() * (spacing === 'dense' ? 50 : 1e6)),
          );
          const shapes = {
            noise: () => Math.floor(next() * range),
            staircase: (_: number, i: number) => Math.floor(i / 3),
            line: (at: number) => 3 * at - 7,
            square: (at: number) => at * at,
            equal: () => 5,
          };
          const y = x.map((at, i) => unit * shapes[shape](at, i));
          const options = spacing === 'indices' ? {} : { positions: x };
          const result = kernel().theilSen(y, options);
          expect(result.slope).toBe(medianSlope(x, y) + 0);
          const slopes = x.length * (x.length - 1);
          expect(result.pairCount).toBeLessThanOrEqual(slopes / 2);
          const intercept = medianOfFinite(y.map((value, i) => value - result.slope * (x[i] ?? 0)));
          expect(result.intercept).toBe(intercept);
        },
      ),
      runs(75),
    );
  });

  test('Theil-Sen is within three units of the exact median slope', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...MILD),
        fc.constantFrom('indices', ...MILD),
        fc.integer({ min: 2, max: 64 }),
        fc.integer(),
        (name, spacing, length, seed) => {
          const y = drawn(name, length, seed);
          const x = spacing === 'indices' ? y.map((_, i) => i) : drawn(spacing, length, seed + 1);
          const { slope, pairCount } = kernel().theilSen(y, { positions: x });
          const slopes = exactSlopes(x, y);
          expect(pairCount).toBe(slopes.length);
          const low = slopes[(slopes.length - 1) >> 1];
          const high = slopes[slopes.length >> 1];
          if (low === undefined || high === undefined) {
            expect(slope).toBeNaN();
            return;
          }
          const size = Math.max(...[low, high].map(([a, b]) => Math.abs(ratio(a, b))));
          // Beyond float64, and where subnormal results would be rounded twice.
          if (!(size < Number.MAX_VALUE) || size < 1e-290) return;
          const middle = [low[0] * high[1] + high[0] * low[1], 2n * low[1] * high[1]] as const;
          expect(errorOf(slope, middle) <= 3n * unitInLastPlace(size) * middle[1]).toBe(true);
        },
      ),
      runs(75),
    );
  });

  test('spikes are what their description says', () => {
    const options = fc.record({
      direction: fc.constantFrom(...SPIKE_DIRECTIONS),
      window: fc.constantFrom(4, 9, 30, 101),
      minPeriods: fc.constantFrom(2, 4),
      threshold: fc.constantFrom(1, 2, 5, 8),
      recovery: fc.constantFrom(0, 0.5, 1),
      minRelativeHeight: fc.constantFrom(0, 0.1, 1),
      minHeight: fc.constantFrom(0, 0.5),
      maxLength: fc.constantFrom(1, 2, 10, 1000),
    });
    fc.assert(
      fc.property(shortSeries, options, (values, settings) => {
        const found = kernel().spikes(values, settings);
        const wanted = spikesOf(values, settings);
        // A mean of distances is summed in another order than in the reference.
        const rough = (spike: (typeof found)[number]): object => ({
          ...spike,
          spread: spike.spread.toPrecision(9),
          heightInSpreads: spike.heightInSpreads.toPrecision(9),
        });
        expect(found.map((spike) => rough(spike))).toEqual(wanted.map((spike) => rough(spike)));
      }),
      runs(100),
    );
  });

  test('the area of whole numbers is exact, and others are within the stated bound', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('ten integers', 'normal around 0', 'mean 1e6, deviation 1e-3', 'sawtooth'),
        fc.integer({ min: 0, max: 200 }),
        fc.integer(),
        (name, length, seed) => {
          const values = drawn(name, length, seed).map((x, i) =>
            (i + seed) % 11 === 0 ? Number.NaN : x,
          );
          const next = random(seed);
          const positions = values.map(() => Math.floor(next() * length));
          const last = new Map<number, number>();
          for (const [i, x] of values.entries())
            if (Number.isFinite(x)) last.set(positions[i] ?? 0, x);
          const points = [...last].sort(([a], [b]) => a - b);
          const terms = points
            .slice(1)
            .map(([x, y], k) => ((points[k]?.[1] ?? 0) / 2 + y / 2) * (x - (points[k]?.[0] ?? 0)));
          const { area, span, count } = kernel().areaUnderCurve(values, { positions });
          expect(count).toBe(points.length);
          expect(span).toBe((points.at(-1)?.[0] ?? 0) - (points[0]?.[0] ?? 0));
          const bound = 8 * 2 ** -53 * exactSum(terms.map(Math.abs));
          if (name === 'ten integers') expect(area).toBe(exactSum(terms));
          else expect(Math.abs(area - exactSum(terms))).toBeLessThanOrEqual(bound);
        },
      ),
      runs(75),
    );
  });

  test('series are aligned as if every step were looked up', () => {
    const series = fc
      .array(
        fc.tuple(
          fc.oneof(fc.integer({ min: -20, max: 20 }), fc.constantFrom(Number.NaN, Infinity, 0.5)),
          fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constantFrom(Number.NaN, -Infinity)),
        ),
        { maxLength: 60 },
      )
      .map((points) => ({
        steps: Float64Array.from(points, ([step]) => step),
        values: Float64Array.from(points, ([, value]) => value),
      }));
    const options = fc.record({
      join: fc.constantFrom(...ALIGN_JOINS),
      fill: fc.constantFrom(...ALIGN_FILLS),
      tolerance: fc.constantFrom(0, 1, 2.5, Infinity),
    });
    fc.assert(
      fc.property(series, series, options, (first, second, settings) => {
        expect(kernel().alignOnStep(first, second, settings)).toEqual(
          alignedOf(first, second, settings),
        );
      }),
      runs(150),
    );
  });
});

longTest('the twins agree on long series, and each with itself bit for bit', () => {
  const isSame = (a: Float64Array, b: Float64Array): boolean =>
    Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(
      Buffer.from(b.buffer, b.byteOffset, b.byteLength),
    );
  for (const name of Object.keys(DISTRIBUTIONS)) {
    const values = drawn(name, 20_000, 7).map((x, i) => (i % 97 === 0 ? Number.NaN : x));
    for (const window of [3, 100, 19_999]) {
      const medians = wasm.smoothRobust(values, { window });
      expect(isSame(medians, jsCurve.smoothRobust(values, { window })), name).toBe(true);
    }
    expect(wasm.spikes(values, { threshold: 3 })).toEqual(jsCurve.spikes(values, { threshold: 3 }));
    const smooth = wasm.smoothExponential(values, { weight: 0.999 });
    expect(isSame(smooth, wasm.smoothExponential(values, { weight: 0.999 })), name).toBe(true);
    const plain = jsCurve.smoothExponential(values, { weight: 0.999 });
    const size = values.reduce((most, x) => Math.max(most, Number.isNaN(x) ? 0 : Math.abs(x)), 0);
    const isClose = (x: number, i: number): boolean =>
      Number.isNaN(x)
        ? Number.isNaN(plain[i])
        : Math.abs(x - (plain[i] ?? 0)) <= 1e-12 * size + 1e-320;
    expect(
      smooth.every((x, i) => isClose(x, i)),
      name,
    ).toBe(true);
    const short = values.subarray(0, 3000);
    const trend = wasm.theilSen(short, { confidence: 0.9 });
    expect(trend, name).toEqual(wasm.theilSen(short, { confidence: 0.9 }));
    expect(trend, name).toEqual(jsCurve.theilSen(short, { confidence: 0.9 }));
  }
});

test('half of all slopes of thousands of points lie on either side of the slope found', () => {
  for (const name of MILD) {
    const values = drawn(name, 2500, 3);
    const { slope, interval, trend } = wasm.theilSen(values, { confidence: 0.95 });
    if (!Number.isFinite(slope)) continue;
    const slack = Math.abs(slope) * 2 ** -50;
    const sides = { below: 0, above: 0, rising: 0, falling: 0 };
    for (let i = 0; i < values.length; i++) {
      for (let j = 0; j < i; j++) {
        const each = ((values[i] ?? 0) - (values[j] ?? 0)) / (i - j);
        if (each < slope - slack) sides.below += 1;
        if (each > slope + slack) sides.above += 1;
        if ((values[i] ?? 0) > (values[j] ?? 0)) sides.rising += 1;
        if ((values[i] ?? 0) < (values[j] ?? 0)) sides.falling += 1;
      }
    }
    const half = (values.length * (values.length - 1)) / 4;
    expect(sides.below, name).toBeLessThanOrEqual(half);
    expect(sides.above, name).toBeLessThanOrEqual(half);
    expect(trend.s, name).toBe(sides.rising - sides.falling);
    expect(interval?.low, name).toBeLessThanOrEqual(slope);
    expect(interval?.high, name).toBeGreaterThanOrEqual(slope);
  }
});

/** A quotient of integers of any size as float64, to a few places. */
function ratio(over: bigint, under: bigint): number {
  const shift = BigInt(Math.max(0, under.toString(2).length - 64));
  const size = over < 0n ? -over : over;
  const extra = BigInt(Math.max(0, 64 - (size.toString(2).length - under.toString(2).length)));
  const quotient = (size << extra) / under;
  return shift < 0n ? 0 : Number(quotient) * 2 ** -Number(extra);
}
