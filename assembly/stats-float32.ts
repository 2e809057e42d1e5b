// The swift way through a block of float32: float32 lanes around a shift K, which is 0 or near the mean of the block before. A
// block whose squared mean, counted from K, is above 4 times its variance is done again around that mean; so removing K again
// costs at most a factor of 5, whatever the data.
//
// With u = 2^-24: a lane adds up 16 sums of 16 pairs, which makes sums good to 32u with the subtraction of K and sums of squares
// to 34u; the squared deviations of a block to 5 (34 + 64) u = 3e-5, its mean to 32u sqrt(5) = 4.3e-6 of its standard deviation,
// its sum of |x| to 31u = 1.9e-6.
//
// A block that leaves the safe range of float32, as NaN and infinities do, goes the careful way of stats-careful.ts.
import { highF64, lowF64, maxI32x4, maxU32x4, minU32x4, sumF64x2, sumI32x4 } from './lanes';
import { addCounts, addSizes, close, currentMean, isFarFromZero, join, open } from './stats-state';
import { careful } from './stats-careful';

const SWIFT_BLOCK: i32 = 2048;
const SWIFT_STEP: i32 = 64;
const FOLD_BYTES: usize = 512;
const ATTEMPTS: i32 = 3;
// Squared distance of the mean from the shift, in variances: above the first the block is done again, below the second the next
// block is done around 0.
const FAR_SHIFT: f64 = 4;
const NEAR_SHIFT: f64 = 2;
// In memory, because engines build a constant anew in every turn of a loop.
const magnitudes: usize = memory.data<u32>([0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff], 16);
// Sums of float32 squares outside this range may have lost terms to overflow or underflow.
const SQUARES_MIN: f64 = 1e-26;
const SQUARES_MAX: f64 = 1e36;

let shift: f32 = 0;
let blockSum: f64 = 0;
let blockSquares: f64 = 0;
let blockAbsolutes: f64 = 0;
let hasPositive: bool = false;
let hasNegative: bool = false;
let blockPositive: f32 = 0;
let blockNegative: f32 = 0;
let blockNearest: f32 = 0;

// `epsilon` is the largest float32 not above the caller's epsilon, `threshold` the smallest float32 not below the caller's: then
// the float32 comparisons decide as float64 ones would.
export function statsF32(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  open(state);
  // Above -0, so that their bits compare as they do.
  const near = max(<f32>epsilon, 0);
  const far = max(<f32>threshold, 0);
  shift = isFarFromZero(NEAR_SHIFT) ? <f32>currentMean() : 0;
  while (count >= SWIFT_STEP) {
    const length = min(SWIFT_BLOCK, count & ~(SWIFT_STEP - 1));
    if (!swift(p, length, near, far)) careful<f32>(p, length, epsilon, threshold);
    p += (<usize>length) << 2;
    count -= length;
  }
  careful<f32>(p, count, epsilon, threshold);
  close(state);
}

// `length` is a multiple of 64, from 64 to 2,048. Changes nothing but `shift` and returns false when the block needs the careful
// way.
function swift(p: usize, length: i32, epsilon: f32, threshold: f32): bool {
  const count = <f64>length;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (shift == 0) plainSums(p, length);
    else shiftedSums(p, length, shift);
    if (!(blockAbsolutes < Infinity)) return false;
    const low = hasNegative ? blockNegative : blockNearest;
    const high = hasPositive ? blockPositive : -blockNearest;
    const offset = blockSum / count;
    const center = <f64>shift + offset;
    const around = count * offset * offset;
    const rest = max(0, blockSquares - around);
    if (blockSquares < SQUARES_MAX && blockSquares > SQUARES_MIN && around <= rest * FAR_SHIFT) {
      join(count, <f64>shift, offset, rest);
      shift = center * center * count <= rest * NEAR_SHIFT ? 0 : <f32>center;
    } else if (low == high && shift == low) {
      join(count, <f64>shift, 0, 0);
    } else {
      // NaN never gets here: a block with NaN or an infinity has no finite sum of |x|.
      if (shift == 0 && !(blockSquares < SQUARES_MAX && blockSquares > SQUARES_MIN) && low != high)
        return false;
      const next = low == high ? low : <f32>center;
      if (next == shift) break;
      shift = next;
      continue;
    }
    addSizes(blockAbsolutes, <f64>low, <f64>high);
    const end = p + ((<usize>length) << 2);
    if (blockNearest <= epsilon) countLow(p, end, epsilon);
    if (max(abs(low), abs(high)) >= threshold) countHigh(p, end, threshold);
    return true;
  }
  shift = 0;
  return false;
}

// Sums, sums of squares and of |x| of one block, and its extremes, into the variables `block...`. Two vectors at a time, six
// accumulators: with more, the engines of today keep an accumulator on the stack. The extremes come from the bits taken as
// integers, which more execution units compare than floats: the largest signed one is the largest x unless all have the sign,
// the largest unsigned one the smallest x if any has the sign, the smallest unsigned one without the sign the smallest |x|.
function plainSums(p: usize, length: i32): void {
  const magnitude = v128.load(magnitudes);
  let positive = v128.load(p);
  let negative = positive;
  let nearest = v128.and(positive, magnitude);
  let sums = f32x4.splat(0);
  let squares = sums;
  let absolutes = sums;
  for (const end = p + ((<usize>length) << 2); p < end;) {
    let sum4 = f32x4.splat(0);
    let squares4 = sum4;
    let absolutes4 = sum4;
    for (const to = min(p + FOLD_BYTES, end); p < to; p += 32) {
      const x = v128.load(p);
      const y = v128.load(p, 16);
      positive = i32x4.max_s(positive, i32x4.max_s(x, y));
      negative = i32x4.max_u(negative, i32x4.max_u(x, y));
      const a = v128.and(x, magnitude);
      const b = v128.and(y, magnitude);
      nearest = i32x4.min_u(nearest, i32x4.min_u(a, b));
      absolutes4 = f32x4.add(absolutes4, f32x4.add(a, b));
      sum4 = f32x4.add(sum4, f32x4.add(x, y));
      squares4 = f32x4.add(squares4, f32x4.add(f32x4.mul(x, x), f32x4.mul(y, y)));
    }
    sums = f32x4.add(sums, sum4);
    squares = f32x4.add(squares, squares4);
    absolutes = f32x4.add(absolutes, absolutes4);
  }
  keepSums(sums, squares, absolutes);
  keepExtremes(positive, negative, nearest);
}

// The same `around` a value, but for the sum of |x| and the extremes.
function shiftedSums(p: usize, length: i32, around: f32): void {
  const magnitude = v128.load(magnitudes);
  const around4 = f32x4.splat(around);
  let positive = v128.load(p);
  let negative = positive;
  let nearest = v128.and(positive, magnitude);
  let sums = f32x4.splat(0);
  let squares = sums;
  let absolutes = sums;
  for (const end = p + ((<usize>length) << 2); p < end;) {
    let sum4 = f32x4.splat(0);
    let squares4 = sum4;
    let absolutes4 = sum4;
    for (const to = min(p + FOLD_BYTES, end); p < to; p += 32) {
      const x = v128.load(p);
      const y = v128.load(p, 16);
      positive = i32x4.max_s(positive, i32x4.max_s(x, y));
      negative = i32x4.max_u(negative, i32x4.max_u(x, y));
      const a = v128.and(x, magnitude);
      const b = v128.and(y, magnitude);
      nearest = i32x4.min_u(nearest, i32x4.min_u(a, b));
      absolutes4 = f32x4.add(absolutes4, f32x4.add(a, b));
      const u = f32x4.sub(x, around4);
      const v = f32x4.sub(y, around4);
      sum4 = f32x4.add(sum4, f32x4.add(u, v));
      squares4 = f32x4.add(squares4, f32x4.add(f32x4.mul(u, u), f32x4.mul(v, v)));
    }
    sums = f32x4.add(sums, sum4);
    squares = f32x4.add(squares, squares4);
    absolutes = f32x4.add(absolutes, absolutes4);
  }
  keepSums(sums, squares, absolutes);
  keepExtremes(positive, negative, nearest);
}

function keepSums(sums: v128, squares: v128, absolutes: v128): void {
  blockSum = sumF64x2(f64x2.add(lowF64(sums), highF64(sums)));
  blockSquares = sumF64x2(f64x2.add(lowF64(squares), highF64(squares)));
  blockAbsolutes = sumF64x2(f64x2.add(lowF64(absolutes), highF64(absolutes)));
}

function keepExtremes(positive: v128, negative: v128, nearest: v128): void {
  const top = maxI32x4(positive);
  const bottom = maxU32x4(negative);
  hasPositive = top >= 0;
  hasNegative = <i32>bottom < 0;
  blockPositive = reinterpret<f32>(top);
  blockNegative = reinterpret<f32>(<i32>bottom);
  blockNearest = reinterpret<f32>(<i32>minU32x4(nearest));
}

// Both count in a block without NaN, by the bits of |x| taken as integers. `epsilon` and `threshold` are not -0.
function countLow(p: usize, end: usize, epsilon: f32): void {
  const magnitude = v128.load(magnitudes);
  const above4 = i32x4.splat(reinterpret<i32>(epsilon) + 1);
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

function countHigh(p: usize, end: usize, threshold: f32): void {
  const magnitude = v128.load(magnitudes);
  const below4 = i32x4.splat(reinterpret<i32>(threshold) - 1);
  let count = i32x4.splat(0);
  for (; p < end; p += 32) {
    const a = i32x4.gt_s(v128.and(v128.load(p), magnitude), below4);
    const b = i32x4.gt_s(v128.and(v128.load(p, 16), magnitude), below4);
    count = i32x4.add(count, i32x4.add(a, b));
  }
  addCounts(0, 0, -(<f64>sumI32x4(count)));
}
