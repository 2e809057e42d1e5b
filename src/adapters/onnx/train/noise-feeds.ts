/** The noise of dropout: a function of the seed and the number of the step, so that a resumed training goes on to the bit. */
import { QuarkError } from '../../../base/errors.ts';
import { createTensor, type Ort, type OrtTensor } from '../ort.ts';
import type { OnnxTraining } from './training-step.ts';

/** Masks for a step: 0 with the probability of each, and what makes up for it elsewhere. */
export function* noiseFeeds(
  ort: Ort,
  { noise, inputs, target }: OnnxTraining,
  feeds: Readonly<Record<string, OrtTensor>>,
  at: { readonly seed: number; readonly step: number },
): Generator<readonly [name: string, tensor: OrtTensor]> {
  if (noise.length === 0) return;
  const sizes = new Map<string, number>();
  for (const { name, shape } of [...inputs, target])
    for (const [axis, size] of shape.entries())
      if (typeof size === 'string') sizes.set(size, feeds[name]?.dims[axis] ?? 1);
  for (const [index, { name, shape, rate }] of noise.entries()) {
    const dims = shape.map((size) => sizeOf(size, sizes));
    const data = new Float32Array(dims.reduce((count, size) => count * size, 1));
    const scale = 1 / (1 - rate);
    const next = randoms(mixed(mixed(at.seed, at.step), index));
    for (let i = 0; i < data.length; i += 1) data[i] = next() < rate ? 0 : scale;
    yield [name, createTensor(ort, 'float32', data, dims)];
  }
}

/** A size, or a product of sizes, of this batch. */
function sizeOf(size: number | string, sizes: ReadonlyMap<string, number>): number {
  if (typeof size === 'number') return size;
  return size.split('*').reduce((product, factor) => {
    const known = sizes.get(factor) ?? Number(factor);
    if (Number.isNaN(known))
      throw new QuarkError('unsupported', `Dropout needs the size "${size}", which no input has.`, {
        details: { field: 'model', value: size, reason: 'unknown_size' },
      });
    return product * known;
  }, 1);
}

/** Two numbers as one of 32 bits, each bit of which depends on both (the finaliser of MurmurHash3). */
function mixed(a: number, b: number): number {
  let hash = Math.imul(a ^ Math.floor(a / 2 ** 32), 0xcc9e2d51) ^ (b + 0x9e3779b9);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Numbers from 0 to 1: Mulberry32, whose period of 2^32 is longer than any mask. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
