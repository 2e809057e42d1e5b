/** Changes of the mean by functional pruning, in plain JavaScript. What it does is told in assembly/series/change-pieces.ts. */
import { traceBack } from './change-search.ts';
import type { Goal, ItemSegments } from './change-search.ts';

/** value + weight (u - mean)^2 for levels u up to `end`, of the segment that begins with item `tau`. */
type Piece = { weight: number; mean: number; value: number; end: number; readonly tau: number };

/** Some points: weight, mean, squared deviations. */
type Item = { weight: number; mean: number; rest: number };

type Least = { readonly value: number; readonly at: number; readonly tau: number };

/** Pieces left when the work allowed has been spent, and most at any time. */
const FEW = 64;
const PIECES = 32_768;

/** The best segments of the items, three numbers each: weight, mean, squared deviations. */
export function meanSegments(
  items: Float64Array,
  goal: Goal,
  low: number,
  high: number,
): ItemSegments {
  const size = items.length / 3;
  const last = new Uint32Array(size + 1);
  const levels = new Float64Array(size + 1);
  const delayed = goal.least > 1 ? new Delayed(goal) : undefined;
  const first = { weight: 0, mean: 0, value: 0, end: high, tau: 0 };
  let pieces: Piece[] = delayed === undefined ? [first] : [];
  let isExact = true;
  let visits = 0;
  for (let t = 1; t <= size; t++) {
    const [weight = 0, mean = 0, rest = 0] = items.subarray(3 * t - 3, 3 * t);
    const item = { weight, mean, rest };
    if (goal.bound === Infinity) for (const piece of pieces) join(piece, item);
    else pieces = joinBounded(pieces, item, goal.bound, low);
    for (const candidate of delayed?.admit(item) ?? [])
      pieces = insert(pieces, candidate, low, high);
    const least = findLeast(pieces, low);
    last[t] = least.tau;
    levels[t] = least.at;
    delayed?.settle(pieces.length === 0 ? undefined : least.value);
    visits += pieces.length;
    while (pieces.length > FEW && (visits > goal.work || 2 * pieces.length + 4 > PIECES)) {
      pieces = thin(pieces, least.at);
      isExact = false;
    }
    for (const piece of pieces) piece.value -= least.value;
    if (delayed === undefined) {
      const fresh = { weight: 0, mean: 0, value: goal.penalty, end: 0, tau: t };
      pieces = insert(pieces, fresh, low, high);
    }
  }
  return traceBack(last, levels, isExact, visits);
}

function join(piece: Piece, { weight, mean, rest }: Item): void {
  const all = piece.weight + weight;
  const off = mean - piece.mean;
  const share = weight / all;
  piece.mean += off * share;
  piece.value += rest + piece.weight * share * (off * off);
  piece.weight = all;
}

/** The same where an item costs no more than `bound` a point. */
function joinBounded(pieces: readonly Piece[], item: Item, bound: number, low: number): Piece[] {
  const most = item.weight * bound;
  const reach = item.rest < most ? Math.sqrt((most - item.rest) / item.weight) : -1;
  const from = item.mean - reach;
  const to = item.mean + reach;
  const result: Piece[] = [];
  let left = low;
  for (const piece of pieces) {
    const { end } = piece;
    const far = { ...piece, value: piece.value + most };
    const isInside = reach >= 0 && from < end && to > left;
    if (!isInside) result.push(far);
    else {
      if (from > left) result.push({ ...far, end: from });
      join(piece, item);
      piece.end = Math.min(to, end);
      result.push(piece);
      if (to < end) result.push(far);
    }
    left = end;
  }
  return result;
}

function findLeast(pieces: readonly Piece[], low: number): Least {
  let least = { value: Infinity, at: low, tau: 0 };
  let left = low;
  for (const { weight, mean, value, end, tau } of pieces) {
    const at = Math.min(Math.max(mean, left), end);
    const own = value + weight * ((at - mean) * (at - mean));
    if (own < least.value) least = { value: own, at, tau };
    left = end;
  }
  return least.value < Infinity ? least : { ...least, value: 0 };
}

/** Lets `fresh` in wherever it is less. It has less weight than any piece, or none: a piece stays the smaller on one interval. */
function insert(pieces: readonly Piece[], fresh: Piece, low: number, high: number): Piece[] {
  if (pieces.length === 0) return [{ ...fresh, end: high }];
  const result: Piece[] = [];
  let open: Piece | undefined;
  let left = low;
  const cover = (end: number): void => {
    if (open === undefined) result.push((open = { ...fresh, end }));
    else open.end = end;
  };
  for (const piece of pieces) {
    const right = piece.end;
    const more = piece.weight - fresh.weight;
    const share = fresh.weight / more;
    const gap = piece.mean - fresh.mean;
    const isConstant = fresh.weight === 0;
    const centre = isConstant ? piece.mean : piece.mean + share * gap;
    const depth = fresh.value - piece.value + (isConstant ? 0 : piece.weight * share * (gap * gap));
    const a = left - centre;
    const b = right - centre;
    const isAll = depth > 0 && more * (a * a) <= depth && more * (b * b) <= depth;
    const reach = depth > 0 ? Math.sqrt(depth / more) : -1;
    const from = isAll ? left : Math.max(left, centre - reach);
    const to = isAll ? right : Math.min(right, centre + reach);
    if (reach < 0 || from > to) cover(right);
    else {
      if (from > left) cover(from);
      piece.end = to;
      result.push(piece);
      open = undefined;
      if (to < right) cover(right);
    }
    left = right;
  }
  return result;
}

/** Gives up every other piece but the best. */
function thin(pieces: readonly Piece[], at: number): Piece[] {
  const result: Piece[] = [];
  let left = -Infinity;
  for (const [i, piece] of pieces.entries()) {
    const before = result.at(-1);
    const { end } = piece;
    if (before === undefined || i % 2 === 0 || (at >= left && at <= end)) result.push(piece);
    else before.end = end;
    left = end;
  }
  return result;
}

/** Changes that wait until the least length of a segment has followed them. Costs are held in two parts, high and low. */
class Delayed {
  readonly #penalty: number;
  readonly #least: number;
  readonly #items: Item[] = [];
  /** Cost before each item: high, low; undefined where there is no segmentation. */
  readonly #costs: (readonly [number, number] | undefined)[];
  /** Sums from an item to the end of the older half of those that wait. */
  readonly #tails: Item[] = [];
  #newer: Item = { weight: 0, mean: 0, rest: 0 };
  #turn = 0;
  #next = 0;
  #waiting = 0;
  #high = 0;
  #low = 0;

  constructor({ penalty, least }: Goal) {
    this.#penalty = penalty;
    this.#least = least;
    this.#costs = [[-penalty, 0]];
  }

  /** Adds an item; returns the candidates that enough points have followed by now. */
  admit(item: Item): Piece[] {
    this.#items.push(item);
    this.#newer = merged(this.#newer, item);
    this.#waiting += item.weight;
    const result: Piece[] = [];
    while (this.#next < this.#items.length && this.#waiting >= this.#least) {
      const cost = this.#costs[this.#next];
      if (cost !== undefined) {
        const { weight, mean, rest } = this.#read();
        const value = cost[0] - this.#high + (cost[1] - this.#low) + this.#penalty + rest;
        result.push({ weight, mean, value, end: 0, tau: this.#next });
      }
      this.#waiting -= this.#items[this.#next]?.weight ?? 0;
      this.#next++;
    }
    return result;
  }

  /** Notes the least cost up to here, above the one before. */
  settle(more: number | undefined): void {
    if (more === undefined) {
      this.#costs.push(undefined);
      return;
    }
    // Two-sum (Knuth 1969): exact to twice the digits, however large a value that has passed.
    const sum = this.#high + more;
    const part = sum - this.#high;
    this.#low += this.#high - (sum - part) + (more - part);
    this.#high = sum;
    this.#costs.push([this.#high, this.#low]);
  }

  #read(): Item {
    if (this.#next >= this.#turn) {
      let tail = { weight: 0, mean: 0, rest: 0 };
      for (let i = this.#items.length - 1; i >= this.#next; i--) {
        tail = merged(tail, this.#items[i] ?? tail);
        this.#tails[i] = tail;
      }
      this.#turn = this.#items.length;
      this.#newer = { weight: 0, mean: 0, rest: 0 };
    }
    const tail = this.#tails[this.#next];
    return tail === undefined ? this.#newer : merged(tail, this.#newer);
  }
}

function merged(first: Item, second: Item): Item {
  const weight = first.weight + second.weight;
  const off = second.mean - first.mean;
  const share = weight === 0 ? 0 : second.weight / weight;
  return {
    weight,
    mean: first.mean + off * share,
    rest: first.rest + second.rest + first.weight * share * (off * off),
  };
}
