/** Order statistics against a plain sort and exact rational interpolation. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type OrderKernel,
  QUANTILE_METHODS,
  jsOrder,
} from '../../../src/kernel/series/order/order.ts';
import { loadWasmSeriesKernel } from '../../../src/kernel/series/series-kernel.ts';
import {
  DISTRIBUTIONS,
  SERIES_LENGTHS,
  drawn,
  exactly,
  hardSeries,
} from '../../support/hard-series.ts';
import { runs } from '../../support/property.ts';
import { random } from '../../support/tensors.ts';

let wasm: OrderKernel;

beforeAll(async () => {
  wasm = await loadWasmSeriesKernel();
});

const probabilities = fc.array(
  fc.oneof(
    fc.constantFrom(0, 1, 0.5, 0.25, 0.75, 5e-324, 1 - 2 ** -53, 1 / 3),
    fc.double({ min: 0, max: 1, noNaN: true }),
  ),
  { minLength: 1, maxLength: 12 },
);

function sortedFinite(values: ArrayLike<number>): number[] {
  return Array.from(values)
    .filter((x) => Number.isFinite(x))
    .sort((a, b) => a - b);
}

/** Holds a linear quantile against the exact interpolation between the neighbours in sorted order. */
function expectLinear(found: number, sorted: readonly number[], probability: number): void {
  if (sorted.length === 0) {
    expect(found).toBeNaN();
    return;
  }
  const at = probability * (sorted.length - 1);
  const floor = Math.floor(at);
  const low = sorted[floor] ?? 0;
  const high = sorted[Math.ceil(at)] ?? 0;
  expect(found >= low && found <= high).toBe(true);
  // In units of 2^-2148: the part is a multiple of 2^-1074.
  const part = exactly(at - floor);
  const whole = 1n << 1074n;
  const exact = exactly(low) * whole + (exactly(high) - exactly(low)) * part;
  const error = exactly(found) * whole - exact;
  const size = exactly(Math.max(Math.abs(low), Math.abs(high)));
  const bound = (size * whole) >> 51n;
  // Half a unit of the smallest subnormal is what rounding itself may take.
  expect((error < 0n ? -error : error) <= bound + whole).toBe(true);
}

describe.each([
  ['plain JavaScript', (): OrderKernel => jsOrder],
  ['WebAssembly', (): OrderKernel => wasm],
] as const)('%s', (_way, kernel) => {
  test('linear quantiles are within the stated bound of the exact ones', () => {
    fc.assert(
      fc.property(hardSeries, probabilities, (values, wanted) => {
        const sorted = sortedFinite(values);
        kernel()
          .quantiles(values, wanted)
          .forEach((found, i) => expectLinear(found, sorted, wanted[i] ?? 0));
      }),
      runs(400),
    );
  });

  // Results are never -0.
  test('values that occur thousands of times, zeros of both signs among them', () => {
    const tied = fc.array(fc.constantFrom(-0, 0, 1, 2, 7, -3.5, 0.1, 1e300), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(tied, fc.constantFrom(0, 0.1, 0.3, 1, 10, 100), (few, percent) => {
        const next = random(few.length + percent);
        const last = 8192; // so that k / last is exact
        const values = Float64Array.from({ length: last + 1 }, () =>
          next() * 100 < percent ? 2 * next() : (few[Math.floor(next() * few.length)] ?? 0),
        );
        const sorted = values.slice().sort();
        // The ends of the longest ties, and the ranks beside them.
        const ends = Array.from(sorted.keys()).flatMap((k) => {
          const isLast = sorted[k] !== sorted[k + 1] && sorted[k] === sorted[k - 99];
          const isFirst = sorted[k] !== sorted[k - 1] && sorted[k] === sorted[k + 99];
          return isLast || isFirst ? [k - 1, k, k + 1] : [];
        });
        const places = [0, last, ...ends.filter((k) => k >= 0 && k <= last)];
        const wanted = places.map((k) => k / last);
        const found = kernel().quantiles(values, wanted, { method: 'lower' });
        const ranks = wanted.map((share) => sorted[share * last]);
        expect(found).toEqual(Float64Array.from(ranks, (x) => (x ?? 0) + 0));
      }),
      runs(100),
    );
  });

  test('the other methods give the very value of the rank', () => {
    fc.assert(
      fc.property(
        hardSeries,
        probabilities,
        fc.constantFrom(...QUANTILE_METHODS.filter((method) => method !== 'linear')),
        (values, wanted, method) => {
          const sorted = sortedFinite(values);
          const round = { lower: Math.floor, higher: Math.ceil, nearest: halfToEven }[method];
          const expected = wanted.map((p) =>
            sorted.length === 0 ? Number.NaN : (sorted[round(p * (sorted.length - 1))] ?? 0) + 0,
          );
          expect([...kernel().quantiles(values, wanted, { method })]).toEqual(expected);
        },
      ),
      runs(200),
    );
  });

  test('quantiles never fall when the probability rises', () => {
    fc.assert(
      fc.property(hardSeries, (values) => {
        fc.pre(values.some((x) => Number.isFinite(x)));
        const found = kernel().quantiles(
          values,
          Array.from({ length: 257 }, (_, i) => i / 256),
        );
        expect(found.every((x, i) => i === 0 || x >= (found[i - 1] ?? 0))).toBe(true);
      }),
      runs(100),
    );
  });

  test('the median absolute deviation is the median of the distances from the median', () => {
    fc.assert(
      fc.property(hardSeries, (values) => {
        const { median, mad } = kernel().medianAbsoluteDeviation(values);
        expect(median).toBe(jsOrder.median(values));
        const finite = sortedFinite(values);
        if ((finite.at(-1) ?? 0) - (finite[0] ?? 0) === Infinity) return;
        expect(mad).toBe(jsOrder.median(finite.map((x) => Math.abs(x - median))));
      }),
      runs(200),
    );
  });
});

test('every length, both twins alike', () => {
  const ps = [0, 0.01, 0.3, 0.5, 0.99, 1];
  for (const name of Object.keys(DISTRIBUTIONS)) {
    for (const length of SERIES_LENGTHS) {
      const values = drawn(name, length, length);
      expect(wasm.quantiles(values, ps), `${name}, ${length}`).toEqual(
        jsOrder.quantiles(values, ps),
      );
    }
  }
});

test('NaN and infinities in every position of a block', () => {
  for (const length of [9, 4099]) {
    for (let at = 0; at < Math.min(length, 40); at++) {
      for (const bad of [Number.NaN, Infinity, -Infinity]) {
        const values = drawn('uniform', length, 5);
        values[at] = bad;
        values[length - 1 - at] = bad;
        expect(wasm.quantiles(values, [0, 0.5, 1])).toEqual(jsOrder.quantiles(values, [0, 0.5, 1]));
      }
    }
  }
});

// The number of values and tasks a selection meets stays linear: no distribution takes it into many rounds over everything.
test.each(Object.keys(DISTRIBUTIONS))('300,000 values, %s, many quantiles', (name) => {
  const values = drawn(name, 300_001, 77);
  const ps = Array.from({ length: 1001 }, (_, i) => i / 1000);
  expect(wasm.quantiles(values, ps)).toEqual(jsOrder.quantiles(values, ps));
});

test('values that mislead the sample', () => {
  // The sample is taken at places that do not depend on the values: what lies there says nothing about the rest.
  const length = 262_144;
  const found = drawn('uniform', length, 1);
  for (let start = 0; start < length; start += 1024)
    found.fill(1e9, start, start + (start % 4096 === 0 ? 1 : 0));
  const tower = Float64Array.from(
    { length },
    (_, i) => 2 ** ((i % 2000) - 1000) * (1 + i / length),
  );
  for (const values of [found, tower, tower.toReversed()]) {
    expect(wasm.quantiles(values, [0, 0.001, 0.5, 0.999, 1])).toEqual(
      jsOrder.quantiles(values, [0, 0.001, 0.5, 0.999, 1]),
    );
  }
});

test('the same bits from run to run and from instance to instance', async () => {
  const values = drawn('cauchy', 100_000, 8);
  const other = await loadWasmSeriesKernel();
  const ps = [0.01, 0.4, 0.5, 0.77];
  const first = wasm.quantiles(values, ps);
  expect(wasm.quantiles(values, ps)).toEqual(first);
  expect(other.quantiles(values, ps)).toEqual(first);
});

function halfToEven(x: number): number {
  const floor = Math.floor(x);
  return x - floor > 0.5 || (x - floor === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}
