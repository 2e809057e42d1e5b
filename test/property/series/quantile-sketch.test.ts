/** The quantile sketch against the sorted values: its bound, exact merging, its bytes. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isQuarkError } from '../../../src/base/errors.ts';
import { ExactSum } from '../../../src/kernel/series/module/exact-sum.ts';
import { QuantileSketch } from '../../../src/kernel/series/sketch/quantile-sketch.ts';
import { LogBins } from '../../../src/kernel/series/sketch/sketch-bins.ts';
import { drawn, exactly, hardSeries } from '../../support/hard-series.ts';
import { runs } from '../../support/property.ts';

const options = fc.record({
  relativeAccuracy: fc.constantFrom(0.25, 0.05, 0.01, 1e-3, 1e-5),
  maxBins: fc.constantFrom(64, 300, 2048),
});
const PROBABILITIES = [0, 0.001, 0.01, 0.1, 0.25, 1 / 3, 0.5, 0.75, 0.9, 0.99, 0.999, 1];

function sketchOf(values: Float64Array, given = {}): QuantileSketch {
  const sketch = new QuantileSketch(given);
  sketch.addAll(values);
  return sketch;
}

/** Half the smallest subnormal cannot be written; a whole one is its rounded form. */
function isWithinBound(found: number, value: number, sketch: QuantileSketch): boolean {
  const error = Math.abs(found - value);
  const size = Math.abs(value);
  if (error <= sketch.relativeAccuracy * size + 5e-324) return true;
  return size < sketch.resolvedMagnitude && error <= sketch.resolvedMagnitude;
}

function expectWithinBound(sketch: QuantileSketch, values: Float64Array): void {
  const sorted = values.filter((x) => Number.isFinite(x)).sort();
  expect(sketch.count).toBe(sorted.length);
  if (sorted.length === 0) {
    expect([sketch.min, sketch.max, sketch.quantile(0.5), sketch.mean]).toEqual(
      new Array(4).fill(Number.NaN),
    );
    return;
  }
  expect(sketch.min).toBe((sorted[0] ?? 0) + 0);
  expect(sketch.max).toBe((sorted.at(-1) ?? 0) + 0);
  expect(sketch.quantile(0)).toBe(sketch.min);
  expect(sketch.quantile(1)).toBe(sketch.max);
  const found = sketch.quantiles(PROBABILITIES);
  PROBABILITIES.forEach((p, i) => {
    const value = sorted[Math.floor(p * (sorted.length - 1))] ?? 0;
    if (!isWithinBound(found[i] ?? 0, value, sketch))
      expect.fail(`the quantile of ${p} is ${value}, not ${found[i]}`);
    expect(i === 0 || (found[i] ?? 0) >= (found[i - 1] ?? 0)).toBe(true);
  });
}

describe('the bound', () => {
  test('holds for whatever values', () => {
    fc.assert(
      fc.property(hardSeries, options, (values, given) =>
        expectWithinBound(sketchOf(values, given), values),
      ),
      runs(500),
    );
  });

  test('holds for any two words as a float64, and for both of its neighbours', () => {
    const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
    fc.assert(
      fc.property(word, word, fc.constantFrom(0.25, 0.01, 1e-5), (high, low, relativeAccuracy) => {
        const around = new BigUint64Array(1);
        const bits = (BigInt(high) << 32n) | BigInt(low);
        for (const step of [0n, 1n, -1n]) {
          around[0] = bits + step;
          const value = new Float64Array(around.buffer)[0] ?? 0;
          if (!Number.isFinite(value)) continue;
          const sketch = new QuantileSketch({ relativeAccuracy });
          // Beyond it on both sides, so that the exact extremes do not help.
          for (const x of [value, -Number.MAX_VALUE, value, Number.MAX_VALUE, value]) sketch.add(x);
          if (sketch.resolvedMagnitude > Math.abs(value)) continue;
          expect(isWithinBound(sketch.quantile(0.5), value, sketch)).toBe(true);
        }
      }),
      runs(500),
    );
  });

  test('the defaults do not put bins together over 17 powers of ten', () => {
    const sketch = new QuantileSketch();
    for (let power = -8; power <= 9; power++) sketch.add(10 ** power);
    expect(sketch.resolvedMagnitude).toBe(0);
    sketch.add(1e12);
    expect(sketch.resolvedMagnitude).toBeGreaterThan(0);
    expect(sketch.resolvedMagnitude).toBeLessThan(1e12 * 1e-17);
    expect(sketch.quantile(0.5)).toBeGreaterThan(0);
  });

  test('bins follow each other without gaps, and no wider than they may be', () => {
    for (const accuracy of [0.25, 0.01, 1e-4]) {
      const bins = new LogBins(accuracy);
      const step = Math.max(1, Math.floor(0.01 / accuracy));
      for (let bin = -700 * step; bin < 700 * step; bin += step) {
        const ratio = bins.low(bin + 1) / bins.low(bin);
        expect(ratio).toBeGreaterThan(1);
        expect(ratio).toBeLessThan((1 + accuracy) / (1 - accuracy));
      }
    }
  });
});

describe('merging', () => {
  test('any division of the values, merged in any order, is the sketch of all, byte for byte', () => {
    fc.assert(
      fc.property(
        hardSeries,
        options,
        fc.array(fc.nat(), { minLength: 1, maxLength: 6 }),
        fc.integer(),
        (values, given, cuts, seed) => {
          const parts = cuts.map(() => new QuantileSketch(given));
          values.forEach((value, i) =>
            parts[(Math.imul(i + 1, seed | 1) >>> 3) % parts.length]?.add(value),
          );
          const merged = new QuantileSketch(given);
          cuts
            .map((cut, i) => ({ cut, part: parts[i] }))
            .sort((a, b) => a.cut - b.cut)
            .forEach(({ part }) => part && merged.merge(part));
          expectSameBytes(merged, sketchOf(values, given));
        },
      ),
      runs(400),
    );
  });

  test('does not change the other, and a sketch can be merged with itself', () => {
    const values = drawn('cauchy', 500, 4);
    const one = sketchOf(values);
    const two = sketchOf(values);
    const before = two.toBytes();
    one.merge(two);
    expect(two.toBytes()).toEqual(before);
    two.merge(two);
    expect(two.toBytes()).toEqual(one.toBytes());
    expect(two.count).toBe(1000);
  });

  test('only of sketches with the same options', () => {
    const sketch = new QuantileSketch();
    for (const other of [
      new QuantileSketch({ relativeAccuracy: 0.02 }),
      new QuantileSketch({ maxBins: 4096 }),
    ])
      expect(() => sketch.merge(other)).toThrow(expect.objectContaining({ code: 'invalid_input' }));
    expect(() => sketch.merge(JSON.parse('{}'))).toThrow(
      expect.objectContaining({ code: 'invalid_input' }),
    );
  });
});

test('the sum is the float64 nearest to the exact one, in whatever order', () => {
  fc.assert(
    fc.property(hardSeries, (values) => {
      const finite = values.filter((x) => Number.isFinite(x));
      const exact = finite.reduce((total, x) => total + exactly(x), 0n);
      const found = sketchOf(finite).sum;
      expect(sketchOf(finite.toReversed()).sum).toBe(found);
      if (Number.isFinite(found)) {
        const distance = (x: number): bigint => {
          const error = exactly(x) - exact;
          return error < 0n ? -error : error;
        };
        for (const neighbour of neighbours(found).filter((x) => Number.isFinite(x)))
          expect(distance(found) <= distance(neighbour)).toBe(true);
      } else {
        expect((exact < 0n ? -exact : exact) > exactly(Number.MAX_VALUE)).toBe(true);
      }
    }),
    runs(200),
  );
});

test('the mean is one where the sum is none', () => {
  const sketch = new QuantileSketch();
  sketch.addAll([Number.MAX_VALUE, Number.MAX_VALUE, Number.MAX_VALUE]);
  expect(sketch.sum).toBe(Infinity);
  expect(sketch.mean).toBe(Number.MAX_VALUE);
  sketch.addAll([-Number.MAX_VALUE, -Number.MAX_VALUE, -Number.MAX_VALUE, 5e-324, 5e-324]);
  expect(sketch.sum).toBe(1e-323);
});

test('a sum of more numbers than limbs have room for without a carry', () => {
  const sum = new ExactSum();
  const words = new Int32Array(Float64Array.of(-(2 - 2 ** -52)).buffer);
  const times = 2 ** 20 + 3;
  for (let i = 0; i < times; i++) sum.add(words[1] ?? 0, words[0] ?? 0);
  expect(sum.value()).toBe(-Number((BigInt(times) * (2n ** 53n - 1n)) / 2n ** 20n) * 2 ** -32);
});

describe('bytes', () => {
  test('come back as the same sketch, which can go on', () => {
    fc.assert(
      fc.property(hardSeries, hardSeries, options, (values, more, given) => {
        const sketch = sketchOf(values, given);
        const back = QuantileSketch.fromBytes(sketch.toBytes());
        expectSameBytes(back, sketch);
        sketch.addAll(more);
        back.addAll(more);
        expectSameBytes(back, sketch);
        expect(back.quantiles(PROBABILITIES)).toEqual(sketch.quantiles(PROBABILITIES));
      }),
      runs(200),
    );
  });

  test('that were changed are refused with a typed error, or mean what they say', () => {
    fc.assert(
      fc.property(
        hardSeries,
        options,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
        fc.option(fc.nat()),
        (values, given, changes, cut) => {
          let bytes = sketchOf(values, given).toBytes();
          for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
          if (cut !== null) bytes = bytes.slice(0, cut % (bytes.length + 1));
          try {
            expect(QuantileSketch.fromBytes(bytes).toBytes()).toEqual(bytes);
          } catch (error) {
            if (!isQuarkError(error, 'invalid_input')) throw error;
          }
        },
      ),
      runs(500),
    );
  });

  test('of a length that is not there make no room for it', () => {
    const bytes = sketchOf(Float64Array.of(1, 2, 3)).toBytes();
    new DataView(bytes.buffer).setUint32(64 + 68 * 4 + 8, 0xffffffff, true);
    expect(() => QuantileSketch.fromBytes(bytes)).toThrow(
      expect.objectContaining({ code: 'invalid_input' }),
    );
    expect(() => QuantileSketch.fromBytes(JSON.parse('"QDS1"'))).toThrow(
      expect.objectContaining({ code: 'invalid_input' }),
    );
  });
});

test('what is not finite is counted', () => {
  const sketch = new QuantileSketch();
  sketch.addAll([1, Number.NaN, Infinity, -Infinity, Infinity, 0, -0, -2]);
  expect(sketch).toMatchObject({
    count: 4,
    zeroCount: 2,
    nanCount: 1,
    positiveInfinityCount: 2,
    negativeInfinityCount: 1,
    min: -2,
    max: 1,
    sum: -1,
    mean: -0.25,
  });
});

test('bad arguments are refused by name', () => {
  const sketch = new QuantileSketch();
  const loose = sketch as unknown as Record<'add' | 'addAll' | 'quantile', (x: unknown) => void>;
  const cases: readonly (readonly [() => unknown, string])[] = [
    [() => new QuantileSketch({ relativeAccuracy: 0 }), 'options.relativeAccuracy'],
    [() => new QuantileSketch({ relativeAccuracy: 0.3 }), 'options.relativeAccuracy'],
    [() => new QuantileSketch({ relativeAccuracy: Number.NaN }), 'options.relativeAccuracy'],
    [() => new QuantileSketch({ maxBins: 63 }), 'options.maxBins'],
    [() => new QuantileSketch({ maxBins: 64.5 }), 'options.maxBins'],
    [() => new QuantileSketch(JSON.parse('{"accuracy":1}')), 'options.accuracy'],
    [() => loose.add('1'), 'value'],
    [() => loose.addAll([1, null]), 'values[1]'],
    [() => loose.quantile(1.5), 'probability'],
    [() => sketch.quantiles([0.5, -1]), 'probabilities[1]'],
  ];
  for (const [call, field] of cases) {
    expect(call).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        details: expect.objectContaining({ field }),
      }),
    );
  }
  expect(sketch.count).toBe(0);
});

/** Much faster than toEqual on bytes. */
function expectSameBytes(one: QuantileSketch, other: QuantileSketch): void {
  expect(Buffer.compare(one.toBytes(), other.toBytes())).toBe(0);
}

/** The float64 next to `value` on both sides. */
function neighbours(value: number): number[] {
  if (value === 0) return [5e-324, -5e-324];
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0] ?? 0n;
  return [bits + 1n, bits - 1n].map(
    (next) => new Float64Array(BigUint64Array.of(next).buffer)[0] ?? 0,
  );
}
