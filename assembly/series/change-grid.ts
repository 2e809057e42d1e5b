// Points made ready for the search, and reduced to items: runs of points with their weight, mean and sum of squared deviations.
import { sumF64x2, sumI64x2 } from '../lanes';

const ITEM: usize = 24;
/** Points whose sums are taken in one go: small enough to be read twice from the cache. */
const RUN: i32 = 1024;
const scratch: usize = memory.data(4096 * 8, 16);

/** Counts the finite values, and leaves their largest magnitude in `out`. */
export function changeScan(p: usize, count: i32, out: usize): i32 {
  const infinity = f64x2.splat(Infinity);
  let found = i64x2.splat(0);
  let most = f64x2.splat(0);
  const end = p + ((<usize>(count & ~1)) << 3);
  for (; p < end; p += 16) {
    const x = f64x2.abs(v128.load(p));
    const isFinite = f64x2.lt(x, infinity);
    found = i64x2.sub(found, isFinite);
    most = f64x2.pmax(most, v128.and(x, isFinite));
  }
  let total = <i32>sumI64x2(found);
  let highest = largest(most);
  if (count & 1) {
    const x = abs(load<f64>(p));
    if (x < Infinity) {
      total++;
      highest = max(highest, x);
    }
  }
  store<f64>(out, highest);
  return total;
}

/** Multiplies by `scale`. */
export function changeScale(p: usize, count: i32, scale: f64): void {
  const by = f64x2.splat(scale);
  const end = p + ((<usize>(count & ~1)) << 3);
  for (; p < end; p += 16) v128.store(p, f64x2.mul(v128.load(p), by));
  if (count & 1) store<f64>(p, load<f64>(p) * scale);
}

/** Subtracts `centre`, and leaves the least and the greatest value in `out`. */
export function changeCentre(p: usize, count: i32, centre: f64, out: usize): void {
  const by = f64x2.splat(centre);
  let least = f64x2.splat(Infinity);
  let most = f64x2.splat(-Infinity);
  const end = p + ((<usize>(count & ~1)) << 3);
  for (; p < end; p += 16) {
    const x = f64x2.sub(v128.load(p), by);
    v128.store(p, x);
    least = f64x2.pmin(least, x);
    most = f64x2.pmax(most, x);
  }
  let low = min(f64x2.extract_lane(least, 0), f64x2.extract_lane(least, 1));
  let high = max(f64x2.extract_lane(most, 0), f64x2.extract_lane(most, 1));
  if (count & 1) {
    const x = load<f64>(p) - centre;
    store<f64>(p, x);
    low = min(low, x);
    high = max(high, x);
  }
  store<f64>(out, low);
  store<f64>(out, high, 8);
}

/** Weight, mean and squared deviations of the runs that begin at `starts`. */
export function changeItems(
  points: usize,
  count: i32,
  starts: usize,
  runs: i32,
  items: usize,
): void {
  for (let i = 0; i < runs; i++) {
    const start = load<i32>(starts + ((<usize>i) << 2));
    const end = i + 1 < runs ? load<i32>(starts + ((<usize>(i + 1)) << 2)) : count;
    let weight: f64 = 0;
    let mean: f64 = 0;
    let rest: f64 = 0;
    for (let at = start; at < end; at += RUN) {
      const size = min(RUN, end - at);
      const own = <f64>size;
      const p = points + ((<usize>at) << 3);
      const centre = meanOf(p, size);
      const off = centre - mean;
      const share = own / (weight + own);
      rest += deviations(p, size, centre) + weight * share * (off * off);
      mean += off * share;
      weight += own;
    }
    const item = items + <usize>i * ITEM;
    store<f64>(item, weight);
    store<f64>(item, mean, 8);
    store<f64>(item, rest, 16);
  }
}

/**
 * Cuts the points into blocks of `block` (a power of two, at most 4096; the last points into the largest powers of two that fit), and
 * a block in halves as long as a half, a quarter, ... or a single point of it deviates from its mean by more than `limit`, in weight
 * times squared deviation. Writes where the pieces start; returns how many there are, or 0 when they are more than `most`.
 */
export function changeGrid(
  points: usize,
  count: i32,
  block: i32,
  limit: f64,
  starts: usize,
  most: i32,
): i32 {
  let found = 0;
  for (let at = 0; at < count; at += block) {
    found = cut(points, at, min(block, count - at), limit, starts, found, most);
    if (found > most) return 0;
  }
  return found;
}

function cut(
  points: usize,
  at: i32,
  size: i32,
  limit: f64,
  starts: usize,
  found: i32,
  most: i32,
): i32 {
  if (found > most) return found;
  const half = 1 << (31 - clz(size - 1));
  if (size == 1 || (size == 2 * half && isEven(points + ((<usize>at) << 3), size, limit))) {
    if (found < most) store<i32>(starts + ((<usize>found) << 2), at);
    return found + 1;
  }
  const after = cut(points, at, half, limit, starts, found, most);
  return cut(points, at + half, size - half, limit, starts, after, most);
}

/** `size` is a power of two, 2 or more. */
function isEven(p: usize, size: i32, limit: f64): bool {
  const mean = meanOf(p, size);
  if (size == 2) {
    const x = load<f64>(p) - mean;
    return x * x <= limit;
  }
  // Level by level: deviations of single points, of pairs, of fours ... The next level's sums take the place of this one's.
  const centre = f64x2.splat(mean);
  let most = f64x2.splat(0);
  let o = scratch;
  for (let i = 0; i < size; i += 4, p += 32, o += 16) {
    const a = f64x2.sub(v128.load(p), centre);
    const b = f64x2.sub(v128.load(p, 16), centre);
    most = f64x2.pmax(most, f64x2.pmax(f64x2.mul(a, a), f64x2.mul(b, b)));
    v128.store(o, f64x2.add(i64x2.shuffle(a, b, 0, 2), i64x2.shuffle(a, b, 1, 3)));
  }
  if (largest(most) > limit) return false;
  let scale = 0.5;
  for (let left = size >> 1; left >= 4; left >>= 1, scale *= 0.5) {
    most = f64x2.splat(0);
    let q = scratch;
    o = scratch;
    for (let i = 0; i < left; i += 4, q += 32, o += 16) {
      const a = v128.load(q);
      const b = v128.load(q, 16);
      most = f64x2.pmax(most, f64x2.pmax(f64x2.mul(a, a), f64x2.mul(b, b)));
      v128.store(o, f64x2.add(i64x2.shuffle(a, b, 0, 2), i64x2.shuffle(a, b, 1, 3)));
    }
    if (largest(most) * scale > limit) return false;
  }
  // The two halves deviate by the same.
  const half = load<f64>(scratch);
  return half * half * scale <= limit;
}

function largest(v: v128): f64 {
  return max(f64x2.extract_lane(v, 0), f64x2.extract_lane(v, 1));
}

function meanOf(p: usize, size: i32): f64 {
  let a = f64x2.splat(0);
  let b = f64x2.splat(0);
  let i = 0;
  for (; i + 4 <= size; i += 4, p += 32) {
    a = f64x2.add(a, v128.load(p));
    b = f64x2.add(b, v128.load(p, 16));
  }
  let sum = sumF64x2(f64x2.add(a, b));
  for (; i < size; i++, p += 8) sum += load<f64>(p);
  return sum / <f64>size;
}

function deviations(p: usize, size: i32, mean: f64): f64 {
  const centre = f64x2.splat(mean);
  let a = f64x2.splat(0);
  let b = f64x2.splat(0);
  let i = 0;
  for (; i + 4 <= size; i += 4, p += 32) {
    const x = f64x2.sub(v128.load(p), centre);
    const y = f64x2.sub(v128.load(p, 16), centre);
    a = f64x2.add(a, f64x2.mul(x, x));
    b = f64x2.add(b, f64x2.mul(y, y));
  }
  let sum = sumF64x2(f64x2.add(a, b));
  for (; i < size; i++, p += 8) {
    const x = load<f64>(p) - mean;
    sum += x * x;
  }
  return sum;
}
