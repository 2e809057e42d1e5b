// Statistics of each unit of a tensor: sum of the finite values, largest |x|, and counts of NaN and infinities and of |x| <= epsilon.
// The running ones are kept in a state (src/kernel/tensor/layout.ts). In rows, a vector holds neighbouring units: eight rows are taken
// together, so that a state is read and written once for eight values. In runs, a vector holds values of one unit.
//
// Both may read, and rows also count, up to 12 bytes beyond the tensor (float64: 24): what lies there goes to lanes that nobody
// looks at. Sums are float64.
import {
  UNIT_INACTIVE_BYTES,
  UNIT_LARGEST_BYTES,
  UNIT_NON_FINITE_BYTES,
} from '../src/kernel/tensor/layout';
import { highF64, laneSum, lowF64, maxI32x4, sumF64x2, sumI32x4 } from './lanes';
import { scratch, SCRATCH_UNITS } from './memory';

const ROWS: i32 = 8;
// In memory, because engines build a vector anew in every turn of a loop, with what leads to it, but not one that was loaded.
const MAGNITUDE: usize = SCRATCH_UNITS;
const FINITE: usize = SCRATCH_UNITS + 16;
const ABOVE: usize = SCRATCH_UNITS + 32;
const LANES: usize = SCRATCH_UNITS + 48;
v128.store(scratch, i32x4(0, 1, 2, 3), LANES);

function keepF32(epsilon: f64): void {
  v128.store(scratch, i32x4.splat(0x7fffffff), MAGNITUDE);
  v128.store(scratch, i32x4.splat(0x7f7fffff), FINITE);
  v128.store(scratch, i32x4.splat(reinterpret<i32>(max(<f32>epsilon, 0)) + 1), ABOVE);
}

function keepF64(epsilon: f64): void {
  v128.store(scratch, i64x2.splat(0x7fffffffffffffff), MAGNITUDE);
  v128.store(scratch, f64x2.splat(Infinity), FINITE);
  v128.store(scratch, f64x2.splat(epsilon), ABOVE);
}

/** `rows` rows of `units` values each, added to the first `units` of the state. `epsilon` is a float32. */
export function unitRowsF32(p: usize, rows: i32, units: i32, epsilon: f64, state: usize): void {
  keepF32(epsilon);
  const magnitude = v128.load(scratch, MAGNITUDE);
  const finite = v128.load(scratch, FINITE);
  const above = v128.load(scratch, ABOVE);
  const stride = (<usize>units) << 2;
  for (; rows > 0; rows -= ROWS, p += stride * ROWS) {
    const depth = stride * min(ROWS, rows);
    for (let at: usize = 0; at < stride; at += 16) {
      const sums = state + (at << 1);
      let low = v128.load(sums);
      let high = v128.load(sums, 16);
      const counts = state + at;
      // Of the space for a float64 each, float32 takes the first half of all.
      let largest = v128.load(counts, UNIT_LARGEST_BYTES);
      let nonFinite = v128.load(counts, UNIT_NON_FINITE_BYTES);
      let inactive = v128.load(counts, UNIT_INACTIVE_BYTES);
      for (let q = p + at, end = q + depth; q < end; q += stride) {
        const bits = v128.load(q);
        const size = v128.and(bits, magnitude);
        const isBeside = i32x4.gt_s(size, finite);
        nonFinite = i32x4.sub(nonFinite, isBeside);
        inactive = i32x4.sub(inactive, i32x4.gt_s(above, size));
        largest = i32x4.max_s(largest, v128.andnot(size, isBeside));
        const x = v128.andnot(bits, isBeside);
        low = f64x2.add(low, lowF64(x));
        high = f64x2.add(high, highF64(x));
      }
      v128.store(sums, low);
      v128.store(sums, high, 16);
      v128.store(counts, largest, UNIT_LARGEST_BYTES);
      v128.store(counts, nonFinite, UNIT_NON_FINITE_BYTES);
      v128.store(counts, inactive, UNIT_INACTIVE_BYTES);
    }
  }
}

export function unitRowsF64(p: usize, rows: i32, units: i32, epsilon: f64, state: usize): void {
  keepF64(epsilon);
  const magnitude = v128.load(scratch, MAGNITUDE);
  const infinity = v128.load(scratch, FINITE);
  const epsilon2 = v128.load(scratch, ABOVE);
  const stride = (<usize>units) << 3;
  for (; rows > 0; rows -= ROWS, p += stride * ROWS) {
    const depth = stride * min(ROWS, rows);
    const rowCount = i64x2.splat(min(ROWS, rows));
    for (let at: usize = 0; at < stride; at += 16) {
      let sum = v128.load(state + at);
      let largest = v128.load(state + at, UNIT_LARGEST_BYTES);
      let finiteCount = i64x2.splat(0);
      let inactive = finiteCount;
      for (let q = p + at, end = q + depth; q < end; q += stride) {
        const bits = v128.load(q);
        const size = v128.and(bits, magnitude);
        const isFinite = f64x2.lt(size, infinity);
        finiteCount = i64x2.add(finiteCount, isFinite);
        inactive = i64x2.sub(inactive, f64x2.le(size, epsilon2));
        largest = f64x2.pmax(largest, v128.and(size, isFinite));
        sum = f64x2.add(sum, v128.and(bits, isFinite));
      }
      v128.store(state + at, sum);
      v128.store(state + at, largest, UNIT_LARGEST_BYTES);
      const counts = state + (at >> 1);
      addPair(counts + UNIT_NON_FINITE_BYTES, i64x2.add(rowCount, finiteCount));
      addPair(counts + UNIT_INACTIVE_BYTES, inactive);
    }
  }
}

/**
 * One run of `length` values for each of `units` units of the state from `unit` on, one run after the other. `epsilon` is a
 * float32.
 */
export function unitRunsF32(
  p: usize,
  unit: i32,
  units: i32,
  length: i32,
  epsilon: f64,
  state: usize,
): void {
  keepF32(epsilon);
  const magnitude = v128.load(scratch, MAGNITUDE);
  const finite = v128.load(scratch, FINITE);
  const above = v128.load(scratch, ABOVE);
  const lanes = v128.load(scratch, LANES);
  for (; units > 0; units--, unit++) {
    let a = f64x2.splat(0);
    let b = a;
    let c = a;
    let d = a;
    let largest = i32x4.splat(0);
    let nonFinite = largest;
    let inactive = largest;
    let rest = length;
    for (; rest >= 8; rest -= 8, p += 32) {
      const bits = v128.load(p);
      const more = v128.load(p, 16);
      const size = v128.and(bits, magnitude);
      const moreSize = v128.and(more, magnitude);
      const isBeside = i32x4.gt_s(size, finite);
      const isMoreBeside = i32x4.gt_s(moreSize, finite);
      nonFinite = i32x4.sub(nonFinite, i32x4.add(isBeside, isMoreBeside));
      inactive = i32x4.sub(
        inactive,
        i32x4.add(i32x4.gt_s(above, size), i32x4.gt_s(above, moreSize)),
      );
      largest = i32x4.max_s(largest, v128.andnot(size, isBeside));
      largest = i32x4.max_s(largest, v128.andnot(moreSize, isMoreBeside));
      const x = v128.andnot(bits, isBeside);
      const y = v128.andnot(more, isMoreBeside);
      a = f64x2.add(a, lowF64(x));
      b = f64x2.add(b, highF64(x));
      c = f64x2.add(c, lowF64(y));
      d = f64x2.add(d, highF64(y));
    }
    for (; rest > 0; rest -= 4, p += 16) {
      const isOurs = i32x4.gt_s(i32x4.splat(rest), lanes);
      const bits = v128.and(v128.load(p), isOurs);
      const size = v128.and(bits, magnitude);
      const isBeside = i32x4.gt_s(size, finite);
      nonFinite = i32x4.sub(nonFinite, isBeside);
      inactive = i32x4.sub(inactive, v128.and(isOurs, i32x4.gt_s(above, size)));
      largest = i32x4.max_s(largest, v128.andnot(size, isBeside));
      const x = v128.andnot(bits, isBeside);
      a = f64x2.add(a, lowF64(x));
      b = f64x2.add(b, highF64(x));
    }
    // Back from the end of the last vector to that of the run.
    p += (<usize>rest) << 2;
    const largestAt = state + ((<usize>unit) << 2) + UNIT_LARGEST_BYTES;
    store<i32>(largestAt, max(load<i32>(largestAt), maxI32x4(largest)));
    addRun(
      state,
      unit,
      sumF64x2(f64x2.add(f64x2.add(a, b), f64x2.add(c, d))),
      sumI32x4(nonFinite),
      sumI32x4(inactive),
    );
  }
}

export function unitRunsF64(
  p: usize,
  unit: i32,
  units: i32,
  length: i32,
  epsilon: f64,
  state: usize,
): void {
  keepF64(epsilon);
  const magnitude = v128.load(scratch, MAGNITUDE);
  const infinity = v128.load(scratch, FINITE);
  const epsilon2 = v128.load(scratch, ABOVE);
  for (; units > 0; units--, unit++) {
    let a = f64x2.splat(0);
    let b = a;
    let largest = a;
    let finiteCount = i64x2.splat(0);
    let inactive = finiteCount;
    let rest = length;
    for (; rest >= 4; rest -= 4, p += 32) {
      const bits = v128.load(p);
      const more = v128.load(p, 16);
      const size = v128.and(bits, magnitude);
      const moreSize = v128.and(more, magnitude);
      const isFinite = f64x2.lt(size, infinity);
      const isMoreFinite = f64x2.lt(moreSize, infinity);
      finiteCount = i64x2.sub(finiteCount, i64x2.add(isFinite, isMoreFinite));
      inactive = i64x2.sub(
        inactive,
        i64x2.add(f64x2.le(size, epsilon2), f64x2.le(moreSize, epsilon2)),
      );
      largest = f64x2.pmax(largest, v128.and(size, isFinite));
      largest = f64x2.pmax(largest, v128.and(moreSize, isMoreFinite));
      a = f64x2.add(a, v128.and(bits, isFinite));
      b = f64x2.add(b, v128.and(more, isMoreFinite));
    }
    let sum = sumF64x2(f64x2.add(a, b));
    let most = max(f64x2.extract_lane(largest, 0), f64x2.extract_lane(largest, 1));
    let finite = <i32>laneSum(finiteCount);
    let near = <i32>laneSum(inactive);
    for (; rest > 0; rest--, p += 8) {
      const x = load<f64>(p);
      const size = abs(x);
      if (!(size < Infinity)) continue;
      finite += 1;
      sum += x;
      most = max(most, size);
      near += <i32>(size <= epsilon);
    }
    const largestAt = state + ((<usize>unit) << 3) + UNIT_LARGEST_BYTES;
    store<f64>(largestAt, max(load<f64>(largestAt), most));
    addRun(state, unit, sum, length - finite, near);
  }
}

function addRun(state: usize, unit: i32, sum: f64, nonFinite: i32, inactive: i32): void {
  const sumAt = state + ((<usize>unit) << 3);
  store<f64>(sumAt, load<f64>(sumAt) + sum);
  const counts = state + ((<usize>unit) << 2);
  store<i32>(counts, load<i32>(counts, UNIT_NON_FINITE_BYTES) + nonFinite, UNIT_NON_FINITE_BYTES);
  store<i32>(counts, load<i32>(counts, UNIT_INACTIVE_BYTES) + inactive, UNIT_INACTIVE_BYTES);
}

// Adds two 64-bit counts to two of 32 bits.
function addPair(at: usize, counts: v128): void {
  store<i32>(at, load<i32>(at) + <i32>i64x2.extract_lane(counts, 0));
  store<i32>(at, load<i32>(at, 4) + <i32>i64x2.extract_lane(counts, 1), 4);
}
