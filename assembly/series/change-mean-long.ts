// Changes of the mean with segments of a least length.
import {
  addSquared,
  FEW,
  find,
  foundAt,
  foundTau,
  foundValue,
  insert,
  ITEM,
  M,
  PIECE,
  thin,
  V,
} from './change-pieces';

/**
 * Like `changeMean`, with segments of at least `least` points. A change is let in only once `least` points have followed it, with the cost of
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
    store<i32>(last + ((<usize>t) << 2), foundTau);
    store<f64>(levels + ((<usize>t) << 3), foundAt);
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
