/** The search for changes of a line: blocks first, and then the best position of each change. */
import type { ChangeSettings } from './change.ts';
import type { ChangeEngine, Goal, Segments } from './change-search.ts';

/** Blocks of a series that is too long to be searched exactly. */
const BLOCKS = 2048;
const SWEEPS = 8;

/** A least-squares line over consecutive points: count, centre of the positions, mean, slope, squared residuals. */
export type FittedLine = {
  count: number;
  at: number;
  mean: number;
  slope: number;
  rest: number;
};

/** Sum of squared deviations of `count` consecutive positions from their centre. */
export function positionSquares(count: number): number {
  return (count * (count * count - 1)) / 12;
}

/**
 * Adds the points of `other`, which lie right beside those of `line`. What they leave is measured against the line of the others, so
 * that nothing cancels however steep the line is.
 */
export function joinLine(line: FittedLine, other: FittedLine): void {
  const { count, at, mean, slope, rest } = line;
  if (count === 0) {
    Object.assign(line, other);
    return;
  }
  const all = count + other.count;
  const squares = positionSquares(other.count);
  const away = other.at - at;
  const off = other.mean - mean - slope * away;
  const turn = other.slope - slope;
  const share = (count * other.count) / all;
  const total = positionSquares(all);
  const product = turn * squares + share * off * away;
  const more = turn * turn * squares + share * off * off - (product * product) / total;
  line.count = all;
  line.at = at + (away * other.count) / all;
  line.mean = mean + ((other.mean - mean) * other.count) / all;
  line.slope = slope + product / total;
  line.rest = rest + other.rest + Math.max(0, more);
}

/** Finds the segments of lines with the least squared residuals and penalties. */
export function searchLines(
  engine: ChangeEngine,
  penalty: number,
  least: number,
  { exactLimit }: ChangeSettings,
): Segments {
  const { count } = engine;
  const isExact = count <= exactLimit;
  const blocks = isExact ? count : Math.min(BLOCKS, count);
  const runs = Uint32Array.from({ length: blocks }, (_, i) => Math.floor((i * count) / blocks));
  const goal: Goal = { penalty, least, bound: Infinity, work: Infinity };
  const { starts: items, levels } = engine.lines(runs, goal);
  const starts = items.map((item) => runs[item] ?? 0);
  if (!isExact) moveChanges(engine, runs, starts, least);
  return { starts, levels, isExact, work: 0 };
}

/** Moves each change to the best position within a block of it, as long as that helps. */
function moveChanges(
  engine: ChangeEngine,
  runs: Uint32Array,
  starts: Uint32Array,
  least: number,
): void {
  const { count } = engine;
  const blocks = readBlocks(engine.lineItems(runs), runs, count);
  const points = engine.points();
  const reach = Math.ceil(count / runs.length);
  let isMoving = new Uint8Array(starts.length + 1).fill(1);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const moved = new Uint8Array(starts.length + 1);
    for (let k = 1; k < starts.length; k++) {
      if (isMoving[k - 1] === 0 && isMoving[k] === 0 && isMoving[k + 1] === 0) continue;
      const first = starts[k - 1] ?? 0;
      const end = starts[k + 1] ?? count;
      const start = starts[k] ?? 0;
      const from = Math.max(first + least, start - reach);
      const to = Math.min(end - least, start + reach);
      const left = lineOver(points, blocks, runs, first, from);
      const right = lineOver(points, blocks, runs, to, end);
      const best = bestStart(points, left, right, from, to, start);
      if (best === start) continue;
      starts[k] = best;
      moved[k] = 1;
    }
    if (!moved.includes(1)) return;
    isMoving = moved;
  }
}

/** Where between `from` and `to` two lines leave least; `start` unless another leaves less. */
function bestStart(
  points: Float64Array,
  left: FittedLine,
  right: FittedLine,
  from: number,
  to: number,
  start: number,
): number {
  const between = points.subarray(from, to);
  const lefts = growingRests(left, between, 1);
  const rights = growingRests(right, between, -1);
  let best = start;
  let lowest = Infinity;
  const sumAt = (at: number): number => (lefts[at - from] ?? 0) + (rights[to - at] ?? 0);
  for (let at = from; at <= to; at++) {
    const sum = sumAt(at);
    if (sum < lowest) {
      lowest = sum;
      best = at;
    }
  }
  // Less by more than rounding: or two positions could send each other back and forth.
  return lowest < sumAt(start) * (1 - 1e-12) ? best : start;
}

/** Squared residuals of a line and 0, 1, 2, ... of the points on its one side, the nearest first: {@link joinLine} in a tight loop. */
function growingRests(
  { count, mean, slope, rest }: FittedLine,
  points: Float64Array,
  direction: 1 | -1,
): Float64Array {
  const rests = new Float64Array(points.length + 1);
  rests[0] = rest;
  let n = count;
  let middle = mean;
  let rise = slope;
  let sum = rest;
  for (let i = 0; i < points.length; i++) {
    const point = points[direction === 1 ? i : points.length - 1 - i] ?? 0;
    const all = n + 1;
    const away = (direction * all) / 2;
    const off = point - middle - rise * away;
    const pull = (n / all) * off;
    const turn = (pull * away) / positionSquares(all);
    sum += Math.max(0, pull * (off - turn * away));
    middle += (point - middle) / all;
    rise += turn;
    n = all;
    rests[i + 1] = sum;
  }
  return rests;
}

function pointLine(points: Float64Array, at: number): FittedLine {
  return { count: 1, at, mean: points[at] ?? 0, slope: 0, rest: 0 };
}

/** The line of the points from `start` to `end`, from whole blocks where it can. */
function lineOver(
  points: Float64Array,
  blocks: readonly FittedLine[],
  runs: Uint32Array,
  start: number,
  end: number,
): FittedLine {
  const line: FittedLine = { count: 0, at: 0, mean: 0, slope: 0, rest: 0 };
  let block = firstFrom(runs, start);
  let at = start;
  while (at < end) {
    const whole = blocks[block];
    if (whole !== undefined && runs[block] === at && at + whole.count <= end) {
      joinLine(line, whole);
      at += whole.count;
      block++;
    } else {
      joinLine(line, pointLine(points, at++));
    }
  }
  return line;
}

/** The first run that begins at `start` or later. */
function firstFrom(runs: Uint32Array, start: number): number {
  let low = 0;
  let high = runs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((runs[middle] ?? 0) < start) low = middle + 1;
    else high = middle;
  }
  return low;
}

function readBlocks(items: Float64Array, runs: Uint32Array, count: number): FittedLine[] {
  return Array.from(runs, (start, i) => {
    const size = (runs[i + 1] ?? count) - start;
    return {
      count: size,
      at: start + (size - 1) / 2,
      mean: items[3 * i] ?? 0,
      slope: items[3 * i + 1] ?? 0,
      rest: items[3 * i + 2] ?? 0,
    };
  });
}
