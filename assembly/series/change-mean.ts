// Changes of the mean with segments of any length, and a loss that may be bounded.
import {
  addSquared,
  copyPiece,
  END,
  FEW,
  find,
  foundAt,
  foundTau,
  foundValue,
  insert,
  ITEM,
  M,
  PIECE,
  TAU,
  thin,
  V,
} from './change-pieces';

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
    store<i32>(last + ((<usize>t) << 2), foundTau);
    store<f64>(levels + ((<usize>t) << 3), foundAt);
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
