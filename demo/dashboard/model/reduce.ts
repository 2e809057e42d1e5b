/**
 * Bounds what a chart has to draw. Each bucket (one pixel column) keeps its first, lowest, highest and last point, so a
 * one-point spike among a million survives. Non-finite points are never drawn over: they break the line and are listed.
 */
import { lowerBound } from './axis.ts';

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

/** Points per bucket: first, lowest, highest, last. */
const KEPT_PER_BUCKET = 4;

/** The kind of a non-finite value, or undefined for a number that can be drawn. */
export function nonFiniteKind(value: number): NonFiniteKind | undefined {
  if (Number.isFinite(value)) return undefined;
  if (Number.isNaN(value)) return 'nan';
  return value > 0 ? 'positive_infinity' : 'negative_infinity';
}

/**
 * The points of a series that are worth drawing in `range` on `bucketCount` pixels. However long the series is, at most
 * `9 * (bucketCount + 2)` entries come back: four points and their gaps for each bucket and each edge.
 */
export function reduceSeries(
  xs: Float64Array,
  ys: Float64Array,
  range: XRange,
  bucketCount: number,
): ReducedSeries {
  // One point beyond each edge, so that the line runs off the screen instead of ending at its last visible point.
  const start = Math.max(0, lowerBound(xs, range.min) - 1);
  let end = lowerBound(xs, range.max);
  while (end < xs.length && xs[end] === range.max) end += 1;
  end = Math.min(xs.length, end + 1);
  const sink = new ReducedSink();
  if (end - start <= bucketCount * KEPT_PER_BUCKET) {
    for (let at = start; at < end; at += 1) sink.add(at, xs, ys);
    return sink;
  }
  const width = (range.max - range.min) / bucketCount;
  // Edges are searched for, not computed for each point: what is left for a point is two comparisons.
  let from = start;
  for (let bucket = 0; bucket <= bucketCount && from < end; bucket += 1) {
    const to = Math.min(end, lowerBound(xs, range.min + bucket * width, from));
    if (to > from) reduceBucket(xs, ys, from, to, sink);
    from = Math.max(from, to);
  }
  // What is left lies on the right edge, or is the one point beyond it.
  if (from < end) reduceBucket(xs, ys, from, end, sink);
  return sink;
}

function reduceBucket(
  xs: Float64Array,
  ys: Float64Array,
  from: number,
  to: number,
  sink: ReducedSink,
): void {
  let first = -1;
  let low = -1;
  let high = -1;
  let last = -1;
  let lowest = 0;
  let highest = 0;
  let bad: Map<NonFiniteKind, { x: number; count: number }> | undefined;
  const badAt: number[] = [];
  for (let at = from; at < to; at += 1) {
    const y = ys[at] ?? Number.NaN;
    // The difference of a number with itself is 0, of anything that is not finite NaN.
    if (y - y !== 0) {
      const kind = nonFiniteKind(y) ?? 'nan';
      bad ??= new Map();
      const known = bad.get(kind);
      if (known === undefined) bad.set(kind, { x: xs[at] ?? 0, count: 1 });
      else known.count += 1;
      // Only the first of a stretch breaks the line.
      if (badAt.length === 0 || at === from || nonFiniteKind(ys[at - 1] ?? 0) === undefined)
        badAt.push(at);
      continue;
    }
    last = at;
    if (first < 0) {
      first = low = high = at;
      lowest = highest = y;
    } else if (y < lowest) {
      low = at;
      lowest = y;
    } else if (y > highest) {
      high = at;
      highest = y;
    }
  }
  const kept = [...new Set([first, low, high, last])].filter((at) => at >= 0).sort((a, b) => a - b);
  let nextBad = 0;
  for (const at of kept) {
    let broken = false;
    while ((badAt[nextBad] ?? Number.POSITIVE_INFINITY) < at) {
      broken = true;
      nextBad += 1;
    }
    if (broken) sink.breakAt(xs[at] ?? 0);
    sink.addFinite(xs[at] ?? 0, ys[at] ?? 0);
  }
  if (nextBad < badAt.length) sink.breakAt(xs[badAt.at(-1) ?? from] ?? 0);
  for (const [kind, { x, count }] of bad ?? []) sink.mark({ x, kind, count });
}

class ReducedSink implements ReducedSeries {
  readonly xs: number[] = [];
  readonly ys: (number | null)[] = [];
  readonly marks: NonFiniteMark[] = [];

  add(at: number, xs: Float64Array, ys: Float64Array): void {
    const x = xs[at] ?? 0;
    const y = ys[at] ?? Number.NaN;
    const kind = nonFiniteKind(y);
    if (kind === undefined) {
      this.addFinite(x, y);
    } else {
      this.breakAt(x);
      this.mark({ x, kind, count: 1 });
    }
  }
  addFinite(x: number, y: number): void {
    this.xs.push(x);
    this.ys.push(y);
  }
  /** A second break in a row would say nothing new. */
  breakAt(x: number): void {
    if (this.ys.length > 0 && this.ys.at(-1) === null) return;
    this.xs.push(x);
    this.ys.push(null);
  }
  mark(mark: NonFiniteMark): void {
    this.marks.push(mark);
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
