// Integers are added up exactly. From the exact sum and sum of squares of a block follow the exact squared deviations around the
// integer next to its mean, in 64-bit arithmetic that may wrap on the way but not at the end:
//
//   sum (x - c)^2 = sum x^2 - 2 c sum x + n c^2
//
// so float64 rounds nothing but the last step, to the mean itself. int32 blocks with |x| >= 2^26 go the careful way of
// stats-careful.ts: their sums of squares leave 64 bits.
import { laneSum, maxI32x4, minU32x4, sumI32x4 } from './lanes';
import { addCounts, addSizes, close, join, open, single } from './stats-state';
import { carefulI32 } from './stats-careful';

const BLOCK: i32 = 1024;
const BYTE_BLOCK: i32 = 2048;
const INT_STEP: i32 = 8;
const BYTE_STEP: i32 = 16;
// 16 of these still fit in 32 bits.
const INT_LIMIT: i32 = 1 << 26;
const FOLD_BYTES: usize = 256;

export function statsI32(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  open(state);
  const above = <i32>min(floor(epsilon), <f64>INT_LIMIT) + 1;
  const below = <i32>min(ceil(threshold), <f64>INT_LIMIT) - 1;
  while (count >= INT_STEP) {
    const length = min(BLOCK, count & ~(INT_STEP - 1));
    if (!swiftI32(p, length, above, below)) carefulI32(p, length, epsilon, threshold);
    p += (<usize>length) << 2;
    count -= length;
  }
  carefulI32(p, count, epsilon, threshold);
  close(state);
}

export function statsU8(p: usize, count: i32, epsilon: f64, threshold: f64, state: usize): void {
  open(state);
  const near = <i32>min(floor(epsilon), 255);
  const far = <i32>min(ceil(threshold), 256);
  while (count >= BYTE_STEP) {
    const length = min(BYTE_BLOCK, count & ~(BYTE_STEP - 1));
    swiftU8(p, length, near, far);
    p += <usize>length;
    count -= length;
  }
  for (; count > 0; count--, p++) single(<f64>load<u8>(p), epsilon, threshold);
  close(state);
}

// `length` is a multiple of 8, up to 1,024. Near are sizes below `above`, saturated those above `below`.
function swiftI32(p: usize, length: i32, above: i32, below: i32): bool {
  const start = p;
  const end = p + ((<usize>length) << 2);
  let low = v128.load(p);
  let high = low;
  let nearest = i32x4.abs(low);
  let sum = i64x2.splat(0);
  let sizes = sum;
  let squares = sum;
  while (p < end) {
    let sum4 = i32x4.splat(0);
    let sizes4 = sum4;
    for (const to = min(p + FOLD_BYTES, end); p < to; p += 32) {
      const x = v128.load(p);
      const y = v128.load(p, 16);
      const a = i32x4.abs(x);
      const b = i32x4.abs(y);
      low = i32x4.min_s(low, i32x4.min_s(x, y));
      high = i32x4.max_s(high, i32x4.max_s(x, y));
      nearest = i32x4.min_u(nearest, i32x4.min_u(a, b));
      sum4 = i32x4.add(sum4, i32x4.add(x, y));
      sizes4 = i32x4.add(sizes4, i32x4.add(a, b));
      const u = i64x2.add(i64x2.extmul_low_i32x4_s(x, x), i64x2.extmul_high_i32x4_s(x, x));
      const v = i64x2.add(i64x2.extmul_low_i32x4_s(y, y), i64x2.extmul_high_i32x4_s(y, y));
      squares = i64x2.add(squares, i64x2.add(u, v));
    }
    sum = i64x2.add(sum, pairsI64(sum4));
    sizes = i64x2.add(sizes, pairsI64(sizes4));
  }
  const smallest = minI32x4(low);
  const largest = maxI32x4(high);
  if (smallest <= -INT_LIMIT || largest >= INT_LIMIT) return false;
  joinIntegers(length, laneSum(sum), laneSum(squares));
  addSizes(<f64>laneSum(sizes), <f64>smallest, <f64>largest);
  if (<i32>minU32x4(nearest) < above) {
    const zeroCount = countBelow(start, end, 1);
    addCounts(zeroCount, above == 1 ? zeroCount : countBelow(start, end, above), 0);
  }
  if (max(-smallest, largest) > below)
    addCounts(0, 0, <f64>length - countBelow(start, end, below + 1));
  return true;
}

// The values of a block with |x| < limit, all of which are of a smaller size than 2^31.
function countBelow(p: usize, end: usize, limit: i32): f64 {
  const limit4 = i32x4.splat(limit);
  let count = i32x4.splat(0);
  for (; p < end; p += 32) {
    const a = i32x4.gt_s(limit4, i32x4.abs(v128.load(p)));
    const b = i32x4.gt_s(limit4, i32x4.abs(v128.load(p, 16)));
    count = i32x4.add(count, i32x4.add(a, b));
  }
  return -(<f64>sumI32x4(count));
}

// `length` is a multiple of 16, up to 2,048. Near are values up to `near`, saturated those from `far`.
function swiftU8(p: usize, length: i32, near: i32, far: i32): void {
  const start = p;
  const end = p + <usize>length;
  let low = v128.load(p);
  let high = low;
  let sum = i32x4.splat(0);
  let squares = sum;
  for (; p < end; p += 16) {
    const x = v128.load(p);
    low = i8x16.min_u(low, x);
    high = i8x16.max_u(high, x);
    const a = i16x8.extend_low_i8x16_u(x);
    const b = i16x8.extend_high_i8x16_u(x);
    sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_u(i16x8.add(a, b)));
    squares = i32x4.add(squares, i32x4.add(i32x4.dot_i16x8_s(a, a), i32x4.dot_i16x8_s(b, b)));
  }
  const total = sumI32x4(sum);
  joinIntegers(length, total, sumI32x4(squares));
  const smallest = minU8x16(low);
  const largest = 255 - minU8x16(v128.not(high));
  addSizes(<f64>total, <f64>smallest, <f64>largest);
  if (smallest <= near) {
    const zeroCount = countUpTo(start, end, 0);
    addCounts(zeroCount, near == 0 ? zeroCount : countUpTo(start, end, near), 0);
  }
  if (largest >= far)
    addCounts(0, 0, <f64>length - (far == 0 ? 0 : countUpTo(start, end, far - 1)));
}

// At most 128 vectors, so that no lane counts beyond a byte.
function countUpTo(p: usize, end: usize, limit: i32): f64 {
  const limit16 = i8x16.splat(<i8>limit);
  let count = i8x16.splat(0);
  for (; p < end; p += 16) {
    const x = v128.load(p);
    count = i8x16.sub(count, i8x16.eq(i8x16.min_u(x, limit16), x));
  }
  return <f64>sumI32x4(i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(count)));
}

function joinIntegers(length: i32, sum: i64, squares: i64): void {
  const count = <f64>length;
  const center = <i64>nearest(<f64>sum / count);
  const rest = <f64>(sum - center * length);
  const around = <f64>(squares - 2 * center * sum + center * center * length);
  join(count, <f64>center, rest / count, max(0, around - (rest * rest) / count));
}

function pairsI64(v: v128): v128 {
  return i64x2.add(i64x2.extend_low_i32x4_s(v), i64x2.extend_high_i32x4_s(v));
}

function minI32x4(v: v128): i32 {
  return ~maxI32x4(v128.not(v));
}

function minU8x16(v: v128): i32 {
  v = i8x16.min_u(v, i64x2.shuffle(v, v, 1, 0));
  v = i8x16.min_u(v, i32x4.shuffle(v, v, 1, 0, 3, 2));
  const a = i32x4.extract_lane(v, 0);
  return min(min(a & 0xff, (a >>> 8) & 0xff), min((a >>> 16) & 0xff, a >>> 24));
}
