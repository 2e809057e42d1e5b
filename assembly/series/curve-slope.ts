// Counts of the slopes between pairs of points. Sorted by y - s x, a pair that was in order of x is turned round exactly if its slope is
// below s, so slopes below s are the inversions that a merge sort undoes; one that passes a wanted rank hands out its pair.
//
// Records of 16 bytes: residual (f64), index of the point (i32). Residuals that are too close to tell apart are compared exactly.
import { compareResiduals, residual } from './curve-exact';

const CLOSE: f64 = 1.0 / 1125899906842624.0;

const RUN: usize = 8;

let xs: usize = 0;
let ys: usize = 0;
let slope: f64 = 0;

/** Fills `records` with the residuals of the points at x and y, in order of x, or of `order` if that is not 0. */
export function curveResiduals(
  x: usize,
  y: usize,
  count: i32,
  s: f64,
  order: usize,
  records: usize,
): void {
  xs = x;
  ys = y;
  slope = s;
  for (let k = 0; k < count; k++) {
    const i = order == 0 ? k : load<i32>(order + ((<usize>k) << 2));
    store<f64>(records, residual(xOf(i), yOf(i), s));
    store<i32>(records, i, 8);
    records += 16;
  }
}

/**
 * Sorts the records at `a`, with as much room at `b`; returns how many pairs were inverted. `isSwapped` (i32) says whether the result is at
 * `b`. Of the pairs at the `rankCount` ascending ranks at `ranks` (f64), the slopes of the points at x and y go to `found`.
 */
export function curveSortResiduals(
  a: usize,
  b: usize,
  count: i32,
  isSwapped: usize,
  ranks: usize,
  rankCount: i32,
  found: usize,
): f64 {
  let inverted: i64 = 0;
  const ranksEnd = ranks + ((<usize>rankCount) << 3);
  let wanted = rankAt(ranks, ranksEnd);
  // Runs of eight by insertion, which is quicker than three rounds of merging.
  const last = a + ((<usize>count) << 4);
  for (let run = a; run < last; run += RUN << 4) {
    const runEnd = min(run + (RUN << 4), last);
    for (let at = run + 16; at < runEnd; at += 16) {
      let hole = at;
      while (hole > run && isBefore(at, hole - 16)) hole -= 16;
      if (hole == at) continue;
      inverted += <i64>((at - hole) >> 4);
      while (wanted < inverted) {
        const first = at - ((<usize>(inverted - wanted)) << 4);
        store<f64>(found, slopeOf(load<i32>(first, 8), load<i32>(at, 8)));
        found += 8;
        ranks += 8;
        wanted = rankAt(ranks, ranksEnd);
      }
      const record = v128.load(at);
      for (let to = at; to > hole; to -= 16) v128.store(to, v128.load(to - 16));
      v128.store(hole, record);
    }
  }
  let swaps = 0;
  for (let width = <i32>RUN; width < count; width <<= 1) {
    for (let start = 0; start < count; start += width << 1) {
      let left = a + ((<usize>start) << 4);
      const middle = a + ((<usize>min(start + width, count)) << 4);
      const end = a + ((<usize>min(start + (width << 1), count)) << 4);
      let right = middle;
      let out = b + ((<usize>start) << 4);
      // Records that are nearly in order, as those of a slope next to the one before, meet in a few: the others are copied.
      if (right < end) {
        const first = firstAfter(left, middle, right);
        memory.copy(out, left, first - left);
        out += first - left;
        left = first;
      }
      while (left < middle && right < end) {
        const isRight = <usize>isBefore(right, left);
        v128.store(out, v128.load(isRight ? right : left));
        inverted += <i64>(((middle - left) >> 4) * isRight);
        while (wanted < inverted) {
          const first = middle - ((<usize>(inverted - wanted)) << 4);
          store<f64>(found, slopeOf(load<i32>(first, 8), load<i32>(right, 8)));
          found += 8;
          ranks += 8;
          wanted = rankAt(ranks, ranksEnd);
        }
        right += isRight << 4;
        left += 16 - (isRight << 4);
        out += 16;
      }
      if (left < middle) memory.copy(out, left, middle - left);
      else memory.copy(out, right, end - right);
    }
    const other = a;
    a = b;
    b = other;
    swaps ^= 1;
  }
  store<i32>(isSwapped, swaps);
  return <f64>inverted;
}

function isBefore(one: usize, two: usize): bool {
  const a = load<f64>(one);
  const b = load<f64>(two);
  return abs(a - b) > CLOSE * abs(b) ? a < b : compare(one, two) < 0;
}

/** The first of the sorted records from `from` to `to` that `record` comes before; `to` where it comes before none. */
function firstAfter(from: usize, to: usize, record: usize): usize {
  while (from < to) {
    const middle = from + (((to - from) >> 5) << 4);
    if (isBefore(record, middle)) to = middle;
    else from = middle + 16;
  }
  return from;
}

function rankAt(ranks: usize, end: usize): i64 {
  return ranks < end ? <i64>load<f64>(ranks) : i64.MAX_VALUE;
}

/** Pairs of equal residual at different x among sorted records. */
export function curveEqualPairs(records: usize, count: i32): f64 {
  const end = records + ((<usize>count) << 4);
  let equal: f64 = 0;
  while (records < end) {
    const next = tieEnd(records, end);
    equal += pairs(next - records);
    while (records < next) {
      const x = xOf(load<i32>(records, 8));
      let other = records + 16;
      while (other < next && xOf(load<i32>(other, 8)) == x) other += 16;
      equal -= pairs(other - records);
      records = other;
    }
  }
  return equal;
}

/** Writes the indices of sorted records to `order`, those of equal residual backwards. */
export function curveKeepOrder(records: usize, count: i32, order: usize): void {
  const end = records + ((<usize>count) << 4);
  while (records < end) {
    const next = tieEnd(records, end);
    for (let at = next - 16; at >= records; at -= 16) {
      store<i32>(order, load<i32>(at, 8));
      order += 4;
    }
    records = next;
  }
}

function tieEnd(records: usize, end: usize): usize {
  const key = load<f64>(records);
  let next = records + 16;
  while (
    next < end &&
    abs(load<f64>(next) - key) <= CLOSE * abs(key) &&
    compare(next, records) == 0
  )
    next += 16;
  return next;
}

function pairs(bytes: usize): f64 {
  const count = <f64>(bytes >> 4);
  return 0.5 * count * (count - 1);
}

function compare(one: usize, two: usize): f64 {
  const i = load<i32>(one, 8);
  const j = load<i32>(two, 8);
  return compareResiduals(xOf(i), yOf(i), xOf(j), yOf(j), slope);
}

function slopeOf(i: i32, j: i32): f64 {
  return (yOf(j) - yOf(i)) / (xOf(j) - xOf(i));
}

function xOf(i: i32): f64 {
  return load<f64>(xs + ((<usize>i) << 3));
}

function yOf(i: i32): f64 {
  return load<f64>(ys + ((<usize>i) << 3));
}
