// The swift way through a block of float64, the same as that of float32 (stats-float32.ts) but for the lanes, and with one loop for
// every shift. With u = 2^-53: a lane adds up 256 pairs, so sums are good to 257u and sums of squares to 259u; the squared
// deviations of a block to 5 (259 + 514) u = 4.3e-13.
import { sumF64x2, sumI64x2 } from './lanes';
import { scratch, SCRATCH_FLOAT64 } from './memory';
import { addCounts, addSizes, close, currentMean, isFarFromZero, join, open } from './stats-state';
import { careful } from './stats-careful';

const BLOCK: i32 = 1024;
const STEP: i32 = 4;
const ATTEMPTS: i32 = 3;
const FAR_SHIFT: f64 = 4;
const NEAR_SHIFT: f64 = 2;
// In memory, because engines build a vector anew in every turn of a loop, with what leads to it, but not one that was loaded.
const SPLAT: usize = SCRATCH_FLOAT64;
const MAGNITUDE: usize = SCRATCH_FLOAT64 + 16;
v128.store(scratch, i64x2.splat(0x7fffffffffffffff), MAGNITUDE);
// Sums of squares outside this range may have lost terms to overflow or underflow.
const SQUARES_MIN: f64 = 1e-280;
const SQUARES_MAX: f64 = 1e300;

let shift: f64 = 0;
let blockSum: f64 = 0;
let blockSquares: f64 = 0;
let blockAbsolutes: f64 = 0;
let blockLow: f64 = 0;
let blockHigh: f64 = 0;
let blockNearest: f64 = 0;

export function statsF64(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  open(state);
  shift = isFarFromZero(NEAR_SHIFT) ? currentMean() : 0;
  while (count >= STEP) {
    const length = min(BLOCK, count & ~(STEP - 1));
    if (!swift(p, length, epsilon, threshold)) careful(p, length, epsilon, threshold);
    p += (<usize>length) << 3;
    count -= length;
  }
  careful(p, count, epsilon, threshold);
  close(state);
}

// Changes nothing but `shift` and returns false when the block needs the careful way.
function swift(p: usize, length: i32, epsilon: f64, threshold: f64): bool {
  const count = <f64>length;
  const end = p + ((<usize>length) << 3);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    sums(p, end, shift);
    if (!(blockAbsolutes < Infinity)) break;
    const offset = blockSum / count;
    const center = shift + offset;
    const around = count * offset * offset;
    const rest = max(0, blockSquares - around);
    const isSafe = blockSquares < SQUARES_MAX && blockSquares > SQUARES_MIN;
    if (isSafe && around <= rest * FAR_SHIFT) {
      join(count, shift, offset, rest);
      shift = center * center * count <= rest * NEAR_SHIFT ? 0 : center;
    } else if (blockLow == blockHigh && shift == blockLow) {
      join(count, shift, 0, 0);
    } else {
      const next = blockLow == blockHigh ? blockLow : center;
      if (!isSafe && shift == 0 && blockLow != blockHigh) break;
      if (next == shift) break;
      shift = next;
      continue;
    }
    addSizes(blockAbsolutes, blockLow, blockHigh);
    if (blockNearest <= epsilon) countLow(p, end, epsilon);
    if (max(abs(blockLow), abs(blockHigh)) >= threshold) countHigh(p, end, threshold);
    return true;
  }
  shift = 0;
  return false;
}

function sums(p: usize, end: usize, around: f64): void {
  const magnitude = v128.load(scratch, MAGNITUDE);
  v128.store(scratch, f64x2.splat(around), SPLAT);
  const around2 = v128.load(scratch, SPLAT);
  let low = v128.load(p);
  let high = low;
  let nearest = v128.and(low, magnitude);
  let sum = f64x2.splat(0);
  let squares = sum;
  let others = sum;
  let absolutes = sum;
  for (; p < end; p += 32) {
    const x = v128.load(p);
    const y = v128.load(p, 16);
    low = f64x2.pmin(low, f64x2.pmin(x, y));
    high = f64x2.pmax(high, f64x2.pmax(x, y));
    const a = v128.and(x, magnitude);
    const b = v128.and(y, magnitude);
    nearest = f64x2.pmin(nearest, f64x2.pmin(a, b));
    absolutes = f64x2.add(absolutes, f64x2.add(a, b));
    const u = f64x2.sub(x, around2);
    const v = f64x2.sub(y, around2);
    sum = f64x2.add(sum, f64x2.add(u, v));
    if (ASC_FEATURE_RELAXED_SIMD) {
      squares = f64x2.relaxed_madd(u, u, squares);
      others = f64x2.relaxed_madd(v, v, others);
    } else {
      squares = f64x2.add(squares, f64x2.add(f64x2.mul(u, u), f64x2.mul(v, v)));
    }
  }
  blockSum = sumF64x2(sum);
  if (ASC_FEATURE_RELAXED_SIMD) squares = f64x2.add(squares, others);
  blockSquares = sumF64x2(squares);
  blockAbsolutes = sumF64x2(absolutes);
  blockLow = min(f64x2.extract_lane(low, 0), f64x2.extract_lane(low, 1));
  blockHigh = max(f64x2.extract_lane(high, 0), f64x2.extract_lane(high, 1));
  blockNearest = min(f64x2.extract_lane(nearest, 0), f64x2.extract_lane(nearest, 1));
}

function countLow(p: usize, end: usize, epsilon: f64): void {
  const magnitude = v128.load(scratch, MAGNITUDE);
  v128.store(scratch, f64x2.splat(epsilon), SPLAT);
  const epsilon2 = v128.load(scratch, SPLAT);
  const zero2 = f64x2.splat(0);
  let zeroCount = i64x2.splat(0);
  let nearCount = zeroCount;
  for (; p < end; p += 32) {
    const a = v128.and(v128.load(p), magnitude);
    const b = v128.and(v128.load(p, 16), magnitude);
    zeroCount = i64x2.sub(zeroCount, i64x2.add(f64x2.eq(a, zero2), f64x2.eq(b, zero2)));
    nearCount = i64x2.sub(nearCount, i64x2.add(f64x2.le(a, epsilon2), f64x2.le(b, epsilon2)));
  }
  addCounts(sumI64x2(zeroCount), sumI64x2(nearCount), 0);
}

function countHigh(p: usize, end: usize, threshold: f64): void {
  const magnitude = v128.load(scratch, MAGNITUDE);
  v128.store(scratch, f64x2.splat(threshold), SPLAT);
  const threshold2 = v128.load(scratch, SPLAT);
  let count = i64x2.splat(0);
  for (; p < end; p += 32) {
    const a = f64x2.ge(v128.and(v128.load(p), magnitude), threshold2);
    const b = f64x2.ge(v128.and(v128.load(p, 16), magnitude), threshold2);
    count = i64x2.sub(count, i64x2.add(a, b));
  }
  addCounts(0, 0, sumI64x2(count));
}
