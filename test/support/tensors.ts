/** Tensors that are hard on a kernel. */
import fc from 'fast-check';
import type { TensorData } from '../../src/kernel/kernel.ts';

/** Pseudo-random numbers in [0, 1) that are the same in every run (mulberry32). */
export function random(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let z = Math.imul(state ^ (state >>> 15), 1 | state);
    z = (z + Math.imul(z ^ (z >>> 7), 61 | z)) ^ z;
    return ((z ^ (z >>> 14)) >>> 0) / 4294967296;
  };
}

/** `length` values of a normal distribution. */
export function normal(length: number, mean = 0, std = 1, seed = 1): Float64Array {
  const next = random(seed);
  return Float64Array.from(
    { length },
    () => mean + std * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  );
}

const SPECIAL32 = [
  0, -0, 1, -1, 1e-45, -1e-45, 1.17549e-38, 3.4028234663852886e38, -3.4028234663852886e38, 1e-20,
  1e19, 1e6,
];
const NON_FINITE = [Number.NaN, Infinity, -Infinity];

const lengths = fc.oneof(
  fc.integer({ min: 0, max: 67 }),
  fc.constantFrom(
    127,
    128,
    255,
    256,
    257,
    320,
    1023,
    1024,
    1025,
    1087,
    1088,
    2047,
    2048,
    2049,
    3000,
  ),
);

/** Float values of one character: spread, clustered far from zero, tiny, all equal, mostly zero, with outliers, or special. */
const patterns = fc.oneof(
  fc
    .record({
      mean: fc.constantFrom(0, 1, -3, 1e6, -1e6, 1e-30),
      std: fc.constantFrom(1, 1e-3, 1e3, 1e-12),
      seed: fc.integer(),
    })
    .map(({ mean, std, seed }) => {
      const next = random(seed);
      return () => mean + std * (next() + next() + next() - 1.5);
    }),
  fc.constantFrom(...SPECIAL32).map((value) => () => value),
  fc
    .record({
      value: fc.constantFrom(1e3, 1e15, 1e30, 1e-40),
      odds: fc.constantFrom(0.001, 0.05, 0.5),
      seed: fc.integer(),
    })
    .map(({ value, odds, seed }) => {
      const next = random(seed);
      return () => (next() < odds ? value : next());
    }),
  fc.integer().map((seed) => {
    const next = random(seed);
    return () => SPECIAL32[Math.floor(next() * SPECIAL32.length)] ?? 0;
  }),
);

const sprinkles = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...NON_FINITE, 0, -0)), {
  maxLength: 4,
});

function fill(
  length: number,
  next: () => number,
  extra: readonly (readonly [number, number])[],
): number[] {
  const values = Array.from({ length }, next);
  for (const [at, value] of extra) if (length > 0) values[at % length] = value;
  return values;
}

/** At an offset of `padding` elements inside its buffer. */
function within(array: TensorData, padding: number): TensorData {
  const { length, BYTES_PER_ELEMENT: size } = array;
  const buffer = new ArrayBuffer((length + padding + 3) * size);
  new Uint8Array(buffer).fill(0xff);
  const copy = new Uint8Array(buffer, padding * size, length * size);
  copy.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  if (array instanceof Float32Array) return new Float32Array(buffer, padding * size, length);
  if (array instanceof Float64Array) return new Float64Array(buffer, padding * size, length);
  if (array instanceof Int32Array) return new Int32Array(buffer, padding * size, length);
  return copy;
}

const padding = fc.integer({ min: 0, max: 5 });

/** float32 tensors of every kind. */
export const anyFloat32: fc.Arbitrary<TensorData> = fc
  .tuple(lengths, patterns, sprinkles, padding)
  .map(([length, next, extra, pad]) => within(Float32Array.from(fill(length, next, extra)), pad));

/** float64 tensors, of magnitudes whose squares neither overflow nor underflow. */
export const anyFloat64: fc.Arbitrary<TensorData> = fc
  .tuple(lengths, patterns, sprinkles, padding)
  .map(([length, next, extra, pad]) => within(Float64Array.from(fill(length, next, extra)), pad));

/** int32 and uint8 tensors. */
export const anyInteger: fc.Arbitrary<TensorData> = fc.oneof(
  fc
    .tuple(fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 300 }), padding)
    .map(([values, pad]) => within(Int32Array.from(values), pad)),
  fc
    .record({
      length: lengths,
      // On both sides of what the exact sums of int32 take.
      bits: fc.constantFrom(1, 8, 20, 26, 27, 31),
      mean: fc.constantFrom(0, 1, -7, 1e6, -(2 ** 25)),
      seed: fc.integer(),
      pad: padding,
    })
    .map(({ length, bits, mean, seed, pad }) => {
      const next = random(seed);
      const values = Array.from({ length }, () => mean + Math.floor((next() - 0.5) * 2 ** bits));
      return within(Int32Array.from(values), pad);
    }),
  fc
    .record({
      length: lengths,
      most: fc.constantFrom(0, 1, 3, 100, 255),
      least: fc.constantFrom(0, 1),
      seed: fc.integer(),
      pad: padding,
    })
    .map(({ length, most, least, seed, pad }) => {
      const next = random(seed);
      const values = Array.from({ length }, () => least + Math.floor(next() * (most + 1)));
      return within(Uint8Array.from(values), pad);
    }),
  fc
    .tuple(fc.uint8Array({ maxLength: 1200, size: 'max' }), padding)
    .map(([values, pad]) => within(values, pad)),
);

/** Any tensor. */
export const anyTensor: fc.Arbitrary<TensorData> = fc.oneof(anyFloat32, anyFloat64, anyInteger);
