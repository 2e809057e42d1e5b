/**
 * Bounds what a chart has to draw. Each bucket (one pixel column) is drawn as its first, lowest, highest and last point, so a
 * one-point spike among a million survives. Non-finite points are never drawn over: they break the line and are listed.
 */
import type { PyramidQuery, SeriesPyramid } from 'quark-sdk/kernels';

/** What is wrong with a value that cannot be drawn. */
export type NonFiniteKind = 'nan' | 'positive_infinity' | 'negative_infinity';

/** Where a line breaks, and why. */
export type NonFiniteMark = {
  readonly x: number;
  readonly kind: NonFiniteKind;
  /** Points this mark stands for. */
  readonly count: number;
};

/** Points to draw: ascending x; a null y breaks the line. */
export type ReducedSeries = {
  readonly xs: readonly number[];
  readonly ys: readonly (number | null)[];
  readonly marks: readonly NonFiniteMark[];
  /** How many points of the series are in the range. */
  readonly inRangeCount: number;
  /** Index of the first point of each pixel, and of the end; what is between two of them is drawn as four points at most. */
  readonly starts: readonly number[];
};

/** The part of the x axis that is on screen, both ends included. */
export type XRange = { readonly min: number; readonly max: number };

/** The kind of a non-finite value, or undefined for a number that can be drawn. */
export function nonFiniteKind(value: number): NonFiniteKind | undefined {
  if (Number.isFinite(value)) return undefined;
  if (Number.isNaN(value)) return 'nan';
  return value > 0 ? 'positive_infinity' : 'negative_infinity';
}

/** Parts of a logarithmic axis, in each of which pixels are taken to be equally wide: a hundredth of a decade or so. */
const LOG_PARTS = 64;

/**
 * The points of a series that are worth drawing in `range` on `bucketCount` pixels: what sets the same pixels as all of them. However
 * long the series is, at most `9 * (bucketCount + 2)` entries come back: four points and their gaps for each pixel and each edge.
 */
export function reduceSeries(
  series: SeriesPyramid,
  range: XRange,
  bucketCount: number,
  isLogX: boolean = false,
): ReducedSeries {
  const parts = isLogX
    ? logParts(range, bucketCount).map((part) => series.query(part))
    : [series.query({ from: range.min, to: range.max, buckets: bucketCount })];
  const sink = new ReducedSink(series);
  const first = parts[0]?.bucketStarts[0] ?? 0;
  const end = parts.at(-1)?.bucketStarts.at(-1) ?? 0;
  sink.inRangeCount = end - first;
  // One point beyond each edge, so that the line runs off the screen instead of ending at its last visible point.
  if (!isLogX || (series.positions?.[first - 1] ?? 0) > 0) sink.add(first - 1);
  let last = first - 1;
  for (const { indices, nonFiniteIndices, nonFiniteCounts, bucketStarts } of parts) {
    let nextBad = 0;
    const addBad = (before: number): void => {
      for (; nextBad < nonFiniteIndices.length; nextBad += 1) {
        const bad = nonFiniteIndices[nextBad] ?? 0;
        if (bad >= before) break;
        if (bad > last) sink.add(bad, nonFiniteCounts[nextBad]);
      }
    };
    for (const index of indices) {
      addBad(index);
      // Two parts of a logarithmic axis share the point between them.
      if (index > last) sink.add(index);
    }
    addBad(Number.POSITIVE_INFINITY);
    last = Math.max(last, (bucketStarts.at(-1) ?? 0) - 1);
    for (const start of bucketStarts)
      if (start >= (sink.starts.at(-1) ?? 0)) sink.starts.push(start);
  }
  sink.add(end);
  return sink;
}

/** Parts of equal width on a logarithmic axis, with their pixels. Only what is above zero is on it. */
function logParts({ min, max }: XRange, bucketCount: number): readonly PyramidQuery[] {
  if (!(min > 0) || !(max > min)) return [{ from: min, to: max, buckets: bucketCount }];
  const count = Math.max(1, Math.min(LOG_PARTS, Math.floor(bucketCount / 4)));
  const ratio = (max / min) ** (1 / count);
  const edges = Array.from({ length: count + 1 }, (_, at) =>
    at === count ? max : min * ratio ** at,
  );
  return edges.slice(0, -1).map((from, at) => ({
    from,
    to: edges[at + 1] ?? max,
    buckets: Math.ceil(bucketCount / count),
  }));
}

/** How many points in `range` are NaN or infinite. */
export function countNonFinite(series: SeriesPyramid, range: XRange): number {
  return series
    .query({ from: range.min, to: range.max, buckets: 1 })
    .nonFiniteCounts.reduce((sum, count) => sum + count, 0);
}

class ReducedSink implements ReducedSeries {
  readonly xs: number[] = [];
  readonly ys: (number | null)[] = [];
  readonly marks: NonFiniteMark[] = [];
  readonly starts: number[] = [];
  inRangeCount = 0;
  readonly #values: Float64Array;
  readonly #positions: Float64Array | undefined;

  constructor(series: SeriesPyramid) {
    this.#values = series.values;
    this.#positions = series.positions;
  }

  /** Adds a point, if there is one with this index; one that cannot be drawn becomes a gap and a mark for `count` of its kind. */
  add(index: number, count: number = 1): void {
    const y = this.#values[index];
    if (y === undefined) return;
    const x = this.#positions?.[index] ?? index;
    const kind = nonFiniteKind(y);
    if (kind !== undefined) this.marks.push({ x, kind, count });
    // A second break in a row would say nothing new.
    if (kind !== undefined && this.ys.at(-1) === null) return;
    this.xs.push(x);
    this.ys.push(kind === undefined ? y : null);
  }
}
