// Changes of the mean by functional pruning (FPOP; Maidstone, Hocking, Rigaill and Fearnhead 2017; with a bounded loss, Fearnhead and
// Rigaill 2019). The least cost of the items so far, as a function of the level u of the segment that is still open, is kept as
// pieces from the lowest level to the highest:
//
//   value(u) = v + n (u - m)^2 on [end of the piece before, end],  opened after item `tau`
//
// Kept this way (n, mean, minimum), and with the least cost of the last item taken off, no piece grows with the length of the series:
// nothing cancels, whatever the mean and however long the segment. Costs are squared deviations in the unit of the items.
//
// An item is three f64: weight, mean, sum of squared deviations from that mean. A piece is five: n, m, v, end, tau.

const ITEM: usize = 24;
const PIECE: usize = 40;
const M: usize = 8;
const V: usize = 16;
const END: usize = 24;
const TAU: usize = 32;
/** Pieces left when the work allowed has been spent. */
const FEW: i32 = 64;

let foundValue: f64 = 0;
let foundAt: f64 = 0;
let foundTau: i32 = 0;

/**
 * Finds, for every item, where the segment that ends with it best begins. `last[t]` is the number of items before that segment and
 * `levels[t]` its level, for t = 1 .. count. A deviation costs at most `bound` for each point; `low` and `high` enclose all means.
 * `room` holds 2 * capacity pieces. Returns the steps taken over pieces, below 0 when some
 * were given up because there were more than `work` or no room was left.
 */
export function changeMean(
  items: usize,
  count: i32,
  penalty: f64,
  bound: f64,
  low: f64,
  high: f64,
  last: usize,
  levels: usize,
  room: usize,
  capacity: i32,
  work: f64,
): f64 {
  let pieces = room;
  let other = room + <usize>capacity * PIECE;
  let exact = true;
  let visits: f64 = 0;
  let n = insert(pieces, 0, pieces, low, high, 0, 0, 0, 0, 0);
  for (let t = 1; t <= count; t++) {
    const item = items + <usize>(t - 1) * ITEM;
    const weight = load<f64>(item);
    const mean = load<f64>(item, M);
    const rest = load<f64>(item, V);
    if (bound == Infinity) {
      addSquared(pieces, n, low, weight, mean, rest);
    } else {
      n = addBounded(pieces, n, other, low, weight, mean, rest, bound);
      const swap = pieces;
      pieces = other;
      other = swap;
    }
    store<i32>(last + (<usize>t << 2), foundTau);
    store<f64>(levels + (<usize>t << 3), foundAt);
    visits += <f64>n;
    while (n > FEW && (visits > work || 2 * n + 4 > capacity)) {
      n = thin(pieces, n, foundAt);
      exact = false;
    }
    n = insert(pieces, n, other, low, high, foundValue, 0, 0, penalty, t);
    const swap = pieces;
    pieces = other;
    other = swap;
  }
  return exact ? visits : -visits;
}

/**
 * The same with segments of at least `least` points. A change is let in only once `least` points have followed it, with the cost of
 * those points; from then on it may be pruned like any other. `queue` holds 8 f64 for each item and one more.
 */
export function changeMeanLong(
  items: usize,
  count: i32,
  penalty: f64,
  least: f64,
  low: f64,
  high: f64,
  last: usize,
  levels: usize,
  room: usize,
  capacity: i32,
  work: f64,
  queue: usize,
): f64 {
  let pieces = room;
  let other = room + <usize>capacity * PIECE;
  let exact = true;
  let visits: f64 = 0;
  let n = 0;
  // The cost before each item in two parts, high and low, and the weight of what waits.
  let baseHigh: f64 = 0;
  let baseLow: f64 = 0;
  let waiting: f64 = 0;
  let tau = 0;
  queueStart(queue, -penalty);
  for (let t = 1; t <= count; t++) {
    const item = items + <usize>(t - 1) * ITEM;
    const weight = load<f64>(item);
    addSquared(pieces, n, low, weight, load<f64>(item, M), load<f64>(item, V));
    queuePush(items, t);
    waiting += weight;
    let isNew = false;
    while (tau < t && waiting >= least) {
      const entry = queue + ((<usize>tau) << 6);
      const before = load<f64>(entry);
      if (before < Infinity) {
        queueRead(queue, tau, t);
        const value = before - baseHigh + (load<f64>(entry, 8) - baseLow) + penalty + queueRest;
        n = insert(pieces, n, other, low, high, 0, queueWeight, queueMean, value, tau);
        const swap = pieces;
        pieces = other;
        other = swap;
        isNew = true;
      }
      waiting -= load<f64>(items + <usize>tau * ITEM);
      tau++;
    }
    if (isNew) find(pieces, n, low);
    const entry = queue + ((<usize>t) << 6);
    store<i32>(last + (<usize>t << 2), foundTau);
    store<f64>(levels + (<usize>t << 3), foundAt);
    if (n == 0) {
      store<f64>(entry, Infinity);
      store<f64>(entry, 0, 8);
      continue;
    }
    visits += <f64>n;
    while (n > FEW && (visits > work || 2 * n + 4 > capacity)) {
      n = thin(pieces, n, foundAt);
      exact = false;
    }
    for (let i = 0, p = pieces; i < n; i++, p += PIECE) {
      store<f64>(p, load<f64>(p, V) - foundValue, V);
    }
    // Two-sum (Knuth 1969): the running cost stays exact to twice the digits, however large a value that has passed.
    const sum = baseHigh + foundValue;
    const part = sum - baseHigh;
    baseLow += baseHigh - (sum - part) + (foundValue - part);
    baseHigh = sum;
    store<f64>(entry, baseHigh);
    store<f64>(entry, baseLow, 8);
  }
  return exact ? visits : -visits;
}

/** Adds an item to every piece and finds the least value. */
function addSquared(pieces: usize, n: i32, low: f64, weight: f64, mean: f64, rest: f64): void {
  let best = Infinity;
  let at = low;
  let tau = 0;
  let left = low;
  const stop = pieces + <usize>n * PIECE;
  for (let p = pieces; p < stop; p += PIECE) {
    const before = load<f64>(p);
    const all = before + weight;
    const off = mean - load<f64>(p, M);
    const share = weight / all;
    const m = load<f64>(p, M) + off * share;
    const v = load<f64>(p, V) + (rest + before * share * (off * off));
    const right = load<f64>(p, END);
    store<f64>(p, all);
    store<f64>(p, m, M);
    store<f64>(p, v, V);
    let u = m < left ? left : m;
    u = u > right ? right : u;
    const value = v + all * ((u - m) * (u - m));
    if (value < best) {
      best = value;
      at = u;
      tau = load<i32>(p, TAU);
    }
    left = right;
  }
  foundValue = best;
  foundAt = at;
  foundTau = tau;
}

/** The same where an item costs no more than `bound` a point: pieces are cut at the levels where that begins. */
function addBounded(
  pieces: usize,
  n: i32,
  out: usize,
  low: f64,
  weight: f64,
  mean: f64,
  rest: f64,
  bound: f64,
): i32 {
  const most = weight * bound;
  const reach = rest < most ? sqrt((most - rest) / weight) : -1;
  const from = mean - reach;
  const to = mean + reach;
  let left = low;
  let o = out;
  const stop = pieces + <usize>n * PIECE;
  for (let p = pieces; p < stop; p += PIECE) {
    const right = load<f64>(p, END);
    const far = load<f64>(p, V) + most;
    const inside = reach >= 0 && from < right && to > left;
    if (!inside || from > left) {
      copyPiece(p, o);
      store<f64>(o, far, V);
      if (inside) store<f64>(o, from, END);
      o += PIECE;
    }
    if (inside) {
      const before = load<f64>(p);
      const off = mean - load<f64>(p, M);
      const share = weight / (before + weight);
      store<f64>(o, before + weight);
      store<f64>(o, load<f64>(p, M) + off * share, M);
      store<f64>(o, load<f64>(p, V) + (rest + before * share * (off * off)), V);
      store<f64>(o, to < right ? to : right, END);
      store<i32>(o, load<i32>(p, TAU), TAU);
      o += PIECE;
      if (to < right) {
        copyPiece(p, o);
        store<f64>(o, far, V);
        o += PIECE;
      }
    }
    left = right;
  }
  const count = <i32>((o - out) / PIECE);
  find(out, count, low);
  return count;
}

function find(pieces: usize, n: i32, low: f64): void {
  let best = Infinity;
  let at = low;
  let tau = 0;
  let left = low;
  const stop = pieces + <usize>n * PIECE;
  for (let p = pieces; p < stop; p += PIECE) {
    const m = load<f64>(p, M);
    const right = load<f64>(p, END);
    let u = m < left ? left : m;
    u = u > right ? right : u;
    const value = load<f64>(p, V) + load<f64>(p) * ((u - m) * (u - m));
    if (value < best) {
      best = value;
      at = u;
      tau = load<i32>(p, TAU);
    }
    left = right;
  }
  foundValue = best;
  foundAt = at;
  foundTau = tau;
}

/**
 * Takes `base` off every piece and lets in the candidate v0 + n0 (u - m0)^2 wherever it is less. Every piece has more weight than the
 * candidate, or the candidate is constant (n0 = 0), so a piece stays the smaller one on one interval at most.
 */
function insert(
  pieces: usize,
  n: i32,
  out: usize,
  low: f64,
  high: f64,
  base: f64,
  n0: f64,
  m0: f64,
  v0: f64,
  tau: i32,
): i32 {
  let o = out;
  let left = low;
  let open = false;
  const stop = pieces + <usize>n * PIECE;
  for (let p = pieces; p < stop; p += PIECE) {
    const weight = load<f64>(p);
    const mean = load<f64>(p, M);
    const value = load<f64>(p, V) - base;
    const right = load<f64>(p, END);
    let from = left;
    let to = right;
    // The piece less the candidate is (weight - n0) (u - centre)^2 - depth.
    const more = weight - n0;
    let depth = v0 - value;
    let centre = mean;
    if (n0 > 0) {
      const share = n0 / more;
      centre = mean + share * (mean - m0);
      depth += weight * share * ((mean - m0) * (mean - m0));
    }
    const a = left - centre;
    const b = right - centre;
    if (depth <= 0) {
      to = left - 1;
    } else if (more * (a * a) > depth || more * (b * b) > depth) {
      const reach = sqrt(depth / more);
      from = centre - reach;
      to = centre + reach;
      if (from < left) from = left;
      if (to > right) to = right;
    }
    if (from > to) {
      from = right;
      to = left - 1;
    }
    if (from > left || to < left) {
      if (!open) {
        o = write(o, n0, m0, v0, tau);
        open = true;
      }
      store<f64>(o - PIECE, from, END);
    }
    if (from <= to) {
      store<f64>(o, weight);
      store<f64>(o, mean, M);
      store<f64>(o, value, V);
      store<f64>(o, to, END);
      store<i32>(o, load<i32>(p, TAU), TAU);
      o += PIECE;
      open = false;
      if (to < right) {
        o = write(o, n0, m0, v0, tau);
        store<f64>(o - PIECE, right, END);
        open = true;
      }
    }
    left = right;
  }
  if (n == 0) {
    o = write(o, n0, m0, v0, tau);
    store<f64>(o - PIECE, high, END);
  }
  return <i32>((o - out) / PIECE);
}

function write(o: usize, n0: f64, m0: f64, v0: f64, tau: i32): usize {
  store<f64>(o, n0);
  store<f64>(o, m0, M);
  store<f64>(o, v0, V);
  store<i32>(o, tau, TAU);
  return o + PIECE;
}

function copyPiece(from: usize, to: usize): void {
  v128.store(to, v128.load(from));
  v128.store(to, v128.load(from, 16), 16);
  store<i32>(to, load<i32>(from, TAU), TAU);
}

/** Gives up every other piece but the best; its neighbour takes its place, at a cost that is possible and not the least. */
function thin(pieces: usize, n: i32, at: f64): i32 {
  let o = pieces;
  let left = -Infinity;
  for (let i = 0, p = pieces; i < n; i++, p += PIECE) {
    const right = load<f64>(p, END);
    if ((i & 1) == 0 || (at >= left && at <= right)) {
      copyPiece(p, o);
      o += PIECE;
    } else {
      store<f64>(o - PIECE, right, END);
    }
    left = right;
  }
  return <i32>((o - pieces) / PIECE);
}

// The items that no admitted change precedes by less than the least length: a queue whose weight, mean and squared deviations are
// known at any time without taking anything off. Its older half has the sums from each item to the half's end, the newer half one
// running sum. An entry is cost (high, low), then weight, mean and squared deviations from its item to `turn`.
let queueWeight: f64 = 0;
let queueMean: f64 = 0;
let queueRest: f64 = 0;
let newWeight: f64 = 0;
let newMean: f64 = 0;
let newRest: f64 = 0;
let turn: i32 = 0;
let queueItems: usize = 0;

function queueStart(queue: usize, cost: f64): void {
  store<f64>(queue, cost);
  store<f64>(queue, 0, 8);
  newWeight = 0;
  newMean = 0;
  newRest = 0;
  turn = 0;
}

function queuePush(items: usize, t: i32): void {
  queueItems = items;
  const item = items + <usize>(t - 1) * ITEM;
  const weight = load<f64>(item);
  const off = load<f64>(item, M) - newMean;
  const share = weight / (newWeight + weight);
  newRest += load<f64>(item, V) + newWeight * share * (off * off);
  newMean += off * share;
  newWeight += weight;
}

/** Sums of the items from `tau` (counted from 0) to the newest, `t` - 1. */
function queueRead(queue: usize, tau: i32, t: i32): void {
  if (tau >= turn) {
    let weight: f64 = 0;
    let mean: f64 = 0;
    let rest: f64 = 0;
    for (let i = t - 1; i >= tau; i--) {
      const item = queueItems + <usize>i * ITEM;
      const own = load<f64>(item);
      const off = load<f64>(item, M) - mean;
      const share = own / (weight + own);
      rest += load<f64>(item, V) + weight * share * (off * off);
      mean += off * share;
      weight += own;
      const entry = queue + ((<usize>i) << 6);
      store<f64>(entry, weight, 16);
      store<f64>(entry, mean, 24);
      store<f64>(entry, rest, 32);
    }
    turn = t;
    newWeight = 0;
    newMean = 0;
    newRest = 0;
  }
  const entry = queue + ((<usize>tau) << 6);
  const weight = load<f64>(entry, 16);
  const all = weight + newWeight;
  const off = newMean - load<f64>(entry, 24);
  const share = newWeight / all;
  queueWeight = all;
  queueMean = load<f64>(entry, 24) + off * share;
  queueRest = load<f64>(entry, 32) + newRest + weight * share * (off * off);
}
