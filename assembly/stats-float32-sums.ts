// The loops over one block of float32 that stats-float32.ts goes through: sums, extremes, counts.
import {
  highF64,
  lowF64,
  maxF32x4,
  maxI32x4,
  maxU32x4,
  minF32x4,
  minU32x4,
  sumF64x2,
  sumI32x4,
} from './lanes';
import { scratch, SCRATCH_FLOAT32 } from './memory';
import { addCounts } from './stats-state';

const FOLD_BYTES: usize = 512;
// Vectors that stay the same, by way of memory: V8 makes a vector anew in every turn of a loop that uses it, with all that leads to it,
// but not one that was loaded. Sizes below ABOVE are near 0, those above BELOW saturated, both by their bits.
const MAGNITUDE: usize = SCRATCH_FLOAT32;
const INFINITY: usize = SCRATCH_FLOAT32 + 16;
const ABOVE: usize = SCRATCH_FLOAT32 + 32;
const BELOW: usize = SCRATCH_FLOAT32 + 48;
const AROUND: usize = SCRATCH_FLOAT32 + 64;
const SCALE: usize = SCRATCH_FLOAT32 + 80;
// Sums of parts of a block.
const SUMS: usize = SCRATCH_FLOAT32 + 96;
const SQUARES: usize = SCRATCH_FLOAT32 + 112;
const ABSOLUTES: usize = SCRATCH_FLOAT32 + 128;

export let blockSum: f64 = 0;
export let blockSquares: f64 = 0;
export let blockAbsolutes: f64 = 0;
export let blockLow: f32 = 0;
export let blockHigh: f32 = 0;
export let blockNearest: f32 = 0;
// NaN and infinities, and the infinities of either sign.
export let blockBeside: i32 = 0;
export let blockPositives: i32 = 0;
export let blockNegatives: i32 = 0;
// What the loops over sums were asked to count.
export let blockZeros: i32 = 0;
export let blockNears: i32 = 0;
export let blockFars: i32 = 0;
/** Whether all values of the last block were without the sign. */
export let isNonNegative: bool = false;

/** Begins a tensor. Near 0 is up to `epsilon`, saturated from `threshold`; neither is -0. */
export function openSums(epsilon: f32, threshold: f32): void {
  isNonNegative = false;
  v128.store(scratch, i32x4.splat(0x7fffffff), MAGNITUDE);
  v128.store(scratch, f32x4.splat(Infinity), INFINITY);
  v128.store(scratch, i32x4.splat(reinterpret<i32>(epsilon) + 1), ABOVE);
  v128.store(scratch, i32x4.splat(reinterpret<i32>(threshold) - 1), BELOW);
}

// Sums, sums of squares and of |x| of one block, and its extremes, into the variables `block...`. Two vectors at a time, six
// accumulators: with more, the engines of today keep an accumulator on the stack. The extremes come from the bits taken as
// integers, which more execution units compare than floats: the largest signed one is the largest x unless all have the sign,
// the largest unsigned one the smallest x if any has the sign, the smallest unsigned one without the sign the smallest |x|.
//
// Three choices at compile time. `Sign`: i32, or u32 for values without the sign, which are their own sizes; where one has it, the
// rest is worthless and `isNonNegative` becomes false. `Low`: f64 to count zeros and what is near 0 on the way, instead of the
// smallest |x|. `High`: f64 to count what reaches the threshold.
export function plainSums<Sign, Low, High>(p: usize, length: i32): void {
  const start = p;
  const end = p + ((<usize>length) << 2);
  const magnitude = v128.load(scratch, MAGNITUDE);
  const above = v128.load(scratch, ABOVE);
  const below = v128.load(scratch, BELOW);
  const zero4 = i32x4.splat(0);
  let positive = v128.load(p);
  let negative = positive;
  let nearest = v128.and(positive, magnitude);
  let zeros = zero4;
  let nears = zero4;
  let fars = zero4;
  memory.fill(scratch + SUMS, 0, 48);
  while (p < end) {
    let sum4 = zero4;
    let squares4 = zero4;
    let absolutes4 = zero4;
    for (const to = min(p + FOLD_BYTES, end); p < to; p += 32) {
      const x = v128.load(p);
      const y = v128.load(p, 16);
      negative = i32x4.max_u(negative, i32x4.max_u(x, y));
      let a = x;
      let b = y;
      if (isSigned<Sign>()) {
        positive = i32x4.max_s(positive, i32x4.max_s(x, y));
        a = v128.and(x, magnitude);
        b = v128.and(y, magnitude);
        absolutes4 = f32x4.add(absolutes4, f32x4.add(a, b));
      }
      if (isFloat<Low>()) {
        zeros = i32x4.add(zeros, i32x4.add(i32x4.eq(a, zero4), i32x4.eq(b, zero4)));
        nears = i32x4.add(nears, i32x4.add(i32x4.gt_s(above, a), i32x4.gt_s(above, b)));
      } else {
        nearest = i32x4.min_u(nearest, i32x4.min_u(a, b));
      }
      if (isFloat<High>())
        fars = i32x4.add(fars, i32x4.add(i32x4.gt_s(a, below), i32x4.gt_s(b, below)));
      sum4 = f32x4.add(sum4, f32x4.add(x, y));
      squares4 = f32x4.add(squares4, f32x4.add(f32x4.mul(x, x), f32x4.mul(y, y)));
    }
    addTo(scratch + SUMS, sum4);
    addTo(scratch + SQUARES, squares4);
    if (isSigned<Sign>()) addTo(scratch + ABSOLUTES, absolutes4);
  }
  if (!isSigned<Sign>()) positive = negative;
  if (isFloat<Low>()) {
    blockZeros = -sumI32x4(zeros);
    blockNears = -sumI32x4(nears);
    // Needed below for a block of one sign alone.
    if (blockZeros > 0) nearest = zero4;
    else if (isOfOneSign(positive, negative)) nearest = sizesOf(start, end);
  }
  if (isFloat<High>()) blockFars = -sumI32x4(fars);
  const sums = v128.load(scratch, SUMS);
  const absolutes = isSigned<Sign>() ? v128.load(scratch, ABSOLUTES) : sums;
  keepSums(sums, v128.load(scratch, SQUARES), absolutes);
  keepExtremes(positive, negative, nearest);
}

function addTo(at: usize, more: v128): void {
  v128.store(at, f32x4.add(v128.load(at), more));
}

function isOfOneSign(positive: v128, negative: v128): bool {
  return (maxI32x4(positive) ^ <i32>maxU32x4(negative)) >= 0;
}

// The smallest |x|, by lanes.
function sizesOf(p: usize, end: usize): v128 {
  const magnitude = v128.load(scratch, MAGNITUDE);
  let nearest = magnitude;
  for (; p < end; p += 16) nearest = i32x4.min_u(nearest, v128.and(v128.load(p), magnitude));
  return nearest;
}

// The same `around` a value, but for the sum of |x| and the extremes, and without counts. Where all have one sign, the sum of |x| follows
// from the sum, whichever loop it was: a tensor and its negative have the same.
export function shiftedSums<Sign>(p: usize, length: i32, around: f32): void {
  v128.store(scratch, f32x4.splat(around), AROUND);
  const around4 = v128.load(scratch, AROUND);
  const magnitude = v128.load(scratch, MAGNITUDE);
  const zero4 = i32x4.splat(0);
  let positive = v128.load(p);
  let negative = positive;
  let nearest = v128.and(positive, magnitude);
  let sums = zero4;
  let squares = zero4;
  let absolutes = zero4;
  for (const end = p + ((<usize>length) << 2); p < end;) {
    let sum4 = zero4;
    let squares4 = zero4;
    let absolutes4 = zero4;
    for (const to = min(p + FOLD_BYTES, end); p < to; p += 32) {
      const x = v128.load(p);
      const y = v128.load(p, 16);
      negative = i32x4.max_u(negative, i32x4.max_u(x, y));
      let a = x;
      let b = y;
      if (isSigned<Sign>()) {
        positive = i32x4.max_s(positive, i32x4.max_s(x, y));
        a = v128.and(x, magnitude);
        b = v128.and(y, magnitude);
        absolutes4 = f32x4.add(absolutes4, f32x4.add(a, b));
      }
      nearest = i32x4.min_u(nearest, i32x4.min_u(a, b));
      const u = f32x4.sub(x, around4);
      const v = f32x4.sub(y, around4);
      sum4 = f32x4.add(sum4, f32x4.add(u, v));
      squares4 = f32x4.add(squares4, f32x4.add(f32x4.mul(u, u), f32x4.mul(v, v)));
    }
    sums = f32x4.add(sums, sum4);
    squares = f32x4.add(squares, squares4);
    if (isSigned<Sign>()) absolutes = f32x4.add(absolutes, absolutes4);
  }
  keepSums(sums, squares, absolutes);
  if (!isSigned<Sign>()) positive = negative;
  if (isOfOneSign(positive, negative)) blockAbsolutes = abs(blockSum + <f64>around * <f64>length);
  keepExtremes(positive, negative, nearest);
}

// The same again, of the finite values, the sums in units of 1 / scale, and the count of the others. Minimum and maximum pass over
// NaN by themselves; where an infinity shows in them, they are found again.
export function maskedSums(p: usize, length: i32, around: f32, scale: f32): void {
  const start = p;
  const magnitude = v128.load(scratch, MAGNITUDE);
  const infinity = v128.load(scratch, INFINITY);
  v128.store(scratch, f32x4.splat(scale), SCALE);
  v128.store(scratch, f32x4.splat(around * scale), AROUND);
  const scale4 = v128.load(scratch, SCALE);
  const around4 = v128.load(scratch, AROUND);
  let low = infinity;
  let high = f32x4.neg(infinity);
  let nearest = infinity;
  let finite = i32x4.splat(0);
  let sums = finite;
  let squares = finite;
  let absolutes = finite;
  const end = p + ((<usize>length) << 2);
  while (p < end) {
    let sum4 = f32x4.splat(0);
    let squares4 = sum4;
    let absolutes4 = sum4;
    for (const to = min(p + FOLD_BYTES, end); p < to; p += 32) {
      const x = v128.load(p);
      const y = v128.load(p, 16);
      low = f32x4.pmin(f32x4.pmin(low, x), y);
      high = f32x4.pmax(f32x4.pmax(high, x), y);
      const a = v128.and(x, magnitude);
      const b = v128.and(y, magnitude);
      nearest = f32x4.pmin(f32x4.pmin(nearest, a), b);
      const xFinite = f32x4.lt(a, infinity);
      const yFinite = f32x4.lt(b, infinity);
      finite = i32x4.add(finite, i32x4.add(xFinite, yFinite));
      const u = f32x4.mul(v128.and(x, xFinite), scale4);
      const v = f32x4.mul(v128.and(y, yFinite), scale4);
      absolutes4 = f32x4.add(absolutes4, f32x4.add(v128.and(u, magnitude), v128.and(v, magnitude)));
      const c = v128.and(f32x4.sub(u, around4), xFinite);
      const d = v128.and(f32x4.sub(v, around4), yFinite);
      sum4 = f32x4.add(sum4, f32x4.add(c, d));
      squares4 = f32x4.add(squares4, f32x4.add(f32x4.mul(c, c), f32x4.mul(d, d)));
    }
    sums = f32x4.add(sums, sum4);
    squares = f32x4.add(squares, squares4);
    absolutes = f32x4.add(absolutes, absolutes4);
  }
  keepSums(sums, squares, absolutes);
  blockBeside = length + sumI32x4(finite);
  blockNearest = minF32x4(nearest);
  blockLow = minF32x4(low);
  blockHigh = maxF32x4(high);
  blockPositives = 0;
  blockNegatives = 0;
  if (blockLow == -Infinity || blockHigh == Infinity) keepInfinities(start, end);
}

// The counts of the infinities of a block, and the extremes of its finite values.
function keepInfinities(p: usize, end: usize): void {
  const magnitude = v128.load(scratch, MAGNITUDE);
  const infinity = v128.load(scratch, INFINITY);
  const minusInfinity = f32x4.neg(infinity);
  let low = infinity;
  let high = minusInfinity;
  let positives = i32x4.splat(0);
  let negatives = positives;
  for (; p < end; p += 16) {
    const x = v128.load(p);
    const isFinite = f32x4.lt(v128.and(x, magnitude), infinity);
    positives = i32x4.sub(positives, f32x4.eq(x, infinity));
    negatives = i32x4.sub(negatives, f32x4.eq(x, minusInfinity));
    low = f32x4.pmin(low, v128.bitselect(x, infinity, isFinite));
    high = f32x4.pmax(high, v128.bitselect(x, minusInfinity, isFinite));
  }
  blockLow = minF32x4(low);
  blockHigh = maxF32x4(high);
  blockPositives = sumI32x4(positives);
  blockNegatives = sumI32x4(negatives);
}

function keepSums(sums: v128, squares: v128, absolutes: v128): void {
  blockSum = sumF64x2(f64x2.add(lowF64(sums), highF64(sums)));
  blockSquares = sumF64x2(f64x2.add(lowF64(squares), highF64(squares)));
  blockAbsolutes = sumF64x2(f64x2.add(lowF64(absolutes), highF64(absolutes)));
}

function keepExtremes(positive: v128, negative: v128, nearest: v128): void {
  const top = maxI32x4(positive);
  const bottom = <i32>maxU32x4(negative);
  isNonNegative = bottom >= 0;
  blockBeside = 0;
  blockNearest = reinterpret<f32>(<i32>minU32x4(nearest));
  blockLow = bottom < 0 ? reinterpret<f32>(bottom) : blockNearest;
  blockHigh = top >= 0 ? reinterpret<f32>(top) : -blockNearest;
}

// Both count by the bits of |x| taken as integers.
export function countLow(p: usize, end: usize): void {
  const magnitude = v128.load(scratch, MAGNITUDE);
  const above4 = v128.load(scratch, ABOVE);
  const zero4 = i32x4.splat(0);
  let zeroCount = zero4;
  let nearCount = zero4;
  for (; p < end; p += 32) {
    const a = v128.and(v128.load(p), magnitude);
    const b = v128.and(v128.load(p, 16), magnitude);
    zeroCount = i32x4.add(zeroCount, i32x4.add(i32x4.eq(a, zero4), i32x4.eq(b, zero4)));
    nearCount = i32x4.add(nearCount, i32x4.add(i32x4.gt_s(above4, a), i32x4.gt_s(above4, b)));
  }
  // A mask lane is -1.
  addCounts(-(<f64>sumI32x4(zeroCount)), -(<f64>sumI32x4(nearCount)), 0);
}

export function countHigh(p: usize, end: usize): void {
  const magnitude = v128.load(scratch, MAGNITUDE);
  const below4 = v128.load(scratch, BELOW);
  let count = i32x4.splat(0);
  for (; p < end; p += 32) {
    const a = i32x4.gt_s(v128.and(v128.load(p), magnitude), below4);
    const b = i32x4.gt_s(v128.and(v128.load(p, 16), magnitude), below4);
    count = i32x4.add(count, i32x4.add(a, b));
  }
  // NaN and infinities lie above every threshold.
  addCounts(0, 0, <f64>(-sumI32x4(count) - blockBeside));
}
