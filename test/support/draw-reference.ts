/** What the kernels for drawing compute, done slowly and from the definitions. */
import fc from 'fast-check';
import type {
  BucketOptions,
  BucketReduction,
  SeriesReduction,
} from '../../src/kernel/series/draw/draw.ts';
import { exactly } from './hard-series.ts';
import { random } from './tensors.ts';

/** Indices of the values of each bucket, value by value. */
export function referenceBuckets(length: number, options: BucketOptions): number[][] {
  const { buckets, positions } = options;
  const found = Array.from({ length: buckets }, (): number[] => []);
  const all = Array.from({ length }, (_, i) => i);
  if (positions === undefined && options.from === undefined && options.to === undefined) {
    for (const i of all) {
      let b = 0;
      while (Math.floor(((b + 1) * length) / buckets) <= i) b += 1;
      found[b]?.push(i);
    }
    return found;
  }
  const place = (i: number): number => positions?.[i] ?? i;
  const from = options.from ?? place(0);
  const to = options.to ?? place(length - 1);
  const width = (to - from) / buckets;
  for (const i of all) {
    if (place(i) < from || place(i) > to) continue;
    let b = buckets - 1;
    while (from + b * width > place(i)) b -= 1;
    found[b]?.push(i);
  }
  return found;
}

/** What is kept of a series in buckets. */
export function referenceReduction(
  values: ArrayLike<number>,
  buckets: readonly (readonly number[])[],
  kept: 'm4' | 'minMax',
): Omit<BucketReduction, 'bucketStarts'> {
  const value = (i: number): number => values[i] ?? Number.NaN;
  const indices: number[] = [];
  const gaps: number[][] = [];
  for (const bucket of buckets) {
    const finite = bucket.filter((i) => Number.isFinite(value(i)));
    const lowest = Math.min(...finite.map(value));
    const highest = Math.max(...finite.map(value));
    const low = finite.find((i) => value(i) === lowest);
    const high = finite.find((i) => value(i) === highest);
    const all = kept === 'm4' ? [finite[0], low, high, finite.at(-1)] : [low, high];
    const own = [...new Set(all)].filter((i) => i !== undefined).sort((a, b) => a - b);
    indices.push(...own);
    gaps.push(...gapsBetween(own, bucket));
  }
  return { indices: Uint32Array.from(indices), ...nonFiniteOf(values, gaps) };
}

function gapsBetween(kept: readonly number[], among: readonly number[]): number[][] {
  const edges = [-Infinity, ...kept, Infinity];
  return edges
    .slice(1)
    .map((edge, g) => among.filter((i) => i > (edges[g] ?? -Infinity) && i < edge));
}

function nonFiniteOf(
  values: ArrayLike<number>,
  gaps: readonly (readonly number[])[],
): Pick<SeriesReduction, 'nonFiniteIndices' | 'nonFiniteCounts'> {
  const entries: [number, number][] = [];
  for (const gap of gaps) {
    for (const kind of [Number.NaN, Infinity, -Infinity]) {
      const own = gap.filter((i) => Object.is(values[i], kind));
      const [first] = own;
      if (first !== undefined) entries.push([first, own.length]);
    }
  }
  entries.sort(([a], [b]) => a - b);
  return {
    nonFiniteIndices: Uint32Array.from(entries, ([i]) => i),
    nonFiniteCounts: Uint32Array.from(entries, ([, count]) => count),
  };
}

/** Non-finite values between the kept ones of a whole series. */
export function referenceGaps(
  values: ArrayLike<number>,
  indices: Uint32Array,
): Pick<SeriesReduction, 'nonFiniteIndices' | 'nonFiniteCounts'> {
  const all = Array.from({ length: values.length }, (_, i) => i);
  return nonFiniteOf(values, gapsBetween([...indices], all));
}

/** One choice of LTTB, exactly: twice the area of each candidate times the length of the next bucket, and the box around them. */
export type ExactChoice = {
  readonly rows: readonly number[];
  readonly areas: readonly bigint[];
  readonly largest: bigint;
  readonly box: bigint;
};

const sizeOf = (x: bigint): bigint => (x < 0n ? -x : x);

/** What LTTB of `points` of finite values had to choose from, given what it chose: one entry for each point between the ends. */
export function exactChoices(
  values: ArrayLike<number>,
  positions: ArrayLike<number> | undefined,
  picked: ArrayLike<number>,
): ExactChoice[] {
  const points = picked.length;
  const n = values.length;
  const y = (i: number): bigint => exactly(values[i] ?? 0);
  const x = (i: number): bigint => exactly(positions?.[i] ?? i);
  const start = (b: number): number =>
    b > points - 2 ? n : 1 + Number((BigInt(b) * BigInt(n - 2)) / BigInt(points - 2));
  const range = (from: number, to: number): number[] =>
    Array.from({ length: to - from }, (_, i) => from + i);
  return range(0, points - 2).map((b) => {
    const rows = range(start(b), start(b + 1));
    const next = range(start(b + 1), start(b + 2));
    const kept = picked[b] ?? 0;
    const length = BigInt(next.length);
    const sumX = next.reduce((sum, i) => sum + x(i), 0n);
    const sumY = next.reduce((sum, i) => sum + y(i), 0n);
    const areas = rows.map((i) =>
      sizeOf(
        (x(kept) * length - sumX) * (y(i) - y(kept)) - (x(kept) - x(i)) * (sumY - y(kept) * length),
      ),
    );
    const spread = (of: (i: number) => bigint): bigint => {
      const all = [kept, ...rows, ...next].map(of);
      const most = all.reduce((a, c) => (c > a ? c : a));
      return most - all.reduce((a, c) => (c < a ? c : a));
    };
    return {
      rows,
      areas,
      largest: areas.reduce((a, c) => (c > a ? c : a), 0n),
      box: 2n * length * spread(x) * spread(y),
    };
  });
}

/** `length` ascending places, with gaps and repeated ones. */
export const anyPlaces = (length: number): fc.Arbitrary<Float64Array> =>
  fc
    .tuple(fc.integer(), fc.constantFrom(0, 0.3, 0.9), fc.constantFrom(1, 50, 1e6))
    .map(([seed, repeated, gap]) => {
      const next = random(seed);
      let place = 100 * (next() - 0.5);
      return Float64Array.from({ length }, () => {
        if (next() >= repeated) place += next() < 0.1 ? gap * next() : 1;
        return place;
      });
    });

/** `length` numbers from 0 to 1. */
export function noise(length: number, seed: number): Float64Array {
  const next = random(seed);
  return Float64Array.from({ length }, () => next());
}
