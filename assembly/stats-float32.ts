// The swift way through a block of float32: float32 lanes around a shift K, which is 0 or near the mean of the block before. A
// block whose squared mean, counted from K, is above 4 times its variance is done again around that mean; so removing K again
// costs at most a factor of 5, whatever the data.
//
// With u = 2^-24: a lane adds up 16 sums of 16 pairs, which makes sums good to 32u with the subtraction of K and sums of squares
// to 34u; the squared deviations of a block to 5 (34 + 64) u = 3e-5, its mean to 32u sqrt(5) = 4.3e-6 of its standard deviation,
// its sum of |x| to 31u = 1.9e-6. Relaxed SIMD (see relaxed.ts) adds 16 products to each of two lanes and rounds no more often.
//
// A block with NaN or infinities, and one whose squares leave float32, is done again with those masked and with all values scaled by
// a power of two; the blocks after it start that way, until one needs neither. What is left, the last few elements, goes the
// careful way of stats-careful.ts.
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
import {
  addCounts,
  addNonFinite,
  addSizes,
  close,
  currentMean,
  isFarFromZero,
  join,
  open,
} from './stats-state';
import { carefulF32 } from './stats-careful';

const SWIFT_BLOCK: i32 = 2048;
const SWIFT_STEP: i32 = 64;
const FOLD_BYTES: usize = 512;
// NaN found, scale found, mean found, mean found again.
const ATTEMPTS: i32 = 5;
// Squared distance of the mean from the shift, in variances: above the first the block is done again, below the second the next
// block is done around 0.
const FAR_SHIFT: f64 = 4;
const NEAR_SHIFT: f64 = 2;
// In memory, because engines build a constant anew in every turn of a loop.
const magnitudes: usize = memory.data<u32>([0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff], 16);
const infinities: usize = memory.data<f32>([Infinity, Infinity, Infinity, Infinity], 16);
// Sums of float32 squares outside this range may have lost terms to overflow or underflow.
const SQUARES_MIN: f64 = 1e-26;
const SQUARES_MAX: f64 = 1e36;

// Powers of two with an exponent beyond it, and their inverse, are not normal numbers of float32.
const MOST_SCALE: i32 = 120;

let shift: f32 = 0;
let isMasked: bool = false;
let scale: f32 = 1;
let blockSum: f64 = 0;
let blockSquares: f64 = 0;
let blockAbsolutes: f64 = 0;
let blockLow: f32 = 0;
let blockHigh: f32 = 0;
let blockNearest: f32 = 0;
// NaN and infinities, and the infinities of either sign.
let blockBeside: i32 = 0;
let blockPositives: i32 = 0;
let blockNegatives: i32 = 0;

// `epsilon` is the largest float32 not above the caller's epsilon, `threshold` the smallest float32 not below the caller's: then
// the float32 comparisons decide as float64 ones would.
export function statsF32(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  open(state);
  // Above -0, so that their bits compare as they do.
  const near = max(<f32>epsilon, 0);
  const far = max(<f32>threshold, 0);
  shift = isFarFromZero(NEAR_SHIFT) ? <f32>currentMean() : 0;
  isMasked = false;
  scale = 1;
  while (count >= SWIFT_STEP) {
    const length = min(SWIFT_BLOCK, count & ~(SWIFT_STEP - 1));
    if (!swift(p, length, near, far)) carefulF32(p, length, epsilon, threshold);
    p += (<usize>length) << 2;
    count -= length;
  }
  carefulF32(p, count, epsilon, threshold);
  close(state);
}

// `length` is a multiple of 64, from 64 to 2,048. Changes nothing but how the next block is done and returns false when the block needs
// the careful way.
function swift(p: usize, length: i32, epsilon: f32, threshold: f32): bool {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    blockBeside = 0;
    if (isMasked) maskedSums(p, length, shift, scale);
    else if (shift == 0) plainSums(p, length);
    else shiftedSums(p, length, shift);
    if (!isMasked && !(blockAbsolutes < Infinity)) {
      isMasked = true;
      continue;
    }
    const end = p + ((<usize>length) << 2);
    const count = <f64>(length - blockBeside);
    if (count == 0) {
      addBeside();
      return true;
    }
    const low = blockLow;
    const high = blockHigh;
    const unit = 1 / <f64>scale;
    const offset = (blockSum / count) * unit;
    const center = <f64>shift + offset;
    const around = count * offset * offset;
    const squares = blockSquares * unit * unit;
    const rest = max(0, squares - around);
    const isSafe =
      blockSquares < SQUARES_MAX && blockSquares > SQUARES_MIN && blockAbsolutes < Infinity;
    if (isSafe && around <= rest * FAR_SHIFT) {
      join(count, <f64>shift, offset, rest);
      shift = center * center * count <= rest * NEAR_SHIFT ? 0 : <f32>center;
    } else if (low == high && shift == low && blockAbsolutes < Infinity) {
      join(count, <f64>shift, 0, 0);
    } else if (!isSafe && (low != high || !(blockAbsolutes < Infinity))) {
      const next = scaleOf(max(abs(low), abs(high)));
      if (next == scale) break;
      scale = next;
      isMasked = true;
      continue;
    } else {
      const next = low == high ? low : <f32>center;
      if (next == shift) break;
      shift = next;
      continue;
    }
    addSizes(blockAbsolutes * unit, <f64>low, <f64>high);
    if (blockNearest <= epsilon) countLow(p, end, epsilon);
    if (max(abs(low), abs(high)) >= threshold) countHigh(p, end, threshold);
    if (blockBeside > 0) addBeside();
    if (squares < SQUARES_MAX && squares > SQUARES_MIN) scale = 1;
    isMasked = blockBeside > 0 || scale != 1;
    return true;
  }
  shift = 0;
  scale = 1;
  return false;
}

function addBeside(): void {
  const nans = blockBeside - blockPositives - blockNegatives;
  addNonFinite(<f64>nans, <f64>blockPositives, <f64>blockNegatives);
}

// A power of two that brings a size near 1.
function scaleOf(size: f32): f32 {
  const exponent = ((reinterpret<i32>(size) >> 23) & 0xff) - 127;
  return reinterpret<f32>((127 - max(-MOST_SCALE, min(MOST_SCALE, exponent))) << 23);
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
    let others4 = sum4;
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
      if (ASC_FEATURE_RELAXED_SIMD) {
        squares4 = f32x4.relaxed_madd(x, x, squares4);
        others4 = f32x4.relaxed_madd(y, y, others4);
      } else {
        squares4 = f32x4.add(squares4, f32x4.add(f32x4.mul(x, x), f32x4.mul(y, y)));
      }
    }
    sums = f32x4.add(sums, sum4);
    if (ASC_FEATURE_RELAXED_SIMD) squares4 = f32x4.add(squares4, others4);
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
    let others4 = sum4;
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
      if (ASC_FEATURE_RELAXED_SIMD) {
        squares4 = f32x4.relaxed_madd(u, u, squares4);
        others4 = f32x4.relaxed_madd(v, v, others4);
      } else {
        squares4 = f32x4.add(squares4, f32x4.add(f32x4.mul(u, u), f32x4.mul(v, v)));
      }
    }
    sums = f32x4.add(sums, sum4);
    if (ASC_FEATURE_RELAXED_SIMD) squares4 = f32x4.add(squares4, others4);
    squares = f32x4.add(squares, squares4);
    absolutes = f32x4.add(absolutes, absolutes4);
  }
  keepSums(sums, squares, absolutes);
  keepExtremes(positive, negative, nearest);
}

// The same again, of the finite values, the sums in units of 1 / scale, and the count of the others. Minimum and maximum pass over
// NaN by themselves; where an infinity shows in them, they are found again.
function maskedSums(p: usize, length: i32, around: f32, scale: f32): void {
  const start = p;
  const magnitude = v128.load(magnitudes);
  const infinity = v128.load(infinities);
  const scale4 = f32x4.splat(scale);
  const around4 = f32x4.splat(around * scale);
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
  const magnitude = v128.load(magnitudes);
  const infinity = v128.load(infinities);
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
  blockNearest = reinterpret<f32>(<i32>minU32x4(nearest));
  blockLow = bottom < 0 ? reinterpret<f32>(bottom) : blockNearest;
  blockHigh = top >= 0 ? reinterpret<f32>(top) : -blockNearest;
}

// Both count by the bits of |x| taken as integers. `epsilon` and `threshold` are not -0.
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
  // NaN and infinities lie above every threshold.
  addCounts(0, 0, <f64>(-sumI32x4(count) - blockBeside));
}
