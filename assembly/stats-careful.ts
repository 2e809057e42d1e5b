// The careful way through a block: float64 lanes, mean first, then squared deviations around it, non-finite values masked. A tensor is
// taken in blocks of at most 1,024 elements (float32 and uint8: 2,048), each small enough to stay in the first-level cache; a block
// gives its own count, mean and squared deviations, which join the running ones (stats-state.ts). Every type has a swift way besides
// (stats-float32.ts, stats-float64.ts, stats-integer.ts) and goes this one, as float64, where that has to give up, and with the last
// few elements.
import { firstPair, secondPair, sumF64x2, sumI64x2 } from './lanes';
import { scratch, SCRATCH_CAREFUL } from './memory';
import { addCounts, addNonFinite, addSizes, join, single } from './stats-state';

const BLOCK: i32 = 1024;

export function carefulF32(p: usize, length: i32, epsilon: f64, threshold: f64): void {
  widened<f32>(p, length, epsilon, threshold);
}

export function carefulI32(p: usize, length: i32, epsilon: f64, threshold: f64): void {
  widened<i32>(p, length, epsilon, threshold);
}

function widened<T>(p: usize, length: i32, epsilon: f64, threshold: f64): void {
  for (; length > 0; length -= BLOCK) {
    const part = min(BLOCK, length);
    const wide = scratch + SCRATCH_CAREFUL;
    let at = wide;
    for (const end = at + ((<usize>(part & ~3)) << 3); at < end; at += 32) {
      v128.store(at, firstPair<T>(p));
      v128.store(at, secondPair<T>(p), 16);
      p += 4 * sizeof<T>();
    }
    for (let rest = part & 3; rest > 0; rest--, at += 8) {
      store<f64>(at, <f64>load<T>(p));
      p += sizeof<T>();
    }
    careful(wide, part, epsilon, threshold);
  }
}

/** `length` elements of float64. */
export function careful(p: usize, length: i32, epsilon: f64, threshold: f64): void {
  const start = p;
  const end = p + ((<usize>(length & ~3)) << 3);
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
  for (; p < end; p += 16) {
    const x = v128.load(p);
    const a = v128.and(x, magnitude);
    const isFinite = f64x2.lt(a, infinity);
    finiteCount = i64x2.sub(finiteCount, isFinite);
    positiveCount = i64x2.sub(positiveCount, f64x2.eq(x, infinity));
    negativeCount = i64x2.sub(negativeCount, f64x2.eq(x, f64x2.splat(-Infinity)));
    saturatedCount = i64x2.sub(saturatedCount, v128.and(isFinite, f64x2.ge(a, threshold2)));
    low = f64x2.pmin(low, v128.bitselect(x, infinity, isFinite));
    high = f64x2.pmax(high, v128.bitselect(x, f64x2.splat(-Infinity), isFinite));
    zeroCount = i64x2.sub(zeroCount, f64x2.eq(x, zero));
    nearCount = i64x2.sub(nearCount, f64x2.le(a, epsilon2));
    sum = f64x2.add(sum, v128.and(x, isFinite));
    absolutes = f64x2.add(absolutes, v128.and(a, isFinite));
  }
  const count = sumI64x2(finiteCount);
  const positive = sumI64x2(positiveCount);
  const negative = sumI64x2(negativeCount);
  addNonFinite(<f64>(length & ~3) - count - positive - negative, positive, negative);
  addCounts(sumI64x2(zeroCount), sumI64x2(nearCount), sumI64x2(saturatedCount));
  if (count > 0) {
    addSizes(
      sumF64x2(absolutes),
      min(f64x2.extract_lane(low, 0), f64x2.extract_lane(low, 1)),
      max(f64x2.extract_lane(high, 0), f64x2.extract_lane(high, 1)),
    );
    deviations(start, end, sumF64x2(sum) / count, count);
  }
  for (let i = 0, rest = length & 3; i < rest; i++) {
    single(load<f64>(end + ((<usize>i) << 3)), epsilon, threshold);
  }
}

// Squared deviations of the finite values from `center`, then the correction for what rounding left in `center`.
function deviations(p: usize, end: usize, center: f64, count: f64): void {
  const magnitude = i64x2.splat(0x7fffffffffffffff);
  const infinity = f64x2.splat(Infinity);
  const center2 = f64x2.splat(center);
  let rest = f64x2.splat(0);
  let restOdd = rest;
  let squares = rest;
  let squaresOdd = rest;
  for (; p < end; p += 32) {
    const x = v128.load(p);
    const y = v128.load(p, 16);
    const d = v128.and(f64x2.sub(x, center2), f64x2.lt(v128.and(x, magnitude), infinity));
    const e = v128.and(f64x2.sub(y, center2), f64x2.lt(v128.and(y, magnitude), infinity));
    rest = f64x2.add(rest, d);
    restOdd = f64x2.add(restOdd, e);
    squares = f64x2.add(squares, f64x2.mul(d, d));
    squaresOdd = f64x2.add(squaresOdd, f64x2.mul(e, e));
  }
  const error = sumF64x2(f64x2.add(rest, restOdd)) / count;
  const total = sumF64x2(f64x2.add(squares, squaresOdd));
  join(count, center, error, max(0, total - count * error * error));
}
