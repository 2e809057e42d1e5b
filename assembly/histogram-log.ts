// Bins of magnitudes: `1 << steps` of equal width in each octave from 2^first to 2^(first + octaves), n of them for either sign, and
// one in the middle for what is nearer to 0. The bits of |x| below the sign are exponent and fraction, so their upper part is the
// bin: no arithmetic, and no rounding.
//
//   cell of x = n + 1 + d     x >= 2^first         d = 1, 2, ... from the smallest magnitude up, n + 1 for x > the largest
//   cell of x = n + 1         -2^first <= x < 2^first
//   cell of x = n + 1 - d     x < -2^first
//
// counted from the cell of underflow. One less in the bits of a negative number puts an edge into the bin above it, as everywhere.
import { add, BLOCK, bumpAll, bumpCell, countNonFinite, isCounted, laneBase } from './histogram';
import { HISTOGRAM_ZERO } from '../src/kernel/tensor/layout';
import { maxI32x4, sumI32x4 } from './lanes';
import { scratch, SCRATCH_ADDRESSES, SCRATCH_LOG } from './memory';

const STEP: i32 = 8;
const BIAS32: i32 = 127;
const BIAS64: i32 = 1023;

// So many blocks go the careful way after one that has values beyond the largest magnitude, as the next ones will have.
const PAUSE: i32 = 8;
// What stays the same for a tensor, in memory: see histogram.ts.
const BASE: usize = SCRATCH_LOG;
const BELOW: usize = SCRATCH_LOG + 16;
const MAGNITUDE: usize = SCRATCH_LOG + 32;

// What the bits are compared with; set by `prepare` for float32, or for the upper words of float64.
let shift: i32 = 0;
let below: i32 = 0;
let side: i32 = 0;

export function histogramLogF32(
  p: usize,
  count: i32,
  first: i32,
  octaves: i32,
  steps: i32,
  table: usize,
  beside: usize,
): void {
  prepare(first, octaves, steps, 23, BIAS32);
  const top = (first + octaves + BIAS32) << 23;
  keepConstants(table, i32x4.splat(0x7fffffff));
  let pause = 0;
  while (count >= STEP) {
    const length = min(BLOCK, count & ~(STEP - 1));
    const isDone = pause == 0 && locateWithinF32(p, length, top, beside);
    if (!isDone) {
      pause = pause == 0 ? PAUSE : pause - 1;
      locateF32(p, length, i32x4.splat(top), table, beside);
    }
    bumpAll(length);
    p += (<usize>length) << 2;
    count -= length;
  }
  prepare(first, octaves, steps, 20, BIAS64);
  const wideTop = (<i64>(first + octaves + BIAS64)) << 52;
  for (; count > 0; count--, p += 4) single(<f64>load<f32>(p), wideTop, table, beside);
}

export function histogramLogF64(
  p: usize,
  count: i32,
  first: i32,
  octaves: i32,
  steps: i32,
  table: usize,
  beside: usize,
): void {
  prepare(first, octaves, steps, 20, BIAS64);
  const top = (<i64>(first + octaves + BIAS64)) << 52;
  keepConstants(table, i64x2.splat(0x7fffffffffffffff));
  let pause = 0;
  while (count >= STEP) {
    const length = min(BLOCK, count & ~(STEP - 1));
    const isDone = pause == 0 && locateWithinF64(p, length, <i32>(top >> 32), beside);
    if (!isDone) {
      pause = pause == 0 ? PAUSE : pause - 1;
      locateF64(p, length, i64x2.splat(top), table, beside);
    }
    bumpAll(length);
    p += (<usize>length) << 3;
    count -= length;
  }
  for (; count > 0; count--, p += 8) single(load<f64>(p), top, table, beside);
}

function prepare(first: i32, octaves: i32, steps: i32, fractionBits: i32, bias: i32): void {
  shift = fractionBits - steps;
  below = ((first + bias) << steps) - 1;
  side = octaves << steps;
}

function keepConstants(table: usize, magnitude: v128): void {
  // The address of the middle cell, `side + 1` after that of underflow.
  v128.store(scratch, i32x4.add(laneBase(table), i32x4.splat(side << 4)), BASE);
  v128.store(scratch, i32x4.splat(below), BELOW);
  v128.store(scratch, magnitude, MAGNITUDE);
}

// Fills the addresses of one block whose values are all below the largest magnitude. False, with nothing counted, for another one.
function locateWithinF32(p: usize, length: i32, top: i32, beside: usize): bool {
  const magnitude = v128.load(scratch, MAGNITUDE);
  const below4 = v128.load(scratch, BELOW);
  const middle = v128.load(scratch, BASE);
  const zero = i32x4.splat(0);
  const bits = shift;
  let zeroCount = zero;
  let most = zero;
  let at = scratch + SCRATCH_ADDRESSES;
  for (const end = at + ((<usize>length) << 2); at < end; at += 16, p += 16) {
    const x = v128.load(p);
    const a = v128.and(x, magnitude);
    const sign = i32x4.shr_s(x, 31);
    most = i32x4.max_s(most, a);
    zeroCount = i32x4.sub(zeroCount, i32x4.eq(a, zero));
    const distance = i32x4.sub(i32x4.shr_s(i32x4.add(a, sign), bits), below4);
    v128.store(at, addressOf(distance, sign, middle));
  }
  if (maxI32x4(most) >= top) return false;
  add(beside, HISTOGRAM_ZERO, <f64>sumI32x4(zeroCount));
  return true;
}

// The same; `top` is the upper word of the largest magnitude.
function locateWithinF64(p: usize, length: i32, top: i32, beside: usize): bool {
  const magnitude = v128.load(scratch, MAGNITUDE);
  const below4 = v128.load(scratch, BELOW);
  const middle = v128.load(scratch, BASE);
  const zero = i32x4.splat(0);
  const bits = shift;
  let zeroCount = zero;
  let most = zero;
  let at = scratch + SCRATCH_ADDRESSES;
  for (const end = at + ((<usize>length) << 2); at < end; at += 16, p += 32) {
    const x = v128.load(p);
    const y = v128.load(p, 16);
    const a = v128.and(x, magnitude);
    const b = v128.and(y, magnitude);
    const s = i64x2.lt_s(x, zero);
    const t = i64x2.lt_s(y, zero);
    zeroCount = i32x4.sub(zeroCount, i64x2.eq(a, zero));
    zeroCount = i32x4.sub(zeroCount, i64x2.eq(b, zero));
    const sign = i32x4.shuffle(s, t, 0, 2, 4, 6);
    const size = i32x4.shuffle(i64x2.add(a, s), i64x2.add(b, t), 1, 3, 5, 7);
    most = i32x4.max_s(most, size);
    v128.store(at, addressOf(i32x4.sub(i32x4.shr_s(size, bits), below4), sign, middle));
  }
  if (maxI32x4(most) >= top) return false;
  // Both halves of a 64-bit mask were counted.
  add(beside, HISTOGRAM_ZERO, <f64>(sumI32x4(zeroCount) >> 1));
  return true;
}

// Up from the middle, or down for negative numbers.
function addressOf(distance: v128, sign: v128, middle: v128): v128 {
  const within = i32x4.max_s(distance, i32x4.splat(0));
  return i32x4.add(i32x4.shl(i32x4.sub(v128.xor(within, sign), sign), 4), middle);
}

// Fills the addresses of one block of any values.
function locateF32(p: usize, length: i32, largest: v128, table: usize, beside: usize): void {
  const start = p;
  const magnitude = i32x4.splat(0x7fffffff);
  const finite = i32x4.splat(0x7f7fffff);
  const zero = i32x4.splat(0);
  const base = laneBase(table - 16);
  const bits = shift;
  const below4 = i32x4.splat(below);
  const most = i32x4.splat(side + 1);
  const last = i32x4.splat(2 * side + 3);
  let zeroCount = zero;
  let nonFinite = zero;
  let at = scratch + SCRATCH_ADDRESSES;
  for (const end = at + ((<usize>length) << 2); at < end; at += 16, p += 16) {
    const x = v128.load(p);
    const a = v128.and(x, magnitude);
    const sign = i32x4.shr_s(x, 31);
    const isBeside = i32x4.gt_s(a, finite);
    nonFinite = v128.or(nonFinite, isBeside);
    zeroCount = i32x4.sub(zeroCount, i32x4.eq(a, zero));
    // The largest magnitude itself belongs to the last bin, as one less in its bits does.
    const size = i32x4.add(a, i32x4.add(sign, i32x4.eq(a, largest)));
    const distance = i32x4.sub(i32x4.shr_s(size, bits), below4);
    const cell = cellOf(distance, sign, isBeside, most, last);
    v128.store(at, i32x4.add(i32x4.shl(cell, 4), base));
  }
  add(beside, HISTOGRAM_ZERO, <f64>sumI32x4(zeroCount));
  if (v128.any_true(nonFinite)) countNonFinite<f32>(start, length, beside);
}

function locateF64(p: usize, length: i32, largest: v128, table: usize, beside: usize): void {
  const start = p;
  const magnitude = i64x2.splat(0x7fffffffffffffff);
  const finite = i32x4.splat(0x7fefffff);
  const zero = i32x4.splat(0);
  const base = laneBase(table - 16);
  const bits = shift;
  const below4 = i32x4.splat(below);
  const most = i32x4.splat(side + 1);
  const last = i32x4.splat(2 * side + 3);
  let zeroCount = zero;
  let nonFinite = zero;
  let at = scratch + SCRATCH_ADDRESSES;
  for (const end = at + ((<usize>length) << 2); at < end; at += 16, p += 32) {
    const x = v128.load(p);
    const y = v128.load(p, 16);
    const a = v128.and(x, magnitude);
    const b = v128.and(y, magnitude);
    const s = i64x2.lt_s(x, zero);
    const t = i64x2.lt_s(y, zero);
    const isBeside = i32x4.gt_s(i32x4.shuffle(a, b, 1, 3, 5, 7), finite);
    nonFinite = v128.or(nonFinite, isBeside);
    zeroCount = i32x4.sub(zeroCount, i64x2.eq(a, zero));
    zeroCount = i32x4.sub(zeroCount, i64x2.eq(b, zero));
    const u = i64x2.add(a, i64x2.add(s, i64x2.eq(a, largest)));
    const v = i64x2.add(b, i64x2.add(t, i64x2.eq(b, largest)));
    const sign = i32x4.shuffle(s, t, 0, 2, 4, 6);
    const distance = i32x4.sub(i32x4.shr_s(i32x4.shuffle(u, v, 1, 3, 5, 7), bits), below4);
    const cell = cellOf(distance, sign, isBeside, most, last);
    v128.store(at, i32x4.add(i32x4.shl(cell, 4), base));
  }
  // Both halves of a 64-bit mask were counted.
  add(beside, HISTOGRAM_ZERO, <f64>(sumI32x4(zeroCount) >> 1));
  if (v128.any_true(nonFinite)) countNonFinite<f64>(start, length, beside);
}

// Cells counted from that of underflow. `most` is the distance of the cells of underflow and overflow from the middle; `last`, the
// largest number, is for what is counted beside.
function cellOf(distance: v128, sign: v128, isBeside: v128, most: v128, last: v128): v128 {
  const within = i32x4.max_s(i32x4.splat(0), i32x4.min_s(most, distance));
  // Turned round for negative numbers.
  const cell = i32x4.add(i32x4.sub(v128.xor(within, sign), sign), most);
  return i32x4.max_s(cell, v128.and(isBeside, last));
}

function single(x: f64, top: i64, table: usize, beside: usize): void {
  if (!isCounted(x, beside)) return;
  if (x == 0) add(beside, HISTOGRAM_ZERO, 1);
  const a = reinterpret<i64>(x) & 0x7fffffffffffffff;
  const sign = <i64>(reinterpret<i64>(x) < 0);
  const bits = a - sign - <i64>(a == top);
  const distance = max(0, min(side + 1, (<i32>(bits >> 32) >> shift) - below));
  bumpCell(table, side + (sign != 0 ? -distance : distance));
}
