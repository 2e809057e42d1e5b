// Reduction of a series for drawing. Values are finite here: what is not is found and left to the caller.

import { sumF64x2 } from '../lanes';

/** Marks a bucket without values, or with some that are not finite. */
const NONE: u32 = 0xffff_ffff;
/** Bytes of the blocks in which an extreme is looked for once it is known: 64 values. */
const BLOCK: usize = 512;

/** First place from `p` on, within one block or `end`, that holds `value`. */
function placeOf(p: usize, end: usize, value: f64): usize {
  const wanted = f64x2.splat(value);
  const stop = min(p + BLOCK, end);
  for (; p + 16 <= stop; p += 16) {
    const found = i64x2.bitmask(f64x2.eq(v128.load(p), wanted));
    if (found != 0) return p + ((<usize>ctz(found)) << 3);
  }
  return p;
}

/**
 * Places of the lowest and highest value of each bucket, as indices counted from that of the first value. Bucket `b` goes from index
 * `starts[b]` to `starts[b + 1]`; `first` is the index of the value at `values`. One pass finds the blocks, a second looks into two.
 */
export function drawExtremes(
  values: usize,
  first: u32,
  starts: usize,
  buckets: i32,
  out: usize,
): void {
  for (let b = 0; b < buckets; b++, out += 8) {
    const from = load<u32>(starts + ((<usize>b) << 2));
    const to = load<u32>(starts + ((<usize>b) << 2), 4);
    const begin = values + ((<usize>(from - first)) << 3);
    const end = values + ((<usize>(to - first)) << 3);
    let lowest: f64 = Infinity;
    let highest: f64 = -Infinity;
    let lowBlock = begin;
    let highBlock = begin;
    // 0 times a finite number is 0, times anything else NaN, and multipliers stand idle while extremes are looked for.
    let z0 = f64x2.splat(0);
    let z1 = z0;
    let z2 = z0;
    let z3 = z0;
    let p = begin;
    for (; p + BLOCK <= end; p += BLOCK) {
      let l0 = v128.load(p);
      let l1 = v128.load(p, 16);
      let l2 = v128.load(p, 32);
      let l3 = v128.load(p, 48);
      let h0 = l0;
      let h1 = l1;
      let h2 = l2;
      let h3 = l3;
      z0 = f64x2.mul(z0, l0);
      z1 = f64x2.mul(z1, l1);
      z2 = f64x2.mul(z2, l2);
      z3 = f64x2.mul(z3, l3);
      for (let q = p + 64; q < p + BLOCK; q += 64) {
        const x0 = v128.load(q);
        const x1 = v128.load(q, 16);
        const x2 = v128.load(q, 32);
        const x3 = v128.load(q, 48);
        l0 = f64x2.pmin(l0, x0);
        h0 = f64x2.pmax(h0, x0);
        l1 = f64x2.pmin(l1, x1);
        h1 = f64x2.pmax(h1, x1);
        l2 = f64x2.pmin(l2, x2);
        h2 = f64x2.pmax(h2, x2);
        l3 = f64x2.pmin(l3, x3);
        h3 = f64x2.pmax(h3, x3);
        z0 = f64x2.mul(z0, x0);
        z1 = f64x2.mul(z1, x1);
        z2 = f64x2.mul(z2, x2);
        z3 = f64x2.mul(z3, x3);
      }
      l0 = f64x2.pmin(f64x2.pmin(l0, l1), f64x2.pmin(l2, l3));
      h0 = f64x2.pmax(f64x2.pmax(h0, h1), f64x2.pmax(h2, h3));
      const low = f64x2.extract_lane(f64x2.pmin(l0, i64x2.shuffle(l0, l0, 1, 0)), 0);
      const high = f64x2.extract_lane(f64x2.pmax(h0, i64x2.shuffle(h0, h0, 1, 0)), 0);
      if (low < lowest) {
        lowest = low;
        lowBlock = p;
      }
      if (high > highest) {
        highest = high;
        highBlock = p;
      }
    }
    z0 = f64x2.add(f64x2.add(z0, z1), f64x2.add(z2, z3));
    let zero = sumF64x2(z0);
    let lowAt: usize = 0;
    let highAt: usize = 0;
    for (; p < end; p += 8) {
      const x = load<f64>(p);
      zero *= x;
      if (x < lowest) {
        lowest = x;
        lowAt = p;
      }
      if (x > highest) {
        highest = x;
        highAt = p;
      }
    }
    if (begin == end || zero != 0) {
      store<u32>(out, NONE);
      store<u32>(out, NONE, 4);
      continue;
    }
    if (lowAt == 0) lowAt = placeOf(lowBlock, end, lowest);
    if (highAt == 0) highAt = placeOf(highBlock, end, highest);
    store<u32>(out, first + <u32>((lowAt - values) >> 3));
    store<u32>(out, first + <u32>((highAt - values) >> 3), 4);
  }
}

/** Number of positions before the first that is below its predecessor or NaN: `count` where they ascend. */
export function drawAscending(positions: usize, count: i32): i32 {
  let i = 1;
  for (; i + 8 <= count; i += 8) {
    const p = positions + ((<usize>i) << 3);
    const r0 = f64x2.le(v128.load(p - 8), v128.load(p));
    const r1 = f64x2.le(v128.load(p + 8), v128.load(p + 16));
    const r2 = f64x2.le(v128.load(p + 24), v128.load(p + 32));
    const r3 = f64x2.le(v128.load(p + 40), v128.load(p + 48));
    if (!i64x2.all_true(v128.and(v128.and(r0, r1), v128.and(r2, r3)))) break;
  }
  for (; i < count; i++) {
    const p = positions + ((<usize>i) << 3);
    if (!(load<f64>(p - 8) <= load<f64>(p))) return i;
  }
  return count;
}

/** Sum of the differences to `origin`, in eight strided lanes, as `sumFrom` in draw-lttb.ts does. */
function sumFrom(p: usize, count: i32, origin: f64): f64 {
  const shift = f64x2.splat(origin);
  let s0 = f64x2.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  let i = 0;
  for (; i + 8 <= count; i += 8, p += 64) {
    s0 = f64x2.add(s0, f64x2.sub(v128.load(p), shift));
    s1 = f64x2.add(s1, f64x2.sub(v128.load(p, 16), shift));
    s2 = f64x2.add(s2, f64x2.sub(v128.load(p, 32), shift));
    s3 = f64x2.add(s3, f64x2.sub(v128.load(p, 48), shift));
  }
  let sum = sumF64x2(f64x2.add(f64x2.add(s0, s1), f64x2.add(s2, s3)));
  for (; i < count; i++, p += 8) sum += load<f64>(p) - origin;
  return sum;
}

/** 1 where every value is finite and so are their differences to `origin`, and the sum of those; else 0. */
export function drawFinite(values: usize, count: i32, origin: f64): i32 {
  const sum = sumFrom(values, count, origin);
  return sum - sum == 0 ? 1 : 0;
}

/** |width (y - ay) - (ax - x) height|: the area of a triangle times a constant, in the order of operations of the plain twin. */
function areas(y: v128, ay: v128, across: v128, width: v128, height: v128): v128 {
  return f64x2.abs(f64x2.sub(f64x2.mul(width, f64x2.sub(y, ay)), f64x2.mul(across, height)));
}

/** `ax - x` of two points: from their positions (`P` is f64), or from their indices where there are none (i32). */
function acrossFrom<P>(ax: v128, positions: usize, i: i32, indices: v128): v128 {
  if (isFloat<P>()) return f64x2.sub(ax, v128.load(positions + ((<usize>i) << 3)));
  return f64x2.sub(ax, f64x2.add(indices, f64x2.splat(<f64>i)));
}

function triangles<P>(
  values: usize,
  positions: usize,
  starts: usize,
  buckets: i32,
  first: f64,
  ax: f64,
  ay: f64,
  out: usize,
): i32 {
  const indices = f64x2.replace_lane(f64x2.splat(first), 1, first + 1);
  for (let b = 0; b < buckets; b++) {
    const from = load<i32>(starts + ((<usize>b) << 2));
    const to = load<i32>(starts + ((<usize>b) << 2), 4);
    const next = load<i32>(starts + ((<usize>b) << 2), 8);
    const length = next - to;
    // From the kept point to the mean of the next bucket, times the length of that: sums stay exact where means would be rounded.
    const deltaY = sumFrom(values + ((<usize>to) << 3), length, ay);
    const deltaX = isFloat<P>()
      ? sumFrom(positions + ((<usize>to) << 3), length, ax)
      : (first + <f64>to - ax) * <f64>length + <f64>length * <f64>(length - 1) * 0.5;
    if (deltaY - deltaY != 0) return b;
    const px = f64x2.splat(ax);
    const py = f64x2.splat(ay);
    const width = f64x2.splat(-deltaX);
    const height = f64x2.splat(deltaY);
    let best: f64 = -1;
    let bestBlock = from;
    let i = from;
    for (; i + 32 <= to; i += 32) {
      let m0 = f64x2.splat(-1);
      let m1 = m0;
      let m2 = m0;
      let m3 = m0;
      for (let j = i; j < i + 32; j += 8) {
        const p = values + ((<usize>j) << 3);
        m0 = f64x2.pmax(
          m0,
          areas(v128.load(p), py, acrossFrom<P>(px, positions, j, indices), width, height),
        );
        m1 = f64x2.pmax(
          m1,
          areas(v128.load(p, 16), py, acrossFrom<P>(px, positions, j + 2, indices), width, height),
        );
        m2 = f64x2.pmax(
          m2,
          areas(v128.load(p, 32), py, acrossFrom<P>(px, positions, j + 4, indices), width, height),
        );
        m3 = f64x2.pmax(
          m3,
          areas(v128.load(p, 48), py, acrossFrom<P>(px, positions, j + 6, indices), width, height),
        );
      }
      m0 = f64x2.pmax(f64x2.pmax(m0, m1), f64x2.pmax(m2, m3));
      const largest = f64x2.extract_lane(f64x2.pmax(m0, i64x2.shuffle(m0, m0, 1, 0)), 0);
      if (largest > best) {
        best = largest;
        bestBlock = i;
      }
    }
    let pick = -1;
    for (; i < to; i++) {
      const x = isFloat<P>() ? load<f64>(positions + ((<usize>i) << 3)) : first + <f64>i;
      const y = load<f64>(values + ((<usize>i) << 3));
      const area = abs(-deltaX * (y - ay) - (ax - x) * deltaY);
      if (area > best) {
        best = area;
        pick = i;
      }
    }
    if (pick < 0) {
      pick = bestBlock;
      const wanted = f64x2.splat(best);
      for (let j = bestBlock; j + 2 <= to && j < bestBlock + 32; j += 2) {
        const found = i64x2.bitmask(
          f64x2.eq(
            areas(
              v128.load(values + ((<usize>j) << 3)),
              py,
              acrossFrom<P>(px, positions, j, indices),
              width,
              height,
            ),
            wanted,
          ),
        );
        if (found != 0) {
          pick = j + ctz(found);
          break;
        }
      }
    }
    store<u32>(out + ((<usize>b) << 2), <u32>pick);
    ax = isFloat<P>() ? load<f64>(positions + ((<usize>pick) << 3)) : first + <f64>pick;
    ay = load<f64>(values + ((<usize>pick) << 3));
  }
  return buckets;
}

/**
 * Largest triangles of `buckets` buckets in turn, by their place in the stage. Bucket `b` goes from `starts[b]` to `starts[b + 1]`, and
 * there is one bucket more, of which only the sum is used. `ax` and `ay` are the point kept before; without positions (0), the place `i`
 * stands for the position `first + i`. Returns the buckets that were done: fewer where a sum is not finite.
 */
export function drawLttb(
  values: usize,
  positions: usize,
  starts: usize,
  buckets: i32,
  first: f64,
  ax: f64,
  ay: f64,
  out: usize,
): i32 {
  return positions == 0
    ? triangles<i32>(values, positions, starts, buckets, first, ax, ay, out)
    : triangles<f64>(values, positions, starts, buckets, first, ax, ay, out);
}
