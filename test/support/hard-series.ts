/** Series that are hard on selection and on moments: ties, tails, order, sizes, and what is not finite in any place. */
import fc from 'fast-check';
import { normal, random } from './tensors.ts';

const SPECIAL = [
  0,
  -0,
  5e-324,
  -5e-324,
  2.2250738585072014e-308,
  1,
  -1,
  1e300,
  -1e300,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
];
const NON_FINITE = [Number.NaN, Infinity, -Infinity];

/** Each makes a value from a generator of uniform numbers and the position. */
export const DISTRIBUTIONS: Readonly<
  Record<string, (next: () => number, i: number, length: number) => number>
> = {
  uniform: (next) => next(),
  'normal around 0': (next) => gauss(next),
  'mean 1e6, deviation 1e-3': (next) => 1e6 + 1e-3 * gauss(next),
  cauchy: (next) => Math.tan(Math.PI * (next() - 0.5)),
  'pareto of exponent 0.1': (next) => next() ** -10,
  'powers of two of every size': (next) => 2 ** Math.floor(next() * 2000 - 1000),
  'any bits': (next) => anyBits(next),
  subnormal: (next) => Math.floor(next() * 1e6) * 5e-324 * (next() < 0.5 ? -1 : 1),
  'half of it zeros of both signs': (next) =>
    next() < 0.5 ? (next() < 0.5 ? 0 : -0) : gauss(next),
  'ten integers': (next) => Math.floor(next() * 10),
  'all equal': () => 0.1,
  'all but one equal': (_next, i, length) => (i === length >> 1 ? 1e9 : 0.1),
  ascending: (_next, i) => i,
  descending: (_next, i) => -i,
  'organ pipe': (_next, i, length) => Math.min(i, length - i),
  sawtooth: (_next, i) => i % 16,
  'one huge, the rest small': (next, i) => (i === 3 ? 1e300 : next() * 1e-300),
  'both ends of float64': (next) => (next() < 0.5 ? -1 : 1) * Number.MAX_VALUE * next(),
};

/** `length` values of a distribution. */
export function drawn(name: string, length: number, seed: number): Float64Array {
  const next = random(seed);
  const make = DISTRIBUTIONS[name] ?? (() => 0);
  return Float64Array.from({ length }, (_, i) => make(next, i, length));
}

/** Lengths around everything that the kernels treat as a block. */
export const SERIES_LENGTHS: readonly number[] = [
  ...Array.from({ length: 68 }, (_, i) => i),
  127,
  128,
  1023,
  1024,
  1025,
  4095,
  4096,
  4097,
  5003,
];

/** Any of the distributions at any of the lengths, in part with special values and with what is not finite. */
export const hardSeries: fc.Arbitrary<Float64Array> = fc
  .record({
    name: fc.constantFrom(...Object.keys(DISTRIBUTIONS)),
    length: fc.oneof(fc.integer({ min: 0, max: 67 }), fc.constantFrom(...SERIES_LENGTHS)),
    seed: fc.integer(),
    special: fc.constantFrom(0, 0, 0.2),
    nonFinite: fc.constantFrom(0, 0, 0.1, 0.9, 1),
  })
  .map(({ name, length, seed, special, nonFinite }) => {
    const next = random(seed + 1);
    return drawn(name, length, seed).map((value) => {
      if (next() < nonFinite) return NON_FINITE[Math.floor(next() * 3)] ?? 0;
      return next() < special ? (SPECIAL[Math.floor(next() * SPECIAL.length)] ?? 0) : value;
    });
  });

function gauss(next: () => number): number {
  return normal(1, 0, 1, Math.floor(next() * 2 ** 32))[0] ?? 0;
}

function anyBits(next: () => number): number {
  const words = Uint32Array.of(next() * 2 ** 32, next() * 2 ** 32);
  const value = new Float64Array(words.buffer)[0] ?? 0;
  return Number.isFinite(value) ? value : 0;
}

/** A finite float64 as an exact multiple of 2^-1074. */
export function exactly(value: number): bigint {
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0] ?? 0n;
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & 0xfffffffffffffn;
  const size = exponent === 0n ? fraction : (fraction | 0x10000000000000n) << (exponent - 1n);
  return value < 0 ? -size : size;
}
