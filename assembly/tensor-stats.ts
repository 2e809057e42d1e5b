// One pass over a tensor: counts, mean, squared deviations, L1, minimum, maximum.
//
// The tensor is taken in blocks of at most 1,024 elements, each small enough to stay in the first-level cache. A block gives
// its own count, mean and squared deviations, which join the running ones by the pairwise update of Chan, Golub and LeVeque
// (1979), in float64, around an origin taken from the first block. Two ways through a block, with u = 2^-24:
//
// - swift (float32 only): float32 lanes around a shift K, folded into float64 every 256 elements. K is the mean of 64 samples
//   of the block, so sum (x-K)^2 <= (1 + 1024/64) sum (x-mean)^2 whatever the data: removing K again costs at most a factor of
//   17. A lane adds up 16 four-term trees, so sums are good to 20u and sums of squares to 21u; the squared deviations of a
//   block to 17 (21 + 40) u = 6.2e-5, its mean to 20u sqrt(17) = 5e-6 of its standard deviation.
// - careful (all types): float64 lanes, mean first, then squared deviations around it, non-finite values masked. A float32
//   block goes this way when its sums leave the safe range of float32, which NaN and infinities do too.
import {
  STATS_FINITE,
  STATS_L1,
  STATS_M2,
  STATS_MAX,
  STATS_MEAN,
  STATS_MIN,
  STATS_NAN,
  STATS_NEAR_ZERO,
  STATS_NEGATIVE_INFINITY,
  STATS_ORIGIN,
  STATS_POSITIVE_INFINITY,
  STATS_SATURATED,
  STATS_SLOTS,
  STATS_ZERO,
} from '../src/kernel/layout';
import {
  firstPair,
  highF64,
  lowF64,
  maxF32x4,
  minF32x4,
  secondPair,
  sumF64x2,
  sumI32x4,
  sumI64x2,
} from './lanes';

const BLOCK: i32 = 1024;
const SWIFT_STEP: i32 = 64;
const FOLD_BYTES: usize = 1024;
// Sums of float32 squares outside this range may have lost terms to overflow or underflow.
const SQUARES_MIN: f64 = 1e-26;
const SQUARES_MAX: f64 = 1e36;

let finite: f64 = 0;
let mean: f64 = 0;
let m2: f64 = 0;
let l1: f64 = 0;
let smallest: f64 = Infinity;
let largest: f64 = -Infinity;
let nans: f64 = 0;
let positiveInfinities: f64 = 0;
let negativeInfinities: f64 = 0;
let zeros: f64 = 0;
let nearZeros: f64 = 0;
let saturated: f64 = 0;
let origin: f64 = 0;

export function statsReset(state: usize): void {
  memory.fill(state, 0, STATS_SLOTS << 3);
  put(state, STATS_MIN, Infinity);
  put(state, STATS_MAX, -Infinity);
}

// `epsilon` is the largest float32 not above the caller's epsilon, `threshold` the smallest float32 not below the caller's: then
// the float32 comparisons decide as float64 ones would.
export function statsF32(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  open(state);
  const epsilon4 = f32x4.splat(<f32>epsilon);
  const threshold4 = f32x4.splat(<f32>threshold);
  while (count >= SWIFT_STEP) {
    const length = min(BLOCK, count & ~(SWIFT_STEP - 1));
    if (!swift(p, length, epsilon4, threshold4)) careful<f32>(p, length, epsilon, threshold);
    p += (<usize>length) << 2;
    count -= length;
  }
  careful<f32>(p, count, epsilon, threshold);
  close(state);
}

export function statsF64(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  all<f64>(p, count, epsilon, threshold, state);
}

export function statsI32(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  all<i32>(p, count, epsilon, threshold, state);
}

export function statsU8(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  all<u8>(p, count, epsilon, threshold, state);
}

function all<T>(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  open(state);
  while (count > 0) {
    const length = min(BLOCK, count);
    careful<T>(p, length, epsilon, threshold);
    p += <usize>length * sizeof<T>();
    count -= length;
  }
  close(state);
}

// `length` is a multiple of 64, from 64 to 1,024. Changes nothing and returns false when the block needs the careful way.
function swift(p: usize, length: i32, epsilon4: v128, threshold4: v128): bool {
  const end = p + ((<usize>length) << 2);
  const magnitude = i32x4.splat(0x7fffffff);
  const shift = sampleMean(p, length);
  const shift4 = f32x4.splat(shift);
  let low4 = v128.load(p);
  let high4 = low4;
  let nearest4 = v128.and(low4, magnitude);
  let sum2 = f64x2.splat(0);
  let squares2 = sum2;
  let absolutes2 = sum2;
  for (let from = p; from < end; from += FOLD_BYTES) {
    const to = min(from + FOLD_BYTES, end);
    let sum4 = f32x4.splat(0);
    let squares4 = sum4;
    let absolutes4 = sum4;
    for (let q = from; q < to; q += 64) {
      let a = v128.load(q);
      let b = v128.load(q, 16);
      let c = v128.load(q, 32);
      let d = v128.load(q, 48);
      low4 = f32x4.pmin(low4, f32x4.pmin(f32x4.pmin(a, b), f32x4.pmin(c, d)));
      high4 = f32x4.pmax(high4, f32x4.pmax(f32x4.pmax(a, b), f32x4.pmax(c, d)));
      const aa = v128.and(a, magnitude);
      const bb = v128.and(b, magnitude);
      const cc = v128.and(c, magnitude);
      const dd = v128.and(d, magnitude);
      nearest4 = f32x4.pmin(nearest4, f32x4.pmin(f32x4.pmin(aa, bb), f32x4.pmin(cc, dd)));
      absolutes4 = f32x4.add(absolutes4, f32x4.add(f32x4.add(aa, bb), f32x4.add(cc, dd)));
      a = f32x4.sub(a, shift4);
      b = f32x4.sub(b, shift4);
      c = f32x4.sub(c, shift4);
      d = f32x4.sub(d, shift4);
      sum4 = f32x4.add(sum4, f32x4.add(f32x4.add(a, b), f32x4.add(c, d)));
      a = f32x4.add(f32x4.mul(a, a), f32x4.mul(b, b));
      c = f32x4.add(f32x4.mul(c, c), f32x4.mul(d, d));
      squares4 = f32x4.add(squares4, f32x4.add(a, c));
    }
    sum2 = f64x2.add(sum2, f64x2.add(lowF64(sum4), highF64(sum4)));
    squares2 = f64x2.add(squares2, f64x2.add(lowF64(squares4), highF64(squares4)));
    absolutes2 = f64x2.add(absolutes2, f64x2.add(lowF64(absolutes4), highF64(absolutes4)));
  }
  const squares = sumF64x2(squares2);
  const absolutes = sumF64x2(absolutes2);
  if (!(absolutes < Infinity)) return false;
  // The comparison is false for NaN, so a block with NaN or an infinity never gets past it.
  if (!(squares < SQUARES_MAX && squares > SQUARES_MIN)) {
    const isConstant = squares == 0 && minF32x4(low4) == maxF32x4(high4);
    if (!isConstant) return false;
  }
  const blockLow = minF32x4(low4);
  const blockHigh = maxF32x4(high4);
  const count = <f64>length;
  const offset = sumF64x2(sum2) / count;
  join(count, <f64>shift, offset, max(0, squares - count * offset * offset));
  l1 += absolutes;
  smallest = min(smallest, <f64>blockLow);
  largest = max(largest, <f64>blockHigh);
  if (v128.any_true(f32x4.le(nearest4, f32x4.pmax(epsilon4, f32x4.splat(0)))))
    countLow(p, end, epsilon4);
  const farthest = f32x4.splat(max(abs(blockLow), abs(blockHigh)));
  if (v128.any_true(f32x4.ge(farthest, threshold4))) countHigh(p, end, threshold4);
  return true;
}

function countLow(p: usize, end: usize, epsilon4: v128): void {
  const magnitude = i32x4.splat(0x7fffffff);
  const zero4 = f32x4.splat(0);
  let zeroCount = i32x4.splat(0);
  let nearCount = zeroCount;
  for (; p < end; p += 32) {
    const a = v128.and(v128.load(p), magnitude);
    const b = v128.and(v128.load(p, 16), magnitude);
    zeroCount = i32x4.sub(zeroCount, i32x4.add(f32x4.eq(a, zero4), f32x4.eq(b, zero4)));
    nearCount = i32x4.sub(nearCount, i32x4.add(f32x4.le(a, epsilon4), f32x4.le(b, epsilon4)));
  }
  zeros += <f64>sumI32x4(zeroCount);
  nearZeros += <f64>sumI32x4(nearCount);
}

function countHigh(p: usize, end: usize, threshold4: v128): void {
  const magnitude = i32x4.splat(0x7fffffff);
  let count = i32x4.splat(0);
  for (; p < end; p += 32) {
    const a = f32x4.ge(v128.and(v128.load(p), magnitude), threshold4);
    const b = f32x4.ge(v128.and(v128.load(p, 16), magnitude), threshold4);
    count = i32x4.sub(count, i32x4.add(a, b));
  }
  saturated += <f64>sumI32x4(count);
}

// The mean of sixteen vectors, evenly spread over the block. It may be NaN or infinite.
function sampleMean(p: usize, length: i32): f32 {
  const stride = <usize>((length >> 4) << 2) & ~15;
  let even = f32x4.splat(0);
  let odd = even;
  for (let i = 0; i < 8; i++) {
    even = f32x4.add(even, v128.load(p));
    odd = f32x4.add(odd, v128.load(p + stride));
    p += stride << 1;
  }
  even = f32x4.add(even, odd);
  return <f32>(sumF64x2(f64x2.add(lowF64(even), highF64(even))) * 0.015625);
}

function careful<T>(p: usize, length: i32, epsilon: f64, threshold: f64): void {
  const start = p;
  const end = p + <usize>(length & ~3) * sizeof<T>();
  const magnitude = i64x2.splat(0x7fffffffffffffff);
  const infinity = f64x2.splat(Infinity);
  const zero = f64x2.splat(0);
  const epsilon2 = f64x2.splat(epsilon);
  const threshold2 = f64x2.splat(threshold);
  let sum = zero;
  let absolutes = zero;
  let low = infinity;
  let high = f64x2.splat(-Infinity);
  let finiteCount = i64x2.splat(0);
  let positiveCount = finiteCount;
  let negativeCount = finiteCount;
  let zeroCount = finiteCount;
  let nearCount = finiteCount;
  let saturatedCount = finiteCount;
  const step = 2 * sizeof<T>();
  for (; p < end; p += step) {
    const x = firstPair<T>(p);
    const a = v128.and(x, magnitude);
    let value = x;
    let size = a;
    if (isFloat<T>()) {
      const isFinite = f64x2.lt(a, infinity);
      finiteCount = i64x2.sub(finiteCount, isFinite);
      positiveCount = i64x2.sub(positiveCount, f64x2.eq(x, infinity));
      negativeCount = i64x2.sub(negativeCount, f64x2.eq(x, f64x2.splat(-Infinity)));
      saturatedCount = i64x2.sub(saturatedCount, v128.and(isFinite, f64x2.ge(a, threshold2)));
      value = v128.and(x, isFinite);
      size = v128.and(a, isFinite);
      low = f64x2.pmin(low, v128.bitselect(x, infinity, isFinite));
      high = f64x2.pmax(high, v128.bitselect(x, f64x2.splat(-Infinity), isFinite));
    } else {
      saturatedCount = i64x2.sub(saturatedCount, f64x2.ge(a, threshold2));
      low = f64x2.pmin(low, x);
      high = f64x2.pmax(high, x);
    }
    zeroCount = i64x2.sub(zeroCount, f64x2.eq(x, zero));
    nearCount = i64x2.sub(nearCount, f64x2.le(a, epsilon2));
    sum = f64x2.add(sum, value);
    absolutes = f64x2.add(absolutes, size);
  }
  const vectorCount = <f64>(length & ~3);
  const count = isFloat<T>() ? sumI64x2(finiteCount) : vectorCount;
  if (isFloat<T>()) {
    const positive = sumI64x2(positiveCount);
    const negative = sumI64x2(negativeCount);
    positiveInfinities += positive;
    negativeInfinities += negative;
    nans += vectorCount - count - positive - negative;
  }
  zeros += sumI64x2(zeroCount);
  nearZeros += sumI64x2(nearCount);
  saturated += sumI64x2(saturatedCount);
  if (count > 0) {
    l1 += sumF64x2(absolutes);
    smallest = min(smallest, min(f64x2.extract_lane(low, 0), f64x2.extract_lane(low, 1)));
    largest = max(largest, max(f64x2.extract_lane(high, 0), f64x2.extract_lane(high, 1)));
    deviations<T>(start, end, sumF64x2(sum) / count, count);
  }
  for (let i = 0, rest = length & 3; i < rest; i++) {
    single(<f64>load<T>(end + <usize>i * sizeof<T>()), epsilon, threshold);
  }
}

// Squared deviations of the finite values from `center`, then the correction for what rounding left in `center`.
function deviations<T>(p: usize, end: usize, center: f64, count: f64): void {
  const magnitude = i64x2.splat(0x7fffffffffffffff);
  const infinity = f64x2.splat(Infinity);
  const center2 = f64x2.splat(center);
  let rest = f64x2.splat(0);
  let restOdd = rest;
  let squares = rest;
  let squaresOdd = rest;
  const step = 4 * sizeof<T>();
  for (; p < end; p += step) {
    const x = firstPair<T>(p);
    const y = secondPair<T>(p);
    let d = f64x2.sub(x, center2);
    let e = f64x2.sub(y, center2);
    if (isFloat<T>()) {
      d = v128.and(d, f64x2.lt(v128.and(x, magnitude), infinity));
      e = v128.and(e, f64x2.lt(v128.and(y, magnitude), infinity));
    }
    rest = f64x2.add(rest, d);
    restOdd = f64x2.add(restOdd, e);
    squares = f64x2.add(squares, f64x2.mul(d, d));
    squaresOdd = f64x2.add(squaresOdd, f64x2.mul(e, e));
  }
  const error = sumF64x2(f64x2.add(rest, restOdd)) / count;
  const total = sumF64x2(f64x2.add(squares, squaresOdd));
  join(count, center, error, max(0, total - count * error * error));
}

function single(x: f64, epsilon: f64, threshold: f64): void {
  const size = abs(x);
  if (size < Infinity) {
    join(1, x, 0, 0);
    l1 += size;
    smallest = min(smallest, x);
    largest = max(largest, x);
    if (size == 0) zeros += 1;
    if (size <= epsilon) nearZeros += 1;
    if (size >= threshold) saturated += 1;
  } else if (x == Infinity) positiveInfinities += 1;
  else if (x == -Infinity) negativeInfinities += 1;
  else nans += 1;
}

// A block with mean `center + offset`, the offset being the small part.
function join(count: f64, center: f64, offset: f64, blockM2: f64): void {
  if (finite == 0) origin = center;
  const total = finite + count;
  const delta = center - origin + offset - mean;
  const weight = count / total;
  m2 += blockM2 + delta * delta * (finite * weight);
  mean += delta * weight;
  finite = total;
}

function open(state: usize): void {
  finite = get(state, STATS_FINITE);
  mean = get(state, STATS_MEAN);
  m2 = get(state, STATS_M2);
  l1 = get(state, STATS_L1);
  smallest = get(state, STATS_MIN);
  largest = get(state, STATS_MAX);
  nans = get(state, STATS_NAN);
  positiveInfinities = get(state, STATS_POSITIVE_INFINITY);
  negativeInfinities = get(state, STATS_NEGATIVE_INFINITY);
  zeros = get(state, STATS_ZERO);
  nearZeros = get(state, STATS_NEAR_ZERO);
  saturated = get(state, STATS_SATURATED);
  origin = get(state, STATS_ORIGIN);
}

function close(state: usize): void {
  put(state, STATS_FINITE, finite);
  put(state, STATS_MEAN, mean);
  put(state, STATS_M2, m2);
  put(state, STATS_L1, l1);
  put(state, STATS_MIN, smallest);
  put(state, STATS_MAX, largest);
  put(state, STATS_NAN, nans);
  put(state, STATS_POSITIVE_INFINITY, positiveInfinities);
  put(state, STATS_NEGATIVE_INFINITY, negativeInfinities);
  put(state, STATS_ZERO, zeros);
  put(state, STATS_NEAR_ZERO, nearZeros);
  put(state, STATS_SATURATED, saturated);
  put(state, STATS_ORIGIN, origin);
}

function get(state: usize, slot: i32): f64 {
  return load<f64>(state + ((<usize>slot) << 3));
}

function put(state: usize, slot: i32, value: f64): void {
  store<f64>(state + ((<usize>slot) << 3), value);
}
