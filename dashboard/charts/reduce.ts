/**
 * Bounds what a chart has to draw. Each bucket (one pixel column) is drawn as its first, lowest, highest and last point, so a
 * one-point spike among a million survives. Non-finite points are never drawn over: they break the line and are listed.
 */
import type { SeriesPyramid } from 'quark-sdk/kernels';

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
};

/** The part of the x axis that is on screen, both ends included. */
export type XRange = { readonly min: number; readonly max: number };

/** The kind of a non-finite value, or undefined for a number that can be drawn. */
export function nonFiniteKind(value: number): NonFiniteKind | undefined {
  if (Number.isFinite(value)) return undefined;
  if (Number.isNaN(value)) return 'nan';
  return value > 0 ? 'positive_infinity' : 'negative_infinity';
}

/**
 * The points of a series that are worth drawing in `range` on `bucketCount` pixels: what sets the same pixels as all of them. However
 * long the series is, at most `9 * (bucketCount + 2)` entries come back: four points and their gaps for each bucket and each edge.
 */
export function reduceSeries(
  series: SeriesPyramid,
  range: XRange,
  bucketCount: number,
): ReducedSeries {
  const { indices, nonFiniteIndices, nonFiniteCounts, bucketStarts } = series.query({
    from: range.min,
    to: range.max,
    buckets: bucketCount,
  });
  const sink = new ReducedSink(series);
  // One point beyond each edge, so that the line runs off the screen instead of ending at its last visible point.
  sink.add((bucketStarts[0] ?? 0) - 1);
  let nextBad = 0;
  for (const index of indices) {
    for (; (nonFiniteIndices[nextBad] ?? Infinity) < index; nextBad += 1)
      sink.add(nonFiniteIndices[nextBad] ?? 0, nonFiniteCounts[nextBad]);
    sink.add(index);
  }
  for (; nextBad < nonFiniteIndices.length; nextBad += 1)
    sink.add(nonFiniteIndices[nextBad] ?? 0, nonFiniteCounts[nextBad]);
  sink.add(bucketStarts[bucketCount] ?? 0);
  return sink;
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

/** Several reduced series on one x column, as uPlot takes them: undefined where a series has no point, null at a gap. */
export type AlignedRows = {
  readonly xs: number[];
  readonly columns: (number | null | undefined)[][];
};

/** Merges ascending series into rows. A series with the same x twice gets two rows. */
export function alignSeries(
  all: readonly { readonly xs: readonly number[]; readonly ys: readonly (number | null)[] }[],
): AlignedRows {
  const heads = all.map(() => 0);
  const xs: number[] = [];
  const columns = all.map((): (number | null | undefined)[] => []);
  for (;;) {
    let x = Number.POSITIVE_INFINITY;
    for (const [index, series] of all.entries()) {
      const head = series.xs[heads[index] ?? 0];
      if (head !== undefined && head < x) x = head;
    }
    if (x === Number.POSITIVE_INFINITY) return { xs, columns };
    xs.push(x);
    for (const [index, series] of all.entries()) {
      const head = heads[index] ?? 0;
      const column = columns[index];
      if (series.xs[head] === x) {
        column?.push(series.ys[head]);
        heads[index] = head + 1;
      } else {
        column?.push(undefined);
      }
    }
  }
}
