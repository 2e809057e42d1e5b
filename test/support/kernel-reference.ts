/** What the kernels compute, done slowly: two passes with compensated float64 sums, and one comparison an edge for histograms. */
import { expect } from 'vitest';
import { histogramEdges } from '../../src/kernel/tensor/histogram-bins.ts';
import type {
  Histogram,
  TensorData,
  TensorStats,
  TensorUnitStats,
  TensorUnitStatsOptions,
} from '../../src/kernel/kernel.ts';
import { expectAtMost, expectSame, expectSameNumbers } from './quick-expect.ts';

/** A sum with Neumaier's compensation. */
export function exactSum(values: Iterable<number>): number {
  let sum = 0;
  let lost = 0;
  for (const value of values) {
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return sum + lost;
}

/** The values of 16-bit floats, from the definition of their fields. */
export function valuesOf(bits: Uint16Array, type: 'float16' | 'bfloat16'): Float32Array {
  const fractionBits = type === 'float16' ? 10 : 7;
  const exponentBits = 15 - fractionBits;
  const most = 2 ** exponentBits - 1;
  const bias = 2 ** (exponentBits - 1) - 1;
  return Float32Array.from(bits, (pattern) => {
    const sign = pattern >= 2 ** 15 ? -1 : 1;
    const exponent = Math.floor(pattern / 2 ** fractionBits) % (most + 1);
    const fraction = (pattern % 2 ** fractionBits) / 2 ** fractionBits;
    if (exponent === most) return fraction === 0 ? sign * Infinity : Number.NaN;
    if (exponent === 0) return sign * fraction * 2 ** (1 - bias);
    return sign * (1 + fraction) * 2 ** (exponent - bias);
  });
}

export function referenceStats(
  data: TensorData,
  epsilon = 0,
  threshold: number | null = null,
): TensorStats {
  const all = Array.from(data);
  const finite = all.filter((x) => Number.isFinite(x));
  const count = (keep: (x: number) => boolean): number => all.filter(keep).length;
  const mean = exactSum(finite) / finite.length;
  const center = finite[0] ?? 0;
  const offset = exactSum(finite.map((x) => x - center)) / finite.length;
  const variance = exactSum(finite.map((x) => (x - center - offset) ** 2)) / finite.length;
  const l2Norm = Math.sqrt(exactSum(finite.map((x) => x * x)));
  const nearZeroCount = finite.filter((x) => Math.abs(x) <= epsilon).length;
  const saturatedCount =
    threshold === null ? null : finite.filter((x) => Math.abs(x) >= threshold).length;
  return {
    elementCount: all.length,
    finiteCount: finite.length,
    nanCount: count((x) => Number.isNaN(x)),
    positiveInfinityCount: count((x) => x === Infinity),
    negativeInfinityCount: count((x) => x === -Infinity),
    zeroCount: count((x) => x === 0),
    mean,
    variance,
    std: Math.sqrt(variance),
    l1Norm: exactSum(finite.map(Math.abs)),
    l2Norm,
    rms: finite.length > 0 ? l2Norm / Math.sqrt(finite.length) : Number.NaN,
    min: finite.length > 0 ? finite.reduce((a, b) => Math.min(a, b)) : Number.NaN,
    max: finite.length > 0 ? finite.reduce((a, b) => Math.max(a, b)) : Number.NaN,
    epsilon,
    nearZeroCount,
    nearZeroRatio: nearZeroCount / finite.length,
    threshold,
    saturatedCount,
    saturatedRatio: saturatedCount === null ? null : saturatedCount / finite.length,
  };
}

const EXACT = [
  'elementCount',
  'finiteCount',
  'nanCount',
  'positiveInfinityCount',
  'negativeInfinityCount',
  'zeroCount',
  'epsilon',
  'nearZeroCount',
  'nearZeroRatio',
  'threshold',
  'saturatedCount',
  'saturatedRatio',
] as const;

/** Fails unless `actual` lies within the bounds that the doc comment of TensorStats states. */
export function expectWithinBounds(
  actual: TensorStats,
  data: TensorData,
  epsilon?: number,
  threshold?: number | null,
): void {
  const wanted = referenceStats(data, epsilon, threshold);
  for (const name of EXACT) expectSame(actual[name], wanted[name], name);
  // A zero is +0.
  expectSame(actual.min, wanted.min + 0, 'min');
  expectSame(actual.max, wanted.max + 0, 'max');
  const isFloat32 = data instanceof Float32Array;
  const scale = Number.isNaN(wanted.rms) ? 0 : wanted.rms;
  const condition = wanted.std > 0 ? 2 ** -50 * (Math.abs(wanted.mean) / wanted.std) : 0;
  const relative = (
    name: keyof TensorStats & ('variance' | 'std' | 'l1Norm' | 'l2Norm' | 'rms'),
    bound: number,
  ): void => {
    if (Number.isNaN(wanted[name])) expectSame(actual[name], Number.NaN, name);
    else expectAtMost(Math.abs(actual[name] - wanted[name]), wanted[name] * bound, name);
  };
  relative('variance', (isFloat32 ? 6.5e-5 : 1e-12) + condition);
  relative('std', (isFloat32 ? 3.25e-5 : 1e-12) + condition);
  relative('l1Norm', isFloat32 ? 2e-6 : 1e-12);
  relative('l2Norm', isFloat32 ? 3.5e-5 : 1e-12);
  relative('rms', isFloat32 ? 3.5e-5 : 1e-12);
  if (Number.isNaN(wanted.mean)) expectSame(actual.mean, Number.NaN, 'mean');
  else {
    const bound = (isFloat32 ? 5e-6 * wanted.std : 0) + 1e-12 * scale;
    expectAtMost(Math.abs(actual.mean - wanted.mean), bound, 'mean');
  }
}

/** The bins a value may lie in: one, or two when it is within the documented distance of an inner edge. */
function binsOf(x: number, min: number, max: number, bins: number): readonly number[] {
  const width = (max - min) / bins;
  const near = 4 * 2 ** -52 * Math.max(Math.abs(min), Math.abs(max));
  const bin = Math.min(bins - 1, Math.max(0, Math.floor((x - min) / width)));
  return [bin - 1, bin, bin + 1].filter(
    (at) =>
      at >= 0 && at < bins && x >= min + at * width - near && x <= min + (at + 1) * width + near,
  );
}

/** The counts beside the bins, and that everything adds up. */
function expectCountsBeside(actual: Histogram, all: readonly number[]): void {
  const { min, max } = actual;
  const count = (keep: (x: number) => boolean): number => all.filter(keep).length;
  expectSame(actual.sampledCount, all.length, 'sampledCount');
  expectSame(
    actual.nanCount,
    count((x) => Number.isNaN(x)),
    'nanCount',
  );
  expectSame(
    actual.positiveInfinityCount,
    count((x) => x === Infinity),
    'positiveInfinityCount',
  );
  expectSame(
    actual.negativeInfinityCount,
    count((x) => x === -Infinity),
    'negativeInfinityCount',
  );
  expectSame(
    actual.zeroCount,
    count((x) => x === 0),
    'zeroCount',
  );
  expectSame(
    actual.underflowCount,
    count((x) => x < min && x !== -Infinity),
    'underflowCount',
  );
  expectSame(
    actual.overflowCount,
    count((x) => x > max && x !== Infinity),
    'overflowCount',
  );
  expectSame(
    exactSum(actual.counts),
    count((x) => x >= min && x <= max),
    'counts',
  );
}

/** Fails unless `actual` counts every element of `data` where the doc comment of Histogram says of uniform bins. */
export function expectHistogramOf(actual: Histogram, data: TensorData): void {
  const { min, max, counts } = actual;
  const all = Array.from(data);
  expect(actual).toMatchObject({ scale: 'uniform', magnitudes: null, binsPerOctave: null });
  expectSame(actual.elementCount, data.length, 'elementCount');
  expectCountsBeside(actual, all);
  const inside = all.filter((x) => x >= min && x <= max);
  const sure = new Float64Array(counts.length);
  const possible = new Float64Array(counts.length);
  for (const x of inside) {
    const bins = binsOf(x, min, max, counts.length);
    for (const bin of bins) possible[bin] = (possible[bin] ?? 0) + 1;
    const [only, ...others] = bins;
    if (only !== undefined && others.length === 0) sure[only] = (sure[only] ?? 0) + 1;
  }
  counts.forEach((value, bin) => {
    expectAtMost(sure[bin] ?? 0, value, `bin ${bin}, surely in it`);
    expectAtMost(value, possible[bin] ?? 0, `bin ${bin}`);
  });
}

/** The edges above 0 that the doc comment of Histogram states for bins of magnitudes. */
export function magnitudeEdgesOf(min: number, max: number, binsPerOctave: number): number[] {
  const edges: number[] = [];
  for (let power = min; power < max; power *= 2) {
    for (let j = 0; j < binsPerOctave; j++) edges.push(power + (power * j) / binsPerOctave);
  }
  return [...edges, max];
}

/** Fails unless `actual` counts every element of `data` where the doc comment of Histogram says of bins of magnitudes. */
export function expectLogHistogramOf(
  actual: Histogram,
  data: TensorData,
  magnitudes: { readonly min: number; readonly max: number },
  binsPerOctave: number,
): void {
  const above = magnitudeEdgesOf(magnitudes.min, magnitudes.max, binsPerOctave);
  const edges = [...above.map((edge) => -edge).toReversed(), ...above];
  expect(actual).toMatchObject({ scale: 'log_magnitude', magnitudes, binsPerOctave });
  expect([actual.min, actual.max]).toEqual([-magnitudes.max, magnitudes.max]);
  expectSameNumbers(histogramEdges(actual), edges, 'edges');
  expectSame(actual.elementCount, data.length, 'elementCount');
  const all = Array.from(data);
  expectCountsBeside(actual, all);
  const counts = new Array<number>(edges.length - 1).fill(0);
  for (const x of all) {
    if (!(x >= actual.min && x <= actual.max)) continue;
    // The last bin holds its upper edge too.
    const past = edges.findIndex((edge) => x < edge);
    const bin = past < 0 ? counts.length - 1 : past - 1;
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  expectSameNumbers(actual.counts, counts, 'counts');
}

/** Fails unless `actual` lies within the bounds that the doc comment of TensorUnitStats states. */
export function expectUnitsWithinBounds(
  actual: TensorUnitStats,
  data: TensorData,
  { units, innerSize = 1, epsilon = 0 }: TensorUnitStatsOptions,
): void {
  const values = Array.from({ length: units }, (): number[] => []);
  data.forEach((x, i) => values[Math.floor(i / innerSize) % units]?.push(x));
  expectSame(actual.units, units, 'units');
  expectSame(actual.epsilon, epsilon, 'epsilon');
  expectSame(actual.elementCount, data.length, 'elementCount');
  const finite = values.map((list) => list.filter((x) => Number.isFinite(x)));
  const inactive = finite.map((list) => list.filter((x) => Math.abs(x) <= epsilon).length);
  const lengths = finite.map((list) => list.length);
  expectSameNumbers(actual.finiteCounts, lengths, 'finiteCounts');
  expectSameNumbers(actual.inactiveCounts, inactive, 'inactiveCounts');
  const ratios = finite.map((list, unit) => (inactive[unit] ?? 0) / list.length);
  expectSameNumbers(actual.inactiveRatios, ratios, 'inactiveRatios');
  expectSame(actual.deadUnitCount, ratios.filter((ratio) => ratio === 1).length, 'deadUnitCount');
  const magnitudes = finite.map((list) =>
    list.length > 0 ? list.reduce((a, x) => Math.max(a, Math.abs(x)), 0) : Number.NaN,
  );
  expectSameNumbers(actual.maxMagnitudes, magnitudes, 'maxMagnitudes');
  finite.forEach((list, unit) => {
    const mean = exactSum(list) / list.length;
    const bound = (1e-12 * exactSum(list.map(Math.abs))) / list.length;
    const what = `mean of unit ${unit}`;
    if (list.length === 0) expectSame(actual.means[unit], Number.NaN, what);
    else expectAtMost(Math.abs((actual.means[unit] ?? 0) - mean), bound, what);
  });
}
