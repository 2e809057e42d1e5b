/** What a device gave back, as summaries. */
import { rangeAround } from '../../kernel/tensor/checks.ts';
import type {
  ReductionRequest,
  TensorHistogram,
  TensorSummary,
} from '../../instruments/probes/model-source.ts';
import { sizeOf } from '../../kernel/tensor/reductions.ts';
import { CHUNK_NUMBERS, chunkCount, PAIR_NUMBERS } from './webgl-reductions.ts';

type Merged = {
  count: number;
  mean: number;
  squares: number;
  least: number;
  greatest: number;
  near: number;
  saturated: number;
  beforeSquares: number;
};

/** Chunks put together by the pairwise update of Chan, Golub and LeVeque (1979). */
function merge(numbers: Float32Array, chunks: number): Merged {
  const all = {
    count: 0,
    mean: 0,
    squares: 0,
    least: Infinity,
    greatest: -Infinity,
    near: 0,
    saturated: 0,
    beforeSquares: 0,
  };
  for (let chunk = 0; chunk < chunks; chunk++) {
    const [
      count = 0,
      mean = 0,
      squares = 0,
      least = 0,
      greatest = 0,
      near = 0,
      saturated = 0,
      beforeSquares = 0,
    ] = numbers.subarray(chunk * CHUNK_NUMBERS, (chunk + 1) * CHUNK_NUMBERS);
    all.beforeSquares += beforeSquares;
    if (count === 0) continue;
    const total = all.count + count;
    const delta = mean - all.mean;
    all.squares += squares + (delta * delta * all.count * count) / total;
    all.mean += (delta * count) / total;
    all.count = total;
    all.least = Math.min(all.least, least);
    all.greatest = Math.max(all.greatest, greatest);
    all.near += near;
    all.saturated += saturated;
  }
  return all;
}

/** The summary from the numbers of the chunks, the dead units, and the values below each edge, one after the other. */
export function summaryOfChunks(
  numbers: Float32Array,
  shape: readonly number[],
  { threshold, unitAxis, histogram }: ReductionRequest,
): { readonly summary: TensorSummary; readonly beforeNorm: number } {
  const elementCount = sizeOf(shape);
  const chunks = chunkCount(elementCount);
  const { beforeSquares, ...all } = merge(numbers, chunks);
  const orNull = (value: number): number | null => (all.count > 0 ? value : null);
  const units = unitAxis === null ? 0 : (shape[unitAxis] ?? 0);
  const unitsAt = chunks * CHUNK_NUMBERS;
  const rest = numbers.subarray(unitsAt + units);
  const variance = all.squares / all.count;
  const summary = {
    elementCount,
    nonFiniteCount: elementCount - all.count,
    mean: orNull(all.mean),
    variance: orNull(variance),
    std: orNull(Math.sqrt(variance)),
    l2Norm: all.count > 0 ? Math.sqrt((variance + all.mean * all.mean) * all.count) : 0,
    min: orNull(all.least),
    max: orNull(all.greatest),
    nearZeroRatio: orNull(all.near / all.count),
    saturatedRatio: threshold === null ? null : orNull(all.saturated / all.count),
    deadUnits:
      unitAxis === null ? null : Uint8Array.from(numbers.subarray(unitsAt, unitsAt + units)),
    histogram: histogram === null ? null : histogramOfChunks(rest, all, histogram.bins),
  };
  return { summary, beforeNorm: Math.sqrt(beforeSquares) };
}

/** `rest` is the numbers of the sample, where not all values were counted, and then the values below each inner edge. */
function histogramOfChunks(
  rest: Float32Array,
  all: Omit<Merged, 'beforeSquares'>,
  bins: number,
): TensorHistogram {
  const sampled = rest.length - (bins - 1);
  const { count, least, greatest } = sampled > 0 ? merge(rest, sampled / CHUNK_NUMBERS) : all;
  return histogramFrom([count, least, greatest, ...rest.subarray(sampled)], bins);
}

/** The cosine from the products and squares of the chunks. */
export function cosineFrom(numbers: Float32Array): number | null {
  const sums = [0, 0, 0];
  numbers.forEach((number, i) => {
    sums[i % PAIR_NUMBERS] = (sums[i % PAIR_NUMBERS] ?? 0) + number;
  });
  const [dot = 0, first = 0, second = 0] = sums;
  if (!(first > 0 && second > 0)) return null;
  return Math.max(-1, Math.min(1, dot / Math.sqrt(first) / Math.sqrt(second)));
}

/** From how many values were counted, their range, and how many lie below each inner edge. */
export function histogramFrom(
  [count = 0, least = 0, greatest = 0, ...below]: Iterable<number>,
  bins: number,
): TensorHistogram {
  const counts = new Float64Array(bins);
  const { min, max } = count === 0 ? { min: 0, max: 1 } : rangeAround(least, greatest);
  // One value has the bin in the middle, as in the kernels.
  if (count > 0 && !(least < greatest)) counts[bins >> 1] = count;
  else if (count > 0) {
    for (let bin = 0; bin < bins; bin++)
      counts[bin] = (below[bin] ?? count) - (bin === 0 ? 0 : (below[bin - 1] ?? 0));
  }
  const edges = Float64Array.from({ length: bins + 1 }, (_, i) =>
    i === bins ? max : min + (i * (max - min)) / bins,
  );
  return { edges, counts, sampleCount: count };
}
