/** Largest triangle, three buckets: the plain way, and what both ways share around it. */
import type { BucketReduction, LttbRequest, SeriesReduction } from './draw.ts';
import { NonFiniteSink, unzip } from './draw-span.ts';

/**
 * Picks `points` (at least 3, at most as many as values) of finite values. Undefined where it meets a value, or a sum of values, that is
 * not finite.
 */
export type PickTriangles = (
  values: Float64Array,
  positions: Float64Array | undefined,
  points: number,
) => Uint32Array | undefined;

/** The lowest and highest value of each of `buckets`. */
export type PreselectExtremes = (
  values: Float64Array,
  positions: Float64Array | undefined,
  buckets: number,
) => BucketReduction;

/** LTTB of a series that may hold anything, by the two ways to do it for finite values. */
export function reduceToTriangles(
  request: LttbRequest,
  pick: PickTriangles,
  preselect: PreselectExtremes,
): SeriesReduction {
  const { values, positions, points, minMaxRatio } = request;
  if (minMaxRatio > 0 && values.length > points * minMaxRatio) {
    const extremes = preselect(values, positions, Math.ceil((points * minMaxRatio) / 2));
    const rows = withEnds(values, extremes.indices);
    const indices = pickAmong(values, positions, rows, points, pick);
    return extremes.nonFiniteIndices.length > 0
      ? withNonFinite(values, indices)
      : { indices, ...unzip([]) };
  }
  const quick = points > 2 && points < values.length ? pick(values, positions, points) : undefined;
  if (quick !== undefined) return { indices: quick, ...unzip([]) };
  return withNonFinite(values, pickAmong(values, positions, finiteRows(values), points, pick));
}

/** Indices of the buckets' first values, of the last value and of the end: bucket `b` of `points - 2` is `[starts[b], starts[b + 1])`. */
export function triangleStarts(length: number, points: number): Uint32Array {
  const starts = new Uint32Array(points);
  // Exact, as products of integers below 2^53 are, and the floor of their quotients.
  for (let b = 0; b <= points - 2; b++)
    starts[b] = 1 + Math.floor((b * (length - 2)) / (points - 2));
  starts[points - 1] = length;
  return starts;
}

/** Picks from finite values in plain JavaScript, operation by operation as the SIMD way does. */
export function pickTriangles(
  values: Float64Array,
  positions: Float64Array | undefined,
  points: number,
): Uint32Array {
  const starts = triangleStarts(values.length, points);
  const picked = new Uint32Array(points);
  let kept = 0;
  for (let b = 0; b < points - 2; b++) {
    const from = starts[b] ?? 0;
    const to = starts[b + 1] ?? 0;
    const next = starts[b + 2] ?? 0;
    const keptX = positions?.[kept] ?? kept;
    const keptY = values[kept] ?? 0;
    // From the kept point to the mean of the next bucket, times the length of that: sums stay exact where means would be rounded.
    const length = next - to;
    const width = -(positions === undefined
      ? (to - keptX) * length + length * (length - 1) * 0.5
      : sumFrom(positions, to, next, keptX));
    const height = sumFrom(values, to, next, keptY);
    let largest = -1;
    let largestAt = from;
    for (let at = from; at < to; at++) {
      const across = keptX - (positions === undefined ? at : (positions[at] ?? 0));
      // Twice the area, times the length of the next bucket.
      const area = Math.abs(width * ((values[at] ?? 0) - keptY) - across * height);
      if (area > largest) {
        largest = area;
        largestAt = at;
      }
    }
    picked[b + 1] = kept = largestAt;
  }
  picked[points - 1] = values.length - 1;
  return picked;
}

/** Sum of the differences to `origin`, in eight strided lanes: those of the SIMD way, so that both round alike. */
function sumFrom(values: Float64Array, from: number, to: number, origin: number): number {
  const lanes = new Float64Array(8);
  const blocksEnd = from + ((to - from) & ~7);
  for (let at = from; at < blocksEnd; at += 8)
    for (let lane = 0; lane < 8; lane++)
      lanes[lane] = (lanes[lane] ?? 0) + ((values[at + lane] ?? 0) - origin);
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = lanes;
  let sum = a + c + (e + g) + (b + d + (f + h));
  for (let at = blocksEnd; at < to; at++) sum += (values[at] ?? 0) - origin;
  return sum;
}

/** Indices of the finite values. */
function finiteRows(values: Float64Array): Uint32Array {
  const rows = new Uint32Array(values.length);
  let length = 0;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? Number.NaN;
    if (value - value === 0) rows[length++] = at;
  }
  return rows.subarray(0, length);
}

/** `rows`, and the first and the last finite value beside them. */
function withEnds(values: Float64Array, rows: Uint32Array): Uint32Array {
  if (rows.length === 0) return rows;
  const first = values.findIndex(Number.isFinite);
  const last = values.findLastIndex(Number.isFinite);
  const all = new Uint32Array(rows.length + 2);
  const start = rows[0] === first ? 1 : 0;
  all[0] = first;
  all.set(rows, 1 - start);
  const end = rows.length + 1 - start;
  all[end] = last;
  return all.subarray(0, rows.at(-1) === last ? end : end + 1);
}

/** Picks among `rows`, which are finite. */
function pickAmong(
  values: Float64Array,
  positions: Float64Array | undefined,
  rows: Uint32Array,
  points: number,
  pick: PickTriangles,
): Uint32Array {
  if (points >= rows.length) return rows.slice();
  if (points === 2) return Uint32Array.of(rows[0] ?? 0, rows.at(-1) ?? 0);
  const isAll = rows.length === values.length;
  const ys = isAll ? values : gathered(values, rows);
  const xs =
    positions !== undefined
      ? gathered(positions, rows)
      : isAll
        ? undefined
        : new Float64Array(rows);
  const picked = pick(ys, xs, points) ?? pickTriangles(ys, xs, points);
  return picked.map((at) => rows[at] ?? 0);
}

function gathered(column: Float64Array, rows: Uint32Array): Float64Array {
  const found = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) found[i] = column[rows[i] ?? 0] ?? 0;
  return found;
}

function withNonFinite(values: Float64Array, indices: Uint32Array): SeriesReduction {
  const sink = new NonFiniteSink(values, indices);
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? Number.NaN;
    if (value - value !== 0) sink.add(at, 1);
  }
  return { indices, ...unzip(sink.pairs) };
}
