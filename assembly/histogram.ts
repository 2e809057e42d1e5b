// Uniform bins over [low, high], counted in float64 arithmetic:
//
//   cell of x = min(bins - 1, trunc((x - low) * scale)),  scale = bins / (high - low)
//
// with one cell below the bins for finite x < low and one above for finite x > high. NaN and infinities are counted beside the
// table, zeros both beside it and in their bin. The plain-JS twin does the same arithmetic, so both agree to the last count.
//
// A table has (bins + 3) cells of four u32 each, one a lane; the last takes NaN and infinities, so that they need no branch, and is
// never looked at. The caller collects before a cell can hold 2^32.
import {
  HISTOGRAM_EXTRA_CELLS,
  HISTOGRAM_NAN,
  HISTOGRAM_NEGATIVE_INFINITY,
  HISTOGRAM_POSITIVE_INFINITY,
  HISTOGRAM_SLOTS,
  HISTOGRAM_ZERO,
} from '../src/kernel/tensor/layout';
import { firstPair, maxF32x4, minF32x4, secondPair, sumI32x4, sumI64x2 } from './lanes';
import { scratch, SCRATCH_ADDRESSES, SCRATCH_HISTOGRAM } from './memory';

/** Elements whose cells are found before they are counted. */
export const BLOCK: i32 = 256;
const STEP: i32 = 8;
const CELL_SHIFT: i32 = 4;
// Adding 2^52 leaves an integer in the low bits of a float64.
const MAGIC: f64 = 4503599627370496;
// Adding 1.5 * 2^23 rounds a float32 below 2^22 to an integer, which is then in its low bits.
const MAGIC_F32: f32 = 12582912;
const MAGIC_BITS: i32 = 0x4b400000;
// Larger errors would send too many blocks the float64 way after all.
const MAX_NEAR_ERROR: f64 = 0.0005;
// So many blocks go the careful way after one that could not be decided: what lies on an edge, or outside, comes again.
const NEAR_PAUSE: i32 = 8;
// What stays the same for a tensor, by way of memory: V8 makes a vector anew in every turn of a loop, with what leads to it, but loads once.
const NEAR_SCALE: usize = SCRATCH_HISTOGRAM;
const NEAR_LESS: usize = SCRATCH_HISTOGRAM + 16;
const NEAR_MORE: usize = SCRATCH_HISTOGRAM + 32;
const NEAR_MAGIC: usize = SCRATCH_HISTOGRAM + 48;
const NEAR_BASE: usize = SCRATCH_HISTOGRAM + 64;
const LOW: usize = SCRATCH_HISTOGRAM + 80;
const HIGH: usize = SCRATCH_HISTOGRAM + 96;
const SCALE: usize = SCRATCH_HISTOGRAM + 112;
const TOP: usize = SCRATCH_HISTOGRAM + 128;
const BASE: usize = SCRATCH_HISTOGRAM + 144;
const BESIDE: usize = SCRATCH_HISTOGRAM + 160;
const MAGIC2: usize = SCRATCH_HISTOGRAM + 176;
const MAGNITUDE: usize = SCRATCH_HISTOGRAM + 192;
const INFINITY: usize = SCRATCH_HISTOGRAM + 208;
// The cell address of each element of a block lies from SCRATCH_ADDRESSES on: found first, four at a time, and counted after.

export function histogramReset(table: usize, bins: i32, beside: usize): void {
  memory.fill(table, 0, (<usize>(bins + HISTOGRAM_EXTRA_CELLS)) << CELL_SHIFT);
  memory.fill(beside, 0, HISTOGRAM_SLOTS << 3);
}

export function histogramF32(
  p: usize,
  count: i32,
  low: f64,
  high: f64,
  bins: i32,
  table: usize,
  beside: usize,
): void {
  all<f32>(p, count, low, high, bins, table, beside);
}

export function histogramF64(
  p: usize,
  count: i32,
  low: f64,
  high: f64,
  bins: i32,
  table: usize,
  beside: usize,
): void {
  all<f64>(p, count, low, high, bins, table, beside);
}

/** Adds up the lanes of each cell into a float64 at `out`, `bins + 2` of them. */
export function histogramCollect(table: usize, bins: i32, out: usize): void {
  const end = table + ((<usize>(bins + 2)) << CELL_SHIFT);
  for (; table < end; table += 16, out += 8) {
    const sum =
      <u64>load<u32>(table) +
      <u64>load<u32>(table, 4) +
      <u64>load<u32>(table, 8) +
      <u64>load<u32>(table, 12);
    store<f64>(out, <f64>sum);
  }
}

function all<T>(
  p: usize,
  count: i32,
  low: f64,
  high: f64,
  bins: i32,
  table: usize,
  beside: usize,
): void {
  const scale = <f64>bins / (high - low);
  const isFloat32 = sizeof<T>() == 4 && isFloat<T>();
  const error = isFloat32 ? nearError(low, high, scale, bins) : 1;
  if (isFloat32) keepNearConstants(low, scale, error, table);
  keepConstants(low, high, scale, bins, table);
  let pause = !isFloat32 || error <= MAX_NEAR_ERROR ? 0 : i32.MAX_VALUE;
  while (count >= STEP) {
    const length = min(BLOCK, count & ~(STEP - 1));
    let isDone = false;
    if (pause == 0) {
      isDone = isFloat32 ? locateNear(p, length, bins, beside) : locateWithin(p, length, beside);
      if (!isDone) pause = NEAR_PAUSE;
    }
    if (!isDone) {
      pause--;
      if (isFloat32 && isBlockInside(p, length, low, high, beside)) locateInside(p, length);
      else locate<T>(p, length, beside);
    }
    bumpAll(length);
    p += <usize>length * sizeof<T>();
    count -= length;
  }
  each<T>(p, count, low, high, scale, bins, table, beside);
}

/** Counts the cells whose addresses were found; `length` is a multiple of 8. */
export function bumpAll(length: i32): void {
  for (
    let at = scratch + SCRATCH_ADDRESSES, end = at + ((<usize>length) << 2);
    at < end;
    at += 32
  ) {
    bump(load<u32>(at));
    bump(load<u32>(at, 4));
    bump(load<u32>(at, 8));
    bump(load<u32>(at, 12));
    bump(load<u32>(at, 16));
    bump(load<u32>(at, 20));
    bump(load<u32>(at, 24));
    bump(load<u32>(at, 28));
  }
}

function keepConstants(low: f64, high: f64, scale: f64, bins: i32, table: usize): void {
  v128.store(scratch, f64x2.splat(low), LOW);
  v128.store(scratch, f64x2.splat(high), HIGH);
  v128.store(scratch, f64x2.splat(scale), SCALE);
  v128.store(scratch, f64x2.splat(<f64>(bins - 1)), TOP);
  v128.store(scratch, laneBase(table), BASE);
  v128.store(scratch, i32x4.splat(bins + 1), BESIDE);
  v128.store(scratch, f64x2.splat(MAGIC), MAGIC2);
  v128.store(scratch, i64x2.splat(0x7fffffffffffffff), MAGNITUDE);
  v128.store(scratch, f64x2.splat(Infinity), INFINITY);
}

function keepNearConstants(low: f64, scale: f64, error: f64, table: usize): void {
  const offset = -low * scale - 0.5;
  v128.store(scratch, f32x4.splat(<f32>scale), NEAR_SCALE);
  v128.store(scratch, f32x4.splat(<f32>(offset - error)), NEAR_LESS);
  v128.store(scratch, f32x4.splat(<f32>(offset + error)), NEAR_MORE);
  v128.store(scratch, f32x4.splat(MAGIC_F32), NEAR_MAGIC);
  const base = i32x4.sub(laneBase(table), i32x4.splat(MAGIC_BITS << CELL_SHIFT));
  v128.store(scratch, base, NEAR_BASE);
}

// How far the float32 arithmetic of locateNear may be off, in cells. With m the largest |x| * scale: the product is good to 2m 2^-24, the
// constant to (m + 1/2) 2^-24, the sum to (bins + 1/2) 2^-24; this is more than all of them. Above the limit where float32 may not do.
function nearError(low: f64, high: f64, scale: f64, bins: i32): f64 {
  const most = max(abs(low), abs(high)) * scale;
  if (!(scale > 1e-30 && scale < 1e30)) return 1;
  return (2 * most + <f64>bins + 2) * 1.1920928955078125e-7;
}

// Fills the addresses of one float32 block by float32 arithmetic. t = (x - low) * scale - 1/2 rounded to the
// nearest integer is the cell; it is found twice, from t a little too small and a little too large, and is sure where both agree. False,
// with nothing counted, when one is not sure, or lies outside the range, or is no number: float64 decides then.
function locateNear(p: usize, length: i32, bins: i32, beside: usize): bool {
  const scale4 = v128.load(scratch, NEAR_SCALE);
  const less4 = v128.load(scratch, NEAR_LESS);
  const more4 = v128.load(scratch, NEAR_MORE);
  const magic4 = v128.load(scratch, NEAR_MAGIC);
  const base = v128.load(scratch, NEAR_BASE);
  const zero4 = f32x4.splat(0);
  let differences = i32x4.splat(0);
  let low4 = i32x4.splat(MAGIC_BITS);
  let high4 = low4;
  let zeroCount = zero4;
  let at = scratch + SCRATCH_ADDRESSES;
  for (const end = at + ((<usize>length) << 2); at < end; at += 16, p += 16) {
    const x = v128.load(p);
    const t = f32x4.mul(x, scale4);
    const r = f32x4.add(f32x4.add(t, less4), magic4);
    differences = v128.or(differences, v128.xor(r, f32x4.add(f32x4.add(t, more4), magic4)));
    low4 = i32x4.min_s(low4, r);
    high4 = i32x4.max_s(high4, r);
    zeroCount = i32x4.sub(zeroCount, f32x4.eq(x, zero4));
    v128.store(at, i32x4.add(i32x4.shl(r, CELL_SHIFT), base));
  }
  if (!isSure(differences, low4, high4, bins)) return false;
  add(beside, HISTOGRAM_ZERO, <f64>sumI32x4(zeroCount));
  return true;
}

// Whether no element had two cells, and all cells are those of bins. NaN and what is far outside have bits of another size.
function isSure(differences: v128, low4: v128, high4: v128, bins: i32): bool {
  if (v128.any_true(differences)) return false;
  if (!i32x4.all_true(i32x4.ge_s(low4, i32x4.splat(MAGIC_BITS)))) return false;
  return i32x4.all_true(i32x4.lt_s(high4, i32x4.splat(MAGIC_BITS + bins)));
}

// Whether all of a float32 block lies in the range, which most blocks do; its zeros are counted then.
function isBlockInside(p: usize, length: i32, low: f64, high: f64, beside: usize): bool {
  const zero4 = f32x4.splat(0);
  let low4 = v128.load(p);
  let high4 = low4;
  let numbers = f32x4.eq(low4, low4);
  let zeroCount = zero4;
  for (const end = p + ((<usize>length) << 2); p < end; p += 32) {
    const x = v128.load(p);
    const y = v128.load(p, 16);
    low4 = f32x4.pmin(low4, f32x4.pmin(x, y));
    high4 = f32x4.pmax(high4, f32x4.pmax(x, y));
    numbers = v128.and(numbers, v128.and(f32x4.eq(x, x), f32x4.eq(y, y)));
    zeroCount = i32x4.sub(zeroCount, i32x4.add(f32x4.eq(x, zero4), f32x4.eq(y, zero4)));
  }
  if (!(i32x4.all_true(numbers) && <f64>minF32x4(low4) >= low && <f64>maxF32x4(high4) <= high))
    return false;
  add(beside, HISTOGRAM_ZERO, <f64>sumI32x4(zeroCount));
  return true;
}

// Fills the addresses of one float32 block all of which lies in the range.
function locateInside(p: usize, length: i32): void {
  const low2 = v128.load(scratch, LOW);
  const scale2 = v128.load(scratch, SCALE);
  const top2 = v128.load(scratch, TOP);
  const base = v128.load(scratch, BASE);
  const magic2 = v128.load(scratch, MAGIC2);
  let at = scratch + SCRATCH_ADDRESSES;
  for (const end = at + ((<usize>length) << 2); at < end; at += 16, p += 16) {
    let u = f64x2.mul(f64x2.sub(firstPair<f32>(p), low2), scale2);
    let v = f64x2.mul(f64x2.sub(secondPair<f32>(p), low2), scale2);
    u = f64x2.pmin(top2, u);
    v = f64x2.pmin(top2, v);
    v128.store(at, i32x4.add(i32x4.shl(wholes(u, v, magic2), CELL_SHIFT), base));
  }
}

// Fills the addresses of one float64 block; false, with nothing counted, where not all of it lies in the range.
function locateWithin(p: usize, length: i32, beside: usize): bool {
  const low2 = v128.load(scratch, LOW);
  const high2 = v128.load(scratch, HIGH);
  const scale2 = v128.load(scratch, SCALE);
  const top2 = v128.load(scratch, TOP);
  const base = v128.load(scratch, BASE);
  const magic2 = v128.load(scratch, MAGIC2);
  const zero2 = f64x2.splat(0);
  let within = i64x2.splat(-1);
  let zeroCount = zero2;
  let at = scratch + SCRATCH_ADDRESSES;
  for (const end = at + ((<usize>length) << 2); at < end; at += 16, p += 32) {
    const x = v128.load(p);
    const y = v128.load(p, 16);
    // False for NaN too.
    within = v128.and(within, v128.and(f64x2.ge(x, low2), f64x2.le(x, high2)));
    within = v128.and(within, v128.and(f64x2.ge(y, low2), f64x2.le(y, high2)));
    zeroCount = i64x2.sub(zeroCount, i64x2.add(f64x2.eq(x, zero2), f64x2.eq(y, zero2)));
    const u = f64x2.pmin(top2, f64x2.mul(f64x2.sub(x, low2), scale2));
    const v = f64x2.pmin(top2, f64x2.mul(f64x2.sub(y, low2), scale2));
    v128.store(at, i32x4.add(i32x4.shl(wholes(u, v, magic2), CELL_SHIFT), base));
  }
  if (!i32x4.all_true(within)) return false;
  add(beside, HISTOGRAM_ZERO, sumI64x2(zeroCount));
  return true;
}

// Fills the addresses of one block of any values.
function locate<T>(p: usize, length: i32, beside: usize): void {
  const start = p;
  const magnitude = v128.load(scratch, MAGNITUDE);
  const infinity = v128.load(scratch, INFINITY);
  const low2 = v128.load(scratch, LOW);
  const high2 = v128.load(scratch, HIGH);
  const scale2 = v128.load(scratch, SCALE);
  const top2 = v128.load(scratch, TOP);
  const besideAll = v128.load(scratch, BESIDE);
  const base = v128.load(scratch, BASE);
  const magic2 = v128.load(scratch, MAGIC2);
  const zero2 = f64x2.splat(0);
  let finite = i64x2.splat(-1);
  let zeroCount = i64x2.splat(0);
  const step = 4 * sizeof<T>();
  let at = scratch + SCRATCH_ADDRESSES;
  for (const end = at + ((<usize>length) << 2); at < end; at += 16, p += step) {
    const x = firstPair<T>(p);
    const y = secondPair<T>(p);
    zeroCount = i64x2.sub(zeroCount, i64x2.add(f64x2.eq(x, zero2), f64x2.eq(y, zero2)));
    let u = f64x2.mul(f64x2.sub(x, low2), scale2);
    let v = f64x2.mul(f64x2.sub(y, low2), scale2);
    u = f64x2.pmax(zero2, f64x2.pmin(top2, u));
    v = f64x2.pmax(zero2, f64x2.pmin(top2, v));
    let cell = wholes(u, v, magic2);
    // A mask lane is -1: over moves one cell up from the last bin, under one cell down from the first.
    cell = i32x4.sub(cell, i32x4.shuffle(f64x2.gt(x, high2), f64x2.gt(y, high2), 0, 2, 4, 6));
    cell = i32x4.add(cell, i32x4.shuffle(f64x2.lt(x, low2), f64x2.lt(y, low2), 0, 2, 4, 6));
    const u2 = f64x2.lt(v128.and(x, magnitude), infinity);
    const v2 = f64x2.lt(v128.and(y, magnitude), infinity);
    const isFinite = i32x4.shuffle(u2, v2, 0, 2, 4, 6);
    finite = v128.and(finite, isFinite);
    cell = v128.bitselect(cell, besideAll, isFinite);
    v128.store(at, i32x4.add(i32x4.shl(cell, CELL_SHIFT), base));
  }
  if (!i32x4.all_true(finite)) countNonFinite<T>(start, length, beside);
  add(beside, HISTOGRAM_ZERO, sumI64x2(zeroCount));
}

/** Counts the NaN and the infinities of a block beside the table; `length` is a multiple of 4. */
export function countNonFinite<T>(p: usize, length: i32, beside: usize): void {
  const infinity = f64x2.splat(Infinity);
  const negative = f64x2.splat(-Infinity);
  let nans = i64x2.splat(0);
  let positives = nans;
  let negatives = nans;
  const step = 4 * sizeof<T>();
  for (const end = p + <usize>length * sizeof<T>(); p < end; p += step) {
    const x = firstPair<T>(p);
    const y = secondPair<T>(p);
    nans = i64x2.sub(nans, i64x2.add(f64x2.ne(x, x), f64x2.ne(y, y)));
    positives = i64x2.sub(positives, i64x2.add(f64x2.eq(x, infinity), f64x2.eq(y, infinity)));
    negatives = i64x2.sub(negatives, i64x2.add(f64x2.eq(x, negative), f64x2.eq(y, negative)));
  }
  add(beside, HISTOGRAM_NAN, sumI64x2(nans));
  add(beside, HISTOGRAM_POSITIVE_INFINITY, sumI64x2(positives));
  add(beside, HISTOGRAM_NEGATIVE_INFINITY, sumI64x2(negatives));
}

// Four float64 from 0 to 2^31, cut off to i32. Relaxed SIMD has one instruction for it, which differs between machines for NaN and
// beyond that range alone.
function wholes(u: v128, v: v128, magic2: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) {
    const low = i32x4.relaxed_trunc_f64x2_s_zero(u);
    return i64x2.shuffle(low, i32x4.relaxed_trunc_f64x2_s_zero(v), 0, 2);
  }
  const low = f64x2.add(f64x2.floor(u), magic2);
  return i32x4.shuffle(low, f64x2.add(f64x2.floor(v), magic2), 0, 2, 4, 6);
}

/** The address of the first bin, one lane of the table for each lane of the vector. */
export function laneBase(table: usize): v128 {
  const first = <i32>table + 16;
  let base = i32x4.splat(first);
  base = i32x4.replace_lane(base, 1, first + 4);
  base = i32x4.replace_lane(base, 2, first + 8);
  return i32x4.replace_lane(base, 3, first + 12);
}

function each<T>(
  p: usize,
  count: i32,
  low: f64,
  high: f64,
  scale: f64,
  bins: i32,
  table: usize,
  beside: usize,
): void {
  const end = p + <usize>count * sizeof<T>();
  for (; p < end; p += sizeof<T>()) {
    const x = <f64>load<T>(p);
    if (!isCounted(x, beside)) continue;
    if (x == 0) add(beside, HISTOGRAM_ZERO, 1);
    let cell: i32 = 0;
    if (x < low) cell = -1;
    else if (x > high) cell = bins;
    else cell = <i32>min((x - low) * scale, <f64>(bins - 1));
    bumpCell(table, cell);
  }
}

/** Whether a value goes into the table; NaN and infinities are counted beside it. */
export function isCounted(x: f64, beside: usize): bool {
  if (abs(x) < Infinity) return true;
  if (x == Infinity) add(beside, HISTOGRAM_POSITIVE_INFINITY, 1);
  else if (x == -Infinity) add(beside, HISTOGRAM_NEGATIVE_INFINITY, 1);
  else add(beside, HISTOGRAM_NAN, 1);
  return false;
}

/** Counts one value in a cell, the first bin being cell 0. */
export function bumpCell(table: usize, cell: i32): void {
  bump(table + 16 + ((<usize>cell) << CELL_SHIFT));
}

function bump(cell: usize): void {
  store<u32>(cell, load<u32>(cell) + 1);
}

/** Adds to one of the counts beside a table. */
export function add(beside: usize, slot: i32, count: f64): void {
  const at = beside + ((<usize>slot) << 3);
  store<f64>(at, load<f64>(at) + count);
}
