/** The engine of the search for change points in plain JavaScript. */
import { checkChangeOptions } from './change.ts';
import type { ChangeKernel } from './change.ts';
import { joinLine, positionSquares } from './change-lines.ts';
import type { FittedLine } from './change-lines.ts';
import { sampleCentre } from './change-noise.ts';
import { meanSegments } from './change-pieces.ts';
import { scaleFor, searchChanges, traceBack } from './change-search.ts';
import type { ChangeEngine, Goal, ItemSegments, ReadyPoints } from './change-search.ts';
import { checkSeries } from '../module/values.ts';

/** Change points in plain JavaScript. */
export const jsChange: ChangeKernel = {
  changePoints: (values, options) => {
    const settings = checkChangeOptions(options);
    return searchChanges(readyPoints(checkSeries('values', values)), settings);
  },
};

/** The finite values, and the index of each where others were passed over. */
export function finiteChangePoints(values: Float64Array): {
  points: Float64Array;
  origin: Uint32Array | undefined;
} {
  const points = values.filter((value) => Number.isFinite(value));
  if (points.length === values.length) return { points, origin: undefined };
  const origin = new Uint32Array(points.length);
  let o = 0;
  for (let i = 0; i < values.length; i++) if (Number.isFinite(values[i])) origin[o++] = i;
  return { points, origin };
}

function readyPoints(values: Float64Array): ReadyPoints {
  const { points, origin } = finiteChangePoints(values);
  const largest = points.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const scale = scaleFor(largest);
  for (const [i, value] of points.entries()) points[i] = value * scale;
  const centre = points.length === 0 ? 0 : sampleCentre(points);
  let low = Infinity;
  let high = -Infinity;
  for (const [i, value] of points.entries()) {
    const point = value - centre;
    points[i] = point;
    low = Math.min(low, point);
    high = Math.max(high, point);
  }
  return { engine: jsEngine(points, low, high), scale, centre, low, high, origin };
}

function jsEngine(points: Float64Array, low: number, high: number): ChangeEngine {
  const { length: count } = points;
  return {
    count,
    points: () => points,
    grid: (block, limit, most) => {
      const starts: number[] = [];
      for (let at = 0; at < count && starts.length <= most; at += block)
        cut(points, at, Math.min(block, count - at), limit, starts, most);
      return starts.length > most ? undefined : Uint32Array.from(starts);
    },
    items: (starts) => meanItems(points, starts),
    lineItems: (starts) => lineItems(points, starts),
    mean: (starts, goal) => meanSegments(meanItems(points, starts), goal, low, high),
    lines: (starts, goal) => lineSegments(lineItems(points, starts), starts, count, goal),
  };
}

/** The run from `at`, in halves as long as an aligned part of it stands out. */
function cut(
  points: Float64Array,
  at: number,
  size: number,
  limit: number,
  starts: number[],
  most: number,
): void {
  if (starts.length > most) return;
  const half = 2 ** (31 - Math.clz32(size - 1));
  if (size === 1 || (size === 2 * half && isEven(points.subarray(at, at + size), limit))) {
    starts.push(at);
    return;
  }
  cut(points, at, half, limit, starts, most);
  cut(points, at + half, size - half, limit, starts, most);
}

/** Whether no value, pair, four ... of a power of two of them deviates from the mean. */
function isEven(run: Float64Array, limit: number): boolean {
  const mean = run.reduce((sum, value) => sum + value, 0) / run.length;
  let sums = run.map((value) => value - mean);
  for (let width = 1; width < run.length; width *= 2) {
    if (sums.some((sum) => (sum * sum) / width > limit)) return false;
    const below = sums;
    sums = new Float64Array(below.length / 2);
    for (let i = 0; i < sums.length; i++) sums[i] = (below[2 * i] ?? 0) + (below[2 * i + 1] ?? 0);
  }
  return true;
}

function meanItems(points: Float64Array, starts: Uint32Array): Float64Array {
  const items = new Float64Array(3 * starts.length);
  for (const [i, start] of starts.entries()) {
    const end = starts[i + 1] ?? points.length;
    let mean = 0;
    let rest = 0;
    for (let at = start; at < end; at++) {
      const off = (points[at] ?? 0) - mean;
      const next = mean + off / (at - start + 1);
      rest += off * ((points[at] ?? 0) - next);
      mean = next;
    }
    items.set([end - start, mean, rest], 3 * i);
  }
  return items;
}

function lineItems(points: Float64Array, starts: Uint32Array): Float64Array {
  const items = new Float64Array(3 * starts.length);
  for (const [i, start] of starts.entries()) {
    const end = starts[i + 1] ?? points.length;
    const size = end - start;
    let mean = 0;
    for (let at = start; at < end; at++) mean += (points[at] ?? 0) / size;
    const middle = (start + end - 1) / 2;
    let product = 0;
    for (let at = start; at < end; at++) product += (at - middle) * ((points[at] ?? 0) - mean);
    const slope = size > 1 ? product / positionSquares(size) : 0;
    let rest = 0;
    for (let at = start; at < end; at++)
      rest += ((points[at] ?? 0) - mean - slope * (at - middle)) ** 2;
    items.set([mean, slope, rest], 3 * i);
  }
  return items;
}

type Opening = { readonly tau: number; readonly line: FittedLine; cost: number; outFrom: number };

/** Pruned partitioning (PELT): see assembly/series/change-line.ts. */
function lineSegments(
  items: Float64Array,
  starts: Uint32Array,
  count: number,
  { penalty, least }: Goal,
): ItemSegments {
  const last = new Uint32Array(starts.length + 1);
  let open: Opening[] = [];
  let cost = 0;
  let lowest = 0;
  for (const [i, start] of starts.entries()) {
    const end = starts[i + 1] ?? count;
    const [mean = 0, slope = 0, rest = 0] = items.subarray(3 * i, 3 * i + 3);
    const item = { count: end - start, at: (start + end - 1) / 2, mean, slope, rest };
    for (const opening of open) {
      joinLine(opening.line, item);
      opening.cost -= lowest;
    }
    if (cost < Infinity) open.push({ tau: i, line: { ...item }, cost, outFrom: Infinity });
    const usable = open.filter(({ line }) => line.count >= least);
    let best = Infinity;
    for (const opening of usable) {
      const value = opening.cost + opening.line.rest;
      if (value < best) {
        best = value;
        last[i + 1] = opening.tau;
      }
    }
    cost = best < Infinity ? penalty : Infinity;
    lowest = best < Infinity ? best : 0;
    for (const opening of usable) {
      if (opening.cost + opening.line.rest > best + penalty)
        opening.outFrom = Math.min(opening.outFrom, end + least);
    }
    open = open.filter(({ outFrom }) => end < outFrom);
  }
  return traceBack(last, undefined, true, 0);
}
